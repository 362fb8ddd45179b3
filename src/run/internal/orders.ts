/**
 * What a worker is handed: its contract, what came before, and what is missing, out of the state and the results.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Acceptance from "../Acceptance.ts"
import * as Contract from "../Contract.ts"
import * as ContractPolicy from "../ContractPolicy.ts"
import { type Accepted, localName, type Task } from "../Coordinator.ts"
import type * as Desk from "../Desk.ts"
import type { Service } from "../Effects.ts"
import type * as Outcome from "../Outcome.ts"
import type * as Review from "../Review.ts"
import type { RunState, TaskState } from "../RunState.ts"
import type { MissingInput, Order, Prepared, PreviousError } from "../Worker.ts"
import type { Contracts } from "./contracts.ts"
import { sentences, thrown } from "./problems.ts"

/** Everything that orders are made of, beside the state. */
export interface Sources {
  readonly templates: ReadonlyMap<string, Task<never, unknown>>
  readonly contracts: Contracts
  readonly policy: ContractPolicy.ContractPolicy | undefined
  readonly capabilities: ReadonlyArray<string>
  readonly results: Pick<Outcome.Fold, "result">
  readonly input: unknown
}

/** A task that was made in the run: what it is comes with its amendment. */
const made = (task: TaskState): Task<never, unknown> => ({ id: task.id, objective: "" })

/** The declared task behind a task. */
export const templateOf = (sources: Sources, task: TaskState): Task<never, unknown> => {
  const template = sources.templates.get(task.template ?? task.id)
  return template === undefined || (task.template === undefined && task.amendment !== undefined) ? made(task) : template
}

/** What a group begins with: the input of the run, or what the task that it carries out is handed. */
export const inputOf = (sources: Sources, state: RunState, group: string): unknown => {
  const task = state.tasks.get(group)
  if (task === undefined) return sources.input
  const given = task.amendment?.["inputs"]
  if (given !== undefined) return given
  const same = repeated(state, task)
  if (same !== undefined) return inputOf(sources, state, same.id)
  const template = templateOf(sources, task)
  const made = template.input?.(
    upstream(state, task, sources.results).accepted,
    inputOf(sources, state, task.parent) as never
  )
  return made === undefined ? {} : present(made)
}

/** What is not there is no input: the output of a task that gave nothing, handed on under its name. */
const present = (inputs: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
  for (const name in inputs) {
    if (inputs[name] !== undefined) continue
    return Object.fromEntries(Object.entries(inputs).filter(([, value]) => value !== undefined))
  }
  return inputs
}

/** The task that is done once more by this one, after a follow-up. */
const repeated = (state: RunState, task: TaskState): TaskState | undefined => {
  const parent = state.tasks.get(task.parent)
  return parent !== undefined && task.template === (parent.template ?? parent.id) ? parent : undefined
}

/** The outputs that a task builds on; one that is done once more has those of before, too. */
export const acceptedBy = (sources: Sources, state: RunState, task: TaskState): Accepted => {
  const same = repeated(state, task)
  const { accepted } = upstream(state, task, sources.results)
  return same === undefined ? accepted : { ...acceptedBy(sources, state, same), ...accepted }
}

/** The contract of a task as it stands, or why there is none. */
export const contractOf = (
  sources: Sources,
  state: RunState,
  task: TaskState
): EffectResult.Result<Contract.Contract, string> => {
  const template = templateOf(sources, task)
  let inputs: unknown
  try {
    inputs = inputOf(sources, state, task.id)
  } catch (error) {
    return EffectResult.fail(`CONTRACT_INVALID: the inputs of ${task.id} cannot be made: ${thrown(error)}`)
  }
  const contract = sources.contracts.of(template, task.id, inputs, task.amendment)
  if (EffectResult.isFailure(contract))
    return EffectResult.fail(`CONTRACT_INVALID: ${sentences(contract.failure.problems, "the contract")}`)
  if (task.dropped.length === 0) return EffectResult.succeed(contract.success)
  return EffectResult.mapError(Acceptance.reduceScope(contract.success, task.dropped), ({ message }) => message)
}

