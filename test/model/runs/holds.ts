/** What must hold of every state of a run, computed anew from nothing but the state itself and its history. */
import { Schema } from "effect"
import { Autonomy, type Budget, type Decider, Recovery, type RunEvent, RunState } from "espalier/run"

type State = RunState.RunState
type Task = RunState.TaskState
type Event = RunEvent.RunEvent

const usable = (task: Task | undefined): boolean => task?.status === "accepted" || task?.status === "partial"

const counts = (what: string, says: number, is: number): string | undefined =>
  says === is ? undefined : `${what} says ${says}, it is ${is}`

const sets = (what: string, says: ReadonlySet<string>, is: ReadonlyArray<string>): string | undefined =>
  says.size === is.length && is.every((each) => says.has(each))
    ? undefined
    : `${what} says [${[...says].join()}], it is [${is.join()}]`

/** The bytes of all texts in a value. */
const texts = (value: unknown): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null) return 0
  let bytes = 0
  const entries = value instanceof Map || value instanceof Set ? value.entries() : Object.entries(value)
  for (const [key, each] of entries) bytes += (value instanceof Map ? texts(key) : 0) + texts(each)
  return bytes
}

const ofGroups = (state: State): string | undefined => {
  const own = new Map<string, Array<Task>>()
  for (const task of state.tasks.values()) own.set(task.parent, [...(own.get(task.parent) ?? []), task])
  for (const group of state.groups.values()) {
    const tasks = group.tasks.map((id) => state.tasks.get(id)!)
    const name = group.id === "" ? "the run" : group.id
    const wrong =
      // Of a group that is opened anew, the tasks that it had before have ended.
      sets(
        `S7: tasks of ${name}`,
        new Set(group.tasks),
        (own.get(group.id) ?? [])
          .filter(({ id, status }) => group.tasks.includes(id) || !RunState.isEnded(status))
          .map(({ id }) => id)
      ) ??
      counts(`S7: open of ${name}`, group.open, tasks.filter(({ status }) => !RunState.isEnded(status)).length) ??
      counts(`S7: accepted of ${name}`, group.accepted, tasks.filter(({ status }) => status === "accepted").length) ??
      counts(`S7: partial of ${name}`, group.partial, tasks.filter(({ status }) => status === "partial").length) ??
      counts(
        `S7: lost of ${name}`,
        group.lost,
        tasks.filter((task) => RunState.isEnded(task.status) && !usable(task)).length
      )
    if (wrong !== undefined) return wrong
    if (group.review !== undefined && !state.reviews.has(group.review)) return `${group.review} of ${name} is not open`
    if (group.merged && group.open > 0) return `${name} is merged with open tasks`
    if (group.id !== "" && state.tasks.get(group.id)?.status !== "running") return `the group ${name} is not running`
  }
  for (const parent of own.keys()) {
    if (parent === "" || state.groups.has(parent)) continue
    if (own.get(parent)!.some(({ status }) => !RunState.isEnded(status)))
      return `the group ${parent} of open tasks is gone`
  }
  return undefined
}

/** Why an open task is not waited for by anybody, if it is so. */
const forgotten = (state: State, task: Task): string | undefined => {
  const reasons = [
    task.status === "queued" && task.unmet > 0 && "needs",
    state.due.has(task.id) && "due",
    state.ready.has(task.id) && "ready",
    task.routed !== undefined && "routed",
    task.dispatch !== undefined && "dispatch",
    task.parked !== undefined && "parked",
    state.groups.has(task.id) && "group",
    task.review !== undefined && "review",
    task.timer !== undefined && "timer",
    task.consult?.status === "open" && "consult"
  ].filter((each) => each !== false)
  if (state.due.has(task.id) && state.ready.has(task.id)) return `S5: ${task.id} is both due and ready`
  return reasons.length > 0 ? undefined : `the task ${task.id} is ${task.status}, and nobody will look at it again`
}

