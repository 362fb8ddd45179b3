/**
 * Mistakes that task supervisors of other runtimes have shipped.
 */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Metric, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Tasks } from "espalier"

import { quiet, until } from "../fixtures/stage.ts"
import { Bench, collecting, open } from "../fixtures/workshop.ts"

/** Counts every fiber that is started below it, whoever started it. */
class Fibers {
  alive = 0
  readonly service: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void (this.alive += 1),
    recordFiberEnd: () => void (this.alive -= 1)
  }
}

describe("mistakes of task supervisors", () => {
  // A stream left the exit and time-out notices of its tasks in the mailbox of whoever had used it.
  it.effect("after a stream has ended or was cut there is no fiber, no timer and no notice of it", () => {
    const fibers = new Fibers()
    return Effect.gen(function* () {
      const { jobs, running, stage } = yield* open()
      const bench = new Bench()
      const slow = Stream.fromEffectRepeat(Effect.as(Effect.sleep("1 millis"), 1))
      const work = (i: number) => bench.watch(String(i), Effect.as(Effect.sleep(`${i} millis`), i))
      const broken = Stream.concat(Stream.fromArray([30, 10]), Stream.fail("end"))
      const items = [30, 10, 20, 40]
      const value = { timeout: "25 millis", onTimeout: "value" } as const
      const ways: Record<string, Effect.Effect<unknown, unknown>> = {
        "to its end": Stream.runDrain(jobs.stream(items, work, { timeout: "1 minute" })),
        "with late values": Stream.runDrain(jobs.stream(items, work, value)),
        "cut after one": Stream.runDrain(Stream.take(jobs.stream(items, work, { ...value, ordered: false }), 1)),
        "cut after none": Stream.runDrain(Stream.take(jobs.stream(items, work), 0)),
        "cut from an endless input": Stream.runDrain(Stream.take(jobs.stream(slow, work), 3)),
        "failed in time": Stream.runDrain(jobs.stream(items, work, { timeout: "25 millis" })),
        "failed by an element": Stream.runDrain(
          jobs.stream(items, (i) => Effect.andThen(work(i), Effect.fail("boom")))
        ),
        "failed by its input": Stream.runDrain(jobs.stream(broken, work)),
        interrupted: Effect.timeoutOption(Stream.runDrain(jobs.stream(items, work, value)), "15 millis")
      }
      const before = fibers.alive
      for (const [way, stream] of Object.entries(ways)) {
        const consumer = yield* Effect.forkChild(Effect.exit(stream), { startImmediately: true })
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(consumer)
        assert.deepStrictEqual([way, yield* running, bench.active, fibers.alive], [way, 0, 0, before])
      }
      // Nor does anything of it come later.
      stage.takeLog()
      bench.takeLog()
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([stage.events, bench.log], [[], []])
    }).pipe(Effect.provideService(Metric.FiberRuntimeMetrics, fibers.service))
  })

  // The notice that a task had exited replaced its result when results came out of order.
  it.effect("a success stays one, in whatever order a thousand ordered streams are finished", () =>
    Effect.gen(function* () {
      const { jobs } = yield* open()
      const got: Array<Tasks.Ok<number> | Tasks.Failed<never> | Tasks.TimedOut> = []
      for (let run = 0; run < 1_000; run++) {
        // Slowest first in every third run, else shuffled by the number of the run; some at once.
        const items = [4, 3, 2, 1].map((i) => (run % 3 === 0 ? i : (i * (run + 7)) % 5))
        const work = (millis: number) => (millis === 0 ? Effect.succeed(0) : Effect.as(Effect.sleep(millis), millis))
        const options = { concurrency: 1 + (run % 4), link: false, timeout: "1 minute", onTimeout: "value" } as const
        const all = yield* Effect.forkChild(collecting(jobs.stream(items, work, options), got), {
          startImmediately: true
        })
        yield* TestClock.adjust("20 millis")
        yield* Fiber.join(all)
        assert.deepStrictEqual(
          got.splice(0),
          items.map((value) => ({ _tag: "Ok", value }))
        )
      }
    })
  )

  // An unordered stream kept every result that it had given away.
  it.effect("an endless unordered stream is never further ahead of its consumer than it may be", () =>
    Effect.gen(function* () {
      const { jobs, running } = yield* open()
      const ahead = 12
      let taken = 0
      let begun = 0
      let furthest = 0
      const work = (i: number) =>
        Effect.sync(() => {
          begun += 1
          furthest = Math.max(furthest, begun - taken)
          return i
        })
      const numbers = Stream.iterate(0, (i) => i + 1)
      const results = jobs.stream(numbers, work, { concurrency: 4, ahead, ordered: false })
      yield* Stream.runForEach(Stream.take(results, 2_000), () =>
        Effect.andThen(
          taken % 100 === 0 ? quiet : Effect.void,
          Effect.sync(() => void (taken += 1))
        )
      )
      // What the consumer has in its hand is one more.
      assert.strictEqual(furthest, ahead + 1)
      assert.deepStrictEqual([taken, yield* running], [2_000, 0])
    })
  )

  // A time-out of infinity crashed the stream.
  it.effect("infinity is a duration everywhere", () =>
    Effect.gen(function* () {
      for (const forever of ["Infinity", Infinity, Duration.infinity] as const) {
        const { jobs } = yield* open({ shutdown: forever, maxChildren: "unbounded" })
        const bench = new Bench()
        const options = { timeout: forever, shutdown: forever }
        for (const onTimeout of ["fail", "value"] as const) {
          const all = yield* Stream.runCollect(jobs.stream([1], () => Effect.void, { ...options, onTimeout }))
          assert.strictEqual(all.length, 1)
        }
        yield* jobs.run(Effect.void, { shutdown: forever })
        const task = yield* jobs.asyncNoLink(bench.work("a"), { shutdown: forever })
        const waiting = yield* Effect.forkChild(Effect.all([task.awaitFor(forever), task.yieldFor(forever)]))
        yield* TestClock.adjust("365 days")
        assert.strictEqual(waiting.pollUnsafe(), undefined)
        bench.end("a")
        yield* until("both waits are over", () => waiting.pollUnsafe() !== undefined)
        assert.strictEqual((yield* Fiber.join(waiting))[0], "a")
        assert.deepStrictEqual(yield* task.exit, Exit.succeed("a"))
      }
    })
  )
})
