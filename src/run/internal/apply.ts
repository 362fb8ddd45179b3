/**
 * The transitions of a run, in place. The caller owns the draft; nothing is changed when the event is refused.
 *
 * @since 0.1.0
 */
import * as Budget from "../Budget.ts"
import type { RunEvent, Of } from "../RunEvent.ts"
import { addTasks, type Draft, hasEnded } from "./applying/draft.ts"
import * as effects from "./applying/effects.ts"
import * as granting from "./applying/granting.ts"
import * as groups from "./applying/groups.ts"
import * as orders from "./applying/orders.ts"
import * as parking from "./applying/parking.ts"
import { isWaitingToo, rest } from "./applying/resting.ts"
import * as reviews from "./applying/reviews.ts"
import { objection } from "./applying/saying.ts"
import * as spending from "./applying/spending.ts"
import { end } from "./applying/tasks.ts"
import * as timers from "./applying/timers.ts"
import { isQuorum } from "./enough.ts"
import { isText } from "./fields.ts"
import { configuration } from "./tiering.ts"
import { RunEnd } from "./vocabulary.ts"

export { copy, type Draft } from "./applying/draft.ts"

const over: ReadonlySet<string> = new Set(RunEnd.literals)

/**
 * The draft after the event, or the reason why the event cannot happen.
 *
 * @since 0.1.0
 */
export const applyEvent = (draft: Draft | undefined, event: RunEvent): Draft | string => {
  if (event._tag === "RunStarted") return draft === undefined ? begin(event) : "the run has started already"
  if (draft === undefined) return "the run has not started"
  if (over.has(draft.status)) return afterwards(draft, event) // S4
  if (draft.status === "suspended" && event._tag !== "RunResumed" && !fromOutside.has(event._tag)) {
    return "the run is suspended" // S4
  }
  const outside = fromOutside.has(event._tag)
  // Nobody carries out a run that waits or was put down: until people have their say, its time stands still, as far as no
  // timer of its own is what it waits for.
  const still =
    (outside || meanwhile.has(event._tag)) && draft.status !== "running"
      ? { tasks: timed(draft), since: timers.stillSince(draft) }
      : undefined
  const asked = draft.reviews.size > 0
  const approved = draft.status === "suspended" ? new Set(draft.grants.keys()) : undefined
  const refused = change(draft, event)
  if (refused !== undefined) return refused
  draft.version += 1 // S1
  if (progress.has(event._tag)) draft.crashes = 0
  if (asked || draft.reviews.size > 0) rest(draft, event.at)
  if (still !== undefined) {
    postpone(draft, still.tasks, still.since, event.at)
    // Nobody could decide in time while the run was put down.
    if (approved !== undefined) reviews.postpone(draft, event.at - draft.lastAt, approved)
  }
  // What people say is no sign that somebody carries the run out.
  if (!outside || still !== undefined) draft.lastAt = Math.max(draft.lastAt, event.at)
  if (draft.status === "running" || draft.status === "waiting") draft.status = isWaiting(draft) ? "waiting" : "running"
  return draft
}

/**
 * As {@link applyEvent}, for what is said now: a decision is checked in full. Whoever wrote what a journal has did that.
 *
 * @since 0.1.0
 */
export const applySaid = (draft: Draft | undefined, event: RunEvent): Draft | string => {
  const checks = event._tag === "ReviewDecided" && draft !== undefined && !over.has(draft.status)
  return (checks ? objection(draft, event) : undefined) ?? applyEvent(draft, event)
}

/** What is written of a run that is over: that somebody decided too late or was told, and what was still paid for. S4 */
const afterwards = (draft: Draft, event: RunEvent): Draft | string => {
  switch (event._tag) {
    case "ReviewRefused":
      reviews.refused(draft)
      break
    case "Notified":
      break
    case "Spent":
      spending.spent(draft, event)
      break
    default:
      return `the run is over: ${draft.status}`
  }
  draft.version += 1 // S1
  return draft
}

/** Why the end of a run is not asked for a second time. */
export const alreadyAsked = "the end of the run is asked for already"

/** What people may write into a run that was put down, or that somebody else carries out. */
export const fromOutside: ReadonlySet<string> = new Set([
  "ReviewDecided",
  "ReviewVoted",
  "ReviewWithdrawn",
  "ReviewChanged",
  "ReviewRefused",
  "GrantGiven",
  "GrantRevoked",
  "AutonomyChanged",
  "CancelRequested"
])

/** What happens while nobody has decided. */
const meanwhile: ReadonlySet<string> = new Set(["ReviewAdvanced", "ReviewExpired", "GrantStalled", "Notified"])

/** What shows that a run gets somewhere. */
const progress: ReadonlySet<string> = new Set(["Reported", "TaskEnded", "Merged", "Decided", "EffectSettled", "Parked"])

// S6
const isWaiting = (draft: Draft): boolean =>
  (draft.reviews.size > 0 || draft.timers.length > 0) &&
  draft.cancelled === undefined &&
  draft.running === 0 &&
  draft.consulting === 0 &&
  draft.ready.size === 0 &&
  isHeld(draft)

