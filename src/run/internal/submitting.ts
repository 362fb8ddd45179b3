/**
 * What becomes of what somebody decides: it settles the question, it is one vote of several, it is known already, or it does
 * not count.
 *
 * | the question | what comes | what becomes of it |
 * |---|---|---|
 * | open | a decision that it allows, of somebody who may | it is decided, or voted on |
 * | open | the same key as that of a vote | the same vote: known; another one: `idempotency-mismatch` |
 * | open | the same key as that of a vote that does not count any more | `stale-revision` |
 * | open | the same as a vote of the same | known |
 * | open | another digest; another revision | `digest-mismatch`; `stale-revision` |
 * | open, and somebody has changed what is approved | an approval of what was proposed, by its digest alone | `stale-revision` |
 * | open | of somebody who may not | `not-a-reviewer`, `self-approval`, `reviewers-unavailable` |
 * | open | no answer to it; changes that cannot be made | `invalid`; `invalid-edits` |
 * | decided | the same of the same, or with the same key | known |
 * | decided | anything else | `already-decided`, or `idempotency-mismatch` |
 * | open, its time is over and nobody has written that down yet | anything | `expired` |
 * | open, its time was over after it was said, and nobody has written that down yet | anything | as while it was open |
 * | expired, withdrawn, superseded | anything | `expired`, `withdrawn`, `superseded` |
 *
 * **Invariants**
 *
 * - J1. A question is decided once. What does not count changes nothing of it.
 * - J2. What somebody may not do, or does too late, is written down, up to {@link most} times in a run.
 * - J3. A question that needs several approvals has them of as many people: neither the same by another name, nor somebody and
 *   who acts for them or in their place, are two. Whoever changes what is approved has the others
 *   approve anew; where the terms say so, one of them has to be somebody else than who changed it. A vote that was sent before
 *   does not count for what it was changed to, and those who raise a budget by different amounts do not agree.
 * - J4. One rejection closes a question, unless its terms say otherwise.
 * - J5. Who was told that it does not count is not counted after all, whoever carries the run out.
 *
 * @since 0.1.0
 */
import type { Of, RefusedBecause, RunEvent } from "../RunEvent.ts"
import type { ClosedReview, ReviewState, RunState } from "../RunState.ts"
import { saidOf } from "./applying/reviews.ts"
import { objection } from "./applying/saying.ts"
import { canonical } from "./canonical.ts"
import { changing } from "./changing.ts"
import { isSameVoter } from "./principals.ts"
import { instant, many, shorten } from "./problems.ts"
import { clockOf, expiry } from "./timing.ts"

/**
 * What somebody is told who has decided.
 *
 * **Details**
 *
 * - `Applied`: it is decided. `Voted`: `votes` of the `need` approvals are there. `Replayed`: it was known already, and
 *   nothing was written. `Left`: another process carries the run out, and gets it.
 *
 * @since 0.1.0
 */
export type Heard =
  | { readonly _tag: "Applied" }
  | { readonly _tag: "Voted"; readonly votes: number; readonly need: number }
  | { readonly _tag: "Replayed" }
  | { readonly _tag: "Left" }
  | Refusal

/** What somebody is told whose word does not count. */
export interface Refusal {
  readonly _tag: "Refused"
  readonly because: RefusedBecause
  readonly reason: string
}

/** Whether who decides may. `via`: in whose place. */
export type Eligible =
  | { readonly _tag: "Eligible"; readonly via?: string | undefined }
  | {
      readonly _tag: "Refused"
      readonly because: "not-a-reviewer" | "self-approval" | "reviewers-unavailable"
      readonly reason: string
    }

/** What is heard, and the event that is written for it, if one is. */
export interface Submitted {
  readonly heard: Heard
  readonly event?: RunEvent | undefined
}

/** How many decisions of a run that did not count are written down. */
export const most = 200

/** What was refused and is no matter of record: it says nothing about who decides. */
const unrecorded: ReadonlySet<RefusedBecause> = new Set(["not-open", "stale-revision", "invalid", "invalid-edits"])

type Deciding = Of<"ReviewDecided">

