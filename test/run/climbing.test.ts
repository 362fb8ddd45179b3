import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Host, Ladder, Office, Plan, Review, Reviewers, ReviewPolicy, Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { elapse, gate, history, memory, settle, task, worker } from "./desks.ts"
import { begin, deskOf, of, options, pass, resume } from "./living.ts"

const hour = 3_600_000

/** Ann is asked, Bob as well after a day, everybody after two; after three nothing is approved. */
const slow = Ladder.make({
  stages: [
    { to: ["user:ann"], after: 0, remindAt: [0.5] },
    { to: ["user:bob"], after: "24 hours" },
    { to: ["anyone"], after: "48 hours" }
  ],
  final: { after: "72 hours", action: "reject" }
})

const chain = Ladder.make({
  stages: [
    { to: ["user:ann"], after: 0 },
    { to: ["user:bob"], after: "1 hour" },
    { to: ["user:cem"], after: "2 hours" }
  ],
  final: { after: "3 hours", action: "reject" }
})

const gated = (ladder: Ladder.Ladder, beside: ReadonlyArray<Plan.Task<string>> = [], workers = [one()]) =>
  deskOf(workers as never, Plan.make<string>([task("a", { acceptance: "person" }), ...beside]), {
    reviews: ReviewPolicy.make({ ladders: { low: ladder } })
  })

const one = () => Fake.worker("one", { otherwise: "done" })

/** What happened to the question, each with when it was due and when it was noticed, in hours. */
const steps = Effect.map(history("r1"), (events) =>
  events.flatMap((event: RunEvent.RunEvent): ReadonlyArray<readonly [what: string, due: number, at: number]> => {
    if (event._tag === "ReviewAdvanced") return [[event.what, event.due / hour, event.at / hour]]
    if (event._tag === "ReviewExpired") return [[event.action, event.due / hour, event.at / hour]]
    return []
  })
)

const served = (built: ReturnType<typeof gated>) =>
  Effect.gen(function* () {
    const office = yield* Office.open(built, { log: false })
    yield* Effect.forkChild(Host.serve(office, { every: "30 days" }))
    yield* settle
  })

const because = <A, R>(said: Effect.Effect<A, { readonly _tag: string }, R>) =>
  Effect.map(Effect.flip(said), (error) => ("because" in error ? error.because : error._tag))

