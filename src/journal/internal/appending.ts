/**
 * Turns appends into commits of a store: places them after the heads of their runs, chains their hashes, and writes them
 * together with others.
 */
import * as Effect from "effect/Effect"

import type { Append } from "../Journal.ts"
import { because, JournalCorrupt, VersionConflict, type JournalError } from "./errors.ts"
import { Gathering, Waiting } from "./gathering.ts"
import { chained, Heads, none } from "./heads.ts"
import type { Ownership } from "./ownership.ts"
import type { Row } from "./row.ts"
import type { Commit, Head, Store } from "./store.ts"

type Refused = VersionConflict | JournalError

class Pending extends Waiting<number, Refused> {
  readonly append: Append
  readonly rows: ReadonlyArray<Row>

  constructor(append: Append, rows: ReadonlyArray<Row>) {
    let size = 0
    for (const { data } of rows) size += data.length
    super(size)
    this.append = append
    this.rows = rows
  }
}

/** Appends to one store. */
export class Appending {
  private readonly store: Store
  private readonly ownership: Ownership
  private readonly heads = new Heads()
  private readonly gathering: Gathering<number, Refused, Pending>
  /** The run of the last append: while there is only one run, nobody waits for others. */
  private last: string | undefined

  constructor(store: Store, ownership: Ownership) {
    this.store = store
    this.ownership = ownership
    this.gathering = new Gathering(
      (batch) => this.write(batch),
      ({ append }) => {
        const alone = this.last === undefined || this.last === append.run
        this.last = append.run
        return store.gathers && !alone
      }
    )
  }

  /** Appends rows that have been checked. */
  append(append: Append, rows: ReadonlyArray<Row>): Effect.Effect<number, Refused> {
    const join = Effect.suspend(() => this.gathering.join(new Pending(append, rows)))
    return Effect.uninterruptible(
      this.ownership.held() === undefined ? Effect.andThen(this.ownership.epoch, join) : join
    )
  }

  /** What is known of a run's head is not true any more. */
  forget(run: string): void {
    this.heads.forget(run)
  }

  private write(batch: ReadonlyArray<Pending>, tries = 1): Effect.Effect<void> {
    return Effect.flatMap(this.missing(batch), (ready) =>
      ready.length === 0 ? Effect.void : this.commit(ready, tries)
    )
  }

  /** Asks for the heads that are not known; whose cannot be had is told so. */
  private missing(batch: ReadonlyArray<Pending>): Effect.Effect<ReadonlyArray<Pending>> {
    const first = new Map<string, number>()
    for (const { append } of batch) if (!first.has(append.run)) first.set(append.run, append.expected)
    // A run that is begun is taken to be new: if it is not, its first row collides. Whoever expects more than is known has seen
    // what another owner wrote.
    const unknown = [...first].flatMap(([run, expected]) =>
      expected > (this.heads.get(run)?.version ?? 0) ? [run] : []
    )
    return unknown.length === 0 ? Effect.succeed(batch) : this.ask(unknown, batch)
  }

  /** Asks for heads, and answers with those of whom they could be had; the others are told so. */
  private ask(runs: Iterable<string>, batch: ReadonlyArray<Pending>): Effect.Effect<ReadonlyArray<Pending>> {
    const failed = new Map<string, JournalError>()
    return Effect.map(
      Effect.forEach(runs, (run) =>
        Effect.match(this.store.head(run), {
          onSuccess: (head) => this.heads.set(run, head),
          onFailure: (error) => void failed.set(run, error)
        })
      ),
      () =>
        batch.filter((each) => {
          const error = failed.get(each.append.run)
          if (error !== undefined) each.outcome = Effect.fail(error)
          return error === undefined
        })
    )
  }

  private commit(batch: ReadonlyArray<Pending>, tries: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const epoch = this.ownership.held()
      const next = new Map<string, Head>()
      const commits: Array<Commit> = []
      const placed: Array<Pending> = []
      const later: Array<Pending> = []
      for (const each of batch) {
        const { expected, handled, listing, reviews, run } = each.append
        const head = next.get(run) ?? this.heads.get(run) ?? none
        if (head.version !== expected) {
          if (next.has(run)) {
            // It is too late only if what comes before it is written.
            later.push(each)
            continue
          }
          each.outcome = Effect.fail(new VersionConflict({ run, expected, actual: head.version }))
          continue
        }
        const rows = chained(head, each.rows, this.store.digest)
        next.set(run, { version: expected + rows.length, hash: rows.at(-1)?.hash ?? head.hash })
        commits.push({ run, rows, listing, reviews, handled })
        placed.push(each)
      }
      if (placed.length === 0) return Effect.void
      const written = epoch === undefined ? this.ownership.lost : this.store.write(epoch, commits)
      const told = Effect.matchEffect(written, {
        onSuccess: (result) => (result === "written" ? this.written(placed, next) : this.again(placed, next, tries)),
        onFailure: (error) => this.failed(placed, next, error)
      })
      return later.length === 0 ? told : Effect.andThen(told, this.write(later))
    })
  }

  private written(placed: ReadonlyArray<Pending>, next: ReadonlyMap<string, Head>): Effect.Effect<void> {
    for (const [run, head] of next) this.heads.set(run, head)
    for (const each of placed) each.outcome = Effect.succeed(each.append.expected + each.rows.length)
    return Effect.void
  }

  /** Rows were there already: what was believed of the heads was wrong, as after a commit of which nobody heard. */
  private again(placed: ReadonlyArray<Pending>, next: ReadonlyMap<string, Head>, tries: number): Effect.Effect<void> {
    if (tries >= 3) {
      const { location } = this.store
      const detail = "rows are there that the last version of their run does not account for"
      return this.failed(placed, next, because(new JournalCorrupt({ location, detail })))
    }
    for (const run of next.keys()) this.heads.forget(run)
    return Effect.flatMap(this.ask(next.keys(), placed), (ready) => this.write(ready, tries + 1))
  }

  /** Nobody is to blame for what another one brings: what cannot be mended by waiting is tried one by one. */
  private failed(
    placed: ReadonlyArray<Pending>,
    next: ReadonlyMap<string, Head>,
    error: JournalError
  ): Effect.Effect<void> {
    this.ownership.noticed(error)
    for (const run of next.keys()) this.heads.forget(run)
    if (placed.length > 1 && !error.isRetryable && error.reason._tag !== "JournalFenced") {
      return Effect.forEach(placed, (each) => this.write([each]), { discard: true })
    }
    for (const each of placed) each.outcome = Effect.fail(error)
    return Effect.void
  }
}
