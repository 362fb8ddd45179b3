/**
 * What is to be done with one task that waits for a decision.
 *
 * @since 0.1.0
 */
import * as Autonomy from "../../Autonomy.ts"
import * as Budget from "../../Budget.ts"
import * as Confidence from "../../Confidence.ts"
import type { Action, Review, Spec, TaskFacts, WorkerFacts } from "../../Decider.ts"
import * as Recovery from "../../Recovery.ts"
import type { Decision, ReviewKind, ReviewReason, TaskEnd } from "../../RunEvent.ts"
import type { Answer, GroupState, RunState, TaskState, Try } from "../../RunState.ts"
import { accountsOf, isAsked, isUnmade, usable } from "../applying/draft.ts"
import { inWords, shortOf } from "../applying/raising.ts"
import { overdue, shorten } from "../problems.ts"
import { basis } from "./basis.ts"
import { beforeTheEnd, hold } from "./effects.ts"
import { canAgain, choose, declared, Room, standIns, unaffordable } from "./routing.ts"

const noFacts: TaskFacts = {
  escalate: false,
  can: new Set(),
  reduceScope: false,
  permissions: [],
  optional: []
}

/** What is declared of a task. What was made in the run has only what it inherits. */
const factsOf = (spec: Spec, task: TaskState): TaskFacts => declared(spec, task) ?? noFacts

/** The group that stops a task: its own, or one that it is in. */
export const stopped = (state: RunState, task: TaskState): GroupState["stopping"] => {
  for (let id = task.parent; ; id = state.tasks.get(id)?.parent ?? "") {
    const group = state.groups.get(id)
    if (group?.stopping !== undefined) return group.stopping
    if (id === "") return undefined
  }
}

/** The decision, or nothing while the task has to wait for a slot. */
export const settle = (state: RunState, spec: Spec, task: TaskState, room: Room): Action | undefined =>
  beforeTheEnd(
    state,
    task,
    next(state, spec, task, room),
    () => stopped(state, task) !== undefined || isSilence(task.answers.at(-1)?.instead)
  )

/** Whether nobody has decided, so that nobody is asked the same once more. */
const isSilence = (instead: Answer["instead"]): boolean => instead !== undefined && instead !== "approve"

const next = (state: RunState, spec: Spec, task: TaskState, room: Room): Action | undefined => {
  const { dispatch } = task
  if (dispatch !== undefined) {
    if (!task.expired || dispatch.recalled !== undefined) return undefined
    const note = `${dispatch.id} is called back: ${overdue(task.id, task.deadlineAt)}`
    return { _tag: "Recall", task: task.id, dispatch: dispatch.id, reason: "deadline", note }
  }
  const stopping = stopped(state, task)
  const last = task.tries.at(-1)
  const delivered = last !== undefined && last.kind === undefined ? last : undefined
  if (stopping !== undefined) return windUp(state, spec, task, delivered, stopping)
  if (task.parked !== undefined) return unpark(state, spec, task, room)
  const action = heed(state, spec, task)
  if (action !== undefined) return action
  return behindGate(state, spec, task, onItsOwn(state, spec, task, room))
}

