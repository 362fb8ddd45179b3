/**
 * A place for what is too large to be carried along: bytes by their hash.
 *
 * Content is put in and a `Reference` comes out, which is small plain JSON and goes into results, contracts and the
 * journal. The same content is the same artefact, whoever puts it in and however often.
 *
 * **Details**
 *
 * - The address of an artefact is the SHA-256 of its bytes. Texts are kept as UTF-8.
 * - Stores: {@link layerMemory}, and `ArtefactsSqlite.layerSqlite` for a file, which may be that of a journal.
 * - {@link putJson}, {@link getJson} and {@link getText} work with any of them.
 *
 * **Invariants**
 *
 * - A1. What was acknowledged is there for as long as the store exists. Nothing is ever removed.
 * - A2. What is handed out has the hash that was asked for. Damage is a failure, never other content.
 *
 * **Gotchas**
 *
 * - Content is stored as it is given: take secrets out before you put it in.
 * - Put the artefact first and append the event that refers to it afterwards. A crash in between leaves an artefact that
 *   nobody refers to, never a reference to nothing.
 *
 * **Example** (A large value becomes a reference)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Artefacts } from "espalier/journal"
 *
 * const Report = Schema.Struct({ lines: Schema.Array(Schema.String) })
 * const program = Effect.gen(function* () {
 *   const reference = yield* Artefacts.putJson({ lines: Array.from({ length: 10_000 }, () => "fine") })
 *   const { lines } = yield* Artefacts.getJson(reference, Report)
 *   return { bytes: reference.bytes, lines: lines.length }
 * })
 *
 * await Effect.runPromise(Effect.provide(program, Artefacts.layerMemory())) // => { bytes: 70_011, lines: 10_000 }
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"

import {
  type ArtefactMismatch,
  type ArtefactMissing,
  ArtefactTooLarge,
  ArtefactUnreadable,
  because,
  invalid,
  type ArtefactsError
} from "./internal/artefactErrors.ts"
import { limitOf, service } from "./internal/artefactStore.ts"
import type { InvalidInput } from "./internal/errors.ts"
import { encode } from "./internal/json.ts"
import { sha256 } from "./internal/sha256.ts"
import type { Reference } from "./Reference.ts"

export {
  ArtefactMismatch,
  ArtefactMissing,
  ArtefactsError,
  ArtefactTooLarge,
  ArtefactUnreadable,
  Reason
} from "./internal/artefactErrors.ts"

/**
 * The service.
 *
 * @category services
 * @since 0.1.0
 */
export class Artefacts extends Context.Service<
  Artefacts,
  {
    /** The largest content, in bytes. */
    readonly limit: number

    /**
     * Keeps content and answers with its reference, once it is as durable as the store can make it.
     *
     * **Details**
     *
     * - `mediaType`: default `text/plain; charset=utf-8` for a text and `application/octet-stream` for bytes. The reference
     *   has the one that is given; the store keeps that of the first who put the content in.
     * - Putting the same content again changes nothing, except that damaged content is mended.
     * - Fails with {@link ArtefactTooLarge}, with `InvalidInput` for a text with a lone surrogate or a media type that is
     *   none, and with the troubles of the store: `JournalUnavailable`, `JournalFull`, `JournalReadOnly`,
     *   `JournalCorrupt`. In every case but `io` nothing was written.
     */
    readonly put: (
      content: Uint8Array | string,
      options?: { readonly mediaType?: string | undefined }
    ) => Effect.Effect<Reference, ArtefactsError>

    /**
     * The content of a reference, a copy of the caller's own.
     *
     * **Details**
     *
     * - Fails with {@link ArtefactMissing} when there is none with this hash, with {@link ArtefactMismatch} when its bytes
     *   have another hash or another number than the reference says, and with `InvalidInput` when the reference is to
     *   another place than a store of artefacts.
     */
    readonly get: (reference: Reference) => Effect.Effect<Uint8Array, ArtefactsError>

    /** Whether there is an artefact with this hash; its content is not looked at. Fails as `get` for another place. */
    readonly has: (reference: Reference) => Effect.Effect<boolean, ArtefactsError>

    /** Succeeds when the reference holds, and fails as `get` does when it does not. Reads the whole content. */
    readonly verify: (reference: Reference) => Effect.Effect<void, ArtefactsError>
  }
>()("espalier/journal/Artefacts") {}

/**
 * Keeps a JSON value. It is written as `JSON.stringify` writes it, so the order of keys matters to the hash.
 *
 * **Details**
 *
 * Fails as `put` does, and with `InvalidInput`, which says where, for what is not JSON: `NaN`, `undefined`, an object of a
 * class, more than 256 levels.
 *
 * @category operations
 * @since 0.1.0
 */
