/**
 * The transitions of a run, in place. The caller owns the draft; nothing is changed when the event is refused.
 *
 * Tasks are replaced, never changed, so a shallow copy of the containers is a copy of the state.
 *
 * @since 0.1.0
 */
import type { RunEvent, Of, TaskEnd } from "../RunEvent.ts"
import type { RunState, TaskState } from "../RunState.ts"

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** @since 0.1.0 */
export type Draft = Writable<Omit<RunState, "tasks" | "due" | "ready">> & {
  readonly tasks: Map<string, TaskState>
  readonly due: Set<string>
  readonly ready: Set<string>
}

/** The states in which a task's output is there for others. */
const usable = (status: TaskEnd): boolean => status === "accepted" || status === "partial"

const over: ReadonlySet<string> = new Set(["completed", "partial", "failed", "cancelled"])
const ended: ReadonlySet<string> = new Set([
  "accepted",
  "partial",
  "rejected",
  "blocked",
  "failed",
  "cancelled",
  "skipped"
])

/**
 * The draft after the event, or the reason why the event cannot happen.
 *
 * @since 0.1.0
 */
export const applyEvent = (draft: Draft | undefined, event: RunEvent): Draft | string => {
  if (event._tag === "RunStarted") return draft === undefined ? begin(event) : "the run has started already"
  if (draft === undefined) return "the run has not started"
  if (over.has(draft.status)) return `the run is over: ${draft.status}` // S4
  if (draft.status === "suspended" && event._tag !== "RunResumed") return "the run is suspended" // S4
  const refused = change(draft, event)
  if (refused !== undefined) return refused
  draft.version += 1 // S1
  return draft
}

const begin = (event: Of<"RunStarted">): Draft | string => {
  const dependants = new Map<string, Array<string>>()
  for (const { id } of event.tasks) {
    if (dependants.has(id)) return `the task ${JSON.stringify(id)} is planned twice`
    dependants.set(id, [])
  }
  for (const { id, needs } of event.tasks) {
    if (new Set(needs).size !== needs.length) return `the task ${JSON.stringify(id)} names a need twice`
    for (const need of needs) {
      const list = dependants.get(need)
      if (list === undefined) return `the task ${JSON.stringify(id)} needs an unknown task ${JSON.stringify(need)}`
      list.push(id)
    }
  }
  const tasks = new Map<string, TaskState>()
  const ready = new Set<string>()
  for (const planned of event.tasks) {
    const free = planned.needs.length === 0
    if (free) ready.add(planned.id)
    tasks.set(planned.id, {
      ...planned,
      dependants: dependants.get(planned.id) ?? [],
      status: free ? "ready" : "queued",
      unmet: planned.needs.length,
      lost: [],
      dispatches: 0,
      attempts: 0,
      tries: [],
      missing: [],
      reason: ""
    })
  }
  return {
    run: event.run,
    version: 1,
    status: "running",
    desk: event.desk,
    deskVersion: event.version,
    definition: event.definition,
    startedAt: event.at,
    tasks,
    due: new Set(),
    ready,
    open: tasks.size,
    running: 0,
    degraded: false
  }
}

const change = (draft: Draft, event: Exclude<RunEvent, { readonly _tag: "RunStarted" }>): string | undefined => {
  switch (event._tag) {
    case "RunResumed": {
      draft.status = "running"
      delete draft.suspended
      for (const task of draft.tasks.values()) {
        // A choice that did not lead to an order is made again.
        if (task.routed === undefined) continue
        const { routed: _, ...rest } = task
        draft.tasks.set(task.id, rest)
        if (task.tries.length > 0) draft.due.add(task.id)
        else draft.ready.add(task.id)
      }
      return undefined
    }
    case "RunSuspended": {
      draft.status = "suspended"
      draft.suspended = event.reason
      return undefined
    }
    case "RunFinished":
      return finish(draft, event)
    default: {
      const task = draft.tasks.get(event.task)
      if (task === undefined) return `there is no task ${JSON.stringify(event.task)}`
      if (ended.has(task.status)) return `the task ${task.id} has ended: ${task.status}` // S3
      switch (event._tag) {
        case "Routed":
          return route(draft, task, event)
        case "ContractRefused":
          return refuse(draft, task, event)
        case "Dispatched":
          return dispatch(draft, task, event)
        case "AttemptFailed":
          return attempt(draft, task, event)
        case "Reported":
          return report(draft, task, event)
        case "TaskEnded":
          return end(draft, task, event)
      }
    }
  }
}

const finish = (draft: Draft, event: Of<"RunFinished">): string | undefined => {
  if (draft.running > 0) return `${draft.running} dispatches are open`
  if (event.status === "completed") {
    if (draft.open > 0) return `${draft.open} tasks have not ended`
    for (const task of draft.tasks.values()) {
      if (task.status !== "accepted" && task.status !== "skipped") return `the task ${task.id} is ${task.status}`
    }
  }
  draft.status = event.status
  draft.stopReason = event.stopReason
  draft.degraded = event.degraded
  return undefined
}

