/**
 * What an exporter is told, checked, with what is left out filled in.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"

import { Given, isRecord } from "../../run/internal/given.ts"
import type { Options, SignalOptions } from "../Otlp.ts"
import type { Signal } from "./drops.ts"

/** @since 0.1.0 */
export interface SignalSettings {
  readonly address: Redacted.Redacted
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly interval: Duration.Duration
  readonly timeout: Duration.Duration
}

/** @since 0.1.0 */
export interface Settings {
  readonly signals: Readonly<Partial<Record<Signal, SignalSettings>>>
  readonly resource: { readonly serviceName: string; readonly attributes: Record<string, unknown> }
  readonly protocol: "http/json" | "http/protobuf"
  readonly compression: "gzip" | "none"
  readonly temporality: "cumulative" | "delta"
  readonly excludeLogSpans: boolean
  readonly maxBatch: number
  readonly maxQueue: number
  readonly maxBytes: number
  readonly overflow: "drop-old" | "drop-new"
  readonly attempts: number
  readonly shutdownTimeout: Duration.Duration
}

/** @since 0.1.0 */
export const signals: ReadonlyArray<Signal> = ["traces", "metrics", "logs"]

const intervals: Readonly<Record<Signal, Duration.Input>> = {
  traces: "5 seconds",
  metrics: "10 seconds",
  logs: "1 second"
}

const fields = [
  "endpoint",
  "headers",
  "resource",
  "signals",
  "protocol",
  "compression",
  "temporality",
  "excludeLogSpans",
  "maxBatch",
  "maxQueue",
  "maxBytes",
  "overflow",
  "timeout",
  "attempts",
  "shutdownTimeout"
]

/** Addresses and headers are never shown: they may be keys. */
const addressOf = (where: string, name: string, given: unknown): URL => {
  const refuse = (got: string): never => {
    throw new RangeError(`${where}: ${name} must be an http or https address without credentials, got ${got}`)
  }
  const text = Redacted.isRedacted(given) ? Redacted.value(given) : given
  if (typeof text !== "string") return refuse(text === undefined ? "nothing" : `a ${typeof text}`)
  if (!URL.canParse(text)) return refuse("a text that is no address")
  const url = new URL(text)
  if (url.protocol !== "http:" && url.protocol !== "https:") return refuse("another scheme")
  return url.username === "" && url.password === "" ? url : refuse("one with credentials")
}

const below = (base: URL, signal: Signal): URL => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/v1/${signal}`
  return url
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const printable = /^[\t\x20-\x7e\x80-\xff]*$/

const headersOf = (where: string, name: string, given: unknown): Readonly<Record<string, Redacted.Redacted>> => {
  const headers: Record<string, Redacted.Redacted> = {}
  if (given !== undefined && !isRecord(given))
    throw new RangeError(`${where}: ${name} must be an object, got another value`)
  for (const [key, value] of Object.entries(given ?? {})) {
    if (!token.test(key))
      throw new RangeError(`${where}: each name in ${name} must be one of a header, got another text`)
    const text = Redacted.isRedacted(value) ? Redacted.value(value) : value
    if (typeof text !== "string" || !printable.test(text)) {
      throw new RangeError(`${where}: ${name}.${key} must be a text on one line, got something else`)
    }
    headers[key.toLowerCase()] = Redacted.make(text)
  }
  return headers
}

const isPlain = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)

const resourceOf = (given: Given, resource: unknown): Settings["resource"] => {
  const { attributes, serviceName, serviceVersion } = given.record("resource", resource ?? {}, [
    "serviceName",
    "serviceVersion",
    "attributes"
  ])
  if (serviceName !== undefined) given.text("resource.serviceName", serviceName)
  if (serviceVersion !== undefined) given.text("resource.serviceVersion", serviceVersion)
  const { "service.name": name, ...rest } = given.record("resource.attributes", attributes ?? {})
  for (const [key, value] of Object.entries(rest)) {
    const holds = isPlain(value) || (Array.isArray(value) && value.every(isPlain))
    given.made(`resource.attributes.${key}`, "a text, a number, true, false or a list of those", holds, typeof value)
  }
  const found = serviceName ?? name
  return {
    // The name that OpenTelemetry has for it.
    serviceName: typeof found === "string" && found !== "" ? found : "unknown_service",
    attributes: { ...rest, ...(serviceVersion !== undefined && { "service.version": serviceVersion }) }
  }
}

/** @since 0.1.0 */
export const settingsOf = (where: string, options: Options): Settings => {
  const given = new Given(where)
  given.record("options", options, fields)
  const chosen = given.record("signals", options.signals ?? {}, signals)
  const found: Partial<Record<Signal, SignalSettings>> = {}
  for (const signal of signals) {
    const path = `signals.${signal}`
    const each = chosen[signal] ?? true
    if (each === false) continue
    if (each !== true && !isRecord(each)) given.refuse(path, "true, false or an object", typeof each)
    const own: SignalOptions = each === true ? {} : (each as SignalOptions)
    given.record(path, own, ["endpoint", "headers", "interval", "timeout"])
    const address =
      own.endpoint === undefined
        ? below(addressOf(where, "endpoint", options.endpoint), signal)
        : addressOf(where, `${path}.endpoint`, own.endpoint)
    found[signal] = {
      address: Redacted.make(address.href),
      headers:
        own.headers === undefined
          ? headersOf(where, "headers", options.headers)
          : headersOf(where, `${path}.headers`, own.headers),
      interval: given.duration(`${path}.interval`, own.interval ?? intervals[signal], "more"),
      timeout: given.duration(`${path}.timeout`, own.timeout ?? options.timeout ?? "10 seconds", "more")
    }
  }
  const { compression = "none", overflow = "drop-old", protocol = "http/json", temporality = "cumulative" } = options
  given.oneOf("protocol", protocol, ["http/json", "http/protobuf"])
  given.oneOf("compression", compression, ["gzip", "none"])
  given.oneOf("temporality", temporality, ["cumulative", "delta"])
  given.oneOf("overflow", overflow, ["drop-old", "drop-new"])
  const excludeLogSpans = options.excludeLogSpans ?? false
  given.flag("excludeLogSpans", excludeLogSpans)
  const maxBatch = given.whole("maxBatch", options.maxBatch ?? Math.min(512, options.maxQueue ?? 512), 1)
  return {
    signals: found,
    resource: resourceOf(given, options.resource),
    protocol,
    compression,
    temporality,
    excludeLogSpans,
    maxBatch,
    maxQueue: given.whole("maxQueue", options.maxQueue ?? Math.max(2_048, maxBatch), maxBatch),
    maxBytes: given.whole("maxBytes", options.maxBytes ?? 16_777_216, 1),
    overflow,
    attempts: given.whole("attempts", options.attempts ?? 5, 1),
    shutdownTimeout: given.duration("shutdownTimeout", options.shutdownTimeout ?? "3 seconds", "zero")
  }
}
