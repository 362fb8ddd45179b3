/**
 * All that is told of runs, in one layer: traces, metrics and logs, by one profile of names.
 *
 * | part | what it tells |
 * |---|---|
 * | {@link Tracing} | runs, as spans |
 * | {@link EspalierTracer} | calls of models, as spans of the conventions and without content |
 * | {@link Metrics} | what is counted and measured |
 * | {@link Logs} | facts for people on call |
 *
 * **When to use**
 *
 * For all of it. Whoever wants a part takes the layer of that part; they may be merged side by side.
 *
 * **Gotchas**
 *
 * - It tells of runs to the tracer and the loggers around each of them: those of {@link Otlp}, of `@effect/opentelemetry` (inside
 *   `Bulkhead.around`), or any other. Whether it is provided over them or beside them is the same.
 * - Metrics are in the registry around this layer, and calls of models outside of runs are told to the tracer around it: for these,
 *   provide it over their layers.
 *
 * **Example** (A run that is told to a tracer, with metrics)
 *
 * ```ts
 * import { Effect, Layer, Metric, Schema, Tracer } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Telemetry } from "espalier/observe"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Int,
 *   handle: ({ input }) => Effect.succeed(input.text.split(" ").length)
 * })
 * const desk = Desk.make("counting", {
 *   version: "1",
 *   input: Schema.Struct({ text: Schema.String }),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([
 *     { id: "count", worker: "words.count", objective: "Count", input: (_, { text }: { text: string }) => ({ text }) }
 *   ])
 * })
 *
 * const names: Array<string> = []
 * const tracer = Tracer.make({
 *   span: (options) => {
 *     names.push(options.name)
 *     return new Tracer.NativeSpan(options)
 *   }
 * })
 * const telemetry = Telemetry.layer({ logs: { level: "Warn" } }).pipe(
 *   Layer.provideMerge(Layer.succeed(Tracer.Tracer, tracer))
 * )
 * const program = Effect.andThen(
 *   Run.start(desk, { id: "r1", input: { text: "to be" } }),
 *   Effect.map(Metric.snapshot, (all) => all.filter(({ id }) => id === "espalier.task.results").length)
 * )
 * const counted = await Effect.runPromise(Effect.provide(program, [telemetry, Journal.layerMemory]))
 * counted // => 1
 * names.at(-1) // => "invoke_agent words.count"
 * ```
 *
 * @since 0.1.0
 */
import type * as AiTelemetry from "effect/ai/Telemetry"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"

import { tellWarning } from "../internal/telling.ts"
import { Given } from "../run/internal/given.ts"
import * as EspalierTracer from "./EspalierTracer.ts"
import { namesService, sampledShare, sentSignals } from "./internal/otlpEnvironment.ts"
import { variable } from "./internal/variable.ts"
import * as Logs from "./Logs.ts"
import * as Metrics from "./Metrics.ts"
import * as Otlp from "./Otlp.ts"
import * as Prometheus from "./Prometheus.ts"
import type { Profile } from "./SemConv.ts"
import * as Tracing from "./Tracing.ts"

/**
 * How runs are told.
 *
 * **Details**
 *
 * - `profile`: by the names of which version, in all parts. Default `genai-0.1`.
 * - `traces`, `models`, `metrics`, `logs`: the options of each part. Default: those of that part.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly profile?: Profile | undefined
  readonly traces?: Omit<Tracing.Options, "profile"> | undefined
  readonly models?: Omit<EspalierTracer.Options, "profile"> | undefined
  readonly metrics?: Omit<Metrics.Options, "profile"> | undefined
  readonly logs?: Logs.Options | undefined
}

/**
 * Traces, metrics and logs of all runs around which it is.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` that names the option when a value does not hold, or when there is no such option.
 * - Fails with a `ConfigError` when `ESPALIER_CAPTURE_CONTENT` is none of the levels of content.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options = {}
): Layer.Layer<Metrics.Metrics | AiTelemetry.CurrentSpanTransformer, Config.ConfigError> => {
  const { logs, metrics, traces } = partsOf("Telemetry.layer", options)
  return Layer.mergeAll(traces, metrics, logs)
}

const partsOf = (where: string, options: Options) => {
  new Given(where).record("options", options, ["profile", "traces", "models", "metrics", "logs"])
  const { logs, metrics, models, profile, traces } = options
  return {
    traces: Layer.mergeAll(Tracing.layer({ ...traces, profile }), EspalierTracer.layer({ ...models, profile })),
    metrics: Metrics.layer({ ...metrics, profile }),
    logs: Logs.layer(logs)
  }
}

/** Where metrics are offered, if anybody asked for that. */
const metricsPort = variable("ESPALIER_METRICS_PORT", Config.Int)

