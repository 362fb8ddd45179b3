/**
 * Takes out values that are known to be secret, wherever they stand and in whatever common form.
 *
 * **Invariants**
 *
 * - K1. What holds none of the values comes back as the same reference; a second time changes nothing.
 * - K2. A value is found as it is, as JSON, for URLs and forms, in base64 wherever in the encoded text, and in hexadecimal.
 * - K3. No value and no form of one that is shorter than {@link shortest} is looked for: it would be found everywhere.
 */
import { asJson } from "./json.ts"
import type { Finder } from "./patterns.ts"
import { finder } from "./patterns.ts"
import { redactText, type TextRules } from "./texts.ts"
import { redactValue, type ValueRules } from "./values.ts"

/** The least characters that a value must have to be found again. */
export const shortest = 6

/** How many values of one name are remembered, the latest ones. */
export const remembered = 20

/** Texts that are JSON are read as such this deep within each other. */
const jsonLevels = 3

/** What an encoding makes of a text; nothing where it cannot. */
const attempt = (encode: () => string): ReadonlyArray<string> => {
  try {
    return [encode()]
  } catch {
    return []
  }
}

const latin = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

/** The characters of a base64 text that say nothing but these bytes, for each place that the first of them can have. */
const base64Of = (text: string): ReadonlyArray<string> => {
  const bytes = new TextEncoder().encode(text)
  const whole = btoa(latin(bytes))
  const within = [0, 1, 2].map((before) => {
    const encoded = btoa("\0".repeat(before) + latin(bytes))
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
  })
  return [whole, whole.replace(/=+$/, ""), ...within].flatMap((each) => [
    each,
    each.replaceAll("+", "-").replaceAll("/", "_")
  ])
}

const hexOf = (text: string): string =>
  [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("")

const lowerPercent = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/g, (each) => each.toLowerCase())

const urlOf = (text: string): ReadonlyArray<string> =>
  [
    ...attempt(() => encodeURIComponent(text)),
    ...attempt(() => encodeURI(text)),
    ...attempt(() => new URLSearchParams([["", text]]).toString().slice(1))
  ].flatMap((each) => [each, lowerPercent(each)])

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** Every form in which a value is looked for, the longest first. K2 */
export const forms = (value: string): ReadonlyArray<string> => {
  const hex = hexOf(value)
  const all = [
    value,
    escaped(value),
    escaped(escaped(value)),
    ...urlOf(value),
    ...base64Of(value),
    hex,
    hex.toUpperCase()
  ]
  const long = all.filter((form) => form.length >= shortest)
  return [...new Set(long)].toSorted((one, other) => other.length - one.length)
}

const literal = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

/** What stands in the place of a value: its name, as the names of rules are. */
const ruleOf = (name: string): string => {
  const rule = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 64)
  return rule === "" ? "secret" : rule
}

/** The values that are known, and what takes them out. */
export class Known {
  private readonly values = new Map<string, Map<string, Finder>>()
  private readonly finders: Array<Finder> = []
  /** Whether a number is one of the values. */
  private readonly numbers = new Set<string>()
  private readonly walk: ValueRules
  private readonly inText: (text: string) => string

  constructor() {
    const test = (value: unknown): boolean =>
      (typeof value === "number" || typeof value === "bigint") && this.numbers.has(String(value))
    const nothing = () => undefined
    const rules: TextRules = {
      own: this.finders,
      mayHold: () => false,
      finders: () => [],
      naming: nothing,
      json: nothing
    }
    const literally = (text: string): string => redactText(text, rules)
    const walking = (text: (text: string) => string): ValueRules => ({
      text,
      name: text,
      naming: nothing,
      tests: [{ rule: "secret", test }],
      cards: false
    })
    // What is inside goes first, so that JSON stays JSON. A secret may be JSON itself, and stands there as a whole.
    let text = literally
    for (let level = 0; level < jsonLevels; level++) {
      const json = asJson(walking(text))
      text = (text) => literally(json(text) ?? text)
    }
    this.inText = text
    this.walk = walking(text)
  }

  /** Has a value taken out from now on. K3 */
  add(name: string, value: string): void {
    if (value.length < shortest) return
    let own = this.values.get(name)
    if (own === undefined) this.values.set(name, (own = new Map()))
    if (own.has(value)) return
    own.set(value, finder(ruleOf(name), new RegExp(forms(value).map(literal).join("|"))))
    if (own.size > remembered) own.delete(own.keys().next().value!)
    this.arrange()
  }

  /** Whether a value would be found. */
  finds(value: string): boolean {
    return value.length >= shortest && !this.text(value).includes(value)
  }

  /** A longer value may hold a shorter one, and goes first. */
  private arrange(): void {
    const all = [...this.values.values()].flatMap((own) => [...own])
    all.sort(([one], [other]) => other.length - one.length)
    this.finders.splice(0, this.finders.length, ...all.map(([, finder]) => finder))
    this.numbers.clear()
    for (const [value] of all) if (/^-?\d/.test(value)) this.numbers.add(value)
  }

  readonly text = (text: string): string =>
    this.finders.length === 0 || text.length < shortest ? text : this.inText(text)

  readonly value = (value: unknown): unknown => (this.finders.length === 0 ? value : redactValue(value, this.walk))
}
