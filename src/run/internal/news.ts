/**
 * What the executor of a run is told, from its dispatches, its decisions, its staff and from people: events without a time.
 *
 * @since 0.1.0
 */
import type * as Deferred from "effect/Deferred"

import type { RunEvent } from "../RunEvent.ts"

type Told = Extract<
  RunEvent,
  {
    readonly _tag:
      | "AttemptFailed"
      | "Reported"
      | "EffectIntended"
      | "EffectSettled"
      | "EffectQuarantined"
      | "Decided"
      | "DecisionFailed"
      | "HealthChanged"
      | "ReviewDecided"
      | "AutonomyChanged"
      | "CancelRequested"
      | "Noticed"
  }
>

type Timeless<E> = E extends unknown ? Omit<E, "at"> : never

/**
 * An event of these kinds, without its time. `ack`: who wants to know whether it was taken, with the reason when not.
 * `command`: the number of the word in the journal that says it.
 */
export type News = Timeless<Told> & {
  readonly ack?: Deferred.Deferred<string | undefined> | undefined
  readonly command?: number | undefined
}
