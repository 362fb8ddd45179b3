/**
 * What every store of artefacts does around its few operations: checks, hashes, pieces, times.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import { Redaction } from "../../Redaction.ts"
import type { Artefacts } from "../Artefacts.ts"
import { Hash, MediaType, type Reference } from "../Reference.ts"
import {
  ArtefactMismatch,
  ArtefactMissing,
  ArtefactTooLarge,
  because,
  invalid,
  type ArtefactsError
} from "./artefactErrors.ts"
import type { Hasher } from "./sha256.ts"

/**
 * What a store owns. It is given, and gives, bytes that nobody else holds.
 *
 * **Details**
 *
 * Content is kept in pieces of {@link pieceBytes}, the last one shorter, numbered from 0. The same content always has the
 * same pieces, so that who reads one by one does not care whether it is replaced by itself in between. A store may also
 * keep content in one piece of any size.
 *
 * - `write`: keeps whole content in one commit.
 * - `begin`: an upload, which is seen by nobody. `append`: its next piece; fails when the upload is gone. `commit`: makes
 *   it the content of a hash, in one commit. `discard`: ends an upload that was not committed, and is nothing for others.
 * - Content that is there already is replaced, which mends it when it is damaged, and the later time counts.
 * - `pieces`: how many there are, `undefined` for a hash that is not known. `piece`: one of them.
 * - `touch`: as if it had been put in at this time, unless a later one is known. Nothing for a hash that is not known.
 * - `sweep`: see {@link Sweep}. `clean`: removes the uploads to which nothing was appended since a time, and what else is
 *   seen by nobody; answers with how many uploads there were.
 */
export interface Store {
  readonly location: string
  readonly limit: number
  readonly hasher: () => Hasher
  readonly write: (entry: Entry, bytes: Uint8Array) => Effect.Effect<void, ArtefactsError>
  readonly begin: (at: number) => Effect.Effect<number, ArtefactsError>
  readonly append: (upload: number, piece: Piece) => Effect.Effect<void, ArtefactsError>
  readonly commit: (upload: number, entry: Entry) => Effect.Effect<void, ArtefactsError>
  readonly discard: (upload: number) => Effect.Effect<void, ArtefactsError>
  readonly pieces: (hash: string) => Effect.Effect<number | undefined, ArtefactsError>
  readonly piece: (hash: string, n: number) => Effect.Effect<Uint8Array | undefined, ArtefactsError>
  readonly touch: (hash: string, at: number) => Effect.Effect<void, ArtefactsError>
  readonly sweep: (sweep: Sweep) => Effect.Effect<Swept | undefined, ArtefactsError>
  readonly clean: (before: number) => Effect.Effect<number, ArtefactsError>
}

/** One artefact as a store knows it. */
export interface Entry {
  readonly hash: string
  readonly bytes: number
  readonly mediaType: string
  readonly at: number
}

/** A piece of an upload, and when it came. */
export interface Piece {
  readonly n: number
  readonly bytes: Uint8Array
  readonly at: number
}

/**
 * What is to be removed: all that was put in before a time and is referred to neither by the events that lie in the same
 * database nor by `keep`. What is decided and what is removed is one transaction with the events.
 *
 * **Details**
 *
 * - `keep`: hashes. `undefined`: the events of the same database are all there are; a store that has none of them answers
 *   with `undefined` then, and removes nothing.
 * - `dryRun`: only counts.
 */
export interface Sweep {
  readonly before: number
  readonly keep: ReadonlySet<string> | undefined
  readonly dryRun: boolean
}

/** What was removed. */
export interface Swept {
  readonly artefacts: number
  readonly bytes: number
}

/** The size of all pieces but the last: 256 KiB. */
export const pieceBytes = 256 * 1024

/** How long an upload may stand still until it counts as one of a process that is no more: a day, in milliseconds. */
export const uploadMillis = 24 * 60 * 60 * 1000

/** The largest limit: what is surely read back whole. */
const mostBytes = 512 * 1024 * 1024

/** 64 MiB. */
const usualBytes = 64 * 1024 * 1024

/** The limit of an option, or death by `RangeError`. */
export const limitOf = (layer: string, limit: number = usualBytes): Effect.Effect<number> =>
  Number.isSafeInteger(limit) && limit >= 1 && limit <= mostBytes
    ? Effect.succeed(limit)
    : Effect.die(new RangeError(`${layer}: limit must be a whole number from 1 to ${mostBytes}, got ${limit}`))

