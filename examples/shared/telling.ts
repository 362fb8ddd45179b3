/**
 * A run in plain lines: what happens while it goes on, and who did what in the end.
 *
 * @since 0.1.0
 */
import type { Outcome, RunEvent } from "espalier/run"

import { oneLine } from "./files.ts"

/**
 * An event as one line, where it matters to somebody who watches.
 *
 * @category lines
 * @since 0.1.0
 */
export const lineOf = (event: RunEvent.RunEvent): string | undefined => {
  switch (event._tag) {
    case "GroupOpened":
      return oneLine(`${event.task}: is carried out by a ${event.kind}`)
    case "TasksAdded":
      return oneLine(`+ ${event.tasks.map(({ id }) => id).join(", ")}: ${event.note}`, 800)
    case "Consulted":
      return oneLine(`? ${event.purpose}: ${event.note}`, 80)
    case "Decided":
      return oneLine(`! ${event.note}`)
    case "DecisionFailed":
      return oneLine(`! refused: ${event.error.reason}`, 800)
    case "AttemptFailed":
      return oneLine(`${event.task}: attempt ${event.attempt} failed: ${event.note}`)
    case "Reported": {
      const label = event.label === undefined ? "" : ` (${event.label})`
      const why = event.outcome === "accepted" ? "" : `: ${event.result.error?.reason ?? event.note}`
      return oneLine(`${event.task}: ${event.outcome}${label} from ${event.worker}${why}`)
    }
    case "TaskEnded":
      return event.status === "accepted" ? undefined : oneLine(`${event.task}: ended ${event.status}: ${event.note}`)
    case "GroupStopping":
      return oneLine(`${event.group === "" ? "the run" : event.group}: stops, ${event.reason}: ${event.note}`)
    case "RunFinished":
      return oneLine(`run ${event.status}, ${event.stopReason}: ${event.note}`)
    default:
      return undefined
  }
}

/**
 * The audit of a run: a row for each order, and below it what is missing.
 *
 * @category lines
 * @since 0.1.0
 */
export const auditLines = ({ dispatches, missing }: Outcome.Outcome): ReadonlyArray<string> => {
  const cells = [
    ["task", "worker", "attempts", "outcome"],
    ...dispatches.map(({ attempts, outcome, task, worker }) => [task, worker, String(attempts), outcome])
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const rows = cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()
  )
  return [...rows, ...missing.map(({ reason, task }) => oneLine(`missing ${task}: ${reason}`))]
}
