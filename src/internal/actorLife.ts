/**
 * One life of an actor: its handlers, what runs for it, and what it owes.
 */
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"

import type { Envelope } from "./envelope.ts"
import type { Unanswered } from "./later.ts"
import { Incarnation } from "./mount.ts"
import type { Feeds } from "./replyStream.ts"
import type { StashBuffer } from "./stash.ts"

/** The handlers of one incarnation, by rpc. */
export type Handlers = Readonly<Record<string, (payload: never) => unknown>>

export class Life extends Incarnation {
  readonly scope = Scope.makeUnsafe()
  handlers: Handlers | undefined = undefined
  /** the init's fiber, then that of a burst whose handler is suspended, then that of the finalizers */
  fiber: Fiber.Fiber<unknown, unknown> | undefined = undefined
  closing = false
  /** the fiber that runs the init, or handlers, or finalizers: who asks from there waits for itself */
  self: Fiber.Fiber<unknown, unknown> | undefined = undefined
  /** the message in progress */
  handling: Envelope | undefined = undefined
  /** the effect of the message in progress, while a burst is about to run it */
  effect: Effect.Effect<unknown, unknown> | undefined = undefined
  /** messages that this turn may still begin */
  turn = 0
  /** the streams that its handlers made, if the protocol has any */
  feeds: Feeds | undefined = undefined
  stash: StashBuffer | undefined = undefined
  unanswered: Unanswered | undefined = undefined
  /** gives the last answer, to whoever asked it to stop */
  farewell: (() => void) | undefined = undefined
}
