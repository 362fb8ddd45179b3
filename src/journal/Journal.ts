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
 * - One process at a time appends: the *owner*, see `own`. All others read, and leave word for it, see `command`.
 * - The events of a run form a chain of hashes, see `Chain`: nothing can be changed, put in or taken out unseen, and with a
 *   head that was kept elsewhere not even the end can be cut off.
 * - A value is kept whole in the row of its event, up to 4 MiB of JSON. Give large results a place of their own and store
 *   where they are.
 * - Stores: {@link layerMemory}, `JournalSqlite.layerSqlite` for a file, `JournalPostgres.layerPostgres` for a server.
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
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"

import type { JournalError, ReviewTaken, VersionConflict } from "./internal/errors.ts"
import { service } from "./internal/journalService.ts"
import { makeMemory } from "./internal/memory.ts"

export {
  InvalidInput,
  JournalCorrupt,
  JournalError,
  JournalFenced,
  JournalFull,
  JournalOwned,
  JournalReadOnly,
  JournalTooNew,
  JournalUnavailable,
  NotAJournal,
  Reason,
  ReviewTaken,
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

    /**
     * The events of a run exactly as they are stored, for whoever checks or copies them.
     *
     * **Details**
     *
     * As `read`, except that data is the text that is stored, whether or not it is JSON, and that an event that is missing is
     * left out.
     */
    readonly rows: (run: string, range?: Range) => Stream.Stream<Stored, JournalError>

    /**
     * SHA-256 of a text as UTF-8, in hexadecimal, as fast as the store has it. None where nobody else can reach what is
     * stored, so that there is nothing to be checked.
     */
    readonly digest?: ((text: string) => string) | undefined

    /** The version of a run: the number of its events, 0 for a run that the journal does not know. */
    readonly version: (run: string) => Effect.Effect<number, JournalError>

    /**
     * The last event of a run: its version, and its hash in the chain of the run.
     *
     * **Details**
     *
     * A run that the journal does not know has version 0 and a hash of 64 zeros.
     */
    readonly head: (run: string) => Effect.Effect<Head, JournalError>

    /**
     * The runs that have been listed by an append, newest first unless the filter says otherwise.
     *
     * **Details**
     *
     * The newest run is the one with the latest `startedAt`; runs that started together are in order of their ids.
     */
    readonly runs: (filter?: Filter) => Effect.Effect<ReadonlyArray<Listed>, JournalError>

    /** The ids of all runs that have events, whether or not they are listed, each once. */
    readonly ids: Stream.Stream<string, JournalError>

    /** The open reviews of a run, or of all runs, oldest first. */
    readonly reviews: (run?: string) => Effect.Effect<ReadonlyArray<ListedReview>, JournalError>

    /**
     * Makes this process the owner of the journal, unless it is already, and answers with what it holds.
     *
     * **Details**
     *
     * - The first append does so by itself; call this to hear of another owner before there is something to append.
     * - An owner that died is replaced at once, one that gave no sign of life for its lease is replaced, too, and fenced: it
     *   cannot write any more. Fails with {@link JournalOwned} while there is another one.
     * - The ownership ends with the layer.
     */
    readonly own: Effect.Effect<Owner, JournalError>

    /** Whether this process is the owner now. Claims nothing. */
    readonly owns: Effect.Effect<boolean>

    /** Never succeeds; fails with {@link JournalFenced} when this process was the owner and is not any more. */
    readonly fenced: Effect.Effect<never, JournalError>

    /** Who owns the journal, or did last, as far as it says so; nothing when it never had an owner. */
    readonly owner: Effect.Effect<Owner | undefined, JournalError>

    /**
     * Leaves word for whoever owns the journal, and answers with the number of it once that is durable. Anybody may, at any
     * time.
     *
     * **Details**
     *
     * - With `review`, the review is claimed in the same commit: of two who decide it at once, one fails with
     *   {@link ReviewTaken}, and nothing of that is written.
     * - The owner takes it in and removes it with an append that names it in `handled`.
     */
    readonly command: (command: Command) => Effect.Effect<number, ReviewTaken | JournalError>

    /** What was left for a run, or for all of them, and was not taken in yet, in the order in which it was left. */
    readonly commands: (run?: string) => Effect.Effect<ReadonlyArray<Left>, JournalError>

    /** Removes word that nobody can take in any more, such as that for a run that is over. Only the owner can. */
    readonly discard: (commands: ReadonlyArray<number>) => Effect.Effect<void, JournalError>

    /**
     * Emits when word may have been left, by this process or another one.
     *
     * **Details**
     *
     * An emission means that it is worth looking at `commands`; it may come late, twice or for nothing. A file is looked at
     * each 250 milliseconds, and only while somebody listens.
     */
    readonly changes: Stream.Stream<void>

    /** Has those who listen to `changes` in this process look, because something has been written that concerns them. */
    readonly announce: Effect.Effect<void>

    /**
     * Lists a run anew without an event, in place of what was listed of it: its open reviews become exactly those given.
     *
     * **Details**
     *
     * For rebuilding the lists from the events, and for a run that cannot go on and cannot be read. Only the owner can.
     */
    readonly relist: (
      run: string,
      listing: Listing,
      open: ReadonlyArray<OpenReview>
    ) => Effect.Effect<void, JournalError>

    /** Removes a run with all that belongs to it. Only the owner can. Removing what is not there succeeds. */
    readonly remove: (run: string) => Effect.Effect<void, JournalError>

    /** How much a run, or the whole journal, holds. */
    readonly size: (run?: string) => Effect.Effect<Size, JournalError>

    /** Has the store check itself, which reads all of it; fails with {@link JournalCorrupt} when something is damaged. */
    readonly check: Effect.Effect<void, JournalError>
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
 * **Details**
 *
 * - `hash`: of its place in the chain of the run, in hexadecimal; see `Chain`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorded extends Event {
  readonly version: number
  readonly hash: string
}

/**
 * An event as it is stored. `data`: the text of its JSON. `hash`: as of {@link Recorded}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Stored {
  readonly version: number
  readonly type: string
  readonly at: number
  readonly data: string
  readonly hash: string
}

/**
 * The end of a run's chain.
 *
 * @category models
 * @since 0.1.0
 */
export interface Head {
  readonly version: number
  readonly hash: string
}

/**
 * Who carries out the runs of a journal.
 *
 * **Details**
 *
 * - `epoch`: counts the owners, from 1. `name`: `PID@HOST`.
 * - `since`, `heartbeatAt`: milliseconds since the epoch. `released`: whether it gave the journal back.
 *
 * @category models
 * @since 0.1.0
 */
export interface Owner {
  readonly epoch: number
  readonly name: string
  readonly since: number
  readonly heartbeatAt: number
  readonly released: boolean
}

/**
 * A review that is open, as far as lists show it.
 *
 * **Details**
 *
 * - `review`: its id, unlike all others in the journal. `kind`: a word of the caller's. `openedAt`, `dueAt`: milliseconds
 *   since the epoch.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenReview {
  readonly review: string
  readonly kind: string
  readonly task?: string | undefined
  readonly openedAt: number
  readonly dueAt?: number | undefined
}

/**
 * An open review in the list of reviews. `claimed`: the number of the command that decides it, when there is one.
 *
 * @category models
 * @since 0.1.0
 */
export interface ListedReview extends OpenReview {
  readonly run: string
  readonly claimed?: number | undefined
}

/**
 * What becomes of reviews in a commit: those that are listed from now on, and the ids of those that are not any more.
 *
 * @category models
 * @since 0.1.0
 */
export interface Reviews {
  readonly opened?: ReadonlyArray<OpenReview> | undefined
  readonly closed?: ReadonlyArray<string> | undefined
}

/**
 * Word for the owner of the journal.
 *
 * **Details**
 *
 * - `run`: whom it is for. `type`: what it is, 1 to 200 characters. `at`: when it was left, in milliseconds since the epoch.
 * - `data`: any JSON value, up to 1 MiB of it. `review`: the review that it decides.
 *
 * @category models
 * @since 0.1.0
 */
export interface Command {
  readonly run: string
  readonly type: string
  readonly at: number
  readonly data: Schema.Json
  readonly review?: string | undefined
}

/**
 * Word that was left. `id`: its number, larger for what was left later. `data`: null where another program put there what is
 * not JSON.
 *
 * @category models
 * @since 0.1.0
 */
export interface Left extends Command {
  readonly id: number
}

/**
 * How much there is. `bytes`: of the events' data, as text.
 *
 * @category models
 * @since 0.1.0
 */
export interface Size {
  readonly events: number
  readonly bytes: number
}

/**
 * What the list of runs says about a run.
 *
 * **Details**
 *
 * - `status`: a word of the caller's, 1 to 200 characters.
 * - `desk`: who executes the run, 1 to 200 characters.
 * - `startedAt`: in milliseconds since the epoch, a whole number.
 * - `wakeAt`: when the run wants to be looked at again although nothing has come, in the same unit. Default: never.
 * - `reason`: why it has this status, up to 1,000 characters. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Listing {
  readonly status: string
  readonly desk: string
  readonly startedAt: number
  readonly wakeAt?: number | undefined
  readonly reason?: string | undefined
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
 * - `reviews`: which reviews are open from now on, and which are not any more. Default: no change.
 * - `handled`: the numbers of the commands that these events take in; they are removed, and a review that one of them claimed
 *   and that is still open is free again. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Append {
  readonly run: string
  readonly expected: number
  readonly events: ReadonlyArray<Event>
  readonly listing?: Listing | undefined
  readonly reviews?: Reviews | undefined
  readonly handled?: ReadonlyArray<number> | undefined
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
 * - `run`: only this run. Default: all.
 * - `status`: only runs with one of these. Default: all.
 * - `desk`: only runs of this desk. Default: all.
 * - `limit`: at most so many, >= 0. Default: no limit.
 * - `dueBy`: only runs whose `wakeAt` is not after this, in milliseconds since the epoch. Default: all.
 * - `order`: `"newest"` first, `"oldest"` first, or `"due"`: by `wakeAt`, and only those that have one. Default `"newest"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Filter {
  readonly run?: string | undefined
  readonly status?: string | ReadonlyArray<string> | undefined
  readonly desk?: string | undefined
  readonly limit?: number | undefined
  readonly dueBy?: number | undefined
  readonly order?: "newest" | "oldest" | "due" | undefined
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
export const layerMemory: Layer.Layer<Journal> = Layer.effect(
  Journal,
  Effect.suspend(() => service(makeMemory()))
)
