import type { Schema } from "effect"
/** What workers, people and whoever is asked for choices may tell a run: drawn from dice, within what the run allows. */
import { Coordinator, type Result, type RunEvent, type RunState } from "espalier/run"

import { envelope } from "../../run/simulate.ts"
import type { Trouble } from "./case.ts"
import type { Dice } from "./fate.ts"

type Reported = Pick<RunEvent.Of<"Reported">, "outcome" | "result">

const kinds: ReadonlyArray<Result.ErrorKind> = [
  "transient",
  "transient",
  "capability",
  "oversized",
  "malformed",
  "denied",
  "exhausted",
  "defect"
]

const outcomeOf = (kind: Result.ErrorKind): RunEvent.DispatchEnd =>
  kind === "denied"
    ? "denied"
    : kind === "malformed"
      ? "rejected-quality"
      : kind === "capability"
        ? "refused"
        : "failed"

const failed = (kind: Result.ErrorKind, reason: string, usage: Result.Usage): Result.Envelope =>
  envelope({ status: "failed", confidence: 0, usage, error: { kind, reason } })

/** What a dispatch reports. `reserved`: tokens that were set aside for it; now and then it uses more. */
export const reportOf = (
  { below, next, pick }: Dice,
  { failing, odd }: Trouble,
  recalled: RunEvent.StopReason | undefined,
  reserved: number | undefined
): Reported => {
  const usage = next() < 0.1 ? {} : { tokens: next() < 0.05 ? 200 : below((reserved ?? 20) + 1) }
  const roll = next()
  if (recalled !== undefined && next() < 0.8) {
    const late = recalled === "deadline"
    const used = next() < 0.5 ? {} : usage
    return {
      outcome: late ? "timed-out" : "cancelled",
      result: failed(late ? "exhausted" : "transient", "called back", used)
    }
  }
  if (roll < failing) {
    const kind = pick(kinds)
    return { outcome: outcomeOf(kind), result: failed(kind, "it broke", usage) }
  }
  if (roll < failing + odd) {
    const question = next() < 0.3 ? { ambiguity: "Which one?" } : {}
    const status = next() < 0.3 ? "needs-review" : "partial"
    const missing = [{ part: "p", reason: "q" }]
    return {
      outcome: "partial",
      result: envelope({ status, output: 1, usage, missing, confidence: next(), ...question })
    }
  }
  const severity = pick(["low", "medium", "high"] as const)
  const findings = next() < odd / 2 ? [{ severity, statement: "It smells" }] : []
  const confidence = next() < 0.3 ? next() : 1
  return { outcome: "accepted", result: envelope({ output: 1, usage, confidence, findings }) }
}

/** What the tasks of a group come to. `whole`: nothing of it is missing. */
export const mergedOf = ({ next }: Dice, useful: number, whole: boolean): Reported => {
  if (useful === 0) return { outcome: "refused", result: failed("capability", "no task gave a result", {}) }
  if (whole) return { outcome: "accepted", result: envelope({ output: {}, confidence: next() }) }
  const missing = [{ part: "p", reason: "it is not there" }]
  return { outcome: "partial", result: envelope({ status: "partial", output: {}, missing }) }
}

/** The tasks in whose place a task is split, planned anew or followed up; undefined when it cannot be. */
export const insteadOf = (
  task: Coordinator.Task<never, unknown>,
  purpose: RunEvent.Purpose
): Schema.Json | undefined => {
  // The functions of a case look at nothing of this.
  const failing = { contract: undefined as never, accepted: {}, reason: "", failing: [] }
  const made =
    purpose === "decompose"
      ? task.decompose?.(failing)
      : purpose === "re-plan"
        ? task.replan?.(failing)
        : task.followUp === undefined
          ? undefined
          : [task.followUp(failing)]
  return made?.map((each) => Coordinator.plannedData(each)) as Schema.Json | undefined
}

/** What a person decides. `answers`: how often they were asked about it; `routes`: what a router may be told. */
export const decisionOn = (
  { pick }: Dice,
  { allowed, kind, review }: Pick<RunState.ReviewState, "allowed" | "kind" | "review">,
  answers: number,
  routes: ReadonlyArray<string>
) => {
  // A person who has something tried again for ever would keep the run from ending.
  const patient = answers < 4
  const choices = allowed.filter((each) => patient || (each !== "retry" && each !== "answer"))
  const decision = patient || kind !== "budget-increase" ? pick(choices) : "reject"
  const answer = kind === "routing" && routes.length > 0 ? pick(routes) : "that one"
  return {
    review,
    decision,
    by: "somebody",
    ...(decision === "answer" ? { answer } : {}),
    ...(kind === "budget-increase" && decision === "approve" ? { raise: { tokens: 1_000 } } : {})
  }
}
