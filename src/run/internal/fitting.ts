/**
 * Whether arguments fit a JSON schema that was recorded with a question, so that they can be checked where the tool is not.
 *
 * **Details**
 *
 * - A schema is read as JSON Schema of 2020-12, as far as Effect can read it. Each of its keywords must be known and have a
 *   value of its kind: one that asks for something that is not understood would let through what it forbids.
 * - What only describes is not checked: titles, defaults, examples, `format`, and names that begin with `x-`.
 *
 * **Gotchas**
 *
 * - It is what the tool's schema says of its encoded form, without the checks that JSON Schema has no words for. The schema
 *   of the tool itself goes on to be asked before the action.
 * - A pattern runs over what a reviewer has given. It comes from the author of the tool, who can keep it from being slow.
 *
 * @see https://json-schema.org/draft/2020-12
 * @since 0.1.0
 */
import * as JsonSchema from "effect/JsonSchema"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaRepresentation from "effect/SchemaRepresentation"

import { owned } from "./plain.ts"
import { isFields, isList, pointerOf } from "./pointers.ts"
import { issuesOf, type Problem, shorten, thrown } from "./problems.ts"

/** The value of a keyword: schemas inside of it with their places, or nothing when it is not of its kind. */
type Kind = (value: Schema.Json) => ReadonlyArray<readonly [ReadonlyArray<string>, Schema.Json]> | undefined

const plainly =
  (holds: (value: Schema.Json) => boolean): Kind =>
  (value) =>
    holds(value) ? [] : undefined

const isText = (value: Schema.Json): value is string => typeof value === "string"

const isScalar = (value: Schema.Json): boolean => value === null || typeof value !== "object"

const anything = plainly(() => true)
const text = plainly(isText)
const flag = plainly((value) => typeof value === "boolean")
const number = plainly((value) => typeof value === "number")
const count = plainly((value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
const texts = plainly((value) => isList(value) && value.every(isText))
const schema: Kind = (value) => (typeof value === "boolean" || isFields(value) ? [[[], value]] : undefined)
const schemas: Kind = (value) =>
  isList(value) && value.length > 0 ? value.map((each, index) => [[String(index)], each]) : undefined
const named: Kind = (value) =>
  isFields(value) ? Object.entries(value).map(([name, each]) => [[name], each]) : undefined

const types = new Set<Schema.Json>(["null", "boolean", "object", "array", "number", "integer", "string"])

const keywords: ReadonlyMap<string, Kind> = new Map([
  [
    "type",
    plainly((value) => (isList(value) ? value.length > 0 && value.every((each) => types.has(each)) : types.has(value)))
  ],
  ["const", plainly(isScalar)],
  ["enum", plainly((value) => isList(value) && value.length > 0 && value.every(isScalar))],
  ["$ref", text],
  ["allOf", schemas],
  ["anyOf", schemas],
  ["oneOf", schemas],
  ["not", schema],
  ["properties", named],
  ["patternProperties", named],
  ["additionalProperties", schema],
  ["propertyNames", schema],
  ["required", texts],
  ["minProperties", count],
  ["maxProperties", count],
  ["items", schema],
  ["prefixItems", schemas],
  ["minItems", count],
  ["maxItems", count],
  ["uniqueItems", flag],
  ["minLength", count],
  ["maxLength", count],
  ["pattern", text],
  ["minimum", number],
  ["maximum", number],
  ["exclusiveMinimum", number],
  ["exclusiveMaximum", number],
  ["multipleOf", plainly((value) => typeof value === "number" && value > 0)],
  ["title", text],
  ["description", text],
  ["$comment", text],
  ["format", text],
  ["contentEncoding", text],
  ["contentMediaType", text],
  ["contentSchema", anything],
  ["default", anything],
  ["examples", anything],
  ["deprecated", flag],
  ["readOnly", flag],
  ["writeOnly", flag]
])

const atRoot: ReadonlyMap<string, Kind> = new Map([
  ["$defs", named],
  ["$schema", plainly((value) => value === "https://json-schema.org/draft/2020-12/schema")]
])

/** What keeps a schema from being read: the first keyword that is not known, or has a value of another kind. */
const unread = (value: Schema.Json, tokens: ReadonlyArray<string>): string | undefined => {
  if (typeof value === "boolean") return undefined
  const at = tokens.length === 0 ? "the schema" : `the schema at ${shorten(pointerOf(tokens), 120)}`
  if (!isFields(value)) return `${at} is none`
  for (const [keyword, given] of Object.entries(value)) {
    if (keyword.startsWith("x-")) continue
    const name = JSON.stringify(shorten(keyword, 48))
    const kind = keywords.get(keyword) ?? (tokens.length === 0 ? atRoot.get(keyword) : undefined)
    if (kind === undefined) return `${at} has ${name}, which is not understood`
    const inside = kind(given)
    if (inside === undefined) return `${at} has a ${name} of another kind than it must be`
    for (const [more, each] of inside) {
      const reason = unread(each, [...tokens, keyword, ...more])
      if (reason !== undefined) return reason
    }
  }
  return undefined
}

/** A schema that decides about arguments, or why there is none. */
const read = (recorded: Schema.Json): EffectResult.Result<Schema.Codec<unknown>, string> => {
  const document = owned(recorded, "")
  if (EffectResult.isFailure(document)) return EffectResult.fail(`the schema ${document.failure.expectation}`)
  const reason = unread(document.success, [])
  if (reason !== undefined) return EffectResult.fail(reason)
  const { success } = document
  try {
    const imported = SchemaRepresentation.fromJsonSchemaDocument(
      // `true` is anything and `false` nothing.
      JsonSchema.fromSchemaDraft2020_12(isFields(success) ? success : success === true ? {} : { not: {} }),
      { patterns: "apply" }
    )
    return EffectResult.succeed(imported as Schema.Codec<unknown>)
  } catch (error) {
    return EffectResult.fail(shorten(thrown(error), 300))
  }
}

/**
 * What is wrong with arguments by a recorded schema, each with a JSON Pointer as its path. A schema that cannot be read
 * refuses all of them.
 *
 * @since 0.1.0
 */
export const fits = (args: Schema.Json, recorded: Schema.Json): ReadonlyArray<Problem> => {
  const value = owned(args, "")
  if (EffectResult.isFailure(value)) return [value.failure]
  const refuse = (reason: string) => [{ path: "", expectation: `cannot be checked: ${reason}`, actual: "" }]
  const schema = read(recorded)
  if (EffectResult.isFailure(schema)) return refuse(schema.failure)
  try {
    const decoded = Schema.decodeResult(schema.success, { errors: "all", onExcessProperty: "error" })(value.success)
    if (EffectResult.isSuccess(decoded)) return []
    return issuesOf(decoded.failure, value.success).map(({ keys, ...rest }) => ({ path: pointerOf(keys), ...rest }))
  } catch (error) {
    return refuse(shorten(thrown(error), 300))
  }
}

/**
 * The schema of a tool's arguments as it is recorded with a question, in one JSON value; `undefined` when there is no such
 * schema, or none that {@link fits} could read.
 *
 * @since 0.1.0
 */
export const recordable = (schema: Schema.Constraint): Schema.Json | undefined => {
  try {
    const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
    const document = owned(Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }, "")
    return EffectResult.isSuccess(document) && EffectResult.isSuccess(read(document.success))
      ? document.success
      : undefined
  } catch {
    return undefined
  }
}
