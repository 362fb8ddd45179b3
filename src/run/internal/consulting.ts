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
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import * as Contract from "../Contract.ts"
import { plannedData, type Coordinator, type Question, type Task, type TaskData } from "../Coordinator.ts"
import * as Plan from "../Plan.ts"
import type * as Recovery from "../Recovery.ts"
import { type Evidence, Usage } from "../Result.ts"
import { PlannedTask } from "../RunEvent.ts"
import { ofError } from "./attempt.ts"
import type { News } from "./news.ts"
import { owned } from "./plain.ts"
import { many, problemsOf, sentence, sentences, shorten, thrown } from "./problems.ts"

/** A choice that is to be asked for. */
export interface Asking {
  readonly consult: string
  readonly subject: string
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
  ).pipe(Effect.provideContext(context))

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
    const planned: Array<PlannedTask> = []
    const names = new Set<string>()
    for (const task of tasks as ReadonlyArray<TaskData>) {
      const wrong = illFormed(task, names)
      if (wrong !== undefined) return refuse(`${purpose} of ${failing.contract.task}: ${wrong}`)
      const wider = widerThan(failing.contract, task)
      if (wider !== undefined) return refuse(`${task.id} is not within ${failing.contract.task}: ${wider}`)
      const unknown = workers(task.worker, task.capability)
      if (unknown !== undefined) return refuse(`${task.id}: ${unknown}`)
      const inherits = { permissions: failing.contract.permissions, ...task }
      planned.push(plannedData(inherits as TaskData))
    }
    const circle = Plan.cycle(planned)
    if (circle.length > 0) return refuse(`tasks need each other in a circle: ${circle.join(" → ")}`)
    const unknown = planned.flatMap(({ id, needs }) =>
      needs.flatMap((need) => (names.has(need) ? [] : [`${id} needs an unknown task ${need}`]))
    )
    if (unknown[0] !== undefined) return refuse(unknown[0])
    if (purpose === "follow-up") {
      const { needs: _, template: __, id: ___, ...same } = self.planned
      const [first] = planned
      planned.push({ ...same, id: "again", needs: first === undefined ? [] : [first.id], template: self.key })
    }
    const checked = Schema.decodeResult(Schema.Array(PlannedTask))(planned)
    if (EffectResult.isFailure(checked)) return refuse(sentences(problemsOf(checked.failure, planned), "the tasks"))
    const answer = planned as unknown as Schema.Json
    return Effect.succeed({
      answer,
      note: `${planned.length === 1 ? "1 task stands" : `${planned.length} tasks stand`} in for ${failing.contract.task}`
    })
  })

/** What is wrong with one of the tasks by itself. */
const illFormed = (task: unknown, names: Set<string>): string | undefined => {
  if (typeof task !== "object" || task === null) return "a task must be a record"
  const { acceptMissing, capability, id, inputs = {}, needs = [], worker, ...fields } = task as TaskData
  const contract = Contract.parse({ ...fields, inputs, task: id })
  if (EffectResult.isFailure(contract)) return contract.failure.message
  if (names.has(id)) return `two tasks are called ${id}`
  names.add(id)
  if (new Set(needs).size !== needs.length) return `${id} names a need twice`
  const words = [acceptMissing ?? false, capability ?? "", worker ?? ""]
  return typeof words[0] === "boolean" && words.slice(1).every((word) => typeof word === "string")
    ? undefined
    : `${id}: worker and capability must be texts, acceptMissing must be true or false`
}

const limits = ["deadlineMillis", "tokens", "toolCalls", "steps", "cost"] as const

/** What of a task goes beyond the contract that it is a part of. */
const widerThan = (contract: Contract.Contract, task: TaskData): string | undefined => {
  for (const limit of limits) {
    const most = contract.limits[limit]
    const asked = task.limits?.[limit]
    if (most !== undefined && asked !== undefined && asked > most) return `limits.${limit} is ${asked}, above ${most}`
  }
  for (const [area, scopes] of Object.entries(task.permissions ?? {})) {
    const granted = Object.hasOwn(contract.permissions, area) ? (contract.permissions[area] ?? []) : []
    const beyond = scopes.find((scope) => !granted.includes(scope))
    if (beyond !== undefined) return `permissions.${area} holds ${JSON.stringify(beyond)}`
  }
  return undefined
}

/** Whoever is asked has so long to answer; then it counts as a passing failure. */
const patience = "2 minutes"

const late = Failure.transient(`no answer within ${patience}`)

/** Asks, and tells what came of it. */
export const ask = ({ consult, effect, subject }: Asking, tell: (news: News) => void): Effect.Effect<void> =>
  Effect.matchCauseEffect(Effect.timeoutOrElse(effect, { duration: patience, orElse: () => Effect.fail(late) }), {
    onSuccess: ({ answer, note, usage }) =>
      Effect.sync(() => {
        const own = owned(answer, "the answer")
        if (EffectResult.isSuccess(own)) {
          const said = typeof note === "string" ? shorten(note, 500) : "no note was given"
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
          ...spent(usageOf(cause)),
          note: `The decision ${consult} failed (${error.kind}): ${error.reason}`
        })
      )
  })

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
