/**
 * The limits of a contract, by name, and which of them go beyond those that they have to keep within.
 *
 * @since 0.1.0
 */
import type { Limits } from "../Contract.ts"
import { type Problem, show } from "./problems.ts"

/** @since 0.1.0 */
export const limitNames = ["deadlineMillis", "tokens", "toolCalls", "steps", "cost"] as const

/** What of the limits is above the most that is allowed. `whose`: who allows it, where that has to be said. */
export const beyond = (limits: Limits, most: Limits, whose?: string | undefined): ReadonlyArray<Problem> =>
  limitNames.flatMap((name): ReadonlyArray<Problem> => {
    const asked = limits[name]
    const maximum = most[name]
    if (asked === undefined || maximum === undefined || asked <= maximum) return []
    const expectation =
      whose === undefined ? `must be at most ${maximum}` : `must be at most the ${maximum} of ${whose}`
    return [{ path: `limits.${name}`, expectation, actual: show(asked) }]
  })
