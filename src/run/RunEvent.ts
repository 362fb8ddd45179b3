/**
 * What happens in a run, as the journal keeps it: the only source of its state, its audit and its resumption.
 *
 * Every event is plain JSON, carries its time (`at`, milliseconds since 1970) and one plain sentence (`note`) that says
 * what happened and why. Events say what happened; they are never recomputed.
 *
 * | event | says |
 * |---|---|
 * | `RunStarted` | the desk, its version and definition, the input, the planned tasks |
 * | `Routed` | a worker was chosen for a task, out of which candidates |
 * | `ContractRefused` | the contract for that worker was not valid; the worker never saw it |
 * | `Dispatched` | the order was given; written before the worker runs |
 * | `AttemptFailed` | one attempt inside a dispatch failed and another follows after `waitMillis` |
 * | `Reported` | the dispatch is over, with its result |
 * | `TaskEnded` | the task reached a state that it does not leave |
 * | `RunSuspended` `RunResumed` | the run was put down, and taken up again |
 * | `RunFinished` | the end |
 *
 * **Example** (An event is plain JSON)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { RunEvent } from "espalier/run"
 *
 * const event: RunEvent.RunEvent = { _tag: "RunResumed", at: 1_000, note: "Taken up after a crash" }
 * Schema.encodeSync(RunEvent.RunEvent)(event) // => { _tag: "RunResumed", at: 1_000, note: "Taken up after a crash" }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { ErrorKind, Envelope, Missing } from "./Result.ts"

/**
 * States of a task that it does not leave.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskEnd = Schema.Literals(["accepted", "partial", "rejected", "blocked", "failed", "cancelled", "skipped"])

/**
 * @category models
 * @since 0.1.0
 */
export type TaskEnd = typeof TaskEnd.Type

/**
 * How a run ends.
 *
 * @category models
 * @since 0.1.0
 */
export const RunEnd = Schema.Literals(["completed", "partial", "failed", "cancelled"])

/**
 * @category models
 * @since 0.1.0
 */
export type RunEnd = typeof RunEnd.Type

/**
 * Why a run stopped.
 *
 * @category models
 * @since 0.1.0
 */
export const StopReason = Schema.Literals([
  "accepted",
  "empty",
  "budget-exceeded",
  "deadline",
  "no-ready-task",
  "no-eligible-worker",
  "loop-detected",
  "stop-requested",
  "rejected-by-reviewer",
  "escalation-expired",
  "untrusted-state",
  "root-gave-up"
])

/**
 * @category models
 * @since 0.1.0
 */
export type StopReason = typeof StopReason.Type

/**
 * Why a run was put down: on request, because the desk's definition changed, or because it cannot be trusted to go on.
 *
 * @category models
 * @since 0.1.0
 */
export const SuspendReason = Schema.Literals(["asked", "version-mismatch", "quarantined"])

/**
 * @category models
 * @since 0.1.0
 */
export type SuspendReason = typeof SuspendReason.Type

/**
 * How a dispatch ended.
 *
 * @category models
 * @since 0.1.0
 */
export const DispatchEnd = Schema.Literals([
  "accepted",
  "partial",
  "refused",
  "rejected-contract",
  "rejected-quality",
  "failed",
  "timed-out",
  "crashed",
  "cancelled",
  "budget-exceeded",
  "denied"
])

/**
 * @category models
 * @since 0.1.0
 */
export type DispatchEnd = typeof DispatchEnd.Type

/** @since 0.1.0 */
export interface PlannedTask extends Schema.Schema.Type<typeof PlannedTask> {}

/**
 * A task as the run knows it: what it needs, and who may do it.
 *
 * **Details**
 *
 * - `worker`: the one asked first. `capability`: what stands in for it needs.
 * - `acceptMissing`: whether it runs when a task that it needs gave nothing.
 *
 * @category models
 * @since 0.1.0
 */
export const PlannedTask = Schema.Struct({
  id: Schema.String,
  needs: Schema.Array(Schema.String),
  worker: Schema.optionalKey(Schema.String),
  capability: Schema.optionalKey(Schema.String),
  acceptMissing: Schema.Boolean
})

const at = Schema.Finite
const note = Schema.String
const task = Schema.String
const dispatch = Schema.String
const worker = Schema.String

/**
 * See the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const RunStarted = Schema.TaggedStruct("RunStarted", {
  at,
  run: Schema.String,
  desk: Schema.String,
  version: Schema.String,
  definition: Schema.String,
  input: Schema.Json,
  tasks: Schema.Array(PlannedTask),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const Routed = Schema.TaggedStruct("Routed", { at, task, worker, candidates: Schema.Array(worker), note })

/**
 * @category models
 * @since 0.1.0
 */
export const ContractRefused = Schema.TaggedStruct("ContractRefused", { at, task, worker, note })

/**
 * @category models
 * @since 0.1.0
 */
export const Dispatched = Schema.TaggedStruct("Dispatched", {
  at,
  task,
  dispatch,
  worker,
  contract: Schema.Int,
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const AttemptFailed = Schema.TaggedStruct("AttemptFailed", {
  at,
  task,
  dispatch,
  worker,
  attempt: Schema.Int,
  kind: ErrorKind,
  waitMillis: Schema.Finite,
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const Reported = Schema.TaggedStruct("Reported", {
  at,
  task,
  dispatch,
  worker,
  attempts: Schema.Int,
  outcome: DispatchEnd,
  result: Envelope,
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const TaskEnded = Schema.TaggedStruct("TaskEnded", {
  at,
  task,
  status: TaskEnd,
  dispatch: Schema.optionalKey(dispatch),
  missing: Schema.Array(Missing),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const RunResumed = Schema.TaggedStruct("RunResumed", { at, note })

/**
 * @category models
 * @since 0.1.0
 */
export const RunSuspended = Schema.TaggedStruct("RunSuspended", { at, reason: SuspendReason, note })

/**
 * @category models
 * @since 0.1.0
 */
export const RunFinished = Schema.TaggedStruct("RunFinished", {
  at,
  status: RunEnd,
  stopReason: StopReason,
  degraded: Schema.Boolean,
  note
})

/**
 * Everything that can happen in a run.
 *
 * @category models
 * @since 0.1.0
 */
export const RunEvent = Schema.Union([
  RunStarted,
  Routed,
  ContractRefused,
  Dispatched,
  AttemptFailed,
  Reported,
  TaskEnded,
  RunResumed,
  RunSuspended,
  RunFinished
])

/**
 * @category models
 * @since 0.1.0
 */
export type RunEvent = typeof RunEvent.Type

/**
 * One of the events.
 *
 * @category types
 * @since 0.1.0
 */
export type Of<Tag extends RunEvent["_tag"]> = Extract<RunEvent, { readonly _tag: Tag }>
