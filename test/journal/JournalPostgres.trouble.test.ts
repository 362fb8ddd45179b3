import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { Journal } from "espalier/journal"
import type * as JournalPostgres from "espalier/journal/JournalPostgres"

import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withProcesses } from "../fixtures/real.ts"
import { connection, freshSchema, opened, serverOfThisFile, step } from "./fixtures/postgres.ts"

type Service = Journal.Journal["Service"]

/** Why an operation is refused. */
const refusal = <A>(call: Effect.Effect<A, Journal.JournalError | Journal.VersionConflict>) =>
  Effect.map(Effect.flip(call), (error) => {
    if (error._tag !== "JournalError") return assert.fail(error.message)
    return { ...error.reason, retryable: error.isRetryable }
  })

/** The versions of a run, read back; what failed for now is tried again. */
const versions = (journal: Service, run: string): Effect.Effect<ReadonlyArray<number>> =>
  Effect.catch(
    Effect.map(Stream.runCollect(journal.read(run)), (events) => events.map(({ version }) => version)),
    (error) => {
      assert.isTrue(error.isRetryable, error.message)
      return Effect.andThen(Effect.yieldNow, versions(journal, run))
    }
  )

/**
 * Appends as whoever carries out a run has to: what failed for now is tried again, and what is there already when it is was
 * written by the try that nobody heard of.
 */
const persistently = (journal: Service, run: string, expected: number): Effect.Effect<number> =>
  Effect.catch(step(journal, run, expected), (error): Effect.Effect<number> => {
    if (error._tag === "VersionConflict") return Effect.succeed(error.actual)
    assert.isTrue(error.isRetryable, error.message)
    return Effect.andThen(Effect.yieldNow, persistently(journal, run, expected))
  })

