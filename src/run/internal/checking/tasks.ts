/**
 * What can be wrong with one declared task: its contract, who does it, what it may touch, and what it may spend.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Contract from "../../Contract.ts"
import * as ContractPolicy from "../../ContractPolicy.ts"
import { planned, type Task } from "../../Coordinator.ts"
import type * as Decider from "../../Decider.ts"
import type { Desk, Seat } from "../../Desk.ts"
import * as Plan from "../../Plan.ts"
import { knownAs } from "../closest.ts"
import { candidates } from "../deciding/routing.ts"
import { acceptances, millisOf } from "../declared.ts"
import { quoted } from "../given.ts"
import { sentence, show } from "../problems.ts"
import type { Findings, Rule } from "./findings.ts"
import { type Group, pathIn } from "./groups.ts"
import { above } from "./limits.ts"

/** The workers of a desk, as tasks look for them. */
export interface Staff {
  readonly seats: ReadonlyMap<string, Seat>
  readonly capabilities: ReadonlySet<string>
  readonly spec: Decider.Spec
}

/** Adds what is wrong with a task of a group. */
export const checkTask = (
  desk: Desk,
  staff: Staff,
  group: Group,
  task: Task<never, unknown>,
  findings: Findings
): void => {
  const path = pathIn(group, task.id)
  const error = (rule: Rule, message: string) => findings.error(rule, path, `task ${path}: ${message}`)
  if (task.after !== undefined) checkWait(desk, group, path, task.after, findings)
  const { acceptance } = task
  if (acceptance !== undefined && !acceptances.includes(acceptance)) {
    error("out-of-range", `acceptance must be one of ${quoted(acceptances)}, got ${show(acceptance)}`)
  }
  const contract = Plan.contract(task, {})
  if (EffectResult.isFailure(contract)) {
    for (const problem of contract.failure.problems) {
      error("invalid-contract", `CONTRACT_INVALID: ${sentence(problem, "the contract")}`)
    }
  } else {
    if (desk.contracts !== undefined) checkPolicy(contract.success, desk.contracts, task.by === undefined, error)
    checkLimits(desk, group, contract.success, error)
  }
  checkAssignment(staff, task, error, findings.has("unassigned", path))
  if (task.by !== undefined || EffectResult.isFailure(contract)) return
  const names = candidates(planned(task), staff.spec)
  const workers = names.flatMap((name) => staff.seats.get(name) ?? [])
  if (workers.length === 0) return
  if (workers.every(({ worker }) => !worker.available)) {
    const message = `task ${path}: of those that can do it, nobody is available: ${names.join(", ")}`
    findings.warning("unavailable", path, message)
  }
  const named = task.worker === undefined ? undefined : staff.seats.get(task.worker)
  if (named !== undefined) {
    for (const { message, rule } of barriers(named, contract.success, group)) {
      error(rule, `${named.name} can never have it: ${message}`)
    }
    return
  }
  const against = workers.map((seat) => ({ seat, first: barriers(seat, contract.success, group)[0] }))
  if (against.some(({ first }) => first === undefined)) return
  const reasons = against.map(({ first, seat }) => `${seat.name}: ${first?.message}`).join("; ")
  error(against[0]?.first?.rule ?? "unassigned", `nobody with ${task.capability} can ever have it: ${reasons}`)
}

/** Adds what is wrong with how long a task waits: it is no time, or nobody has so much. */
const checkWait = (desk: Desk, { around }: Group, path: string, after: unknown, findings: Findings): void => {
  const millis = millisOf(after)
  if (millis === undefined) {
    const message = `after must be a duration >= 0 of at most a hundred years, got ${show(after)}`
    return findings.error("out-of-range", path, `task ${path}: ${message}`)
  }
  const bounds = [
    ...around.toReversed().map(({ path, task }) => ({ whose: `the task ${path}`, limits: task.limits })),
    { whose: "the desk", limits: desk.limits }
  ]
  for (const { limits, whose } of bounds) {
    const most = limits?.deadlineMillis
    if (most === undefined || millis < most) continue
    const message = `it can never begin: after is ${millis} ms, and the deadlineMillis of ${whose} are only ${most}`
    return findings.warning("excessive-limits", path, `task ${path}: ${message}`)
  }
}

const checkAssignment = (
  { capabilities, seats }: Staff,
  { by, capability, worker }: Task<never, unknown>,
  error: (rule: Rule, message: string) => void,
  told: boolean
): void => {
  if (by === undefined) {
    if (worker === undefined && capability === undefined && !told) {
      error("unassigned", "names neither a worker nor a capability")
    }
  } else if (worker !== undefined || capability !== undefined) {
    const who = worker === undefined ? `somebody with ${capability}` : worker
    error("assigned-twice", `is to be done by ${who} and by a ${by.kind} of its own`)
  }
  if (worker !== undefined && !seats.has(worker)) {
    error("unknown-worker", `there is no worker ${worker}${knownAs(worker, seats.keys())}`)
  }
  if (capability !== undefined && !capabilities.has(capability)) {
    error("unknown-capability", `no worker has the capability ${capability}${knownAs(capability, capabilities)}`)
  }
}

const checkPolicy = (
  contract: Contract.Contract,
  policy: ContractPolicy.ContractPolicy,
  ordered: boolean,
  error: (rule: Rule, message: string) => void
): void => {
  const checked = ContractPolicy.check(contract, policy)
  if (EffectResult.isSuccess(checked)) return
  for (const problem of checked.failure.problems) {
    const { path } = problem
    if (path.startsWith("permissions")) error("ungranted-permission", sentence(problem))
    else if (path.startsWith("limits")) error("excessive-limits", sentence(problem))
    // Nobody is handed the contract of a task that is carried out by others.
    else if (ordered) error("invalid-contract", sentence(problem))
  }
}

/** The nearest limit that is set, of the tasks around and then of the desk, can only be narrowed. */
const checkLimits = (
  desk: Desk,
  { around }: Group,
  { limits }: Contract.Contract,
  error: (rule: Rule, message: string) => void
): void => {
  const told = new Set<string>()
  const bounds = [
    ...around.toReversed().map(({ path, task }) => ({ whose: `the task ${path}`, limit: task.limits })),
    { whose: "the desk", limit: desk.limits }
  ]
  for (const { limit, whose } of bounds) {
    for (const { amount, measure, most } of above(limits, limit)) {
      if (told.has(measure)) continue
      told.add(measure)
      error("excessive-limits", `limits.${measure} must be at most the ${most} of ${whose}, got ${amount}`)
    }
  }
}

/** Why a worker can never have a task, whatever happens in a run. */
const barriers = (
  { worker }: Seat,
  contract: Contract.Contract,
  { around }: Group
): ReadonlyArray<{ readonly rule: Rule; readonly message: string }> => [
  ...Contract.lacking(contract, worker.permissions).map((problem) => ({
    rule: "lacking-permission" as const,
    message: sentence(problem)
  })),
  ...[
    { whose: "the task", limit: contract.limits },
    ...around.toReversed().map(({ path, task }) => ({ whose: `the task ${path}`, limit: task.limits }))
  ].flatMap(({ limit, whose }) =>
    above(worker.estimate, limit).map(({ amount, measure, most }) => ({
      rule: "unaffordable" as const,
      message: `it is expected to use ${amount} ${measure}, above the ${most} of ${whose}`
    }))
  )
]
