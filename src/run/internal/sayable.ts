/**
 * What may be said about a question beside deciding it, within what bounds; word that is left in the journal is held to the
 * same, because whoever wrote it need not have come through here.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Ladder from "../Ladder.ts"
import type { RunEvent } from "../RunEvent.ts"
import { isText } from "./fields.ts"
import { isTrace } from "./observing.ts"
import { nameOf, type Principal } from "./principals.ts"
import { type Problem, show } from "./problems.ts"
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

/** Characters that the name of somebody may have, and a key or a digest. */
const longestName = 200

const problem = (path: string, expectation: string, value: unknown): Problem => ({
  path,
  expectation: `must ${expectation}`,
  actual: value === undefined ? "" : show(value)
})

/** A text of which something is left where the run says it as a reason, and that is not more than there is room for. */
const text = (path: string, value: string, most: number): Problem | undefined => {
  if (!isText(value)) return problem(path, "be a text that is not empty", value)
  return value.length > most ? problem(path, `be at most ${most} characters`, value) : undefined
}

/** Whether somebody says it under the name of another one than they are. */
const isMasked = ({ by, principal }: { readonly by?: string; readonly principal?: Principal }): boolean =>
  principal !== undefined && nameOf(principal) !== by

/** What is wrong with its texts, whenever it is said. */
export const misworded = (event: Pick<RunEvent, "_tag">): Problem | undefined => {
  const said = event as RunEvent
  if ("by" in said && said.by !== undefined) {
    const wrong = text("by", said.by, longestName)
    if (wrong !== undefined) return wrong
    if (isMasked(said)) return problem("by", "be the name of principal", said.by)
  }
  switch (said._tag) {
    case "CancelRequested":
    case "ReviewWithdrawn":
      // It is the reason of all that is not done.
      return text("note", said.note, longestNote)
    case "ReviewDecided": {
      // The note of a decision is weighed with it.
      const { digest, key, trace } = said
      if (trace !== undefined && !isTrace(trace)) return problem("trace", "be a W3C traceparent", trace)
      if (key !== undefined && (key === "" || key.length > longestName)) {
        return problem("key", `be a text of 1 to ${longestName} characters`, key)
      }
      return digest !== undefined && digest.length > longestName
        ? problem("digest", `be at most ${longestName} characters`, digest)
        : undefined
    }
    default:
      return "note" in said && said.note.length > longestNote
        ? problem("note", `be at most ${longestNote} characters`, said.note)
        : undefined
  }
}

/** Why nobody can have said that, if nobody can. */
export const unsayable = (event: RunEvent): Problem | undefined => {
  const wrong = misworded(event)
  if (wrong !== undefined) return wrong
  switch (event._tag) {
    case "ReviewDecided":
      // Both are known only to whoever takes it in.
      if (event.via !== undefined) return problem("via", "not be said", event.via)
      return event.grant === undefined ? undefined : problem("grant", "not be said", event.grant)
    case "ReviewWithdrawn":
      return event.by === undefined
        ? problem("by", "be given: the run takes nothing back by word", undefined)
        : undefined
    case "AutonomyChanged":
      return event.by.trim().toLowerCase() === configuration
        ? problem("by", `not be ${configuration}`, event.by)
        : undefined
    case "ReviewChanged": {
      const { at, millis, to = [], until = 0, what } = event
      if (what === "extended" && !isMillis(millis, longestTime)) {
        return problem("millis", "be a whole number > 0 of at most 100 years", millis)
      }
      if (what === "claimed" && !isMillis(until - at, longestClaim)) {
        return problem("until", "be later than now, by at most a day", event.until)
      }
      if (what !== "reassigned") return undefined
      const known = to.length > 0 && to.length <= mostAsked && to.every(isWho)
      return known ? undefined : problem("to", `be 1 to ${mostAsked} of those who may decide`, event.to)
    }
    default:
      return undefined
  }
}
