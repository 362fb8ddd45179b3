/**
 * An append-only journal of events, one ordered history per run.
 *
 * The journal owns the order, the atomicity and the durability of events. It does not know what an event means: an event
 * is the name of a type, a time and JSON data. What a run *is* follows from folding its events.
 *
 * **Details**
 *
 * - The events of a run are numbered 1, 2, 3 … without a gap. The number of the last one is the run's *version*, and a
 *   run without events has version 0.
 * - Whoever appends names the version that the decision was based on. When the run has moved on, the append fails with
 *   {@link VersionConflict} and nothing is written: of two writers exactly one wins.
 * - One append is one commit: all of its events and the change of the list of runs, or nothing. When it succeeds, the
 *   commit is as durable as the store can make it.
 * - A value is kept whole in the row of its event, up to 4 MiB of JSON. Give large results a place of their own and store
 *   where they are.
 * - Stores: {@link layerMemory}, and `JournalSqlite.layerSqlite` for a file.
 *
 * **Invariants**
 *
 * - J1. What was acknowledged is read back, equal and in the same place, for as long as the store exists.
 * - J2. The versions of a run are dense: no append leaves a gap, and no version is used twice.
 * - J3. A failed append has changed nothing.
 *
 * **Gotchas**
 *
 * The caller supplies the times, from `Clock`; the journal never reads one. Data is stored as it is given: take secrets
 * out before you append.
 *
 * **Example** (Appending, and reading back)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Journal } from "espalier/journal"
 *
 * const program = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   yield* journal.append({
 *     run: "audit-1",
 *     expected: 0,
 *     events: [{ type: "RunStarted", at: 0, data: { goal: "audit" } }],
 *     listing: { status: "running", desk: "release", startedAt: 0 }
 *   })
 *   yield* journal.append({
 *     run: "audit-1",
 *     expected: 1,
 *     events: [
 *       { type: "Reported", at: 5, data: { worker: "docs.links", findings: 2 } },
 *       { type: "RunFinished", at: 5, data: null }
 *     ],
 *     listing: { status: "finished", desk: "release", startedAt: 0 }
 *   })
 *   const events = yield* Stream.runCollect(journal.read("audit-1", { from: 2 }))
 *   return events.map(({ type, version }) => `${version} ${type}`)
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Journal.layerMemory)) // => ["2 Reported", "3 RunFinished"]
 * ```
 *
 * @see https://martinfowler.com/eaaDev/EventSourcing.html for the pattern
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import { because, VersionConflict, type JournalError } from "./internal/errors.ts"
import { pages } from "./internal/pages.ts"
import { checkLimit, checkRange, pageOf, rowsOf, type Row } from "./internal/row.ts"

export {
  InvalidInput,
  JournalCorrupt,
  JournalError,
  JournalFull,
  JournalReadOnly,
  JournalTooNew,
  JournalUnavailable,
  NotAJournal,
  Reason,
  ValueTooLarge,
  VersionConflict
} from "./internal/errors.ts"

/**
 * The service.
 *
 * @category services
 * @since 0.1.0
 */
export class Journal extends Context.Service<
  Journal,
  {
    /**
     * Appends events to a run in one commit, and answers with the run's new version once that commit is durable.
     *
     * **Details**
     *
     * - Fails with {@link VersionConflict} when the run is not at `expected`; a run's first append expects 0.
     * - Fails with {@link JournalError} when an argument has no place in a journal (`InvalidInput`, `ValueTooLarge`), or
     *   when the store cannot take it (`JournalUnavailable`, `JournalFull` …). In every case nothing was written, with
     *   the one exception that {@link JournalUnavailable} describes.
     * - Cannot be interrupted halfway: an interrupted append has been written or it has not.
     */
    readonly append: (append: Append) => Effect.Effect<number, VersionConflict | JournalError>

    /**
     * The events of a run from version `from` (default 1) up to and including `to` (default: the run's version when the
     * stream starts), in order.
     *
     * **Details**
     *
     * - It is a stream, so that folding a long run holds the folded state and one page of events, never the history.
     * - A run that the journal does not know has no events: the stream is empty, and `version` is 0.
     * - Events appended after the stream started are not in it; a reader cannot be made to chase a writer.
     * - Fails with `JournalCorrupt` at the first event that is missing or cannot be read; the events before it have been
     *   emitted by then.
     */
    readonly read: (run: string, range?: Range) => Stream.Stream<Recorded, JournalError>

    /** The version of a run: the number of its events, 0 for a run that the journal does not know. */
    readonly version: (run: string) => Effect.Effect<number, JournalError>

    /**
     * The runs that have been listed by an append, newest first.
     *
     * **Details**
     *
     * The newest run is the one with the latest `startedAt`; runs that started together are in order of their ids.
     */
    readonly runs: (filter?: Filter) => Effect.Effect<ReadonlyArray<Listed>, JournalError>
  }
>()("espalier/journal/Journal") {}

/**
 * Something that happened.
 *
 * **Details**
 *
 * - `type`: what, 1 to 200 characters. Neither this nor any other id may contain a NUL character or a lone surrogate.
 * - `at`: when, in milliseconds since the epoch, a whole number.
 * - `data`: any JSON value of at most 4 MiB as UTF-8 and at most 256 levels. A property that is `undefined` is left out;
 *   `NaN`, an infinity and what is not a plain value are refused rather than written as something else.
 *
 * @category models
 * @since 0.1.0
 */