/** What is to be done where no person has said it. */
const onItsOwn = (state: RunState, spec: Spec, task: TaskState, room: Room): Action | undefined => {
  const last = task.tries.at(-1)
  const question = last?.question
  const delivered = last !== undefined && last.kind === undefined ? last : undefined
  const awaited = hold(state, task, room)
  if (awaited !== undefined) return awaited === "wait" ? undefined : awaited
  // What came late still counts, but nothing is begun anew.
  if (task.expired && (delivered === undefined || task.tries.length === task.ladder)) {
    return incomplete(spec, task, overdue(task.id, task.deadlineAt), last ?? "exhausted")
  }
  if (task.lost.length > 0 && !task.acceptMissing && task.tries.length === 0) return block(task)
  const { afterMillis, consult } = task
  if (task.status === "queued") {
    const waits = afterMillis !== undefined && task.unmet === 0 && task.timer === undefined
    return waits ? { _tag: "SetTimer", task: task.id, purpose: "after", millis: afterMillis } : undefined
  }
  if (consult?.status === "answered") {
    const kind = consult.purpose
    const note = `${task.id} is carried out by tasks of its own (${kind})`
    return { _tag: "OpenGroup", task: task.id, kind, answer: consult.answer ?? null, note }
  }
  if (task.tries.length === task.ladder) {
    if (task.group === undefined) return first(state, spec, task, room)
    return {
      _tag: "OpenGroup",
      task: task.id,
      kind: task.group,
      note: `${task.id} is carried out by a ${task.group}`
    }
  }
  if (last !== undefined && question !== undefined) return ask(task, last, question)
  if (delivered !== undefined) return deliver(state, spec, task, delivered, room)
  if (last?.kind === undefined) return undefined
  // Who was to look at it once more has failed: what was delivered before still stands.
  const unchecked = task.tries
    .slice(task.ladder)
    .findLast(({ kind, outcome }) => kind === undefined && outcome === "accepted")
  if (unchecked !== undefined) return weigh(state, spec, task, unchecked, room)
  return recover(state, spec, task, last, last.kind, room)
}

/** An order with an answer to what its work has asked begins anew, once there is a free slot; or its task ends for want of one. */
const unpark = (state: RunState, spec: Spec, task: TaskState, room: Room): Action | undefined => {
  const { parked } = task
  if (parked === undefined) return undefined
  for (const { review, task: of } of state.asks.values()) {
    const closed = of === task.id ? state.closed.get(review) : undefined
    if (closed?.action !== "halt") continue
    const why = `nobody has decided ${review} in time, and ${task.id} does not go on without`
    return endTask(task, "failed", [{ part: task.id, reason: why }], capital(why))
  }
  if (task.expired) {
    const why = overdue(task.id, task.deadlineAt)
    return endTask(task, "failed", [{ part: task.id, reason: why }], why)
  }
  const worker = spec.workers.get(parked.worker)
  if (worker === undefined || room.free <= 0 || room.at(worker) <= 0) return undefined
  room.take(state, task, worker)
  const note = `${parked.id} begins anew at ${parked.worker}: there is an answer to what it has asked`
  return { _tag: "Unpark", task: task.id, dispatch: parked.id, worker: parked.worker, note }
}

/** The end of a task whose group takes no new orders. */
const windUp = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  delivered: Try | undefined,
  stopping: NonNullable<GroupState["stopping"]>
): Action | undefined => {
  if (state.groups.has(task.id)) return undefined
  // What is finished is kept before anything is cancelled, also when somebody was to look at it once more.
  const kept = delivered ?? task.tries.slice(task.ladder).findLast(({ version }) => version === task.result)
  const word = heed(state, spec, task)
  if (word?._tag === "EndTask") return word
  const undecided = kept !== undefined && isUndecided(state, spec, task, kept)
  if (kept !== undefined && !undecided) return keep(task, kept)
  // Of what is not needed nothing is missing.
  if (stopping.reason === "accepted") return endTask(task, "skipped", [], `${task.id} is not needed: ${stopping.note}`)
  const status = stopping.recall ? "cancelled" : "skipped"
  const why = undecided ? `${stopping.note}, before a person has let stand what there is` : stopping.note
  return endTask(task, status, [{ part: task.id, reason: why }], `${task.id} is not done: ${why}`)
}

/** What a person has said since the last try, if that decides anything by itself. */
const heed = (state: RunState, spec: Spec, task: TaskState): Action | undefined => {
  const said = task.answers.at(-1)
  const isNew = said !== undefined && said.tries === task.tries.length && task.consult === undefined
  return isNew ? obey(state, spec, task, said) : undefined
}

/** Whether a person has to let the result of a task stand; of one that is done once more in its own place, the outer one's. */
const isGated = (state: RunState, spec: Spec, task: TaskState): boolean => {
  if (factsOf(spec, task).gated !== true) return false
  const around = state.tasks.get(task.parent)
  return around === undefined || (around.template ?? around.id) !== (task.template ?? task.id)
}

