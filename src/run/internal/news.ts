/**
 * What the executor of a run is told, from its dispatches, its decisions, its staff and from people: events without a time.
 *
 * @since 0.1.0
 */
import type * as Deferred from "effect/Deferred"

import type { RunEvent } from "../RunEvent.ts"
import type { Eligible, Heard } from "./submitting.ts"

type Told = Extract<
  RunEvent,
  {
    readonly _tag:
      | "AttemptFailed"
      | "Reported"
      | "EffectIntended"
      | "EffectSettled"
      | "EffectQuarantined"
      | "Spent"
      | "Confirmed"
      | "Decided"
      | "DecisionFailed"
      | "HealthChanged"
      | "ReviewOpened"
      | "ReviewDecided"
      | "ReviewRefused"
      | "ReviewWithdrawn"
      | "ReviewChanged"
      | "GrantGiven"
      | "GrantRevoked"
      | "ReviewAdvanced"
      | "ReviewExpired"
      | "Notified"
      | "Parked"
      | "AutonomyChanged"
      | "CancelRequested"
      | "Noticed"
  }
>

type Timeless<E> = E extends unknown ? Omit<E, "at"> : never

/**
 * An event of these kinds, without its time. `ack`: who wants to know whether it was taken, with the reason when not.
 * `command`: the number of the word in the journal that says it, and `since` when it was left there. `eligible`: whether who decides may; `heard`: is told what became
 * of it before `ack` is done.
 */
export type News = Timeless<Told> & {
  readonly ack?: Deferred.Deferred<string | undefined> | undefined
  readonly command?: number | undefined
  readonly since?: number | undefined
  readonly eligible?: Eligible | undefined
  readonly heard?: ((heard: Heard) => void) | undefined
}
