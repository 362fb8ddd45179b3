/** Runs of a desk that is open with one agent: scope, window, gate, journal, budget and meter as they are. */
import { Effect, Layer, Schema, type Scope } from "effect"
import { LanguageModel, Model } from "effect/ai"

import { Agent, ContextWindow, CostModel, Models, PromptCheck, ToolScope } from "../../../src/agent/index.ts"
import { Journal, JournalSqlite } from "../../../src/journal/index.ts"
import { Dependency, Desk, Domain, Office, Plan, Run } from "../../../src/run/index.ts"
import { instructions, large, Lookup, lookups, make, text } from "../../agents/scripted.ts"
import { withPlace } from "../../durable/places.ts"
import { at, type Contender, heap, mustBe, now, timed } from "../../util.ts"

const counter = Agent.make("counter", {
  description: "Counts pages",
  instructions,
  input: Schema.Struct({}),
  output: Schema.Struct({ pages: Schema.Int }),
  models: Models.make([
    { provide: Model.make("scripted", "scripted-1", Layer.effect(LanguageModel.LanguageModel, make)) }
  ]),
  tools: ToolScope.make([ToolScope.tool(Lookup, { handle: () => Effect.succeed(text) })]),
  steps: lookups + 1
})

const desk = Desk.make("pages", {
  version: "1",
  input: Schema.String,
  domains: [Domain.make("desk", { workers: [counter] })],
  coordinator: Plan.make<string>([{ id: "count", worker: "desk.counter", objective: "Count the pages" }])
})

type Services = Journal.Journal | Dependency.Dependency | CostModel.CostModel | Scope.Scope

const opened = <A, E, E2>(
  journal: Layer.Layer<Journal.Journal, E2>,
  use: (run: (id: string) => Effect.Effect<void, unknown, Services>) => Effect.Effect<A, E, Services>
): Promise<A> =>
  Effect.gen(function* () {
    const office = yield* Office.open(desk, { log: false })
    return yield* use((id) =>
      Effect.map(Run.startIn(office, { id, input: "go" }), ({ results }) => {
        mustBe("the pages", JSON.stringify(results["count"]?.output), JSON.stringify({ pages: lookups }))
      })
    )
  }).pipe(
    Effect.scoped,
    Effect.provide(Layer.mergeAll(journal, Dependency.layer(), CostModel.layerUnknown)),
    Effect.runPromise
  )

/** Microseconds of a turn. */
const turns = (n: number, journal: Layer.Layer<Journal.Journal, unknown>): Promise<number> =>
  opened(journal, (run) =>
    Effect.gen(function* () {
      const t0 = now()
      for (let i = 0; i < n; i++) yield* run(`run-${i}`)
      return ((now() - t0) * 1000) / (n * (lookups + 1))
    })
  )

/** Bytes that each of some runs leaves in the process. */
const left = (n: number, journal: Layer.Layer<Journal.Journal, unknown>): Promise<number> =>
  opened(journal, (run) =>
    Effect.gen(function* () {
      for (let i = 0; i < 5; i++) yield* run(`first-${i}`)
      const before = yield* Effect.promise(heap)
      for (let i = 0; i < n; i++) yield* run(`run-${i}`)
      return ((yield* Effect.promise(heap)) - before) / n
    })
  )

const inFile = <A>(use: (journal: Layer.Layer<Journal.Journal, unknown>) => Promise<A>): Promise<A> =>
  withPlace("normal", ({ where }) => use(JournalSqlite.layerSqlite({ filename: where, synchronous: "normal" })))

const window = ContextWindow.make({ size: 1_000_000 })

export const contender: Contender = {
  W8: async (scale) => {
    const n = at(200, scale, 2)
    const calls = at(2_000, scale, 5)
    const prompt = large()
    const tools = [Lookup]
    const summarise = ContextWindow.mechanical
    const fitting = ContextWindow.fit(window, ContextWindow.initial, { prompt, tools, summarise })
    return {
      turn: await turns(n, Journal.layerMemory),
      "turn-normal": await inFile((journal) => turns(n, journal)),
      heap: await inFile((journal) => left(at(100, scale, 2), journal)),
      estimate: await timed(calls, 5, async () => ContextWindow.estimate({ prompt, tools })),
      fit: await timed(calls, 5, () => Effect.runPromise(fitting)),
      check: await timed(calls, 5, async () => PromptCheck.check(prompt))
    }
  }
}
