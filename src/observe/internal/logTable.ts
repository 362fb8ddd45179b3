/**
 * What is told of each event of a run, and how loud.
 *
 * | level | events |
 * |---|---|
 * | error | an order that crashed, an effect that nobody knows the outcome of, a run that failed or cannot be trusted |
 * | warn | an attempt, an order or a choice that failed; a refusal; a budget; a deadline; a loop; a worker that is routed around; a question that expired; a run that ended in part or degraded |
 * | info | a run that began, was taken up, put down or ended well; an order that was reported; a question and its answer; what people changed |
 * | debug | all the rest |
 *
 * **Invariants**
 *
 * - T1. Nothing here is content: no input, output, prompt, argument or comment. `note` and `error.reason` are words of
 *   failures and of the runtime; whoever writes them down takes out secrets first.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import { endOfChoice, endOfOrder, errorTypeOfEnd } from "../../agent/internal/errorTypes.ts"
import type { Reference } from "../../journal/Reference.ts"
import { bytesOf } from "../../run/internal/showing.ts"
import type { Usage } from "../../run/Result.ts"
import type { Of } from "../../run/RunEvent.ts"
import { type Memory, workedOn, workerOn } from "./logMemory.ts"
import { type Fields, word } from "./logNames.ts"
import { reviews } from "./logReviews.ts"
import { errorOf, type Level, type Table } from "./logSaid.ts"
import { events } from "./ownNames.ts"

const sizeOf = (value: Schema.Json | undefined, reference: Reference | undefined) =>
  reference?.bytes ?? (value === undefined ? undefined : bytesOf(value))

const used = (usage: Usage | undefined): Fields => ({
  tokens: usage?.tokens,
  cost: usage?.cost,
  steps: usage?.steps,
  tool_calls: usage?.toolCalls
})

const someOf = (task: string): string | undefined => (task === "" ? undefined : task)

/** A task, or the run itself, as it stands in a sentence. */
const named = (task: string): string => (task === "" ? "the run" : task)

/** Of an order, whose worker is known while it is open. */
const ofOrder = (memory: Memory, task: string, dispatch: string) => ({
  task,
  worker: memory.orders.get(dispatch)?.worker
})

/** Notices that are told, and how loud. What is not here is told at debug, without its note. */
const notices: Readonly<Record<string, { readonly level: Level; readonly name: string; readonly said: string }>> = {
  "model-swap": { level: "Warn", name: "espalier.model.swapped", said: "another model is asked" },
  "window-alert": { level: "Warn", name: events.contextWindowThreshold, said: "the context window fills up" },
  compacted: { level: "Info", name: "espalier.context_window.compacted", said: "the conversation was compacted" },
  limit: { level: "Warn", name: "espalier.limit.reached", said: "a limit was reached" },
  stale: { level: "Info", name: "espalier.notice", said: "an answer came too late" },
  "late-answer": { level: "Info", name: "espalier.notice", said: "a choice came too late" },
  "late-effect": { level: "Warn", name: "espalier.effect.late", said: "an effect was settled too late" },
  settled: { level: "Info", name: "espalier.notice", said: "work that was left behind has ended" },
  "refused-command": { level: "Warn", name: "espalier.command.refused", said: "a command was refused" }
}

/** Notices whose words may quote what a model or a person said. */
const quoting: ReadonlySet<string> = new Set(["refused-command", "late-effect"])

const reportedAt = (outcome: Of<"Reported">["outcome"]): Level =>
  outcome === "crashed"
    ? "Error"
    : outcome === "accepted" || outcome === "partial" || outcome === "cancelled"
      ? "Info"
      : "Warn"

const reported: Table["Reported"] = ({ at, attempts, dispatch, outcome, result, review, task, worker }, memory) => ({
  level: reportedAt(outcome),
  name: "espalier.dispatch.reported",
  message: `${dispatch} of ${worker}: ${outcome}`,
  task,
  worker,
  more: () => ({
    dispatch,
    attempt: attempts,
    latency_ms: workedOn(memory.orders.get(dispatch), at),
    ...used(result.usage),
    input_size: memory.orders.get(dispatch)?.inputBytes,
    output_size: sizeOf(result.output, result.outputRef),
    outcome: word(outcome),
    confidence: result.confidence
  }),
  error:
    result.error === undefined
      ? undefined
      : { ...result.error, type: errorTypeOfEnd(endOfOrder({ outcome, result, review })) }
})

