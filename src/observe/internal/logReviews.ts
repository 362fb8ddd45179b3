/**
 * What is told of questions to people: that there is one, what became of it, and never what was asked or answered.
 *
 * @since 0.1.0
 */
import { type Memory, workerOn } from "./logMemory.ts"
import { type Fields, word } from "./logNames.ts"
import type { Table } from "./logSaid.ts"

const ofReview = (memory: Memory, review: string) => {
  const open = memory.reviews.get(review)
  const task = open?.task
  return { task, worker: task === undefined ? undefined : workerOn(memory, task) }
}

const reviewed =
  (memory: Memory, review: string, at: number, more: Fields = {}) =>
  (): Fields => {
    const open = memory.reviews.get(review)
    const about = open === undefined ? {} : { kind: word(open.kind), reason: word(open.reason), wait_ms: at - open.at }
    return { review, ...about, ...more }
  }

/** @since 0.1.0 */
export const reviews: Pick<Table, Extract<keyof Table, `Review${string}` | `Grant${string}` | "Notified">> = {
  ReviewOpened: ({ dispatch, kind, reason, review, task }, memory) => ({
    level: kind === "escalation" || kind === "reconciliation" ? "Warn" : "Info",
    name: "espalier.review.opened",
    message: `${review} was opened: ${kind} (${reason})`,
    task,
    worker: task === undefined ? undefined : workerOn(memory, task),
    more: () => ({ review, kind: word(kind), reason: word(reason), dispatch })
  }),
  ReviewDecided: ({ at, decision, review }, memory) => ({
    level: "Info",
    name: "espalier.review.decided",
    message: `${review} was decided: ${decision}`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at, { decision: word(decision) })
  }),
  ReviewVoted: ({ at, decision, review }, memory) => ({
    level: "Debug",
    name: "espalier.review.voted",
    message: `${review} has one more vote: ${decision}`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at, { decision: word(decision) })
  }),
  ReviewAdvanced: ({ at, review, stage, what }, memory) => ({
    level: what === "skipped" ? "Warn" : "Info",
    name: "espalier.review.advanced",
    message: `nobody has decided ${review} yet: ${what}`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at, { what, stage })
  }),
  ReviewExpired: ({ action, at, because, review }, memory) => ({
    level: "Warn",
    name: "espalier.review.expired",
    message: `nobody decided ${review} in time: ${action}`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at, { action: word(action), because: word(because) })
  }),
  ReviewWithdrawn: ({ at, review }, memory) => ({
    level: "Debug",
    name: "espalier.review.withdrawn",
    message: `${review} was taken back`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at)
  }),
  ReviewChanged: ({ at, review, what }, memory) => ({
    level: "Debug",
    name: "espalier.review.changed",
    message: `${review} was ${what}`,
    ...ofReview(memory, review),
    more: reviewed(memory, review, at, { what })
  }),
  ReviewRefused: ({ because, decision, review }, memory) => ({
    level: because === "self-approval" || because === "not-a-reviewer" ? "Warn" : "Info",
    name: "espalier.review.refused",
    message: `a decision about ${review} does not count: ${because}`,
    ...ofReview(memory, review),
    more: () => ({ review, decision: word(decision), because: word(because) })
  }),
  GrantStalled: ({ review, task, what }) => ({
    level: "Warn",
    name: "espalier.grant.stalled",
    message: what === "lapsed" ? `the approval of ${review} was never used` : `nothing is done with ${review}`,
    task,
    more: () => ({ review, what })
  }),
  GrantGiven: ({ review }, memory) => ({
    level: "Info",
    name: "espalier.grant.given",
    message: `the like of ${review} may be done without being asked`,
    ...ofReview(memory, review),
    more: () => ({ review })
  }),
  GrantRevoked: ({ review }, memory) => ({
    level: "Info",
    name: "espalier.grant.revoked",
    message: `the like of ${review} is asked about again`,
    ...ofReview(memory, review),
    more: () => ({ review })
  }),
  Notified: ({ channels, ok, review, what }, memory) => ({
    level: ok ? "Debug" : "Warn",
    name: "espalier.review.notified",
    message: ok ? `somebody was told of ${review}` : `nobody could be told of ${review}`,
    ...ofReview(memory, review),
    more: () => ({ review, what: word(what), outcome: ok ? "ok" : "failed", channels: channels.length })
  })
}
