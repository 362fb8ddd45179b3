/**
 * Which runs of a list are to be taken up, and in which order: a function from data to data.
 *
 * **Invariants**
 *
 * - K1. The run that nobody has touched for longest comes first, so that none is passed over for ever.
 * - K2. A run that was put down on purpose, or for another definition of its desk, is only taken up when somebody asks for
 *   that; one that is in quarantine is not.
 *
 * @since 0.1.0
 */
import type * as Journal from "../../journal/Journal.ts"

/**
 * What picking goes by.
 *
 * **Details**
 *
 * - `now`: milliseconds since 1970. `live`: runs that are carried out already. `spoken`: runs that word was left for.
 * - `asked`: whether runs that were put down on request, or for another definition, are taken up, too.
 *
 * @since 0.1.0
 */
export interface Facts {
  readonly now: number
  readonly live: { readonly has: (run: string) => boolean }
  readonly spoken: ReadonlySet<string>
  readonly asked: boolean
}

/** The states in which a run is looked at. */
export const unfinished = ["running", "waiting", "suspended"] as const

const isPicked = ({ reason, run, status, wakeAt }: Journal.Listed, { asked, live, now, spoken }: Facts): boolean => {
  if (live.has(run)) return false
  switch (status) {
    case "running":
      return true
    case "waiting":
      return spoken.has(run) || (wakeAt !== undefined && wakeAt <= now)
    case "suspended":
      return asked && (reason === "asked" || reason === "version-mismatch") // K2
    default:
      return false
  }
}

/** The runs to be taken up, in order. */
export const pick = (listed: ReadonlyArray<Journal.Listed>, facts: Facts): ReadonlyArray<string> =>
  listed
    .filter((run) => isPicked(run, facts))
    .toSorted((a, b) => a.updatedAt - b.updatedAt || (a.run < b.run ? -1 : 1)) // K1
    .map(({ run }) => run)

/** When the next of the runs wants to be looked at, if one does. */
export const nextWake = (listed: ReadonlyArray<Journal.Listed>): number | undefined => {
  let next: number | undefined
  for (const { status, wakeAt } of listed) {
    if (status === "waiting" && wakeAt !== undefined && (next === undefined || wakeAt < next)) next = wakeAt
  }
  return next
}
