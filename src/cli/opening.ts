// @effect-diagnostics nodeBuiltinImport:off -- whether a file is there is asked before anything opens it.
/**
 * The journal that a command is about. A Node file: uses `node:fs`.
 *
 * @since 0.1.0
 */
import { existsSync } from "node:fs"

import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

import { Artefacts, type ArtefactsError } from "../journal/Artefacts.ts"
import * as ArtefactsSqlite from "../journal/ArtefactsSqlite.ts"
import type { Journal, JournalError } from "../journal/Journal.ts"
import * as JournalSqlite from "../journal/JournalSqlite.ts"
import { Misused, Refused } from "./failures.ts"

/** The artefacts beside the journal. */
export class Stores extends Context.Service<Stores, Artefacts["Service"]>()("espalier/cli/opening/Stores") {}

/** Where a journal is that nobody has named. */
export const usual = ".espalier/journal.db"

/** The variable of the environment that names it. */
export const variable = "ESPALIER_JOURNAL"

/** The journal that is meant: the one of the flag, of the environment, or the usual one. */
const placeOf = (flag: Option.Option<string>): Effect.Effect<string> =>
  Option.match(flag, {
    onSome: Effect.succeed,
    onNone: () =>
      Effect.map(
        Effect.orElseSucceed(Config.String(variable).pipe(Config.option), () => Option.none<string>()),
        Option.getOrElse(() => usual)
      )
  })

/** The scheme of a place that is a URL. */
const schemeOf = (place: string): string | undefined => /^([a-z][a-z0-9+.-]*):\/\//i.exec(place)?.[1]?.toLowerCase()

/** The address of a server, and the schema that stands in it as `?schema=NAME`, which is nothing that a server knows. */
const addressOf = (place: string): Effect.Effect<{ readonly url: string; readonly schema?: string }, Misused> =>
  Effect.suspend(() => {
    const [base = "", ...queries] = place.split("?")
    const parts = queries.join("?").split("&")
    const schemas = parts.filter((part) => part.startsWith("schema="))
    const rest = parts.filter((part) => part !== "" && !part.startsWith("schema="))
    const url = rest.length === 0 ? base : `${base}?${rest.join("&")}`
    const [schema] = schemas
    if (schema === undefined) return Effect.succeed({ url })
    const named = new URLSearchParams(schema).get("schema") ?? ""
    if (schemas.length > 1 || named === "") {
      return Effect.fail(new Misused({ reason: "?schema= of the journal's URL must name one schema" }))
    }
    return Effect.succeed({ url, schema: named })
  })

/** A journal on a server, and its artefacts. Its client is only there for those who have installed it. */
const onServer = (
  url: string,
  schema: string | undefined
): Layer.Layer<Journal | Stores, JournalError | ArtefactsError | Refused> =>
  Layer.unwrap(
    Effect.map(
      Effect.tryPromise({
        try: () => Promise.all([import("../journal/JournalPostgres.ts"), import("../journal/ArtefactsPostgres.ts")]),
        catch: () => new Refused({ reason: "a journal in PostgreSQL needs the package @effect/sql-pg: install it" })
      }),
      ([journals, stores]) => {
        const options = { url: Redacted.make(url), schema }
        const artefacts = Layer.effect(Stores, Artefacts).pipe(Layer.provide(stores.layerPostgres(options)))
        return Layer.merge(journals.layerPostgres(options), artefacts)
      }
    )
  )

/** Where a journal is. */
export type Place =
  | { readonly _tag: "File"; readonly path: string }
  | { readonly _tag: "Server"; readonly url: string; readonly schema: string | undefined }

/** Where the journal is that was named, or the usual one. */
export const whereOf = Effect.fnUntraced(function* (
  flag: Option.Option<string>,
  schema: Option.Option<string>
): Effect.fn.Return<Place, Misused> {
  const place = yield* placeOf(flag)
  const scheme = schemeOf(place)
  if (scheme === "postgres" || scheme === "postgresql") {
    const address = yield* addressOf(place)
    return { _tag: "Server", url: address.url, schema: Option.getOrElse(schema, () => address.schema) }
  }
  if (scheme !== undefined) {
    const possible = `a file, or postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`
    return yield* new Misused({ reason: `a journal must be ${possible}, is at ${scheme}://` })
  }
  if (Option.isSome(schema)) {
    return yield* new Misused({ reason: `--schema is of a journal in PostgreSQL; this one is the file ${place}` })
  }
  return { _tag: "File", path: place }
})

/**
 * The layer of the journal, and of the artefacts beside it.
 *
 * **Details**
 *
 * - `schema`: of a journal on a server; wins over the one that stands in its URL. Default `espalier`.
 * - `create`: whether a file that is not there is made. Only what writes a run into it does that.
 */
export const layerOf = (
  flag: Option.Option<string>,
  schema: Option.Option<string>,
  create: boolean
): Layer.Layer<Journal | Stores, JournalError | ArtefactsError | Refused | Misused> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const place = yield* whereOf(flag, schema)
      if (place._tag === "Server") return onServer(place.url, place.schema)
      const filename = place.path
      if (!create && !existsSync(filename)) {
        const how = `name one with --journal or ${variable}`
        return yield* new Refused({ reason: `there is no journal at ${filename}; ${how}` })
      }
      const artefacts = Layer.effect(Stores, Artefacts).pipe(Layer.provide(ArtefactsSqlite.layerSqlite({ filename })))
      return Layer.merge(JournalSqlite.layerSqlite({ filename }), artefacts)
    }).pipe(Effect.map((layer): Layer.Layer<Journal | Stores, JournalError | ArtefactsError | Refused> => layer))
  )
