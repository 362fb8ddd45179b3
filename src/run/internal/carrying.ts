/**
 * Turns a decision into the events that say it, and notes what has to begin once they are written.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import * as Allowance from "../Allowance.ts"
import * as Budget from "../Budget.ts"
import * as Contract from "../Contract.ts"
import type { Coordinator, Question } from "../Coordinator.ts"
import type * as Decider from "../Decider.ts"
import type { Office } from "../Office.ts"
import type * as Outcome from "../Outcome.ts"
import type { PlannedTask, RunEvent } from "../RunEvent.ts"
import type { Answer, RunState, TaskState } from "../RunState.ts"
import type { Order } from "../Worker.ts"
import { accountsOf } from "./applying/draft.ts"
import { failure } from "./attempt.ts"
import { askCoordinator, askTemplate, type Asking } from "./consulting.ts"
import { viewOf } from "./deciding/coordinating.ts"
import type { Terms } from "./dispatch.ts"
import { judgeOf } from "./judging.ts"
import { isLimitless } from "./limitless.ts"
import { aggregated, deliveries, mergeGroup, mergeOf, type Whole } from "./merging.ts"
import { acceptedBy, contractOf, inputOf, type Made, type Sources, templateOf } from "./orders.ts"
import { type Problem, sentences, shorten, show, thrown } from "./problems.ts"
import { ask, isApproved, orderOf, propose, refuse } from "./proposing.ts"
import { Pulse } from "./pulse.ts"
import { openAtTheEnd } from "./wholly.ts"

/** An order that begins once it is written down. */
export interface Beginning {
  readonly worker: string
  readonly order: Order
  readonly work: Made["work"]
  readonly terms: Terms
}

/** What carrying out needs of the executor. */
export interface Hands {
  readonly office: Office
  readonly fold: () => Outcome.Fold
  readonly sources: () => Sources
  readonly state: () => RunState
  readonly take: (event: RunEvent) => void
  /** As `take`, for what may turn out to be impossible: the reason then. */
  readonly offer: (event: RunEvent) => string | undefined
  readonly begin: (beginning: Beginning) => void
  readonly ask: (asking: Asking) => void
  readonly recall: (dispatch: string) => void
}

export const carryOut = (hands: Hands, action: Decider.Action, at: number): void => {
  const { take } = hands
  switch (action._tag) {
    case "Dispatch":
      return give(hands, action, at)
    case "RefuseBudget": {
      const { _tag: _, ...rest } = action
      return take({ _tag: "BudgetRefused", at, ...rest })
    }
    case "Confirm": {
      const { allowed, note, task, worker } = action
      return take({ _tag: "Confirmed", at, task, worker, allowed, note })
    }
    case "Recall": {
      const { dispatch, note, reason, task } = action
      take({ _tag: "Recalled", at, task, dispatch, reason, note })
      return hands.recall(dispatch)
    }
    case "OpenGroup":
      return openGroup(hands, action, at)
    case "AddTasks": {
      const { group, note, tasks } = action
      const on = hands.state().tasks.get(group)
      const prefix = on === undefined ? "" : prefixFor(hands.state(), on)
      const template = on === undefined ? "" : `${on.template ?? on.id}/`
      const added = tasks.map((task) => under(task, prefix, template))
      const refused = hands.offer({ _tag: "TasksAdded", at, group, tasks: added, note })
      if (refused === undefined) return
      const said = `no tasks can be added (${note}): ${refused}`
      return take({ _tag: "GroupStopping", at, group, reason: "no-ready-task", recall: false, note: said })
    }
    case "StopGroup": {
      const { group, note, reason, recall } = action
      return take({ _tag: "GroupStopping", at, group, reason, recall, note })
    }
    case "Merge":
      return merge(hands, action, at)
    case "Consult":
      return consult(hands, action, at)
    case "Review":
      return action.kind === "action-approval" ? propose(hands, action, at) : ask(hands, action, at)
    case "EndTask": {
      const { dispatch, missing, note, status, task } = action
      const behind = dispatch === undefined ? {} : { dispatch }
      return take({ _tag: "TaskEnded", at, task, status, ...behind, missing, note })
    }
    case "Finish": {
      const { degraded, note, status, stopReason } = action
      return take({ _tag: "RunFinished", at, status, stopReason, degraded, note })
    }
  }
}

