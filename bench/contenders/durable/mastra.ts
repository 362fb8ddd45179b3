/** Mastra 1: workflows whose snapshot is one row, written anew after each step, in LibSQL. Long runs are long workflows. */
import { type Limits, type Open, steps } from "../../durable/engine.ts"
import { fanOut, mustBe } from "../../util.ts"

interface Workflow {
  then(step: unknown): Workflow
  foreach(step: unknown, options: { readonly concurrency: number }): Workflow
  commit(): Workflow
  createRun(options: { readonly runId: string }): Promise<Run>
  listWorkflowRuns(): Promise<{ readonly runs: ReadonlyArray<{ readonly runId: string; readonly snapshot: unknown }> }>
}
interface Run {
  start(options: { readonly inputData: unknown }): Promise<Outcome>
  restart(): Promise<Outcome>
}
interface Outcome {
  readonly status: string
  readonly steps: Readonly<Record<string, unknown>>
}
/** What is used of the packages, which are installed beside the benchmarks only. */
interface Workflows {
  createWorkflow(options: object): Workflow
  createStep(options: object): unknown
}
interface Core {
  readonly Mastra: new (options: object) => { getWorkflow(id: string): Workflow }
}
interface Stores {
  readonly LibSQLStore: new (options: { readonly id: string; readonly url: string }) => {
    init(): Promise<void>
    close(): Promise<void>
  }
}
interface Zod {
  readonly z: { string(): unknown; array(of: unknown): unknown }
}

const { createStep, createWorkflow }: Workflows = await import("@mastra/core/workflows" as string)
const { Mastra }: Core = await import("@mastra/core/mastra" as string)
const { LibSQLStore }: Stores = await import("@mastra/libsql" as string)
const { z }: Zod = await import("zod" as string)

export const limits: Limits = { stores: ["normal"], atOnce: 100, longest: 100, longestLarge: 0 }

export const open: Open = async ({ where }, work) => {
  const text = z.string()
  const step = (id: string, name: (input: string) => string) =>
    createStep({
      id,
      inputSchema: text,
      outputSchema: text,
      execute: async ({ inputData }: { readonly inputData: string }) => work(name(inputData))
    })
  const chainOf = (id: string, names: ReadonlyArray<string>): Workflow =>
    names
      .reduce(
        (workflow, name) => workflow.then(step(name, () => name)),
        createWorkflow({ id, inputSchema: text, outputSchema: text })
      )
      .commit()
  const task = chainOf("task", steps)
  const fan = createWorkflow({ id: "fan", inputSchema: z.array(text), outputSchema: z.array(text) })
    .foreach(
      step("work", (input) => input),
      { concurrency: fanOut.inFlight }
    )
    .commit()
  const storage = new LibSQLStore({ id: "bench", url: `file:${where}` })
  await storage.init()
  const register = (workflows: Readonly<Record<string, Workflow>>) => new Mastra({ workflows, storage, logger: false })
  const mastra = register({ task, fan })
  const begin = async (workflow: Workflow, runId: string, inputData: unknown): Promise<void> => {
    const run = await workflow.createRun({ runId })
    mustBe("the status", (await run.start({ inputData })).status, "success")
  }
  const chains = new Map<number, Workflow>()
  const chainWorkflow = (n: number): Workflow => {
    const known = chains.get(n)
    if (known !== undefined) return known
    const id = `chain-${n}`
    const made = register({
      [id]: chainOf(
        id,
        Array.from({ length: n }, (_, i) => `s${i}`)
      )
    }).getWorkflow(id)
    chains.set(n, made)
    return made
  }
  return {
    task: (run) => begin(mastra.getWorkflow("task"), run, "task"),
    fan: (run) =>
      begin(
        mastra.getWorkflow("fan"),
        run,
        Array.from({ length: fanOut.tasks }, (_, i) => `t${i}`)
      ),
    prepare: async (n) => void chainWorkflow(n),
    chain: (run, n) => begin(chainWorkflow(n), run, "task"),
    resume: async () => {
      const workflow = mastra.getWorkflow("task")
      for (const { runId } of (await workflow.listWorkflowRuns()).runs) {
        mustBe("the status", (await (await workflow.createRun({ runId })).restart()).status, "success")
      }
    },
    close: () => storage.close()
  }
}
