/**
 * A dispatch as the cells of a table.
 *
 * @since 0.1.0
 */
import type { Row } from "../Audit.ts"
import { lasted, plain } from "./text.ts"

/** The heads of the columns. */
export const columns: ReadonlyArray<string> = [
  "time",
  "dispatch",
  "task",
  "worker",
  "contract",
  "outcome",
  "confidence",
  "retries",
  "took",
  "routing",
  "note"
]

/** The cells of a row. `time`: how a time is written. */
export const cells = (row: Row, time: (millis: number) => string): ReadonlyArray<string> => [
  time(row.startedAt),
  row.dispatch,
  row.task,
  row.worker,
  String(row.contract),
  row.kind === undefined ? row.outcome : `${row.outcome} (${row.kind})`,
  row.confidence === undefined ? "" : String(row.confidence),
  String(row.attempts - 1),
  row.durationMillis === undefined ? "" : lasted(row.durationMillis),
  plain(row.routing),
  plain(row.note)
]
