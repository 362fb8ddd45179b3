/**
 * Whether an order is the same as one that has been carried out in its run already.
 *
 * @since 0.1.0
 */
import * as Contract from "../Contract.ts"
import type { RunState, TaskState } from "../RunState.ts"

/** Groups in which a task is done again on purpose: there the same order is a repetition, and no question. */
const repeats = (kind: string | undefined): boolean => kind === "graph" || kind === "swarm"

/**
 * What an order is compared by; `undefined` where there can be no other one like it. `twins`: the declared tasks that
 * differ in nothing but their names and inputs.
 */
export const digestOf = (
  state: RunState,
  task: TaskState,
  worker: string,
  contract: Contract.Contract,
  twins: ReadonlySet<string>
): string | undefined => {
  const kind = state.groups.get(task.parent)?.kind
  const compares =
    repeats(kind) || kind === "router" || task.amendment !== undefined || twins.has(task.template ?? task.id)
  return compares ? `${worker} ${Contract.digest(contract)}` : undefined
}

/** The outcome that stands for an order that has been carried out already. `fresh`: it is to be given all the same. */
export const recorded = (
  state: RunState,
  task: TaskState,
  digest: string | undefined,
  fresh: boolean
): { readonly task: string; readonly version: number } | undefined => {
  if (digest === undefined || fresh || task.tries.length > 0) return undefined
  if (repeats(state.groups.get(task.parent)?.kind)) return undefined
  const same = state.orders.get(digest)
  return same !== undefined && state.tasks.get(same.task)?.status === "accepted" ? same : undefined
}
