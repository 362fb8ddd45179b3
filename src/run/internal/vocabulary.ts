/**
 * What the events of a run are made of: states, reasons, kinds, and tasks as the journal knows them.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { Usage } from "../Result.ts"

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
 * Why a run was taken up: people have decided what it waited for, its time has come, somebody has asked for it or has said something
 * else to it, or it was cut off.
 *
 * @category models
 * @since 0.1.0
 */
export const ResumeCause = Schema.Literals(["decision", "timer", "message", "crash-recovery"])

/**
 * @category models
 * @since 0.1.0
 */
export type ResumeCause = typeof ResumeCause.Type

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

/**
 * How something outside ended: it was done, or it did not happen.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectEnd = Schema.Literals(["done", "failed"])

/**
 * @category models
 * @since 0.1.0
 */
export type EffectEnd = typeof EffectEnd.Type

/**
 * What is done about something outside of which nobody knows whether it has happened: it is done again under the same key,
 * it is asked for, or a person decides.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectRecovery = Schema.Literals(["repeat", "probe", "person"])

/**
 * @category models
 * @since 0.1.0
 */
export type EffectRecovery = typeof EffectRecovery.Type

/** @since 0.1.0 */
export interface PlannedTask extends Schema.Schema.Type<typeof PlannedTask> {}

/**
 * A task as the run knows it: what it needs, and who may do it.
 *
 * **Details**
 *
 * - `worker`: the one asked first. `capability`: what stands in for it needs.
 * - `acceptMissing`: whether it runs when a task that it needs gave nothing.
 * - `template`: the declared task that it is made of, where that is not its own id.
 * - `amendment`: fields of its contract that were decided in the run and stand over those of the template.
 * - `group`: carried out by a coordinator of this kind and not by a worker.
 * - `afterMillis`: how long it waits once everything that it needs has ended, > 0. Absent: not at all.
 *
 * @category models
 * @since 0.1.0
 */
export const PlannedTask = Schema.Struct({
  id: Schema.String,
  needs: Schema.Array(Schema.String),
  worker: Schema.optionalKey(Schema.String),
  capability: Schema.optionalKey(Schema.String),
  acceptMissing: Schema.Boolean,
  template: Schema.optionalKey(Schema.String),
  amendment: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  group: Schema.optionalKey(Schema.String),
  afterMillis: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0)))
})

/**
 * What a timer is for. `after`: a task waits so long once everything that it needs has ended.
 *
 * @category models
 * @since 0.1.0
 */
export const TimerPurpose = Schema.Literals(["after"])

/**
 * @category models
 * @since 0.1.0
 */
export type TimerPurpose = typeof TimerPurpose.Type

/**
 * What the failure of one task does to the tasks beside it.
 *
 * **Details**
 *
 * - `isolate`: nothing.
 * - `fail-fast`: the others are stopped, and the group reports when they have stopped.
 * - `quorum`: the group is done once so many tasks are accepted, and stopped once they cannot be. Done, it is whole,
 *   whatever became of its other tasks: those that had delivered keep what they have, and those that are called back or
 *   were never begun end as `skipped`. A run of which that is the plan is `completed`.
 *
 * @category models
 * @since 0.1.0
 */
export const Containment = Schema.Union([
  Schema.Literals(["isolate", "fail-fast"]),
  Schema.Struct({ quorum: Schema.Int.check(Schema.isGreaterThan(0)) })
])

/**
 * @category models
 * @since 0.1.0
 */
export type Containment = typeof Containment.Type

/**
 * What a worker's health is to routing. `unavailable`: its domain is down, or it was declared so.
 *
 * @category models
 * @since 0.1.0
 */
export const WorkerHealth = Schema.Literals(["healthy", "degraded", "ready-for-probe", "probing", "unavailable"])

/**
 * @category models
 * @since 0.1.0
 */
export type WorkerHealth = typeof WorkerHealth.Type

/**
 * What is asked of a person.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewKind = Schema.Literals([
  "action-approval",
  "result-acceptance",
  "question",
  "escalation",
  "budget-increase",
  "scope-reduction",
  "reconciliation",
  "routing",
  "plan-approval"
])

/**
 * @category models
 * @since 0.1.0
 */
