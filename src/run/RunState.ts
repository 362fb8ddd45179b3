/**
 * The state of a run, and the only way it changes: `evolve(state, event)`.
 *
 * The state is explicit, plain and small. It knows tasks, tries and where a result lies in the journal, never a result
 * itself, so it does not grow with what workers put out. Folding a run's events gives the same state again.
 *
 * **Invariants**
 *
 * - S1. `version` is the number of events folded; an event's own version is the `version` after it.
 * - S2. A task with an open dispatch is `running`; there is at most one open dispatch per task, which may be `parked`, and then
 *   the task is `awaiting-review`.
 * - S3. A task that ended is never routed, dispatched or ended again.
 * - S4. After `RunFinished` nothing happens, and nothing is written but that somebody decided too late or was told; after
 *   `RunSuspended` only `RunResumed`, and what people say.
 * - S5. `due` holds the tasks that need a decision now, `ready` those that wait for a free slot, in the order in which
 *   they came, and no task is in both; `open` counts the tasks that have not ended, `running` the open dispatches, `consulting` the choices that
 *   were asked for and not answered.
 *   `timed` holds the tasks whose time is running.
 * - S6. A run is `waiting` exactly when reviews or timers are open and nothing else is under way.
 * - S7. Every task belongs to one group; the run's own group has the empty id. A group's counts are those of its tasks.
 * - S8. `size` is at least the bytes of the state's own texts; tasks that would bring it over {@link largest} are refused.
 * - S9. Of one effect, by name and arguments, at most one is not settled. One that was done is known for as long as its task
 *   goes on, one that is not settled until it is, one that did not happen not at all. What belongs to its order alone, and may
 *   be done again, is known for as long as the order is open.
 * - S10. `timers` holds those that are open, by when they are due and then in the order in which they were set. They fire in
 *   that order, none before it is due; one of a task that ended is gone.
 * - S11. A question is in `reviews` while it can be decided, and in `closed` afterwards; `asks` has those that the work of
 *   orders has asked, by key, for as long as its task goes on; `grants` the approvals that were not used; `standing` those for
 *   more than one call, whether they still cover anything or not.
 *
 * **Example** (Only valid transitions exist)
 *
 * ```ts
 * import { Result } from "effect"
 * import { RunState } from "espalier/run"
 *
 * const early = RunState.evolve(undefined, { _tag: "RunResumed", at: 0, note: "Taken up" })
 * const refusal = Result.isFailure(early) ? early.failure.message : "none"
 * refusal // => "RunResumed refused at version 0: the run has not started"
 * ```
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Risk, Tier } from "./Autonomy.ts"
import * as Budget from "./Budget.ts"
import { applyEvent, copy, type Draft } from "./internal/apply.ts"
import { largest as bound } from "./internal/applying/draft.ts"
import * as timing from "./internal/applying/timers.ts"
import { Principal } from "./internal/principals.ts"
import { Step } from "./Ladder.ts"
import { ErrorInfo, ErrorKind, Missing, Status, Usage } from "./Result.ts"
import { OnReject, Terms } from "./ReviewPolicy.ts"
import {
  Containment,
  Decision,
  DispatchEnd,
  Edits,
  EffectRecovery,
  FinalAction,
  PlannedTask,
  Purpose,
  ReviewEnd,
  ReviewKind,
  ReviewReason,
  RunEnd,
  StopReason,
  SuspendReason,
  TaskEnd,
  TimerPurpose,
  WorkerHealth,
  type RunEvent
} from "./RunEvent.ts"
import { StandingGrant } from "./StandingGrant.ts"

/**
 * The bytes that a state may take: 1 MiB. What is larger belongs into results, which a state only points to.
 *
 * @category models
 * @since 0.1.0
 */
export const largest: number = bound

/** @since 0.1.0 */
export interface Try extends Schema.Schema.Type<typeof Try> {}

