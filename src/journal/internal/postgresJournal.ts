// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes many times as fast.
/**
 * A journal's store on an established PostgreSQL schema. A Node file: uses `node:crypto`.
 */
import { hash } from "node:crypto"

import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as SqlError from "effect/sql/SqlError"
import * as Stream from "effect/Stream"

import type { Filter, Listed, ListedReview } from "../Journal.ts"
import { root } from "./chain.ts"
import { because, JournalCorrupt, ReviewTaken, showId, type JournalError } from "./errors.ts"
import { texts, type Database, type Outcome, type Parameter, type Row as Found } from "./postgresDatabase.ts"
import { failWith, isTaken } from "./postgresErrors.ts"
import { make as makeOwning } from "./postgresOwner.ts"
import { leaving, removing, writing, type Statement } from "./postgresWrite.ts"
import { leftOf, present, type Row, type StoredCommand } from "./row.ts"
import type { Store } from "./store.ts"

const listedOf = (row: Found): Listed => present(row) as unknown as Listed

const reviewOf = (row: Found): ListedReview => present(row) as unknown as ListedReview

const rowOf = (row: Found): Row => row as unknown as Row

const countOf = (value: unknown): number => (typeof value === "number" ? value : 0)

/** The most text of one page, in bytes; the row that goes beyond is still part of it. */
const pageBytes = 1024 * 1024

const selects = (s: string) => ({
  head: `
    SELECT version::float8 AS version, encode(hash, 'hex') AS hash FROM ${s}.events
    WHERE run = $1 ORDER BY version DESC LIMIT 1`,
  page: `
    SELECT run, version::float8 AS version, type, at::float8 AS at, data, encode(hash, 'hex') AS hash FROM (
      SELECT *, sum(octet_length(data)) OVER (ORDER BY version) - octet_length(data) AS before FROM ${s}.events
      WHERE run = $1 AND version BETWEEN $2::bigint AND least($3::bigint, $2::bigint + 255)
    ) e WHERE before < ${pageBytes} ORDER BY version`,
  ids: `SELECT DISTINCT run FROM ${s}.events WHERE run > $1 ORDER BY run LIMIT 500`,
  reviews: `
    SELECT review, run, kind, task, opened_at::float8 AS "openedAt", due_at::float8 AS "dueAt", claimed::float8 AS claimed
    FROM ${s}.reviews`,
  review: `SELECT 1 FROM ${s}.reviews WHERE review = $1 AND run = $2`,
  commands: `SELECT id::float8 AS id, run, type, at::float8 AS at, data, review FROM ${s}.commands
    WHERE id BETWEEN 1 AND 9007199254740991`,
  size: `
    SELECT count(*)::float8 AS events, coalesce(sum(octet_length(data)), 0)::float8 AS bytes FROM ${s}.events`,
  // Reads each row whole, through the index too, and so has the server compare its checksums.
  check: `
    SELECT run, count(*)::float8 AS events, min(version)::float8 AS first, max(version)::float8 AS last
    FROM ${s}.events GROUP BY run
    HAVING min(version) <> 1 OR max(version) <> count(*) OR sum(length(data)) < 0 OR sum(length(hash)) <> 32 * count(*)
    ORDER BY run LIMIT 1`
})

/** A statement that lists runs: one text for each kind of filter. */
const listing = (s: string, filter: Filter, statuses: ReadonlyArray<string> | undefined): Statement => {
  const { desk, dueBy, limit, order = "newest", run } = filter
  const params: Array<Parameter> = []
  const bind = (value: Parameter): string => `$${params.push(value)}`
  const where = [
    ...(statuses === undefined ? [] : [`status = ANY (${bind(texts(statuses))}::text[])`]),
    ...(run === undefined ? [] : [`run = ${bind(run)}`]),
    ...(desk === undefined ? [] : [`desk = ${bind(desk)}`]),
    ...(dueBy === undefined ? [] : [`wake_at <= ${bind(String(dueBy))}::bigint`]),
    ...(order === "due" ? ["wake_at IS NOT NULL"] : []),
    "TRUE"
  ]
  const by = `${order === "due" ? "wake_at" : "started_at"}${order === "newest" ? " DESC" : ""}`
  const sql = `
    SELECT r.run, r.status, r.desk, r.started_at::float8 AS "startedAt", r.wake_at::float8 AS "wakeAt", r.reason,
      coalesce(e.version, 0)::float8 AS version, coalesce(e.at, r.started_at)::float8 AS "updatedAt"
    FROM (SELECT * FROM ${s}.runs WHERE ${where.join(" AND ")} ORDER BY ${by}, run
      ${limit === undefined ? "" : `LIMIT ${bind(String(limit))}::bigint`}) r
    LEFT JOIN LATERAL (SELECT version, at FROM ${s}.events WHERE run = r.run ORDER BY version DESC LIMIT 1) e ON TRUE
    ORDER BY r.${by}, r.run`
  return { sql, params }
}

/** How often it is looked whether there is news, should a notification have been lost. */
const poll = "5 seconds"

/** How long to wait before somebody listens anew whose connection was lost. */
const again = Schedule.spaced("1 second")

