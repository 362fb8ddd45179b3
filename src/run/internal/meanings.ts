/**
 * What decisions about a question do, in a few words for people.
 *
 * @since 0.1.0
 */
import type { Decision, ReviewKind } from "../RunEvent.ts"

/** What an approval does. */
const approvals: { readonly [K in ReviewKind]: string } = {
  "action-approval": "the worker gets the order",
  "result-acceptance": "the result is accepted",
  "plan-approval": "the plan is carried out",
  "budget-increase": "the account is raised by what is given as raise",
  "scope-reduction": "what may be dropped is dropped, and the task is tried anew",
  question: "whoever asked hears a yes",
  escalation: "the result is accepted",
  reconciliation: "the result is accepted",
  routing: "the result is accepted"
}

/** What a rejection does, where it is not that the task ends as rejected. */
const rejections: { readonly [K in ReviewKind]?: string } = {
  "budget-increase": "nothing more is spent of the account",
  "scope-reduction": "the task ends with what there is",
  routing: "the group is stopped with what there is",
  "plan-approval": "the plan is not carried out"
}

/**
 * What a question is, as far as a decision means something else for it.
 *
 * @since 0.1.0
 */
export interface Subject {
  readonly kind: ReviewKind
  readonly facts: { readonly [name: string]: unknown }
  readonly dispatch?: string | undefined
}

/**
 * What a decision does.
 *
 * @since 0.1.0
 */
export const meaningOf = ({ dispatch, facts, kind }: Subject, decision: Decision): string => {
  const { effect, field, tool } = facts
  const asks = dispatch !== undefined && typeof tool !== "string"
  switch (decision) {
    case "approve":
      if (typeof tool === "string") return "the tool is called with these arguments"
      return asks ? approvals.question : approvals[kind]
    case "reject":
      if (typeof tool === "string") return "the tool is not called"
      return asks ? "whoever asked hears a no" : (rejections[kind] ?? "the task ends as rejected")
    case "retry":
      if (kind === "plan-approval") return "another plan is made, with the note as a hint"
      return typeof effect === "string"
        ? "it has not happened, and is done"
        : "the task is tried anew, with the note as a hint"
    case "accept-partial":
      return typeof field === "string" ? "the field is left out" : "what there is stands"
    case "answer":
      if (typeof effect === "string") return "it has happened, and the answer is what came of it"
      if (kind === "routing") return "the group goes on with the answer"
      return typeof field === "string" ? "the field has the value of the answer" : "the worker gets the answer"
    case "edit":
      return "approved with the arguments as they are changed"
  }
}
