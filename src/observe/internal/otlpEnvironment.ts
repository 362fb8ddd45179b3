/**
 * What the environment says about OTLP, by the names of OpenTelemetry.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import type * as HttpClient from "effect/http/HttpClient"
import type * as Layer from "effect/Layer"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as Result from "effect/Result"

import type { Options, SignalOptions } from "../Otlp.ts"
import type { Signal } from "./drops.ts"
import { exporting } from "./otlpExporting.ts"
import { settingsOf, signals } from "./otlpSettings.ts"
import { variable } from "./variable.ts"

type Read<A> = Effect.Effect<A, Config.ConfigError>

const refuse = (message: string): Read<never> =>
  Effect.fail(new Config.ConfigError(new ConfigProvider.SourceError({ message })))

const millis = (name: string) => variable(name, Config.Int)

/** A list of names and values, as of W3C baggage. What it says is never shown. */
const list = (name: string): Read<Record<string, string> | undefined> =>
  Effect.gen(function* () {
    const text = yield* variable(name, Config.String)
    if (text === undefined) return undefined
    const found: Record<string, string> = {}
    for (const entry of text.split(",").filter((each) => each.trim() !== "")) {
      const at = entry.indexOf("=")
      const pair = Result.try(
        () => [entry.slice(0, at).trim(), decodeURIComponent(entry.slice(at + 1).trim())] as const
      )
      if (at < 1 || Result.isFailure(pair))
        return yield* refuse(`${name} must be a list of name=value, percent-encoded`)
      found[pair.success[0]] = pair.success[1]
    }
    return found
  })

const delays: Readonly<Record<Signal, string>> = {
  traces: "OTEL_BSP_SCHEDULE_DELAY",
  metrics: "OTEL_METRIC_EXPORT_INTERVAL",
  logs: "OTEL_BLRP_SCHEDULE_DELAY"
}

/** What holds for a signal: what the code says of it, what the code says of all, and the same of the environment. */
const signalOf = (signal: Signal, options: Options): Read<false | SignalOptions> =>
  Effect.gen(function* () {
    const chosen = options.signals?.[signal]
    if (chosen === false) return false
    const own: SignalOptions = typeof chosen === "object" ? chosen : {}
    const name = signal.toUpperCase()
    const exporters = yield* variable(`OTEL_${name}_EXPORTER`, Config.String)
    const named = (exporters ?? "otlp").split(",").map((each) => each.trim().toLowerCase())
    if (chosen === undefined && !named.includes("otlp")) return false
    const prefix = `OTEL_EXPORTER_OTLP_${name}`
    const given = own.endpoint ?? options.endpoint
    const endpoint = given === undefined ? yield* variable(`${prefix}_ENDPOINT`, Config.String) : own.endpoint
    if (given === undefined && endpoint === undefined) {
      const base = yield* variable("OTEL_EXPORTER_OTLP_ENDPOINT", Config.String)
      if (base === undefined) return false
    }
    return {
      ...own,
      endpoint,
      headers: own.headers ?? options.headers ?? (yield* list(`${prefix}_HEADERS`)),
      interval: own.interval ?? (yield* millis(delays[signal])),
      timeout: own.timeout ?? options.timeout ?? (yield* millis(`${prefix}_TIMEOUT`))
    }
  })

/** What there is no exporter for is named as such: it may be there for other programs. */
const protocolOf = (name: string): Read<"http/json" | "http/protobuf" | undefined> =>
  Effect.gen(function* () {
    const text = (yield* variable(name, Config.String))?.trim()
    if (text === undefined || text === "http/json" || text === "http/protobuf") return text
    return yield* refuse(`${name} must be http/json or http/protobuf, got ${text}: nothing here speaks gRPC`)
  })
const compressions = (name: string) => Config.Literals(["gzip", "none"], name)
const temporalities = (name: string) => Config.Literals(["cumulative", "delta"], name)