/** What becomes of a decision. `since`: when it was said, where it had to wait to be taken in. */
export const submitted = (state: RunState, event: Deciding, eligible: Eligible, since = event.at): Submitted => {
  const open = state.reviews.get(event.review)
  if (open === undefined) return late(state, event)
  const known = open.votes.find(({ key }) => key !== undefined && key === event.key)
  if (known !== undefined) {
    const same = saidOf(known) === saidOf(event) && known.by === event.by
    return same ? replayed : refused(state, event, "idempotency-mismatch", mismatch(event))
  }
  if (event.key !== undefined && open.overtaken?.includes(event.key)) {
    const reason = `the vote with the key ${JSON.stringify(event.key)} does not count any more: ${changedSince(open)}`
    return refused(state, event, "stale-revision", reason)
  }
  const over = lapsed(state, open, Math.min(since, event.at))
  if (over !== undefined) return refused(state, event, "expired", over)
  if (event.digest !== undefined && event.digest !== open.digest) {
    const reason = `${open.review} is about ${short(open.digest)}, and this is a decision about ${short(event.digest)}`
    return refused(state, event, "digest-mismatch", reason)
  }
  if (open.votes.some((vote) => vote.by === event.by && saidOf(vote) === saidOf(event))) return replayed
  if (event.revision !== undefined && event.revision !== open.revision) {
    const reason = `${open.review} has changed: its revision is ${open.revision}, and this is a decision on ${event.revision}`
    return refused(state, event, "stale-revision", reason)
  }
  if (event.decision === "approve" && isEdited(open)) {
    // Who wants it so has said so already.
    if (open.votes.some((vote) => vote.edits !== undefined && isSameVoter(vote, event))) return replayed
    // What others are to approve is not what was proposed: nobody approves it who may not have seen it.
    if (event.revision === undefined) {
      const how = `look at it, and approve what it is now with the revision ${open.revision}`
      return refused(state, event, "stale-revision", `${changedSince(open)}; ${how}`)
    }
  }
  if (eligible._tag === "Refused") return refused(state, event, eligible.because, eligible.reason)
  const wrong = objection(state, event)
  if (wrong !== undefined) return refused(state, event, "invalid", wrong)
  const unchangeable = changing(open, event)
  if (unchangeable !== undefined) return refused(state, event, "invalid-edits", unchangeable)
  return counted(open, eligible.via === undefined ? event : { ...event, via: eligible.via })
}

/** Whether somebody has changed what is to be approved. */
const isEdited = ({ votes }: ReviewState): boolean => votes.some(({ edits }) => edits !== undefined)

const changedSince = ({ review, revision, votes }: ReviewState): string => {
  const editor = votes.findLast(({ edits }) => edits !== undefined)
  const what = editor?.edits === undefined ? "" : `: ${shorten(JSON.stringify(editor.edits), 300)}`
  const who = editor === undefined ? "" : `, by what ${editor.by} wants to be done${what}`
  return `${review} has changed${who}; its revision is ${revision}`
}

/** Why nobody can decide any more, although it is not written yet: who carries the run out was not there when it was time. */
const lapsed = (state: RunState, { held, review, steps, terms }: ReviewState, at: number): string | undefined => {
  const { final = "hold" } = terms ?? {}
  const due = steps.find(({ what }) => what === "expire")?.at
  return due === undefined || held === true || final === "hold" || due > clockOf(state, at)
    ? undefined
    : `the time of ${review} was over at ${instant(due) ?? due}: ${expiry[final]}`
}

const replayed: Submitted = { heard: { _tag: "Replayed" } }

const short = (digest: string | undefined): string =>
  digest === undefined ? "nothing that has a digest" : digest.slice(0, 12)

const mismatch = ({ key, review }: Deciding): string =>
  `the key ${JSON.stringify(key)} came with another decision about ${review} before`

/** That a decision does not count, and what is written of it, as far as there is room for it. */
export const refused = (
  state: Pick<RunState, "refusals">,
  event: Deciding,
  because: RefusedBecause,
  reason: string
): Submitted => {
  const heard: Heard = { _tag: "Refused", because, reason }
  if (unrecorded.has(because) || state.refusals >= most) return { heard }
  const { at, by, decision, principal, review } = event
  const last = state.refusals + 1 === most ? "; from here on, what does not count is not written down any more" : ""
  const note = `${by} decided ${review} (${decision}), which does not count: ${reason}${last}`
  const who = principal === undefined ? {} : { principal }
  return { heard, event: { _tag: "ReviewRefused", at, review, decision, by, ...who, because, note } }
}

