/**
 * What is measured: every metric with its instrument, unit, attributes and bounds, as data.
 *
 * @since 0.1.0
 */
import { names, type Profile } from "../SemConv.ts"
import { buckets } from "./buckets.ts"
import { conventions } from "./conventions.ts"
import { counter, type Entry, gauge, histogram, type Rest, type Section } from "./instruments.ts"
import { attribute as a } from "./names.ts"

export type { Profile } from "../SemConv.ts"
export type { Entry, Section } from "./instruments.ts"

const section = <const R extends Readonly<Record<string, Rest>>>(
  section: Section,
  metrics: R
): { readonly [K in keyof R & string]: Entry } =>
  Object.fromEntries(Object.entries(metrics).map(([name, rest]) => [name, { name, ...rest, section }])) as never

const edge = [a.from, a.to]
const task = [a.workflow, a.result]

/** Metrics with names of our own. */
const own = {
  ...section("Routing", {
    "espalier.routing.decisions": counter(
      "{decision}",
      [a.supervisor, a.selected, a.method, a.workflow],
      "Workers that were chosen for a task; `none` where nobody was"
    ),
    "espalier.routing.evaluations": counter(
      "{evaluation}",
      [a.supervisor, a.predicted, a.expected, a.labelSource],
      "Choices of which it is known who should have been chosen: the cells of the confusion matrix"
    ),
    "espalier.routing.candidates": histogram(
      "{candidate}",
      buckets.steps,
      [a.supervisor],
      "How many workers there were to choose from"
    ),
    "espalier.routing.duration": histogram(
      "s",
      buckets.agent,
      [a.supervisor, a.purpose, a.method, a.errorType],
      "How long a route or a plan took to be chosen"
    )
  }),
  ...section("Handoffs", {
    "espalier.delegation.attempts": counter(
      "{attempt}",
      [...edge, a.outcome, a.firstAttempt, a.errorType],
      "Orders that are over, by who gave them, who got them, and how they ended"
    ),
    "espalier.delegation.duration": histogram(
      "s",
      buckets.agent,
      [...edge, a.outcome, a.errorType],
      "How long an order was worked on, without waits"
    ),
    "espalier.delegation.depth": histogram(
      "{level}",
      buckets.steps,
      [a.workflow],
      "How deep in groups of tasks the task of an order was"
    ),
    "espalier.delegation.repeats": counter("{order}", edge, "Orders to a worker that had the same task before"),
    "espalier.handoff.deliveries": counter(
      "{delivery}",
      [a.producer, a.consumer, a.workflow],
      "Accepted results of one worker that another one was given for its task"
    ),
    "espalier.pool.wait.duration": histogram(
      "s",
      buckets.fast,
      [a.pool],
      "How long an attempt waited for a free place in the pool of its worker"
    ),
    "espalier.pool.size": gauge("{place}", [a.pool], "How many orders a worker works on at once"),
    "espalier.pool.busy.count": gauge("{place}", [a.pool], "How many places of a worker are taken"),
    "espalier.pool.queued.count": gauge("{order}", [a.pool], "Orders that wait for a free place"),
    "espalier.pool.held.count": gauge("{order}", [a.pool], "Orders that runs hold back, because the queue is full")
  }),
  ...section("Loops and retries", {
    "espalier.task.steps": histogram(
      "{step}",
      buckets.steps,
      [a.workflow, a.result],
      "Turns of models and calls of tools for a task"
    ),
    "espalier.task.retries": histogram(
      "{retry}",
      buckets.steps,
      [a.workflow, a.result, a.errorType],
      "Attempts and orders for a task beyond the first, by what the last one failed of"
    ),
    "espalier.loop.detections": counter(
      "{detection}",
      [a.workflow, a.loopAction],
      "Work that went round in circles and was stopped"
    ),
    "espalier.tool.duplicate_calls": counter(
      "{call}",
      [a.tool, a.dedup],
      "Effects that were about to happen again under the same key, and what was done"
    )
  }),
  ...section("Context window", {
    "espalier.context_window.utilization": histogram(
      "1",
      buckets.ratio,
      [a.agent, a.model],
      "Share of the window of a model that a prompt took, as it was estimated before the call"
    ),
    "espalier.context_window.usage": histogram(
      "{token}",
      buckets.handed,
      [a.agent, a.model],
      "Tokens of prompts, as the provider counted them"
    ),
    "espalier.context_window.unknown": counter(
      "{call}",
      [a.agent, a.model],
      "Calls of models of which nobody knows how full the window was"
    ),
    "espalier.context_window.alerts": counter("{alert}", [a.agent], "Conversations that came to fill their window"),
    "espalier.context_window.compactions": counter(
      "{compaction}",
      [a.agent],
      "Conversations of which turns were replaced by a summary"
    )
  }),
  ...section("Outcomes", {
    "espalier.run.results": counter(
      "{run}",
      [a.workflow, a.runStatus, a.stopReason, a.degraded],
      "Runs that are over, by how and why"
    ),
    "espalier.run.duration": histogram(
      "s",
      buckets.run,
      [a.workflow, a.runStatus, a.errorType],
      "From the start of a run to its end"
    ),
    "espalier.run.active.duration": histogram(
      "s",
      buckets.run,
      [a.workflow, a.runStatus, a.errorType],
      "The same without the time in which the run waited for people or timers, or was put down"
    ),
    "espalier.run.suspensions": counter("{suspension}", [a.workflow, a.suspendReason], "Runs that were put down"),
    "espalier.task.results": counter("{task}", task, "Tasks that are over, by how"),
    "espalier.task.duration": histogram(
      "s",
      buckets.run,
      [...task, a.errorType],
      "From when a task could begin to its end"
    ),
    "espalier.task.active.duration": histogram(
      "s",
      buckets.run,
      [...task, a.errorType],
      "The same without waits for people, timers and retries"
    ),
    "espalier.task.verifications": counter(
      "{verification}",
      [a.workflow, a.verification, a.verdict],
      "How results were checked, and what that said"
    ),
    "espalier.task.count": gauge("{task}", [a.workflow, a.taskState], "Tasks of the runs that are carried out here")
  }),
  ...section("People", {
    "espalier.review.requests": counter(
      "{request}",
      [a.workflow, a.reviewKind, a.risk, a.reviewReason],
      "Questions to people"
    ),
    "espalier.review.decisions": counter(
      "{decision}",
      [a.workflow, a.reviewKind, a.risk, a.decision, a.stage, a.actorKind],
      "What became of questions to people"
    ),
    "espalier.review.wait.duration": histogram(
      "s",
      buckets.wait,
      [a.reviewKind, a.risk, a.stage, a.decision],
      "From a question to its answer"
    ),
    "espalier.review.handling.duration": histogram(
      "s",
      buckets.handling,
      [a.workflow, a.reviewKind, a.risk],
      "From when somebody took care of a question to when it was decided; only of those that somebody did"
    ),
    "espalier.review.pending.count": gauge("{request}", [a.reviewKind], "Questions that nobody has answered yet"),
    "espalier.review.pending.age": gauge("s", [a.reviewKind], "Age of the oldest of them", "max"),
    "espalier.review.conflicts": counter("{conflict}", [a.conflict], "Decisions of people that do not count, and why")
  }),
  ...section("Supervision", {
    "espalier.supervisor.restarts": counter(
      "{restart}",
      [a.supervisor, a.childKind, a.strategy, a.errorType],
      "Restarts that were spent of an intensity"
    ),
    "espalier.supervisor.restart.usage": gauge("{restart}", [a.supervisor], "Restarts within the window", "max"),
    "espalier.supervisor.restart.limit": gauge(
      "{restart}",
      [a.supervisor],
      "Restarts that are allowed within the window",
      "max"
    ),
    "espalier.supervisor.restart.left": gauge(
      "{restart}",
      [a.supervisor],
      "Restarts that are left; of several supervisors of one kind, of the one that has the fewest",
      "min"
    ),
    "espalier.supervisor.escalations": counter(
      "{escalation}",
      [a.supervisor, a.target],
      "Supervisors that gave up, and who has to deal with that"
    ),
    "espalier.supervisor.child.count": gauge("{child}", [a.supervisor, a.childState], "Children, by state"),
    "espalier.supervisor.child.lifetime": histogram(
      "s",
      buckets.run,
      [a.childKind, a.exitReason],
      "How long an incarnation ran"
    ),
    "espalier.breaker.status": gauge(
      "1",
      [a.breaker, a.breakerState],
      "1 for the state that the breaker of a worker or a dependency is in, 0 for the others",
      "max"
    ),
    "espalier.breaker.transitions": counter(
      "{transition}",
      [a.breaker, a.fromState, a.toState],
      "Changes of state of breakers"
    ),
    "espalier.mailbox.usage": gauge("{message}", [a.kindPath, a.aggregation], "Messages that wait", "max"),
    "espalier.mailbox.limit": gauge(
      "{message}",
      [a.kindPath, a.aggregation],
      "Messages that may wait, of mailboxes with a bound",
      "max"
    ),
    "espalier.mailbox.rejections": counter(
      "{message}",
      [a.kindPath, a.overflowPolicy],
      "Messages that a full mailbox did not take"
    ),
    "espalier.deadletter.messages": counter(
      "{message}",
      [a.kindPath, a.deadReason],
      "Messages that nobody will handle"
    ),
    "espalier.run.recoveries": counter("{recovery}", [a.recovery], "Runs that were taken up after their process died"),
    "espalier.journal.replay.duration": histogram(
      "s",
      buckets.fast,
      [a.workflow],
      "How long a run took to be read back before it went on"
    )
  }),
  ...section("Tokens and cost", {
    "espalier.task.tokens": histogram(
      "{token}",
      buckets.handed,
      [...task, a.tokenKind],
      "Tokens of the calls for a task itself, at its end"
    ),
    "espalier.task.cost": histogram(
      "{currency}",
      buckets.cost,
      [...task, a.currency],
      "What the calls for a task itself cost, at its end"
    ),
    "espalier.run.tokens": histogram(
      "{token}",
      buckets.handed,
      [a.workflow, a.runStatus],
      "Tokens of all calls of a run, at its end"
    ),
    "espalier.run.cost": histogram(
      "{currency}",
      buckets.cost,
      [a.workflow, a.runStatus, a.currency],
      "What all calls of a run cost, at its end"
    ),
    "espalier.cost.spent": counter(
      "{currency}",
      [a.workflow, a.pool, a.model, a.costKind, a.rework, a.currency],
      "What was spent, with models, tools, people and rework apart"
    ),
    "espalier.cost.unknown": counter(
      "{call}",
      [a.workflow, a.model],
      "Calls of models of which nobody knows the price"
    ),
    "espalier.usage.unknown": counter(
      "{call}",
      [a.workflow, a.model],
      "Calls of which the provider did not say how many tokens they took; they are in no sum of tokens"
    ),
    "espalier.task.revisions": counter("{revision}", [a.workflow, a.cause], "Work that was sent back"),
    "espalier.task.rework.tokens": counter(
      "{token}",
      [a.workflow],
      "Tokens spent on a task after something had been delivered for it"
    ),
    "espalier.budget.utilization": histogram(
      "1",
      buckets.ratio,
      [a.scope, a.measure],
      "The share of its limit that a budget had used when its run ended"
    ),
    "espalier.budget.exhaustions": counter(
      "{exhaustion}",
      [a.scope, a.measure, a.exhaustion],
      "Budgets that did not allow what was asked for, or were overrun"
    )
  }),
  ...section("Model calls", {
    "espalier.model.swaps": counter(
      "{swap}",
      [a.agent, a.model],
      "Calls of a model because another one had not answered"
    )
  }),
  ...section("Evaluation", {
    "espalier.evaluation.score": histogram(
      "1",
      buckets.ratio,
      [a.workflow, a.scorer],
      "Scores of finished runs, 1 for the best"
    ),
    "espalier.evaluation.unscored": counter("{run}", [a.workflow, a.scorer], "Runs that a scorer gave no score")
  }),
  ...section("Telemetry", {
    "espalier.telemetry.dropped": counter(
      "{item}",
      [a.signal, a.dropReason],
      "What was not taken in, because somebody did not keep up or there were too many series"
    ),
    "espalier.telemetry.series": gauge("{series}", [a.metric], "Series of a metric that are kept apart here")
  })
}

