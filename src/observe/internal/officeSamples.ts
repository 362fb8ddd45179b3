/**
 * How an open desk stands, as values of gauges: its workers, their breakers, and those of what they depend on.
 *
 * @since 0.1.0
 */
import type * as Dependency from "../../run/Dependency.ts"
import type * as Health from "../../run/Health.ts"
import type { Load } from "../../run/Office.ts"
import { attribute as a } from "./names.ts"
import { type Sample, sample } from "./sample.ts"

/** What a breaker does with a call: all are let through, one is, or none. */
export type Position = "closed" | "half_open" | "open"

const positions: ReadonlyArray<Position> = ["closed", "half_open", "open"]

/** @since 0.1.0 */
export const positionOf = (status: Health.Status | Dependency.Change["status"]): Position => {
  switch (status) {
    case "healthy":
    case "closed":
      return "closed"
    case "ready-for-probe":
    case "probing":
      return "half_open"
    case "degraded":
    case "unavailable":
    case "held":
    case "open":
      return "open"
  }
}

/** 1 for the position that a breaker is in, 0 for the others. */
export const breakerSamples = (name: string, position: Position): ReadonlyArray<Sample> =>
  positions.map((each) =>
    sample("espalier.breaker.status", each === position ? 1 : 0, { [a.breaker]: name, [a.breakerState]: each })
  )

/** @since 0.1.0 */
export const loadSamples = (loads: ReadonlyMap<string, Load>): ReadonlyArray<Sample> =>
  Array.from(loads).flatMap(([worker, { busy, held, queued, size }]) => {
    const of = { [a.pool]: worker }
    return [
      sample("espalier.pool.size", size, of),
      sample("espalier.pool.busy.count", busy, of),
      sample("espalier.pool.queued.count", queued, of),
      sample("espalier.pool.held.count", held, of)
    ]
  })
