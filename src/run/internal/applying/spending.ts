/**
 * What calls are paid for as they happen, so that nothing that comes later can lose it.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Usage } from "../../Result.ts"
import type { Of } from "../../RunEvent.ts"
import { measures, minus, plus, type Writable } from "../amounts.ts"
import { accountsOf, type Draft } from "./draft.ts"

/** It was paid for, whatever became of its order: it is never refused. */
export const spent = (draft: Draft, { dispatch: id, task: of, usage, worker }: Of<"Spent">): undefined => {
  const task = draft.tasks.get(of)
  const accounts = task === undefined || worker === "" ? ["run"] : accountsOf(draft, task, worker)
  Budget.draw(draft.ledger, { id, accounts, used: usage })
  if (task?.dispatch?.id === id) {
    draft.tasks.set(of, { ...task, dispatch: { ...task.dispatch, spent: plus(task.dispatch.spent ?? {}, usage) } })
  } else if (task?.parked?.id === id) {
    draft.tasks.set(of, { ...task, parked: { ...task.parked, spent: plus(task.parked.spent ?? {}, usage) } })
  }
  return undefined
}

/** What of a sum is not charged yet. Of what was paid for call by call, nothing more is charged than is told. */
export const unspent = (usage: Usage, spent: Usage | undefined): Usage => {
  if (spent === undefined) return usage
  const rest: Writable<Usage> = { ...minus(usage, spent) }
  for (const measure of measures) if (spent[measure] !== undefined) rest[measure] ??= 0
  return rest
}
