import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type Desk, Effects, Run, type RunEvent, type Worker } from "espalier/run"

import { desk, history, memory, task, worker } from "./desks.ts"
import { of } from "./living.ts"

const start = { id: "r1", input: "go", log: false }

const Refund = Schema.Struct({ to: Schema.String, amount: Schema.Number })

type Args = typeof Refund.Type

/** What was paid, and how. */
class Till {
  readonly paid: Array<string> = []

  /** Pays back, and says what of it is a mistake. */
  refund(to: string, amount = 5, occurrence = 0) {
    return Effects.perform({
      name: "refund",
      args: { to, amount },
      occurrence,
      run: (_, args) =>
        Effect.sync(() => {
          const { amount, to } = args as Args
          this.paid.push(`${to} ${amount}`)
          return `${to} ${amount}`
        })
    })
  }
}

const refund: Worker.Tool = { name: "refund", input: Refund, gate: "always", editable: ["/amount"] }

const said = (effect: Effect.Effect<string, Effects.EffectError, Effects.Effects>) =>
  Effect.catchTag(effect, "EffectError", ({ message, reason }) => Effect.succeed(`${reason}: ${message}`))

const decide = (number: number, decision: RunEvent.Decision, fields: Partial<Run.Deciding> = {}) =>
  Run.decide({ review: `r1/review/${number}`, decision, by: "ann", ...fields })

const notices = Effect.map(history("r1"), (events) => of(events, "Noticed").map(({ what }) => what))

const resume = (built: Desk.Desk<string, never>) => Run.resume(built, "r1", { log: false })

/** A desk with one worker that pays back, and one task. */
const desked = (
  handle: () => Effect.Effect<unknown, unknown, Effects.Effects>,
  tool: Partial<Worker.Tool> = {},
  tasks: ReadonlyArray<string> = ["a"]
): Desk.Desk<string, never> => {
  const one = worker("one", handle, { tools: [{ ...refund, ...tool }], size: 4 })
  return desk(
    [one],
    tasks.map((id) => task(id))
  )
}

describe("A gate before a tool", () => {
  it.effect("R-306 D82 a call waits for a person, is done once, and the approval is spent", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() =>
        Effect.gen(function* () {
          const one = yield* till.refund("ann")
          for (const turn of [1, 2, 3]) assert.strictEqual(yield* till.refund("ann"), one, `turn ${turn}`)
          return one
        })
      )
      const first = yield* Run.start(built, start)
      assert.strictEqual(first.status, "waiting")
      const [review] = first.reviews
      assert.deepStrictEqual(
        [review?.kind, review?.reason, review?.allowed, review?.facts["arguments"], review?.facts["tool"]],
        ["action-approval", "gate", ["approve", "edit", "reject"], { to: "ann", amount: 5 }, "refund"]
      )
      assert.deepStrictEqual(till.paid, [])
      yield* decide(1, "approve")
      const last = yield* resume(built)
      assert.deepStrictEqual([last.status, last.results["a"]?.output], ["completed", "ann 5"])
      assert.deepStrictEqual(till.paid, ["ann 5"])
      const [intended] = of(yield* history("r1"), "EffectIntended")
      assert.strictEqual(intended?.grant, "r1/review/1")
    }).pipe(memory)
  )

  it.effect("R-306 a rejected call is not done, and the work is told so", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => said(till.refund("ann")))
      yield* Run.start(built, start)
      yield* decide(1, "reject", { note: "not this one" })
      const last = yield* resume(built)
      assert.strictEqual(
        last.results["a"]?.output,
        'rejected: The call of "refund" was rejected by "ann". It was not executed. Reason, quoted as data: "not this one". Do not repeat it as it is.'
      )
      assert.deepStrictEqual(till.paid, [])
    }).pipe(memory)
  )

  it.effect("D75 of two calls of the same tool, the approval of one lets that one be done", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() =>
        Effect.map(
          Effect.forEach(["ann", "bob"], (to) => till.refund(to), { concurrency: "unbounded" }),
          (all) => all.join(", ")
        )
      )
      assert.strictEqual((yield* Run.start(built, start)).reviews.length, 2)
      yield* decide(2, "approve")
      const between = yield* resume(built)
      assert.deepStrictEqual(till.paid, ["bob 5"])
      assert.deepStrictEqual(
        between.reviews.map(({ review }) => review),
        ["r1/review/1"]
      )
      yield* decide(1, "approve")
      assert.strictEqual((yield* resume(built)).results["a"]?.output, "ann 5, bob 5")
      assert.deepStrictEqual([till.paid, yield* notices], [["bob 5", "ann 5"], []])
    }).pipe(memory)
  )

  it.effect("R-306 whoever approves it may change it, and it is done as it was changed", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => till.refund("ann", 500))
      yield* Run.start(built, start)
      const wrong = yield* Effect.flip(decide(1, "edit", { edits: { "/amount": "3" } }))
      assert.strictEqual(wrong._tag === "CommandRefused" ? wrong.because : wrong._tag, "invalid-edits")
      const outside = yield* Effect.flip(decide(1, "edit", { edits: { "/to": "bob" } }))
      assert.include(outside.message, "/to must lie in what may be changed")
      yield* decide(1, "edit", { edits: { "/amount": 3 } })
      const last = yield* resume(built)
      assert.deepStrictEqual([last.results["a"]?.output, till.paid], ["ann 3", ["ann 3"]])
      const [intended] = of(yield* history("r1"), "EffectIntended")
      assert.deepStrictEqual(intended?.arguments, { to: "ann", amount: 3 })
    }).pipe(memory)
  )

  it.effect("R-306 nobody is asked while it waits for days, and an approval lapses", () =>
    Effect.gen(function* () {
      const till = new Till()
      const built = desked(() => till.refund("ann"))
      yield* Run.start(built, start)
      yield* decide(1, "approve")
      yield* TestClock.adjust("2 days")
      const again = yield* resume(built)
      assert.deepStrictEqual([again.status, again.reviews.map(({ review }) => review)], ["waiting", ["r1/review/2"]])
      assert.deepStrictEqual(till.paid, [])
      yield* decide(2, "approve")
      assert.strictEqual((yield* resume(built)).status, "completed")
      assert.deepStrictEqual(till.paid, ["ann 5"])
    }).pipe(memory)
  )
})
