/**
 * What happens to a group: it is opened, gets tasks, asks for choices, is stopped, and is merged.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Containment, Of, PlannedTask } from "../../RunEvent.ts"
import type { Consult, GroupState, TaskState } from "../../RunState.ts"
import { addTasks, type Draft, hasEnded, hasOutput, outgrown, weigh } from "./draft.ts"
import { resultOf, tried } from "./orders.ts"
import { isFree } from "./tasks.ts"

export const empty = (id: string, kind: string, containment: Containment): GroupState => ({
  id,
  kind,
  containment,
  tasks: [],
  open: 0,
  accepted: 0,
  partial: 0,
  lost: 0,
  answers: [],
  said: [],
  merged: false
})

/** The ways in which a task is carried out by tasks of its own because it could not be done as it was. */
const expansions = ["decompose", "re-plan", "follow-up"] as const

export const opened = (draft: Draft, task: TaskState, event: Of<"GroupOpened">): string | undefined => {
  if (!isFree(draft, task)) return `the task ${task.id} is ${task.status}`
  if (task.routed !== undefined) return `the task ${task.id} is routed to ${task.routed}`
  const { containment, deadlineAt, kind, limits, tasks } = event
  draft.groups.set(task.id, empty(task.id, kind, containment))
  const wrong = addTasks(draft, task.id, tasks)
  if (wrong !== undefined) {
    draft.groups.delete(task.id)
    return wrong
  }
  if (limits !== undefined) Budget.allot(draft.ledger, `task:${task.id}`, limits)
  const expansion = expansions.find((each) => each === kind)
  const { consult: _, ...rest } = task
  draft.due.delete(task.id)
  draft.ready.delete(task.id)
  if (!task.expired && (task.deadlineAt ?? deadlineAt) !== undefined) draft.timed.add(task.id)
  draft.tasks.set(task.id, {
    ...rest,
    status: "running",
    ...(task.deadlineAt === undefined && deadlineAt !== undefined ? { deadlineAt } : {}),
    expansions: expansion === undefined ? task.expansions : [...task.expansions, expansion]
  })
  return undefined
}

/** The group, unless it is over. */
const going = (draft: Draft, id: string): GroupState | string => {
  const group = draft.groups.get(id)
  if (group === undefined) return `there is no group ${JSON.stringify(id)}`
  return group.merged ? `the group ${JSON.stringify(id)} is merged` : group
}

export const add = (draft: Draft, event: Of<"TasksAdded">): string | undefined => {
  const group = going(draft, event.group)
  if (typeof group === "string") return group
  if (group.stopping !== undefined) return `the group ${JSON.stringify(group.id)} is being stopped`
  return addTasks(draft, group.id, event.tasks)
}

export const stopping = (draft: Draft, event: Of<"GroupStopping">): string | undefined => {
  const group = going(draft, event.group)
  if (typeof group === "string") return group
  const { note, reason, recall } = event
  if (group.stopping !== undefined && (group.stopping.recall || !recall)) {
    return `the group ${JSON.stringify(group.id)} is being stopped already`
  }
  const { consult, review, ...rest } = group
  if (consult?.status === "open") draft.consulting -= 1
  if (review !== undefined) draft.reviews.delete(review)
  draft.groups.set(group.id, { ...rest, stopping: { reason, recall, note } })
  for (const id of group.tasks) {
    const task = draft.tasks.get(id)
    if (task === undefined || hasEnded(task.status)) continue
    if (task.consult?.status === "open") {
      draft.consulting -= 1
      const { consult: _, ...without } = task
      draft.tasks.set(id, without)
    }
    // What waits is looked at again; what runs is called back.
    if (!draft.groups.has(id) && task.dispatch === undefined) {
      draft.ready.delete(id)
      draft.due.add(id)
    }
  }
  return undefined
}

