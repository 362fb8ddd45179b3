/**
 * Artefacts in a PostgreSQL database. A Node module: uses `node:crypto` and `@effect/sql-pg`, which has to be installed beside
 * this package. It is imported by its own name, `espalier/journal/ArtefactsPostgres`.
 *
 * **Details**
 *
 * - The schema is a journal's, or becomes one: give both the same database and schema, and both lie in one place. See
 *   `JournalPostgres` for how it is made and reached.
 * - Content lies in rows of 256 KiB. Up to 4 MiB of it is one statement; more, and the content of a stream, comes in pieces
 *   and is seen by nobody until it is whole. Content that is there already is compared by its pieces' hashes, which the
 *   server computes, and not sent again, except that of a stream, which is known only at its end.
 * - `collect` looks through the events on the server, in the statement that removes. Nobody waits for it.
 *
 * **Gotchas**
 *
 * An event that is appended while `collect` is at work, and refers to an artefact that was put in longer than `olderThan` ago
 * and stands in no other event, may lose it. Who gets a reference from `put` refers to something young.
 *
 * **Example** (A journal and its artefacts in one database)
 *
 * ```ts no-run
 * import { Effect, Layer, Redacted } from "effect"
 * import { Artefacts } from "espalier/journal"
 * import * as ArtefactsPostgres from "espalier/journal/ArtefactsPostgres"
 * import * as JournalPostgres from "espalier/journal/JournalPostgres"
 *
 * const url = Redacted.make("postgres://app:secret@db.internal/app")
 * const layer = Layer.merge(JournalPostgres.layerPostgres({ url }), ArtefactsPostgres.layerPostgres({ url }))
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
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import { Artefacts, type ArtefactsError } from "./Artefacts.ts"
import { because } from "./internal/artefactErrors.ts"
import { make } from "./internal/artefactPostgres.ts"
import { cleanUp, limitOf, service } from "./internal/artefactStore.ts"
import * as Database from "./internal/postgresDatabase.ts"
import { establish } from "./internal/postgresSchema.ts"
import type { JournalError } from "./Journal.ts"
import type * as JournalPostgres from "./JournalPostgres.ts"

/**
 * How to use a database that can be reached, and how much an artefact may be.
 *
 * **Details**
 *
 * - `schema`, `statementTimeout`: see `JournalPostgres.JournalOptions`.
 * - `limit`: the largest content in bytes, from 1 to 512 MiB. Default 64 MiB.
 *
 * @category options
 * @since 0.1.0
 */
export interface ArtefactsOptions extends Pick<JournalPostgres.JournalOptions, "schema" | "statementTimeout"> {
  readonly limit?: number | undefined
}

/**
 * How to reach the database, and how to use it. See `JournalPostgres.Options`.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options extends ArtefactsOptions, Omit<JournalPostgres.Options, "lease" | "heartbeat"> {}

const open = (
  client: Effect.Effect<PgClient.PgClient, JournalError, Scope.Scope>,
  options: ArtefactsOptions
): Effect.Effect<Artefacts["Service"], ArtefactsError, Scope.Scope> =>
  Effect.gen(function* () {
    const limit = yield* limitOf("ArtefactsPostgres", options.limit)
    const database = yield* client.pipe(
      Effect.flatMap((client) => Database.make(client, options)),
      Effect.tap(establish),
      Effect.mapError(({ reason }) => because(reason))
    )
    const store = make(database, limit)
    yield* cleanUp(store)
    return service(store)
  })

/**
 * Artefacts in a PostgreSQL database, whose connections are closed with the layer.
 *
 * **Details**
 *
 * Fails to build as `JournalPostgres.layerPostgres` does, with the same reasons in an `ArtefactsError`.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `limit` is out of range, or `statementTimeout` is not a time.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerPostgres = (options: Options): Layer.Layer<Artefacts, ArtefactsError> => {
  const { limit, schema, statementTimeout, ...config } = options
  return Layer.effect(Artefacts, open(Database.connect(config, schema), { limit, schema, statementTimeout }))
}

/**
 * Artefacts in the database of a client that is there already, on connections of its pool. Fails to build as
 * {@link layerPostgres} does.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: ArtefactsOptions = {}): Layer.Layer<Artefacts, ArtefactsError, PgClient.PgClient> =>
  Layer.effect(
    Artefacts,
    Effect.flatMap(PgClient.PgClient, (client) => open(Effect.succeed(client), options))
  )
