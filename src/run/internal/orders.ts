/**
 * What a worker is handed: its contract, what came before, and what is missing, out of the state and the results.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Contract from "../Contract.ts"
import type * as Desk from "../Desk.ts"
import type * as Outcome from "../Outcome.ts"
import * as Plan from "../Plan.ts"
import type { RunState, TaskState } from "../RunState.ts"
import type { MissingInput, Order, PreviousError } from "../Worker.ts"
import { shorten } from "./problems.ts"

/**
 * Puts an order together, or says in one sentence why there is none.
 *
 * The contract is checked first, then the worker's own input schema: what does not hold never reaches the worker.
 *
 * @since 0.1.0
 */
export const orderFor = (
  tasks: ReadonlyMap<string, Plan.Task<never>>,
  seat: Desk.Seat,
  state: RunState,
  task: TaskState,
  results: Pick<Outcome.Fold, "result">,
  input: unknown,
  number: number
): EffectResult.Result<Order, string> => {
  const planned = tasks.get(task.id)
  if (planned === undefined) return EffectResult.fail(`CONTRACT_INVALID: the plan has no task ${task.id}`)
  const { accepted, artefacts, missing } = upstream(state, task, results)
  let inputs: unknown = {}
  try {
    inputs = planned.input?.(accepted, input as never) ?? {}
  } catch (error) {
    const reason = Predicate.isError(error) ? error.message : String(error)
    return EffectResult.fail(`CONTRACT_INVALID: the inputs of ${task.id} cannot be made: ${shorten(reason, 300)}`)
  }
  const contract = EffectResult.flatMap(Plan.contract(planned, inputs), (contract) =>
    Contract.granting(contract, seat.worker.permissions)
  )
  if (EffectResult.isFailure(contract)) return EffectResult.fail(contract.failure.message)
  const order: Order = {
    run: state.run,
    task: task.id,
    dispatch: `${state.run}/${task.id}/${number}`,
    attempt: task.attempts + 1,
    idempotencyKey: `${state.run}/${task.id}`,
    contract: contract.success,
    input: undefined,
    accepted,
    artefacts,
    missing,
    previous: previous(task)
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
    : EffectResult.succeed(order)
}

const upstream = (
  state: RunState,
  task: TaskState,
  results: Pick<Outcome.Fold, "result">
): Pick<Order, "accepted" | "artefacts" | "missing"> => {
  const accepted: Array<readonly [string, Schema.Json]> = []
  const artefacts: Array<readonly [string, Order["artefacts"][string]]> = []
  const missing: Array<MissingInput> = []
  for (const need of task.needs) {
    const before = state.tasks.get(need)
    const result = results.result(need)
    const output = result?.output
    if (before === undefined || task.lost.includes(need) || output === undefined) {
      missing.push({ task: need, part: need, reason: before?.reason ?? "it gave no result" })
      continue
    }
    accepted.push([need, output])
    if (result?.artefacts !== undefined) artefacts.push([need, result.artefacts])
    for (const { part, reason } of before.missing) missing.push({ task: need, part, reason })
  }
  return { accepted: Object.fromEntries(accepted), artefacts: Object.fromEntries(artefacts), missing }
}

const previous = (task: TaskState): ReadonlyArray<PreviousError> =>
  task.tries.flatMap(({ dispatch, kind, reason = "", worker }) =>
    dispatch === undefined || kind === undefined ? [] : [{ dispatch, worker, kind, reason }]
  )
