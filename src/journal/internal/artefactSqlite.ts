// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes large content many times as fast.
/**
 * Artefacts in an open and migrated SQLite database. A Node file: uses `node:crypto`, and `node:sqlite` through
 * `sqliteNode.ts`.
 *
 * **Details**
 *
 * - `node:sqlite` cannot read or write a part of a value, so what is larger than one piece has one row for each.
 * - Pieces belong to an upload, whose number is never used again. An upload is either under way, with the time of its last
 *   piece, or the content of an artefact, or dropped: without a time, and removed by `clean`.
 */
import { createHash } from "node:crypto"
import type { StatementSync } from "node:sqlite"

import * as Effect from "effect/Effect"

import { because, gone, type ArtefactsError } from "./artefactErrors.ts"
import { type Entry, pieceBytes, split, type Store } from "./artefactStore.ts"
import { makeSweep } from "./artefactSweep.ts"
import type { Hasher } from "./sha256.ts"
import { failWith, patiently, type Sqlite } from "./sqliteNode.ts"

// What is there stays the first's, with the later time.
const upsert = `
  INSERT INTO artefacts (hash, media_type, size, bytes, put_at, upload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (hash) DO UPDATE SET size = ?3, bytes = ?4, put_at = max(put_at, ?5), upload = ?6`

const queries = {
  upsert,
  touch: "UPDATE artefacts SET put_at = max(put_at, ?2) WHERE hash = ?1",
  find: "SELECT upload FROM artefacts WHERE hash = ?1",
  whole: "SELECT bytes FROM artefacts WHERE hash = ?1",
  count: "SELECT count(*) AS pieces FROM artefact_chunks WHERE upload = ?1",
  chunk: "SELECT bytes FROM artefact_chunks WHERE upload = ?1 AND n = ?2",
  insertChunk: "INSERT INTO artefact_chunks (upload, n, bytes) VALUES (?1, ?2, ?3)",
  deleteChunks: "DELETE FROM artefact_chunks WHERE upload = ?1",
  begin: "INSERT INTO artefact_uploads (touched_at) VALUES (?1)",
  goOn: "UPDATE artefact_uploads SET touched_at = ?2 WHERE upload = ?1 AND touched_at IS NOT NULL",
  end: "DELETE FROM artefact_uploads WHERE upload = ?1",
  idle: "SELECT upload, touched_at IS NULL AS dropped FROM artefact_uploads WHERE touched_at IS NULL OR touched_at < ?1"
} as const

type Statements = { readonly [Name in keyof typeof queries]: StatementSync }

const prepare = (sqlite: Sqlite): Statements => {
  const made = Object.entries(queries).map(([name, sql]) => [name, sqlite.native.prepare(sql)])
  return Object.fromEntries(made) as Statements
}

const hasher = (): Hasher => {
  const whole = createHash("sha256")
  return { update: (bytes) => void whole.update(bytes), digest: () => whole.digest("hex") }
}

const bytesIn = (row: Readonly<Record<string, unknown>> | undefined): Uint8Array | undefined => {
  const bytes = row?.["bytes"]
  return bytes instanceof Uint8Array ? bytes : undefined
}

const numberIn = (row: Readonly<Record<string, unknown>> | undefined, name: string): number | undefined => {
  const value = row?.[name]
  return typeof value === "number" ? value : undefined
}

const equal = (some: Uint8Array, others: Uint8Array | undefined): boolean =>
  others !== undefined && Buffer.compare(some, others) === 0

