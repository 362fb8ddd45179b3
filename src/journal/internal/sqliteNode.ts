/**
 * SQLite over `node:sqlite`: a connection, its errors, waiting for its lock, and a `SqlClient`. A Node file.
 *
 * **Details**
 *
 * - SQLite's own busy handler would stop the whole process while another one holds the lock, and with it the fiber that
 *   might release it. Here a statement never waits: it fails as busy and is tried again by {@link patiently}, on the
 *   `Clock`.
 * - The `SqlClient` serves what is not hot: migrations and lists. A commit through it costs a fiber hop, a span and a
 *   scope (measured: 1.4 times a bare commit, 1.6 with `synchronous` normal), so appends use `native`. They run
 *   in one synchronous step, so the two never meet inside a transaction as long as the client is not given away.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"

import {
  because,
  JournalCorrupt,
  JournalError,
  JournalFull,
  JournalReadOnly,
  JournalUnavailable,
  type Reason
} from "./errors.ts"

/** An open database. */
export interface Sqlite {
  readonly location: string
  readonly native: DatabaseSync
  readonly client: SqlClient.SqlClient
}

/** The result codes of SQLite that mean something to a journal: https://www.sqlite.org/rescode.html */
const code = {
  error: 1,
  permission: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  constraint: 19,
  mismatch: 20,
  notADatabase: 26
} as const

/** The primary result code of an error of `node:sqlite`. */
const resultCode = (cause: unknown): number | undefined =>
  Predicate.hasProperty(cause, "errcode") && typeof cause.errcode === "number" ? cause.errcode & 0xff : undefined

/** The error of the driver inside whatever wrapped it. */
const driverError = (cause: unknown): unknown => (SqlError.isSqlError(cause) ? cause.reason.cause : cause)

/** Whether SQLite said that the file is not a database. */
export const isNotADatabase = (cause: unknown): boolean => resultCode(driverError(cause)) === code.notADatabase

/** Whether SQLite said that a key is there already. */
export const isTaken = (cause: unknown): boolean => resultCode(driverError(cause)) === code.constraint

/** What an error of the driver means, or `undefined` when it is not one: then it is a bug. */
export const reasonOf = (location: string, cause: unknown): Reason | undefined => {
  const error = driverError(cause)
  const detail = error instanceof Error ? error.message : "unknown"
  if (Predicate.hasProperty(error, "code")) {
    if (error.code === "ERR_INVALID_STATE") return new JournalUnavailable({ location, problem: "closed", detail })
    // An integer column that no JavaScript number can hold.
    if (error.code === "ERR_OUT_OF_RANGE") return new JournalCorrupt({ location, detail })
  }
  const result = resultCode(error)
  switch (result) {
    case undefined:
      return undefined
    case code.busy:
    case code.locked:
      return new JournalUnavailable({ location, problem: "busy", detail })
    case code.cannotOpen:
      return new JournalUnavailable({ location, problem: "cannot-open", detail })
    case code.full:
      return new JournalFull({ location })
    case code.readOnly:
    case code.permission:
      return new JournalReadOnly({ location })
    case code.error:
    case code.corrupt:
    case code.constraint:
    case code.mismatch:
    case code.notADatabase:
      return new JournalCorrupt({ location, detail })
    default:
      return new JournalUnavailable({ location, problem: "io", detail: `${detail} (SQLite result ${result})` })
  }
}

/** Fails with what an error of the driver means; dies when it is not one. */
export const failWith = (location: string, cause: unknown): Effect.Effect<never, JournalError> => {
  const reason = reasonOf(location, cause)
  return reason === undefined ? Effect.die(cause) : Effect.fail(because(reason))
}

/** Milliseconds between tries for the lock; the last one repeats. Source: SQLite's own busy handler. */
const waits = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100] as const

const isBusy = (error: unknown): boolean =>
  error instanceof JournalError && error.reason._tag === "JournalUnavailable" && error.reason.problem === "busy"

