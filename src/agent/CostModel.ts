/**
 * What the calls of models cost, by the prices that you give. There are none here: a price that nobody gave is not known.
 *
 * **Details**
 *
 * - Prices are per 1,000,000 tokens, by `provider/model`.
 * - Amounts are computed in whole units of 10^-12 of the currency, without rounding, and handed out as the nearest number.
 * - Without a price of their own, reasoning tokens cost what other output costs.
 *
 * **Invariants**
 *
 * - C1. A price that is not known is `undefined`, never 0: of a model that is not listed, and of a call that used something
 *   which its model has no price for, such as a cache.
 *
 * **Example** (A call of a listed model)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { CostModel } from "espalier/agent"
 *
 * const prices = CostModel.layer({ currency: "USD", prices: { "acme/small": { input: 0.25, output: 1.25 } } })
 *
 * const program = Effect.gen(function* () {
 *   const costs = yield* CostModel.CostModel
 *   const usage = { input: 1_000, output: 200 }
 *   return [
 *     costs.price({ provider: "acme", model: "small", usage }),
 *     costs.price({ provider: "acme", model: "small", usage: { ...usage, cacheRead: 50 } }),
 *     costs.price({ provider: "acme", model: "large", usage })
 *   ]
 * })
 * Effect.runSync(Effect.provide(program, prices)) // => [0.0005, undefined, undefined]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

import { Given } from "../run/internal/given.ts"
import { amountOf, unitsOf } from "./internal/money.ts"
import type * as ModelCall from "./ModelCall.ts"

/**
 * The prices that calls are charged with.
 *
 * @category services
 * @since 0.1.0
 */
export class CostModel extends Context.Service<
  CostModel,
  {
    /**
     * In which currency amounts are. `undefined` without prices.
     *
     * @since 0.1.0
     */
    readonly currency: string | undefined

    /**
     * Where the prices are from, and as of when.
     *
     * @since 0.1.0
     */
    readonly source: string | undefined
    readonly at: string | undefined

    /**
     * What a call costs, or `undefined` when that is not known.
     *
     * @since 0.1.0
     */
    readonly price: (call: Pick<ModelCall.Call, "model" | "provider" | "usage">) => number | undefined
  }
>()("espalier/agent/CostModel") {}

/**
 * The prices of one model, each per 1,000,000 tokens: from 0 to 1,000,000, with at most 6 decimal digits.
 *
 * **Details**
 *
 * - `cacheRead`, `cacheWrite`: of what is read from and written to a cache. Default: not known.
 * - `reasoning`: of output that is reasoning. Default: as `output`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Prices {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly reasoning?: number | undefined
}

/**
 * A list of prices.
 *
 * **Details**
 *
 * - `currency`: three capital letters, such as `USD`.
 * - `prices`: by `provider/model`.
 * - `source`: where they are from, such as an address. `at`: as of which day, such as `2026-11-01`. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly currency: string
  readonly prices: Readonly<Record<string, Prices>>
  readonly source?: string | undefined
  readonly at?: string | undefined
}

const given = new Given("CostModel.make")

const components = ["input", "output", "cacheRead", "cacheWrite", "reasoning"] as const

interface Checked {
  readonly input: bigint
  readonly output: bigint
  readonly cacheRead?: bigint
  readonly cacheWrite?: bigint
  readonly reasoning?: bigint
}

/** Of one token, in units: a millionth of the price of a million, which has at most 6 of the 12 digits. */
const perToken = (parameter: string, price: unknown): bigint => {
  const expectation = "a number between 0 and 1000000 with at most 6 decimal digits"
  if (typeof price !== "number" || !(price >= 0 && price <= 1e6)) return given.refuse(parameter, expectation, price)
  if (Number(price.toFixed(6)) !== price) return given.refuse(parameter, expectation, price)
  return unitsOf(price) / 1_000_000n
}

const checked = (name: string, prices: unknown): Checked => {
  const parameter = `prices["${name}"]`
  const record = given.record(parameter, prices, components)
  const own: { [component: string]: bigint } = {}
  for (const component of components) {
    const price = record[component]
    if (price === undefined && component !== "input" && component !== "output") continue
    own[component] = perToken(`${parameter}.${component}`, price)
  }
  return own as unknown as Checked
}

const priced = (prices: Checked, usage: ModelCall.Tokens): number | undefined => {
  const { cacheRead = 0, cacheWrite = 0, input, output, reasoning = 0 } = usage
  if (cacheRead > 0 && prices.cacheRead === undefined) return undefined // C1
  if (cacheWrite > 0 && prices.cacheWrite === undefined) return undefined
  return amountOf(
    BigInt(input) * prices.input +
      BigInt(cacheRead) * (prices.cacheRead ?? 0n) +
      BigInt(cacheWrite) * (prices.cacheWrite ?? 0n) +
      BigInt(output - reasoning) * prices.output +
      BigInt(reasoning) * (prices.reasoning ?? prices.output)
  )
}

/**
 * Makes the service.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the field and its value when one does not hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): CostModel["Service"] => {
  given.record("options", options, ["currency", "prices", "source", "at"])
  const { at, currency, prices, source } = options
  if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) {
    given.refuse("currency", "three capital letters", currency)
  }
  if (source !== undefined) given.text("source", source)
  if (at !== undefined) given.text("at", at)
  const all = new Map<string, Checked>()
  for (const [name, own] of Object.entries(given.record("prices", prices))) {
    if (!/^[^/\s]+\/\S+$/.test(name)) given.refuse("each name of prices", "a provider, a / and a model", name)
    all.set(name, checked(name, own))
  }
  return {
    currency,
    source,
    at,
    price: ({ model, provider, usage }) => {
      const own = all.get(`${provider}/${model}`)
      return own === undefined ? undefined : priced(own, usage)
    }
  }
}

/**
 * Provides the service with these prices.
 *
 * **Gotchas**
 *
 * Throws the `RangeError` of {@link make}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options): Layer.Layer<CostModel> => Layer.succeed(CostModel, make(options))

/**
 * Provides the service without prices: no cost is known.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerUnknown: Layer.Layer<CostModel> = Layer.succeed(CostModel, {
  currency: undefined,
  source: undefined,
  at: undefined,
  price: () => undefined
})
