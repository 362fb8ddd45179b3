/**
 * The journal's operations on an open and migrated SQLite database. A Node file through `sqliteNode.ts`.
 */
import type { StatementSync } from "node:sqlite"

import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"

import type { Journal, Listed, Listing } from "../Journal.ts"
import { because, VersionConflict, type JournalError } from "./errors.ts"
import { pages } from "./pages.ts"
import { checkLimit, checkRange, pageOf, rowsOf, type Row } from "./row.ts"
import { failWith, patiently, type Sqlite } from "./sqliteNode.ts"

// The version check is part of the statement, so that the usual append, one event, is one statement and its own commit.
const insertNext = `
  INSERT INTO events (run, version, type, at, data)
  SELECT ?1, ?2, ?3, ?4, ?5
  WHERE ?2 = 1 + coalesce((SELECT max(version) FROM events WHERE run = ?1), 0)`

const upsertListing = `
  INSERT INTO runs (run, status, desk, started_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (run) DO UPDATE SET status = ?2, desk = ?3, started_at = ?4`

const selectVersion = "SELECT coalesce(max(version), 0) AS version FROM events WHERE run = ?1"

const selectPage = `
  SELECT run, version, type, at, data FROM events
  WHERE run = ?1 AND version BETWEEN ?2 AND ?3 ORDER BY version`

/** A statement, its rows known by its text. */
const rowsFrom = <A>(statement: StatementSync) => ({
  get: (...params: ReadonlyArray<string | number>): A | undefined => statement.get(...params) as A | undefined,
  iterate: (...params: ReadonlyArray<string | number>): Iterable<A> => statement.iterate(...params) as Iterable<A>
})

/** The journal of a database. `busyMillis` is how long an operation waits for other processes. */
export const make = (sqlite: Sqlite, busyMillis: number): Effect.Effect<Journal["Service"], JournalError> => {
  const { client, location, native } = sqlite
  const wait = patiently(busyMillis)
  /** One synchronous step against the driver: no other fiber runs inside it. */
  const step = <A, E>(run: () => Effect.Effect<A, E>): Effect.Effect<A, E | JournalError> =>
    Effect.suspend((): Effect.Effect<A, E | JournalError> => {
      try {
        return run()
      } catch (cause) {
        return failWith(location, cause)
      }
    })

  const runs: Journal["Service"]["runs"] = (filter = {}) =>
    Effect.suspend((): Effect.Effect<ReadonlyArray<Listed>, JournalError> => {
      const invalid = checkLimit(filter.limit)
      if (invalid !== undefined) return Effect.fail(because(invalid))
      const statuses = typeof filter.status === "string" ? [filter.status] : filter.status
      if (statuses?.length === 0) return Effect.succeed([])
      const where = client.and([
        ...(statuses === undefined ? [] : [client.in("status", statuses)]),
        ...(filter.desk === undefined ? [] : [client`desk = ${filter.desk}`]),
        client`TRUE`
      ])
      const listed = client<Listed>`
        SELECT r.run, r.status, r.desk, r.started_at AS "startedAt", e.version, e.at AS "updatedAt"
        FROM (SELECT * FROM runs WHERE ${where} ORDER BY started_at DESC, run LIMIT ${filter.limit ?? -1}) r
        JOIN events e ON e.run = r.run AND e.version = (SELECT max(version) FROM events WHERE run = r.run)
        ORDER BY r.started_at DESC, r.run`
      return wait(
        listed.pipe(
          Effect.map((rows) => rows.map((row) => ({ ...row }))),
          Effect.catch((cause) => failWith(location, cause))
        )
      )
    })

  return step(() => {
    const statements = {
      begin: native.prepare("BEGIN IMMEDIATE"),
      commit: native.prepare("COMMIT"),
      insert: native.prepare(insertNext),
      list: native.prepare(upsertListing),
      version: rowsFrom<{ readonly version: number }>(native.prepare(selectVersion)),
      page: rowsFrom<Row>(native.prepare(selectPage))
    }

    const currentVersion = (run: string): number => statements.version.get(run)?.version ?? 0

    const insert = (row: Row): boolean =>
      Number(statements.insert.run(row.run, row.version, row.type, row.at, row.data).changes) === 1

    /** Leaves no transaction open, also not the one of a commit that failed. */
    const rollback = (): void => {
      if (native.isTransaction) native.exec("ROLLBACK")
    }

    /** Writes all or nothing; answers with the version that was found instead when it was not the expected one. */
    const commit = (rows: ReadonlyArray<Row>, listing: Listing | undefined): number | undefined => {
      const [first, ...rest] = rows
      if (first === undefined) return undefined
      rollback()
      if (rest.length === 0 && listing === undefined && insert(first)) return undefined
      statements.begin.run()
      try {
        const written = insert(first)
        if (!written) return currentVersion(first.run)
        for (const row of rest) insert(row)
        if (listing !== undefined) {
          statements.list.run(first.run, listing.status, listing.desk, listing.startedAt)
        }
        statements.commit.run()
        return undefined
      } finally {
        rollback()
      }
    }

    const append: Journal["Service"]["append"] = (append) =>
      Effect.suspend(() => {
        const rows = rowsOf(append)
        if (Result.isFailure(rows)) return Effect.fail(because(rows.failure))
        const { run, expected, listing } = append
        return wait(
          step(() => {
            const actual = commit(rows.success, listing)
            return actual === undefined
              ? Effect.succeed(expected + rows.success.length)
              : Effect.fail(new VersionConflict({ run, expected, actual }))
          })
        )
      })

    const version: Journal["Service"]["version"] = (run) =>
      Effect.suspend(() => {
        const invalid = checkRange(run)
        return invalid === undefined
          ? wait(step(() => Effect.succeed(currentVersion(run))))
          : Effect.fail(because(invalid))
      })

    const read: Journal["Service"]["read"] = (run, range = {}) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const invalid = checkRange(run, range)
          if (invalid !== undefined) return yield* because(invalid)
          const last = Math.min(range.to ?? Number.MAX_SAFE_INTEGER, yield* version(run))
          return pages(range.from ?? 1, last, (from) =>
            wait(
              step(() =>
                Effect.fromResult(
                  Result.mapError(pageOf(location, run, from, last, statements.page.iterate(run, from, last)), because)
                )
              )
            )
          )
        })
      )

    return Effect.succeed({ append, read, version, runs })
  })
}
