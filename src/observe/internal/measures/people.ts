/**
 * Questions to people: why they are asked, how long they take, and what they say.
 *
 * **Details**
 *
 * How long somebody works on a question is known only where they say so by taking care of it (`Review.claim`): from then on to the
 * decision, and no longer than they said. What nobody claims has no such time.
 *
 * @since 0.1.0
 */
import type { Of } from "../../../run/RunEvent.ts"
import { decisionOf } from "../decisions.ts"
import { attribute as a, word } from "../names.ts"
import { type Measure, measured, type Measurement, nothing, seconds } from "./measurement.ts"
import type { Memory } from "./memory.ts"
import type { OpenReview } from "./openWork.ts"

const risks: ReadonlySet<unknown> = new Set(["low", "medium", "high"])

const riskOf = ({ facts }: Of<"ReviewOpened">): string | undefined =>
  risks.has(facts["risk"]) ? String(facts["risk"]) : undefined

const of = (event: Of<"ReviewOpened">): Readonly<Record<string, string | undefined>> => ({
  [a.reviewKind]: word(event.kind),
  [a.risk]: riskOf(event)
})

/** A question is closed: by whom, and how. */
const closed = (
  { claim, event, stage }: OpenReview,
  at: number,
  decision: string,
  actor: "human" | "policy" | "system",
  { desk }: Memory
): Array<Measurement> => {
  const attributes = { ...of(event), [a.decision]: decision, [a.stage]: stage }
  const found = [
    measured("espalier.review.decisions", 1, { ...attributes, [a.workflow]: desk, [a.actorKind]: actor }),
    measured("espalier.review.wait.duration", seconds(at - event.at), attributes)
  ]
  if (actor !== "human" || claim === undefined) return found
  const handled = seconds(Math.min(at, claim.until) - claim.since)
  found.push(measured("espalier.review.handling.duration", handled, { ...of(event), [a.workflow]: desk }))
  return found
}

const decided = (event: Of<"ReviewDecided">, review: OpenReview, before: Memory): ReadonlyArray<Measurement> => {
  if (event.grant !== undefined) return closed(review, event.at, "auto", "policy", before)
  return closed(review, event.at, decisionOf(event.decision, review.event.kind), "human", before)
}

/** @since 0.1.0 */
export const people: Measure = (event, before) => {
  if (event._tag === "ReviewOpened") {
    const attributes = { ...of(event), [a.workflow]: before.desk, [a.reviewReason]: word(event.reason) }
    return [measured("espalier.review.requests", 1, attributes)]
  }
  if (event._tag === "ReviewRefused") {
    return [measured("espalier.review.conflicts", 1, { [a.conflict]: word(event.because) })]
  }
  if (event._tag !== "ReviewDecided" && event._tag !== "ReviewExpired" && event._tag !== "ReviewWithdrawn") {
    return nothing
  }
  const review = before.reviews.get(event.review)
  if (review === undefined) return nothing
  switch (event._tag) {
    case "ReviewDecided":
      return decided(event, review, before)
    case "ReviewExpired":
      return event.action === "hold" ? nothing : closed(review, event.at, "expired", "system", before)
    case "ReviewWithdrawn":
      return closed(review, event.at, "withdrawn", event.by === undefined ? "system" : "human", before)
  }
}
