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

/**
 * What the lists said of a run that does not follow from its events.
 *
 * **Details**
 *
 * - `what`: `listing`, its row in the list of runs, or ids of open reviews that were missing, stray, or said otherwise. Empty
 *   when the lists were right.
 * - `unread`: why the run cannot be read; its lists are left as they are.
 * - `ghost`: it is listed and has no events. It is left as it is.
 *
 * @category models
 * @since 0.1.0
 */
export interface Change {
  readonly run: string
  readonly what: ReadonlyArray<string>
  readonly unread?: RunTooNew | RunUntrusted | undefined
  readonly ghost?: boolean | undefined
}

/**
 * How to rebuild. `dryRun`: whether to tell the differences only, and to change nothing. Default false.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly dryRun?: boolean | undefined
}

const sameListing = (one: Journal.Listing, other: Journal.Listing): boolean =>
  one.status === other.status &&
  one.desk === other.desk &&
  one.startedAt === other.startedAt &&
  one.wakeAt === other.wakeAt &&
  one.reason === other.reason

const sameReview = (one: Journal.OpenReview, other: Journal.OpenReview): boolean =>
  one.kind === other.kind && one.task === other.task && one.openedAt === other.openedAt && one.dueAt === other.dueAt

/** What differs between what is listed and what should be. */
const differences = (
  listed: Journal.Listing | undefined,
  should: Journal.Listing,
  open: ReadonlyArray<Journal.ListedReview>,
  reviews: ReadonlyArray<Journal.OpenReview>
): ReadonlyArray<string> => {
  const known = new Map(open.map((each) => [each.review, each]))
  const ids = new Set(reviews.map(({ review }) => review))
  const wrong = reviews.flatMap((each) => {
    const found = known.get(each.review)
    return found !== undefined && sameReview(found, each) ? [] : [each.review]
  })
  const stray = open.flatMap(({ review }) => (ids.has(review) ? [] : [review]))
  return [...(listed !== undefined && sameListing(listed, should) ? [] : ["listing"]), ...wrong, ...stray]
}

/**
 * Puts right what the lists say of one run.
 *
 * **Details**
 *
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
    const what = differences(listed, should, open, reviews)
    if (what.length > 0 && options.dryRun !== true) yield* journal.relist(run, should, reviews)
    return { run, what }
  }).pipe(
    Effect.catchTags({
      RunNotFound: () => Effect.succeed({ run, what: [], ghost: true }),
      RunTooNew: (unread) => Effect.succeed({ run, what: [], unread }),
      RunUntrusted: (unread) => Effect.succeed({ run, what: [], unread })
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
