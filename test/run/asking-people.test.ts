import { assert, describe, it } from "@effect/vitest"
import { Effect, Ref } from "effect"
import { TestClock } from "effect/testing"
import { Effects, Review, Run } from "espalier/run"

import { desk, history, memory, task, worker } from "./desks.ts"

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
})
