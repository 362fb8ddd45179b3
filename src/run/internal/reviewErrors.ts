/**
 * How people can fail to be asked.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"

const kinds = { busy: "transient", invalid: undefined, refused: "exhausted", malformed: "malformed" } as const

/**
 * Nobody could be asked, or what they answered cannot be read.
 *
 * **Details**
 *
 * - `name`: of the question. `detail`: what is in its way.
 * - `reason`:
 *   - `invalid`: an option is not what it can be. It counts as a bug.
 *   - `busy`: what is recorded cannot be read just now. It counts as `transient`.
 *   - `refused`: the order may ask nothing any more, or the run has no room for it. It counts as `exhausted`.
 *   - `malformed`: the answer does not fit the schema. It counts as `malformed`.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReviewError extends Schema.TaggedError<ReviewError>("espalier/run/Review/ReviewError")("ReviewError", {
  name: Schema.String,
  reason: Schema.Literals(["busy", "invalid", "refused", "malformed"]),
  detail: Schema.String
}) {
  get [Failure.kind](): Failure.Kind | undefined {
    return kinds[this.reason]
  }

  override get message(): string {
    return this.reason === "invalid"
      ? `Review.ask: ${this.detail}`
      : `nobody can be asked for ${this.name}: ${this.detail}`
  }
}