/** Why what somebody says about a question without deciding it does not count. `since`: see {@link submitted}. */
export const unheard = (
  state: RunState,
  { _tag, at, review: id }: { readonly _tag: string; readonly at: number; readonly review: string },
  eligible: Eligible,
  since = at
): Refusal | undefined => {
  // A grant outlives its question.
  if (_tag === "GrantRevoked") return eligible._tag === "Refused" ? eligible : undefined
  const open = state.reviews.get(id)
  const over = open === undefined ? undefined : lapsed(state, open, Math.min(since, at))
  if (over !== undefined) return { _tag: "Refused", because: "expired", reason: over }
  const before = open === undefined ? state.closed.get(id) : undefined
  if (before === undefined) return eligible._tag === "Refused" ? eligible : undefined
  const { as } = before
  return { _tag: "Refused", because: as === "decided" ? "already-decided" : as, reason: howClosed(id, before) }
}

/**
 * What becomes of a refusal that somebody was told elsewhere: it is written down, as far as there is room for it, and where
 * there is such a question.
 */
export const relayed = (
  { closed, refusals, reviews }: Pick<RunState, "closed" | "refusals" | "reviews">,
  event: Of<"ReviewRefused">
): Submitted => {
  const { because, note: reason, review } = event
  const heard: Heard = { _tag: "Refused", because, reason }
  const known = reviews.has(review) || closed.has(review)
  return known && !unrecorded.has(because) && refusals < most ? { heard, event } : { heard }
}

/** Of a question that is closed, or never was. */
const late = (state: RunState, event: Deciding): Submitted => {
  const { key, review: id } = event
  const closed = state.closed.get(id)
  if (closed === undefined) return refused(state, event, "not-open", `the review ${id} is not open; ${openOnes(state)}`)
  const same = closed.said === saidOf(event)
  if (key !== undefined && key === closed.key) {
    return same ? replayed : refused(state, event, "idempotency-mismatch", mismatch(event))
  }
  if (closed.as === "decided" && same && closed.by === event.by) return replayed
  return refused(state, event, closed.as === "decided" ? "already-decided" : closed.as, howClosed(id, closed))
}

const openOnes = ({ reviews }: RunState): string =>
  reviews.size === 0 ? "none is" : `open are ${shorten([...reviews.keys()].join(", "), 500)}`

/** How a question was closed, to be told to whoever comes late. */
export const howClosed = (
  id: string,
  { action, as, at, by, decision, instead }: Pick<ClosedReview, "as" | "at"> & Partial<ClosedReview>
): string => {
  const when = instant(at) ?? `${at}`
  switch (as) {
    case "decided":
      return `${id} was decided by ${by} at ${when} (${decision})`
    case "expired":
      return `the time of ${id} was over at ${when}: ${action === undefined ? "" : expiry[action]}`
    case "withdrawn":
      return `${id} was withdrawn at ${when}${by === undefined ? ", because nobody needs the answer any more" : ` by ${by}`}`
    case "superseded":
      return `${id} was put anew at ${when}, as ${instead}`
  }
}

/** What is approved with a decision; a rejection is no approval. */
const approves = (decision: Deciding["decision"]): boolean => decision === "approve" || decision === "edit"

/** Counts it in. J3, J4 */
const counted = (review: ReviewState, event: Deciding): Submitted => {
  const { quorum = 1, separation, veto = true } = review.terms ?? {}
  const { by, decision, edits } = event
  const others = edits === undefined ? review.votes.filter((vote) => !isSameVoter(vote, event)) : []
  if (decision === "reject" && !veto && quorum > 1) {
    const against = others.filter((vote) => vote.decision === "reject").length + 1
    return against < quorum ? vote(event, against, quorum) : applied(event)
  }
  if (!approves(decision)) return applied(event)
  const raise = amountOf(event)
  const votes = others.filter((vote) => approves(vote.decision) && amountOf(vote) === raise).length + 1
  const editor = edits === undefined ? others.findLast((vote) => vote.edits !== undefined) : { by, edits }
  const alone = separation === "requester-and-editor" && editor !== undefined && votes === 1
  const need = alone ? Math.max(quorum, 2) : quorum
  if (votes < need) return vote(event, votes, need)
  // What was changed before is what everybody since has approved.
  if (edits === undefined && editor?.edits !== undefined) {
    return applied({ ...event, decision: "edit", edits: editor.edits })
  }
  return applied(event)
}

/** What a budget is raised by, as one text. */
const amountOf = ({ raise }: Pick<Deciding, "raise">): string => canonical(raise ?? null)

const applied = (event: Deciding): Submitted => ({ heard: { _tag: "Applied" }, event })

const vote = (event: Deciding, votes: number, need: number): Submitted => {
  const { _tag: _, answer: _a, grant: _g, note, ...rest } = event
  const said = `${note} (${many(votes, "vote")} of ${need})`
  return { heard: { _tag: "Voted", votes, need }, event: { _tag: "ReviewVoted", ...rest, note: said } }
}
