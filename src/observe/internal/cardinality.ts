/**
 * How many series a metric may have: what comes after is put together in one that says so.
 *
 * **Invariants**
 *
 * - C1. A metric has at most `limit` series of its own, and one for the rest.
 * - C2. A series that was admitted stays admitted until it is released.
 *
 * @since 0.1.0
 */
import { attribute } from "./names.ts"

/** Attributes by name. */
export type Attributes = Readonly<Record<string, string>>

/** Attributes as a text that is the same for the same ones, in whatever order they are given, and for no others. */
export const keyOf = (attributes: Attributes): string => {
  let key = ""
  for (const name of Object.keys(attributes).toSorted()) {
    const value = attributes[name] ?? ""
    key += `${name.length} ${value.length} ${name}${value}`
  }
  return key
}

/** A series of a metric, as a text. */
export const seriesOf = (metric: string, attributes: Attributes): string => `${metric} ${keyOf(attributes)}`

/** The attributes of what has no series of its own. */
export const rest: Attributes = { [attribute.overflow]: "true" }

/** @since 0.1.0 */
export class CardinalityGuard {
  private readonly limit: number
  private readonly metrics = new Map<string, Set<string>>()

  constructor(limit: number) {
    this.limit = limit
  }

  /** The attributes under which a value of a metric counts: its own, or those of the rest. */
  admit(metric: string, attributes: Attributes): Attributes {
    const key = keyOf(attributes)
    let keys = this.metrics.get(metric)
    if (keys === undefined) this.metrics.set(metric, (keys = new Set()))
    if (keys.has(key)) return attributes
    if (keys.size >= this.limit) return rest // C1
    keys.add(key)
    return attributes
  }

  /** A series is gone: another one may have its place. */
  release(metric: string, attributes: Attributes): void {
    this.metrics.get(metric)?.delete(keyOf(attributes))
  }

  /** How many series each metric has of its own. */
  get sizes(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.metrics, ([metric, keys]) => [metric, keys.size]))
  }
}

/** Whether these are the attributes of the rest. */
export const isRest = (attributes: Attributes): boolean => attributes[attribute.overflow] === "true"
