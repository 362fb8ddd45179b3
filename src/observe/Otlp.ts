/**
 * Traces, metrics and logs on their way to a collector, by OTLP over HTTP, so that nothing about the way can be felt.
 *
 * Effect's exporters make what is sent. This module owns what lies between them and the network: what may wait and for how
 * long, what is tried again, what is dropped, and that a program ends in time.
 *
 * **Details**
 *
 * - Whatever a collector does, the program has the same result at the same time: it hands over, and goes on.
 * - What is handed over waits in a queue of its signal. One request is on its way at a time, and is given up after `timeout`.
 * - Answers of 429, 502, 503 and 504, no answer and no connection are tried again: after what `retry-after` says, at most a
 *   minute, else after 1 s, 2 s, 4 s and so on. Everything else is dropped at once, as the specification of OTLP has it.
 * - What is dropped is counted in `espalier.telemetry.dropped`, by `espalier.telemetry.signal` (`traces`, `metrics`, `logs`)
 *   and `espalier.telemetry.reason`: `queue_full`, `rejected`, `unreachable`, `shutdown`, `unencodable`.
 * - That nothing gets through is logged once, and that it does again; by the loggers below this layer, so never over OTLP.
 * - A metric that cannot be read, or has the name of another of a different type, is left out; the others are sent.
 *
 * **Invariants**
 *
 * - E1. Ending a span and writing a log neither throw nor wait.
 * - E2. For each signal, at most `maxQueue` items wait to be sent, and at most `maxBatch` to be handed over.
 * - E3. The layer closes within `shutdownTimeout`.
 * - E4. Addresses and headers are in no log, span or metric.
 *
 * **Gotchas**
 *
 * - A span is sent when it has ended, with others, after the `interval` of its signal. What is open when the process is killed is lost,
 *   and so is what has ended since spans were sent last. The anchor of a segment is sent at once, at most every 100 milliseconds. One
 *   that is not sampled is not sent.
 * - Metrics are totals: a newer snapshot takes the place of one that waits, and nothing is missed. With `temporality: "delta"`
 *   what is dropped is missing from the sums.
 * - Programs with the SDK of OpenTelemetry have no need of this layer: `NodeSdk` of `@effect/opentelemetry` gives its tracer,
 *   meters and loggers to Effect. What waits there and what is dropped is up to the SDK, so take a `BatchSpanProcessor`. An
 *   exporter that throws would end the program, also at its end: `Bulkhead` is against that.
 *
 * ```ts no-run
 * import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
 * import { BatchSpanProcessor, InMemorySpanExporter } from "@opentelemetry/sdk-trace-base"
 * import { Bulkhead } from "espalier/observe"
 *
 * // In place of the exporter in memory: the one for your collector.
 * const sdk = NodeSdk.layer(() => ({
 *   resource: { serviceName: "order-desk" },
 *   spanProcessor: new BatchSpanProcessor(new InMemorySpanExporter()),
 *   shutdownTimeout: "3 seconds"
 * }))
 * const telemetry = Bulkhead.around(sdk)
 * ```
 *
 * **Example** (A collector that is not there)
 *
 * ```ts
 * import { Effect, Layer, Logger } from "effect"
 * import { HttpClient, HttpClientError } from "effect/http"
 * import { Otlp } from "espalier/observe"
 *
 * const nobody = HttpClient.make((request) =>
 *   Effect.fail(new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request }) }))
 * )
 * const told: Array<unknown> = []
 * const telemetry = Otlp.layer({
 *   endpoint: "http://localhost:4318",
 *   resource: { serviceName: "order-desk" },
 *   signals: { metrics: false, logs: false }
 * }).pipe(
 *   Layer.provide(Layer.succeed(HttpClient.HttpClient, nobody)),
 *   Layer.provide(Logger.layer([Logger.make(({ message }) => void told.push(message))]))
 * )
 *
 * const order = Effect.succeed("packed").pipe(Effect.withSpan("order"))
 * await Effect.runPromise(Effect.provide(order, telemetry)) // => "packed"
 * told.length // => 1
 * ```
 *
 * @see https://opentelemetry.io/docs/specs/otlp/
 * @since 0.1.0
 */
import type * as Config from "effect/Config"
import type * as Duration from "effect/Duration"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as OtlpExporter from "effect/observability/OtlpExporter"
import type * as Redacted from "effect/Redacted"

import { fromEnvironment } from "./internal/otlpEnvironment.ts"
import { exporting } from "./internal/otlpExporting.ts"
import { settingsOf } from "./internal/otlpSettings.ts"

/**
 * What is sent with each request, such as a key. Values are never shown.
 *
 * @category options
 * @since 0.1.0
 */
export type Headers = Readonly<Record<string, string | Redacted.Redacted>>

/**
 * What holds for one signal, where it differs from the others.
 *
 * **Details**
 *
 * - `endpoint`: the whole address; nothing is appended to it.
 * - `headers`: in place of those of all signals.
 * - `interval`: how often what there is is handed over, > 0. Default 5 s for traces, 10 s for metrics, 1 s for logs.
 * - `timeout`: of one request, > 0.
 *
 * @category options
 * @since 0.1.0
 */
