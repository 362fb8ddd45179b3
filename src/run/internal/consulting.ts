/**
 * Asking for a choice: a route, a plan, or the tasks that stand in for one that cannot be done as it is.
 *
 * What comes back is checked here, so that only choices that can be carried out become events.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import * as Contract from "../Contract.ts"
import { plannedData, type Coordinator, type Question, type Task, type TaskData } from "../Coordinator.ts"
import type { Ended } from "../Observer.ts"
import * as Plan from "../Plan.ts"
import type * as Recovery from "../Recovery.ts"
import { type Evidence, Usage } from "../Result.ts"
import { PlannedTask, type Purpose } from "../RunEvent.ts"
import { ofError } from "./attempt.ts"
import { knownAs } from "./closest.ts"
import type { Watched } from "./dispatch.ts"
import { isRecord } from "./given.ts"
import { beyond } from "./limiting.ts"
import type { News } from "./news.ts"
import { inOffice } from "./observing.ts"
import { owned } from "./plain.ts"
import {
  joined,
  many,
  pathOf,
  type Problem,
  problemsOf,
  sentence,
  sentences,
  shortened,
  show,
  thrown
} from "./problems.ts"
import { reasonOf } from "./reasons.ts"

/** A choice that is to be asked for. */
export interface Asking {
  readonly consult: string
  readonly subject: string
  readonly purpose: Purpose
  /** How many could be chosen, where that is known. */
  readonly candidates?: number
  readonly effect: Effect.Effect<
    { readonly answer: Schema.Json; readonly note: string; readonly usage?: object },
    unknown
  >
}

/** Has a coordinator ask. */
export const askCoordinator = (
  coordinator: Coordinator<never, unknown>,
  question: Question,
  context: Context.Context<never>
): Asking["effect"] =>
  Effect.suspend(() =>
    coordinator.decide === undefined
      ? Effect.die(new Error(`a ${coordinator.kind} asks for no choice`))
      : (coordinator.decide(question as Question<never>) as Effect.Effect<
          { answer: Schema.Json; note: string },
          unknown
        >)
  ).pipe((asked) => inOffice(asked, context))

/** A task that is split, planned anew or followed up makes at most so many. */
const most = 50

/**
 * The tasks that carry out a task that cannot be done as it is: inside its permissions and its limits.
 *
 * A follow-up is a bounded task that carries only the evidence that did not hold, and then the task once more.
 */
export const askTemplate = (
  template: Task<never, unknown>,
  purpose: Recovery.Expansion,
  failing: {
    readonly contract: Contract.Contract
    readonly accepted: Readonly<Record<string, Schema.Json>>
    readonly reason: string
    readonly failing: ReadonlyArray<Evidence>
  },
  self: { readonly key: string; readonly planned: PlannedTask },
  workers: (name: string | undefined, capability: string | undefined) => string | undefined
): Asking["effect"] =>
  Effect.suspend(() => {
    const refuse = (reason: string) => Effect.fail(Failure.malformed(reason))
    let tasks: unknown
    try {
      tasks =
        purpose === "decompose"
          ? (template.decompose?.(failing) ?? [])
          : purpose === "re-plan"
            ? (template.replan?.(failing) ?? [])
            : template.followUp === undefined
              ? []
              : [template.followUp(failing)]
    } catch (error) {
      return refuse(`${purpose} of ${failing.contract.task} failed: ${thrown(error)}`)
    }
    if (!Array.isArray(tasks)) return refuse(`${purpose} of ${failing.contract.task} must give a list of tasks`)
    if (tasks.length === 0) return refuse(`${purpose} of ${failing.contract.task} gave no tasks`)
    if (tasks.length > most) {
      return refuse(
        `${purpose} of ${failing.contract.task} gave ${many(tasks.length, "task")}, at most ${most} are taken`
      )
    }
    const problems = wrong(tasks as ReadonlyArray<unknown>, failing.contract, workers)
    if (problems.length > 0) return refuse(`${purpose} of ${failing.contract.task}: ${joined(problems)}`)
    const planned: Array<PlannedTask> = (tasks as ReadonlyArray<TaskData>).map((task) =>
      plannedData({ permissions: failing.contract.permissions, ...task })
    )
    if (purpose === "follow-up") {
      const { needs: _, template: __, id: ___, ...same } = self.planned
      const [first] = planned
      planned.push({ ...same, id: "again", needs: first === undefined ? [] : [first.id], template: self.key })
    }
    const checked = Schema.decodeResult(Schema.Array(PlannedTask))(planned)
    if (EffectResult.isFailure(checked)) {
      const unfit = problemsOf(checked.failure, planned).map((each) => ({ ...each, path: `tasks${each.path}` }))
      return refuse(`${purpose} of ${failing.contract.task}: ${sentences(unfit)}`)
    }
    const answer = planned as unknown as Schema.Json
    return Effect.succeed({
      answer,
      note: `${planned.length === 1 ? "1 task stands" : `${planned.length} tasks stand`} in for ${failing.contract.task}`
    })
  })