/** A task of a group under the group's own names. */
const under = (task: PlannedTask, prefix: string, template: string): PlannedTask => {
  if (prefix === "" && template === "") return task
  return {
    ...task,
    id: `${prefix}${task.id}`,
    needs: task.needs.map((need) => `${prefix}${need}`),
    ...(task.amendment !== undefined && task.template === undefined
      ? {}
      : { template: `${template}${task.template ?? task.id}` })
  }
}

/** Where the names of a task's own tasks begin; another name for each time that it is opened. */
const prefixFor = (state: RunState, task: TaskState, kind = ""): string => {
  const base = kind === "" ? `${task.id}/` : `${task.id}/${kind}/`
  const [first] = state.groups.get(task.id)?.tasks ?? []
  if (first !== undefined) return first.slice(0, first.lastIndexOf("/") + 1)
  const times = task.tries.filter(({ dispatch, worker }) => dispatch === undefined && !worker.includes(".")).length
  return times === 0 || kind !== "" ? base : `${base}${times + 1}/`
}

const openGroup = (hands: Hands, action: Extract<Decider.Action, { readonly _tag: "OpenGroup" }>, at: number): void => {
  const { answer, kind, note, task: id } = action
  const state = hands.state()
  const task = state.tasks.get(id)
  if (task === undefined) return
  const key = task.template ?? task.id
  const coordinator = answer === undefined ? hands.office.coordinators.get(key) : undefined
  const prefix = prefixFor(state, task, coordinator === undefined ? kind : "")
  const tasks =
    coordinator === undefined
      ? // An answer was checked before it became an event.
        ((answer ?? []) as unknown as ReadonlyArray<PlannedTask>).map((each) => beneath(each, prefix))
      : coordinator.initial.map((each) => under(each, prefix, `${key}/`))
  const { deadlineMillis, ...limits } = templateOf(hands.sources(), task).limits ?? {}
  const refused = hands.offer({
    _tag: "GroupOpened",
    at,
    task: id,
    kind,
    containment: coordinator?.containment ?? "isolate",
    tasks,
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(deadlineMillis === undefined ? {} : { deadlineAt: at + deadlineMillis }),
    note
  })
  if (refused === undefined) return
  const why = `${id} cannot be carried out by tasks of its own (${kind}): ${refused}`
  hands.take({ _tag: "TaskEnded", at, task: id, status: "failed", missing: [{ part: id, reason: why }], note: why })
}

const beneath = (task: PlannedTask, prefix: string): PlannedTask => ({
  ...task,
  id: `${prefix}${task.id}`,
  needs: task.needs.map((need) => `${prefix}${need}`)
})

const give = (hands: Hands, action: Extract<Decider.Action, { readonly _tag: "Dispatch" }>, at: number): void => {
  const { approval, candidates, note, task: id, worker } = action
  const { office, take } = hands
  const sources = hands.sources()
  const post = office.staff.posts.get(worker)
  const before = hands.state().tasks.get(id)
  if (post === undefined || before === undefined) return
  const made = orderOf(sources, post.seat, hands.state(), before)
  if (EffectResult.isFailure(made)) return refuse(hands, action, made.failure, at)
  if (approval !== undefined && !isApproved(before, worker, made.success)) {
    return propose(hands, approval, at, made.success)
  }
  const next = `${hands.state().run}/${id}/${before.dispatches + 1}`
  const admitted = office.health.admit(worker, at, next)
  if (admitted._tag === "Refused") {
    const health = admitted.reason
    return take({
      _tag: "HealthChanged",
      at,
      worker,
      health,
      ...(admitted.until === undefined ? {} : { until: admitted.until }),
      note: admitted.note
    })
  }
  take({ _tag: "Routed", at, task: id, worker, candidates, note })
  const state = hands.state()
  const task = state.tasks.get(id) ?? before
  const { contract, dispatch } = made.success.order
  const template = templateOf(sources, task)
  const loops = state.groups.get(task.parent)?.kind
  const repeats = loops === "graph" || loops === "swarm"
  const compares =
    repeats || loops === "router" || task.amendment !== undefined || office.twins.has(task.template ?? id)
  const digest = compares ? `${worker} ${Contract.digest(contract)}` : undefined
  if (digest !== undefined && template.fresh !== true && !repeats && task.tries.length === 0) {
    const same = state.orders.get(digest)
    const first = same === undefined ? undefined : state.tasks.get(same.task)
    if (same !== undefined && first !== undefined && first.status === "accepted") {
      office.health.report(worker, at, "interrupted", next)
      const said = `${id} is the same order as ${same.task}, whose outcome stands`
      return take({ _tag: "Reused", at, task: id, worker, of: same.task, version: same.version, note: said })
    }
  }
  const { deadlineMillis, ...limits } = contract.limits
  const amount = post.seat.worker.estimate
  const deadlineAt = task.deadlineAt ?? (deadlineMillis === undefined ? undefined : at + deadlineMillis)
  take({
    _tag: "Dispatched",
    at,
    task: id,
    dispatch,
    worker,
    contract: contract.version,
    ...(digest === undefined ? {} : { digest }),
    ...(Object.keys(amount).length === 0 ? {} : { reserved: amount }),
    ...(Object.keys(limits).length === 0 || task.dispatches > 0 ? {} : { limits }),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
    note: `${dispatch} is given to ${worker}`
  })
  hands.begin(beginning(hands, id, worker, made.success, compares))
}

