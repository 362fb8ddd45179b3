/**
 * A supervisor that asks once for a whole plan and then carries it out.
 *
 * Whoever plans, a model or code, answers with a list of tasks as plain data. The list is checked before anything runs:
 * its schema, who is to do what, what needs what, and what it may touch and spend. A bad plan is handed back once with
 * everything that is wrong with it; after a second one the declared fallback stands in.
 *
 * **Details**
 *
 * - The plan is an event: it is made once, and a resumed run goes on with it.
 * - Tasks that need nothing from each other run side by side, as those of a declared plan do.
 * - A field that no task has is left out, whatever it says, and the record tells so: a plan cannot say that a task is done,
 *   approved or whose turn it is. Inside a field, what is not known is refused.
 * - A task that names no limit has that of the planner, and one that names no permissions has none.
 * - Its output, without a `merge`, is a record of its tasks' outputs by their ids, also when there is only one.
 * - A task whose name a task of the fallback has as well is called `name#planned`.
 *
 * | the answer | what follows |
 * |---|---|
 * | a plan that holds | its tasks |
 * | none, for the first time | it is asked again, and told every problem |
 * | none, for the second time | the tasks of the fallback; where that is `"review"`, a person is asked |
 *
 * A person's `answer` is a plan in the same form; `accept-partial` ends the group with what there is; `reject` stops it.
 *
 * With `review: "person"` a plan that holds is shown to a person first, as `plan-approval`. `approve` adds its tasks, `retry` has
 * another one made, with the note among the `hints` of the next question, and `reject` stops the group. The plan of a person and
 * that of the fallback are not asked about.
 *
 * **Invariants**
 *
 * - P1. No task is planned that asks for more than the planner's limits and permissions.
 * - P2. With `review`, no task of a plan is there before a person has approved that plan.
 *
 * **Example** (A plan with somebody who does not exist)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Planner } from "espalier/run"
 *
 * const planner = Planner.make({
 *   plan: () => Effect.succeed([{ id: "links", worker: "docs.lnks", objective: "Find dead links" }]),
 *   fallback: "review"
 * })
 * const question = {
 *   run: "r1",
 *   consult: "r1/consult/1",
 *   purpose: "plan" as const,
 *   input: "release",
 *   workers: [{ name: "docs.links", description: "Finds dead links", capabilities: ["check-links"], available: true }],
 *   tasks: [],
 *   left: {}
 * }
 *
 * const refused = Effect.runSync(Effect.flip(planner.decide(question)))
 * const message = 'PLAN_INVALID: tasks[0].worker must be one of: docs.links, got "docs.lnks"'
 * refused instanceof Planner.PlanInvalid ? refused.message : "" // => message
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import type * as Contract from "./Contract.ts"
import * as ContractPolicy from "./ContractPolicy.ts"
import * as Coordinator from "./Coordinator.ts"
import { lastSaid, stopped, Told, told } from "./internal/choosing.ts"
import { concurrencyOf, containmentOf, isCoordinator } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import * as plans from "./internal/plans.ts"
import { many, Problem, sentences, shorten } from "./internal/problems.ts"
import { listed, stop } from "./internal/visits.ts"
import type { Plan } from "./Plan.ts"
import { Usage } from "./Result.ts"
import type { Containment } from "./RunEvent.ts"

/**
 * A planner over a run, or a task, that begins with an `Input`; its plan needs `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Planner<in Input = unknown, out R = never> extends Coordinator.Coordinator<Input, R> {
  readonly kind: "planner"
  readonly decide: (question: Coordinator.Question<Input>) => Effect.Effect<Coordinator.Chosen, unknown, R>
}

/**
 * The form of a plan: 1 to 50 tasks.
 *
 * **Details**
 *
 * - `id`: letters, digits, `.`, `_` and `-`, beginning with a letter, at most 64 characters; unique in the plan.
 * - `worker`: a registered name. `capability`: what the task takes. One of them is required.
 * - `needs`: ids of tasks of the plan that come before. Default none.
 * - `acceptMissing`: run even when a need gave no result. Default false.
 * - The rest are the fields of a contract, with its defaults, without `task` and `version`.
 *
 * @category models
 * @since 0.1.0
 */
