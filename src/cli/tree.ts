/**
 * A run as a tree: its desk, the domains and workers that its events name, and its tasks by group, as they are after an event.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import * as Audit from "../run/Audit.ts"
import { fromRecord } from "../run/internal/log.ts"
import { many } from "../run/internal/problems.ts"
import { foldAt, foldRun } from "../run/internal/reading.ts"
import type { RunEvent } from "../run/RunEvent.ts"
import { isEnded, type RunState, type TaskState } from "../run/RunState.ts"
import { type Branch, treeIn } from "./drawing.ts"
import { type Look, timeOf } from "./look.ts"
import { here, print, printJson } from "./printing.ts"
import { demand } from "./reading.ts"

/** A worker that the events name. `load`: its open orders. `last`: the last order that it was given. */
export interface WorkerView {
  readonly worker: string
  readonly health: string
  readonly until?: number | undefined
  readonly load: number
  readonly last?: Pick<Audit.Row, "dispatch" | "outcome" | "startedAt"> | undefined
}

/** What a task waits for. `until`: when that comes, where it is known. */
export interface Waits {
  readonly for: "task" | "timer" | "person" | "choice" | "order" | "effect" | "retry" | "slot"
  readonly id: string
  readonly note: string
  readonly until?: number | undefined
}

/** A task, and those that carry it out. `kind`: of the group that they are. */
export interface TaskView {
  readonly task: string
  readonly status: string
  readonly worker?: string | undefined
  readonly tries: number
  readonly waits: ReadonlyArray<Waits>
  readonly kind?: string | undefined
  readonly tasks: ReadonlyArray<TaskView>
}

/** The whole. */
export interface TreeView {
  readonly run: string
  readonly desk: string
  readonly deskVersion: string
  readonly status: string
  readonly tier: string
  readonly version: number
  readonly at: number
  readonly kind: string
  readonly domains: ReadonlyArray<{ readonly domain: string; readonly workers: ReadonlyArray<WorkerView> }>
  readonly tasks: ReadonlyArray<TaskView>
}

/** What the events say of workers beside the state. */
export interface Named {
  readonly workers: ReadonlySet<string>
  readonly rows: ReadonlyArray<Audit.Row>
}

/** Collects which workers events name, and their dispatches. */
export const naming = () => {
  const workers = new Set<string>()
  const rows = Audit.fold()
  const add = (event: RunEvent): void => {
    rows.add(event)
    if (event._tag === "Routed") for (const each of [event.worker, ...event.candidates]) workers.add(each)
    if (event._tag === "Dispatched" || event._tag === "HealthChanged") workers.add(event.worker)
  }
  return { add, named: (): Named => ({ workers, rows: rows.rows() }) }
}

const domainOf = (worker: string): string => worker.slice(0, Math.max(0, worker.lastIndexOf(".")))

const domainsOf = (state: RunState, { rows, workers }: Named): TreeView["domains"] => {
  const planned = [...state.tasks.values()].flatMap(({ worker }) => (worker === undefined ? [] : [worker]))
  const last = new Map(rows.map((row) => [row.worker, row]))
  const domains = new Map<string, Array<WorkerView>>()
  for (const worker of [...new Set([...planned, ...workers])].toSorted()) {
    const { health = "healthy", until } = state.health.get(worker) ?? {}
    const row = last.get(worker)
    const view: WorkerView = {
      worker,
      health,
      ...(until === undefined ? {} : { until }),
      load: state.load.get(worker) ?? 0,
      ...(row === undefined ? {} : { last: { dispatch: row.dispatch, outcome: row.outcome, startedAt: row.startedAt } })
    }
    domains.set(domainOf(worker), [...(domains.get(domainOf(worker)) ?? []), view])
  }
  return Array.from(domains, ([domain, workers]) => ({ domain, workers }))
}

const waitsOf = (state: RunState, task: TaskState): ReadonlyArray<Waits> => {
  if (isEnded(task.status)) return []
  const waits: Array<Waits> = []
  for (const need of task.needs) {
    const status = state.tasks.get(need)?.status
    if (status !== undefined && !isEnded(status)) waits.push({ for: "task", id: need, note: status })
  }
  for (const { due, purpose, subject, timer } of state.timers) {
    if (subject === task.id) waits.push({ for: "timer", id: timer, note: purpose, until: due })
  }
  for (const { kind, review, task: of } of state.reviews.values()) {
    if (of === task.id) waits.push({ for: "person", id: review, note: kind })
  }
  if (task.consult?.status === "open") waits.push({ for: "choice", id: task.consult.id, note: task.consult.purpose })
  if (task.blocked !== undefined) {
    waits.push({ for: "effect", id: task.blocked, note: state.effects.get(task.blocked)?.status ?? "unknown" })
  }
  if (task.dispatch !== undefined) {
    const { id, retryAt, worker } = task.dispatch
    if (retryAt === undefined) waits.push({ for: "order", id, note: `at ${worker}` })
    else waits.push({ for: "retry", id, note: `at ${worker}`, until: retryAt })
  } else if (task.status === "ready" && waits.length === 0) {
    waits.push({ for: "slot", id: "", note: "a free slot" })
  }
  return waits
}