const ofTasks = (state: State): string | undefined => {
  for (const task of state.tasks.values()) {
    const { dispatch, id, review, routed, status } = task
    if (dispatch !== undefined && status !== "running") return `S2: ${id} has an open dispatch and is ${status}`
    const unmet = task.needs.filter((need) => !RunState.isEnded(state.tasks.get(need)!.status)).length
    if (status === "queued") {
      const wrong = counts(`unmet of ${id}`, task.unmet, unmet)
      if (wrong !== undefined) return wrong
    }
    if (review !== undefined && state.reviews.get(review)?.task !== id) return `${review} of ${id} is not open`
    if (task.parked !== undefined && dispatch !== undefined) return `S2: ${id} has two open dispatches`
    if ((status === "awaiting-review") !== (review !== undefined || task.parked !== undefined)) {
      return `S2: ${id} is ${status} with review ${review} and parked ${task.parked?.id}`
    }
    if (!RunState.isEnded(status)) {
      const wrong = forgotten(state, task)
      if (wrong !== undefined) return wrong
      continue
    }
    const busy =
      dispatch ??
      task.parked ??
      routed ??
      review ??
      task.timer ??
      (task.consult?.status === "open" ? task.consult.id : undefined)
    if (busy !== undefined) return `S3: ${id} has ended with ${JSON.stringify(busy)}`
    for (const [name, set] of Object.entries({ due: state.due, ready: state.ready, timed: state.timed })) {
      if (set.has(id)) return `S3: ${id} has ended and is ${name}`
    }
    if (state.groups.has(id)) return `S3: ${id} has ended and its group has not`
  }
  return undefined
}

/** Every question is of somebody who waits for its answer. */
const ofReviews = (state: State): string | undefined => {
  for (const [id, { dispatch, key = "", task = "" }] of state.reviews) {
    if (state.closed.has(id)) return `S11: ${id} is open and closed`
    if (dispatch !== undefined) {
      const { dispatch: open, parked } = state.tasks.get(task) ?? {}
      if ((open ?? parked)?.id !== dispatch) return `S11: ${id} is open, and ${dispatch} is not`
      if (state.asks.get(key)?.review !== id) return `S11: ${id} is open, and not what ${key} asks`
      continue
    }
    const asked = state.groups.get(task)?.review ?? state.tasks.get(task)?.review
    if (asked !== id) return `${id} is open, and nobody waits for it`
  }
  for (const [key, { review, task }] of state.asks) {
    if (RunState.isEnded(state.tasks.get(task)!.status)) return `S11: ${key} is asked by ${task}, which has ended`
    if (!state.reviews.has(review) && !state.closed.has(review)) return `S11: ${review} was never there`
  }
  for (const [id, { task }] of state.grants) {
    if (RunState.isEnded(state.tasks.get(task)!.status)) return `S11: ${id} is for ${task}, which has ended`
    const { as, decision } = state.closed.get(id) ?? {}
    if (as !== "expired" && decision !== "approve" && decision !== "edit") return `S11: ${id} is no approval`
  }
  return undefined
}

/** What goes on of a task: nothing, only that people are waited for, or more. */
const goingOn = (state: State, task: Task): "more" | "people" | "nothing" => {
  const group = state.groups.get(task.id)
  if (group === undefined) {
    const moves = task.dispatch ?? task.timer ?? (task.consult?.status === "open" ? "consult" : undefined)
    if (moves !== undefined || state.ready.has(task.id)) return "more"
    if (state.due.has(task.id)) return isHeld(state, task) ? "people" : "more"
    return task.status === "awaiting-review" ? "people" : "nothing"
  }
  if (group.consult?.status === "open") return "more"
  const own = group.tasks.map((id) => goingOn(state, state.tasks.get(id)!))
  if (own.includes("more")) return "more"
  return group.review !== undefined || own.includes("people") ? "people" : "nothing"
}

/** Whether it is about to end with its group. */
const isStopped = (state: State, { parent }: Task): boolean =>
  state.groups.get(parent)?.stopping !== undefined || (parent !== "" && isStopped(state, state.tasks.get(parent)!))

/** The time of a task stands still exactly while people are waited for, for itself or in the tasks that carry it out. */
const ofClocks = (state: State): string | undefined => {
  for (const task of state.tasks.values()) {
    const { deadlineAt, expired, heldAt, id, status } = task
    if (RunState.isEnded(status) || deadlineAt === undefined || expired || isStopped(state, task)) continue
    const people = goingOn(state, task) === "people" && (state.groups.has(id) || !state.due.has(id))
    if (heldAt !== undefined && heldAt > state.lastAt) return `${id} stands still from a time that has not come`
    // What is over already is left to be noticed.
    if (people !== (heldAt !== undefined) && !(people && deadlineAt <= state.lastAt)) {
      return `D79: ${id} is ${status}, and its time ${heldAt === undefined ? "goes on" : "stands still"}`
    }
  }
  return undefined
}

