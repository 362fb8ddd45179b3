/**
 * The errors of a thread. They are public through `ThreadChild`.
 */
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"

const where = { path: Schema.Array(Schema.String), entry: Schema.String }

/**
 * The thread could not be started, or could not load its entry.
 *
 * **Details**
 *
 * - `problem`: `not-found` (the entry or something that it imports) and `bad-argument` (an option that the thread cannot
 *   be given, such as data that cannot be cloned) are of kind `capability`: a restart does not help, so the child stops.
 *   `other` carries no kind.
 * - `detail`: what the system said.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadNotStarted extends Schema.TaggedError<ThreadNotStarted>("espalier/ThreadChild/ThreadNotStarted")(
  "ThreadNotStarted",
  { ...where, problem: Schema.Literals(["not-found", "bad-argument", "other"]), detail: Schema.String }
) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind | undefined {
    return this.problem === "other" ? undefined : "capability"
  }

  override get message(): string {
    return `${showPath(this.path)}: the thread ${this.entry} was not started (${this.problem}): ${this.detail}`
  }
}

/**
 * The thread ended by itself: with an exit code that is not 0, or before it was ready, with whatever code.
 *
 * **Details**
 *
 * `stderrTail`: the last 20 lines that it wrote to stderr, each of at most 500 characters.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadExited extends Schema.TaggedError<ThreadExited>("espalier/ThreadChild/ThreadExited")(
  "ThreadExited",
  { ...where, exitCode: Schema.Int, beforeReady: Schema.Boolean, stderrTail: Schema.Array(Schema.String) }
) {
  override get message(): string {
    const last = this.stderrTail.at(-1)
    return `${showPath(this.path)}: the thread ended with code ${this.exitCode}${
      this.beforeReady ? " before it was ready" : ""
    }${last === undefined ? "" : `: ${last}`}`
  }
}

/**
 * Something was thrown in the thread and not caught.
 *
 * **Details**
 *
 * An error does not keep its class between threads: `name`, `error` (its message, or the thrown value as text) and `stack`
 * are what is left.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadCrashed extends Schema.TaggedError<ThreadCrashed>("espalier/ThreadChild/ThreadCrashed")(
  "ThreadCrashed",
  { ...where, name: Schema.String, error: Schema.String, threadStack: Schema.optionalKey(Schema.String) }
) {
  override get message(): string {
    return `${showPath(this.path)}: the thread threw ${this.name}: ${this.error}`
  }
}

/**
 * The thread needed more memory than its `resourceLimits` allow. Only the thread ended.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadOutOfMemory extends Schema.TaggedError<ThreadOutOfMemory>("espalier/ThreadChild/ThreadOutOfMemory")(
  "ThreadOutOfMemory",
  { ...where, detail: Schema.String }
) {
  override get message(): string {
    return `${showPath(this.path)}: the thread ran out of memory: ${this.detail}`
  }
}

/**
 * A message that is not what was agreed on.
 *
 * **Details**
 *
 * - `direction`: whether it came `from` the thread or was to be sent `to` it.
 * - `detail`: what is wrong with it, from the schema or from the clone algorithm.
 *
 * Its kind is `malformed`: the child is restarted.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadMessageInvalid extends Schema.TaggedError<ThreadMessageInvalid>(
  "espalier/ThreadChild/ThreadMessageInvalid"
)("ThreadMessageInvalid", { ...where, direction: Schema.Literals(["from", "to"]), detail: Schema.String }) {
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `${showPath(this.path)}: a message ${this.direction} the thread is not valid: ${this.detail}`
  }
}

/**
 * A thread did not end in its grace time and was terminated. It is a defect in the cause of an ordered stop: the stop
 * succeeded, and this is what went wrong on the way.
 *
 * @category errors
 * @since 0.1.0
 */
export class ThreadTerminated extends Schema.TaggedError<ThreadTerminated>("espalier/ThreadChild/ThreadTerminated")(
  "ThreadTerminated",
  { ...where, afterMillis: Schema.Finite }
) {
  override get message(): string {
    return `${showPath(this.path)}: the thread did not end within ${this.afterMillis} ms and was terminated`
  }
}
