/**
 * What telemetry loses, counted: nothing is dropped in silence.
 *
 * @since 0.1.0
 */
import type * as Context from "effect/Context"
import * as Metric from "effect/Metric"

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
 * - `queue_full`: more waits than may. `rejected`: the collector does not want it. `unreachable`: it was tried as often as it may
 *   be. `shutdown`: the process ended first. `unencodable`: it cannot be written as OTLP. `thrown`: a tracer or a logger of others
 *   has thrown.
 *
 * @since 0.1.0
 */
export type Reason = "queue_full" | "rejected" | "unreachable" | "shutdown" | "unencodable" | "thrown"

const counter = Metric.counter("espalier.telemetry.dropped", {
  description: "What was not taken in, because somebody did not keep up or there were too many series",
  incremental: true
})

/**
 * Counts what is lost. Never throws, and does nothing for none.
 *
 * @since 0.1.0
 */
export const dropUnsafe = (context: Context.Context<never>, signal: Signal, reason: Reason, count: number): void => {
  if (!(count > 0)) return
  Metric.withAttributes(counter, {
    "espalier.telemetry.signal": signal,
    "espalier.telemetry.reason": reason,
    unit: "{item}"
  }).updateUnsafe(count, context)
}
