/**
 * The journal in an SQLite file. A Node module: uses `node:sqlite`, `node:fs` and `node:path`.
 *
 * It owns the file: how it is made, recognised, brought to this release's schema, opened and closed. What the operations
 * mean is told in `Journal`.
 *
 * **Details**
 *
 * - The file and its folders are made when they are missing, readable only by their owner.
 * - The file is opened with a write-ahead log, so two more files lie beside it while it is open: `-wal` and `-shm`. Copy
 *   all three or none; after the last process has closed the journal there is only one.
 * - One append is one commit, and with `synchronous: "full"` one write to the device. It costs little more than the bare
 *   statement does (measured: 1.1 to 1.2 times).
 * - Several processes may have the file open. Each append is serialised by SQLite's lock, and the version check decides
 *   who comes first.
 * - While another process holds the lock, an operation waits on the `Clock` and blocks nothing else; after `busyTimeout`
 *   it fails with `JournalUnavailable`, problem `busy`, and can be tried again.
 *
 * **Gotchas**
 *
 * - An append runs on the thread of the program and takes as long as the device needs, a few tenths of a millisecond on
 *   most. Do not put the file on a network file system: a write-ahead log needs shared memory.
 * - Under `TestClock` a wait for the lock needs the clock to be adjusted.
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
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly filename: string
  readonly busyTimeout?: Duration.Input | undefined
  readonly synchronous?: "full" | "normal" | undefined
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
 * Dies with a `RangeError` when `busyTimeout` is not finite.
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
      const sqlite = yield* open(yield* prepare(options.filename))
      yield* establish(sqlite, { busyMillis, synchronous: options.synchronous ?? "full" })
      return yield* make(sqlite, busyMillis)
    })
  )
