/**
 * Who gets a task: by capability, permission, budget, health and load, always with a reason.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import type { Spec, TaskFacts, WorkerFacts } from "../../Decider.ts"
import type { PlannedTask } from "../../RunEvent.ts"
import type { RunState, TaskState } from "../../RunState.ts"
import { accountsOf } from "../applying/draft.ts"
import { isLimitless } from "../limitless.ts"

/** See {@link Decider.candidates}. */
export const candidates = (task: PlannedTask, { cache, workers }: Spec): ReadonlyArray<string> => {
  const key = `${task.worker ?? ""} ${task.capability ?? ""}`
  const known = cache.get(key)
  if (known !== undefined) return known
  const named = task.worker === undefined ? undefined : workers.get(task.worker)
  const wanted = task.capability === undefined ? (named?.capabilities ?? []) : [task.capability]
  const names: Array<string> = named === undefined ? [] : [named.name]
  if (wanted.length > 0) {
    for (const worker of workers.values()) {
      if (worker !== named && wanted.every((capability) => worker.capabilities.includes(capability))) {
        names.push(worker.name)
      }
    }
  }
  cache.set(key, names)
  return names
}

/** The slots and the budgets that are free for the decisions of one round: what it gave away already is gone. */
export class Room {
  free: number
  private readonly load: ReadonlyMap<string, number>
  /** Accounts that a person is asked about in this round. */
  readonly asked = new Set<string>()
  private readonly given = new Map<string, number>()
  private budget: Budget.Ledger
  private copied: Budget.Draft | undefined

  constructor(state: RunState, spec: Spec) {
    this.free = spec.concurrency - state.running
    this.load = state.load
    this.budget = state.ledger
  }

  get ledger(): Budget.Ledger {
    return this.budget
  }

  at(worker: WorkerFacts): number {
    return worker.size - (this.load.get(worker.name) ?? 0) - (this.given.get(worker.name) ?? 0)
  }

  /** How busy a worker is: 1 when all of its pool is. */
  share(worker: WorkerFacts): number {
    return 1 - this.at(worker) / worker.size
  }

  take(state: RunState, task: TaskState, { estimate, name }: WorkerFacts): void {
    this.free -= 1
    this.given.set(name, (this.given.get(name) ?? 0) + 1)
    if (Object.keys(estimate).length === 0) return
    this.copied ??= Budget.copy(this.budget)
    this.budget = this.copied
    Budget.reserve(this.copied, { id: `next of ${task.id}`, accounts: accountsOf(state, task, name), amount: estimate })
  }
}

/** Why a worker cannot have a task now, whoever asks; `undefined` when it can. */
export const barrier = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  worker: WorkerFacts,
  room: Room
): string | undefined => {
  const { available, estimate, name, permissions } = worker
  if (!available) return "is not available"
  const health = state.health.get(name)?.health
  if (health !== undefined && health !== "healthy") {
    if (health !== "ready-for-probe") return `is ${health}`
    if (room.share(worker) > 0) return "is being probed"
  }
  const failed = state.failures.get(name) ?? 0
  if (failed >= spec.policy.skipAfter) return `failed ${failed} dispatches of this run`
  if (permissions.length > 0) {
    const granted = declared(spec, task)?.permissions ?? inherited(state, spec, task)
    const lacking = permissions.find((area) => !granted.includes(area))
    if (lacking !== undefined) return `cannot take this contract: CONTRACT_INVALID: permissions.${lacking} is required`
  }
  if (isLimitless(room.ledger)) return undefined
  const own = [`worker:${name}`, `domain:${worker.domain}`]
  const over = Budget.check(room.ledger, own, estimate)
  return over === undefined ? undefined : `is over its budget: ${over.message}`
}

/** What is declared of a task; nothing of one that was made in the run, whatever it is called. */
export const declared = (spec: Spec, { amendment, id, template }: TaskState): TaskFacts | undefined =>
  template === undefined && amendment !== undefined ? undefined : spec.tasks.get(template ?? id)

/** What a task without a template may: what its amendment says, and otherwise what the task that it is a part of may. */
const inherited = (state: RunState, spec: Spec, task: TaskState): ReadonlyArray<string> => {
  for (let each: TaskState | undefined = task; each !== undefined; each = state.tasks.get(each.parent)) {
    const own = each.amendment?.["permissions"]
    if (typeof own === "object" && own !== null) return Object.keys(own)
    const known = declared(spec, each)
    if (known !== undefined) return known.permissions
  }
  return []
}

/** The part of the budget that has no room for a dispatch of the task, if any. */
export const unaffordable = (
  state: RunState,
  task: TaskState,
  worker: WorkerFacts,
  room: Room
): Budget.BudgetExceeded | undefined =>
  isLimitless(room.ledger)
    ? undefined
    : Budget.check(room.ledger, accountsOf(state, task, worker.name), worker.estimate)