export const putJson = (value: Schema.Json): Effect.Effect<Reference, ArtefactsError, Artefacts> =>
  Effect.flatMap(Artefacts, ({ limit, put }) => {
    const text = encode(value, limit)
    if (Result.isSuccess(text)) return put(text.success, { mediaType: "application/json" })
    const refused = text.failure
    return Effect.fail(
      refused._tag === "TooLarge"
        ? because(new ArtefactTooLarge({ bytes: refused.bytes, limit }))
        : invalid(`content${refused.path}`, refused.problem)
    )
  })

/**
 * The text of a reference. Fails as `get` does, and with {@link ArtefactUnreadable} when the bytes are no UTF-8.
 *
 * @category operations
 * @since 0.1.0
 */
export const getText = (reference: Reference): Effect.Effect<string, ArtefactsError, Artefacts> =>
  Effect.flatMap(
    Effect.flatMap(Artefacts, ({ get }) => get(reference)),
    (bytes) =>
      Effect.try({
        try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
        catch: () => unreadable(reference, "it is not UTF-8")
      })
  )

const unreadable = ({ hash }: Reference, detail: string): ArtefactsError =>
  because(new ArtefactUnreadable({ hash, detail }))

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** Where a schema refuses a value; never the value. */
const refusalOf = (error: Schema.SchemaError): string => {
  const path = format(error.issue).issues[0]?.path ?? []
  const keys = path.map((part) => JSON.stringify(typeof part === "object" ? part.key : part))
  return keys.length === 0 ? "it is not the JSON that was expected" : `it is not what was expected at ${keys.join(".")}`
}

/**
 * The JSON value of a reference, decoded by a schema when one is given.
 *
 * **Details**
 *
 * - `schema`: decodes what JSON says, as `Schema.toCodecJson` of it does. Default: any JSON value.
 *
 * Fails as `get` does, and with {@link ArtefactUnreadable} when the content is no JSON or the schema refuses it.
 *
 * @category operations
 * @since 0.1.0
 */
export const getJson: {
  (reference: Reference): Effect.Effect<Schema.Json, ArtefactsError, Artefacts>
  <T, E, RD>(reference: Reference, schema: Schema.Codec<T, E, RD>): Effect.Effect<T, ArtefactsError, Artefacts | RD>
} = <T, E, RD>(
  reference: Reference,
  schema?: Schema.Codec<T, E, RD>
): Effect.Effect<T | Schema.Json, ArtefactsError, Artefacts | RD> => {
  const decoded = <A, R>(codec: Schema.Codec<A, Schema.Json, R, unknown>) =>
    Effect.flatMap(getText(reference), (text) =>
      Effect.mapError(Schema.decodeEffect(Schema.fromJsonString(codec))(text), (error) =>
        unreadable(reference, refusalOf(error))
      )
    )
  return schema === undefined ? decoded(Schema.Json) : decoded(Schema.toCodecJson(schema))
}

/**
 * A reference that does not hold, by its name, and why.
 *
 * @category models
 * @since 0.1.0
 */
export interface Broken {
  readonly name: string
  readonly reason: ArtefactMissing | ArtefactMismatch | InvalidInput
}

/**
 * Those of several references that do not hold, in their order; none when all do.
 *
 * **Details**
 *
 * Fails only for the troubles of the store, when it is not known whether a reference holds.
 *
 * @category operations
 * @since 0.1.0
 */
export const broken = (
  references: Readonly<Record<string, Reference>>
): Effect.Effect<ReadonlyArray<Broken>, ArtefactsError, Artefacts> =>
  Effect.flatMap(Artefacts, ({ verify }) =>
    Effect.map(
      Effect.forEach(Object.entries(references), ([name, reference]) =>
        Effect.catch(Effect.as(verify(reference), []), (error) => {
          const { reason } = error
          return reason._tag === "ArtefactMissing" ||
            reason._tag === "ArtefactMismatch" ||
            reason._tag === "InvalidInput"
            ? Effect.succeed([{ name, reason }])
            : Effect.fail(error)
        })
      ),
      (found) => found.flat()
    )
  )

/**
 * Artefacts in memory, which end with the layer's scope.
 *
 * **When to use**
 *
 * For tests, and for runs that may be lost with their process.
 *
 * **Details**
 *
 * - `limit`: the largest content in bytes, from 1 to 512 MiB. Default 64 MiB.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` when `limit` is out of range.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (options?: { readonly limit?: number | undefined }): Layer.Layer<Artefacts> =>
  Layer.effect(
    Artefacts,
    Effect.map(limitOf("Artefacts.layerMemory", options?.limit), (limit) => {
      const rows = new Map<string, Uint8Array>()
      return service({
        location: "memory",
        limit,
        hash: sha256,
        write: ({ bytes, hash }) =>
          Effect.sync(() => {
            rows.set(hash, bytes)
          }),
        read: (hash) => Effect.sync(() => rows.get(hash)?.slice()),
        has: (hash) => Effect.sync(() => rows.has(hash))
      })
    })
  )
