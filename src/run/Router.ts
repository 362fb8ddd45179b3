/**
 * A supervisor that gives one task at a time to whom it chooses, until it says that the work is finished.
 *
 * Whoever chooses, a model or a rule, answers with exactly one of: the name of a declared task, `finish`, or `none`. It
 * sees what became of the tasks and never what they put out. Anything else it says is no route: it is told so once, and
 * then the declared fallback stands in.
 *
 * **Details**
 *
 * - A name is the id of a declared task. Names are compared after trimming and Unicode normalisation (NFC), nothing
 *   fuzzier.
 * - A choice is an event: it is taken once, and a resumed run goes on from it.
 * - A task that a choice made is called `name#n`, where n is the number of the choice in the run; the one of the fallback
 *   is `name#n-fallback`, one that a person chose `name#n-review`.
 * - A task reads the newest output of every task before it, by the task's name.
 * - Its output is the newest one of the task that `result` names, otherwise of the last task that has one.
 *
 * | the choice | what follows |
 * |---|---|
 * | a name | that task, unless the group has had its tasks (`budget-exceeded`) or goes round in circles (`loop-detected`) |
 * | `finish` | the end |
 * | no choice, for the first time | it is asked again and told why |
 * | no choice, for the second time in a row | the fallback |
 * | `none` | the fallback |
 *
 * The fallback is one of the tasks, once; after that, or when it is `"review"`, a person is asked. A person's `answer` is a
 * name or `finish`; `accept-partial` is the end with what there is; `reject` stops the group.
 *
 * **Invariants**
 *
 * - R1. Each choice leads to one task at most.
 * - R2. The cap is on tasks: with `steps` of 5 there are 5, and whoever chooses may still say that it is finished.
 *
 * **Gotchas**
 *
 * - A run that finishes before any task is begun has no result and fails as `empty`.
 * - The same order is not carried out twice in a run: a task that is chosen again with the same inputs gives the recorded
 *   outcome again, unless it says `fresh`.
 *
 * **Example** (A rule that chooses)
 *
 * ```ts
 * import { Router } from "espalier/run"
 *
 * const router = Router.make({
 *   tasks: [
 *     { id: "links", worker: "docs.links", objective: "Find dead links" },
 *     { id: "summary", worker: "docs.summary", objective: "Sum up" }
 *   ],
 *   choose: Router.rule(({ tasks }) => ["links", "summary"][tasks.length] ?? "finish"),
 *   fallback: "review"
 * })
 *
 * const view = { run: "r1", group: "", tasks: [], open: 0, answers: [], said: [] }
 * router.next(view)._tag // => "Consult"
 *
 * const consult = { id: "r1/consult/1", purpose: "route", status: "answered", failures: 0, answer: "links" } as const
 * const next = router.next({ ...view, consult, answers: ["links"] })
 * next._tag === "Add" ? next.tasks.map(({ id }) => id) : [] // => ["links#1"]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import type * as Coordinator from "./Coordinator.ts"
import { lastSaid, stopped, Told, told } from "./internal/choosing.ts"
import { candidates as candidates_ } from "./internal/closest.ts"
import { checkRepetition, checkTasks, concurrencyOf } from "./internal/declared.ts"
import { Given } from "./internal/given.ts"
import { show } from "./internal/problems.ts"
import { circling, lastOutput, listed, stop, visit } from "./internal/visits.ts"
import * as Repetition from "./Repetition.ts"
import { Usage } from "./Result.ts"

/**
 * A router over a run, or a task, that begins with an `Input`; its choices need `R`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Router<in Input = unknown, out R = never> extends Coordinator.Coordinator<Input, R> {
  readonly kind: "router"
}

/**
 * A declared task, as far as somebody who chooses looks at it.
 *
 * **Details**
 *
 * - `name`: what to answer. `available`: whether somebody can take it now.
 * - `description`: of its worker, where it names one that is known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Choice {
  readonly name: string
  readonly objective: string
  readonly worker?: string | undefined
  readonly capability?: string | undefined
  readonly description?: string | undefined
  readonly available: boolean
}

/**
 * What somebody who chooses is told: the choices, and what became of the tasks so far.
 *
 * @category models
 * @since 0.1.0
 */
