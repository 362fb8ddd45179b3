/**
 * An order before it is given: whether it can be made, what a person sees of it, and whether it is the one approved.
 *
 * **Invariants**
 *
 * - A1. Nobody is asked about an order that cannot be made.
 * - A2. An approval holds for one worker, one digest and one order. Any other one is asked about anew.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import type * as Autonomy from "../Autonomy.ts"
import * as Budget from "../Budget.ts"
import * as Contract from "../Contract.ts"
import * as Decider from "../Decider.ts"
import type * as Desk from "../Desk.ts"
import * as Ladder from "../Ladder.ts"
import * as ReviewPolicy from "../ReviewPolicy.ts"
import type { Of } from "../RunEvent.ts"
import type { RunState, TaskState } from "../RunState.ts"
import { nextReview } from "./applying/reviews.ts"
import type { Hands } from "./hands.ts"
import { orderFor, type Made, type Sources } from "./orders.ts"
import { many } from "./problems.ts"
import { bytesOf } from "./showing.ts"

/** The next order of a task for a worker, or why there is none: it is checked as a whole before anybody hears of it. */
export const orderOf = (
  sources: Sources,
  seat: Desk.Seat,
  state: RunState,
  task: TaskState
): EffectResult.Result<Made, string> => {
  const made = orderFor(sources, seat, state, task, task.dispatches + 1)
  // The task's own limits count from its first order on.
  if (EffectResult.isFailure(made) || task.dispatches > 0) return made
  const { deadlineMillis: _, ...limits } = made.success.order.contract.limits
  if (Object.keys(limits).length === 0) return made
  const account = `task:${task.id}`
  const over = Budget.check(Budget.make({ [account]: limits }), [account], seat.worker.estimate)
  if (over === undefined) return made
  const { asked, limit, measure } = over
  const needs = `must be at least the ${asked} that ${seat.name} needs, got ${limit}`
  return EffectResult.fail(`CONTRACT_INVALID: limits.${measure} ${needs}`)
}

/** Writes down that there is no order for a worker. */
export const refuse = (
  { take }: Pick<Hands, "take">,
  {
    candidates,
    note,
    task,
    worker
  }: Pick<Decider.Action & { readonly _tag: "Dispatch" }, "candidates" | "note" | "task" | "worker">,
  why: string,
  at: number
): void => {
  take({ _tag: "Routed", at, task, worker, candidates, note })
  const said = `The order for ${worker} could not be made, and ${worker} was never called: ${why}`
  take({ _tag: "ContractRefused", at, task, worker, note: said })
}

/** By what a person let a worker have exactly this order. */
export const approvedBy = (
  { approved }: TaskState,
  worker: string,
  { order }: Made
): TaskState["approved"][number] | undefined => {
  const digest = Contract.digest(order.contract)
  return approved.find((each) => each.worker === worker && each.digest === digest) // A2
}

/** Asks a person, whatever it is about. */
export const ask = (
  { office, state, take }: Pick<Hands, "office" | "state" | "take">,
  review: Decider.Review,
  at: number
): void => {
  const { _tag: _, task, ...rest } = review
  const { digest } = review.facts
  const to = office.spec.workers.get(typeof review.facts["worker"] === "string" ? review.facts["worker"] : "")
  const opened: Of<"ReviewOpened"> = {
    _tag: "ReviewOpened",
    at,
    review: nextReview(state()),
    ...(task === undefined ? {} : { task }),
    ...rest,
    ...(typeof digest === "string" ? { digest } : {})
  }
  take(termed(office.desk.reviews, state(), opened, to))
}

/** A question with the rules by which it is decided, and what happens while nobody does. */
export const termed = (
  policy: ReviewPolicy.ReviewPolicy,
  { requester }: Pick<RunState, "requester">,
  opened: Of<"ReviewOpened">,
  worker: Pick<Decider.WorkerFacts, "irreversible" | "risk"> | undefined
): Of<"ReviewOpened"> => {
  const { irreversible = worker?.irreversible ?? false, risk = worker?.risk ?? "low" } = opened.facts
  const subject = { kind: opened.kind, risk: risk as Autonomy.Risk, irreversible: irreversible === true }
  return {
    ...opened,
    terms: ReviewPolicy.terms(policy, subject),
    steps: Ladder.arm(ReviewPolicy.ladder(policy, subject), opened.at),
    ...(requester === undefined ? {} : { requester })
  }
}

/** Asks a person to let a worker have an order, with what is ordered. `known`: the order, where it is made already. */
export const propose = (hands: Hands, review: Decider.Review, at: number, known?: Made | undefined): void => {
  const { facts, note, task: id = "" } = review
  const { office } = hands
  const state = hands.state()
  const task = state.tasks.get(id)
  const worker = typeof facts["worker"] === "string" ? facts["worker"] : ""
  const post = office.staff.posts.get(worker)
  if (post === undefined || task === undefined) return ask(hands, review, at)
  const made = known === undefined ? orderOf(hands.sources(), post.seat, state, task) : EffectResult.succeed(known)
  if (EffectResult.isFailure(made)) {
    const candidates = Decider.candidates(task, office.spec)
    return refuse(hands, { task: id, worker, candidates, note: `${id} is to go to ${worker}` }, made.failure, at) // A1
  }
  const { contract } = made.success.order
  const digest = Contract.digest(contract)
  const { description, estimate } = post.seat.worker
  const { hidden, order } = sight(contract)
  const shown = { ...facts, digest, description, estimate: { ...estimate }, order }
  ask(hands, { ...review, facts: shown, note: note + anew(task, worker) + unseen(hidden) }, at)
}

/** Why the order is asked about although the worker was approved for the task. */
const anew = ({ approved }: TaskState, worker: string): string => {
  const last = approved.findLast((each) => each.worker === worker)
  if (last === undefined) return ""
  const { digest, review: before = "an earlier approval" } = last
  return digest === undefined
    ? `; asked anew, as ${before} does not say which order it let ${worker} have`
    : `; asked anew, as ${before} let ${worker} have another order than this one`
}

/** Bytes of JSON that one input, and all of them together, may take in a question. */
const small = { each: 32 * 1024, all: 128 * 1024 }

/** A contract as a person sees it: of inputs that are not small only the bytes of their JSON. `hidden`: how many. */
const sight = (agreed: Contract.Contract): { readonly order: Schema.Json; readonly hidden: number } => {
  const { inputs, task: _, ...contract } = agreed
  const shown: Array<readonly [string, Schema.Json]> = []
  const large: Array<readonly [string, number]> = []
  let left = small.all
  for (const [name, value] of Object.entries(inputs)) {
    const bytes = bytesOf(value)
    if (bytes > Math.min(small.each, left)) large.push([name, bytes])
    else {
      left -= bytes
      shown.push([name, value])
    }
  }
  const order = {
    // A contract is plain JSON by its schema; the type only does not say so.
    ...(contract as unknown as { readonly [field: string]: Schema.Json }),
    inputs: Object.fromEntries(shown),
    ...(large.length === 0 ? {} : { largeInputs: Object.fromEntries(large) })
  }
  return { order, hidden: large.length }
}

/** Says that there is more to the order than is shown. */
const unseen = (hidden: number): string =>
  hidden === 0
    ? ""
    : `; too large to be shown: ${many(hidden, "input")} of the order, only the bytes stand in largeInputs`
