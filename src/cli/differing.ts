/**
 * What the lists of a journal say otherwise than its events, in words.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

import * as Journal from "../journal/Journal.ts"
import { instantOf, plain } from "../run/internal/text.ts"
import * as Rebuild from "../run/Rebuild.ts"

const times: ReadonlySet<string> = new Set(["startedAt", "wakeAt", "openedAt", "dueAt"])

/** One difference, in words. */
const differenceText = ({ field, listed, of, should }: Rebuild.Difference): string => {
  const what = of === "listing" ? "it" : `the review ${of}`
  if (field === "") {
    return listed === undefined ? `${what} is not listed` : `${what} is listed and is not open by its events`
  }
  const said = (value: string | undefined) =>
    value === undefined ? "nothing" : times.has(field) ? instantOf(Number(value)) : value
  const aspect = field === "status" ? what : of === "listing" ? `its ${field}` : `${field} of ${what}`
  return plain(`${aspect} is listed as ${said(listed)}, its events say ${said(should)}`)
}

/** All of them, in words. Where the status differs, so does the reason: it is said once. */
export const differencesText = (differences: ReadonlyArray<Rebuild.Difference>): string => {
  const other = differences.some(({ field }) => field === "status")
  return differences
    .filter(({ field }) => !other || field !== "reason")
    .map(differenceText)
    .join("; ")
}

/** Why a run that is listed as finished is not made an unfinished one. */
export const keptText =
  "its end may have been cut off, and it would be carried out again; compare with a head that you kept"

/** How often a run is looked at that goes on meanwhile. */
const looks = 5

/**
 * What the lists say otherwise than the events of a run, once both were seen at one version. Releases before this one gave no
 * reasons, which are therefore not missed.
 */
export const listsOf = Effect.fnUntraced(function* (run: string) {
  const journal = yield* Journal.Journal
  for (let look = 1; ; look++) {
    const before = yield* journal.version(run)
    const { differences, unread } = yield* Rebuild.run(run, { dryRun: true })
    const told = differences.filter(({ field, listed }) => field !== "reason" || listed !== undefined)
    const after = told.length === 0 ? before : yield* journal.version(run)
    if (before === after || look === looks) return { differences: before === after ? told : [], unread }
  }
})
