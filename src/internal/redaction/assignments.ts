/**
 * Secrets beside their names in a text: `NAME=value`, `name: value`, `"name": "value"`, `--name value`, header lines.
 *
 * A text is walked once from separator to separator. From each, a bounded number of characters is looked back for a name.
 * A value that is taken ends where the next step begins; one that is not is short, or ends at its quote.
 */
import { longestName, type Named, isHarmless, isSecret, looksSecret } from "./keys.ts"
import type { Span } from "./numbers.ts"

/** A secret in a text, and the rule that says so. */
export interface Found {
  readonly rule: string
  readonly span: Span
}

/** Characters that may stand between a name and its separator, and between the separator and the value. */
const gap = 4

const isNamePart = (code: number): boolean =>
  (code >= 97 && code <= 122) || // a-z
  (code >= 65 && code <= 90) || // A-Z
  (code >= 48 && code <= 57) || // 0-9
  code === 95 || // _
  code === 45 || // -
  code === 46 // .

const isBlank = (code: number): boolean => code === 32 || code === 9

const isQuote = (code: number): boolean => code === 34 || code === 39 || code === 96

const backslash = 92

/** A name in front of `end`: where it begins and ends, and the quote right before it. */
const nameBefore = (text: string, end: number, least: number): readonly [from: number, to: number] | undefined => {
  let to = end
  for (let count = 0; count < gap && to > least && isBlank(text.charCodeAt(to - 1)); count++) to--
  for (let count = 0; count < gap && to > least; count++) {
    const code = text.charCodeAt(to - 1)
    if (!isQuote(code) && code !== backslash && code !== 93) break // 93: ], as in headers["authorization"]
    to--
  }
  let from = to
  while (from > least && to - from <= longestName && isNamePart(text.charCodeAt(from - 1))) from--
  return from === to || to - from > longestName ? undefined : [from, to]
}

/** The end of a value in quotes, of which the first character is at `from`; the end of the text when none closes it. */
const closing = (text: string, from: number, quote: number, escaped: boolean): number => {
  const most = text.length
  for (let index = from; index < most; index++) {
    const code = text.charCodeAt(index)
    if (code === backslash) {
      if (escaped && text.charCodeAt(index + 1) === quote) return index
      index++
    } else if (code === quote) return index
  }
  return most
}

/** The end of a line, also of one in a text that was escaped. */
const lineEnd = (text: string, from: number, quote: number): number => {
  const most = text.length
  for (let index = from; index < most; index++) {
    const code = text.charCodeAt(index)
    if (code === 10 || code === 13 || code === quote) return index
    if (code === backslash) {
      const next = text.charCodeAt(index + 1)
      if (next === 110 || next === 114 || isQuote(next)) return index
    }
  }
  return most
}

const ends = new Set(Array.from("\"'`,;&|)}]<>\\ \t\r\n", (character) => character.charCodeAt(0)))

const wordEnd = (text: string, from: number, limit = Number.POSITIVE_INFINITY): number => {
  const most = Math.min(text.length, from + limit)
  let index = from
  while (index < most && !ends.has(text.charCodeAt(index))) index++
  return index
}

/** Whether a name stands at the beginning of its line, as in a file of settings. */
const beginsLine = (text: string, from: number): boolean => {
  let index = from - 1
  for (let count = 0; count < 32 && index >= 0; count++, index--) {
    const code = text.charCodeAt(index)
    if (code === 10) return true
    if (!isBlank(code) && code !== 45) return false
  }
  return index < 0
}

const endsLine = (text: string, to: number): boolean => {
  let index = to
  for (let count = 0; count < gap && isBlank(text.charCodeAt(index)); count++) index++
  return index >= text.length || text.charCodeAt(index) === 10 || text.charCodeAt(index) === 13
}

const scheme = /^(?:Bearer|Basic|Digest|Token|Negotiate|ApiKey|Api-Key|Key|OAuth|Hawk|Signature|AWS4-HMAC-SHA256)\s/i

/**
 * Where the value of a header line ends: credentials after a scheme and cookies go to the end of the line. Nothing when it
 * is none of these; what is not taken is not looked at any further.
 */
