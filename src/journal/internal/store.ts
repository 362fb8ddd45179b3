/**
 * What a store of the journal is to its service: a few operations on rows, each of them one transaction.
 *
 * The service (`journalService.ts`) checks arguments, knows the heads of the runs, chains the hashes, gathers the appends of
 * concurrent runs into one write, claims the journal and keeps the heartbeat. A store only carries out.
 *
 * **Invariants** of a store
 *
 * - X1. `write` writes all of its commits or nothing, in one transaction, which also checks that `epoch` is the current one.
 *   It fails with `JournalFenced` when it is not, also against a claim that commits at the same moment.
 * - X2. A row whose `(run, version)` is there already makes the whole write a `"collision"`; nothing is written then.
 * - X3. `claim` raises the epoch only after it holds the lock of the new one; two claims never succeed with one epoch.
 */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

import type { Command, Filter, Left, Listed, ListedReview, Listing, Owner, Reviews, Size } from "../Journal.ts"
import type { JournalError, ReviewTaken } from "./errors.ts"
import type { Row } from "./row.ts"

/** The last event of a run: its version, 0 when there is none, and its hash in the chain. */
export interface Head {
  readonly version: number
  readonly hash: string
}

/** One commit of one run. `rows` may be empty when only the projections change. */
export interface Commit {
  readonly run: string
  readonly rows: ReadonlyArray<Row>
  readonly listing?: Listing | undefined
  readonly reviews?: Reviews | undefined
  readonly handled?: ReadonlyArray<number> | undefined
}

/**
 * The right to write, which ends with the scope that it was claimed in: then the lock is given back, and the journal is known
 * to have no owner.
 *
 * - `beat`: says that this owner is alive. Fails with `JournalFenced` when the epoch has been raised. Absent where there can be
 *   no other owner.
 */
export interface Claim {
  readonly epoch: number
  readonly beat?: Effect.Effect<void, JournalError> | undefined
}

/** What a store does. */
export interface Store {
  readonly location: string
  /** SHA-256 of a text in hexadecimal; none where `head` and `page` hash by themselves. */
  readonly digest?: ((text: string) => string) | undefined
  /** Whether a write is worth gathering for: one commit costs much more than one more row. */
  readonly gathers: boolean
  readonly claim: Effect.Effect<Claim, JournalError, Scope.Scope>
  readonly write: (
    epoch: number,
    commits: ReadonlyArray<Commit>
  ) => Effect.Effect<"written" | "collision", JournalError>
  /** Removes everything of a run, in one transaction that checks the epoch. */
  readonly remove: (epoch: number, run: string) => Effect.Effect<void, JournalError>
  readonly head: (run: string) => Effect.Effect<Head, JournalError>
  /**
   * What is taken of the rows from version `from` on, in order, none beyond `to`. `take` pulls what it needs, at most 256
   * rows, in one synchronous step.
   */
  readonly page: <A>(
    run: string,
    from: number,
    to: number,
    take: (rows: Iterable<Row>) => A
  ) => Effect.Effect<A, JournalError>
  /** Ids of runs that have events, in the order of the store: the first ones after `after`, at most 500. */
  readonly ids: (after: string) => Effect.Effect<ReadonlyArray<string>, JournalError>
  readonly runs: (filter: Filter) => Effect.Effect<ReadonlyArray<Listed>, JournalError>
  readonly reviews: (run: string | undefined) => Effect.Effect<ReadonlyArray<ListedReview>, JournalError>
  /** Leaves word, and claims its review in the same transaction. Needs no epoch. `data` is the text of its JSON. */
  readonly command: (
    command: Omit<Command, "data"> & { readonly data: string }
  ) => Effect.Effect<number, ReviewTaken | JournalError>
  readonly commands: (run: string | undefined) => Effect.Effect<ReadonlyArray<Left>, JournalError>
  readonly owner: Effect.Effect<Owner | undefined, JournalError>
  readonly size: (run: string | undefined) => Effect.Effect<Size, JournalError>
  readonly check: Effect.Effect<void, JournalError>
  /** Emits when another process may have left word. Best effort, and bounded in time where a store has to poll. */
  readonly changes: Stream.Stream<void>
}
