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
