/**
 * Calls of models, added up without rounding: sums do not depend on their order.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type * as RunEvent from "../../run/RunEvent.ts"
import * as ModelCall from "../ModelCall.ts"
import { amountOf, unitsOf } from "./money.ts"

const readCall = Schema.decodeUnknownOption(ModelCall.Call)

/**
 * The record of a call of a model, where it can be read.
 *
 * @since 0.1.0
 */
export const callOf = ({ facts }: RunEvent.Of<"Spent">): ModelCall.Call | undefined =>
  Option.getOrUndefined(readCall(facts))

/**
 * How many tokens a call has used, or what is known of that without its record.
 *
 * @since 0.1.0
 */
export const tokensOf = (call: ModelCall.Call | undefined, { usage }: RunEvent.Of<"Spent">): number =>
  call === undefined ? (usage.tokens ?? 0) : ModelCall.tokensOf(call.usage)

const add = (one: number, other: number): number => Math.min(one + other, Number.MAX_SAFE_INTEGER)

const kinds = ["input", "output", "cacheRead", "cacheWrite", "reasoning"] as const

/**
 * Amounts of money by currency.
 *
 * @since 0.1.0
 */
export class Money {
  private readonly units = new Map<string, bigint>()

  add(amount: number, currency: string): void {
    this.more(currency, unitsOf(amount))
  }

  addAll(other: Money): void {
    for (const [currency, units] of other.units) this.more(currency, units)
  }

  get costs(): ReadonlyArray<{ readonly currency: string; readonly cost: number }> {
    return [...this.units]
      .map(([currency, units]) => ({ currency, cost: amountOf(units) }))
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1))
  }

  private more(currency: string, units: bigint): void {
    this.units.set(currency, (this.units.get(currency) ?? 0n) + units)
  }
}

/**
 * Sums that grow: how many calls, their tokens and their costs, of how many there is no price, and of how many the provider did not
 * say what they used.
 *
 * @since 0.1.0
 */
export class CallSums {
  calls = 0
  unpriced = 0
  estimated = 0
  private readonly all = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, total: 0 }
  private readonly money = new Money()

  /** Adds a call. `tokens`: all of them, see {@link tokensOf}. */
  add(call: ModelCall.Call | undefined, tokens: number): void {
    this.calls += 1
    this.all.total = add(this.all.total, tokens)
    if (call?.estimated === true) this.estimated += 1
    for (const kind of kinds) this.all[kind] = add(this.all[kind], call?.usage[kind] ?? 0)
    if (call?.cost === undefined || call.currency === undefined) this.unpriced += 1
    else this.money.add(call.cost, call.currency) // E2
  }

  addAll(other: CallSums): void {
    this.calls += other.calls
    this.unpriced += other.unpriced
    this.estimated += other.estimated
    for (const kind of [...kinds, "total"] as const) this.all[kind] = add(this.all[kind], other.all[kind])
    this.money.addAll(other.money)
  }

  get tokens(): Required<ModelCall.Tokens> & { readonly total: number } {
    return { ...this.all }
  }

  get costs(): Money["costs"] {
    return this.money.costs
  }
}
