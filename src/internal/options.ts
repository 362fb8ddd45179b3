/**
 * Checks that options share, and how a refused one is shown.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { format } from "effect/Formatter"

/** A value as an error shows it. */
export const show = (value: unknown): string => (typeof value === "string" ? value : format(value))

const units: ReadonlySet<string> = new Set([
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds",
  "microseconds",
  "nanoseconds"
])

/** Whether every part of a duration is a number: Effect passes over those that it does not know, and reads NaN as zero. */
const isSound = (input: unknown): boolean => {
  if (typeof input === "number") return !Number.isNaN(input)
  if (typeof input !== "object" || input === null || Duration.isDuration(input)) return true
  const parts = Array.isArray(input) ? input : Object.values(input)
  if (!Array.isArray(input) && !Object.keys(input).every((unit) => units.has(unit))) return false
  return (
    parts.length > 0 && parts.every((part) => part === undefined || (typeof part === "number" && !Number.isNaN(part)))
  )
}

/** Reads a duration, whatever its sign; `undefined` for what is none. */
export const readDuration = (input: unknown): Duration.Duration | undefined => {
  const duration = Duration.fromInput(input as Duration.Input)
  return duration._tag === "Some" && isSound(input) ? duration.value : undefined
}

/** Reads a duration that must be >= 0, or > 0. */
export const durationOf = (
  where: string,
  name: string,
  input: Duration.Input,
  least: "zero" | "more"
): Duration.Duration => {
  const duration = readDuration(input)
  const millis = duration === undefined ? Number.NaN : Duration.toMillis(duration)
  if (duration === undefined || !(least === "zero" ? millis >= 0 : millis > 0)) {
    throw new RangeError(
      `${where}: ${name} must be a duration ${least === "zero" ? ">= 0" : "> 0"}, got ${show(input)}`
    )
  }
  return duration
}

/** Refuses what is no Effect. */
export const mustBeEffect = (where: string, name: string, id: string, value: unknown): void => {
  if (!Effect.isEffect(value)) throw new RangeError(`${where}: ${name} of ${id} must be an Effect, got ${show(value)}`)
}
