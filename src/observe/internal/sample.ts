/**
 * One value of a gauge, as it is now.
 *
 * @since 0.1.0
 */
import type { Attributes } from "./cardinality.ts"
import type { Key } from "./catalogue.ts"

/** @since 0.1.0 */
export interface Sample {
  readonly metric: Key
  readonly value: number
  readonly attributes: Attributes
}

export const sample = (metric: Key, value: number, attributes: Attributes): Sample => ({ metric, value, attributes })
