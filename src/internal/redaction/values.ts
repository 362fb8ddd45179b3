/**
 * Takes secrets out of plain data: lists and objects without a class, the texts in them, and the names of fields.
 *
 * **Invariants**
 *
 * - V1. What holds no secret comes back as the same reference, and so does every part of it.
 * - V2. It never throws: what cannot be read is taken as a whole.
 * - V3. The work is bounded: so many levels, so many values. What goes on beyond is taken as a whole.
 */
import * as Redacted from "effect/Redacted"

import { flagOf } from "./assignments.ts"
import { isSecret, type Named } from "./keys.ts"
import { isCard } from "./numbers.ts"
import { isPlaceholder, placeholder } from "./texts.ts"

/** What is done to values. */
export interface ValueRules {
  readonly text: (text: string) => string
  /** The name of a field, which may be a secret itself. */
  readonly name: (name: string) => string
  readonly naming: (name: string) => Named | undefined
  /** Rules about a whole value under a name; the name of the first that says so. */
  readonly tests: ReadonlyArray<{ readonly rule: string; readonly test: (value: unknown, key: string) => boolean }>
  readonly cards: boolean
}

const deepest = 256

const most = 4_000_000

type Fields = Readonly<Record<string, unknown>>

/** Names of fields of an object under a secret's name that say where the secret is and not what it is. */
const about = new Set([
  "ref",
  "$ref",
  "reference",
  "name",
  "id",
  "kind",
  "type",
  "provider",
  "namespace",
  "version",
  "scheme"
])

const types = new Set(["string", "number", "integer", "boolean", "object", "array", "null"])

/** Whether an object describes a value instead of holding one, as a JSON schema does. */
const isDescription = (value: Fields): boolean => {
  const type = value["type"]
  return (
    (typeof type === "string" && types.has(type)) ||
    (Array.isArray(type) && type.every((each) => types.has(each))) ||
    ["$ref", "anyOf", "oneOf", "allOf"].some((key) => Object.hasOwn(value, key))
  )
}

/** One walk through a value. */
class Walk {
  private left = most
  private readonly rules: ValueRules

  constructor(rules: ValueRules) {
    this.rules = rules
  }

  value(value: unknown, depth: number, key = ""): unknown {
    if (--this.left < 0) return placeholder("too-large")
    const rule = this.rules.tests.length === 0 ? undefined : this.tested(value, key)
    if (rule !== undefined) return typeof value === "string" && isPlaceholder(value) ? value : placeholder(rule)
    switch (typeof value) {
      case "string": {
        const text = this.rules.text(value)
        // What is left may say something else to a test. It is settled then.
        return text === value || this.rules.tests.length === 0 ? text : this.value(text, depth, key)
      }
      case "number":
        return value >= 1e11 && this.rules.cards && Number.isSafeInteger(value) && isCard(String(value))
          ? placeholder("card-number")
          : value
      case "object":
        if (value === null) return value
        if (depth >= deepest) return placeholder("too-deep")
        if (Array.isArray(value)) return this.list(value, depth)
        return this.object(value, depth)
      default:
        return value
    }
  }

  /** The rule whose test says yes. One that throws has not said that the value is harmless. */
  private tested(value: unknown, key: string): string | undefined {
    return this.rules.tests.find(({ test }) => {
      try {
        return test(value, key)
      } catch {
        return true
      }
    })?.rule
  }

  private list(list: ReadonlyArray<unknown>, depth: number): unknown {
    let copy: Array<unknown> | undefined
    // `["authorization", "…"]`, as headers and parameters are listed.
    const named = list.length === 2 && typeof list[0] === "string" ? this.rules.naming(list[0]) : undefined
    // Two names side by side are a list of names.
    const pair: Named | undefined = named && { rule: named.rule, kind: "weak" }
    for (let index = 0; index < list.length; index++) {
      const item = list[index]
      const before = index === 0 ? undefined : list[index - 1]
      const flag = typeof before === "string" && before.startsWith("--") ? flagOf(before) : undefined
      const said =
        (index === 1 ? pair : undefined) ??
        (flag === undefined || (typeof item === "string" && item.startsWith("-")) ? undefined : this.rules.naming(flag))
      const next = said === undefined ? this.value(item, depth + 1) : this.beside(said, item, depth + 1)
      if (next === item) continue
      copy ??= [...list]
      copy[index] = next
    }
    return copy ?? list
  }

