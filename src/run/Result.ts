/**
 * What came back from a worker: the envelope around its output.
 *
 * A handler returns either its plain output, which means `completed` with confidence 1, or one of the results made here.
 * Both are checked at the boundary: the envelope, then the output against the worker's own output schema. What does not
 * hold is never passed on; it becomes a `malformed` failure, and so does an empty answer.
 *
 * | status | means | must carry |
 * |---|---|---|
 * | `completed` | done | an output or artefacts |
 * | `partial` | done in part | an output or artefacts, and what is missing |
 * | `blocked` | cannot begin or go on | an error |
 * | `failed` | tried and failed | an error |
 * | `needs-review` | a person should look at it | an output or artefacts, and what to look at, as `missing` |
 *
 * **Details**
 *
 * - Artefacts are references by name, to what is too large for an output. A worker delivers those that it has declared and
 *   no others. In a run they have to be in its store (`Artefacts`) with the hash that they say, or the answer does not
 *   hold. An answer that has artefacts and no output is stored with the output `null`.
 * - Evidence is given the worker, the task and the time at the boundary. An output of evidence beyond 4 KB keeps its
 *   beginning and its end, and says how many bytes are left out between them.
 * - A result cannot change its own contract: a field of the contract on a result is refused by its name.
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
import { Reference } from "../journal/Reference.ts"
import { Contract } from "./Contract.ts"
import { settle } from "./internal/evidence.ts"
import { Cost, Count, Id, named, Text } from "./internal/fields.ts"
import { isVast, largest, owned, tooLarge, tooMuch } from "./internal/plain.ts"
import { decoder, pathOf, Problem, sentences } from "./internal/problems.ts"
import { ifUsual, isEmpty } from "./internal/usual.ts"

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
 * **Details**
 *
 * - `corrected`: of a `malformed` answer, that it was sent back already, inside the order: it is not corrected once more by
 *   another one.
 *
 * @category models
 * @since 0.1.0
 */
export const ErrorInfo = Schema.Struct({
  kind: ErrorKind,
  reason: Text,
  corrected: Schema.optionalKey(Schema.Literal(true))
})

/** @since 0.1.0 */
export interface Evidence extends Schema.Schema.Type<typeof Evidence> {}

/**
 * What was run to support a claim, where, against which revision, and how it ended.
 *
 * **Details**
 *
 * - `requirement`: id of the point of the definition of done that it supports.
 * - `command`: what was run. `exitStatus`: how it ended, a whole number; absent for a process that was killed. Without both
 *   a requirement stays unproven.
 * - `environment`: where, such as `node 24, linux`; it may always be left out. `revision`: against what, such as a commit;
 *   needed where the desk asks for one and the same revision (`acceptance.sameRevision`).
 * - `output`: what it printed; at most 4 KB are kept.
 * - `worker`, `task`, `at`: who gave it, for which task, and when, in milliseconds since the epoch. Written in at the
 *   boundary; an answer that names another worker or task is refused.
 *
 * @category models
 * @since 0.1.0
 */
export const Evidence = Schema.Struct({
  requirement: Text,
  command: Schema.optionalKey(Text),
  environment: Schema.optionalKey(Text),
  revision: Schema.optionalKey(Text),
  exitStatus: Schema.optionalKey(Schema.Int),
  output: Schema.optionalKey(Schema.String),
  worker: Schema.optionalKey(Text),
  task: Schema.optionalKey(Text),
  at: Schema.optionalKey(Schema.Finite)
})

/** @since 0.1.0 */
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/**
 * What a validator says about the result of another task. What a worker finds in the course of its own work is its output.
 *
 * **Details**
 *
 * - `subject`: the task. Absent = the only one that the validator was given.
 *
 * @category models
 * @since 0.1.0
 */
export const Finding = Schema.Struct({
  severity: Schema.Literals(["low", "medium", "high"]),
  statement: Text,
  subject: Schema.optionalKey(Id)
})

/** @since 0.1.0 */
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

/**
 * What the work consumed. Absent = not measured.
 *
 * **Details**
 *
 * - `steps`, `tokens`, `toolCalls`: whole numbers from 0 to 2^53 - 1.
 * - `cost`: in the currency of the desk, >= 0 and at most 1e15.
 *
 * @category models
 * @since 0.1.0
 */
export const Usage = Schema.Struct({
  steps: Schema.optionalKey(Count),
  tokens: Schema.optionalKey(Count),
  toolCalls: Schema.optionalKey(Count),
  cost: Schema.optionalKey(Cost)
})

/** @since 0.1.0 */
export interface Envelope extends Schema.Schema.Type<typeof Envelope> {}

