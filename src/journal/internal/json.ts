/**
 * A JSON value as text: what is refused, and why.
 *
 * `JSON.stringify` alone writes `null` for `NaN`, drops what it does not know, calls `toJSON`, and overflows the stack on
 * deep or cyclic data. A journal must give back what it was given, so all of that is refused before it is written.
 *
 * **Details**
 *
 * - `-0` becomes `0`, and a property whose value is `undefined` is left out: JSON has no other way to say them.
 * - A `__proto__` key is a key like any other, a lone surrogate is kept (as an escape), in both directions.
 * - Symbol keys and properties that are not enumerable are not part of a JSON value.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"

/** How deep arrays and objects may be nested. */
export const maxDepth = 256

/** Why a value was refused. */
export type Refusal =
  | { readonly _tag: "TooLarge"; readonly bytes: number }
  | { readonly _tag: "NotJson"; readonly path: string; readonly problem: string }

/** The bytes of a text in UTF-8. */
const utf8Length = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    // A surrogate pair is two units and four bytes; `JSON.stringify` leaves no lone one.
    if (unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff)) bytes += 2
    else if (unit > 0x7f) bytes += 1
  }
  return bytes
}

/** A plain object of any realm: its prototype is nothing, or the one at the end of every chain. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return Predicate.isObjectOrArray(prototype) && Object.getPrototypeOf(prototype) === null
}

const segment = (key: string | number): string => {
  if (typeof key === "number") return `[${key}]`
  const shown = key.length > 40 ? `${key.slice(0, 40)}…` : key
  return /^[A-Za-z_$][\w$]*$/.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`
}

const describe = (value: unknown): string => {
  if (typeof value === "number") return Number.isNaN(value) ? "NaN" : "an infinite number"
  if (typeof value === "object") return "an object of a class"
  return value === undefined ? "undefined" : `a ${typeof value}`
}

/**
 * Counts a lower bound of the text's bytes while it looks for what is not JSON, and stops at the first refusal. Counting
 * bounds the walk over data that shares its parts, which would be written once for each place it appears in.
 */
const inspect = (root: unknown, limit: number): Refusal | undefined => {
  const path: Array<string | number> = []
  let bytes = 0

  const notJson = (problem: string): Refusal => ({
    _tag: "NotJson",
    path: path.slice(0, 8).map(segment).join(""),
    problem
  })

  const step = (key: string | number, value: unknown): Refusal | undefined => {
    path.push(key)
    const refusal = walk(value)
    path.pop()
    return refusal
  }

  const walk = (value: unknown): Refusal | undefined => {
    if (typeof value === "string") bytes += value.length + 2
    else if (value === null || typeof value === "boolean") bytes += 4
    else if (typeof value === "number" && Number.isFinite(value)) bytes += 1
    else if (typeof value !== "object" || !(Array.isArray(value) || isPlain(value))) {
      return notJson(`must be a JSON value, is ${describe(value)}`)
    } else if (path.length >= maxDepth) {
      return notJson(`must not be nested deeper than ${maxDepth} levels, or is a cycle`)
    } else {
      bytes += 2
      const refusal = Array.isArray(value) ? walkArray(value) : walkObject(value)
      if (refusal !== undefined) return refusal
    }
    return bytes > limit ? { _tag: "TooLarge", bytes } : undefined
  }

  const walkArray = (value: ReadonlyArray<unknown>): Refusal | undefined => {
    for (let i = 0; i < value.length; i++) {
      const refusal = step(i, value[i])
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  const walkObject = (value: object): Refusal | undefined => {
    for (const [key, child] of Object.entries(value)) {
      if (child === undefined) continue
      bytes += key.length + 3
      const refusal = step(key, child)
      if (refusal !== undefined) return refusal
    }
    return undefined
  }

  return walk(root)
}

/** Bytes that are left for the rest of a value that is being looked over. */
let room = 0

/** Whether a value is JSON beyond any doubt; `false` says only that it has to be inspected, by whom has words for it. */
const isSound = (value: unknown, depth: number): boolean => {
  if (typeof value === "string") room -= value.length + 2
  else if (value === null || typeof value === "boolean") room -= 4
  else if (typeof value === "number") {
    if (!Number.isFinite(value)) return false
    room -= 1
  } else if (typeof value !== "object" || depth >= maxDepth) return false
  else if (Array.isArray(value)) {
    room -= 2
    for (let i = 0; i < value.length; i++) if (!isSound(value[i], depth + 1)) return false
  } else {
    if (!isPlain(value)) return false
    room -= 2
    for (const key of Object.keys(value)) {
      const child = (value as Readonly<Record<string, unknown>>)[key]
      if (child === undefined) continue
      room -= key.length + 3
      if (!isSound(child, depth + 1)) return false
    }
  }
  return room >= 0
}

/** The text of a value of at most `limit` bytes in UTF-8. */
export const encode = (value: unknown, limit: number): Result.Result<string, Refusal> => {
  room = limit
  if (!isSound(value, 0)) {
    const refusal = inspect(value, limit)
    if (refusal !== undefined) return Result.fail(refusal)
  }
  const text = JSON.stringify(value)
  // No unit takes more than three bytes, so most texts need no counting.
  if (text.length * 3 > limit) {
    const bytes = utf8Length(text)
    if (bytes > limit) return Result.fail({ _tag: "TooLarge", bytes })
  }
  return Result.succeed(text)
}
