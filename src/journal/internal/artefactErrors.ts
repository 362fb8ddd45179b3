/**
 * The errors of artefacts. They are public through `Artefacts`.
 *
 * No message and no field holds content or a URI: both may carry what is nobody's business in a log.
 */
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import { InvalidInput, JournalUnavailable, Reason as JournalReason } from "./errors.ts"

/**
 * There is no artefact with this hash.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArtefactMissing extends Schema.TaggedError<ArtefactMissing>("espalier/journal/ArtefactMissing")(
  "ArtefactMissing",
  { location: Schema.String, hash: Schema.String }
) {
  override get message(): string {
    return `there is no artefact ${this.hash} in ${this.location}`
  }
}

/**
 * What is stored is not what the reference says: the bytes have another hash, or there is another number of them.
 *
 * **Details**
 *
 * - `detail`: which of the two, and what was found.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArtefactMismatch extends Schema.TaggedError<ArtefactMismatch>("espalier/journal/ArtefactMismatch")(
  "ArtefactMismatch",
  { location: Schema.String, hash: Schema.String, detail: Schema.String }
) {
  override get message(): string {
    return `the artefact ${this.hash} in ${this.location} is not what its reference says: ${this.detail}`
  }
}

/**
 * The content is larger than an artefact may be. Nothing was written, and trying again does not help.
 *
 * **Details**
 *
 * - `bytes`: its size, or what had been counted when the limit was passed.
 * - `limit`: the largest size in bytes.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArtefactTooLarge extends Schema.TaggedError<ArtefactTooLarge>("espalier/journal/ArtefactTooLarge")(
  "ArtefactTooLarge",
  { bytes: Schema.Finite, limit: Schema.Finite }
) {
  override get message(): string {
    return `the artefact is too large: at least ${this.bytes} bytes, the limit is ${this.limit}`
  }
}

/**
 * The content is not what it is read as: no JSON, no UTF-8, or JSON that the schema refuses.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArtefactUnreadable extends Schema.TaggedError<ArtefactUnreadable>("espalier/journal/ArtefactUnreadable")(
  "ArtefactUnreadable",
  { hash: Schema.String, detail: Schema.String }
) {
  override get message(): string {
    return `the artefact ${this.hash} cannot be read: ${this.detail}`
  }
}

/**
 * Everything that an {@link ArtefactsError} can be about; trouble of the store is told as the journal tells it.
 *
 * @category errors
 * @since 0.1.0
 */
export const Reason = Schema.Union([
  ArtefactMissing,
  ArtefactMismatch,
  ArtefactTooLarge,
  ArtefactUnreadable,
  ...JournalReason.members
])

/**
 * Everything that an {@link ArtefactsError} can be about.
 *
 * @category errors
 * @since 0.1.0
 */
export type Reason = typeof Reason.Type

/**
 * An artefact could not be kept, found or trusted, for a `reason` that `Effect.catchReason` can tell apart.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArtefactsError extends Schema.TaggedError<ArtefactsError>("espalier/journal/ArtefactsError")(
  "ArtefactsError",
  { reason: Reason }
) {
  /**
   * Whether the same call may succeed later without anybody changing the call: the store was busy, unreachable or full.
   *
   * @since 0.1.0
   */
  get isRetryable(): boolean {
    return (
      this.reason._tag === "JournalFull" ||
      (this.reason._tag === "JournalUnavailable" && this.reason.problem !== "closed")
    )
  }

  /**
   * `transient` for what may succeed later, `oversized` for content over the limit, none for the rest.
   *
   * @since 0.1.0
   */
  get [Failure.kind](): "transient" | "oversized" | undefined {
    return this.isRetryable ? "transient" : this.reason._tag === "ArtefactTooLarge" ? "oversized" : undefined
  }

  override get message(): string {
    return this.reason.message
  }
}

/** An `ArtefactsError` for a reason. */
export const because = (reason: Reason): ArtefactsError => new ArtefactsError({ reason })

/** An `ArtefactsError` about an argument. */
export const invalid = (field: string, problem: string): ArtefactsError => because(new InvalidInput({ field, problem }))

/** An `ArtefactsError` about an upload that is no more. */
export const gone = (location: string): ArtefactsError =>
  because(
    new JournalUnavailable({ location, problem: "io", detail: "the upload stood still for a day and was removed" })
  )
