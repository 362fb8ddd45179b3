/**
 * How deep and how large a plain JSON value is, so that nothing reaches the journal that it could not hold.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

import type { Problem } from "./problems.ts"

/** Levels of nesting that an input or an output may have. */
const deepest = 128

/** Bytes of JSON that an input or an output may take: 2 MiB. */
const largest = 2 * 1024 * 1024

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
export const tooMuch = (value: unknown, path: string): Problem | undefined => {
  let bytes = 0
  let level: ReadonlyArray<unknown> = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return { path, expectation: `must have at most ${deepest} levels`, actual: "" }
    const below: Array<unknown> = []
    for (const each of level) {
      if (typeof each === "string") bytes += textBytes(each, largest)
      else if (typeof each !== "object" || each === null) bytes += 8
      else if (Array.isArray(each)) for (const item of each) below.push(item)
      else {
        for (const [key, item] of Object.entries(each)) {
          bytes += textBytes(key, largest) + 2
          below.push(item)
        }
      }
      if (bytes > largest) return { path, expectation: "must be at most 2 MiB of JSON", actual: "" }
    }
    level = below
  }
  return undefined
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

const sure = (value: unknown, depth: number): boolean => {
  if (depth > deepest) return false
  if (typeof value === "string") {
    room -= 6 * value.length + 2
    return room >= 0
  }
  room -= 8
  if (room < 0) return false
  if (typeof value === "number") return Number.isFinite(value)
  if (value === null || typeof value === "boolean") return true
  if (typeof value !== "object") return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!sure(value[index], depth + 1)) return false
    return true
  }
  if (!isPlain(value)) return false
  for (const key of Object.keys(value)) {
    room -= 6 * key.length + 4
    if (!sure((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false
  }
  return true
}

/**
 * Whether a value is plain JSON beyond any doubt, and well within what {@link tooMuch} allows. `false` says only that it has
 * to be looked at more closely.
 *
 * @since 0.1.0
 */
export const isSurelyPlain = (value: unknown): boolean => {
  room = largest
  try {
    return sure(value, 0)
  } catch {
    return false
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
      ? value.map(frozen)
      : Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozen(item)]))
  )
}
