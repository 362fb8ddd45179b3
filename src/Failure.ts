/**
 * The one vocabulary of failure that the tree, runs and agents share.
 *
 * An error says what it *means* by carrying a kind under the {@link kind} key. The kind decides what happens next: the
 * tree has a default directive for each, a run a default ladder. An error without a kind is treated like a crash.
 *
 * | kind | means |
 * |---|---|
 * | `transient` | will pass: a rate limit, a time-out, the network, overload |
 * | `capability` | this worker cannot, another might: an unsupported format, a missing tool, a refusal |
 * | `oversized` | too large for anyone as it is |
 * | `malformed` | broke the contract: schema, missing evidence, an empty answer |
 * | `denied` | policy or permission |
 * | `exhausted` | a budget, a deadline or a cap is spent |
 *
 * **Example** (Marking an error of your own)
 *
 * ```ts
 * import { Schema } from "effect"
 * import { Failure } from "espalier"
 *
 * class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", { retryAfterMillis: Schema.Number }) {
 *   readonly [Failure.kind] = "transient"
 * }
 *
 * Failure.kindOf(new RateLimited({ retryAfterMillis: 250 })) // => "transient"
 * Failure.kindOf(new Error("unmarked")) // => undefined
 * ```
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * What a failure means for the one who has to react to it.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = (typeof kinds)[number]

/**
 * Every {@link Kind}, in the order of the documentation.
 *
 * @category models
 * @since 0.1.0
 */
export const kinds = ["transient", "capability", "oversized", "malformed", "denied", "exhausted"] as const

/**
 * The schema of {@link Kind}.
 *
 * @category models
 * @since 0.1.0
 */
export const Kind = Schema.Literals(kinds)

/**
 * The property under which an error carries its kind.
 *
 * @category marking
 * @since 0.1.0
 */
export const kind = "~espalier/Failure/kind"

/**
 * An error that carries its kind.
 *
 * **Details**
 *
 * - `retryAfterMillis`: milliseconds to wait at least before another try, finite and >= 0; only read for `transient`.
 *
 * @category marking
 * @since 0.1.0
 */
export interface Marked {
  readonly [kind]: Kind
  readonly retryAfterMillis?: number | undefined
}

const isKind = (value: unknown): value is Kind => Predicate.isString(value) && kinds.some((known) => known === value)

/**
 * Whether a value is an error that carries a kind.
 *
 * @category marking
 * @since 0.1.0
 */
export const isMarked = (error: unknown): error is Marked => {
  try {
    return Predicate.hasProperty(error, kind) && isKind(error[kind])
  } catch {
    return false // an error whose properties cannot be read says nothing
  }
}

/**
 * The kind that an error carries, or `undefined` for an unmarked one.
 *
 * @category marking
 * @since 0.1.0
 */
export const kindOf = (error: unknown): Kind | undefined => (isMarked(error) ? error[kind] : undefined)

/**
 * How long a `transient` error asks to be left alone, or `undefined` when it does not say.
 *
 * **Details**
 *
 * A `retryAfterMillis` that is negative, infinite or not a number is ignored: it comes from outside.
 *
 * @category marking
 * @since 0.1.0
 */
export const retryAfterOf = (error: unknown): Duration.Duration | undefined => {
  if (!isMarked(error)) return undefined
  try {
    const millis = error.retryAfterMillis
    return millis !== undefined && Number.isFinite(millis) && millis >= 0 ? Duration.millis(millis) : undefined
  } catch {
    return undefined
  }
}

/**
 * Tells the kind of errors that cannot be marked, because they belong to somebody else.
 *
 * **When to use**
 *
 * Provide it around a tree or a desk when a library's errors should be read as one of the kinds. It is asked first;
 * `undefined` falls back to the mark.
 *
 * **Gotchas**
 *
 * It must not throw. A classifier that throws counts as having no opinion.
 *
 * @category marking
 * @since 0.1.0
 */
export const Classifier = Context.Reference<(error: unknown) => Kind | undefined>("espalier/Failure/Classifier", {
  defaultValue: () => () => undefined
})

