/**
 * The result of a group out of the results of its tasks.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type * as Aggregate from "../Aggregate.ts"
import { type Coordinator, localName, type Part, type Task } from "../Coordinator.ts"
import type * as Outcome from "../Outcome.ts"
import type { Envelope, Missing, Usage } from "../Result.ts"
import type { DispatchEnd } from "../RunEvent.ts"
import type { GroupState, RunState, TaskState } from "../RunState.ts"
import { failure } from "./attempt.ts"
import { isEnough } from "./enough.ts"
import { owned, tooMuch } from "./plain.ts"
import { sentence, show, thrown } from "./problems.ts"

/** What a group comes to. */
export interface Whole {
  readonly outcome: DispatchEnd
  readonly result: Envelope
}

/** A part with the task behind it. */
type Behind = Part & { readonly task: TaskState }

const usable = (task: TaskState): boolean => task.status === "accepted" || task.status === "partial"

const partsOf = (
  state: RunState,
  group: GroupState,
  results: Pick<Outcome.Fold, "result" | "usage">
): ReadonlyArray<Behind> =>
  group.tasks.flatMap((id) => {
    const task = state.tasks.get(id)
    if (task === undefined) return []
    const result = usable(task) ? results.result(id) : undefined
    const template = localName(task.template ?? task.id)
    const { reason, status } = task
    return [
      {
        id: id.slice(id.lastIndexOf("/") + 1),
        template,
        status,
        reason,
        task,
        usage: results.usage(id),
        ...(result === undefined ? {} : { result })
      }
    ]
  })

/** A part as a merge is given it. */
const bare = (behind: Behind): Part => {
  const { task: _, ...part } = behind
  return part
}

/** The outputs by task; of a task that was repeated, the newest. */
const record = (parts: ReadonlyArray<Part>): EffectResult.Result<Schema.Json, string> => {
  const outputs = parts.flatMap(({ result, template }) =>
    result?.output === undefined ? [] : [[template, result.output] as const]
  )
  return outputs.length === 0
    ? EffectResult.fail("no task gave a result")
    : EffectResult.succeed(Object.fromEntries(outputs))
}

/** What stands in for one task: its own output, where it is the only one. */
const instead = (parts: ReadonlyArray<Part>): EffectResult.Result<Schema.Json, string> => {
  const [only, more] = parts
  if (more !== undefined || only?.result?.output === undefined) return record(parts)
  return EffectResult.succeed(only.result.output)
}

/** How a group is merged where nobody says how. */
export const mergeOf = (
  coordinator: Coordinator<never, unknown> | undefined,
  template: Task<never, unknown> | undefined
): NonNullable<Coordinator["merge"]> =>
  coordinator === undefined ? (template?.merge ?? instead) : (coordinator.merge ?? record)

/** Merges a group that carries out a task. `chosen`: the task whose result is the group's. */
export const mergeGroup = (
  state: RunState,
  group: GroupState,
  merge: NonNullable<Coordinator["merge"]>,
  chosen: string | undefined,
  results: Pick<Outcome.Fold, "result" | "usage">
): Whole => {
  const parts = partsOf(state, group, results)
  const one = chosen === undefined ? lastOf(group, parts) : parts.find(({ id }) => id === chosen)
  const enough = isEnough(state, group)
  const missing = enough ? [] : missingOf(parts)
  const stopped = enough ? undefined : group.stopping
  if (one !== undefined) {
    if (one.result !== undefined && stopped === undefined) {
      const { outcome } = one.task.tries.findLast(({ version }) => version === one.task.result) ?? {
        outcome: "accepted"
      }
      // What each part has used is charged to this task already.
      return { outcome: one.status === "accepted" ? "accepted" : outcome, result: { ...one.result, usage: none } }
    }
    if (one.result === undefined && stopped === undefined) return failed(parts, one.reason)
  }
  const output = guarded(merge, parts.map(bare))
  if (EffectResult.isFailure(output)) return failed(parts, stopped?.note ?? output.failure, isSpent(stopped))
  const lost = missing.length > 0 || stopped !== undefined
  const reasons: ReadonlyArray<Missing> =
    missing.length > 0 || stopped === undefined
      ? missing
      : [{ part: group.id === "" ? state.run : group.id, reason: stopped.note }]
  const confidence = parts.reduce((least, { result }) => Math.min(least, result?.confidence ?? 1), 1)
  return {
    outcome: lost ? "partial" : "accepted",
    result: {
      status: lost ? "partial" : "completed",
      output: output.success,
      confidence,
      evidence: parts.flatMap(({ result }) => result?.evidence ?? []),
      usage: none,
      missing: reasons
    }
  }
}