/** Every timer is of somebody who waits for it, and they are in order. */
const ofTimers = ({ tasks, timers }: State): string | undefined => {
  for (const [index, { due, subject, timer }] of timers.entries()) {
    const task = tasks.get(subject)
    if (task?.timer !== timer) return `S10: ${timer} is open, and ${subject} waits for ${task?.timer}`
    if (task.status !== "queued" || task.unmet > 0) return `S10: ${timer} is of ${subject}, which is ${task.status}`
    const before = timers[index - 1]
    if (before === undefined) continue
    const later = before.due < due || (before.due === due && numberOf(before.timer) < numberOf(timer))
    if (!later) return `S10: ${before.timer} stands before ${timer}`
  }
  const open = [...tasks.values()].filter(({ timer }) => timer !== undefined).length
  return counts("S10: open timers", timers.length, open)
}

const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf("/") + 1))

/** Whether a task waits for a budget that a person is asked to raise. */
const isHeld = (state: State, { tries }: Task): boolean => {
  const account = tries.at(-1)?.account
  return account !== undefined && [...state.reviews.values()].some(({ facts }) => facts["account"] === account)
}

const waits = (state: State): boolean =>
  (state.reviews.size > 0 || state.timers.length > 0) &&
  state.cancelled === undefined &&
  ![...state.tasks.values()].some(
    (task) =>
      task.dispatch !== undefined ||
      task.consult?.status === "open" ||
      state.ready.has(task.id) ||
      (state.due.has(task.id) && !isHeld(state, task))
  ) &&
  ![...state.groups.values()].some(({ consult, merged }) => !merged && consult?.status === "open")

const ofWhole = (state: State): string | undefined => {
  const tasks = [...state.tasks.values()]
  const load = new Map<string, number>()
  for (const { dispatch } of tasks) {
    if (dispatch !== undefined) load.set(dispatch.worker, (load.get(dispatch.worker) ?? 0) + 1)
  }
  const consulting = [...tasks, ...[...state.groups.values()].filter(({ merged }) => !merged)]
  const timed = tasks.filter(
    ({ deadlineAt, expired, heldAt, status }) =>
      deadlineAt !== undefined && !expired && heldAt === undefined && !RunState.isEnded(status)
  )
  const over = RunState.isFinished(state.status)
  return (
    counts("S5: open", state.open, tasks.filter(({ status }) => !RunState.isEnded(status)).length) ??
    counts("S5: running", state.running, tasks.filter(({ dispatch }) => dispatch !== undefined).length) ??
    counts("S5: consulting", state.consulting, consulting.filter(({ consult }) => consult?.status === "open").length) ??
    sets(
      "S5: timed",
      state.timed,
      timed.map(({ id }) => id)
    ) ??
    counts(
      "the load",
      [...state.load.values()].reduce((a, b) => a + b, 0),
      state.running
    ) ??
    [...load]
      .map(([worker, orders]) => counts(`the load of ${worker}`, state.load.get(worker) ?? 0, orders))
      .find(Boolean) ??
    (over || state.status === "suspended" || (state.status === "waiting") === waits(state)
      ? undefined
      : `S6: the run is ${state.status}`) ??
    (texts(state) <= state.size ? undefined : `S8: size is ${state.size}, and the texts alone are ${texts(state)}`) ??
    (state.size <= RunState.largest ? undefined : `S8: size is ${state.size}`)
  )
}

const measures = ["steps", "tokens", "toolCalls", "cost"] as const

const ofLedger = ({ ledger, tasks }: State): string | undefined => {
  const open = [...tasks.values()].flatMap(({ dispatch, parked }) =>
    [dispatch, parked].flatMap((each) => each?.id ?? [])
  )
  const wrong = sets("B4: reservations", new Set(ledger.reservations.keys()), open)
  if (wrong !== undefined) return wrong
  for (const [name, { reserved }] of ledger.accounts) {
    for (const measure of measures) {
      let sum = 0
      for (const { accounts, amount } of ledger.reservations.values()) {
        if (accounts.includes(name)) sum += amount[measure] ?? 0
      }
      const wrong = counts(`B4: ${measure} reserved at ${name}`, reserved[measure] ?? 0, sum)
      if (wrong !== undefined) return wrong
    }
  }
  return undefined
}

/** What one state says of itself that is not so. */
export const wrongIn = (state: State): string | undefined =>
  ofTasks(state) ??
  ofGroups(state) ??
  ofReviews(state) ??
  ofClocks(state) ??
  ofTimers(state) ??
  ofWhole(state) ??
  ofLedger(state)

