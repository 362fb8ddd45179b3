/**
 * What every store of artefacts does around its two operations: checks, hashes, copies.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

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

/** What a store owns. Both operations are given and give what nobody else holds. */
export interface Store {
  readonly location: string
  readonly limit: number
  readonly hash: (bytes: Uint8Array) => string
  readonly write: (row: Row) => Effect.Effect<void, ArtefactsError>
  readonly read: (hash: string) => Effect.Effect<Uint8Array | undefined, ArtefactsError>
  readonly has: (hash: string) => Effect.Effect<boolean, ArtefactsError>
}

/** One artefact as a store keeps it. */
export interface Row {
  readonly hash: string
  readonly bytes: Uint8Array
  readonly mediaType: string
}

/** The largest limit: what a single value in SQLite can surely be. */
const mostBytes = 512 * 1024 * 1024

/** 64 MiB. */
const usualBytes = 64 * 1024 * 1024

/** The limit of an option, or death by `RangeError`. */
export const limitOf = (layer: string, limit: number = usualBytes): Effect.Effect<number> =>
  Number.isSafeInteger(limit) && limit >= 1 && limit <= mostBytes
    ? Effect.succeed(limit)
    : Effect.die(new RangeError(`${layer}: limit must be a whole number from 1 to ${mostBytes}, got ${limit}`))

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

const encoder = new TextEncoder()

/** The service of a store. */
export const service = ({ has, hash, limit, location, read, write }: Store): Artefacts["Service"] => {
  const hashOf = (bytes: Uint8Array): string => `sha256:${hash(bytes)}`

  const put: Artefacts["Service"]["put"] = (content, options) =>
    Effect.suspend(() => {
      const text = typeof content === "string"
      const mediaType = options?.mediaType ?? (text ? "text/plain; charset=utf-8" : "application/octet-stream")
      if (!isMediaType(mediaType)) {
        return Effect.fail(invalid("mediaType", "must be a media type such as text/plain, at most 255 characters"))
      }
      if (text && !content.isWellFormed()) return Effect.fail(invalid("content", "must not contain a lone surrogate"))
      // A text has at least as many bytes as units, so that a far too large one is not encoded first.
      if (content.length > limit) return Effect.fail(because(new ArtefactTooLarge({ bytes: content.length, limit })))
      const bytes = text ? encoder.encode(content) : Uint8Array.from(content)
      if (bytes.length > limit) return Effect.fail(because(new ArtefactTooLarge({ bytes: bytes.length, limit })))
      const hash = hashOf(bytes)
      const reference: Reference = { uri: scheme + hash, hash, bytes: bytes.length, mediaType }
      return Effect.as(write({ hash, bytes, mediaType }), reference)
    })

  const get: Artefacts["Service"]["get"] = (reference) =>
    Effect.suspend(() => {
      const refused = refusal(reference)
      if (refused !== undefined) return Effect.fail(refused)
      const { bytes: said, hash } = reference
      return Effect.flatMap(read(hash), (bytes) => {
        if (bytes === undefined) return Effect.fail(because(new ArtefactMissing({ location, hash })))
        const found = hashOf(bytes)
        const detail =
          found !== hash
            ? `its bytes have the hash ${found}`
            : said !== undefined && said !== bytes.length
              ? `it has ${bytes.length} bytes, not ${said}`
              : undefined
        return detail === undefined
          ? Effect.succeed(bytes)
          : Effect.fail(because(new ArtefactMismatch({ location, hash, detail })))
      })
    })

  return {
    limit,
    put,
    get,
    has: (reference) =>
      Effect.suspend(() => {
        const refused = refusal(reference)
        return refused === undefined ? has(reference.hash) : Effect.fail(refused)
      }),
    verify: (reference) => Effect.asVoid(get(reference))
  }
}
