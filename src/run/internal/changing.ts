/**
 * Whether what somebody changes of a proposed action can be changed so: only in places that may be changed, and so that the
 * arguments still fit the schema that was recorded with the question.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import type { Of } from "../RunEvent.ts"
import type { ReviewState } from "../RunState.ts"
import { applyEdits } from "./editing.ts"
import { fits } from "./fitting.ts"
import { sentences } from "./problems.ts"

/** Why the changes cannot be made. */
export const changing = (
  { editable, facts, review }: Pick<ReviewState, "editable" | "facts" | "review">,
  { decision, edits }: Of<"ReviewDecided">
): string | undefined => {
  if (decision !== "edit") {
    return edits === undefined ? undefined : `edits must be given only with the decision "edit"`
  }
  if (editable === undefined || editable.length === 0) return `nothing of ${review} may be changed`
  if (edits === undefined || Object.keys(edits).length === 0) {
    return `edits must be changes of ${editable.join(", ")}, such as { "${editable[0]}": value }`
  }
  const { arguments: args, schema } = facts
  if (args === undefined || schema === undefined) return `nobody can tell what changes of ${review} would come to`
  const edited = applyEdits(args, edits, editable)
  if (EffectResult.isFailure(edited)) return sentences(edited.failure, "the changes")
  const problems = fits(edited.success, schema)
  return problems.length === 0 ? undefined : sentences(problems, "the arguments")
}