describe("While nobody decides", () => {
  it.effect("R-306 each step is taken at its time, by a host that wakes for it", () =>
    Effect.gen(function* () {
      const built = gated(slow)
      const first = yield* Run.start(built, options)
      assert.strictEqual(first.wakeAt, 12 * hour)
      yield* served(built)
      for (let hours = 0; hours < 240; hours += 6) yield* pass("6 hours")
      assert.deepStrictEqual(yield* steps, [
        ["reminded", 12, 12],
        ["widened", 24, 24],
        ["widened", 48, 48],
        ["reject", 72, 72]
      ])
      const last = yield* Run.outcome("r1")
      assert.deepStrictEqual([last.status, last.stopReason, last.endedAt], ["failed", "escalation-expired", 72 * hour])
    }).pipe(Effect.scoped, memory)
  )

  it.effect(
    "R-306 steps that nobody was there for come in order, with their own times, and say that they are late",
    () =>
      Effect.gen(function* () {
        const built = gated(slow)
        yield* Run.start(built, options)
        yield* TestClock.adjust("13 hours")
        assert.strictEqual((yield* resume(built)).wakeAt, 24 * hour)
        yield* TestClock.adjust("47 hours")
        assert.strictEqual((yield* resume(built)).wakeAt, 72 * hour)
        yield* TestClock.adjust("180 hours")
        assert.strictEqual((yield* resume(built)).stopReason, "escalation-expired")
        assert.deepStrictEqual(yield* steps, [
          ["reminded", 12, 13],
          ["widened", 24, 60],
          ["widened", 48, 60],
          ["reject", 72, 240]
        ])
        const notes = (yield* history("r1")).flatMap((event) => ("due" in event ? [event.note] : []))
        assert.isTrue(notes.every((note) => note.includes("noticed at")))
      }).pipe(memory)
  )

  it.effect("R-306 all of them come at once where nobody was there for ten days", () =>
    Effect.gen(function* () {
      const built = gated(slow)
      yield* Run.start(built, options)
      yield* TestClock.adjust("10 days")
      yield* resume(built)
      assert.deepStrictEqual(yield* steps, [
        ["reminded", 12, 240],
        ["widened", 24, 240],
        ["widened", 48, 240],
        ["reject", 72, 240]
      ])
    }).pipe(memory)
  )

  it.effect("D77 three people with an hour each, and a no after three: the record has four entries", () =>
    Effect.gen(function* () {
      const built = gated(chain)
      yield* Run.start(built, options)
      yield* served(built)
      for (let half = 0; half < 8; half++) yield* pass("30 minutes")
      const about = (yield* history("r1")).filter((event) => "review" in event && event.review === "r1/review/1")
      assert.deepStrictEqual(
        about.map((event) => [event._tag, event.at / hour]),
        [
          ["ReviewOpened", 0],
          ["ReviewAdvanced", 1],
          ["ReviewAdvanced", 2],
          ["ReviewExpired", 3]
        ]
      )
      const last = yield* Run.outcome("r1")
      assert.deepStrictEqual([last.results["a"]?.status, last.stopReason], ["failed", "escalation-expired"])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-306 more time moves what is left", () =>
    Effect.gen(function* () {
      const built = gated(chain)
      yield* Run.start(built, options)
      yield* served(built)
      yield* pass("90 minutes")
      yield* Review.extend("r1/review/1", { by: "ann", for: "2 hours" })
      for (let half = 0; half < 10; half++) yield* pass("30 minutes")
      assert.deepStrictEqual(yield* steps, [
        ["widened", 1, 1],
        ["widened", 4, 4],
        ["reject", 5, 5]
      ])
    }).pipe(Effect.scoped, memory)
  )

  it.effect("R-306 a run that is put down has its questions wait, whoever says something meanwhile", () =>
    Effect.gen(function* () {
      const hangs = worker("two", () => Effect.never, { attemptTimeout: "10 days" })
      const built = gated(slow, [task("b", { worker: "d.two" })], [one(), hangs] as never)
      const run = yield* begin(Run.start(built, options))
      yield* pass("1 hour")
      yield* elapse(run.interrupt, "0 millis")
      assert.strictEqual((yield* Run.outcome("r1")).status, "suspended")
      yield* TestClock.adjust("5 hours")
      yield* Review.claim("r1/review/1", { by: "ann" })
      yield* TestClock.adjust("5 hours")
      const again = yield* begin(resume(built))
      yield* pass("40 hours")
      assert.deepStrictEqual(yield* steps, [
        ["reminded", 22, 22],
        ["widened", 34, 34]
      ])
      yield* again.interrupt
    }).pipe(memory)
  )

  it.effect("R-306 who comes too late is told so, also where nobody was there to write it down", () =>
    Effect.gen(function* () {
      const built = gated(slow)
      yield* Run.start(built, options)
      yield* TestClock.adjust("71 hours")
      assert.strictEqual(
        yield* because(Run.decide({ review: "r1/review/1", decision: "approve", by: "ann", digest: "another" })),
        "digest-mismatch"
      )
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(
        yield* because(Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })),
        "expired"
      )
      const last = yield* resume(built)
      assert.deepStrictEqual([last.results["a"]?.status, last.stopReason], ["failed", "escalation-expired"])
      assert.deepStrictEqual(
        of(yield* history("r1"), "ReviewRefused").map(({ because }) => because),
        ["digest-mismatch", "expired"]
      )
    }).pipe(memory)
  )

  it.effect("R-306 others may decide from their hour on, also where nobody was there to ask them", () =>
    Effect.gen(function* () {
      const built = gated(slow)
      yield* Run.start(built, options)
      yield* TestClock.adjust("23 hours")
      const bob = Run.decide({ review: "r1/review/1", decision: "approve", by: "bob" })
      assert.strictEqual(yield* because(bob), "not-a-reviewer")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* bob, { _tag: "Applied" })
      assert.strictEqual((yield* resume(built)).status, "completed")
    }).pipe(Effect.provide(Reviewers.layer({ users: { ann: {}, bob: {} } })), memory)
  )

  it.effect("R-306 what is approved while a run is put down holds for its whole time from then on", () =>
    Effect.gen(function* () {
      const waits = gate()
      const built = deskOf(
        [one(), worker("two", () => waits.wait, { attemptTimeout: "10 days" })] as never,
        Plan.make<string>([task("a"), task("b", { worker: "d.two" })]),
        { tier: "low" }
      )
      yield* Run.start(built, options)
      yield* Run.decide({ review: "r1/review/2", decision: "approve", by: "ann" })
      const run = yield* begin(resume(built))
      yield* pass("1 hour")
      yield* elapse(run.interrupt, "0 millis")
      yield* TestClock.adjust("5 hours")
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      const state = yield* Run.state("r1")
      assert.strictEqual(state.grants.get("r1/review/1")?.until, 6 * hour + 24 * hour)
    }).pipe(memory)
  )
})
