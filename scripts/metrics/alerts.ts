/** The alerts that go with the metrics: rules of Prometheus, and what each of them means. */
import type { SemConv } from "espalier/observe"

import { asked, asksFor, profilesOf } from "./profiles.ts"

/** A rule that records what others are made of. */
export interface Recording {
  readonly record: string
  readonly expr: string
  readonly about: string
}

/** `severity`: somebody should look (`warn`), or somebody is called (`page`). */
export interface Alert {
  readonly alert: string
  readonly section: string
  readonly severity: "warn" | "page"
  readonly expr: string
  readonly for: string
  readonly means: string
  readonly act: string
}

/** What differs from place to place: change it in the file that is made, or here. */
export const assumed = {
  /** share of tasks that have to be finished, by workflow */
  completion: 0.95,
  /** what may be spent in an hour, in the currency of the series */
  hourlyBudget: 10,
  /** how long a question may stay open: the last step of the default ladder */
  deadlineSeconds: 72 * 3600
} as const

/**
 * By how much a counter rose. What was not there a window ago counts as a whole: `increase` alone does not see the first event, with
 * which a series comes up at 1.
 */
const rose = (by: string, counter: string, window: string): string =>
  `sum${by === "" ? "" : ` by (${by})`} ((${counter} unless ${counter} offset ${window}) or increase(${counter}[${window}]))`

const evaluations = "espalier_routing_evaluations"
const cells = `sum by (espalier_supervisor, espalier_routing_label_source, espalier_routing_predicted, espalier_routing_expected) (increase(${evaluations}[14d]))`
const same = "espalier_supervisor, espalier_routing_label_source"
const asWorker = (expr: string, label: string): string =>
  `label_replace(${expr}, "espalier_worker", "$1", "${label}", "(.+)")`
const predicted = `sum by (${same}, espalier_routing_predicted) (increase(${evaluations}[14d]))`
const expected = `sum by (${same}, espalier_routing_expected) (increase(${evaluations}[14d]))`
const diagonal = `${cells} and on (${same}, espalier_routing_predicted, espalier_routing_expected) label_replace(${predicted}, "espalier_routing_expected", "$1", "espalier_routing_predicted", "(.+)")`

const tokensOfModel = (metric: string): string => `sum by (gen_ai_request_model) (rate(${metric}[1h]))`

