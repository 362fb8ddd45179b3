/**
 * What an answer of a model has to be before anything is done because of it.
 *
 * A model that chooses or plans answers with calls of tools. Its answer is read as a whole first, and only one that is
 * complete and fits its schemas leads to a choice; every other one is an {@link AnswerInvalid} that says why.
 *
 * | the answer | what it is |
 * |---|---|
 * | calls that fit, with or without text | the choice |
 * | text alone, an empty answer | `no-choice` |
 * | two choices where one is asked for | `several-choices` |
 * | a field that nobody asked for, one that is missing, one of a wrong type | `unfit` |
 * | a refusal of the model or of its provider | `refused`, of kind `capability` |
 * | cut off because it grew too long | `cut` |
 * | without a part that says why it ended, or one that says nothing known | `unfinished` |
 * | an error of the provider in the midst of it | `broken`, of kind `transient` |
 * | a call that asks to be approved, or that the provider has carried out itself | `not-asked-for` |
 * | none, because no model could be called | `unanswered`, of the kind of that failure |
 *
 * **Details**
 *
 * Who is chosen is not looked at here: a name that nobody has is the router's or the planner's to refuse.
 *
 * **Gotchas**
 *
 * An answer that is cut off counts for nothing, even when a choice stands in it: nobody can tell what was still to come.
 *
 * **Example** (What is said about an answer without a choice)
 *
 * ```ts
 * import { Failure } from "espalier"
 * import { ModelAnswer } from "espalier/agent"
 *
 * const error = new ModelAnswer.AnswerInvalid({ problem: "no-choice", details: ["there is text, but no choice"] })
 * error.message // => "ANSWER_INVALID: there is text, but no choice"
 * Failure.kindOf(error) // => "malformed"
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { joined, shorten } from "../run/internal/problems.ts"
import { Usage } from "../run/Result.ts"

/**
 * What can be wrong with an answer.
 *
 * @category models
 * @since 0.1.0
 */
export const Problem = Schema.Literals([
  "no-choice",
  "several-choices",
  "unfit",
  "refused",
  "cut",
  "unfinished",
  "broken",
  "not-asked-for",
  "unanswered"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Problem = typeof Problem.Type

/**
 * An answer that nothing can be done with. The message names the first ten details.
 *
 * **Details**
 *
 * - `details`: what is wrong, a half sentence each; nothing of what the model wrote but names, in short.
 * - `kind`: of the failure of the call, where it was `unanswered`.
 * - `usage`: what all calls for it used, also those that failed. `facts`: their records, as `ModelCall.Call` has them. Absent in a run,
 *   where each call is an event of its own (`Spent`).
 *
 * @category errors
 * @since 0.1.0
 */
export class AnswerInvalid extends Schema.TaggedError<AnswerInvalid>("espalier/agent/ModelAnswer/AnswerInvalid")(
  "AnswerInvalid",
  {
    problem: Problem,
    details: Schema.Array(Schema.String),
    kind: Schema.optionalKey(Failure.Kind),
    usage: Schema.optionalKey(Usage),
    facts: Schema.optionalKey(Schema.Array(Schema.Json))
  }
) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind {
    switch (this.problem) {
      case "refused":
        return "capability"
      case "broken":
        return "transient"
      case "unanswered":
        return this.kind ?? "transient"
      default:
        return "malformed"
    }
  }

  override get message(): string {
    return `ANSWER_INVALID: ${shorten(joined(this.details, 10), 2000)}`
  }
}
