/**
 * What carrying out a decision needs of the executor, and what it hands back to be begun.
 *
 * @since 0.1.0
 */
import type { Office } from "../Office.ts"
import type * as Outcome from "../Outcome.ts"
import type { RunEvent } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import type { Order } from "../Worker.ts"
import type { Asking } from "./consulting.ts"
import type { Terms } from "./dispatch.ts"
import type { Made, Sources } from "./orders.ts"
import type { Outside } from "./outside.ts"

/** An order that begins once it is written down. */
export interface Beginning {
  readonly worker: string
  readonly order: Order
  readonly work: Made["work"]
  readonly terms: Terms
}

/** What carrying out needs of the executor. */
export interface Hands {
  readonly office: Office
  readonly fold: () => Outcome.Fold
  readonly sources: () => Sources
  readonly state: () => RunState
  readonly outside: Outside
  readonly take: (event: RunEvent) => void
  /** As `take`, for what may turn out to be impossible: the reason then. */
  readonly offer: (event: RunEvent) => string | undefined
  readonly begin: (beginning: Beginning) => void
  readonly ask: (asking: Asking) => void
  readonly recall: (dispatch: string) => void
  /** Gives the open order of a task again, under the same id. */
  readonly again: (task: string) => void
}
