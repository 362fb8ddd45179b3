// @effect-diagnostics nodeBuiltinImport:off -- the owner is a process of a host.
/**
 * Who owns a journal in PostgreSQL. A Node file: uses `node:os` and `node:process`.
 *
 * The owner holds an advisory lock of a session of its own for as long as it lives: the lock of its epoch on the table
 * `owner`. However the process ends, the server takes the lock back at once. So a free lock means a dead owner; a lock that is
 * held by an owner without a heartbeat means one that stands still. All times are the server's.
 *
 * A claim takes the lock of the next epoch first and raises the epoch then, from the value that it has seen.
 *
 * **Details**
 *
 * - The owner writes on the session that holds its lock. When the session is lost, it takes the lock again on another one,
 *   at once, unless the epoch has been raised: then it is fenced.
 */
import { hostname } from "node:os"
import process from "node:process"

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as SqlError from "effect/sql/SqlError"

import type { Owner } from "../Journal.ts"
import { because, JournalOwned, JournalUnavailable, type JournalError } from "./errors.ts"
import { fencedOff } from "./ownership.ts"
import type { Database, Outcome, Parameter, Row, Session } from "./postgresDatabase.ts"
import { failWith, isLost } from "./postgresErrors.ts"
import type { Claim } from "./store.ts"

const now = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

/** The statements about the table `owner` of a schema. A lock is that of an epoch on the table. */
const statements = (schema: string) => {
  const owner = `${schema}.owner`
  const lock = "to_regclass($1)::oid::int4, $2::int4"
  return {
    table: owner,
    look: `
      SELECT epoch::float8 AS epoch, name, since::float8 AS since, heartbeat_at::float8 AS "heartbeatAt", released,
        ${now} - heartbeat_at >= $1::bigint AS stale
      FROM ${owner}`,
    isFree: `
      SELECT CASE WHEN pg_try_advisory_lock_shared(${lock}) THEN pg_advisory_unlock_shared(${lock}) ELSE false END AS yes`,
    lock: `SELECT pg_try_advisory_lock(${lock}) AS yes`,
    unlock: `SELECT pg_advisory_unlock(${lock}) AS yes`,
    raise: `
      UPDATE ${owner} SET epoch = epoch + 1, name = $1, since = ${now}, heartbeat_at = ${now}, released = false
      WHERE epoch = $2::bigint`,
    beat: `UPDATE ${owner} SET heartbeat_at = ${now} WHERE epoch = $1::bigint`,
    release: `UPDATE ${owner} SET released = true WHERE epoch = $1::bigint`
  }
}

const ownerOf = (row: Row | undefined): Owner | undefined =>
  row === undefined || row["epoch"] === 0
    ? undefined
    : {
        epoch: Number(row["epoch"]),
        name: String(row["name"]),
        since: Number(row["since"]),
        heartbeatAt: Number(row["heartbeatAt"]),
        released: row["released"] === true
      }

/** How long whoever is just claiming the journal is waited for, in milliseconds, and how often. */
const patience = 50
const tries = 100

/** How long to wait before a lost session is sought again, in milliseconds: twice as long each time, up to the last. */
const soonest = 250
const latest = 5000

/** A session with the scope that it lives in. */
interface Living {
  readonly session: Session
  readonly end: Effect.Effect<void>
  locked: boolean
}

/** What a process holds that owns the journal. `over`: that it has been given back. */
interface Held {
  readonly epoch: number
  readonly opening: Semaphore.Semaphore
  living: Living | undefined
  over: boolean
}

/** The ownership of a database. */
export interface Owning {
  readonly claim: Effect.Effect<Claim, JournalError, Scope.Scope>
  readonly owner: Effect.Effect<Owner | undefined, JournalError>
  /** Fails because the epoch is not the current one. */
  readonly fenced: (epoch: number) => Effect.Effect<never, JournalError>
  /** A statement of the owner, on its session. */
  readonly query: (
    epoch: number,
    sql: string,
    params: ReadonlyArray<Parameter>
  ) => Effect.Effect<Outcome, SqlError.SqlError | JournalError>
}

