/**
 * A PostgreSQL database as the journal uses it: single statements on connections of a pool, and sessions of the journal's own.
 *
 * **Details**
 *
 * - Whatever is written is one statement, and so one transaction that begins and ends on the server: a process that stands
 *   still in the middle holds no lock there.
 * - Each statement has a limit in time, kept by the server, and by this side when the server does not answer at all.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as SqlError from "effect/sql/SqlError"

import { because, InvalidInput, JournalUnavailable, type JournalError } from "./errors.ts"
import { failWith } from "./postgresErrors.ts"

/** A row of a result. Numbers are asked for as such, for `bigint` columns would be `bigint` values. */
export type Row = Readonly<Record<string, unknown>>

/** What a statement has done. */
export interface Outcome {
  readonly rowCount: number
  readonly rows: ReadonlyArray<Row>
}

/** A parameter. Text has no type of its own: the statement says what it is. */
export type Parameter = string | null | PgTypes.Parameter

/** A connection of the journal's own. `ended`: succeeds when the connection is lost. */
export interface Session {
  readonly connection: PgConnection.PgConnection
  readonly ended: Effect.Effect<void>
  readonly query: (sql: string, params?: ReadonlyArray<Parameter>) => Effect.Effect<Outcome, SqlError.SqlError>
}

/** The database. `schema` is quoted. */
export interface Database {
  readonly location: string
  readonly schema: string
  readonly query: (sql: string, params?: ReadonlyArray<Parameter>) => Effect.Effect<Outcome, SqlError.SqlError>
  /** The same without a limit in time, for what reads everything. */
  readonly patient: Database["query"]
  readonly session: Effect.Effect<Session, JournalError, Scope.Scope>
  /** Fails when the database has been given up. */
  readonly open: Effect.Effect<void, JournalError>
  /** Runs a statement, and fails with what its error means. */
  readonly ask: (sql: string, params?: ReadonlyArray<Parameter>) => Effect.Effect<ReadonlyArray<Row>, JournalError>
}

/** Quotes a name. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Texts as one parameter. */
export const texts = (values: ReadonlyArray<string | null>): Parameter =>
  Result.getOrThrow(PgTypes.array(values, PgTypes.OID.text))

/** Whole numbers as one parameter. */
export const integers = (values: ReadonlyArray<number | null | undefined>): Parameter =>
  Result.getOrThrow(
    PgTypes.array(
      values.map((value) => (value === undefined || value === null ? null : BigInt(value))),
      PgTypes.OID.int8
    )
  )

const part = (value: string | undefined): string | undefined => (value === "" ? undefined : value)

/** Where a database is, without who asks for it. */
const locationOf = (config: PgClient.PgClientConfig, schema: string): string => {
  let host = config.path ?? config.host
  let port = config.port
  let database = config.database
  if (config.url !== undefined) {
    try {
      const url = new URL(Redacted.value(config.url))
      host ??= part(url.searchParams.get("host") ?? url.hostname)
      port ??= Number(part(url.searchParams.get("port") ?? url.port) ?? 5432)
      database ??= part(url.searchParams.get("dbname") ?? decodeURIComponent(url.pathname.slice(1)))
    } catch {
      // The client says what is wrong with it.
    }
  }
  return `postgres://${host ?? "localhost"}:${port ?? 5432}/${database ?? ""}, schema ${schema}`
}

const silent = "espalier_silence"

/** How much longer than the server this side waits. */
const grace = 1000

const limited = (
  millis: number,
  statement: Effect.Effect<Outcome, SqlError.SqlError>
): Effect.Effect<Outcome, SqlError.SqlError> =>
  Effect.timeoutOrElse(statement, {
    duration: millis + grace,
    orElse: () => {
      const message = `no answer within ${millis + grace} milliseconds`
      const cause = new Error(message)
      return Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause, message }) }))
    }
  })

