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
 * - A limit that is absent is inherited; 0 means none at all.
 * - Unknown fields are refused: a misspelt limit is a limit that nobody keeps.
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

import { tooMuch } from "./internal/plain.ts"
import { decoder, Problem, sentences } from "./internal/problems.ts"

/**
 * The id of a task inside its run: letters, digits, `.`, `_` and `-`, beginning with a letter, at most 64 characters.
 *
 * @category models
 * @since 0.1.0
 */
export const TaskId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z][\w.-]{0,63}$/, {
    expected: "an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters"
  })
)

const Text = Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" }))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a whole number >= 0" })).annotate({
  expected: "a whole number >= 0"
})

/** @since 0.1.0 */
export interface Requirement extends Schema.Schema.Type<typeof Requirement> {}

/**
 * One point of a definition of done.
 *
 * **Details**
 *
 * - `mandatory`: a mandatory requirement cannot be dropped by reducing the scope. Default true.
 *
 * @category models
 * @since 0.1.0
 */
export const Requirement = Schema.Struct({
  id: TaskId,
  statement: Text,
  mandatory: Schema.Boolean.pipe(Schema.withDecodingDefaultKey(Effect.succeed(true)))
})

/** @since 0.1.0 */
export interface Limits extends Schema.Schema.Type<typeof Limits> {}

/**
 * What a task may spend. Absent = inherited, 0 = none.
 *
 * **Details**
 *
 * - `deadlineMillis`: milliseconds from the start of the task, > 0.
 * - `tokens`, `toolCalls`, `steps`: whole numbers >= 0.
 * - `cost`: in the currency of the desk, >= 0.
 *
 * @category models
 * @since 0.1.0
 */
export const Limits = Schema.Struct({
  deadlineMillis: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0, { expected: "a number of milliseconds > 0" }))
  ),
  tokens: Schema.optionalKey(Count),
  toolCalls: Schema.optionalKey(Count),
  steps: Schema.optionalKey(Count),
  cost: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0, { expected: "an amount >= 0" })))
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
  version: Schema.Int.check(Schema.isGreaterThan(0, { expected: "a whole number > 0" })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(1))
  ),
  task: TaskId,
  objective: Text,
  inputs: Schema.Record(Schema.String, Schema.Json).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  constraints: Schema.Array(Text).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  permissions: Schema.Record(Schema.String, Schema.Array(Text)).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
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
    return `CONTRACT_INVALID: ${sentences(this.problems, "the contract")}`
  }
}

const decodeContract = decoder(Contract, "error")

const contradictions = (contract: Contract): ReadonlyArray<Problem> => {
  const seen = new Set<string>()
  const problems: Array<Problem> = []
  const large = tooMuch(contract.inputs, "inputs")
  if (large !== undefined) problems.push(large)
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
  return problems.length === 0 ? Result.succeed(decoded.success) : Result.fail(new ContractInvalid({ problems }))
}

/**
 * Makes a contract.
 *
 * **Details**
 *
 * - `task`, `objective`: required.
 * - `version`: of this contract, a whole number > 0. Default 1.
 * - `inputs`: plain values by name. Default none.
 * - `constraints`: what must hold while working, one sentence each. Default none.
 * - `permissions`: what may be touched, by area. Default none.
 * - `definitionOfDone`: what is checked at the end. Default none.
 * - `limits`: default inherited.
 * - `onIncomplete`: default `"partial"`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (fields: Fields): Effect.Effect<Contract, ContractInvalid> =>
  Effect.suspend(() => Effect.fromResult(parse(fields)))
