import { execFileSync } from "node:child_process"
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, Layer, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Journal, JournalSqlite } from "espalier/journal"

import { service } from "../../src/journal/internal/journalService.ts"
import { make } from "../../src/journal/internal/sqliteJournal.ts"
import { open, type Sqlite } from "../../src/journal/internal/sqliteNode.ts"
import { establish, schemaVersion } from "../../src/journal/internal/sqliteSchema.ts"
import { withProcesses } from "../fixtures/real.ts"
import { contract } from "./contract.ts"
import { run } from "./fixtures/child.ts"
import { connection, folder, freshPath, layerFresh, withJournal } from "./fixtures/folder.ts"
import { contract as lists } from "./listsContract.ts"

const step = (run: string, expected: number, size = 1) =>
  Effect.flatMap(Journal.Journal, (journal) =>
    journal.append({
      run,
      expected,
      events: Array.from({ length: size }, (_, part) => ({ type: "Stepped", at: 0, data: { part } }))
    })
  )

/** The service on an open database, whose locks are not waited for. */
const serviceOf = (sqlite: Sqlite) =>
  Effect.flatMap(make(sqlite, { busyMillis: 0, lease: Duration.seconds(15) }), (store) => service(store))

const events = (run: string) => Effect.flatMap(Journal.Journal, (journal) => Stream.runCollect(journal.read(run)))

/** The reason for which a file is not opened. */
const whyNot = (filename: string, options: Omit<JournalSqlite.Options, "filename"> = {}) =>
  Effect.map(
    Effect.flip(Effect.scoped(Layer.build(JournalSqlite.layerSqlite({ filename, ...options })))),
    (error) => error.reason
  )

const put = (path: string, text: string): string => {
  writeFileSync(path, text)
  return path
}

