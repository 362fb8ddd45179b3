/**
 * What telemetry has lost, as a metric: nothing is dropped without being counted.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

import { espalier } from "./ownNames.ts"

/** The name of the counter. */
export const droppedName = "espalier.telemetry.dropped"

/** Which of the signals it was that lost something. */
export type Signal = "traces" | "metrics" | "logs"

/** Why: the exporter threw, did not answer in time, had no room; content could not be told; a hook failed. */
export type Reason = "threw" | "timed_out" | "full" | "unreadable" | "hook_failed"

const counter = Metric.counter(droppedName, {
  description: "Spans, events and points that telemetry could not tell of",
  attributes: { unit: "{item}" },
  incremental: true
})

/** Counts what was lost. It never throws, and may be called outside of an effect. */
export const dropped = (
  signal: Signal,
  reason: Reason,
  context: Context.Context<never> = Context.empty(),
  items = 1
): void => {
  try {
    Metric.withAttributes(counter, {
      [espalier.telemetrySignal]: signal,
      [espalier.telemetryReason]: reason
    }).updateUnsafe(items, context)
  } catch {
    // A registry that throws has nowhere to be told about.
  }
}