/**
 * One finished dispatch of a task, one order that was not given, or one group that was merged.
 *
 * **Details**
 *
 * - `dispatch`: absent when nothing was dispatched: a refused contract or reservation, a merged group, a reused outcome.
 * - `worker`: the kind of the coordinator where a group did it.
 * - `outcome`: `rejected-contract` without a dispatch is an order that could not be made: its worker was never called, and
 *   its `kind` is only that of the ladder by which others are tried.
 * - `status`: of the result; absent without one. `kind`, `reason`: absent when the worker delivered.
 * - `label`: what the result means to the group's coordinator. `order`, `digest`: of what was asked and
 *   of the output.
 * - `dependency`: the outside service that is to blame, and not the worker. `account`: the one that was spent. `review`: the
 *   question of its work that nobody answered with yes.
 * - `question`: what the worker needs answered. `severity`: the worst finding about another task's result.
 * - `version`: of the event that holds the result.
 *
 * @category models
 * @since 0.1.0
 */
export const Try = Schema.Struct({
  dispatch: Schema.optionalKey(Schema.String),
  worker: Schema.String,
  outcome: DispatchEnd,
  status: Schema.optionalKey(Status),
  kind: Schema.optionalKey(ErrorKind),
  reason: Schema.optionalKey(Schema.String),
  corrected: Schema.optionalKey(Schema.Literal(true)),
  label: Schema.optionalKey(Schema.String),
  order: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  dependency: Schema.optionalKey(Schema.String),
  account: Schema.optionalKey(Schema.String),
  review: Schema.optionalKey(Schema.String),
  question: Schema.optionalKey(Schema.String),
  severity: Schema.optionalKey(Schema.Literals(["low", "medium", "high"])),
  confidence: Schema.Finite,
  missing: Schema.Array(Missing),
  version: Schema.Int
})

/**
 * States of a task.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskStatus = Schema.Literals(["queued", "ready", "running", "awaiting-review", ...TaskEnd.literals])

/**
 * @category models
 * @since 0.1.0
 */
export type TaskStatus = typeof TaskStatus.Type

/** @since 0.1.0 */
export interface Consult extends Schema.Schema.Type<typeof Consult> {}

/**
 * The choice that a group or a task asked for last.
 *
 * **Details**
 *
 * - `failures`: answers in a row, for the same purpose, that could not be used.
 *
 * @category models
 * @since 0.1.0
 */
export const Consult = Schema.Struct({
  id: Schema.String,
  purpose: Purpose,
  status: Schema.Literals(["open", "answered", "failed"]),
  failures: Schema.Int,
  answer: Schema.optionalKey(Schema.Json),
  error: Schema.optionalKey(ErrorInfo)
})

/** @since 0.1.0 */
export interface Answer extends Schema.Schema.Type<typeof Answer> {}

/**
 * What a person said, or what was done because nobody did. `tries`: how many the task had then.
 *
 * **Details**
 *
 * - `instead`: what was done where nobody decided: the action of a question that expired, or that it was withdrawn.
 *
 * @category models
 * @since 0.1.0
 */
export const Answer = Schema.Struct({
  review: Schema.String,
  kind: ReviewKind,
  reason: ReviewReason,
  decision: Decision,
  by: Schema.String,
  answer: Schema.optionalKey(Schema.Json),
  instead: Schema.optionalKey(Schema.Literals([...FinalAction.literals, "withdrawn"])),
  tries: Schema.Int,
  note: Schema.String
})

/** By which review an order was given, and for which contract. */
const Grant = Schema.Struct({ review: Schema.String, digest: Schema.optionalKey(Schema.String) })

/** An open order, whether its work goes on or waits. */
const order = {
  id: Schema.String,
  worker: Schema.String,
  at: Schema.Finite,
  digest: Schema.optionalKey(Schema.String),
  grant: Schema.optionalKey(Grant),
  from: Schema.optionalKey(Schema.Int),
  spent: Schema.optionalKey(Usage)
}

/** @since 0.1.0 */
export interface TaskState extends Schema.Schema.Type<typeof TaskState> {}

