/**
 * What is to be done with a group: what its containment asks for, what its coordinator wants next, and its end.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import { localName, type Next, type Seen, type View } from "../../Coordinator.ts"
import type { Action, CoordinatorFacts, Spec } from "../../Decider.ts"
import type { GroupState, RunState, TaskState } from "../../RunState.ts"
import { hasEnded } from "../applying/draft.ts"
import { many, overdue, thrown } from "../problems.ts"

/** The declared task that a group's coordinator belongs to; empty for the run itself. */
const templateOf = (state: RunState, group: GroupState): string => {
  const task = state.tasks.get(group.id)
  return task === undefined ? "" : (task.template ?? task.id)
}

/** Adds what is to be done with a group. */
export const coordinate = (state: RunState, spec: Spec, group: GroupState, actions: Array<Action>): void => {
  // One that is being stopped with the group that it is in says nothing of its own.
  if (group.merged || actions.some((action) => action._tag === "StopGroup" && action.group === group.id)) return
  const coordinator = spec.coordinators.get(templateOf(state, group))
  const own = coordinator !== undefined && coordinator.kind === group.kind ? coordinator : undefined
  const stop = reasonToStop(state, spec, group, own?.adds === true)
  if (stop !== undefined) {
    actions.push({ _tag: "StopGroup", group: group.id, ...stop })
    return
  }
  if (group.stopping !== undefined) return wind(state, group, group.stopping, actions)
  if (group.consult?.status === "open" || group.review !== undefined) return
  if (own === undefined || !own.adds) {
    if (group.open === 0) merge(group, undefined, actions)
    return
  }
  move(state, group, nextOf(own, viewOf(state, group)), spec, actions)
}

/** A coordinator that throws has nothing more to say: what is under way is waited for, and its group ends. */
const nextOf = (coordinator: CoordinatorFacts, view: View): Next => {
  try {
    return coordinator.next(view)
  } catch (error) {
    const note = `the ${coordinator.kind} threw: ${thrown(error)}`
    return { _tag: "Stop", reason: "no-ready-task", recall: false, note }
  }
}

type Stop = Pick<Extract<Action, { readonly _tag: "StopGroup" }>, "reason" | "recall" | "note">

/** Why a group takes no new orders from here on. `adds`: it may yet get other tasks than those that it has. */
const reasonToStop = (state: RunState, spec: Spec, group: GroupState, adds: boolean): Stop | undefined => {
  const { containment, stopping } = group
  if (stopping?.recall === true) return undefined
  if (group.id === "") {
    if (state.cancelled !== undefined) return { reason: "stop-requested", recall: true, note: state.cancelled }
    if (state.expired) return { reason: "deadline", recall: true, note: overdue(state.run, state.deadlineAt) }
  } else if (state.tasks.get(group.id)?.expired === true) {
    return { reason: "deadline", recall: true, note: overdue(group.id, state.tasks.get(group.id)?.deadlineAt) }
  }
  if (stopping !== undefined) return undefined
  if (group.id === "" && state.spent !== undefined && isFinal(state, spec)) {
    if (!isUndecided(state)) return { reason: "budget-exceeded", recall: false, note: state.spent }
    const note = `${state.spent}; nobody has decided in time whether more may be spent`
    return { reason: "escalation-expired", recall: false, note }
  }
  if (containment === "isolate" || group.open === 0) return undefined
  if (containment === "fail-fast") {
    if (group.lost === 0) return undefined
    const failed = group.tasks.find((id) => isLost(state.tasks.get(id)))
    return { reason: "no-ready-task", recall: true, note: `${failed} failed, and the others do not go on without it` }
  }
  const { quorum } = containment
  if (group.accepted >= quorum) {
    return { reason: "accepted", recall: true, note: enoughOf(quorum) }
  }
  if (!adds && group.accepted + group.open < quorum) {
    return {
      reason: "no-ready-task",
      recall: true,
      note: `${many(quorum, "accepted result")} cannot be reached any more`
    }
  }
  return undefined
}

const enoughOf = (quorum: number): string =>
  quorum === 1 ? "1 result is enough, and it is there" : `${quorum} results are enough, and they are there`

/** Whether a spent budget of the run stays spent: nobody is asked, or who was asked said no. */
const isFinal = ({ unraised }: RunState, { policy }: Spec): boolean =>
  policy.atCap === "stop" || unraised.includes("run")

/** Whether nobody has decided whether the run may spend more. */
const isUndecided = ({ closed, tasks }: RunState): boolean => {
  for (const { as, kind, task = "" } of closed.values()) {
    if (as !== "expired" || kind !== "budget-increase") continue
    if (tasks.get(task)?.tries.at(-1)?.account === "run") return true
  }
  return false
}