export const PlanData = Schema.Array(plans.Task).check(Schema.isMinLength(1), Schema.isMaxLength(plans.most))

/**
 * A plan that does not hold. The message names the first five problems.
 *
 * **Details**
 *
 * - `problems`: each with its place and its field, as in `tasks[0].id`. `usage`: what the answer cost.
 *
 * @category errors
 * @since 0.1.0
 */
export class PlanInvalid extends Schema.TaggedError<PlanInvalid>("espalier/run/Planner/PlanInvalid")("PlanInvalid", {
  problems: Schema.Array(Problem),
  usage: Schema.optionalKey(Usage)
}) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `PLAN_INVALID: ${shorten(sentences(this.problems, "the plan"), 4000)}`
  }
}

/**
 * What a planner is made of.
 *
 * **Details**
 *
 * - `plan`: who plans. Its answer is checked; see {@link answer} for one that says what it cost.
 * - `fallback`: the plan that stands in when there is none, of which only the tasks count, or `"review"` to ask a person.
 * - `workers`: names that a plan may use, and whose capabilities it may ask for. Default: all that are there. Who takes
 *   over from a worker that fails is chosen among all.
 * - `limits`: the most that a task may spend. Default: no maximum.
 * - `permissions`: what tasks may touch, by area. Default: nothing.
 * - `dataClasses`: the classes of data that tasks may have. Default `ContractPolicy.dataClasses`.
 * - `concurrency`: how many orders of the run may be under way at once, a whole number >= 1. Default 10.
 * - `containment`: what a task that fails does to the others. Default `"isolate"`.
 * - `merge`: the planner's output out of the results of its tasks. Default: the outputs by task.
 * - `review`: `"person"` has a person look at the plan before there are tasks of it. Default: whatever holds is carried out.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in Input, out E, out R> {
  readonly plan: (question: Coordinator.Question<Input>) => Effect.Effect<unknown, E, R>
  readonly fallback: Plan<Input, R> | "review"
  readonly workers?: ReadonlyArray<string> | undefined
  readonly limits?: Contract.Limits | undefined
  readonly permissions?: Readonly<Record<string, ContractPolicy.Area>> | undefined
  readonly dataClasses?: ReadonlyArray<string> | undefined
  readonly concurrency?: number | undefined
  readonly containment?: Containment | undefined
  readonly merge?: ((parts: ReadonlyArray<Coordinator.Part>) => EffectResult.Result<Schema.Json, string>) | undefined
  readonly review?: "person" | undefined
}

/**
 * Makes a planner.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is not what its type says: a limit, an area, a data class, `concurrency` or a quorum
 * out of range, a fallback that is neither a plan nor `"review"`. A fallback without tasks, and no worker at all that a plan may use, are found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <Input = unknown, E = never, R = never>(options: Options<Input, E, R>): Planner<Input, R> => {
  given.record("options", options, known)
  const { dataClasses, fallback, limits, merge, permissions, plan, workers } = options
  given.code("plan", plan)
  const stands = fallback === undefined || fallback === "review" || isCoordinator(fallback)
  given.made("fallback", 'a plan or "review"', stands, fallback)
  if (workers !== undefined) given.texts("workers", workers)
  const { review } = options
  if (review !== undefined) given.oneOf("review", review, ["person"])
  const tasks = typeof fallback === "object" ? fallback.tasks : []
  const rules: plans.Rules = {
    workers: workers === undefined ? undefined : new Set(workers),
    policy: ContractPolicy.make({ limits, areas: permissions, dataClasses })
  }
  const gated = review === "person"
  return {
    kind: "planner",
    tasks,
    initial: [],
    adds: true,
    concurrency: concurrencyOf(given, { ...options }),
    containment: containmentOf(given, options.containment),
    next: (view) => next(view, rules, typeof fallback === "object" ? tasks : undefined, gated),
    decide: (question) => {
      const able = question.workers.filter(({ name }) => rules.workers?.has(name) ?? true)
      return Effect.suspend(() => plan({ ...question, workers: able })).pipe(
        Effect.flatMap((given) => Effect.fromResult(chosen(told(given), rules, able)))
      )
    },
    ...(merge === undefined ? {} : { merge }),
    problems: () => problems(options),
    facts: {
      workers: workers === undefined ? null : [...workers],
      fallback: typeof fallback === "object" ? "plan" : "review",
      limits: { ...rules.policy.limits },
      permissions: Object.fromEntries(
        Object.entries(rules.policy.areas).map(([area, allowed]) => [
          area,
          [...(allowed._tag === "Paths" ? allowed.roots : allowed.names)]
        ])
      ),
      ...(gated ? { review: "person" } : {})
    }
  }
}

const given = new Given("Planner.make")

const known: ReadonlyArray<keyof Options<never, unknown, unknown>> = [
  "plan",
  "fallback",
  "workers",
  "limits",
  "permissions",
  "dataClasses",
  "concurrency",
  "containment",
  "merge",
  "review"
]

/**
 * An answer that says what it cost.
 *
 * **Details**
 *
 * - `usage`: counted against the budget of the run. Default: not measured.
 * - `note`: one sentence for the record. Default: how many tasks it has.
 *
 * @category constructors
 * @since 0.1.0
 */
