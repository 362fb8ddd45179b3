/**
 * A machine of which a test is the only user: its scheduler, its clock and its count of fibers are plain data.
 *
 * A case runs without a single turn of the event loop, so a thousand cases take seconds, the same case always takes the
 * same way, and "nothing more happens until the clock moves" is a fact and not a guess. `TestClock` cannot say that: it
 * waits for turns of the event loop, which is right for a test of one story and too slow and too vague for these.
 */
import { Clock, Context, Duration, Effect, type Fiber, Metric, Random, Scheduler } from "effect"

import { Timeline } from "./timeline.ts"

export class Machine extends Timeline {
  /** fibers that began and have not ended */
  fibers = 0
  readonly context: Context.Context<never>

  constructor() {
    super()
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= 100_000,
      makeDispatcher: () => ({ scheduleTask: (run) => this.soon(run), flush: () => this.settle() })
    }
    const nanos = (): bigint => BigInt(Math.round(this.now * 1e6))
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: () => this.now,
      currentTimeMillis: Effect.sync(() => this.now),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) => this.sleep(Duration.toMillis(duration))
    }
    this.context = Context.empty().pipe(
      Context.add(Scheduler.Scheduler, scheduler),
      Context.add(Clock.Clock, clock),
      // In the middle: a jittered delay is the delay.
      Context.add(Random.Random, { nextDoubleUnsafe: () => 0.5, nextIntUnsafe: () => 0 }),
      Context.add(Metric.FiberRuntimeMetrics, {
        recordFiberStart: () => (this.fibers += 1),
        recordFiberEnd: () => (this.fibers -= 1)
      })
    )
  }

  private sleep(millis: number): Effect.Effect<void> {
    if (millis <= 0) return Effect.void
    return Effect.callback<void>((resume) => Effect.sync(this.later(millis, () => resume(Effect.void))))
  }

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }
}