/** What is due waits for a budget that a person is asked to raise, or for the outcome of an effect. */
const isHeld = (draft: Draft): boolean => {
  for (const id of draft.due) {
    const task = draft.tasks.get(id)
    if (task === undefined || !isWaitingToo(draft, task)) return false
  }
  return true
}

const begin = (event: Of<"RunStarted">): Draft | string => {
  const draft: Draft = {
    run: event.run,
    version: 1,
    status: "running",
    desk: event.desk,
    deskVersion: event.version,
    definition: event.definition,
    startedAt: event.at,
    ...(event.requester === undefined ? {} : { requester: event.requester }),
    lastAt: event.at,
    tasks: new Map(),
    due: new Set(),
    ready: new Set(),
    groups: new Map(),
    reviews: new Map(),
    reviewed: 0,
    closed: new Map(),
    refusals: 0,
    grants: new Map(),
    standing: new Map(),
    asks: new Map(),
    timers: [],
    timersSet: 0,
    consulted: 0,
    consulting: 0,
    health: new Map(),
    load: new Map(),
    failures: new Map(),
    orders: new Map(),
    effects: new Map(),
    ledger: Budget.make(event.limits ?? {}),
    overruns: [],
    timed: new Set(),
    tier: event.tier ?? "medium",
    ...(event.tierBy === undefined ? {} : { tierBy: event.tierBy }),
    ...(event.deadlineAt === undefined ? {} : { deadlineAt: event.deadlineAt }),
    expired: false,
    unraised: [],
    size: 512 + 64 * Object.keys(event.limits ?? {}).length,
    open: 0,
    running: 0,
    crashes: 0,
    degraded: false
  }
  draft.groups.set("", groups.empty("", event.coordinator ?? "plan", event.containment ?? "isolate"))
  return addTasks(draft, "", event.tasks) ?? draft
}

