/**
 * What an exporter sends as OTLP/JSON, as plain values.
 *
 * Only what OTLP/JSON says is taken: an id that is no hex, a number that is no text of digits and a field that has another
 * type are errors here, as they are to a collector.
 */

export type Attributes = Readonly<Record<string, unknown>>

export interface ReceivedLink {
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Attributes
}

export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** `undefined`: it is a root. */
  readonly parentSpanId: string | undefined
  readonly name: string
  readonly kind: "internal" | "server" | "client" | "producer" | "consumer"
  readonly startNanos: bigint
  readonly endNanos: bigint
  readonly attributes: Attributes
  readonly events: ReadonlyArray<{ readonly name: string; readonly atNanos: bigint; readonly attributes: Attributes }>
  readonly links: ReadonlyArray<ReceivedLink>
  readonly status: { readonly code: "unset" | "ok" | "error"; readonly message?: string }
  readonly resource: Attributes
  readonly scope: string
}

/** One data point of a metric. */
export interface ReceivedPoint {
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly type: "sum" | "gauge" | "histogram" | "summary"
  /** Of a sum. */
  readonly monotonic: boolean | undefined
  /** Of a sum and a histogram. */
  readonly temporality: "delta" | "cumulative" | undefined
  readonly attributes: Attributes
  /** Of a sum and a gauge. */
  readonly value: number | undefined
  /** Of a histogram and a summary. */
  readonly count: number | undefined
  readonly sum: number | undefined
  /** Of a histogram: how many are up to each bound, not counting those up to the one before; the last has no bound. */
  readonly buckets: ReadonlyArray<readonly [bound: number, count: number]>
  readonly resource: Attributes
}

export interface ReceivedLog {
  readonly severity: string
  readonly severityNumber: number
  readonly body: unknown
  readonly eventName: string | undefined
  readonly attributes: Attributes
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly atNanos: bigint
  readonly resource: Attributes
}

type Json = Readonly<Record<string, unknown>>

const wrong = (what: string, got: unknown): never => {
  throw new Error(`OTLP: ${what}, got ${JSON.stringify(got)}`)
}

const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : wrong("an object", value)

const list = (value: unknown): ReadonlyArray<Json> =>
  value === undefined ? [] : Array.isArray(value) ? value.map(object) : wrong("a list", value)

const text = (value: unknown): string => (typeof value === "string" ? value : wrong("a text", value))

const hex = (value: unknown, length: number): string =>
  typeof value === "string" && new RegExp(`^[0-9a-f]{${length}}$`).test(value)
    ? value
    : wrong(`an id of ${length} hex digits`, value)

const nanos = (value: unknown): bigint => (/^\d+$/.test(String(value)) ? BigInt(String(value)) : wrong("a time", value))

const number = (value: unknown): number => {
  const got = typeof value === "string" ? Number(value) : value
  return typeof got === "number" ? got : wrong("a number", value)
}

const optional = (value: unknown): number | undefined => (value === undefined ? undefined : number(value))

const valueOf = (value: unknown): unknown => {
  const any = object(value)
  if ("stringValue" in any) return text(any["stringValue"])
  if ("boolValue" in any) return any["boolValue"]
  if ("intValue" in any) return number(any["intValue"])
  if ("doubleValue" in any) return number(any["doubleValue"])
  if ("arrayValue" in any) return list(object(any["arrayValue"])["values"]).map(valueOf)
  if ("kvlistValue" in any) return attributesOf(object(any["kvlistValue"])["values"])
  return wrong("a value", value)
}

const attributesOf = (value: unknown): Attributes => {
  const found: Record<string, unknown> = Object.create(null)
  for (const each of list(value)) {
    const key = text(each["key"])
    if (key in found) wrong("a key once", key)
    found[key] = valueOf(each["value"])
  }
  return { ...found }
}

const kinds = [undefined, "internal", "server", "client", "producer", "consumer"] as const
const codes = ["unset", "ok", "error"] as const

