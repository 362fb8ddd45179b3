import { connect } from "node:net"

import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Queue, Redacted, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { Journal } from "espalier/journal"
import * as JournalPostgres from "espalier/journal/JournalPostgres"

import { make } from "../../src/journal/internal/postgresDatabase.ts"
import { make as makeStore } from "../../src/journal/internal/postgresJournal.ts"
import { describeWithPostgres } from "../fixtures/postgresServer.ts"
import { withProcesses } from "../fixtures/real.ts"
import { contract as chains } from "./chainContract.ts"
import { contract } from "./contract.ts"
import { run } from "./fixtures/child.ts"
import { connection, freshSchema, layerFresh, opened, serverOfThisFile, step } from "./fixtures/postgres.ts"
import { contract as lists } from "./listsContract.ts"

/** The reason for which a journal is not opened. */
const whyNot = (options: JournalPostgres.Options) =>
  Effect.map(Effect.flip(Effect.scoped(Layer.build(JournalPostgres.layerPostgres(options)))), (error) => error.reason)

describeWithPostgres("layerPostgres", () => {
  const server = serverOfThisFile()
  const url = () => Redacted.make(server().url)

  contract(layerFresh(server))
  lists(layerFresh(server))
  chains(layerFresh(server))

  describe("opening", () => {
    it.effect("finds again what an earlier process has written", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const withJournal = <A, E>(use: (journal: Journal.Journal["Service"]) => Effect.Effect<A, E>) =>
          Effect.scoped(Effect.flatMap(opened(server(), { schema }), use))
        yield* withJournal((journal) => step(journal, "a", 0, 3))
        assert.strictEqual(yield* withJournal((journal) => step(journal, "a", 3)), 4)
        const read = yield* withJournal((journal) => Stream.runCollect(journal.read("a")))
        assert.deepStrictEqual(
          read.map(({ version }) => version),
          [1, 2, 3, 4]
        )
      })
    )

    it.effect("keeps the journals of two schemas apart, however they are called", () =>
      Effect.gen(function* () {
        for (const schema of [`odd "name"; DROP TABLE x; --`, "É", "x".repeat(63)]) {
          const journal = yield* opened(server(), { schema })
          assert.strictEqual(yield* step(journal, "a", 0), 1)
          assert.strictEqual((yield* journal.own).epoch, 1)
        }
        for (const schema of ["", "x".repeat(64), "é".repeat(32), "a\u0000b", "pg_temp"]) {
          assert.deepInclude(yield* whyNot({ url: url(), schema }), { _tag: "InvalidInput", field: "schema" })
        }
      }).pipe(Effect.scoped)
    )

    it.effect("gives the database back when the layer ends", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const sql = yield* connection(server().url)
        const journal = yield* Effect.scoped(
          Effect.tap(opened(server(), { schema, applicationName: "leaving" }), (journal) => step(journal, "a", 0))
        )
        for (const call of [journal.version("a"), step(journal, "b", 0), journal.check, journal.owner]) {
          const error = yield* Effect.flip(call)
          assert.strictEqual(error._tag, "JournalError")
          if (error._tag !== "JournalError") return
          assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "closed" })
          assert.isFalse(error.isRetryable)
        }
        // The server ends a session some time after the client has left.
        while ((yield* sql("SELECT FROM pg_stat_activity WHERE application_name = 'leaving'")).length > 0) {
          yield* Effect.yieldNow
        }
      }).pipe(Effect.scoped)
    )

    const foreign: ReadonlyArray<readonly [string, string, string]> = [
      ["a table `events` of its own", "events (id int)", "events"],
      ["a table `owner` of its own", "owner (id int)", "owner"],
      ["a table `journal_format` of its own", "journal_format (version int)", "journal_format"]
    ]
    it.effect.each(foreign)("leaves a schema alone that has %s", ([, table, name]) =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const sql = yield* connection(server().url)
        yield* sql(`CREATE SCHEMA ${schema}`)
        yield* sql(`CREATE TABLE ${schema}.${table}`)
        const reason = yield* whyNot({ url: url(), schema })
        assert.deepInclude(reason, {
          _tag: "NotAJournal",
          found: `a schema with the table ${name} of another application`
        })
        const tables = yield* sql("SELECT tablename FROM pg_tables WHERE schemaname = $1", [schema])
        assert.deepStrictEqual(tables, [{ tablename: name }])
      }).pipe(Effect.scoped)
    )

    it.effect("leaves a schema alone that says that it is something else, or comes from a later release", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const sql = yield* connection(server().url)
        yield* Effect.scoped(opened(server(), { schema }))
        yield* sql(`UPDATE ${schema}.journal_format SET version = 999`)
        assert.deepInclude(yield* whyNot({ url: url(), schema }), { _tag: "JournalTooNew", found: 999 })
        yield* sql(`UPDATE ${schema}.journal_format SET application = 'diary'`)
        assert.deepInclude(yield* whyNot({ url: url(), schema }), { _tag: "NotAJournal" })
      }).pipe(Effect.scoped)
    )

    it.effect("needs a schema that it may make, and a database in UTF8", () =>
      Effect.gen(function* () {
        const sql = yield* connection(server().url)
        yield* sql("CREATE ROLE reader LOGIN")
        yield* sql("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
        const schema = yield* freshSchema
        assert.deepInclude(yield* whyNot({ url: url(), username: "reader", schema }), { _tag: "JournalReadOnly" })
        assert.deepStrictEqual(yield* sql("SELECT FROM pg_namespace WHERE nspname = $1", [schema]), [])
        const reason = yield* whyNot({ url: url(), database: "latin" })
        assert.deepInclude(reason, { _tag: "JournalUnavailable", problem: "cannot-open" })
        assert.include(reason.message, "LATIN1")
      }).pipe(Effect.scoped)
    )

    const unreachable: ReadonlyArray<readonly [string, JournalPostgres.Options]> = [
      ["nobody listens", { port: 1 }],
      ["there is no such database", { database: "nowhere" }],
      ["there is no such user", { username: "nobody_here" }],
      ["the url cannot be read", { url: Redacted.make("postgres://u:hunter2@[broken/x") }]
    ]
    it.effect.each(unreachable)("when %s, that is told without the password, and can be tried again", ([, options]) =>
      Effect.gen(function* () {
        const given = { url: url(), password: Redacted.make("hunter2"), ...options }
        const error = yield* Effect.flip(Effect.scoped(Layer.build(JournalPostgres.layerPostgres(given))))
        assert.deepInclude(error.reason, { _tag: "JournalUnavailable", problem: "cannot-open" })
        assert.isTrue(error.isRetryable)
        for (const text of [error.message, JSON.stringify(error), String(error.stack)]) {
          assert.notInclude(text, "hunter2")
          assert.notInclude(text, "espalier@")
        }
      })
    )

    it.effect("dies of a lease that a heartbeat cannot keep, and of a statement without time", () =>
      Effect.gen(function* () {
        for (const options of [{ lease: 5, heartbeat: 5 }, { heartbeat: 0 }, { statementTimeout: 0 }]) {
          const exit = yield* Effect.exit(Effect.scoped(opened(server(), options)))
          assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes("RangeError"), JSON.stringify(options))
        }
      })
    )

    withProcesses("several processes that start at once make one journal, and each reads what it left", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const children = yield* Effect.forEach(["1", "2", "3", "4"], (name) =>
          run("postgresCommander.ts", [server().url, schema, name])
        )
        for (const child of children) {
          assert.strictEqual(yield* Queue.take(child.lines), "left")
          assert.strictEqual(yield* child.exit, 0)
        }
        const journal = yield* opened(server(), { schema })
        const left = yield* journal.commands()
        assert.deepStrictEqual(left.map(({ data }) => data).toSorted(), ["1", "2", "3", "4"])
        assert.strictEqual(new Set(left.map(({ id }) => id)).size, 4)
      }).pipe(Effect.scoped)
    )
  })

  describe("what it does to the database", () => {
    it.effect("R-307: one append is one transaction, and appends of many runs at once share theirs", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const journal = yield* opened(server(), { schema })
        const sql = yield* connection(server().url)
        // Each row names the transaction that wrote it.
        const transactions = (like: string) =>
          Effect.map(
            sql(`SELECT count(DISTINCT xmin::text)::int AS n FROM ${schema}.events WHERE run LIKE $1`, [like]),
            ([row]) => Number(row?.["n"])
          )
        for (let version = 0; version <= 10; version++) yield* step(journal, "a", version)
        yield* step(journal, "a", 11, 5)
        yield* Effect.forEach(Array.from({ length: 40 }), (_, index) => step(journal, `b${index}`, 0), {
          concurrency: "unbounded"
        })
        assert.strictEqual(yield* transactions("a"), 12)
        assert.isAtMost(yield* transactions("b%"), 4)
        assert.deepStrictEqual(yield* journal.size(), { events: 56, bytes: 56 * '{"part":0}'.length })
      }).pipe(Effect.scoped)
    )

    it.effect("R-307: one append is one round trip, whatever it changes and however many it carries", () =>
      Effect.gen(function* () {
        const { hostname, port } = new URL(server().url)
        let written = 0
        const client = yield* PgClient.make({
          url: url(),
          stream: () => {
            const socket = connect(Number(port), hostname)
            const write = socket.write.bind(socket)
            return Object.assign(socket, {
              write: (...args: Parameters<typeof write>) => {
                written += 1
                return write(...args)
              }
            })
          }
        })
        const context = yield* Layer.build(JournalPostgres.layer({ schema: yield* freshSchema })).pipe(
          Effect.provideService(PgClient.PgClient, client)
        )
        const journal = Context.get(context, Journal.Journal)
        yield* step(journal, "a", 0)
        const trips = <A, E>(append: Effect.Effect<A, E>) =>
          Effect.suspend(() => {
            written = 0
            return Effect.map(append, () => written)
          })
        assert.strictEqual(yield* trips(step(journal, "a", 1)), 1)
        assert.strictEqual(yield* trips(step(journal, "a", 2, 20)), 1)
        const everything = journal.append({
          run: "a",
          expected: 22,
          events: [{ type: "x", at: 0, data: null }],
          listing: { status: "waiting", desk: "d", startedAt: 0 },
          reviews: { opened: [{ review: "r", kind: "approval", openedAt: 0 }], closed: ["q"] },
          handled: [1, 2]
        })
        assert.strictEqual(yield* trips(everything), 1)
      }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
    )

    it.effect("a page of large events is cut before it fills the memory", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const journal = yield* opened(server(), { schema })
        const data = "x".repeat(700_000)
        for (let version = 0; version < 5; version++) {
          yield* journal.append({ run: "a", expected: version, events: [{ type: "Large", at: 0, data }] })
        }
        const client = yield* PgClient.make({ url: url() })
        const store = makeStore(yield* make(client, { schema, statementTimeout: "1 second" }), Duration.seconds(1))
        const page = (from: number, to: number) =>
          store.page("a", from, to, (rows) => Array.from(rows, ({ version }) => version))
        assert.deepStrictEqual(yield* page(1, 5), [1, 2])
        assert.deepStrictEqual(yield* page(5, 5), [5])
        assert.strictEqual((yield* Stream.runCollect(journal.read("a"))).length, 5)
      }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
    )

    it.effect("runs and reviews are in the order of their bytes, whatever the database does with text", () =>
      Effect.gen(function* () {
        const journal = yield* opened(server(), { schema: yield* freshSchema })
        const listing = { status: "running", desk: "d", startedAt: 0 }
        const ids = ["a", "B", "Z", "_", "é", "z", "😀"]
        for (const run of ids.toReversed()) {
          yield* journal.append({ run, expected: 0, events: [{ type: "x", at: 0, data: null }], listing })
        }
        assert.deepStrictEqual(
          (yield* journal.runs()).map(({ run }) => run),
          ["B", "Z", "_", "a", "z", "é", "😀"]
        )
      }).pipe(Effect.scoped)
    )

    it.effect("check finds a run with a gap, and what is missing is told as damage", () =>
      Effect.gen(function* () {
        const schema = yield* freshSchema
        const journal = yield* opened(server(), { schema })
        const sql = yield* connection(server().url)
        yield* step(journal, "a", 0, 5)
        yield* journal.check
        yield* sql(`DELETE FROM ${schema}.events WHERE version = 3`)
        const gap = yield* Effect.flip(journal.check)
        assert.strictEqual(gap.reason._tag, "JournalCorrupt")
        assert.include(gap.message, 'run "a" has 4 events, of which the first is 1 and the last 5')
        yield* sql(`DROP TABLE ${schema}.events`)
        assert.strictEqual((yield* Effect.flip(journal.version("a"))).reason._tag, "JournalCorrupt")
      }).pipe(Effect.scoped)
    )
  })

  describe("layer", () => {
    it.effect("uses a client that is there, whatever it does to names, and no transaction of it", () =>
      Effect.gen(function* () {
        const client = yield* PgClient.make({
          url: url(),
          transformQueryNames: (name) => name.toUpperCase(),
          transformResultNames: (name) => name.toUpperCase(),
          multiplex: true,
          maxConnections: 2
        })
        const context = yield* Layer.build(JournalPostgres.layer({ schema: yield* freshSchema })).pipe(
          Effect.provideService(PgClient.PgClient, client)
        )
        const journal = Context.get(context, Journal.Journal)
        const undone = Effect.andThen(step(journal, "a", 0, 2), Effect.fail("undone"))
        assert.strictEqual(yield* Effect.flip(client.withTransaction(undone)), "undone")
        assert.strictEqual(yield* journal.version("a"), 2)
        assert.strictEqual(yield* client.withTransaction(journal.version("a")), 2)
      }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
    )
  })
})
