/**
 * What happens to an order: a worker is chosen, the order is given or refused, tried, called back, and reported.
 *
 * @since 0.1.0
 */
import * as Budget from "../../Budget.ts"
import * as Recovery from "../../Recovery.ts"
import type { Envelope } from "../../Result.ts"
import type { Of } from "../../RunEvent.ts"
import type { TaskState, Try } from "../../RunState.ts"
import { accountsOf, type Draft, hasOutput, perTry } from "./draft.ts"
import * as effects from "./effects.ts"
import { unspent } from "./spending.ts"
import { isFree } from "./tasks.ts"

export const routed = (draft: Draft, task: TaskState, event: Of<"Routed">): string | undefined => {
  if (!isFree(draft, task)) return `the task ${task.id} is ${task.status}`
  if (task.routed !== undefined) return `the task ${task.id} is routed to ${task.routed} already`
  draft.due.delete(task.id)
  draft.ready.delete(task.id)
  draft.tasks.set(task.id, { ...task, status: "ready", routed: event.worker })
  return undefined
}

const notRouted = (task: TaskState, worker: string): string | undefined =>
  task.routed === worker ? undefined : `the task ${task.id} is not routed to ${worker}`

export const confirmed = (draft: Draft, task: TaskState, event: Of<"Confirmed">): string | undefined => {
  // What an order is about to do is the matter of the order, and is decided on anew each time.
  if (event.dispatch !== undefined) {
    return task.dispatch?.id === event.dispatch ? undefined : `${event.dispatch} is not open`
  }
  if (!isFree(draft, task)) return `the task ${task.id} is ${task.status}`
  const { allowed, worker } = event
  draft.tasks.set(task.id, { ...task, confirmed: [...task.confirmed, { worker, allowed }] })
  return undefined
}

/** Adds a try and has the task looked at again. */
export const tried = (draft: Draft, task: TaskState, last: Try): TaskState => {
  let bytes = perTry + (last.reason?.length ?? 0) + (last.question?.length ?? 0)
  for (const { part, reason } of last.missing) bytes += part.length + reason.length
  draft.size += bytes
  draft.due.add(task.id)
  return { ...task, tries: [...task.tries, last] }
}

const missed = (draft: Draft, worker: string, fields: Pick<Try, "outcome" | "kind" | "reason">): Try => ({
  worker,
  ...fields,
  confidence: 0,
  missing: [],
  version: draft.version + 1
})

export const refused = (draft: Draft, task: TaskState, event: Of<"ContractRefused">): string | undefined => {
  const wrong = notRouted(task, event.worker)
  if (wrong !== undefined) return wrong
  const { routed: _, ...rest } = task
  const last = missed(draft, event.worker, { outcome: "rejected-contract", kind: "capability", reason: event.note })
  draft.tasks.set(task.id, tried(draft, rest, last))
  return undefined
}

export const unaffordable = (draft: Draft, task: TaskState, event: Of<"BudgetRefused">): string | undefined => {
  if (!isFree(draft, task) || task.routed !== undefined) return `the task ${task.id} is ${task.status}`
  const { account, note, worker } = event
  const last = missed(draft, worker, { outcome: "budget-exceeded", kind: "exhausted", reason: note })
  draft.ready.delete(task.id)
  if (account === "run") draft.spent = note
  draft.tasks.set(task.id, tried(draft, { ...task, status: "ready" }, { ...last, account }))
  return undefined
}

export const reused = (draft: Draft, task: TaskState, event: Of<"Reused">): string | undefined => {
  const wrong = notRouted(task, event.worker)
  if (wrong !== undefined) return wrong
  const other = draft.tasks.get(event.of)
  const first = other?.tries.find(({ version }) => version === event.version)
  if (first === undefined || first.kind !== undefined) return `${event.of} has no outcome at version ${event.version}`
  const { routed: _, ...rest } = task
  const { dispatch: _d, ...same } = first
  draft.tasks.set(task.id, { ...tried(draft, rest, same), result: event.version })
  return undefined
}