describeWithPostgres("trouble with PostgreSQL", () => {
  const server = serverOfThisFile()

  const stage = (options: Omit<JournalPostgres.Options, "schema"> = {}) =>
    Effect.gen(function* () {
      const schema = yield* freshSchema
      const journal = yield* opened(server(), { schema, ...options })
      return { schema, journal, sql: yield* connection(server().url) }
    })

  /** Whether an owner's lock is held. */
  const locked = (schema: string) =>
    Effect.scoped(
      Effect.flatMap(connection(server().url), (sql) =>
        Effect.map(
          sql("SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = to_regclass($1)::oid", [
            `${schema}.owner`
          ]),
          ({ length }) => length === 1
        )
      )
    )

  withProcesses(
    "cut connections: the owner has its lock again by itself, stays the owner, and leaves as any other",
    () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
        const journal = yield* Effect.provideService(opened(server(), { schema }), Scope.Scope, scope)
        yield* step(journal, "a", 0)
        yield* server().cut
        while (!(yield* locked(schema))) yield* Effect.yieldNow
        assert.strictEqual(yield* persistently(journal, "a", 1), 2)
        const other = yield* opened(server(), { schema })
        assert.deepInclude(yield* refusal(other.own), { _tag: "JournalOwned", epoch: 1 })
        assert.deepStrictEqual(yield* versions(journal, "a"), [1, 2])
        yield* Scope.close(scope, Exit.void)
        assert.deepInclude(yield* other.owner, { epoch: 1, released: true })
        while (yield* locked(schema)) yield* Effect.yieldNow
        assert.strictEqual((yield* other.own).epoch, 2)
      }).pipe(Effect.scoped)
  )

  withProcesses("R-301: connections that are cut in the middle of appends lose nothing that was acknowledged", () =>
    Effect.gen(function* () {
      const { journal } = yield* stage()
      const acknowledged: Array<number> = []
      const appending = yield* Effect.forkChild(
        Effect.gen(function* () {
          for (let version = 0; version < 300; version++) {
            const now = yield* persistently(journal, "a", version)
            assert.strictEqual(now, version + 1)
            acknowledged.push(now)
          }
        })
      )
      for (const seen of [10, 60, 150]) {
        while (acknowledged.length < seen) yield* Effect.yieldNow
        yield* server().cut
      }
      yield* Fiber.join(appending)
      assert.deepStrictEqual(yield* versions(journal, "a"), acknowledged)
      assert.deepInclude(yield* journal.owner, { epoch: 1, released: false })
    }).pipe(Effect.scoped)
  )

  withProcesses("R-301, D64: a server that crashes and comes back: told while it is down, and gone on after it", () =>
    Effect.gen(function* () {
      const { journal, schema } = yield* stage()
      const woken = yield* Queue.unbounded<void>()
      yield* Effect.forkScoped(Stream.runForEach(journal.changes, () => Queue.offer(woken, undefined)))
      yield* Queue.takeN(woken, 2)
      assert.strictEqual(yield* step(journal, "a", 0, 2), 2)
      yield* server().restart(
        Effect.orDie(
          Effect.gen(function* () {
            for (const call of [journal.version("a"), step(journal, "a", 2), journal.check]) {
              assert.deepInclude(yield* refusal<unknown>(call), { _tag: "JournalUnavailable", retryable: true })
            }
          })
        )
      )
      assert.strictEqual(yield* persistently(journal, "a", 2), 3)
      assert.deepStrictEqual(yield* versions(journal, "a"), [1, 2, 3])
      while (!(yield* locked(schema))) yield* Effect.yieldNow
      // It listens again: what is left now is heard of at the latest when it is looked for.
      const other = yield* opened(server(), { schema })
      yield* Queue.clear(woken)
      yield* other.command({ run: "a", type: "Said", at: 0, data: null })
      yield* Queue.take(woken)
    }).pipe(Effect.scoped)
  )

  it.effect("D64: an owner whose connection was lost is fenced when another process was faster", () =>
    Effect.gen(function* () {
      const { journal, schema, sql } = yield* stage()
      yield* step(journal, "a", 0)
      const fenced = yield* Effect.forkChild(Effect.flip(journal.fenced))
      // No turn of this process lies between the two: the connection ends, and the epoch is raised.
      yield* sql(`
        WITH lost AS (
          SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = '${schema}.owner'::regclass
        ) UPDATE ${schema}.owner SET epoch = 2, name = 'other' WHERE (SELECT count(*) FROM lost) = 1`)
      while (true) {
        const reason = yield* refusal(step(journal, "a", 1))
        if (reason._tag === "JournalFenced") {
          assert.deepInclude(reason, { epoch: 1, current: 2, retryable: false })
          break
        }
        assert.deepInclude(reason, { _tag: "JournalUnavailable", retryable: true })
        yield* Effect.yieldNow
      }
      assert.strictEqual((yield* Fiber.join(fenced)).reason._tag, "JournalFenced")
      assert.deepStrictEqual(yield* versions(journal, "a"), [1])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "a statement that others keep waiting ends after its limit, has written nothing, and can be tried again",
    () =>
      Effect.gen(function* () {
        const { journal, schema, sql } = yield* stage({ statementTimeout: "300 millis" })
        yield* step(journal, "a", 0)
        yield* sql("BEGIN")
        yield* sql(`LOCK TABLE ${schema}.events IN EXCLUSIVE MODE`)
        const late = yield* refusal(step(journal, "a", 1))
        assert.deepInclude(late, { _tag: "JournalUnavailable", problem: "busy", retryable: true })
        yield* sql("COMMIT")
        assert.strictEqual(yield* step(journal, "a", 1), 2)
      }).pipe(Effect.scoped)
  )

  it.effect("a server that does not answer at all is given up after the limit", () =>
    Effect.gen(function* () {
      const { journal, schema, sql } = yield* stage({ statementTimeout: "2 seconds" })
      yield* step(journal, "a", 0)
      const holder = sql("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = to_regclass($1)::oid", [
        `${schema}.owner`
      ])
      const pid = Number((yield* holder)[0]?.["pid"])
      yield* Effect.acquireRelease(
        Effect.sync(() => process.kill(pid, "SIGSTOP")),
        () => Effect.sync(() => process.kill(pid, "SIGCONT"))
      )
      const late = yield* Effect.forkChild(refusal(step(journal, "a", 1)))
      yield* TestClock.adjust("3 seconds")
      assert.deepInclude(yield* Fiber.join(late), { _tag: "JournalUnavailable", problem: "io", retryable: true })
      // The next one has another connection, although the server still holds the lock for the one that was given up.
      assert.strictEqual(yield* persistently(journal, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("an append that is interrupted has been written or has not, and the next one goes through", () =>
    Effect.gen(function* () {
      const { journal } = yield* stage()
      let version = 0
      for (let turns = 0; turns < 12; turns++) {
        const append = yield* Effect.forkChild(step(journal, "a", version))
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow
        yield* Fiber.interrupt(append)
        const now = yield* journal.version("a")
        assert.include([version, version + 1], now)
        version = yield* step(journal, "a", now)
      }
      assert.deepStrictEqual((yield* versions(journal, "a")).length, version)
    }).pipe(Effect.scoped)
  )

  it.effect("a disk without room, a standby and a user who may not are told as what they are", () =>
    Effect.gen(function* () {
      const { journal, schema, sql } = yield* stage()
      yield* step(journal, "a", 0)
      const said = (code: string) =>
        sql(`
          CREATE OR REPLACE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`)
      yield* said("53100")
      yield* sql(
        `CREATE TRIGGER refuse BEFORE INSERT ON ${schema}.events FOR EACH ROW EXECUTE FUNCTION ${schema}.refuse()`
      )
      const expected: ReadonlyArray<readonly [string, Journal.Reason["_tag"], boolean]> = [
        ["53100", "JournalFull", true],
        ["25006", "JournalReadOnly", false],
        ["42501", "JournalReadOnly", false],
        ["40P01", "JournalUnavailable", true],
        ["58030", "JournalUnavailable", true],
        ["XX001", "JournalCorrupt", false]
      ]
      for (const [code, tag, retryable] of expected) {
        yield* said(code)
        const { _tag, retryable: again } = yield* refusal(step(journal, "a", 1))
        assert.deepStrictEqual([_tag, again], [tag, retryable], code)
      }
      yield* sql(`DROP TRIGGER refuse ON ${schema}.events`)
      assert.strictEqual(yield* step(journal, "a", 1), 2)
    }).pipe(Effect.scoped)
  )

  it.effect("what a server says of a value does not come into an error", () =>
    Effect.gen(function* () {
      const { journal, schema, sql } = yield* stage()
      yield* sql(`ALTER TABLE ${schema}.events ADD CHECK (data NOT LIKE '%secret%')`)
      const append = journal.append({ run: "a", expected: 0, events: [{ type: "x", at: 0, data: "my secret" }] })
      const reason = yield* refusal(append)
      assert.strictEqual(reason._tag, "JournalCorrupt")
      assert.notInclude(JSON.stringify(reason), "secret")
    }).pipe(Effect.scoped)
  )

  it.effect("closing while the server is gone does not hang", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const journal = yield* Effect.provideService(opened(server(), { schema: yield* freshSchema }), Scope.Scope, scope)
      yield* step(journal, "a", 0)
      yield* server().restart(Scope.close(scope, Exit.void))
    })
  )
})
