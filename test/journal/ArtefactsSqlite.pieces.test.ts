/** Artefacts of many pieces in an SQLite file, and what is collected from it. */
import { writeFileSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"

import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, ArtefactsSqlite, Journal, JournalSqlite, type Reference } from "espalier/journal"

import { make } from "../../src/journal/internal/artefactSqlite.ts"
import { cleanUp, service, uploadMillis } from "../../src/journal/internal/artefactStore.ts"
import { open } from "../../src/journal/internal/sqliteNode.ts"
import { applicationId, establish } from "../../src/journal/internal/sqliteSchema.ts"
import { withProcesses } from "../fixtures/real.ts"
import { run } from "./fixtures/child.ts"
import { connection, freshPath } from "./fixtures/folder.ts"

const piece = 256 * 1024

const content = (pieces: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length: pieces * piece }, (_, index) => (index >>> 8) * seed + index)

const withArtefacts =
  (filename: string, options: Omit<ArtefactsSqlite.Options, "filename"> = {}) =>
  <A, E, R>(use: (artefacts: Artefacts.Artefacts["Service"]) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Artefacts.Artefacts, use).pipe(
      Effect.provide(ArtefactsSqlite.layerSqlite({ filename, synchronous: "normal", ...options })),
      Effect.scoped
    )

/** Artefacts on a connection of the test's own, and the store under them. */
const opened = Effect.gen(function* () {
  const filename = yield* Effect.tap(freshPath, (path) => Effect.sync(() => writeFileSync(path, "")))
  const sqlite = yield* open(filename)
  yield* establish(sqlite, { busyMillis: 0, synchronous: "normal" })
  const store = yield* make(sqlite, 0, 64 * 1024 * 1024)
  return { filename, native: sqlite.native, store, artefacts: service(store) }
})

