// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes many times as fast.
/**
 * The tables of a journal in SQLite, and how a file gets to have them. A Node file: uses `node:crypto`.
 *
 * **Details**
 *
 * - A journal is recognised by its `application_id`; `user_version` is the number of migrations it has been through.
 * - `events` is an ordinary rowid table: its rows are large, and a WITHOUT ROWID table keeps whole rows in its index.
 * - Data is TEXT: as fast as BLOB by measurement, and readable with the `sqlite3` command and its JSON functions.
 * - What has been released is never edited: a change of the tables is one more entry of {@link migrations}.
 */
import { hash } from "node:crypto"

import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"

import { canonicalRow, root } from "./chain.ts"
import { because, JournalTooNew, JournalUnavailable, NotAJournal, type JournalError, type Reason } from "./errors.ts"
import type { Row } from "./row.ts"
import { failWith, isNotADatabase, patiently, type Sqlite } from "./sqliteNode.ts"

/** "ESPL". */
export const applicationId = 0x4553_504c

type Migration = (sql: SqlClient.SqlClient) => Effect.Effect<void, SqlError.SqlError>

/** From version `i` to version `i + 1`. */
const migrations: ReadonlyArray<Migration> = [
  (sql) =>
    Effect.gen(function* () {
      yield* sql`
        CREATE TABLE events (
          run TEXT NOT NULL,
          version INTEGER NOT NULL,
          type TEXT NOT NULL,
          at INTEGER NOT NULL,
          data TEXT NOT NULL,
          PRIMARY KEY (run, version)
        ) STRICT`
      yield* sql`
        CREATE TABLE runs (
          run TEXT NOT NULL PRIMARY KEY,
          status TEXT NOT NULL,
          desk TEXT NOT NULL,
          started_at INTEGER NOT NULL
        ) STRICT`
    }),
  (sql) =>
    Effect.asVoid(sql`
      CREATE TABLE artefacts (
        hash TEXT NOT NULL PRIMARY KEY,
        media_type TEXT NOT NULL,
        size INTEGER NOT NULL,
        bytes BLOB NOT NULL
      ) STRICT`),
  (sql) =>
    Effect.gen(function* () {
      yield* sql`ALTER TABLE events ADD COLUMN hash BLOB NOT NULL DEFAULT x''`
      yield* chainAll(sql)
      yield* sql`ALTER TABLE runs ADD COLUMN wake_at INTEGER`
      yield* sql`ALTER TABLE runs ADD COLUMN reason TEXT`
      yield* sql`CREATE INDEX runs_by_status ON runs (status, wake_at)`
      yield* sql`
        CREATE TABLE reviews (
          review TEXT NOT NULL PRIMARY KEY,
          run TEXT NOT NULL,
          kind TEXT NOT NULL,
          task TEXT,
          opened_at INTEGER NOT NULL,
          due_at INTEGER,
          claimed INTEGER
        ) STRICT`
      yield* sql`
        CREATE TABLE commands (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          run TEXT NOT NULL,
          type TEXT NOT NULL,
          at INTEGER NOT NULL,
          data TEXT NOT NULL,
          review TEXT
        ) STRICT`
      yield* sql`
        CREATE TABLE owner (
          id INTEGER PRIMARY KEY CHECK (id = 1),
          epoch INTEGER NOT NULL,
          name TEXT NOT NULL,
          since INTEGER NOT NULL,
          heartbeat_at INTEGER NOT NULL,
          released INTEGER NOT NULL
        ) STRICT`
    }),
  (sql) =>
    Effect.gen(function* () {
      // What was there is as old as can be: nobody knows when it was put in.
      yield* sql`ALTER TABLE artefacts ADD COLUMN put_at INTEGER NOT NULL DEFAULT 0`
      // Where the content lies when it is not in `bytes`.
      yield* sql`ALTER TABLE artefacts ADD COLUMN upload INTEGER`
      yield* sql`CREATE INDEX artefacts_by_age ON artefacts (put_at, hash, size)`
      yield* sql`
        CREATE TABLE artefact_uploads (
          upload INTEGER PRIMARY KEY AUTOINCREMENT,
          touched_at INTEGER
        ) STRICT`
      yield* sql`
        CREATE TABLE artefact_chunks (
          upload INTEGER NOT NULL,
          n INTEGER NOT NULL,
          bytes BLOB NOT NULL,
          PRIMARY KEY (upload, n)
        ) STRICT`
    })
]

