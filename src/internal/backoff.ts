/**
 * The delay before a restart: an Effect `Schedule`, stepped by hand and started anew after a time of health.
 *
 * A child without its own schedule is restarted at once, unless the failure is `transient`: then it waits by
 * {@link transientSchedule}, and never less than the failure's `retryAfterMillis`.
 */
import type * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"

import * as Failure from "../Failure.ts"

/** Exponential from 1 s, factor 2, cap 30 s, jitter ± 20 %. */
export const transientSchedule: Schedule.Schedule<unknown> = Schedule.exponential("1 second", 2).pipe(
  Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, Duration.seconds(30)))),
  Schedule.jittered
)

type Step = (now: number, cause: Cause.Cause<unknown>) => Pull.Pull<[unknown, Duration.Duration], unknown, unknown>

/** Where one child stands in its schedule. */
export interface Backoff {
  own: Step | undefined
  transient: Step | undefined
}

export const make = (): Backoff => ({ own: undefined, transient: undefined })

/**
 * The next delay in milliseconds; `undefined` when the child's own schedule is over.
 */
export const next = (
  self: Backoff,
  schedule: Schedule.Schedule<unknown, Cause.Cause<unknown>> | undefined,
  classified: Failure.Classified,
  cause: Cause.Cause<unknown>,
  nowMillis: number
): Effect.Effect<number | undefined> => {
  const floor = classified.kind === "transient" ? Failure.retryAfterOf(classified.error) : undefined
  const floorMillis = floor === undefined ? 0 : Duration.toMillis(floor)
  const slot = schedule !== undefined ? "own" : "transient"
  if (schedule === undefined && classified.kind !== "transient") return Effect.succeed(0)
  const stepped = Effect.suspend(() => {
    const known = self[slot]
    if (known !== undefined) return Effect.succeed(known)
    return Effect.map(Schedule.toStep(schedule ?? transientSchedule), (step): Step => {
      self[slot] = step as Step
      return step as Step
    })
  })
  return stepped.pipe(
    Effect.flatMap((step) => step(nowMillis, cause)),
    Effect.map(([, delay]): number | undefined => Math.max(Duration.toMillis(delay), floorMillis)),
    // A schedule that is over, or that fails, has no further delay to give.
    Effect.catchCause(() => Effect.succeed(undefined))
  )
}
