/**
 * Whether what somebody changes of a proposed action can be changed so.
 *
 * @since 0.1.0
 */
import type { Of } from "../RunEvent.ts"
import type { ReviewState } from "../RunState.ts"

/** Why the changes cannot be made. */
export const changing = (
  { editable, review }: Pick<ReviewState, "editable" | "facts" | "review">,
  { decision, edits }: Of<"ReviewDecided">
): string | undefined => {
  if (decision !== "edit") {
    return edits === undefined ? undefined : `edits must be given only with the decision "edit"`
  }
  if (editable === undefined || editable.length === 0) return `nothing of ${review} may be changed`
  if (edits === undefined || Object.keys(edits).length === 0) {
    return `edits must be changes of ${editable.join(", ")}, such as { "${editable[0]}": value }`
  }
  return undefined
}
