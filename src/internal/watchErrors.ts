/**
 * The errors of watching. Public through `Watch`.
 */
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"
import { causeOf, type Reason } from "./watch.ts"

/**
 * The actor is to be told something else of the same target already.
 *
 * **Details**
 *
 * `rpc`: the message that stands. `Watch.unwatch` ends that watch.
 *
 * @category errors
 * @since 0.1.0
 */
export class WatchConflict extends Schema.TaggedError<WatchConflict>("espalier/Watch/WatchConflict")("WatchConflict", {
  watcher: Schema.Array(Schema.String),
  target: Schema.Array(Schema.String),
  rpc: Schema.String
}) {
  override get message(): string {
    return `${showPath(this.watcher)} watches ${showPath(this.target)} already, and is to be told by another ${this.rpc}`
  }
}

const shown = (reason: Reason): string =>
  reason._tag === "Gone" ? "it had ended before" : (Cause.prettyErrors(causeOf(reason))[0]?.message ?? reason._tag)

/**
 * What this child is linked to failed, so it ends too.
 *
 * **Details**
 *
 * It is a defect, marked `transient`: the supervisor restarts the child as after a passing failure. `path`: who failed;
 * `reason`: how.
 *
 * @category errors
 * @since 0.1.0
 */
export class LinkBroken extends Data.TaggedError("LinkBroken")<{
  readonly path: ReadonlyArray<string>
  readonly reason: Reason
}> {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.path)} failed, and this is linked to it: ${shown(this.reason)}`
  }
}

/**
 * What this child must not outlive is down, so it ends too.
 *
 * **Details**
 *
 * It is a defect, marked `transient`: the supervisor restarts the child as after a passing failure. `path`: who is down;
 * `reason`: why.
 *
 * @category errors
 * @since 0.1.0
 */
export class DeathPact extends Data.TaggedError("DeathPact")<{
  readonly path: ReadonlyArray<string>
  readonly reason: Reason
}> {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.path)} is down, and this must not outlive it: ${shown(this.reason)}`
  }
}
