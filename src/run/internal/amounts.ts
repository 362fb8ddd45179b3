/**
 * Arithmetic of amounts: sums that stay plain JSON, and numbers from outside that are checked.
 *
 * @since 0.1.0
 */
import type { Usage as Amount } from "../Result.ts"
import { isRecord } from "./given.ts"
import { show } from "./problems.ts"

/** @since 0.1.0 */
export const measures = ["steps", "tokens", "toolCalls", "cost"] as const

/** @since 0.1.0 */
export type Measure = (typeof measures)[number]

/** @since 0.1.0 */
export type Writable<T> = { -readonly [K in keyof T]: T[K] }

const parts = 1_000_000_000

/**
 * A sum without the noise of binary fractions.
 *
 * @since 0.1.0
 */
export const tidy = (measure: Measure, sum: number): number =>
  measure === "cost" ? Math.round(sum * parts) / parts : sum

/**
 * The most that a measure can come to.
 *
 * @since 0.1.0
 */
export const largest = (measure: Measure): number => (measure === "cost" ? 1e15 : Number.MAX_SAFE_INTEGER)

/**
 * A sum to keep: it stops at the largest amount there is.
 *
 * @since 0.1.0
 */
export const exact = (measure: Measure, sum: number): number => Math.min(tidy(measure, sum), largest(measure))

/** @since 0.1.0 */
export const rest = (measure: Measure, limit: number, settled: number, reserved: number): number =>
  Math.max(0, exact(measure, limit - settled - reserved))

/** Built field by field, which is fast: amounts are made anew several times for each piece of work. */
const amountOf = (
  steps: number | undefined,
  tokens: number | undefined,
  toolCalls: number | undefined,
  cost: number | undefined
): Amount => {
  const amount: Writable<Amount> = {}
  if (steps !== undefined) amount.steps = steps
  if (tokens !== undefined) amount.tokens = tokens
  if (toolCalls !== undefined) amount.toolCalls = toolCalls
  if (cost !== undefined) amount.cost = cost
  return amount
}

/**
 * Whether an amount says nothing of any measure.
 *
 * @since 0.1.0
 */
export const isNothing = ({ cost, steps, tokens, toolCalls }: Amount): boolean =>
  steps === undefined && tokens === undefined && toolCalls === undefined && cost === undefined

const sum = (measure: Measure, left: number | undefined, right: number | undefined): number | undefined =>
  right === undefined ? left : exact(measure, (left ?? 0) + right)

/** @since 0.1.0 */
export const plus = (left: Amount, right: Amount): Amount =>
  amountOf(
    sum("steps", left.steps, right.steps),
    sum("tokens", left.tokens, right.tokens),
    sum("toolCalls", left.toolCalls, right.toolCalls),
    sum("cost", left.cost, right.cost)
  )

const difference = (measure: Measure, left: number | undefined, right: number | undefined): number | undefined => {
  const remaining = exact(measure, (left ?? 0) - (right ?? 0))
  return remaining > 0 ? remaining : undefined
}

/**
 * What is left of a sum without one of its parts; a measure of which nothing is left is gone.
 *
 * @since 0.1.0
 */
export const minus = (left: Amount, right: Amount): Amount =>
  amountOf(
    difference("steps", left.steps, right.steps),
    difference("tokens", left.tokens, right.tokens),
    difference("toolCalls", left.toolCalls, right.toolCalls),
    difference("cost", left.cost, right.cost)
  )

/**
 * What is charged: what was reported, else what was reserved.
 *
 * @since 0.1.0
 */
export const charge = (reserved: Amount, reported: Amount): Amount => {
  const charged: Writable<Amount> = {}
  for (const measure of measures) {
    const told = reported[measure]
    const amount = isAmount(told) ? exact(measure, measure === "cost" ? told : Math.ceil(told)) : reserved[measure]
    if (amount !== undefined) charged[measure] = amount
  }
  return charged
}

const isMeasure = (key: string): key is Measure =>
  key === "steps" || key === "tokens" || key === "toolCalls" || key === "cost"

const isAmount = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0

/** @since 0.1.0 */
export const checked = (amount: Amount, what: string): Amount => {
  if (!isRecord(amount)) throw new RangeError(`Budget: ${what} must be an object, got ${show(amount)}`)
  for (const key in amount) {
    if (isMeasure(key)) continue
    throw new RangeError(`Budget: ${what} must have no other measures than ${measures.join(", ")}, got ${show(key)}`)
  }
  const sound: Writable<Amount> = {}
  for (const measure of measures) {
    const value = amount[measure]
    if (value === undefined) continue
    const whole = measure !== "cost"
    if (!isAmount(value) || value > largest(measure) || (whole && !Number.isInteger(value))) {
      const expected = whole ? "a whole number >= 0" : "an amount >= 0 and at most 1e15"
      throw new RangeError(`Budget: ${what} must have ${expected} as ${measure}, got ${show(value)}`)
    }
    sound[measure] = exact(measure, value + 0) // no negative zero, which JSON does not have
  }
  return sound
}
