/**
 * What came back from a worker: the envelope around its output.
 *
 * A handler returns either its plain output, which means `completed` with confidence 1, or one of the results made here.
 * Both are checked at the boundary: the envelope, then the output against the worker's own output schema. What does not
 * hold is never passed on; it becomes a `malformed` failure, and so does an empty answer.
 *
 * | status | means | must carry |
 * |---|---|---|
 * | `completed` | done | an output |
 * | `partial` | done in part | an output, and what is missing |
 * | `blocked` | cannot begin or go on | an error |
 * | `failed` | tried and failed | an error |
 * | `needs-review` | a person should look at it | what to look at, as `missing` |
 *
 * **Gotchas**
 *
 * `undefined`, `null` and a blank text are empty answers. An empty list is an answer: nothing was found. An output is at
 * most 2 MiB of JSON and 128 levels; put what is larger into a file or a store, and say where.
 *
 * **Example** (A result that says what it lacks)
 *
 * ```ts
 * import { Result } from "espalier/run"
 *
 * const partial = Result.partial({ files: 12 }, [{ part: "vendor/", reason: "could not be read" }])
 * partial.status // => "partial"
 * ```
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { tooMuch } from "./internal/plain.ts"
import { decoder, Problem, sentences } from "./internal/problems.ts"

const TypeId = "~espalier/run/Result"

/**
 * The kinds of failure that a run tells apart: the shared ones, and `defect` for a bug or an error without a kind.
 *
 * @category models
 * @since 0.1.0
 */
export const ErrorKind = Schema.Literals([...Failure.kinds, "defect"])

/**
 * @category models
 * @since 0.1.0
 */
export type ErrorKind = typeof ErrorKind.Type

/**
 * See the table of the module.
 *
 * @category models
 * @since 0.1.0
 */
export const Status = Schema.Literals(["completed", "partial", "blocked", "failed", "needs-review"])

/**
 * @category models
 * @since 0.1.0
 */
export type Status = typeof Status.Type

const Text = Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" }))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a whole number >= 0" }))

/** @since 0.1.0 */
export interface Missing extends Schema.Schema.Type<typeof Missing> {}

/**
 * A part of the result that is not there, and why.
 *
 * @category models
 * @since 0.1.0
 */
export const Missing = Schema.Struct({ part: Text, reason: Text })

/** @since 0.1.0 */
export interface ErrorInfo extends Schema.Schema.Type<typeof ErrorInfo> {}

/**
 * Why a worker failed or is blocked.
 *
 * @category models
 * @since 0.1.0
 */
export const ErrorInfo = Schema.Struct({ kind: ErrorKind, reason: Text })

/** @since 0.1.0 */
export interface Evidence extends Schema.Schema.Type<typeof Evidence> {}

/**
 * What was run to support a claim, where, against which revision, and how it ended.
 *
 * @category models
 * @since 0.1.0
 */
export const Evidence = Schema.Struct({
  requirement: Text,
  command: Schema.optionalKey(Schema.String),
  environment: Schema.optionalKey(Schema.String),
  revision: Schema.optionalKey(Schema.String),
  exitStatus: Schema.optionalKey(Schema.Int),
  output: Schema.optionalKey(Schema.String),
  worker: Schema.optionalKey(Schema.String),
  task: Schema.optionalKey(Schema.String),
  at: Schema.optionalKey(Schema.Finite)
})

/** @since 0.1.0 */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/**
 * What the work consumed. Absent = not measured.
 *
 * @category models
 * @since 0.1.0
 */
export const Usage = Schema.Struct({
  steps: Schema.optionalKey(Count),
  tokens: Schema.optionalKey(Count),
  toolCalls: Schema.optionalKey(Count),
  cost: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0, { expected: "an amount >= 0" })))
})

/** @since 0.1.0 */
export interface Envelope extends Schema.Schema.Type<typeof Envelope> {}

/**
 * A result as it is stored and passed on: plain JSON, checked.
 *
 * @category models
 * @since 0.1.0
 */
export const Envelope = Schema.Struct({
  status: Status,
  output: Schema.optionalKey(Schema.Json),
  confidence: Schema.Finite.check(
    Schema.isBetween({ minimum: 0, maximum: 1 }, { expected: "a number between 0 and 1" })
  ),
  error: Schema.optionalKey(ErrorInfo),
  evidence: Schema.Array(Evidence),
  usage: Usage,
  missing: Schema.Array(Missing)
})

/**
 * What a handler returns when a plain output does not say enough.
 *
 * @category models
 * @since 0.1.0
 */
export interface Result<out A> {
  readonly [TypeId]: typeof TypeId
  readonly status: Status
  readonly output?: A | undefined
  readonly confidence: number
  readonly error?: ErrorInfo | undefined
  readonly evidence: ReadonlyArray<Evidence>
  readonly usage: Usage
  readonly missing: ReadonlyArray<Missing>
}

/**
 * Whether a value was made by one of the constructors of this module.
 *
 * @category guards
 * @since 0.1.0
 */
export const isResult = (value: unknown): value is Result<unknown> => Predicate.hasProperty(value, TypeId)