const change = (draft: Draft, event: Exclude<RunEvent, { readonly _tag: "RunStarted" }>): string | undefined => {
  switch (event._tag) {
    case "RunResumed":
      return resume(draft, event)
    case "RunSuspended":
      return suspend(draft, event)
    case "RunFinished":
      return finish(draft, event)
    case "TasksAdded":
      return groups.add(draft, event)
    case "GroupStopping":
      return groups.stopping(draft, event)
    case "Merged":
      return groups.merged(draft, event)
    case "Consulted":
      return groups.consulted(draft, event)
    case "Decided":
    case "DecisionFailed":
      return groups.decided(draft, event)
    case "ReviewOpened":
      return reviews.opened(draft, event)
    case "ReviewDecided":
      return reviews.decided(draft, event)
    case "ReviewVoted":
      return reviews.voted(draft, event)
    case "ReviewAdvanced":
      return reviews.advanced(draft, event)
    case "ReviewExpired":
      return reviews.expired(draft, event)
    case "ReviewWithdrawn":
      return reviews.withdrawn(draft, event)
    case "ReviewChanged":
      return reviews.changed(draft, event)
    case "ReviewRefused":
      return reviews.refused(draft)
    case "GrantStalled":
      return reviews.stalled(draft, event)
    case "GrantGiven":
      return granting.given(draft, event)
    case "GrantRevoked":
      return granting.revoked(draft, event)
    case "TimerSet":
      return timers.set(draft, event)
    case "TimerFired":
      return timers.fired(draft, event)
    case "HealthChanged": {
      const { health, until, worker } = event
      if (health === "healthy") draft.health.delete(worker)
      else draft.health.set(worker, { health, ...(until === undefined ? {} : { until }) })
      return undefined
    }
    case "AutonomyChanged": {
      if (draft.tier !== event.from) return `the tier is ${draft.tier}, not ${event.from}`
      draft.tier = event.to
      draft.tierBy = event.by === configuration ? configuration : "person"
      return undefined
    }
    case "CancelRequested": {
      if (draft.cancelled !== undefined) return alreadyAsked
      // Old journals may have taken in one that says nothing. It is the reason of all that is not done.
      draft.cancelled = isText(event.note) ? event.note : "somebody asked for the end of the run"
      return undefined
    }
    case "DeadlinePassed":
      return expire(draft, event)
    case "EffectSettled":
      return effects.settled(draft, event)
    case "Spent":
      return spending.spent(draft, event)
    case "Notified":
    case "Noticed":
      return undefined
    default: {
      const task = draft.tasks.get(event.task)
      if (task === undefined) return `there is no task ${JSON.stringify(event.task)}`
      if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}` // S3
      switch (event._tag) {
        case "GroupOpened":
          return groups.opened(draft, task, event)
        case "Routed":
          return orders.routed(draft, task, event)
        case "Confirmed":
          return orders.confirmed(draft, task, event)
        case "ContractRefused":
          return orders.refused(draft, task, event)
        case "BudgetRefused":
          return orders.unaffordable(draft, task, event)
        case "Reused":
          return orders.reused(draft, task, event)
        case "Dispatched":
          return orders.dispatched(draft, task, event)
        case "AttemptFailed":
          return orders.attempted(draft, task, event)
        case "EffectIntended":
          return effects.intended(draft, task, event)
        case "EffectQuarantined":
          return effects.quarantined(draft, task, event)
        case "Recalled":
          return orders.recalled(draft, task, event)
        case "Parked":
          return parking.parked(draft, task, event)
        case "Unparked":
          return parking.unparked(draft, task, event)
        case "Reported":
          return orders.reported(draft, task, event)
        case "Overrun":
          return undefined
        case "TaskEnded":
          return end(draft, task, event)
      }
    }
  }
}

/** The tasks whose time is running, or would be. That of a task that waits for a person stands still by itself. */
const timed = (draft: Draft): ReadonlyArray<string> => {
  const ids: Array<string> = []
  for (const { deadlineAt, heldAt, id, status } of draft.tasks.values()) {
    if (deadlineAt !== undefined && heldAt === undefined && !hasEnded(status)) ids.push(id)
  }
  return ids
}

/** Moves the deadline of the run, and those of these tasks, unless they had passed before their time stood still. */
const postpone = (draft: Draft, tasks: ReadonlyArray<string>, since: number, at: number): void => {
  const millis = at - since
  if (millis <= 0) return
  const moves = (deadline: number | undefined): deadline is number => deadline !== undefined && deadline > since
  if (moves(draft.deadlineAt) && !draft.expired) draft.deadlineAt += millis
  for (const id of tasks) {
    const task = draft.tasks.get(id)
    if (moves(task?.deadlineAt)) draft.tasks.set(id, { ...task, deadlineAt: task.deadlineAt + millis })
  }
}

const suspend = (draft: Draft, { interrupted = [], reason }: Of<"RunSuspended">): string | undefined => {
  for (const { dispatch, task } of interrupted) {
    if (draft.tasks.get(task)?.dispatch?.id !== dispatch) return `${dispatch} is not open`
  }
  draft.status = "suspended"
  draft.suspended = reason
  for (const { dispatch, usage } of interrupted) {
    // What was set aside stays so: the order is given again.
    const accounts = draft.ledger.reservations.get(dispatch)?.accounts ?? []
    const id = `${dispatch} interrupted`
    draft.ledger.reservations.set(id, { accounts, amount: {} })
    Budget.settle(draft.ledger, { id, used: usage })
  }
  return undefined
}

/** While nobody carried the run out its deadlines stood still; its own timers ran on. */
const resume = (draft: Draft, { at }: Of<"RunResumed">): undefined => {
  postpone(draft, timed(draft), timers.stillSince(draft), at)
  // Nobody could decide in time while the run was put down.
  if (draft.status === "suspended") reviews.postpone(draft, at - draft.lastAt, new Set(draft.grants.keys()))
  // Only a run that was neither put down nor waited has been cut off: it left something under way.
  const cutOff = draft.status === "running" && draft.running + draft.consulting > 0
  draft.crashes = cutOff ? draft.crashes + 1 : 0
  draft.status = "running"
  delete draft.suspended
  for (const task of draft.tasks.values()) {
    if (hasEnded(task.status)) continue
    if (task.routed === undefined) continue
    // A choice that did not lead to an order is made again.
    const { routed: _, ...rest } = task
    if (task.tries.length > 0) draft.due.add(task.id)
    else draft.ready.add(task.id)
    draft.tasks.set(task.id, rest)
  }
  return undefined
}

const expire = (draft: Draft, { subject }: Of<"DeadlinePassed">): string | undefined => {
  if (subject === "") {
    if (draft.expired) return "the time of the run is over already"
    draft.expired = true
    return undefined
  }
  const task = draft.tasks.get(subject)
  if (task === undefined) return `there is no task ${JSON.stringify(subject)}`
  if (hasEnded(task.status)) return `the task ${task.id} has ended: ${task.status}`
  if (task.expired) return `the time of ${task.id} is over already`
  draft.tasks.set(subject, { ...task, expired: true })
  draft.timed.delete(subject)
  if (task.status !== "queued" && !draft.groups.has(subject)) {
    draft.ready.delete(subject)
    draft.due.add(subject)
  }
  return undefined
}

const finish = (draft: Draft, event: Of<"RunFinished">): string | undefined => {
  if (draft.running > 0) return `${draft.running} dispatches are open`
  if (draft.consulting > 0) return `${draft.consulting} decisions are open`
  if (event.status === "completed") {
    if (draft.open > 0) return `${draft.open} tasks have not ended`
    const group = draft.groups.get("")
    const enough = group !== undefined && isQuorum(group)
    for (const task of enough ? [] : draft.tasks.values()) {
      if (task.parent !== "") continue
      if (task.status !== "accepted" && task.status !== "skipped") return `the task ${task.id} is ${task.status}`
    }
  }
  draft.status = event.status
  draft.stopReason = event.stopReason
  draft.degraded = event.degraded
  draft.due.clear()
  draft.ready.clear()
  draft.timers.length = 0
  return undefined
}