/**
 * A task of a run.
 *
 * **Details**
 *
 * - `parent`: the group that it belongs to.
 * - `unmet`: how many of its needs have not ended; `lost`: those that ended without an output.
 * - `timer`: the open one that it waits for before it is ready.
 * - `routed`: the worker that was chosen and not dispatched yet. `dispatch`: the open one; `attempts`: failed in it, and
 *   `retryAt`: before which the next one does not begin.
 * - `result`: version of the event that holds the output that stands.
 * - `expansions`: how it was carried out by tasks of its own so far. `ladder`: the tries before this index no longer count
 *   for recovery, because a person had it tried anew.
 * - `dropped`: requirements that a person let go.
 * - `parked`: the open dispatch whose work waits for answers. `from`: the version at which that work began anew last.
 * - `spent`: of an open order, what of its calls is charged already.
 * - `approved`: the orders that a person let be given and that were not given yet: to whom, and the digest of the contract; old
 *   journals do not have it, and what is not known is asked anew. `review`: in which. `confirmed`: workers that the supervisor let have it, or did not.
 * - `blocked`: the effect whose outcome has to be known before it goes on.
 * - `deadlineAt`: when its time is over; `expired`: it is. `heldAt`: since when its time stands still, because people are waited
 *   for: for the task itself, or in its tasks, of which nothing else goes on.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskState = Schema.Struct({
  ...PlannedTask.fields,
  parent: Schema.String,
  dependants: Schema.Array(Schema.String),
  status: TaskStatus,
  unmet: Schema.Int,
  lost: Schema.Array(Schema.String),
  timer: Schema.optionalKey(Schema.String),
  routed: Schema.optionalKey(Schema.String),
  dispatch: Schema.optionalKey(
    Schema.Struct({
      ...order,
      recalled: Schema.optionalKey(StopReason),
      retryAt: Schema.optionalKey(Schema.Finite)
    })
  ),
  parked: Schema.optionalKey(Schema.Struct(order)),
  dispatches: Schema.Int,
  attempts: Schema.Int,
  tries: Schema.Array(Try),
  ladder: Schema.Int,
  expansions: Schema.Array(Purpose),
  consult: Schema.optionalKey(Consult),
  review: Schema.optionalKey(Schema.String),
  answers: Schema.Array(Answer),
  dropped: Schema.Array(Schema.String),
  approved: Schema.Array(
    Schema.Struct({
      worker: Schema.String,
      digest: Schema.optionalKey(Schema.String),
      review: Schema.optionalKey(Schema.String)
    })
  ),
  confirmed: Schema.Array(Schema.Struct({ worker: Schema.String, allowed: Schema.Boolean })),
  blocked: Schema.optionalKey(Schema.String),
  deadlineAt: Schema.optionalKey(Schema.Finite),
  expired: Schema.Boolean,
  heldAt: Schema.optionalKey(Schema.Finite),
  result: Schema.optionalKey(Schema.Int),
  missing: Schema.Array(Missing),
  reason: Schema.String
})

const grant = {
  task: Schema.String,
  until: Schema.Finite,
  stallsAt: Schema.optionalKey(Schema.Finite),
  dispatch: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  tool: Schema.optionalKey(Schema.String)
}

/** @since 0.1.0 */
export interface EffectState extends Schema.Schema.Type<typeof EffectState> {}

/**
 * Something that a task does outside.
 *
 * **Details**
 *
 * - `task`, `dispatch`: whose it is, and in which order it was intended. `name`, `digest`: what it is, and of its arguments.
 * - `status`: `intended` until its outcome is known, `quarantined` when a person has to tell it, `done`.
 * - `happened`: as in `EffectQuarantined`. `at`: when it was intended.
 * - `version`: of the event that says it; of one that was done, of the one that holds what came of it.
 * - `intended`: the version of the event that says what it was done with; old journals do not have it.
 * - `per`: as in `EffectIntended`.
 * - `grant`: the approval that it has used; it is there again when it has not happened.
 *
 * @category models
 * @since 0.1.0
 */
export const EffectState = Schema.Struct({
  task: Schema.String,
  dispatch: Schema.String,
  name: Schema.String,
  digest: Schema.String,
  recovery: EffectRecovery,
  status: Schema.Literals(["intended", "quarantined", "done"]),
  happened: Schema.Boolean,
  at: Schema.Finite,
  version: Schema.Int,
  intended: Schema.optionalKey(Schema.Int),
  per: Schema.optionalKey(Schema.Literal("dispatch")),
  grant: Schema.optionalKey(Schema.Struct({ review: Schema.String, ...grant }))
})

