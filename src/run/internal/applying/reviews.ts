/**
 * What happens to a question to a person: it is opened, decided, and closed in other ways.
 *
 * While a task waits for a person its time stands still, and so does the run's while nothing else goes on.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import * as Ladder from "../../Ladder.ts"
import type { FinalAction, Of } from "../../RunEvent.ts"
import type { Answer, ClosedReview, ReviewState, TaskState } from "../../RunState.ts"
import { digest } from "../canonical.ts"
import { isText } from "../fields.ts"
import { isSameVoter } from "../principals.ts"
import { type Draft, hasEnded, outgrown } from "./draft.ts"
import { answered } from "./effects.ts"
import { barred, used } from "./granting.ts"
import * as parking from "./parking.ts"
import { undecidable } from "./saying.ts"

/** Facts that are only there for people to see: of what is ordered, it is the digest that the state goes by. */
const forPeople: ReadonlySet<string> = new Set([
  "order",
  "description",
  "objective",
  "arguments",
  "largeArguments",
  "output",
  "largeOutput",
  "missing",
  "evidence",
  "plan",
  "schema",
  "rationale"
])

/** Those of them that changes of what is proposed are checked by. */
const forEditors: ReadonlySet<string> = new Set(["arguments", "schema"])

/** How long an approval holds that its terms say nothing of, and when somebody is told that it is not used. */
const unused = { grant: 24 * 3600 * 1000, stalled: 10 * 60 * 1000 }

/** The id of the question that is opened next. */
export const nextReview = ({ reviewed, run }: Pick<Draft, "reviewed" | "run">): string =>
  `${run}/review/${reviewed + 1}`

/** What a question takes in the state beside its own texts; what it leaves there once it is closed. */
const perReview = 160
const perClosed = 320

const weigh = ({ facts, note, terms }: Pick<ReviewState, "facts" | "note" | "terms">): number =>
  JSON.stringify(facts).length + note.length + perReview + (terms === undefined ? 0 : JSON.stringify(terms).length)

export const opened = (draft: Draft, event: Of<"ReviewOpened">): string | undefined => {
  const { _tag: _, at, edited: _e, facts: shown, grant: _g, review, steps = [], supersedes, task: id, ...rest } = event
  const next = nextReview(draft)
  if (review !== next) return `the next review is ${next}, not ${review}`
  const uncovered = barred(draft, event)
  if (uncovered !== undefined) return uncovered
  // What may be changed is looked at when somebody changes it.
  const kept = (name: string) => !forPeople.has(name) || (event.editable !== undefined && forEditors.has(name))
  const facts = Object.fromEntries(Object.entries(shown).filter(([name]) => kept(name)))
  const open: ReviewState = {
    ...rest,
    facts,
    review,
    at,
    ...(id === undefined ? {} : { task: id }),
    ...(supersedes === undefined ? {} : { supersedes }),
    steps,
    stage: 0,
    extended: 0,
    revision: 1,
    votes: []
  }
  const bytes = weigh(open)
  // What the work of an order asks can be refused; what a decision asks has to be asked.
  const large = event.dispatch === undefined ? undefined : outgrown(draft, bytes + forAnswers, "this question")
  const wrong = large ?? (event.dispatch === undefined ? place(draft, event) : asked(draft, event))
  if (wrong !== undefined) return wrong
  const before = supersedes === undefined ? undefined : draft.reviews.get(supersedes)
  if (before !== undefined) close(draft, before, { as: "superseded", at, instead: review })
  if (supersedes !== undefined) draft.grants.delete(supersedes)
  draft.reviewed += 1
  draft.size += bytes
  draft.reviews.set(review, open)
  return undefined
}