/** A result that would stand, or the question whether it does. */
const behindGate = (state: RunState, spec: Spec, task: TaskState, action: Action | undefined): Action | undefined => {
  if (action?._tag !== "EndTask" || !usable(action.status) || !isGated(state, spec, task)) return action
  const behind = standing(task, action)
  if (behind === undefined) return action
  const whole = action.status === "accepted"
  const lets = whole ? "approve" : "accept-partial"
  // What nobody has time for any more cannot be tried anew.
  const allowed: ReadonlyArray<Decision> = task.expired ? [lets, "reject"] : [lets, "reject", "retry"]
  const lacking = whole ? "" : `, without ${lacks(action)}`
  const note = `${task.id} is there from ${behind.worker}${lacking}; it stands once a person says so`
  const { confidence, dispatch, worker } = behind
  const from = dispatch === undefined ? {} : { dispatch }
  return review(task, "result-acceptance", "gate", allowed, note, { worker, confidence, ...from })
}

/** The try behind the end of a task. */
const standing = (
  { result, tries }: TaskState,
  { dispatch }: Extract<Action, { readonly _tag: "EndTask" }>
): Try | undefined =>
  tries.findLast((each) => (dispatch === undefined ? each.version === result : each.dispatch === dispatch))

/** What people are asked about that is there already. */
const aboutResults: ReadonlySet<string> = new Set(["result-acceptance", "escalation", "question", "scope-reduction"])

/** Whether a result stands only if a person says so, and nobody has. */
const isUndecided = (state: RunState, spec: Spec, task: TaskState, kept: Try): boolean => {
  const review = task.review === undefined ? undefined : state.reviews.get(task.review)
  if (review !== undefined) return aboutResults.has(review.kind)
  if (kept.kind !== undefined) return false
  const action = deliver(state, spec, task, kept, new Room(state, spec))
  return behindGate(state, spec, task, action)?._tag === "Review"
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

const list = (names: ReadonlyArray<string>): string => names.join(", ")

const endTask = (
  task: TaskState,
  status: TaskEnd,
  missing: Extract<Action, { readonly _tag: "EndTask" }>["missing"],
  note: string,
  dispatch?: string | undefined
): Action => ({ _tag: "EndTask", task: task.id, status, dispatch, missing, note })

const block = (task: TaskState): Action =>
  endTask(
    task,
    "blocked",
    task.lost.map((lost) => ({ part: lost, reason: `The task ${lost} gave no result` })),
    `Blocked: ${list(task.lost)} gave no result, and ${task.id} does not run without`
  )

const review = (
  task: TaskState,
  kind: ReviewKind,
  reason: ReviewReason,
  allowed: ReadonlyArray<Decision>,
  note: string,
  facts: Review["facts"] = {}
): Review => ({
  _tag: "Review",
  task: task.id,
  kind,
  reason,
  allowed,
  facts: { task: task.id, tries: task.tries.length, ...facts },
  note
})

/** The first dispatch of a task, or the first one of a new ladder. */
const first = (state: RunState, spec: Spec, task: TaskState, room: Room): Action | undefined => {
  const route = choose(state, spec, task, room)
  switch (route._tag) {
    case "Wait":
      return undefined
    case "Nobody": {
      const rungs = Recovery.next([{ worker: task.worker ?? "", kind: "capability" }], {
        others: [],
        same: false,
        can: left(state, spec, task),
        policy: spec.policy
      })
      if (rungs._tag === "Expand") return expand(task, rungs.purpose, route.why)
      return incomplete(spec, task, route.why)
    }
    case "To":
      return give(state, spec, task, route.worker, route.names, route.why, room)
  }
}

/** Gives the task to a worker, if its budget, its autonomy and the slots allow it. */
const give = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  name: string,
  names: ReadonlyArray<string>,
  why: string,
  room: Room
): Action | undefined => {
  const worker = spec.workers.get(name)
  if (worker === undefined || room.free <= 0 || room.at(worker) <= 0) return undefined
  const gate = gated(state, spec, task, worker, why)
  const approval = gate?._tag === "Review" && isApproved(task, name) ? gate : undefined
  const over = unaffordable(state, task, worker, room)
  // What is under way may use less than was set aside for it.
  const waits = over !== undefined && !over.closed && over.reserved > 0 && over.settled + over.asked <= over.limit
  // Nobody is asked about what there is no budget for.
  if (gate !== undefined && approval === undefined && (over === undefined || waits)) return gate
  if (over !== undefined) {
    const { account, asked, limit, measure } = over
    if (waits) return undefined
    const note = `${task.id} is not given to ${name}: ${over.message}`
    return { _tag: "RefuseBudget", task: task.id, worker: name, account, measure, limit, asked, note }
  }
  room.take(state, task, worker)
  const asked = approval === undefined ? {} : { approval }
  return { _tag: "Dispatch", task: task.id, worker: name, candidates: names, ...asked, note: why }
}

