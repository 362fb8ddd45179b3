/**
 * How a process comes to own a journal, shows that it is alive, and learns that it is not the owner any more.
 *
 * **Invariants**
 *
 * - P1. A journal is claimed at most once by a service. After it was fenced it is never claimed again.
 * - P2. Once fenced, nothing is written any more: what asks for the epoch fails.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import { because, JournalFenced, type JournalError } from "./errors.ts"
import type { Claim, Store } from "./store.ts"

/** The ownership of a store. */
export interface Ownership {
  /** The epoch that is held now, if one is. */
  readonly held: () => number | undefined
  /** The epoch to write with; claims the journal when it has not been claimed. */
  readonly epoch: Effect.Effect<number, JournalError>
  /** Fails once the journal was lost. */
  readonly lost: Effect.Effect<never, JournalError>
  /** Takes in how an operation that needs the epoch has failed. */
  readonly noticed: (error: JournalError) => void
}

/** Makes the ownership of a store that ends with a scope. Nothing is claimed yet. */
export const make = (
  store: Pick<Store, "claim" | "location">,
  scope: Scope.Scope,
  heartbeat: Duration.Duration
): Ownership => {
  const one = Semaphore.makeUnsafe(1)
  const loss = Deferred.makeUnsafe<never, JournalError>()
  let claim: Claim | undefined
  let fenced: JournalError | undefined

  const noticed = (error: JournalError): void => {
    if (error.reason._tag !== "JournalFenced" || fenced !== undefined) return
    fenced = error
    Deferred.doneUnsafe(loss, Exit.fail(error))
  }

  /** A beat that fails for now is made up for by the next one; only a raised epoch ends it. */
  const beats = (beat: Effect.Effect<void, JournalError>): Effect.Effect<void> =>
    Effect.delay(
      Effect.catch(beat, (error) => {
        noticed(error)
        return Effect.logWarning(`Journal: no sign of life could be given: ${error.message}`)
      }),
      heartbeat
    ).pipe(Effect.repeat({ while: () => fenced === undefined }), Effect.asVoid)

  const acquire = Effect.gen(function* () {
    if (fenced !== undefined) return yield* fenced
    if (claim !== undefined) return claim.epoch
    const own = yield* Scope.fork(scope)
    const made = yield* Effect.onExit(Effect.provideService(store.claim, Scope.Scope, own), (exit) =>
      Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void
    )
    claim = made
    if (made.beat !== undefined) yield* Effect.forkIn(beats(made.beat), own)
    return made.epoch
  })

  return {
    held: () => (fenced === undefined ? claim?.epoch : undefined),
    epoch: Effect.suspend(() => {
      if (fenced !== undefined) return Effect.fail(fenced)
      return claim === undefined ? Effect.uninterruptible(one.withPermit(acquire)) : Effect.succeed(claim.epoch)
    }),
    lost: Deferred.await(loss),
    noticed
  }
}

/** The error of a store that finds another epoch than the one it was given. */
export const fencedOff = (location: string, epoch: number, current: number): JournalError =>
  because(new JournalFenced({ location, epoch, current }))

/** How long a heartbeat is apart from the next one. Source: a third of the lease. */
export const usualHeartbeat = Duration.seconds(5)

/** After how long without a sign of life an owner counts as one that stands still. */
export const usualLease = Duration.seconds(15)

/** How an owner shows that it is alive, by options of a layer; dies with a `RangeError` that names them. */
export const signsOfLife = (
  where: string,
  options: { readonly lease?: Duration.Input | undefined; readonly heartbeat?: Duration.Input | undefined } = {}
): Effect.Effect<{ readonly lease: Duration.Duration; readonly heartbeat: Duration.Duration }> =>
  Effect.suspend(() => {
    const lease = Duration.fromInputUnsafe(options.lease ?? usualLease)
    const heartbeat = Duration.fromInputUnsafe(options.heartbeat ?? usualHeartbeat)
    const [long, short] = [Duration.toMillis(lease), Duration.toMillis(heartbeat)]
    return short > 0 && short < long
      ? Effect.succeed({ lease, heartbeat })
      : Effect.die(
          new RangeError(`${where}: heartbeat must be > 0 and shorter than lease, got ${short} ms and ${long} ms`)
        )
  })
