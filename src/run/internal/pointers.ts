/**
 * JSON Pointers: where in a JSON value something stands.
 *
 * A pointer is looked up among the fields that a value has itself, never among those that every object has.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6901
 * @since 0.1.0
 */
import * as JsonPointer from "effect/JsonPointer"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"

/** Characters of a pointer. */
const longest = 1024

/**
 * What is expected of a text that is no pointer.
 *
 * @since 0.1.0
 */
export const pointerExpected = `must be a JSON Pointer of at most ${longest} characters: "" or names that each follow a "/", with "~0" for "~" and "~1" for "/"`

/**
 * The names in a pointer, from the outermost one on; `undefined` when it is none.
 *
 * @since 0.1.0
 */
export const tokensOf = (pointer: unknown): ReadonlyArray<string> | undefined => {
  if (typeof pointer !== "string" || pointer.length > longest) return undefined
  if (pointer === "") return []
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined
  return pointer.slice(1).split("/").map(JsonPointer.unescapeToken)
}

/**
 * Names as a pointer.
 *
 * @since 0.1.0
 */
export const pointerOf = (tokens: ReadonlyArray<PropertyKey>): string =>
  tokens.map((token) => `/${JsonPointer.escapeToken(String(token))}`).join("")

/**
 * Whether a pointer leads to the same place as another one or below it.
 *
 * @since 0.1.0
 */
export const isWithin = (tokens: ReadonlyArray<string>, above: ReadonlyArray<string>): boolean =>
  above.length <= tokens.length && above.every((token, index) => token === tokens[index])

const indexPattern = /^(?:0|[1-9]\d*)$/

/**
 * The place of an item in a list, if the list has it: a whole number without leading zeros.
 *
 * @since 0.1.0
 */
export const indexIn = (list: ReadonlyArray<unknown>, token: string): number | undefined =>
  indexPattern.test(token) && Number(token) < list.length ? Number(token) : undefined

/**
 * Whether a JSON value is a list.
 *
 * @since 0.1.0
 */
export const isList = (value: Schema.Json): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/**
 * Whether a JSON value has fields.
 *
 * @since 0.1.0
 */
export const isFields = (value: Schema.Json): value is Readonly<Record<string, Schema.Json>> =>
  Predicate.isObjectOrArray(value) && !Array.isArray(value)

/**
 * What stands at a pointer, which may be `null`; `undefined` when nothing is there.
 *
 * @since 0.1.0
 */
export const valueAt = (value: Schema.Json, tokens: ReadonlyArray<string>): Schema.Json | undefined => {
  let here: Schema.Json | undefined = value
  for (const token of tokens) {
    if (here === undefined) return undefined
    if (isList(here)) {
      const index = indexIn(here, token)
      here = index === undefined ? undefined : here[index]
    } else here = isFields(here) && Object.hasOwn(here, token) ? here[token] : undefined
  }
  return here
}