/** The steps of a store, each synchronous; those that write are called in a transaction. */
const makeSteps = (statements: Statements) => {
  /** The pieces of a hash: one in its row, or those of an upload. */
  const layoutOf = (hash: string): { readonly upload: number | undefined; readonly pieces: number } | undefined => {
    const row = statements.find.get(hash)
    if (row === undefined) return undefined
    const upload = numberIn(row, "upload")
    if (upload === undefined) return { upload, pieces: 1 }
    return { upload, pieces: numberIn(statements.count.get(upload), "pieces") ?? 0 }
  }

  const piece = (hash: string, n: number): Uint8Array | undefined => {
    const row = statements.find.get(hash)
    if (row === undefined) return undefined
    const upload = numberIn(row, "upload")
    if (upload !== undefined) return bytesIn(statements.chunk.get(upload, n))
    return n === 0 ? bytesIn(statements.whole.get(hash)) : undefined
  }

  const insertChunks = (upload: number, pieces: ReadonlyArray<Uint8Array>, from: number): void =>
    pieces.forEach((bytes, n) => void statements.insertChunk.run(upload, from + n, bytes))

  const begin = (at: number): number => Number(statements.begin.run(at).lastInsertRowid)

  /** Makes an upload, or bytes of their own, the content of a hash in place of what was there. */
  const keep = (entry: Entry, bytes: Uint8Array, upload: number | undefined): void => {
    const before = layoutOf(entry.hash)?.upload
    if (before !== undefined) statements.deleteChunks.run(before)
    statements.upsert.run(entry.hash, entry.mediaType, entry.bytes, bytes, entry.at, upload ?? null)
  }

  const isKept = (hash: string, bytes: Uint8Array): boolean => {
    const layout = layoutOf(hash)
    if (layout === undefined) return false
    if (layout.upload === undefined) return equal(bytes, piece(hash, 0))
    const pieces = split(bytes)
    return pieces.length === layout.pieces && pieces.every((part, n) => equal(part, piece(hash, n)))
  }

  return {
    pieces: (hash: string) => layoutOf(hash)?.pieces,
    piece,
    begin,
    write: (entry: Entry, bytes: Uint8Array): void => {
      if (isKept(entry.hash, bytes)) statements.touch.run(entry.hash, entry.at)
      else if (bytes.length <= pieceBytes) keep(entry, bytes, undefined)
      else {
        const upload = begin(entry.at)
        insertChunks(upload, split(bytes), 0)
        statements.end.run(upload)
        keep(entry, new Uint8Array(), upload)
      }
    },
    /** Whether the upload is still there. */
    append: (upload: number, n: number, bytes: Uint8Array, at: number): boolean => {
      if (statements.goOn.run(upload, at).changes !== 1) return false
      insertChunks(upload, [bytes], n)
      return true
    },
    commit: (upload: number, entry: Entry): boolean => {
      if (statements.goOn.run(upload, entry.at).changes !== 1) return false
      statements.end.run(upload)
      keep(entry, new Uint8Array(), upload)
      return true
    },
    discard: (upload: number): boolean => {
      const ended = statements.end.run(upload).changes === 1
      if (ended) statements.deleteChunks.run(upload)
      return ended
    },
    touch: (hash: string, at: number): void => void statements.touch.run(hash, at),
    idle: (before: number): ReadonlyArray<{ readonly upload: number; readonly dropped: boolean }> =>
      statements.idle.all(before).map((row) => ({
        upload: numberIn(row, "upload") ?? 0,
        dropped: numberIn(row, "dropped") === 1
      }))
  }
}

/** The store of a database. `busyMillis` is how long an operation waits for other processes. */
export const make = (sqlite: Sqlite, busyMillis: number, limit: number): Effect.Effect<Store, ArtefactsError> => {
  const { location, native } = sqlite
  const wait = patiently(busyMillis)
  const attempt = <A>(run: () => A) =>
    Effect.suspend(() => {
      try {
        return Effect.succeed(run())
      } catch (cause) {
        return failWith(location, cause)
      }
    })
  /** One synchronous step against the driver, tried again while another process holds the lock. */
  const step = <A>(run: () => A): Effect.Effect<A, ArtefactsError> =>
    Effect.mapError(wait(attempt(run)), ({ reason }) => because(reason))

  /** A step that is one transaction: all or nothing, and no other writer in it. */
  const locked = <A>(run: () => A): Effect.Effect<A, ArtefactsError> =>
    step(() => {
      if (native.isTransaction) native.exec("ROLLBACK")
      native.exec("BEGIN IMMEDIATE")
      try {
        const done = run()
        native.exec("COMMIT")
        return done
      } finally {
        if (native.isTransaction) native.exec("ROLLBACK")
      }
    })

  return step(() => {
    const steps = makeSteps(prepare(sqlite))
    const whileThere = (done: Effect.Effect<boolean, ArtefactsError>): Effect.Effect<void, ArtefactsError> =>
      Effect.flatMap(done, (there) => (there ? Effect.void : Effect.fail(gone(location))))
    return {
      location,
      limit,
      hasher,
      write: (entry, bytes) => locked(() => steps.write(entry, bytes)),
      begin: (at) => locked(() => steps.begin(at)),
      append: (upload, { at, bytes, n }) => whileThere(locked(() => steps.append(upload, n, bytes, at))),
      commit: (upload, entry) => whileThere(locked(() => steps.commit(upload, entry))),
      discard: (upload) => Effect.asVoid(locked(() => steps.discard(upload))),
      pieces: (hash) => step(() => steps.pieces(hash)),
      piece: (hash, n) => step(() => steps.piece(hash, n)),
      touch: (hash, at) => locked(() => steps.touch(hash, at)),
      sweep: makeSweep(native, { step, locked }),
      clean: (before) =>
        Effect.gen(function* () {
          const idle = yield* step(() => steps.idle(before))
          // One after the other: nobody waits for more than one of them.
          yield* Effect.forEach(idle, ({ upload }) => locked(() => steps.discard(upload)), { discard: true })
          return idle.filter(({ dropped }) => !dropped).length
        })
    }
  })
}