/** The name of a schema can be 63 bytes long. */
const schemaProblem = (schema: string): string | undefined =>
  schema === "" || schema.includes("\u0000") || !schema.isWellFormed() || new TextEncoder().encode(schema).length > 63
    ? "must be a name of 1 to 63 bytes"
    : schema.startsWith("pg_")
      ? "must not begin with pg_, which PostgreSQL keeps for itself"
      : undefined

// A database that acknowledges before it has written is told to write first: what was acknowledged stays.
const settings = `
  SELECT set_config('statement_timeout', $1, false),
    CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END`

/** The schema of a journal that does not say otherwise. */
const usualSchema = "espalier"

/** How to use a database. The public options say what these mean. */
export interface Options {
  readonly schema?: string | undefined
  readonly statementTimeout?: Duration.Input | undefined
}

/** How long a statement takes at most, in milliseconds; dies when that is not a time. */
const statementMillisOf = (input: Duration.Input): Effect.Effect<number> => {
  const millis = Math.ceil(Duration.toMillis(input))
  return Number.isFinite(millis) && millis > 0 && millis <= 2_147_483_000
    ? Effect.succeed(millis)
    : Effect.die(new RangeError(`JournalPostgres: statementTimeout must be > 0 and at most 24 days, got ${millis} ms`))
}

/** A client of its own with a pool, which ends with the scope. It connects when it is first used. */
export const connect = (
  config: PgClient.PgPoolConfig,
  schema: string = usualSchema
): Effect.Effect<PgClient.PgClient, JournalError, Scope.Scope> =>
  PgClient.make({ applicationName: "espalier", ...config }).pipe(
    Effect.catchTag("SqlError", failWith(locationOf(config, schema))),
    Effect.provide(Reactivity.layer)
  )

/** The database of a client, for as long as the scope is open. */
export const make = (client: PgClient.PgClient, options: Options): Effect.Effect<Database, JournalError, Scope.Scope> =>
  Effect.gen(function* () {
    const { schema = usualSchema } = options
    const statementMillis = yield* statementMillisOf(options.statementTimeout ?? "30 seconds")
    const problem = schemaProblem(schema)
    if (problem !== undefined) return yield* because(new InvalidInput({ field: "schema", problem }))
    const location = locationOf(client.config, schema)
    const fail = failWith(location)
    let closed = false
    yield* Effect.addFinalizer(() => Effect.sync(() => void (closed = true)))

    const open = Effect.suspend(() =>
      closed
        ? Effect.fail(because(new JournalUnavailable({ location, problem: "closed", detail: "the layer has ended" })))
        : Effect.void
    )

    // A connection of its own for each: neither a transaction that the caller has begun nor a span is wanted here.
    const pooled = (sql: string, params: ReadonlyArray<Parameter>): Effect.Effect<Outcome, SqlError.SqlError> =>
      Effect.scoped(
        Effect.flatMap(client.reserve, (connection) =>
          Effect.map(connection.executeRaw(sql, params), (result) => result as PgConnection.Result)
        )
      )

    const query: Database["query"] = (sql, params = []) => limited(statementMillis, pooled(sql, params))

    const session = Effect.gen(function* () {
      yield* open
      const connection = yield* Effect.flatMap(
        PgConnection.make({ ...client.config, multiplex: false }),
        ({ pin }) => pin
      )
      const query: Session["query"] = (sql, params = []) => limited(statementMillis, connection.query(sql, params))
      yield* query(settings, [String(statementMillis)])
      // Nobody ever speaks on this channel: what listens to it hears of the end of the connection only.
      const silence = yield* connection.listen(silent)
      return { connection, query, ended: Effect.asVoid(Effect.exit(Queue.take(silence))) }
    }).pipe(Effect.catchTag("SqlError", fail))

    return {
      location,
      schema: quoted(schema),
      query,
      patient: (sql, params = []) => pooled(sql, params),
      session,
      open,
      ask: (sql, params) =>
        Effect.andThen(
          open,
          query(sql, params).pipe(
            Effect.map(({ rows }) => rows),
            Effect.catch(fail)
          )
        )
    }
  })
