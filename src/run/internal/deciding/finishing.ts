/**
 * How a run ends.
 *
 * @since 0.1.0
 */
import type { Action, Spec } from "../../Decider.ts"
import type { RunState, TaskState, Try } from "../../RunState.ts"

type Finish = Extract<Action, { readonly _tag: "Finish" }>

const end = (status: Finish["status"], stopReason: Finish["stopReason"], note: string, degraded = false): Finish => ({
  _tag: "Finish",
  status,
  stopReason,
  degraded,
  note
})

const usable = (task: TaskState): boolean => task.status === "accepted" || task.status === "partial"

/** Whether somebody else did it than the worker that was to do it: who only checked what another delivered does not count. */
const byStandIn = ({ expansions, group, tries, worker }: TaskState, behind: Try): boolean => {
  if (expansions.includes("re-plan")) return true
  // What was split or followed up is done by those who were to do it.
  if (expansions.length > 0) return false
  if (tries.some((each) => each.kind !== undefined && each.worker !== behind.worker)) return true
  if (group !== undefined || worker === undefined || worker === behind.worker) return false
  return tries.every((each) => each.worker !== worker)
}

/** Whether nobody is sure of it: neither its worker nor another one that delivered the same. */
const isUnsure = ({ tries }: TaskState, behind: Try, { policy, workers }: Spec): boolean => {
  const { confidence, digest, worker } = behind
  if (confidence >= (workers.get(worker)?.confidence ?? policy.confidence)) return false
  return !tries.some((each) => digest !== undefined && each.digest === digest && each.worker !== worker)
}

/** The end of a run that has nothing open and nothing to do. */
export const finish = (state: RunState, spec: Spec): Finish => {
  const group = state.groups.get("")
  const stopping = group?.stopping
  let accepted = 0
  let useful = 0
  let total = 0
  let deserted = false
  let fellBack = false
  let unsure = false
  let rejected = false
  let poor = false
  for (const id of group?.tasks ?? []) {
    const task = state.tasks.get(id)
    if (task === undefined) continue
    total += 1
    if (usable(task)) useful += 1
    const behind = task.tries.findLast(({ version }) => version === task.result) ?? task.tries.at(-1)
    if (task.status === "accepted") {
      accepted += 1
      if (behind !== undefined) {
        unsure ||= isUnsure(task, behind, spec)
        fellBack ||= byStandIn(task, behind)
      }
    } else if (task.status === "failed") {
      poor ||= behind?.account !== undefined
      if (task.answers.at(-1)?.decision === "reject") rejected = true
      else deserted ||= behind?.kind === undefined || spec.policy.ladders[behind.kind].includes("other-worker")
    } else if (task.status === "rejected") rejected = true
  }
  const count = `${accepted} of ${total} ${total === 1 ? "task" : "tasks"} accepted`
  const some = useful > 0 ? "partial" : "failed"
  if (stopping !== undefined && stopping.reason !== "accepted") {
    const note = `${stopping.note}; ${count}`
    return end(stopping.reason === "stop-requested" ? "cancelled" : some, stopping.reason, note)
  }
  if (state.open > 0) return end(some, "no-ready-task", `${state.open} tasks can never become ready; ${count}`)
  if (useful === 0) {
    if (poor) return end("failed", "budget-exceeded", `The budget allows no result; ${count}`)
    if (rejected) return end("failed", "rejected-by-reviewer", `Nothing was let stand; ${count}`)
    const note = total === 0 ? "No task was ever begun" : `No usable result; ${count}`
    return end("failed", "empty", note)
  }
  const whole = group?.whole
  if (whole !== undefined && whole.outcome !== "accepted" && whole.outcome !== "partial") {
    return end("failed", "empty", `${whole.note}; ${count}`)
  }
  const enough = stopping?.reason === "accepted" || isQuorum(group?.containment, accepted)
  if (accepted === total && whole?.outcome === "partial") return end("partial", "accepted", `${whole.note}; ${count}`)
  if (accepted === total || enough) {
    const how = [...(fellBack ? ["by a stand-in"] : []), ...(unsure ? ["with low confidence"] : [])].join(" and ")
    const note = how === "" ? count : `${count}, ${how}`
    if (accepted < total) return end("partial", "accepted", `${note}; that is the quorum`)
    return end("completed", "accepted", note, how !== "")
  }
  const reason =
    useful === total
      ? "accepted"
      : rejected
        ? "rejected-by-reviewer"
        : poor
          ? "budget-exceeded"
          : deserted
            ? "no-eligible-worker"
            : "no-ready-task"
  return end("partial", reason, `${count}; the rest is named as missing`)
}

const isQuorum = (containment: unknown, accepted: number): boolean =>
  typeof containment === "object" &&
  containment !== null &&
  "quorum" in containment &&
  accepted >= Number(containment.quorum)
