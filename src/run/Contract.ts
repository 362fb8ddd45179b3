/**
 * What is asked of a worker: the task, its inputs, its limits and what counts as done.
 *
 * A contract is plain data with a version. It is checked before anybody is dispatched, and a bad one is refused with the
 * exact field, so a negative limit or a forgotten objective never reaches a worker.
 *
 * **Details**
 *
 * - `inputs` hold small plain values, by name, at most 2 MiB of JSON and 128 levels. The worker's own input schema is
 *   checked on top.
 * - `references` say where larger inputs are, by name. No name is used in both.
 * - A limit that is absent is inherited; 0 means none at all.
 * - Unknown fields are refused: a misspelt limit is a limit that nobody keeps.
 * - Whether a contract is allowed, and not only well formed, is the second check: `ContractPolicy.check`.
 *
 * **Invariants**
 *
 * - K1. A contract is a frozen copy: nothing that is done to its inputs afterwards changes what was agreed.
 * - K2. Two contracts with equal content have the same {@link digest}, whatever the order of their fields.
 *
 * **Gotchas**
 *
 * Of the limits, none is enforced by this module. It says what was agreed.
 *
 * **Example** (A bad contract names its field)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Contract } from "espalier/run"
 *
 * const refused = Contract.make({ task: "links", objective: "Find dead links", limits: { tokens: -1 } })
 * const { message } = Effect.runSync(Effect.flip(refused))
 * message // => "CONTRACT_INVALID: limits.tokens must be a whole number >= 0, got -1"
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Reference } from "../journal/Reference.ts"
import { canonical, digest as digestOf } from "./internal/canonical.ts"
import { Cost, Count, Id, Millis, named, Text, Version } from "./internal/fields.ts"
import { frozen, tooMuch } from "./internal/plain.ts"
import { decoder, pathOf, Problem, sentences } from "./internal/problems.ts"

/**
 * The id of a task inside its run: letters, digits, `.`, `_` and `-`, beginning with a letter, at most 64 characters.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskId = Id

/** @since 0.1.0 */
export interface Requirement extends Schema.Schema.Type<typeof Requirement> {}

/**
 * One point of a definition of done.
 *
 * **Details**
 *
 * - `mandatory`: a mandatory requirement cannot be dropped by reducing the scope. Default true.
 * - `evidence`: to claim it is not enough, it needs evidence. Default true.
 *
 * @category models
 * @since 0.1.0
 */
export const Requirement = Schema.Struct({
  id: TaskId,
  statement: Text,
  mandatory: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true))),
  evidence: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))
})

/** @since 0.1.0 */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/**
 * What a task may spend. Absent = inherited, 0 = none.
 *
 * **Details**
 *
 * - `deadlineMillis`: milliseconds from the start of the task, > 0 and at most 100 years.
 * - `tokens`, `toolCalls`, `steps`: whole numbers from 0 to 2^53 - 1.
 * - `cost`: in the currency of the desk, >= 0 and at most 1e15.
 *
 * @category models
 * @since 0.1.0
 */
export const Limits = Schema.Struct({
  deadlineMillis: Schema.optionalKey(Millis),
  tokens: Schema.optionalKey(Count),
  toolCalls: Schema.optionalKey(Count),
  steps: Schema.optionalKey(Count),
  cost: Schema.optionalKey(Cost)
})

/**
 * What an incomplete task becomes: a `partial` result that says what is missing, or, where that would do harm, a question
 * to a person.
 *
 * @category models
 * @since 0.1.0
 */
export const OnIncomplete = Schema.Literals(["partial", "escalate"])

/** @since 0.1.0 */
export interface Contract extends Schema.Schema.Type<typeof Contract> {}

/**
 * A contract, complete. See {@link make} for the defaults.
 *
 * @category models
 * @since 0.1.0
 */
export const Contract = Schema.Struct({
  version: Version.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1))),
  task: TaskId,
  objective: Text,
  inputs: Schema.Record(Schema.String, Schema.Json).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  references: named(Reference).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  constraints: Schema.Array(Text).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  permissions: named(Schema.Array(Text)).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  dataClass: Schema.optionalKey(Id),
  definitionOfDone: Schema.Array(Requirement).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  limits: Limits.pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  onIncomplete: OnIncomplete.pipe(Schema.withDecodingDefaultKey(Effect.succeed("partial" as const)))
})

/**
 * What {@link make} takes: everything that has a default may be left out.
 *
 * @category models
 * @since 0.1.0
 */
export type Fields = (typeof Contract)["Encoded"]