/** @since 0.1.0 */
export interface GroupState extends Schema.Schema.Type<typeof GroupState> {}

/**
 * Tasks that belong together: those of the run itself, or those that carry out one task.
 *
 * **Details**
 *
 * - `id`: the task that is carried out; empty for the run itself. `kind`: of its coordinator.
 * - `tasks`: in the order in which they were added. `open`, `accepted`, `partial`, `lost`: how many of them.
 * - `answers`: what was chosen so far, oldest first. `said`: what people decided about it.
 * - `merged`: its result was made; the group of a task is gone then. `whole`: what the result of the run itself came to.
 *
 * @category models
 * @since 0.1.0
 */
export const GroupState = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  containment: Containment,
  tasks: Schema.Array(Schema.String),
  open: Schema.Int,
  accepted: Schema.Int,
  partial: Schema.Int,
  lost: Schema.Int,
  stopping: Schema.optionalKey(Schema.Struct({ reason: StopReason, recall: Schema.Boolean, note: Schema.String })),
  consult: Schema.optionalKey(Consult),
  answers: Schema.Array(Schema.Json),
  said: Schema.Array(Answer),
  review: Schema.optionalKey(Schema.String),
  merged: Schema.Boolean,
  whole: Schema.optionalKey(Schema.Struct({ outcome: DispatchEnd, note: Schema.String }))
})

/** @since 0.1.0 */
export interface ReviewState extends Schema.Schema.Type<typeof ReviewState> {}

/**
 * A question to a person that is not decided.
 *
 * **Details**
 *
 * - `facts`: as in the event, without what only people look at, such as the `order`.
 * - `terms`, `requester`, `digest`, `editable`, `dispatch`, `key`, `supersedes`: as in the event.
 * - `steps`: what comes next while nobody decides. `stage`: how many stages have begun, less one. `held`: its last deadline is
 *   over and it stays open. `extended`: how often it got more time.
 * - `revision`: rises with each change of it, from 1. `votes`: for it, so far; `overtaken`: the keys of those
 *   that do not count any more. `to`: who is asked instead of those of its stages.
 * - `claimed`: who takes care of it.
 *
 * @category models
 * @since 0.1.0
 */
export const ReviewState = Schema.Struct({
  review: Schema.String,
  task: Schema.optionalKey(Schema.String),
  kind: ReviewKind,
  reason: ReviewReason,
  allowed: Schema.Array(Decision),
  facts: Schema.Record(Schema.String, Schema.Json),
  at: Schema.Finite,
  terms: Schema.optionalKey(Terms),
  requester: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  editable: Schema.optionalKey(Schema.Array(Schema.String)),
  dispatch: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String),
  supersedes: Schema.optionalKey(Schema.String),
  steps: Schema.Array(Step),
  stage: Schema.Int,
  held: Schema.optionalKey(Schema.Boolean),
  extended: Schema.Int,
  revision: Schema.Int,
  votes: Schema.Array(
    Schema.Struct({
      by: Schema.String,
      decision: Decision,
      principal: Schema.optionalKey(Principal),
      via: Schema.optionalKey(Schema.String),
      edits: Schema.optionalKey(Edits),
      raise: Schema.optionalKey(Usage),
      key: Schema.optionalKey(Schema.String),
      at: Schema.Finite
    })
  ),
  overtaken: Schema.optionalKey(Schema.Array(Schema.String)),
  to: Schema.optionalKey(Schema.Array(Schema.String)),
  claimed: Schema.optionalKey(Schema.Struct({ by: Schema.String, until: Schema.Finite })),
  note: Schema.String
})

/** @since 0.1.0 */
export interface ClosedReview extends Schema.Schema.Type<typeof ClosedReview> {}

/**
 * A question that is closed, as far as whoever comes late is told of it.
 *
 * **Details**
 *
 * - `as`: how. `decision`, `by`, `said`: what was decided, by whom, and the digest of all that was said; `key`: of the request.
 *   `action`: of one that expired. `instead`: the question in whose place it was put.
 * - `task`, `dispatch`, `digest`, `tool`, `call`: as in the event. `version`: of the event that closed it.
 * - `onReject`: as in its terms.
 *
 * @category models
 * @since 0.1.0
 */
