/**
 * Effect's exporters, between guards: what they make goes into outboxes, and what they throw goes nowhere.
 *
 * Left to themselves, they wait for the network, are silent for a minute after a failure, open a connection for each batch
 * that hangs, and let what cannot be encoded fall on whoever ends a span.
 *
 * @since 0.1.0
 */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpLogger from "effect/observability/OtlpLogger"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import { layerJson, layerProtobuf, OtlpSerialization } from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import { dropped, type Signal } from "./drops.ts"
import * as Guard from "./guard.ts"
import { send } from "./otlpClient.ts"
import type { Settings, SignalSettings } from "./otlpSettings.ts"
import { signals } from "./otlpSettings.ts"
import * as Shim from "./otlpShim.ts"
import { Outbox } from "./outbox.ts"
import { prompting } from "./prompting.ts"
import * as RegistryView from "./registryView.ts"

/** How many items are in a body that an exporter has made. */
type Weights = WeakMap<HttpBody.HttpBody, number>

const guarded = (
  inner: OtlpSerialization["Service"],
  weights: Weights,
  context: Context.Context<never>
): OtlpSerialization["Service"] => {
  const body =
    <A>(signal: Signal, shim: (data: A) => Shim.Shimmed<A>, encode: (data: A) => HttpBody.HttpBody) =>
    (data: A): HttpBody.HttpBody => {
      let lost = 1
      try {
        const { data: right, items, without } = shim(data)
        dropped(signal, "unencodable", context, without)
        if (items === 0) return HttpBody.empty
        lost = items
        const made = encode(right)
        weights.set(made, items)
        return made
      } catch {
        dropped(signal, "unencodable", context, lost)
        return HttpBody.empty
      }
    }
  return {
    traces: body("traces", Shim.traces, (data) => inner.traces(data)),
    metrics: body("metrics", Shim.metrics, (data) => inner.metrics(data)),
    logs: body("logs", Shim.logs, (data) => inner.logs(data))
  }
}

/** Takes what an exporter sends, and says at once that it has arrived. */
const taking = (take: (request: HttpClientRequest.HttpClientRequest) => void): HttpClient.HttpClient =>
  HttpClient.makeWith<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    (request) =>
      Effect.map(request, (made) => {
        take(made)
        return HttpClientResponse.fromWeb(made, new Response(null, { status: 202 }))
      }),
    Effect.succeed
  )

const make = (settings: Settings) =>
  Effect.gen(function* () {
    const context = Context.omit(Scope.Scope)(yield* Effect.context<HttpClient.HttpClient | Scope.Scope>())
    const client = Context.get(context, HttpClient.HttpClient)
    const weights: Weights = new WeakMap()
    const lost = (signal: Signal) => () => dropped(signal, "unencodable", context, 1)
    const outboxes: Array<{ readonly outbox: Outbox; readonly close: Effect.Effect<void> }> = []
    const settled = new Map<Signal, Effect.Effect<void>>()
    // This comes after what the exporters do at the end.
    yield* Effect.addFinalizer(() =>
      Effect.forEach(outboxes, ({ close }) => close, { concurrency: "unbounded", discard: true })
    )

    const clientOf = (signal: Signal, { address, headers, timeout }: SignalSettings) =>
      Effect.gen(function* () {
        const made = yield* Outbox.make({
          ...settings,
          signal,
          timeout,
          keep: signal === "metrics" && settings.temporality === "cumulative" ? "latest" : "all"
        })
        outboxes.push(made)
        settled.set(signal, made.outbox.settled)
        const destination = { address, headers, compression: settings.compression }
        return taking((request) => {
          const items = weights.get(request.body)
          if (items === undefined) return
          const bytes = request.body._tag === "Uint8Array" ? request.body.contentLength : 0
          made.outbox.offerUnsafe({ items, bytes, send: send(client, destination, request) })
        })
      }).pipe(Effect.uninterruptible)

    const common = { url: "/", resource: settings.resource, maxBatchSize: settings.maxBatch } as const
    const layers = {
      traces: (interval: SignalSettings["interval"]) =>
        Layer.effect(
          Tracer.Tracer,
          Effect.gen(function* () {
            const flusher = yield* OtlpExporter.Flusher
            let hand: Effect.Effect<void> = Effect.void
            const register = (run: Effect.Effect<void>) => {
              hand = run
              return flusher.register(run)
            }
            const tracer = yield* OtlpTracer.make({ ...common, exportInterval: interval }).pipe(
              Effect.provideService(OtlpExporter.Flusher, { ...flusher, register })
            )
            // What is handed over while others wait would be so many more requests.
            const waited = Effect.suspend(() => settled.get("traces") ?? Effect.void)
            return Guard.tracer(yield* prompting(tracer, Effect.andThen(waited, hand)), ["end"], lost("traces"))
          })
        ),
      logs: (interval: SignalSettings["interval"]) => {
        const { excludeLogSpans } = settings
        const logger = OtlpLogger.make({ ...common, exportInterval: interval, excludeLogSpans })
        return Logger.layer([Effect.map(logger, (inner) => Guard.logger(inner, lost("logs")))], {
          mergeWithExisting: true
        })
      },
      metrics: (interval: SignalSettings["interval"]) => {
        const view = RegistryView.make(
          context,
          (reading) => reading,
          (count) => dropped("metrics", "unencodable", context, count)
        )
        return OtlpMetrics.make({ ...common, exportInterval: interval, temporality: settings.temporality }).pipe(
          Effect.provideService(Metric.MetricRegistry, view),
          Layer.effectDiscard
        )
      }
    }

    const inner = Context.get(
      yield* Layer.build(settings.protocol === "http/json" ? layerJson : layerProtobuf),
      OtlpSerialization
    )
    let all: Layer.Layer<never, never, OtlpExporter.Flusher> = Layer.empty
    for (const signal of signals) {
      const own = settings.signals[signal]
      if (own === undefined) continue
      const services = Layer.mergeAll(
        Layer.succeed(HttpClient.HttpClient, yield* clientOf(signal, own)),
        Layer.succeed(OtlpSerialization, guarded(inner, weights, context)),
        // The exporters would die of a variable that cannot be read.
        Layer.succeed(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
      )
      all = Layer.mergeAll(all, Layer.provide(layers[signal](own.interval), services))
    }

    const flusher = Layer.effect(
      OtlpExporter.Flusher,
      Effect.map(OtlpExporter.Flusher, (handing) => ({
        ...handing,
        flush: Effect.andThen(
          handing.flush,
          Effect.forEach(outboxes, ({ outbox }) => outbox.settled, { concurrency: "unbounded", discard: true })
        )
      }))
    )
    return Layer.provide(Layer.mergeAll(all, flusher), OtlpExporter.layerFlusher)
  })

/** @since 0.1.0 */
export const exporting = (settings: Settings): Layer.Layer<OtlpExporter.Flusher, never, HttpClient.HttpClient> =>
  Layer.unwrap(make(settings))
