/**
 * What happens in a run, as the journal keeps it: the only source of its state, its audit and its resumption.
 *
 * Every event is plain JSON, carries its time (`at`, milliseconds since 1970) and one plain sentence (`note`) that says
 * what happened and why. Events say what happened; they are never recomputed.
 *
 * | event | says |
 * |---|---|
 * | `RunStarted` | the desk, its version, owner and definition, the input, the planned tasks, the limits, the autonomy tier |
 * | `GroupOpened` | a task is carried out by tasks of its own: a pipeline, a decomposition, a new plan |
 * | `TasksAdded` | a coordinator added tasks to its group |
 * | `GroupStopping` | a group takes no new orders: a sibling failed, a quorum is reached, a budget is spent |
 * | `Merged` | a group is over, with the result made of its tasks' results |
 * | `Consulted` `Decided` `DecisionFailed` | a choice was asked for (a route, a plan), and what came of it |
 * | `Routed` | a worker was chosen for a task, out of which candidates |
 * | `Confirmed` | the supervisor's own decision on an action that its autonomy does not cover by itself |
 * | `ContractRefused` | the order for that worker could not be made; the worker never saw it |
 * | `BudgetRefused` | what the order would cost did not fit into an account; the worker never saw it |
 * | `Reused` | the same order had been carried out already; its outcome stands |
 * | `Dispatched` | the order was given; written before the worker runs |
 * | `AttemptFailed` | one attempt inside a dispatch failed and another follows after `waitMillis` |
 * | `EffectIntended` | the worker is about to do something outside; written before it is done |
 * | `EffectSettled` | it has happened, with what came of it, or it has not |
 * | `Spent` | a call of an order's work, or of a choice, was paid for |
 * | `EffectQuarantined` | nobody here can tell whether it has happened; a person is asked |
 * | `Recalled` | the order was called back; its work is being stopped |
 * | `Reported` | the dispatch is over, with its result |
 * | `Overrun` | a dispatch used more than was reserved for it; the account is closed |
 * | `ReviewOpened` `ReviewDecided` | a person is asked, and what was decided |
 * | `ReviewVoted` | one vote of several that a question needs |
 * | `ReviewAdvanced` `ReviewExpired` | nobody has decided yet: people are reminded, others are asked; nobody has decided in time |
 * | `ReviewWithdrawn` `ReviewChanged` | a question is taken back; somebody takes care of it, others are asked, there is more time |
 * | `ReviewRefused` | somebody decided, and it does not count |
 * | `GrantStalled` | nothing has been done with an approval |
 * | `GrantGiven` `GrantRevoked` | somebody lets the like of a call be done without being asked, and takes that back |
 * | `Notified` | somebody was told of a question, or could not be |
 * | `Parked` `Unparked` | an order waits for the answers to what its work has asked, and begins anew with them |
 * | `TimerSet` `TimerFired` | something waits until a time, and that time has come |
 * | `TaskEnded` | the task reached a state that it does not leave |
 * | `HealthChanged` | a worker is routed around, or is back |
 * | `AutonomyChanged` | who changed the tier, and why |
 * | `DeadlinePassed` | the time of a task or of the run is over |
 * | `CancelRequested` | somebody asked for the end of the run |
 * | `Noticed` | something that changes nothing and must not be silent |
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

import { Reference } from "../journal/Reference.ts"
import { Tier } from "./Autonomy.ts"
import { EffectIntended, EffectQuarantined, EffectSettled, Spent } from "./internal/effectEvents.ts"
import { Count } from "./internal/fields.ts"
import {
  GrantGiven,
  GrantRevoked,
  GrantStalled,
  Notified,
  Parked,
  ReviewAdvanced,
  ReviewChanged,
  ReviewDecided,
  ReviewExpired,
  ReviewOpened,
  ReviewRefused,
  ReviewVoted,
  ReviewWithdrawn,
  Unparked
} from "./internal/reviewEvents.ts"
import {
  AccountLimits,
  Containment,
  DispatchEnd,
  PlannedTask,
  Purpose,
  ResumeCause,
  RunEnd,
  StopReason,
  SuspendReason,
  TaskEnd,
  TimerPurpose,
  WorkerHealth
} from "./internal/vocabulary.ts"
import { ErrorKind, Envelope, ErrorInfo, Missing, Usage } from "./Result.ts"

export * from "./internal/effectEvents.ts"
export * from "./internal/reviewEvents.ts"
export * from "./internal/vocabulary.ts"

const at = Schema.Finite
const note = Schema.String
const task = Schema.String
const dispatch = Schema.String
const worker = Schema.String
const group = Schema.String

/**
 * **Details**
 *
 * - `requester`: who asked for the run; a person, also where a program did it for them.
 * - `inputRef`: where the input is, in the journal of a run with a store of artefacts, when it takes more than 64 KiB; then
 *   `input` is `null`.
 * - `tierBy`: what said the tier: `start` where it was given with the input, `configuration` (see `Tiers`); absent where it is
 *   the desk's, and in old journals.
 * - `module`: where the desk was loaded from, as it was said: a path or the name of a package. It means what it meant only in
 *   the folder in which it was said.
 * - `trace`: the W3C `traceparent` by which later processes find what was traced of the run from here on, where it was.
 *
 * @category models
 * @since 0.1.0
 */
