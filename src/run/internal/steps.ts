/**
 * What each event says in a few words.
 *
 * @since 0.1.0
 */
import type { RunEvent } from "../RunEvent.ts"
import { many } from "./problems.ts"
import { instantOf } from "./text.ts"

/** What the run itself is called. */
const run = "run"

const subjectOf = (event: RunEvent): string => {
  switch (event._tag) {
    case "Dispatched":
    case "AttemptFailed":
    case "Recalled":
    case "Reported":
    case "Overrun":
    case "Spent":
      return event.dispatch
    case "Consulted":
    case "Decided":
    case "DecisionFailed":
      return event.consult
    case "TasksAdded":
    case "GroupStopping":
    case "Merged":
      return event.group === "" ? run : event.group
    case "DeadlinePassed":
    case "Noticed":
      return event.subject === "" ? run : event.subject
    case "HealthChanged":
      return event.worker
    case "EffectIntended":
    case "EffectSettled":
    case "EffectQuarantined":
      return event.effect
    case "ReviewOpened":
    case "ReviewDecided":
    case "ReviewVoted":
    case "ReviewAdvanced":
    case "ReviewExpired":
    case "ReviewWithdrawn":
    case "ReviewChanged":
    case "ReviewRefused":
    case "GrantStalled":
    case "GrantGiven":
    case "GrantRevoked":
    case "Notified":
      return event.review
    case "Parked":
    case "Unparked":
      return event.dispatch
    case "TimerSet":
    case "TimerFired":
      return event.timer
    case "RunStarted":
    case "RunSuspended":
    case "RunResumed":
    case "RunFinished":
    case "AutonomyChanged":
    case "CancelRequested":
      return run
    default:
      return event.task
  }
}

const listed = (...parts: ReadonlyArray<string>): string => parts.filter((part) => part !== "").join(", ")

/** What was checked of a result. */
const checked = ({ result }: Extract<RunEvent, { readonly _tag: "Reported" | "Merged" }>): string =>
  listed(
    `result ${result.status}`,
    result.error === undefined ? `confidence ${result.confidence}` : result.error.kind,
    result.evidence.length === 0 ? "" : `${result.evidence.length} evidence`,
    result.missing.length === 0 ? "" : `${result.missing.length} missing`,
    result.findings === undefined || result.findings.length === 0 ? "" : many(result.findings.length, "finding")
  )

const whatOf = (event: RunEvent): string => {
  switch (event._tag) {
    case "RunStarted":
      return `${event.desk} ${event.version}, ${many(event.tasks.length, "task")}${event.tier === undefined ? "" : `, tier ${event.tier}`}`
    case "GroupOpened":
      return `opened as ${event.kind}, ${many(event.tasks.length, "task")}`
    case "TasksAdded":
      return `added ${event.tasks.map(({ id }) => id).join(", ")}`
    case "GroupStopping":
      return `stopping, ${event.reason}`
    case "Merged":
      return `${event.outcome} (${checked(event)})`
    case "Consulted":
      return `asked for a choice, ${event.purpose}`
    case "Decided":
      return "decided"
    case "DecisionFailed":
      return `failed, ${event.error.kind}`
    case "Routed":
      return `routed to ${event.worker}`
    case "Confirmed":
      return `${event.allowed ? "confirmed" : "refused"} for ${event.worker} by the supervisor`
    case "ContractRefused":
      return `contract refused for ${event.worker}`
    case "BudgetRefused":
      return `refused by ${event.account}: ${event.asked} of ${event.measure}, the limit is ${event.limit}`
    case "Reused":
      return `reused from ${event.of}, version ${event.version}`
    case "Dispatched":
      return `given to ${event.worker}, contract ${event.contract}`
    case "AttemptFailed":
      return `attempt ${event.attempt} failed, ${event.kind}`
    case "Recalled":
      return `recalled, ${event.reason}`
    case "Reported":
      return `${event.outcome} (${checked(event)})`
    case "Overrun":
      return `overran ${event.account}: ${event.settled} of ${event.measure}`
    case "Spent":
      return `paid for a call, ${event.what}`
    case "ReviewOpened":
      return `asked, ${event.kind}${event.task === undefined ? "" : ` of ${event.task}`}`
    case "ReviewDecided":
      return `${event.decision} by ${event.by}`
    case "ReviewVoted":
      return `a vote to ${event.decision} by ${event.by}`
    case "ReviewAdvanced":
      return `${event.what}, stage ${event.stage + 1}`
    case "ReviewExpired":
      return `expired, ${event.action}`
    case "ReviewWithdrawn":
      return `withdrawn${event.by === undefined ? "" : ` by ${event.by}`}`
    case "ReviewChanged":
      return `${event.what} by ${event.by}`
    case "ReviewRefused":
      return `${event.decision} by ${event.by} refused, ${event.because}`
    case "GrantStalled":
      return `an approval ${event.what}`
    case "GrantGiven":
      return `${event.grant.uses} uses of ${event.grant.tool} let be done by ${event.by}`
    case "GrantRevoked":
      return `the grant taken back by ${event.by}`
    case "Notified":
      return `${event.ok ? "told" : "not told"}, ${event.what}`
    case "Parked":
      return "waits for answers"
    case "Unparked":
      return `begun anew at ${event.worker}`
    case "TaskEnded":
      return event.status
    case "HealthChanged":
      return event.health
    case "AutonomyChanged":
      return `tier ${event.from} to ${event.to} by ${event.by}`
    case "DeadlinePassed":
      return "deadline passed"
    case "CancelRequested":
      return `end asked for by ${event.by}`
    case "Noticed":
      return event.what
    case "RunSuspended":
      return `suspended, ${event.reason}`
    case "RunResumed":
      return "resumed"
    case "RunFinished":
      return listed(event.status, event.stopReason, event.degraded ? "degraded" : "")
    case "EffectIntended":
      return `${event.name} intended`
    case "EffectSettled":
      return `${event.outcome} by ${event.by}`
    case "EffectQuarantined":
      return event.happened ? "quarantined, it has happened" : "quarantined"
    case "TimerSet":
      return `${event.purpose}, due ${instantOf(event.due)}`
    case "TimerFired":
      return "fired"
  }
}

/** An event in plain words. */
export const stepOf = (event: RunEvent) => ({
  at: event.at,
  type: event._tag,
  subject: subjectOf(event),
  what: whatOf(event),
  note: event.note
})
