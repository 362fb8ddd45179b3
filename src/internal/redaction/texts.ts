/**
 * Takes secrets out of texts.
 *
 * **Invariants**
 *
 * - X1. A text without a secret comes back as it is.
 * - X2. What was taken out is never looked into again, so that a second pass changes nothing.
 * - X3. The work is linear in the length of the text, and what comes out is at most twice as long, and 256 characters more.
 */
import { assigned } from "./assignments.ts"
import type { Named } from "./keys.ts"
import type { Span } from "./numbers.ts"
import type { Finder } from "./patterns.ts"

/** What stands in the place of a secret. */
export const placeholder = (rule: string): string => `[redacted:${rule}]`

const mark = "[redacted:"

const placed = /(\[redacted:[a-z0-9][a-z0-9-]{0,63}\])/

const onlyPlaced = new RegExp(`^${placed.source}$`)

/** Whether a text is nothing but what stands in the place of a secret. */
export const isPlaceholder = (text: string): boolean => text.startsWith(mark) && onlyPlaced.test(text)

/** What is done to a text. */
export interface TextRules {
  /** Those of whoever uses the library. */
  readonly own: ReadonlyArray<Finder>
  /** Whether a text has to be looked at by the others. */
  readonly mayHold: (text: string) => boolean
  readonly finders: (text: string) => ReadonlyArray<Finder>
  readonly naming: (name: string) => Named | undefined
  /** A text that is JSON without its secrets; `undefined` for one that is none. */
  readonly json: (text: string) => string | undefined
}

/** Passes after which a text is taken as a whole. Two are enough for what is not made to go on. */
const mostPasses = 8

/** A shorter text holds no secret that shows by its form or its name. */
const shortest = 7

/** Puts placeholders in the place of spans, which are in order. */
const cut = (text: string, spans: ReadonlyArray<Span>, rule: (index: number) => string): string => {
  if (spans.length === 0) return text
  let out = ""
  let from = 0
  spans.forEach((span, index) => {
    if (span[0] < from) return
    out += text.slice(from, span[0]) + placeholder(rule(index))
    from = span[1]
  })
  return out + text.slice(from)
}

/** Applies to what is between placeholders. X2 */
const between = (text: string, f: (piece: string) => string): string => {
  if (!text.includes(mark)) return f(text)
  const pieces = text.split(placed)
  return pieces.length === 1 ? f(text) : pieces.map((piece, index) => (index % 2 === 1 ? piece : f(piece))).join("")
}

const onePass = (text: string, { finders, json, naming, own }: TextRules): string => {
  const written = json(text)
  if (written !== undefined) return written
  let current = text
  for (const { rule, spans } of own) current = between(current, (piece) => cut(piece, spans(piece), () => rule))
  current = between(current, (piece) => {
    const found = assigned(piece, naming)
    return cut(
      piece,
      found.map(({ span }) => span),
      (index) => found[index]?.rule ?? "secret"
    )
  })
  for (const { rule, spans } of finders(current)) {
    current = between(current, (piece) => cut(piece, spans(piece), () => rule))
  }
  return current
}

/** Takes the secrets out of a text. */
export const redactText = (text: string, rules: TextRules): string => {
  if (rules.own.length === 0 && (text.length < shortest || !rules.mayHold(text))) return text
  let current = text
  for (let pass = 0; pass < mostPasses; pass++) {
    const next = onePass(current, rules)
    if (next === current) return current
    // X3
    if (next.length > 2 * text.length + 256) return placeholder("crowded")
    current = next
  }
  return placeholder("crowded")
}
