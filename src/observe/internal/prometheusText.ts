/**
 * Metrics as Prometheus reads them: Effect writes the text, of readings that are put right first.
 *
 * One line that Prometheus cannot read loses it all the others, so what would make one is renamed or left out.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Predicate from "effect/Predicate"

import { dropped } from "./drops.ts"
import * as RegistryView from "./registryView.ts"

const word = (name: string, allowed: RegExp): string => {
  const clean = name.replace(allowed, "_").replace(/_+/g, "_")
  return /^[0-9:]/.test(clean) ? `_${clean}` : clean
}

/**
 * The name of a metric; `undefined`: it has no letter or digit that Prometheus knows.
 *
 * @since 0.1.0
 */
export const metricName = (id: string): string | undefined => {
  const name = word(id, /[^a-zA-Z0-9_:]/g).replace(/_$/, "")
  return name === "" ? undefined : name
}

/** Labels that the text itself uses. */
const reserved: Readonly<Record<string, string>> = { Histogram: "le", Summary: "quantile", Frequency: "key" }

const labelName = (key: string, type: string): string => {
  const name = word(key, /[^a-zA-Z0-9_]/g)
  return name === reserved[type] ? `exported_${name}` : name
}

/**
 * The labels of a metric: attributes that come to have the same name are one label, with their values in the order of their
 * own names, as OpenTelemetry has it.
 *
 * @since 0.1.0
 */
export const labels = (type: string, attributes: Readonly<Record<string, string>>): Record<string, string> => {
  const found: Record<string, string> = Object.create(null)
  for (const [key, value] of Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (key === "unit" || key === "time_unit" || key === "") continue
    const name = labelName(key, type)
    const before = found[name]
    found[name] = before === undefined ? value : `${before};${value}`
  }
  return { ...found }
}

const isCounterThatFalls = ({ state, type }: RegistryView.Reading): boolean =>
  type === "Counter" && Predicate.hasProperty(state, "incremental") && state.incremental === false

const shown = (reading: RegistryView.Reading): RegistryView.Reading | undefined => {
  const id = metricName(reading.id)
  if (id === undefined) return undefined
  const attributes = reading.attributes && labels(reading.type, reading.attributes)
  if (!isCounterThatFalls(reading)) return { ...reading, id, attributes }
  // What goes up and down is a gauge to Prometheus; a counter that falls is one that began anew.
  const value = Predicate.hasProperty(reading.state, "count") ? reading.state.count : undefined
  return { ...reading, id, attributes, type: "Gauge", state: { value } }
}

/**
 * Writes what the registry of a context has.
 *
 * @since 0.1.0
 */
export const render = (context: Context.Context<never>, prefix: string | undefined): string => {
  const view = RegistryView.make(context, shown, (count) => dropped("metrics", "unencodable", context, count))
  return PrometheusMetrics.formatUnsafe(Context.add(context, Metric.MetricRegistry, view), { prefix })
}
