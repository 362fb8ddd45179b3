/**
 * The names that are espalier's own: of attributes, spans, events and links.
 *
 * @since 0.1.0
 */

/**
 * Attributes of spans and events that the conventions have no name for.
 *
 * **Gotchas**
 *
 * Those whose names end in `id`, `path`, `key_hash` or `from` and `to` of an instance are never put on metrics.
 *
 * @category attributes
 * @since 0.1.0
 */
export const espalier = {
  runId: "espalier.run.id",
  runStatus: "espalier.run.status",
  runStopReason: "espalier.run.stop_reason",
  workflowType: "espalier.workflow.type",
  segmentIndex: "espalier.segment.index",
  segmentCause: "espalier.segment.cause",
  segmentLost: "espalier.segment.lost",
  nodePath: "espalier.node.path",
  nodeKindPath: "espalier.node.kind_path",
  nodeRole: "espalier.node.role",
  nodeState: "espalier.node.state",
  domain: "espalier.domain",
  worker: "espalier.worker",
  taskId: "espalier.task.id",
  taskAttempt: "espalier.task.attempt",
  taskResult: "espalier.task.result",
  dispatchId: "espalier.dispatch.id",
  delegationId: "espalier.delegation.id",
  delegationFrom: "espalier.delegation.from",
  delegationTo: "espalier.delegation.to",
  delegationMode: "espalier.delegation.mode",
  outcome: "espalier.outcome",
  failureKind: "espalier.failure.kind",
  supervisor: "espalier.supervisor",
  supervisorStrategy: "espalier.supervisor.strategy",
  restartUsage: "espalier.supervisor.restart.usage",
  restartLimit: "espalier.supervisor.restart.limit",
  mailboxWaitTime: "espalier.mailbox.wait_time",
  contextWindowLimit: "espalier.context_window.limit",
  contextWindowUtilization: "espalier.context_window.utilization",
  budgetTokensUsed: "espalier.budget.tokens.used",
  budgetTokensLimit: "espalier.budget.tokens.limit",
  budgetCostUsed: "espalier.budget.cost.used",
  budgetCostLimit: "espalier.budget.cost.limit",
  budgetScope: "espalier.budget.scope",
  budgetKind: "espalier.budget.kind",
  budgetAction: "espalier.budget.action",
  usageInputTokens: "espalier.usage.input_tokens",
  usageOutputTokens: "espalier.usage.output_tokens",
  usageTokens: "espalier.usage.tokens",
  usageCost: "espalier.usage.cost",
  usageUnknownCalls: "espalier.usage.unknown_calls",
  usageUnpricedCalls: "espalier.usage.unpriced_calls",
  costAmount: "espalier.cost.amount",
  costCurrency: "espalier.cost.currency",
  costSource: "espalier.cost.source",
  reviewId: "espalier.review.id",
  reviewKind: "espalier.review.kind",
  reviewReason: "espalier.review.reason",
  reviewRisk: "espalier.review.risk",
  reviewStage: "espalier.review.stage",
  reviewDecision: "espalier.review.decision",
  reviewWaitTime: "espalier.review.wait_time",
  reviewRevision: "espalier.review.revision",
  reviewActorKind: "espalier.review.actor_kind",
  reviewActorHash: "espalier.review.actor_hash",
  breakerName: "espalier.breaker.name",
  breakerState: "espalier.breaker.state",
  breakerFrom: "espalier.breaker.from",
  breakerTo: "espalier.breaker.to",
  autonomyTier: "espalier.autonomy.tier",
  idempotencyKeyHash: "espalier.idempotency.key_hash",
  checkpointId: "espalier.checkpoint.id",
  checkpointSeq: "espalier.checkpoint.seq",
  checkpointSize: "espalier.checkpoint.size",
  routingCandidates: "espalier.routing.candidates",
  routingSelected: "espalier.routing.selected",
  routingMethod: "espalier.routing.method",
  loopKind: "espalier.loop.kind",
  loopAction: "espalier.loop.action",
  replayedCount: "espalier.replayed.count",
  spansDropped: "espalier.spans.dropped",
  streamed: "espalier.streamed",
  captureTruncated: "espalier.capture.truncated",
  linkType: "espalier.link.type",
  telemetrySignal: "espalier.telemetry.signal",
  telemetryReason: "espalier.telemetry.reason",
  overflow: "espalier.overflow"
} as const

/**
 * Names of espalier's events, which are log records with the trace they belong to.
 *
 * @category events
 * @since 0.1.0
 */
export const events = {
  childExit: "espalier.supervisor.child_exit",
  restart: "espalier.supervisor.restart",
  intensityExceeded: "espalier.supervisor.intensity_exceeded",
  escalated: "espalier.supervisor.escalated",
  breakerTransition: "espalier.breaker.transition",
  loopDetected: "espalier.loop.detected",
  checkpointWritten: "espalier.checkpoint.written",
  budgetThreshold: "espalier.budget.threshold",
  contextWindowThreshold: "espalier.context_window.threshold",
  segmentLost: "espalier.segment.lost",
  replayed: "espalier.replayed"
} as const

/**
 * What a link between spans says, as the value of `espalier.link.type`.
 *
 * @category links
 * @since 0.1.0
 */
export const links = {
  resumedFrom: "resumed_from",
  decidedBy: "decided_by",
  triggeredBy: "triggered_by",
  recovers: "recovers",
  restartOf: "restart_of",
  runOrigin: "run_origin",
  answers: "answers",
  delegatedFrom: "delegated_from",
  gathers: "gathers"
} as const

/**
 * @category links
 * @since 0.1.0
 */
export type LinkType = (typeof links)[keyof typeof links]

/**
 * What a span is about, as the value of the attribute of the operation.
 *
 * @category spans
 * @since 0.1.0
 */
export const operations = {
  chat: "chat",
  embeddings: "embeddings",
  plan: "plan",
  createAgent: "create_agent",
  invokeAgent: "invoke_agent",
  invokeWorkflow: "invoke_workflow",
  executeTool: "execute_tool"
} as const

const named = (operation: string) => (name?: string) => (name === undefined ? operation : `${operation} ${name}`)

/**
 * Names of spans. A name is made of kinds of things only, never of an id, so that there are few of them.
 *
 * @category spans
 * @since 0.1.0
 */
export const spanName = {
  chat: named(operations.chat),
  embeddings: named(operations.embeddings),
  plan: named(operations.plan),
  invokeAgent: named(operations.invokeAgent),
  invokeWorkflow: named(operations.invokeWorkflow),
  executeTool: named(operations.executeTool),
  segment: "espalier.segment",
  delegate: named("espalier.delegate"),
  gather: "espalier.gather",
  reviewRequest: "espalier.review request",
  reviewDecide: "espalier.review decide"
} as const
