/**
 * The policy that picks what comes next in a group of tasks: one interface for plans, pipelines, graphs, swarms, routers
 * and planners.
 *
 * A coordinator is pure. It looks at its group as data and answers with one move; the run writes the move down and carries
 * it out. Where a choice has to be asked for (a route, a plan), the coordinator says so, and the answer is an event: it is
 * given once and never asked for again.
 *
 * **Details**
 *
 * - A coordinator sees what became of tasks (status, label, confidence), never what they put out.
 * - `next` is asked when its group begins, when one of its tasks has ended, and when a choice was answered or refused.
 * - Coordinators compose: a task of one can be carried out by another (`by` of a task).
 *
 * **Invariants**
 *
 * - C1. The same view gives the same move.
 * - C2. With no open task, no open choice and no move left, a group is over.
 *
 * **Example** (What a plan does once its tasks have ended)
 *
 * ```ts
 * import { Plan } from "espalier/run"
 *
 * const plan = Plan.make([{ id: "links", worker: "docs.links", objective: "Find dead links" }])
 * plan.next({ run: "r1", group: "", tasks: [], open: 0, answers: [], said: [] })._tag // => "Done"
 * ```
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Spend } from "./Allowance.ts"
import type { Amount } from "./Budget.ts"
import type * as Contract from "./Contract.ts"
import { millisOf } from "./internal/declared.ts"
import type { Envelope, ErrorInfo, ErrorKind, Evidence, Usage } from "./Result.ts"
import type { Containment, PlannedTask, Purpose, ReviewReason, StopReason } from "./RunEvent.ts"
import type { Answer, Consult, TaskState } from "./RunState.ts"

/**
 * The kinds of coordinators.
 *
 * @category models
 * @since 0.1.0
 */
export type Kind = "plan" | "planner" | "pipeline" | "graph" | "swarm" | "router"

/**
 * Outputs of tasks that were accepted, by the name of the task in its group, as plain JSON.
 *
 * @category models
 * @since 0.1.0
 */
export type Accepted = Readonly<Record<string, Schema.Json>>

/**
 * What a task that has to be split, planned anew or followed up looks like to the function that does it.
 *
 * **Details**
 *
 * - `reason`: why. `failing`: evidence that did not hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface Failing {
  readonly contract: Contract.Contract
  readonly accepted: Accepted
  readonly reason: string
  readonly failing: ReadonlyArray<Evidence>
}

/**
 * A task as plain data, where no template stands behind it: made by a planner, a decomposition, a new plan.
 *
 * **Details**
 *
 * - `inputs`: plain values for the worker's named inputs.
 * - What is left out is inherited: permissions from the task that it is a part of.
 *
 * @category models
 * @since 0.1.0
 */
export interface TaskData extends Omit<Contract.Fields, "task" | "version"> {
  readonly id: string
  readonly worker?: string | undefined
  readonly capability?: string | undefined
  readonly needs?: ReadonlyArray<string> | undefined
  readonly acceptMissing?: boolean | undefined
}