export interface SignalOptions {
  readonly endpoint?: string | Redacted.Redacted | undefined
  readonly headers?: Headers | undefined
  readonly interval?: Duration.Input | undefined
  readonly timeout?: Duration.Input | undefined
}

/**
 * Where telemetry goes, and what it may cost.
 *
 * **Details**
 *
 * - `endpoint`: of the collector, `http` or `https`, without credentials; signals go to `/v1/traces`, `/v1/metrics` and `/v1/logs`
 *   below it. It may be left out where each signal has its own.
 * - `headers`: with each request. Default none.
 * - `resource`: what sends. Attributes are texts, numbers, booleans and lists of those. Its `serviceName` is `unknown_service` by default, as OpenTelemetry has it.
 * - `signals`: which there are, and how they differ. Default all; `false` = not this one.
 * - `protocol`: `"http/json"` (default) or `"http/protobuf"`. `compression`: `"none"` (default) or `"gzip"`, for bodies over 1 KB.
 * - `temporality`: of metrics, `"cumulative"` (default) or `"delta"`.
 * - `excludeLogSpans`: leaves the durations of log spans out of log records. Default `false`.
 * - `maxBatch`: items in a request, a whole number >= 1. Default 512, as of OpenTelemetry's batch processor.
 * - `maxQueue`: items of a signal that may wait, >= `maxBatch`. Default 2048, as there. `maxBytes`: how large they may be together,
 *   >= 1. Default 16 MiB.
 * - `overflow`: what goes when more comes: `"drop-old"` (default: what has just happened is what somebody will look for) or
 *   `"drop-new"`.
 * - `timeout`: of one request, > 0. Default 10 s, as of OpenTelemetry's exporters.
 * - `attempts`: for a batch, a whole number >= 1. Default 5.
 * - `shutdownTimeout`: how long the end of the program waits for what is on its way, >= 0. Default 3 s.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly endpoint?: string | Redacted.Redacted | undefined
  readonly headers?: Headers | undefined
  readonly resource?:
    | {
        readonly serviceName?: string | undefined
        readonly serviceVersion?: string | undefined
        readonly attributes?: Readonly<Record<string, unknown>> | undefined
      }
    | undefined
  readonly signals?:
    | {
        readonly traces?: boolean | SignalOptions | undefined
        readonly metrics?: boolean | SignalOptions | undefined
        readonly logs?: boolean | SignalOptions | undefined
      }
    | undefined
  readonly protocol?: "http/json" | "http/protobuf" | undefined
  readonly compression?: "gzip" | "none" | undefined
  readonly temporality?: "cumulative" | "delta" | undefined
  readonly excludeLogSpans?: boolean | undefined
  readonly maxBatch?: number | undefined
  readonly maxQueue?: number | undefined
  readonly maxBytes?: number | undefined
  readonly overflow?: "drop-old" | "drop-new" | undefined
  readonly timeout?: Duration.Input | undefined
  readonly attempts?: number | undefined
  readonly shutdownTimeout?: Duration.Input | undefined
}

/**
 * Sends what happens above this layer: its spans, its logs (to the loggers that are there, too) and its metrics.
 *
 * **Details**
 *
 * - The `Flusher` hands over what there is, and waits until it is sent or dropped. It has no time-out of its own.
 * - Nothing is read from the environment; {@link layerConfig} does that.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for an option that is out of range, without showing an address or a header.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<OtlpExporter.Flusher, never, HttpClient.HttpClient> =>
  exporting(settingsOf("Otlp.layer", options))

/**
 * Sends what happens above this layer, as the environment has it, by the names of OpenTelemetry.
 *
 * **Details**
 *
 * - `OTEL_EXPORTER_OTLP_ENDPOINT`, `_HEADERS`, `_TIMEOUT` (milliseconds), `_PROTOCOL` and `_COMPRESSION`; the first three also for a
 *   signal, such as `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, which is a whole address.
 * - `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` and `OTEL_LOGS_EXPORTER`: `otlp` (default) or `none`.
 * - `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 * - `OTEL_BSP_SCHEDULE_DELAY`, `OTEL_BLRP_SCHEDULE_DELAY` and `OTEL_METRIC_EXPORT_INTERVAL` (milliseconds), `OTEL_BSP_MAX_QUEUE_SIZE`,
 *   `OTEL_BSP_MAX_EXPORT_BATCH_SIZE`, and `OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE`.
 * - `OTEL_SDK_DISABLED=true`: nothing is sent. So it is where no endpoint is named: a library tries no address by itself.
 * - An empty value is one that is not set. What `options` say wins, except over `OTEL_SDK_DISABLED`.
 *
 * **Gotchas**
 *
 * Fails with a `ConfigError` for a value that cannot be read, and dies with a `RangeError` for one that is out of range.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerConfig = (
  options: Options = {}
): Layer.Layer<OtlpExporter.Flusher, Config.ConfigError, HttpClient.HttpClient> =>
  Layer.unwrap(fromEnvironment("Otlp.layerConfig", options))
