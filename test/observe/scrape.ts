/** What a scrape would find now. */
import { Context, Effect, Layer, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"

/** A registry of its own for one test. */
export const registry = () => Layer.succeed(Metric.MetricRegistry)(new Map())

export interface Found {
  readonly name: string
  readonly attributes: Readonly<Record<string, string>>
  readonly value: number
}

/** The series of a metric, without the unit: counts of histograms, values of the others. */
export const series = (name: string): Effect.Effect<ReadonlyArray<Found>> =>
  Effect.map(Metric.snapshot, (all) =>
    all
      .filter(({ id }) => id === name)
      .map(({ attributes = {}, state }) => {
        const { unit: _, ...own } = attributes
        const known = state as { readonly value?: number; readonly count?: number }
        return { name, attributes: own, value: Number(known.value ?? known.count) }
      })
  )

/** The values of a metric by the texts of their attributes. */
export const values = (name: string): Effect.Effect<Readonly<Record<string, number>>> =>
  Effect.map(series(name), (all) =>
    Object.fromEntries(all.map(({ attributes, value }) => [Object.values(attributes).join(" "), value]))
  )

/** Everything in the registry as the text that Prometheus reads. */
export const text: Effect.Effect<string> = Effect.map(Effect.context<never>(), (context) =>
  PrometheusMetrics.formatUnsafe(Context.merge(context, Context.empty()))
)