/** Whether a person let a worker have some order of a task. Which one it was is looked at when there is one to give. */
const isApproved = ({ approved }: TaskState, name: string): boolean => approved.some(({ worker }) => worker === name)

/** Whom people have let have some order of a task, also where that is used up by now. */
const approvedFor = ({ answers, approved, tries }: TaskState): ReadonlySet<string> => {
  const found = new Set(approved.map(({ worker }) => worker))
  for (const { decision, kind, tries: before } of answers) {
    const used = kind === "action-approval" && decision === "approve" ? tries[before] : undefined
    if (used?.dispatch !== undefined) found.add(used.worker)
  }
  return found
}

/** What stands between a task and a worker whose action needs somebody's word. */
const gated = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  worker: WorkerFacts,
  why: string
): Review | Extract<Action, { readonly _tag: "Confirm" }> | undefined => {
  const { irreversible, name, risk } = worker
  const { confidence, of } = basis(state, task)
  const lowConfidence = confidence < spec.policy.confidence
  const decision = Autonomy.decide(state.tier, { risk, irreversible, lowConfidence })
  if (decision._tag === "Run") return undefined
  if (decision._tag === "Confirm") {
    const known = task.confirmed.findLast((each) => each.worker === name)
    if (known?.allowed === true) return undefined
    if (known === undefined && !isApproved(task, name)) {
      const { estimate } = worker
      const verdict = Autonomy.confirm(
        {
          task: task.id,
          worker: name,
          risk,
          tier: state.tier,
          confidence,
          costEstimate: estimate.cost,
          budgetLeft: Budget.left(state.ledger, accountsOf(state, task, name)).cost,
          attempts: task.tries.filter((each) => each.worker === name).length
        },
        spec.confirm
      )
      const note = `${verdict.allowed ? "Confirmed" : "Not confirmed"}: ${task.id} at ${name}: ${verdict.reason}`
      return { _tag: "Confirm", task: task.id, worker: name, allowed: verdict.allowed, note }
    }
  }
  const requester = decision._tag === "Person" ? decision.requester : "allowed"
  const batchable = decision._tag === "Person" && decision.batchable
  const because = [`risk ${risk}`, `autonomy ${state.tier}`]
  if (irreversible) because.push("it cannot be undone")
  if (lowConfidence) because.push(`it builds on ${of}, whose confidence is only ${confidence}`)
  const others = [...approvedFor(task)].filter((each) => each !== name)
  if (others.length > 0) because.push(`what was approved was for ${list(others)}`)
  const asked = `${name} may do ${task.id} only with a person's approval (${because.join(", ")}); ${why}`
  const facts = { worker: name, risk, irreversible, tier: state.tier, confidence, requester, batchable }
  return review(task, "action-approval", "autonomy", ["approve", "reject"], asked, facts)
}

/** The expansions that a task has left. One that is done once more has none of those that led to it. */
const left = (state: RunState, spec: Spec, task: TaskState): ReadonlySet<Recovery.Expansion> => {
  const { can } = factsOf(spec, task)
  if (can.size === 0) return can
  const key = task.template ?? task.id
  const had = new Set<string>()
  for (let each: TaskState | undefined = task; each !== undefined; each = state.tasks.get(each.parent)) {
    if ((each.template ?? each.id) !== key) break
    for (const purpose of each.expansions) had.add(purpose)
  }
  // Only evidence that did not hold is followed up; a slip of form is corrected.
  if (task.tries.at(-1)?.outcome !== "rejected-quality") had.add("follow-up")
  return had.size === 0 ? can : new Set([...can].filter((each) => !had.has(each)))
}

