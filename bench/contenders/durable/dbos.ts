/** DBOS 5: workflows whose steps are rows in PostgreSQL. It takes up what was cut off by itself, when it is launched. */
import { type Limits, type Open, steps, type Work } from "../../durable/engine.ts"
import { fanOut, mustBe } from "../../util.ts"

interface Handle {
  getResult(): Promise<number>
}
/** What is used of the package, which is installed beside the benchmarks only. */
interface Dbos {
  setConfig(config: object): void
  registerWorkflow<A extends ReadonlyArray<unknown>>(
    workflow: (...args: A) => Promise<number>,
    options: { readonly name: string }
  ): unknown
  startWorkflow<A extends ReadonlyArray<unknown>>(
    workflow: unknown,
    options: { readonly workflowID: string }
  ): (...args: A) => Promise<Handle>
  runStep(step: () => Promise<string>, options: { readonly name: string }): Promise<string>
  launch(): Promise<void>
  shutdown(options: { readonly deregister: boolean }): Promise<void>
  listWorkflows(input: object): Promise<ReadonlyArray<{ readonly workflowID: string; readonly status: string }>>
  retrieveWorkflow(id: string): Handle
}

const { DBOS }: { readonly DBOS: Dbos } = await import("@dbos-inc/dbos-sdk" as string)

const silent = {
  info: () => {},
  debug: () => {},
  warn: () => {},
  error: (...what: ReadonlyArray<unknown>) => console.error(...what)
}

const workflows = (work: Work) => {
  const step = (name: string) => DBOS.runStep(async () => work(name), { name })
  const task = async (): Promise<number> => {
    let done = 0
    for (const name of steps) {
      await step(name)
      done += 1
    }
    return done
  }
  const fan = async (): Promise<number> => {
    let next = 0
    let done = 0
    const slot = async (): Promise<void> => {
      while (next < fanOut.tasks) {
        await step(`t${next++}`)
        done += 1
      }
    }
    await Promise.all(Array.from({ length: fanOut.inFlight }, slot))
    return done
  }
  const chain = async (n: number): Promise<number> => {
    for (let i = 0; i < n; i++) await step(`s${i}`)
    return n
  }
  return { task, fan, chain }
}

export const limits: Limits = { stores: ["postgres"], atOnce: 100, longest: 1_000 }

export const open: Open = async ({ where }, work) => {
  DBOS.setConfig({ name: "bench", systemDatabaseUrl: where, applicationVersion: "1", logger: silent })
  const { chain, fan, task } = workflows(work)
  const registered = {
    task: DBOS.registerWorkflow(task, { name: "task" }),
    fan: DBOS.registerWorkflow(fan, { name: "fan" }),
    chain: DBOS.registerWorkflow(chain, { name: "chain" })
  }
  await DBOS.launch()
  const start = async (workflow: unknown, run: string, n: number, ...args: ReadonlyArray<number>): Promise<void> => {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: run })(...args)
    mustBe("the results", await handle.getResult(), n)
  }
  return {
    task: (run) => start(registered.task, run, steps.length),
    fan: (run) => start(registered.fan, run, fanOut.tasks),
    chain: (run, n) => start(registered.chain, run, n, n),
    resume: async (n = steps.length) => {
      // What is taken up by now is pending or enqueued.
      for (const { status, workflowID } of await DBOS.listWorkflows({})) {
        if (status === "SUCCESS") continue
        mustBe("the results", await DBOS.retrieveWorkflow(workflowID).getResult(), n)
      }
    },
    close: () => DBOS.shutdown({ deregister: true })
  }
}
