/**
 * What has become due in a run, as events: deadlines that are over, timers that fire.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import { instant, overdue } from "./problems.ts"

type Due = Extract<RunEvent, { readonly _tag: "DeadlinePassed" | "TimerFired" }> & { readonly due: number }

/**
 * What is due, each with its true time, in the order in which it became due.
 *
 * **Details**
 *
 * - `reported`: tasks whose order has ended in the same moment, and which are in time.
 * - A deadline comes before a timer of the same time. Once the time of the run is over no timer of it fires any more.
 *
 * @since 0.1.0
 */
export const dueBy = (state: RunState, at: number, reported: ReadonlySet<string>): ReadonlyArray<Due> => {
  const { deadlineAt, expired, run, tasks, timed, timers } = state
  const found: Array<Due> = []
  const passed = (subject: string, name: string, due: number) =>
    found.push({ _tag: "DeadlinePassed", at, subject, due, note: capital(overdue(name, due)) })
  const over = deadlineAt !== undefined && !expired && deadlineAt <= at
  if (over) passed("", run, deadlineAt)
  for (const id of timed) {
    const due = tasks.get(id)?.deadlineAt
    if (due !== undefined && due <= at && !reported.has(id)) passed(id, id, due)
  }
  for (const { due, subject, timer } of timers) {
    if (due > at || (over && due >= deadlineAt)) break // S10
    const note = `${subject} has waited until ${instant(due) ?? due}`
    found.push({ _tag: "TimerFired", at, timer, subject, due, note })
  }
  return found.length > 1 ? found.toSorted((one, other) => one.due - other.due) : found
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
