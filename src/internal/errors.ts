/**
 * The errors of the tree. They are public through `Supervisor` and `Tree`.
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import { format } from "effect/Formatter"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { nodeStates } from "./decisions.ts"

/** How a path is shown: ids from the root, joined by a slash. */
export const showPath = (path: ReadonlyArray<string>): string => path.join("/")

/**
 * A child could not be started, and neither could anything above it.
 *
 * **Details**
 *
 * - `path`: ids from the root to the child whose init failed; nested supervisors lengthen it, they do not wrap.
 * - `cause`: why. `InitTimeout` when the init took too long.
 *
 * @category errors
 * @since 0.1.0
 */
export class StartFailure<out E> extends Data.TaggedError("StartFailure")<{
  readonly path: ReadonlyArray<string>
  readonly cause: Cause.Cause<unknown>
}> {
  declare readonly cause: Cause.Cause<E>

  override get message(): string {
    return `${showPath(this.path)} did not start: ${Cause.prettyErrors(this.cause)[0]?.message ?? "interrupted"}`
  }
}

/**
 * The root supervisor spent its restart intensity, or was told to escalate.
 *
 * **Details**
 *
 * - `path`: the escalation path: ids from the root down to the child on which the first supervisor gave up.
 * - `cause`: the last cause of that child.
 *
 * @category errors
 * @since 0.1.0
 */
export class GaveUp extends Data.TaggedError("GaveUp")<{
  readonly path: ReadonlyArray<string>
  readonly cause: Cause.Cause<unknown>
}> {
  override get message(): string {
    return `${showPath(this.path.slice(0, -1))} gave up on ${this.path.at(-1)}: ${
      Cause.prettyErrors(this.cause)[0]?.message ?? "it ended again and again"
    }`
  }
}

/**
 * A child's init took longer than its time-out.
 *
 * @category errors
 * @since 0.1.0
 */
export class InitTimeout extends Schema.TaggedError<InitTimeout>("espalier/Supervisor/InitTimeout")("InitTimeout", {
  path: Schema.Array(Schema.String),
  afterMillis: Schema.Finite
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.path)} was not ready after ${this.afterMillis} ms`
  }
}

/**
 * A request about a child that cannot be carried out as things stand. Nothing was changed.
 *
 * **Details**
 *
 * `reason` says why:
 *
 * - `not-running`: the supervisor is stopped, or began to stop while the request waited
 * - `not-found`: there is no child of that id
 * - `not-a-supervisor`: the node of that path has no children
 * - `already-started`: a child of that id runs
 * - `already-present`: a child of that id exists, stopped or waiting to be restarted
 * - `running`: it must be stopped first
 * - `restarting`: it waits to be restarted; `stopChild` cancels that
 * - `no-auto-shutdown`: it is significant, and the supervisor never shuts itself down
 * - `called-from-init`: an init asked the supervisor that waits for this very init
 * - `called-from-stop`: a finalizer, or other code that a stop cannot interrupt, asked for what can only be answered once
 *   that very code is done: it is being stopped, or asked to be
 * - `not-replaceable`: a spec of this kind cannot be exchanged
 * - `other-kind`: the new spec makes another kind of child; remove the old one and start the new one
 * - `other-service`: the new spec is of another actor service, whose references are not the ones given out
 * - `max-children`: the dynamic supervisor has as many children as it may have
 * - `ignored`: the new child of a dynamic supervisor declined to start
 * - `dynamic-supervisor`: its children come from a template, and none is kept that is down
 *
 * `present` is the child that is there, where that is why: see `already-started`, `already-present`, `running`,
 * `restarting`. A handle to it (`Tree.find`) has its references.
 *
 * @category errors
 * @since 0.1.0
 */
export class ChildRefused extends Schema.TaggedError<ChildRefused>("espalier/Tree/ChildRefused")("ChildRefused", {
  supervisor: Schema.Array(Schema.String),
  child: Schema.String,
  reason: Schema.Literals([
    "not-running",
    "not-found",
    "not-a-supervisor",
    "already-started",
    "already-present",
    "running",
    "restarting",
    "no-auto-shutdown",
    "not-replaceable",
    "other-kind",
    "other-service",
    "called-from-stop",
    "called-from-init",
    "max-children",
    "ignored",
    "dynamic-supervisor"
  ]),
  present: Schema.optionalKey(
    Schema.Struct({
      state: Schema.Literals(nodeStates),
      incarnation: Schema.Finite
    })
  )
}) {
  override get message(): string {
    const { child, reason, supervisor } = this
    if (supervisor.length === 0) return `the tree has no root ${format(child)}`
    const where = showPath(supervisor)
    return reason === "not-found"
      ? `${where} has no child ${format(child)}`
      : `${where} refused ${format(child)}: ${reason}`
  }
}
