/**
 * The names of the attributes of metrics, and the words that are their values.
 *
 * @since 0.1.0
 */
import type { ErrorKind } from "../../run/Result.ts"
import type { DispatchEnd } from "../../run/RunEvent.ts"

/** Names of the GenAI conventions are made here alone. */
export const genAi = (name: string): string => `${["gen", "ai"].join("_")}.${name}`

/** @since 0.1.0 */
export const attribute = {
  actorKind: "espalier.review.actor_kind",
  agent: genAi("agent.name"),
  aggregation: "espalier.agg",
  breaker: "espalier.breaker.name",
  breakerState: "espalier.breaker.state",
  cause: "espalier.revision.cause",
  childKind: "espalier.node.kind",
  childState: "espalier.node.state",
  conflict: "espalier.review.conflict",
  consumer: "espalier.handoff.consumer",
  costKind: "espalier.cost.kind",
  currency: "espalier.cost.currency",
  deadReason: "espalier.deadletter.reason",
  decision: "espalier.review.decision",
  dedup: "espalier.dedup",
  degraded: "espalier.run.degraded",
  errorType: "error.type",
  exhaustion: "espalier.budget.action",
  exitReason: "espalier.exit.reason",
  expected: "espalier.routing.expected",
  firstAttempt: "espalier.task.first_attempt",
  from: "espalier.delegation.from",
  fromState: "espalier.breaker.from",
  kindPath: "espalier.node.kind_path",
  labelSource: "espalier.routing.label_source",
  loopAction: "espalier.loop.action",
  measure: "espalier.budget.kind",
  method: "espalier.routing.method",
  metric: "espalier.metric.name",
  modality: genAi("token.modality"),
  model: genAi("request.model"),
  operation: genAi("operation.name"),
  outcome: "espalier.outcome",
  overflow: "espalier.overflow",
  overflowPolicy: "espalier.overflow.policy",
  pool: "espalier.worker.name",
  predicted: "espalier.routing.predicted",
  producer: "espalier.handoff.producer",
  provider: genAi("provider.name"),
  purpose: "espalier.routing.purpose",
  recovery: "espalier.recovery.cause",
  result: "espalier.task.result",
  reviewKind: "espalier.review.kind",
  reviewReason: "espalier.review.reason",
  rework: "espalier.cost.rework",
  risk: "espalier.review.risk",
  runStatus: "espalier.run.status",
  scope: "espalier.budget.scope",
  scorer: "espalier.evaluation.scorer",
  selected: "espalier.routing.selected",
  signal: "espalier.telemetry.signal",
  dropReason: "espalier.telemetry.reason",
  stage: "espalier.review.stage",
  stopReason: "espalier.run.stop_reason",
  strategy: "espalier.supervisor.strategy",
  supervisor: "espalier.supervisor",
  suspendReason: "espalier.run.suspend_reason",
  target: "espalier.escalation.target",
  taskState: "espalier.task.state",
  toState: "espalier.breaker.to",
  to: "espalier.delegation.to",
  tokenKind: "espalier.token.kind",
  tokenType: genAi("token.type"),
  tool: genAi("tool.name"),
  verdict: "espalier.verification.verdict",
  verification: "espalier.verification.source",
  workflow: "espalier.workflow.type"
} as const

/** A word of the API as the value of an attribute: `timed-out` is `timed_out` there. */
export const word = (text: string): string => text.replaceAll("-", "_")

/** What something failed of, where it failed of something that is to blame on it. */
export const errorOf = (kind: ErrorKind | undefined, outcome?: DispatchEnd | undefined): string | undefined => {
  if (outcome === "timed-out") return "timeout"
  if (outcome === "rejected-contract") return "contract_violation"
  switch (kind) {
    case undefined:
      return outcome === "crashed" ? "crash" : undefined
    case "defect":
      return "crash"
    case "malformed":
      return "invalid_output"
    case "exhausted":
      return "budget_exceeded"
    default:
      return kind
  }
}
