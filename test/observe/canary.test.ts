/** What people, models, tools and failures say stands in no span, link, metric or record, also where it does not look like a secret. */
import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, References, Schema } from "effect"
import { Tool } from "effect/ai"
import { Failure } from "espalier"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Telemetry } from "espalier/observe"
import { Dependency, Plan, Review, Run } from "espalier/run"

import { calls, delivers, deskWith } from "../agent/agents.ts"
import { assertClean, canaries } from "../run/canaries.ts"
import { elapse, history, task, worker } from "../run/desks.ts"
import { deskOf } from "../run/living.ts"
import { collecting, everything, ownMetrics } from "./spans.ts"

const kinds = Object.entries(canaries)

const all = kinds.map(([, canary]) => canary).join(" | ")

/** All that is told of a program: spans with their links, metrics, and records down to the least of them, without words of failures. */
const listening = () => {
  const { layer, spans } = collecting()
  const said: Array<string> = []
  const logger = Logger.make<unknown, void>(({ cause, fiber, message }) => {
    said.push(
      inspect([message, cause, fiber.getRef(References.CurrentLogAnnotations)], { depth: 20, maxStringLength: null })
    )
  })
  const telemetry = Telemetry.layer({ logs: { reasons: false, level: "All" } }).pipe(
    Layer.provideMerge(Layer.mergeAll(layer, Logger.layer([logger])))
  )
  const told = Effect.map(Metric.snapshot, (metrics) => ({
    spans: everything(spans),
    links: inspect(
      spans.map(({ links }) => links.map(({ attributes }) => attributes)),
      { depth: 9 }
    ),
    metrics: JSON.stringify(metrics.map(({ attributes, description, id }) => [id, description, attributes])),
    logs: said.join("\n")
  }))
  const clean = Effect.map(told, (each) => {
    for (const [where, text] of Object.entries(each)) {
      assert.isAbove(text.length, 10, where)
      assertClean(text, where)
    }
  })
  return { clean, layer: Layer.mergeAll(telemetry, Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown) }
}

const r1 = { id: "r1", input: all, log: false } as const

describe("what is told of a run has nothing", () => {
  it.effect(
    "R-501 R-502 R-505 of inputs, outputs, objectives, failures and defects, each with all kinds of secrets",
    () => {
      const { clean, layer } = listening()
      return Effect.gen(function* () {
        let tries = 0
        const one = worker("one", () =>
          Effect.suspend(() => {
            tries += 1
            if (tries === 1) return Effect.fail(Failure.transient(all))
            return tries === 2 ? Effect.die(new Error(all)) : Effect.succeed(all)
          })
        )
        const two = worker("two", () => Effect.fail(Failure.capability(all)))
        const built = deskOf(
          [one, two],
          Plan.make<string>([
            task("a", { objective: all, input: () => ({ text: all }) }),
            task("b", { worker: "d.two", needs: ["a"] })
          ])
        )
        yield* elapse(Run.start(built, r1), "1 hour")
        assert.include(JSON.stringify(yield* history("r1")), "canary correct horse battery")
        yield* clean
      }).pipe(Effect.provide(layer), ownMetrics)
    }
  )

  it.effect("R-501 R-502 R-505 of prompts, answers, and arguments, results, errors and ids of calls", () => {
    const { clean, layer } = listening()
    return Effect.gen(function* () {
      const Look = Tool.make("look", {
        description: "Looks",
        parameters: Schema.Struct({ query: Schema.String }),
        success: Schema.String
      }).annotate(Tool.Readonly, true)
      let looks = 0
      const look = ToolScope.tool(Look, {
        handle: () =>
          Effect.suspend(() => (looks++ === 0 ? Effect.succeed(all) : Effect.fail(Failure.transient(all)))) as never
      })
      const script = ScriptedModel.make(
        [
          ScriptedModel.text(all, { reasoning: all }),
          ScriptedModel.tools([{ name: "look", params: { query: all }, id: all }], { text: all }),
          calls(["look", { query: all }]),
          calls([`look ${all}`, { query: all }]),
          calls(["look", { [all]: all }]),
          delivers(all)
        ],
        { model: "m" }
      )
      const built = deskWith(script, { tools: ToolScope.make([look]) as never })
      yield* elapse(Run.start(built, r1), "1 hour")
      assert.isAbove(looks, 1)
      yield* clean
    }).pipe(Effect.provide(layer), ownMetrics)
  })

  it.effect("R-501 R-502 R-505 of what people are asked, answer, and are called", () => {
    const { clean, layer } = listening()
    return Effect.gen(function* () {
      const asks = worker("one", () =>
        Effect.map(
          Review.ask({ name: "which", question: all, about: { what: all }, rationale: all }),
          (reply) => reply._tag
        )
      )
      const built = deskOf([asks], Plan.make<string>([task("a")]))
      yield* Run.start(built, r1)
      const review = { review: "r1/review/1", by: canaries["api-token"], note: all } as const
      yield* Run.decide({ ...review, decision: "answer", answer: { value: all } })
      yield* Effect.exit(Run.decide({ ...review, decision: "reject", by: canaries.short }))
      yield* Run.resume(built, "r1", { log: false })
      yield* Effect.exit(Run.cancel("r1", { by: canaries.password, note: all } as never))
      yield* clean
    }).pipe(Effect.provide(layer), ownMetrics)
  })
})