export const answer = (
  plan: unknown,
  options?: { readonly usage?: Usage | undefined; readonly note?: string | undefined } | undefined
): unknown => new Told(plan, options?.usage, options?.note)

const chosen = (
  { answer, note, usage }: Told,
  rules: plans.Rules,
  workers: ReadonlyArray<Coordinator.Candidate>
): EffectResult.Result<Coordinator.Chosen, PlanInvalid> => {
  const cost = usage === undefined ? {} : { usage }
  return EffectResult.mapBoth(plans.check(answer, rules, workers), {
    onFailure: (problems) => new PlanInvalid({ problems, ...cost }),
    onSuccess: ({ dropped, tasks }) => {
      const size = tasks.length === 1 ? "A plan of 1 task" : `A plan of ${tasks.length} tasks`
      const without = dropped.length === 0 ? "" : `; left out of it: ${listed(dropped)}`
      // The check has made it plain JSON.
      return { answer: tasks as unknown as Schema.Json, ...cost, note: `${note ?? size}${without}` }
    }
  })
}

type Declared = ReadonlyArray<Coordinator.Task<never, unknown>>

const next = (
  view: Coordinator.View,
  rules: plans.Rules,
  fallback: Declared | undefined,
  gated: boolean
): Coordinator.Next => {
  const { consult, open, tasks } = view
  if (open > 0) return { _tag: "Wait" }
  if (tasks.length > 0) return { _tag: "Done", note: "The plan is carried out" }
  const said = lastSaid(view)
  if (said?.decision === "reject") {
    return stopped(said, "the planning")
  }
  if (said?.decision === "accept-partial") {
    return { _tag: "Done", note: `${said.by} let stand what there is: ${said.note}` }
  }
  if (consult === undefined) return { _tag: "Consult", purpose: "plan", note: "A plan is asked for" }
  switch (consult.status) {
    case "open":
      return { _tag: "Wait" }
    case "answered": {
      const plan = plans.check(consult.answer, rules, undefined)
      const before = gated && EffectResult.isSuccess(plan) ? approval(view, consult.answer ?? null) : undefined
      if (before !== undefined) return before
      return EffectResult.isSuccess(plan)
        ? add(plan.success.tasks, fallback, "The plan is carried out")
        : stop("untrusted-state", `The plan that was chosen does not hold any more: ${first(plan.failure)}`)
    }
    case "failed": {
      const why = consult.error?.reason ?? "no reason given"
      if (consult.failures < 2) {
        return { _tag: "Consult", purpose: "plan", note: `The plan could not be used: ${why}` }
      }
      const last = `No plan could be used, the last one because of: ${why}`
      if (fallback === undefined) return heard(view, rules, last)
      if (fallback.length === 0) return stop("no-ready-task", `${last}; the fallback has no tasks`)
      const planned = fallback.map((task) => Coordinator.planned(task))
      return { _tag: "Add", tasks: planned, note: `${last}; the fallback stands in` }
    }
  }
}