export const merged = (draft: Draft, event: Of<"Merged">): string | undefined => {
  const group = going(draft, event.group)
  if (typeof group === "string") return group
  if (group.open > 0) return `${group.open} tasks of the group have not ended`
  if (group.consult?.status === "open") return "a decision of the group is open"
  if (group.id === "") {
    draft.groups.set("", { ...group, merged: true, whole: { outcome: event.outcome, note: event.note } })
    return undefined
  }
  const task = draft.tasks.get(group.id)
  if (task === undefined) return `there is no task ${JSON.stringify(group.id)}`
  draft.groups.delete(group.id)
  const { confidence, missing } = event.result
  const version = draft.version + 1
  draft.tasks.set(task.id, {
    ...tried(draft, task, {
      worker: event.kind,
      outcome: event.outcome,
      ...resultOf(event.result),
      ...(event.label === undefined ? {} : { label: event.label }),
      confidence,
      missing,
      version
    }),
    ...(hasOutput(event.result) ? { result: version } : {})
  })
  return undefined
}

/** The group or the task that a choice is about, with the way to put its consult. */
const subjectOf = (
  draft: Draft,
  id: string
): { readonly consult: Consult | undefined; readonly put: (consult: Consult) => void } | string => {
  const task = draft.tasks.get(id)
  const group = draft.groups.get(id)
  if (group !== undefined && !group.merged) {
    return { consult: group.consult, put: (consult) => void draft.groups.set(id, { ...group, consult }) }
  }
  if (task === undefined) return `there is no group or task ${JSON.stringify(id)}`
  if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}`
  return { consult: task.consult, put: (consult) => void draft.tasks.set(id, { ...task, consult }) }
}

export const consulted = (draft: Draft, event: Of<"Consulted">): string | undefined => {
  const { consult: id, purpose, subject } = event
  const on = subjectOf(draft, subject)
  if (typeof on === "string") return on
  if (on.consult?.status === "open") return `${on.consult.id} is open`
  const next = `${draft.run}/consult/${draft.consulted + 1}`
  if (id !== next) return `the next decision is ${next}, not ${id}`
  // Who is asked again is told why the last answer could not be used.
  const again = on.consult?.status === "failed" && on.consult.purpose === purpose ? on.consult : undefined
  const error = again?.error
  draft.consulted += 1
  draft.consulting += 1
  draft.due.delete(subject)
  draft.ready.delete(subject)
  on.put({ id, purpose, status: "open", failures: again?.failures ?? 0, ...(error === undefined ? {} : { error }) })
  return undefined
}

/** Why an answer cannot be taken in, nor the tasks that it makes. */
export const overlarge = (draft: Draft, { answer, subject }: Of<"Decided">): string | undefined => {
  let bytes = JSON.stringify(answer).length
  if (!draft.groups.has(subject) && Array.isArray(answer)) {
    // It was checked before it became an event, and is opened under longer names.
    for (const task of answer as unknown as ReadonlyArray<PlannedTask>) bytes += weigh(task) + 4 * subject.length + 40
  }
  return outgrown(draft, bytes, "this answer")
}

export const decided = (draft: Draft, event: Of<"Decided"> | Of<"DecisionFailed">): string | undefined => {
  const on = subjectOf(draft, event.subject)
  if (typeof on === "string") return on
  const { consult } = on
  if (consult?.id !== event.consult || consult.status !== "open") return `${event.consult} is not open`
  draft.consulting -= 1
  if (event.usage !== undefined) {
    // It is charged whether or not anything is left, as nobody could know before what it would come to.
    draft.ledger.reservations.set(event.consult, { accounts: ["run"], amount: {} })
    Budget.settle(draft.ledger, { id: event.consult, used: event.usage })
  }
  if (event._tag === "DecisionFailed") {
    on.put({ ...consult, status: "failed", failures: consult.failures + 1, error: event.error })
    const task = draft.tasks.get(event.subject)
    const expansion = expansions.find((each) => each === consult.purpose)
    if (task !== undefined && expansion !== undefined) {
      // It is not asked for again.
      draft.tasks.set(task.id, { ...task, expansions: [...task.expansions, expansion] })
    }
  } else {
    draft.size += JSON.stringify(event.answer).length
    const { error: _, ...rest } = consult
    on.put({ ...rest, status: "answered", failures: 0, answer: event.answer })
    const group = draft.groups.get(event.subject)
    if (group !== undefined && !group.merged) {
      draft.groups.set(group.id, { ...group, answers: [...group.answers, event.answer] })
    }
  }
  if (!draft.groups.has(event.subject)) draft.due.add(event.subject)
  return undefined
}