const stopping: Table["GroupStopping"] = ({ group, note, reason }) => {
  const said = { message: `${named(group)} takes no new orders: ${reason}`, task: someOf(group) }
  const more = () => ({ reason: word(reason), action: "stopped" })
  if (reason === "loop-detected") return { ...said, more, note, level: "Warn", name: events.loopDetected }
  const level = reason === "budget-exceeded" || reason === "deadline" ? "Warn" : "Debug"
  return { ...said, more, level, name: "espalier.group.stopping" }
}

const health: Table["HealthChanged"] = ({ health, until, worker }, memory) => ({
  level: health === "degraded" || health === "unavailable" ? "Warn" : health === "healthy" ? "Info" : "Debug",
  name: events.breakerTransition,
  message: `${worker} is ${health}`,
  worker,
  more: () => ({ from: word(memory.health.get(worker) ?? "healthy"), to: word(health), until })
})

const finishedAt = ({ degraded, status }: Of<"RunFinished">): Level =>
  status === "failed" ? "Error" : status === "partial" || degraded ? "Warn" : "Info"

const finished: Table["RunFinished"] = (event, { desk, startedAt }) => {
  const { at, degraded, note, status, stopReason } = event
  return {
    level: finishedAt(event),
    name: "espalier.run.finished",
    message: `the run is ${status}${degraded ? " and degraded" : ""}: ${stopReason}`,
    more: () => ({
      desk,
      outcome: word(status),
      stop_reason: word(stopReason),
      degraded,
      // From its start to its end, with every wait.
      elapsed_ms: startedAt === undefined ? undefined : at - startedAt
    }),
    // What models say when they have finished is content, and what people say when they stop a run stays with them.
    note: (status === "failed" || status === "partial") && stopReason !== "rejected-by-reviewer" ? note : undefined
  }
}

const noticed: Table["Noticed"] = ({ note, subject, what }, memory) => {
  const known = Object.hasOwn(notices, what) ? notices[what] : undefined
  return {
    level: known?.level ?? "Debug",
    name: known?.name ?? "espalier.notice",
    message: `${named(subject)}: ${known?.said ?? "something was noticed"}`,
    task: someOf(subject),
    worker: subject === "" ? undefined : workerOn(memory, subject),
    more: () => ({ what: word(what) }),
    note: known === undefined || quoting.has(what) ? undefined : note
  }
}

/**
 * The whole table. An event without a line is a type error.
 *
 * @since 0.1.0
 */
