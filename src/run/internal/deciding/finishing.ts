/**
 * How a run ends.
 *
 * @since 0.1.0
 */
import type { Action, Spec } from "../../Decider.ts"
import type { ReviewKind } from "../../RunEvent.ts"
import type { RunState, TaskState } from "../../RunState.ts"
import { isUnmade } from "../applying/draft.ts"
import { isEnough } from "../enough.ts"
import { many, shorten } from "../problems.ts"
import { behindOf, described, standingOf } from "./standing.ts"

type Finish = Extract<Action, { readonly _tag: "Finish" }>

const end = (status: Finish["status"], stopReason: Finish["stopReason"], note: string, degraded = false): Finish => ({
  _tag: "Finish",
  status,
  stopReason,
  degraded,
  note
})

/** Whether it is about the tasks that carry something out. */
const isOfGroup = (kind: ReviewKind): boolean => kind === "routing" || kind === "plan-approval"

/** The tasks of which nobody has decided in time what they had asked. */
const unanswered = ({ closed, tasks }: RunState): ReadonlySet<string> => {
  const found = new Set<string>()
  // What nobody has decided about the tasks of a task, or what its work has asked.
  const halted = new Set<string>()
  for (const { action, as, kind, task = "" } of closed.values()) {
    if (as === "expired" && (action === "halt" || isOfGroup(kind))) halted.add(task)
  }
  for (const task of tasks.values()) {
    if (task.status !== "failed") continue
    const { answers, tries } = task
    const { instead } = answers.at(-1) ?? {}
    const asked = tries.at(-1)?.review
    const silent = asked !== undefined && closed.get(asked)?.as === "expired"
    if (silent || instead === "reject" || instead === "halt" || halted.has(task.id)) found.add(task.id)
  }
  return withThoseAround(tasks, found)
}

/** The tasks in which a person has let nothing stand. */
const turnedDown = ({ closed, tasks }: RunState): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const { as, decision, kind, task = "" } of closed.values()) {
    if (as !== "decided" || decision !== "reject" || !isOfGroup(kind)) continue
    if (tasks.get(task)?.status === "failed") found.add(task)
  }
  for (const { answers, id, status } of tasks.values()) {
    const said = answers.at(-1)
    const no = said?.decision === "reject" && said.instead === undefined
    if (status === "rejected" || (status === "failed" && no)) found.add(id)
  }
  return withThoseAround(tasks, found)
}

/** With the tasks that these carry out and that came to nothing, too. */
const withThoseAround = (tasks: RunState["tasks"], found: Set<string>): ReadonlySet<string> => {
  for (const id of found) {
    const around = tasks.get(tasks.get(id)?.parent ?? "")
    // A set is gone through with what is added meanwhile.
    if (around !== undefined && (around.status === "failed" || around.status === "rejected")) found.add(around.id)
  }
  return found
}

const usable = (task: TaskState): boolean => task.status === "accepted" || task.status === "partial"

/** The end of a run that has nothing open and nothing to do. */
export const finish = (state: RunState, spec: Spec): Finish => {
  const group = state.groups.get("")
  const stopping = group?.stopping
  const late: Array<string> = []
  let accepted = 0
  let useful = 0
  let total = 0
  let deserted = false
  let rejected = false
  let silent = false
  const expired = unanswered(state)
  const refused = turnedDown(state)
  let poor = false
  const unmade: Array<string> = []
  for (const id of group?.tasks ?? []) {
    const task = state.tasks.get(id)
    if (task === undefined) continue
    total += 1
    if (usable(task)) useful += 1
    if (task.expired && task.status !== "accepted") late.push(id)
    if (task.status === "accepted") accepted += 1
    else if (task.status === "failed") {
      const behind = behindOf(task)
      if (expired.has(id)) {
        silent = true
        continue
      }
      poor ||= behind?.account !== undefined
      if (refused.has(id)) rejected = true
      else if (task.tries.length > 0 && task.tries.every(isUnmade)) unmade.push(task.id)
      else deserted ||= behind?.kind === undefined || spec.policy.ladders[behind.kind].includes("other-worker")
    } else if (task.status === "rejected") rejected = true
  }
  const over = late.length === 0 ? "" : `; the time of ${shorten(late.join(", "), 500)} was over`
  const none = unmade.length === 0 ? "" : `; no order could be made for ${shorten(unmade.join(", "), 500)}`
  const count = `${accepted} of ${many(total, "task")} accepted`
  const counted = `${count}${over}${none}`
  const some = useful > 0 ? "partial" : "failed"
  const enough = group !== undefined && isEnough(state, group)
  if (stopping !== undefined && (!enough || stopping.reason === "stop-requested")) {
    const note = `${stopping.note}; ${counted}`
    return end(stopping.reason === "stop-requested" ? "cancelled" : some, stopping.reason, note)
  }
  if (state.open > 0) {
    return end(some, "no-ready-task", `${many(state.open, "task")} can never become ready; ${counted}`)
  }
  if (useful === 0) {
    if (silent && !rejected) return end("failed", "escalation-expired", `Nobody has decided in time; ${counted}`)
    if (poor) return end("failed", "budget-exceeded", `The budget allows no result; ${counted}`)
    if (rejected) return end("failed", "rejected-by-reviewer", `Nothing was let stand; ${counted}`)
    const note = total === 0 ? "No task was ever begun" : `No usable result; ${counted}`
    return end("failed", "empty", note)
  }
  const whole = group?.whole
  if (whole !== undefined && whole.outcome !== "accepted" && whole.outcome !== "partial") {
    return end("failed", "empty", `${whole.note}; ${counted}`)
  }
  if (accepted === total || enough) {
    if (whole?.outcome === "partial") return end("partial", "accepted", `${whole.note}; ${count}`)
    const how = described(standingOf(state, spec))
    const note = accepted === total ? count : `${count}, which is enough`
    return end("completed", "accepted", how === "" ? note : `${note}, ${how}`, how !== "")
  }
  const reason =
    useful === total
      ? "accepted"
      : rejected
        ? "rejected-by-reviewer"
        : silent
          ? "escalation-expired"
          : poor
            ? "budget-exceeded"
            : deserted
              ? "no-eligible-worker"
              : "no-ready-task"
  return end("partial", reason, `${counted}; the rest is named as missing`)
}
