/**
 * Checks that options share, and how a refused one is shown.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"

/** A value as an error shows it. */
export const show = (value: unknown): string => (typeof value === "string" ? value : format(value))

/** Reads a duration that must be >= 0, or > 0. */
export const durationOf = (
  where: string,
  name: string,
  input: Duration.Input,
  least: "zero" | "more"
): Duration.Duration => {
  const duration = Duration.fromInput(input)
  // Effect reads NaN as zero; as a grace time it is a mistake.
  const isNumber = duration._tag === "Some" && !Number.isNaN(input)
  const millis = isNumber ? Duration.toMillis(duration.value) : Number.NaN
  if (duration._tag === "None" || !(least === "zero" ? millis >= 0 : millis > 0)) {
    throw new RangeError(
      `${where}: ${name} must be a duration ${least === "zero" ? ">= 0" : "> 0"}, got ${show(input)}`
    )
  }
  return duration.value
}

/** Refuses what is no Effect. */
export const mustBeEffect = (where: string, name: string, id: string, value: unknown): void => {
  if (!Effect.isEffect(value)) throw new RangeError(`${where}: ${name} of ${id} must be an Effect, got ${show(value)}`)
}
