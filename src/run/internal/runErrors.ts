// @effect-diagnostics schemaNumber:off -- an event that is asked for may be any number
/**
 * How runs can fail to be begun, taken up, spoken to and carried out.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import type * as Journal from "../../journal/Journal.ts"
import { Problem, sentences } from "./problems.ts"
import { RefusedBecause } from "./vocabulary.ts"

/**
 * What a run was asked to begin with is not what its desk takes, or an option of it is not what it can be.
 *
 * @category errors
 * @since 0.1.0
 */
export class InputInvalid extends Schema.TaggedError<InputInvalid>("espalier/run/Run/InputInvalid")("InputInvalid", {
  desk: Schema.String,
  problems: Schema.Array(Problem)
}) {
  override get message(): string {
    return `INPUT_INVALID: ${this.desk}: ${sentences(this.problems, "the input")}`
  }
}

/**
 * There is a run of this id already.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunExists extends Schema.TaggedError<RunExists>("espalier/run/Run/RunExists")("RunExists", {
  run: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} exists already; resume it, or choose another id`
  }
}

/**
 * The journal has no run of this id.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunNotFound extends Schema.TaggedError<RunNotFound>("espalier/run/Run/RunNotFound")("RunNotFound", {
  run: Schema.String
}) {
  override get message(): string {
    return `the journal has no run ${this.run}`
  }
}

/**
 * The run began with another definition of the desk. It was left suspended.
 *
 * @category errors
 * @since 0.1.0
 */
export class VersionMismatch extends Schema.TaggedError<VersionMismatch>("espalier/run/Run/VersionMismatch")(
  "VersionMismatch",
  { run: Schema.String, began: Schema.String, current: Schema.String }
) {
  override get message(): string {
    return `the run ${this.run} began with ${this.began} and cannot go on with ${this.current}`
  }
}

/**
 * What the journal says of the run cannot have happened, so nothing can be built on it.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunUntrusted extends Schema.TaggedError<RunUntrusted>("espalier/run/Run/RunUntrusted")("RunUntrusted", {
  run: Schema.String,
  version: Schema.Int,
  reason: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} cannot be trusted from version ${this.version} on: ${this.reason}`
  }
}

/**
 * Newer code has begun the run, or gone on with it: this code does not know one of its events. Nothing was changed, and the
 * newer code can go on.
 *
 * **Details**
 *
 * - `version`, `type`: of the first event that is not known. `known`: the latest version of such an event that is; 0 for none.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunTooNew extends Schema.TaggedError<RunTooNew>("espalier/run/Run/RunTooNew")("RunTooNew", {
  run: Schema.String,
  version: Schema.Int,
  type: Schema.String,
  known: Schema.Int
}) {
  override get message(): string {
    const knows = this.known === 0 ? "does not know at all" : `knows up to version ${this.known}`
    return `the run ${this.run} is of a newer release: its event ${this.version} is a ${this.type}, which this one ${knows}`
  }
}

/**
 * The run has not got that far. `last`: its last event.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoSuchEvent extends Schema.TaggedError<NoSuchEvent>("espalier/run/Run/NoSuchEvent")("NoSuchEvent", {
  run: Schema.String,
  version: Schema.Number,
  last: Schema.Int
}) {
  override get message(): string {
    return `the run ${this.run} has no event ${this.version}; its last one is ${this.last}`
  }
}

/**
 * The run is being carried out at this office. Nothing was changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunBusy extends Schema.TaggedError<RunBusy>("espalier/run/Run/RunBusy")("RunBusy", {
  run: Schema.String
}) {
  override get message(): string {
    return `the run ${this.run} is carried out here already`
  }
}

/**
 * The run was taken up several times and each time cut off before anything came of it. It is suspended as `quarantined`, and
 * goes on when somebody says so.
 *
 * **Details**
 *
 * - `crashes`: how often. `reason`: what was under way.
 *
 * @category errors
 * @since 0.1.0
 */
export class RunQuarantined extends Schema.TaggedError<RunQuarantined>("espalier/run/Run/RunQuarantined")(
  "RunQuarantined",
  { run: Schema.String, crashes: Schema.Int, reason: Schema.String }
) {
  override get message(): string {
    return `the run ${this.run} is quarantined: it was cut off ${this.crashes} times without any progress; ${this.reason}`
  }
}

/**
 * How a run can fail to be carried out. A task that fails is no such failure; it is in the outcome.
 *
 * **Details**
 *
 * `VersionConflict`: somebody else is executing the run.
 *
 * @category errors
 * @since 0.1.0
 */
export type RunError = Journal.VersionConflict | Journal.JournalError

/**
 * Somebody's word came too late, or is not one that was asked for. Nothing was changed.
 *
 * **Details**
 *
 * - `command`: what was said, as in `the decision of r1/review/1`. `reason`: the field, what was there, and what is allowed.
 * - `because`: of a decision, what kind of refusal it is.
 *
 * @category errors
 * @since 0.1.0
 */
export class CommandRefused extends Schema.TaggedError<CommandRefused>("espalier/run/Run/CommandRefused")(
  "CommandRefused",
  {
    run: Schema.String,
    command: Schema.String,
    reason: Schema.String,
    because: Schema.optionalKey(RefusedBecause)
  }
) {
  override get message(): string {
    return `${this.command} is refused: ${this.reason}`
  }
}
