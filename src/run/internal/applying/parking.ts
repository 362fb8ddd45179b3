/**
 * An order whose work waits for answers: its work has stopped, and it stays open.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Of } from "../../RunEvent.ts"
import type { TaskState } from "../../RunState.ts"
import type { Draft } from "./draft.ts"

export const parked = (draft: Draft, task: TaskState, event: Of<"Parked">): string | undefined => {
  const { at, dispatch: id, usage, worker } = event
  const { dispatch, ...rest } = task
  if (dispatch?.id !== id || dispatch.worker !== worker) return `${id} at ${worker} is not open`
  if (dispatch.recalled !== undefined) return `${id} is called back`
  const asks = [...draft.asks.values()].filter((ask) => ask.task === task.id)
  if (asks.length === 0) return `${id} has asked nothing`
  const from = dispatch.from ?? 0
  const answered = asks.some(({ review }) => (draft.closed.get(review)?.version ?? 0) > from)
  if (!answered && !asks.some(({ review }) => draft.reviews.has(review))) return `${id} has no open question`
  draft.running -= 1
  const load = (draft.load.get(worker) ?? 1) - 1
  if (load > 0) draft.load.set(worker, load)
  else draft.load.delete(worker)
  charge(draft, id, usage)
  // What was answered in the meantime is news for it.
  if (answered) draft.due.add(task.id)
  else draft.timed.delete(task.id)
  const { retryAt: _, ...open } = dispatch
  draft.tasks.set(task.id, {
    ...rest,
    status: "awaiting-review",
    parked: open,
    ...(answered ? {} : { heldAt: at })
  })
  return undefined
}

/** What calls have used is charged; what was set aside for the order stays so. */
const charge = (draft: Draft, dispatch: string, usage: Budget.Amount | undefined): void => {
  if (usage === undefined) return
  const accounts = draft.ledger.reservations.get(dispatch)?.accounts ?? []
  const id = `${dispatch} parked`
  draft.ledger.reservations.set(id, { accounts, amount: {} })
  Budget.settle(draft.ledger, { id, used: usage })
}

/** There is an answer: from now on it waits for a place of its worker, and no longer for people. */
export const heard = (draft: Draft, task: TaskState, at: number): void => {
  draft.due.add(task.id)
  const { deadlineAt, heldAt, ...rest } = task
  if (heldAt === undefined) return
  if (deadlineAt !== undefined && !task.expired) draft.timed.add(task.id)
  const moved = deadlineAt === undefined ? {} : { deadlineAt: deadlineAt + (at - heldAt) }
  draft.tasks.set(task.id, { ...rest, ...moved })
}

export const unparked = (draft: Draft, task: TaskState, event: Of<"Unparked">): string | undefined => {
  const { at, dispatch: id, worker } = event
  const { heldAt = event.at, parked, ...rest } = task
  if (parked?.id !== id || parked.worker !== worker) return `${id} at ${worker} does not wait for answers`
  draft.running += 1
  draft.load.set(worker, (draft.load.get(worker) ?? 0) + 1)
  draft.due.delete(task.id)
  if (task.deadlineAt !== undefined && !task.expired) draft.timed.add(task.id)
  draft.tasks.set(task.id, {
    ...rest,
    status: "running",
    dispatch: { ...parked, at, from: draft.version + 1 },
    ...(task.deadlineAt === undefined ? {} : { deadlineAt: task.deadlineAt + (at - heldAt) })
  })
  return undefined
}

/** An order that does not go on gives back what was set aside for it. */
export const abandon = (draft: Draft, { parked }: TaskState): void => {
  if (parked === undefined) return
  const amount = draft.ledger.reservations.get(parked.id)?.amount ?? {}
  const used = Object.fromEntries(Object.keys(amount).map((measure) => [measure, 0]))
  Budget.settle(draft.ledger, { id: parked.id, used })
}

/** What the work of a task has asked is not asked for again, and what was approved for it is not done any more. */
export const forget = (draft: Draft, { id }: TaskState): void => {
  for (const [key, { task }] of draft.asks) if (task === id) draft.asks.delete(key)
  for (const [review, { task }] of draft.grants) if (task === id) draft.grants.delete(review)
}
