/**
 * What to do next: `decide(state, spec)`, a function from data to data.
 *
 * The same state and the same spec always give the same actions. No clock, no randomness, no journal is in here; the
 * shell carries the actions out, appends what happened, and asks again.
 *
 * **Invariants**
 *
 * - D1. Groups come first, then tasks that need a decision, then tasks that wait for a slot, each in the order in which
 *   they came. Actions on groups and actions on tasks are never mixed.
 * - D2. No action concerns a task that has ended; only `Recall` one that has an open dispatch.
 * - D3. With nothing open and nothing to do, the run is finished; an empty queue alone is not success.
 * - D4. A worker never has more of a run's orders than it can work on at once, so that waiting for it takes nobody's slot.
 *
 * **Example** (The first decision of a run)
 *
 * ```ts
 * import { Result } from "effect"
 * import { Decider, RunState } from "espalier/run"
 *
 * const started = RunState.evolve(undefined, {
 *   _tag: "RunStarted",
 *   at: 0,
 *   run: "r1",
 *   desk: "release",
 *   version: "1",
 *   definition: "",
 *   input: null,
 *   tasks: [{ id: "links", needs: [], worker: "docs.links", acceptMissing: false }],
 *   note: "Asked for"
 * })
 * const spec = Decider.spec({ workers: [{ name: "docs.links", capabilities: [] }] })
 * const actions = Result.isSuccess(started) ? Decider.decide(started.success, spec) : []
 * actions.map(({ _tag }) => _tag) // => ["Dispatch"]
 * ```
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

import type * as Autonomy from "./Autonomy.ts"
import type { Amount } from "./Budget.ts"
import type * as Confidence from "./Confidence.ts"
import type { Coordinator } from "./Coordinator.ts"
import { coordinate } from "./internal/deciding/coordinating.ts"
import { finish } from "./internal/deciding/finishing.ts"
import * as routing from "./internal/deciding/routing.ts"
import { settle } from "./internal/deciding/settling.ts"
import * as Recovery from "./Recovery.ts"
import type { Missing } from "./Result.ts"
import type {
  Decision,
  PlannedTask,
  Purpose,
  ReviewKind,
  ReviewReason,
  RunEnd,
  StopReason,
  TaskEnd,
  TimerPurpose
} from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"

/**
 * A worker, as far as routing looks at it.
 *
 * **Details**
 *
 * - `domain`: that it is in. `size`: how many orders it works on at once.
 * - `estimate`: what one dispatch is reserved for. `window`: how much it can take in, in whatever unit the desk uses.
 * - `permissions`: areas that a task has to grant. `confidence`: its own threshold.
 *
 * @category models
 * @since 0.1.0
 */
export interface WorkerFacts {
  readonly name: string
  readonly domain: string
  readonly capabilities: ReadonlyArray<string>
  readonly size: number
  readonly available: boolean
  readonly risk: Autonomy.Risk
  readonly irreversible: boolean
  readonly permissions: ReadonlyArray<string>
  readonly estimate: Amount
  readonly window?: number | undefined
  readonly confidence?: number | undefined
}

/**
 * A declared task, as far as decisions look at it.
 *
 * **Details**
 *
 * - `escalate`: a partial result would do harm.
 * - `can`: how it can be carried out by tasks of its own when it cannot be done as it is.
 * - `reduceScope`: a person may be asked to drop requirements; `optional`: those that may be dropped.
 * - `permissions`: the areas that it grants.
 * - `gated`: whether a person has to let its result stand. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskFacts {
  readonly escalate: boolean
  readonly can: ReadonlySet<Recovery.Expansion>
  readonly reduceScope: boolean
  readonly permissions: ReadonlyArray<string>
  readonly optional: ReadonlyArray<string>
  readonly gated?: boolean | undefined
}

/**
 * A coordinator, as far as decisions look at it. `adds`: whether it ever adds tasks or asks for choices.
 *
 * @category models
 * @since 0.1.0
 */
export interface CoordinatorFacts extends Pick<Coordinator<never, unknown>, "kind" | "next"> {
  readonly adds: boolean
}

