/**
 * A machine of which a test is the only user: its scheduler, its clock and its count of fibers are plain data.
 *
 * A case runs without a single turn of the event loop, so a thousand cases take seconds, the same case always takes the
 * same way, and "nothing more happens until the clock moves" is a fact and not a guess. `TestClock` cannot say that: it
 * waits for turns of the event loop, which is right for a test of one story and too slow and too vague for these.
 */
import { Clock, Context, Duration, Effect, type Fiber, Metric, Random, Scheduler } from "effect"

interface Sleep {
  readonly due: number
  readonly wake: () => void
}

export class Machine {
  /** milliseconds since the machine was made */
  now = 0
  /** fibers that began and have not ended */
  fibers = 0
  readonly context: Context.Context<never>
  private tasks: Array<{ readonly run: () => void; readonly priority: number }> = []
  /** by time; among equals, by age */
  private readonly sleeps: Array<Sleep> = []

  constructor() {
    const scheduler: Scheduler.Scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= 100_000,
      makeDispatcher: () => ({
        scheduleTask: (run, priority) => this.tasks.push({ run, priority }),
        flush: () => this.settle()
      })
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
    return Effect.callback<void>((resume) => {
      const sleep: Sleep = { due: this.now + millis, wake: () => resume(Effect.void) }
      let at = this.sleeps.length
      while (at > 0 && this.sleeps[at - 1]!.due > sleep.due) at -= 1
      this.sleeps.splice(at, 0, sleep)
      return Effect.sync(() => {
        const left = this.sleeps.indexOf(sleep)
        if (left >= 0) this.sleeps.splice(left, 1)
      })
    })
  }

  /** How many sleep. */
  get asleep(): number {
    return this.sleeps.length
  }

  /** When the next one that sleeps is due. */
  get next(): number | undefined {
    return this.sleeps[0]?.due
  }

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }

  /** Runs what can run without time passing. */
  settle(): void {
    for (let turns = 0; this.tasks.length > 0; turns++) {
      if (turns > 100_000) throw new Error("it never comes to rest")
      let first = 0
      for (let i = 1; i < this.tasks.length; i++) if (this.tasks[i]!.priority < this.tasks[first]!.priority) first = i
      this.tasks.splice(first, 1)[0]!.run()
    }
  }

  /** Moves the clock; whoever is due on the way wakes at its time, one after the other. */
  advanceTo(time: number): void {
    this.settle()
    for (let next = this.next; next !== undefined && next <= time; next = this.next) {
      this.now = next
      this.sleeps.shift()!.wake()
      this.settle()
    }
    this.now = Math.max(this.now, time)
  }
}
