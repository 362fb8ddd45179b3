/**
 * Lets a test clock go on while something runs, so that minutes of waiting take no time.
 *
 * **Details**
 *
 * A test clock stands still until somebody moves it, and whoever waits for the end of a run cannot. {@link elapse} does
 * both: it starts the effect, moves the clock once it waits, and tells when that time was not enough.
 *
 * **Gotchas**
 *
 * Only what waits by the clock gets on. What waits for a process, a thread or a socket does not know of this time.
 *
 * **Example** (An hour of waiting)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { TestClock } from "effect/testing"
 * import { VirtualTime } from "espalier/testing"
 *
 * const slow = Effect.as(Effect.sleep("1 hour"), "done")
 * await Effect.runPromise(Effect.provide(VirtualTime.elapse(slow, "2 hours"), TestClock.layer())) // => "done"
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

/** Turns in which what was just begun comes to where it waits. A test clock waits for what it woke, not for a new fiber. */
const turns = 200

/**
 * Runs an effect while the test clock goes on by `time`, and succeeds or fails as it does.
 *
 * **Details**
 *
 * - `time`: >= 0. The clock is moved all the way, also when the effect is over earlier.
 *
 * **Gotchas**
 *
 * Dies with an error that names `time` when the effect is not over by then; it is interrupted first. Dies when the clock is
 * not a test clock.
 *
 * @category running
 * @since 0.1.0
 */
export const elapse = <A, E, R>(effect: Effect.Effect<A, E, R>, time: Duration.Input): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    yield* Effect.repeat(Effect.yieldNow, { times: turns })
    yield* TestClock.adjust(time)
    yield* Effect.repeat(Effect.yieldNow, { times: turns })
    if (fiber.pollUnsafe() === undefined) {
      yield* Fiber.interrupt(fiber)
      const millis = Duration.toMillis(Duration.fromInputUnsafe(time))
      return yield* Effect.die(new Error(`VirtualTime.elapse: not over after ${millis} ms of the test clock`))
    }
    return yield* Fiber.join(fiber)
  })