const expand = (task: TaskState, purpose: Recovery.Expansion, why: string): Action => ({
  _tag: "Consult",
  subject: task.id,
  purpose,
  note: `${why}; ${task.id} is to be carried out by tasks of its own (${purpose})`
})

/** Keeps what was delivered, as it is. */
const keep = (task: TaskState, last: Try): Action =>
  endTask(
    task,
    last.outcome === "accepted" ? "accepted" : "partial",
    last.missing,
    `${task.id} is ${last.outcome === "accepted" ? "accepted" : "partial"} from ${last.worker}`,
    last.dispatch
  )

/** Does what a person said, or nothing where the task simply goes on. */
const obey = (state: RunState, spec: Spec, task: TaskState, said: Answer): Action | undefined => {
  const { by, decision, instead, kind, note, reason, review: id } = said
  const behind = task.tries.findLast(({ version }) => version === task.result)
  const decided = instead === undefined ? `${by} decided ${id} (${decision}): ${note}` : note
  if (instead === "withdrawn") return endTask(task, "cancelled", [{ part: task.id, reason: decided }], decided)
  if (instead === "halt") return endTask(task, "failed", [{ part: task.id, reason: decided }], decided)
  if (reason === "gate" && (decision === "approve" || decision === "accept-partial")) {
    // What was asked about is what would have stood without a gate.
    const asked = onItsOwn(state, spec, task, new Room(state, spec))
    if (asked?._tag === "EndTask" && usable(asked.status)) return { ...asked, note: decided }
  }
  switch (decision) {
    case "reject": {
      if (kind === "budget-increase" || kind === "scope-reduction") {
        return behindGate(state, spec, task, closed(task, decided))
      }
      // Nobody has rejected what nobody has decided.
      if (instead !== undefined) return endTask(task, "failed", [{ part: task.id, reason: decided }], decided)
      return endTask(task, "rejected", [{ part: task.id, reason: decided }], decided)
    }
    case "approve": {
      if (kind === "action-approval" || kind === "budget-increase" || kind === "scope-reduction") return undefined
      if (behind === undefined) return closed(task, decided)
      if (kind === "result-acceptance") return endTask(task, "accepted", behind.missing, decided, behind.dispatch)
      return closed(task, decided)
    }
    case "accept-partial":
      return closed(task, decided)
    case "edit":
    case "retry":
    case "answer":
      return undefined
  }
}

/** Ends a task with what there is. */
const closed = (task: TaskState, why: string): Action => {
  const behind = task.tries.findLast(({ version }) => version === task.result)
  if (behind === undefined) return endTask(task, "failed", [{ part: task.id, reason: why }], why)
  const missing = behind.missing.length > 0 ? behind.missing : [{ part: task.id, reason: why }]
  const status = behind.outcome === "accepted" && behind.missing.length === 0 ? "accepted" : "partial"
  return endTask(task, status, status === "accepted" ? [] : missing, why, behind.dispatch)
}

const accepting = ["approve", "reject", "retry"] as const

/** Passes a worker's question on. It may have delivered something beside it, or nothing at all. */
const ask = (task: TaskState, { confidence, worker }: Try, question: string): Action => {
  const asked = `${worker} needs an answer for ${task.id}: ${question}`
  return review(task, "question", "ambiguity", ["answer", "accept-partial", "reject"], asked, {
    worker,
    confidence,
    question
  })
}

const deliver = (state: RunState, spec: Spec, task: TaskState, last: Try, room: Room): Action | undefined => {
  const seen = { worker: last.worker, confidence: last.confidence }
  if (last.severity === "high") {
    const asked = `${last.worker} has a finding of high severity in ${task.id}`
    return review(task, "result-acceptance", "finding", accepting, asked, seen)
  }
  if (last.status === "needs-review") {
    const asked = `${last.worker} wants a person to look at ${task.id}: ${lacks(last)}`
    return review(task, "result-acceptance", "needs-review", accepting, asked, seen)
  }
  if (last.outcome !== "accepted") {
    if (factsOf(spec, task).escalate) {
      const asked = `${last.worker} left out ${lacks(last)}, and a partial result of ${task.id} would do harm`
      return review(task, "escalation", "incomplete", ["accept-partial", "retry", "reject"], asked, seen)
    }
    return endTask(
      task,
      "partial",
      last.missing,
      `${task.id} is partial from ${last.worker}: it lacks ${lacks(last)}`,
      last.dispatch
    )
  }
  return weigh(state, spec, task, last, room)
}

