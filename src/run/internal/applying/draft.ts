/**
 * The state of a run while it is being changed: the same data, in containers that the caller owns.
 *
 * Entries are replaced, never changed, so a shallow copy of the containers is a copy of the state.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Envelope } from "../../Result.ts"
import type { PlannedTask } from "../../RunEvent.ts"
import type {
  ClosedReview,
  EffectState,
  GrantState,
  GroupState,
  ReviewState,
  RunState,
  StandingState,
  TaskState,
  TimerState,
  Try
} from "../../RunState.ts"
import { TaskEnd } from "../vocabulary.ts"

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** @since 0.1.0 */
export type Draft = Writable<
  Omit<
    RunState,
    | "tasks"
    | "due"
    | "ready"
    | "groups"
    | "reviews"
    | "closed"
    | "grants"
    | "standing"
    | "asks"
    | "timers"
    | "health"
    | "load"
    | "failures"
    | "orders"
    | "effects"
    | "ledger"
  >
> & {
  readonly tasks: Map<string, TaskState>
  readonly due: Set<string>
  readonly ready: Set<string>
  readonly groups: Map<string, GroupState>
  readonly reviews: Map<string, ReviewState>
  readonly closed: Map<string, ClosedReview>
  readonly grants: Map<string, GrantState>
  readonly standing: Map<string, StandingState>
  readonly asks: Map<string, RunState["asks"] extends ReadonlyMap<string, infer A> ? A : never>
  readonly timers: Array<TimerState>
  readonly health: Map<string, RunState["health"] extends ReadonlyMap<string, infer H> ? H : never>
  readonly load: Map<string, number>
  readonly failures: Map<string, number>
  readonly orders: Map<string, { readonly task: string; readonly version: number }>
  readonly effects: Map<string, EffectState>
  readonly ledger: Budget.Draft
  readonly timed: Set<string>
}

/** A copy that can be changed without changing the original. */
export const copy = (state: RunState): Draft => ({
  ...state,
  tasks: new Map(state.tasks),
  due: new Set(state.due),
  ready: new Set(state.ready),
  groups: new Map(state.groups),
  reviews: new Map(state.reviews),
  closed: new Map(state.closed),
  grants: new Map(state.grants),
  standing: new Map(state.standing),
  asks: new Map(state.asks),
  timers: [...state.timers],
  health: new Map(state.health),
  load: new Map(state.load),
  failures: new Map(state.failures),
  orders: new Map(state.orders),
  effects: new Map(state.effects),
  ledger: Budget.copy(state.ledger),
  timed: new Set(state.timed)
})

/** The states in which a task's output is there for others. */
export const usable = (status: TaskEnd): boolean => status === "accepted" || status === "partial"

/** Whether a result has an output, in place or by reference. */
export const hasOutput = ({ output, outputRef }: Envelope): boolean => output !== undefined || outputRef !== undefined

/** Whether a task's status is one that it does not leave. */
export const hasEnded = (status: string): status is TaskEnd => ended.has(status)

const ended: ReadonlySet<string> = new Set(TaskEnd.literals)

/** The bytes that a state may take. */
export const largest = 1024 * 1024

/** What a task takes beside its own texts, generously. */
const perTask = 320

/** What a try takes beside its reason and what is missing. */
export const perTry = 240

/** What a timer takes beside the name of its task: ids with the name of the run, which has at most 100 characters. */
const perTimer = 280

/** What a task takes in the state. */
export const weigh = (planned: PlannedTask): number => {
  let bytes = perTask + 3 * planned.id.length
  for (const need of planned.needs) bytes += 2 * need.length + 8
  if (planned.afterMillis !== undefined) bytes += perTimer + planned.id.length
  if (planned.amendment !== undefined) bytes += JSON.stringify(planned.amendment).length
  return bytes
}

/** Why something cannot be taken into the state, if it would make it too large. */
export const outgrown = (draft: Pick<RunState, "size">, bytes: number, what: string): string | undefined =>
  draft.size + bytes > largest ? `with ${what} the state would be larger than ${largest} bytes` : undefined