/** Removes what uploads have left behind whose processes are no more. */
export const cleanUp = (store: Store): Effect.Effect<number, ArtefactsError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => store.clean(now - uploadMillis))

/** Content in pieces. */
export const split = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.max(1, Math.ceil(bytes.length / pieceBytes)) }, (_, n) =>
    bytes.subarray(n * pieceBytes, (n + 1) * pieceBytes)
  )

const isHash = Schema.is(Hash)

const isMediaType = Schema.is(MediaType)

const scheme = "artefact:"

/** What is wrong with a reference, or nothing. References come from models and files, too. */
const refusal = (reference: Reference): ArtefactsError | undefined => {
  if (!isHash(reference.hash)) {
    return invalid("reference.hash", "must be sha256: and 64 hexadecimal digits in lower case")
  }
  return reference.uri === scheme + reference.hash
    ? undefined
    : invalid("reference.uri", "must be artefact: and the hash; other places are not looked into")
}

const referenceTo = ({ bytes, hash, mediaType }: Entry): Reference => ({ uri: scheme + hash, hash, bytes, mediaType })

const tooLarge = (bytes: number, limit: number): ArtefactsError => because(new ArtefactTooLarge({ bytes, limit }))

const mediaTypeOf = (given: string | undefined, usual: string): Effect.Effect<string, ArtefactsError> => {
  const mediaType = given ?? usual
  return isMediaType(mediaType)
    ? Effect.succeed(mediaType)
    : Effect.fail(invalid("mediaType", "must be a media type such as text/plain, at most 255 characters"))
}

const encoder = new TextEncoder()

/** Keeps whole content. */
const putter = ({ hasher, limit, write }: Store): Artefacts["Service"]["put"] =>
  Effect.fnUntraced(function* (content, options) {
    const text = typeof content === "string"
    const usual = text ? "text/plain; charset=utf-8" : "application/octet-stream"
    const mediaType = yield* mediaTypeOf(options?.mediaType, usual)
    if (text && !content.isWellFormed()) return yield* invalid("content", "must not contain a lone surrogate")
    // A text has at least as many bytes as units, so that a far too large one is not encoded first.
    if (content.length > limit) return yield* tooLarge(content.length, limit)
    const bytes = text ? encoder.encode((yield* Redaction).text(content)) : Uint8Array.from(content)
    if (bytes.length > limit) return yield* tooLarge(bytes.length, limit)
    const whole = hasher()
    whole.update(bytes)
    const at = yield* Clock.currentTimeMillis
    const entry: Entry = { hash: `sha256:${whole.digest()}`, bytes: bytes.length, mediaType, at }
    yield* write(entry, bytes)
    return referenceTo(entry)
  })

/** Keeps what a stream gives, one piece at a time. What does not fill one piece is written as whole content is. */
const streamPutter = (store: Store): Artefacts["Service"]["putStream"] => {
  const { hasher, limit } = store
  return <E, R>(content: Stream.Stream<Uint8Array, E, R>, options?: { readonly mediaType?: string | undefined }) =>
    Effect.suspend((): Effect.Effect<Reference, ArtefactsError | E, R> => {
      const whole = hasher()
      let piece = new Uint8Array(pieceBytes)
      let filled = 0
      let count = 0
      let bytes = 0
      let upload: number | undefined

      const begun: Effect.Effect<number, ArtefactsError> = Effect.suspend(() =>
        upload === undefined
          ? // Who begins an upload knows its number, or nobody ends it.
            Effect.uninterruptible(
              Effect.tap(Effect.flatMap(Clock.currentTimeMillis, store.begin), (begun) =>
                Effect.sync(() => {
                  upload = begun
                })
              )
            )
          : Effect.succeed(upload)
      )

      /** Writes the piece so far, and begins the next one. */
      const flush = Effect.gen(function* () {
        const full = piece.subarray(0, filled)
        piece = new Uint8Array(pieceBytes)
        filled = 0
        const at = yield* Clock.currentTimeMillis
        yield* store.append(yield* begun, { n: count, bytes: full, at })
        count += 1
      })

      /** Takes in a part of the content, as much of it as there is room for at a time. */
      const take = (part: Uint8Array): Effect.Effect<void, ArtefactsError> =>
        Effect.suspend(() => {
          const first = part.subarray(0, pieceBytes - filled)
          piece.set(first, filled)
          // What is hashed is what was copied: the part itself may belong to somebody who goes on with it.
          whole.update(piece.subarray(filled, filled + first.length))
          filled += first.length
          const rest = part.subarray(first.length)
          return rest.length === 0 ? Effect.void : Effect.andThen(flush, take(rest))
        })

      const received = Stream.runForEach(content, (part) => {
        bytes += part.length
        return bytes > limit ? Effect.fail(tooLarge(bytes, limit)) : take(part)
      })

      return Effect.gen(function* () {
        const mediaType = yield* mediaTypeOf(options?.mediaType, "application/octet-stream")
        yield* received
        if (upload !== undefined) yield* flush
        const at = yield* Clock.currentTimeMillis
        const entry: Entry = { hash: `sha256:${whole.digest()}`, bytes, mediaType, at }
        yield* upload === undefined ? store.write(entry, piece.slice(0, filled)) : store.commit(upload, entry)
        return referenceTo(entry)
      }).pipe(Effect.onError(() => (upload === undefined ? Effect.void : Effect.ignore(store.discard(upload)))))
    })
}

