import { statSync, writeFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, ArtefactsSqlite, Journal, JournalSqlite, type Reference } from "espalier/journal"

import { make } from "../../src/journal/internal/artefactSqlite.ts"
import { service } from "../../src/journal/internal/artefactStore.ts"
import { open } from "../../src/journal/internal/sqliteNode.ts"
import { applicationId, establish } from "../../src/journal/internal/sqliteSchema.ts"
import { artefactsContract } from "./artefactsContract.ts"
import { connection, folder, freshPath, withJournal } from "./fixtures/folder.ts"

const layerFresh = (limit?: number) =>
  Layer.unwrap(
    Effect.map(freshPath, (filename) => ArtefactsSqlite.layerSqlite({ filename, limit, synchronous: "normal" }))
  )

/** Runs with the artefacts of this file and closes it afterwards. */
const withArtefacts =
  (filename: string, options: Omit<ArtefactsSqlite.Options, "filename"> = {}) =>
  <A, E, R>(use: (artefacts: Artefacts.Artefacts["Service"]) => Effect.Effect<A, E, R>) =>
    Effect.flatMap(Artefacts.Artefacts, use).pipe(
      Effect.provide(ArtefactsSqlite.layerSqlite({ filename, ...options })),
      Effect.scoped
    )

const text = (artefacts: Artefacts.Artefacts["Service"], reference: Reference.Reference) =>
  Effect.map(artefacts.get(reference), (bytes) => new TextDecoder().decode(bytes))

const event = (reference: Reference.Reference): Journal.Append => ({
  run: "a",
  expected: 0,
  events: [{ type: "Kept", at: 0, data: { ...reference } }]
})

