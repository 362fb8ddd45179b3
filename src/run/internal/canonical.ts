/**
 * One text for one JSON value, and a digest of it.
 *
 * Keys are sorted by their UTF-16 units, numbers and texts are written as `JSON.stringify` writes them: RFC 8785.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8785
 * @since 0.1.0
 */
import * as Digest from "effect/crypto/Digest"
import * as Hex from "effect/encoding/Hex"
import * as Predicate from "effect/Predicate"

type Part = { readonly text: string } | { readonly value: unknown }

/** The parts of an array or object in order, the last one first, as a stack takes them. */
const partsOf = (value: object): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  if (Array.isArray(value)) {
    parts.push({ text: "[" })
    value.forEach((item, index) => {
      if (index > 0) parts.push({ text: "," })
      parts.push({ value: item })
    })
    parts.push({ text: "]" })
  } else {
    const entries = Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    parts.push({ text: "{" })
    entries.forEach(([key, item], index) => {
      parts.push({ text: `${index > 0 ? "," : ""}${JSON.stringify(key)}:` }, { value: item })
    })
    parts.push({ text: "}" })
  }
  return parts.toReversed()
}

/** Levels that are written by recursion, which is several times as fast as a stack. */
const shallow = 200

const textOf = (value: unknown, depth: number): string => {
  if (!Predicate.isObjectOrArray(value)) return JSON.stringify(value) ?? "null"
  if (depth > shallow) return walked(value)
  if (Array.isArray(value)) {
    let text = "["
    value.forEach((item: unknown, index) => {
      text += index > 0 ? `,${textOf(item, depth + 1)}` : textOf(item, depth + 1)
    })
    return `${text}]`
  }
  const fields = value as { readonly [key: string]: unknown }
  let text = ""
  // Sorted by their UTF-16 units, as texts are sorted by themselves.
  for (const key of Object.keys(fields).toSorted()) {
    const field = fields[key]
    if (field !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${textOf(field, depth + 1)}`
  }
  return `{${text}}`
}

const walked = (value: unknown): string => {
  let text = ""
  const stack: Array<Part> = [{ value }]
  for (let part = stack.pop(); part !== undefined; part = stack.pop()) {
    if ("text" in part) text += part.text
    else if (Predicate.isObjectOrArray(part.value)) for (const each of partsOf(part.value)) stack.push(each)
    else text += JSON.stringify(part.value) ?? "null"
  }
  return text
}

/**
 * A JSON value as its canonical text. Beyond a few levels it walks with a stack of its own, so depth is no limit.
 *
 * A property that is `undefined` is left out, `-0` is `0`; for what is not JSON at all the text is that of `null`.
 *
 * @since 0.1.0
 */
export const canonical = (value: unknown): string => textOf(value, 0)

/**
 * A digest that tells one text from another, 32 hexadecimal digits; nobody has to be kept from forging one. The digests of
 * WebCrypto would wait for a turn of the real event loop, which a test clock does not know of.
 *
 * @since 0.1.0
 */
export const digest = (text: string): string =>
  Hex.encode(Digest.md5.implementation?.(new TextEncoder().encode(text)) ?? text)
