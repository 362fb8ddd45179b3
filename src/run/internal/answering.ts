/**
 * The answer of the run itself: merged, reconciled, and held against the output schema of its desk.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Coordinator } from "../Coordinator.ts"
import type { Office } from "../Office.ts"
import type { Of } from "../RunEvent.ts"
import type { Answer } from "../RunState.ts"
import type { Asking } from "./consulting.ts"
import type { Hands } from "./hands.ts"
import { aggregated, deliveries, mergeGroup, mergeOf } from "./merging.ts"
import { inOffice } from "./observing.ts"
import { type Problem, sentences, shorten, shortened, show } from "./problems.ts"
import { termed } from "./proposing.ts"
import { openAtTheEnd } from "./wholly.ts"

/** The result of the run itself. */
export const whole = (
  hands: Hands,
  answers: ReadonlyArray<Schema.Json>,
  chosen: string | undefined,
  at: number
): void => {
  const { office, take } = hands
  const fold = hands.fold()
  const state = hands.state()
  const group = state.groups.get("")
  if (group === undefined) return
  const { aggregate, decodeOutput, reconcile, sameRevision } = office.desk
  const base = mergeGroup(state, group, mergeOf(office.coordinators.get(""), undefined), chosen, fold)
  let { outcome, result } = base
  let conflicts: ReadonlyArray<Schema.Json> = []
  let leftOut: ReadonlyArray<{ readonly part: string; readonly reason: string }> = []
  const combined =
    aggregate === undefined
      ? undefined
      : aggregated(aggregate, deliveries(state, group, fold), chosenValues(group.said, answers))
  if (combined !== undefined && EffectResult.isFailure(combined)) {
    const { output: _, ...rest } = result
    outcome = "failed"
    result = { ...rest, status: "failed", error: { kind: "defect", reason: combined.failure } }
  } else if (aggregate !== undefined && combined !== undefined) {
    const merged = combined.success
    const [first] = merged.conflicts
    if (first !== undefined && reconcile !== undefined && group.stopping === undefined) {
      const question = aggregate.question(first)
      if (reconcile === "review" && mayAsk(group.said, first.field)) {
        const review = `${state.run}/review/${state.reviewed + 1}`
        const opened: Of<"ReviewOpened"> = {
          _tag: "ReviewOpened",
          at,
          review,
          kind: "reconciliation",
          reason: "conflict",
          allowed: ["answer", "accept-partial"],
          facts: { field: first.field, values: first.values as unknown as Schema.Json, schema: question.schema },
          note: question.question
        }
        return take(termed(office.desk.reviews, state, opened, undefined))
      }
      const failures = group.consult?.purpose === "reconcile" ? group.consult.failures : 0
      if (reconcile !== "review" && failures < 2) {
        const consult = `${state.run}/consult/${state.consulted + 1}`
        take({ _tag: "Consulted", at, consult, subject: "", purpose: "reconcile", note: question.question })
        const effect = reconciled(hands, reconcile, question, first.field, merged)
        return hands.ask({ consult, subject: "", purpose: "reconcile", effect })
      }
    }
    conflicts = merged.conflicts as unknown as ReadonlyArray<Schema.Json>
    leftOut = merged.leftOut.map(({ reason, task }) => ({ part: task, reason }))
    if (merged.status === "empty") {
      outcome = "failed"
      result = { ...result, status: "failed", error: { kind: "capability", reason: "No task gave a usable output" } }
      delete (result as { output?: unknown }).output
    } else {
      const whole = merged.status === "complete" && merged.conflicts.length === 0
      outcome = whole ? "accepted" : "partial"
      const missing = [
        ...result.missing,
        ...merged.conflicts.map(({ field }) => ({
          part: field,
          reason: "Tasks gave different values, and nobody chose"
        })),
        ...leftOut
      ]
      const { error: _, ...rest } = result
      result = {
        ...rest,
        status: whole ? "completed" : "partial",
        output: merged.output,
        missing: whole ? [] : missing
      }
    }
  }
  if (decodeOutput !== undefined && result.output !== undefined) {
    const decoded = decodeOutput(result.output)
    if (EffectResult.isFailure(decoded)) {
      const problems = decoded.failure.map(inOutput)
      const where = problems[0]?.path ?? "output"
      const hint = aggregate === undefined ? unmerged(office.coordinators.get(""), result.output) : ""
      const reason = `OUTPUT_INVALID: the desk's ${invalid(problems, result.output)}${hint}`
      if (result.status === "partial") {
        // Of what is not whole nobody expects that it is; what it lacks is said.
        result = { ...result, missing: [...result.missing, { part: where, reason }] }
      } else {
        const { output: _, ...rest } = result
        outcome = "rejected-contract"
        result = { ...rest, status: "failed", error: { kind: "malformed", reason } }
      }
    }
  }
  const open = sameRevision && result.error === undefined ? openAtTheEnd(hands.sources(), state, fold) : []
  if (open.length > 0) {
    outcome = "partial"
    const lacks = open.map(({ reason, requirement, task }) => ({ part: `${task}.${requirement}`, reason }))
    result = { ...result, status: "partial", missing: [...result.missing, ...lacks] }
  }
  if (aggregate === undefined && decodeOutput === undefined) {
    // Nobody asked for an answer beside those of the tasks.
    const { output: _, ...rest } = result
    result = rest
  }
  const lacking = result.missing.map(({ part }) => part).join(", ")
  take({
    _tag: "Merged",
    at,
    group: "",
    kind: group.kind,
    outcome,
    result,
    ...(conflicts.length === 0 ? {} : { conflicts }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
    ...(open.length === 0 ? {} : { open }),
    note:
      result.error?.reason ??
      (lacking === ""
        ? `The answer is ${result.status}`
        : shortened(`The answer is ${result.status}: it lacks ${lacking}`, 500))
  })
}

const inOutput = (problem: Problem): Problem => {
  const { path } = problem
  return { ...problem, path: path === "" ? "output" : `output${path.startsWith("[") ? "" : "."}${path}` }
}

/** What is wrong with an output, and a short and safe sight of it where that does not say it already. */
const invalid = (problems: ReadonlyArray<Problem>, output: Schema.Json): string =>
  `${sentences(problems)}${problems[0]?.path === "output" ? "" : `; it is ${show(output)}`}`

/** What an output is that nobody merged. */
const unmerged = (coordinator: Coordinator<never, unknown> | undefined, output: Schema.Json): string => {
  if (coordinator === undefined || coordinator.merge !== undefined) return ""
  if (typeof output !== "object" || output === null) return ""
  const names = shorten(Object.keys(output).join(", "), 200)
  return `; without a merge the output of a ${coordinator.kind} is a record by task: ${names}`
}

/** Whether a person is asked about a field: once, and once more when the answer settled nothing; never after `accept-partial`. */
const mayAsk = (said: ReadonlyArray<Answer>, field: string): boolean => {
  let asked = 0
  for (const { answer, decision, instead, kind } of said) {
    if (kind !== "reconciliation") continue
    // Where nobody chooses, it is left out.
    if (instead !== undefined) return false
    if (decision === "accept-partial") return false
    const fields = chosenValues(answer === undefined ? [] : [{ kind, answer }], []).map((each) => each.field)
    if (fields.length === 0 || fields.includes(field)) asked += 1
  }
  return asked < 2
}

/** The values that were chosen for fields, by whoever was asked, oldest first. */
const chosenValues = (
  said: ReadonlyArray<Pick<Answer, "kind" | "answer">>,
  answers: ReadonlyArray<Schema.Json>
): ReadonlyArray<{ readonly field: string; readonly answer: unknown }> => {
  const values: Array<{ readonly field: string; readonly answer: unknown }> = []
  const spoken = said.flatMap(({ answer, kind }) => (kind === "reconciliation" && answer !== undefined ? [answer] : []))
  for (const each of [...answers, ...spoken]) {
    if (typeof each !== "object" || each === null || Array.isArray(each)) continue
    const { reconcile } = each as { readonly reconcile?: Schema.Json }
    if (typeof reconcile !== "object" || reconcile === null || Array.isArray(reconcile)) continue
    for (const [field, answer] of Object.entries(reconcile)) values.push({ field, answer })
  }
  return values
}

const reconciled = (
  { office }: Hands,
  reconcile: Exclude<Office["desk"]["reconcile"], "review" | undefined>,
  question: Parameters<typeof reconcile>[0],
  field: string,
  merged: Parameters<NonNullable<Office["desk"]["aggregate"]>["resolve"]>[0]
): Asking["effect"] =>
  Effect.suspend(() => reconcile(question) as Effect.Effect<unknown, unknown>).pipe(
    Effect.flatMap((answer): Effect.Effect<{ answer: Schema.Json; note: string }, unknown> => {
      const resolved = office.desk.aggregate?.resolve(merged, field, answer)
      if (resolved === undefined) return Effect.die(new Error("a desk without an aggregate has nothing to reconcile"))
      if (EffectResult.isFailure(resolved)) return Effect.fail(resolved.failure)
      const value = { reconcile: { [field]: answer as Schema.Json } }
      return Effect.succeed({ answer: value, note: `${field} is decided` })
    }),
    (asked) => inOffice(asked, office.context)
  )