const count = (database: DatabaseSync, table: string): number =>
  Number(database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"])

/** What lies in the tables: artefacts, pieces, uploads. */
const lying = (database: DatabaseSync): ReadonlyArray<number> =>
  ["artefacts", "artefact_chunks", "artefact_uploads"].map((table) => count(database, table))

const sameBytes = (some: Uint8Array, others: Uint8Array): void => {
  assert.strictEqual(Buffer.compare(some, others), 0)
}

const collected = (stream: Stream.Stream<Uint8Array, Artefacts.ArtefactsError>) =>
  Effect.map(Stream.runCollect(stream), (parts) => Uint8Array.from(Buffer.concat(parts)))

describe("pieces", () => {
  it.effect("lie in rows of their own, once, and nothing else is left", () =>
    Effect.gen(function* () {
      const { artefacts, native } = yield* opened
      const bytes = content(3)
      yield* artefacts.putStream(Stream.make(bytes))
      assert.deepStrictEqual(lying(native), [1, 3, 0])
      yield* artefacts.putStream(Stream.make(bytes))
      yield* artefacts.put(bytes)
      assert.deepStrictEqual(lying(native), [1, 3, 0])
      yield* artefacts.put(content(1))
      assert.deepStrictEqual(lying(native), [2, 3, 0])
    })
  )

  it.effect("of a source that fails, is interrupted or gives too much are gone", () =>
    Effect.gen(function* () {
      const { artefacts, native } = yield* opened
      const start = Stream.make(content(2))
      yield* Effect.flip(artefacts.putStream(Stream.concat(start, Stream.fail("torn"))))
      assert.deepStrictEqual(lying(native), [0, 0, 0])
      yield* Effect.flip(artefacts.putStream(Stream.forever(start)))
      assert.deepStrictEqual(lying(native), [0, 0, 0])
      const reached = yield* Deferred.make<void>()
      const waits = Stream.fromEffectDrain(Effect.andThen(Deferred.succeed(reached, undefined), Effect.never))
      const putting = yield* Effect.forkChild(artefacts.putStream(Stream.concat(start, waits)))
      yield* Deferred.await(reached)
      assert.deepStrictEqual(lying(native).slice(2), [1])
      yield* Fiber.interrupt(putting)
      assert.deepStrictEqual(lying(native), [0, 0, 0])
    })
  )

  it.effect("are gone when there is no room for the last one, and can be put in when there is", () =>
    Effect.gen(function* () {
      const { artefacts, filename, native } = yield* opened
      const pages = Number(native.prepare("PRAGMA page_count").get()?.["page_count"])
      native.exec(`PRAGMA max_page_count = ${pages + 200}`)
      const bytes = content(4)
      const error = yield* Effect.flip(artefacts.putStream(Stream.make(bytes)))
      assert.deepStrictEqual(error.reason, new Journal.JournalFull({ location: filename }))
      assert.deepStrictEqual(lying(native), [0, 0, 0])
      native.exec("PRAGMA max_page_count = 100000")
      sameBytes(yield* artefacts.get(yield* artefacts.putStream(Stream.make(bytes))), bytes)
    })
  )

  const damages: ReadonlyArray<readonly [string, string, number]> = [
    ["a changed byte in the middle", "UPDATE artefact_chunks SET bytes = zeroblob(262144) WHERE n = 1", 2],
    ["a missing piece at the end", "DELETE FROM artefact_chunks WHERE n = 2", 1],
    ["a missing piece in the middle", "DELETE FROM artefact_chunks WHERE n = 1", 1],
    ["no pieces at all", "DELETE FROM artefact_chunks", 0]
  ]
  it.effect.each(damages)("R-202 %s is found at the end, and mended by putting it in again", ([, sql, before]) =>
    Effect.gen(function* () {
      const { artefacts, native } = yield* opened
      const bytes = content(3)
      for (const again of [artefacts.put(bytes), artefacts.putStream(Stream.make(bytes))]) {
        const reference = yield* artefacts.put(bytes)
        native.exec(sql)
        let given = 0
        const reading = Stream.runForEach(artefacts.getStream(reference), () => Effect.sync(() => (given += 1)))
        for (const call of [reading, artefacts.verify(reference), artefacts.get(reference)]) {
          const error = yield* Effect.flip<unknown, Artefacts.ArtefactsError, never>(call)
          assert.strictEqual(error.reason._tag, "ArtefactMismatch")
        }
        assert.strictEqual(given, before)
        yield* again
        yield* artefacts.verify(reference)
        assert.deepStrictEqual(lying(native), [1, 3, 0])
      }
    })
  )

  it.effect("are read on by who reads them while the same content is put in again", () =>
    Effect.gen(function* () {
      const { artefacts, native } = yield* opened
      const bytes = content(3)
      const reference = yield* artefacts.put(bytes)
      const read = artefacts.getStream(reference).pipe(
        Stream.tap(() => artefacts.putStream(Stream.make(bytes))),
        collected
      )
      sameBytes(yield* read, bytes)
      assert.deepStrictEqual(lying(native), [1, 3, 0])
    })
  )

  it.effect("that are collected while they are read are told as missing", () =>
    Effect.gen(function* () {
      const { artefacts } = yield* opened
      const reference = yield* artefacts.put(content(3))
      yield* TestClock.adjust("2 days")
      const given: Array<number> = []
      const reading = Stream.runForEach(artefacts.getStream(reference), ({ length }) => {
        given.push(length)
        return artefacts.collect({ references: Stream.empty })
      })
      const error = yield* Effect.flip(reading)
      assert.strictEqual(error.reason._tag, "ArtefactMissing")
      assert.deepStrictEqual(given, [piece])
    })
  )

  it.effect("wait for another process that holds the lock", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const other = yield* connection(filename)
      yield* withArtefacts(filename)((artefacts) =>
        Effect.gen(function* () {
          const bytes = content(2)
          const locks = Stream.fromEffectDrain(Effect.sync(() => other.exec("BEGIN IMMEDIATE")))
          const source = Stream.concat(Stream.concat(Stream.make(bytes), locks), Stream.make(bytes))
          const putting = yield* Effect.forkChild(artefacts.putStream(source), { startImmediately: true })
          yield* TestClock.adjust("1 second")
          assert.isUndefined(putting.pollUnsafe())
          other.exec("ROLLBACK")
          yield* TestClock.adjust("1 second")
          assert.strictEqual((yield* Fiber.join(putting)).bytes, 4 * piece)
        })
      )
    })
  )

  it.effect("of a store of an earlier release are read on, however large they are, and can be put in again", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const bytes = content(2)
      const { hash, uri } = yield* Effect.provide(
        Effect.flatMap(Artefacts.Artefacts, ({ put }) => put(bytes)),
        Artefacts.layerMemory()
      )
      const old = yield* connection(filename)
      old.exec(`
        CREATE TABLE events (
          run TEXT NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL,
          PRIMARY KEY (run, version)
        ) STRICT;
        CREATE TABLE runs (
          run TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, desk TEXT NOT NULL, started_at INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE artefacts (
          hash TEXT NOT NULL PRIMARY KEY, media_type TEXT NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL
        ) STRICT;
        PRAGMA application_id = ${applicationId};
        PRAGMA user_version = 2`)
      old.prepare("INSERT INTO artefacts VALUES (?, 'text/plain', ?, ?)").run(hash, bytes.length, bytes)
      yield* withArtefacts(filename)((artefacts) =>
        Effect.gen(function* () {
          const parts = yield* Stream.runCollect(artefacts.getStream({ hash, uri }))
          assert.deepStrictEqual(
            parts.map(({ length }) => length),
            [piece, piece]
          )
          yield* artefacts.put(bytes)
          sameBytes(yield* artefacts.get({ hash, uri }), bytes)
          yield* artefacts.putStream(Stream.make(bytes))
          assert.deepStrictEqual(lying(old), [1, 2, 0])
          sameBytes(yield* artefacts.get({ hash, uri }), bytes)
        })
      )
    })
  )
})

