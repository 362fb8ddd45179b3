/**
 * What happens to a timer: it is set, it fires, and it goes with what it belongs to.
 *
 * @since 0.1.0
 */
import type { Of } from "../../RunEvent.ts"
import type { RunState, TimerState } from "../../RunState.ts"
import { type Draft, hasEnded } from "./draft.ts"

export const set = (draft: Draft, event: Of<"TimerSet">): string | undefined => {
  const { due, purpose, subject, timer } = event
  const next = nextTimer(draft)
  if (timer !== next) return `the next timer is ${next}, not ${timer}`
  const task = draft.tasks.get(subject)
  if (task === undefined) return `there is no task ${JSON.stringify(subject)}`
  if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}`
  if (task.timer !== undefined) return `${task.timer} of ${task.id} is open already`
  if (task.afterMillis === undefined) return `the task ${task.id} waits for no time`
  if (task.status !== "queued" || task.unmet > 0) return `the task ${task.id} is ${task.status}`
  draft.timersSet += 1
  draft.due.delete(subject)
  draft.tasks.set(subject, { ...task, timer })
  insert(draft.timers, { timer, subject, purpose, due })
  return undefined
}

/** The id of the timer that is set next. */
export const nextTimer = ({ run, timersSet }: Pick<RunState, "run" | "timersSet">): string =>
  `${run}/timer/${timersSet + 1}`

// S10. Of those that are due together, the one that was set last comes last.
const insert = (timers: Array<TimerState>, timer: TimerState): void => {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((timers[middle]?.due ?? Infinity) <= timer.due) low = middle + 1
    else high = middle
  }
  timers.splice(low, 0, timer)
}

export const fired = (draft: Draft, event: Of<"TimerFired">): string | undefined => {
  const { at, due, subject, timer } = event
  const [first] = draft.timers
  if (first === undefined) return `${timer} is not open`
  if (first.timer !== timer) return `the next timer to fire is ${first.timer}, not ${timer}` // S10
  if (first.subject !== subject) return `${timer} is of ${first.subject}, not of ${JSON.stringify(subject)}`
  if (due !== first.due) return `${timer} is due at ${first.due}, not at ${due}`
  if (at < due) return `${timer} is not due before ${due}`
  draft.timers.shift()
  const task = draft.tasks.get(subject)
  if (task?.timer !== timer) return undefined
  const { timer: _, ...rest } = task
  draft.tasks.set(subject, { ...rest, status: "ready" })
  if (!draft.due.has(subject)) draft.ready.add(subject)
  return undefined
}

/** Forgets the timers of a task. */
export const drop = ({ timers }: Draft, task: string): void => {
  for (let index = timers.length - 1; index >= 0; index--) {
    if (timers[index]?.subject === task) timers.splice(index, 1)
  }
}

/** The earliest deadline that runs, of the run and of its tasks. */
const nextDeadline = ({ deadlineAt, expired, tasks, timed }: RunState): number | undefined => {
  let next = expired ? undefined : deadlineAt
  for (const id of timed) {
    const at = tasks.get(id)?.deadlineAt
    if (at !== undefined && (next === undefined || at < next)) next = at
  }
  return next
}

/** When the next thing happens while nobody decides: a reminder, others who may decide, the end, an approval not used. */
const nextForPeople = ({ grants, reviews }: RunState): number | undefined => {
  let next: number | undefined
  const sooner = (at: number | undefined) => {
    if (at !== undefined && (next === undefined || at < next)) next = at
  }
  for (const { steps } of reviews.values()) sooner(steps[0]?.at)
  for (const { stallsAt, until } of grants.values()) sooner(stallsAt ?? until)
  return next
}

/** Whether the deadlines of a run go on: they stand still while it waits for nobody but people. */
export const clocksRun = ({ status, timers }: Pick<RunState, "status" | "timers">): boolean =>
  status !== "waiting" || timers.length > 0

const earliest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)

/** When the next timer is due, the next deadline is over or the next step of a question comes, while the run is carried out. */
export const nextDue = (state: RunState): number | undefined => {
  const people = nextForPeople(state)
  return clocksRun(state) ? earliest(earliest(nextDeadline(state), state.timers[0]?.due), people) : people
}

/** See `RunState.wakeAt`. */
export const wakeAt = (state: RunState): number | undefined => (state.status === "waiting" ? nextDue(state) : undefined)

/**
 * Whether a run that waits is waited for here: when what comes next is due, or is a timer of its own and soon. What comes while
 * nobody decides is waited for by nobody; whoever looks after runs takes them up for it.
 */
export const isSoon = (state: RunState, now: number, waitForMillis: number): boolean => {
  const next = wakeAt(state)
  return next !== undefined && next - now <= (state.timers.length > 0 ? waitForMillis : 0)
}

/**
 * From when on the time of a run has stood still: since the last sign of whoever carries it out, or since its own timer,
 * for which it waited, was due.
 */
export const stillSince = ({ lastAt, status, timers }: Pick<RunState, "lastAt" | "status" | "timers">): number =>
  status === "waiting" && timers[0] !== undefined ? Math.max(lastAt, timers[0].due) : lastAt