/** Everything that is wrong with the tasks, each with its place and its field. */
const wrong = (
  tasks: ReadonlyArray<unknown>,
  contract: Contract.Contract,
  workers: (name: string | undefined, capability: string | undefined) => string | undefined
): ReadonlyArray<string> => {
  const said: Array<string> = []
  const places = new Map<unknown, number>()
  const planned: Array<{ readonly id: string; readonly needs: ReadonlyArray<string> }> = []
  tasks.forEach((task, index) => {
    const own: Array<Problem> = []
    if (!isRecord(task)) own.push({ path: "", expectation: "must be a record", actual: show(task) })
    else {
      own.push(...illFormed(task))
      const { id } = task
      if (places.has(id)) own.push({ path: "id", expectation: "is used twice", actual: show(id) })
      else places.set(id, index)
      if (own.length === 0) {
        // What is well formed is what its type says.
        const data = task as unknown as TaskData
        own.push(...widerThan(contract, data))
        planned.push({ id: data.id, needs: data.needs ?? [] })
        const nobody = workers(data.worker, data.capability)
        if (nobody !== undefined) said.push(`tasks[${index}]: ${nobody}`)
      }
    }
    said.push(...own.map((each) => sentence({ ...each, path: placed(index, each.path) })))
  })
  tasks.forEach((task, index) => {
    const needs = isRecord(task) && Array.isArray(task["needs"]) ? (task["needs"] as ReadonlyArray<unknown>) : []
    needs.forEach((need, at) => {
      if (typeof need !== "string" || places.has(need)) return
      const others = [...places.keys()].filter((id) => typeof id === "string")
      said.push(`tasks[${index}].needs[${at}] needs an unknown task ${need}${knownAs(need, others)}`)
    })
  })
  if (said.length > 0) return said
  const circle = Plan.cycle(planned)
  return circle.length === 0 ? [] : [`tasks need each other in a circle: ${circle.join(" → ")}`]
}

const placed = (index: number, path: string): string =>
  `tasks[${index}]${path === "" || path.startsWith("[") ? path : `.${path}`}`

/** What is wrong with one of the tasks by itself. */
const illFormed = (task: Readonly<Record<string, unknown>>): ReadonlyArray<Problem> => {
  const { acceptMissing, capability, id, inputs = {}, needs = [], worker, ...fields } = task
  const contract = Contract.parse({ ...fields, inputs, task: id })
  const problems: Array<Problem> = EffectResult.isSuccess(contract)
    ? []
    : contract.failure.problems.map((each) => (each.path === "task" ? { ...each, path: "id" } : each))
  const check = (path: string, value: unknown, holds: boolean, expectation: string) => {
    if (!holds) problems.push({ path, expectation, actual: show(value) })
  }
  check("worker", worker, worker === undefined || typeof worker === "string", "must be a text")
  check("capability", capability, capability === undefined || typeof capability === "string", "must be a text")
  check(
    "acceptMissing",
    acceptMissing,
    [undefined, true, false].includes(acceptMissing as undefined),
    "must be true or false"
  )
  check("needs", needs, Array.isArray(needs), "must be a list")
  if (Array.isArray(needs)) {
    needs.forEach((need: unknown, at) => {
      check(`needs[${at}]`, need, typeof need === "string", "must be a text")
      check(`needs[${at}]`, need, needs.indexOf(need) === at, "is named twice")
    })
  }
  return problems
}

