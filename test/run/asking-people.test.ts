import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Ref, Result as EffectResult, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Desk, Domain, Effects, Plan, Review, ReviewPolicy, Run, type RunEvent, RunState } from "espalier/run"

import { desk, elapse, history, memory, task, worker } from "./desks.ts"

const start = { id: "r1", input: "go", log: false }

const tags = Effect.map(history("r1"), (events) => events.map(({ _tag }) => _tag))

const answer = (review: number, value: string) =>
  Run.decide({ review: `r1/review/${review}`, decision: "answer", answer: value, by: "ann" })

describe("A worker that asks people", () => {
  it.effect("R-306 D82 is parked, and begins anew under the same order with the answer; it is not asked again", () =>
    Effect.gen(function* () {
      const done = yield* Ref.make(0)
      const asks = worker("one", () =>
        Effect.gen(function* () {
          yield* Effects.perform({ name: "look", run: () => Ref.update(done, (n) => n + 1) })
          const reply = yield* Review.ask({ name: "which", question: "Which one?" })
          return reply._tag === "Answered" ? String(reply.value) : reply._tag
        })
      )
      const built = desk([asks], [task("a")])
      const first = yield* Run.start(built, start)
      assert.strictEqual(first.status, "waiting")
      assert.deepStrictEqual(
        first.reviews.map(({ kind, review, task }) => [kind, review, task]),
        [["question", "r1/review/1", "a"]]
      )
      yield* TestClock.adjust("3 days")
      assert.deepStrictEqual(yield* answer(1, "this one"), { _tag: "Applied" })
      const last = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(last.status, "completed")
      assert.strictEqual(last.results["a"]?.output, "this one")
      assert.deepStrictEqual(
        last.dispatches.map(({ dispatch, outcome }) => [dispatch, outcome]),
        [["r1/a/1", "accepted"]]
      )
      assert.strictEqual(yield* Ref.get(done), 1)
      const all = yield* tags
      assert.deepStrictEqual(
        all.filter((tag) => ["ReviewOpened", "Parked", "Unparked", "Dispatched"].includes(tag)),
        ["Dispatched", "ReviewOpened", "Parked", "Unparked"]
      )
    }).pipe(memory)
  )

  it.effect("D75 has several questions open at once, each gets its own answer, in any order", () =>
    Effect.gen(function* () {
      const begun = yield* Ref.make(0)
      const asks = worker("one", () =>
        Effect.gen(function* () {
          yield* Ref.update(begun, (n) => n + 1)
          const replies = yield* Effect.forEach(
            [1, 2, 3],
            (n) => Review.ask({ name: "which", occurrence: n, question: `Which of ${n}?` }),
            { concurrency: "unbounded" }
          )
          return replies.map((reply) => (reply._tag === "Answered" ? String(reply.value) : reply._tag)).join(" ")
        })
      )
      const built = desk([asks], [task("a")])
      const first = yield* Run.start(built, start)
      assert.strictEqual(first.reviews.length, 3)
      yield* answer(2, "two")
      assert.strictEqual((yield* Run.resume(built, "r1", { log: false })).reviews.length, 2)
      yield* Run.decide({ review: "r1/review/3", decision: "reject", by: "ann", note: "no" })
      yield* answer(1, "one")
      const last = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(last.results["a"]?.output, "one two Rejected")
      assert.strictEqual((yield* tags).filter((tag) => tag === "ReviewOpened").length, 3)
      assert.strictEqual(yield* Ref.get(begun), 3)
    }).pipe(memory)
  )

  it.effect("D73 is taken back with its task when the run is cancelled", () =>
    Effect.gen(function* () {
      const built = desk([worker("one", () => Review.ask({ name: "which", question: "Which?" }))], [task("a")])
      yield* Run.start(built, start)
      yield* Run.cancel("r1", { by: "ann" })
      const last = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(last.status, "cancelled")
      assert.deepStrictEqual(last.reviews, [])
      assert.include(yield* tags, "ReviewWithdrawn")
      const late = yield* Effect.flip(answer(1, "late"))
      assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "withdrawn")
      assert.strictEqual((yield* tags).at(-1), "ReviewRefused")
    }).pipe(memory)
  )

  it.effect("D84 goes on only when the last of its calls at once is there, and none of them is done twice", () =>
    Effect.gen(function* () {
      const done = yield* Ref.make<ReadonlyArray<string>>([])
      const call = (name: string, wait: Duration.Input) =>
        Effects.perform({
          name,
          run: () =>
            Effect.andThen(
              Effect.sleep(wait),
              Ref.update(done, (all) => [...all, name])
            ),
          interruptible: false
        })
      const asks = worker("one", () =>
        Effect.gen(function* () {
          yield* Effect.all(
            [call("fast", 1), call("slow", "1 second"), Review.ask({ name: "may", question: "May I?" })],
            {
              concurrency: "unbounded"
            }
          )
          yield* Effects.perform({ name: "next", run: () => Ref.update(done, (all) => [...all, "next"]) })
          return "done"
        })
      )
      const built = desk([asks], [task("a")])
      yield* elapse(Run.start(built, start), "2 seconds")
      assert.deepStrictEqual(yield* Ref.get(done), ["fast", "slow"])
      yield* answer(1, "yes")
      const last = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(last.status, "completed")
      assert.deepStrictEqual(yield* Ref.get(done), ["fast", "slow", "next"])
    }).pipe(memory)
  )

  it.effect("D86 has the answer of a person stand, whatever comes for the same question later", () =>
    Effect.gen(function* () {
      const asks = worker("one", () =>
        Effect.map(Review.ask({ name: "which", question: "Which?", decisions: ["answer", "reject"] }), (reply) =>
          reply._tag === "Answered" ? String(reply.value) : reply._tag
        )
      )
      const built = desk([asks], [task("a")])
      yield* Run.start(built, start)
      yield* answer(1, "first")
      const refused = [
        yield* Effect.flip(answer(1, "second")),
        yield* Effect.flip(Run.decide({ review: "r1/review/1", decision: "reject", by: "bob", note: "late" }))
      ]
      assert.deepStrictEqual(
        refused.map((error) => (error._tag === "CommandRefused" ? error.because : error._tag)),
        ["already-decided", "already-decided"]
      )
      // Its last deadline has passed meanwhile, too.
      yield* TestClock.adjust("10 days")
      const last = yield* Run.resume(built, "r1", { log: false })
      assert.strictEqual(last.results["a"]?.output, "first")
      assert.notInclude(yield* tags, "ReviewExpired")
    }).pipe(memory)
  )

  it.effect("D83 leaves no question open in what the events of a run come to, from the first one on", () =>
    Effect.gen(function* () {
      const built = desk([worker("one", () => Review.ask({ name: "which", question: "Which?" }))], [task("a")])
      yield* Run.start(built, start)
      yield* answer(1, "this")
      const state = RunState.fold(yield* history("r1"))
      assert.deepStrictEqual(
        EffectResult.isSuccess(state) ? [...(state.success?.reviews.keys() ?? ["none"])] : state.failure.message,
        []
      )
      assert.deepStrictEqual((yield* Run.outcome("r1")).reviews, [])
      assert.deepStrictEqual((yield* Review.queue()).items, [])
    }).pipe(memory)
  )

  it.effect(
    "D76 of several who have to approve one rejects: it is closed at once, and nobody else is asked any more",
    () =>
      Effect.gen(function* () {
        const built = Desk.make("desk", {
          version: "1",
          input: Schema.String,
          domains: [Domain.make("d", { workers: [worker("one", () => Effect.succeed("done"), { risk: "high" })] })],
          coordinator: Plan.make([task("a")]),
          reviews: ReviewPolicy.make({ quorum: { high: 3 } })
        })
        yield* Run.start(built, start)
        const say = (decision: RunEvent.Decision, by: string) =>
          Run.decide({ review: "r1/review/1", decision, by, note: "said" })
        assert.deepStrictEqual(yield* say("approve", "ann"), { _tag: "Voted", votes: 1, need: 3 })
        assert.deepStrictEqual(yield* say("reject", "bob"), { _tag: "Applied" })
        assert.deepStrictEqual((yield* Review.queue()).items, [])
        const late = yield* Effect.flip(say("approve", "cem"))
        assert.strictEqual(late._tag === "CommandRefused" ? late.because : late._tag, "already-decided")
        const last = yield* Run.resume(built, "r1", { log: false })
        assert.deepStrictEqual([last.status, last.stopReason], ["failed", "rejected-by-reviewer"])
      }).pipe(memory)
  )
})
