/**
 * What calls of models and tools come to, added up without rounding.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { amountOf, unitsOf } from "../../agent/internal/money.ts"
import * as ModelCall from "../../agent/ModelCall.ts"
import type * as RunEvent from "../../run/RunEvent.ts"

/** Sums as plain data. */
export interface Totals {
  readonly calls: number
  readonly toolCalls: number
  readonly tokens: Required<ModelCall.Tokens> & { readonly total: number }
  readonly costs: ReadonlyArray<{ readonly currency: string; readonly cost: number }>
  readonly unpriced: number
  readonly estimated: number
}

const readCall = Schema.decodeUnknownOption(ModelCall.Call)

/** The record of a call of a model, where it can be read. */
export const callOf = ({ facts }: RunEvent.Of<"Spent">): ModelCall.Call | undefined =>
  Option.getOrUndefined(readCall(facts))

const add = (one: number, other: number): number => Math.min(one + other, Number.MAX_SAFE_INTEGER)

const kinds = ["input", "output", "cacheRead", "cacheWrite", "reasoning"] as const

/** Sums that grow. */
export class Sums {
  private calls = 0
  private toolCalls = 0
  private unpriced = 0
  private estimated = 0
  private readonly tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0, total: 0 }
  private readonly units = new Map<string, bigint>()

  /** Adds a call of a model, or what is known of it without its record. */
  model(call: ModelCall.Call | undefined, { usage }: RunEvent.Of<"Spent">): void {
    const { tokens } = this
    this.calls += 1
    tokens.total = add(tokens.total, call === undefined ? (usage.tokens ?? 0) : ModelCall.tokensOf(call.usage))
    if (call?.estimated === true) this.estimated += 1
    for (const kind of kinds) tokens[kind] = add(tokens[kind], call?.usage[kind] ?? 0)
    if (call?.cost === undefined || call.currency === undefined) this.unpriced += 1
    else this.units.set(call.currency, (this.units.get(call.currency) ?? 0n) + unitsOf(call.cost))
  }

  tool(): void {
    this.toolCalls += 1
  }

  addAll(other: Sums): void {
    this.calls += other.calls
    this.toolCalls += other.toolCalls
    this.unpriced += other.unpriced
    this.estimated += other.estimated
    for (const kind of [...kinds, "total"] as const) {
      this.tokens[kind] = add(this.tokens[kind], other.tokens[kind])
    }
    for (const [currency, units] of other.units) this.units.set(currency, (this.units.get(currency) ?? 0n) + units)
  }

  /** Nothing where nothing was called. */
  get totals(): Totals | undefined {
    if (this.calls + this.toolCalls === 0) return undefined
    const { calls, estimated, tokens, toolCalls, unpriced } = this
    const costs = [...this.units]
      .map(([currency, units]) => ({ currency, cost: amountOf(units) }))
      .toSorted((one, other) => (one.currency < other.currency ? -1 : 1))
    return { calls, toolCalls, tokens: { ...tokens }, costs, unpriced, estimated }
  }
}