/** An order with the terms that it is carried out by. */
export const beginning = (
  hands: Hands,
  id: string,
  worker: string,
  { order, work }: Made,
  digests: boolean
): Beginning => {
  const { office } = hands
  const sources = hands.sources()
  const state = hands.state()
  const task = state.tasks.get(id)
  const { policy } = office.spec
  const limit = task === undefined ? {} : spendable(state, task, worker, order)
  const allowance = Allowance.makeUnsafe({ limit, account: order.dispatch })
  const template = task === undefined ? undefined : templateOf(sources, task)
  const pulse = new Pulse()
  // Nobody else has the order yet; the work looks at it when it begins.
  order.allowance = allowance
  order.progress = pulse.beat
  return {
    worker,
    order: order as Order,
    work,
    terms: {
      policy,
      judge: judgeOf(template, order.contract, office.desk.sameRevision),
      probe: office.health.facts().workers.get(worker)?.dispatch === order.dispatch,
      digests: digests || policy.lowConfidence === "cross-check" || policy.lowConfidence === "retry",
      allowance,
      pulse,
      deadlineAt: earliest(task?.deadlineAt, state.deadlineAt)
    }
  }
}

const earliest = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)

/** What a dispatch may spend: what was reserved for it, and of what was not, what its accounts have left. */
const spendable = (
  state: RunState,
  task: TaskState,
  worker: string,
  order: Pick<Order, "contract" | "dispatch">
): Budget.Amount => {
  const reserved = state.ledger.reservations.get(order.dispatch)?.amount ?? {}
  if (isLimitless(state.ledger)) return reserved
  const left = Budget.left(state.ledger, accountsOf(state, task, worker))
  return { ...left, ...reserved }
}

const merge = (hands: Hands, action: Extract<Decider.Action, { readonly _tag: "Merge" }>, at: number): void => {
  const { group: id, result: chosen } = action
  const { office, take } = hands
  const fold = hands.fold()
  const state = hands.state()
  const group = state.groups.get(id)
  if (group === undefined) return
  if (id !== "") {
    const key = state.tasks.get(id)?.template ?? id
    const coordinator = office.coordinators.get(key)
    const own = coordinator?.kind === group.kind ? coordinator : undefined
    const task = state.tasks.get(id)
    const template = task === undefined ? undefined : templateOf(hands.sources(), task)
    const whole = judged(hands, task, mergeGroup(state, group, mergeOf(own, template), chosen, fold))
    const { label, outcome, result } = whole
    const note = `The tasks of ${id} are over: ${result.error?.reason ?? result.status}`
    return take({
      _tag: "Merged",
      at,
      group: id,
      kind: group.kind,
      outcome,
      result,
      ...(label === undefined ? {} : { label }),
      note
    })
  }
  return whole(hands, group.answers, chosen, at)
}