const tasksOf = (state: RunState): ReadonlyArray<TaskView> => {
  const within = new Map<string, Array<TaskState>>()
  for (const task of state.tasks.values()) {
    const beside = within.get(task.parent)
    if (beside === undefined) within.set(task.parent, [task])
    else beside.push(task)
  }
  const viewOf = (task: TaskState): TaskView => {
    const worker = task.dispatch?.worker ?? task.routed ?? task.tries.at(-1)?.worker ?? task.worker
    const kind = state.groups.get(task.id)?.kind ?? task.expansions.at(-1)
    const tasks = (within.get(task.id) ?? []).map(viewOf)
    return {
      task: task.id,
      status: task.status,
      ...(worker === undefined ? {} : { worker }),
      tries: task.tries.length + (task.dispatch === undefined ? 0 : 1),
      waits: waitsOf(state, task),
      ...(kind === undefined ? {} : { kind }),
      tasks
    }
  }
  return (within.get("") ?? []).map(viewOf)
}

/** A run as a tree, from what its events fold to. */
export const viewOf = (state: RunState, named: Named): TreeView => ({
  run: state.run,
  desk: state.desk,
  deskVersion: state.deskVersion,
  status: state.status,
  tier: state.tier,
  version: state.version,
  at: state.lastAt,
  kind: state.groups.get("")?.kind ?? "",
  domains: domainsOf(state, named),
  tasks: tasksOf(state)
})

const waitText = (look: Look, { for: what, id, note, until }: Waits): string => {
  const when = until === undefined ? "" : ` until ${timeOf(look, until)}`
  return what === "slot" ? note : `${what} ${id} (${note})${when}`
}

const workerBranch = (look: Look, { health, last, load, until, worker }: WorkerView): Branch => {
  const again = until === undefined ? [] : [`until ${timeOf(look, until)}`]
  const order =
    last === undefined ? "no order yet" : `last ${last.dispatch}, ${last.outcome}, ${timeOf(look, last.startedAt)}`
  return { name: worker, status: health, more: [...again, `${many(load, "order")} open`, order].join(", ") }
}

const taskBranch = (look: Look, { kind, status, task, tasks, tries, waits, worker }: TaskView): Branch => {
  const parts = [
    ...(kind === undefined ? [] : [kind]),
    ...(worker === undefined || worker === kind ? [] : [worker]),
    ...(tries === 0 ? [] : [`${tries} ${tries === 1 ? "try" : "tries"}`]),
    ...(waits.length === 0 ? [] : [`waits for ${waits.map((each) => waitText(look, each)).join(", ")}`])
  ]
  return { name: task, status, more: parts.join(", "), below: tasks.map((each) => taskBranch(look, each)) }
}

/** A run as a drawn tree. */
export const treeText = (look: Look, view: TreeView): string =>
  treeIn(look, {
    name: `${view.run}: ${view.desk} ${view.deskVersion}`,
    status: view.status,
    more: `tier ${view.tier}, after event ${view.version} of ${timeOf(look, view.at)}`,
    below: [
      ...view.domains.map(({ domain, workers }): Branch => ({
        name: domain,
        below: workers.map((each) => workerBranch(look, each))
      })),
      ...(view.tasks.length === 0
        ? []
        : [{ name: `tasks (${view.kind})`, below: view.tasks.map((each) => taskBranch(look, each)) }])
    ]
  })

/** Prints a run as a tree, as it is or as it was. */
export const tree = Effect.fnUntraced(function* (run: string, at: number | undefined, json: boolean) {
  yield* demand(run)
  const { state } = yield* at === undefined ? foldRun(run) : foldAt(run, at)
  const journal = yield* Journal.Journal
  const { add, named } = naming()
  yield* Stream.runForEach(journal.read(run, { to: state.version }), (recorded) =>
    Effect.sync(() => {
      // What cannot be read has been refused before.
      const event = EffectResult.getOrUndefined(fromRecord(recorded))
      if (event !== undefined) add(event)
    })
  )
  const view = viewOf(state, named())
  yield* json ? printJson(view) : print(treeText(here(), view))
})
