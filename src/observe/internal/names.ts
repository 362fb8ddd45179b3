/**
 * The names of the attributes of metrics, and the words that are their values.
 *
 * @since 0.1.0
 */
import { espalier, names } from "../SemConv.ts"

/** Those of the conventions that metrics have are the same in both profiles, or there in one of them. */
const [now, before] = [names("genai-0.1").attributes, names("semconv-1.41").attributes]

/** @since 0.1.0 */
export const attribute = {
  actorKind: espalier.reviewActorKind,
  agent: now.agentName,
  aggregation: "espalier.agg",
  breaker: espalier.breakerName,
  breakerState: espalier.breakerState,
  cause: "espalier.revision.cause",
  childKind: "espalier.node.kind",
  childState: espalier.nodeState,
  conflict: "espalier.review.conflict",
  consumer: "espalier.handoff.consumer",
  costKind: "espalier.cost.kind",
  currency: espalier.costCurrency,
  deadReason: "espalier.deadletter.reason",
  decision: espalier.reviewDecision,
  dedup: "espalier.dedup",
  degraded: "espalier.run.degraded",
  errorType: now.errorType,
  exhaustion: espalier.budgetAction,
  exitReason: "espalier.exit.reason",
  expected: "espalier.routing.expected",
  firstAttempt: "espalier.task.first_attempt",
  from: espalier.delegationFrom,
  fromState: espalier.breakerFrom,
  kindPath: espalier.nodeKindPath,
  labelSource: "espalier.routing.label_source",
  loopAction: espalier.loopAction,
  measure: espalier.budgetKind,
  method: espalier.routingMethod,
  metric: "espalier.metric.name",
  modality: now.tokenModality ?? "",
  model: now.requestModel,
  operation: now.operationName,
  outcome: espalier.outcome,
  overflow: espalier.overflow,
  overflowPolicy: "espalier.overflow.policy",
  pool: "espalier.worker.name",
  predicted: "espalier.routing.predicted",
  producer: "espalier.handoff.producer",
  provider: now.providerName,
  purpose: "espalier.routing.purpose",
  recovery: "espalier.recovery.cause",
  result: espalier.taskResult,
  reviewKind: espalier.reviewKind,
  reviewReason: espalier.reviewReason,
  rework: "espalier.cost.rework",
  risk: espalier.reviewRisk,
  runStatus: espalier.runStatus,
  scope: espalier.budgetScope,
  scorer: "espalier.evaluation.scorer",
  selected: espalier.routingSelected,
  signal: espalier.telemetrySignal,
  dropReason: espalier.telemetryReason,
  stage: espalier.reviewStage,
  stopReason: espalier.runStopReason,
  strategy: espalier.supervisorStrategy,
  supervisor: espalier.supervisor,
  suspendReason: "espalier.run.suspend_reason",
  target: "espalier.escalation.target",
  taskState: "espalier.task.state",
  toState: espalier.breakerTo,
  to: espalier.delegationTo,
  tokenKind: "espalier.token.kind",
  tokenType: before.tokenType ?? "",
  tool: now.toolName,
  verdict: "espalier.verification.verdict",
  verification: "espalier.verification.source",
  workflow: espalier.workflowType
} as const

/** A word of the API as the value of an attribute. */
export { value as word } from "../SemConv.ts"
