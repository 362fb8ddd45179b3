/**
 * Messages that a handler puts aside until the actor is ready for them.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

import type { Stash, Stashed } from "../Actor.ts"
import { cheaply, StashFull } from "./actorErrors.ts"
import type { Envelope } from "./envelope.ts"

/** What a stash needs of the incarnation that it belongs to. */
export interface Keeper {
  readonly path: ReadonlyArray<string>
  /** The message that `fiber` handles. */
  inProgress(fiber: Fiber.Fiber<unknown, unknown>): Envelope | undefined
  /** The message in progress waits in the stash: its handler's result is not an answer. */
  putAside(): void
  /** Takes messages back, before the mail; `false` when the incarnation is over. */
  putBack(envelopes: ReadonlyArray<Envelope>): boolean
  /** What is put back and still waits, and `envelopes`, will not be handled. */
  discard(envelopes: ReadonlyArray<Envelope>): void
}

/** What a handler returns whose message waits. */
export const stashed = { stashed: true } as unknown as Stashed

export class StashBuffer implements Stash {
  private kept: Array<Envelope> = []
  private readonly keeper: Keeper
  readonly capacity: number

  constructor(keeper: Keeper, capacity: number) {
    this.keeper = keeper
    this.capacity = capacity
  }

  readonly add: Effect.Effect<Stashed, StashFull> = Effect.withFiber((fiber) => {
    const { capacity, keeper } = this
    const envelope = keeper.inProgress(fiber)
    if (envelope === undefined) {
      return Effect.die(new TypeError("Stash.add: must be run by the handler, once, while it handles the message"))
    }
    if (this.kept.length >= capacity) this.kept = this.wanted()
    if (this.kept.length >= capacity) {
      return Effect.fail(cheaply(() => new StashFull({ actor: [...keeper.path], rpc: envelope.rpc, capacity })))
    }
    this.kept.push(envelope)
    keeper.putAside()
    return Effect.succeed(stashed)
  })

  readonly unstashAll: Effect.Effect<void> = Effect.sync(() => {
    const { kept } = this
    if (kept.length > 0 && this.keeper.putBack(kept)) this.kept = []
  })

  readonly clear: Effect.Effect<void> = Effect.sync(() => this.keeper.discard(this.takeAll()))

  readonly size: Effect.Effect<number> = Effect.sync(() => this.wanted().length)

  /** Empties it, and returns what is still wanted. */
  takeAll(): Array<Envelope> {
    const wanted = this.wanted()
    this.kept = []
    return wanted
  }

  get depth(): number {
    return this.kept.length
  }

  private wanted(): Array<Envelope> {
    return this.kept.filter((envelope) => !envelope.cancelled)
  }
}
