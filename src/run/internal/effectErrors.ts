/**
 * How something outside can fail to be done, beside the ways in which it fails itself.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"

const kinds = {
  busy: "transient",
  invalid: undefined,
  refused: "exhausted",
  unknown: "denied",
  malformed: "malformed",
  denied: "denied",
  rejected: "denied",
  expired: "denied",
  withdrawn: "denied"
} as const

/** What people, or nobody, have said of it: the detail is the whole text. */
const settled: ReadonlySet<string> = new Set(["rejected", "expired", "withdrawn"])

/**
 * An effect was not performed, or nobody can tell what came of it.
 *
 * **Details**
 *
 * - `effect`: its name. `detail`: what is in its way. `review`: the question about it.
 * - `reason`:
 *   - `invalid`: an option is not what it can be. It counts as a bug.
 *   - `busy`: somebody else is finding out what became of the same effect; or what is recorded cannot be read just now. It
 *     counts as `transient`.
 *   - `refused`: the order may begin nothing any more, or the run has no room for it. It counts as `exhausted`.
 *   - `unknown`: it may have happened before, and a person is asked. The order ends, whatever its worker makes of this
 *     error, and is given again when it is known. It counts as `denied`.
 *   - `malformed`: its arguments do not fit what the tool takes. It counts as `malformed`.
 *   - `denied`: the worker has not declared the tool, or its gate says no. It counts as `denied`.
 *   - `rejected`, `expired`, `withdrawn`: people were asked, and nobody let it be done; the message says who and why, as
 *     `ReviewText` does. It counts as `denied`.
 *
 * @category errors
 * @since 0.1.0
 */
export class EffectError extends Schema.TaggedError<EffectError>("espalier/run/Effects/EffectError")("EffectError", {
  effect: Schema.String,
  reason: Schema.Literals([
    "busy",
    "invalid",
    "refused",
    "unknown",
    "malformed",
    "denied",
    "rejected",
    "expired",
    "withdrawn"
  ]),
  detail: Schema.String,
  review: Schema.optionalKey(Schema.String)
}) {
  get [Failure.kind](): Failure.Kind | undefined {
    return kinds[this.reason]
  }

  override get message(): string {
    if (settled.has(this.reason)) return this.detail
    return this.reason === "invalid"
      ? `Effects.perform: ${this.detail}`
      : `the effect ${this.effect} is not performed: ${this.detail}`
  }
}