export type ReviewKind = typeof ReviewKind.Type

/**
 * Why a person is asked.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewReason = Schema.Literals([
  "autonomy",
  "denied",
  "incomplete",
  "ambiguity",
  "finding",
  "disagreement",
  "low-confidence",
  "needs-review",
  "budget",
  "scope",
  "conflict",
  "no-route",
  "unknown-effect",
  "untrusted-state",
  "gate",
  "asked"
])

/**
 * @category models
 * @since 0.1.0
 */
export type ReviewReason = typeof ReviewReason.Type

/**
 * What a person may decide.
 *
 * **Details**
 *
 * - `approve`: the action goes ahead, the result is accepted, the budget is raised, the scope is reduced.
 * - `reject`: the task ends as rejected; of a budget: nothing more is spent.
 * - `retry`: the task is tried anew, with the note as its hint.
 * - `accept-partial`: what there is stands.
 * - `answer`: the answer is handed to the worker; of an effect, it has happened and this came of it.
 * - `edit`: approved, with other arguments than those that were proposed.
 *
 * @category models
 * @since 0.1.0
 */
export const Decision = Schema.Literals(["approve", "reject", "retry", "accept-partial", "answer", "edit"])

/**
 * @category models
 * @since 0.1.0
 */
export type Decision = typeof Decision.Type

/**
 * How a question to people was closed: decided, left without an answer until its last deadline, taken back, or put again in
 * another form.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewEnd = Schema.Literals(["decided", "expired", "withdrawn", "superseded"])

/**
 * @category models
 * @since 0.1.0
 */
export type ReviewEnd = typeof ReviewEnd.Type

/**
 * What is done about a question that nobody has answered in time: as if it was rejected, its task ends, it stays open, or
 * as if it was approved.
 *
 * @category models
 * @since 0.1.0
 */
export const FinalAction = Schema.Literals(["reject", "halt", "hold", "approve"])

/**
 * @category models
 * @since 0.1.0
 */
export type FinalAction = typeof FinalAction.Type

/**
 * Why what somebody decided does not count.
 *
 * **Details**
 *
 * - `already-decided`, `expired`, `withdrawn`, `superseded`: the question is closed. `not-open`: there is none of this name.
 * - `stale-revision`, `digest-mismatch`: it was decided on what the question was, or on something that it never was.
 * - `idempotency-mismatch`: the same key came with another decision before.
 * - `not-a-reviewer`, `self-approval`, `reviewers-unavailable`: who decided may not, or nobody can tell now.
 * - `invalid`: it is no answer to the question; `invalid-edits`: the changes cannot be made.
 *
 * @category models
 * @since 0.1.0
 */
export const RefusedBecause = Schema.Literals([
  "already-decided",
  "expired",
  "withdrawn",
  "superseded",
  "not-open",
  "stale-revision",
  "digest-mismatch",
  "idempotency-mismatch",
  "not-a-reviewer",
  "self-approval",
  "reviewers-unavailable",
  "invalid",
  "invalid-edits"
])

/**
 * @category models
 * @since 0.1.0
 */
export type RefusedBecause = typeof RefusedBecause.Type

/**
 * What is chosen by somebody who may be asked only once: a route, a plan, a decomposition, one value of a conflict.
 *
 * @category models
 * @since 0.1.0
 */
export const Purpose = Schema.Literals(["route", "plan", "decompose", "re-plan", "follow-up", "reconcile"])

/**
 * @category models
 * @since 0.1.0
 */
export type Purpose = typeof Purpose.Type

/**
 * What a run, a domain, a worker or a task may spend, by account: `run`, `domain:NAME`, `worker:NAME`, `task:ID`.
 *
 * @category models
 * @since 0.1.0
 */
export const AccountLimits = Schema.Record(Schema.String, Usage)

/**
 * @category models
 * @since 0.1.0
 */
export type AccountLimits = typeof AccountLimits.Type