describe("uploads", () => {
  /** Opens the file at a time, and closes it. */
  const openedAt = (filename: string, at: number) =>
    Effect.andThen(
      TestClock.setTime(at),
      withArtefacts(filename)(() => Effect.void)
    ).pipe(Effect.provide(TestClock.layer()))

  withProcesses("of a process that was killed are removed a day later, by who opens the file", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const child = yield* run("uploader.ts", [filename])
      for (let line = 0; line < 6; line++) yield* Queue.take(child.lines)
      yield* child.kill
      const file = yield* connection(filename)
      const [artefacts, pieces, uploads] = lying(file)
      assert.deepStrictEqual([artefacts, uploads], [0, 1])
      assert.isAbove(pieces ?? 0, 2)
      const touched = Number(file.prepare("SELECT touched_at AS at FROM artefact_uploads").get()?.["at"])
      yield* openedAt(filename, touched + uploadMillis)
      assert.deepStrictEqual(lying(file), [0, pieces ?? 0, 1])
      yield* openedAt(filename, touched + uploadMillis + 1)
      assert.deepStrictEqual(lying(file), [0, 0, 0])
    })
  )

  it.effect("do not keep anybody from opening the file while another process writes", () =>
    Effect.gen(function* () {
      const { artefacts, filename, native, store } = yield* opened
      yield* store.begin(0)
      yield* TestClock.adjust("2 days")
      native.exec("BEGIN IMMEDIATE")
      const opening = yield* Effect.forkChild(withArtefacts(filename, { busyTimeout: "1 second" })(() => Effect.void))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(opening)
      assert.strictEqual(count(native, "artefact_uploads"), 1)
      native.exec("ROLLBACK")
      assert.strictEqual((yield* artefacts.collect({ references: Stream.empty })).uploads, 1)
    })
  )

  it.effect("that stood still for a day are removed by who collects; one that goes on then is told so", () =>
    Effect.gen(function* () {
      const { artefacts, native, store } = yield* opened
      const [reached, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const waits = Stream.fromEffectDrain(Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go)))
      const source = Stream.concat(Stream.concat(Stream.make(content(2)), waits), Stream.make(content(2)))
      const putting = yield* Effect.forkChild(Effect.flip(artefacts.putStream(source)))
      yield* Deferred.await(reached)
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* artefacts.collect({ references: Stream.empty })).uploads, 0)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual((yield* artefacts.collect({ references: Stream.empty, dryRun: true })).uploads, 0)
      assert.strictEqual((yield* artefacts.collect({ references: Stream.empty })).uploads, 1)
      yield* Deferred.succeed(go, undefined)
      const error = yield* Fiber.join(putting)
      assert.include(error.message, "the upload stood still for a day and was removed")
      assert.isTrue(error.isRetryable)
      assert.deepStrictEqual(lying(native), [0, 0, 0])
      assert.strictEqual(yield* cleanUp(store), 0)
    })
  )
})