/** What a task asks of its output is asked of what its own tasks came to, too. */
const judged = (
  hands: Hands,
  task: TaskState | undefined,
  whole: Whole
): Whole & { readonly label?: string | undefined } => {
  const { result } = whole
  if (task === undefined || result.output === undefined || result.error !== undefined) return whole
  const sources = hands.sources()
  const contract = contractOf(sources, hands.state(), task)
  if (EffectResult.isFailure(contract)) return whole
  const { against, label } = judgeOf(
    templateOf(sources, task),
    contract.success,
    hands.office.desk.sameRevision
  )(result)
  if (against === undefined) return { ...whole, label }
  const refused = failure("malformed", against, "rejected-quality")
  return { ...refused, result: { ...refused.result, evidence: result.evidence } }
}

/** The result of the run itself. */
const whole = (hands: Hands, answers: ReadonlyArray<Schema.Json>, chosen: string | undefined, at: number): void => {
  const { office, take } = hands
  const fold = hands.fold()
  const state = hands.state()
  const group = state.groups.get("")
  if (group === undefined) return
  const { aggregate, decodeOutput, reconcile, sameRevision } = office.desk
  const base = mergeGroup(state, group, mergeOf(office.coordinators.get(""), undefined), chosen, fold)
  let { outcome, result } = base
  let conflicts: ReadonlyArray<Schema.Json> = []
  let leftOut: ReadonlyArray<{ readonly part: string; readonly reason: string }> = []
  const combined =
    aggregate === undefined
      ? undefined
      : aggregated(aggregate, deliveries(state, group, fold), chosenValues(group.said, answers))
  if (combined !== undefined && EffectResult.isFailure(combined)) {
    const { output: _, ...rest } = result
    outcome = "failed"
    result = { ...rest, status: "failed", error: { kind: "defect", reason: combined.failure } }
  } else if (aggregate !== undefined && combined !== undefined) {
    const merged = combined.success
    const [first] = merged.conflicts
    if (first !== undefined && reconcile !== undefined && group.stopping === undefined) {
      const question = aggregate.question(first)
      if (reconcile === "review" && mayAsk(group.said, first.field)) {
        const review = `${state.run}/review/${state.reviewed + 1}`
        return take({
          _tag: "ReviewOpened",
          at,
          review,
          kind: "reconciliation",
          reason: "conflict",
          allowed: ["answer", "accept-partial"],
          facts: { field: first.field, values: first.values as unknown as Schema.Json, schema: question.schema },
          note: question.question
        })
      }
      const failures = group.consult?.purpose === "reconcile" ? group.consult.failures : 0
      if (reconcile !== "review" && failures < 2) {
        const consult = `${state.run}/consult/${state.consulted + 1}`
        take({ _tag: "Consulted", at, consult, subject: "", purpose: "reconcile", note: question.question })
        return hands.ask({ consult, subject: "", effect: reconciled(hands, reconcile, question, first.field, merged) })
      }
    }
    conflicts = merged.conflicts as unknown as ReadonlyArray<Schema.Json>
    leftOut = merged.leftOut.map(({ reason, task }) => ({ part: task, reason }))
    if (merged.status === "empty") {
      outcome = "failed"
      result = { ...result, status: "failed", error: { kind: "capability", reason: "No task gave a usable output" } }
      delete (result as { output?: unknown }).output
    } else {
      const whole = merged.status === "complete" && merged.conflicts.length === 0
      outcome = whole ? "accepted" : "partial"
      const missing = [
        ...result.missing,
        ...merged.conflicts.map(({ field }) => ({
          part: field,
          reason: "Tasks gave different values, and nobody chose"
        })),
        ...leftOut
      ]
      const { error: _, ...rest } = result
      result = {
        ...rest,
        status: whole ? "completed" : "partial",
        output: merged.output,
        missing: whole ? [] : missing
      }
    }
  }
  if (decodeOutput !== undefined && result.output !== undefined) {
    const decoded = decodeOutput(result.output)
    if (EffectResult.isFailure(decoded)) {
      const problems = decoded.failure.map(inOutput)
      const where = problems[0]?.path ?? "output"
      const hint = aggregate === undefined ? unmerged(office.coordinators.get(""), result.output) : ""
      const reason = `OUTPUT_INVALID: the desk's ${invalid(problems, result.output)}${hint}`
      if (result.status === "partial") {
        // Of what is not whole nobody expects that it is; what it lacks is said.
        result = { ...result, missing: [...result.missing, { part: where, reason }] }
      } else {
        const { output: _, ...rest } = result
        outcome = "rejected-contract"
        result = { ...rest, status: "failed", error: { kind: "malformed", reason } }
      }
    }
  }
  const open = sameRevision && result.error === undefined ? openAtTheEnd(hands.sources(), state, fold) : []
  if (open.length > 0) {
    outcome = "partial"
    const lacks = open.map(({ reason, requirement, task }) => ({ part: `${task}.${requirement}`, reason }))
    result = { ...result, status: "partial", missing: [...result.missing, ...lacks] }
  }
  if (aggregate === undefined && decodeOutput === undefined) {
    // Nobody asked for an answer beside those of the tasks.
    const { output: _, ...rest } = result
    result = rest
  }
  const lacking = result.missing.map(({ part }) => part).join(", ")
  take({
    _tag: "Merged",
    at,
    group: "",
    kind: group.kind,
    outcome,
    result,
    ...(conflicts.length === 0 ? {} : { conflicts }),
    ...(leftOut.length === 0 ? {} : { leftOut }),
    ...(open.length === 0 ? {} : { open }),
    note:
      result.error?.reason ??
      (lacking === ""
        ? `The answer is ${result.status}`
        : shorten(`The answer is ${result.status}: it lacks ${lacking}`, 500))
  })
}

