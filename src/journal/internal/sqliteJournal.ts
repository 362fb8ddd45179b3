// @effect-diagnostics nodeBuiltinImport:off -- the platform hashes many times as fast.
/**
 * A journal's store on an open and migrated SQLite database. A Node file: uses `node:crypto`, and `node:sqlite` through
 * `sqliteNode.ts`.
 */
import { hash } from "node:crypto"
import type { StatementSync } from "node:sqlite"

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type { Filter, Listed, ListedReview, Listing, Reviews, Size } from "../Journal.ts"
import { root } from "./chain.ts"
import { because, JournalCorrupt, ReviewTaken, type JournalError } from "./errors.ts"
import { fencedOff } from "./ownership.ts"
import { leftOf, present, type Row, type StoredCommand } from "./row.ts"
import { failWith, isTaken, patiently, type Sqlite } from "./sqliteNode.ts"
import { claim, ownerOf } from "./sqliteOwner.ts"
import type { Commit, Head, Store } from "./store.ts"

/**
 * Inserts so many events. The epoch check is part of the statement, so that the usual append, a few events and nothing
 * else, is one statement and its own commit. X1
 */
const insertEvents = (rows: number): string => {
  const row = (_: unknown, index: number): string => {
    const [run, version, type, at, data, hash] = Array.from({ length: 6 }, (_, column) => `?${2 + 6 * index + column}`)
    return `SELECT ${run}, ${version}, ${type}, ${at}, ${data}, unhex(${hash}) WHERE (SELECT epoch FROM owner) = ?1`
  }
  return `
    INSERT INTO events (run, version, type, at, data, hash)
    ${Array.from({ length: rows }, row).join(" UNION ALL ")}`
}

/** The most events that are inserted by one statement. A decision seldom has more than a few. */
const mostRows = 16

const upsertListing = `
  INSERT INTO runs (run, status, desk, started_at, wake_at, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (run) DO UPDATE SET status = ?2, desk = ?3, started_at = ?4, wake_at = ?5, reason = ?6`

const upsertReview = `
  INSERT INTO reviews (review, run, kind, task, opened_at, due_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
  ON CONFLICT (review) DO UPDATE SET run = ?2, kind = ?3, task = ?4, opened_at = ?5, due_at = ?6`

const selectHead = `
  SELECT version, lower(hex(hash)) AS hash FROM events WHERE run = ?1 ORDER BY version DESC LIMIT 1`

const selectPage = `
  SELECT run, version, type, at, data, lower(hex(hash)) AS hash FROM events
  WHERE run = ?1 AND version BETWEEN ?2 AND ?3 ORDER BY version`

const selectIds = "SELECT DISTINCT run FROM events WHERE run > ?1 ORDER BY run LIMIT 500"

const selectReviews = `
  SELECT review, run, kind, task, opened_at AS "openedAt", due_at AS "dueAt", claimed FROM reviews`

/** What another program put there with a number that no word has stays out of sight. */
const selectCommands = `
  SELECT id, run, type, CAST(at AS REAL) AS at, data, review FROM commands WHERE id BETWEEN 1 AND 9007199254740991`

const selectSize = "SELECT count(*) AS events, coalesce(sum(octet_length(data)), 0) AS bytes FROM events"

/** How often the file is asked whether another process has written. */
const poll = Duration.millis(250)

type Value = string | number | null

/** A statement, its rows known by its text. */
const rowsFrom = <A>(statement: StatementSync) => ({
  get: (...params: ReadonlyArray<Value>): A | undefined => statement.get(...params) as A | undefined,
  all: (...params: ReadonlyArray<Value>): ReadonlyArray<A> => statement.all(...params) as unknown as ReadonlyArray<A>,
  iterate: (...params: ReadonlyArray<Value>): Iterable<A> => statement.iterate(...params) as Iterable<A>
})

/** How to use the database: how long an operation waits for other processes, and the lease of an owner. */
export interface Options {
  readonly busyMillis: number
  readonly lease: Duration.Duration
}

