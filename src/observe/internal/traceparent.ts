/**
 * What a W3C `traceparent` says. It comes out of a journal, in which anything may stand.
 *
 * @since 0.1.0
 */
import { isTrace } from "../../run/internal/observing.ts"

/** The ids in it, and whether the trace is told; nothing where it is none. */
export interface Traceparent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

/** Of the flags only the last bit says whether it is told; others may be set beside it. */
export const read = (trace: unknown): Traceparent | undefined => {
  if (!isTrace(trace)) return undefined
  const [, traceId = "", spanId = "", flags = ""] = trace.split("-")
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Itself, where it is one. */
export const only = (trace: unknown): string | undefined => (isTrace(trace) ? trace : undefined)
