/**
 * Whether what somebody decides is an answer to what was asked, before it is written.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Usage } from "../../Result.ts"
import type { Of } from "../../RunEvent.ts"
import type { ReviewState, RunState } from "../../RunState.ts"
import { isPlain } from "../plain.ts"
import { show } from "../problems.ts"
import { tooSmall } from "./raising.ts"

/** Why a decision is none for its question, with what would be one. */
export const objection = (
  {
    ledger,
    reviews
  }: Pick<RunState, "ledger"> & {
    readonly reviews: ReadonlyMap<string, Pick<ReviewState, "allowed" | "facts" | "kind">>
  },
  event: Of<"ReviewDecided">
): string | undefined => {
  const review = reviews.get(event.review)
  if (review === undefined) return undefined
  const { allowed } = review
  const none = undecidable(review, event)
  if (none !== undefined) return none
  const wrong = misplaced(review, event) ?? unanswered(review, event) ?? unraised(ledger, review, event)
  return wrong === undefined ? undefined : `${wrong}; ${event.review} (${review.kind}) allows ${allowed.join(", ")}`
}

/** A decision that the question does not allow. */
export const undecidable = (
  { allowed }: Pick<ReviewState, "allowed">,
  { decision }: Of<"ReviewDecided">
): string | undefined =>
  allowed.includes(decision) ? undefined : `decision must be one of ${allowed.join(", ")}, got ${show(decision)}`

/** A field that says nothing with this decision. */
const misplaced = (
  { kind }: Pick<ReviewState, "kind">,
  { answer, decision, raise }: Of<"ReviewDecided">
): string | undefined => {
  if (answer !== undefined && decision !== "answer") {
    return `answer must not be given with the decision ${show(decision)}, got ${show(answer)}`
  }
  if (raise === undefined || (kind === "budget-increase" && decision === "approve")) return undefined
  return `raise must be given only where a budget-increase is approved, got ${show(raise)}`
}

const unanswered = (
  review: Pick<ReviewState, "facts" | "kind">,
  { answer, decision }: Of<"ReviewDecided">
): string | undefined => {
  if (decision !== "answer") return undefined
  const { choices, effect, field, question } = review.facts
  // Of what was done, anything may have come: nothing, too.
  if (typeof effect === "string" && answer !== undefined) return undefined
  if (answer === undefined || answer === null || (typeof answer === "string" && answer.trim() === "")) {
    const asked = typeof question === "string" ? ` to ${show(question)}` : ""
    return `answer must be the answer${asked}, got ${answer === undefined ? "none" : show(answer)}`
  }
  if (review.kind === "reconciliation" && typeof field === "string") {
    const chosen = recordOf(recordOf(answer)?.["reconcile"])
    const fields = chosen === undefined ? [] : Object.keys(chosen)
    const only = Object.keys(recordOf(answer) ?? {}).length === 1
    if (only && fields.length === 1 && fields[0] === field) return undefined
    const got = fields.length === 0 ? show(answer) : `one with ${fields.map((each) => show(each)).join(", ")}`
    return `answer must be { "reconcile": { ${JSON.stringify(field)}: value } }, got ${got}`
  }
  if (Array.isArray(choices)) {
    const name = typeof answer === "string" ? answer.trim().normalize("NFC") : undefined
    const known = choices.some((each) => typeof each === "string" && each.normalize("NFC") === name)
    if (!known) return `answer must be one of ${choices.join(", ")}, got ${show(answer)}`
  }
  return undefined
}

const recordOf = (value: Schema.Json | undefined): { readonly [key: string]: Schema.Json } | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) && isPlain(value)
    ? (value as { readonly [key: string]: Schema.Json })
    : undefined

const decodeUsage = Schema.decodeUnknownResult(Usage)

const unraised = (
  ledger: RunState["ledger"],
  { facts, kind }: Pick<ReviewState, "facts" | "kind">,
  { decision, raise }: Of<"ReviewDecided">
): string | undefined => {
  const { account, estimate } = facts
  if (kind !== "budget-increase" || decision !== "approve" || typeof account !== "string") return undefined
  const amount = EffectResult.getOrElse(decodeUsage(estimate), (): Usage => ({}))
  const wrong = tooSmall(account, ledger.accounts.get(account), amount, raise ?? {})
  if (raise !== undefined) return wrong
  return `raise is required: a budget-increase is approved with what ${account} is raised by, at least ${JSON.stringify(facts["needed"] ?? {})}`
}