const inOutput = (problem: Problem): Problem => {
  const { path } = problem
  return { ...problem, path: path === "" ? "output" : `output${path.startsWith("[") ? "" : "."}${path}` }
}

/** What is wrong with an output, and a short and safe sight of it where that does not say it already. */
const invalid = (problems: ReadonlyArray<Problem>, output: Schema.Json): string =>
  `${sentences(problems)}${problems[0]?.path === "output" ? "" : `; it is ${show(output)}`}`

/** What an output is that nobody merged. */
const unmerged = (coordinator: Coordinator<never, unknown> | undefined, output: Schema.Json): string => {
  if (coordinator === undefined || coordinator.merge !== undefined) return ""
  if (typeof output !== "object" || output === null) return ""
  const names = shorten(Object.keys(output).join(", "), 200)
  return `; without a merge the output of a ${coordinator.kind} is a record by task: ${names}`
}

/** Whether a person is asked about a field: once, and once more when the answer settled nothing; never after `accept-partial`. */
const mayAsk = (said: ReadonlyArray<Answer>, field: string): boolean => {
  let asked = 0
  for (const { answer, decision, kind } of said) {
    if (kind !== "reconciliation") continue
    if (decision === "accept-partial") return false
    const fields = chosenValues(answer === undefined ? [] : [{ kind, answer }], []).map((each) => each.field)
    if (fields.length === 0 || fields.includes(field)) asked += 1
  }
  return asked < 2
}

/** The values that were chosen for fields, by whoever was asked, oldest first. */
const chosenValues = (
  said: ReadonlyArray<Pick<Answer, "kind" | "answer">>,
  answers: ReadonlyArray<Schema.Json>
): ReadonlyArray<{ readonly field: string; readonly answer: unknown }> => {
  const values: Array<{ readonly field: string; readonly answer: unknown }> = []
  const spoken = said.flatMap(({ answer, kind }) => (kind === "reconciliation" && answer !== undefined ? [answer] : []))
  for (const each of [...answers, ...spoken]) {
    if (typeof each !== "object" || each === null || Array.isArray(each)) continue
    const { reconcile } = each as { readonly reconcile?: Schema.Json }
    if (typeof reconcile !== "object" || reconcile === null || Array.isArray(reconcile)) continue
    for (const [field, answer] of Object.entries(reconcile)) values.push({ field, answer })
  }
  return values
}