const headerEnd = (rule: string, text: string, from: number, quote: number): number | undefined => {
  const ahead = text.slice(from, from + 256)
  if (rule === "cookie") return /^[^\s=;"']{1,128}=/.test(ahead) ? lineEnd(text, from, quote) : undefined
  if (scheme.test(ahead)) return lineEnd(text, from, quote)
  const to = wordEnd(text, from)
  return to - from >= 8 && looksSecret(text.slice(from, to)) ? to : undefined
}

const headerRules = new Set(["authorization", "cookie"])

/**
 * The secrets beside names.
 *
 * @param naming what a name says.
 */
export const assigned = (text: string, naming: (name: string) => Named | undefined): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  let least = 0
  let colon = text.indexOf(":")
  let equals = text.indexOf("=")
  let flag = text.indexOf("--")
  while (colon >= 0 || equals >= 0 || flag >= 0) {
    let at = colon < 0 ? text.length : colon
    if (equals >= 0 && equals < at) at = equals
    if (flag >= 0 && flag < at) at = flag
    const next = at === flag ? afterFlag(text, at, naming) : beside(text, at, least, naming)
    if (next !== undefined) {
      found.push(next)
      least = next.span[1]
    }
    const from = Math.max(at + 1, least)
    if (colon >= 0 && colon < from) colon = text.indexOf(":", from)
    if (equals >= 0 && equals < from) equals = text.indexOf("=", from)
    if (flag >= 0 && flag < from) flag = text.indexOf("--", from)
  }
  return found
}

const beside = (
  text: string,
  at: number,
  least: number,
  naming: (name: string) => Named | undefined
): Found | undefined => {
  const isColon = text.charCodeAt(at) === 58
  if (isColon && text.startsWith("//", at + 1)) return undefined // the scheme of a URL
  const name = nameBefore(text, at, least)
  if (name === undefined) return undefined
  const said = naming(text.slice(name[0], name[1]))
  if (said === undefined) return undefined
  let from = at + 1
  // `=>`, `==`, `:=`, `::`
  for (let count = 0; count < 2 && /[=>:]/.test(text.charAt(from)); count++) from++
  const tight = from
  for (let count = 0; count < gap && isBlank(text.charCodeAt(from)); count++) from++
  const escaped = text.charCodeAt(from) === backslash && isQuote(text.charCodeAt(from + 1))
  if (escaped) from++
  const quote = text.charCodeAt(from)
  const { kind, rule } = said
  const before = name[0] === 0 ? Number.NaN : text.charCodeAt(name[0] - 1)
  const opened = isQuote(before) && name[1] === at ? before : undefined
  // `"password:"` is a text that ends here.
  if (from === tight && opened !== undefined && quote === opened) return undefined
  if (isQuote(quote)) {
    const span: Span = [from + 1, closing(text, from + 1, quote, escaped)]
    return isSecret(kind, text.slice(...span)) ? { rule, span } : undefined
  }
  if (headerRules.has(rule) && isColon) {
    const to = headerEnd(rule, text, from, opened ?? 34)
    return to === undefined ? undefined : { rule, span: [from, to] }
  }
  if (/[{[(]/.test(text.charAt(from))) return undefined // what is in it has names of its own
  const to = wordEnd(text, from, kind === "digits" ? 32 : undefined)
  const value = text.slice(from, to)
  if (!isSecret(kind, value)) return undefined
  // A colon and a blank stand in prose, too.
  const sure =
    from === tight ||
    !isColon ||
    looksSecret(value) ||
    (value.length >= 6 && beginsLine(text, name[0]) && endsLine(text, to))
  return sure ? { rule, span: [from, to] } : undefined
}

const afterFlag = (text: string, at: number, naming: (name: string) => Named | undefined): Found | undefined => {
  if (at > 0 && isNamePart(text.charCodeAt(at - 1))) return undefined
  const start = at + 2
  let end = start
  while (end - start <= longestName && isNamePart(text.charCodeAt(end))) end++
  if (end === start || end - start > longestName || !isBlank(text.charCodeAt(end))) return undefined
  const said = naming(text.slice(start, end))
  if (said === undefined) return undefined
  let from = end
  for (let count = 0; count < gap && isBlank(text.charCodeAt(from)); count++) from++
  const quote = text.charCodeAt(from)
  const span: Span = isQuote(quote) ? [from + 1, closing(text, from + 1, quote, false)] : [from, wordEnd(text, from)]
  const value = text.slice(...span)
  if (value.startsWith("-") || !isSecret(said.kind, value)) return undefined
  return isQuote(quote) || looksSecret(value) || endsLine(text, span[1]) ? { rule: said.rule, span } : undefined
}

/** Whether a text is a flag whose value is the next argument, and the name of it. */
export const flagOf = (text: string): string | undefined =>
  text.startsWith("--") && text.length <= longestName + 2 && !text.includes("=") && !isHarmless(text)
    ? text.slice(2)
    : undefined