export const dispatched = (draft: Draft, task: TaskState, event: Of<"Dispatched">): string | undefined => {
  const { deadlineAt, digest, grant, limits, worker } = event
  const wrong = notRouted(task, worker)
  if (wrong !== undefined) return wrong
  const id = `${draft.run}/${task.id}/${task.dispatches + 1}`
  if (event.dispatch !== id) return `the next dispatch of ${task.id} is ${id}, not ${event.dispatch}`
  // An approval is used up by the order that it was for.
  const approval =
    grant === undefined ? undefined : task.approved.find((each) => each.review === grant && each.worker === worker)
  if (grant !== undefined && approval === undefined) return `${grant} lets no order of ${task.id} be given`
  const bound =
    grant === undefined || approval === undefined
      ? {}
      : { grant: { review: grant, ...(approval.digest === undefined ? {} : { digest: approval.digest }) } }
  if (limits !== undefined) Budget.allot(draft.ledger, `task:${task.id}`, limits)
  const accounts = accountsOf(draft, task, worker)
  const over = Budget.reserve(draft.ledger, { id, accounts, amount: event.reserved ?? {} })
  if (over !== undefined) return over.message
  const { blocked: _b, routed: _, ...rest } = task
  if (grant !== undefined) draft.grants.delete(grant)
  draft.running += 1
  if (!task.expired && (task.deadlineAt ?? deadlineAt) !== undefined) draft.timed.add(task.id)
  draft.load.set(worker, (draft.load.get(worker) ?? 0) + 1)
  draft.tasks.set(task.id, {
    ...rest,
    status: "running",
    ...(approval === undefined ? {} : { approved: task.approved.filter((each) => each !== approval) }),
    dispatch: { id, worker, at: event.at, ...(digest === undefined ? {} : { digest }), ...bound },
    ...(task.deadlineAt === undefined && deadlineAt !== undefined ? { deadlineAt } : {}),
    dispatches: task.dispatches + 1,
    attempts: 0
  })
  return undefined
}

const notOpen = (task: TaskState, id: string, worker: string): string | undefined =>
  task.dispatch?.id === id && task.dispatch.worker === worker ? undefined : `${id} at ${worker} is not open`

export const attempted = (draft: Draft, task: TaskState, event: Of<"AttemptFailed">): string | undefined => {
  const wrong = notOpen(task, event.dispatch, event.worker)
  if (wrong !== undefined) return wrong
  if (event.attempt !== task.attempts + 1) return `the attempt is ${task.attempts + 1}, not ${event.attempt}`
  const { dispatch } = task
  draft.tasks.set(task.id, {
    ...task,
    attempts: event.attempt,
    ...(dispatch === undefined ? {} : { dispatch: { ...dispatch, retryAt: event.at + event.waitMillis } })
  })
  return undefined
}

export const recalled = (draft: Draft, task: TaskState, event: Of<"Recalled">): string | undefined => {
  const { dispatch } = task
  if (dispatch?.id !== event.dispatch) return `${event.dispatch} is not open`
  if (dispatch.recalled !== undefined) return `${event.dispatch} is called back already`
  draft.due.delete(task.id)
  draft.tasks.set(task.id, { ...task, dispatch: { ...dispatch, recalled: event.reason } })
  return undefined
}

const rank = { low: 0, medium: 1, high: 2 } as const

/** What a result says, as far as decisions look at it. */
export const resultOf = (
  result: Envelope
): Pick<Try, "status" | "kind" | "reason" | "corrected" | "question" | "severity"> => {
  const { ambiguity, error, findings = [], status } = result
  let worst: (typeof findings)[number]["severity"] | undefined
  for (const { severity } of findings) if (worst === undefined || rank[severity] > rank[worst]) worst = severity
  return {
    status,
    ...(error === undefined ? {} : { kind: error.kind, reason: error.reason }),
    ...(error?.corrected === undefined ? {} : { corrected: error.corrected }),
    ...(ambiguity === undefined ? {} : { question: ambiguity }),
    ...(worst === undefined ? {} : { severity: worst })
  }
}

export const reported = (draft: Draft, task: TaskState, event: Of<"Reported">): string | undefined => {
  const { dependency, digest, dispatch: id, label, outcome, result, review, worker } = event
  const wrong = notOpen(task, id, worker)
  if (wrong !== undefined) return wrong
  const { dispatch, ...rest } = task
  const { confidence, error, missing, usage } = result
  const version = draft.version + 1
  draft.running -= 1
  const load = (draft.load.get(worker) ?? 1) - 1
  if (load > 0) draft.load.set(worker, load)
  else draft.load.delete(worker)
  effects.over(draft, id)
  const used = outcome === "cancelled" && Object.keys(usage).length === 0 ? undefined : unspent(usage, dispatch?.spent)
  draft.overruns = Budget.settle(draft.ledger, { id, used })
  if (error !== undefined && outcome !== "cancelled" && dependency === undefined && Recovery.blames(error.kind)) {
    draft.failures.set(worker, (draft.failures.get(worker) ?? 0) + 1)
  }
  if (dispatch?.digest !== undefined && outcome === "accepted" && hasOutput(result)) {
    draft.orders.set(dispatch.digest, { task: task.id, version })
  }
  draft.tasks.set(task.id, {
    ...tried(draft, rest, {
      dispatch: id,
      worker,
      outcome,
      ...resultOf(result),
      ...(label === undefined ? {} : { label }),
      ...(dispatch?.digest === undefined ? {} : { order: dispatch.digest }),
      ...(digest === undefined ? {} : { digest }),
      ...(dependency === undefined ? {} : { dependency }),
      ...(review === undefined ? {} : { review }),
      confidence,
      missing,
      version
    }),
    attempts: 0,
    ...(hasOutput(result) ? { result: version } : {})
  })
  return undefined
}