/**
 * A contract that cannot be accepted. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class ContractInvalid extends Schema.TaggedError<ContractInvalid>("espalier/run/Contract/ContractInvalid")(
  "ContractInvalid",
  { problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `CONTRACT_INVALID: ${sentences(this.problems, "the contract", 1)}`
  }
}

const decodeContract = decoder(Contract, "error")

const contradictions = (contract: Contract): ReadonlyArray<Problem> => {
  const seen = new Set<string>()
  const problems: Array<Problem> = []
  for (const field of ["inputs", "constraints", "permissions", "definitionOfDone"] as const) {
    const large = tooMuch(contract[field], field)
    if (large !== undefined) problems.push(large)
  }
  for (const name of Object.keys(contract.references)) {
    if (!Object.hasOwn(contract.inputs, name)) continue
    problems.push({ path: pathOf(["references", name]), expectation: "has the name of an input", actual: "" })
  }
  contract.definitionOfDone.forEach(({ id }, index) => {
    if (seen.has(id)) {
      problems.push({ path: `definitionOfDone[${index}].id`, expectation: "is used twice", actual: JSON.stringify(id) })
    }
    seen.add(id)
  })
  return problems
}

/**
 * Checks any value as a contract.
 *
 * @category constructors
 * @since 0.1.0
 */
export const parse = (input: unknown): Result.Result<Contract, ContractInvalid> => {
  const decoded = decodeContract(input)
  if (Result.isFailure(decoded)) return Result.fail(new ContractInvalid({ problems: decoded.failure }))
  const problems = contradictions(decoded.success)
  if (problems.length > 0) return Result.fail(new ContractInvalid({ problems }))
  return Result.succeed(frozen(decoded.success) as Contract) // K1
}

/**
 * Makes a contract.
 *
 * **Details**
 *
 * - `task`, `objective`: required.
 * - `version`: of this contract, a whole number > 0. Default 1.
 * - `inputs`: plain values by name. Default none.
 * - `references`: where larger inputs are, by name: letters, digits, `.`, `_` and `-`, beginning with a letter, at most 64
 *   characters. Default none.
 * - `constraints`: what must hold while working, one sentence each. Default none.
 * - `permissions`: what may be touched: scopes (paths, or names) by area. Areas are named as references are. Default none.
 * - `dataClass`: of what the task sees, such as `public`, `internal`, `confidential` or `personal`; named as references
 *   are. Default: not told.
 * - `definitionOfDone`: what is checked at the end. Default none.
 * - `limits`: default inherited.
 * - `onIncomplete`: default `"partial"`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (fields: Fields): Effect.Effect<Contract, ContractInvalid> =>
  Effect.suspend(() => Effect.fromResult(parse(fields)))

/**
 * What a contract lacks of the permissions that a worker needs.
 *
 * **Details**
 *
 * - `areas`: the areas in which the worker works; each needs at least one scope.
 *
 * @category validation
 * @since 0.1.0
 */
export const lacking = (contract: Contract, areas: ReadonlyArray<string>): ReadonlyArray<Problem> =>
  areas.flatMap((area) => {
    const path = pathOf(["permissions", area])
    if (!Object.hasOwn(contract.permissions, area)) return [{ path, expectation: "is required", actual: "" }]
    const empty = contract.permissions[area]?.length === 0
    return empty ? [{ path, expectation: "must name at least one scope", actual: "[0 items]" }] : []
  })

/**
 * The contract, if it grants the permissions that a worker needs. See {@link lacking}.
 *
 * **Example** (A worker that writes needs the permission)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Contract } from "espalier/run"
 *
 * const refused = Contract.make({ task: "fix", objective: "Fix the links" }).pipe(
 *   Effect.flatMap((contract) => Effect.fromResult(Contract.granting(contract, ["repository"])))
 * )
 * const { message } = Effect.runSync(Effect.flip(refused))
 * message // => "CONTRACT_INVALID: permissions.repository is required"
 * ```
 *
 * @category validation
 * @since 0.1.0
 */
export const granting = (
  contract: Contract,
  areas: ReadonlyArray<string>
): Result.Result<Contract, ContractInvalid> => {
  const problems = lacking(contract, areas)
  return problems.length === 0 ? Result.succeed(contract) : Result.fail(new ContractInvalid({ problems }))
}

/**
 * A digest of what is ordered, 32 hexadecimal digits: of everything but the id of the task.
 *
 * **Details**
 *
 * Two contracts with the same digest ask for the same work on the same inputs. It does not depend on the order of fields,
 * but on the order of constraints and requirements. It tells orders apart and is no protection against a forger.
 *
 * @category conversions
 * @since 0.1.0
 */
export const digest = (contract: Contract): string => {
  const { task: _, ...order } = contract
  return digestOf(canonical(order)) // K2
}
