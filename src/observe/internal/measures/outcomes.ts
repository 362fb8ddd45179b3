/**
 * What becomes of tasks and runs, how long they take, how often they begin anew, and what they have used at their end.
 *
 * **Details**
 *
 * What a task used is what was spent for its own orders: what tasks below it used is told with those, so all tasks together
 * have used what was spent, and nothing twice. Choices of a run are in the sums of the run alone.
 *
 * @since 0.1.0
 */
import { errorTypeOfRun } from "../../../agent/internal/errorTypes.ts"
import type { Of } from "../../../run/RunEvent.ts"
import { attribute as a, word } from "../names.ts"
import { type Measure, measured, type Measurement, nothing, seconds, yesNo } from "./measurement.ts"
import type { Memory } from "./memory.ts"
import type { OpenTask } from "./openWork.ts"

const used = ({ costs, tokens }: OpenTask, attributes: Readonly<Record<string, string>>): Array<Measurement> => {
  const found = [...costs].map(([currency, cost]) =>
    measured("espalier.task.cost", cost, { ...attributes, [a.currency]: currency })
  )
  if (tokens.input + tokens.output === 0) return found
  const kinds = {
    input: tokens.input,
    output: tokens.output,
    cache_read: tokens.cacheRead,
    reasoning: tokens.reasoning
  }
  for (const [kind, count] of Object.entries(kinds)) {
    found.push(measured("espalier.task.tokens", count, { ...attributes, [a.tokenKind]: kind }))
  }
  return found
}

const ended = ({ at, status, task: id }: Of<"TaskEnded">, before: Memory): ReadonlyArray<Measurement> => {
  const task = before.tasks.get(id)
  if (task === undefined) return nothing
  const attributes = { [a.workflow]: before.desk, [a.result]: word(status) }
  const last = task.lastError === "none" ? undefined : task.lastError
  const failed = task.lastError === undefined ? "_OTHER" : last
  const error = status === "failed" || status === "blocked" ? failed : undefined
  const wall = at - task.readyAt
  const found = [
    measured("espalier.task.results", 1, attributes),
    measured("espalier.task.duration", seconds(wall), { ...attributes, [a.errorType]: error }),
    measured("espalier.task.active.duration", seconds(wall - task.waiting.at(at)), {
      ...attributes,
      [a.errorType]: error
    }),
    ...used(task, attributes)
  ]
  let orders = 0
  for (const { times } of task.orders.values()) orders += times
  if (orders === 0) return found
  found.push(measured("espalier.task.retries", task.attempts + orders - 1, { ...attributes, [a.errorType]: last }))
  if (task.steps > 0) found.push(measured("espalier.task.steps", task.steps, attributes))
  return found
}

const finished = (event: Of<"RunFinished">, before: Memory): ReadonlyArray<Measurement> => {
  const { at, degraded, status, stopReason } = event
  const attributes = { [a.workflow]: before.desk, [a.runStatus]: word(status) }
  const ended = { ...attributes, [a.errorType]: errorTypeOfRun(event) }
  const wall = at - before.startedAt
  const found = [
    measured("espalier.run.results", 1, {
      ...attributes,
      [a.stopReason]: word(stopReason),
      [a.degraded]: yesNo(degraded)
    }),
    measured("espalier.run.duration", seconds(wall), ended),
    measured("espalier.run.active.duration", seconds(wall - before.waiting.at(at)), ended)
  ]
  if (before.tokens > 0) found.push(measured("espalier.run.tokens", before.tokens, attributes))
  for (const [currency, cost] of before.costs) {
    found.push(measured("espalier.run.cost", cost, { ...attributes, [a.currency]: currency }))
  }
  if (stopReason === "loop-detected") found.push(loop(before))
  return found
}

const loop = (before: Memory): Measurement =>
  measured("espalier.loop.detections", 1, { [a.workflow]: before.desk, [a.loopAction]: "stopped" })

/** @since 0.1.0 */
export const outcomes: Measure = (event, before) => {
  switch (event._tag) {
    case "TaskEnded":
      return ended(event, before)
    case "RunFinished":
      return before.isOver ? nothing : finished(event, before)
    case "RunSuspended":
      return [
        measured("espalier.run.suspensions", 1, {
          [a.workflow]: before.desk,
          [a.suspendReason]: word(event.reason)
        })
      ]
    case "GroupStopping":
      // That of the run itself is told by its end.
      return event.reason === "loop-detected" && event.group !== "" ? [loop(before)] : nothing
    default:
      return nothing
  }
}