export interface Question<out Input = unknown> extends Coordinator.Question<Input> {
  readonly choices: ReadonlyArray<Choice>
}

/**
 * An answer that is none of those that are allowed.
 *
 * **Details**
 *
 * - `answer`: a short and safe sight of it. `candidates`: what is allowed. `usage`: what the answer cost.
 *
 * @category errors
 * @since 0.1.0
 */
export class RoutingError extends Schema.TaggedError<RoutingError>("espalier/run/Router/RoutingError")("RoutingError", {
  answer: Schema.String,
  candidates: Schema.Array(Schema.String),
  usage: Schema.optionalKey(Usage)
}) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `ROUTING_ERROR: ${this.answer} is none of: ${listed(this.candidates)}`
  }
}

/**
 * Makes a router.
 *
 * **Details**
 *
 * - `tasks`: what can be chosen, by `id`.
 * - `choose`: who chooses. Its answer is checked; see {@link answer} for one that says what it cost.
 * - `fallback`: the task that stands in when there is no choice, or `"review"` to ask a person.
 * - `steps`: how many tasks there are in all, a whole number >= 1. Default 20.
 * - `repetition`: how much going round in circles is too much. Default `Repetition.policy`.
 * - `result`: the task whose newest output is the router's. Default: the last one that has an output.
 * - `concurrency`: how many orders of the run may be under way at once, a whole number >= 1; a router has one. Default 10.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option or the shape of a task is not what its type says: `steps` or `concurrency` out of
 * range, a `choose` that is no function. A task that is called `finish`, `none` or `review`
 * and, for callers without types, a fallback that is none of the tasks are found by `Desk.check`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Id extends string, Input = unknown, E = never, R = never>(options: {
  readonly tasks: ReadonlyArray<Coordinator.Task<Input, R> & { readonly id: Id }>
  readonly choose: (question: Question<Input>) => Effect.Effect<unknown, E, R>
  readonly fallback: NoInfer<Id> | "review"
  readonly steps?: number | undefined
  readonly repetition?: Repetition.Policy | undefined
  readonly result?: NoInfer<Id> | undefined
  readonly concurrency?: number | undefined
}): Router<Input, R> => {
  given.record("options", options, known)
  const { choose, fallback, repetition = Repetition.policy, result, tasks } = options
  checkTasks(given, "tasks", tasks)
  given.code("choose", choose)
  if (fallback !== undefined) given.text("fallback", fallback)
  if (result !== undefined) given.text("result", result)
  checkRepetition(given, repetition)
  const desk: Routes = {
    tasks: new Map(tasks.map((task) => [named(task.id), task])),
    fallback,
    steps: given.whole("steps", options.steps ?? 20, 1),
    repetition
  }
  return {
    kind: "router",
    tasks,
    initial: [],
    adds: true,
    concurrency: concurrencyOf(given, options),
    containment: "isolate",
    next: (view) => next(view, desk),
    decide: (question) =>
      Effect.suspend(() => choose({ ...question, choices: choices(tasks, question.workers) })).pipe(
        Effect.flatMap((given): Effect.Effect<Coordinator.Chosen, RoutingError> => {
          const { answer, note, usage } = told(given)
          const name = typeof answer === "string" ? routeOf(desk, answer) : undefined
          const cost = usage === undefined ? {} : { usage }
          return name === undefined
            ? Effect.fail(new RoutingError({ answer: show(answer), candidates: candidates(desk), ...cost }))
            : Effect.succeed({ answer: name, ...cost, note: note ?? `The choice is ${name}` })
        })
      ),
    merge: (parts) =>
      lastOutput(parts, result === undefined ? "No task gave a result" : `The task ${result} gave no result`, result),
    problems: () => problems(desk),
    facts: { choices: candidates(desk), fallback, steps: desk.steps, result: result ?? null }
  }
}

/**
 * Whoever chooses by a rule, a pure function.
 *
 * **Details**
 *
 * What it answers is checked as any other answer. One that throws is a defect.
 *
 * @category constructors
 * @since 0.1.0
 */
