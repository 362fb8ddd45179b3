/**
 * What metrics are made of: instruments and units.
 *
 * @since 0.1.0
 */

/**
 * A metric of the catalogue.
 *
 * **Details**
 *
 * - `unit`: `1`, `s`, or what is counted, in braces. `attributes`: those that it may have.
 * - `buckets`: upper bounds of a histogram, ascending.
 * - `section`: what it is about.
 * - `fold`: how values of a gauge that have the same attributes become one. Default `sum`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Entry {
  readonly name: string
  readonly instrument: "counter" | "histogram" | "gauge"
  readonly unit: string
  readonly description: string
  readonly attributes: ReadonlyArray<string>
  readonly buckets?: ReadonlyArray<number>
  readonly fold?: "sum" | "max" | "min"
  readonly section: Section
}

/**
 * What a metric is about.
 *
 * @category models
 * @since 0.1.0
 */
export type Section =
  | "Routing"
  | "Handoffs"
  | "Loops and retries"
  | "Context window"
  | "Outcomes"
  | "People"
  | "Supervision"
  | "Tokens and cost"
  | "Model calls"
  | "Evaluation"
  | "Telemetry"

/** A metric without its name, and without what it is about. */
export type Rest = Omit<Entry, "name" | "section">

export const counter = (unit: string, attributes: ReadonlyArray<string>, description: string): Rest => ({
  instrument: "counter",
  unit,
  description,
  attributes
})

export const histogram = (
  unit: string,
  bounds: ReadonlyArray<number>,
  attributes: ReadonlyArray<string>,
  description: string
): Rest => ({ instrument: "histogram", unit, description, attributes, buckets: bounds })

export const gauge = (
  unit: string,
  attributes: ReadonlyArray<string>,
  description: string,
  fold: "sum" | "max" | "min" = "sum"
): Rest => ({ instrument: "gauge", unit, description, attributes, fold })