/** What a measurement is of: the name of a metric of ours, or the key of one of the conventions. */
export type Key = keyof typeof own | keyof typeof conventions

/** The metrics of a profile, by what their measurements say. One that the profile does not have is not there. */
export const byKey = (profile: Profile): ReadonlyMap<string, Entry> => {
  const found = new Map<string, Entry>(Object.entries(own))
  const { metrics } = names(profile)
  for (const [key, [metric, attributes, description]] of Object.entries(conventions)) {
    const known = metrics[metric]
    if (known === undefined) continue
    const { buckets, instrument, name, unit } = known
    const bounds = buckets === undefined ? {} : { buckets }
    found.set(key, { name, instrument, unit, description, attributes, ...bounds, section: "Model calls" })
  }
  return found
}

/** What cannot be measured here, and why. */
export const unmeasured: ReadonlyArray<{ readonly name: string; readonly why: string }> = [
  { name: "espalier.breaker.rejections", why: "a breaker tells nobody of a call that it refuses" },
  {
    name: "espalier.checkpoint.duration",
    why: "the journal is not observed; a database has better numbers of its own"
  },
  { name: "espalier.checkpoint.size", why: "the journal is not observed; a database has better numbers of its own" },
  {
    name: "espalier.context_window.limit",
    why: "a call is recorded with the share of its window, and not with the size of it"
  },
  { name: "espalier.delegation.context.size", why: "nobody counts tokens before a model is asked" },
  { name: "espalier.event_loop.delay", why: "it belongs to the process and not to espalier: `perf_hooks` has it" },
  {
    name: "espalier.mailbox.wait.duration",
    why: "a time for each message would cost something where nobody measures; the wait for a worker is measured instead"
  },
  { name: "espalier.task.corrections", why: "nothing tells a run, once it is over, that it was wrong" },
  {
    name: names().metrics.timeToFirstChunk.name,
    why: "a call is recorded when it is over, without the times of its pieces"
  },
  {
    name: names().metrics.timePerOutputChunk.name,
    why: "a call is recorded when it is over, without the times of its pieces"
  }
]
