/**
 * LangGraph 1: a supervisor that sends the task to research, write and check, with a checkpoint that is awaited after each
 * superstep. Long runs are a node that goes back to itself. The state holds all answers.
 */
import { drivers } from "../../durable/counting.ts"
import { type Engine, type Limits, type Open, type Place, steps, type Work } from "../../durable/engine.ts"
import { fanOut, mustBe } from "../../util.ts"

interface State {
  readonly results: ReadonlyArray<string>
}
interface Graph {
  invoke(input: object | null, config: object): Promise<State>
  getState(config: object): Promise<{ readonly next: ReadonlyArray<string> }>
}
interface Builder {
  addNode(name: string, node: (state: never) => Promise<object> | object): Builder
  addEdge(from: string, to: string): Builder
  addConditionalEdges(from: string, route: (state: never) => unknown, targets?: ReadonlyArray<string>): Builder
  compile(options: { readonly checkpointer: Saver }): Graph
}
/** What is used of the packages, which are installed beside the benchmarks only. */
interface LangGraph {
  readonly StateGraph: new (state: unknown) => Builder
  readonly Annotation: {
    (channel: object): unknown
    Root(channels: object): unknown
  }
  readonly Send: new (node: string, input: object) => object
  readonly START: string
  readonly END: string
}
interface Saver {
  list(config: object): AsyncIterable<{ readonly config: { readonly configurable: { readonly thread_id: string } } }>
}
interface Sqlite {
  readonly default: new (file: string) => {
    pragma(text: string): unknown
    prepare(text: string): object
    close(): void
  }
}
interface SqliteSavers {
  readonly SqliteSaver: new (database: object) => Saver
}
interface PostgresSavers {
  readonly PostgresSaver: {
    fromConnString(url: string): Saver & { setup(): Promise<void>; end(): Promise<void> }
  }
}

const openSaver = async ({ store, where }: Place): Promise<{ saver: Saver; close: () => Promise<void> }> => {
  if (store === "postgres") {
    const { PostgresSaver }: PostgresSavers = await import("@langchain/langgraph-checkpoint-postgres" as string)
    const saver = PostgresSaver.fromConnString(where)
    await saver.setup()
    return { saver, close: () => saver.end() }
  }
  const { default: Database }: Sqlite = await import("better-sqlite3" as string)
  const { SqliteSaver }: SqliteSavers = await import("@langchain/langgraph-checkpoint-sqlite" as string)
  const database = new Database(where)
  database.pragma("journal_mode = WAL")
  database.pragma(`synchronous = ${store}`)
  const driver: unknown = Object.getPrototypeOf(database.prepare("SELECT 1"))
  if (typeof driver === "object" && driver !== null) drivers.add(driver)
  return { saver: new SqliteSaver(database), close: async () => database.close() }
}

const { Annotation, END, START, Send, StateGraph }: LangGraph = await import("@langchain/langgraph" as string)

/** A fresh state, in which answers come one after the other. */
const makeState = (): unknown =>
  Annotation.Root({
    results: Annotation({
      reducer: (before: ReadonlyArray<string>, more: ReadonlyArray<string>) => before.concat(more),
      default: () => []
    })
  })

/** After so many answers the next step has their number. */
const answer = async (work: Work, step: string): Promise<State> => ({ results: [await work(step)] })

const makeTask = (work: Work, checkpointer: Saver): Graph => {
  const graph = new StateGraph(makeState())
    .addNode("supervisor", () => ({}))
    .addEdge(START, "supervisor")
    .addConditionalEdges("supervisor", ({ results }: State) => steps[results.length] ?? END, [...steps, END])
  for (const step of steps) graph.addNode(step, () => answer(work, step)).addEdge(step, "supervisor")
  return graph.compile({ checkpointer })
}

const makeFan = (work: Work, checkpointer: Saver): Graph =>
  new StateGraph(makeState())
    .addNode("supervisor", () => ({}))
    .addNode("work", ({ step }: { readonly step: string }) => answer(work, step))
    .addEdge(START, "supervisor")
    .addConditionalEdges(
      "supervisor",
      () => Array.from({ length: fanOut.tasks }, (_, i) => new Send("work", { step: `t${i}` })),
      ["work"]
    )
    .addEdge("work", END)
    .compile({ checkpointer })

const makeChain = (work: Work, checkpointer: Saver, n: number): Graph =>
  new StateGraph(makeState())
    .addNode("work", ({ results }: State) => answer(work, `s${results.length}`))
    .addEdge(START, "work")
    .addConditionalEdges("work", ({ results }: State) => (results.length < n ? "work" : END), ["work", END])
    .compile({ checkpointer })

export const limits: Limits = { stores: ["full", "normal", "postgres"], atOnce: 100, longest: 1_000, longestLarge: 100 }

export const open: Open = async (place, work): Promise<Engine> => {
  const { close, saver } = await openSaver(place)
  const config = (thread_id: string, n: number) => ({
    configurable: { thread_id },
    durability: "sync",
    recursionLimit: 2 * n + 10
  })
  const task = makeTask(work, saver)
  const fan = makeFan(work, saver)
  const invoke = async (graph: Graph, run: string, n: number, input: object | null): Promise<void> => {
    const { results } = await graph.invoke(input, { ...config(run, n), maxConcurrency: fanOut.inFlight })
    mustBe("the results", results.length, n)
  }
  return {
    task: (run) => invoke(task, run, steps.length, { results: [] }),
    fan: (run) => invoke(fan, run, fanOut.tasks, { results: [] }),
    chain: (run, n) => invoke(makeChain(work, saver, n), run, n, { results: [] }),
    resume: async (n = steps.length) => {
      const runs = new Set<string>()
      for await (const { config } of saver.list({})) runs.add(config.configurable.thread_id)
      for (const run of runs) {
        const { next } = await task.getState(config(run, n))
        if (next.length > 0) await invoke(task, run, n, null)
      }
    },
    close
  }
}