export interface Event {
  readonly type: string
  readonly at: number
  readonly data: Schema.Json
}

/**
 * An event with its place in its run, as it is read back.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorded extends Event {
  readonly version: number
}

/**
 * What the list of runs says about a run.
 *
 * **Details**
 *
 * - `status`: a word of the caller's, 1 to 200 characters.
 * - `desk`: who executes the run, 1 to 200 characters.
 * - `startedAt`: in milliseconds since the epoch, a whole number.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listing {
  readonly status: string
  readonly desk: string
  readonly startedAt: number
}

/**
 * A run in the list of runs.
 *
 * **Details**
 *
 * - `version`: of its last event.
 * - `updatedAt`: the time of its last event.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listed extends Listing {
  readonly run: string
  readonly version: number
  readonly updatedAt: number
}

/**
 * One commit.
 *
 * **Details**
 *
 * - `run`: the id of the run, 1 to 200 characters.
 * - `expected`: the version that the run has, as far as the caller knows.
 * - `events`: at least one; they get the versions `expected + 1` and following.
 * - `listing`: the run's whole row in the list of runs. The row stays as it is when this is not given, so give it only
 *   when it changes: then a step costs one row and not two.
 *
 * @category models
 * @since 0.1.0
 */
export interface Append {
  readonly run: string
  readonly expected: number
  readonly events: ReadonlyArray<Event>
  readonly listing?: Listing | undefined
}

/**
 * Which events of a run.
 *
 * **Details**
 *
 * - `from`: the first version, >= 1. Default 1.
 * - `to`: the last version, >= 0. Default: the run's version when the stream starts.
 *
 * @category models
 * @since 0.1.0
 */
export interface Range {
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/**
 * Which runs of the list.
 *
 * **Details**
 *
 * - `status`: only runs with one of these. Default: all.
 * - `desk`: only runs of this desk. Default: all.
 * - `limit`: at most so many, >= 0. Default: no limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Filter {
  readonly status?: string | ReadonlyArray<string> | undefined
  readonly desk?: string | undefined
  readonly limit?: number | undefined
}

/** The journal in memory, which ends with the layer's scope. Behaves as the other stores do, down to the copies. */
const makeMemory = (): Journal["Service"] => {
  const location = "memory"
  // Rows hold text, so that what is read back shares nothing with what was appended.
  const events = new Map<string, Array<Row>>()
  const listings = new Map<string, Listing>()

  const append: Journal["Service"]["append"] = (append) =>
    Effect.suspend((): Effect.Effect<number, VersionConflict | JournalError> => {
      const rows = rowsOf(append)
      if (Result.isFailure(rows)) return Effect.fail(because(rows.failure))
      const { run, expected, listing } = append
      const history = events.get(run) ?? []
      if (history.length !== expected) {
        return Effect.fail(new VersionConflict({ run, expected, actual: history.length }))
      }
      for (const row of rows.success) history.push(row)
      events.set(run, history)
      if (listing !== undefined) {
        listings.set(run, { status: listing.status, desk: listing.desk, startedAt: listing.startedAt })
      }
      return Effect.succeed(history.length)
    })

  const read: Journal["Service"]["read"] = (run, range = {}) =>
    Stream.suspend(() => {
      const invalid = checkRange(run, range)
      if (invalid !== undefined) return Stream.fail(because(invalid))
      const history = events.get(run) ?? []
      const last = Math.min(range.to ?? history.length, history.length)
      return pages(range.from ?? 1, last, (from) =>
        Effect.suspend(() => {
          const page = pageOf(location, run, from, last, history.slice(from - 1, Math.min(from + 255, last)))
          return Effect.fromResult(Result.mapError(page, because))
        })
      )
    })

  const version: Journal["Service"]["version"] = (run) =>
    Effect.suspend(() => {
      const invalid = checkRange(run)
      return invalid === undefined ? Effect.succeed(events.get(run)?.length ?? 0) : Effect.fail(because(invalid))
    })

  const runs: Journal["Service"]["runs"] = (filter = {}) =>
    Effect.suspend(() => {
      const invalid = checkLimit(filter.limit)
      if (invalid !== undefined) return Effect.fail(because(invalid))
      const statuses = typeof filter.status === "string" ? [filter.status] : filter.status
      const found: Array<Listed> = []
      for (const [run, listing] of listings) {
        if (statuses !== undefined && !statuses.includes(listing.status)) continue
        if (filter.desk !== undefined && filter.desk !== listing.desk) continue
        const history = events.get(run) ?? []
        found.push({ run, ...listing, version: history.length, updatedAt: history.at(-1)?.at ?? listing.startedAt })
      }
      found.sort((a, b) => b.startedAt - a.startedAt || (a.run < b.run ? -1 : 1))
      return Effect.succeed(filter.limit === undefined ? found : found.slice(0, filter.limit))
    })

  return { append, read, version, runs }
}

/**
 * A journal in memory.
 *
 * **When to use**
 *
 * For tests, and for runs that may be lost with their process. It is empty whenever the layer is built.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory: Layer.Layer<Journal> = Layer.sync(Journal, makeMemory)
