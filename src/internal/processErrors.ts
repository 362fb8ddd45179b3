/**
 * The errors of an operating-system process. They are public through `Child`.
 */
import type { PlatformError } from "effect/PlatformError"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"

/**
 * The process could not be started at all.
 *
 * **Details**
 *
 * - `problem`: `not-found` (the command, its interpreter or its working directory), `permission-denied` and
 *   `bad-argument` are of kind `capability`: a restart does not help, so the child stops. `busy` (the machine is short of
 *   processes, files or memory) is `transient`. `other` carries no kind.
 * - `detail`: what the spawner said.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProcessNotStarted extends Schema.TaggedError<ProcessNotStarted>("espalier/Child/ProcessNotStarted")(
  "ProcessNotStarted",
  {
    path: Schema.Array(Schema.String),
    command: Schema.String,
    problem: Schema.Literals(["not-found", "permission-denied", "bad-argument", "busy", "other"]),
    detail: Schema.String
  }
) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind | undefined {
    return this.problem === "other" ? undefined : this.problem === "busy" ? "transient" : "capability"
  }

  override get message(): string {
    return `${showPath(this.path)}: ${this.command} was not started (${this.problem}): ${this.detail}`
  }
}

/**
 * The process ended by itself: with an exit code that is not 0, by a signal from outside, or before it was ready.
 *
 * **Details**
 *
 * - `exitCode` or `signal` is there, whichever the operating system told.
 * - `beforeReady`: it ended during the start, with whatever code.
 * - `stderrTail`: the last 20 lines that it wrote to stderr, each of at most 500 characters, without secrets (`Redaction`).
 *
 * It carries no kind: like a crash, it is restarted.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProcessExited extends Schema.TaggedError<ProcessExited>("espalier/Child/ProcessExited")("ProcessExited", {
  path: Schema.Array(Schema.String),
  command: Schema.String,
  pid: Schema.Int,
  exitCode: Schema.optionalKey(Schema.Int),
  signal: Schema.optionalKey(Schema.String),
  beforeReady: Schema.Boolean,
  stderrTail: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const how =
      this.exitCode !== undefined
        ? `ended with code ${this.exitCode}`
        : this.signal !== undefined
          ? `was ended by ${this.signal}`
          : "ended"
    const last = this.stderrTail.at(-1)
    return `${showPath(this.path)}: ${this.command} (pid ${this.pid}) ${how}${this.beforeReady ? " before it was ready" : ""}${
      last === undefined ? "" : `: ${last}`
    }`
  }
}

/**
 * A stream to or from the process broke, so the child cannot be what it is meant to be. The process is stopped.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProcessPipeBroken extends Schema.TaggedError<ProcessPipeBroken>("espalier/Child/ProcessPipeBroken")(
  "ProcessPipeBroken",
  {
    path: Schema.Array(Schema.String),
    command: Schema.String,
    pid: Schema.Int,
    stream: Schema.Literals(["stdin", "stdout", "stderr"]),
    detail: Schema.String
  }
) {
  override get message(): string {
    return `${showPath(this.path)}: ${this.stream} of ${this.command} (pid ${this.pid}) broke: ${this.detail}`
  }
}

/**
 * A process did not end in its grace time and was killed. It is a defect in the cause of an ordered stop: the stop
 * succeeded, and this is what went wrong on the way.
 *
 * @category errors
 * @since 0.1.0
 */
export class ProcessKilled extends Schema.TaggedError<ProcessKilled>("espalier/Child/ProcessKilled")("ProcessKilled", {
  path: Schema.Array(Schema.String),
  command: Schema.String,
  pid: Schema.Int,
  afterMillis: Schema.Finite
}) {
  override get message(): string {
    return `${showPath(this.path)}: ${this.command} (pid ${this.pid}) did not end within ${this.afterMillis} ms and was killed`
  }
}

/** Codes of a machine that is short of something, for now. */
const busy: ReadonlyArray<unknown> = ["EAGAIN", "EMFILE", "ENFILE", "ENOMEM", "ETXTBSY", "EBUSY"]

/** The code that the operating system gave. */
const codeOf = (error: PlatformError): unknown => {
  const { reason } = error
  const { cause } = reason
  return typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
}

/** What a failed spawn means. */
export const problemOf = (error: PlatformError): ProcessNotStarted["problem"] => {
  switch (error.reason._tag) {
    case "NotFound":
      return "not-found"
    case "PermissionDenied":
      return "permission-denied"
    case "BadArgument":
    case "BadResource":
      return "bad-argument"
    default:
      return busy.includes(codeOf(error)) ? "busy" : "other"
  }
}

/** How a process ended, as far as the spawner tells. */
export type Status =
  | { readonly _tag: "Code"; readonly exitCode: number }
  | { readonly _tag: "Signal"; readonly signal: string | undefined }
  | { readonly _tag: "Broken"; readonly detail: string }

/**
 * Reads why waiting for the exit code failed. The spawner has no field for a signal: it names it in the text of the
 * cause, and everything else that can fail there is the input stream of the process.
 */
export const statusOf = (error: PlatformError): Status => {
  const { reason } = error
  const text = reason.cause instanceof Error ? reason.cause.message : ""
  const signal = /\bSIG[A-Z0-9]+\b/.exec(text)?.[0]
  return signal !== undefined || reason.method === "exitCode"
    ? { _tag: "Signal", signal }
    : { _tag: "Broken", detail: error.message }
}