/**
 * A declared task. See {@link Contract.make} for the fields of its contract.
 *
 * **Details**
 *
 * - `id`: unique in its group.
 * - `worker`: a registered name, `domain.worker`, asked first. `capability`: what it takes; enough without a worker.
 * - `by`: a coordinator that carries it out with tasks of its own, instead of a worker. `input` is then what those begin with.
 * - `needs`: ids of tasks that come before. Default none.
 * - `after`: how long it waits once everything that it needs has ended, a duration >= 0 of at most a hundred years, counted in
 *   milliseconds. The journal keeps it: the run may be put down and taken up again meanwhile, and nothing is held (see
 *   `Run.Watching` for who waits). Its own deadline begins with its first order, as always; those of the run and of the tasks
 *   around it run on. Default: not at all.
 * - `input`: the worker's named inputs as plain values, from the outputs of the tasks before it and what the group began
 *   with. Default none.
 * - `acceptMissing`: run even when a need gave no result. Default false.
 * - `fresh`: give the order even when the same one has been carried out in this run already. Default false: the recorded
 *   outcome stands.
 * - `validate`: what is wrong with an output that fits its schema; a sentence each. Such an output is handed back for
 *   correction. One that throws counts as a sentence.
 * - `label`: what an output means to the coordinator of the group.
 * - `decompose`, `replan`, `followUp`: how the task is split when it is too large, planned anew when nobody is left, or
 *   followed up when its evidence does not hold. Each is used once for a task.
 * - `merge`: its output out of the results of the tasks that it was split into or that were planned in its place. Default: the
 *   output of the only one, otherwise the outputs by task.
 * - `reduceScope`: ask a person whether requirements that are not mandatory may be dropped before the task ends without them.
 *   Default false.
 * - `acceptance`: `"person"` has its result wait until a person lets it stand, whoever delivered it: a worker, a group of its
 *   own, or an earlier order that was the same. Who needs it waits with it, and nobody else. Default: what the contract asks
 *   for is enough.
 *
 * @category models
 * @since 0.1.0
 */
export interface Task<in Input = unknown, out R = never> extends Omit<Contract.Fields, "task" | "inputs"> {
  readonly id: string
  readonly worker?: string | undefined
  readonly capability?: string | undefined
  readonly by?: Coordinator<never, R> | undefined
  readonly needs?: ReadonlyArray<string> | undefined
  readonly after?: Duration.Input | undefined
  readonly input?: ((accepted: Accepted, input: Input) => { readonly [name: string]: unknown }) | undefined
  readonly acceptMissing?: boolean | undefined
  readonly fresh?: boolean | undefined
  readonly validate?: ((output: Schema.Json, contract: Contract.Contract) => ReadonlyArray<string>) | undefined
  readonly label?: ((output: Schema.Json) => string) | undefined
  readonly decompose?: ((failing: Failing) => ReadonlyArray<TaskData>) | undefined
  readonly replan?: ((failing: Failing) => ReadonlyArray<TaskData>) | undefined
  readonly followUp?: ((failing: Failing) => TaskData) | undefined
  readonly merge?: ((parts: ReadonlyArray<Part>) => EffectResult.Result<Schema.Json, string>) | undefined
  readonly reduceScope?: boolean | undefined
  readonly acceptance?: "person" | undefined
}

/**
 * What became of a task, as far as a coordinator looks at it.
 *
 * **Details**
 *
 * - `id`: in the group. `template`: the declared task behind it.
 * - `order`, `digest`: of what was asked and of what was put out; equal ones have equal digests. Absent where nothing was.
 * - `kind`: of the failure, where the last order failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Seen {
  readonly id: string
  readonly template: string
  readonly status: TaskState["status"]
  readonly label?: string | undefined
  readonly worker?: string | undefined
  readonly order?: string | undefined
  readonly digest?: string | undefined
  readonly kind?: ErrorKind | undefined
  readonly confidence: number
  readonly reason: string
}

/**
 * A group as its coordinator sees it.
 *
 * **Details**
 *
 * - `group`: its id; empty for the run itself.
 * - `tasks`: in the order in which they were added. `open`: how many have not ended.
 * - `consult`: the choice that was asked for last. `answers`: the choices that were made, oldest first.
 * - `said`: what people decided about the group.
 *
 * @category models
 * @since 0.1.0
 */
export interface View {
  readonly run: string
  readonly group: string
  readonly tasks: ReadonlyArray<Seen>
  readonly open: number
  readonly consult?: Consult | undefined
  readonly answers: ReadonlyArray<Schema.Json>
  readonly said: ReadonlyArray<Answer>
}