export const recordings: ReadonlyArray<Recording> = [
  {
    record: "espalier:routing_predicted:14d",
    expr: `sum by (${same}, espalier_worker) (${asWorker(predicted, "espalier_routing_predicted")})`,
    about: "choices of a worker that have a label"
  },
  {
    record: "espalier:routing_expected:14d",
    expr: `sum by (${same}, espalier_worker) (${asWorker(expected, "espalier_routing_expected")})`,
    about: "labels of a worker"
  },
  {
    record: "espalier:routing_hits:14d",
    expr: `sum by (${same}, espalier_worker) (${asWorker(diagonal, "espalier_routing_predicted")}) or 0 * espalier:routing_predicted:14d or 0 * espalier:routing_expected:14d`,
    about: "choices of a worker that were right"
  },
  {
    record: "espalier:routing_recall:14d",
    expr: "espalier:routing_hits:14d / espalier:routing_expected:14d",
    about: "recall of a worker"
  },
  {
    record: "espalier:routing_precision:14d",
    expr: "espalier:routing_hits:14d / espalier:routing_predicted:14d",
    about: "precision of a worker"
  },
  {
    record: "espalier:routing_f1:14d",
    expr: "2 * espalier:routing_hits:14d / ((espalier:routing_predicted:14d or 0 * espalier:routing_hits:14d) + (espalier:routing_expected:14d or 0 * espalier:routing_hits:14d))",
    about: "F1 of a worker"
  },
  {
    record: "espalier:routing_macro_f1:14d",
    expr: `avg by (${same}) (espalier:routing_f1:14d)`,
    about: "mean F1 of all workers, each the same"
  },
  {
    record: "espalier:routing_abstention:1h",
    expr: 'sum by (espalier_supervisor) (rate(espalier_routing_decisions{espalier_routing_selected="none"}[1h])) / sum by (espalier_supervisor) (rate(espalier_routing_decisions[1h]))',
    about: "share of choices of nobody"
  },
  {
    record: "espalier:edge_success:1h",
    expr: 'sum by (espalier_delegation_from, espalier_delegation_to) (rate(espalier_delegation_attempts{espalier_outcome="accepted"}[1h])) / sum by (espalier_delegation_from, espalier_delegation_to) (rate(espalier_delegation_attempts{espalier_outcome!="cancelled"}[1h]))',
    about: "share of orders on an edge that were accepted"
  },
  {
    record: "espalier:finished:1h",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result=~"accepted|partial"}[1h])) / sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result!~"cancelled|skipped"}[1h]))',
    about: "share of tasks that were finished, in an hour"
  },
  {
    record: "espalier:finished:6h",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result=~"accepted|partial"}[6h])) / sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result!~"cancelled|skipped"}[6h]))',
    about: "the same in six hours"
  },
  {
    record: "espalier:escalation:6h",
    expr: "sum by (espalier_workflow_type) (rate(espalier_review_requests[6h])) / sum by (espalier_workflow_type) (rate(espalier_task_results[6h]))",
    about: "questions to people for each task that is over"
  },
  {
    record: "espalier:cost_per_accepted:6h",
    expr: 'sum by (espalier_workflow_type, espalier_cost_currency) (rate(espalier_cost_spent[6h])) / on (espalier_workflow_type) group_left () sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result="accepted"}[6h]))',
    about: "all that was spent for each task that was accepted: waste is charged to success"
  },
  {
    record: "espalier:cache_share:1h",
    expr: `${asked("cacheReadTokens", tokensOfModel)} / ${asked("inputTokens", tokensOfModel)}`,
    about: "share of the input of a model that came out of its cache"
  }
]

const ratio = (part: string, whole: string, by: string, window: string): string =>
  `sum by (${by}) (increase(${part}[${window}])) / sum by (${by}) (increase(${whole}[${window}]))`

