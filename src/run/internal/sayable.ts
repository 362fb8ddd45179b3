/**
 * What may be said about a question beside deciding it, within what bounds; word that is left in the journal is held to the
 * same, because whoever wrote it need not have come through here.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Ladder from "../Ladder.ts"
import type { RunEvent } from "../RunEvent.ts"
import { nameOf, type Principal } from "./principals.ts"
import { configuration } from "./tiering.ts"

/** The longest time for which a question is taken care of: a day. */
export const longestClaim = 24 * 3_600_000

/** A century, as everywhere. */
export const longestTime = 36_525 * 24 * 3_600_000

/** So many may be asked instead of those of a ladder. */
export const mostAsked = 50

/** Characters that a note may have. */
export const longestNote = 8_000

/** Whether it names those who can be asked. */
export const isWho = Schema.is(Ladder.Who)

const isMillis = (millis: number | undefined, most: number): boolean =>
  millis !== undefined && Number.isInteger(millis) && millis > 0 && millis <= most

/** Whether somebody says it under the name of another one than they are. */
const isMasked = ({ by, principal }: { readonly by?: string; readonly principal?: Principal }): boolean =>
  principal !== undefined && nameOf(principal) !== by

/** Why nobody can have said that, if nobody can. */
export const unsayable = (event: RunEvent): string | undefined => {
  if ("principal" in event && isMasked(event)) return "by must be the name of principal"
  // The note of a decision is weighed with it.
  if (event._tag !== "ReviewDecided" && "note" in event && event.note.length > longestNote) {
    return `note must be at most ${longestNote} characters`
  }
  switch (event._tag) {
    case "ReviewDecided":
      // Both are known only to whoever takes it in.
      return event.via !== undefined || event.grant !== undefined ? "via and grant must not be said" : undefined
    case "ReviewWithdrawn":
      return event.by === undefined ? "by must be given: the run takes nothing back by word" : undefined
    case "AutonomyChanged":
      return event.by.trim().toLowerCase() === configuration ? `by must not be ${configuration}` : undefined
    case "ReviewChanged": {
      const { at, millis, to = [], until = 0, what } = event
      if (what === "extended" && !isMillis(millis, longestTime)) return "millis must be a time > 0 of at most 100 years"
      if (what === "claimed" && !isMillis(until - at, longestClaim))
        return "until must be later than now, by at most a day"
      if (what !== "reassigned") return undefined
      const known = to.length > 0 && to.length <= mostAsked && to.every(isWho)
      return known ? undefined : `to must be 1 to ${mostAsked} of those who may decide`
    }
    default:
      return undefined
  }
}
