import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { type Decider, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { memory, task } from "./desks.ts"
import { goOn, guarded, of, r1 } from "./guards.ts"

const sure = (output: string, confidence: number) => Result.completed(output, { confidence })

const say = (name: string, answers: ReadonlyArray<Fake.Reply<Schema.Json>>, confidence?: number) =>
  Fake.worker(name, { capabilities: ["work"], answers, ...(confidence === undefined ? {} : { confidence }) })

interface Case {
  readonly what: string
  readonly policy: Partial<Decider.Policy>
  readonly one: ReadonlyArray<Fake.Reply<Schema.Json>>
  readonly two?: ReadonlyArray<Fake.Reply<Schema.Json>>
  readonly stands: string
  readonly dispatches: ReadonlyArray<string>
  readonly degraded: boolean
  readonly note?: string
}

const cases: ReadonlyArray<Case> = [
  {
    what: "a sure result is taken",
    policy: { lowConfidence: "retry" },
    one: [sure("first", 0.6)],
    stands: "first",
    dispatches: ["d.one"],
    degraded: false
  },
  {
    what: "note takes it, and says so",
    policy: {},
    one: [sure("first", 0.59)],
    stands: "first",
    dispatches: ["d.one"],
    degraded: true,
    note: "a is accepted from d.one: d.one gives it a confidence of 0.59, below 0.6"
  },
  {
    what: "retry takes the second one when it is sure",
    policy: { lowConfidence: "retry" },
    one: [sure("first", 0.3), sure("second", 0.9)],
    stands: "second",
    dispatches: ["d.one", "d.one"],
    degraded: false
  },
  {
    what: "retry takes the better one when neither is",
    policy: { lowConfidence: "retry" },
    one: [sure("first", 0.5), sure("second", 0.3)],
    stands: "first",
    dispatches: ["d.one", "d.one"],
    degraded: true,
    note: "another try did not change that"
  },
  {
    what: "cross-check is settled by another worker that says the same",
    policy: { lowConfidence: "cross-check" },
    one: [sure("same", 0.3)],
    two: [sure("same", 0.2)],
    stands: "same",
    dispatches: ["d.one", "d.two"],
    degraded: false,
    note: "d.one and d.two delivered the same"
  },
  {
    what: "cross-check takes the one that is sure",
    policy: { lowConfidence: "cross-check" },
    one: [sure("first", 0.3)],
    two: [sure("other", 0.9)],
    stands: "other",
    dispatches: ["d.one", "d.two"],
    degraded: false,
    note: "a is accepted from d.two"
  },
  {
    what: "cross-check takes the more confident one of two that differ, though it was not the last",
    policy: { lowConfidence: "cross-check" },
    one: [sure("first", 0.5)],
    two: [sure("other", 0.2)],
    stands: "first",
    dispatches: ["d.one", "d.two"],
    degraded: true,
    note: "another worker delivered something else"
  }
]

describe("confidence in a run", () => {
  it.effect.each(cases)(
    "R-208 $what",
    ({ degraded, dispatches, note = "a is accepted from", one, policy, stands, two }) =>
      Effect.gen(function* () {
        const desk = guarded(two === undefined ? [say("one", one)] : [say("one", one), say("two", two)], [task("a")], {
          policy
        })
        const outcome = yield* Run.start(desk, r1)
        assert.strictEqual(outcome.status, "completed")
        assert.deepStrictEqual(
          outcome.dispatches.map(({ worker }) => worker),
          [...dispatches]
        )
        assert.strictEqual(outcome.results["a"]?.output, stands)
        assert.strictEqual(outcome.degraded, degraded)
        assert.include(outcome.results["a"]?.note, note)
        assert.deepStrictEqual(yield* Run.outcome("r1"), outcome)
      }).pipe(memory)
  )

  it.effect("R-208 what stands is what those that need it are handed", () =>
    Effect.gen(function* () {
      const one = say("one", [sure("first", 0.5)])
      const two = say("two", [sure("other", 0.2)])
      const next = Fake.worker("next", { otherwise: "next" })
      const plan = [task("a"), task("n", { worker: "d.next", needs: ["a"] })]
      yield* Run.start(guarded([one, two, next], plan, { policy: { lowConfidence: "cross-check" } }), r1)
      const [order] = yield* next.calls
      assert.deepStrictEqual(order?.accepted, { a: "first" })
    }).pipe(memory)
  )

  it.effect("R-208 the other worker is not shown the result that it checks", () =>
    Effect.gen(function* () {
      const two = say("two", [sure("other", 0.9)])
      const desk = guarded([say("one", [sure("first", 0.3)]), two], [task("a")], {
        policy: { lowConfidence: "cross-check" }
      })
      yield* Run.start(desk, r1)
      const [order] = yield* two.calls
      assert.deepStrictEqual([order?.accepted, order?.previous, order?.dispatch], [{}, [], "r1/a/2"])
    }).pipe(memory)
  )

  it.effect.each([
    [0.9, 0.8, 2],
    [0.2, 0.3, 1]
  ] as const)("R-208 a worker's own threshold of %d stands over that of the desk", ([threshold, confidence, calls]) =>
    Effect.gen(function* () {
      const one = say("one", [sure("first", confidence), sure("second", 0.95)], threshold)
      const outcome = yield* Run.start(guarded([one], [task("a")], { policy: { lowConfidence: "retry" } }), r1)
      assert.deepStrictEqual([outcome.status, outcome.degraded, (yield* one.calls).length], ["completed", false, calls])
    }).pipe(memory)
  )

  const reviewed = [
    ["review", { lowConfidence: "review" }, "low-confidence", [sure("first", 0.3)], []],
    [
      "retry",
      { lowConfidence: "retry", reviewConfidence: true },
      "low-confidence",
      [sure("same", 0.3), sure("same", 0.3)],
      []
    ],
    [
      "cross-check",
      { lowConfidence: "cross-check", reviewConfidence: true },
      "disagreement",
      [sure("x", 0.3)],
      [sure("y", 0.2)]
    ]
  ] as const

  it.effect.each(reviewed)("R-208 %s asks a person where the desk says so", ([, policy, reason, one, two]) =>
    Effect.gen(function* () {
      const desk = guarded([say("one", one), say("two", two)], [task("a")], { policy })
      const waiting = yield* Run.start(desk, r1)
      assert.strictEqual(waiting.status, "waiting")
      assert.deepInclude(waiting.reviews[0], {
        kind: "result-acceptance",
        reason,
        allowed: ["approve", "reject", "retry"]
      })
      const outcome = yield* goOn(desk, "approve")
      assert.strictEqual(outcome.status, "completed")
    }).pipe(memory)
  )

  it.effect("R-208 a person who has it tried anew begins anew", () =>
    Effect.gen(function* () {
      const one = say("one", [sure("first", 0.3), sure("second", 0.9)])
      const desk = guarded([one], [task("a")], { policy: { lowConfidence: "review" } })
      yield* Run.start(desk, r1)
      const outcome = yield* goOn(desk, "retry", { note: "look again" })
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "second"])
      assert.deepStrictEqual((yield* one.calls)[1]?.answers, [{ by: "ann", note: "look again" }])
      assert.strictEqual((yield* of("ReviewOpened")).length, 1)
    }).pipe(memory)
  )
})
