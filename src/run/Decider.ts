/**
 * What to do next: `decide(state, spec)`, a function from data to data.
 *
 * The same state and the same spec always give the same actions. No clock, no randomness, no journal is in here; the
 * shell carries the actions out, appends what happened, and asks again.
 *
 * **Invariants**
 *
 * - D1. Tasks that need a decision come before tasks that wait for a slot, each in the order in which they came.
 * - D2. No action concerns a task that has ended or that has an open dispatch.
 * - D3. With nothing open and nothing to do, the run is finished; an empty queue alone is not success.
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
import { shorten } from "./internal/problems.ts"
import * as Recovery from "./Recovery.ts"
import type { Missing } from "./Result.ts"
import type { PlannedTask, RunEnd, StopReason, TaskEnd } from "./RunEvent.ts"
import type { RunState, TaskState, Try } from "./RunState.ts"

/**
 * A worker, as far as routing looks at it.
 *
 * @category models
 * @since 0.1.0
 */
export interface WorkerFacts {
  readonly name: string
  readonly capabilities: ReadonlyArray<string>
}

/**
 * What decisions go by beside the state.
 *
 * **Details**
 *
 * - `workers`: who is there, in the order in which they are preferred.
 * - `concurrency`: open dispatches of a run, a whole number >= 1. Default 10.
 * - `escalate`: ids of tasks where a partial result would do harm.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spec {
  readonly workers: ReadonlyMap<string, WorkerFacts>
  readonly concurrency: number
  readonly escalate: ReadonlySet<string>
  readonly policy: Recovery.Policy
}

/**
 * Makes a {@link Spec}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const spec = (options: {
  readonly workers: ReadonlyArray<WorkerFacts>
  readonly concurrency?: number | undefined
  readonly escalate?: ReadonlyArray<string> | undefined
  readonly policy?: Recovery.Policy | undefined
}): Spec => ({
  workers: new Map(options.workers.map((worker) => [worker.name, worker])),
  concurrency: options.concurrency ?? 10,
  escalate: new Set(options.escalate),
  policy: options.policy ?? Recovery.policy
})

/**
 * Something to be done.
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
      readonly note: string
    }
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
export const candidates = (task: PlannedTask, { workers }: Spec): ReadonlyArray<string> => {
  const named = task.worker === undefined ? undefined : workers.get(task.worker)
  const wanted = task.capability === undefined ? (named?.capabilities ?? []) : [task.capability]
  const names: Array<string> = named === undefined ? [] : [named.name]
  if (wanted.length === 0) return names
  for (const worker of workers.values()) {
    if (worker !== named && wanted.every((capability) => worker.capabilities.includes(capability))) {
      names.push(worker.name)
    }
  }
  return names
}

/**
 * What to do next. Nothing, while dispatches are open and no slot is free.
 *
 * @category decisions
 * @since 0.1.0
 */
export const decide = (state: RunState, spec: Spec): ReadonlyArray<Action> => {
  if (state.status !== "running") return []
  const actions: Array<Action> = []
  let free = spec.concurrency - state.running
  for (const ids of [state.due, state.ready]) {
    // D1
    for (const id of ids) {
      const task = state.tasks.get(id)
      if (task === undefined) continue
      if (ids === state.ready && free <= 0) break
      const action = settle(task, spec)
      if (action._tag === "Dispatch") {
        if (free <= 0) continue
        free -= 1
      }
      actions.push(action)
    }
  }
  if (actions.length === 0 && state.running === 0) actions.push(finish(state, spec)) // D3
  return actions
}

/** A task that waits for a decision: what is to be done with it. */
const settle = (task: TaskState, spec: Spec): Action => {
  const last = task.tries.at(-1)
  if (last === undefined) return task.lost.length > 0 && !task.acceptMissing ? block(task) : first(task, spec)
  if (last.kind === undefined) return deliver(task, last, spec)
  return recover(task, last, last.kind, spec)
}

const list = (names: ReadonlyArray<string>): string => names.join(", ")

const block = (task: TaskState): Action => ({
  _tag: "EndTask",
  task: task.id,
  status: "blocked",
  missing: task.lost.map((lost) => ({ part: lost, reason: `The task ${lost} gave no result` })),
  note: `Blocked: ${list(task.lost)} gave no result, and ${task.id} does not run without`
})

const first = (task: TaskState, spec: Spec): Action => {
  const names = candidates(task, spec)
  const [worker] = names
  if (worker === undefined) {
    const wanted =
      task.capability === undefined
        ? `there is no worker ${task.worker}`
        : `no worker has the capability ${task.capability}`
    return incomplete(task, spec, wanted)
  }
  const note =
    worker === task.worker
      ? `${task.id} goes to ${worker}, which its plan names`
      : `${task.id} goes to ${worker}, the first that has the capability ${task.capability}`
  return { _tag: "Dispatch", task: task.id, worker, candidates: names, note }
}

