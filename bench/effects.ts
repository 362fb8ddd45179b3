/** What the workloads on Effect share. */
import { Effect } from "effect"

import { now, quantile } from "./util.ts"

/** The median of many runs of an effect, one after the other, in microseconds. */
export const medianOf = <A, E, R>(one: Effect.Effect<A, E, R>, times: Float64Array): Effect.Effect<number, E, R> =>
  Effect.gen(function* () {
    for (let i = 0; i < times.length; i++) {
      const t0 = now()
      yield* one
      times[i] = (now() - t0) * 1000
    }
    return quantile(times.toSorted(), 0.5)
  })
