/** Runs of a desk that is open: contracts, schemas, journal in memory, audit and recovery as they are. */
import { Effect, Layer, Schema, type Scope } from "effect"

import { Journal } from "../../src/journal/index.ts"
import * as Tracing from "../../src/observe/Tracing.ts"
import { Desk, Domain, Office, Plan, Run, Worker } from "../../src/run/index.ts"
import { recording } from "../observe/recording.ts"
import type { Workload } from "../util.ts"
import { at, fanOut, mustBe, now } from "../util.ts"

const Input = Schema.Struct({ text: Schema.String })

const stepper = (name: string, does: string, size = 1) =>
  Worker.make(name, {
    description: `Answers with a text that is ${does}`,
    input: Input,
    output: Schema.String,
    size,
    handle: ({ input }) => Effect.succeed(`${input.text} ${does}`)
  })

const of = (task: string) => (accepted: Plan.Accepted) => ({ text: accepted[task] })

const chainDesk = Desk.make("chain", {
  version: "1",
  input: Input,
  domains: [
    Domain.make("desk", {
      workers: [stepper("research", "researched"), stepper("write", "written"), stepper("check", "checked")]
    })
  ],
  coordinator: Plan.make<typeof Input.Type>([
    { id: "research", worker: "desk.research", objective: "Research it", input: (_, input) => input },
    { id: "write", worker: "desk.write", objective: "Write it", needs: ["research"], input: of("research") },
    { id: "check", worker: "desk.check", objective: "Check it", needs: ["write"], input: of("write") }
  ])
})

const fanDesk = Desk.make("fan", {
  version: "1",
  input: Input,
  domains: [Domain.make("desk", { workers: [stepper("work", "done", fanOut.inFlight)] })],
  coordinator: Plan.make<typeof Input.Type>(
    Array.from({ length: fanOut.tasks }, (_, i) => ({
      id: `t${i}`,
      worker: "desk.work",
      objective: "Do it",
      // What is the same order twice is done once.
      input: (_, { text }) => ({ text: `${text} ${i}` })
    })),
    { concurrency: fanOut.inFlight }
  )
})

/** How it is measured: by which clock, in milliseconds, and what has to be over before time is up. */
export interface Timing {
  readonly clock?: () => number
  readonly settled?: Effect.Effect<void> | undefined
}

/** Runs of three orders in a row: microseconds of an order. */
export const chain = (n: number, { clock = now, settled = Effect.void }: Timing = {}) =>
  Effect.gen(function* () {
    const office = yield* Office.open(chainDesk, { log: false })
    const t0 = clock()
    let last: unknown
    for (let i = 0; i < n; i++) {
      const outcome = yield* Run.startIn(office, { id: `run-${i}`, input: { text: "task" } })
      last = outcome.results["check"]?.output
    }
    yield* settled
    const micros = ((clock() - t0) * 1000) / (n * 3)
    mustBe("the last verdict", last, "task researched written checked")
    return micros
  })

/** Runs of many independent orders: microseconds of an order. */
export const fan = (n: number, { clock = now, settled = Effect.void }: Timing = {}) =>
  Effect.gen(function* () {
    const office = yield* Office.open(fanDesk, { log: false })
    const t0 = clock()
    for (let i = 0; i < n; i++) {
      const outcome = yield* Run.startIn(office, { id: `run-${i}`, input: { text: "task" } })
      mustBe("the status", outcome.status, "completed")
      mustBe("the results", outcome.dispatches.length, fanOut.tasks)
    }
    yield* settled
    return ((clock() - t0) * 1000) / (n * fanOut.tasks)
  })

export const run = <A, E>(effect: Effect.Effect<A, E, Journal.Journal | Scope.Scope>): Promise<A> =>
  Effect.runPromise(effect.pipe(Effect.scoped, Effect.provide(Journal.layerMemory)))

const traced = Layer.mergeAll(Tracing.layer(), recording().layer)

export const runs: Workload = async (scale) => ({
  dispatch: await run(chain(at(5_000, scale))),
  "dispatch-spans": await run(Effect.provide(chain(at(5_000, scale)), traced)),
  "fan-out": await run(fan(at(200, scale, 2)))
})
