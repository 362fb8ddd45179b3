/**
 * The lists of a journal, made anew from its events: the list of runs, and that of open reviews.
 *
 * Both are copies of what follows from the events, kept for those who look for runs. A list that was lost, or changed by hand,
 * is found out and put right here.
 *
 * **Example** (A journal whose list says something else)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Rebuild } from "espalier/run"
 *
 * const program = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   const data = { run: "r1", desk: "release", version: "1", definition: "", input: null, tasks: [], note: "Asked for" }
 *   yield* journal.append({ run: "r1", expected: 0, events: [{ type: "RunStarted", at: 5, data }] })
 *   const changes = yield* Stream.runCollect(Rebuild.all())
 *   const [listed] = yield* journal.runs()
 *   return [changes.map(({ run, what }) => [run, what]), listed?.status]
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => [[["r1", ["listing"]]], "running"]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import { listingOf, openReviews } from "./internal/listing.ts"
import { foldRun } from "./internal/reading.ts"
import type { RunTooNew, RunUntrusted } from "./internal/runErrors.ts"
import { RunEnd } from "./RunEvent.ts"

/**
 * What the lists said of a run that does not follow from its events.
 *
 * **Details**
 *
 * - `what`: `listing`, its row in the list of runs, or ids of open reviews that were missing, stray, or said otherwise. Empty
 *   when the lists were right.
 * - `differences`: the same, field by field: what the lists say, and what follows from the events.
 * - `kept`: whether the lists were left as they are, because they say that the run is over and its events do not.
 * - `unread`: why the run cannot be read; its lists are left as they are.
 * - `ghost`: it is listed and has no events. It is left as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly run: string
  readonly what: ReadonlyArray<string>
  readonly differences: ReadonlyArray<Difference>
  readonly kept?: boolean | undefined
  readonly unread?: RunTooNew | RunUntrusted | undefined
  readonly ghost?: boolean | undefined
}

/**
 * One thing that the lists say and that does not follow from the events.
 *
 * **Details**
 *
 * - `of`: the id of a review, or `listing`. `field`: of it; empty for a row that is missing, or that should not be there.
 * - `listed`: what is listed, `should`: what should be, as text. Absent = nothing.
 *
 * @category models
 * @since 0.1.0
 */
export interface Difference {
  readonly of: string
  readonly field: string
  readonly listed?: string | undefined
  readonly should?: string | undefined
}

/**
 * How to rebuild.
 *
 * **Details**
 *
 * - `dryRun`: whether to tell the differences only, and to change nothing. Default false.
 * - `force`: whether a run that is listed as finished may become an unfinished one. Its end may have been cut off, and it
 *   would be carried out again. Default false: such a run is told, and left as it is.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly dryRun?: boolean | undefined
  readonly force?: boolean | undefined
}

const listingFields = ["status", "desk", "startedAt", "wakeAt", "reason"] as const

const reviewFields = ["kind", "task", "openedAt", "dueAt"] as const

/** The fields in which two rows differ. */
const between = <Field extends string, Row extends { readonly [key in Field]?: string | number | undefined }>(
  of: string,
  fields: ReadonlyArray<Field>,
  listed: Row | undefined,
  should: Row | undefined
): ReadonlyArray<Difference> => {
  if (listed === undefined) return [{ of, field: "", should: "there" }]
  if (should === undefined) return [{ of, field: "", listed: "there" }]
  return fields.flatMap((field) => {
    const one = listed[field]
    const other = should[field]
    if (one === other) return []
    return [
      {
        of,
        field,
        ...(one === undefined ? {} : { listed: String(one) }),
        ...(other === undefined ? {} : { should: String(other) })
      }
    ]
  })
}

/** What differs between what is listed and what should be. */
const differencesOf = (
  listed: Journal.Listing | undefined,
  should: Journal.Listing,
  open: ReadonlyArray<Journal.ListedReview>,
  reviews: ReadonlyArray<Journal.OpenReview>
): ReadonlyArray<Difference> => {
  const known = new Map<string, Journal.OpenReview>(open.map((each) => [each.review, each]))
  const ids = new Set(reviews.map(({ review }) => review))
  return [
    ...between("listing", listingFields, listed, should),
    ...reviews.flatMap((each) => between(each.review, reviewFields, known.get(each.review), each)),
    ...open.flatMap((each) => (ids.has(each.review) ? [] : between(each.review, reviewFields, each, undefined)))
  ]
}

const ends: ReadonlySet<string> = new Set(RunEnd.literals)

/** Whether a run would be unfinished that is listed as finished. */
const reopens = (listed: Journal.Listing | undefined, should: Journal.Listing): boolean =>
  listed !== undefined && ends.has(listed.status) && !ends.has(should.status)

/**
 * Puts right what the lists say of one run.
 *
 * **Details**
 *
 * - A run that is listed as finished and is not by its events is left as it is, unless `force` is set.
 * - The claim of a review, by word that was left and not taken in yet, stays.
 * - Fails with trouble of the store, and with `JournalOwned` when another process owns the journal and there is something to
 *   change.
 *
 * @category rebuilding
 * @since 0.1.0
 */
export const run = (run: string, options: Options = {}): Effect.Effect<Change, Journal.JournalError, Journal.Journal> =>
  Effect.gen(function* () {
    const journal = yield* Journal.Journal
    const { state } = yield* foldRun(run)
    const [listed] = yield* journal.runs({ run })
    const open = yield* journal.reviews(run)
    const should = listingOf(state)
    const reviews = openReviews(state)
    const differences = differencesOf(listed, should, open, reviews)
    const what = [...new Set(differences.map(({ of }) => of))]
    const kept = options.force !== true && reopens(listed, should)
    if (what.length > 0 && options.dryRun !== true && !kept) yield* journal.relist(run, should, reviews)
    return { run, what, differences, ...(kept ? { kept } : {}) }
  }).pipe(
    Effect.catchTags({
      RunNotFound: () => Effect.succeed({ run, what: [], differences: [], ghost: true }),
      RunTooNew: (unread) => Effect.succeed({ run, what: [], differences: [], unread }),
      RunUntrusted: (unread) => Effect.succeed({ run, what: [], differences: [], unread })
    })
  )

/**
 * Puts right what the lists say of all runs, and emits those of which they said something else, could not be read, or are
 * listed without events.
 *
 * **Details**
 *
 * Runs are found by their events, so that it also works when the lists are gone. Fails as {@link run} does.
 *
 * @category rebuilding
 * @since 0.1.0
 */
export const all = (options: Options = {}): Stream.Stream<Change, Journal.JournalError, Journal.Journal> =>
  Stream.unwrap(
    Effect.map(Journal.Journal, (journal) => {
      const ghosts = Stream.filter(Stream.fromIterableEffect(journal.runs()), ({ version }) => version === 0)
      return Stream.concat(
        journal.ids,
        Stream.map(ghosts, ({ run }) => run)
      ).pipe(
        Stream.mapEffect((each) => run(each, options)),
        Stream.filter(({ ghost, unread, what }) => what.length > 0 || unread !== undefined || ghost === true)
      )
    })
  )
