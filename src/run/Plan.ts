/**
 * A plan made by code: tasks, what each needs from the others, and how many may run at once.
 *
 * A task runs as soon as everything that it needs was accepted. When a task before it is only partial, it runs and is told
 * what is missing; when a task before it gave nothing, it is blocked, unless it says `acceptMissing`.
 *
 * **Details**
 *
 * A plan is checked with its desk, before anything runs: unknown workers and needs, cycles, duplicates, bad contracts.
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
import type { PlannedTask } from "./RunEvent.ts"

const TypeId = "~espalier/run/Plan"

/**
 * One task of a plan. See {@link Contract.make} for the fields of its contract.
 *
 * **Details**
 *
 * - `id`: unique in the plan.
 * - `worker`: a registered name, `domain.worker`, asked first. `capability`: what it takes; enough without a worker.
 * - `needs`: ids of tasks that come before. Default none.
 * - `input`: the worker's named inputs as plain values, from the outputs of the tasks before it (by id, plain JSON, only
 *   those that are there) and the run's input. Default none.
 * - `acceptMissing`: run even when a need gave no result. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task<in Input = unknown> extends Omit<Contract.Fields, "task" | "inputs"> {
  readonly id: string
  readonly worker?: string | undefined
  readonly capability?: string | undefined
  readonly needs?: ReadonlyArray<string> | undefined
  readonly input?: ((accepted: Accepted, input: Input) => { readonly [name: string]: unknown }) | undefined
  readonly acceptMissing?: boolean | undefined
}

/**
 * Outputs of earlier tasks, by task id, as plain JSON.
 *
 * @category models
 * @since 0.1.0
 */
export type Accepted = Readonly<Record<string, Schema.Json>>

/**
 * A plan over a run whose input is `Input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Plan<in Input = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly tasks: ReadonlyArray<Task<Input>>
  readonly concurrency: number
}

/**
 * Makes a plan.
 *
 * **Details**
 *
 * - `concurrency`: how many of its tasks run at once, a whole number >= 1. Default 10.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when `concurrency` is out of range. Everything else is found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input = unknown>(
  tasks: ReadonlyArray<Task<Input>>,
  options?: { readonly concurrency?: number | undefined } | undefined
): Plan<Input> => {
  const concurrency = options?.concurrency ?? 10
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new RangeError(`Plan.make: concurrency must be a whole number >= 1, got ${concurrency}`)
  }
  return { [TypeId]: TypeId, tasks, concurrency }
}

/**
 * A task as the journal knows it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const planned = (task: Task<never>): PlannedTask => ({
  id: task.id,
  needs: task.needs ?? [],
  ...(task.worker === undefined ? {} : { worker: task.worker }),
  ...(task.capability === undefined ? {} : { capability: task.capability }),
  acceptMissing: task.acceptMissing ?? false
})

/**
 * The contract of a task with these inputs, or why it is none.
 *
 * @category conversions
 * @since 0.1.0
 */
export const contract = (
  task: Task<never>,
  inputs: unknown
): EffectResult.Result<Contract.Contract, Contract.ContractInvalid> => {
  const { acceptMissing: _a, capability: _c, id, input: _i, needs: _n, worker: _w, ...fields } = task
  return Contract.parse({ ...fields, task: id, inputs })
}

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