const reconciled = (
  { office }: Hands,
  reconcile: Exclude<Office["desk"]["reconcile"], "review" | undefined>,
  question: Parameters<typeof reconcile>[0],
  field: string,
  merged: Parameters<NonNullable<Office["desk"]["aggregate"]>["resolve"]>[0]
): Asking["effect"] =>
  Effect.suspend(() => reconcile(question) as Effect.Effect<unknown, unknown>).pipe(
    Effect.flatMap((answer): Effect.Effect<{ answer: Schema.Json; note: string }, unknown> => {
      const resolved = office.desk.aggregate?.resolve(merged, field, answer)
      if (resolved === undefined) return Effect.die(new Error("a desk without an aggregate has nothing to reconcile"))
      if (EffectResult.isFailure(resolved)) return Effect.fail(resolved.failure)
      const value = { reconcile: { [field]: answer as Schema.Json } }
      return Effect.succeed({ answer: value, note: `${field} is decided` })
    }),
    Effect.provideContext(office.context)
  )

const consult = (hands: Hands, action: Extract<Decider.Action, { readonly _tag: "Consult" }>, at: number): void => {
  const { note, purpose, subject } = action
  const consult = `${hands.state().run}/consult/${hands.state().consulted + 1}`
  hands.take({ _tag: "Consulted", at, consult, subject, purpose, note })
  hands.ask(asking(hands, subject, purpose, consult))
}

/** What has to be asked for an open choice, now or after the run was taken up again. */
export const asking = (
  hands: Hands,
  subject: string,
  purpose: Extract<Decider.Action, { readonly _tag: "Consult" }>["purpose"],
  consult: string
): Asking => {
  const { office } = hands
  const fold = hands.fold()
  const sources = hands.sources()
  const state = hands.state()
  const group = state.groups.get(subject)
  const task = state.tasks.get(subject)
  const key = task === undefined ? "" : (task.template ?? task.id)
  if (
    group === undefined &&
    task !== undefined &&
    (purpose === "decompose" || purpose === "re-plan" || purpose === "follow-up")
  ) {
    const contract = contractOf(sources, state, task)
    if (EffectResult.isFailure(contract)) {
      return { consult, subject, effect: Effect.die(new Error(contract.failure)) }
    }
    const last = task.tries.at(-1)
    const failing = (fold.evidence(subject) ?? []).filter(
      ({ exitStatus }) => exitStatus !== undefined && exitStatus !== 0
    )
    const effect = askTemplate(
      templateOf(sources, task),
      purpose,
      { contract: contract.success, accepted: acceptedBy(sources, state, task), reason: last?.reason ?? "", failing },
      { key, planned: plannedOf(task) },
      (worker, capability) => {
        if (worker === undefined && capability === undefined) return "it names neither a worker nor a capability"
        if (worker !== undefined && !office.spec.workers.has(worker)) return `there is no worker ${worker}`
        const known = capability === undefined || sources.capabilities.includes(capability)
        return known ? undefined : `no worker has the capability ${capability}`
      }
    )
    return { consult, subject, effect }
  }
  const coordinator = office.coordinators.get(key)
  if (group === undefined || coordinator === undefined) {
    return { consult, subject, effect: Effect.die(new Error(`nobody can be asked for ${purpose}`)) }
  }
  const refused = group.consult?.error
  let input: unknown
  try {
    input = inputOf(sources, state, subject)
  } catch (error) {
    const why = `the inputs of ${subject} cannot be made: ${thrown(error)}`
    return { consult, subject, effect: Effect.fail(Failure.malformed(why)) }
  }
  const question: Question = {
    run: state.run,
    consult,
    purpose,
    input,
    workers: [...office.spec.workers.values()].map(({ available, capabilities, name }) => ({
      name,
      description: office.staff.posts.get(name)?.seat.worker.description ?? "",
      capabilities,
      available: available && !state.health.has(name)
    })),
    tasks: viewOf(state, group).tasks,
    ...(refused === undefined ? {} : { refused }),
    left: Budget.left(state.ledger, ["run"])
  }
  return { consult, subject, effect: askCoordinator(coordinator, question, office.context) }
}

const plannedOf = (task: TaskState): PlannedTask => {
  const { acceptMissing, amendment, capability, id, needs, template, worker } = task
  return {
    id,
    needs,
    acceptMissing,
    ...(worker === undefined ? {} : { worker }),
    ...(capability === undefined ? {} : { capability }),
    ...(template === undefined ? {} : { template }),
    ...(amendment === undefined ? {} : { amendment })
  }
}