const edge = "espalier_delegation_from, espalier_delegation_to"
const workflow = "espalier_workflow_type"
const attempts = `sum by (${edge}) (increase(espalier_delegation_attempts{espalier_outcome!="cancelled"}[1h]))`
const quantile = (q: number, metric: string, by: string, window: string): string =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket[${window}])))`

export const alerts: ReadonlyArray<Alert> = [
  {
    alert: "EspalierRoutingQualityDropped",
    section: "Routing",
    severity: "warn",
    expr: 'espalier:routing_macro_f1:14d{espalier_routing_label_source="golden"} < avg_over_time(espalier:routing_macro_f1:14d{espalier_routing_label_source="golden"}[14d]) - 0.05',
    for: "1h",
    means: "on the golden set, macro-F1 is more than 0.05 below its mean of two weeks",
    act: "look at what changed since: prompt, model, descriptions of workers"
  },
  {
    alert: "EspalierRoutingRecallLow",
    section: "Routing",
    severity: "warn",
    expr: `espalier:routing_recall:14d < 0.6 and espalier:routing_expected:14d >= 30`,
    for: "1h",
    means: "a worker is found in fewer than 60 % of the cases that are its own, with 30 labels or more",
    act: "see by the matrix who gets its work, and tell the two descriptions apart"
  },
  {
    alert: "EspalierRoutingConcentrated",
    section: "Routing",
    severity: "warn",
    expr: 'max by (espalier_supervisor) (sum by (espalier_supervisor, espalier_routing_selected) (increase(espalier_routing_decisions{espalier_routing_selected!="none"}[1d]))) / sum by (espalier_supervisor) (increase(espalier_routing_decisions[1d])) > 0.6 and count by (espalier_supervisor) (sum by (espalier_supervisor, espalier_routing_selected) (espalier_routing_decisions{espalier_routing_selected!="none"})) >= 4',
    for: "1h",
    means: "one of four workers or more gets over 60 % of the tasks",
    act: "a router that does not route looks like this; so does a workload that is like that"
  },
  {
    alert: "EspalierRoutingAbstains",
    section: "Routing",
    severity: "warn",
    expr: "espalier:routing_abstention:1h > 2 * (espalier:routing_abstention:1h offset 1h) and espalier:routing_abstention:1h > 0.05",
    for: "10m",
    means: "twice as many choices of nobody as an hour ago",
    act: "new kinds of tasks, or a router that fails: see its errors"
  },
  {
    alert: "EspalierEdgeFailing",
    section: "Handoffs",
    severity: "warn",
    expr: `espalier:edge_success:1h < 0.9 and on (${edge}) ${attempts} >= 20`,
    for: "10m",
    means: "fewer than 90 % of the orders on an edge are accepted, of 20 or more",
    act: "see by outcome what they end with"
  },
  {
    alert: "EspalierEdgeBroken",
    section: "Handoffs",
    severity: "page",
    expr: `espalier:edge_success:1h < 0.7 and on (${edge}) ${attempts} >= 20`,
    for: "10m",
    means: "fewer than 70 % are",
    act: "the worker or what it depends on is broken: withdraw it, or fix it"
  },
  {
    alert: "EspalierEdgeRefused",
    section: "Handoffs",
    severity: "warn",
    expr: `${ratio('espalier_delegation_attempts{espalier_outcome="refused"}', "espalier_delegation_attempts", edge, "1h")} > 0.15 and on (${edge}) ${attempts} >= 20`,
    for: "10m",
    means: "a worker says of more than 15 % of its orders that they are not its own",
    act: "the choice is wrong, or what the worker says of itself is"
  },
  {
    alert: "EspalierContractRejected",
    section: "Handoffs",
    severity: "warn",
    expr: `${ratio('espalier_delegation_attempts{espalier_outcome="rejected_contract"}', "espalier_delegation_attempts", edge, "1h")} > 0.02 and on (${edge}) ${attempts} >= 20`,
    for: "10m",
    means: "more than 2 % of the answers do not fit their schema",
    act: "a prompt or a model has changed"
  },
  {
    alert: "EspalierStepsGrow",
    section: "Loops and retries",
    severity: "warn",
    expr: `${quantile(0.95, "espalier_task_steps", workflow, "1d")} > 1.5 * ${quantile(0.95, "espalier_task_steps", workflow, "1d").replace("[1d]", "[1d] offset 7d")}`,
    for: "1h",
    means: "tasks take half as many steps again as a week ago (p95)",
    act: "look at a long trace: the same call again, or answers that are corrected"
  },
  {
    alert: "EspalierRetriesHigh",
    section: "Loops and retries",
    severity: "warn",
    expr: `sum by (${workflow}) (rate(espalier_task_retries_sum[1h])) / sum by (${workflow}) (rate(espalier_task_retries_count[1h])) > 1`,
    for: "10m",
    means: "a task is tried more than once again, on average",
    act: "see by error.type what the last attempt failed of"
  },
  {
    alert: "EspalierLoopStopped",
    section: "Loops and retries",
    severity: "warn",
    expr: `${rose("espalier_workflow_type", 'espalier_loop_detections{espalier_loop_action="stopped"}', "15m")} > 0`,
    for: "0m",
    means: "work went round in circles and was stopped",
    act: "the audit of the run says who with whom"
  },
  {
    alert: "EspalierLoopsFrequent",
    section: "Loops and retries",
    severity: "page",
    expr: `${ratio("espalier_loop_detections", "espalier_task_results", workflow, "6h")} > 0.05`,
    for: "10m",
    means: "that happens for more than 5 % of the tasks",
    act: "stop the workflow until it is understood: it spends money and does nothing"
  },
  {
    alert: "EspalierEffectRepeated",
    section: "Loops and retries",
    severity: "page",
    expr: `${rose("gen_ai_tool_name", 'espalier_tool_duplicate_calls{espalier_dedup="executed"}', "15m")} > 0`,
    for: "0m",
    means: "an effect was begun again under the same key",
    act: "right where its host knows the key; find out whether it does"
  },
  {
    alert: "EspalierWindowFull",
    section: "Context window",
    severity: "warn",
    expr: `${quantile(0.99, "espalier_context_window_utilization", "gen_ai_agent_name, gen_ai_request_model", "10m")} > 0.7`,
    for: "10m",
    means: "one call in a hundred takes more than 70 % of the window",
    act: "compaction begins at 75 %: shorten what tools answer"
  },
  {
    alert: "EspalierWindowOverfull",
    section: "Context window",
    severity: "page",
    expr: `${quantile(0.99, "espalier_context_window_utilization", "gen_ai_agent_name, gen_ai_request_model", "10m")} > 0.85`,
    for: "10m",
    means: "more than 85 %, which compaction should not let happen",
    act: "the size of the window is not what was said, or one turn alone fills it"
  },
  {
    alert: "EspalierWindowExceeded",
    section: "Context window",
    severity: "page",
    expr: asked(
      "inferenceDuration",
      (metric) => `${rose("gen_ai_request_model", `${metric}_count{error_type="oversized"}`, "10m")} > 0`
    ),
    for: "0m",
    means: "a provider refused a prompt as too long",
    act: "correct the size of the window that the agent was given"
  },
  {
    alert: "EspalierWindowHalfFull",
    section: "Context window",
    severity: "warn",
    expr: "sum by (gen_ai_agent_name) (rate(espalier_context_window_utilization_sum[1h])) / sum by (gen_ai_agent_name) (rate(espalier_context_window_utilization_count[1h])) > 0.5",
    for: "30m",
    means: "prompts take half of the window on average",
    act: "those below return too much text: have them return references"
  },
  {
    alert: "EspalierCompletionLow",
    section: "Outcomes",
    severity: "page",
    expr: `espalier:finished:1h < ${assumed.completion} and espalier:finished:6h < ${assumed.completion}`,
    for: "5m",
    means: `fewer than ${assumed.completion * 100} % of the tasks are finished, for an hour and for six`,
    act: "see by result and error.type"
  },
  {
    alert: "EspalierResultsWrong",
    section: "Outcomes",
    severity: "page",
    expr: `sum by (${workflow}) (increase(espalier_task_verifications{espalier_verification_verdict="pass"}[1d])) / sum by (${workflow}) (increase(espalier_task_verifications{espalier_verification_verdict=~"pass|fail"}[1d])) < 0.95 and sum by (${workflow}) (increase(espalier_task_verifications{espalier_verification_verdict=~"pass|fail"}[1d])) >= 50`,
    for: "10m",
    means: "fewer than 95 % of the checks pass, of 50 or more",
    act: "see by source who found it"
  },
  {
    alert: "EspalierResultsUnverified",
    section: "Outcomes",
    severity: "warn",
    expr: `sum by (${workflow}) (increase(espalier_task_verifications[1d])) / sum by (${workflow}) (increase(espalier_task_results{espalier_task_result=~"accepted|partial"}[1d])) < 0.2`,
    for: "1h",
    means: "fewer than one finished task in five was checked by anybody",
    act: "the share of correct ones says little then: ask for evidence, or add a validator"
  },
  {
    alert: "EspalierEscalationsRise",
    section: "People",
    severity: "warn",
    expr: "espalier:escalation:6h > 2 * avg_over_time(espalier:escalation:6h[7d])",
    for: "30m",
    means: "people are asked twice as often as in the week before",
    act: "see by reason: confidence, budget, a gate, errors"
  },
  {
    alert: "EspalierEscalationsGone",
    section: "People",
    severity: "warn",
    expr: "espalier:escalation:6h < 0.1 * avg_over_time(espalier:escalation:6h[7d]) and avg_over_time(espalier:escalation:6h[7d]) > 0.01",
    for: "1h",
    means: "people are hardly asked any more",
    act: "a gate may be passed by: see who changed tiers, policies and grants"
  },
  {
    alert: "EspalierRubberStamps",
    section: "People",
    severity: "warn",
    expr: 'sum by (espalier_review_kind) (increase(espalier_review_decisions{espalier_review_decision="approved",espalier_review_actor_kind="human"}[7d])) / sum by (espalier_review_kind) (increase(espalier_review_decisions{espalier_review_actor_kind="human"}[7d])) > 0.99 and sum by (espalier_review_kind) (increase(espalier_review_decisions{espalier_review_actor_kind="human"}[7d])) >= 200',
    for: "1h",
    means: "more than 99 % of 200 answers or more are yes",
    act: "the question is none: drop the gate, or show what matters"
  },
  {
    alert: "EspalierReviewedTooFast",
    section: "People",
    severity: "warn",
    expr: 'histogram_quantile(0.5, sum by (le, espalier_review_kind) (rate(espalier_review_handling_duration_bucket{espalier_review_risk="high"}[1d]))) < 3',
    for: "1h",
    means: "half of the questions of high risk are decided within 3 seconds",
    act: "nobody reads them in that time"
  },
  {
    alert: "EspalierReviewsOld",
    section: "People",
    severity: "warn",
    expr: `espalier_review_pending_age > 0.5 * ${assumed.deadlineSeconds}`,
    for: "10m",
    means: "a question is half as old as it may get",
    act: "remind whoever is asked"
  },
  {
    alert: "EspalierReviewsOverdue",
    section: "People",
    severity: "page",
    expr: `espalier_review_pending_age > 0.8 * ${assumed.deadlineSeconds}`,
    for: "10m",
    means: "80 % of its time are over",
    act: "call whoever its stage belongs to, before silence decides"
  },
  {
    alert: "EspalierDecisionForged",
    section: "People",
    severity: "page",
    expr: `${rose("", 'espalier_review_conflicts{espalier_review_conflict="digest_mismatch"}', "15m")} > 0`,
    for: "0m",
    means: "somebody decided on something that was never shown",
    act: "a case for security: see the audit of the run"
  },
  {
    alert: "EspalierRestarts",
    section: "Supervision",
    severity: "warn",
    expr: "sum by (espalier_supervisor) (rate(espalier_supervisor_restarts[10m])) * 60 > 0.1",
    for: "10m",
    means: "children are restarted more than once in ten minutes, and it goes on",
    act: "see by kind and error.type which of them"
  },
  {
    alert: "EspalierIntensityLow",
    section: "Supervision",
    severity: "page",
    expr: "espalier_supervisor_restart_left <= 1 and espalier_supervisor_restart_limit > 1",
    for: "0m",
    means: "one more failure, and the supervisor gives up",
    act: "see what restarts, now"
  },
  {
    alert: "EspalierGaveUp",
    section: "Supervision",
    severity: "page",
    expr: `${rose("espalier_supervisor, espalier_escalation_target", "espalier_supervisor_escalations", "15m")} > 0`,
    for: "0m",
    means: "a supervisor gave up; with `root_stop` the tree is over",
    act: "what is below it is down: the log has the cause"
  },
  {
    alert: "EspalierCrashLoop",
    section: "Supervision",
    severity: "warn",
    expr: `${rose("espalier_node_kind", 'espalier_supervisor_child_lifetime_bucket{le="1",espalier_exit_reason="error"}', "10m")} > 3`,
    for: "0m",
    means: "children of a kind live for less than a second",
    act: "they fail at once: configuration, or what they depend on"
  },
  {
    alert: "EspalierBreakerOpen",
    section: "Supervision",
    severity: "page",
    expr: 'max by (espalier_breaker_name) (espalier_breaker_status{espalier_breaker_state="open"}) == 1',
    for: "5m",
    means: "a worker or a dependency has been left alone for 5 minutes",
    act: "see what its calls failed of"
  },
  {
    alert: "EspalierBreakerFlaps",
    section: "Supervision",
    severity: "warn",
    expr: `${rose("espalier_breaker_name", "espalier_breaker_transitions", "10m")} > 4`,
    for: "0m",
    means: "a breaker changes its state more than four times in ten minutes",
    act: "the probe succeeds and what follows does not: a limit of the rate?"
  },
  {
    alert: "EspalierMailboxFilling",
    section: "Supervision",
    severity: "warn",
    expr: 'espalier_mailbox_usage{espalier_agg="max"} / espalier_mailbox_limit{espalier_agg="max"} > 0.8',
    for: "5m",
    means: "a mailbox has been filled to more than 80 % for 5 minutes",
    act: "more comes in than is handled: more workers, or less work"
  },
  {
    alert: "EspalierMailboxFull",
    section: "Supervision",
    severity: "page",
    expr: 'espalier_mailbox_usage{espalier_agg="max"} / espalier_mailbox_limit{espalier_agg="max"} >= 1',
    for: "1m",
    means: "a mailbox is full: senders wait, or messages are lost",
    act: "see by rejections which of the two"
  },
  {
    alert: "EspalierWorkersBusy",
    section: "Handoffs",
    severity: "warn",
    expr: `${quantile(0.95, "espalier_pool_wait_duration", "espalier_worker_name", "10m")} > 5`,
    for: "10m",
    means: "orders wait for a free place for more than 5 seconds (p95)",
    act: "give the worker a larger pool, where what it depends on allows it"
  },
  {
    alert: "EspalierDeadLetters",
    section: "Supervision",
    severity: "warn",
    expr: `${rose("espalier_node_kind_path, espalier_deadletter_reason", "espalier_deadletter_messages", "15m")} > 0`,
    for: "0m",
    means: "messages were not handled",
    act: "see by reason"
  },
  {
    alert: "EspalierRunQuarantined",
    section: "Outcomes",
    severity: "page",
    expr: `${rose("espalier_workflow_type", 'espalier_run_suspensions{espalier_run_suspend_reason=~"quarantined|version_mismatch"}', "15m")} > 0`,
    for: "0m",
    means: "a run cannot be trusted to go on, or its desk has changed under it",
    act: "`espalier runs` has it with the reason; it goes on when somebody says so"
  },
  {
    alert: "EspalierCostHigh",
    section: "Tokens and cost",
    severity: "warn",
    expr: "espalier:cost_per_accepted:6h > 1.5 * quantile_over_time(0.5, espalier:cost_per_accepted:6h[7d])",
    for: "30m",
    means: "an accepted task costs half as much again as in the week before (median)",
    act: "see whether the accepted ones cost more, or more are not accepted"
  },
  {
    alert: "EspalierSpendingFast",
    section: "Tokens and cost",
    severity: "page",
    expr: `sum by (espalier_cost_currency) (increase(espalier_cost_spent[1h])) > 2 * ${assumed.hourlyBudget}`,
    for: "5m",
    means: `more than twice the budget of an hour (${assumed.hourlyBudget}) was spent in one`,
    act: "see by workflow, worker and model"
  },
  {
    alert: "EspalierBudgetsExhausted",
    section: "Tokens and cost",
    severity: "warn",
    expr: "sum (increase(espalier_budget_exhaustions[6h])) / sum (increase(espalier_task_results[6h])) > 0.01",
    for: "10m",
    means: "budgets were not enough for more than 1 % of the tasks",
    act: "see by scope and kind: too small, or work that goes nowhere"
  },
  {
    alert: "EspalierReworkHigh",
    section: "Tokens and cost",
    severity: "warn",
    expr: `sum by (${workflow}) (rate(espalier_task_rework_tokens[6h])) / sum by (${workflow}) (rate(espalier_task_tokens_sum{espalier_token_kind=~"input|output"}[6h])) > 0.3`,
    for: "30m",
    means: "more than 30 % of the tokens go into work that had been delivered before",
    act: "see by cause of the revisions who sends it back"
  },
  {
    alert: "EspalierCacheLost",
    section: "Tokens and cost",
    severity: "warn",
    expr: "espalier:cache_share:1h < 0.5 * avg_over_time(espalier:cache_share:1h[7d])",
    for: "30m",
    means: "half as much comes out of the cache of a model as in the week before",
    act: "the beginning of a prompt has changed, or changes with each call"
  },
  {
    alert: "EspalierTelemetryDropped",
    section: "Telemetry",
    severity: "warn",
    expr: `${rose("espalier_telemetry_signal, espalier_telemetry_reason", "espalier_telemetry_dropped", "15m")} > 0`,
    for: "0m",
    means: "something was not counted, or not under its own name",
    act: "`cardinality`: an attribute has too many values; `slow_reader`: the process has too much to do"
  }
]

/** An expression with those of the recordings that it asks for. */
const whole = (expr: string): string =>
  [expr, ...recordings.filter(({ record }) => expr.includes(record)).map((each) => each.expr)].join(" ; ")

/** The profiles in which a rule has data. */
export const profilesOfRule = ({ expr }: { readonly expr: string }): ReadonlyArray<SemConv.Profile> =>
  profilesOf(whole(expr))

/** Whether a rule asks for a metric, itself or by what is recorded. */
export const ruleAsksFor = ({ expr }: { readonly expr: string }, name: string): boolean => asksFor(whole(expr), name)

/** What is derived when somebody asks, and not a metric itself. */
export const derived: ReadonlyArray<{ readonly what: string; readonly expr: string }> = [
  { what: "Success of an edge", expr: "espalier:edge_success:1h" },
  {
    what: "Success at the first attempt",
    expr: 'sum by (espalier_delegation_from, espalier_delegation_to) (rate(espalier_delegation_attempts{espalier_outcome="accepted",espalier_task_first_attempt="true"}[1h])) / sum by (espalier_delegation_from, espalier_delegation_to) (rate(espalier_delegation_attempts{espalier_outcome!="cancelled"}[1h]))'
  },
  { what: "Completion by workflow", expr: "espalier:finished:6h" },
  {
    what: "Share of checks that pass",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_task_verifications{espalier_verification_verdict="pass"}[1d])) / sum by (espalier_workflow_type) (rate(espalier_task_verifications{espalier_verification_verdict=~"pass|fail"}[1d]))'
  },
  { what: "Questions to people for each task", expr: "espalier:escalation:6h" },
  {
    what: "p50 of the time that is worked on a task",
    expr: "histogram_quantile(0.5, sum by (le, espalier_workflow_type) (rate(espalier_task_active_duration_bucket[1h])))"
  },
  {
    what: "p95 of the time that is worked on a task",
    expr: "histogram_quantile(0.95, sum by (le, espalier_workflow_type) (rate(espalier_task_active_duration_bucket[1h])))"
  },
  { what: "Cost of an accepted task", expr: "espalier:cost_per_accepted:6h" },
  {
    what: "Tokens of an accepted task",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_run_tokens_sum[6h])) / sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result="accepted"}[6h]))'
  },
  {
    what: "Mean cost of the accepted ones alone; the difference is waste",
    expr: 'sum by (espalier_workflow_type, espalier_cost_currency) (rate(espalier_task_cost_sum{espalier_task_result="accepted"}[6h])) / on (espalier_workflow_type) group_left () sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result="accepted"}[6h]))'
  },
  {
    what: "Human minutes of an accepted task, as far as somebody took care of its questions",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_review_handling_duration_sum[1d])) / 60 / sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result="accepted"}[1d]))'
  },
  {
    what: "Share of decisions of which that time is known",
    expr: 'sum (increase(espalier_review_handling_duration_count[1d])) / sum (increase(espalier_review_decisions{espalier_review_actor_kind="human"}[1d]))'
  },
  {
    what: "Share of tokens that is rework",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_task_rework_tokens[6h])) / sum by (espalier_workflow_type) (rate(espalier_task_tokens_sum{espalier_token_kind=~"input|output"}[6h]))'
  },
  {
    what: "Work that is sent back, for each finished task",
    expr: 'sum by (espalier_workflow_type) (rate(espalier_task_revisions[6h])) / sum by (espalier_workflow_type) (rate(espalier_task_results{espalier_task_result=~"accepted|partial"}[6h]))'
  },
  { what: "Macro-F1 of a supervisor, by source", expr: "espalier:routing_macro_f1:14d" },
  { what: "Restarts that are left", expr: "espalier_supervisor_restart_limit - espalier_supervisor_restart_usage" }
]
