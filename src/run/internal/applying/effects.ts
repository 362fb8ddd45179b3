/**
 * What happens to something that a task does outside: it is intended, it is settled, or nobody can tell.
 *
 * @since 0.1.0
 */
import type { EffectRecovery, Of } from "../../RunEvent.ts"
import type { EffectState, ReviewState, RunState, TaskState } from "../../RunState.ts"
import { type Draft, hasEnded, outgrown } from "./draft.ts"

type Effects = Pick<RunState, "effects">

/** What an effect takes in the state. */
const weigh = (id: string, { digest, dispatch, name, task }: EffectState): number =>
  240 + id.length + digest.length + dispatch.length + name.length + task.length

/** Whether it makes no difference what became of it: its order alone asks for it, and may do it again. */
export const isMoot = (effect: { readonly per?: string | undefined; readonly recovery: EffectRecovery }): boolean =>
  effect.per !== undefined && effect.recovery === "repeat"

/** The effect that is the same one by name and arguments, whoever does it, and is not settled. S9 */
export const unsettledTwin = (
  { effects }: Effects,
  { digest, name }: Pick<EffectState, "digest" | "name">
): string | undefined => {
  for (const [id, each] of effects) {
    if (each.status !== "done" && each.name === name && each.digest === digest && !isMoot(each)) return id
  }
  return undefined
}

export const intended = (draft: Draft, task: TaskState, event: Of<"EffectIntended">): string | undefined => {
  const { at, digest, dispatch, effect, grant, name, per, recovery } = event
  if (task.dispatch?.id !== dispatch) return `${dispatch} is not open`
  if (task.dispatch.recalled !== undefined) return `${dispatch} is called back`
  const known = draft.effects.get(effect)
  if (known !== undefined) return `the effect ${name} is ${known.status} already`
  const twin = unsettledTwin(draft, event)
  if (twin !== undefined) return `the same effect of ${draft.effects.get(twin)?.task} is not settled`
  const version = draft.version + 1
  // An approval is used up by what it was for.
  const approval = grant === undefined ? undefined : draft.grants.get(grant)
  if (grant !== undefined) {
    if (approval?.task !== task.id || approval.dispatch !== dispatch || approval.tool !== name) {
      return `${grant} does not let ${dispatch} do ${name}`
    }
    if (approval.until <= at) return `what was approved in ${grant} was not done in time`
  }
  const next = {
    task: task.id,
    dispatch,
    name,
    digest,
    recovery,
    status: "intended",
    happened: false,
    at,
    version,
    intended: version,
    ...(per === undefined ? {} : { per }),
    ...(grant === undefined || approval === undefined ? {} : { grant: { review: grant, ...approval } })
  } as const
  const bytes = weigh(effect, next)
  const large = outgrown(draft, bytes, "this effect")
  if (large !== undefined) return large
  if (grant !== undefined) draft.grants.delete(grant)
  draft.size += bytes
  draft.effects.set(effect, next)
  return undefined
}

const remove = (draft: Draft, id: string, effect: EffectState): void => {
  draft.effects.delete(id)
  draft.size -= weigh(id, effect)
}

/** It has happened, and the event of this version says what came of it; only its task asks for that. */
const done = (draft: Draft, id: string, effect: EffectState): void => {
  const task = draft.tasks.get(effect.task)
  if (task === undefined || hasEnded(task.status)) remove(draft, id, effect)
  else draft.effects.set(id, { ...effect, status: "done", happened: true, version: draft.version + 1 })
}

export const settled = (draft: Draft, event: Of<"EffectSettled">): string | undefined => {
  const { effect: id, outcome, task } = event
  const effect = draft.effects.get(id)
  if (effect === undefined || effect.task !== task) return `${task} has no effect ${id}`
  if (effect.status !== "intended") return `the effect ${effect.name} is ${effect.status}`
  if (outcome === "done") {
    done(draft, id, effect)
    return undefined
  }
  remove(draft, id, effect)
  const { dispatch, grant } = effect
  const open = draft.tasks.get(task)?.dispatch?.id === dispatch
  if (grant !== undefined && open) {
    // It has not happened: what was approved may still be done once.
    const { review, ...approval } = grant
    draft.grants.set(review, approval)
  }
  return undefined
}

/** An order is over: what belongs to it alone is not asked for again. What only people can tell stays. */
export const over = (draft: Draft, dispatch: string): void => {
  for (const [id, effect] of draft.effects) {
    if (effect.dispatch !== dispatch || effect.per === undefined) continue
    if (effect.status === "done" || isMoot(effect)) remove(draft, id, effect)
  }
}

export const quarantined = (draft: Draft, task: TaskState, event: Of<"EffectQuarantined">): string | undefined => {
  const { effect: id, happened } = event
  const effect = draft.effects.get(id)
  if (effect === undefined) return `there is no effect ${id}`
  if (effect.status === "done" && !happened) return `the effect ${effect.name} is done`
  if (task.blocked === id && effect.status === "quarantined")
    return `${task.id} waits for the effect ${effect.name} already`
  const version = draft.version + 1
  draft.effects.set(id, { ...effect, status: "quarantined", happened: happened || effect.happened, version })
  draft.tasks.set(task.id, { ...task, blocked: id })
  return undefined
}

/** A person has said what became of an effect: whoever could not go on without does, from the beginning. */
export const answered = (draft: Draft, { facts }: ReviewState, { decision }: Of<"ReviewDecided">): void => {
  const { effect: id } = facts
  const effect = typeof id === "string" ? draft.effects.get(id) : undefined
  if (typeof id !== "string" || effect === undefined || (decision !== "answer" && decision !== "retry")) return
  if (decision === "answer") done(draft, id, effect)
  else remove(draft, id, effect)
  for (const task of draft.tasks.values()) {
    if (task.blocked !== id) continue
    const { blocked: _, ...rest } = task
    draft.tasks.set(task.id, { ...rest, ladder: task.tries.length })
  }
}

/** What was done for a task that has ended is not asked for again; what is not settled stays. */
export const forget = (draft: Draft, { id: task }: TaskState): void => {
  for (const [id, effect] of draft.effects) {
    if (effect.task === task && effect.status === "done") remove(draft, id, effect)
  }
}

/** Whether a person is asked about an effect. */
export const isAskedOf = ({ reviews }: Pick<RunState, "reviews">, effect: string): boolean => {
  for (const { facts } of reviews.values()) if (facts["effect"] === effect) return true
  return false
}

/** Whether a task waits for what a person is asked about an effect. */
export const isAwaited = (state: Pick<RunState, "effects" | "reviews">, { blocked }: TaskState): boolean =>
  blocked !== undefined && state.effects.get(blocked)?.status === "quarantined" && isAskedOf(state, blocked)
