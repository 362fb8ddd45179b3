/**
 * One number about something that has happened.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "../../../run/RunEvent.ts"
import type { Attributes } from "../cardinality.ts"
import type { Key } from "../catalogue.ts"
import type { Memory } from "./memory.ts"

/**
 * **Details**
 *
 * - `metric`: in the catalogue. `value`: what a counter goes up by, or what a histogram takes in.
 */
export interface Measurement {
  readonly metric: Key
  readonly value: number
  readonly attributes: Attributes
}

/** What an event says, with what was known of its run before it. */
export type Measure = (event: RunEvent, before: Memory) => ReadonlyArray<Measurement>

/** A measurement; attributes that are not known are left out. */
export const measured = (
  metric: Key,
  value: number,
  attributes: Readonly<Record<string, string | undefined>>
): Measurement => {
  const known: Record<string, string> = {}
  for (const [name, each] of Object.entries(attributes)) if (each !== undefined) known[name] = each
  return { metric, value, attributes: known }
}

export const nothing: ReadonlyArray<Measurement> = []

export const seconds = (millis: number): number => Math.max(0, millis) / 1000

/** A flag as the value of an attribute. */
export const yesNo = (value: boolean): string => (value ? "true" : "false")