/**
 * A ready-made marked error: what failed, in one sentence, and what that means.
 *
 * @category errors
 * @since 0.1.0
 */
export class Failure extends Schema.TaggedError<Failure>("espalier/Failure/Failure")("Failure", {
  kind: Kind,
  reason: Schema.String,
  retryAfterMillis: Schema.optionalKey(Schema.Finite)
}) {
  /** @since 0.1.0 */
  get [kind](): Kind {
    return this.kind
  }

  override get message(): string {
    return `${this.kind}: ${this.reason}`
  }
}

/**
 * Will pass: try again, not before `retryAfter` when it is given.
 *
 * @category constructors
 * @since 0.1.0
 */
export const transient = (
  reason: string,
  options?: { readonly retryAfter?: Duration.Input | undefined } | undefined
): Failure =>
  new Failure({
    kind: "transient",
    reason,
    ...(options?.retryAfter === undefined
      ? {}
      : { retryAfterMillis: Duration.toMillis(Duration.fromInputUnsafe(options.retryAfter)) })
  })

const constructor =
  (kind: Kind) =>
  (reason: string): Failure =>
    new Failure({ kind, reason })

/**
 * This worker cannot; another might.
 *
 * @category constructors
 * @since 0.1.0
 */
export const capability: (reason: string) => Failure = constructor("capability")

/**
 * Too large for anyone as it is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const oversized: (reason: string) => Failure = constructor("oversized")

/**
 * Broke the contract.
 *
 * @category constructors
 * @since 0.1.0
 */
export const malformed: (reason: string) => Failure = constructor("malformed")

/**
 * Refused by policy or permission.
 *
 * @category constructors
 * @since 0.1.0
 */
export const denied: (reason: string) => Failure = constructor("denied")

/**
 * A budget, a deadline or a cap is spent.
 *
 * @category constructors
 * @since 0.1.0
 */
export const exhausted: (reason: string) => Failure = constructor("exhausted")

/**
 * The failure of a child that ends on purpose: a clean exit, not an error.
 *
 * **Details**
 *
 * A child that fails with `Shutdown` is restarted under `restart: "always"` only. It is OTP's exit reason
 * `{shutdown, Detail}`.
 *
 * @category errors
 * @since 0.1.0
 */
export class Shutdown extends Schema.TaggedError<Shutdown>("espalier/Failure/Shutdown")("Shutdown", {
  detail: Schema.optionalKey(Schema.Unknown)
}) {}

/**
 * What the cause of an unclean end says about the failure, for those who decide by kind.
 *
 * **Details**
 *
 * - `kind`: the kind of the first typed error of the cause; of a defect only when the defect itself is a marked error
 *   (an actor's neighbour that was lost is not a bug). `undefined` for bugs, unmarked errors and interruption.
 * - `error`: that error, or the defect.
 *
 * @category classification
 * @since 0.1.0
 */
export interface Classified {
  readonly kind: Kind | undefined
  readonly error: unknown
}

/**
 * Reads a cause: its first typed error, else its first marked defect.
 *
 * **Details**
 *
 * A cause that holds an unmarked defect beside a typed error is a bug first: its kind is `undefined`.
 *
 * @category classification
 * @since 0.1.0
 */
export const classify = (
  cause: Cause.Cause<unknown>,
  classifier?: ((error: unknown) => Kind | undefined) | undefined
): Classified => {
  const read = (error: unknown): Kind | undefined => {
    try {
      const said = classifier?.(error)
      if (said !== undefined) return said
    } catch {
      // A classifier that throws has no opinion.
    }
    return kindOf(error)
  }
  let failed: Classified | undefined
  let died: Classified | undefined
  for (const reason of cause.reasons) {
    if (Cause.isFailReason(reason)) failed ??= { kind: read(reason.error), error: reason.error }
    else if (Cause.isDieReason(reason)) {
      const kind = read(reason.defect)
      if (kind === undefined) return { kind: undefined, error: reason.defect }
      died ??= { kind, error: reason.defect }
    }
  }
  return failed ?? died ?? { kind: undefined, error: undefined }
}