const deliver = (task: TaskState, last: Try, spec: Spec): Action => {
  const end = { _tag: "EndTask", task: task.id, dispatch: last.dispatch, missing: last.missing } as const
  if (last.outcome === "accepted") {
    const low = last.confidence < spec.policy.confidence
    const confidence = low ? `, with a confidence of ${last.confidence}, below ${spec.policy.confidence}` : ""
    return { ...end, status: "accepted", note: `${task.id} is accepted from ${last.worker}${confidence}` }
  }
  const lacks = shorten(last.missing.map(({ part, reason }) => `${part} (${reason})`).join("; "), 500)
  return spec.escalate.has(task.id)
    ? {
        ...end,
        dispatch: undefined,
        status: "failed",
        note: `${task.id} fails: ${last.worker} left out ${lacks}, and a partial result would do harm`
      }
    : { ...end, status: "partial", note: `${task.id} is partial from ${last.worker}: it lacks ${lacks}` }
}

const recover = (task: TaskState, last: Try, kind: NonNullable<Try["kind"]>, spec: Spec): Action => {
  const history: Array<Recovery.Failed> = []
  for (const { kind, worker } of task.tries) if (kind !== undefined) history.push({ worker, kind })
  const names = candidates(task, spec)
  const step = Recovery.next(history, { others: names, policy: spec.policy })
  const failed = `${last.worker} failed (${kind}: ${last.reason ?? "no reason given"})`
  switch (step._tag) {
    case "SameWorker": {
      const how =
        step.rung === "correct" ? "it is asked to correct its answer" : "it gets one more try, freshly started"
      return { _tag: "Dispatch", task: task.id, worker: step.worker, candidates: names, note: `${failed}; ${how}` }
    }
    case "OtherWorker":
      return {
        _tag: "Dispatch",
        task: task.id,
        worker: step.worker,
        candidates: names,
        note: `${failed}; ${step.worker} takes over`
      }
    case "Incomplete": {
      const why =
        step.because === "no-other-worker" ? "no other worker is left" : `a failure of this kind is not retried`
      return incomplete(task, spec, `${failed}; ${why}`)
    }
  }
}

const incomplete = (task: TaskState, spec: Spec, why: string): Action => ({
  _tag: "EndTask",
  task: task.id,
  status: "failed",
  missing: [{ part: task.id, reason: why }],
  note: spec.escalate.has(task.id) ? `${task.id} has no result, and a person would have to decide: ${why}` : why
})

const usable = (task: TaskState): boolean => task.status === "accepted" || task.status === "partial"

const finish = (state: RunState, spec: Spec): Action => {
  let accepted = 0
  let useful = 0
  let deserted = false
  let fellBack = false
  let unsure = false
  for (const task of state.tasks.values()) {
    if (usable(task)) useful += 1
    const last = task.tries.at(-1)
    if (task.status === "accepted") {
      accepted += 1
      if (last !== undefined) {
        unsure ||= last.confidence < spec.policy.confidence
        fellBack ||= task.tries.some(({ worker }) => worker !== last.worker)
      }
    } else if (task.status === "failed") {
      deserted ||= last?.kind === undefined || spec.policy.ladders[last.kind].includes("other-worker")
    }
  }
  const total = state.tasks.size
  const count = `${accepted} of ${total} ${total === 1 ? "task" : "tasks"} accepted`
  if (state.open > 0) {
    const status = useful > 0 ? "partial" : "failed"
    const note = `${state.open} tasks can never become ready; ${count}`
    return { _tag: "Finish", status, stopReason: "no-ready-task", degraded: false, note }
  }
  if (useful === 0) {
    return {
      _tag: "Finish",
      status: "failed",
      stopReason: "empty",
      degraded: false,
      note: `No usable result; ${count}`
    }
  }
  if (accepted === total) {
    const how = [...(fellBack ? ["by a stand-in"] : []), ...(unsure ? ["with low confidence"] : [])].join(" and ")
    const note = how === "" ? count : `${count}, ${how}`
    return { _tag: "Finish", status: "completed", stopReason: "accepted", degraded: how !== "", note }
  }
  const onlyPartial = useful === total
  const stopReason = onlyPartial ? "accepted" : deserted ? "no-eligible-worker" : "no-ready-task"
  return {
    _tag: "Finish",
    status: "partial",
    stopReason,
    degraded: false,
    note: `${count}; the rest is named as missing`
  }
}