/** Where word is told of: a channel of the schema, whose name has room for 63 bytes. */
const channelOf = (schema: string): string => {
  const name = `espalier:${schema}`
  return new TextEncoder().encode(name).length <= 63 ? name : `espalier:${hash("sha256", schema, "hex").slice(0, 40)}`
}

/** The store of an established database. */
export const make = (database: Database, lease: Duration.Duration): Store => {
  const { ask, location, schema } = database
  const sql = selects(schema)
  const fail = failWith(location)
  const owning = makeOwning(database, lease)
  const channel = channelOf(schema)

  const corrupt = (detail: string): Effect.Effect<never, JournalError> =>
    Effect.fail(because(new JournalCorrupt({ location, detail })))

  /** Carries out a statement of the owner: whether it wrote, or what failed. */
  const owned = (epoch: number, { params, sql }: Statement): Effect.Effect<Outcome, SqlError.SqlError | JournalError> =>
    Effect.flatMap(
      Effect.andThen(database.open, owning.query(epoch, sql, params)),
      (outcome): Effect.Effect<Outcome, JournalError> =>
        outcome.rowCount === 0 ? owning.fenced(epoch) : Effect.succeed(outcome)
    )

  const listen = Stream.unwrap(
    Effect.gen(function* () {
      const { connection } = yield* database.session
      const queue = yield* connection.listen(channel)
      // What was left while nobody listened is worth a look, too.
      return Stream.concat(
        Stream.succeed(undefined),
        Stream.map(Stream.fromQueue(queue), () => undefined)
      )
    })
  )

  return {
    location,
    digest: (text) => hash("sha256", text, "hex"),
    gathers: true,
    claim: Effect.andThen(database.open, owning.claim),
    write: (epoch, commits) =>
      Effect.suspend(() => owned(epoch, writing(schema, epoch, commits))).pipe(
        Effect.as("written" as const),
        Effect.catchTag("SqlError", (error) => (isTaken(error) ? Effect.succeed("collision" as const) : fail(error)))
      ),
    remove: (epoch, run) =>
      Effect.asVoid(Effect.catchTag(owned(epoch, removing(schema, epoch, run)), "SqlError", fail)),
    head: (run) =>
      Effect.map(ask(sql.head, [run]), ([row]) =>
        row === undefined ? { version: 0, hash: root } : { version: Number(row["version"]), hash: String(row["hash"]) }
      ),
    page: (run, from, to, take) =>
      Effect.map(ask(sql.page, [run, String(from), String(to)]), (rows) => take(rows.map(rowOf))),
    ids: (after) => Effect.map(ask(sql.ids, [after]), (rows) => rows.map((row) => String(row["run"]))),
    runs: (filter) => {
      const statuses = typeof filter.status === "string" ? [filter.status] : filter.status
      if (statuses?.length === 0) return Effect.succeed([])
      const statement = listing(schema, filter, statuses)
      return Effect.map(ask(statement.sql, statement.params), (rows) => rows.map(listedOf))
    },
    reviews: (run) =>
      Effect.map(
        run === undefined
          ? ask(`${sql.reviews} ORDER BY opened_at, review`)
          : ask(`${sql.reviews} WHERE run = $1 ORDER BY opened_at, review`, [run]),
        (rows) => rows.map(reviewOf)
      ),
    command: (command) =>
      Effect.suspend(() => {
        const { run, review } = command
        const statement = leaving(schema, channel, command)
        return Effect.flatMap(
          ask(statement.sql, statement.params),
          ([left]): Effect.Effect<number, ReviewTaken | JournalError> => {
            if (left !== undefined) return Effect.succeed(Number(left["id"]))
            if (review === undefined) return Effect.die(new Error("a command that decides no review was not left"))
            return Effect.flatMap(ask(sql.review, [review, run]), ({ length }) =>
              Effect.fail(new ReviewTaken({ run, review, found: length === 0 ? "not-open" : "claimed" }))
            )
          }
        )
      }),
    commands: (run) =>
      Effect.flatMap(
        run === undefined ? ask(`${sql.commands} ORDER BY id`) : ask(`${sql.commands} AND run = $1 ORDER BY id`, [run]),
        (rows) => Effect.succeed(rows.map((row) => leftOf(present(row) as unknown as StoredCommand)))
      ),
    owner: owning.owner,
    size: (run) =>
      Effect.map(run === undefined ? ask(sql.size) : ask(`${sql.size} WHERE run = $1`, [run]), ([row]) => ({
        events: countOf(row?.["events"]),
        bytes: countOf(row?.["bytes"])
      })),
    check: Effect.flatMap(
      Effect.andThen(database.open, Effect.catch(database.patient(sql.check), fail)),
      ({ rows: [row] }) =>
        row === undefined
          ? Effect.void
          : corrupt(
              `run ${showId(String(row["run"]))} has ${String(row["events"])} events, of which the first is ` +
                `${String(row["first"])} and the last ${String(row["last"])}`
            )
    ),
    changes: Stream.merge(
      Stream.map(Stream.tick(poll), () => undefined),
      Stream.catchCause(Stream.retry(listen, again), () => Stream.empty)
    )
  }
}