describe("layerSqlite", () => {
  contract(layerFresh)
  lists(layerFresh)

  describe("opening", () => {
    it.effect("makes the file and its folders, for their owner only", () =>
      Effect.gen(function* () {
        const parent = yield* folder
        const filename = join(parent, "a", "b", "journal.db")
        yield* step("a", 0).pipe(
          Effect.tap(() =>
            Effect.sync(() => {
              for (const name of readdirSync(dirname(filename))) {
                assert.strictEqual(statSync(join(dirname(filename), name)).mode & 0o777, 0o600, name)
              }
            })
          ),
          withJournal(filename)
        )
        assert.strictEqual(statSync(join(parent, "a")).mode & 0o777, 0o700)
        assert.strictEqual(statSync(join(parent, "a", "b")).mode & 0o777, 0o700)
      })
    )

    it.effect("finds again what an earlier process has written", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        yield* withJournal(filename)(step("a", 0, 3))
        assert.strictEqual(yield* withJournal(filename)(step("a", 3)), 4)
        assert.strictEqual((yield* withJournal(filename)(events("a"))).length, 4)
        assert.deepStrictEqual(readdirSync(dirname(filename)), ["journal.db"])
      })
    )

    it.effect("gives the file back when the layer ends", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const journal = yield* withJournal(filename)(Effect.map(Journal.Journal, (journal) => journal))
        const error = yield* Effect.flip(journal.version("a"))
        assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "closed" })
        assert.isFalse(error.isRetryable)
      })
    )

    it.effect("works with the layer built twice on one file: one appends, both read", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const [first, second] = yield* Effect.all(
          [1, 2].map(() => Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename })))),
          { concurrency: "unbounded" }
        )
        if (first === undefined || second === undefined) return assert.fail("two layers were built")
        assert.strictEqual(yield* Effect.provide(step("a", 0), first), 1)
        const refused = yield* Effect.flip(Effect.provide(step("a", 1), second))
        assert.deepInclude(refused._tag === "JournalError" ? refused.reason : refused, {
          _tag: "JournalOwned",
          location: filename,
          epoch: 1
        })
        assert.strictEqual((yield* Effect.provide(events("a"), second)).length, 1)
      })
    )

    const refusals: ReadonlyArray<readonly [string, (parent: string) => string, Journal.Reason["_tag"], RegExp]> = [
      ["a folder", (parent) => parent, "NotAJournal", /is not a journal: it is a folder$/],
      [
        "a text file",
        (parent) => put(join(parent, "notes.db"), "these are my notes\n".repeat(100)),
        "NotAJournal",
        /a file that is not an SQLite database$/
      ],
      [
        "a very short text file",
        (parent) => put(join(parent, "short.db"), "hi"),
        "NotAJournal",
        /a file that is not an SQLite database$/
      ],
      [
        "a named pipe, which would hang",
        (parent) => {
          execFileSync("mkfifo", [join(parent, "pipe")])
          return join(parent, "pipe")
        },
        "NotAJournal",
        /not a regular file$/
      ],
      [
        "a symbolic link loop",
        (parent) => {
          symlinkSync(join(parent, "loop"), join(parent, "loop"))
          return join(parent, "loop")
        },
        "JournalUnavailable",
        /cannot-open\): the path is a loop of symbolic links \(ELOOP\)$/
      ],
      [
        "a path below a file",
        (parent) => join(put(join(parent, "file"), ""), "journal.db"),
        "JournalUnavailable",
        /cannot-open\): a part of the path is not a folder \(EEXIST\)$/
      ],
      ["no path", () => "", "InvalidInput", /^filename must be the path of a file$/],
      ["SQLite's name for memory", () => ":memory:", "InvalidInput", /^filename must be the path of a file$/],
      ["a path with a NUL", (parent) => join(parent, "a\u0000b"), "InvalidInput", /^filename must be the path/]
    ]
    it.effect.each(refusals)("%s is refused with its reason and the path", ([, path, tag, message]) =>
      Effect.gen(function* () {
        const filename = path(yield* folder)
        const reason = yield* whyNot(filename)
        assert.strictEqual(reason._tag, tag)
        assert.match(reason.message, message)
        if (reason._tag === "InvalidInput") return
        assert.include(reason.message, filename)
      })
    )

    it.effect("a file that is not an SQLite database stays as it was", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const text = "these are my notes\n".repeat(500)
        writeFileSync(filename, text)
        assert.strictEqual((yield* whyNot(filename))._tag, "NotAJournal")
        assert.strictEqual(readFileSync(filename, "utf8"), text)
        assert.deepStrictEqual(readdirSync(dirname(filename)), ["journal.db"])
      })
    )

    const strangers: ReadonlyArray<readonly [string, string]> = [
      ["with tables and no application id", "CREATE TABLE customers (name TEXT)"],
      ["with another application id", "PRAGMA application_id = 42"],
      ["with a schema version and nothing else", "PRAGMA user_version = 3"],
      ["with a table that has our name", "CREATE TABLE events (run TEXT)"]
    ]
    it.effect.each(strangers)("the database of another application, %s, is refused and not touched", ([, sql]) =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const stranger = yield* connection(filename)
        stranger.exec(sql)
        const before = readFileSync(filename)
        const reason = yield* whyNot(filename)
        assert.strictEqual(reason._tag, "NotAJournal")
        assert.isTrue(readFileSync(filename).equals(before))
      })
    )

    it.effect("a journal of a later release is refused and not touched", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        yield* withJournal(filename)(step("a", 0))
        const later = yield* connection(filename)
        later.exec(`PRAGMA user_version = ${schemaVersion + 1}`)
        assert.deepStrictEqual(
          yield* whyNot(filename),
          new Journal.JournalTooNew({ location: filename, found: schemaVersion + 1, supported: schemaVersion })
        )
        later.exec(`PRAGMA user_version = ${schemaVersion}`)
        assert.strictEqual((yield* withJournal(filename)(events("a"))).length, 1)
      })
    )

    it.effect("an empty file and an empty database become a journal", () =>
      Effect.gen(function* () {
        const parent = yield* folder
        writeFileSync(join(parent, "empty.db"), "")
        const empty = yield* connection(join(parent, "database.db"))
        empty.exec("PRAGMA journal_mode = WAL")
        assert.strictEqual(yield* withJournal(join(parent, "empty.db"))(step("a", 0)), 1)
        assert.strictEqual(yield* withJournal(join(parent, "database.db"))(step("a", 0)), 1)
      })
    )

    it.effect("a link to a file elsewhere is followed", () =>
      Effect.gen(function* () {
        const parent = yield* folder
        symlinkSync(join(parent, "target.db"), join(parent, "link.db"))
        yield* withJournal(join(parent, "link.db"))(step("a", 0))
        assert.strictEqual((yield* withJournal(join(parent, "target.db"))(events("a"))).length, 1)
      })
    )

    it.effect("a path that looks like a URI is a path", () =>
      Effect.gen(function* () {
        const parent = yield* folder
        yield* withJournal(join(parent, "file:odd?mode=memory#x.db"))(step("a", 0))
        assert.deepStrictEqual(readdirSync(parent), ["file:odd?mode=memory#x.db"])
      })
    )

    withProcesses("a file that this user may not write is refused as read-only", () =>
      // Live: another process does it, because root may write everything.
      Effect.gen(function* () {
        const parent = yield* folder
        const filename = join(parent, "journal.db")
        yield* withJournal(filename)(step("a", 0))
        chmodSync(filename, 0o444)
        chmodSync(parent, 0o555)
        const child = yield* run("opener.ts", [filename], process.getuid?.() === 0 ? 65_534 : undefined)
        assert.strictEqual(yield* Queue.take(child.lines), "JournalReadOnly")
        chmodSync(parent, 0o755)
      })
    )

    it.effect.each([Duration.infinity, Duration.millis(-1)])("dies when busyTimeout is %s", (busyTimeout) =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const exit = yield* Effect.exit(
          Effect.scoped(Layer.build(JournalSqlite.layerSqlite({ filename, busyTimeout })))
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) instanceof RangeError)
      })
    )
  })

  describe("another process that holds the lock", () => {
    it.effect("is waited for, and the append goes on as soon as it lets go", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const other = yield* connection(filename)
        yield* Effect.gen(function* () {
          yield* step("a", 0)
          other.exec("BEGIN IMMEDIATE")
          const waiting = yield* Effect.forkChild(step("a", 1), { startImmediately: true })
          yield* TestClock.adjust("200 millis")
          assert.isUndefined(waiting.pollUnsafe())
          // Readers are not kept waiting.
          assert.strictEqual((yield* events("a")).length, 1)
          other.exec("ROLLBACK")
          yield* TestClock.adjust("100 millis")
          assert.strictEqual(yield* Fiber.join(waiting), 2)
        }).pipe(withJournal(filename))
      })
    )

    it.effect("makes the append fail as busy after the time-out, with nothing written", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const other = yield* connection(filename)
        yield* Effect.gen(function* () {
          yield* step("a", 0)
          other.exec("BEGIN IMMEDIATE")
          const waiting = yield* Effect.forkChild(Effect.flip(step("a", 1, 2)), { startImmediately: true })
          yield* TestClock.adjust("1999 millis")
          assert.isUndefined(waiting.pollUnsafe())
          yield* TestClock.adjust("1 millis")
          const error = yield* Fiber.join(waiting)
          assert.instanceOf(error, Journal.JournalError)
          assert.isTrue(error.isRetryable)
          assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "busy", location: filename })
          other.exec("ROLLBACK")
          assert.strictEqual(yield* step("a", 1, 2), 3)
        }).pipe(withJournal(filename, { busyTimeout: "2 seconds" }))
      })
    )

    it.effect("is waited for while the tables are made", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const other = yield* connection(filename)
        other.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE")
        const opening = yield* Effect.forkChild(withJournal(filename)(step("a", 0)), { startImmediately: true })
        yield* TestClock.adjust("1 second")
        assert.isUndefined(opening.pollUnsafe())
        other.exec("ROLLBACK")
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(opening), 1)
      })
    )
  })

  describe("a commit that fails", () => {
    it.effect("because there is no room leaves nothing behind, and the same append can be tried again", () =>
      Effect.gen(function* () {
        const sqlite = yield* open(yield* Effect.tap(freshPath, (path) => Effect.sync(() => writeFileSync(path, ""))))
        yield* establish(sqlite, { busyMillis: 0, synchronous: "normal" })
        const journal = yield* serviceOf(sqlite)
        const append = (expected: number, size: number) =>
          journal.append({
            run: "a",
            expected,
            events: Array.from({ length: size }, () => ({ type: "Stepped", at: 0, data: "x".repeat(8000) })),
            listing: { status: `at ${expected}`, desk: "audit", startedAt: 0 }
          })
        assert.strictEqual(yield* append(0, 1), 1)
        const pages = Number(sqlite.native.prepare("PRAGMA page_count").get()?.page_count)
        sqlite.native.exec(`PRAGMA max_page_count = ${pages + 4}`)
        const full = yield* Effect.flip(append(1, 5))
        assert.strictEqual(full._tag, "JournalError")
        assert.deepStrictEqual(full, new Journal.JournalError({ reason: new Journal.JournalFull(sqlite) }))
        assert.isFalse(sqlite.native.isTransaction)
        assert.strictEqual(yield* journal.version("a"), 1)
        assert.deepInclude((yield* journal.runs())[0], { status: "at 0", version: 1 })
        sqlite.native.exec("PRAGMA max_page_count = 100000")
        assert.strictEqual(yield* append(1, 5), 6)
        assert.strictEqual((yield* Stream.runCollect(journal.read("a"))).length, 6)
      })
    )

    it.effect("because the file turned read-only says so", () =>
      Effect.gen(function* () {
        const sqlite = yield* open(yield* Effect.tap(freshPath, (path) => Effect.sync(() => writeFileSync(path, ""))))
        yield* establish(sqlite, { busyMillis: 0, synchronous: "normal" })
        const journal = yield* serviceOf(sqlite)
        sqlite.native.exec("PRAGMA query_only = ON")
        const error = yield* Effect.flip(
          journal.append({ run: "a", expected: 0, events: [{ type: "x", at: 0, data: null }] })
        )
        assert.deepStrictEqual(
          error,
          new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: sqlite.location }) })
        )
      })
    )
  })

  describe("an owner that was replaced", () => {
    const started: Journal.Listing = { status: "running", desk: "audit", startedAt: 0 }
    const rests: ReadonlyArray<readonly [string, number, Partial<Journal.Append>]> = [
      ["one event", 1, {}],
      ["a few events", 3, {}],
      ["more events than one statement takes", 40, {}],
      ["events and the listing", 2, { listing: started }],
      ["more events than one statement takes, and the listing", 40, { listing: started }]
    ]
    it.effect.each(rests)("writes nothing of an append of %s (D64)", ([, size, rest]) =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const other = yield* connection(filename)
        yield* Effect.gen(function* () {
          const journal = yield* Journal.Journal
          yield* step("a", 0)
          other.exec("UPDATE owner SET epoch = 7")
          const events = Array.from({ length: size }, () => ({ type: "Late", at: 0, data: null }))
          const error = yield* Effect.flip(journal.append({ run: "a", expected: 1, events, ...rest }))
          assert.strictEqual(error._tag, "JournalError")
          assert.deepStrictEqual(
            error._tag === "JournalError" ? error.reason : error,
            new Journal.JournalFenced({ location: filename, epoch: 1, current: 7 })
          )
          assert.deepStrictEqual([yield* journal.version("a"), yield* journal.runs()], [1, []])
        }).pipe(withJournal(filename))
      })
    )
  })

  describe("a file that somebody else has changed", () => {
    const damages: ReadonlyArray<readonly [string, string, number, string]> = [
      ["with an event taken out", "DELETE FROM events WHERE version = 300", 299, "the event is missing"],
      ["with data that is not JSON", "UPDATE events SET data = '{' WHERE version = 10", 9, "its data is not JSON"],
      ["with the first event taken out", "DELETE FROM events WHERE version = 1", 0, "the event is missing"]
    ]
    it.effect.each(damages)("%s is read up to that place and no further", ([, sql, readable, detail]) =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        const other = yield* connection(filename)
        yield* Effect.gen(function* () {
          yield* step("a", 0, 600)
          other.exec(sql)
          const journal = yield* Journal.Journal
          const seen: Array<number> = []
          const error = yield* journal.read("a").pipe(
            Stream.runForEach(({ version }) => Effect.sync(() => seen.push(version))),
            Effect.flip
          )
          assert.strictEqual(seen.length, readable)
          assert.deepStrictEqual(
            error.reason,
            new Journal.JournalCorrupt({ location: filename, run: "a", version: readable + 1, detail })
          )
        }).pipe(withJournal(filename))
      })
    )

    it.effect("with a table dropped is refused as damaged", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        yield* withJournal(filename)(step("a", 0))
        const other = yield* connection(filename)
        other.exec("DROP TABLE runs")
        const reason = yield* whyNot(filename)
        assert.strictEqual(reason.message, `the journal ${filename} is damaged: no such table: runs`)
      })
    )

    it.effect("with its pages overwritten is refused or read as damaged, and nothing hangs", () =>
      Effect.gen(function* () {
        const filename = yield* freshPath
        yield* withJournal(filename)(step("a", 0, 600))
        const bytes = readFileSync(filename)
        writeFileSync(filename, bytes.fill(0xff, 4096))
        const error = yield* Effect.flip(withJournal(filename)(events("a")))
        assert.strictEqual(error.reason._tag, "JournalCorrupt")
      })
    )
  })

  // Real time: other processes write and are killed; the tests wait for what they print, not for a delay.
  describe("processes", () => {
    withProcesses(
      "kill -9 in the middle of appends loses nothing acknowledged and leaves nothing half written",
      () =>
        // Live: a real process is killed, between two lines of its output.
        Effect.gen(function* () {
          const filename = yield* freshPath
          let acknowledged = 0
          for (const after of [1, 7, 40]) {
            const child = yield* run("appender.ts", [filename, "a", "w", "100000", "3"])
            for (let line = 0; line < after; line++) acknowledged = Number(yield* Queue.take(child.lines))
            yield* child.kill
            for (const line of yield* Queue.clear(child.lines)) acknowledged = Number(line)
            yield* Effect.gen(function* () {
              const journal = yield* Journal.Journal
              const found = yield* events("a")
              // The last commit may have been made and not acknowledged; a commit holds three events.
              assert.isTrue(found.length === acknowledged || found.length === acknowledged + 3, `${found.length}`)
              assert.deepStrictEqual(
                found.map(({ version }) => version),
                found.map((_, i) => i + 1)
              )
              assert.isTrue(found.every(({ data }, i) => Reflect.get(Object(data), "part") === i % 3))
              assert.deepInclude((yield* journal.runs())[0], {
                status: `step ${found.length - 3}`,
                version: found.length
              })
            }).pipe(withJournal(filename))
          }
        }),
      60_000
    )

    withProcesses(
      "of two processes one appends, and the other one as soon as the first is killed",
      () =>
        // Live: two real processes compete for the file, from making its tables on, and one is killed.
        Effect.gen(function* () {
          const filename = yield* freshPath
          const first = yield* run("appender.ts", [filename, "a", "one", "100000", "2"])
          yield* Queue.take(first.lines)
          const second = yield* run("appender.ts", [filename, "a", "two", "60", "2"])
          assert.strictEqual(yield* Queue.take(second.lines), "owned")
          yield* first.kill
          const versions: Array<number> = []
          for (const line of yield* Queue.clear(first.lines)) versions.push(Number(line))
          const before = Math.max(...versions)
          assert.strictEqual(yield* second.exit, 0)
          const taken = (yield* Queue.clear(second.lines)).filter((line) => line !== "owned").map(Number)
          const found = yield* withJournal(filename)(events("a"))
          assert.deepStrictEqual(
            found.map(({ version }) => version),
            found.map((_, i) => i + 1)
          )
          assert.isAtLeast(found.length, before + 120)
          assert.strictEqual(taken.length, 60)
          for (const version of taken) {
            for (const event of found.slice(version - 2, version)) {
              assert.strictEqual(Reflect.get(Object(event.data), "writer"), "two")
            }
          }
        }),
      60_000
    )
  })
})