describe("layerSqlite", () => {
  artefactsContract(layerFresh)

  it.effect("finds again what an earlier process has put in", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const reference = yield* withArtefacts(filename)(({ put }) => put("kept"))
      assert.strictEqual(yield* withArtefacts(filename)((artefacts) => text(artefacts, reference)), "kept")
    })
  )

  it.effect("keeps the same content once", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      yield* withArtefacts(filename)(({ put }) =>
        Effect.all([put("same", { mediaType: "text/markdown" }), put("same"), put("other")])
      )
      const rows = (yield* connection(filename))
        .prepare("SELECT size, media_type AS type FROM artefacts ORDER BY size")
        .all()
      assert.deepStrictEqual(
        rows.map((row) => ({ ...row })),
        [
          { size: 4, type: "text/markdown" },
          { size: 5, type: "text/plain; charset=utf-8" }
        ]
      )
    })
  )

  it.effect("lies in one file with a journal, both open at once", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const layer = Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
      yield* Effect.gen(function* () {
        const journal = yield* Journal.Journal
        const reference = yield* Artefacts.putJson({ large: "x".repeat(100_000) })
        yield* journal.append(event(reference))
        const [kept] = yield* Stream.runCollect(journal.read("a"))
        assert.deepStrictEqual(kept?.data, { ...reference })
        assert.deepStrictEqual(yield* Artefacts.getJson(reference), { large: "x".repeat(100_000) })
      }).pipe(Effect.provide(layer), Effect.scoped)
      assert.strictEqual(statSync(filename).mode & 0o777, 0o600)
    })
  )

  it.effect("a journal of the first release gets the table when it is opened, and keeps its events", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const old = yield* connection(filename)
      old.exec(`
        CREATE TABLE events (
          run TEXT NOT NULL, version INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL, data TEXT NOT NULL,
          PRIMARY KEY (run, version)
        ) STRICT;
        CREATE TABLE runs (
          run TEXT NOT NULL PRIMARY KEY, status TEXT NOT NULL, desk TEXT NOT NULL, started_at INTEGER NOT NULL
        ) STRICT;
        INSERT INTO events VALUES ('a', 1, 'Old', 0, '"kept"');
        PRAGMA application_id = ${applicationId};
        PRAGMA user_version = 1`)
      const reference = yield* withArtefacts(filename)(({ put }) => put("new"))
      yield* withArtefacts(filename)(({ verify }) => verify(reference))
      const events = yield* withJournal(filename)(
        Effect.flatMap(Journal.Journal, (journal) => Stream.runCollect(journal.read("a")))
      )
      assert.deepStrictEqual(
        events.map(({ data, type, version }) => ({ version, type, data })),
        [{ version: 1, type: "Old", data: "kept" }]
      )
    })
  )

  const damages: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["one changed byte", "UPDATE artefacts SET bytes = x'73616e65'", /its bytes have the hash sha256:/],
    ["a cut end", "UPDATE artefacts SET bytes = substr(bytes, 1, 2)", /its bytes have the hash sha256:/],
    ["no bytes at all", "UPDATE artefacts SET bytes = x''", /its bytes have the hash sha256:/]
  ]
  it.effect.each(damages)("R-202 get and verify find %s, and putting it again mends it", ([, sql, detail]) =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      yield* withArtefacts(filename)((artefacts) =>
        Effect.gen(function* () {
          const reference = yield* artefacts.put("same")
          const vandal = yield* connection(filename)
          vandal.exec(sql)
          for (const call of [artefacts.verify(reference), artefacts.get(reference)]) {
            const error = yield* Effect.flip<unknown, Artefacts.ArtefactsError, never>(call)
            assert.strictEqual(error.reason._tag, "ArtefactMismatch")
            assert.match(error.message, detail)
            assert.isFalse(error.isRetryable)
          }
          yield* artefacts.put("same")
          assert.strictEqual(yield* text(artefacts, reference), "same")
        })
      )
    })
  )

  it.effect("a missing table is told as damage", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const error = yield* withArtefacts(filename)((artefacts) =>
        Effect.gen(function* () {
          const vandal = yield* connection(filename)
          vandal.exec("DROP TABLE artefacts")
          return yield* Effect.flip(artefacts.put("a"))
        })
      )
      assert.strictEqual(error.reason._tag, "JournalCorrupt")
    })
  )

  it.effect("fails as full when there is no room, with nothing written, and can be tried again", () =>
    Effect.gen(function* () {
      const filename = yield* Effect.tap(freshPath, (path) => Effect.sync(() => writeFileSync(path, "")))
      const sqlite = yield* open(filename)
      yield* establish(sqlite, { busyMillis: 0, synchronous: "normal" })
      const artefacts = service(yield* make(sqlite, 0, 1_000_000))
      const small = yield* artefacts.put("small")
      const pages = Number(sqlite.native.prepare("PRAGMA page_count").get()?.["page_count"])
      sqlite.native.exec(`PRAGMA max_page_count = ${pages + 2}`)
      const large = "x".repeat(100_000)
      const error = yield* Effect.flip(artefacts.put(large))
      assert.deepStrictEqual(error.reason, new Journal.JournalFull({ location: filename }))
      assert.isTrue(error.isRetryable)
      assert.strictEqual(yield* text(artefacts, small), "small")
      assert.strictEqual(sqlite.native.prepare("SELECT count(*) AS n FROM artefacts").get()?.["n"], 1)
      sqlite.native.exec("PRAGMA max_page_count = 100000")
      assert.strictEqual(yield* text(artefacts, yield* artefacts.put(large)), large)
    })
  )

  it.effect("fails as closed after the layer has ended", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const [artefacts, reference] = yield* withArtefacts(filename)((artefacts) =>
        Effect.map(artefacts.put("a"), (reference) => [artefacts, reference] as const)
      )
      for (const call of [artefacts.put("b"), artefacts.get(reference), artefacts.has(reference)]) {
        const error = yield* Effect.flip<unknown, Artefacts.ArtefactsError, never>(call)
        assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "closed", location: filename })
        assert.isFalse(error.isRetryable)
      }
    })
  )

  it.effect("waits for another process that holds the lock, and then keeps what was given at first", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const other = yield* connection(filename)
      yield* withArtefacts(filename)((artefacts) =>
        Effect.gen(function* () {
          other.exec("BEGIN IMMEDIATE")
          const bytes = Uint8Array.of(1, 2, 3)
          const waiting = yield* Effect.forkChild(artefacts.put(bytes), { startImmediately: true })
          bytes[0] = 9
          yield* TestClock.adjust("200 millis")
          assert.isUndefined(waiting.pollUnsafe())
          other.exec("ROLLBACK")
          yield* TestClock.adjust("100 millis")
          assert.deepStrictEqual(yield* artefacts.get(yield* Fiber.join(waiting)), Uint8Array.of(1, 2, 3))
        })
      )
    })
  )

  it.effect("fails as busy after the time-out", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const other = yield* connection(filename)
      yield* withArtefacts(filename, { busyTimeout: "1 second" })((artefacts) =>
        Effect.gen(function* () {
          other.exec("BEGIN IMMEDIATE")
          const waiting = yield* Effect.forkChild(Effect.flip(artefacts.put("a")), { startImmediately: true })
          yield* TestClock.adjust("1 second")
          const error = yield* Fiber.join(waiting)
          assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "busy" })
          assert.isTrue(error.isRetryable)
        })
      )
    })
  )

  it.effect("is not opened where a journal is not", () =>
    Effect.gen(function* () {
      const filename = yield* folder
      const error = yield* Effect.flip(withArtefacts(filename)(({ put }) => put("a")))
      assert.strictEqual(error._tag, "ArtefactsError")
      assert.strictEqual(error.message, `${filename} is not a journal: it is a folder`)
    })
  )

  const options: ReadonlyArray<readonly [Omit<ArtefactsSqlite.Options, "filename">, string]> = [
    [{ limit: 0 }, "limit must be a whole number from 1 to 536870912, got 0"],
    [{ busyTimeout: "Infinity" }, "busyTimeout must be finite and >= 0, got Infinity ms"]
  ]
  it.effect.each(options)("dies when an option is out of range: %j", ([options, message]) =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const exit = yield* Effect.exit(withArtefacts(filename, options)(({ put }) => put("a")))
      assert.isTrue(Exit.isFailure(exit))
      if (!Exit.isFailure(exit)) return
      const error = Cause.squash(exit.cause)
      assert.instanceOf(error, RangeError)
      assert.strictEqual(error.message, `ArtefactsSqlite.layerSqlite: ${message}`)
    })
  )
})