/** Tries again while another connection holds the lock, for at most `budget` milliseconds of waiting in all. */
export const patiently =
  (budget: number) =>
  <A, E>(attempt: Effect.Effect<A, E>): Effect.Effect<A, E> => {
    const from = (tries: number, waited: number): Effect.Effect<A, E> =>
      Effect.catchIf(attempt, isBusy, (error) => {
        if (waited >= budget) return Effect.fail(error)
        const wait = Math.min(waits[tries] ?? 100, budget - waited)
        return Effect.andThen(Effect.sleep(wait), from(tries + 1, waited + wait))
      })
    return from(0, 0)
  }

/** Statements by their text. The few texts of a journal stay prepared; a list in a filter cannot make it grow. */
const makeCache = (native: DatabaseSync) => {
  const statements = new Map<string, StatementSync>()
  return (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    const made = native.prepare(sql)
    const oldest = statements.keys().next()
    if (statements.size >= 64 && !oldest.done) statements.delete(oldest.value)
    statements.set(sql, made)
    return made
  }
}

const attempt = <A>(run: () => A): Effect.Effect<A, SqlError.SqlError> =>
  Effect.try({
    try: run,
    catch: (cause) =>
      new SqlError.SqlError({ reason: SqlError.classifySqliteError(withErrno(cause), { operation: "execute" }) })
  })

/** `node:sqlite` keeps the result code under a name of its own. */
const withErrno = (cause: unknown): unknown =>
  cause instanceof Error && Predicate.hasProperty(cause, "errcode")
    ? Object.assign(cause, { errno: cause.errcode })
    : cause

const inputValue = (value: unknown): SQLInputValue => {
  if (value === null || value === undefined) return null
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value
  if (typeof value === "boolean") return value ? 1 : 0
  if (value instanceof Uint8Array) return Uint8Array.from(value)
  throw new TypeError(`SQLite cannot hold a ${typeof value}`)
}

const makeConnection = (native: DatabaseSync): SqlConnection.Connection => {
  const cached = makeCache(native)
  const rows = (statement: () => StatementSync, params: ReadonlyArray<unknown>) =>
    attempt(() => statement().all(...params.map(inputValue)))
  const values = (sql: string, params: ReadonlyArray<unknown>) =>
    attempt(() => {
      const statement = native.prepare(sql)
      statement.setReturnArrays(true)
      return statement.all(...params.map(inputValue)).map((row): ReadonlyArray<unknown> => Object.values(row))
    })
  const execute: SqlConnection.Connection["execute"] = (sql, params, transform) =>
    Effect.map(
      rows(() => cached(sql), params),
      (found) => transform?.(found) ?? found
    )
  return {
    execute,
    executeRaw: (sql, params) => rows(() => cached(sql), params),
    executeStream: (sql, params, transform) => Stream.fromArrayEffect(execute(sql, params, transform)),
    executeValues: values,
    executeValuesUnprepared: values,
    executeUnprepared: (sql, params, transform) =>
      Effect.map(
        rows(() => native.prepare(sql), params),
        (found) => transform?.(found) ?? found
      )
  }
}

/**
 * Opens the database of a path and closes it with the scope. Changes nothing in it.
 */
export const open = (location: string): Effect.Effect<Sqlite, JournalError, Scope.Scope> =>
  Effect.gen(function* () {
    const native = yield* Effect.acquireRelease(
      Effect.suspend(() => {
        try {
          return Effect.succeed(new DatabaseSync(location, { timeout: 0 }))
        } catch (cause) {
          return failWith(location, cause)
        }
      }),
      (native) =>
        Effect.sync(() => {
          try {
            native.close()
          } catch {
            // Closing also folds the log back into the file. When that fails, the next opening does it.
          }
        })
    )
    const connection = makeConnection(native)
    const client = yield* SqlClient.make({
      ...SqlClient.makeSqliteAcquirers({
        connection: Effect.succeed(connection),
        semaphore: Semaphore.makeUnsafe(1),
        isTransaction: () => native.isTransaction
      }),
      compiler: Statement.makeCompilerSqlite(),
      driver: "sqlite-node",
      spanAttributes: [["db.system.name", "sqlite"]],
      beginTransaction: "BEGIN IMMEDIATE",
      prepareTransactionControls: true
    }).pipe(Effect.provide(Reactivity.layer))
    return { location, native, client }
  })
