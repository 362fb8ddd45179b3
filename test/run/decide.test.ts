import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { Journal } from "espalier/journal"
import { Office, Run } from "espalier/run"

import { desk, gate, history, memory, settle, short, task, worker } from "./desks.ts"

const denying = worker("one", ({ answers }) =>
  answers.length > 0 ? Effect.succeed("done after all") : Effect.fail(Failure.denied("No"))
)
const plan = [task("a")]
const start = Run.start(desk([denying], plan), { id: "r1", input: "go", log: false })
const resume = Run.resume(desk([denying], plan), "r1", { log: false })
const by = "ada"

describe("Run", () => {
  describe("decide", () => {
    it.effect("R-306 a run that waits for a person holds nothing, and goes on from the journal", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* start).status, "waiting")
        assert.strictEqual((yield* resume).status, "waiting")
        yield* Run.decide({ review: "r1/review/1", decision: "retry", by, note: "It may" })
        const outcome = yield* resume
        assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "done after all"])
        assert.deepStrictEqual(short(yield* history("r1")).slice(4), [
          "ReviewOpened",
          "ReviewDecided",
          "RunResumed",
          "Routed a d.one",
          "Dispatched r1/a/2 d.one",
          "Reported r1/a/2 accepted",
          "TaskEnded a accepted",
          "RunFinished completed accepted"
        ])
      }).pipe(memory)
    )

    const refused: ReadonlyArray<readonly [string, Partial<Run.Deciding>, string]> = [
      ["of another review", { review: "r1/review/2" }, "the review r1/review/2 is not open; open are r1/review/1"],
      [
        "that was not asked for",
        { decision: "approve" },
        'decision must be one of retry, accept-partial, reject, got "approve"'
      ],
      ["by nobody", { by: " " }, 'by must be a text that is not empty, got " "'],
      ["that is none", { decision: "maybe" as never }, "r1/review/1 (escalation) allows retry, accept-partial, reject"],
      ["with a field that there is not", { anwser: 1 } as never, "anwser is not a known field"],
      ["by what it is called", { decision: "approve" }, "the decision of r1/review/1 is refused: decision must"],
      ["with a raise that is none", { raise: { tokens: -1 } }, "raise.tokens must be a whole number >= 0"]
    ]
    it.effect.each(refused)("refuses a decision %s", ([, fields, reason]) =>
      Effect.gen(function* () {
        yield* start
        const before = yield* history("r1")
        const error = yield* Effect.flip(Run.decide({ review: "r1/review/1", decision: "retry", by, ...fields }))
        assert.strictEqual(error._tag, "CommandRefused")
        assert.include(error.message, reason)
        assert.deepStrictEqual(yield* history("r1"), before)
      }).pipe(memory)
    )

    it.effect("refuses the second of two decisions, and one about a run that is over", () =>
      Effect.gen(function* () {
        yield* start
        const reject = Run.decide({ review: "r1/review/1", decision: "reject", by })
        const retry = Run.decide({ review: "r1/review/1", decision: "retry", by })
        const refused = Effect.gen(function* () {
          const before = yield* history("r1")
          // What is known already is no second decision.
          assert.deepStrictEqual(yield* reject, { _tag: "Replayed" })
          assert.deepStrictEqual(yield* history("r1"), before)
          const error = yield* Effect.flip(retry)
          assert.strictEqual(error._tag === "CommandRefused" ? error.because : error._tag, "already-decided")
          assert.include(error.message, "r1/review/1 was decided by ada at 1970-01-01T00:00:00.000Z (reject)")
          const [told, ...more] = (yield* history("r1")).slice(before.length)
          assert.deepInclude(told, { _tag: "ReviewRefused", review: "r1/review/1", decision: "retry", by })
          assert.deepStrictEqual(more, [])
        })
        assert.deepStrictEqual(yield* reject, { _tag: "Applied" })
        yield* refused
        const outcome = yield* resume
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["failed", "rejected-by-reviewer"])
        yield* refused
      }).pipe(memory)
    )

    it.effect("reaches a run that goes on with other tasks, through its office or through the journal", () =>
      Effect.gen(function* () {
        for (const way of ["office", "journal"] as const) {
          const held = gate()
          const other = worker("two", () => Effect.as(held.wait, "other"), { capabilities: [] })
          const office = yield* Office.open(desk([denying, other], [task("a"), task("b", { worker: "d.two" })]))
          const fiber = yield* Effect.forkChild(Run.startIn(office, { id: way, input: "go" }))
          yield* held.reached
          yield* settle
          const options = way === "office" ? { office } : undefined
          yield* Run.decide({ review: `${way}/review/1`, decision: "retry", by }, options)
          yield* settle
          const before = short(yield* history(way)).filter((each) => each.startsWith("Reported"))
          yield* held.open
          const outcome = yield* Fiber.join(fiber)
          assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "done after all"], way)
          // Through the journal it is heard when the executor writes again.
          assert.lengthOf(before, way === "office" ? 2 : 1, way)
        }
      }).pipe(Effect.scoped, memory)
    )

    it.effect("never leaves somebody waiting whose word crosses with the end of the run", () =>
      Effect.gen(function* () {
        const held = gate()
        const slow = worker("one", () => Effect.as(held.wait, "done"))
        const office = yield* Office.open(desk([slow], plan))
        const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
        yield* held.reached
        yield* held.open
        const command = yield* Effect.forkChild(Effect.exit(Run.cancel("r1", { by, office })))
        const outcome = yield* Fiber.join(fiber)
        const said = yield* Fiber.join(command)
        assert.strictEqual(Exit.isSuccess(said), outcome.status === "cancelled")
      }).pipe(Effect.scoped, memory)
    )
  })

  describe("cancel", () => {
    it.effect("R-211 stops what is under way and waits until it has stopped", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const started = Deferred.makeUnsafe<void>()
        const one = worker("one", ({ task }) =>
          task === "a"
            ? Effect.succeed("first")
            : Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
                Effect.onInterrupt(() =>
                  Effect.andThen(
                    Effect.sleep("1 second"),
                    Effect.sync(() => log.push("cleaned up"))
                  )
                )
              )
        )
        const office = yield* Office.open(
          desk([one], [task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })])
        )
        const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
        yield* Deferred.await(started)
        yield* Run.cancel("r1", { by, note: "enough", office })
        yield* settle
        assert.deepStrictEqual(log, [])
        yield* TestClock.adjust("1 second")
        const outcome = yield* Fiber.join(fiber)
        assert.deepStrictEqual(log, ["cleaned up"])
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["cancelled", "stop-requested"])
        assert.deepStrictEqual(
          Object.values(outcome.results).map(({ status, task }) => `${task} ${status}`),
          ["a accepted", "b cancelled", "c cancelled"]
        )
        assert.include(outcome.note, "ada asked for the end of the run: enough")
      }).pipe(Effect.scoped, memory)
    )

    it.effect("ends a run that waits for a person when it is taken up", () =>
      Effect.gen(function* () {
        yield* start
        yield* Run.cancel("r1", { by })
        const outcome = yield* resume
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["cancelled", "stop-requested"])
        assert.deepStrictEqual(outcome.reviews, [])
      }).pipe(memory)
    )
  })

  describe("changeTier", () => {
    it.effect("R-216 is recorded with who and why, and refused when it was decided on another tier", () =>
      Effect.gen(function* () {
        yield* start
        const change = { from: "medium", to: "low", who: by, why: "Two rejected results" } as const
        yield* Run.changeTier("r1", change)
        assert.include((yield* Effect.flip(Run.changeTier("r1", change))).message, "the tier is low, not medium")
        const events = yield* history("r1")
        assert.deepInclude(events.at(-1), {
          _tag: "AutonomyChanged",
          from: "medium",
          to: "low",
          by,
          note: "Two rejected results"
        })
        assert.strictEqual((yield* Run.outcome("r1")).tier, "low")
      }).pipe(memory)
    )
  })
})

describe("the journal", () => {
  it.effect("keeps a second executor out, which leaves no trace", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const held = gate()
      const slow = worker("one", () => Effect.as(held.wait, "done"))
      const office = yield* Office.open(desk([slow], plan))
      const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go" }))
      yield* held.reached
      yield* journal.append({ run: "r1", expected: 3, events: [{ type: "RunResumed", at: 0, data: { note: "mine" } }] })
      yield* held.open
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag, "VersionConflict")
      assert.strictEqual(short(yield* history("r1")).at(-1), "RunResumed")
    }).pipe(Effect.scoped, memory)
  )
})