export const ClosedReview = Schema.Struct({
  kind: ReviewKind,
  as: ReviewEnd,
  at: Schema.Finite,
  version: Schema.Int,
  task: Schema.optionalKey(Schema.String),
  dispatch: Schema.optionalKey(Schema.String),
  digest: Schema.optionalKey(Schema.String),
  tool: Schema.optionalKey(Schema.String),
  call: Schema.optionalKey(Schema.String),
  onReject: Schema.optionalKey(OnReject),
  decision: Schema.optionalKey(Decision),
  by: Schema.optionalKey(Schema.String),
  said: Schema.optionalKey(Schema.String),
  key: Schema.optionalKey(Schema.String),
  action: Schema.optionalKey(FinalAction),
  instead: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export interface GrantState extends Schema.Schema.Type<typeof GrantState> {}

/**
 * An approval that was not used yet.
 *
 * **Details**
 *
 * - `until`: how long it holds. `stallsAt`: when people are told that nothing has been done with it; absent once they were.
 * - `dispatch`, `digest`, `tool`: of one that the work of an order asked for.
 *
 * @category models
 * @since 0.1.0
 */
export const GrantState = Schema.Struct(grant)

/** @since 0.1.0 */
export interface StandingState extends Schema.Schema.Type<typeof StandingState> {}

/**
 * An approval for more than one call.
 *
 * **Details**
 *
 * - `used`: how many it has covered. `review`: the question in which it was given; `risk`: of that, more than which it does not
 *   cover. `terms`, `requester`: as of the question: whoever may decide by them may take it back.
 *
 * @category models
 * @since 0.1.0
 */
export const StandingState = Schema.Struct({
  grant: StandingGrant,
  used: Schema.Int,
  review: Schema.String,
  risk: Risk,
  terms: Schema.optionalKey(Terms),
  requester: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export interface TimerState extends Schema.Schema.Type<typeof TimerState> {}

/**
 * A timer that has not fired. See {@link RunEvent.TimerSet}.
 *
 * @category models
 * @since 0.1.0
 */
export const TimerState = Schema.Struct({
  timer: Schema.String,
  subject: Schema.String,
  purpose: TimerPurpose,
  due: Schema.Finite
})

/**
 * States of a run.
 *
 * @category models
 * @since 0.1.0
 */
export const RunStatus = Schema.Literals(["running", "waiting", "suspended", ...RunEnd.literals])

/**
 * @category models
 * @since 0.1.0
 */
export type RunStatus = typeof RunStatus.Type

/** @since 0.1.0 */
export interface RunState extends Schema.Schema.Type<typeof RunState> {}

/**
 * The state of a run.
 *
 * **Details**
 *
 * - `tierBy`: who said the `tier` last; absent where it is the desk's, and for runs that older releases have begun.
 *
 * @category models
 * @since 0.1.0
 */
export const RunState = Schema.Struct({
  run: Schema.String,
  version: Schema.Int,
  status: RunStatus,
  desk: Schema.String,
  deskVersion: Schema.String,
  definition: Schema.String,
  startedAt: Schema.Finite,
  requester: Schema.optionalKey(Schema.String),
  tasks: Schema.ReadonlyMap(Schema.String, TaskState),
  due: Schema.ReadonlySet(Schema.String),
  ready: Schema.ReadonlySet(Schema.String),
  groups: Schema.ReadonlyMap(Schema.String, GroupState),
  reviews: Schema.ReadonlyMap(Schema.String, ReviewState),
  reviewed: Schema.Int,
  closed: Schema.ReadonlyMap(Schema.String, ClosedReview),
  refusals: Schema.Int,
  grants: Schema.ReadonlyMap(Schema.String, GrantState),
  standing: Schema.ReadonlyMap(Schema.String, StandingState),
  asks: Schema.ReadonlyMap(
    Schema.String,
    Schema.Struct({
      task: Schema.String,
      review: Schema.String,
      edited: Schema.optionalKey(Schema.Array(Schema.String))
    })
  ),
  timers: Schema.Array(TimerState),
  timersSet: Schema.Int,
  consulted: Schema.Int,
  consulting: Schema.Int,
  health: Schema.ReadonlyMap(
    Schema.String,
    Schema.Struct({ health: WorkerHealth, until: Schema.optionalKey(Schema.Finite) })
  ),
  load: Schema.ReadonlyMap(Schema.String, Schema.Int),
  failures: Schema.ReadonlyMap(Schema.String, Schema.Int),
  orders: Schema.ReadonlyMap(Schema.String, Schema.Struct({ task: Schema.String, version: Schema.Int })),
  effects: Schema.ReadonlyMap(Schema.String, EffectState),
  ledger: Budget.Ledger,
  overruns: Schema.Array(Budget.Overrun),
  timed: Schema.ReadonlySet(Schema.String),
  tier: Tier,
  tierBy: Schema.optionalKey(Schema.Literals(["start", "configuration", "person"])),
  lastAt: Schema.Finite,
  deadlineAt: Schema.optionalKey(Schema.Finite),
  expired: Schema.Boolean,
  cancelled: Schema.optionalKey(Schema.String),
  spent: Schema.optionalKey(Schema.String),
  unraised: Schema.Array(Schema.String),
  size: Schema.Int,
  open: Schema.Int,
  running: Schema.Int,
  stopReason: Schema.optionalKey(StopReason),
  suspended: Schema.optionalKey(SuspendReason),
  crashes: Schema.Int,
  degraded: Schema.Boolean
})

/**
 * The codec of {@link RunState} to plain JSON.
 *
 * @category models
 * @since 0.1.0
 */
export const Json = Schema.toCodecJson(RunState)

/**
 * An event that cannot happen in this state. The state it was offered to is unchanged.
 *
 * @category errors
 * @since 0.1.0
 */
export class InvalidTransition extends Schema.TaggedError<InvalidTransition>("espalier/run/RunState/InvalidTransition")(
  "InvalidTransition",
  { event: Schema.String, version: Schema.Int, reason: Schema.String }
) {
  override get message(): string {
    return `${this.event} refused at version ${this.version}: ${this.reason}`
  }
}

/**
 * Whether a run is over.
 *
 * @category guards
 * @since 0.1.0
 */
export const isFinished = (status: RunStatus): status is RunEnd => RunEnd.literals.some((end) => end === status)

/**
 * Whether a task is over.
 *
 * @category guards
 * @since 0.1.0
 */
export const isEnded = (status: TaskStatus): status is TaskEnd => TaskEnd.literals.some((end) => end === status)

/**
 * When a run that waits goes on by itself: the earliest of its timers, and of the deadlines that run beside them.
 *
 * **Details**
 *
 * - In milliseconds since 1970. `undefined` for a run that does not wait, and for one that only people can make go on.
 * - It may lie in the past: then it is time to take the run up.
 *
 * **Gotchas**
 *
 * While a run waits only for people its deadlines stand still. While a timer of its own is open they run on, until that timer
 * is due; from then on it is nobody's but the executor's fault that nothing happens, and they stand still again.
 *
 * @category accessors
 * @since 0.1.0
 */
export const wakeAt: (state: RunState) => number | undefined = timing.wakeAt

/**
 * What the state is after an event, or why the event cannot happen. `undefined` is the state before the first event.
 *
 * @category transitions
 * @since 0.1.0
 */
export const evolve = (state: RunState | undefined, event: RunEvent): Result.Result<RunState, InvalidTransition> => {
  const next = applyEvent(state === undefined ? undefined : copy(state), event)
  return typeof next === "string"
    ? Result.fail(new InvalidTransition({ event: event._tag, version: state?.version ?? 0, reason: next }))
    : Result.succeed(next)
}

/**
 * The state after a whole history, or the first event that cannot have happened. `undefined` for no events at all.
 *
 * @category transitions
 * @since 0.1.0
 */
export const fold = (events: Iterable<RunEvent>): Result.Result<RunState | undefined, InvalidTransition> => {
  let state: Draft | undefined
  for (const event of events) {
    const version: number = state?.version ?? 0
    const next = applyEvent(state, event)
    if (typeof next === "string") {
      return Result.fail(new InvalidTransition({ event: event._tag, version, reason: next }))
    }
    state = next
  }
  return Result.succeed(state)
}
