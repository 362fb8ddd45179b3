/**
 * Orders by who gives and who gets them, and whose results go into whose work.
 *
 * @since 0.1.0
 */
import { endOfOrder, errorTypeOfEnd } from "../../../agent/internal/errorTypes.ts"
import type { Of } from "../../../run/RunEvent.ts"
import { attribute as a, word } from "../names.ts"
import { type Measure, measured, type Measurement, nothing, seconds, yesNo } from "./measurement.ts"
import type { Memory } from "./memory.ts"

const dispatched = ({ task: id, worker }: Of<"Dispatched">, before: Memory): ReadonlyArray<Measurement> => {
  const task = before.tasks.get(id)
  if (task === undefined) return nothing
  const { depth, group, needs, orders } = task
  const workflow = { [a.workflow]: before.desk }
  const found = [measured("espalier.delegation.depth", depth, workflow)]
  if (orders.has(worker)) {
    const edge = { [a.from]: before.supervisorOf(group), [a.to]: worker }
    return [...found, measured("espalier.delegation.repeats", 1, edge)]
  }
  for (const need of needs) {
    const producer = before.producers.get(need)
    if (producer === undefined) continue
    const attributes = { [a.producer]: producer, [a.consumer]: worker, ...workflow }
    found.push(measured("espalier.handoff.deliveries", 1, attributes))
  }
  return found
}

const reported = (event: Of<"Reported">, before: Memory): ReadonlyArray<Measurement> => {
  const task = before.tasks.get(event.task)
  if (task?.order?.dispatch !== event.dispatch) return nothing
  const { group, order } = task
  const attributes = {
    [a.from]: before.supervisorOf(group),
    [a.to]: event.worker,
    [a.outcome]: word(event.outcome),
    [a.errorType]: errorTypeOfEnd(endOfOrder(event))
  }
  const first = yesNo(order.first && event.attempts <= 1)
  return [
    measured("espalier.delegation.attempts", 1, { ...attributes, [a.firstAttempt]: first }),
    measured("espalier.delegation.duration", seconds(before.activeOf(order, event.at)), attributes)
  ]
}

/** @since 0.1.0 */
export const handoffs: Measure = (event, before) => {
  switch (event._tag) {
    case "Dispatched":
      return dispatched(event, before)
    case "Reported":
      return reported(event, before)
    default:
      return nothing
  }
}
