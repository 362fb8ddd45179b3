/**
 * The time of a task that is carried out by tasks of its own: it stands still while people are waited for in there and
 * nothing goes on.
 *
 * What goes on elsewhere in the run does not matter to it. A timer in there does: that is time which its deadline counts.
 *
 * @since 0.1.0
 */
import type { GroupState, RunState, TaskState } from "../../RunState.ts"
import { type Draft, hasEnded, isAsked } from "./draft.ts"
import * as effects from "./effects.ts"

/** What goes on: something, nothing but that people are waited for, or nothing at all. */
type Motion = "goes-on" | "waits" | "rests"

const ofTask = (state: RunState, task: TaskState): Motion => {
  if (hasEnded(task.status)) return "rests"
  const group = state.groups.get(task.id)
  if (group !== undefined && !group.merged) return ofGroup(state, group)
  const { consult, dispatch, id, status, timer } = task
  if (dispatch !== undefined || consult?.status === "open" || timer !== undefined || state.ready.has(id)) {
    return "goes-on"
  }
  if (state.due.has(id)) return isWaitingToo(state, task) ? "waits" : "goes-on"
  return status === "awaiting-review" ? "waits" : "rests"
}

/** Whether it waits for what people are asked about because of another task. */
export const isWaitingToo = (state: Pick<RunState, "effects" | "reviews">, task: TaskState): boolean => {
  const account = task.tries.at(-1)?.account
  return effects.isAwaited(state, task) || (account !== undefined && isAsked(state, account))
}

const ofGroup = (state: RunState, { consult, review, tasks }: GroupState): Motion => {
  if (consult?.status === "open") return "goes-on"
  let motion: Motion = review === undefined ? "rests" : "waits"
  for (const id of tasks) {
    const task = state.tasks.get(id)
    const own = task === undefined ? "rests" : ofTask(state, task)
    if (own === "goes-on") return own
    if (own === "waits") motion = own
  }
  return motion
}

/** Stops the time of such tasks, and has it go on. A deadline that is over already is left to be noticed. */
export const rest = (draft: Draft, at: number): void => {
  for (const group of draft.groups.values()) {
    const task = draft.tasks.get(group.id)
    if (task === undefined || task.deadlineAt === undefined || task.expired) continue
    const { deadlineAt, heldAt, ...others } = task
    const waits = ofGroup(draft, group) === "waits"
    if (heldAt === undefined && waits && deadlineAt > at) {
      draft.timed.delete(task.id)
      draft.tasks.set(task.id, { ...task, heldAt: at })
    } else if (heldAt !== undefined && !waits) {
      draft.timed.add(task.id)
      draft.tasks.set(task.id, { ...others, deadlineAt: deadlineAt + (at - heldAt) })
    }
  }
}