/** The pieces of a reference. The last one is given only when the hash and the size of all of them hold. */
const streamGetter = ({ hasher, location, piece, pieces }: Store): Artefacts["Service"]["getStream"] =>
  Effect.fnUntraced(function* (reference: Reference) {
    const refused = refusal(reference)
    if (refused !== undefined) return yield* refused
    const { bytes: said, hash } = reference
    const missing = because(new ArtefactMissing({ location, hash }))
    const count = yield* pieces(hash)
    if (count === undefined) return yield* missing
    const whole = hasher()
    let bytes = 0
    const problem = (): string | undefined => {
      const found = `sha256:${whole.digest()}`
      if (found !== hash) return `its bytes have the hash ${found}`
      return said !== undefined && said !== bytes ? `it has ${bytes} bytes, not ${said}` : undefined
    }
    return Stream.flattenIterable(
      Stream.paginate(0, (n) =>
        Effect.gen(function* () {
          const part = yield* piece(hash, n)
          // A piece is not there because it was damaged, or because all of it was collected just now.
          if (part === undefined && (yield* pieces(hash)) === undefined) return yield* missing
          if (part !== undefined) whole.update(part)
          bytes += part?.length ?? 0
          const last = part === undefined || n + 1 >= count
          const detail = last ? problem() : undefined
          if (detail !== undefined) return yield* because(new ArtefactMismatch({ location, hash, detail }))
          return [[split(part ?? new Uint8Array())], last ? Option.none() : Option.some(n + 1)] as const
        })
      )
    )
  }, Stream.unwrap)

/** The parts in one piece; the part itself when it is the only one. */
export const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [first] = parts
  if (parts.length === 1 && first !== undefined && first.byteLength === first.buffer.byteLength) return first
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Removes what nobody refers to. */
const collector = (store: Store): Artefacts["Service"]["collect"] =>
  Effect.fnUntraced(function* (options = {}) {
    const age = Duration.toMillis(options.olderThan ?? "1 day")
    if (!Number.isFinite(age) || age <= 0) return yield* invalid("olderThan", "must be a finite duration > 0")
    // The time first, the references after it: what is referred to later than they are read was put in later than this.
    const before = (yield* Clock.currentTimeMillis) - age
    const keep = options.references === undefined ? undefined : new Set<string>()
    if (options.references !== undefined) {
      yield* Stream.runForEach(options.references, (hash) => Effect.sync(() => keep?.add(hash)))
    }
    const dryRun = options.dryRun ?? false
    const swept = yield* store.sweep({ before, keep, dryRun })
    if (swept === undefined) {
      return yield* invalid("references", "must be given: no journal lies in the place of these artefacts")
    }
    return { ...swept, uploads: dryRun ? 0 : yield* cleanUp(store) }
  })

/** The service of a store. */
export const service = (store: Store): Artefacts["Service"] => {
  const getStream = streamGetter(store)
  return {
    limit: store.limit,
    put: putter(store),
    putStream: streamPutter(store),
    get: (reference) => Effect.map(Stream.runCollect(getStream(reference)), joined),
    getStream,
    has: (reference) =>
      Effect.suspend(() => {
        const refused = refusal(reference)
        return refused === undefined
          ? Effect.map(store.pieces(reference.hash), (count) => count !== undefined)
          : Effect.fail(refused)
      }),
    verify: (reference) =>
      Effect.andThen(
        Stream.runDrain(getStream(reference)),
        Effect.flatMap(Clock.currentTimeMillis, (at) => store.touch(reference.hash, at))
      ),
    collect: collector(store)
  }
}
