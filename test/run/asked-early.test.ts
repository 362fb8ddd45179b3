import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Journal } from "espalier/journal"
import { Effects, Office, Review, Run } from "espalier/run"

import { desk, memory, settle, task, worker } from "./desks.ts"
import { of } from "./guards.ts"

describe("A question", () => {
  it.effect("R-306 D82 that is asked again while its answer is being written is answered, and no attempt fails", () =>
    Effect.gen(function* () {
      const [writing, asked, held] = [
        Deferred.makeUnsafe<void>(),
        Deferred.makeUnsafe<void>(),
        Deferred.makeUnsafe<void>()
      ]
      const ask = Effect.map(Review.ask({ name: "which", question: "Which one?" }), (reply) =>
        reply._tag === "Answered" ? String(reply.value) : reply._tag
      )
      const asks = worker("one", () =>
        Effect.gen(function* () {
          const again = Effect.gen(function* () {
            yield* Deferred.await(writing)
            yield* Deferred.succeed(asked, undefined)
            return yield* ask
          })
          // While something is done outside the work goes on.
          const busy = Effects.perform({ name: "hold", run: () => Deferred.await(held) })
          const [one, other] = yield* Effect.all([ask, again, busy], { concurrency: "unbounded" })
          return `${one} ${other}`
        })
      )
      const journal = yield* Journal.Journal
      const slow: Journal.Journal["Service"] = {
        ...journal,
        append: (append) =>
          append.events.some(({ type }) => type.startsWith("ReviewDecided"))
            ? Effect.gen(function* () {
                yield* Deferred.succeed(writing, undefined)
                yield* Deferred.await(asked)
                yield* settle
                return yield* journal.append(append)
              })
            : journal.append(append)
      }
      const outcome = yield* Effect.gen(function* () {
        const office = yield* Office.open(desk([asks], [task("a")]), { log: false })
        const fiber = yield* Effect.forkChild(Run.startIn(office, { id: "r1", input: "go", log: false }))
        yield* settle
        yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "this", by: "ann" }, { office })
        yield* Deferred.succeed(held, undefined)
        return yield* Fiber.join(fiber)
      }).pipe(Effect.provideService(Journal.Journal, slow))
      assert.deepStrictEqual([outcome.status, outcome.results["a"]?.output], ["completed", "this this"])
      assert.deepStrictEqual(yield* of("AttemptFailed"), [])
      assert.lengthOf(yield* of("ReviewOpened"), 1)
    }).pipe(Effect.scoped, memory)
  )
})
