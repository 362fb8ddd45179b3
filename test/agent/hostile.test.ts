import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { LanguageModel, Model, type Response } from "effect/ai"
import { Gateway, Meter, Models, ScriptedModel, ToolScope } from "espalier/agent"

import { history, settle } from "../run/desks.ts"
import { of } from "../run/living.ts"
import { calls, delivers, deskWith, Search, search, services, started } from "./agents.ts"

/** Models of a provider that answers with these parts, whatever they are. */
const answering = (...answers: ReadonlyArray<ReadonlyArray<unknown>>): Models.Models => {
  let asked = 0
  const layer = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () =>
        Effect.sync(() => answers[Math.min(asked++, answers.length - 1)] as Array<Response.PartEncoded>),
      streamText: () => {
        throw new Error("nobody asks for a stream")
      }
    })
  )
  return Models.make([{ provide: Model.make("own", "m1", layer) }])
}

const finish = (input: object = { total: 10 }) => ({
  type: "finish",
  reason: "tool-calls",
  usage: { inputTokens: input, outputTokens: { total: 5 } }
})

const called = (id: string, name: string, params: unknown) => ({ type: "tool-call", id, name, params })

const delivered = called("end", "deliver", { output: { answer: "Fram" }, confidence: 0.9 })

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

describe("A hostile model", () => {
  const vast: ReadonlyArray<readonly [string, ScriptedModel.Step]> = [
    ["a text of 3 MB", ScriptedModel.text("x".repeat(3_000_000))],
    ["arguments of 200 levels", calls(["search", { query: nested(200) }])]
  ]
  it.effect.each(vast)("D38 is one that has failed when it answers with %s, and no person is asked", ([, step]) => {
    const script = ScriptedModel.make([step, delivers("Fram")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search()]) }))
      const events = yield* history("r1")
      assert.deepStrictEqual(
        of(events, "Reported").map(({ result }) => result.error?.kind),
        ["malformed", undefined]
      )
      assert.deepStrictEqual(of(events, "EffectQuarantined"), [])
      assert.strictEqual(outcome.status, "completed")
    }).pipe(Effect.provide(services))
  })

  it.effect("R-405 is not believed when its summary is larger than anything that can be recorded", () => {
    let turns = 0
    const script = ScriptedModel.fromFunction(({ outputLimit }) => {
      if (outputLimit === 2000) return ScriptedModel.object({ done: ["x".repeat(3_000_000)], state: "", remaining: [] })
      turns += 1
      return turns < 6
        ? ScriptedModel.tools([{ name: "search", params: { query: `${turns} ${"word ".repeat(800)}` } }])
        : delivers("Fram")
    })
    return Effect.gen(function* () {
      const desk = deskWith(script, {
        tools: ToolScope.make([search()]),
        context: { size: 12_000, keep: 1, maxSummary: 2000 },
        summary: "model",
        steps: 20
      })
      const outcome = yield* started(desk)
      const events = yield* history("r1")
      assert.isTrue(of(events, "Spent").some(({ facts }) => facts?.["summary"] === true))
      assert.deepStrictEqual(of(events, "EffectQuarantined"), [])
      assert.strictEqual(outcome.status, "completed")
    }).pipe(Effect.provide(services))
  })

  it.effect("D22 cannot give two calls one id, not even one that is made for it", () => {
    const models = answering(
      [called("call_1_1", "search", { query: "a" }), called("", "search", { query: "b" }), finish()],
      [called("call_2_0_0", "search", { query: "c" }), called("call_1_1", "search", { query: "d" }), finish()],
      [delivered, finish()]
    )
    const queries: Array<string> = []
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(models, { tools: ToolScope.make([search(queries)]) }))
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(queries, ["a", "b", "c", "d"])
      assert.strictEqual(outcome.dispatches.length, 1)
    }).pipe(Effect.provide(services))
  })
})

describe("A hostile provider", () => {
  it.effect("R-406 cannot keep a call from being recorded by an id that is none", () => {
    const models = answering([{ type: "response-metadata", id: "r".repeat(20_000) }, delivered, finish()])
    return Effect.gen(function* () {
      yield* started(deskWith(models))
      const { run } = yield* Meter.ofRun("r1")
      assert.deepStrictEqual([run.calls, run.unread, run.tokens.total], [1, 0, 15])
    }).pipe(Effect.provide(services))
  })

  it.effect("R-406 may claim as many tokens as there are numbers: the work goes on", () => {
    const most = Number.MAX_SAFE_INTEGER
    const models = answering([delivered, finish({ uncached: most, cacheRead: most, cacheWrite: most })])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(models))
      assert.deepStrictEqual([outcome.status, outcome.usage.tokens], ["completed", most])
    }).pipe(Effect.provide(services))
  })
})

describe("A crowd at the gateway", () => {
  it.effect("R-403 is waited for as long as the gateway lets a call wait", () => {
    const script = ScriptedModel.make([calls(["search", { query: "a" }]), delivers("Fram")])
    const found = ToolScope.tool(Search, { host: "h.example.com", handle: () => Effect.succeed(["a"]) })
    return Effect.gen(function* () {
      const other = Gateway.call({ tool: "other", host: "h.example.com", timeout: "1 hour" }, Effect.sleep("9 minutes"))
      yield* Effect.forkChild(other)
      yield* settle
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([found]) as never }), "20 minutes")
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(of(yield* history("r1"), "AttemptFailed"), [])
    }).pipe(Effect.provide([services, Gateway.layer({ concurrency: 1, wait: "10 minutes" })]))
  })
})