/** A question about the run, a group or a task. */
const place = (draft: Draft, { at, review, task: id }: Of<"ReviewOpened">): string | undefined => {
  if (id === undefined) {
    const group = draft.groups.get("")
    if (group === undefined || group.review !== undefined) return "a review of the run is open already"
    draft.groups.set("", { ...group, review })
    return undefined
  }
  const task = draft.tasks.get(id)
  if (task === undefined) return `there is no task ${JSON.stringify(id)}`
  const group = draft.groups.get(id)
  if (group !== undefined && !group.merged) {
    if (group.review !== undefined) return `a review of ${id} is open already`
    draft.groups.set(id, { ...group, review })
    return undefined
  }
  if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}`
  if (task.dispatch !== undefined || task.parked !== undefined || task.routed !== undefined) {
    return `the task ${task.id} is ${task.status}`
  }
  if (task.review !== undefined) return `${task.review} is open already`
  draft.due.delete(id)
  draft.ready.delete(id)
  draft.timed.delete(id)
  draft.tasks.set(id, { ...task, status: "awaiting-review", review, heldAt: at })
  return undefined
}

/** What is left of the state for answers when the work of orders cannot ask any more: 128 KiB. */
const forAnswers = 128 * 1024

/** A question of the work of an order, which goes on for now. */
const asked = (draft: Draft, event: Of<"ReviewOpened">): string | undefined => {
  const { dispatch, edited, key, review, supersedes, task: id = "" } = event
  const task = draft.tasks.get(id)
  if (task === undefined) return `there is no task ${JSON.stringify(id)}`
  if (task.dispatch?.id !== dispatch) return `${dispatch} is not open`
  if (task.dispatch?.recalled !== undefined) return `${dispatch} is called back`
  if (key === undefined) return "a question of the work of an order has a key"
  const before = draft.asks.get(key)
  if (before !== undefined && before.review !== supersedes && draft.reviews.has(before.review)) {
    return `${before.review} asks the same and is open`
  }
  draft.asks.set(key, { task: id, review, ...(edited === undefined ? {} : { edited }) })
  return undefined
}

/** Closes a question, and leaves of it what those who come late are told. */
const close = (
  draft: Draft,
  review: ReviewState,
  how: Pick<ClosedReview, "as" | "at"> & Partial<ClosedReview>
): void => {
  const { digest, dispatch, facts, kind, review: id, task, terms } = review
  const { call, tool } = facts
  draft.reviews.delete(id)
  draft.size += perClosed - weigh(review)
  draft.closed.set(id, {
    kind,
    version: draft.version + 1,
    ...(task === undefined ? {} : { task }),
    ...(dispatch === undefined ? {} : { dispatch }),
    ...(digest === undefined ? {} : { digest }),
    ...(typeof tool === "string" ? { tool } : {}),
    ...(typeof call === "string" ? { call } : {}),
    ...(terms?.onReject === undefined ? {} : { onReject: terms.onReject }),
    ...how
  })
}

/** What somebody has said, as one text: two who said the same have said the same text. */
export const saidOf = ({
  answer,
  decision,
  edits,
  raise
}: Partial<Pick<Of<"ReviewDecided">, "answer" | "decision" | "edits" | "raise">>): string =>
  digest(JSON.stringify([decision, answer ?? null, edits ?? null, raise ?? null])).slice(0, 16)

export const decided = (draft: Draft, event: Of<"ReviewDecided">): string | undefined => {
  const { answer, at, by, decision, key, note, raise, review: id } = event
  const review = draft.reviews.get(id)
  if (review === undefined) return `the review ${id} is not open`
  const wrong = undecidable(review, event)
  if (wrong !== undefined) return wrong
  const bytes = note.length + 160 + (answer === undefined ? 0 : JSON.stringify(answer).length)
  const large = outgrown(draft, bytes, "this answer")
  if (large !== undefined) return large
  const { kind } = review
  if (kind === "budget-increase" && decision === "approve" && raise === undefined) {
    return `${id} can be approved only with a raise; a raise of nothing opens the account again`
  }
  const covered = event.grant === undefined ? undefined : used(draft, event.grant, review.facts["tool"])
  if (covered !== undefined) return covered
  draft.size += bytes
  close(draft, review, {
    as: "decided",
    at,
    decision,
    by,
    said: saidOf(event),
    ...(key === undefined ? {} : { key })
  })
  if (decision === "approve" || decision === "edit") approve(draft, review, at)
  const account = review.facts["account"]
  if (kind === "budget-increase" && typeof account === "string") {
    if (decision !== "approve") draft.unraised = [...draft.unraised, account]
    else if (raise !== undefined) {
      Budget.raise(draft.ledger, account, raise)
      if (account === "run") delete draft.spent
    }
  }
  answered(draft, review, event)
  tell(draft, review, { decision, by, note, ...(answer === undefined ? {} : { answer }) }, at)
  return undefined
}

/** What was approved may be done once, for a while. */
const approve = (
  draft: Draft,
  { digest, dispatch, facts, kind, review, task, terms }: ReviewState,
  at: number
): void => {
  if (kind !== "action-approval" || task === undefined) return
  const { tool } = facts
  draft.grants.set(review, {
    task,
    until: at + (terms?.grantMillis ?? unused.grant),
    stallsAt: at + (terms?.stalledMillis ?? unused.stalled),
    ...(dispatch === undefined ? {} : { dispatch }),
    ...(digest === undefined ? {} : { digest }),
    ...(typeof tool === "string" ? { tool } : {})
  })
}

/** Tells whoever asked what was said, or that nobody said anything. */
const tell = (
  draft: Draft,
  { dispatch, facts, kind, reason, review: id, task: subject = "" }: ReviewState,
  what: Pick<Answer, "answer" | "by" | "decision" | "instead" | "note">,
  at: number
): void => {
  const task = draft.tasks.get(subject)
  if (dispatch !== undefined) {
    // Its work begins anew and asks the same once more, which is answered then.
    if (task?.parked?.id === dispatch) parking.heard(draft, task, at)
    return
  }
  const said: Answer = { review: id, kind, reason, tries: task?.tries.length ?? 0, ...what }
  const group = draft.groups.get(subject)
  if (group !== undefined && group.review === id) {
    const { review: _, ...rest } = group
    draft.groups.set(subject, { ...rest, said: [...group.said, said] })
    return
  }
  if (task === undefined || task.review !== id) return
  draft.due.add(task.id)
  if (task.deadlineAt !== undefined && !task.expired) draft.timed.add(task.id)
  draft.tasks.set(task.id, heard(task, said, facts, at))
}

const heard = (task: TaskState, said: Answer, facts: ReviewState["facts"], at: number): TaskState => {
  const { consult, heldAt, review, ...rest } = task
  const { decision, kind } = said
  const { digest, drop, worker } = facts
  const approves = decision === "approve"
  const anew = decision === "retry" || decision === "answer" || (approves && kind === "scope-reduction")
  return {
    ...rest,
    // A choice that could not be used is over once a person has said what follows.
    ...(consult === undefined || consult.status === "failed" ? {} : { consult }),
    status: "ready",
    answers: [...task.answers, said],
    ...(task.deadlineAt === undefined || heldAt === undefined ? {} : { deadlineAt: task.deadlineAt + (at - heldAt) }),
    // What a person has tried anew begins a new ladder.
    ladder: anew ? task.tries.length : task.ladder,
    dropped:
      approves && kind === "scope-reduction" && Array.isArray(drop)
        ? [...task.dropped, ...drop.filter((each) => typeof each === "string")]
        : task.dropped,
    approved:
      approves && kind === "action-approval" && typeof worker === "string"
        ? [
            ...task.approved,
            {
              worker,
              ...(typeof digest === "string" ? { digest } : {}),
              ...(review === undefined ? {} : { review })
            }
          ]
        : task.approved
  }
}

/** The open question of an event, or why there is none. */
const openOf = (draft: Draft, id: string): ReviewState | string =>
  draft.reviews.get(id) ?? `the review ${id} is not open`

export const voted = (draft: Draft, event: Of<"ReviewVoted">): string | undefined => {
  const { at, by, decision, edits, key, principal, raise, review: id, via } = event
  const review = openOf(draft, id)
  if (typeof review === "string") return review
  if (review.votes.some((vote) => vote.by === by && saidOf(vote) === saidOf(event))) return `${by} has voted already`
  const vote = {
    by,
    decision,
    at,
    ...(principal === undefined ? {} : { principal }),
    ...(via === undefined ? {} : { via }),
    ...(edits === undefined ? {} : { edits }),
    ...(raise === undefined ? {} : { raise }),
    ...(key === undefined ? {} : { key })
  }
  // Who changes what is decided on has everybody vote anew.
  const votes = edits === undefined ? [...review.votes.filter((each) => !isSameVoter(each, event)), vote] : [vote]
  const bytes = JSON.stringify(vote).length
  const large = outgrown(draft, bytes, "this vote")
  if (large !== undefined) return large
  draft.size += bytes
  const gone = review.votes.flatMap((each) => (each.key === undefined || votes.includes(each) ? [] : [each.key]))
  const overtaken = [...(review.overtaken ?? []), ...gone]
  draft.reviews.set(id, {
    ...review,
    votes,
    ...(overtaken.length === 0 ? {} : { overtaken }),
    revision: review.revision + 1
  })
  return undefined
}

export const advanced = (draft: Draft, event: Of<"ReviewAdvanced">): string | undefined => {
  const { at, review: id, stage, what } = event
  const review = openOf(draft, id)
  if (typeof review === "string") return review
  const [step, ...rest] = review.steps
  if (what === "skipped") {
    // There is nobody to wait for: the next stage, which nobody of this one is reminded of any more, begins now.
    const next = review.steps.findIndex((each) => each.what !== "remind")
    const [begins, ...after] = next < 0 ? [] : review.steps.slice(next)
    if (review.stage !== stage) return `${id} is at stage ${review.stage}, not at ${stage}`
    if (begins?.what !== "widen") return `${id} has no stage after ${stage}`
    if (review.to !== undefined) return `${id} asks others than those of its stages`
    draft.reviews.set(id, { ...review, steps: [{ ...begins, at: Math.min(begins.at, at) }, ...after] })
    return undefined
  }
  const wanted = what === "reminded" ? "remind" : "widen"
  if (step?.what !== wanted || step.stage !== stage) return `${id} is not ${what} at stage ${stage} now`
  if (at < step.at) return `the next step of ${id} is not due before ${step.at}`
  const steps = what === "reminded" && review.held === true ? [Ladder.holding(at, stage)] : rest
  draft.reviews.set(id, { ...review, steps, stage: what === "widened" ? stage : review.stage })
  return undefined
}

const decisions: { readonly [A in Exclude<FinalAction, "hold">]: "approve" | "reject" } = {
  approve: "approve",
  reject: "reject",
  halt: "reject"
}

export const expired = (draft: Draft, event: Of<"ReviewExpired">): string | undefined => {
  const { action, at, note, review: id } = event
  const review = openOf(draft, id)
  if (typeof review === "string") return review
  if (event.because === "no-reviewer" && review.to !== undefined) return `${id} asks others than those of its stages`
  if (event.because === "no-reviewer" && review.held === true) return `${id} is held already`
  if (event.because === "deadline" && review.steps[0]?.what !== "expire") return `${id} has not expired`
  if (action === "hold") {
    draft.reviews.set(id, { ...review, held: true, steps: [Ladder.holding(at, review.stage)] })
    return undefined
  }
  const decision = decisions[action]
  close(draft, review, { as: "expired", at, action, decision })
  if (decision === "approve") approve(draft, review, at)
  const { account } = review.facts
  if (review.kind === "budget-increase" && typeof account === "string") draft.unraised = [...draft.unraised, account]
  tell(draft, review, { decision, by: "system", instead: action, note }, at)
  return undefined
}

export const withdrawn = (draft: Draft, event: Of<"ReviewWithdrawn">): string | undefined => {
  const { at, by, note, review: id } = event
  const review = openOf(draft, id)
  if (typeof review === "string") return review
  close(draft, review, { as: "withdrawn", at, ...(by === undefined ? {} : { by }) })
  if (by !== undefined || review.dispatch !== undefined) {
    // As of an end that somebody asks for: old journals may have taken in one that says nothing.
    tell(
      draft,
      review,
      { decision: "reject", by: by ?? "system", instead: "withdrawn", note: isText(note) ? note : "no reason given" },
      at
    )
    return undefined
  }
  // Nobody needs the answer any more: what becomes of those who asked is decided without it.
  const subject = review.task ?? ""
  const group = draft.groups.get(subject)
  if (group?.review === id) {
    const { review: _, ...rest } = group
    draft.groups.set(subject, rest)
  }
  const task = draft.tasks.get(subject)
  if (task?.review !== id) return undefined
  const { deadlineAt, heldAt = at, review: _, ...rest } = task
  draft.due.add(subject)
  if (deadlineAt !== undefined && !task.expired) draft.timed.add(subject)
  const moved = deadlineAt === undefined ? {} : { deadlineAt: deadlineAt + (at - heldAt) }
  draft.tasks.set(subject, { ...rest, status: "ready", ...moved })
  return undefined
}

export const changed = (draft: Draft, event: Of<"ReviewChanged">): string | undefined => {
  const { by, millis = 0, review: id, to, until, what } = event
  const review = openOf(draft, id)
  if (typeof review === "string") return review
  const { claimed, ...rest } = review
  const revision = review.revision + 1
  switch (what) {
    case "claimed":
      if (until === undefined) return `${id} is claimed until some time`
      draft.reviews.set(id, { ...review, revision, claimed: { by, until } })
      return undefined
    case "released":
      if (claimed === undefined) return `nobody takes care of ${id}`
      draft.reviews.set(id, { ...rest, revision })
      return undefined
    case "reassigned":
      if (to === undefined || to.length === 0) return `${id} is reassigned to nobody`
      draft.size += JSON.stringify(to).length
      draft.reviews.set(id, { ...rest, revision, to })
      return undefined
    case "extended": {
      const most = review.terms?.extensions ?? 2
      if (review.extended >= most) return `${id} has been extended ${review.extended} times, and no more is allowed`
      if (!(millis > 0)) return `${id} is extended by nothing`
      if (!review.steps.some((step) => step.what === "expire")) return `${id} has no deadline that could be later`
      draft.reviews.set(id, {
        ...review,
        revision,
        extended: review.extended + 1,
        steps: Ladder.extend(review.steps, millis)
      })
      return undefined
    }
  }
}

export const refused = (draft: Draft): undefined => {
  draft.refusals += 1
  return undefined
}

export const stalled = (draft: Draft, { review: id, task: subject, what }: Of<"GrantStalled">): string | undefined => {
  const grant = draft.grants.get(id)
  if (grant === undefined) return `${id} is no approval that was not used`
  if (what === "stalled") {
    const { stallsAt: _, ...rest } = grant
    draft.grants.set(id, rest)
    return undefined
  }
  draft.grants.delete(id)
  const task = draft.tasks.get(subject)
  if (task !== undefined) {
    draft.tasks.set(subject, { ...task, approved: task.approved.filter(({ review }) => review !== id) })
  }
  return undefined
}

/**
 * The deadlines of questions are later by so much: nobody could decide, because the run was put down. So are those of these
 * approvals.
 */
export const postpone = (draft: Draft, millis: number, approved: ReadonlySet<string>): void => {
  if (millis <= 0) return
  for (const [id, review] of draft.reviews) {
    if (review.steps.length > 0) draft.reviews.set(id, { ...review, steps: Ladder.pause(review.steps, millis) })
  }
  for (const [id, grant] of draft.grants) {
    if (!approved.has(id)) continue
    const { stallsAt, until } = grant
    const later = stallsAt === undefined ? {} : { stallsAt: stallsAt + millis }
    draft.grants.set(id, { ...grant, until: until + millis, ...later })
  }
}