/**
 * A result as it is stored and passed on: plain JSON, checked.
 *
 * **Details**
 *
 * - `output`: the value. `outputRef`: where it is, in the journal of a run with a store of artefacts, when it takes more
 *   than 64 KiB of JSON. There are never both.
 * - `artefacts`: what was delivered by reference, by name. Absent = none.
 * - `findings`: of a validator. Absent = none.
 * - `ambiguity`: a question that has to be answered before the task can be done. Absent = none.
 *
 * @category models
 * @since 0.1.0
 */
export const Envelope = Schema.Struct({
  status: Status,
  output: Schema.optionalKey(Schema.Json),
  outputRef: Schema.optionalKey(Reference),
  confidence: Schema.Finite.check(
    Schema.isBetween({ minimum: 0, maximum: 1 }, { expected: "a number between 0 and 1" })
  ),
  error: Schema.optionalKey(ErrorInfo),
  evidence: Schema.Array(Evidence),
  usage: Usage,
  missing: Schema.Array(Missing),
  artefacts: Schema.optionalKey(named(Reference)),
  findings: Schema.optionalKey(Schema.Array(Finding)),
  ambiguity: Schema.optionalKey(Text)
}).check(
  Schema.makeFilter((envelope) => !("output" in envelope && "outputRef" in envelope), {
    expected: "a result with an output or a reference to it, not both"
  })
)

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
  readonly artefacts?: Readonly<Record<string, Reference>> | undefined
  readonly findings?: ReadonlyArray<Finding> | undefined
  readonly ambiguity?: string | undefined
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
 * - `artefacts`: references by the names that the worker declares. Default none.
 * - `findings`: about the result of another task. Default none.
 * - `ambiguity`: a question that has to be answered; not on a result that is `completed`. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly confidence?: number | undefined
  readonly evidence?: ReadonlyArray<Evidence> | undefined
  readonly usage?: Usage | undefined
  readonly artefacts?: Readonly<Record<string, Reference>> | undefined
  readonly findings?: ReadonlyArray<Finding> | undefined
  readonly ambiguity?: string | undefined
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
  confidence: options?.confidence ?? (fields.output === undefined && options?.artefacts === undefined ? 0 : 1),
  evidence: options?.evidence ?? [],
  usage: options?.usage ?? {},
  missing,
  artefacts: options?.artefacts,
  findings: options?.findings,
  ambiguity: options?.ambiguity
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
 * Done, and everything that there is lies in the artefacts.
 *
 * **Gotchas**
 *
 * The tasks after it are handed the output `null` and the references.
 *
 * @category constructors
 * @since 0.1.0
 */
export const delivered = (
  artefacts: Readonly<Record<string, Reference>>,
  options?: Omit<Options, "artefacts"> | undefined
): Result<never> => result<never>("completed", {}, [], { ...options, artefacts })

/**
 * Cannot begin or go on.
 *
 * @category constructors
 * @since 0.1.0
 */
export const blocked = (kind: ErrorKind, reason: string, options?: Options | undefined): Result<never> =>
  result<never>("blocked", { error: { kind, reason } }, [], options)

/**
 * Cannot go on before a question is answered. Who does not answer it takes it for a task that this worker is not able to do.
 *
 * @category constructors
 * @since 0.1.0
 */
export const ambiguous = (question: string, options?: Omit<Options, "ambiguity"> | undefined): Result<never> =>
  result<never>("blocked", { error: { kind: "capability", reason: question } }, [], { ...options, ambiguity: question })

/**
 * Tried and failed. The same as failing with a marked error, with evidence and usage. `corrected`: see {@link ErrorInfo}.
 *
 * @category constructors
 * @since 0.1.0
 */
export const failed = (
  kind: ErrorKind,
  reason: string,
  options?: (Options & { readonly corrected?: true | undefined }) | undefined
): Result<never> => {
  const corrected = options?.corrected === true ? { corrected: true as const } : {}
  return result<never>("failed", { error: { kind, reason, ...corrected } }, [], options)
}

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
 * **Details**
 *
 * - `oversized`: it is only too large or too deep. The same worker is not asked again then, as it is after any other slip.
 *
 * @category errors
 * @since 0.1.0
 */
export class ResultInvalid extends Schema.TaggedError<ResultInvalid>("espalier/run/Result/ResultInvalid")(
  "ResultInvalid",
  { problems: Schema.Array(Problem), oversized: Schema.optionalKey(Schema.Boolean) }
) {
  /** @since 0.1.0 */
  get [Failure.kind](): "malformed" | "oversized" {
    return this.oversized === true ? "oversized" : "malformed"
  }

  override get message(): string {
    return `RESULT_INVALID: ${sentences(this.problems, "the answer")}`
  }
}

const problem = (path: string, expectation: string): Problem => ({ path, expectation, actual: "" })

const ofContract: ReadonlySet<string> = new Set(["contract", ...Object.keys(Contract.fields)])

/** Fields by which an answer would change what was asked of it. */
const overreach = (fields: object): ReadonlyArray<Problem> =>
  Object.keys(fields)
    .filter((field) => ofContract.has(field))
    .map((field) => problem(field, "belongs to the contract, which a result cannot change"))

