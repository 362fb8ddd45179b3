/**
 * What has become due in a run, as events: deadlines that are over, timers that fire, what comes while nobody decides.
 *
 * @since 0.1.0
 */
import type { FinalAction, RunEvent } from "../RunEvent.ts"
import type { ReviewState, RunState } from "../RunState.ts"
import { clocksRun } from "./applying/timers.ts"
import { instant, overdue } from "./problems.ts"

type Due = Extract<
  RunEvent,
  { readonly _tag: "DeadlinePassed" | "TimerFired" | "ReviewAdvanced" | "ReviewExpired" | "GrantStalled" }
> & { readonly due: number }

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
  const runs = clocksRun(state)
  const over = runs && deadlineAt !== undefined && !expired && deadlineAt <= at
  if (over) passed("", run, deadlineAt)
  for (const id of runs ? timed : []) {
    const due = tasks.get(id)?.deadlineAt
    if (due !== undefined && due <= at && !reported.has(id)) passed(id, id, due)
  }
  for (const review of state.reviews.values()) found.push(...climb(review, at))
  for (const [review, { stallsAt, task, until }] of state.grants)
    found.push(...unused(review, task, at, stallsAt, until))
  for (const { due, subject, timer } of timers) {
    if (due > at || (over && due >= deadlineAt)) break // S10
    const note = `${subject} has waited until ${instant(due) ?? due}`
    found.push({ _tag: "TimerFired", at, timer, subject, due, note })
  }
  return found.length > 1 ? found.toSorted((one, other) => one.due - other.due) : found
}

const when = (due: number, at: number): string => {
  const late = at - due >= 60_000 ? `, noticed at ${instant(at) ?? at}` : ""
  return `${instant(due) ?? due}${late}`
}

/** The steps of a question that are due, up to its end. */
const climb = ({ held, review, steps, terms, to }: ReviewState, at: number): ReadonlyArray<Due> => {
  const found: Array<Due> = []
  for (const { at: due, stage: reached, what } of steps) {
    if (due > at) break
    const who = (of: number) => (to ?? terms?.stages[of] ?? []).join(", ")
    if (what === "remind") {
      const note = `${review} still waits for an answer${held === true ? ", beyond its last deadline" : ""}: reminded at ${when(due, at)}`
      found.push({ _tag: "ReviewAdvanced", at, review, what: "reminded", stage: reached, due, note })
    } else if (what === "widen") {
      const note = `${who(reached)} may decide ${review}, too, since ${when(due, at)}`
      found.push({ _tag: "ReviewAdvanced", at, review, what: "widened", stage: reached, due, note })
    } else {
      const action = terms?.final ?? "hold"
      const note = `Nobody has decided ${review} until ${when(due, at)}: ${expiry[action]}`
      found.push({ _tag: "ReviewExpired", at, review, action, because: "deadline", due, note })
    }
    // A question that is held reminds from now on, and of nothing that was missed.
    if (held === true) break
  }
  return found
}

/** The time that questions go by: it stands still while the run is put down. */
export const clockOf = ({ lastAt, status }: Pick<RunState, "lastAt" | "status">, at: number): number =>
  status === "suspended" ? Math.min(lastAt, at) : at

/** The stage that a question has reached, also where nobody has written it down yet. */
export const stageOf = (
  state: Pick<RunState, "lastAt" | "status">,
  { stage, steps }: Pick<ReviewState, "stage" | "steps">,
  at: number
): number => {
  const now = clockOf(state, at)
  let reached = stage
  for (const step of steps) if (step.what === "widen" && step.at <= now) reached = Math.max(reached, step.stage)
  return reached
}

/** What is done about a question that nobody has decided. */
export const expiry: { readonly [A in FinalAction]: string } = {
  reject: "it counts as not approved, and nothing is done",
  halt: "its task ends",
  hold: "it stays open",
  approve: "its policy lets it go ahead"
}

const unused = (
  review: string,
  task: string,
  at: number,
  stallsAt: number | undefined,
  until: number
): ReadonlyArray<Due> => {
  const found: Array<Due> = []
  if (stallsAt !== undefined && stallsAt <= at) {
    const note = `What was approved in ${review} has not been done until ${when(stallsAt, at)}`
    found.push({ _tag: "GrantStalled", at, review, task, what: "stalled", due: stallsAt, note })
  }
  if (until <= at) {
    const note = `What was approved in ${review} was not done until ${when(until, at)}, and is asked about anew`
    found.push({ _tag: "GrantStalled", at, review, task, what: "lapsed", due: until, note })
  }
  return found
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
