// @effect-diagnostics schemaNumber:off -- the ranges refuse what is not finite, in one sentence instead of two
/**
 * Where a value is that is too large to be carried along, and the hash by which it is known to be the same.
 *
 * **Details**
 *
 * - A reference is plain JSON: it goes into contracts, results and the journal in place of the value.
 * - `Artefacts` makes references to what it keeps and checks that they still hold.
 *
 * **Gotchas**
 *
 * A reference proves nothing by itself. That something is there, and that it is what the hash says, is found out by
 * `Artefacts.verify`.
 *
 * **Example** (A reference to a file that somebody else keeps)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Reference } from "espalier/journal"
 *
 * const hash = `sha256:${"0".repeat(64)}`
 * const reference = Schema.decodeUnknownSync(Reference.Reference)({ uri: "file:report.pdf", hash, bytes: 120_000 })
 * reference.bytes // => 120_000
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A hash: `sha256:` and 64 hexadecimal digits in lower case.
 *
 * @category models
 * @since 0.1.0
 */
export const Hash = Schema.String.check(
  Schema.isPattern(/^sha256:[0-9a-f]{64}$/, { expected: "sha256: and 64 hexadecimal digits in lower case" })
)

/**
 * A media type, such as `text/markdown` or `application/json; charset=utf-8`, at most 255 characters.
 *
 * @category models
 * @since 0.1.0
 */
export const MediaType = Schema.String.check(
  Schema.isPattern(/^[\w.+!#$&^-]{1,127}\/[\w.+!#$&^-]{1,127}(?:; ?[\x20-\x7e]+)?$/, {
    expected: "a media type such as text/plain"
  }).abort(),
  Schema.isMaxLength(255, { expected: "a media type of at most 255 characters" })
)

const uri = "a URI with a scheme and without blanks, at most 2048 characters"

const size = { expected: "a whole number of bytes >= 0" }

const version = { expected: "a whole number > 0" }

/** @since 0.1.0 */
export interface Reference extends Schema.Schema.Type<typeof Reference> {}

/**
 * A reference.
 *
 * **Details**
 *
 * - `uri`: where, with a scheme, such as `artefact:sha256:…` or `https://…`; at most 2048 characters.
 * - `hash`: of the bytes.
 * - `bytes`: how many, a whole number >= 0. Absent = not known.
 * - `mediaType`: absent = not known.
 * - `version`: of the result that it came from, a whole number > 0. Absent = there is only one.
 *
 * @category models
 * @since 0.1.0
 */
export const Reference = Schema.Struct({
  uri: Schema.String.check(
    Schema.isPattern(/^[A-Za-z][A-Za-z0-9+.-]*:[^\s\p{Cc}]+$/u, { expected: uri }).abort(),
    Schema.isMaxLength(2048, { expected: uri })
  ),
  hash: Hash,
  bytes: Schema.optionalKey(Schema.Number.check(Schema.isInt(size).abort(), Schema.isGreaterThanOrEqualTo(0, size))),
  mediaType: Schema.optionalKey(MediaType),
  version: Schema.optionalKey(Schema.Number.check(Schema.isInt(version).abort(), Schema.isGreaterThan(0, version)))
})

/**
 * The hashes that stand anywhere in a JSON value, or in a text that may be one, in their order and as often as they stand
 * there.
 *
 * **Details**
 *
 * What looks like a hash is taken for one, also inside a longer text: who collects keeps rather one too many.
 *
 * @category operations
 * @since 0.1.0
 */
export const hashesIn = (value: Schema.Json): ReadonlyArray<string> =>
  (typeof value === "string" ? value : JSON.stringify(value)).match(/sha256:[0-9a-f]{64}/g) ?? []
