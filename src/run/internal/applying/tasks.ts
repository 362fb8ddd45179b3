/**
 * The end of a task, and what it means to its group and to those that need it.
 *
 * @since 0.1.0
 */
import type { Of } from "../../RunEvent.ts"
import type { TaskState } from "../../RunState.ts"
import { type Draft, hasEnded, usable } from "./draft.ts"
import { forget } from "./effects.ts"
import * as parking from "./parking.ts"
import { drop } from "./timers.ts"

export const end = (draft: Draft, task: TaskState, event: Of<"TaskEnded">): string | undefined => {
  if (task.dispatch !== undefined) return `the dispatch ${task.dispatch.id} is open`
  if (task.routed !== undefined) return `the task ${task.id} is routed to ${task.routed}`
  const own = draft.groups.get(task.id)
  if (own !== undefined && own.open > 0) return `${own.open} tasks of ${task.id} have not ended`
  let { result } = task
  if (usable(event.status)) {
    // Without a dispatch it is a group or another task's outcome that stands, also when a later order gave a result, too.
    const behind = task.tries.findLast((each) =>
      event.dispatch === undefined
        ? each.dispatch === undefined && each.kind === undefined
        : each.dispatch === event.dispatch
    )
    if (behind === undefined) return `no dispatch of ${task.id} stands behind ${event.status}`
    if (event.status === "accepted" && behind.outcome !== "accepted") {
      const approved = task.answers.some(({ decision, kind }) => kind === "result-acceptance" && decision === "approve")
      if (!approved) return `${behind.dispatch ?? behind.worker} was ${behind.outcome}`
    }
    if (task.result === undefined) return `the task ${task.id} has no output`
    result = behind.version
  }
  draft.due.delete(task.id)
  draft.ready.delete(task.id)
  draft.timed.delete(task.id)
  draft.open -= 1
  if (task.review !== undefined) draft.reviews.delete(task.review)
  parking.abandon(draft, task)
  parking.forget(draft, task)
  if (task.consult?.status === "open") draft.consulting -= 1
  drop(draft, task.id)
  const { consult, heldAt, parked, review, timer } = task
  const rest = [consult, heldAt, parked, review, timer].every((each) => each === undefined) ? task : free(task)
  draft.tasks.set(task.id, {
    ...rest,
    ...(result === undefined ? {} : { result }),
    status: event.status,
    missing: event.missing,
    reason: event.note
  })
  forget(draft, task)
  count(draft, task.parent, event.status)
  release(draft, task, usable(event.status))
  return undefined
}

/** Without what only a task that has not ended has. */
const free = ({ consult: _c, heldAt: _h, parked: _p, review: _r, timer: _t, ...rest }: TaskState): TaskState => rest

// S7
const count = (draft: Draft, id: string, status: TaskState["status"]): void => {
  const group = draft.groups.get(id)
  if (group === undefined) return
  const { accepted, lost, open, partial } = group
  draft.groups.set(id, {
    ...group,
    open: open - 1,
    accepted: accepted + (status === "accepted" ? 1 : 0),
    partial: partial + (status === "partial" ? 1 : 0),
    lost: lost + (status === "accepted" || status === "partial" ? 0 : 1)
  })
}

const release = (draft: Draft, task: TaskState, useful: boolean): void => {
  for (const id of task.dependants) {
    const dependant = draft.tasks.get(id)
    if (dependant === undefined || dependant.status !== "queued") continue
    const lost = useful ? dependant.lost : [...dependant.lost, task.id]
    const unmet = dependant.unmet - 1
    const blocked = lost.length > 0 && !dependant.acceptMissing
    const free = unmet === 0 && !blocked
    const ready = free && dependant.afterMillis === undefined
    draft.tasks.set(id, { ...dependant, unmet, lost, status: ready ? "ready" : "queued" })
    if (blocked || (free && !ready)) draft.due.add(id)
    else if (ready && !draft.due.has(id)) draft.ready.add(id)
  }
}

/** A task that waits for a slot, or whose last try is over. */
export const isFree = (draft: Draft, task: TaskState): boolean =>
  task.dispatch === undefined &&
  task.parked === undefined &&
  task.status !== "queued" &&
  task.status !== "awaiting-review" &&
  task.consult?.status !== "open" &&
  !hasEnded(task.status) &&
  !draft.groups.has(task.id)
