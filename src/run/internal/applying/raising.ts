/**
 * What an account lacks for a piece of work, and what of it a person may raise.
 *
 * @since 0.1.0
 */
import type * as Budget from "../../Budget.ts"
import { exact, isNothing, measures, type Writable } from "../amounts.ts"

/** What the limits of an account lack, by measure, once it is open; nothing when all of it fits. */
export const shortOf = (account: Budget.Account | undefined, amount: Budget.Amount): Budget.Amount => {
  const short: Writable<Budget.Amount> = {}
  if (account === undefined) return short
  for (const measure of measures) {
    const limit = account.limit[measure]
    if (limit === undefined) continue
    const { reserved, settled } = account
    const lacks = exact(measure, (settled[measure] ?? 0) + (reserved[measure] ?? 0) + (amount[measure] ?? 0) - limit)
    if (lacks > 0) short[measure] = lacks
  }
  return short
}

const words = { steps: "steps", tokens: "tokens", toolCalls: "tool calls", cost: "units of cost" } as const

/** An amount in words, as in `200 tokens and 3 steps`. */
export const inWords = (amount: Budget.Amount): string =>
  isNothing(amount)
    ? "nothing"
    : measures.flatMap((each) => (amount[each] === undefined ? [] : [`${amount[each]} ${words[each]}`])).join(" and ")

/** What keeps a raise from being one that lets the work go on, or nothing. */
export const tooSmall = (
  name: string,
  account: Budget.Account | undefined,
  estimate: Budget.Amount,
  raise: Budget.Amount
): string | undefined => {
  const limited = measures.filter((measure) => account?.limit[measure] !== undefined)
  for (const measure of measures) {
    const by = raise[measure]
    if (by === undefined) continue
    if (!limited.includes(measure)) {
      return `raise.${measure} must not be given, as ${name} limits only ${limited.join(", ")}, got ${by}`
    }
    if (by <= 0) return `raise.${measure} must be more than nothing, got ${by}`
  }
  const short = shortOf(account, estimate)
  const lacking = measures.find((measure) => (raise[measure] ?? 0) < (short[measure] ?? 0))
  if (lacking !== undefined) {
    const got = raise[lacking] === undefined ? "" : `, got ${raise[lacking]}`
    return `raise.${lacking} must be at least ${short[lacking]}, as ${name} lacks ${inWords(short)}${got}`
  }
  // A raise of nothing opens an account that was closed; of an open one it changes nothing.
  return isNothing(raise) && account !== undefined && account.closed === undefined
    ? `raise must name more than nothing of ${limited.join(", ")}`
    : undefined
}