/** Whether a group was stopped because it had used up what it may: nobody else could do better. */
const isSpent = (stopping: GroupState["stopping"]): boolean => stopping !== undefined && spent.has(stopping.reason)

const spent: ReadonlySet<string> = new Set(["budget-exceeded", "deadline", "loop-detected"])

const none: Usage = {}

/** A follow-up is over with the task that was done again. */
const lastOf = <A>(group: GroupState, parts: ReadonlyArray<A>): A | undefined =>
  group.kind === "follow-up" ? parts.at(-1) : undefined

const missingOf = (parts: ReadonlyArray<Behind>): ReadonlyArray<Missing> =>
  parts.flatMap(({ id, reason, status, task }) =>
    status === "accepted" || isNeedless(task)
      ? []
      : status === "partial"
        ? task.missing
        : [{ part: id, reason: reason === "" ? "it gave no result" : reason }]
  )

/** Whether a task was left out because there was enough without it; of what there was no budget for, something is missing. */
const isNeedless = ({ missing, status }: TaskState): boolean => status === "skipped" && missing.length === 0

const failed = (parts: ReadonlyArray<Behind>, why: string, exhausted = false): Whole => {
  const last = parts.findLast(({ task }) => !usable(task))?.task.tries.at(-1)
  const kind = exhausted ? "exhausted" : (last?.kind ?? "capability")
  const { outcome, result } = failure(kind, why)
  return { outcome, result }
}

/** What a merge gave, if it can stand in the journal. */
const guarded = (
  merge: NonNullable<Coordinator["merge"]>,
  parts: ReadonlyArray<Part>
): EffectResult.Result<Schema.Json, string> => {
  try {
    const merged: unknown = merge(parts)
    if (!EffectResult.isResult(merged)) return EffectResult.fail(`the merge must give a Result, got ${show(merged)}`)
    if (EffectResult.isSuccess(merged)) {
      return EffectResult.mapError(owned(merged.success, "the merged output"), (problem) => sentence(problem))
    }
    const why = merged.failure
    return EffectResult.fail(typeof why === "string" ? why : `the merge failed without a reason, with ${show(why)}`)
  } catch (error) {
    return EffectResult.fail(`the results could not be merged: ${thrown(error)}`)
  }
}

/** What a desk's aggregate makes of it, with the values that were chosen; or why it makes nothing of it. */
export const aggregated = <A>(
  aggregate: Aggregate.Aggregate<A>,
  given: Readonly<Record<string, Aggregate.Delivery>>,
  chosen: ReadonlyArray<{ readonly field: string; readonly answer: unknown }>
): EffectResult.Result<Aggregate.Merged<A>, string> => {
  try {
    let merged = aggregate.merge(given)
    for (const { answer, field } of chosen) {
      const resolved = aggregate.resolve(merged, field, answer)
      if (EffectResult.isSuccess(resolved)) merged = resolved.success
    }
    const output = owned(merged.output, "the merged output")
    if (EffectResult.isFailure(output)) return EffectResult.fail(sentence(output.failure))
    // They stand whole in one event, and in the question of a review.
    const large = tooMuch(merged.conflicts, "what tasks gave different values for")
    return large === undefined ? EffectResult.succeed(merged) : EffectResult.fail(sentence(large))
  } catch (error) {
    return EffectResult.fail(`the results could not be merged: ${thrown(error)}`)
  }
}

/** `enough`: whether the group is whole without those that gave nothing. */
const entryStatus = (task: TaskState, enough: boolean): Aggregate.Delivery["status"] => {
  if (task.status === "accepted") return "ok"
  if (task.status === "partial") return "partial"
  if (enough || isNeedless(task)) return "skipped"
  switch (task.status) {
    case "blocked":
      return "blocked"
    case "cancelled":
    case "skipped":
      return "cancelled"
    default:
      return task.tries.at(-1)?.outcome === "timed-out" || task.expired ? "timed-out" : "failed"
  }
}

/** What the tasks of a run hand in to be merged, by task. */
export const deliveries = (
  state: RunState,
  group: GroupState,
  results: Pick<Outcome.Fold, "result" | "usage">
): Readonly<Record<string, Aggregate.Delivery>> => {
  const enough = isEnough(state, group)
  return Object.fromEntries(
    partsOf(state, group, results).map(({ reason, result, task, template }): [string, Aggregate.Delivery] => [
      template,
      {
        status: entryStatus(task, enough),
        cause: reason,
        ...(result?.output === undefined ? {} : { output: result.output, confidence: result.confidence })
      }
    ])
  )
}