/** What stands between a plan and its tasks: a person has not said yet that they may be added. P2 */
const approval = ({ answers, said }: Coordinator.View, plan: Schema.Json): Coordinator.Next | undefined => {
  const words = said.filter(({ kind }) => kind === "plan-approval")
  const last = words.at(-1)
  // Each plan that was made is asked about once.
  if (last === undefined || words.length < answers.length) {
    const count = Array.isArray(plan) ? many(plan.length, "task") : "tasks"
    const anew = last === undefined ? "" : `, made anew for ${last.by}`
    return {
      _tag: "Review",
      reason: "gate",
      plan,
      note: `A plan of ${count}${anew} is carried out once a person says so`
    }
  }
  switch (last.decision) {
    case "approve":
      return undefined
    case "retry":
      return { _tag: "Consult", purpose: "plan", note: `${last.by} asks for another plan: ${last.note}` }
    default:
      return stopped(last, "the plan")
  }
}

/** What a person said about a plan that there is not, or the question. */
const heard = (view: Coordinator.View, rules: plans.Rules, why: string): Coordinator.Next => {
  const said = lastSaid(view)
  if (said?.decision !== "answer") {
    return { _tag: "Review", reason: "no-route", note: `${why}; a person plans` }
  }
  const plan = plans.check(said.answer, rules, undefined)
  return EffectResult.isSuccess(plan)
    ? add(plan.success.tasks, undefined, `${said.by} made a plan: ${said.note}`)
    : {
        _tag: "Review",
        reason: "no-route",
        note: `${why}; the plan of ${said.by} does not hold: ${first(plan.failure)}`
      }
}

const first = (problems: ReadonlyArray<Problem>): string => shorten(sentences(problems, "the plan"), 1000)

const add = (
  tasks: ReadonlyArray<Coordinator.TaskData>,
  fallback: Declared | undefined,
  note: string
): Coordinator.Next => {
  // What is declared of a task of the fallback must not be taken for what is declared of one with the same name.
  const taken = new Set(fallback?.map(({ id }) => id))
  const local = (id: string): string => (taken.has(id) ? `${id}#planned` : id)
  return {
    _tag: "Add",
    tasks: tasks.map((task) =>
      Coordinator.plannedData({ ...task, id: local(task.id), needs: (task.needs ?? []).map(local) })
    ),
    note
  }
}

const problems = ({
  fallback,
  workers
}: Pick<Options<never, unknown, unknown>, "fallback" | "workers">): ReadonlyArray<Coordinator.Problem> => {
  const found: Array<Coordinator.Problem> = []
  if (workers?.length === 0) {
    found.push({ rule: "no-worker", subject: "planner", message: "the planner may use no workers" })
  }
  if (typeof fallback !== "object") {
    if (fallback === "review") return found
    return [...found, { rule: "no-fallback", subject: "planner", message: 'the fallback must be a plan or "review"' }]
  }
  if (fallback.tasks.length === 0) {
    found.push({ rule: "no-fallback", subject: "planner", message: "the planner's fallback has no tasks" })
  }
  return [...found, ...(fallback.problems?.() ?? [])]
}