/**
 * What recovery, confidence and the cap go by.
 *
 * **Details**
 *
 * - `skipAfter`: a worker that failed so many dispatches of a run gets no more of it, a whole number >= 1. Default 5.
 * - `lowConfidence`: what is done about a result below the threshold. Default `"note"`. `reviewConfidence`: whether a person
 *   is asked when that settles nothing. Default false.
 * - `atCap`: what happens when a budget is spent: `"stop"` with what there is, or `"review"`. Default `"stop"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Policy extends Recovery.Policy {
  readonly skipAfter: number
  readonly lowConfidence: Confidence.Low
  readonly reviewConfidence: boolean
  readonly atCap: "stop" | "review"
}

/**
 * The defaults.
 *
 * @category models
 * @since 0.1.0
 */
export const policy: Policy = {
  ...Recovery.policy,
  skipAfter: 5,
  lowConfidence: "note",
  reviewConfidence: false,
  atCap: "stop"
}

/**
 * What decisions go by beside the state.
 *
 * **Details**
 *
 * - `workers`: who is there, in the order in which they are preferred.
 * - `tasks`: what is declared of tasks, by template. `coordinators`: by the template of the task that they carry out; that
 *   of the run itself under the empty name.
 * - `concurrency`: open dispatches of a run, a whole number >= 1. Default 10.
 * - `steps`: tasks that a router, a graph or a swarm may add, a whole number >= 0. Default 20.
 * - `merges`: whether the run itself has a merged result.
 * - `confirm`: the supervisor's own decision where autonomy asks for one.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spec {
  readonly workers: ReadonlyMap<string, WorkerFacts>
  readonly tasks: ReadonlyMap<string, TaskFacts>
  readonly coordinators: ReadonlyMap<string, CoordinatorFacts>
  readonly concurrency: number
  readonly steps: number
  readonly merges: boolean
  readonly policy: Policy
  readonly confirm?: Autonomy.Policy | undefined
  /** @internal What was computed from the rest. */
  readonly cache: Map<string, ReadonlyArray<string>>
}

/**
 * What {@link spec} takes of a worker; the rest has defaults: a pool of 1, available, low risk, nothing needed.
 *
 * @category models
 * @since 0.1.0
 */
export type WorkerOptions = Pick<WorkerFacts, "name" | "capabilities"> & Partial<WorkerFacts>

/**
 * Makes a {@link Spec}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const spec = (options: {
  readonly workers: ReadonlyArray<WorkerOptions>
  readonly tasks?: ReadonlyMap<string, TaskFacts> | undefined
  readonly coordinators?: ReadonlyMap<string, CoordinatorFacts> | undefined
  readonly concurrency?: number | undefined
  readonly steps?: number | undefined
  readonly merges?: boolean | undefined
  readonly policy?: Partial<Policy> | undefined
  readonly confirm?: Autonomy.Policy | undefined
}): Spec => ({
  workers: new Map(
    options.workers.map((worker) => [
      worker.name,
      {
        domain: worker.name.slice(0, Math.max(0, worker.name.indexOf("."))),
        size: 1,
        available: true,
        risk: "low",
        irreversible: false,
        permissions: [],
        estimate: {},
        ...worker
      }
    ])
  ),
  tasks: options.tasks ?? new Map(),
  coordinators: options.coordinators ?? new Map(),
  concurrency: options.concurrency ?? 10,
  steps: options.steps ?? 20,
  merges: options.merges ?? false,
  policy: { ...policy, ...options.policy },
  ...(options.confirm === undefined ? {} : { confirm: options.confirm }),
  cache: new Map()
})

/**
 * A person to be asked.
 *
 * **Details**
 *
 * - `task`: absent when the run itself is concerned. `allowed`: what may be decided. `facts`: see `RunEvent.ReviewOpened`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Review {
  readonly _tag: "Review"
  readonly task?: string | undefined
  readonly kind: ReviewKind
  readonly reason: ReviewReason
  readonly allowed: ReadonlyArray<Decision>
  readonly facts: { readonly [name: string]: Schema.Json }
  readonly note: string
}

/**
 * Something to be done.
 *
 * **Details**
 *
 * - `Dispatch`: give the order. `approval`: what is asked instead when it is no order that a person approved; absent when it
 *   needs nobody's approval. `RefuseBudget`: do not, because an account has no room for it. `Confirm`: write down the
 *   supervisor's own word. `Recall`: call an order back. `Unpark`: begin the work of an order anew that has waited for answers.
 * - `OpenGroup`: have a task carried out by tasks of its own, of its coordinator or of an answer. `AddTasks`, `StopGroup`,
 *   `Merge`: what a group needs. `result`: the task whose result is the group's.
 * - `Consult`: ask for a choice. `Review`: ask a person. `SetTimer`: have the task wait for `millis` from now.
 *
 * @category models
 * @since 0.1.0
 */
