/**
 * What happens to a question to a person.
 *
 * While a task waits for a person its time stands still, and so does the run's while nothing else goes on.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Of } from "../../RunEvent.ts"
import type { Answer, ReviewState, TaskState } from "../../RunState.ts"
import { type Draft, hasEnded, outgrown } from "./draft.ts"
import { answered } from "./effects.ts"
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
  "evidence"
])

export const opened = (draft: Draft, event: Of<"ReviewOpened">): string | undefined => {
  const { _tag: _, at, facts: shown, review, task: id, ...rest } = event
  const next = `${draft.run}/review/${draft.reviewed + 1}`
  if (review !== next) return `the next review is ${next}, not ${review}`
  if (id === undefined) {
    const group = draft.groups.get("")
    if (group === undefined || group.review !== undefined) return "a review of the run is open already"
    draft.groups.set("", { ...group, review })
  } else {
    const task = draft.tasks.get(id)
    if (task === undefined) return `there is no task ${JSON.stringify(id)}`
    const group = draft.groups.get(id)
    if (group !== undefined && !group.merged) {
      if (group.review !== undefined) return `a review of ${id} is open already`
      draft.groups.set(id, { ...group, review })
    } else {
      if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}`
      if (task.dispatch !== undefined || task.routed !== undefined) return `the task ${task.id} is ${task.status}`
      if (task.review !== undefined) return `${task.review} is open already`
      draft.due.delete(id)
      draft.ready.delete(id)
      draft.timed.delete(id)
      draft.tasks.set(id, { ...task, status: "awaiting-review", review, heldAt: at })
    }
  }
  draft.reviewed += 1
  const facts = Object.fromEntries(Object.entries(shown).filter(([name]) => !forPeople.has(name)))
  draft.size += JSON.stringify(facts).length + event.note.length + 160
  draft.reviews.set(review, { ...rest, facts, review, at, ...(id === undefined ? {} : { task: id }) })
  return undefined
}

export const decided = (draft: Draft, event: Of<"ReviewDecided">): string | undefined => {
  const { answer, at, by, decision, note, raise, review: id } = event
  const review = draft.reviews.get(id)
  if (review === undefined) return `the review ${id} is not open`
  const wrong = undecidable(review, event)
  if (wrong !== undefined) return wrong
  const bytes = note.length + 160 + (answer === undefined ? 0 : JSON.stringify(answer).length)
  const large = outgrown(draft, bytes, "this answer")
  if (large !== undefined) return large
  const { kind, reason } = review
  if (kind === "budget-increase" && decision === "approve" && raise === undefined) {
    return `${id} can be approved only with a raise; a raise of nothing opens the account again`
  }
  const about = draft.tasks.get(review.task ?? "")
  const tries = about?.tries.length ?? 0
  const said: Answer = {
    review: id,
    kind,
    reason,
    decision,
    by,
    tries,
    note,
    ...(answer === undefined ? {} : { answer })
  }
  draft.reviews.delete(id)
  draft.size += bytes
  const account = review.facts["account"]
  if (kind === "budget-increase" && typeof account === "string") {
    if (decision !== "approve") draft.unraised = [...draft.unraised, account]
    else if (raise !== undefined) {
      Budget.raise(draft.ledger, account, raise)
      if (account === "run") delete draft.spent
    }
  }
  answered(draft, review, event)
  const subject = review.task ?? ""
  const group = draft.groups.get(subject)
  if (group !== undefined && group.review === id) {
    const { review: _, ...rest } = group
    draft.groups.set(subject, { ...rest, said: [...group.said, said] })
    return undefined
  }
  const task = draft.tasks.get(subject)
  if (task === undefined || task.review !== id) return undefined
  draft.due.add(task.id)
  if (task.deadlineAt !== undefined && !task.expired) draft.timed.add(task.id)
  draft.tasks.set(task.id, heard(task, said, review.facts, at))
  return undefined
}

const heard = (task: TaskState, said: Answer, facts: ReviewState["facts"], at: number): TaskState => {
  const { heldAt, review: _, ...rest } = task
  const { decision, kind } = said
  const { digest, drop, worker } = facts
  const approves = decision === "approve"
  const anew = decision === "retry" || decision === "answer" || (approves && kind === "scope-reduction")
  return {
    ...rest,
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
        ? [...task.approved, { worker, ...(typeof digest === "string" ? { digest } : {}) }]
        : task.approved
  }
}