/** A task that waits for a slot, or whose dispatch has reported. */
const isFree = (task: TaskState): boolean => task.dispatch === undefined && task.status !== "queued"

const route = (draft: Draft, task: TaskState, event: Of<"Routed">): string | undefined => {
  if (!isFree(task)) return `the task ${task.id} is ${task.status}`
  if (task.routed !== undefined) return `the task ${task.id} is routed to ${task.routed} already`
  draft.due.delete(task.id)
  draft.ready.delete(task.id)
  draft.tasks.set(task.id, { ...task, status: "ready", routed: event.worker })
  return undefined
}

const notRouted = (task: TaskState, worker: string): string | undefined =>
  task.routed === worker ? undefined : `the task ${task.id} is not routed to ${worker}`

const refuse = (draft: Draft, task: TaskState, event: Of<"ContractRefused">): string | undefined => {
  const refused = notRouted(task, event.worker)
  if (refused !== undefined) return refused
  const { routed: _, ...rest } = task
  draft.due.add(task.id)
  draft.tasks.set(task.id, {
    ...rest,
    tries: [
      ...task.tries,
      {
        worker: event.worker,
        outcome: "rejected-contract",
        kind: "capability",
        reason: event.note,
        confidence: 0,
        missing: [],
        version: draft.version + 1
      }
    ]
  })
  return undefined
}

const dispatch = (draft: Draft, task: TaskState, event: Of<"Dispatched">): string | undefined => {
  const refused = notRouted(task, event.worker)
  if (refused !== undefined) return refused
  const id = `${draft.run}/${task.id}/${task.dispatches + 1}`
  if (event.dispatch !== id) return `the next dispatch of ${task.id} is ${id}, not ${event.dispatch}`
  const { routed: _, ...rest } = task
  draft.running += 1
  draft.tasks.set(task.id, {
    ...rest,
    status: "running",
    dispatch: { id, worker: event.worker, at: event.at },
    dispatches: task.dispatches + 1,
    attempts: 0
  })
  return undefined
}

const notOpen = (task: TaskState, id: string, worker: string): string | undefined =>
  task.dispatch?.id === id && task.dispatch.worker === worker ? undefined : `${id} at ${worker} is not open`

const attempt = (draft: Draft, task: TaskState, event: Of<"AttemptFailed">): string | undefined => {
  const refused = notOpen(task, event.dispatch, event.worker)
  if (refused !== undefined) return refused
  if (event.attempt !== task.attempts + 1) return `the attempt is ${task.attempts + 1}, not ${event.attempt}`
  draft.tasks.set(task.id, { ...task, attempts: event.attempt })
  return undefined
}

const report = (draft: Draft, task: TaskState, event: Of<"Reported">): string | undefined => {
  const refused = notOpen(task, event.dispatch, event.worker)
  if (refused !== undefined) return refused
  const { dispatch: _, ...rest } = task
  const { confidence, error, missing, output } = event.result
  draft.running -= 1
  draft.due.add(task.id)
  draft.tasks.set(task.id, {
    ...rest,
    attempts: 0,
    ...(output === undefined ? {} : { result: draft.version + 1 }),
    tries: [
      ...task.tries,
      {
        dispatch: event.dispatch,
        worker: event.worker,
        outcome: event.outcome,
        ...(error === undefined ? {} : { kind: error.kind, reason: error.reason }),
        confidence,
        missing,
        version: draft.version + 1
      }
    ]
  })
  return undefined
}

const end = (draft: Draft, task: TaskState, event: Of<"TaskEnded">): string | undefined => {
  if (task.dispatch !== undefined) return `the dispatch ${task.dispatch.id} is open`
  if (task.routed !== undefined) return `the task ${task.id} is routed to ${task.routed}`
  if (usable(event.status)) {
    const last = task.tries.find((each) => each.dispatch !== undefined && each.dispatch === event.dispatch)
    if (last === undefined) return `no dispatch of ${task.id} stands behind ${event.status}`
    if (event.status === "accepted" && last.outcome !== "accepted") return `${last.dispatch} was ${last.outcome}`
    if (task.result === undefined) return `the task ${task.id} has no output`
  }
  draft.due.delete(task.id)
  draft.ready.delete(task.id)
  draft.open -= 1
  draft.tasks.set(task.id, { ...task, status: event.status, missing: event.missing, reason: event.note })
  for (const id of task.dependants) {
    const dependant = draft.tasks.get(id)
    if (dependant === undefined || dependant.status !== "queued") continue
    const lost = usable(event.status) ? dependant.lost : [...dependant.lost, task.id]
    const unmet = dependant.unmet - 1
    const blocked = lost.length > 0 && !dependant.acceptMissing
    const ready = unmet === 0 && !blocked
    draft.tasks.set(id, { ...dependant, unmet, lost, status: ready ? "ready" : "queued" })
    if (blocked) draft.due.add(id)
    else if (ready) draft.ready.add(id)
  }
  return undefined
}