/** The store of a database. */
export const make = (sqlite: Sqlite, options: Options): Effect.Effect<Store, JournalError> => {
  const { client, location, native } = sqlite
  const wait = patiently(options.busyMillis)
  let examined = false

  /** What is wrong with the file, looked at once when SQLite has first said that something is. */
  const examine = (error: JournalError): JournalError => {
    if (error.reason._tag !== "JournalCorrupt" || examined) return error
    examined = true
    const found = findings()
    const { detail, ...rest } = error.reason
    return found === "" ? error : because(new JournalCorrupt({ ...rest, detail: `${detail}; ${found}` }))
  }

  /** What SQLite finds when it reads the whole file, in a few words; empty when all is well. */
  const findings = (): string => {
    try {
      const rows = native.prepare("PRAGMA quick_check(3)").all()
      const told = rows.map((row) => String(row["quick_check"]))
      return told.length === 1 && told[0] === "ok" ? "" : told.join("; ").slice(0, 500)
    } catch (cause) {
      return cause instanceof Error ? cause.message : "it cannot be checked"
    }
  }

  /** One synchronous step against the driver: no other fiber runs inside it. */
  const attempt = <A, E>(run: () => Effect.Effect<A, E>): Effect.Effect<A, E | JournalError> =>
    Effect.suspend((): Effect.Effect<A, E | JournalError> => {
      try {
        return run()
      } catch (cause) {
        return Effect.mapError(failWith(location, cause), examine)
      }
    })

  /** The same, tried again while another process holds the lock. */
  const step = <A>(run: () => A): Effect.Effect<A, JournalError> => wait(attempt(() => Effect.succeed(run())))

  const runs = ({ desk, dueBy, limit, order = "newest", run, status }: Filter) =>
    Effect.suspend((): Effect.Effect<ReadonlyArray<Listed>, JournalError> => {
      const statuses = typeof status === "string" ? [status] : status
      if (statuses?.length === 0) return Effect.succeed([])
      const where = client.and([
        ...(statuses === undefined ? [] : [client.in("status", statuses)]),
        ...(run === undefined ? [] : [client`run = ${run}`]),
        ...(desk === undefined ? [] : [client`desk = ${desk}`]),
        ...(dueBy === undefined ? [] : [client`wake_at <= ${dueBy}`]),
        ...(order === "due" ? [client`wake_at IS NOT NULL`] : []),
        client`TRUE`
      ])
      const by = (prefix: string) => {
        const column = order === "due" ? "wake_at" : "started_at"
        return client.literal(`${prefix}${column}${order === "newest" ? " DESC" : ""}, ${prefix}run`)
      }
      const listed = client<{ readonly [K in keyof Listed]: Listed[K] | null }>`
        SELECT r.run, r.status, r.desk, r.started_at AS "startedAt", r.wake_at AS "wakeAt", r.reason,
          coalesce(e.version, 0) AS version, coalesce(e.at, r.started_at) AS "updatedAt"
        FROM (SELECT * FROM runs WHERE ${where} ORDER BY ${by("")} LIMIT ${limit ?? -1}) r
        LEFT JOIN events e ON e.run = r.run AND e.version = (SELECT max(version) FROM events WHERE run = r.run)
        ORDER BY ${by("r.")}`
      return wait(
        listed.pipe(
          Effect.map((rows) => rows.map((row) => present<Listed>(row))),
          Effect.catch((cause) => failWith(location, cause))
        )
      )
    })

  return attempt(() => {
    const statements = {
      begin: native.prepare("BEGIN IMMEDIATE"),
      commit: native.prepare("COMMIT"),
      inserts: new Map<number, StatementSync>(),
      list: native.prepare(upsertListing),
      open: native.prepare(upsertReview),
      close: native.prepare("DELETE FROM reviews WHERE review = ?1"),
      handle: native.prepare("DELETE FROM commands WHERE id = ?1"),
      unclaim: native.prepare("UPDATE reviews SET claimed = NULL WHERE claimed = ?1"),
      leave: native.prepare("INSERT INTO commands (run, type, at, data, review) VALUES (?1, ?2, ?3, ?4, ?5)"),
      claim: native.prepare("UPDATE reviews SET claimed = ?1 WHERE review = ?2 AND run = ?3 AND claimed IS NULL"),
      review: native.prepare("SELECT 1 FROM reviews WHERE review = ?1 AND run = ?2"),
      epoch: rowsFrom<{ readonly epoch: number }>(native.prepare("SELECT epoch FROM owner")),
      changed: rowsFrom<{ readonly data_version: number }>(native.prepare("PRAGMA data_version")),
      head: rowsFrom<Head>(native.prepare(selectHead)),
      page: rowsFrom<Row>(native.prepare(selectPage)),
      ids: rowsFrom<{ readonly run: string }>(native.prepare(selectIds))
    }

    const currentEpoch = (): number => statements.epoch.get()?.epoch ?? 0

    const insertOf = (rows: number): StatementSync => {
      const known = statements.inserts.get(rows)
      if (known !== undefined) return known
      const made = native.prepare(insertEvents(rows))
      statements.inserts.set(rows, made)
      return made
    }

    /** Inserts events; `false` when the epoch is another one. */
    const insert = (epoch: number, rows: ReadonlyArray<Row>): boolean => {
      for (let from = 0; from < rows.length; from += mostRows) {
        const to = Math.min(from + mostRows, rows.length)
        const values: Array<Value> = [epoch]
        for (let index = from; index < to; index++) {
          const { at, data, hash, run, type, version } = rows[index]!
          values.push(run, version, type, at, data, hash)
        }
        if (Number(insertOf(to - from).run(...values).changes) !== to - from) return false
      }
      return true
    }

    /** Leaves no transaction open, also not the one of a commit that failed. */
    const rollback = (): void => {
      if (native.isTransaction) native.exec("ROLLBACK")
    }

    /** All of it, or nothing when it answers `undefined`. */
    const atomically = <A>(write: () => A | undefined): A | undefined => {
      rollback()
      statements.begin.run()
      try {
        const written = write()
        if (written !== undefined) statements.commit.run()
        return written
      } finally {
        rollback()
      }
    }

    /** The same, and nothing when the epoch is another one. */
    const transaction = <A>(epoch: number, write: () => A | undefined): A | undefined =>
      atomically(() => (currentEpoch() === epoch ? write() : undefined))

    const list = (run: string, { desk, reason, startedAt, status, wakeAt }: Listing): void =>
      void statements.list.run(run, status, desk, startedAt, wakeAt ?? null, reason ?? null)

    const review = (run: string, { closed = [], opened = [] }: Reviews): void => {
      for (const { dueAt, kind, openedAt, review, task } of opened) {
        statements.open.run(review, run, kind, task ?? null, openedAt, dueAt ?? null)
      }
      for (const id of closed) statements.close.run(id)
    }

    const project = ({ handled = [], listing, reviews, run }: Commit): void => {
      if (listing !== undefined) list(run, listing)
      if (reviews !== undefined) review(run, reviews)
      for (const id of handled) {
        statements.handle.run(id)
        statements.unclaim.run(id)
      }
    }

    const write = (epoch: number, commits: ReadonlyArray<Commit>): boolean => {
      const [commit] = commits
      if (commit === undefined) return true
      const rows = commits.length === 1 ? commit.rows : commits.flatMap((each) => each.rows)
      if (rows.length > 0 && rows.length <= mostRows && commits.every(isPlain)) {
        rollback()
        return insert(epoch, rows)
      }
      // The statement that inserts looks at the epoch; where there is none, it is looked at before.
      const written = atomically(() => {
        if (rows.length === 0 ? currentEpoch() !== epoch : !insert(epoch, rows)) return undefined
        for (const each of commits) project(each)
        return true
      })
      return written === true
    }

    const fenced = (epoch: number): Effect.Effect<never, JournalError> =>
      Effect.fail(fencedOff(location, epoch, currentEpoch()))

    const store: Store = {
      location,
      digest: (text) => hash("sha256", text, "hex"),
      gathers: true,
      claim: claim(sqlite, options),
      write: (epoch, commits) =>
        wait(
          attempt((): Effect.Effect<"written" | "collision", JournalError> => {
            try {
              return write(epoch, commits) ? Effect.succeed("written") : fenced(epoch)
            } catch (cause) {
              if (!isTaken(cause)) throw cause
              return Effect.succeed("collision") // X2
            }
          })
        ),
      remove: (epoch, run) =>
        wait(
          attempt(() => {
            const removed = transaction(epoch, () => {
              for (const table of ["events", "runs", "reviews", "commands"]) {
                native.prepare(`DELETE FROM ${table} WHERE run = ?1`).run(run)
              }
              return true
            })
            return removed === true ? Effect.void : fenced(epoch)
          })
        ),
      head: (run) =>
        step(() => {
          const head = statements.head.get(run)
          return head === undefined ? { version: 0, hash: root } : { version: head.version, hash: head.hash }
        }),
      page: (run, from, to, take) => step(() => take(statements.page.iterate(run, from, to))),
      ids: (after) => step(() => statements.ids.all(after).map(({ run }) => run)),
      runs,
      reviews: (run) =>
        step(() => {
          const order = "ORDER BY opened_at, review"
          const rows =
            run === undefined
              ? rowsFrom<ListedReview>(native.prepare(`${selectReviews} ${order}`)).all()
              : rowsFrom<ListedReview>(native.prepare(`${selectReviews} WHERE run = ?1 ${order}`)).all(run)
          return rows.map((row) => present<ListedReview>(row))
        }),
      command: ({ at, data, review, run, type }) =>
        wait(
          attempt((): Effect.Effect<number, ReviewTaken> => {
            const left = atomically(() => {
              const id = Number(statements.leave.run(run, type, at, data, review ?? null).lastInsertRowid)
              if (review === undefined || Number(statements.claim.run(id, review, run).changes) === 1) return id
              return undefined
            })
            if (left !== undefined || review === undefined) return Effect.succeed(left ?? 0)
            const found = statements.review.get(review, run) === undefined ? "not-open" : "claimed"
            return Effect.fail(new ReviewTaken({ run, review, found }))
          })
        ),
      commands: (run) =>
        step(() => {
          const rows =
            run === undefined
              ? rowsFrom<StoredCommand>(native.prepare(`${selectCommands} ORDER BY id`)).all()
              : rowsFrom<StoredCommand>(native.prepare(`${selectCommands} AND run = ?1 ORDER BY id`)).all(run)
          return rows.map((row) => leftOf(present<StoredCommand>(row)))
        }),
      owner: wait(ownerOf(sqlite)),
      size: (run) =>
        step(() => {
          const row =
            run === undefined
              ? rowsFrom<Size>(native.prepare(selectSize)).get()
              : rowsFrom<Size>(native.prepare(`${selectSize} WHERE run = ?1`)).get(run)
          return { events: row?.events ?? 0, bytes: row?.bytes ?? 0 }
        }),
      check: Effect.flatMap(step(findings), (found) =>
        found === "" ? Effect.void : Effect.fail(because(new JournalCorrupt({ location, detail: found })))
      ),
      changes: Stream.unwrap(
        Effect.sync(() => {
          let seen = statements.changed.get()?.data_version
          return Stream.tick(poll).pipe(
            Stream.mapEffect(() =>
              Effect.orElseSucceed(
                step(() => statements.changed.get()?.data_version),
                () => seen
              )
            ),
            Stream.filter((version) => {
              const changed = version !== seen
              seen = version
              return changed
            }),
            Stream.map(() => undefined)
          )
        })
      )
    }
    return Effect.succeed(store)
  })
}

const isPlain = ({ handled, listing, reviews }: Commit): boolean =>
  listing === undefined && reviews === undefined && (handled === undefined || handled.length === 0)
