// @effect-diagnostics nodeBuiltinImport:off -- the lock is a file, and the owner is a process of a host.
/**
 * Who owns a journal in a file. A Node file: uses `node:fs`, `node:os`, `node:process` and `node:sqlite`.
 *
 * The owner holds an operating-system lock for as long as it lives: the exclusive lock of SQLite on an empty file of its own
 * beside the journal, `NAME-owner-EPOCH`. However the process ends, the system takes the lock back at once. So a free lock
 * means a dead owner; a lock that is held by an owner without a heartbeat means one that stands still.
 *
 * A claim takes the lock of the next epoch first and raises the epoch then, from the value that it has seen. Each epoch has
 * a file of its own, because the lock of an owner that stands still stays with it. It is removed when its epoch is over, and not
 * before: of a file that is not there any more everybody could have a lock.
 */
import { rmSync } from "node:fs"
import { hostname } from "node:os"
import process from "node:process"
import { DatabaseSync } from "node:sqlite"

import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Owner } from "../Journal.ts"
import { because, JournalOwned, JournalUnavailable, type JournalError } from "./errors.ts"
import { fencedOff } from "./ownership.ts"
import { refused, touchUnopened, watched } from "./sqliteFile.ts"
import { failWith, patiently, reasonOf, type Sqlite } from "./sqliteNode.ts"
import type { Claim } from "./store.ts"

const select = `
  SELECT epoch, name, since, heartbeat_at AS "heartbeatAt", released FROM owner`

interface Row extends Omit<Owner, "released"> {
  readonly released: number
}

const lockFile = (location: string, epoch: number): string => `${location}-owner-${epoch}`

/** A lock that is held. */
interface Lock {
  readonly free: () => void
}

/** Takes the lock of an epoch, or nothing when somebody holds it. */
const lock = (location: string, epoch: number): Effect.Effect<Lock | undefined, JournalError> =>
  Effect.suspend(() => {
    const path = lockFile(location, epoch)
    let database: DatabaseSync | undefined
    try {
      touchUnopened(path)
    } catch (cause) {
      return Effect.fail(refused(location, cause))
    }
    try {
      database = new DatabaseSync(path, { timeout: 0 })
      // In memory, so that an owner that is killed leaves one file and not two.
      database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
      const held = database
      return Effect.succeed({ free: () => held.close() })
    } catch (cause) {
      try {
        database?.close()
      } catch {
        // It was not open.
      }
      const reason = reasonOf(location, cause)
      return reason?._tag === "JournalUnavailable" && reason.problem === "busy"
        ? Effect.succeed(undefined)
        : failWith(location, cause)
    }
  })

/** The file may be gone already. */
const forget = (location: string, epoch: number): Effect.Effect<void> =>
  Effect.sync(() => {
    try {
      rmSync(lockFile(location, epoch), { force: true })
    } catch {
      // It holds nothing; the next owner tries again.
    }
  })

/** Reads who the owner is, or was. */
export const ownerOf = ({ location, native }: Sqlite): Effect.Effect<Owner | undefined, JournalError> =>
  Effect.suspend(() => {
    try {
      const row = native.prepare(select).get() as Row | undefined
      return Effect.succeed(row === undefined ? undefined : { ...row, released: row.released === 1 })
    } catch (cause) {
      return failWith(location, cause)
    }
  })

/** Changes the row of the owner of an epoch; whether it was still that one. */
const change = (
  { location, native }: Sqlite,
  sql: string,
  ...params: ReadonlyArray<string | number>
): Effect.Effect<boolean, JournalError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(Number(native.prepare(sql).run(...params).changes) === 1)
    } catch (cause) {
      return failWith(location, cause)
    }
  })

const insert =
  "INSERT INTO owner (id, epoch, name, since, heartbeat_at, released) VALUES (1, 1, ?1, ?2, ?2, 0) ON CONFLICT DO NOTHING"
const raise =
  "UPDATE owner SET epoch = epoch + 1, name = ?1, since = ?2, heartbeat_at = ?2, released = 0 WHERE epoch = ?3"
const beat = "UPDATE owner SET heartbeat_at = ?1 WHERE epoch = ?2"
const release = "UPDATE owner SET released = 1 WHERE epoch = ?1"

/** How long whoever is just claiming the journal is waited for. */
const patience = 50

/** Claims the journal of a file. */
export const claim = (
  sqlite: Sqlite,
  options: { readonly busyMillis: number; readonly lease: Duration.Duration }
): Effect.Effect<Claim, JournalError, Scope.Scope> => {
  const { location } = sqlite
  const wait = patiently(options.busyMillis)
  const lease = Duration.toMillis(options.lease)
  const name = `${process.pid}@${hostname()}`
  const isThere = watched(location)

  const isGone = (owner: Owner, now: number): Effect.Effect<boolean, JournalError> => {
    if (owner.released || now - owner.heartbeatAt >= lease) return Effect.succeed(true)
    return Effect.map(lock(location, owner.epoch), (held) => {
      held?.free()
      return held !== undefined
    })
  }

  const attempt = (tries: number): Effect.Effect<{ readonly epoch: number; readonly held: Lock }, JournalError> =>
    Effect.gen(function* () {
      const now = Math.floor(yield* Clock.currentTimeMillis)
      const owner = yield* wait(ownerOf(sqlite))
      if (owner !== undefined && !(yield* isGone(owner, now))) {
        const { epoch, heartbeatAt, name, since } = owner
        return yield* because(new JournalOwned({ location, owner: name, epoch, since, heartbeatAt }))
      }
      const epoch = (owner?.epoch ?? 0) + 1
      const held = yield* lock(location, epoch)
      if (held !== undefined) {
        const raised = yield* Effect.onError(
          wait(owner === undefined ? change(sqlite, insert, name, now) : change(sqlite, raise, name, now, owner.epoch)),
          () => Effect.sync(held.free)
        )
        if (raised) {
          if (owner !== undefined) yield* forget(location, owner.epoch)
          return { epoch, held }
        }
        held.free()
      }
      // Somebody else is just claiming it: let them finish, and look again.
      if (tries === 0) {
        const detail = "other processes are claiming it"
        return yield* because(new JournalUnavailable({ location, problem: "busy", detail }))
      }
      yield* Effect.sleep(patience)
      return yield* attempt(tries - 1)
    })

  return Effect.map(
    Effect.acquireRelease(attempt(Math.ceil(options.busyMillis / patience)), ({ epoch, held }) =>
      Effect.andThen(
        // When it cannot be said, the free lock says it.
        Effect.ignore(wait(change(sqlite, release, epoch))),
        Effect.andThen(
          forget(location, epoch),
          Effect.sync(() => held.free())
        )
      )
    ),
    ({ epoch }): Claim => {
      // It has just been written to, so it is there.
      const hasLog = watched(`${location}-wal`)
      return {
        epoch,
        beat: Effect.gen(function* () {
          // Whoever opens the path finds another file, or less in it: what is written here nobody would ever read.
          if (!isThere() || !hasLog()) return yield* fencedOff(location, epoch, 0)
          const now = Math.floor(yield* Clock.currentTimeMillis)
          if (yield* wait(change(sqlite, beat, now, epoch))) return
          const owner = yield* wait(ownerOf(sqlite))
          return yield* fencedOff(location, epoch, owner?.epoch ?? 0)
        })
      }
    }
  )
}
