/** Spans as tests look at them, whoever has them: a tracer in memory, a receiver of OTLP, the SDK of OpenTelemetry. */
import { SpanStatusCode } from "@opentelemetry/api"
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base"
import { Option, type Tracer } from "effect"

import type { ReceivedSpan } from "./otlpDecode.ts"
import { attributesOf, endOf } from "./spans.ts"

/**
 * One span.
 *
 * - `startedAt`, `endedAt`: milliseconds since 1970; without `endedAt` it is open.
 * - `end`: how it ended; what was interrupted is neither well nor an error.
 */
export interface Seen {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: ReadonlyArray<{ readonly type: string; readonly trace: string; readonly id: string }>
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly end: "ok" | "interrupted" | "error" | "open"
}

const millis = (nanos: bigint): number => Number(nanos / 1_000n) / 1_000

const typeOf = (attributes: Readonly<Record<string, unknown>> | undefined): string =>
  String(attributes?.["espalier.link.type"])

/** As a tracer in memory has them. */
export const inMemory = (spans: ReadonlyArray<Tracer.Span>): ReadonlyArray<Seen> =>
  spans.map((span) => {
    const { links, name, parent, spanId, status, traceId } = span
    const end = endOf(span)
    return {
      trace: traceId,
      id: spanId,
      parent: Option.getOrUndefined(parent)?.spanId,
      name,
      attributes: attributesOf(span),
      links: links.map(({ attributes, span }) => ({ type: typeOf(attributes), trace: span.traceId, id: span.spanId })),
      startedAt: millis(status.startTime),
      endedAt: status._tag === "Ended" ? millis(status.endTime) : undefined,
      end: end === "ok" || end === "open" || end === "interrupted" ? end : "error"
    }
  })

/** As a receiver has them. */
export const received = (spans: ReadonlyArray<ReceivedSpan>): ReadonlyArray<Seen> =>
  spans.map(({ attributes, endNanos, links, name, parentSpanId, spanId, startNanos, status, traceId }) => ({
    trace: traceId,
    id: spanId,
    parent: parentSpanId,
    name,
    attributes,
    links: links.map(({ attributes, spanId, traceId }) => ({ type: typeOf(attributes), trace: traceId, id: spanId })),
    startedAt: millis(startNanos),
    endedAt: millis(endNanos),
    // OTLP has no word for what went well: that is left to people.
    end: status.code === "error" ? "error" : attributes["effect.fiber.interrupted"] === true ? "interrupted" : "ok"
  }))

const ofParts = ([seconds, nanos]: readonly [number, number]): number =>
  millis(BigInt(seconds) * 1_000_000_000n + BigInt(nanos))

const ends = {
  [SpanStatusCode.OK]: "ok",
  [SpanStatusCode.UNSET]: "interrupted",
  [SpanStatusCode.ERROR]: "error"
} as const

/** As the SDK of OpenTelemetry has them. */
export const readable = (spans: ReadonlyArray<ReadableSpan>): ReadonlyArray<Seen> =>
  spans.map((span) => ({
    trace: span.spanContext().traceId,
    id: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId,
    name: span.name,
    attributes: span.attributes,
    links: span.links.map(({ attributes, context }) => ({
      type: typeOf(attributes),
      trace: context.traceId,
      id: context.spanId
    })),
    startedAt: ofParts(span.startTime),
    endedAt: ofParts(span.endTime),
    end: ends[span.status.code]
  }))
