/**
 * How log records are spelled: the names of their fields, of what they tell, and of the words in them.
 *
 * @since 0.1.0
 */

/**
 * What a log record says beside its message, by name.
 *
 * **Details**
 *
 * - `run_id`, `task`, `worker`, `domain`, `dispatch`, `attempt`, `desk`: where it happened.
 * - `latency_ms`: how long it took, without the time in which it waited for people or nobody carried the run out.
 * - `tokens`, `cost`: what it used; `estimated`: what was set aside for it, because a provider did not say what it was. `input_size`, `output_size`: bytes of JSON.
 * - `trace_id`, `span_id`: of the segment of the run that it belongs to.
 * - `outcome`: how it ended. `error`: its kind, and the reason in the words of the failure.
 *
 * @since 0.1.0
 */
export type Fields = Readonly<Record<string, unknown>>

/** The names that stand at the head of a record, in this order. */
export const leading: ReadonlyArray<string> = [
  "run_id",
  "task",
  "worker",
  "attempt",
  "latency_ms",
  "tokens",
  "cost",
  "estimated",
  "input_size",
  "output_size",
  "outcome",
  "error",
  "trace_id",
  "span_id"
]

/** The name under which a record says what it is about. */
export const eventName = "event.name"

/** The name under which a record says what an error was, in few words. */
export const errorType = "error.type"

/** A word of ours, such as an outcome, as telemetry spells it. */
export { value as word } from "../SemConv.ts"

/** Only what is there. */
export const given = (fields: Fields): Fields => {
  const found: Record<string, unknown> = {}
  for (const name of Object.keys(fields)) if (fields[name] !== undefined) found[name] = fields[name]
  return found
}

export { domainOf } from "../../agent/internal/meterRows.ts"
