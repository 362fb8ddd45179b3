/**
 * Removes the artefacts that no event of the same SQLite database refers to. A Node file through `sqliteNode.ts`.
 *
 * **Details**
 *
 * - Looking through a journal takes as long as reading it, and nobody waits for that: the events are looked through in
 *   small steps first. What was appended since is looked through under the lock, in the transaction that removes.
 * - Events are found again by their row number. SQLite gives the number of the last row again after that row was removed.
 *   When the last one that was seen is not what it was, all of them are looked through under the lock.
 * - A transaction removes so many artefacts at most, and drops their pieces, which are removed one upload at a time.
 */
import type { DatabaseSync } from "node:sqlite"

import * as Effect from "effect/Effect"

import { hashesIn } from "../Reference.ts"
import type { ArtefactsError } from "./artefactErrors.ts"
import type { Store, Swept } from "./artefactStore.ts"

/** Events that are looked through in one step, and characters of their data. */
const mostEvents = 1_000
const mostCharacters = 4_000_000

/** Artefacts that are removed in one transaction. */
const mostRemoved = 500

interface Steps {
  readonly step: <A>(run: () => A) => Effect.Effect<A, ArtefactsError>
  readonly locked: <A>(run: () => A) => Effect.Effect<A, ArtefactsError>
}

interface EventRow {
  readonly row: number
  readonly run: string
  readonly version: number
  readonly data: string
}

/** The last event that was seen. */
type Mark = Omit<EventRow, "data">

const start: Mark = { row: 0, run: "", version: 0 }

/** The operation of a store, over its steps. */
export const makeSweep = (native: DatabaseSync, { locked, step }: Steps): Store["sweep"] => {
  const old = native.prepare("SELECT hash, size FROM artefacts WHERE put_at < ?1")
  const events = native.prepare("SELECT rowid AS row, run, version, data FROM events WHERE rowid > ?1 ORDER BY rowid")
  const event = native.prepare("SELECT 1 FROM events WHERE rowid = ?1 AND run = ?2 AND version = ?3")
  const commands = native.prepare("SELECT data FROM commands")
  const some = native.prepare("SELECT 1 FROM events LIMIT 1")
  const drop = native.prepare(`
    INSERT INTO artefact_uploads (upload, touched_at)
    SELECT upload, NULL FROM artefacts WHERE hash = ?1 AND put_at < ?2 AND upload IS NOT NULL`)
  const remove = native.prepare("DELETE FROM artefacts WHERE hash = ?1 AND put_at < ?2")

  /** Takes out of the candidates what the events after a mark refer to; the mark after that, and whether it is the end. */
  const look = (candidates: Map<string, number>, from: Mark, most: { events: number; characters: number }) => {
    let mark = from
    let { characters, events: left } = most
    for (const found of events.iterate(from.row) as Iterable<EventRow>) {
      for (const hash of hashesIn(found.data)) candidates.delete(hash)
      mark = { row: found.row, run: found.run, version: found.version }
      left -= 1
      characters -= found.data.length
      if (left <= 0 || characters <= 0) return { mark, ended: false }
    }
    return { mark, ended: true }
  }

  const unbounded = { events: Infinity, characters: Infinity }

  /** Looks through what has come since, and through what was left for the owner: events will be made of it. */
  const lookOn = (candidates: Map<string, number>, mark: Mark): Mark => {
    for (const left of commands.iterate() as Iterable<Pick<EventRow, "data">>) {
      for (const hash of hashesIn(left.data)) candidates.delete(hash)
    }
    const stands = mark.row === 0 || event.get(mark.row, mark.run, mark.version) !== undefined
    return look(candidates, stands ? mark : start, unbounded).mark
  }

  return Effect.fnUntraced(function* ({ before, dryRun, keep }) {
    if (keep === undefined && !(yield* step(() => some.get() !== undefined))) return undefined
    const candidates = yield* step(
      () => new Map((old.all(before) as unknown as ReadonlyArray<OldRow>).map(({ hash, size }) => [hash, size]))
    )
    for (const hash of keep ?? []) candidates.delete(hash)

    let mark = start
    let ended = candidates.size === 0
    while (!ended) {
      const seen = yield* step(() => look(candidates, mark, { events: mostEvents, characters: mostCharacters }))
      mark = seen.mark
      ended = seen.ended || candidates.size === 0
      yield* Effect.yieldNow
    }

    let swept: Swept = { artefacts: 0, bytes: 0 }
    while (candidates.size > 0) {
      const removed = yield* locked(() => {
        // A step may be tried again, so that it leaves nothing changed but what it answers with.
        const left = new Map(candidates)
        const seen = lookOn(left, mark)
        const batch = [...left].slice(0, mostRemoved)
        const gone = batch.filter(([hash]) => {
          if (dryRun) return true
          drop.run(hash, before)
          return remove.run(hash, before).changes === 1
        })
        for (const [hash] of batch) left.delete(hash)
        return { left, seen, gone }
      })
      mark = removed.seen
      candidates.clear()
      for (const [hash, size] of removed.left) candidates.set(hash, size)
      swept = {
        artefacts: swept.artefacts + removed.gone.length,
        bytes: swept.bytes + removed.gone.reduce((total, [, size]) => total + size, 0)
      }
      yield* Effect.yieldNow
    }
    return swept
  })
}

interface OldRow {
  readonly hash: string
  readonly size: number
}