describe("collect", () => {
  // Each second of an owner of a journal costs: it gives signs of life.
  const olderThan = "1 minute"

  const append = (reference: Reference.Reference | undefined, run: string, more = 0) =>
    Effect.flatMap(Journal.Journal, (journal) =>
      journal.append({
        run,
        expected: 0,
        events: Array.from({ length: 1 + more }, () => ({ type: "Kept", at: 0, data: { ...reference } }))
      })
    )

  const both = (filename: string) =>
    Layer.merge(
      JournalSqlite.layerSqlite({ filename, synchronous: "normal" }),
      ArtefactsSqlite.layerSqlite({ filename, synchronous: "normal" })
    )

  it.effect("finds in the journal of the same file what is referred to", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const file = yield* connection(filename)
      yield* Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const [small, large, other] = [
          yield* artefacts.put("small"),
          yield* artefacts.put(content(2)),
          yield* artefacts.put(content(2, 3))
        ]
        yield* append(undefined, "a", 1_200)
        yield* append(large, "b")
        yield* TestClock.adjust("2 minutes")
        const references = Stream.make(small.hash)
        assert.deepStrictEqual(yield* artefacts.collect({ references, olderThan }), {
          artefacts: 1,
          bytes: 2 * piece,
          uploads: 0
        })
        assert.deepStrictEqual(lying(file), [2, 2, 0])
        assert.deepStrictEqual(yield* artefacts.collect({ olderThan }), { artefacts: 1, bytes: 5, uploads: 0 })
        yield* artefacts.verify(large)
        assert.isFalse(yield* artefacts.has(other))
      }).pipe(Effect.provide(both(filename)))
    })
  )

  it.effect("removes more than one transaction does", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const file = yield* connection(filename)
      yield* Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        yield* append(yield* artefacts.put("kept"), "a")
        const insert = file.prepare(
          "INSERT INTO artefacts (hash, media_type, size, bytes) VALUES (?, 'text/plain', 1, x'00')"
        )
        file.exec("BEGIN")
        for (let n = 0; n < 1_100; n++) insert.run(`sha256:${n.toString(16).padStart(64, "0")}`)
        file.exec("COMMIT")
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(yield* artefacts.collect({ olderThan }), { artefacts: 1_100, bytes: 1_100, uploads: 0 })
        assert.deepStrictEqual(lying(file), [1, 0, 0])
      }).pipe(Effect.provide(both(filename)))
    })
  )

  const changes: ReadonlyArray<readonly [string, (file: DatabaseSync, data: string) => void]> = [
    [
      "appended",
      (file, data) => {
        file.prepare("INSERT INTO events (run, version, type, at, data) VALUES ('b', 1, 'Kept', 0, ?)").run(data)
      }
    ],
    [
      "left for the owner",
      (file, data) => {
        file.prepare("INSERT INTO commands (run, type, at, data) VALUES ('a', 'Decide', 0, ?)").run(data)
      }
    ],
    [
      "written in the row of one that was removed",
      (file, data) => {
        const [last] = file.prepare("SELECT max(rowid) AS row FROM events").all()
        file.exec("DELETE FROM events WHERE rowid = (SELECT max(rowid) FROM events)")
        file.prepare("INSERT INTO events (run, version, type, at, data) VALUES ('b', 1, 'Kept', 0, ?)").run(data)
        assert.deepStrictEqual({ ...file.prepare("SELECT max(rowid) AS row FROM events").get() }, { ...last })
      }
    ]
  ]
  it.effect.each(changes)("finds a reference that is %s after the events were looked through", ([, change]) =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const file = yield* connection(filename)
      yield* Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const [kept, other] = [yield* artefacts.put("kept"), yield* artefacts.put("other")]
        yield* append(undefined, "a", 3)
        yield* TestClock.adjust("2 minutes")
        const collecting = yield* Effect.forkChild(artefacts.collect({ olderThan }), { startImmediately: true })
        // It has looked through all events and lets others run before it removes.
        assert.isUndefined(collecting.pollUnsafe())
        assert.isTrue(yield* artefacts.has(other))
        change(file, JSON.stringify({ ...kept }))
        assert.deepStrictEqual(yield* Fiber.join(collecting), { artefacts: 1, bytes: 5, uploads: 0 })
        yield* artefacts.verify(kept)
        assert.isFalse(yield* artefacts.has(other))
      }).pipe(Effect.provide(both(filename)))
    })
  )

  it.effect("leaves what was put in again after it had begun", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      yield* Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const reference = yield* artefacts.put(content(2))
        yield* append(undefined, "a", 3)
        yield* TestClock.adjust("2 minutes")
        const collecting = yield* Effect.forkChild(artefacts.collect({ olderThan }), { startImmediately: true })
        yield* artefacts.put(content(2))
        assert.deepStrictEqual(yield* Fiber.join(collecting), { artefacts: 0, bytes: 0, uploads: 0 })
        yield* artefacts.verify(reference)
      }).pipe(Effect.provide(both(filename)))
    })
  )
})