const merged = (options: Options): Read<Options> =>
  Effect.gen(function* () {
    const own = options.resource ?? {}
    const resource = (yield* list("OTEL_RESOURCE_ATTRIBUTES")) ?? {}
    return {
      ...options,
      endpoint: options.endpoint ?? (yield* variable("OTEL_EXPORTER_OTLP_ENDPOINT", Config.String)),
      headers: options.headers ?? (yield* list("OTEL_EXPORTER_OTLP_HEADERS")),
      timeout: options.timeout ?? (yield* millis("OTEL_EXPORTER_OTLP_TIMEOUT")),
      protocol: options.protocol ?? (yield* protocolOf("OTEL_EXPORTER_OTLP_PROTOCOL")),
      compression: options.compression ?? (yield* variable("OTEL_EXPORTER_OTLP_COMPRESSION", compressions)),
      temporality:
        options.temporality ?? (yield* variable("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", temporalities)),
      maxQueue: options.maxQueue ?? (yield* variable("OTEL_BSP_MAX_QUEUE_SIZE", Config.Int)),
      maxBatch: options.maxBatch ?? (yield* variable("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", Config.Int)),
      resource: {
        serviceName:
          own.serviceName ??
          (own.attributes?.["service.name"] === undefined
            ? yield* variable("OTEL_SERVICE_NAME", Config.String)
            : undefined),
        serviceVersion: own.serviceVersion,
        attributes: { ...resource, ...own.attributes }
      },
      signals: {
        traces: yield* signalOf("traces", options),
        metrics: yield* signalOf("metrics", options),
        logs: yield* signalOf("logs", options)
      }
    }
  })

const isDisabled = Effect.map(variable("OTEL_SDK_DISABLED", Config.Boolean), (disabled) => disabled === true)

/** Whether the environment says what the service is called. */
export const namesService: Read<boolean> = Effect.gen(function* () {
  if ((yield* variable("OTEL_SERVICE_NAME", Config.String)) !== undefined) return true
  return (yield* list("OTEL_RESOURCE_ATTRIBUTES"))?.["service.name"] !== undefined
})

const samplers = ["always_on", "always_off", "traceidratio"] as const

/** Of which share of all runs there are traces, where the environment says so. */
export const sampledShare: Read<number | undefined> = Effect.gen(function* () {
  const name = yield* variable("OTEL_TRACES_SAMPLER", Config.String)
  if (name === undefined) return undefined
  const sampler = samplers.find((known) => known === name.trim().replace(/^parentbased_/, ""))
  if (sampler === undefined) {
    return yield* refuse(`OTEL_TRACES_SAMPLER must be one of ${samplers.join(", ")}, also with parentbased_ before it`)
  }
  if (sampler !== "traceidratio") return sampler === "always_on" ? 1 : 0
  const share = (yield* variable("OTEL_TRACES_SAMPLER_ARG", Config.Finite)) ?? 1
  if (share >= 0 && share <= 1) return share
  return yield* refuse(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got ${share}`)
})

/** Which signals the environment has sent somewhere. */
export const sentSignals: Read<ReadonlySet<Signal>> = Effect.gen(function* () {
  const found = new Set<Signal>()
  if (yield* isDisabled) return found
  for (const signal of signals) if ((yield* signalOf(signal, {})) !== false) found.add(signal)
  return found
})

/** @since 0.1.0 */
export const fromEnvironment = (
  where: string,
  options: Options
): Effect.Effect<Layer.Layer<OtlpExporter.Flusher, never, HttpClient.HttpClient>, Config.ConfigError> => {
  // What the code says is looked at by itself: there, what does not hold is a mistake in the program.
  settingsOf(where, { ...options, endpoint: options.endpoint ?? "http://localhost" })
  return Effect.gen(function* () {
    if (yield* isDisabled) return OtlpExporter.layerFlusher
    const all = yield* merged(options)
    if (signals.every((signal) => all.signals?.[signal] === false)) return OtlpExporter.layerFlusher
    const settings = Result.try(() => settingsOf("OTEL_*", all))
    if (Result.isSuccess(settings)) return exporting(settings.success)
    return yield* refuse(settings.failure instanceof RangeError ? settings.failure.message : "OTEL_* cannot be read")
  })
}
