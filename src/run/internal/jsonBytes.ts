/**
 * How many bytes a value takes as JSON, without writing more of it than long texts.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"

/** The control characters that have a short form: backspace, tab, line feed, form feed, carriage return. */
const isShort = (code: number): boolean => code === 0x0d || (code >= 0x08 && code <= 0x0c && code !== 0x0b)

const encoder = new TextEncoder()

/** A text of more characters is written, which the engine does faster than this can count. */
const longest = 512

const textBytes = (text: string): number => {
  if (text.length > longest) return encoder.encode(JSON.stringify(text)).length
  let bytes = 2 + text.length
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code < 0x20) bytes += isShort(code) ? 1 : 5
    else if (code === 0x22 || code === 0x5c) bytes += 1
    else if (code < 0x80) continue
    else if (code < 0x800) bytes += 1
    else if (code < 0xd800 || code > 0xdfff) bytes += 2
    else {
      const next = code < 0xdc00 ? text.charCodeAt(index + 1) : 0
      if (next >= 0xdc00 && next <= 0xdfff) {
        bytes += 2
        index += 1
      } else bytes += 5 // half of a pair is escaped
    }
  }
  return bytes
}

/**
 * Bytes of a plain JSON value as JSON in UTF-8. Its canonical text has the same: the order of its keys makes no difference.
 *
 * @since 0.1.0
 */
export const jsonBytes = (value: Schema.Json): number => {
  if (typeof value === "string") return textBytes(value)
  if (typeof value !== "object" || value === null) return String(value).length
  let bytes = 2
  if (Array.isArray(value)) {
    for (const each of value) bytes += 1 + jsonBytes(each)
    return value.length === 0 ? bytes : bytes - 1
  }
  const fields = value as { readonly [key: string]: Schema.Json }
  let count = 0
  for (const key in fields) {
    bytes += textBytes(key) + 2 + jsonBytes(fields[key] ?? null)
    count += 1
  }
  return count === 0 ? bytes : bytes - 1
}
