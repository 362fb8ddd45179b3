/**
 * How what somebody types is understood: an answer, changes of arguments, a raise, a time.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import { readDuration } from "../internal/options.ts"
import * as Budget from "../run/Budget.ts"
import { candidates } from "../run/internal/closest.ts"
import { many, shortened } from "../run/internal/problems.ts"
import type { Whole } from "../run/internal/reviewQueue.ts"
import { plain } from "../run/internal/text.ts"
import { Misused } from "./failures.ts"

/** A value, and in words what it was taken for. */
export interface Understood {
  readonly value: Schema.Json
  readonly as: string
}

const isObject = (value: unknown): value is { readonly [key: string]: Schema.Json } =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const nameOf = (value: Schema.Json): string => {
  const text = plain(shortened(JSON.stringify(value), 200))
  if (value === null) return "null"
  if (Array.isArray(value)) return `a list of ${many(value.length, "element")}`
  if (isObject(value)) return `an object of ${many(Object.keys(value).length, "field")}`
  return typeof value === "string" ? `the text ${text}` : typeof value === "number" ? `the number ${text}` : text
}

const asText = (value: string): Understood => ({ value, as: nameOf(value) })

/** JSON where it is some, and otherwise a text. */
export const valueOf = (text: string): Understood => {
  try {
    const value: Schema.Json = JSON.parse(text)
    return { value, as: nameOf(value) }
  } catch {
    return asText(text)
  }
}

/**
 * What somebody answers.
 *
 * **Details**
 *
 * - One of the choices, and whatever is to be a text, is a text as it stands. Otherwise it is JSON where it is some.
 * - The value of a field alone is put into the form in which an answer about a field has to be.
 */
export const answerOf = ({ facts, kind }: Pick<Whole, "facts" | "kind">, text: string, asIs: boolean): Understood => {
  const { choices, effect, field } = facts
  if (asIs || (Array.isArray(choices) && choices.includes(text))) return asText(text)
  const read = valueOf(text)
  if (kind !== "reconciliation" || typeof effect === "string" || typeof field !== "string") return read
  const whole = isObject(read.value) && Object.keys(read.value).join() === "reconcile"
  return whole ? read : { value: { reconcile: { [field]: read.value } }, as: `${read.as}, as the value of ${field}` }
}

const misused = (reason: string) => EffectResult.fail(new Misused({ reason }))

/** Changes of arguments out of texts such as `/to="team"`. */
export const editsOf = (
  given: ReadonlyArray<string>
): EffectResult.Result<
  { readonly edits: Record<string, Schema.Json>; readonly as: ReadonlyArray<string> },
  Misused
> => {
  const edits: Record<string, Schema.Json> = {}
  const as: Array<string> = []
  for (const each of given) {
    const at = each.indexOf("=")
    const pointer = each.slice(0, at)
    if (at < 0 || (pointer !== "" && !pointer.startsWith("/"))) {
      return misused(`--set must be a JSON pointer and a value, such as /to="team", is ${plain(each)}`)
    }
    if (Object.hasOwn(edits, pointer)) return misused(`--set names ${plain(pointer)} twice`)
    const { as: what, value } = valueOf(each.slice(at + 1))
    edits[pointer] = value
    as.push(`${pointer === "" ? "all of it" : pointer} to ${what}`)
  }
  return EffectResult.succeed({ edits, as })
}

const isMeasure = (name: string): name is Budget.Measure => Budget.measures.some((each) => each === name)

/** A raise out of `cost=1,tokens=100`, or an object of JSON. */
export const raiseOf = (given: string): EffectResult.Result<Budget.Amount, Misused> => {
  const shape = `must be amounts such as cost=1,tokens=100, or an object of JSON`
  const entries: Array<readonly [string, unknown]> = []
  if (given.trim().startsWith("{")) {
    const { value } = valueOf(given)
    if (!isObject(value)) return misused(`--raise ${shape}, is ${plain(shortened(given, 200))}`)
    entries.push(...Object.entries(value))
  } else {
    for (const each of given.split(",")) {
      const [, name = "", amount = ""] = /^\s*([\w-]+)\s*=\s*(\S+)\s*$/.exec(each) ?? []
      if (name === "") return misused(`--raise ${shape}, is ${plain(shortened(given, 200))}`)
      entries.push([name, Number(amount)])
    }
  }
  const raise: { [M in Budget.Measure]?: number } = {}
  for (const [name, amount] of entries) {
    if (!isMeasure(name)) {
      return misused(`--raise has no measure ${plain(name)}; known are ${candidates(name, Budget.measures)}`)
    }
    if (typeof amount !== "number" || !Number.isFinite(amount)) return misused(`--raise: ${name} must be a number`)
    raise[name] = amount
  }
  return EffectResult.succeed(raise)
}

/** A time that lasts, such as `2 hours`. */
export const timeOf = (flag: string, given: string): EffectResult.Result<Duration.Duration, Misused> => {
  const duration = readDuration(given)
  return duration !== undefined && Duration.toMillis(duration) > 0
    ? EffectResult.succeed(duration)
    : misused(`--${flag} must be a time that lasts, such as "2 hours" or "30 minutes", is ${plain(given)}`)
}
