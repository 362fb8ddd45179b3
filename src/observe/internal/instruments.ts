/**
 * What metrics are made of: instruments, units and bounds.
 *
 * @since 0.1.0
 */

/**
 * By which names of the GenAI conventions metrics go: those of the standalone conventions, or the last ones before them.
 *
 * @category models
 * @since 0.1.0
 */
export type Profile = "genai-0.1" | "semconv-1.41"

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

const powers = (first: number, factor: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, index) => Number((first * factor ** index).toPrecision(12)))

const minute = 60
const hour = 3600
const day = 86_400

/** Bounds of histograms. */
export const buckets = {
  fast: powers(0.01, 2, 14),
  agent: powers(0.1, 2, 13),
  run: [1, 5, 15, minute, 5 * minute, 15 * minute, hour, 4 * hour, 12 * hour, day, 3 * day, 7 * day],
  wait: [minute, 5 * minute, 15 * minute, 30 * minute, ...[1, 2, 4, 8, 24, 48, 72, 168].map((hours) => hours * hour)],
  handling: [1, 3, 10, 30, minute, 5 * minute, 15 * minute, 30 * minute, hour, 4 * hour, day],
  steps: powers(1, 2, 10),
  calls: powers(1, 2, 8),
  tokens: powers(256, 4, 9),
  operationTokens: powers(1, 4, 14),
  cost: [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100],
  ratio: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1]
} as const

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