export const rule =
  <Input = unknown>(choose: (question: Question<Input>) => string) =>
  (question: Question<Input>): Effect.Effect<string> =>
    Effect.sync(() => choose(question))

/**
 * An answer that says what it cost.
 *
 * **Details**
 *
 * - `usage`: counted against the budget of the run. Default: not measured.
 * - `note`: one sentence for the record. Default: what was chosen.
 *
 * @category constructors
 * @since 0.1.0
 */
export const answer = (
  answer: unknown,
  options?: { readonly usage?: Usage | undefined; readonly note?: string | undefined } | undefined
): unknown => new Told(answer, options?.usage, options?.note)

const given = new Given("Router.make")

const known = ["tasks", "choose", "fallback", "steps", "repetition", "result", "concurrency"]

interface Routes {
  readonly tasks: ReadonlyMap<string, Coordinator.Task<never, unknown>>
  readonly fallback: string
  readonly steps: number
  readonly repetition: Repetition.Policy
}

const named = (text: string): string => text.trim().normalize("NFC")

const candidates = ({ tasks }: Routes): ReadonlyArray<string> => [
  ...[...tasks.values()].map(({ id }) => id),
  "finish",
  "none"
]

/** What an answer stands for, or nothing. */
const routeOf = (routes: Routes, answer: string): string | undefined => {
  const name = named(answer)
  return name === "finish" || name === "none" ? name : routes.tasks.get(name)?.id
}

const choices = (
  tasks: ReadonlyArray<Coordinator.Task<never, unknown>>,
  workers: ReadonlyArray<Coordinator.Candidate>
): ReadonlyArray<Choice> =>
  tasks.map(({ capability, id, objective, worker }) => {
    const known = workers.find(({ name }) => name === worker)
    const able = workers.filter((each) => capability !== undefined && each.capabilities.includes(capability))
    const takers = known === undefined ? able : [known, ...able]
    return {
      name: id,
      objective,
      ...(worker === undefined ? {} : { worker }),
      ...(capability === undefined ? {} : { capability }),
      ...(known === undefined ? {} : { description: known.description }),
      // What a coordinator of its own carries out is not anybody's to take.
      available: (worker === undefined && capability === undefined) || takers.some(({ available }) => available)
    }
  })

const consult = (note: string): Coordinator.Next => ({ _tag: "Consult", purpose: "route", note })

const next = (view: Coordinator.View, routes: Routes): Coordinator.Next => {
  if (view.open > 0) return { _tag: "Wait" }
  const { consult: asked, tasks } = view
  const said = lastSaid(view)
  if (said?.decision === "reject") {
    return stopped(said, "the choosing")
  }
  if (said?.decision === "accept-partial")
    return { _tag: "Done", note: `${said.by} let stand what there is: ${said.note}` }
  if (asked === undefined) return consult("Who does what first")
  const number = asked.id.slice(asked.id.lastIndexOf("/") + 1)
  const marks = tasks.map(({ id }) => id.slice(id.indexOf("#") + 1))
  const handled = marks.find((mark) => mark === number || mark.startsWith(`${number}-`))
  if (handled !== undefined) return consult(`${tasks.at(-1)?.id ?? "The task"} has ended; who does what next`) // R1
  if (asked.status === "open") return { _tag: "Wait" }
  const route =
    asked.status === "answered" && typeof asked.answer === "string" ? routeOf(routes, asked.answer) : undefined
  if (route === "finish") return { _tag: "Done", note: "Whoever chooses says that the work is finished" }
  if (route !== undefined && route !== "none") {
    return give(view, routes, route, number, `${route} was chosen`)
  }
  if (asked.status === "failed" && asked.failures % 2 === 1) {
    return consult(`The last answer could not be used: ${asked.error?.reason ?? "no reason given"}`)
  }
  const why =
    asked.status === "failed"
      ? `No choice could be used, the last one because of: ${asked.error?.reason ?? "no reason given"}`
      : "None of the tasks was chosen"
  if (routes.tasks.has(routes.fallback) && !marks.some((mark) => mark.endsWith("-fallback"))) {
    return give(view, routes, routes.fallback, `${number}-fallback`, `${why}; ${routes.fallback} stands in`)
  }
  return heard(view, routes, number, why)
}

