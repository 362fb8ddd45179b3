/** The histories of runs of so many orders. */
import { Effect, Schema, Stream } from "effect"

import { Journal } from "../../src/journal/index.ts"
import { Desk, Domain, Plan, Run, type RunEvent, Worker } from "../../src/run/index.ts"
import { at, mustBe, type Workload, worked } from "../util.ts"

/** Orders of a run: few, and nearly as many as the state of one run has room for. */
const lengths = [500, 2_000]
const inFlight = 50

const Input = Schema.Struct({ text: Schema.String })

const worker = Worker.make("work", {
  description: "Answers with the text",
  input: Input,
  output: Schema.String,
  size: inFlight,
  handle: ({ input }) => Effect.succeed(input.text)
})

const history = (orders: number): Promise<ReadonlyArray<RunEvent.RunEvent>> => {
  const desk = Desk.make("fan", {
    version: "1",
    input: Input,
    domains: [Domain.make("desk", { workers: [worker] })],
    coordinator: Plan.make<typeof Input.Type>(
      Array.from({ length: orders }, (_, i) => ({
        id: `t${i}`,
        worker: "desk.work",
        objective: "Do it",
        input: (_, { text }) => ({ text: `${text} ${i}` })
      })),
      { concurrency: inFlight }
    )
  })
  return Effect.gen(function* () {
    yield* Run.start(desk, { id: "run", input: { text: "task" }, log: false })
    return yield* Stream.runCollect(Run.events("run"))
  }).pipe(Effect.provide(Journal.layerMemory), Effect.runPromise)
}

/** Folds histories, and looks at how many orders it has found: microseconds of an event. */
export const folding =
  (fold: (events: ReadonlyArray<RunEvent.RunEvent>) => number): Workload =>
  async (scale) => {
    const figures: Record<string, number> = {}
    for (const orders of lengths) {
      const events = await history(orders)
      const n = at(100, scale, 5)
      const t0 = worked()
      for (let i = 0; i < n; i++) mustBe("the orders", fold(events), orders)
      figures[`fold-${orders}`] = ((worked() - t0) * 1_000) / (n * events.length)
    }
    return { ...figures, "fold-growth": figures["fold-2000"]! / figures["fold-500"]! }
  }
