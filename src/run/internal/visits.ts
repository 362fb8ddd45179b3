/**
 * What coordinators that come back to a task share: names of its visits, what a visit sees, and what is the last output.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Coordinator from "../Coordinator.ts"
import * as Repetition from "../Repetition.ts"
import type { PlannedTask, StopReason } from "../RunEvent.ts"
import { shorten } from "./problems.ts"

/** Whether a task of this status has an output. */
export const usable = (status: Coordinator.Seen["status"]): boolean => status === "accepted" || status === "partial"

/** The id of the `count`-th visit, from 1: the name itself, then `name#2`, `name#3`. */
export const visitId = (name: string, count: number): string => (count === 1 ? name : `${name}#${count}`)

/** How often each declared task was visited. */
export const visits = (tasks: ReadonlyArray<Coordinator.Seen>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { template } of tasks) counts.set(template, (counts.get(template) ?? 0) + 1)
  return counts
}

/** One more visit of a declared task: it needs the newest visit of each task that was visited before. */
export const visit = (
  task: Coordinator.Task<never, unknown>,
  id: string,
  before: ReadonlyArray<Pick<Coordinator.Seen, "id" | "template">>
): PlannedTask => {
  const newest = new Map(before.map((each) => [each.template, each.id]))
  return {
    ...Coordinator.planned(task),
    id,
    needs: [...newest.values()],
    acceptMissing: true,
    ...(id === task.id ? {} : { template: task.id })
  }
}

/** The output of the last part that has one, of the declared tasks with that name where a name is given. */
export const lastOutput = (
  parts: ReadonlyArray<Coordinator.Part>,
  lacking: string,
  template?: string | undefined
): EffectResult.Result<Schema.Json, string> => {
  const last = parts.findLast(
    (part) =>
      usable(part.status) &&
      part.result?.output !== undefined &&
      (template === undefined || Coordinator.localName(part.template) === template)
  )
  const output = last?.result?.output
  return output === undefined ? EffectResult.fail(lacking) : EffectResult.succeed(output)
}

/** What the calls so far, and one more of a worker, show of going round in circles. */
export const circling = (
  tasks: ReadonlyArray<Coordinator.Seen>,
  next: string | undefined,
  policy: Repetition.Policy
): string | undefined => {
  let history = Repetition.empty
  for (const { digest, order, worker } of tasks) {
    if (worker === undefined || order === undefined || digest === undefined) continue
    history = Repetition.record(history, { worker, input: order, output: digest }, policy)
  }
  const found =
    Repetition.detect(history, policy) ?? (next === undefined ? undefined : Repetition.refuse(history, next, policy))
  if (found === undefined) return undefined
  const who = found.workers.join(" and ")
  switch (found._tag) {
    case "identical-call":
      return `${who} did the same thing ${found.times} times`
    case "ping-pong":
      return `${who} handed the same things to and fro ${found.times} times`
    case "loop-count":
      return `${who} was called ${found.times} times`
  }
}

/** The end of a group before its time, where orders under way are waited for. */
export const stop = (reason: StopReason, note: string): Coordinator.Next => ({
  _tag: "Stop",
  reason,
  recall: false,
  note
})

/** A list of names for a sentence. */
export const listed = (names: Iterable<string>): string => shorten([...names].join(", ") || "nothing", 500)
