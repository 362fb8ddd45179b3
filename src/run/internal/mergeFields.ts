/**
 * How the values of one field are read, merged and answered for, with the type of a single value hidden inside.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { canonical } from "./canonical.ts"
import { decoder, encoder, type Problem, sentences } from "./problems.ts"

/** @since 0.1.0 */
export interface Value extends Schema.Schema.Type<typeof Value> {}

/**
 * What one task gives for a field.
 *
 * **Details**
 *
 * - `confidence`: of the task's result, between 0 and 1.
 *
 * @category models
 * @since 0.1.0
 */
export const Value = Schema.Struct({ task: Schema.String, value: Schema.Json, confidence: Schema.Finite })

/**
 * What one task gives for a field, decoded.
 *
 * **Details**
 *
 * - `confidence`: of the task's result, between 0 and 1.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part<out P> {
  readonly task: string
  readonly value: P
  readonly confidence: number
}

/**
 * A part with its JSON, and that as a text that equal values share.
 *
 * @since 0.1.0
 */
export interface Keyed<out P> extends Part<P> {
  readonly json: Schema.Json
  readonly key: string
}

/** @since 0.1.0 */
export interface Held<out A> {
  readonly value: A
  readonly json: Schema.Json
}

/**
 * A field, whatever its parts are.
 *
 * **Details**
 *
 * - `chooses`: whether one of several different values is taken, and the others are not part of the whole.
 * - `read`: a raw value, checked, without the claims that nothing backs; `json` is `undefined` when nothing is left.
 * - `merge`: values that were read, in the order of the plan, at least one. None = they contradict each other, or what comes out
 *   does not fit.
 * - `answer`: a raw answer, checked against the merged field.
 * - `schema`: the JSON schema of such an answer.
 *
 * @since 0.1.0
 */
export interface Shape<out A> {
  readonly rule: string
  readonly chooses: boolean
  readonly from: string | undefined
  readonly read: (
    raw: unknown
  ) => Result.Result<
    { readonly json: Schema.Json | undefined; readonly dropped: ReadonlyArray<Schema.Json> },
    ReadonlyArray<Problem>
  >
  readonly merge: (values: ReadonlyArray<Value>) => Option.Option<Held<A>>
  readonly answer: (raw: unknown) => Result.Result<Held<A>, ReadonlyArray<Problem>>
  readonly schema: () => Schema.Json
}

/** A value that was decoded must encode, and the other way round; a schema for which it does not is a mistake. */
const sure = <A>(result: Result.Result<A, ReadonlyArray<Problem>>): A => {
  if (Result.isSuccess(result)) return result.success
  throw new RangeError(`Aggregate: schema must encode what it decodes, got ${sentences(result.failure)}`)
}

/** @since 0.1.0 */
export const shape = <P, A>(options: {
  readonly rule: string
  readonly chooses: boolean
  readonly from: string | undefined
  readonly part: Schema.Codec<P, unknown>
  readonly merged: Schema.Codec<A, unknown>
  readonly sift: (part: P) => { readonly kept: Option.Option<P>; readonly dropped: ReadonlyArray<Schema.Json> }
  readonly merge: (parts: ReadonlyArray<Keyed<P>>) => Option.Option<A>
}): Shape<A> => {
  const { chooses, from, merge, merged, part, rule, sift } = options
  const decodePart = decoder(Schema.toCodecJson(part))
  const encodePart = encoder(Schema.toCodecJson(part))
  const decodeMerged = decoder(Schema.toCodecJson(merged))
  const encodeMerged = encoder(Schema.toCodecJson(merged))
  const held = (value: A): Result.Result<Held<A>, ReadonlyArray<Problem>> =>
    Result.map(encodeMerged(value), (json) => ({ value, json }))
  return {
    rule,
    chooses,
    from,
    read: (raw) =>
      Result.map(decodePart(raw), (value) => {
        const { dropped, kept } = sift(value)
        return { json: Option.isNone(kept) ? undefined : sure(encodePart(kept.value)), dropped }
      }),
    merge: (values) =>
      Option.flatMap(
        merge(
          values.map(({ confidence, task, value: json }) => ({
            task,
            confidence,
            value: sure(decodePart(json)),
            json,
            key: canonical(json)
          }))
        ),
        (value) => Result.getSuccess(held(value))
      ),
    answer: (raw) => Result.flatMap(decodeMerged(raw), held),
    schema: () => jsonSchema(merged)
  }
}

/**
 * Keeps a single value that its predicate backs.
 *
 * @since 0.1.0
 */
export const siftOne =
  <A>(schema: Schema.Codec<A, unknown>, backed: ((claim: A) => boolean) | undefined) =>
  (claim: A): { readonly kept: Option.Option<A>; readonly dropped: ReadonlyArray<Schema.Json> } =>
    backed === undefined || backed(claim)
      ? { kept: Option.some(claim), dropped: [] }
      : { kept: Option.none(), dropped: [sure(encoder(Schema.toCodecJson(schema))(claim))] }

/**
 * Keeps the items that their predicate backs. A list of which nothing is left is no value; one that was empty is one.
 *
 * @since 0.1.0
 */
export const siftMany = <A>(item: Schema.Codec<A, unknown>, backed: ((claim: A) => boolean) | undefined) => {
  const encode = encoder(Schema.toCodecJson(item))
  return (
    claims: ReadonlyArray<A>
  ): { readonly kept: Option.Option<ReadonlyArray<A>>; readonly dropped: ReadonlyArray<Schema.Json> } => {
    if (backed === undefined) return { kept: Option.some(claims), dropped: [] }
    const kept: Array<A> = []
    const dropped: Array<Schema.Json> = []
    for (const claim of claims) {
      if (backed(claim)) kept.push(claim)
      else dropped.push(sure(encode(claim)))
    }
    return { kept: dropped.length > 0 && kept.length === 0 ? Option.none() : Option.some(kept), dropped }
  }
}

const isJson = Schema.is(Schema.Json)

/** The JSON schema of an answer, as far as it can be told. */
const jsonSchema = (schema: Schema.Constraint): Schema.Json => {
  try {
    const document = Schema.toJsonSchemaDocument(schema)
    const whole =
      Object.keys(document.definitions).length === 0
        ? document.schema
        : { ...document.schema, $defs: document.definitions }
    return isJson(whole) ? whole : {}
  } catch {
    return {}
  }
}
