/**
 * A sequence of tasks, each of which works on what the one before it put out.
 *
 * When a stage is only partial, the next one runs and is told what is missing; when a stage gave nothing, those after it
 * are blocked, unless they say `acceptMissing`.
 *
 * **Details**
 *
 * - A stage needs the one before it. With `needs` it also reads the output of an earlier one.
 * - Its output, without a `merge`, is that of its last stage: of the run, where its desk asks for one, and of a task.
 *
 * **Invariants**
 *
 * - L1. At most one stage is under way.
 *
 * **Example** (Each stage sees the one before)
 *
 * ```ts
 * import { Pipeline } from "espalier/run"
 *
 * const pipeline = Pipeline.make([
 *   { id: "collect", worker: "docs.collect", objective: "Collect the changes" },
 *   { id: "draft", worker: "docs.draft", objective: "Draft the notes", input: ({ collect }) => ({ changes: collect }) },
 *   { id: "check", worker: "docs.check", objective: "Check the notes", input: ({ draft }) => ({ text: draft }) }
 * ])
 *
 * pipeline.initial.map(({ id, needs }) => [id, ...needs]) // => [["collect"], ["draft", "collect"], ["check", "draft"]]
 * ```
 *
 * @since 0.1.0
 */
import type * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Coordinator from "./Coordinator.ts"
import { checkTasks, concurrencyOf, containmentOf } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import { lastOutput } from "./internal/visits.ts"
import type { Containment } from "./RunEvent.ts"

/**
 * A pipeline over a run, or a task, that begins with an `Input`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pipeline<in Input = unknown, out R = never> extends Coordinator.Coordinator<Input, R> {
  readonly kind: "pipeline"
}

/**
 * What can be said of a pipeline.
 *
 * **Details**
 *
 * - `concurrency`: how many orders of the run may be under way at once, a whole number >= 1; it matters where a stage is
 *   carried out by a coordinator. Default 10.
 * - `containment`: what a stage that fails does to the others. Default `"isolate"`: those that need it are blocked.
 * - `merge`: the pipeline's output out of the results of its stages. Default: the output of the last stage; there is none
 *   when the last stage gave none.
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
 * Makes a pipeline.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option or the shape of a stage is not what its type says. Stages of the same name, and a stage that needs
 * itself or a later one, are found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input = unknown, R = never>(
  stages: ReadonlyArray<Coordinator.Task<Input, R>>,
  options: Options = {}
): Pipeline<Input, R> => {
  checkTasks(given, "stages", stages)
  const concurrency = concurrencyOf(given, given.record("options", options, ["concurrency", "containment", "merge"]))
  const tasks = stages.map((stage, index): Coordinator.Task<Input, R> => {
    const before = stages[index - 1]
    return before === undefined ? stage : { ...stage, needs: [...new Set([before.id, ...(stage.needs ?? [])])] } // L1
  })
  const last = stages.at(-1)?.id
  return {
    kind: "pipeline",
    tasks,
    initial: tasks.map((task) => Coordinator.planned(task)),
    adds: false,
    concurrency,
    containment: containmentOf(given, options.containment),
    next: ({ open }) => (open === 0 ? { _tag: "Done" } : { _tag: "Wait" }),
    merge:
      options.merge ??
      ((parts) =>
        last === undefined
          ? lastOutput(parts, "The pipeline has no stages")
          : lastOutput(parts, `The last stage, ${last}, gave no result`, last)),
    problems: () => problems(stages)
  }
}

const given = new Given("Pipeline.make")

const problems = (stages: ReadonlyArray<Coordinator.Task<never, unknown>>): ReadonlyArray<Coordinator.Problem> => {
  const found: Array<Coordinator.Problem> = []
  if (stages.length === 0) found.push({ rule: "no-task", subject: "pipeline", message: "the pipeline has no stages" })
  const places = new Map<string, number>()
  stages.forEach(({ id }, index) => {
    if (places.has(id)) {
      found.push({ rule: "duplicate-task", subject: id, message: `two stages are called ${id}` })
    } else places.set(id, index)
  })
  stages.forEach(({ id, needs = [] }, index) => {
    for (const need of needs) {
      if ((places.get(need) ?? -1) < index) continue
      const message = `the stage ${id} needs ${need}, which does not come before it`
      found.push({ rule: "cycle", subject: id, message })
    }
  })
  return found
}