export const table: Table = {
  RunStarted: ({ desk, input, inputRef, tasks, tier, version }) => ({
    level: "Info",
    name: "espalier.run.started",
    message: `the run of ${desk} ${version} began`,
    more: () => ({ desk, version, tier, tasks: tasks.length, input_size: sizeOf(input, inputRef) })
  }),
  GroupOpened: ({ kind, task, tasks }) => ({
    level: "Debug",
    name: "espalier.group.opened",
    message: `${task} is carried out by tasks of its own`,
    task,
    more: () => ({ kind: word(kind), tasks: tasks.length })
  }),
  TasksAdded: ({ group, tasks }) => ({
    level: "Debug",
    name: "espalier.tasks.added",
    message: `${named(group)} has ${tasks.length} more tasks`,
    task: someOf(group),
    more: () => ({ tasks: tasks.length })
  }),
  GroupStopping: stopping,
  Merged: ({ group, outcome, result }) => ({
    level: "Debug",
    name: "espalier.group.merged",
    message: `${named(group)} is over: ${outcome}`,
    task: someOf(group),
    more: () => ({ outcome: word(outcome), output_size: sizeOf(result.output, result.outputRef) }),
    error: errorOf(result.error)
  }),
  Consulted: ({ consult, purpose, subject }) => ({
    level: "Debug",
    name: "espalier.choice.asked",
    message: `somebody is asked for ${purpose} of ${named(subject)}`,
    task: someOf(subject),
    more: () => ({ consult, purpose: word(purpose) })
  }),
  Decided: ({ consult, subject, usage }) => ({
    level: "Debug",
    name: "espalier.choice.made",
    message: `${consult} was answered`,
    task: someOf(subject),
    more: () => ({ consult, ...used(usage) })
  }),
  DecisionFailed: ({ consult, error, late, subject, usage }) => ({
    level: "Warn",
    name: "espalier.choice.failed",
    message: `${consult} was not answered: ${error.kind}`,
    task: someOf(subject),
    more: () => ({ consult, outcome: "failed", ...used(usage) }),
    error: { ...error, type: errorTypeOfEnd(endOfChoice({ error, late })) }
  }),
  Routed: ({ candidates, task, worker }) => ({
    level: "Debug",
    name: "espalier.task.routed",
    message: `${task} goes to ${worker}`,
    task,
    worker,
    more: () => ({ candidates: candidates.length })
  }),
  Confirmed: ({ allowed, dispatch, task, worker }) => ({
    level: allowed ? "Debug" : "Info",
    name: "espalier.action.confirmed",
    message: allowed ? `${worker} may act for ${task}` : `${worker} may not act for ${task}`,
    task,
    worker,
    more: () => ({ allowed, dispatch })
  }),
  ContractRefused: ({ task, worker }) => ({
    level: "Warn",
    name: "espalier.contract.refused",
    message: `the order of ${task} could not be made for ${worker}`,
    task,
    worker
  }),
  BudgetRefused: ({ account, asked, limit, measure, task, worker }) => ({
    level: "Warn",
    name: events.budgetThreshold,
    message: `${task} does not fit into the budget of ${account}: ${asked} ${measure} of ${limit}`,
    task,
    worker,
    more: () => ({ action: "refused", account, measure, limit, asked })
  }),
  Reused: ({ of, task, worker }) => ({
    level: "Debug",
    name: "espalier.dispatch.reused",
    message: `${task} has the outcome of ${of}`,
    task,
    worker,
    more: () => ({ of })
  }),
  Dispatched: ({ contract, dispatch, inputBytes, task, worker }) => ({
    level: "Debug",
    name: "espalier.dispatch.given",
    message: `${dispatch} was given to ${worker}`,
    task,
    worker,
    more: () => ({ dispatch, contract, input_size: inputBytes })
  }),
  AttemptFailed: ({ attempt, dispatch, kind, note, task, waitMillis, worker }) => ({
    level: "Warn",
    name: "espalier.attempt.failed",
    message: `attempt ${attempt} of ${dispatch} at ${worker} failed (${kind}), again after ${waitMillis} ms`,
    task,
    worker,
    more: () => ({ dispatch, attempt, outcome: "failed", wait_ms: waitMillis }),
    error: errorOf({ kind, reason: note })
  }),
  EffectIntended: (event, memory) => ({
    level: "Debug",
    name: "espalier.effect.intended",
    message: `${event.dispatch} is about to do ${event.name}`,
    ...ofOrder(memory, event.task, event.dispatch),
    more: () => ({
      dispatch: event.dispatch,
      effect: event.name,
      input_size: event.largeArguments ?? sizeOf(event.arguments, undefined)
    })
  }),
  EffectSettled: ({ by, outcome, task, value, valueRef }, memory) => ({
    level: "Debug",
    name: "espalier.effect.settled",
    message: `an effect of ${task} is ${outcome}`,
    task,
    worker: workerOn(memory, task),
    more: () => ({ outcome: word(outcome), by, output_size: sizeOf(value, valueRef) })
  }),
  EffectQuarantined: ({ happened, task }, memory) => ({
    level: "Error",
    name: "espalier.effect.quarantined",
    message: happened
      ? `${task} cannot go on: what came of an effect is not known`
      : `${task} cannot go on: it is not known whether an effect has happened`,
    task,
    worker: workerOn(memory, task),
    more: () => ({ happened })
  }),
  Spent: ({ dispatch, facts, task, usage, what, worker }) => ({
    level: "Debug",
    name: "espalier.usage.spent",
    message: `${dispatch} used a ${what}`,
    task,
    worker: worker === "" ? undefined : worker,
    more: () => ({
      dispatch,
      what: word(what),
      latency_ms: facts?.["durationMillis"],
      ...used(usage),
      // Whatever else stands there is not ours to tell.
      estimated: facts?.["estimated"] === true ? true : undefined
    })
  }),
  Recalled: ({ dispatch, reason, task }, memory) => ({
    level: "Debug",
    name: "espalier.dispatch.recalled",
    message: `${dispatch} was called back: ${reason}`,
    ...ofOrder(memory, task, dispatch),
    more: () => ({ dispatch, reason: word(reason) })
  }),
  Reported: reported,
  Overrun: ({ account, dispatch, limit, measure, settled, task }, memory) => ({
    level: "Warn",
    name: events.budgetThreshold,
    message: `${dispatch} overran the budget of ${account}: ${settled} ${measure}`,
    ...ofOrder(memory, task, dispatch),
    more: () => ({ action: "overrun", dispatch, account, measure, limit, settled })
  }),
  ...reviews,
  Parked: ({ dispatch, task, usage, worker }) => ({
    level: "Debug",
    name: "espalier.dispatch.parked",
    message: `${dispatch} waits for people`,
    task,
    worker,
    more: () => ({ dispatch, outcome: "suspended", ...used(usage) })
  }),
  Unparked: ({ dispatch, task, worker }) => ({
    level: "Debug",
    name: "espalier.dispatch.unparked",
    message: `${dispatch} begins anew with an answer`,
    task,
    worker,
    more: () => ({ dispatch })
  }),
  TimerSet: ({ due, subject, timer }) => ({
    level: "Debug",
    name: "espalier.timer.set",
    message: `${named(subject)} waits for its time`,
    task: someOf(subject),
    more: () => ({ timer, due })
  }),
  TimerFired: ({ at, due, subject, timer }) => ({
    level: "Debug",
    name: "espalier.timer.fired",
    message: `the time of ${named(subject)} has come`,
    task: someOf(subject),
    more: () => ({ timer, late_ms: at - due })
  }),
  TaskEnded: ({ dispatch, missing, status, task }) => ({
    level: status === "failed" || status === "blocked" || status === "rejected" ? "Warn" : "Debug",
    name: "espalier.task.ended",
    message: `${task} is ${status}`,
    task,
    more: () => ({ dispatch, outcome: word(status), missing: missing.length })
  }),
  HealthChanged: health,
  AutonomyChanged: ({ from, to }) => ({
    level: "Info",
    name: "espalier.autonomy.changed",
    message: `the autonomy is ${to} and not ${from} any more`,
    more: () => ({ from, to })
  }),
  DeadlinePassed: ({ at, due, subject }, memory) => ({
    level: "Warn",
    name: "espalier.deadline.passed",
    message: `the time of ${named(subject)} is over`,
    task: someOf(subject),
    worker: subject === "" ? undefined : workerOn(memory, subject),
    more: () => ({ due, late_ms: due === undefined ? undefined : at - due })
  }),
  CancelRequested: () => ({
    level: "Info",
    name: "espalier.run.cancel_requested",
    message: "somebody asked for the end of the run"
  }),
  Noticed: noticed,
  RunResumed: () => ({ level: "Info", name: "espalier.run.resumed", message: "the run was taken up" }),
  RunSuspended: ({ note, reason }) => ({
    level: reason === "asked" ? "Info" : "Error",
    name: "espalier.run.suspended",
    message: `the run was put down: ${reason}`,
    more: () => ({ outcome: "suspended", reason: word(reason) }),
    note: reason === "asked" ? undefined : note
  }),
  RunFinished: finished
}