/** Makes the ownership. Nothing is claimed yet. */
export const make = (database: Database, lease: Duration.Duration): Owning => {
  const { location } = database
  const sql = statements(database.schema)
  const fail = failWith(location)
  const name = `${process.pid}@${hostname()}`
  let held: Held | undefined

  const keys = (epoch: number): ReadonlyArray<string> => [sql.table, String(epoch)]

  const saysYes = (session: Session, statement: string, epoch: number): Effect.Effect<boolean, SqlError.SqlError> =>
    Effect.map(session.query(statement, keys(epoch)), ({ rows }) => rows[0]?.["yes"] === true)

  const look = (session: Session) =>
    Effect.map(session.query(sql.look, [String(Math.ceil(Duration.toMillis(lease)))]), ({ rows: [row] }) => ({
      owner: ownerOf(row),
      stale: row?.["stale"] === true
    }))

  const owner = Effect.map(database.ask(sql.look, ["0"]), ([row]) => ownerOf(row))

  const fenced = (epoch: number): Effect.Effect<never, JournalError> =>
    Effect.flatMap(owner, (owner) => Effect.fail(fencedOff(location, epoch, owner?.epoch ?? 0)))

  /** A session in a scope of its own, which whoever starts it ends. `restore`: where it may be interrupted. */
  const start = (restore: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const session = yield* Effect.onExit(
        restore(Effect.provideService(database.session, Scope.Scope, scope)),
        (exit) => (Exit.isFailure(exit) ? Scope.close(scope, exit) : Effect.void)
      )
      const living: Living = { session, end: Scope.close(scope, Exit.void), locked: false }
      return living
    })

  /** Raises the epoch, and answers with it; the session holds its lock then. */
  const raise = (session: Session, left: number): Effect.Effect<number, SqlError.SqlError | JournalError> =>
    Effect.gen(function* () {
      const { owner, stale } = yield* look(session)
      if (owner !== undefined && !owner.released && !stale && !(yield* saysYes(session, sql.isFree, owner.epoch))) {
        const { released: _, name, ...facts } = owner
        return yield* because(new JournalOwned({ location, owner: name, ...facts }))
      }
      const epoch = (owner?.epoch ?? 0) + 1
      if (yield* saysYes(session, sql.lock, epoch)) {
        const raised = yield* session.query(sql.raise, [name, String(epoch - 1)])
        if (raised.rowCount === 1) return epoch
        yield* saysYes(session, sql.unlock, epoch)
      }
      // Somebody else is just claiming it: let them finish, and look again.
      if (left === 0) {
        const detail = "other processes are claiming it"
        return yield* because(new JournalUnavailable({ location, problem: "busy", detail }))
      }
      yield* Effect.sleep(patience)
      return yield* raise(session, left - 1)
    })

  /** The session of the owner: another one when it was lost. */
  const living = (own: Held): Effect.Effect<Living, SqlError.SqlError | JournalError> =>
    Effect.suspend(() => {
      if (own.living !== undefined) return Effect.succeed(own.living)
      const again = Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          if (own.living !== undefined) return own.living
          yield* database.open
          if (own.over) return yield* fencedOff(location, own.epoch, 0)
          const made = yield* start(restore)
          const relocked = Effect.gen(function* () {
            const { owner } = yield* look(made.session)
            if (owner?.epoch !== own.epoch) return yield* fencedOff(location, own.epoch, owner?.epoch ?? 0)
            // The server may not have noticed yet that the other session has ended: the next beat tries again.
            made.locked = yield* saysYes(made.session, sql.lock, own.epoch)
          })
          yield* Effect.onExit(restore(relocked), (exit) => (Exit.isFailure(exit) ? made.end : Effect.void))
          own.living = made
          return made
        })
      )
      return own.opening.withPermit(again)
    })

  const drop = (own: Held, lost: Living): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (own.living === lost) own.living = undefined
      return lost.end
    })

  const query = (own: Held, statement: string, params: ReadonlyArray<Parameter>) =>
    Effect.flatMap(living(own), (each) =>
      Effect.tapError(each.session.query(statement, params), (error) => (isLost(error) ? drop(own, each) : Effect.void))
    )

  /** Has a session again as soon as one can be had after it was lost, until the epoch has been raised. */
  const keep = (own: Held): Effect.Effect<void> => {
    const from = (wait: number): Effect.Effect<void> =>
      Effect.matchEffect(living(own), {
        onSuccess: (each) => Effect.andThen(Effect.andThen(each.session.ended, drop(own, each)), from(soonest)),
        onFailure: (error) =>
          error._tag === "JournalError" && error.reason._tag === "JournalFenced"
            ? Effect.void
            : Effect.andThen(Effect.sleep(wait), from(Math.min(latest, 2 * wait)))
      })
    return from(soonest)
  }

  const beat = (own: Held): Effect.Effect<void, JournalError> =>
    Effect.gen(function* () {
      const { rowCount } = yield* query(own, sql.beat, [String(own.epoch)])
      if (rowCount === 0) return yield* fenced(own.epoch)
      const each = own.living
      if (each !== undefined && !each.locked) each.locked = yield* saysYes(each.session, sql.lock, own.epoch)
    }).pipe(Effect.catchTag("SqlError", fail))

  /** Gives the journal back, when nobody is at work for it any more. */
  const giveBack = (own: Held): Effect.Effect<void> =>
    own.opening.withPermit(
      Effect.suspend(() => {
        held = undefined
        own.over = true
        const { living } = own
        // When it cannot be said, the free lock says it.
        if (living === undefined) return Effect.void
        return Effect.andThen(Effect.ignore(living.session.query(sql.release, [String(own.epoch)])), living.end)
      })
    )

  const claim = Effect.gen(function* () {
    const own = yield* Effect.acquireRelease(
      Effect.gen(function* () {
        const living = yield* start((effect) => effect)
        const epoch = yield* Effect.catchTag(raise(living.session, tries), "SqlError", fail).pipe(
          Effect.onExit((exit) => (Exit.isFailure(exit) ? living.end : Effect.void))
        )
        living.locked = true
        const own: Held = { epoch, opening: Semaphore.makeUnsafe(1), living, over: false }
        held = own
        return own
      }),
      giveBack
    )
    // Ends before the journal is given back, for it was begun later.
    yield* Effect.forkScoped(keep(own))
    return { epoch: own.epoch, beat: beat(own) }
  })

  return {
    claim,
    owner,
    fenced,
    query: (epoch, statement, params) =>
      held?.epoch === epoch ? query(held, statement, params) : database.query(statement, params)
  }
}
