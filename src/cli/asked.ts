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
import { meaningOf } from "../run/internal/meanings.ts"
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
  readonly dispatch?: string | undefined
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
      if (event?._tag === "ReviewOpened") {
        const { dispatch, facts, review } = event
        open.set(review, { review, facts, ...(dispatch === undefined ? {} : { dispatch }) })
      }
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
  { claimed, dispatch, facts }: Asked
): ReadonlyArray<string> => [
  ...Object.entries(facts).map(([name, value]) => `           ${plain(name)}: ${valueText(value)}`),
  ...allowed.map((decision) => `           may ${decision}: ${meaningOf({ kind, facts, dispatch }, decision)}`),
  ...(claimed === undefined ? [] : [`           decided: ${saidText(claimed)} (not taken in yet)`])
]
