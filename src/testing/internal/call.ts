/**
 * One call of a worker's work, in a fiber that is let go when it does not stop, and the fibers that it leaves behind.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"

/**
 * How a call ended.
 *
 * **Details**
 *
 * - `exit`: absent when it was cut off, or ended before it could be interrupted.
 * - `stopped`: whether it had ended, and its clean-up with it, when its grace time was over.
 * - `left`: fibers that it started and that still ran then.
 *
 * @since 0.1.0
 */
export interface Ended {
  readonly exit: Exit.Exit<unknown, unknown> | undefined
  readonly stopped: boolean
  readonly left: number
}

type Work<R> = Effect.Effect<unknown, unknown, R>

/** Counts the fibers that the work starts, however deep, as long as they inherit its context. */
const counted = <R>(work: Work<R>): { readonly work: Work<R>; readonly living: () => number } => {
  let living = 0
  const counting = (outer: Metric.FiberRuntimeMetricsService | undefined): Metric.FiberRuntimeMetricsService => ({
    recordFiberStart: (context) => {
      living += 1
      outer?.recordFiberStart(context)
    },
    recordFiberEnd: (context, exit) => {
      living -= 1
      outer?.recordFiberEnd(context, exit)
    }
  })
  return {
    work: Effect.updateContext(work, (context: Context.Context<R>) => {
      const outer = Context.get(context as Context.Context<never>, Metric.FiberRuntimeMetrics)
      return Context.add(context, Metric.FiberRuntimeMetrics, counting(outer)) as Context.Context<R>
    }),
    living: () => living
  }
}

/** Lets what is about to end come to its end, without any time. */
const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

const ending = (
  fiber: Fiber.Fiber<unknown, unknown>,
  living: () => number,
  grace: Duration.Duration,
  exit: Exit.Exit<unknown, unknown> | undefined
): Effect.Effect<Ended> =>
  Effect.gen(function* () {
    fiber.interruptUnsafe()
    const ended = yield* Effect.timeoutOption(Fiber.await(fiber), grace)
    yield* settle
    if (living() > 0 && Option.isSome(ended)) yield* Effect.sleep(grace)
    const stopped = Option.isSome(ended)
    // A call that does not stop has its own fibers below it; only those of one that did stop are left behind.
    return { exit, stopped, left: stopped ? living() : 0 }
  })

/** Begins a call, and interrupts it when whoever looks at it is interrupted. */
const begun = <R>(
  work: Work<R>,
  look: (fiber: Fiber.Fiber<unknown, unknown>, living: () => number) => Effect.Effect<Ended>
): Effect.Effect<Ended, never, R> =>
  Effect.suspend(() => {
    const call = counted(work)
    return Effect.flatMap(Effect.forkDetach(Effect.interruptible(call.work), { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(look(fiber, call.living), () => Effect.sync(() => fiber.interruptUnsafe()))
    )
  })

/**
 * Calls and waits for the end, no longer than a time-out.
 *
 * @since 0.1.0
 */
export const toEnd = <R>(
  work: Work<R>,
  timeout: Duration.Duration,
  grace: Duration.Duration
): Effect.Effect<Ended, never, R> =>
  begun(work, (fiber, living) =>
    Effect.flatMap(Effect.timeoutOption(Fiber.await(fiber), timeout), (exit) =>
      ending(fiber, living, grace, Option.getOrUndefined(exit))
    )
  )

/**
 * Calls and interrupts: at the first point at which the work waits, or some turns later.
 *
 * @since 0.1.0
 */
export const interrupted = <R>(
  work: Work<R>,
  turns: number,
  grace: Duration.Duration
): Effect.Effect<Ended, never, R> =>
  begun(work, (fiber, living) =>
    Effect.andThen(
      turns === 0 ? Effect.void : Effect.repeat(Effect.yieldNow, { times: turns }),
      ending(fiber, living, grace, undefined)
    )
  )
