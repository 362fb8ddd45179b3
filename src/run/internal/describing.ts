/**
 * A desk as plain data: what it promises to whoever starts a run, and what makes it the desk it is.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { Risk, Tier } from "../Autonomy.ts"
import { Contract, Limits } from "../Contract.ts"
import { type Coordinator, planned, type Task } from "../Coordinator.ts"
import * as Decider from "../Decider.ts"
import type { Desk, Seat } from "../Desk.ts"
import * as Plan from "../Plan.ts"
import { Usage } from "../Result.ts"
import { AccountLimits, Containment } from "../RunEvent.ts"
import { canonical } from "./canonical.ts"
import { acceptances } from "./declared.ts"

const names = Schema.Array(Schema.String)

const { inputs: _inputs, task: _task, version: _version, ...agreed } = Contract.fields

/** @since 0.1.0 */
export interface Description extends Schema.Schema.Type<typeof Description> {}

/**
 * A desk as plain data.
 *
 * **Details**
 *
 * - `input`, `output`: as JSON schemas; `null` where no output is asked for, or where a schema cannot be told.
 * - `workers`: everybody that a run can call; there is nobody else. `attemptTimeoutMillis`: `null` = no limit.
 * - `groups`: coordinators by the task that each carries out; the run's own has the empty name. `facts`: what it says of
 *   itself.
 * - `tasks`: all that are declared, at any depth. `candidates`: who may do it, best first. `by`: the kind of the coordinator
 *   that carries it out instead. `afterMillis`: how long it waits; absent: not at all. `acceptance`: who has to let its result
 *   stand; absent: nobody. `contract`: absent where it does not hold.
 * - `merges`: the tasks out of which the answer is made; `null` where no aggregate does it.
 *
 * @category models
 * @since 0.1.0
 */
export const Description = Schema.Struct({
  name: Schema.String,
  version: Schema.String,
  owner: Schema.String,
  tier: Tier,
  input: Schema.Json,
  output: Schema.Json,
  limits: Limits,
  budgets: AccountLimits,
  steps: Schema.Finite,
  workers: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      domain: Schema.String,
      description: Schema.String,
      capabilities: names,
      risk: Risk,
      irreversible: Schema.Boolean,
      permissions: names,
      tools: names,
      dependencies: names,
      artefacts: names,
      secrets: names,
      size: Schema.Finite,
      available: Schema.Boolean,
      attemptTimeoutMillis: Schema.NullOr(Schema.Finite),
      estimate: Usage,
      input: Schema.Json,
      output: Schema.Json
    })
  ),
  groups: Schema.Array(
    Schema.Struct({
      task: Schema.String,
      kind: Schema.String,
      containment: Containment,
      tasks: names,
      facts: Schema.optionalKey(Schema.Json)
    })
  ),
  tasks: Schema.Array(
    Schema.Struct({
      task: Schema.String,
      worker: Schema.optionalKey(Schema.String),
      capability: Schema.optionalKey(Schema.String),
      by: Schema.optionalKey(Schema.String),
      candidates: names,
      needs: names,
      acceptMissing: Schema.Boolean,
      afterMillis: Schema.optionalKey(Schema.Finite),
      acceptance: Schema.optionalKey(Schema.Literals(acceptances)),
      contract: Schema.optionalKey(Schema.Struct(agreed))
    })
  ),
  merges: Schema.NullOr(names)
})

/** What is told of a desk from outside it. */
interface Parts {
  readonly seats: ReadonlyArray<Seat>
  readonly coordinators: ReadonlyMap<string, Coordinator<never, unknown>>
  readonly spec: Decider.Spec
}

/** A JSON schema, which is plain JSON, or `null` where it could not be told. */
const json = (schema: unknown): Schema.Json => (schema ?? null) as Schema.Json

/** What a task agrees on with whoever does it, before there are inputs. */
const agreementOf = (task: Task<never, unknown>): (typeof Description.Type.tasks)[number]["contract"] => {
  const contract = Plan.contract(task, {})
  if (EffectResult.isFailure(contract)) return undefined
  const { inputs: _i, task: _t, version: _v, ...rest } = contract.success
  return rest
}