/**
 * What the environment asks for, and nothing where it asks for nothing: then no run is observed.
 *
 * **Details**
 *
 * - Traces, metrics and logs that `OTEL_EXPORTER_OTLP_ENDPOINT` and its like have sent somewhere, see `Otlp.layerConfig`.
 * - `ESPALIER_METRICS_PORT`: at `http://127.0.0.1:PORT/metrics` metrics are offered, 0 to 65535; 0 is any that is free, which is logged.
 *   An empty value is one that is not set.
 * - `OTEL_TRACES_SAMPLER` says of how many runs there are traces: `always_on`, `always_off`, `traceidratio` with the share in
 *   `OTEL_TRACES_SAMPLER_ARG`, and those with `parentbased_` before them, which is the same: a run begins its own traces.
 * - `options`: as of {@link layer}, of what is asked for; what they say comes before the environment. `offers`: whether the port is
 *   looked at. Default true. `serviceName`: where the environment has none.
 *
 * **When to use**
 *
 * For a program whose users say by its environment whether they want to see it. The command `espalier` does so.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` that names the option when a value does not hold, or when there is no such option.
 * - Fails with a `ConfigError` when a variable cannot be read. A port that cannot be had is a warning in the log, and nothing else.
 * - Needs Node and `fetch`.
 *
 * **Example** (A program that nobody wants to see)
 *
 * ```ts
 * import { ConfigProvider, Effect } from "effect"
 * import { Telemetry } from "espalier/observe"
 * import { Observer } from "espalier/run"
 *
 * const environment = ConfigProvider.layer(ConfigProvider.fromUnknown({}))
 * const observers = Observer.all.pipe(Effect.provide(Telemetry.layerConfig()), Effect.provide(environment))
 * await Effect.runPromise(observers) // => []
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Options & { readonly offers?: boolean | undefined; readonly serviceName?: string | undefined } = {}
): Layer.Layer<never, Config.ConfigError> => {
  const { offers = true, serviceName, ...own } = options
  const given = new Given("Telemetry.layerConfig")
  if (serviceName !== undefined) given.made("serviceName", "a name", isName(serviceName), serviceName)
  if (typeof offers !== "boolean") given.refuse("offers", "true or false", offers)
  partsOf("Telemetry.layerConfig", own)
  return Layer.unwrap(
    Effect.gen(function* () {
      const sent = yield* sentSignals
      const port = offers ? yield* metricsPort : undefined
      if (sent.size === 0 && port === undefined) return Layer.empty
      if (port !== undefined && !(port >= 0 && port <= 65_535)) {
        const message = `ESPALIER_METRICS_PORT must be a whole number from 0 to 65535, got ${port}`
        return yield* Effect.fail(new Config.ConfigError(new ConfigProvider.SourceError({ message })))
      }
      const ratio = yield* sampledShare
      const traces = {
        ...own.traces,
        ...(ratio === undefined || own.traces?.sampled !== undefined ? {} : { sampled: ratio })
      }
      const parts = partsOf("Telemetry.layerConfig", { ...own, traces })
      let told: Layer.Layer<never, Config.ConfigError> = Layer.empty
      if (sent.has("traces")) told = Layer.merge(told, parts.traces)
      if (sent.has("metrics") || port !== undefined) told = Layer.merge(told, parts.metrics)
      if (sent.has("logs")) told = Layer.merge(told, parts.logs)
      if (port !== undefined) told = Layer.merge(told, offered(port))
      const named = serviceName === undefined || (yield* namesService) ? {} : { resource: { serviceName } }
      return told.pipe(Layer.provideMerge(Otlp.layerConfig(named)), Layer.provide(FetchHttpClient.layer))
    })
  )
}

const isName = (value: unknown): boolean => typeof value === "string" && value.trim() !== ""

/** Whoever has the port already may be another run that is seen: this one goes on without it. */
const offered = (port: number): Layer.Layer<never> =>
  Layer.effectDiscard(
    Prometheus.serve({ port }).pipe(
      Effect.flatMap(({ url }) => (port === 0 ? Effect.logInfo(`Metrics are offered at ${url}`) : Effect.void)),
      Effect.catchTag("PrometheusUnavailable", ({ message }) => tellWarning(`No metrics are offered: ${message}`))
    )
  )