const lacks = ({ missing }: Pick<Try, "missing">): string =>
  shorten(missing.map(({ part, reason }) => `${part} (${reason})`).join("; "), 500)

/** What is done about the confidence of a result that is otherwise accepted. */
const weigh = (state: RunState, spec: Spec, task: TaskState, last: Try, room: Room): Action | undefined => {
  const threshold = spec.workers.get(last.worker)?.confidence ?? spec.policy.confidence
  const { lowConfidence: low, reviewConfidence } = spec.policy
  const plain = `${task.id} is accepted from ${last.worker}`
  const earlier = task.tries.length - task.ladder > 1
  if (last.confidence >= threshold && !(earlier && low === "cross-check")) {
    return endTask(task, "accepted", last.missing, plain, last.dispatch)
  }
  const standing = task.tries
    .slice(task.ladder)
    .filter((each) => each.kind === undefined && each.outcome === "accepted")
  const [head = last, ...tail] = standing.map((each) => ({
    worker: each.worker,
    confidence: each.confidence,
    digest: each.digest ?? `${each.version}`
  })) as ReadonlyArray<Confidence.Delivered>
  const known = spec.workers.has(last.worker)
  const failed = task.tries.at(-1)?.kind !== undefined
  const barred =
    task.expired || (low === "retry" && failed) || (low === "retry" && !canAgain(state, spec, task, room, last.worker))
  const unsure = barred && reviewConfidence ? "review" : barred ? "note" : low
  const step = Confidence.next([head as Confidence.Delivered, ...tail], {
    others: known
      ? standIns(state, spec, task, room, last.worker).others.filter((name) =>
          task.tries.slice(task.ladder).every(({ worker }) => worker !== name)
        )
      : [],
    policy: { threshold, low: known ? unsure : "note", review: reviewConfidence }
  })
  switch (step._tag) {
    case "Accept": {
      const chosen = standing[step.index] ?? last
      const note = step.note === "" ? plain : `${plain.replace(last.worker, chosen.worker)}: ${step.note}`
      return endTask(task, "accepted", chosen.missing, note, chosen.dispatch)
    }
    case "Retry":
    case "CrossCheck": {
      const names = [step.worker]
      return give(state, spec, task, step.worker, names, `${task.id} goes to ${step.worker} again: ${step.note}`, room)
    }
    case "Review":
      return review(task, "result-acceptance", step.reason, accepting, `${task.id}: ${step.note}`, {
        worker: last.worker,
        confidence: last.confidence
      })
  }
}

/** Nothing is in the way of an order any more that a budget had no room for: the task goes on where it was. */
const onward = (state: RunState, spec: Spec, task: TaskState, refused: Try, room: Room): Action | undefined => {
  const { worker } = refused
  if (canAgain(state, spec, task, room, worker)) {
    return give(state, spec, task, worker, [worker], `the budget has room for ${task.id} at ${worker} now`, room)
  }
  const before = task.tries.slice(task.ladder).findLast(({ account }) => account === undefined)
  if (before === undefined) return first(state, spec, task, room)
  return before.kind === undefined
    ? deliver(state, spec, task, before, room)
    : recover(state, spec, task, before, before.kind, room)
}