/**
 * What may be said beside the output.
 *
 * **Details**
 *
 * - `confidence`: between 0 and 1. Default 1 with an output, 0 without.
 * - `evidence`, `usage`: default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly confidence?: number | undefined
  readonly evidence?: ReadonlyArray<Evidence> | undefined
  readonly usage?: Usage | undefined
}

const result = <A>(
  status: Status,
  fields: Pick<Result<A>, "output" | "error">,
  missing: ReadonlyArray<Missing>,
  options: Options | undefined
): Result<A> => ({
  [TypeId]: TypeId,
  status,
  ...fields,
  confidence: options?.confidence ?? (fields.output === undefined ? 0 : 1),
  evidence: options?.evidence ?? [],
  usage: options?.usage ?? {},
  missing
})

/**
 * Done.
 *
 * @category constructors
 * @since 0.1.0
 */
export const completed = <A>(output: A, options?: Options | undefined): Result<A> =>
  result("completed", { output }, [], options)

/**
 * Done in part: the output, and what is missing from it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const partial = <A>(output: A, missing: ReadonlyArray<Missing>, options?: Options | undefined): Result<A> =>
  result("partial", { output }, missing, options)

/**
 * Cannot begin or go on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const blocked = (kind: ErrorKind, reason: string, options?: Options | undefined): Result<never> =>
  result<never>("blocked", { error: { kind, reason } }, [], options)

/**
 * Tried and failed. The same as failing with a marked error, with evidence and usage.
 *
 * @category constructors
 * @since 0.1.0
 */
export const failed = (kind: ErrorKind, reason: string, options?: Options | undefined): Result<never> =>
  result<never>("failed", { error: { kind, reason } }, [], options)

/**
 * Done, but a person should look at `what` before it is relied on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const needsReview = <A>(output: A, what: ReadonlyArray<Missing>, options?: Options | undefined): Result<A> =>
  result("needs-review", { output }, what, options)

/**
 * A worker's answer that does not hold. It is never passed on.
 *
 * @category errors
 * @since 0.1.0
 */
export class ResultInvalid extends Schema.TaggedError<ResultInvalid>("espalier/run/Result/ResultInvalid")(
  "ResultInvalid",
  { problems: Schema.Array(Problem) }
) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `RESULT_INVALID: ${sentences(this.problems, "the answer")}`
  }
}

const problem = (path: string, expectation: string): Problem => ({ path, expectation, actual: "" })

const isEmpty = (output: unknown): boolean =>
  output === undefined || output === null || (typeof output === "string" && output.trim() === "")

const contradictions = (envelope: Envelope): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const { error, missing, output, status } = envelope
  const large = tooMuch(output, "output") ?? tooMuch([error, missing, envelope.evidence], "")
  if (large !== undefined) problems.push(large)
  if (status === "completed" || status === "partial" || status === "needs-review") {
    if (isEmpty(output)) problems.push(problem("output", "is empty"))
    if (error !== undefined) problems.push(problem("error", `contradicts the status ${status}`))
    if (status !== "completed" && missing.length === 0) {
      problems.push(problem("missing", `must name at least one part when the status is ${status}`))
    }
    if (status === "completed" && missing.length > 0) {
      problems.push(problem("missing", "contradicts the status completed"))
    }
  } else if (error === undefined) problems.push(problem("error", `is required when the status is ${status}`))
  return problems
}

const decodeEnvelope = decoder(Envelope, "error")

/** An answer as fields, whatever the handler returned. */
const fieldsOf = (answer: unknown): { readonly [field: string]: unknown } => {
  if (!isResult(answer))
    return { status: "completed", output: answer, confidence: 1, evidence: [], usage: {}, missing: [] }
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(answer)) {
    if (name !== TypeId && value !== undefined) fields[name] = value
  }
  return fields
}

/**
 * Checks what a handler returned and makes it the envelope that is stored.
 *
 * **Details**
 *
 * `encodeOutput` turns the worker's output into plain JSON by its output schema, or says what is wrong with it.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (
  answer: unknown,
  encodeOutput: (output: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
): EffectResult.Result<Envelope, ResultInvalid> => {
  const fields: { [field: string]: unknown } = { ...fieldsOf(answer) }
  if (isEmpty(fields["output"])) delete fields["output"]
  else {
    const encoded = encodeOutput(fields["output"])
    if (EffectResult.isFailure(encoded)) {
      return EffectResult.fail(
        new ResultInvalid({
          problems: encoded.failure.map((each) => ({
            ...each,
            path: each.path === "" ? "output" : each.path.startsWith("[") ? `output${each.path}` : `output.${each.path}`
          }))
        })
      )
    }
    fields["output"] = encoded.success
  }
  const decoded = decodeEnvelope(fields)
  if (EffectResult.isFailure(decoded)) return EffectResult.fail(new ResultInvalid({ problems: decoded.failure }))
  const problems = contradictions(decoded.success)
  return problems.length === 0
    ? EffectResult.succeed(decoded.success)
    : EffectResult.fail(new ResultInvalid({ problems }))
}
