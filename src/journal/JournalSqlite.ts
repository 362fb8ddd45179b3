/**
 * The journal in an SQLite file. A Node module: uses `node:sqlite`, `node:fs` and `node:path`.
 *
 * It owns the file: how it is made, recognised, brought to this release's schema, opened and closed. What the operations
 * mean is told in `Journal`.
 *
 * **Details**
 *
 * - The file and its folders are made when they are missing, readable only by their owner.
 * - The file is opened with a write-ahead log, so more files lie beside it while it is open: `-wal` and `-shm`. Copy
 *   all three or none; after the last process has closed the journal there is only one.
 * - One append is one commit, and with `synchronous: "full"` one write to the device. It costs little more than the bare
 *   statement does (measured: 1.1 to 1.2 times).
 * - Several processes may have the file open; one of them appends, the *owner*. For as long as it lives it holds a lock on a
 *   small file beside the journal, `-owner-N`, which the system takes back however the process ends. Its successor raises
 *   `N`, and a former owner that comes to again finds that it cannot write.
 * - The others read, and leave word in short transactions of their own (`Journal.command`).
 * - Appends that come at about the same time, of several runs, share a commit.
 * - While another process holds the lock, an operation waits on the `Clock` and blocks nothing else; after `busyTimeout`
 *   it fails with `JournalUnavailable`, problem `busy`, and can be tried again.
 *
 * **Gotchas**
 *
 * - An append runs on the thread of the program and takes as long as the device needs, a few tenths of a millisecond on
 *   most. Do not put the file on a network file system: a write-ahead log needs shared memory.
 * - Under `TestClock` a wait for the lock needs the clock to be adjusted.
 * - A process that blocks its own thread for longer than the lease counts as standing still, and may lose the journal.
 * - An owner whose file, or its `-wal`, was removed or replaced finds that out with its next sign of life, and is fenced: what
 *   it wrote in between may be lost. Stop the program before you move, restore or remove a journal.
 *
 * **Example** (A journal in a file)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { Journal, JournalSqlite } from "espalier/journal"
 *
 * const program = Effect.gen(function* () {
 *   const journal = yield* Journal.Journal
 *   return yield* journal.runs({ status: "running" })
 * })
 *
 * const main = program.pipe(
 *   Effect.provide(JournalSqlite.layerSqlite({ filename: ".espalier/journal.db" })),
 *   Effect.catchReason("JournalError", "NotAJournal", (reason) => Effect.logError(reason.message))
 * )
 * ```
 *
 * @see https://www.sqlite.org/wal.html
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { service } from "./internal/journalService.ts"
import { signsOfLife } from "./internal/ownership.ts"
import { prepare } from "./internal/sqliteFile.ts"
import { make } from "./internal/sqliteJournal.ts"
import { open } from "./internal/sqliteNode.ts"
import { establish } from "./internal/sqliteSchema.ts"
import { Journal, type JournalError } from "./Journal.ts"

/**
 * How to open the file.
 *
 * **Details**
 *
 * - `filename`: its path, absolute or from the working folder.
 * - `busyTimeout`: how long an operation waits in all while other processes hold the lock, >= 0. Default 5 seconds.
 * - `synchronous`: `"full"` writes each commit to the device before it is acknowledged, so that it also survives a loss of
 *   power. `"normal"` leaves that to the operating system: it survives the death of the process, and after a loss of power
 *   the last commits may be missing, though the file stays whole. Default `"full"`.
 * - `lease`: after how long without a sign of life an owner counts as one that stands still, and may be replaced, longer than
 *   `heartbeat`. Default 15 seconds. An owner that died is replaced at once.
 * - `heartbeat`: how often an owner gives a sign of life, > 0. Default 5 seconds.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly filename: string
  readonly busyTimeout?: Duration.Input | undefined
  readonly synchronous?: "full" | "normal" | undefined
  readonly lease?: Duration.Input | undefined
  readonly heartbeat?: Duration.Input | undefined
}

/**
 * A journal in an SQLite file, closed with the layer.
 *
 * **Details**
 *
 * Fails to build, without having touched what it found, with
 *
 * - `NotAJournal` when the path holds a folder, something that is not a regular file, a file that is not an SQLite
 *   database, or the database of another application;
 * - `JournalTooNew` when a later release has written it;
 * - `JournalReadOnly` when it may not be written;
 * - `JournalUnavailable` when it cannot be opened or made, or stayed locked;
 * - `JournalCorrupt` when it is damaged where it had to be read;
 * - `InvalidInput` when `filename` cannot be a path.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `busyTimeout` is not finite, or `heartbeat` is not shorter than `lease`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSqlite = (options: Options): Layer.Layer<Journal, JournalError> =>
  Layer.effect(
    Journal,
    Effect.gen(function* () {
      const busyMillis = Duration.toMillis(options.busyTimeout ?? "5 seconds")
      if (!Number.isFinite(busyMillis) || busyMillis < 0) {
        return yield* Effect.die(
          new RangeError(`JournalSqlite.layerSqlite: busyTimeout must be finite and >= 0, got ${busyMillis} ms`)
        )
      }
      const { heartbeat, lease } = yield* signsOfLife("JournalSqlite.layerSqlite", options)
      const sqlite = yield* open(yield* prepare(options.filename))
      yield* establish(sqlite, { busyMillis, synchronous: options.synchronous ?? "full" })
      return yield* service(yield* make(sqlite, { busyMillis, lease }), { heartbeat })
    })
  )