const within = (group: string, id: string): string => (group === "" ? id : `${group}/${id}`)

/** See `Desk.describe`. */
export const describe = (desk: Desk, { coordinators, seats, spec }: Parts): Description => {
  const [input, output] = desk.schemas()
  return {
    name: desk.name,
    version: desk.version,
    owner: desk.owner,
    tier: desk.tier,
    input: json(input),
    output: json(output),
    limits: desk.limits,
    budgets: desk.budgets,
    steps: desk.steps,
    workers: seats.map(workerOf),
    groups: [...coordinators].map(([group, { containment, facts, kind, tasks }]) => ({
      task: group,
      kind,
      containment,
      tasks: tasks.map(({ id }) => within(group, id)),
      ...(facts === undefined ? {} : { facts })
    })),
    tasks: [...coordinators].flatMap(([group, { tasks }]) =>
      tasks.map((task) => {
        const { acceptMissing, afterMillis, capability, worker } = planned(task)
        const contract = agreementOf(task)
        return {
          task: within(group, task.id),
          ...(worker === undefined ? {} : { worker }),
          ...(capability === undefined ? {} : { capability }),
          ...(task.by === undefined ? {} : { by: task.by.kind }),
          candidates: task.by === undefined ? Decider.candidates(planned(task), spec) : [],
          needs: (task.needs ?? []).map((need) => within(group, need)),
          acceptMissing,
          ...(afterMillis === undefined ? {} : { afterMillis }),
          ...(task.acceptance === undefined ? {} : { acceptance: task.acceptance }),
          ...(contract === undefined ? {} : { contract })
        }
      })
    ),
    merges: desk.aggregate?.tasks ?? null
  }
}

const workerOf = ({ domain, name, worker }: Seat): Description["workers"][number] => {
  const { artefacts, available, capabilities, dependencies, description, estimate } = worker
  const { irreversible, permissions, risk, secrets, size, tools } = worker
  const [input, output] = worker.schemas()
  return {
    name,
    domain,
    description,
    capabilities,
    risk,
    irreversible,
    permissions,
    tools,
    dependencies,
    artefacts,
    secrets,
    size,
    available,
    attemptTimeoutMillis: Duration.isFinite(worker.attemptTimeout) ? Duration.toMillis(worker.attemptTimeout) : null,
    estimate,
    input: json(input),
    output: json(output)
  }
}

/**
 * What of a task's contract differs from the defaults. Large plans are told apart without decoding each of their contracts.
 */
const terms = (task: Task<never, unknown>): object => {
  const { constraints, dataClass, definitionOfDone, limits, objective, onIncomplete, permissions, references } = task
  return {
    objective,
    dataClass,
    constraints: filled(constraints),
    limits: filled(limits),
    permissions: filled(permissions),
    references: filled(references),
    definitionOfDone: filled(definitionOfDone)?.map((each) => ({ mandatory: true, evidence: true, ...each })),
    onIncomplete: onIncomplete === "partial" ? undefined : onIncomplete,
    fresh: task.fresh === true ? true : undefined,
    reduceScope: task.reduceScope === true ? true : undefined,
    acceptance: task.acceptance
  }
}

const filled = <A extends object>(value: A | undefined): A | undefined =>
  value === undefined || Object.keys(value).length === 0 ? undefined : value

/** See `Desk.definition`. */
export const definition = (desk: Desk, { coordinators, seats }: Omit<Parts, "spec">): string =>
  canonical({
    schemas: desk.schemas(),
    merges: desk.aggregate?.tasks,
    groups: [...coordinators].map(([group, { containment, facts, initial, kind, tasks }]) => ({
      group,
      kind,
      containment,
      facts,
      initial,
      tasks: tasks.map((task) => [planned(task), terms(task)])
    })),
    workers: seats.map(({ name, worker }) => ({
      name,
      capabilities: worker.capabilities,
      permissions: worker.permissions,
      artefacts: worker.artefacts,
      schemas: worker.schemas()
    }))
  })
