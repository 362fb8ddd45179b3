/**
 * What people are asked by a run, what they have answered, and what they have said that nobody has taken in yet.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import { fromRecord } from "../run/internal/log.ts"
import { shortened } from "../run/internal/problems.ts"
import { plain } from "../run/internal/text.ts"
import { wordOf } from "../run/internal/word.ts"
import type { Decision, Of, ReviewKind } from "../run/RunEvent.ts"

/** What a person decided. */
export type Said = Pick<Of<"ReviewDecided">, "review" | "decision" | "by" | "answer" | "raise" | "note">

/** What is asked, with all that people see of it. `claimed`: what was decided and is not taken in yet. */
export interface Asked {
  readonly review: string
  readonly facts: Of<"ReviewOpened">["facts"]
  readonly claimed?: Said | undefined
}

const saidOf = ({ answer, by, decision, note, raise, review }: Said): Said => ({
  review,
  decision,
  by,
  ...(answer === undefined ? {} : { answer }),
  ...(raise === undefined ? {} : { raise }),
  note
})

/** The open reviews of a run, and what was decided of others, in the order of the events. */
export const askedOf = Effect.fnUntraced(function* (run: string, to: number) {
  const journal = yield* Journal.Journal
  const open = new Map<string, Asked>()
  const decided: Array<Said> = []
  yield* Stream.runForEach(journal.read(run, { to }), (recorded) =>
    Effect.sync(() => {
      if (recorded.type !== "ReviewOpened" && recorded.type !== "ReviewDecided") return
      const event = EffectResult.getOrUndefined(fromRecord(recorded))
      if (event?._tag === "ReviewOpened") open.set(event.review, { review: event.review, facts: event.facts })
      if (event?._tag !== "ReviewDecided") return
      open.delete(event.review)
      decided.push(saidOf(event))
    })
  )
  for (const left of yield* journal.commands(run)) {
    const word = wordOf(left)
    if (word._tag !== "ReviewDecided") continue
    const asked = open.get(word.review)
    if (asked !== undefined) open.set(word.review, { ...asked, claimed: saidOf(word) })
  }
  return { open: [...open.values()], decided }
})

/** What a decision does, in a few words. */
export const meaningOf = (kind: ReviewKind, decision: Decision, facts: Asked["facts"]): string => {
  const group = kind === "routing"
  switch (decision) {
    case "approve":
      return kind === "action-approval"
        ? "the worker gets the order"
        : kind === "budget-increase"
          ? "the account is raised by what is given as raise"
          : kind === "scope-reduction"
            ? "what may be dropped is dropped, and the task is tried anew"
            : "the result is accepted"
    case "reject":
      return kind === "budget-increase"
        ? "nothing more is spent of the account"
        : kind === "scope-reduction"
          ? "the task ends with what there is"
          : group
            ? "the group is stopped with what there is"
            : "the task ends as rejected"
    case "retry":
      return typeof facts["effect"] === "string"
        ? "it has not happened, and is done"
        : "the task is tried anew, with the note as a hint"
    case "accept-partial":
      return typeof facts["field"] === "string" ? "the field is left out" : "what there is stands"
    case "answer":
      return typeof facts["effect"] === "string"
        ? "it has happened, and the answer is what came of it"
        : group
          ? "the group goes on with the answer"
          : typeof facts["field"] === "string"
            ? "the field has the value of the answer"
            : "the worker gets the answer"
    case "edit":
      return "approved with the arguments as they are changed"
  }
}

/** The longest sight of a value. */
const longest = 500

const valueText = (value: unknown): string =>
  plain(shortened(typeof value === "string" ? value : JSON.stringify(value), longest))

/** What a person decided, in words. */
export const saidText = ({ answer, by, decision, note, raise }: Said): string => {
  const what = answer === undefined ? "" : `, answer ${valueText(answer)}`
  const more = raise === undefined ? "" : `, raise ${valueText(raise)}`
  return `${decision} by ${plain(by)}${what}${more}${note === "" ? "" : `: ${plain(note)}`}`
}

/** What is known of a question, a line each. */
export const factLines = (
  kind: ReviewKind,
  allowed: ReadonlyArray<Decision>,
  { claimed, facts }: Asked
): ReadonlyArray<string> => [
  ...Object.entries(facts).map(([name, value]) => `           ${plain(name)}: ${valueText(value)}`),
  ...allowed.map((decision) => `           may ${decision}: ${meaningOf(kind, decision, facts)}`),
  ...(claimed === undefined ? [] : [`           decided: ${saidText(claimed)} (not taken in yet)`])
]
