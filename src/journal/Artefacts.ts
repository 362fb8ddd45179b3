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
 * - Content that need not be in memory goes in and comes out as a stream, in pieces of 256 KiB.
 * - What nobody refers to any more is removed by `collect`, and by nothing else.
 *
 * **Invariants**
 *
 * - A1. What was acknowledged is there until it is collected, and what is referred to is not collected.
 * - A2. What is handed out has the hash that was asked for. Damage is a failure, never other content.
 * - A3. Content is there whole or not at all: an upload that failed, was interrupted or died has left nothing.
 *
 * **Gotchas**
 *
 * - Secrets are taken out of texts and JSON values (`Redaction`) before they are hashed, so that a text that holds some is
 *   stored without them. Bytes are stored as they are, whatever their media type: put no secrets in.
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
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as Stream from "effect/Stream"

import { Redaction } from "../Redaction.ts"
import {
  type ArtefactMismatch,
  type ArtefactMissing,
  ArtefactTooLarge,
  ArtefactUnreadable,
  because,
  invalid,
  type ArtefactsError
} from "./internal/artefactErrors.ts"
import { make as makeMemory } from "./internal/artefactMemory.ts"
import { limitOf, service } from "./internal/artefactStore.ts"
import type { InvalidInput, JournalError } from "./internal/errors.ts"
import { encode } from "./internal/json.ts"
import * as Journal from "./Journal.ts"
import { hashesIn, type Reference } from "./Reference.ts"

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
     * Keeps the content of a stream, and answers as `put` does once it is there whole.
     *
     * **Details**
     *
     * - Holds one piece of 256 KiB at a time, however large the content is; each is written as it is full.
     * - `mediaType`: default `application/octet-stream`.
     * - Fails as `put` does and as the stream does. The limit is looked at before a part is written. When it fails or is
     *   interrupted, what was written is removed; when the process dies, whoever opens or collects the store a day later
     *   removes it.
     */
    readonly putStream: <E, R>(
      content: Stream.Stream<Uint8Array, E, R>,
      options?: { readonly mediaType?: string | undefined }
    ) => Effect.Effect<Reference, ArtefactsError | E, R>

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

    /**
     * The content of a reference in pieces of at most 256 KiB, one at a time. Can be run again.
     *
     * **Details**
     *
     * Fails as `get` does.
     *
     * **Gotchas**
     *
     * Whether content is what its reference says is known at its end. The last piece is not given before that, so that
     * content of up to 256 KiB is checked first; of larger content the pieces before it were given and cannot be taken
     * back. Do nothing that cannot be undone before the stream has ended well.
     */
    readonly getStream: (reference: Reference) => Stream.Stream<Uint8Array, ArtefactsError>

    /** Whether there is an artefact with this hash; its content is not looked at. Fails as `get` for another place. */
    readonly has: (reference: Reference) => Effect.Effect<boolean, ArtefactsError>

    /**
     * Succeeds when the reference holds, and fails as `get` does when it does not. Reads the whole content, one piece at a
     * time. An artefact that was verified is as young as one that was just put in, to {@link CollectOptions.olderThan}.
     */
    readonly verify: (reference: Reference) => Effect.Effect<void, ArtefactsError>

    /**
     * Removes the artefacts that nothing refers to, and what uploads of processes that are no more have left behind.
     *
     * **Details**
     *
     * - Referred to is a hash that stands anywhere in the data of an event or of a command: `sha256:` and 64 digits. When
     *   journal and artefacts lie in one database, its events are looked through, and what is decided and removed is one transaction
     *   with them. For a journal elsewhere, give `references`.
     * - Fails with the troubles of the store, as `references` does, and with `InvalidInput` when `olderThan` is not a finite
     *   duration > 0, or when there are no events in the same database and no `references`.
     * - In SQLite a file does not become smaller; what is free in it is used again.
     *
     * **Gotchas**
     *
     * A program that keeps a reference to itself and appends it `olderThan` after it has put or verified the artefact comes
     * too late.
     */
    readonly collect: <E = never, R = never>(
      options?: CollectOptions<E, R>
    ) => Effect.Effect<Collected, ArtefactsError | E, R>
  }
>()("espalier/journal/Artefacts") {}

/**
 * What to collect.
 *
 * **Details**
 *
 * - `olderThan`: what was put in or verified in this time is not touched, because the event that refers to it may be still
 *   to come. A finite duration > 0. Default: 1 day.
 * - `references`: hashes that are referred to from elsewhere, in addition to those in the same database; see
 *   {@link references}. Default: none.
 * - `dryRun`: whether to count only, and to remove nothing. Default `false`.
 *
 * @category options
 * @since 0.1.0
 */
export interface CollectOptions<E = never, R = never> {
  readonly olderThan?: Duration.Input | undefined
  readonly references?: Stream.Stream<string, E, R> | undefined
  readonly dryRun?: boolean | undefined
}

/**
 * What was collected, or would have been.
 *
 * **Details**
 *
 * - `artefacts`: how many. `bytes`: of their content.
 * - `uploads`: how many that were never finished. Of those, a dry run says 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface Collected {
  readonly artefacts: number
  readonly bytes: number
  readonly uploads: number
}

/**
 * The hashes that a journal refers to, for `collect` with artefacts that lie elsewhere.
 *
 * **Details**
 *
 * Reads every listed run from its first event, and what was left for the owner of the journal; a hash comes as often as it
 * is referred to.
 *
 * @category operations
 * @since 0.1.0
 */
export const references: Stream.Stream<string, JournalError, Journal.Journal> = Stream.unwrap(
  Effect.map(Journal.Journal, (journal) => {
    const left = Stream.fromIterableEffect(journal.commands())
    const events = Stream.flatMap(Stream.fromIterableEffect(journal.runs()), ({ run }) => journal.read(run))
    // What is left becomes events: who looks at the events after it sees it in one of the two.
    return Stream.flatMap(Stream.concat(left, events), ({ data }) => Stream.fromIterable(hashesIn(data)))
  })
)

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
  Effect.gen(function* () {
    const { limit, put } = yield* Artefacts
    const rules = yield* Redaction
    const text = encode(rules.value(value), limit)
    if (Result.isSuccess(text)) return yield* put(text.success, { mediaType: "application/json" })
    const refused = text.failure
    return yield* refused._tag === "TooLarge"
      ? because(new ArtefactTooLarge({ bytes: refused.bytes, limit }))
      : invalid(`content${refused.path}`, refused.problem)
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
    Effect.map(limitOf("Artefacts.layerMemory", options?.limit), (limit) => service(makeMemory(limit)))
  )
