/**
 * What stands behind the results of a run: those who were to give them, or somebody else.
 *
 * @since 0.1.0
 */
import type { Spec } from "../../Decider.ts"
import type { RunState, TaskState, Try } from "../../RunState.ts"

/**
 * What is said of a run that is complete: whether somebody else did a task than who was to do it, whether a fallback was
 * carried out, whether a group inside got only part of what it asked for, and whether nobody is sure of a result.
 *
 * @since 0.1.0
 */
export interface Standing {
  byStandIn: boolean
  byFallback: boolean
  onPart: boolean
  unsure: boolean
}

/** @since 0.1.0 */
export const standing = (): Standing => ({ byStandIn: false, byFallback: false, onPart: false, unsure: false })

/** How it is told, or nothing. */
export const described = ({ byFallback, byStandIn, onPart, unsure }: Standing): string =>
  [
    ...(byStandIn ? ["by a stand-in"] : []),
    ...(byFallback ? ["by a fallback"] : []),
    ...(onPart ? ["on results that are not whole"] : []),
    ...(unsure ? ["with low confidence"] : [])
  ].join(" and ")

/** The try whose result stands. */
export const behindOf = (task: TaskState): Try | undefined =>
  task.tries.findLast(({ version }) => version === task.result) ?? task.tries.at(-1)

/** The tasks of each group, also of those that are over. */
const members = (state: RunState): ReadonlyMap<string, ReadonlyArray<TaskState>> => {
  const groups = new Map<string, Array<TaskState>>()
  for (const task of state.tasks.values()) {
    const group = groups.get(task.parent)
    if (group === undefined) groups.set(task.parent, [task])
    else group.push(task)
  }
  return groups
}

/** Looks at the tasks of the run that were accepted, and at those that carried them out. */
export const standingOf = (state: RunState, spec: Spec): Standing => {
  const all = standing()
  const groups = members(state)
  const group = (kind: string, tasks: ReadonlyArray<TaskState>) => {
    if (tasks.some((task) => task.status === "accepted" && isFallback(kind, task))) all.byFallback = true
    for (const task of tasks) {
      if (task.parent !== "" && task.status === "partial") all.onPart = true
      const behind = behindOf(task)
      if (task.status !== "accepted" || behind === undefined) continue
      if (isUnsure(task, behind, spec)) all.unsure = true
      if (!isGroup(behind)) {
        if (byStandIn(task, behind)) all.byStandIn = true
        continue
      }
      if (behind.worker === "re-plan") all.byStandIn = true
      if (behind.outcome !== "accepted") all.onPart = true
      group(behind.worker, newest(groups.get(task.id) ?? []))
    }
  }
  group(state.groups.get("")?.kind ?? "", groups.get("") ?? [])
  return all
}

/** Whether it is the result of a group: it names the kind of it, and the name of a worker has a domain. */
const isGroup = ({ dispatch, worker }: Try): boolean => dispatch === undefined && !worker.includes(".")

/** Of a task that was carried out by tasks of its own more than once, those of the last time. */
const newest = (tasks: ReadonlyArray<TaskState>): ReadonlyArray<TaskState> => {
  const last = tasks.at(-1)?.id
  if (last === undefined) return []
  const prefix = last.slice(0, last.lastIndexOf("/") + 1)
  return tasks.filter(({ id }) => id.lastIndexOf("/") + 1 === prefix.length && id.startsWith(prefix))
}

/** Whether a task is what its coordinator falls back on: a planned one carries its contract, the fallback is declared. */
const isFallback = (kind: string, { amendment, id }: TaskState): boolean =>
  kind === "planner" ? amendment === undefined : kind === "router" && id.endsWith("-fallback")

/** Whether somebody else did it than the worker that was to do it: who only checked what another delivered does not count. */
const byStandIn = ({ tries, worker = tries[0]?.worker }: TaskState, behind: Try): boolean =>
  behind.worker !== worker && !tries.some((each) => each.worker === worker && each.kind === undefined)

/** Whether nobody is sure of it: neither its worker nor another one that delivered the same. */
const isUnsure = ({ tries }: TaskState, behind: Try, { policy, workers }: Spec): boolean => {
  const { confidence, digest, worker } = behind
  if (confidence >= (workers.get(worker)?.confidence ?? policy.confidence)) return false
  return !tries.some((each) => digest !== undefined && each.digest === digest && each.worker !== worker)
}