/** Spans out of the body of a request to `/v1/traces`. */
export const spansOf = (body: unknown): ReadonlyArray<ReceivedSpan> =>
  list(object(body)["resourceSpans"]).flatMap((each) =>
    list(each["scopeSpans"]).flatMap((scope) =>
      list(scope["spans"]).map((span): ReceivedSpan => {
        const status = object(span["status"] ?? {})
        return {
          traceId: hex(span["traceId"], 32),
          spanId: hex(span["spanId"], 16),
          parentSpanId: span["parentSpanId"] === undefined ? undefined : hex(span["parentSpanId"], 16),
          name: text(span["name"]),
          kind: kinds[number(span["kind"])] ?? wrong("a kind of span", span["kind"]),
          startNanos: nanos(span["startTimeUnixNano"]),
          endNanos: nanos(span["endTimeUnixNano"]),
          attributes: attributesOf(span["attributes"]),
          events: list(span["events"]).map((event) => ({
            name: text(event["name"]),
            atNanos: nanos(event["timeUnixNano"]),
            attributes: attributesOf(event["attributes"])
          })),
          links: list(span["links"]).map((link) => ({
            traceId: hex(link["traceId"], 32),
            spanId: hex(link["spanId"], 16),
            attributes: attributesOf(link["attributes"])
          })),
          status: {
            code: codes[number(status["code"] ?? 0)] ?? wrong("a status", status),
            ...(status["message"] !== undefined && { message: text(status["message"]) })
          },
          resource: attributesOf(object(each["resource"])["attributes"]),
          scope: text(object(scope["scope"])["name"])
        }
      })
    )
  )

const types = ["sum", "gauge", "histogram", "summary"] as const

/** Data points out of the body of a request to `/v1/metrics`. */
export const pointsOf = (body: unknown): ReadonlyArray<ReceivedPoint> =>
  list(object(body)["resourceMetrics"]).flatMap((each) =>
    list(each["scopeMetrics"]).flatMap((scope) =>
      list(scope["metrics"]).flatMap((metric) => {
        const type = types.find((name) => metric[name] !== undefined) ?? wrong("a metric", metric)
        const data = object(metric[type])
        return list(data["dataPoints"]).map((point): ReceivedPoint => {
          const bounds = [...((point["explicitBounds"] as Array<unknown>) ?? []).map(number), Infinity]
          const counts = ((point["bucketCounts"] as Array<unknown>) ?? []).map(number)
          const temporality = data["aggregationTemporality"]
          return {
            name: text(metric["name"]),
            unit: text(metric["unit"] ?? ""),
            description: text(metric["description"] ?? ""),
            type,
            monotonic: type === "sum" ? data["isMonotonic"] === true : undefined,
            temporality: temporality === 1 ? "delta" : temporality === 2 ? "cumulative" : undefined,
            attributes: attributesOf(point["attributes"]),
            value: optional(point["asInt"] ?? point["asDouble"]),
            count: optional(point["count"]),
            sum: optional(point["sum"]),
            buckets: counts.map((count, index) => [bounds[index] ?? Infinity, count] as const),
            resource: attributesOf(object(each["resource"])["attributes"])
          }
        })
      })
    )
  )

/** Log records out of the body of a request to `/v1/logs`. */
export const logsOf = (body: unknown): ReadonlyArray<ReceivedLog> =>
  list(object(body)["resourceLogs"]).flatMap((each) =>
    list(each["scopeLogs"]).flatMap((scope) =>
      list(scope["logRecords"]).map((record): ReceivedLog => ({
        severity: text(record["severityText"] ?? ""),
        severityNumber: number(record["severityNumber"] ?? 0),
        body: record["body"] === undefined ? undefined : valueOf(record["body"]),
        eventName: record["eventName"] === undefined ? undefined : text(record["eventName"]),
        attributes: attributesOf(record["attributes"]),
        traceId: record["traceId"] === undefined ? undefined : hex(record["traceId"], 32),
        spanId: record["spanId"] === undefined ? undefined : hex(record["spanId"], 16),
        atNanos: nanos(record["timeUnixNano"]),
        resource: attributesOf(object(each["resource"])["attributes"])
      }))
    )
  )
