/**
 * Who was chosen for a task, and who should have been.
 *
 * **Details**
 *
 * What is known afterwards of a choice depends on the source: what came of it (`outcome`), or what people said (`human`).
 * A first choice whose result was accepted was right. One that refused the task, or failed at it, was wrong when another
 * worker had its result accepted for the same task. Of anything else nothing is known: a crash or a time-out is no
 * verdict on a choice.
 *
 * @since 0.1.0
 */
import { endOfChoice, errorTypeOfEnd } from "../../../agent/internal/errorTypes.ts"
import type { DispatchEnd, Of } from "../../../run/RunEvent.ts"
import { attribute as a, word } from "../names.ts"
import { type Measure, measured, type Measurement, nothing, seconds } from "./measurement.ts"
import type { Memory } from "./memory.ts"
import type { OpenReview, OpenTask } from "./openWork.ts"

/** Who is meant by nobody. */
export const nobody = "none"

const wrong: ReadonlySet<DispatchEnd> = new Set<DispatchEnd>([
  "refused",
  "failed",
  "rejected-contract",
  "rejected-quality"
])

/** What the answer to an example says. */
export const golden = (label: {
  readonly supervisor: string
  readonly predicted: string
  readonly expected: string
}): Measurement =>
  measured("espalier.routing.evaluations", 1, {
    [a.supervisor]: label.supervisor,
    [a.predicted]: label.predicted,
    [a.expected]: label.expected,
    [a.labelSource]: "golden"
  })

/** Which worker should have been chosen, as far as the end of a task shows it. */
const labels = (task: OpenTask, before: Memory): ReadonlyArray<Measurement> => {
  const { accepted, group, orders } = task
  if (accepted === undefined || orders.size === 0) return nothing
  const cell = (predicted: string): Measurement =>
    measured("espalier.routing.evaluations", 1, {
      [a.supervisor]: before.supervisorOf(group),
      [a.predicted]: predicted,
      [a.expected]: accepted,
      [a.labelSource]: "outcome"
    })
  const [first] = orders.keys()
  if (first === accepted) return [cell(accepted)]
  return [...orders].flatMap(([worker, { outcome }]) =>
    worker !== accepted && outcome !== undefined && wrong.has(outcome) ? [cell(worker)] : []
  )
}

/** What people answered to the question who is to have a task. */
const rerouted = (answer: unknown, { event }: OpenReview, before: Memory): ReadonlyArray<Measurement> => {
  const { choices, group } = event.facts
  if (typeof answer !== "string" || !Array.isArray(choices) || !choices.includes(answer)) return nothing
  return [
    measured("espalier.routing.evaluations", 1, {
      [a.supervisor]: before.supervisorOf(typeof group === "string" ? group : ""),
      [a.predicted]: nobody,
      [a.expected]: answer,
      [a.labelSource]: "human"
    })
  ]
}

const chosen = (event: Of<"Decided" | "DecisionFailed">, before: Memory): ReadonlyArray<Measurement> => {
  const choice = before.choices.get(event.consult)
  if (choice === undefined) return nothing
  return [
    measured("espalier.routing.duration", seconds(event.at - choice.at - choice.waiting.at(event.at)), {
      [a.supervisor]: before.supervisorOf(event.subject),
      [a.purpose]: word(choice.purpose),
      [a.method]: choice.models > 0 ? "llm" : "rule",
      [a.errorType]: event._tag === "DecisionFailed" ? errorTypeOfEnd(endOfChoice(event)) : undefined
    })
  ]
}

/** @since 0.1.0 */
export const routing: Measure = (event, before) => {
  switch (event._tag) {
    case "Routed": {
      const task = before.tasks.get(event.task)
      if (task === undefined) return nothing
      const supervisor = before.supervisorOf(task.group)
      return [
        measured("espalier.routing.decisions", 1, {
          [a.supervisor]: supervisor,
          [a.selected]: event.worker,
          [a.method]: task.orders.size > 0 ? "fallback" : task.method,
          [a.workflow]: before.desk
        }),
        measured("espalier.routing.candidates", event.candidates.length, { [a.supervisor]: supervisor })
      ]
    }
    case "Decided":
    case "DecisionFailed":
      return chosen(event, before)
    case "ReviewOpened": {
      if (event.kind !== "routing") return nothing
      const { group } = event.facts
      return [
        measured("espalier.routing.decisions", 1, {
          [a.supervisor]: before.supervisorOf(typeof group === "string" ? group : ""),
          [a.selected]: nobody,
          [a.method]: "fallback",
          [a.workflow]: before.desk
        })
      ]
    }
    case "ReviewDecided": {
      const review = before.reviews.get(event.review)
      if (review?.event.kind !== "routing" || event.decision !== "answer") return nothing
      return rerouted(event.answer, review, before)
    }
    case "TaskEnded": {
      const task = before.tasks.get(event.task)
      return task === undefined || event.status !== "accepted" ? nothing : labels(task, before)
    }
    default:
      return nothing
  }
}
