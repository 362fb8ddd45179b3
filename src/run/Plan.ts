/**
 * A plan made by code: tasks, what each needs from the others, and how many may run at once.
 *
 * A task runs as soon as everything that it needs was accepted. When a task before it is only partial, it runs and is told
 * what is missing; when a task before it gave nothing, it is blocked, unless it says `acceptMissing`.
 *
 * **Details**
 *
 * - A plan is checked with its desk, before anything runs: unknown workers and needs, cycles, duplicates, bad contracts.
 * - Its output, without a `merge`, is a record of its tasks' outputs by their ids, also when there is only one.
 *
 * **Gotchas**
 *
 * `input` is called again when a task is given to another worker or taken up after a crash. It should do nothing but put
 * together its arguments.
 *
 * **Example** (Two tasks side by side, and one that needs both)
 *
 * ```ts
 * import { Plan } from "espalier/run"
 *
 * const plan = Plan.make([
 *   { id: "size", worker: "code.size", objective: "Measure the code" },
 *   { id: "links", capability: "check-links", objective: "Find dead links" },
 *   {
 *     id: "summary",
 *     worker: "docs.summary",
 *     objective: "Sum up",
 *     needs: ["size", "links"],
 *     acceptMissing: true,
 *     input: (accepted) => ({ size: accepted["size"] ?? null, links: accepted["links"] ?? null })
 *   }
 * ])
 *
 * plan.concurrency // => 10
 * ```
 *
 * @since 0.1.0
 */
import type * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Contract from "./Contract.ts"
import * as Coordinator from "./Coordinator.ts"
import { checkTasks, concurrencyOf, containmentOf } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import type { Containment, PlannedTask } from "./RunEvent.ts"

/**
 * One task of a plan.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task<in Input = unknown, out R = never> extends Coordinator.Task<Input, R> {}

/**
 * Outputs of earlier tasks, by task id, as plain JSON.
 *
 * @category models
 * @since 0.1.0
 */
export type Accepted = Coordinator.Accepted

/**
 * A plan over a run, or a task, that begins with an `Input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan<in Input = unknown, out R = never> extends Coordinator.Coordinator<Input, R> {
  readonly kind: "plan"
}

/**
 * What can be said of a plan.
 *
 * **Details**
 *
 * - `concurrency`: how many of its tasks run at once, a whole number >= 1. Default 10. Inside another coordinator, that of
 *   the run counts.
 * - `containment`: what a task that fails does to the others. Default `"isolate"`.
 * - `merge`: the plan's output out of the results of its tasks: of the run, where its desk asks for an output, and of the
 *   task that the plan carries out. Default: the outputs by task.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly concurrency?: number | undefined
  readonly containment?: Containment | undefined
  readonly merge?: ((parts: ReadonlyArray<Coordinator.Part>) => EffectResult.Result<Schema.Json, string>) | undefined
}

/**
 * Makes a plan.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option or the shape of a task is not what its type says: `concurrency` out of range, an id
 * that is no text, a function that is none. Everything else is found by `Desk.check`.
 *
 * **Example** (Look again in two days)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const gardener = Worker.make("gardener", {
 *   description: "Grafts trees, and looks after them",
 *   input: Schema.Struct({}),
 *   output: Schema.String,
 *   handle: ({ task }) => Effect.succeed(`${task}: done`)
 * })
 * const desk = Desk.make("garden", {
 *   version: "1",
 *   input: Schema.Struct({}),
 *   domains: [Domain.make("garden", { workers: [gardener] })],
 *   coordinator: Plan.make([
 *     { id: "graft", worker: "garden.gardener", objective: "Graft it" },
 *     { id: "look", worker: "garden.gardener", objective: "Look at it", needs: ["graft"], after: "2 days" }
 *   ])
 * })
 *
 * const started = Run.start(desk, { input: {} }).pipe(Effect.provide(Journal.layerMemory))
 * const { results, startedAt, status, wakeAt = 0 } = await Effect.runPromise(started)
 * const days = Math.round((wakeAt - startedAt) / 86_400_000)
 *
 * [results["graft"]?.output, results["look"]?.status, status, days] // => ["graft: done", "open", "waiting", 2]
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input = unknown, R = never>(
  tasks: ReadonlyArray<Task<Input, R>>,
  options: Options = {}
): Plan<Input, R> => {
  checkTasks(given, "tasks", tasks)
  return {
    kind: "plan",
    tasks,
    initial: tasks.map((task) => Coordinator.planned(task)),
    adds: false,
    concurrency: concurrencyOf(given, given.record("options", options, ["concurrency", "containment", "merge"])),
    containment: containmentOf(given, options.containment),
    next: ({ open }) => (open === 0 ? { _tag: "Done" } : { _tag: "Wait" }),
    ...(options.merge === undefined ? {} : { merge: options.merge })
  }
}

const given = new Given("Plan.make")

/**
 * A task as the journal knows it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const planned = (task: Task<never, unknown>): PlannedTask => Coordinator.planned(task)

/**
 * The contract of a task with these inputs, or why it is none.
 *
 * **Details**
 *
 * - `amendment`: fields of a contract that stand over those of the task.
 *
 * @category conversions
 * @since 0.1.0
 */
export const contract = (
  task: Coordinator.Task<never, unknown>,
  inputs: unknown,
  amendment: Readonly<Record<string, unknown>> = {}
): EffectResult.Result<Contract.Contract, Contract.ContractInvalid> => {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(task)) if (!ours.has(name) && value !== undefined) fields[name] = value
  return Contract.parse({ ...fields, inputs, ...amendment, task: Coordinator.localName(task.id) })
}

/** What a task says beside its contract. */
const ours: ReadonlySet<string> = new Set([
  "id",
  "worker",
  "capability",
  "by",
  "needs",
  "after",
  "input",
  "acceptMissing",
  "fresh",
  "validate",
  "label",
  "decompose",
  "replan",
  "followUp",
  "merge",
  "reduceScope",
  "acceptance"
])

/**
 * Ids of tasks that need each other in a circle, in the order of the circle; empty when there is none.
 *
 * @category validation
 * @since 0.1.0
 */
export const cycle = (tasks: ReadonlyArray<{ readonly id: string; readonly needs: ReadonlyArray<string> }>) => {
  const byId = new Map(tasks.map((task) => [task.id, task]))
  const done = new Set<string>()
  for (const { id } of tasks) {
    // A stack of our own: a chain of ten thousand tasks is no reason to overflow.
    const path: Array<{ readonly id: string; next: number }> = []
    const onPath = new Set<string>()
    if (!done.has(id)) {
      path.push({ id, next: 0 })
      onPath.add(id)
    }
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const need = byId.get(top.id)?.needs[top.next]
      top.next += 1
      if (need === undefined) {
        done.add(top.id)
        onPath.delete(top.id)
        path.pop()
      } else if (onPath.has(need)) {
        const ids = path.map((step) => step.id)
        return ids.slice(ids.indexOf(need))
      } else if (!done.has(need)) {
        path.push({ id: need, next: 0 })
        onPath.add(need)
      }
    }
  }
  return []
}