/** What is wrong with an order that is given in this state. */
const wrongOrder = (
  before: State,
  after: State,
  { dispatch, grant, task: id, worker: name }: RunEvent.Of<"Dispatched">,
  spec: Decider.Spec
): string | undefined => {
  const task = after.tasks.get(id)!
  const worker = spec.workers.get(name)!
  if (after.cancelled !== undefined) return `${dispatch} is given though the end of the run was asked for`
  if (after.expired || task.expired) return `${dispatch} is given though its time is over`
  for (let parent = task.parent; ; parent = after.tasks.get(parent)!.parent) {
    if (after.groups.get(parent)?.stopping !== undefined) return `${dispatch} is given while its group is being stopped`
    if (parent === "") break
  }
  const missing = task.needs.find((need) => !usable(after.tasks.get(need)))
  if (missing !== undefined && !task.acceptMissing) return `${dispatch} is given without ${missing}`
  if (task.needs.some((need) => !RunState.isEnded(after.tasks.get(need)!.status))) return `${dispatch} comes too early`
  const load = after.load.get(name) ?? 0
  if (load > worker.size) return `D4: ${name} has ${load} orders and a pool of ${worker.size}`
  if (after.running > spec.concurrency) return `${after.running} orders are open, at most ${spec.concurrency} may be`
  if (!worker.available) return `${dispatch} goes to ${name}, which is not available`
  const health = before.health.get(name)?.health ?? "healthy"
  if (health !== "healthy" && (health !== "ready-for-probe" || load > 1))
    return `${dispatch} goes to ${name}: ${health}`
  if ((before.failures.get(name) ?? 0) >= spec.policy.skipAfter)
    return `${dispatch} goes to ${name}, which failed too often`
  const had = task.tries.slice(task.ladder).filter((each) => each.dispatch !== undefined && each.worker === name).length
  if (had >= spec.policy.dispatchesPerWorker) return `L1: ${name} has had ${id} ${had} times`
  const { _tag: needed } = Autonomy.decide(after.tier, { risk: worker.risk, irreversible: worker.irreversible })
  // An approval is used up by the order that it let be given.
  const approved = before.tasks.get(id)!.approved.filter((each) => each.worker === name)
  const allowed = approved.some(({ review }) => grant === undefined || review === grant)
  if (grant !== undefined && task.approved.some(({ review }) => review === grant)) return `${grant} is not used up`
  const confirmed = task.confirmed.findLast((each) => each.worker === name)?.allowed === true
  if (needed !== "Run" && !allowed && !(needed === "Confirm" && confirmed))
    return `${dispatch}: nobody let ${name} do it`
  for (const account of after.ledger.reservations.get(dispatch)?.accounts ?? []) {
    const { closed, limit, reserved, settled } = after.ledger.accounts.get(account)!
    if (closed !== undefined) return `B5: ${dispatch} is reserved at ${account}, which is closed`
    for (const measure of measures) {
      const claimed = (settled[measure] ?? 0) + (reserved[measure] ?? 0)
      if (claimed > (limit[measure] ?? Infinity))
        return `B1: ${claimed} ${measure} claimed at ${account}, ${limit[measure]} allowed`
    }
  }
  return undefined
}

/** What must hold of an end. */
const wrongEnd = (
  state: State,
  { status, stopReason }: RunEvent.Of<"RunFinished">,
  merges: boolean
): string | undefined => {
  const root = state.groups.get("")!
  const tasks = root.tasks.map((id) => state.tasks.get(id)!)
  const useful = tasks.filter(usable).length
  const accepted = tasks.filter((task) => task.status === "accepted").length
  const left = {
    open: state.open,
    reviews: state.reviews.size,
    due: state.due.size,
    timed: state.timed.size,
    timers: state.timers.length,
    load: state.load.size
  }
  for (const [name, count] of Object.entries(left)) if (count > 0) return `the run is over with ${count} ${name}`
  if (state.groups.size > 1) return `the run is over with the groups ${[...state.groups.keys()].join()}`
  if (merges && !root.merged) return "the run is over without its merged answer"
  if ((state.cancelled !== undefined && root.stopping?.reason === "stop-requested") !== (status === "cancelled")) {
    return `a run whose end was asked for is ${status}`
  }
  if (status === "cancelled")
    return stopReason === "stop-requested" ? undefined : `it was cancelled because of ${stopReason}`
  if (stopReason === "deadline" && !state.expired) return "it stopped because of a deadline that has not passed"
  const quorum = typeof root.containment === "object" ? root.containment.quorum : tasks.length
  if (status === "completed" && accepted < Math.min(quorum, tasks.length))
    return `it is completed with ${accepted} of ${tasks.length}`
  const unanswered = root.whole !== undefined && root.whole.outcome !== "accepted" && root.whole.outcome !== "partial"
  if (status === "completed" && root.whole !== undefined && root.whole.outcome !== "accepted") {
    return `it is completed, and its answer is ${root.whole.outcome}`
  }
  if (status === "failed" && useful > 0 && !unanswered) return `it failed with ${useful} useful results`
  if (status === "partial" && useful === 0) return "it is partial with nothing"
  return undefined
}

