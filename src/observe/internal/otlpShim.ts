/**
 * What is put right between Effect's exporters and their encoding.
 *
 * **Details**
 *
 * - An id that is none would have a collector refuse all that is sent with it: such a span is left out, such a parent is
 *   forgotten and such a link is counted as dropped on its span.
 * - The status of what went well is unset: `Ok` is for people who have looked into it.
 * - The unit of a metric is read from an attribute, and is no attribute of its data points.
 *
 * @since 0.1.0
 */
import type * as OtlpLogger from "effect/observability/OtlpLogger"
import type * as OtlpMetrics from "effect/observability/OtlpMetrics"
import type * as OtlpTracer from "effect/observability/OtlpTracer"

const isTraceId = (id: string): boolean => /^[0-9a-f]{32}$/i.test(id) && !/^0+$/.test(id)
const isSpanId = (id: string): boolean => /^[0-9a-f]{16}$/i.test(id) && !/^0+$/.test(id)

/** @since 0.1.0 */
export interface Shimmed<A> {
  readonly data: A
  readonly items: number
  /** How many were left out. */
  readonly without: number
}

type OtlpSpan = OtlpTracer.ScopeSpan["spans"][number]

const putRight = (span: OtlpSpan): OtlpSpan => {
  const links = span.links.filter(({ spanId, traceId }) => isTraceId(traceId) && isSpanId(spanId))
  const parent = span.parentSpanId
  return {
    ...span,
    parentSpanId: parent !== undefined && isSpanId(parent) ? parent : undefined,
    links,
    droppedLinksCount: span.droppedLinksCount + span.links.length - links.length,
    status: span.status.code === 1 ? { code: 0 } : span.status
  }
}

/** @since 0.1.0 */
export const traces = (data: OtlpTracer.TraceData): Shimmed<OtlpTracer.TraceData> => {
  let items = 0
  let without = 0
  const resourceSpans = data.resourceSpans.map((resource) => ({
    ...resource,
    scopeSpans: resource.scopeSpans.map((scope) => {
      const spans = scope.spans.filter(({ spanId, traceId }) => isTraceId(traceId) && isSpanId(spanId)).map(putRight)
      items += spans.length
      without += scope.spans.length - spans.length
      return { ...scope, spans }
    })
  }))
  return { data: { resourceSpans }, items, without }
}

const isUnit = ({ key }: { readonly key: string }): boolean => key === "unit" || key === "time_unit"

/**
 * Of a snapshot, which is the exporter's own and changed in place.
 *
 * @since 0.1.0
 */
export const metrics = (data: OtlpMetrics.MetricsData): Shimmed<OtlpMetrics.MetricsData> => {
  let items = 0
  for (const resource of data.resourceMetrics) {
    for (const scope of resource.scopeMetrics) {
      for (const { gauge, histogram, sum, summary } of scope.metrics) {
        for (const point of [gauge, histogram, sum, summary].flatMap((kind) => kind?.dataPoints ?? [])) {
          items++
          point.attributes = (point.attributes ?? []).filter((attribute) => !isUnit(attribute))
        }
      }
    }
  }
  return { data, items, without: 0 }
}

/** @since 0.1.0 */
export const logs = (data: OtlpLogger.LogsData): Shimmed<OtlpLogger.LogsData> => {
  let items = 0
  for (const resource of data.resourceLogs) {
    for (const scope of resource.scopeLogs) {
      for (const record of scope.logRecords ?? []) {
        items++
        const { spanId, traceId } = record
        const known =
          typeof traceId === "string" && isTraceId(traceId) && typeof spanId === "string" && isSpanId(spanId)
        if (!known) {
          delete record.traceId
          delete record.spanId
        }
      }
    }
  }
  return { data, items, without: 0 }
}
