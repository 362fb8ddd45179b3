import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Effect, Exit } from "effect"
import { VirtualTime } from "espalier/testing"

describe("VirtualTime", () => {
  describe("elapse", () => {
    it.effect("R-701 ends as the effect does, once its time has come", () =>
      Effect.gen(function* () {
        const steps = Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(Effect.delay(Clock.currentTimeMillis, "1 minute"))
          yield* Effect.sleep("10 seconds")
          const first = yield* Clock.currentTimeMillis
          yield* Effect.sleep("20 seconds")
          return [first, yield* Clock.currentTimeMillis, fiber.pollUnsafe() === undefined]
        })
        assert.deepStrictEqual(yield* VirtualTime.elapse(steps, "30 seconds"), [10_000, 30_000, true])
        assert.strictEqual(yield* Effect.flip(VirtualTime.elapse(Effect.fail("no"), 0)), "no")
      })
    )

    it.effect("R-701 moves the clock all the way", () =>
      Effect.gen(function* () {
        yield* VirtualTime.elapse(Effect.void, "1 hour")
        assert.strictEqual(yield* Clock.currentTimeMillis, 3_600_000)
      })
    )

    it.effect("R-701 interrupts what is not over, and says so", () =>
      Effect.gen(function* () {
        let interrupted = false
        const slow = Effect.onInterrupt(Effect.sleep("1 hour"), () => Effect.sync(() => (interrupted = true)))
        const exit = yield* Effect.exit(VirtualTime.elapse(slow, "59 minutes"))
        assert.isTrue(interrupted)
        assert.isTrue(Exit.isFailure(exit))
        const message = Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""
        assert.include(message, "VirtualTime.elapse: not over after 3540000 ms of the test clock")
      })
    )
  })
})