const isLost = (task: TaskState | undefined): boolean =>
  task !== undefined && hasEnded(task.status) && task.status !== "accepted" && task.status !== "partial"

/** Calls back what is under way in a group that is being stopped, and ends it when nothing is. */
const wind = (
  state: RunState,
  group: GroupState,
  stopping: NonNullable<GroupState["stopping"]>,
  actions: Array<Action>
): void => {
  if (group.open === 0) return merge(group, undefined, actions)
  const { note, reason, recall } = stopping
  for (const id of group.tasks) {
    const task = state.tasks.get(id)
    if (task === undefined || hasEnded(task.status)) continue
    const inner = state.groups.get(id)
    if (inner !== undefined) {
      const { stopping } = inner
      if (stopping === undefined || (recall && !stopping.recall)) {
        actions.push({ _tag: "StopGroup", group: id, reason, recall, note })
      }
    } else if (recall && task.dispatch !== undefined && task.dispatch.recalled === undefined) {
      const said = `${task.dispatch.id} is called back: ${note}`
      actions.push({ _tag: "Recall", task: id, dispatch: task.dispatch.id, reason, note: said })
    }
  }
}

const merge = (group: GroupState, result: string | undefined, actions: Array<Action>): void => {
  actions.push({ _tag: "Merge", group: group.id, ...(result === undefined ? {} : { result }) })
}

const seen = (task: TaskState, prefix: number): Seen => {
  const last = task.tries.at(-1)
  const behind = task.tries.findLast(({ version }) => version === task.result)
  const label = behind?.label
  return {
    id: task.id.slice(prefix),
    template: localName(task.template ?? task.id),
    status: task.status,
    ...(label === undefined ? {} : { label }),
    ...(last === undefined ? {} : { worker: last.worker }),
    ...(behind?.order === undefined ? {} : { order: behind.order }),
    ...(behind?.digest === undefined ? {} : { digest: behind.digest }),
    ...(last?.kind === undefined ? {} : { kind: last.kind }),
    confidence: behind?.confidence ?? 0,
    reason: task.reason
  }
}

/** Where the names of a group's tasks begin. */
export const prefixOf = (group: GroupState): number => {
  const [first] = group.tasks
  if (group.id === "" || first === undefined) return group.id === "" ? 0 : group.id.length + 1
  return first.lastIndexOf("/") + 1
}

/** A group as its coordinator, and whoever it asks, sees it. */
export const viewOf = (state: RunState, group: GroupState): View => {
  const prefix = prefixOf(group)
  const { answers, consult, open, said } = group
  return {
    run: state.run,
    group: group.id,
    tasks: group.tasks.flatMap((id) => {
      const task = state.tasks.get(id)
      return task === undefined ? [] : [seen(task, prefix)]
    }),
    open,
    ...(consult === undefined ? {} : { consult }),
    answers,
    said
  }
}

const move = (state: RunState, group: GroupState, next: Next, spec: Spec, actions: Array<Action>): void => {
  const { id } = group
  switch (next._tag) {
    case "Wait": {
      // C2
      if (group.open === 0) merge(group, undefined, actions)
      return
    }
    case "Add": {
      const { note, tasks } = next
      if (group.tasks.length + tasks.length > spec.steps && group.kind !== "planner") {
        const over = `the cap of ${many(spec.steps, "step")} is reached`
        actions.push({ _tag: "StopGroup", group: id, reason: "budget-exceeded", recall: false, note: over })
      } else actions.push({ _tag: "AddTasks", group: id, tasks, note })
      return
    }
    case "Consult": {
      const over = Budget.check(state.ledger, ["run"], {})
      if (over !== undefined) {
        const note = `nobody is asked for a ${next.purpose}: ${over.message}`
        actions.push({ _tag: "StopGroup", group: id, reason: "budget-exceeded", recall: false, note })
        return
      }
      actions.push({ _tag: "Consult", subject: id, purpose: next.purpose, note: next.note })
      return
    }
    case "Review": {
      const { choices, note, plan, reason } = next
      const on = id === "" ? {} : { task: id }
      if (plan !== undefined) {
        const allowed = ["approve", "reject", "retry"] as const
        actions.push({
          _tag: "Review",
          ...on,
          kind: "plan-approval",
          reason,
          allowed,
          facts: { group: id, plan },
          note
        })
        return
      }
      actions.push({
        _tag: "Review",
        ...on,
        kind: "routing",
        reason,
        allowed: ["answer", "accept-partial", "reject"],
        facts: { group: id, ...(choices === undefined ? {} : { choices }) },
        note
      })
      return
    }
    case "Stop": {
      const { note, reason, recall } = next
      actions.push({ _tag: "StopGroup", group: id, reason, recall, note })
      return
    }
    case "Done": {
      if (group.open === 0) merge(group, next.result, actions)
      return
    }
  }
}
