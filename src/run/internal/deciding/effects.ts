/**
 * What becomes of a task whose effects outside are not settled.
 *
 * A task does not go on while a person has to tell what became of an effect, and does not end before it is known. Only one
 * that is stopped or rejected does; its effect stays unknown then, and whoever is to do the same is asked about it.
 *
 * @since 0.1.0
 */
import type { Action, Review } from "../../Decider.ts"
import type { Decision } from "../../RunEvent.ts"
import type { EffectState, RunState, TaskState } from "../../RunState.ts"
import { isAskedOf } from "../applying/effects.ts"
import type { Room } from "./routing.ts"

type Unsettled = EffectState & { readonly id: string }

/** The first effect of a task that is not settled, of those that `which` names. */
const first = (
  { effects }: Pick<RunState, "effects">,
  task: string,
  which: (effect: EffectState) => boolean
): Unsettled | undefined => {
  if (effects.size === 0) return undefined
  for (const [id, effect] of effects) {
    if (effect.task === task && effect.status !== "done" && which(effect)) return { id, ...effect }
  }
  return undefined
}

const isForPeople = ({ recovery, status }: EffectState): boolean => status === "quarantined" || recovery === "person"

/** The effect of a task that only a person can tell the outcome of. */
export const forPeople = (state: Pick<RunState, "effects">, task: string): Unsettled | undefined =>
  first(state, task, isForPeople)

const held = (state: RunState, { blocked, id }: TaskState): Unsettled | undefined => {
  const other = blocked === undefined ? undefined : state.effects.get(blocked)
  return blocked !== undefined && other?.status === "quarantined" ? { id: blocked, ...other } : forPeople(state, id)
}

/** What a task waits for whose effects only people can tell the outcome of: `undefined` where nothing is in its way. */
export const hold = (state: RunState, task: TaskState, room: Room): Review | "wait" | undefined => {
  if (state.effects.size === 0) return undefined
  const effect = held(state, task)
  if (effect === undefined) return undefined
  // One question for each effect: the others who cannot go on without it wait for its answer.
  const asked = `effect ${effect.id}`
  if (room.asked.has(asked) || isAskedOf(state, effect.id)) return "wait"
  room.asked.add(asked)
  return ask(task, effect)
}

const ask = (task: TaskState, effect: Unsettled): Review => {
  const { at, dispatch, happened, id, name, task: of } = effect
  const decisions: ReadonlyArray<Decision> = happened ? ["answer", "reject"] : ["answer", "retry", "reject"]
  const whose = of === task.id ? "" : ` of ${of}`
  const what = happened
    ? `the effect ${name}${whose} has happened, and what came of it is not known`
    : `it is not known whether the effect ${name}${whose} has happened`
  const how = happened
    ? "answer with what came of it, or reject"
    : "answer with what came of it if it has, retry if it has not, or reject"
  return {
    _tag: "Review",
    task: task.id,
    kind: "reconciliation",
    reason: "unknown-effect",
    allowed: decisions,
    facts: { task: task.id, tries: task.tries.length, effect: id, name, of, dispatch, intendedAt: at, happened },
    note: `${task.id} cannot go on: ${what}; ${how}`
  }
}

/** What ends a task, or has others do it in its place. */
const parts: ReadonlySet<Action["_tag"]> = new Set(["EndTask", "Consult", "OpenGroup"])

/**
 * What is done instead of ending a task or handing it to others while an effect of it is not settled, which another order
 * could have asked for or done again.
 */
export const beforeTheEnd = (
  state: RunState,
  task: TaskState,
  action: Action | undefined,
  isStopped: () => boolean
): Action | undefined => {
  if (action === undefined || state.effects.size === 0 || !parts.has(action._tag)) return action
  const open = first(state, task.id, () => true)
  if (open === undefined) return action
  if (action._tag !== "EndTask") return ask(task, open)
  if (action.status !== "rejected" && !isStopped()) return ask(task, open)
  return { ...action, note: `${action.note}; it is not known whether its effect ${open.name} has happened` }
}
