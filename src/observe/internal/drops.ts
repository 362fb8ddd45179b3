/**
 * What telemetry loses, counted: nothing is dropped in silence.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

import { espalier } from "./ownNames.ts"

/** The name of the counter. */
export const droppedName = "espalier.telemetry.dropped"

/**
 * What is lost: spans, data points or log records.
 *
 * @since 0.1.0
 */
export type Signal = "traces" | "metrics" | "logs"

/**
 * Why it is lost, as the counter has it.
 *
 * **Details**
 *
 * - `queue_full`: more waits than may. `rejected`: the collector does not want it. `unreachable`: it
 *   was tried as often as it may be. `shutdown`: the process ended first. `unencodable`, `unreadable`: it cannot be written, or
 *   not be read. `thrown`: a tracer or a logger of others has thrown. `timed_out`, `hook_failed`: of a hook for content.
 *
 * @since 0.1.0
 */
export type Reason =
  | "queue_full"
  | "rejected"
  | "unreachable"
  | "shutdown"
  | "unencodable"
  | "unreadable"
  | "thrown"
  | "timed_out"
  | "hook_failed"

const counter = Metric.counter(droppedName, {
  description: "What was not taken in, because somebody did not keep up or there were too many series",
  incremental: true
})

/** Counts what is lost, also outside of an effect. Never throws, and does nothing for none. */
export const dropped = (
  signal: Signal,
  reason: Reason,
  context: Context.Context<never> = Context.empty(),
  items = 1
): void => {
  if (!(items > 0)) return
  try {
    Metric.withAttributes(counter, {
      [espalier.telemetrySignal]: signal,
      [espalier.telemetryReason]: reason,
      unit: "{item}"
    }).updateUnsafe(items, context)
  } catch {
    // A registry that throws has nowhere to be told about.
  }
}
