/**
 * What a decision of people is called, on spans and on metrics.
 *
 * @since 0.1.0
 */
import type { Decision, ReviewKind } from "../../run/RunEvent.ts"

const said: Readonly<Record<Decision, string>> = {
  approve: "approved",
  reject: "rejected",
  retry: "retried",
  "accept-partial": "accepted_partial",
  answer: "responded",
  edit: "edited"
}

/** Who answers the question of whom to route to routes. */
export const decisionOf = (decision: Decision, kind: ReviewKind | undefined): string =>
  kind === "routing" && decision === "answer" ? "rerouted" : said[decision]