/**
 * A move of a coordinator.
 *
 * **Details**
 *
 * - `Wait`: nothing, until a task ends.
 * - `Add`: tasks with ids of the group.
 * - `Consult`: a choice is asked for.
 * - `Review`: a person is asked. `choices`: the names of which one has to be the answer; absent when it is of another kind.
 *   `plan`: tasks that are only added once a person has approved them.
 * - `Stop`: the group takes no new orders and ends with this reason.
 * - `Done`: nothing more to add. `result`: the task whose result is the group's; without one the group's merge decides.
 *
 * @category models
 * @since 0.1.0
 */
export type Next =
  | { readonly _tag: "Wait" }
  | { readonly _tag: "Add"; readonly tasks: ReadonlyArray<PlannedTask>; readonly note: string }
  | { readonly _tag: "Consult"; readonly purpose: Purpose; readonly note: string }
  | {
      readonly _tag: "Review"
      readonly reason: ReviewReason
      readonly choices?: ReadonlyArray<string> | undefined
      readonly plan?: Schema.Json | undefined
      readonly note: string
    }
  | { readonly _tag: "Stop"; readonly reason: StopReason; readonly recall: boolean; readonly note: string }
  | { readonly _tag: "Done"; readonly result?: string | undefined; readonly note?: string | undefined }

/**
 * A worker, as far as somebody who chooses looks at it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Candidate {
  readonly name: string
  readonly description: string
  readonly capabilities: ReadonlyArray<string>
  readonly available: boolean
}

/**
 * What somebody who is asked for a choice is told: routing signals, never a transcript.
 *
 * **Details**
 *
 * - `input`: what the group began with.
 * - `workers`: who can be chosen. `tasks`: what became of the tasks so far.
 * - `refused`: why the last answer could not be used, where there was one. `hints`: what people said who had a plan made anew,
 *   oldest first; data, and as wrong or right as they are.
 * - `left`: what the run may still spend; a measure that is not limited is absent. `spend`: pays for the calls that the choice
 *   takes, as that of an order does; the usage of the answer says only what was used beside it. A question that belongs to no
 *   run has none. `notice`: writes down something that must not be silent, as that of an order does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Question<out Input = unknown> {
  readonly run: string
  readonly consult: string
  readonly purpose: Purpose
  readonly input: Input
  readonly workers: ReadonlyArray<Candidate>
  readonly tasks: ReadonlyArray<Seen>
  readonly refused?: ErrorInfo | undefined
  readonly hints?: ReadonlyArray<string> | undefined
  readonly left: Amount
  readonly spend?: Spend | undefined
  readonly notice?: ((what: string, note: string) => Effect.Effect<void>) | undefined
}

/**
 * An answer to a {@link Question}, checked.
 *
 * @category models
 * @since 0.1.0
 */
export interface Chosen {
  readonly answer: Schema.Json
  readonly usage?: Usage | undefined
  readonly note: string
}

/**
 * One task's part in the result of its group.
 *
 * **Details**
 *
 * - `result`: of an accepted or a partial task. `reason`: why it ended as it did.
 * - `usage`: what all of its dispatches used, also those that failed, and those of the tasks that carried it out.
 *
 * **Example** (A merge that takes the newest output)
 *
 * `espalier/run` has a `Result` of its own, so that of Effect goes by another name.
 *
 * ```ts
 * import { Result as EffectResult } from "effect"
 * import { type Coordinator, Plan } from "espalier/run"
 *
 * const newest = (parts: ReadonlyArray<Coordinator.Part>) => {
 *   const output = parts.findLast(({ result }) => result?.output !== undefined)?.result?.output
 *   return output === undefined ? EffectResult.fail("No task gave a result") : EffectResult.succeed(output)
 * }
 * const plan = Plan.make([{ id: "links", worker: "docs.links", objective: "Find dead links" }], { merge: newest })
 * plan.merge?.([]) // => EffectResult.fail("No task gave a result")
 * ```
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  readonly id: string
  readonly template: string
  readonly status: TaskState["status"]
  readonly result?: Envelope | undefined
  readonly reason: string
  readonly usage: Usage
}

/**
 * What is wrong with a coordinator, as `Desk.check` reports it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Problem {
  readonly rule: string
  readonly subject: string
  readonly message: string
  readonly severity?: "error" | "warning" | undefined
}

/**
 * A coordinator of a group that begins with an `Input`; what it asks for choices with needs `R`.
 *
 * **Details**
 *
 * - `tasks`: the declared ones. `initial`: what the group begins with. `adds`: whether it ever adds tasks or asks for a
 *   choice; one that does not is only asked for its end.
 * - `concurrency`: how many orders of the run may be under way at once; only that of the run's own coordinator counts.
 * - `decide`: asks for a choice and checks the answer: a failure of kind `malformed` is an answer that is none of those
 *   that are allowed.
 * - `merge`: the output of the group out of its parts. Default: the outputs by task.
 * - `problems`: what is wrong with it beyond its tasks.
 * - `facts`: what of it belongs to the definition of the desk, as plain data.
 *
 * @category models
 * @since 0.1.0
 */
