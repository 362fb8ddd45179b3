/**
 * How a prompt says what others wrote: as data, on one line, in quotes, and of a bounded length.
 *
 * @since 0.1.0
 */
import * as Redaction from "../../Redaction.ts"

/** Control characters, characters of no width, halves of characters, blanks: what could begin a line or hide one. */
const invisible = /[\p{C}\p{Z}\s]+/gu

/** Of a text that is cut anyway, so many times the characters that are kept are looked at. */
const ahead = 4

/**
 * A text as data: a JSON string on one line of at most `most` characters, its quotes included, `most` >= 3. Secrets are
 * taken out before it is cut, so that no half of one is left.
 *
 * @since 0.1.0
 */
export const quote = (text: string, most: number): string => {
  const safe = Redaction.defaults.text(text).trim()
  const line = safe
    .slice(0, most * ahead)
    .replace(invisible, " ")
    .trim()
  let inner = ""
  for (const character of line) {
    inner += character === '"' || character === "\\" ? `\\${character}` : character
    if (inner.length > most - 2) return cut(inner, most)
  }
  return safe.length > most * ahead ? cut(inner, most) : `"${inner}"`
}

/** A text that is escaped, cut without half of an escape or of a character at its end. */
const cut = (escaped: string, most: number): string => {
  let kept = ""
  for (const [character] of escaped.matchAll(/\\.|[^\\]/gsu)) {
    if (kept.length + character.length > most - 3) break
    kept += character
  }
  return `"${kept}…"`
}

/**
 * Any value as data, see {@link quote}: a text as it is, everything else as JSON, without its secrets.
 *
 * @since 0.1.0
 */
export const quoteValue = (value: unknown, most: number): string => {
  if (typeof value === "string") return quote(value, most)
  try {
    return quote(JSON.stringify(Redaction.defaults.value(value)) ?? "nothing", most)
  } catch {
    return '"what cannot be read"'
  }
}
