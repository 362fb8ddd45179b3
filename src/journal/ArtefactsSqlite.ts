/**
 * Artefacts in an SQLite file. A Node module: uses `node:sqlite`, `node:crypto`, `node:fs` and `node:path`.
 *
 * **Details**
 *
 * - The file is a journal's, or becomes one: give the path of a journal and both lie in one file, to be copied and moved
 *   together; give another path and they are kept apart. See `JournalSqlite` for how it is made, opened and locked.
 * - Each artefact of up to 256 KiB is one row and one commit, a larger one has a row for each 256 KiB. Content that is put
 *   in as a whole is one commit, of a stream each piece. Content that is there already is compared and not written again,
 *   except that of a stream, which is known only at its end: it is written in its place.
 * - `collect` looks through the events of the same file, in small steps, and again what has come since in the transaction
 *   that removes.
 *
 * **Gotchas**
 *
 * - Putting and getting run on the thread of the program and take as long as the device and the hash need, about a second
 *   for some hundred MiB. Streams let others run between two pieces.
 * - An artefact in the file of a journal makes the journal's file larger for good: what was collected is used again for
 *   what comes, and is not given back.
 *
 * **Example** (A journal and its artefacts in one file)
 *
 * ```ts no-run
 * import { Effect, Layer } from "effect"
 * import { Artefacts, ArtefactsSqlite, JournalSqlite } from "espalier/journal"
 *
 * const filename = ".espalier/journal.db"
 * const layer = Layer.merge(JournalSqlite.layerSqlite({ filename }), ArtefactsSqlite.layerSqlite({ filename }))
 *
 * const program = Effect.gen(function* () {
 *   const artefacts = yield* Artefacts.Artefacts
 *   return yield* artefacts.put("# Report", { mediaType: "text/markdown" })
 * })
 *
 * const main = program.pipe(Effect.provide(layer))
 * ```
 *
 * @since 0.1.0
 */

import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { Artefacts, type ArtefactsError } from "./Artefacts.ts"
import { because } from "./internal/artefactErrors.ts"
import { make } from "./internal/artefactSqlite.ts"
import { cleanUp, limitOf, service } from "./internal/artefactStore.ts"
import { prepare } from "./internal/sqliteFile.ts"
import { open } from "./internal/sqliteNode.ts"
import { establish } from "./internal/sqliteSchema.ts"
import type * as JournalSqlite from "./JournalSqlite.ts"

/**
 * How to open the file, and how much an artefact may be.
 *
 * **Details**
 *
 * - `filename`, `busyTimeout`, `synchronous`: see `JournalSqlite.Options`.
 * - `limit`: the largest content in bytes, from 1 to 512 MiB. Default 64 MiB.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends JournalSqlite.Options {
  readonly limit?: number | undefined
}

/**
 * Artefacts in an SQLite file, closed with the layer.
 *
 * **Details**
 *
 * Fails to build as `JournalSqlite.layerSqlite` does, with the same reasons in an `ArtefactsError`.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `busyTimeout` is not finite or `limit` is out of range.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerSqlite = (options: Options): Layer.Layer<Artefacts, ArtefactsError> =>
  Layer.effect(
    Artefacts,
    Effect.gen(function* () {
      const limit = yield* limitOf("ArtefactsSqlite.layerSqlite", options.limit)
      const busyMillis = Duration.toMillis(options.busyTimeout ?? "5 seconds")
      if (!Number.isFinite(busyMillis) || busyMillis < 0) {
        return yield* Effect.die(
          new RangeError(`ArtefactsSqlite.layerSqlite: busyTimeout must be finite and >= 0, got ${busyMillis} ms`)
        )
      }
      const sqlite = yield* Effect.flatMap(prepare(options.filename), open).pipe(
        Effect.tap((sqlite) => establish(sqlite, { busyMillis, synchronous: options.synchronous ?? "full" })),
        Effect.mapError(({ reason }) => because(reason))
      )
      const store = yield* make(sqlite, busyMillis, limit)
      // Whoever opens the file next can do it as well.
      yield* Effect.ignore(cleanUp(store))
      return service(store)
    })
  )