/**
 * Puts tasks into a group: tells at once why it cannot be, and changes nothing then.
 *
 * Tasks may need tasks of their own group, also ones that have ended.
 */
export const addTasks = (draft: Draft, id: string, tasks: ReadonlyArray<PlannedTask>): string | undefined => {
  const group = draft.groups.get(id)
  if (group === undefined) return `there is no group ${JSON.stringify(id)}`
  const dependants = new Map<string, Array<string>>()
  let size = 0
  for (const planned of tasks) {
    if (dependants.has(planned.id) || draft.tasks.has(planned.id)) {
      return `the task ${JSON.stringify(planned.id)} is planned twice`
    }
    dependants.set(planned.id, [])
    size += weigh(planned)
  }
  const large = outgrown(draft, size, "these tasks")
  if (large !== undefined) return large
  for (const { id: task, needs } of tasks) {
    if (needs.length > 1 && new Set(needs).size !== needs.length)
      return `the task ${JSON.stringify(task)} names a need twice`
    for (const need of needs) {
      const list = dependants.get(need)
      if (list !== undefined) list.push(task)
      else if (draft.tasks.get(need)?.parent !== id) {
        return `the task ${JSON.stringify(task)} needs an unknown task ${JSON.stringify(need)}`
      }
    }
  }
  draft.size += size
  draft.open += tasks.length
  draft.groups.set(id, {
    ...group,
    tasks: [...group.tasks, ...tasks.map((task) => task.id)],
    open: group.open + tasks.length
  })
  for (const planned of tasks) place(draft, id, planned, dependants)
  return undefined
}

const place = (
  draft: Draft,
  parent: string,
  planned: PlannedTask,
  dependants: ReadonlyMap<string, ReadonlyArray<string>>
): void => {
  let unmet = planned.needs.length
  const lost: Array<string> = []
  for (const need of planned.needs) {
    const before = dependants.has(need) ? undefined : draft.tasks.get(need)
    if (before === undefined) continue
    if (!hasEnded(before.status)) {
      draft.tasks.set(need, { ...before, dependants: [...before.dependants, planned.id] })
      continue
    }
    unmet -= 1
    if (!usable(before.status)) lost.push(need)
  }
  const blocked = lost.length > 0 && !planned.acceptMissing
  const free = unmet === 0 && !blocked
  const ready = free && planned.afterMillis === undefined
  if (ready) draft.ready.add(planned.id)
  else if (blocked || free) draft.due.add(planned.id)
  draft.tasks.set(planned.id, {
    ...planned,
    parent,
    dependants: dependants.get(planned.id) ?? [],
    status: ready ? "ready" : "queued",
    unmet,
    lost,
    dispatches: 0,
    attempts: 0,
    tries: [],
    ladder: 0,
    expansions: [],
    answers: [],
    dropped: [],
    approved: [],
    confirmed: [],
    expired: false,
    missing: [],
    reason: ""
  })
}

/** Whether a try is an order that could not be made, and that its worker has never seen. */
export const isUnmade = ({ dispatch, outcome, worker }: Pick<Try, "dispatch" | "outcome" | "worker">): boolean =>
  outcome === "rejected-contract" && dispatch === undefined && worker.includes(".")

/** Whether a person is being asked to raise an account. */
export const isAsked = ({ reviews }: Pick<RunState, "reviews">, account: string): boolean => {
  for (const { facts, kind } of reviews.values()) {
    if (kind === "budget-increase" && facts["account"] === account) return true
  }
  return false
}

/** The accounts that a dispatch of a task at a worker is charged to. */
export const accountsOf = (draft: Pick<RunState, "tasks">, task: TaskState, worker: string): ReadonlyArray<string> => {
  const dot = worker.indexOf(".")
  const accounts = ["run", `domain:${dot < 0 ? worker : worker.slice(0, dot)}`, `worker:${worker}`, `task:${task.id}`]
  for (let parent = task.parent; parent !== ""; parent = draft.tasks.get(parent)?.parent ?? "") {
    accounts.push(`task:${parent}`)
  }
  return accounts
}