/** A choice among the workers of a task. */
export type Route =
  | { readonly _tag: "To"; readonly worker: string; readonly names: ReadonlyArray<string>; readonly why: string }
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Nobody"; readonly why: string }

/**
 * Chooses the worker of a task that nobody has had, or that is tried anew.
 *
 * The worker that the task names comes first, and is waited for. Of those that only have the capability, the least busy one
 * is taken, then the cheapest, then the first. Nobody gets it whose estimate does not fit into what is left.
 */
export const choose = (state: RunState, spec: Spec, task: TaskState, room: Room): Route => {
  const names = candidates(task, spec)
  if (names.length === 0) {
    const why =
      task.capability === undefined
        ? `there is no worker ${task.worker}`
        : `no worker has the capability ${task.capability}`
    return { _tag: "Nobody", why }
  }
  const against: Array<string> = []
  let best: WorkerFacts | undefined
  let poor: WorkerFacts | undefined
  let waiting = false
  for (const name of names) {
    const worker = spec.workers.get(name)
    if (worker === undefined) continue
    const why = barrier(state, spec, task, worker, room)
    if (why !== undefined) {
      against.push(`${name} ${why}`)
      continue
    }
    const over = unaffordable(state, task, worker, room)
    if (over !== undefined) {
      poor ??= worker
      against.push(`${name} costs more than is left: ${over.message}`)
      continue
    }
    if (room.at(worker) <= 0) {
      // A worker that a task names is worth waiting for.
      if (name === task.worker) return { _tag: "Wait" }
      waiting = true
      against.push(`${name} is busy`)
      continue
    }
    if (name === task.worker) {
      best = worker
      break
    }
    if (best === undefined || isBetter(worker, best, room)) {
      if (best !== undefined) against.push(`${best.name} is ${behind(best, worker, room)}`)
      best = worker
    } else against.push(`${name} is ${behind(worker, best, room)}`)
  }
  // Whoever is too dear for everybody's budget is refused there, so that the refusal is written down.
  if (best === undefined && !waiting && poor !== undefined) {
    return { _tag: "To", worker: poor.name, names, why: against.join(", ") }
  }
  if (best === undefined) {
    return waiting ? { _tag: "Wait" } : { _tag: "Nobody", why: `no eligible worker: ${against.join(", ")}` }
  }
  const how =
    best.name === task.worker
      ? `${task.id} goes to ${best.name}, which its plan names`
      : task.capability === undefined
        ? `${task.id} goes to ${best.name}, a stand-in for ${task.worker}`
        : `${task.id} goes to ${best.name}, which has the capability ${task.capability}`
  const why = against.length === 0 ? how : `${how}; ${against.join(", ")}`
  return { _tag: "To", worker: best.name, names, why }
}

/** Why a worker that could have the task does not get it. */
const behind = (worker: WorkerFacts, best: WorkerFacts, room: Room): string => {
  if (room.share(worker) !== room.share(best)) return "busier"
  return (worker.estimate.cost ?? 0) === (best.estimate.cost ?? 0) ? "further down the list" : "dearer"
}

/** Less than zero when the first is to be preferred. */
const order = (one: WorkerFacts, other: WorkerFacts, room: Room): number =>
  room.share(one) - room.share(other) || (one.estimate.cost ?? 0) - (other.estimate.cost ?? 0)

const isBetter = (one: WorkerFacts, other: WorkerFacts, room: Room): boolean => order(one, other, room) < 0

/** Whether the worker that had a task last can have it again, and not oftener than one worker may. */
export const canAgain = (state: RunState, spec: Spec, task: TaskState, room: Room, last: string): boolean => {
  const worker = spec.workers.get(last)
  if (worker === undefined || barrier(state, spec, task, worker, room) !== undefined) return false
  const had = task.tries.slice(task.ladder).filter((each) => each.dispatch !== undefined && each.worker === last)
  return had.length < spec.policy.dispatchesPerWorker
}

/** The workers that can take a task over from others, best first, and those of them with a larger window than `last`. */
export const standIns = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  room: Room,
  last: string
): { readonly others: ReadonlyArray<string>; readonly larger: ReadonlyArray<string> } => {
  const window = spec.workers.get(last)?.window
  const able = candidates(task, spec).flatMap((name) => {
    const worker = spec.workers.get(name)
    return worker === undefined || barrier(state, spec, task, worker, room) !== undefined ? [] : [worker]
  })
  // Of equals the earlier one stays ahead.
  const sorted = able.toSorted((one, other) => order(one, other, room))
  return {
    others: sorted.map(({ name }) => name),
    larger: sorted.flatMap((worker) =>
      window === undefined || worker.window === undefined || worker.window > window ? [worker.name] : []
    )
  }
}