export type Action =
  | {
      readonly _tag: "Dispatch"
      readonly task: string
      readonly worker: string
      readonly candidates: ReadonlyArray<string>
      readonly approval?: Review | undefined
      readonly note: string
    }
  | {
      readonly _tag: "RefuseBudget"
      readonly task: string
      readonly worker: string
      readonly account: string
      readonly measure: string
      readonly limit: number
      readonly asked: number
      readonly note: string
    }
  | {
      readonly _tag: "Confirm"
      readonly task: string
      readonly worker: string
      readonly allowed: boolean
      readonly note: string
    }
  | {
      readonly _tag: "Recall"
      readonly task: string
      readonly dispatch: string
      readonly reason: StopReason
      readonly note: string
    }
  | {
      readonly _tag: "Unpark"
      readonly task: string
      readonly dispatch: string
      readonly worker: string
      readonly note: string
    }
  | {
      readonly _tag: "OpenGroup"
      readonly task: string
      readonly kind: string
      readonly answer?: Schema.Json | undefined
      readonly note: string
    }
  | {
      readonly _tag: "AddTasks"
      readonly group: string
      readonly tasks: ReadonlyArray<PlannedTask>
      readonly note: string
    }
  | {
      readonly _tag: "StopGroup"
      readonly group: string
      readonly reason: StopReason
      readonly recall: boolean
      readonly note: string
    }
  | { readonly _tag: "Merge"; readonly group: string; readonly result?: string | undefined }
  | { readonly _tag: "Consult"; readonly subject: string; readonly purpose: Purpose; readonly note: string }
  | Review
  | { readonly _tag: "SetTimer"; readonly task: string; readonly purpose: TimerPurpose; readonly millis: number }
  | {
      readonly _tag: "EndTask"
      readonly task: string
      readonly status: TaskEnd
      readonly dispatch?: string | undefined
      readonly missing: ReadonlyArray<Missing>
      readonly note: string
    }
  | {
      readonly _tag: "Finish"
      readonly status: RunEnd
      readonly stopReason: StopReason
      readonly degraded: boolean
      readonly note: string
    }

/**
 * Who may do a task, best first: the worker that it names, then those with its capability. A task that names only a
 * worker is also done by those that have all of that worker's capabilities, of which there must be one.
 *
 * @category decisions
 * @since 0.1.0
 */
export const candidates: (task: PlannedTask, spec: Spec) => ReadonlyArray<string> = routing.candidates

/**
 * What to do next. Nothing, while dispatches are open and no slot is free.
 *
 * @category decisions
 * @since 0.1.0
 */
export const decide = (state: RunState, spec: Spec): ReadonlyArray<Action> => {
  if (state.status !== "running" && state.status !== "waiting") return []
  const actions: Array<Action> = []
  for (const group of state.groups.values()) coordinate(state, spec, group, actions) // D1
  const ends = actions.length === 1 && actions[0]?._tag === "Merge" && actions[0].group === ""
  if (actions.length > 0 && !ends) return actions
  actions.length = 0
  const room = new routing.Room(state, spec)
  for (const id of state.due) {
    const task = state.tasks.get(id)
    const action = task === undefined ? undefined : settle(state, spec, task, room)
    if (action !== undefined) actions.push(action)
  }
  /** Whom tasks of this round wait for: the next ones wait too, and are not looked at one by one. */
  const awaited = new Set<string>()
  for (const id of state.ready) {
    if (room.free <= 0) break
    const task = state.tasks.get(id)
    if (task === undefined) continue
    const whom = task.group === undefined && task.tries.length === 0 ? `${task.worker} ${task.capability}` : undefined
    if (whom !== undefined && awaited.has(whom)) continue
    const action = settle(state, spec, task, room)
    if (action !== undefined) actions.push(action)
    else if (whom !== undefined) awaited.add(whom)
  }
  if (actions.length > 0 || state.running > 0 || state.consulting > 0) return actions
  if (state.reviews.size > 0 || state.timers.length > 0) return actions
  // D3. What can never become ready is named, and the run ends.
  return [spec.merges && state.groups.get("")?.merged === false ? { _tag: "Merge", group: "" } : finish(state, spec)]
}
