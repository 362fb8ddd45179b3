/** Whatever a model says and whatever its tools do: what is sent to it holds, and its work ends. */
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Fiber, Option, Schema } from "effect"
import { type Prompt, Tool } from "effect/ai"
import { Models, PromptCheck, ScriptedModel, ToolScope } from "espalier/agent"
import { Run } from "espalier/run"

import { history } from "../run/desks.ts"
import { begin, of, pass } from "../run/living.ts"
import { killed } from "../run/outside.ts"
import { calls, deskWith, Mail, search, services } from "./agents.ts"

const called = (...list: ReadonlyArray<ScriptedModel.ToolCall>) =>
  ScriptedModel.tools(list, { usage: { inputTokens: 10, outputTokens: 5 }, reasoning: "hm" })

const odd = ["call_2_1", "call_2_2", "call_3_1", "call_3_2", "call_4_1", "", "a b", "x".repeat(200), "船", "__proto__"]

/** Turns of a model that errs, by a number. */
const kinds: ReadonlyArray<(pick: number) => ScriptedModel.Step> = [
  (pick) =>
    called(...Array.from({ length: 1 + (pick % 4) }, (_, n) => ({ name: "search", params: { query: `${n % 2}` } }))),
  (pick) =>
    called(
      { name: "search", params: { query: `${pick}` } },
      { name: "breaks", params: {} },
      { name: "rm", params: { all: true } },
      { name: "search", params: { query: pick } }
    ),
  (pick) => called({ name: "mail", params: { to: `${pick % 2}` } }, { name: "search", params: { query: "y" } }),
  () => called({ name: "hangs", params: {} }, { name: "search", params: { query: "beside" } }),
  () => ScriptedModel.text("I think so"),
  () => ScriptedModel.text(""),
  () => ScriptedModel.text("hm", { finish: "pause", reasoning: "hm" }),
  () => ScriptedModel.tools([{ name: "search", params: {} }], { finish: "length" }),
  () => calls(["deliver", { output: { answer: 7 } }]),
  () => calls(["search", { query: "z" }], ["deliver", { output: { answer: "x" }, confidence: 1 }], ["give_up", {}]),
  (pick) =>
    called(
      ...[0, 1, 2, 3].map((n) => ({
        id: odd[(pick + (n % 3)) % odd.length]!,
        name: n === 2 ? "a name, that is none" : "search",
        params: { query: "same" }
      }))
    ),
  (pick) =>
    called(
      ...[null, "text", [1], 7, { query: { deep: [null] } }]
        .slice(pick % 5)
        .map((params) => ({ name: "search", params }))
    ),
  () => called({ name: "long", params: {} }, { name: "long", params: {} }),
  () => called({ name: "read_again", params: { handle: "call_1" } }, { name: "search", params: { query: "r" } }),
  () => ScriptedModel.fault("rate-limit", { retryAfter: "1 second" }),
  () => ScriptedModel.fault("overloaded"),
  () => ScriptedModel.fault("context-overflow"),
  () => ScriptedModel.hang,
  () => calls(["give_up", { reason: "which ship?", because: "question" }]),
  () => calls(["deliver", { output: { answer: "yes" }, confidence: 0.9 }])
]

/** Calls and results in pairs, as they stand in a prompt. */
const pairs = (prompt: Prompt.Prompt) => {
  const called: Array<string> = []
  const answered: Array<string> = []
  for (const { content } of prompt.content) {
    if (typeof content === "string") continue
    for (const part of content) {
      if (part.type === "tool-call") called.push(`${part.id} ${part.name}`)
      if (part.type === "tool-result") answered.push(`${part.id} ${part.name}`)
    }
  }
  return { called, answered }
}

const readonly = (name: string, success: Schema.Codec<unknown, unknown> = Schema.String) =>
  Tool.make(name, { parameters: Schema.Struct({}), success: success as never }).annotate(Tool.Readonly, true)

