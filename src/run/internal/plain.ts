/**
 * How deep and how large a plain JSON value is, so that nothing reaches the journal that it could not hold.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type Problem, shorten, show, thrown } from "./problems.ts"

/** Levels of nesting that an input or an output may have. */
const deepest = 128

/**
 * Bytes of JSON that an input or an output may take when nothing else is said: 2 MiB.
 *
 * @since 0.1.0
 */
export const largest = 2 * 1024 * 1024

/**
 * What is expected of a value that takes more bytes than `most`.
 *
 * @since 0.1.0
 */
export const tooLarge = (most: number = largest): string =>
  `must be at most ${most % 2 ** 20 === 0 ? `${most / 2 ** 20} MiB` : `${most} bytes`} of JSON`

/** Bytes of a text as JSON in UTF-8, as far as `limit`. */
const textBytes = (text: string, limit: number): number => {
  let bytes = 2
  for (let index = 0; index < text.length && bytes <= limit; index++) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) bytes += code < 0x800 ? 2 : 3
    else if (code < 0x20) bytes += 6
    else bytes += code === 0x22 || code === 0x5c ? 2 : 1
  }
  return bytes
}

/**
 * What keeps a plain JSON value out of the journal, if anything does.
 *
 * @since 0.1.0
 */
export const tooMuch = (value: unknown, path: string, most: number = largest): Problem | undefined => {
  let bytes = 0
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return { path, expectation: `must have at most ${deepest} levels`, actual: "" }
    const below: Array<unknown> = []
    for (const each of level) {
      if (typeof each === "string") bytes += textBytes(each, most)
      else if (typeof each !== "object" || each === null) bytes += 8
      else if (Array.isArray(each)) {
        // What holds nothing takes room, too: parts that are shared are counted wherever they stand.
        bytes += 2 + each.length
        if (bytes <= most) for (const item of each) below.push(item)
      } else {
        bytes += 2
        for (const [key, item] of Object.entries(each)) {
          bytes += textBytes(key, most) + 2
          below.push(item)
        }
      }
      if (bytes > most) return { path, expectation: tooLarge(most), actual: "" }
    }
    level = below
  }
  return undefined
}

/**
 * Whether a value is too large, whatever else is to be said of it.
 *
 * @since 0.1.0
 */
export const isVast = (value: unknown, most: number = largest): boolean => {
  try {
    return tooMuch(value, "", most)?.expectation === tooLarge(most)
  } catch {
    return false
  }
}

/** Of a value that has to be looked at more closely. */
const unsure = Symbol("unsure")

/** Bytes that are left for the rest of a value; a text counts as if each of its characters took the most. */
let room = 0

/**
 * Whether an object is of no class.
 *
 * @since 0.1.0
 */
export const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const copied = (value: unknown, depth: number): unknown => {
  if (depth > deepest) return unsure
  if (typeof value === "string") {
    room -= 6 * value.length + 2
    return room < 0 ? unsure : value
  }
  room -= 8
  if (room < 0) return unsure
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : unsure // no negative zero
  if (value === null || typeof value === "boolean") return value
  if (typeof value !== "object") return unsure
  if (Array.isArray(value)) {
    const items: Array<unknown> = []
    // A hole is read as what is not JSON.
    for (let index = 0; index < value.length; index++) {
      const item = copied(value[index], depth + 1)
      if (item === unsure) return unsure
      items.push(item)
    }
    return Object.freeze(items)
  }
  if (!isPlain(value)) return unsure
  const fields: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    if (key === "__proto__") return unsure
    room -= 6 * key.length + 4
    const field = copied((value as Readonly<Record<string, unknown>>)[key], depth + 1)
    if (field === unsure) return unsure
    fields[key] = field
  }
  return Object.getOwnPropertySymbols(value).length > 0 ? unsure : Object.freeze(fields)
}

/**
 * What {@link frozen} gives of a value that is plain JSON beyond any doubt and well within what {@link tooMuch} allows;
 * `undefined` of any other, which is not to say that it is none. It is several times as fast as a schema.
 *
 * @since 0.1.0
 */
export const frozenIfPlain = (value: unknown): unknown => {
  room = largest
  try {
    const copy = copied(value, 0)
    return copy === unsure ? undefined : copy
  } catch {
    return undefined
  }
}

/**
 * A copy of a plain JSON value that nobody can change, not even whoever made the value. At most as deep as
 * {@link tooMuch} allows.
 *
 * @since 0.1.0
 */
export const frozen = (value: unknown): unknown => {
  if (Object.is(value, -0)) return 0
  if (!Predicate.isObjectOrArray(value)) return value
  return Object.freeze(
    Array.isArray(value)
      ? // A list of a class of its own becomes a list like any other.
        Array.from<unknown, unknown>(value, frozen)
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozen(item)]))
  )
}

/**
 * The same value, which nobody can change from here on. What is sealed already is not walked through again.
 *
 * @since 0.1.0
 */
export const sealed = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  for (const each of Object.values(value)) sealed(each)
  return Object.freeze(value)
}

const isJson = Schema.is(Schema.Json)

/**
 * A copy that nobody can change of what is plain JSON and not too much, or what keeps it from being so.
 *
 * It is the copy that was looked at: what a getter or a proxy would answer the next time does not matter, nor what it hides
 * from those who list its keys, such as a `toJSON`.
 *
 * @since 0.1.0
 */
export const owned = (value: unknown, path: string, most: number = largest): Result.Result<Schema.Json, Problem> => {
  const copy = frozenIfPlain(value)
  if (copy !== undefined) return Result.succeed(copy as Schema.Json)
  const refuse = (expectation: string) => Result.fail({ path, expectation, actual: show(value) })
  try {
    const large = tooMuch(value, path, most)
    if (large !== undefined) return Result.fail(large)
    if (!isJson(value)) return refuse("must be a plain JSON value")
    const copy = frozen(value)
    // It may have been something else when it was looked at.
    return isJson(copy) ? Result.succeed(copy) : refuse("must be a plain JSON value")
  } catch (error) {
    return refuse(`must be readable: ${shorten(thrown(error), 120)}`)
  }
}
