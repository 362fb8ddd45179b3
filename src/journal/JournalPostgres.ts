/**
 * The journal in a PostgreSQL database. A Node module: uses `@effect/sql-pg`, which has to be installed beside this package
 * and is needed by nobody else. It is imported by its own name, `espalier/journal/JournalPostgres`.
 *
 * It owns a schema of the database: how it is made, recognised, brought to this release's tables, and spoken to. What the
 * operations mean is told in `Journal`.
 *
 * **Details**
 *
 * - The schema and its tables are made when they are missing. Several processes may start at once: one of them makes them.
 * - One append is one statement, one transaction and one round trip, however many appends of concurrent runs it carries. It
 *   is acknowledged when the server has written it to its log, also where `synchronous_commit` is off for the database.
 * - The owner of the journal has a session of its own and holds an advisory lock on it: when its process dies, the server
 *   gives the lock back at once, and another process takes over. An owner that only stands still is replaced after its lease,
 *   by the clock of the server.
 * - What another process leaves wakes the owner through `LISTEN` and `NOTIFY`; should that be lost, it looks each 5 seconds.
 * - A connection that was lost is replaced by the next operation. The operation that it was lost in fails with
 *   `JournalUnavailable` and can be tried again.
 * - A database needs the encoding UTF8, and PostgreSQL 13 or later.
 *
 * **Gotchas**
 *
 * - Two connections may be in use for good besides those of the pool: the owner's, and one that listens. A pooler that
 *   gives each transaction another connection cannot be used, for locks and `LISTEN` belong to a session.
 * - Under `TestClock` a statement's limit in time needs the clock to be adjusted; the server's own limit does not.
 * - With `synchronous_commit` at `local` and a standby, a commit may be missing on the standby when it takes over.
 *
 * **Example** (A journal in a database)
 *
 * ```ts no-run
 * import { Effect, Redacted } from "effect"
 * import { Journal } from "espalier/journal"
 * import * as JournalPostgres from "espalier/journal/JournalPostgres"
 *
 * const program = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   return yield* journal.runs({ status: "running" })
 * })
 *
 * const main = program.pipe(
 *   Effect.provide(JournalPostgres.layerPostgres({ url: Redacted.make("postgres://app:secret@db.internal/app") })),
 *   Effect.catchReason("JournalError", "NotAJournal", (reason) => Effect.logError(reason.message))
 * )
 * ```
 *
 * @see https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 * @since 0.1.0
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import { service } from "./internal/journalService.ts"
import { signsOfLife } from "./internal/ownership.ts"
import * as Database from "./internal/postgresDatabase.ts"
import { make } from "./internal/postgresJournal.ts"
import { establish } from "./internal/postgresSchema.ts"
import { Journal, type JournalError } from "./Journal.ts"

/**
 * How to use a database that can be reached.
 *
 * **Details**
 *
 * - `schema`: the schema of the journal's tables, a name of 1 to 63 bytes. Default `"espalier"`. Each schema is a journal of
 *   its own.
 * - `lease`: after how long without a sign of life an owner counts as one that stands still, and may be replaced, longer than
 *   `heartbeat`. Default 15 seconds. An owner that died is replaced at once.
 * - `heartbeat`: how often an owner gives a sign of life, > 0. Default 5 seconds.
 * - `statementTimeout`: how long a statement may take, > 0 and at most 24 days. After it, the operation fails with
 *   `JournalUnavailable` and can be tried again. Default 30 seconds.
 *
 * @category options
 * @since 0.1.0
 */
export interface JournalOptions {
  readonly schema?: string | undefined
  readonly lease?: Duration.Input | undefined
  readonly heartbeat?: Duration.Input | undefined
  readonly statementTimeout?: Duration.Input | undefined
}

/**
 * How to reach the database, and how to use it.
 *
 * **Details**
 *
 * - `url`: `postgres://USER:PASSWORD@HOST:PORT/DATABASE`. Each of the fields `host` (default `"localhost"`), `port` (default
 *   5432), `path` (of a Unix socket), `database`, `username`, `password` and `ssl` wins over what the `url` says.
 * - `maxConnections`: of the pool for reading and for leaving word, >= 1. Default 10. They are opened when they are needed.
 * - `connectTimeout`: how long connecting may take. Default 5 seconds.
 *
 * Neither the password nor the user stands in an error or a location.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options
  extends
    JournalOptions,
    Pick<
      PgClient.PgPoolConfig,
      | "url"
      | "host"
      | "port"
      | "path"
      | "database"
      | "username"
      | "password"
      | "ssl"
      | "maxConnections"
      | "connectTimeout"
      | "applicationName"
    > {}

const open = (
  client: PgClient.PgClient,
  options: JournalOptions
): Effect.Effect<Journal["Service"], JournalError, Scope.Scope> =>
  Effect.gen(function* () {
    const { heartbeat, lease } = yield* signsOfLife("JournalPostgres", options)
    const database = yield* Database.make(client, options)
    yield* establish(database)
    return yield* service(make(database, lease), { heartbeat })
  })

/**
 * A journal in a PostgreSQL database, whose connections are closed with the layer.
 *
 * **Details**
 *
 * Fails to build, without having touched what it found, with
 *
 * - `NotAJournal` when the schema holds a table of another application that is called like one of the journal's;
 * - `JournalTooNew` when a later release has written it;
 * - `JournalReadOnly` when the user may not make the schema or its tables, or the server is a standby;
 * - `JournalUnavailable` when the server cannot be reached, refuses the user, does not know the database or is busy, or when
 *   the database is not encoded in UTF8;
 * - `InvalidInput` when `schema` cannot be the name of one.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `heartbeat` is not shorter than `lease`, or `statementTimeout` is not a time.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerPostgres = (options: Options): Layer.Layer<Journal, JournalError> => {
  const { heartbeat, lease, schema, statementTimeout, ...config } = options
  return Layer.effect(
    Journal,
    Effect.flatMap(Database.connect(config, schema), (client) =>
      open(client, { heartbeat, lease, schema, statementTimeout })
    )
  )
}

/**
 * A journal in the database of a client that is there already.
 *
 * **Details**
 *
 * Reads on connections of the client's pool. What must have a session of its own, the owner and who listens, opens it with
 * the configuration of the client. Fails to build as {@link layerPostgres} does.
 *
 * **Gotchas**
 *
 * The journal does not take part in a transaction of the client: what is appended within one stays, whatever becomes of it.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: JournalOptions = {}): Layer.Layer<Journal, JournalError, PgClient.PgClient> =>
  Layer.effect(
    Journal,
    Effect.flatMap(PgClient.PgClient, (client) => open(client, options))
  )