/** Chains the events that were written before there was a chain, some hundred rows at a time. */
const chainAll = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  let run = ""
  let version = 0
  let previous = root
  for (;;) {
    const rows = yield* sql<Omit<Row, "hash">>`
      SELECT run, version, type, at, data FROM events
      WHERE (run, version) > (${run}, ${version}) ORDER BY run, version LIMIT 500`
    if (rows.length === 0) return
    for (const row of rows) {
      if (row.run !== run) previous = root
      previous = hash("sha256", canonicalRow(previous, row), "hex")
      yield* sql`UPDATE events SET hash = unhex(${previous}) WHERE run = ${row.run} AND version = ${row.version}`
      run = row.run
      version = row.version
    }
  }
})

/** The schema version that this release writes. */
export const schemaVersion = migrations.length

/** What a database says about itself. */
export interface Identity {
  readonly applicationId: number
  readonly userVersion: number
  readonly tables: number
}

/** The schema version to migrate from, 0 for an empty database, or the reason not to touch it. */
export const versionOf = (location: string, identity: Identity): number | Reason => {
  if (identity.applicationId !== applicationId) {
    if (identity.applicationId === 0 && identity.userVersion === 0 && identity.tables === 0) return 0
    return new NotAJournal({
      location,
      found:
        identity.applicationId === 0
          ? "the SQLite database of another application"
          : `the SQLite database of the application ${identity.applicationId}`
    })
  }
  return identity.userVersion > schemaVersion
    ? new JournalTooNew({ location, found: identity.userVersion, supported: schemaVersion })
    : identity.userVersion
}

const identify = ({ client, location }: Sqlite): Effect.Effect<number, JournalError> =>
  client<Identity>`
    SELECT a.application_id AS "applicationId", v.user_version AS "userVersion",
      (SELECT count(*) FROM sqlite_schema) AS tables
    FROM pragma_application_id a, pragma_user_version v`.pipe(
    Effect.catch((cause) =>
      isNotADatabase(cause)
        ? Effect.fail(because(new NotAJournal({ location, found: "a file that is not an SQLite database" })))
        : failWith(location, cause)
    ),
    Effect.flatMap((rows) => {
      const version = versionOf(location, rows[0] ?? { applicationId: 0, userVersion: 0, tables: 0 })
      return typeof version === "number" ? Effect.succeed(version) : Effect.fail(because(version))
    })
  )

/** Turns the log on. SQLite needs the file for itself for a moment when it was not on. */
const useLog = ({ client, location }: Sqlite): Effect.Effect<void, JournalError> =>
  client<{ readonly journal_mode: string }>`PRAGMA journal_mode = WAL`.pipe(
    Effect.catch((cause) => failWith(location, cause)),
    Effect.flatMap((rows) =>
      rows[0]?.journal_mode === "wal"
        ? Effect.void
        : Effect.fail(
            because(
              new JournalUnavailable({
                location,
                problem: "cannot-open",
                detail: "the file system does not support a write-ahead log"
              })
            )
          )
    )
  )

/** Applies what is missing. The version is read again under the lock: another process may have been faster. */
const migrate = (sqlite: Sqlite): Effect.Effect<void, JournalError> => {
  const { client, location } = sqlite
  return Effect.gen(function* () {
    const from = yield* identify(sqlite)
    for (const migration of migrations.slice(from)) yield* migration(client)
    if (from < schemaVersion) {
      yield* client.unsafe(`PRAGMA application_id = ${applicationId}`)
      yield* client.unsafe(`PRAGMA user_version = ${schemaVersion}`)
    }
  }).pipe(
    client.withTransaction,
    Effect.catchTag("SqlError", (error) => failWith(location, error))
  )
}

/**
 * Makes an open database a journal of this release's version, or fails without having changed it.
 *
 * **Details**
 *
 * - `busyMillis`: how long to wait for other processes at each step.
 * - `synchronous`: see `JournalSqlite.Options`.
 */
export const establish = (
  sqlite: Sqlite,
  options: { readonly busyMillis: number; readonly synchronous: "full" | "normal" }
): Effect.Effect<void, JournalError> =>
  Effect.gen(function* () {
    const wait = patiently(options.busyMillis)
    const from = yield* wait(identify(sqlite))
    yield* wait(useLog(sqlite))
    if (from < schemaVersion) yield* wait(migrate(sqlite))
    yield* sqlite.client
      .unsafe(`PRAGMA synchronous = ${options.synchronous === "full" ? "FULL" : "NORMAL"}`)
      .pipe(Effect.catch((cause) => failWith(sqlite.location, cause)))
  })
