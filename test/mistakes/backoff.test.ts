/**
 * Mistakes that other runtimes have shipped about delayed restarts, their limits, and the actor that comes back.
 */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { Actor } from "espalier"

import { employing } from "../fixtures/clerk.ts"
import { failure, forked } from "../fixtures/counter.ts"
import { nodeOf, quiet, until } from "../fixtures/stage.ts"

const boom = { cause: "boom" }
const roomy = { intensity: { restarts: 1_000, within: "1 hour" } } as const

describe("mistakes of delayed restarts", () => {
  // The counter was made anew by every restart that succeeded, so it never saw two crashes.
  it.effect("a child that starts well and crashes on its first message each time is given up on, delays or not", () =>
    Effect.gen(function* () {
      for (const backoff of [undefined, Schedule.spaced("1 second")]) {
        const { office, ref, tree } = yield* employing({ backoff }, { intensity: { restarts: 3, within: "1 minute" } })
        const ended = yield* forked(Effect.flip(tree.ended))
        for (let crash = 1; crash <= 4; crash++) {
          assert.isUndefined(ended.pollUnsafe())
          yield* failure(ref.Crash(boom))
          yield* TestClock.adjust("1 second")
          yield* quiet
        }
        assert.strictEqual((yield* Fiber.join(ended))._tag, "GaveUp")
        assert.strictEqual(office.incarnations, 4)
      }
    })
  )

  // The child counted as stopped while it waited; the retry that failed was not followed by another.
  it.effect("a retry that fails is followed by the next one", () =>
    Effect.gen(function* () {
      const { office, ref, stage, tree } = yield* employing({ backoff: Schedule.spaced("1 second") }, roomy)
      office.init = (incarnation) => (incarnation < 5 ? Effect.fail("still broken") : Effect.void)
      yield* failure(ref.Crash(boom))
      const states: Array<string> = []
      for (let second = 1; second <= 4; second++) {
        yield* until("it waits", () => stage.of("BackingOff").length === second)
        states.push(nodeOf(yield* tree.snapshot, "Clerk").state)
        yield* TestClock.adjust("1 second")
      }
      yield* until("it is back", () => stage.of("Started", "Clerk").length === 2)
      assert.deepStrictEqual([states, office.incarnations], [Array.from({ length: 4 }, () => "backing-off"), 5])
      assert.strictEqual(yield* ref.Put({ n: 7 }), 7)
    })
  )

  // A child that waited for its restart could neither be stopped nor removed.
  it.effect("a child that waits for its restart can be stopped, then removed, and its timer is gone", () =>
    Effect.gen(function* () {
      const { office, ref, root, stage, tree } = yield* employing({ backoff: Schedule.spaced("1 minute") }, roomy)
      yield* failure(ref.Crash(boom))
      yield* until("it waits", () => stage.of("BackingOff").length === 1)
      const behind = yield* forked(failure(ref.Put({ n: 1 })))
      // Removal is for what is stopped, as ever.
      assert.strictEqual((yield* Effect.flip(root.removeChild("Clerk"))).reason, "restarting")
      yield* root.stopChild("Clerk")
      assert.strictEqual(yield* Fiber.join(behind), "ActorStopped")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Clerk").state, "stopped")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(office.incarnations, 1)
      yield* root.removeChild("Clerk")
      assert.deepStrictEqual((yield* tree.snapshot).children, [])
    })
  )

  // The reset compared a counter that was stale by the time it looked, so it never took place.
  it.effect("after a crash, a time of health and another crash the delay is the smallest again, every time", () =>
    Effect.gen(function* () {
      const options = { backoff: Schedule.exponential("1 second"), backoffReset: "1 minute" } as const
      const { ref, stage } = yield* employing(options, roomy)
      const delays: Array<number> = []
      for (let streak = 0; streak < 5; streak++) {
        for (let crash = 0; crash < 3; crash++) {
          stage.takeLog()
          yield* failure(ref.Crash(boom))
          yield* until("it waits", () => stage.of("BackingOff").length === 1)
          const { delay } = stage.of("BackingOff")[0]!
          delays.push(Duration.toMillis(delay))
          yield* TestClock.adjust(delay)
          yield* until("it is back", () => stage.of("Started").length === 1)
        }
        yield* TestClock.adjust("1 minute")
      }
      assert.deepStrictEqual(delays, Array.from({ length: 5 }, () => [1_000, 2_000, 4_000]).flat())
    })
  )

  // With a delay between restarts, their limit was not looked at any more.
  it.effect("a limit holds with delays as it does without: after two restarts, the third crash is the last", () =>
    Effect.gen(function* () {
      const limits = [
        [{ backoff: Schedule.spaced("1 second") }, { intensity: { restarts: 2, within: "1 hour" } }],
        [{ backoff: Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(2)]) }, roomy]
      ] as const
      for (const [options, supervisor] of limits) {
        const { office, ref, tree } = yield* employing(options, supervisor)
        for (let crash = 1; crash <= 3; crash++) {
          yield* failure(ref.Crash(boom))
          yield* TestClock.adjust("1 second")
          yield* quiet
          assert.strictEqual(office.incarnations, Math.min(crash + 1, 3))
        }
        assert.strictEqual((yield* Effect.flip(tree.ended))._tag, "GaveUp")
        yield* TestClock.adjust("1 day")
        assert.strictEqual(office.incarnations, 3)
        assert.strictEqual(yield* failure(ref.Put({ n: 1 })), "ActorStopped")
      }
    })
  )

  // Every failure suspended the mailbox once more than the restart resumed it.
  it.effect("an actor that crashes inside an asynchronous handler handles the next message, however often", () =>
    Effect.gen(function* () {
      const { office, ref } = yield* employing({}, roomy)
      for (let round = 1; round <= 20; round++) {
        const crash = yield* forked(failure(ref.CrashLater()))
        const next = yield* forked(ref.Put({ n: round }))
        yield* until("it is inside", () => office.log.includes(`wait ${round}`))
        office.open()
        assert.strictEqual(yield* Fiber.join(crash), "ActorCrashed")
        assert.strictEqual(yield* Fiber.join(next), round)
        // Two that crash in a row, with a message between, and one that only fails.
        yield* Effect.exit(ref.Put({ n: -1 }))
      }
      assert.strictEqual(office.incarnations, 21)
    })
  )

  // A stash of mail that came during the delay was handed out twice, or backwards.
  it.effect("mail of a long outage is handled once and in order, whatever fails on the way back", () =>
    Effect.gen(function* () {
      const { office, ref, stage } = yield* employing({ backoff: Schedule.spaced("1 second") }, roomy)
      office.init = (incarnation) => (incarnation % 3 === 0 ? Effect.fail("flaky") : Effect.void)
      yield* failure(ref.Crash(boom))
      const asks: Array<Fiber.Fiber<unknown, unknown>> = []
      for (let n = 1; n <= 30; n++) {
        asks.push(yield* forked(Actor.withTimeout("Infinity")(n % 10 === 0 ? ref.Crash(boom) : ref.Put({ n }))))
      }
      for (let second = 0; second < 12; second++) {
        yield* TestClock.adjust("1 second")
        yield* quiet
      }
      const exits = yield* Effect.forEach(asks, Fiber.await)
      assert.deepStrictEqual(
        exits.flatMap((exit, i) => (Exit.isFailure(exit) ? [i + 1] : [])),
        [10, 20, 30]
      )
      const handled = office.log.flatMap((line) => (line.startsWith("put") ? [Number(line.split(" ")[1])] : []))
      assert.deepStrictEqual(
        handled,
        Array.from({ length: 30 }, (_, i) => i + 1).filter((n) => n % 10 !== 0)
      )
      assert.isAbove(stage.of("StartFailed").length, 0)
    })
  )
})