export const RunStarted = Schema.TaggedStruct("RunStarted", {
  at,
  run: Schema.String,
  desk: Schema.String,
  version: Schema.String,
  owner: Schema.optionalKey(Schema.String),
  module: Schema.optionalKey(Schema.String),
  requester: Schema.optionalKey(Schema.String),
  definition: Schema.String,
  input: Schema.Json,
  inputRef: Schema.optionalKey(Reference),
  tasks: Schema.Array(PlannedTask),
  coordinator: Schema.optionalKey(Schema.String),
  containment: Schema.optionalKey(Containment),
  limits: Schema.optionalKey(AccountLimits),
  tier: Schema.optionalKey(Tier),
  tierBy: Schema.optionalKey(Schema.Literals(["start", "configuration"])),
  deadlineAt: Schema.optionalKey(Schema.Finite),
  trace: Schema.optionalKey(Schema.String),
  note
})

/**
 * **Details**
 *
 * - `kind`: of the coordinator, or `decompose`, `re-plan`, `follow-up`.
 *
 * @category models
 * @since 0.1.0
 */
export const GroupOpened = Schema.TaggedStruct("GroupOpened", {
  at,
  task,
  kind: Schema.String,
  containment: Containment,
  tasks: Schema.Array(PlannedTask),
  limits: Schema.optionalKey(Usage),
  deadlineAt: Schema.optionalKey(Schema.Finite),
  note
})

/**
 * **Details**
 *
 * - `group`: the task that is carried out by these tasks; empty for the run itself.
 *
 * @category models
 * @since 0.1.0
 */
export const TasksAdded = Schema.TaggedStruct("TasksAdded", { at, group, tasks: Schema.Array(PlannedTask), note })

/**
 * **Details**
 *
 * - `recall`: whether orders under way are called back; otherwise they are waited for.
 *
 * @category models
 * @since 0.1.0
 */
export const GroupStopping = Schema.TaggedStruct("GroupStopping", {
  at,
  group,
  reason: StopReason,
  recall: Schema.Boolean,
  note
})

/**
 * **Details**
 *
 * - `group`: as in `TasksAdded`.
 * - `open`: of the run itself, the mandatory requirements that do not hold at its final revision.
 *
 * @category models
 * @since 0.1.0
 */
export const Merged = Schema.TaggedStruct("Merged", {
  at,
  group,
  kind: Schema.String,
  outcome: DispatchEnd,
  result: Envelope,
  conflicts: Schema.optionalKey(Schema.Array(Schema.Json)),
  leftOut: Schema.optionalKey(Schema.Array(Missing)),
  open: Schema.optionalKey(
    Schema.Array(Schema.Struct({ task: Schema.String, requirement: Schema.String, reason: Schema.String }))
  ),
  label: Schema.optionalKey(Schema.String),
  note
})

/**
 * **Details**
 *
 * - `subject`: the group or the task that it is about; empty for the run itself.
 *
 * @category models
 * @since 0.1.0
 */