const undeclared = (envelope: Envelope, declared: ReadonlyArray<string>): ReadonlyArray<Problem> =>
  Object.keys(envelope.artefacts ?? {})
    .filter((name) => !declared.includes(name))
    .map((name) => problem(pathOf(["artefacts", name]), "is not declared by the worker"))

const contradictions = (envelope: Envelope): ReadonlyArray<Problem> => {
  const problems: Array<Problem> = []
  const { ambiguity, artefacts = {}, error, missing, output, status } = envelope
  if (status === "completed" && ambiguity !== undefined) {
    problems.push(problem("ambiguity", "contradicts the status completed"))
  }
  if (status === "completed" || status === "partial" || status === "needs-review") {
    if (isEmpty(output) && Object.keys(artefacts).length === 0) problems.push(problem("output", "is empty"))
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

/** Where a large output is kept is not for a worker to say. */
const { outputRef: _, ...answered } = Envelope.fields

const decodeEnvelope = decoder(Schema.Struct(answered), "error")

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
 * Who gave an answer, for which task, and when, in milliseconds since the epoch.
 *
 * @category models
 * @since 0.1.0
 */
export interface Origin {
  readonly worker: string
  readonly task: string
  readonly at: number
}

/**
 * What an answer is checked against, besides its own form.
 *
 * **Details**
 *
 * - `artefacts`: the names that the worker declares. Default none.
 * - `origin`: written into the evidence. Default: evidence stays as it was given.
 * - `limit`: how many bytes of JSON the output may take, a whole number > 0. Default 2 MiB.
 * - `redact`: takes the secrets out of what evidence printed, before it is shortened. Default: it stays as it was given.
 *
 * @category models
 * @since 0.1.0
 */
export interface Boundary {
  readonly artefacts?: ReadonlyArray<string> | undefined
  readonly origin?: Origin | undefined
  readonly limit?: number | undefined
  readonly redact?: ((text: string) => string) | undefined
}

/**
 * Checks what a handler returned and makes it the envelope that is stored.
 *
 * **Details**
 *
 * `encodeOutput` turns the worker's output into plain JSON by its output schema, or says what is wrong with it.
 *
 * **Gotchas**
 *
 * That the references of artefacts resolve and match their hashes is not looked at here: `Artefacts.broken` does it, and
 * every run before it takes an answer.
 *
 * @category validation
 * @since 0.1.0
 */
export const check = (
  answer: unknown,
  encodeOutput: (output: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>,
  boundary: Boundary = {}
): EffectResult.Result<Envelope, ResultInvalid> => {
  const fields: { [field: string]: unknown } = { ...fieldsOf(answer) }
  const overreached = overreach(fields)
  if (overreached.length > 0) return invalid(overreached)
  if (isEmpty(fields["output"])) delete fields["output"]
  else {
    const encoded = encodeOutput(fields["output"])
    if (EffectResult.isFailure(encoded)) return invalid(encoded.failure.map(belowOutput))
    fields["output"] = encoded.success
  }
  const usual = ifUsual(fields)
  if (usual !== undefined) return EffectResult.succeed(usual)
  // Before anything walks through all of it.
  const { limit = largest } = boundary
  if (isVast(fields["output"], limit)) return oversized(problem("output", tooLarge(limit)))
  const decoded = decodeEnvelope(fields)
  if (EffectResult.isFailure(decoded)) return invalid(decoded.failure)
  const settled = settle(decoded.success.evidence, boundary.origin, boundary.redact)
  const envelope = { ...decoded.success, evidence: settled.evidence }
  const problems = [...settled.problems, ...undeclared(envelope, boundary.artefacts ?? []), ...contradictions(envelope)]
  if (problems.length > 0) return invalid(problems)
  const large = tooMuch(envelope.output, "output", limit) ?? tooMuch({ ...envelope, output: null }, "")
  if (large !== undefined) return oversized(large)
  if (envelope.output !== undefined) {
    const own = owned(envelope.output, "output", limit)
    return EffectResult.isFailure(own)
      ? invalid([own.failure])
      : EffectResult.succeed({ ...envelope, output: own.success })
  }
  const byReference = envelope.artefacts !== undefined && envelope.error === undefined
  return EffectResult.succeed(byReference ? { ...envelope, output: null } : envelope)
}

const invalid = (problems: ReadonlyArray<Problem>): EffectResult.Result<never, ResultInvalid> =>
  EffectResult.fail(new ResultInvalid({ problems }))

const oversized = (large: Problem): EffectResult.Result<never, ResultInvalid> =>
  EffectResult.fail(new ResultInvalid({ problems: [large], oversized: true }))

const belowOutput = (each: Problem): Problem => ({
  ...each,
  path: each.path === "" ? "output" : each.path.startsWith("[") ? `output${each.path}` : `output.${each.path}`
})
