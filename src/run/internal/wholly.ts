/**
 * The final acceptance of a run: every mandatory requirement of every task against one and the same revision.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Acceptance from "../Acceptance.ts"
import type * as Outcome from "../Outcome.ts"
import type { Of } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import { contractOf, type Sources } from "./orders.ts"

type Open = NonNullable<Of<"Merged">["open"]>

/**
 * The mandatory requirements that do not hold at the final revision. What gave no result has none: it is missing as a
 * whole.
 */
export const openAtTheEnd = (sources: Sources, state: RunState, results: Pick<Outcome.Fold, "result">): Open => {
  const entries: Array<Acceptance.Entry> = []
  for (const task of state.tasks.values()) {
    if (task.status !== "accepted" && task.status !== "partial") continue
    const contract = contractOf(sources, state, task)
    if (EffectResult.isFailure(contract)) continue
    const { definitionOfDone } = contract.success
    if (definitionOfDone.length === 0) continue
    entries.push({ task: task.id, definitionOfDone, evidence: results.result(task.id)?.evidence ?? [] })
  }
  return Acceptance.final(entries).open.map(({ reason, requirement, task }) => ({ task, requirement, reason }))
}