export const Consulted = Schema.TaggedStruct("Consulted", {
  at,
  consult: Schema.String,
  subject: Schema.String,
  purpose: Purpose,
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const Decided = Schema.TaggedStruct("Decided", {
  at,
  consult: Schema.String,
  subject: Schema.String,
  answer: Schema.Json,
  usage: Schema.optionalKey(Usage),
  note
})

/**
 * **Details**
 *
 * - `error`: kind `malformed` when the answer was none of those that were allowed.
 * - `late`: nobody answered in time.
 *
 * @category models
 * @since 0.1.0
 */
export const DecisionFailed = Schema.TaggedStruct("DecisionFailed", {
  at,
  consult: Schema.String,
  subject: Schema.String,
  error: ErrorInfo,
  late: Schema.optionalKey(Schema.Literal(true)),
  usage: Schema.optionalKey(Usage),
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
 * **Details**
 *
 * - `dispatch`, `effect`: of what an order is about to do outside; absent where it is about the order itself.
 *
 * @category models
 * @since 0.1.0
 */
export const Confirmed = Schema.TaggedStruct("Confirmed", {
  at,
  task,
  worker,
  allowed: Schema.Boolean,
  dispatch: Schema.optionalKey(dispatch),
  effect: Schema.optionalKey(Schema.String),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const BudgetRefused = Schema.TaggedStruct("BudgetRefused", {
  at,
  task,
  worker,
  account: Schema.String,
  measure: Schema.String,
  limit: Schema.Finite,
  asked: Schema.Finite,
  note
})

/**
 * **Details**
 *
 * - `of`: the task whose outcome it is; `version`: of the event that holds it.
 *
 * @category models
 * @since 0.1.0
 */
export const Reused = Schema.TaggedStruct("Reused", {
  at,
  task,
  worker,
  of: Schema.String,
  version: Schema.Int,
  note
})

/**
 * **Details**
 *
 * - `inputBytes`: how many bytes of UTF-8 its inputs take as JSON, references and results of other tasks apart. Old journals do
 *   not have it.
 * - `grant`: the review in which a person let it be given. It is used up by this.
 *
 * @category models
 * @since 0.1.0
 */
export const Dispatched = Schema.TaggedStruct("Dispatched", {
  at,
  task,
  dispatch,
  worker,
  contract: Schema.Int,
  inputBytes: Schema.optionalKey(Count),
  digest: Schema.optionalKey(Schema.String),
  reserved: Schema.optionalKey(Usage),
  limits: Schema.optionalKey(Usage),
  deadlineAt: Schema.optionalKey(Schema.Finite),
  grant: Schema.optionalKey(Schema.String),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const Recalled = Schema.TaggedStruct("Recalled", { at, task, dispatch, reason: StopReason, note })

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
 * **Details**
 *
 * - `review`: the question of its work that nobody answered with yes, where the order ended for that.
 *
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
  label: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  dependency: Schema.optionalKey(Schema.String),
  review: Schema.optionalKey(Schema.String),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const Overrun = Schema.TaggedStruct("Overrun", {
  at,
  task,
  dispatch,
  account: Schema.String,
  measure: Schema.String,
  limit: Schema.optionalKey(Schema.Finite),
  settled: Schema.Finite,
  note
})

/**
 * **Details**
 *
 * - `timer`: `run/timer/n`, n from 1. `subject`: the task; empty for the run itself.
 * - `due`: when its time comes, in milliseconds since 1970.
 *
 * @category models
 * @since 0.1.0
 */
export const TimerSet = Schema.TaggedStruct("TimerSet", {
  at,
  timer: Schema.String,
  subject: Schema.String,
  purpose: TimerPurpose,
  due: Schema.Finite,
  note
})

/**
 * **Details**
 *
 * - `due`: when its time came; `at` is when that was noticed, which may be much later.
 *
 * @category models
 * @since 0.1.0
 */
export const TimerFired = Schema.TaggedStruct("TimerFired", {
  at,
  timer: Schema.String,
  subject: Schema.String,
  due: Schema.Finite,
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
export const HealthChanged = Schema.TaggedStruct("HealthChanged", {
  at,
  worker,
  health: WorkerHealth,
  until: Schema.optionalKey(Schema.Finite),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const AutonomyChanged = Schema.TaggedStruct("AutonomyChanged", {
  at,
  from: Tier,
  to: Tier,
  by: Schema.String,
  note
})

/**
 * **Details**
 *
 * - `subject`: the task; empty for the run itself.
 * - `due`: when its time was over; `at` is when that was noticed. Old journals do not have it.
 *
 * @category models
 * @since 0.1.0
 */
export const DeadlinePassed = Schema.TaggedStruct("DeadlinePassed", {
  at,
  subject: Schema.String,
  due: Schema.optionalKey(Schema.Finite),
  note
})

/**
 * @category models
 * @since 0.1.0
 */
export const CancelRequested = Schema.TaggedStruct("CancelRequested", { at, by: Schema.String, note })

/**
 * @category models
 * @since 0.1.0
 */
export const Noticed = Schema.TaggedStruct("Noticed", { at, subject: Schema.String, what: Schema.String, note })

/**
 * **Details**
 *
 * - `cause`: as whoever took it up knew it. Old journals do not have it.
 * - `trace`: as of `RunStarted`.
 *
 * @category models
 * @since 0.1.0
 */
export const RunResumed = Schema.TaggedStruct("RunResumed", {
  at,
  cause: Schema.optionalKey(ResumeCause),
  trace: Schema.optionalKey(Schema.String),
  note
})

/**
 * **Details**
 *
 * - `interrupted`: what the calls of orders under way had used when the run was put down, as far as it is known. It is
 *   charged now; the orders keep what was set aside for them, and what they use when they are given again comes on top.
 *
 * @category models
 * @since 0.1.0
 */
export const RunSuspended = Schema.TaggedStruct("RunSuspended", {
  at,
  reason: SuspendReason,
  interrupted: Schema.optionalKey(Schema.Array(Schema.Struct({ task, dispatch, usage: Usage }))),
  note
})

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
  GroupOpened,
  TasksAdded,
  GroupStopping,
  Merged,
  Consulted,
  Decided,
  DecisionFailed,
  Routed,
  Confirmed,
  ContractRefused,
  BudgetRefused,
  Reused,
  Dispatched,
  AttemptFailed,
  EffectIntended,
  EffectSettled,
  EffectQuarantined,
  Spent,
  Recalled,
  Reported,
  Overrun,
  ReviewOpened,
  ReviewDecided,
  ReviewVoted,
  ReviewAdvanced,
  ReviewExpired,
  ReviewWithdrawn,
  ReviewChanged,
  ReviewRefused,
  GrantStalled,
  GrantGiven,
  GrantRevoked,
  Notified,
  Parked,
  Unparked,
  TimerSet,
  TimerFired,
  TaskEnded,
  HealthChanged,
  AutonomyChanged,
  DeadlinePassed,
  CancelRequested,
  Noticed,
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
