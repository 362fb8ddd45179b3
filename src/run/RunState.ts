/**
 * The state of a run, and the only way it changes: `evolve(state, event)`.
 *
 * The state is explicit, plain and small. It knows tasks, tries and where a result lies in the journal, never a result
 * itself, so it does not grow with what workers put out. Folding a run's events gives the same state again.
 *
 * **Invariants**
 *
 * - S1. `version` is the number of events folded; an event's own version is the `version` after it.
 * - S2. A task with an open dispatch is `running`; there is at most one open dispatch per task.
 * - S3. A task that ended is never routed, dispatched or ended again.
 * - S4. After `RunFinished` nothing happens; after `RunSuspended` only `RunResumed`.
 * - S5. `due` holds the tasks that need a decision now, `ready` those that wait for a free slot, in the order in which
 *   they came; `open` counts the tasks that have not ended, `running` the open dispatches.
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

import { applyEvent, type Draft } from "./internal/apply.ts"
import { Missing, ErrorKind } from "./Result.ts"
import { DispatchEnd, PlannedTask, RunEnd, StopReason, SuspendReason, TaskEnd, type RunEvent } from "./RunEvent.ts"

/** @since 0.1.0 */
export interface Try extends Schema.Schema.Type<typeof Try> {}

/**
 * One finished dispatch of a task, or one refused contract.
 *
 * **Details**
 *
 * - `dispatch`: absent when the contract was refused, because nothing was dispatched.
 * - `kind`, `reason`: absent when the worker delivered.
 * - `version`: of the event that holds the result.
 *
 * @category models
 * @since 0.1.0
 */
export const Try = Schema.Struct({
  dispatch: Schema.optionalKey(Schema.String),
  worker: Schema.String,
  outcome: DispatchEnd,
  kind: Schema.optionalKey(ErrorKind),
  reason: Schema.optionalKey(Schema.String),
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
export interface TaskState extends Schema.Schema.Type<typeof TaskState> {}

/**
 * A task of a run.
 *
 * **Details**
 *
 * - `unmet`: how many of its needs have not ended; `lost`: those that ended without an output.
 * - `routed`: the worker that was chosen and not dispatched yet. `dispatch`: the open one; `attempts`: failed in it.
 * - `result`: version of the event that holds the output that stands.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskState = Schema.Struct({
  ...PlannedTask.fields,
  dependants: Schema.Array(Schema.String),
  status: TaskStatus,
  unmet: Schema.Int,
  lost: Schema.Array(Schema.String),
  routed: Schema.optionalKey(Schema.String),
  dispatch: Schema.optionalKey(Schema.Struct({ id: Schema.String, worker: Schema.String, at: Schema.Finite })),
  dispatches: Schema.Int,
  attempts: Schema.Int,
  tries: Schema.Array(Try),
  result: Schema.optionalKey(Schema.Int),
  missing: Schema.Array(Missing),
  reason: Schema.String
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
  tasks: Schema.ReadonlyMap(Schema.String, TaskState),
  due: Schema.ReadonlySet(Schema.String),
  ready: Schema.ReadonlySet(Schema.String),
  open: Schema.Int,
  running: Schema.Int,
  stopReason: Schema.optionalKey(StopReason),
  suspended: Schema.optionalKey(SuspendReason),
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
 * What the state is after an event, or why the event cannot happen. `undefined` is the state before the first event.
 *
 * @category transitions
 * @since 0.1.0
 */
export const evolve = (state: RunState | undefined, event: RunEvent): Result.Result<RunState, InvalidTransition> => {
  const draft =
    state === undefined
      ? undefined
      : { ...state, tasks: new Map(state.tasks), due: new Set(state.due), ready: new Set(state.ready) }
  const next = applyEvent(draft, event)
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