/** What of a task goes beyond the contract that it is a part of. */
const widerThan = (contract: Contract.Contract, task: TaskData): ReadonlyArray<Problem> => {
  const problems = [...beyond(task.limits ?? {}, contract.limits, contract.task)]
  for (const [area, scopes] of Object.entries(task.permissions ?? {})) {
    const granted = Object.hasOwn(contract.permissions, area) ? (contract.permissions[area] ?? []) : []
    scopes.forEach((scope, at) => {
      if (granted.includes(scope)) return
      const expectation = `must be within the permissions of ${contract.task}`
      problems.push({ path: pathOf(["permissions", area, at]), expectation, actual: show(scope) })
    })
  }
  return problems
}

/** Whoever is asked has so long to answer; then it counts as a passing failure. */
const patience = "2 minutes"

const late = Failure.transient(`no answer within ${patience}`)

const isLate = (cause: Cause.Cause<unknown>): boolean =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === late)

/** What the end of asking means. */
const endOf =
  (classifier: (error: unknown) => Failure.Kind | undefined) =>
  (exit: Exit.Exit<{ readonly answer: unknown }, unknown>): Ended => {
    if (Exit.isSuccess(exit)) {
      const own = owned(exit.value.answer, "the answer")
      if (EffectResult.isSuccess(own)) return { outcome: "accepted" }
      return { outcome: "failed", kind: "malformed", reason: sentence(own.failure) }
    }
    const { error, kind = "defect" } = Failure.classify(exit.cause, classifier)
    return { outcome: isLate(exit.cause) ? "timed-out" : "failed", kind, reason: reasonOf(error) }
  }

/** Asks, and tells what came of it. */
export const ask = (
  { effect, ...asked }: Asking,
  tell: (news: News) => void,
  { interrupted, observing }: Watched
): Effect.Effect<void> => {
  const { consult, subject } = asked
  const asking = Effect.timeoutOrElse(effect, { duration: patience, orElse: () => Effect.fail(late) })
  const seen = observing.isNobody
    ? asking
    : Effect.flatMap(Failure.Classifier, (classifier) =>
        observing.around({ ...asked, _tag: "Choice" }, asking, endOf(classifier), interrupted)
      )
  return Effect.matchCauseEffect(seen, {
    onSuccess: ({ answer, note, usage }) =>
      Effect.sync(() => {
        const own = owned(answer, "the answer")
        if (EffectResult.isSuccess(own)) {
          const said = typeof note === "string" ? shortened(note, 500) : "no note was given"
          return tell({ _tag: "Decided", consult, subject, answer: own.success, note: said, ...spent(usage) })
        }
        const error = { kind: "malformed" as const, reason: sentence(own.failure) }
        const why = `The decision ${consult} failed (${error.kind}): ${error.reason}`
        tell({ _tag: "DecisionFailed", consult, subject, error, ...spent(usage), note: why })
      }),
    onFailure: (cause) =>
      Effect.map(ofError(cause), (error) =>
        tell({
          _tag: "DecisionFailed",
          consult,
          subject,
          error,
          ...(isLate(cause) ? { late: true as const } : {}),
          ...spent(usageOf(cause)),
          note: `The decision ${consult} failed (${error.kind}): ${error.reason}`
        })
      )
  })
}

const decodeUsage = Schema.decodeUnknownOption(Usage)

/** What an answer says that it used, as far as it is one. */
const spent = (usage: unknown): { readonly usage?: Usage } => {
  const known = usage === undefined ? undefined : Option.getOrUndefined(decodeUsage(usage))
  return known === undefined ? {} : { usage: known }
}

/** A bad answer has been paid for too, where it says so. */
const usageOf = (cause: Cause.Cause<unknown>): unknown => {
  const reason = cause.reasons.find(Cause.isFailReason)
  return Predicate.hasProperty(reason?.error, "usage") ? reason.error.usage : undefined
}
