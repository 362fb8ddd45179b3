import { hostname } from "node:os"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Option, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Journal } from "espalier/journal"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withProcesses } from "../fixtures/real.ts"
import { run } from "./fixtures/child.ts"
import { connection, freshSchema, opened, serverOfThisFile, step } from "./fixtures/postgres.ts"

type Service = Journal.Journal["Service"]

/** Why an operation is refused. */
const reason = <A>(call: Effect.Effect<A, Journal.JournalError | Journal.VersionConflict | Journal.ReviewTaken>) =>
  Effect.map(Effect.flip(call), (error) => (error._tag === "JournalError" ? error.reason : error))

const types = (journal: Service, run: string) =>
  Effect.map(Stream.runCollect(journal.read(run)), (events) => events.map(({ version }) => version))

describeWithPostgres("the owner of a journal in PostgreSQL", () => {
  const server = serverOfThisFile()

  /** A schema, journals on it as several processes have them, and somebody who looks at it from outside. */
  const stage = Effect.gen(function* () {
    const schema = yield* freshSchema
    const sql = yield* connection(server().url)
    /** Another process. What it holds ends with `leave`. */
    const arrive = Effect.gen(function* () {
      const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
      const journal = yield* Effect.provideService(opened(server(), { schema }), Scope.Scope, scope)
      return { journal, leave: Scope.close(scope, Exit.void) }
    })
    /** The sessions that hold an advisory lock of this journal's epochs. */
    const lockers = Effect.map(
      sql(
        `SELECT pid, objid::int AS epoch FROM pg_locks
          WHERE locktype = 'advisory' AND granted AND classid = to_regclass($1)::oid ORDER BY objid`,
        [`${schema}.owner`]
      ),
      (rows) => rows.map((row) => ({ pid: Number(row["pid"]), epoch: Number(row["epoch"]) }))
    )
    /** Until a statement with these words waits for a lock. */
    const waiting = (words: string): Effect.Effect<void, unknown> =>
      Effect.flatMap(
        sql("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1", [`%${words}%`]),
        ({ length }) => (length > 0 ? Effect.void : Effect.suspend(() => waiting(words)))
      )
    /** Makes it look as if the owner had given no sign of life for a minute. */
    const age = sql(`UPDATE ${schema}.owner SET heartbeat_at = heartbeat_at - 60000`)
    return { schema, sql, arrive, lockers, waiting, age }
  })

  it.effect("one process appends, the others read and leave word", () =>
    Effect.gen(function* () {
      const { arrive, lockers } = yield* stage
      const a = yield* arrive
      const b = yield* arrive
      assert.strictEqual(yield* a.journal.owner, undefined)
      yield* step(a.journal, "a", 0)
      const owner = yield* b.journal.owner
      assert.deepInclude(owner, { epoch: 1, name: `${process.pid}@${hostname()}`, released: false })
      for (const call of [step(b.journal, "a", 1), b.journal.own, b.journal.remove("a")]) {
        assert.deepInclude(yield* reason<unknown>(call), { _tag: "JournalOwned", owner: owner?.name ?? "", epoch: 1 })
      }
      assert.deepStrictEqual(yield* types(b.journal, "a"), [1])
      assert.strictEqual(yield* b.journal.command({ run: "a", type: "Said", at: 0, data: null }), 1)
      assert.deepStrictEqual(
        (yield* lockers).map(({ epoch }) => epoch),
        [1]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("an owner that leaves is replaced at once, and says that it has left", () =>
    Effect.gen(function* () {
      const { arrive, lockers } = yield* stage
      const a = yield* arrive
      const b = yield* arrive
      yield* step(a.journal, "a", 0)
      yield* a.leave
      assert.deepInclude(yield* b.journal.owner, { epoch: 1, released: true })
      assert.strictEqual(yield* step(b.journal, "a", 1), 2)
      assert.deepInclude(yield* b.journal.owner, { epoch: 2, released: false })
      assert.deepStrictEqual(
        (yield* lockers).map(({ epoch }) => epoch),
        [2]
      )
    }).pipe(Effect.scoped)
  )

  withProcesses("R-302: an owner that is killed is replaced at once, without waiting for its lease", () =>
    Effect.gen(function* () {
      const { arrive, lockers, schema } = yield* stage
      const child = yield* run("postgresOwner.ts", [server().url, schema])
      assert.strictEqual(yield* Queue.take(child.lines), "1")
      const b = yield* arrive
      assert.deepInclude(yield* reason(b.journal.own), { _tag: "JournalOwned", epoch: 1 })
      yield* child.kill
      // The server takes the lock back when it sees that the connection is closed.
      while ((yield* lockers).length > 0) yield* Effect.yieldNow
      assert.strictEqual((yield* b.journal.own).epoch, 2)
      assert.strictEqual(yield* step(b.journal, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("D64: an owner that stood still for its lease is replaced, and writes nothing any more", () =>
    Effect.gen(function* () {
      const { age, arrive } = yield* stage
      const a = yield* arrive
      const b = yield* arrive
      yield* step(a.journal, "a", 0)
      const fenced = yield* Effect.forkChild(Effect.flip(a.journal.fenced))
      yield* age
      assert.strictEqual((yield* b.journal.own).epoch, 2)
      const calls: ReadonlyArray<Effect.Effect<unknown, Journal.JournalError | Journal.VersionConflict>> = [
        step(a.journal, "a", 1),
        step(a.journal, "new", 0, 3),
        a.journal.relist("a", { status: "x", desk: "d", startedAt: 0 }, []),
        a.journal.remove("a"),
        a.journal.own
      ]
      for (const call of calls) {
        assert.deepInclude(yield* reason(call), { _tag: "JournalFenced", epoch: 1, current: 2 })
      }
      assert.strictEqual((yield* Fiber.join(fenced)).reason._tag, "JournalFenced")
      assert.deepStrictEqual(yield* b.journal.size(), { events: 1, bytes: 10 })
      assert.deepStrictEqual(yield* b.journal.runs(), [])
      assert.strictEqual(yield* step(b.journal, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("D64: what is fenced learns it from its next sign of life, should it write nothing", () =>
    Effect.gen(function* () {
      const { age, arrive } = yield* stage
      const a = yield* arrive
      const b = yield* arrive
      yield* a.journal.own
      yield* age
      yield* b.journal.own
      const fenced = yield* Effect.forkChild(Effect.flip(a.journal.fenced))
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude((yield* Fiber.join(fenced)).reason, { _tag: "JournalFenced", epoch: 1, current: 2 })
    }).pipe(Effect.scoped)
  )

  it.effect("an owner that lives gives a sign of life at each heartbeat", () =>
    Effect.gen(function* () {
      const { age, arrive, sql, schema } = yield* stage
      const a = yield* arrive
      const { heartbeatAt } = yield* a.journal.own
      yield* age
      yield* TestClock.adjust("5 seconds")
      const later = sql(`SELECT FROM ${schema}.owner WHERE heartbeat_at >= $1::bigint`, [String(heartbeatAt)])
      while ((yield* later).length === 0) yield* Effect.yieldNow
    }).pipe(Effect.scoped)
  )

  it.effect.each([1, 4])("D64: a write of %d events that waits for a claim to commit is refused as a whole", (size) =>
    Effect.gen(function* () {
      const { arrive, schema, sql, waiting } = yield* stage
      const { journal } = yield* arrive
      yield* step(journal, "a", 0)
      yield* sql("BEGIN")
      yield* sql(`UPDATE ${schema}.owner SET epoch = epoch + 1`)
      const late = yield* Effect.forkChild(reason(step(journal, "b", 0, size)))
      yield* waiting("INSERT INTO")
      yield* sql("COMMIT")
      assert.deepInclude(yield* Fiber.join(late), { _tag: "JournalFenced", epoch: 1, current: 2 })
      assert.strictEqual(yield* journal.version("b"), 0)
    }).pipe(Effect.scoped)
  )

  it.effect("a claim waits for a write that was there first, and a sign of life does not", () =>
    Effect.gen(function* () {
      const { age, arrive, schema, sql, waiting } = yield* stage
      const writer = yield* connection(server().url)
      const a = yield* arrive
      const b = yield* arrive
      yield* a.journal.own
      yield* age
      yield* writer("BEGIN")
      yield* writer(`SELECT FROM ${schema}.owner WHERE epoch = 1 FOR KEY SHARE`)
      yield* TestClock.adjust("5 seconds")
      const alive = sql(`SELECT FROM ${schema}.owner WHERE heartbeat_at > since`)
      while ((yield* alive).length === 0) yield* Effect.yieldNow
      yield* age
      const claim = yield* Effect.forkChild(b.journal.own)
      yield* waiting("SET epoch = epoch")
      yield* writer("COMMIT")
      assert.strictEqual((yield* Fiber.join(claim)).epoch, 2)
    }).pipe(Effect.scoped)
  )

  // Who comes second waits for a moment, to hear what becomes of the first.
  withProcesses("of several that claim a journal at once, one becomes the owner, under a number of its own", () =>
    Effect.gen(function* () {
      const { arrive, lockers } = yield* stage
      const all = yield* Effect.all([arrive, arrive, arrive, arrive])
      const exits = yield* Effect.forEach(all, ({ journal }) => Effect.result(journal.own), {
        concurrency: "unbounded"
      })
      const won = exits.flatMap((exit) => (exit._tag === "Success" ? [exit.success.epoch] : []))
      const lost = exits.flatMap((exit) => (exit._tag === "Failure" ? [exit.failure.reason._tag] : []))
      assert.deepStrictEqual(won, [1])
      assert.deepStrictEqual(lost, ["JournalOwned", "JournalOwned", "JournalOwned"])
      assert.deepStrictEqual(
        (yield* lockers).map(({ epoch }) => epoch),
        [1]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("of two processes that decide one review at once, one is too late", () =>
    Effect.gen(function* () {
      const { arrive } = yield* stage
      const { journal } = yield* arrive
      const reviews = { opened: [{ review: "r", kind: "approval", openedAt: 0 }] }
      yield* journal.append({ run: "a", expected: 0, events: [{ type: "x", at: 0, data: null }], reviews })
      const others = yield* Effect.all([arrive, arrive, arrive])
      const exits = yield* Effect.forEach(
        others,
        (other) => Effect.result(other.journal.command({ run: "a", type: "Decided", at: 0, data: null, review: "r" })),
        { concurrency: "unbounded" }
      )
      const won = exits.flatMap((exit) => (exit._tag === "Success" ? [exit.success] : []))
      const lost = exits.flatMap((exit) => (exit._tag === "Failure" ? [exit.failure] : []))
      assert.strictEqual(won.length, 1)
      for (const error of lost) assert.deepInclude(error, { _tag: "ReviewTaken", review: "r", found: "claimed" })
      assert.deepInclude((yield* journal.reviews("a"))[0], { review: "r", claimed: won[0] })
      assert.strictEqual((yield* journal.commands("a")).length, 1)
    }).pipe(Effect.scoped)
  )

  describe("changes", () => {
    it.effect("what another process leaves wakes the owner, although no time passes", () =>
      Effect.gen(function* () {
        const { arrive } = yield* stage
        const a = yield* arrive
        const b = yield* arrive
        const woken = yield* Queue.unbounded<void>()
        yield* Effect.forkScoped(Stream.runForEach(a.journal.changes, () => Queue.offer(woken, undefined)))
        // It looks when it starts, and once more when it listens.
        yield* Queue.takeN(woken, 2)
        yield* b.journal.command({ run: "a", type: "Said", at: 0, data: null })
        yield* Queue.take(woken)
        assert.strictEqual((yield* a.journal.commands("a")).length, 1)
      }).pipe(Effect.scoped)
    )

    it.effect("and is found each five seconds, should nothing have been heard of it", () =>
      Effect.gen(function* () {
        const { arrive, schema, sql } = yield* stage
        const a = yield* arrive
        const woken = yield* Queue.unbounded<void>()
        yield* Effect.forkScoped(Stream.runForEach(a.journal.changes, () => Queue.offer(woken, undefined)))
        yield* Queue.takeN(woken, 2)
        yield* sql(`INSERT INTO ${schema}.commands (run, type, at, data) VALUES ('a', 'Said', 0, 'null')`)
        assert.isTrue(Option.isNone(yield* Queue.poll(woken)))
        yield* TestClock.adjust("5 seconds")
        yield* Queue.take(woken)
      }).pipe(Effect.scoped)
    )
  })
})