/** Watches a run go by: every event with the states before and after it. */
export class Watcher {
  private readonly ends = new Map<string, Task>()
  /** When each task was planned, and when it ended. */
  private readonly times = new Map<string, { readonly planned: number; ended: number }>()
  private readonly settled = new Map<string, Map<string, number>>()
  private readonly failures = new Map<string, number>()
  private readonly spec: Decider.Spec

  constructor(spec: Decider.Spec) {
    this.spec = spec
  }

  private charge(accounts: ReadonlyArray<string>, reserved: Budget.Amount, used: Budget.Amount | undefined): void {
    for (const name of accounts) {
      const account = this.settled.get(name) ?? new Map<string, number>()
      this.settled.set(name, account)
      for (const measure of measures) {
        account.set(measure, (account.get(measure) ?? 0) + (used?.[measure] ?? reserved[measure] ?? 0))
      }
    }
  }

  private wrongSums(state: State): string | undefined {
    for (const [name, { settled }] of state.ledger.accounts) {
      for (const measure of measures) {
        const is = this.settled.get(name)?.get(measure) ?? 0
        if (Math.abs((settled[measure] ?? 0) - is) > 1e-6) {
          return `D34: ${settled[measure] ?? 0} ${measure} settled at ${name}, the receipts come to ${is}`
        }
      }
    }
    for (const [worker, is] of this.failures) {
      const wrong = counts(`failures of ${worker}`, state.failures.get(worker) ?? 0, is)
      if (wrong !== undefined) return wrong
    }
    return undefined
  }

  /** What is wrong with the begin of a task that waits for a time. */
  private tooEarly(state: State, id: string, at: number): string | undefined {
    const { afterMillis = 0, needs } = state.tasks.get(id)!
    const since = Math.max(this.times.get(id)!.planned, ...needs.map((need) => this.times.get(need)!.ended))
    return at >= since + afterMillis ? undefined : `${id} begins at ${at}, ${afterMillis} ms after ${since} is later`
  }

  /** What is wrong after this event. */
  see(before: State | undefined, event: Event, after: State): string | undefined {
    if (after.version !== (before?.version ?? 0) + 1) return `S1: version ${after.version}`
    if (before !== undefined && event._tag === "Reported") {
      const { dispatch, outcome, result, worker } = event
      const { accounts = [], amount = {} } = before.ledger.reservations.get(dispatch) ?? {}
      const unknown = outcome === "cancelled" && Object.keys(result.usage).length === 0
      this.charge(accounts, amount, unknown ? undefined : result.usage)
      const { error } = result
      if (
        error !== undefined &&
        outcome !== "cancelled" &&
        event.dependency === undefined &&
        Recovery.blames(error.kind)
      ) {
        this.failures.set(worker, (this.failures.get(worker) ?? 0) + 1)
      }
    }
    if ((event._tag === "Decided" || event._tag === "DecisionFailed") && event.usage !== undefined) {
      this.charge(["run"], {}, event.usage)
    }
    for (const [id, task] of this.ends) {
      if (after.tasks.get(id) !== task) return `S3: ${id} has ended and was changed by ${event._tag}`
    }
    if (event._tag === "RunStarted" || event._tag === "GroupOpened" || event._tag === "TasksAdded") {
      for (const id of after.tasks.keys()) {
        if (!this.times.has(id)) this.times.set(id, { planned: event.at, ended: 0 })
      }
    }
    if (event._tag === "TaskEnded") {
      this.ends.set(event.task, after.tasks.get(event.task)!)
      this.times.get(event.task)!.ended = event.at
    }
    const early =
      event._tag === "Dispatched" || event._tag === "GroupOpened"
        ? this.tooEarly(after, event.task, event.at)
        : undefined
    if (early !== undefined) return early
    const wrong =
      event._tag === "Dispatched" && before !== undefined
        ? wrongOrder(before, after, event, this.spec)
        : event._tag === "RunFinished"
          ? wrongEnd(after, event, this.spec.merges)
          : undefined
    return wrong ?? this.wrongSums(after) ?? wrongIn(after)
  }
}

/** The state as its JSON says it. */
export const throughJson = (state: State): State =>
  Schema.decodeUnknownSync(RunState.Json)(JSON.parse(JSON.stringify(Schema.encodeSync(RunState.Json)(state))))
