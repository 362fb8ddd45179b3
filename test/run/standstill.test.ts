import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Ladder, Office, Plan, Review, ReviewPolicy, Run } from "espalier/run"

import { history, memory, settle, task, worker } from "./desks.ts"
import { begin, deskOf, ends, of, options, pass, resume } from "./living.ts"

const limits = { deadlineMillis: 600_000 }

/** Asks for nothing but time: nobody is reminded, and nothing expires while the test goes on. */
const reviews = ReviewPolicy.make({
  ladders: {
    low: Ladder.make({ stages: [{ to: ["anyone"], after: 0 }], final: { after: "30 days", action: "reject" } }),
    question: Ladder.make({ stages: [{ to: ["anyone"], after: 0 }], final: { after: "30 days", action: "hold" } })
  }
})

/** Asks, and then works for five minutes. */
const asks = worker(
  "one",
  () =>
    Effect.gen(function* () {
      const reply = yield* Review.ask({ name: "which", question: "Which?" })
      yield* Effect.sleep("5 minutes")
      return reply._tag
    }),
  { attemptTimeout: "1 hour" }
)

/** Works for as long as its objective says. */
const works = worker(
  "two",
  (order) => Effect.as(Effect.sleep(`${Number(order.contract.objective)} minutes`), "worked"),
  { attemptTimeout: "30 days", size: 5 }
)

const minutes = (id: string, many: number, fields: Parameters<typeof task>[1] = {}) =>
  task(id, { worker: "d.two", objective: `${many}`, ...fields })

const answer = (office?: Office.Office) =>
  Run.decide(
    { review: "r1/review/1", decision: "answer", answer: "it", by: "ann" },
    office === undefined ? {} : { office }
  )

/** A task that is carried out by others, with ten minutes for all of it. */
const by = (id: string, ...tasks: ReadonlyArray<Plan.Task<never>>) => {
  const { worker: _, ...rest } = task(id, { limits })
  return { ...rest, by: Plan.make<never>(tasks) }
}

const deadlines = Effect.map(history("r1"), (events) => of(events, "DeadlinePassed").map(({ subject }) => subject))

describe("While people are waited for", () => {
  it.effect("D79 the ten minutes of a task stand still for three days, and its five minutes of work are in time", () =>
    Effect.gen(function* () {
      const built = deskOf([asks], Plan.make<string>([task("a", { limits })]), { reviews })
      assert.strictEqual((yield* Run.start(built, options)).status, "waiting")
      yield* TestClock.adjust("3 days")
      yield* answer()
      const run = yield* begin(resume(built))
      yield* pass("5 minutes")
      const last = yield* run.join
      assert.deepStrictEqual([last.status, last.results["a"]?.output], ["completed", "Answered"])
      assert.deepStrictEqual(yield* deadlines, [])
    }).pipe(memory)
  )

  it.effect("D79 so do those of every group around it, at depth three, while the rest of the run goes on", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [asks, works],
        Plan.make<string>([by("a", by("b", by("c", task("d", { limits })))), minutes("long", 3 * 24 * 60 + 60)]),
        { reviews }
      )
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("3 days")
      yield* answer(office)
      yield* settle
      yield* pass("1 hour")
      const last = yield* run.join
      assert.deepStrictEqual(yield* deadlines, [])
      assert.strictEqual(last.status, "completed")
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D79 a group's deadline counts what goes on in it beside a question", () =>
    Effect.gen(function* () {
      const beside = deskOf(
        [asks, works],
        Plan.make<string>([
          by("a", task("d"), minutes("e", 4), minutes("f", 3, { needs: ["e"] })),
          minutes("long", 60)
        ]),
        { reviews }
      )
      const office = yield* Office.open(beside, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("50 minutes")
      // Seven of its ten minutes were used by e and f; for the five of d there are only three.
      yield* answer(office)
      yield* settle
      yield* pass("10 minutes")
      const last = yield* run.join
      assert.deepStrictEqual(yield* deadlines, ["a"])
      assert.deepStrictEqual(ends(last)[0], "a partial")
      const [passed] = of(yield* history("r1"), "DeadlinePassed")
      assert.strictEqual(passed?.due, 53 * 60_000)
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D79 a timer in a group is time that its deadline counts", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [asks, works],
        Plan.make<string>([by("a", task("d"), minutes("e", 1, { after: "20 minutes" })), minutes("long", 60)]),
        { reviews }
      )
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("1 hour")
      const last = yield* run.join
      assert.deepStrictEqual(yield* deadlines, ["a"])
      assert.deepStrictEqual(last.reviews, [])
      assert.deepStrictEqual(ends(last), ["a failed", "long accepted", "a/d cancelled", "a/e cancelled"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D79 that of a gate on a group's own result stands still like that of any task", () =>
    Effect.gen(function* () {
      const built = deskOf(
        [asks, works],
        Plan.make<string>([{ ...by("a", minutes("d", 4)), acceptance: "person" }, minutes("long", 60)]),
        { reviews }
      )
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("50 minutes")
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" }, { office })
      yield* pass("10 minutes")
      assert.deepStrictEqual(ends(yield* run.join), ["a accepted", "long accepted", "a/d accepted"])
      assert.deepStrictEqual(yield* deadlines, [])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("D79 once there is an answer, the time in which its order waits for a place of its worker counts", () =>
    Effect.gen(function* () {
      const busy = worker(
        "one",
        (order) =>
          order.task === "b"
            ? Effect.as(Effect.sleep("3 hours"), "worked")
            : Effect.map(Review.ask({ name: "which", question: "Which?" }), ({ _tag }) => _tag),
        { attemptTimeout: "1 day" }
      )
      const built = deskOf([busy], Plan.make<string>([task("a", { limits }), task("b")]), { reviews })
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, options))
      yield* pass("1 hour")
      yield* answer(office)
      yield* pass("3 hours")
      const last = yield* run.join
      assert.deepStrictEqual(ends(last), ["a failed", "b accepted"])
      const events = yield* history("r1")
      assert.deepStrictEqual(
        of(events, "DeadlinePassed").map(({ due, subject }) => [subject, due]),
        [["a", 70 * 60_000]]
      )
      assert.deepStrictEqual(of(events, "Unparked"), [])
      assert.strictEqual((yield* Run.state("r1")).ledger.reservations.size, 0)
    }).pipe(Effect.scoped, memory)
  )
})
