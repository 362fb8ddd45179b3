import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { type Autonomy, Office, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { gate, memory, settle, task, worker } from "./desks.ts"
import { goOn, guarded, of, r1 } from "./guards.ts"

type Options = Partial<Fake.Options<unknown, unknown, unknown, unknown, never, never>>

const acting = (risk: "low" | "medium" | "high", options: Options = {}) =>
  Fake.worker("one", { risk, otherwise: "done", ...options })

/** What a tier and a risk come to, and what a person is told when one is asked. */
const matrix = [
  ["low", "low", "person", { requester: "allowed", batchable: true }],
  ["low", "medium", "person", { requester: "allowed", batchable: false }],
  ["low", "high", "person", { requester: "excluded", batchable: false }],
  ["medium", "low", "run", {}],
  ["medium", "medium", "confirm", {}],
  ["medium", "high", "person", { requester: "excluded", batchable: false }],
  ["full", "low", "run", {}],
  ["full", "medium", "run", {}],
  ["full", "high", "confirm", {}]
] as const

describe("autonomy of a run", () => {
  it.effect.each(matrix)("R-216 tier %s with risk %s is %s", ([tier, risk, decision, facts]) =>
    Effect.gen(function* () {
      const one = acting(risk)
      const desk = guarded([one], [task("a")], { tier })
      const first = yield* Run.start(desk, r1)
      const confirmed = yield* of("Confirmed")
      const calls = (yield* one.calls).length
      if (decision === "person") {
        assert.deepStrictEqual([first.status, calls, confirmed.length], ["waiting", 0, 0])
        const [review] = first.reviews
        assert.deepInclude(review, {
          kind: "action-approval",
          reason: "autonomy",
          task: "a",
          allowed: ["approve", "reject"]
        })
        assert.deepInclude(review?.facts, { worker: "d.one", risk, tier, ...facts })
        const outcome = yield* goOn(desk, "approve")
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["completed", 1])
        return
      }
      assert.deepStrictEqual([first.status, calls, first.tier], ["completed", 1, tier])
      assert.strictEqual(confirmed.length, decision === "confirm" ? 1 : 0)
      if (decision === "confirm") {
        assert.deepInclude(confirmed[0], { task: "a", worker: "d.one", allowed: true })
        assert.include(confirmed[0]?.note, `Its risk is ${risk}`)
      }
      assert.strictEqual((yield* of("ReviewOpened")).length, 0)
    }).pipe(memory)
  )

  it.effect("R-216 a person who says no ends the task as rejected, and its worker is never called", () =>
    Effect.gen(function* () {
      const one = acting("high")
      const desk = guarded([one], [task("a"), task("b", { needs: ["a"] })])
      yield* Run.start(desk, r1)
      const outcome = yield* goOn(desk, "reject", { by: "bob", note: "not on a Friday" })
      assert.deepStrictEqual(
        [outcome.status, outcome.stopReason, yield* one.calls],
        ["failed", "rejected-by-reviewer", []]
      )
      assert.deepStrictEqual([outcome.results["a"]?.status, outcome.results["b"]?.status], ["rejected", "blocked"])
      assert.include(outcome.results["a"]?.note, "bob decided r1/review/1 (reject): not on a Friday")
    }).pipe(memory)
  )

  it.effect("R-216 what cannot be undone needs a person at every tier", () =>
    Effect.gen(function* () {
      const one = acting("low", { irreversible: true })
      const desk = guarded([one], [task("a")], { tier: "full" })
      const waiting = yield* Run.start(desk, r1)
      assert.deepStrictEqual([waiting.status, yield* one.calls], ["waiting", []])
      assert.strictEqual(waiting.reviews[0]?.facts["requester"], "excluded")
      assert.strictEqual((yield* goOn(desk, "approve")).status, "completed")
    }).pipe(memory)
  )

  describe("the supervisor's own decision", () => {
    it.effect.each([
      [
        "says no",
        () => ({ allowed: false, reason: "The week is over" }),
        "Not confirmed: a at d.one: The week is over"
      ],
      [
        "fails",
        (): never => {
          throw new Error("no such table")
        },
        "Not confirmed: a at d.one: The policy failed: no such table"
      ]
    ] as const)("R-216 a policy that %s is written down, and a person is asked", ([, confirm, note]) =>
      Effect.gen(function* () {
        const one = acting("medium")
        const desk = guarded([one], [task("a")], { confirm })
        const waiting = yield* Run.start(desk, r1)
        assert.deepStrictEqual([waiting.status, yield* one.calls], ["waiting", []])
        const [confirmed] = yield* of("Confirmed")
        assert.deepInclude(confirmed, { allowed: false, note })
        assert.strictEqual(waiting.reviews[0]?.kind, "action-approval")
        const outcome = yield* goOn(desk, "approve")
        assert.deepStrictEqual([outcome.status, (yield* one.calls).length], ["completed", 1])
      }).pipe(memory)
    )

    it.effect("R-216 sees the facts of the task: its cost, what is left, and how sure its ground is", () =>
      Effect.gen(function* () {
        const seen: Array<Autonomy.Facts> = []
        const base = Fake.worker("two", {
          otherwise: Result.completed("base", { confidence: 0.7, usage: { cost: 1 } })
        })
        const one = acting("medium", { estimate: { cost: 3 } })
        const confirm = (facts: Autonomy.Facts) => {
          seen.push(facts)
          return { allowed: true, reason: "Fine" }
        }
        const plan = [task("b", { worker: "d.two" }), task("a", { needs: ["b"] })]
        yield* Run.start(guarded([one, base], plan, { confirm, limits: { cost: 10 } }), r1)
        assert.deepStrictEqual(seen, [
          {
            task: "a",
            worker: "d.one",
            risk: "medium",
            tier: "medium",
            confidence: 0.7,
            costEstimate: 3,
            budgetLeft: 9,
            attempts: 0
          }
        ])
      }).pipe(memory)
    )
  })

  it.effect.each([
    ["medium", "low", "confirm"],
    ["medium", "medium", "person"],
    ["full", "medium", "confirm"],
    ["full", "high", "person"]
  ] as const)("R-208 R-216 low confidence of what it builds on moves %s with risk %s to %s", ([tier, risk, decision]) =>
    Effect.gen(function* () {
      const base = Fake.worker("two", { otherwise: Result.completed("base", { confidence: 0.3 }) })
      const one = acting(risk)
      const plan = [task("b", { worker: "d.two" }), task("a", { needs: ["b"] })]
      const allow = () => ({ allowed: true, reason: "Fine" })
      const outcome = yield* Run.start(guarded([one, base], plan, { tier, confirm: allow }), r1)
      assert.strictEqual(outcome.status, decision === "person" ? "waiting" : "completed")
      assert.strictEqual((yield* of("Confirmed")).length, decision === "confirm" ? 1 : 0)
      assert.strictEqual((yield* one.calls).length, decision === "person" ? 0 : 1)
    }).pipe(memory)
  )

  describe("a change of the tier", () => {
    it.effect("R-216 is a matter of one run, and of its start", () =>
      Effect.gen(function* () {
        const one = acting("medium")
        const desk = guarded([one], [task("a")])
        const low = yield* Run.start(desk, { ...r1, tier: "low" })
        const full = yield* Run.start(desk, { ...r1, id: "r2", tier: "full" })
        assert.deepStrictEqual([low.status, low.tier, full.status, full.tier], ["waiting", "low", "completed", "full"])
        const [started] = yield* of("RunStarted", "r2")
        assert.deepStrictEqual([started?.tier, yield* of("Confirmed", "r2")], ["full", []])
      }).pipe(memory)
    )

    it.effect("R-216 holds from then on, and says who and why", () =>
      Effect.gen(function* () {
        const held = gate()
        const slow = worker("two", () => Effect.as(held.wait, "done"), { description: "Waits" })
        const one = acting("high")
        const plan = [task("w", { worker: "d.two" }), task("a", { needs: ["w"] })]
        const office = yield* Office.open(guarded([one, slow], plan), { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
        yield* held.reached
        yield* Run.changeTier("r1", { from: "medium", to: "full", who: "ann", why: "A quiet day" }, { office })
        yield* held.open
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual([outcome.status, outcome.tier, (yield* one.calls).length], ["completed", "full", 1])
        const [changed] = yield* of("AutonomyChanged")
        assert.deepInclude(changed, { from: "medium", to: "full", by: "ann", note: "A quiet day" })
      }).pipe(Effect.scoped, memory)
    )

    it.effect("R-216 lowered, asks about what would have run", () =>
      Effect.gen(function* () {
        const held = gate()
        const slow = worker("two", () => Effect.as(held.wait, "done"), { description: "Waits" })
        const one = acting("low")
        const plan = [task("w", { worker: "d.two" }), task("a", { needs: ["w"] })]
        const office = yield* Office.open(guarded([one, slow], plan), { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, r1))
        yield* held.reached
        yield* Run.changeTier("r1", { from: "medium", to: "low", who: "ann", why: "A bad day" }, { office })
        yield* held.open
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual([outcome.status, outcome.tier, yield* one.calls], ["waiting", "low", []])
      }).pipe(Effect.scoped, memory)
    )

    it.effect.each([
      [
        "from another tier than the run has",
        { from: "low", to: "full", who: "ann", why: "x" },
        "the tier is medium, not low"
      ],
      ["to the same tier", { from: "medium", to: "medium", who: "ann", why: "x" }, "to must be another tier"],
      ["without a name", { from: "medium", to: "low", who: " ", why: "x" }, "who must be a text that is not empty"],
      ["without a reason", { from: "medium", to: "low", who: "ann", why: "" }, "why must be a text that is not empty"]
    ] as const)("R-216 is refused %s", ([, change, reason]) =>
      Effect.gen(function* () {
        yield* Run.start(guarded([acting("high")], [task("a")]), r1)
        const refused = yield* Effect.flip(Run.changeTier("r1", change))
        assert.include(refused.message, reason)
        assert.strictEqual((yield* of("AutonomyChanged")).length, 0)
      }).pipe(memory)
    )
  })

  it.effect("R-216 asks about each worker: an approval of one is none of its stand-in", () =>
    Effect.gen(function* () {
      const one = acting("high", { capabilities: ["work"], otherwise: Fake.fail("capability") })
      const two = Fake.worker("two", { risk: "high", capabilities: ["work"], otherwise: "done" })
      const desk = guarded([one, two], [task("a")])
      yield* Run.start(desk, r1)
      const again = yield* goOn(desk, "approve")
      assert.deepStrictEqual([again.status, again.reviews[0]?.facts["worker"]], ["waiting", "d.two"])
      assert.deepStrictEqual([(yield* one.calls).length, (yield* two.calls).length], [1, 0])
      const outcome = yield* goOn(desk, "approve")
      assert.deepStrictEqual([outcome.status, (yield* two.calls).length], ["completed", 1])
      yield* settle
    }).pipe(memory)
  )
})