/** A desk whose models say what the numbers stand for, one after the other and over again. */
const world = (picks: ReadonlyArray<number>, sent: Map<string, number>) => {
  let next = 0
  const asked: Array<Prompt.Prompt> = []
  const said = (model: string) =>
    ScriptedModel.fromFunction(
      ({ prompt }) => {
        asked.push(prompt)
        const pick = picks[next++ % picks.length]!
        return kinds[pick % kinds.length]!(Math.floor(pick / kinds.length))
      },
      { model }
    )
  const models = Models.make([{ provide: said("one").model }, { provide: said("two").model, window: 200_000 }], {
    timeout: "10 seconds"
  })
  const tools = ToolScope.make([
    search(),
    ToolScope.tool(readonly("breaks"), { handle: () => Effect.fail("no" as never) }),
    ToolScope.tool(readonly("hangs"), { timeout: "5 seconds", handle: () => Effect.never }),
    ToolScope.tool(readonly("long"), { handle: () => Effect.succeed("слово ".repeat(600) as never) }),
    ToolScope.tool(Mail, {
      gate: "always",
      handle: ({ to }, { key }) => Effect.sync(() => `mail to ${to} ${sent.set(key, (sent.get(key) ?? 0) + 1).size}`)
    })
  ])
  const steps = 8
  const desk = () =>
    deskWith(models, { tools, steps, corrections: 2, context: { size: 4000, maxSummary: 2000 }, maxOutput: 100 })
  return { asked, desk, steps }
}

const numbers = Arbitrary.array(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 << 16 }))),
  {
    minLength: 1,
    maxLength: 12
  }
)
const number = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1 << 16 })))

/** How a run goes on until it ends, or nobody but a person can say how; none of it takes longer than an hour. */
const ending = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(run)
    yield* pass("0 millis")
    yield* pass("1 hour")
    assert.isDefined(fiber.pollUnsafe(), "the run does not end")
    return yield* Fiber.join(fiber)
  })

describe("What is sent to a model", () => {
  it.effect.prop(
    "R-401 D22 D36 D95 D97 has one result for each call, in their order, and the work ends, whatever is said and done",
    { picks: numbers, seed: number },
    ({ picks, seed }) => {
      const sent = new Map<string, number>()
      const { asked, desk, steps } = world(picks, sent)
      const options = { id: "r1", input: "go", log: false, limits: { toolCalls: 30 } } as const
      return Effect.gen(function* () {
        let count = 0
        const at = 3 + (seed % 60)
        if (seed % 3 === 0) {
          const dies = () => count++ === at
          const moment = seed % 2 === 0 ? "before" : "after"
          yield* ending(Effect.exit(killed(Run.start(desk(), options), dies, moment)))
        } else if (seed % 3 === 1) {
          const run = yield* begin(Run.start(desk(), options))
          yield* pass(`${seed % 20} seconds`)
          yield* Run.cancel("r1", { by: "ann", note: "enough" } as never).pipe(Effect.ignore)
          yield* run.interrupt
        } else yield* ending(Run.start(desk(), options))
        let outcome = yield* ending(Effect.option(Run.resume(desk(), "r1", { log: false })))
        for (let round = 0; round < 6 && Option.isSome(outcome) && outcome.value.status === "waiting"; round++) {
          for (const { review } of outcome.value.reviews) {
            const decision = (seed + round) % 2 === 0 ? "approve" : "reject"
            yield* Effect.ignore(Run.decide({ review, decision, by: "ann", note: "by the book" } as never))
          }
          outcome = yield* ending(Effect.option(Run.resume(desk(), "r1", { log: false })))
        }
        const last = yield* Run.outcome("r1")
        assert.include(["completed", "partial", "failed", "cancelled", "waiting"], last.status)

        for (const prompt of asked) {
          assert.deepStrictEqual(PromptCheck.check(prompt), [])
          const { answered, called } = pairs(prompt)
          assert.deepStrictEqual(answered, called)
          assert.strictEqual(new Set(called).size, called.length)
        }
        const events = yield* history("r1")
        // One that does not hold is never sent, but its order is lost.
        assert.notInclude(JSON.stringify(events), "the prompt is not sent")
        assert.isEmpty(of(events, "Reported").filter(({ result }) => result.error?.kind === "defect"))
        for (const [dispatch, turns] of Map.groupBy(of(events, "Spent"), (each) => each.dispatch)) {
          const counted = turns.flatMap(({ facts, what }) =>
            what === "model" && facts?.["summary"] !== true ? [Number(facts?.["turn"])] : []
          )
          assert.isAtMost(Math.max(0, ...counted), steps, dispatch)
          assert.deepStrictEqual(
            counted.toSorted((one, other) => one - other),
            counted,
            dispatch
          )
        }
        for (const [key, times] of sent) assert.strictEqual(times, 1, key)
        const { ledger } = yield* Run.state("r1")
        assert.strictEqual(ledger.reservations.size, 0)
        assert.isAtMost(ledger.accounts.get("run")?.settled.toolCalls ?? 0, 30)
      }).pipe(Effect.provide(services))
    },
    { arbitrary: { runs: 40, seed: "espalier" } }
  )
})
