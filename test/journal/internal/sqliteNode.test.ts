import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"

import { because, JournalUnavailable } from "../../../src/journal/internal/errors.ts"
import { open, patiently, reasonOf } from "../../../src/journal/internal/sqliteNode.ts"
import { freshPath } from "../fixtures/folder.ts"

describe("reasonOf", () => {
  const table: ReadonlyArray<readonly [number, string]> = [
    [5, "JournalUnavailable busy"],
    [6, "JournalUnavailable busy"],
    [517, "JournalUnavailable busy"], // SQLITE_BUSY_SNAPSHOT
    [8, "JournalReadOnly"],
    [1544, "JournalReadOnly"], // SQLITE_READONLY_DIRECTORY
    [10, "JournalUnavailable io"],
    [4874, "JournalUnavailable io"], // SQLITE_IOERR_SHMSIZE
    [11, "JournalCorrupt"],
    [13, "JournalFull"],
    [14, "JournalUnavailable cannot-open"],
    [26, "JournalCorrupt"],
    [1, "JournalCorrupt"]
  ]
  it.each(table)("the result %d of SQLite is %s", (errcode, expected) => {
    const cause = Object.assign(new Error("text of SQLite"), { code: "ERR_SQLITE_ERROR", errcode })
    const reason = reasonOf("journal.db", cause)
    assert.strictEqual(
      reason?._tag === "JournalUnavailable" ? `${reason._tag} ${reason.problem}` : reason?._tag,
      expected
    )
  })

  it("an error that is not of the driver has no reason: it is a bug", () => {
    assert.isUndefined(reasonOf("journal.db", new TypeError("oops")))
    assert.isUndefined(reasonOf("journal.db", "oops"))
  })
})

describe("patiently", () => {
  const busy = because(new JournalUnavailable({ location: "journal.db", problem: "busy", detail: "locked" }))

  it.effect("tries at 1, 3, 8, 18, 33 … milliseconds, and once more when the budget is spent", () =>
    Effect.gen(function* () {
      const tries: Array<number> = []
      const attempt = Effect.clockWith((clock) => Effect.sync(() => tries.push(clock.currentTimeMillisUnsafe()))).pipe(
        Effect.andThen(Effect.fail(busy))
      )
      const waiting = yield* Effect.forkChild(Effect.flip(patiently(50)(attempt)), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(waiting), busy)
      assert.deepStrictEqual(tries, [0, 1, 3, 8, 18, 33, 50])
    })
  )

  it.effect("does not wait at all with a budget of zero, nor for another error", () =>
    Effect.gen(function* () {
      const io = because(new JournalUnavailable({ location: "journal.db", problem: "io", detail: "disk" }))
      assert.strictEqual(yield* Effect.flip(patiently(0)(Effect.fail(busy))), busy)
      assert.strictEqual(yield* Effect.flip(patiently(5000)(Effect.fail(io))), io)
    })
  )
})

describe("the SqlClient", () => {
  it.effect("reads rows, values and streams, and binds every kind of value", () =>
    Effect.gen(function* () {
      const { client: sql } = yield* open(yield* freshPath)
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, bytes BLOB, real REAL)`
      yield* sql`INSERT INTO t ${sql.insert([
        { id: 1, text: "it's", bytes: new Uint8Array([1, 2]), real: 0.5 },
        { id: 2, text: null, bytes: null, real: null }
      ])}`
      const rows = yield* sql<{ id: number; text: string | null }>`SELECT id, text FROM t ORDER BY id`
      assert.deepStrictEqual(
        rows.map((row) => ({ ...row })),
        [
          { id: 1, text: "it's" },
          { id: 2, text: null }
        ]
      )
      assert.deepStrictEqual(yield* sql`SELECT id, id FROM t WHERE real = ${0.5}`.values, [[1, 1]])
      const streamed = yield* Stream.runCollect(
        sql<{ id: number }>`SELECT id FROM t WHERE ${sql.in("id", [1, 2])}`.stream
      )
      assert.deepStrictEqual(
        streamed.map(({ id }) => id),
        [1, 2]
      )
    })
  )

  it.effect("rolls a failed transaction back and can be used afterwards", () =>
    Effect.gen(function* () {
      const { client: sql, native } = yield* open(yield* freshPath)
      yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY)`
      const twice = Effect.andThen(sql`INSERT INTO t VALUES (1)`, sql`INSERT INTO t VALUES (1)`)
      const error = yield* Effect.flip(sql.withTransaction(twice))
      assert.strictEqual(error.reason._tag, "ConstraintError")
      assert.isFalse(native.isTransaction)
      yield* sql.withTransaction(sql`INSERT INTO t VALUES (7)`)
      assert.deepStrictEqual(yield* sql`SELECT id FROM t`.values, [[7]])
    })
  )
})
