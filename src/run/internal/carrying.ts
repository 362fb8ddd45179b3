/**
 * Turns a decision into the events that say it, and notes what has to begin once they are written.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Allowance from "../Allowance.ts"
import * as Budget from "../Budget.ts"
import type * as Decider from "../Decider.ts"
import type { PlannedTask } from "../RunEvent.ts"
import type { GrantState, ReviewState, RunState, TaskState } from "../RunState.ts"
import type { Order } from "../Worker.ts"
import { whole } from "./answering.ts"
import { accountsOf } from "./applying/draft.ts"
import { nextTimer } from "./applying/timers.ts"
import { asking } from "./asking.ts"
import { failure } from "./attempt.ts"
import type { Beginning, Hands } from "./hands.ts"
import { jsonBytes } from "./jsonBytes.ts"
import { judgeOf } from "./judging.ts"
import { isLimitless } from "./limitless.ts"
import { mergeGroup, mergeOf, type Whole } from "./merging.ts"
import { contractOf, type Made, templateOf } from "./orders.ts"
import { Paying } from "./paying.ts"
import { instant } from "./problems.ts"
import { approvedBy, ask, orderOf, propose, refuse } from "./proposing.ts"
import { Pulse } from "./pulse.ts"
import { digestOf, recorded } from "./reusing.ts"
import { showing } from "./showing.ts"

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
    case "Unpark": {
      const { dispatch, note, task, worker } = action
      take({ _tag: "Unparked", at, task, dispatch, worker, note })
      return hands.again(task)
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
      const own = hands.state().groups.get(group)?.review
      withdraw(hands, ({ review }) => review === own, at, "its group is being stopped")
      return take({ _tag: "GroupStopping", at, group, reason, recall, note })
    }
    case "Merge":
      return merge(hands, action, at)
    case "Consult":
      return consult(hands, action, at)
    case "Review":
      if (action.kind === "action-approval") return propose(hands, action, at)
      if (action.reason === "unknown-effect") quarantine(hands, action, at)
      return ask(hands, showing(hands, action), at)
    case "SetTimer": {
      const { millis, purpose, task } = action
      const due = at + millis
      const note = `${task} waits until ${instant(due) ?? due}: what it needs has ended`
      return take({ _tag: "TimerSet", at, timer: nextTimer(hands.state()), subject: task, purpose, due, note })
    }
    case "EndTask": {
      const { dispatch, missing, note, status, task } = action
      withdraw(hands, ({ task: of }) => of === task, at, `${task} has ended without it`)
      lapse(hands, (grant) => grant.task === task && grant.dispatch !== undefined, at, `${task} has ended`)
      const behind = dispatch === undefined ? {} : { dispatch }
      return take({ _tag: "TaskEnded", at, task, status, ...behind, missing, note })
    }
    case "Finish": {
      const { degraded, note, status, stopReason } = action
      withdraw(hands, () => true, at, "the run is over")
      return take({ _tag: "RunFinished", at, status, stopReason, degraded, note })
    }
  }
}

/** Takes questions back whose answers nobody needs any more. */
export const withdraw = (
  { state, take }: Pick<Hands, "state" | "take">,
  which: (review: ReviewState) => boolean,
  at: number,
  why: string
): void => {
  for (const review of [...state().reviews.values()].filter(which)) {
    take({ _tag: "ReviewWithdrawn", at, review: review.review, note: `${review.review} is withdrawn: ${why}` })
  }
}

/** What was approved and is not done any more is told. */
export const lapse = (
  { state, take }: Pick<Hands, "state" | "take">,
  which: (grant: GrantState) => boolean,
  at: number,
  why: string
): void => {
  for (const [review, grant] of [...state().grants].filter(([, grant]) => which(grant))) {
    const note = `What was approved in ${review} was not done: ${why}`
    take({ _tag: "GrantStalled", at, review, task: grant.task, what: "lapsed", due: at, note })
  }
}

/** Writes down that an effect is left to a person, where that is not written yet. */
const quarantine = ({ state, take }: Hands, { facts, task = "" }: Decider.Review, at: number): void => {
  const { effect: id } = facts
  const effect = typeof id === "string" ? state().effects.get(id) : undefined
  if (typeof id !== "string" || effect === undefined) return
  if (effect.status === "quarantined" && state().tasks.get(task)?.blocked === id) return
  const { happened, name } = effect
  const note = `${name} of ${effect.dispatch} is left to a person: it is not known what came of it`
  take({ _tag: "EffectQuarantined", at, task, effect: id, happened, note })
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
  const granted = approvedBy(before, worker, made.success)
  if (approval !== undefined && granted === undefined) return propose(hands, approval, at, made.success)
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
  const digest = digestOf(state, task, worker, contract, office.twins)
  const same = recorded(state, task, digest, templateOf(sources, task).fresh === true)
  if (same !== undefined) {
    office.health.report(worker, at, "interrupted", next)
    const said = `${id} is the same order as ${same.task}, whose outcome stands`
    return take({ _tag: "Reused", at, task: id, worker, of: same.task, version: same.version, note: said })
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
    inputBytes: jsonBytes(contract.inputs),
    ...(digest === undefined ? {} : { digest }),
    ...(Object.keys(amount).length === 0 ? {} : { reserved: amount }),
    ...(Object.keys(limits).length === 0 || task.dispatches > 0 ? {} : { limits }),
    ...(deadlineAt === undefined ? {} : { deadlineAt }),
    ...(granted?.review === undefined ? {} : { grant: granted.review }),
    note: `${dispatch} is given to ${worker}`
  })
  hands.begin(beginning(hands, id, worker, made.success, digest !== undefined))
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
  const outside = hands.outside.session(order.task, order.dispatch, worker)
  order.spend = new Paying(allowance, outside.paid).spend
  order.notice = outside.notice
  order.effects = outside.service
  order.people = { run: order.run, task: order.task, ask: (asked) => outside.questions.ask(asked) }
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
      outside,
      deadlineAt: earliest(task?.deadlineAt, state.deadlineAt),
      retryAt: task?.dispatch?.retryAt
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

const consult = (hands: Hands, action: Extract<Decider.Action, { readonly _tag: "Consult" }>, at: number): void => {
  const { note, purpose, subject } = action
  const consult = `${hands.state().run}/consult/${hands.state().consulted + 1}`
  hands.take({ _tag: "Consulted", at, consult, subject, purpose, note })
  hands.ask(asking(hands, subject, purpose, consult))
}