/** An order, and the work that it comes to as it is: once it has an allowance, it is ready to be begun. */
export interface Made {
  readonly order: Prepared & {
    allowance?: Order["allowance"]
    spend?: Order["spend"]
    notice?: Order["notice"]
    progress?: Order["progress"]
    effects?: Service | undefined
    people?: Review.Service | undefined
  }
  readonly work: Effect.Effect<unknown, unknown, unknown>
}

/**
 * Puts an order together, or says in one sentence why there is none.
 *
 * The contract is checked first, then against policy, then the worker's own input schema: what does not hold never reaches
 * the worker.
 *
 * @since 0.1.0
 */
export const orderFor = (
  sources: Sources,
  seat: Desk.Seat,
  state: RunState,
  task: TaskState,
  number: number
): EffectResult.Result<Made, string> => {
  const contract = contractOf(sources, state, task)
  if (EffectResult.isFailure(contract)) return EffectResult.fail(contract.failure)
  const { permissions } = seat.worker
  const { policy } = sources
  const checked =
    policy === undefined
      ? Contract.granting(contract.success, permissions)
      : ContractPolicy.check(contract.success, policy, {
          areas: permissions,
          capabilities: sources.capabilities,
          ...(task.capability === undefined ? {} : { capability: task.capability }),
          versions: versions(state, task)
        })
  if (EffectResult.isFailure(checked))
    return EffectResult.fail(`CONTRACT_INVALID: ${sentences(checked.failure.problems, "the contract")}`)
  const { artefacts, missing } = upstream(state, task, sources.results)
  const order: Prepared = {
    run: state.run,
    task: task.id,
    dispatch: `${state.run}/${task.id}/${number}`,
    attempt: task.attempts + 1,
    idempotencyKey: `${state.run}/${task.id}`,
    contract: checked.success,
    input: undefined,
    accepted: acceptedBy(sources, state, task),
    artefacts,
    missing,
    previous: previous(task),
    answers: task.answers.flatMap(({ answer, by, decision, kind, note }) =>
      // What became of an effect is not for the worker, whom it is handed by asking for the effect.
      kind !== "reconciliation" && (decision === "answer" || decision === "retry")
        ? [{ by, note, ...(answer === undefined ? {} : { answer }) }]
        : []
    )
  }
  const prepared = seat.worker.prepare(order)
  return EffectResult.isFailure(prepared)
    ? EffectResult.fail(
        new Contract.ContractInvalid({
          problems: prepared.failure.map((problem) => ({
            ...problem,
            path: problem.path === "" ? "inputs" : `inputs.${problem.path}`
          }))
        }).message
      )
    : EffectResult.succeed({ order, work: prepared.success })
}

/** The versions of the results that a task builds on, by the names of their tasks. */
const versions = (state: RunState, task: TaskState): Readonly<Record<string, number>> =>
  Object.fromEntries(
    task.needs.flatMap((need): ReadonlyArray<readonly [string, number]> => {
      const version = state.tasks.get(need)?.result
      return version === undefined ? [] : [[localName(need), version]]
    })
  )

const upstream = (
  state: RunState,
  task: TaskState,
  results: Pick<Outcome.Fold, "result">
): { readonly accepted: Accepted } & Pick<Order, "artefacts" | "missing"> => {
  if (task.needs.length === 0) return nothing
  const accepted: Array<readonly [string, Schema.Json]> = []
  const artefacts: Array<readonly [string, Order["artefacts"][string]]> = []
  const missing: Array<MissingInput> = []
  for (const need of task.needs) {
    const before = state.tasks.get(need)
    const result = results.result(need)
    const output = result?.output
    const name = localName(need)
    if (before === undefined || task.lost.includes(need) || output === undefined) {
      missing.push({ task: name, part: name, reason: before?.reason ?? "it gave no result" })
      continue
    }
    accepted.push([name, output])
    if (result?.artefacts !== undefined) artefacts.push([name, result.artefacts])
    for (const { part, reason } of before.missing) missing.push({ task: name, part, reason })
  }
  return { accepted: Object.fromEntries(accepted), artefacts: Object.fromEntries(artefacts), missing }
}

const nothing = { accepted: {}, artefacts: {}, missing: [] }

const previous = (task: TaskState): ReadonlyArray<PreviousError> =>
  task.tries.flatMap(({ dispatch, kind, reason = "", worker }) =>
    dispatch === undefined || kind === undefined ? [] : [{ dispatch, worker, kind, reason }]
  )