export interface Coordinator<in Input = never, out R = never> {
  readonly kind: Kind
  readonly tasks: ReadonlyArray<Task<Input, R>>
  readonly initial: ReadonlyArray<PlannedTask>
  readonly adds: boolean
  readonly concurrency: number
  readonly containment: Containment
  readonly next: (view: View) => Next
  readonly decide?: ((question: Question<Input>) => Effect.Effect<Chosen, unknown, R>) | undefined
  readonly merge?: ((parts: ReadonlyArray<Part>) => EffectResult.Result<Schema.Json, string>) | undefined
  readonly problems?: (() => ReadonlyArray<Problem>) | undefined
  readonly facts?: Schema.Json | undefined
}

/**
 * What the choices of a coordinator need from their surroundings.
 *
 * @category types
 * @since 0.1.0
 */
export type Requires<C> = C extends Coordinator<never, infer R> ? R : never

/**
 * A declared task as the journal knows it. `prefix`: of the group, ending in `/`, or empty.
 *
 * @category conversions
 * @since 0.1.0
 */
export const planned = (task: Task<never, unknown>, prefix = "", template = prefix): PlannedTask => {
  const afterMillis = task.after === undefined ? undefined : millisOf(task.after)
  return {
    id: `${prefix}${task.id}`,
    needs: (task.needs ?? []).map((need) => `${prefix}${need}`),
    ...(task.worker === undefined ? {} : { worker: task.worker }),
    ...(task.capability === undefined ? {} : { capability: task.capability }),
    acceptMissing: task.acceptMissing ?? false,
    ...(template === prefix ? {} : { template: `${template}${task.id}` }),
    ...(task.by === undefined ? {} : { group: task.by.kind }),
    ...(afterMillis === undefined || afterMillis === 0 ? {} : { afterMillis })
  }
}

/**
 * A task made in the run as the journal knows it, with its contract as an amendment.
 *
 * @category conversions
 * @since 0.1.0
 */
export const plannedData = (task: TaskData, prefix = ""): PlannedTask => {
  const { acceptMissing, capability, id, needs = [], worker, ...fields } = task
  return {
    id: `${prefix}${id}`,
    needs: needs.map((need) => `${prefix}${need}`),
    ...(worker === undefined ? {} : { worker }),
    ...(capability === undefined ? {} : { capability }),
    acceptMissing: acceptMissing ?? false,
    // The fields of a contract are plain JSON by their schema, which is applied when the order is made.
    amendment: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Record<
      string,
      Schema.Json
    >
  }
}

/**
 * The name of a task inside its group: without the groups that it is in and without the number of a repetition.
 *
 * @category conversions
 * @since 0.1.0
 */
export const localName = (id: string): string => {
  const local = id.slice(id.lastIndexOf("/") + 1)
  const mark = local.indexOf("#")
  return mark < 0 ? local : local.slice(0, mark)
}
