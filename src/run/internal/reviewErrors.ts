/**
 * How people can fail to be asked.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import { Problem, sentences } from "./problems.ts"

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

/**
 * The journal has no such question. `open`: those that are open and are most like it; `more`: how many others there are.
 *
 * @category errors
 * @since 0.1.0
 */
export class ReviewNotFound extends Schema.TaggedError<ReviewNotFound>("espalier/run/Review/ReviewNotFound")(
  "ReviewNotFound",
  { review: Schema.String, open: Schema.Array(Schema.String), more: Schema.Int }
) {
  override get message(): string {
    const more = this.more === 0 ? "" : ` and ${this.more} more`
    const open = this.open.length === 0 ? "none is open" : `open are ${this.open.join(", ")}${more}`
    return `the journal has no review ${this.review}; ${open}`
  }
}

/**
 * Questions that cannot be decided together. Nothing was decided.
 *
 * @category errors
 * @since 0.1.0
 */
export class BatchRefused extends Schema.TaggedError<BatchRefused>("espalier/run/Review/BatchRefused")("BatchRefused", {
  problems: Schema.Array(Problem)
}) {
  override get message(): string {
    return `nothing is decided: ${sentences(this.problems, "the decisions")}`
  }
}