const recover = (
  state: RunState,
  spec: Spec,
  task: TaskState,
  last: Try,
  kind: NonNullable<Try["kind"]>,
  room: Room
): Action | undefined => {
  const unmade = isUnmade(last)
  const { reason: said = "no reason given" } = last
  // What a person has not let be done is not tried in another way, nor asked about once more.
  if (last.review !== undefined && kind === "denied") {
    const why = `${last.worker} could not go on: ${said}`
    const asked = state.closed.get(last.review)
    const status = asked?.as === "withdrawn" ? "cancelled" : asked?.as === "expired" ? "failed" : "rejected"
    return endTask(task, status, [{ part: task.id, reason: why }], why)
  }
  const failed = unmade ? said : `${last.worker} failed (${kind}: ${said})`
  if (last.account !== undefined && spec.policy.atCap === "review") {
    const worker = spec.workers.get(last.worker)
    // One question for each account: the others who need it wait for its answer.
    if (room.asked.has(last.account) || isAsked(state, last.account)) return undefined
    const over = worker === undefined ? undefined : unaffordable(state, task, worker, room)
    if (over?.account !== last.account) return onward(state, spec, task, last, room)
    if (state.unraised.includes(last.account)) return incomplete(spec, task, failed, last)
    room.asked.add(last.account)
    const { account, asked, closed, limit, measure, reserved, settled } = over
    const { estimate = {} } = worker ?? {}
    const needed = shortOf(room.ledger.accounts.get(account), estimate)
    const how =
      Object.keys(needed).length === 0
        ? `approve with a raise of {}, which opens ${account} again, or more`
        : `approve with a raise of at least ${inWords(needed)}`
    const note = `${said}; more may be spent only if a person says so: ${how}, or reject`
    const facts = { account, measure, limit, settled, reserved, asked, closed, estimate: { ...estimate }, needed }
    return review(task, "budget-increase", "budget", ["approve", "reject"], note, facts)
  }
  const history: Array<Recovery.Failed> = []
  for (const { corrected, kind, worker } of task.tries.slice(task.ladder)) {
    if (kind !== undefined) history.push({ worker, kind, ...(corrected === undefined ? {} : { corrected }) })
  }
  const { larger, others } = standIns(state, spec, task, room, last.worker)
  const step = Recovery.next(history, {
    others,
    larger,
    same: canAgain(state, spec, task, room, last.worker),
    can: left(state, spec, task),
    policy: spec.policy
  })
  switch (step._tag) {
    case "SameWorker": {
      const how =
        step.rung === "correct" ? "it is asked to correct its answer" : "it gets one more try, freshly started"
      return give(state, spec, task, step.worker, others, `${failed}; ${how}`, room)
    }
    case "OtherWorker":
      return give(state, spec, task, step.worker, others, `${failed}; ${step.worker} takes over`, room)
    case "Expand":
      return expand(task, step.purpose, failed)
    case "Review": {
      const asked = `${failed}; a person decides what becomes of ${task.id}`
      const reason = kind === "denied" ? "denied" : "incomplete"
      return review(task, "escalation", reason, ["retry", "accept-partial", "reject"], asked, { worker: last.worker })
    }
    case "Incomplete": {
      const why =
        step.because === "no-other-worker"
          ? unmade
            ? "nobody else can have it"
            : "no other worker is left"
          : `a failure of this kind is not retried`
      return incomplete(spec, task, `${failed}; ${why}`, last)
    }
  }
}

const ending = ["accept-partial", "reject"] as const

/** The end of every ladder: what there is, a person, or nothing. */
const incomplete = (spec: Spec, task: TaskState, why: string, last?: Try | "exhausted" | undefined): Action => {
  const facts = factsOf(spec, task)
  const rejected = typeof last === "object" && last.outcome === "rejected-quality"
  const asked = task.answers.some(({ kind }) => kind === "scope-reduction")
  if (rejected && facts.reduceScope && facts.optional.length > 0 && !asked) {
    const note = `${why}; ${list(facts.optional)} may be dropped from ${task.id} if a person says so`
    return review(task, "scope-reduction", "scope", ["approve", "reject"], note, { drop: facts.optional })
  }
  if (facts.escalate) {
    const note = `${task.id} has no complete result, and a partial one would do harm: ${why}`
    // What nobody has time for any more cannot be tried anew.
    const allowed: ReadonlyArray<Decision> = task.expired ? ending : ["retry", ...ending]
    return review(task, "escalation", "incomplete", allowed, note)
  }
  if (task.result !== undefined && !rejected) return closed(task, why)
  return endTask(task, "failed", [{ part: task.id, reason: why }], why)
}