  private object(value: object, depth: number): unknown {
    if (Redacted.isRedacted(value)) return placeholder("secret")
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) return value
    return this.fields(value as Fields, depth)
  }

  /** Fields by their names; under `over`, whatever they are called. */
  private fields(value: Fields, depth: number, over?: Named): Fields {
    const keys = Object.keys(value)
    // `{ name: "authorization", value: "…" }`, as environments and headers are listed, too.
    const title = Object.hasOwn(value, "value") ? (value["name"] ?? value["key"]) : undefined
    const titled = typeof title === "string" ? this.rules.naming(title) : undefined
    let changed: Array<readonly [key: string, value: unknown]> | undefined
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!
      const item = value[key]
      const said =
        this.rules.naming(key) ?? (key === "value" ? titled : undefined) ?? (about.has(key) ? undefined : over)
      const next = said === undefined ? this.value(item, depth + 1, key) : this.beside(said, item, depth + 1, key)
      const name = this.rules.name(key)
      if (changed === undefined && (next !== item || name !== key)) {
        changed = keys.slice(0, index).map((before) => [before, value[before]] as const)
      }
      changed?.push([name, next])
    }
    return changed === undefined ? value : made(changed, Object.getPrototypeOf(value))
  }

  /** A value beside a name that says something of it. */
  private beside(said: Named, value: unknown, depth: number, key = ""): unknown {
    const { kind, rule } = said
    if (typeof value === "string") {
      if (!isPlaceholder(value) && isSecret(kind, value)) return placeholder(rule)
      const rest = this.value(value, depth, key)
      // What is left may look like another kind of text.
      return rest === value ? value : this.beside(said, rest, depth, key)
    }
    if (typeof value === "number" || typeof value === "bigint") {
      const taken = kind === "strong" || (kind === "digits" && isSecret(kind, String(value)))
      return taken ? placeholder(rule) : this.value(value, depth, key)
    }
    if (typeof value !== "object" || value === null || depth >= deepest || kind === "weak" || kind === "digits") {
      return this.value(value, depth, key)
    }
    if (--this.left < 0) return placeholder("too-large")
    if (Array.isArray(value)) {
      let copy: Array<unknown> | undefined
      value.forEach((item: unknown, index) => {
        const next = typeof item === "string" ? this.beside(said, item, depth + 1, key) : this.value(item, depth + 1)
        if (next === item) return
        copy ??= [...(value as ReadonlyArray<unknown>)]
        copy[index] = next
      })
      return copy ?? value
    }
    const prototype: unknown = Object.getPrototypeOf(value)
    if (kind !== "strong" || (prototype !== Object.prototype && prototype !== null))
      return this.value(value, depth, key)
    return isDescription(value as Fields) ? this.value(value, depth, key) : this.fields(value as Fields, depth, said)
  }
}

/** An object of entries. A name that two of them have got is told apart, so that nothing is lost. */
const made = (entries: ReadonlyArray<readonly [key: string, value: unknown]>, prototype: object | null): Fields => {
  const fields = (prototype === null ? Object.create(null) : {}) as Record<string, unknown>
  const counts = new Map<string, number>()
  for (const [key, value] of entries) {
    let name = key
    while (Object.hasOwn(fields, name)) {
      const count = (counts.get(key) ?? 1) + 1
      counts.set(key, count)
      name = `${key} (${count})`
    }
    Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return fields
}

/** Takes the secrets out of a value. */
export const redactValue = (value: unknown, rules: ValueRules): unknown => {
  try {
    return new Walk(rules).value(value, 0)
  } catch {
    return placeholder("unreadable")
  }
}