/** What a person said about a choice that there is not, or the question. */
const heard = (view: Coordinator.View, routes: Routes, number: string, why: string): Coordinator.Next => {
  const answers = view.said.filter(({ decision, kind }) => kind === "routing" && decision === "answer")
  const last = answers.at(-1)
  const name = typeof last?.answer === "string" ? routeOf(routes, last.answer) : undefined
  const choices = [...[...routes.tasks.values()].map(({ id }) => id), "finish"]
  const allowed = listed(choices)
  if (last !== undefined && (name === undefined || name === "none")) {
    const note = `${why}; ${last.by} answered ${show(last.answer)}, which is none of: ${allowed}`
    return { _tag: "Review", reason: "no-route", choices, note }
  }
  const routed = answers.filter(({ answer }) => {
    const route = typeof answer === "string" ? routeOf(routes, answer) : undefined
    return route !== undefined && route !== "none"
  })
  const taken = view.tasks.filter(({ id }) => id.endsWith("-review")).length
  if (last === undefined || name === undefined || routed.length <= taken) {
    return { _tag: "Review", reason: "no-route", choices, note: `${why}; a person chooses one of: ${allowed}` }
  }
  if (name === "finish") return { _tag: "Done", note: `${last.by} says that the work is finished: ${last.note}` }
  return give(view, routes, name, `${number}-review`, `${last.by} chose ${name}: ${last.note}`)
}

const give = (view: Coordinator.View, routes: Routes, name: string, mark: string, note: string): Coordinator.Next => {
  const task = routes.tasks.get(named(name))
  if (task === undefined) return stop("no-ready-task", `${show(name)} is none of: ${listed(candidates(routes))}`)
  const { tasks } = view
  if (tasks.length >= routes.steps) {
    const had = `The group has had ${tasks.length} of ${routes.steps} tasks, and ${name} would be next`
    return stop("budget-exceeded", had) // R2
  }
  const circle = circling(tasks, task.worker, routes.repetition)
  if (circle !== undefined) return stop("loop-detected", `The choices go round in circles: ${circle}`)
  return { _tag: "Add", tasks: [visit(task, `${task.id}#${mark}`, tasks)], note }
}

const problems = (routes: Routes): ReadonlyArray<Coordinator.Problem> => {
  const { fallback, tasks } = routes
  const found: Array<Coordinator.Problem> = []
  if (tasks.size === 0) found.push({ rule: "no-task", subject: "router", message: "the router has no tasks to choose" })
  for (const name of ["finish", "none", "review"]) {
    if (!tasks.has(name)) continue
    found.push({ rule: "reserved-name", subject: name, message: `no task of a router can be called ${name}` })
  }
  if (fallback !== "review" && !tasks.has(fallback)) {
    const known = candidates_(fallback, [...[...tasks.values()].map(({ id }) => id), "review"])
    const message = `the router's fallback must be one of ${known}, got ${show(fallback)}`
    found.push({ rule: "no-fallback", subject: "router", message })
  }
  return found
}
