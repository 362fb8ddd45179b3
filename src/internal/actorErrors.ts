/**
 * How an ask can fail beside the protocol's own errors. Public through `Actor`.
 */
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"

const where = { actor: Schema.Array(Schema.String), rpc: Schema.String }

/**
 * The actor crashed while it handled this message, or dropped it in a crash. It is not handled again.
 *
 * @category errors
 * @since 0.1.0
 */
export class ActorCrashed extends Schema.TaggedError<ActorCrashed>("espalier/Actor/ActorCrashed")(
  "ActorCrashed",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.actor)} crashed on ${this.rpc}`
  }
}

/**
 * The actor is not there, and nothing will start it by itself.
 *
 * @category errors
 * @since 0.1.0
 */
export class ActorStopped extends Schema.TaggedError<ActorStopped>("espalier/Actor/ActorStopped")(
  "ActorStopped",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.actor)} is stopped and cannot answer ${this.rpc}`
  }
}

/**
 * An init asked an actor that can only start once this init is finished.
 *
 * @category errors
 * @since 0.1.0
 */
export class ActorNotStarted extends Schema.TaggedError<ActorNotStarted>("espalier/Actor/ActorNotStarted")(
  "ActorNotStarted",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.actor)} has not started and cannot answer ${this.rpc} to an init that it waits for`
  }
}

/**
 * An actor asked itself, from its handler, its init or its finalizers: the answer would wait for the asker.
 *
 * @category errors
 * @since 0.1.0
 */
export class ActorCalledItself extends Schema.TaggedError<ActorCalledItself>("espalier/Actor/ActorCalledItself")(
  "ActorCalledItself",
  where
) {
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `${showPath(this.actor)} asked itself ${this.rpc}, which it could only answer once it stops waiting for it`
  }
}

/**
 * No answer came in time. The actor may still handle the message; its answer is dropped.
 *
 * @category errors
 * @since 0.1.0
 */
export class AskTimeout extends Schema.TaggedError<AskTimeout>("espalier/Actor/AskTimeout")("AskTimeout", {
  ...where,
  afterMillis: Schema.Finite
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.actor)} did not answer ${this.rpc} within ${this.afterMillis} ms`
  }
}

/**
 * The actor threw the message away, unhandled: it cleared its stash.
 *
 * @category errors
 * @since 0.1.0
 */
export class MessageDropped extends Schema.TaggedError<MessageDropped>("espalier/Actor/MessageDropped")(
  "MessageDropped",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${showPath(this.actor)} threw ${this.rpc} away without handling it`
  }
}

/**
 * The mailbox was full, and its policy does not let an ask wait.
 *
 * @category errors
 * @since 0.1.0
 */
export class MailboxFull extends Schema.TaggedError<MailboxFull>("espalier/Actor/MailboxFull")("MailboxFull", {
  ...where,
  capacity: Schema.Finite
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `the mailbox of ${showPath(this.actor)} is full: ${this.capacity} messages wait, ${this.rpc} was not taken`
  }
}

/**
 * A handler's message does not go into the stash any more: it holds `capacity` already, and they stay there.
 *
 * @category errors
 * @since 0.1.0
 */
export class StashFull extends Schema.TaggedError<StashFull>("espalier/Actor/StashFull")("StashFull", {
  ...where,
  capacity: Schema.Finite
}) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `the stash of ${showPath(this.actor)} is full: it holds ${this.capacity} messages, ${this.rpc} is not among them`
  }
}

export type ActorFailure =
  | ActorCrashed
  | ActorStopped
  | ActorNotStarted
  | ActorCalledItself
  | AskTimeout
  | MailboxFull
  | MessageDropped

/**
 * Builds an error without its stack: what it says is where the actor is, not where the runtime made it, and a stack
 * costs more than the whole ask.
 */
export const cheaply = <A>(build: () => A): A => {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return build()
  } finally {
    Error.stackTraceLimit = limit
  }
}
