/**
 * Where measurements become metrics of Effect, as exporters read them.
 *
 * **Details**
 *
 * The unit of a metric is given as the attribute `unit`: exporters take it from there.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

import { type Attributes, type CardinalityGuard, isRest, seriesOf } from "./cardinality.ts"
import type { Entry } from "./catalogue.ts"
import type { Measurement } from "./measures/measurement.ts"
import { measured } from "./measures/measurement.ts"
import { attribute as a } from "./names.ts"

type Series = Metric.Counter<number> | Metric.Histogram<number>

/** The attributes that a metric may have, in the order of the measurement; another one would be a leak, and is left out. */
export const allowed = ({ attributes: names }: Entry, attributes: Attributes): Attributes =>
  Object.keys(attributes).every((name) => names.includes(name))
    ? attributes
    : Object.fromEntries(Object.entries(attributes).filter(([name]) => names.includes(name)))

/** What exporters are told with each series. */
export const withUnit = ({ unit }: Entry, attributes: Attributes): Attributes => ({ ...attributes, unit })

/** @since 0.1.0 */
export class Recorder {
  readonly context: Context.Context<never>
  readonly entries: ReadonlyMap<string, Entry>
  readonly guard: CardinalityGuard
  private readonly series = new Map<string, Series>()

  constructor(context: Context.Context<never>, entries: ReadonlyMap<string, Entry>, guard: CardinalityGuard) {
    this.context = context
    this.entries = entries
    this.guard = guard
  }

  record(measurements: ReadonlyArray<Measurement>): void {
    for (const { attributes, metric, value } of measurements) {
      const entry = this.entries.get(metric)
      // A metric that the profile does not have.
      if (entry === undefined || entry.instrument === "gauge" || !Number.isFinite(value)) continue
      const own = allowed(entry, attributes)
      // One that has been admitted stays so. C2
      const series = this.series.get(seriesOf(entry.name, own))
      if (series === undefined) this.recordNew(entry, own, value)
      else series.updateUnsafe(value, this.context)
    }
  }

  private recordNew(entry: Entry, own: Attributes, value: number): void {
    const admitted = this.guard.admit(entry.name, own)
    const key = seriesOf(entry.name, admitted)
    const series = this.series.get(key) ?? make(entry, withUnit(entry, admitted))
    this.series.set(key, series)
    series.updateUnsafe(value, this.context)
    // What is dropped of the count of what is dropped is not counted again.
    if (isRest(admitted) && entry.name !== folded.metric) this.record([folded])
  }
}

const folded = measured("espalier.telemetry.dropped", 1, { [a.signal]: "series", [a.dropReason]: "cardinality" })

const make = ({ buckets, description, name }: Entry, attributes: Attributes): Series =>
  buckets === undefined
    ? Metric.counter(name, { description, attributes, incremental: true })
    : Metric.histogram(name, { description, attributes, boundaries: buckets })
