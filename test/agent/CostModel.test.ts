import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { CostModel, type ModelCall } from "espalier/agent"

const prices = {
  "a/all": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, reasoning: 60 },
  "a/plain": { input: 0.1, output: 0.7 },
  "a/free": { input: 0, output: 0 },
  "a/deep/name": { input: 1, output: 1 }
}
const costs = CostModel.make({ currency: "USD", prices, source: "https://a.example/prices", at: "2026-11-01" })

const priceOf = (model: string, usage: ModelCall.Tokens) => costs.price({ provider: "a", model, usage })

describe("CostModel", () => {
  it.effect.each<readonly [string, string, ModelCall.Tokens, number | undefined]>([
    ["each part at its own price", "all", { input: 1_000, output: 100 }, 0.0045],
    ["what is read from a cache", "all", { input: 0, output: 0, cacheRead: 1_000_000 }, 0.3],
    ["what is written to a cache", "all", { input: 0, output: 0, cacheWrite: 1_000_000 }, 3.75],
    ["reasoning at its own price, once", "all", { input: 0, output: 100, reasoning: 40 }, 0.0033],
    ["reasoning as output without a price of its own", "plain", { input: 0, output: 100, reasoning: 40 }, 0.00007],
    ["nothing where the price is nothing", "free", { input: 9, output: 9 }, 0],
    ["nothing where nothing was used", "plain", { input: 0, output: 0 }, 0],
    ["a model with a / in its name", "deep/name", { input: 1_000_000, output: 0 }, 1],
    ["one token", "plain", { input: 1, output: 0 }, 0.0000001],
    ["unknown for a model that is not listed", "other", { input: 1, output: 1 }, undefined],
    ["unknown for a cache without a price", "plain", { input: 1, output: 1, cacheRead: 1 }, undefined],
    ["unknown for writing to a cache without a price", "plain", { input: 1, output: 1, cacheWrite: 1 }, undefined],
    ["known for a cache that was not used", "plain", { input: 10, output: 0, cacheRead: 0, cacheWrite: 0 }, 0.000001]
  ])("R-406 the price: %s", ([, model, usage, expected]) =>
    Effect.sync(() => assert.strictEqual(priceOf(model, usage), expected))
  )

  it.effect("R-406 without prices nothing is known, and there is no currency", () =>
    Effect.gen(function* () {
      const unknown = yield* CostModel.CostModel
      assert.strictEqual(unknown.price({ provider: "a", model: "all", usage: { input: 0, output: 0 } }), undefined)
      assert.deepStrictEqual([unknown.currency, unknown.source, unknown.at], [undefined, undefined, undefined])
    }).pipe(Effect.provide(CostModel.layerUnknown))
  )

  it.effect("the layer has its currency, and where its prices are from", () =>
    Effect.gen(function* () {
      const { at, currency, source } = yield* CostModel.CostModel
      assert.deepStrictEqual([currency, source, at], ["USD", "https://a.example/prices", "2026-11-01"])
    }).pipe(
      Effect.provide(CostModel.layer({ currency: "USD", prices, source: "https://a.example/prices", at: "2026-11-01" }))
    )
  )

  const one = (own: object) => ({ currency: "USD", prices: { "a/b": { input: 1, output: 1, ...own } } })

  it.effect.each<readonly [string, string, object]>([
    ["currency", `"usd"`, { currency: "usd", prices: {} }],
    ["currency", "undefined", { prices: {} }],
    ["prices", "undefined", { currency: "USD" }],
    ["each name of prices", `"model"`, { currency: "USD", prices: { model: { input: 1, output: 1 } } }],
    [`prices["a/b"].input`, "-1", one({ input: -1 })],
    [`prices["a/b"].output`, "NaN", one({ output: Number.NaN })],
    [`prices["a/b"].output`, "undefined", one({ output: undefined })],
    [`prices["a/b"].cacheRead`, "1e-7", one({ cacheRead: 0.000_000_1 })],
    [`prices["a/b"].cacheWrite`, "1000001", one({ cacheWrite: 1_000_001 })],
    [`prices["a/b"].reasoning`, `"1"`, one({ reasoning: "1" })],
    [`each field of prices["a/b"]`, `"cached"`, one({ cached: 1 })],
    ["each field of options", `"price"`, { ...one({}), price: {} }],
    ["at", "5", { ...one({}), at: 5 }],
    ["source", "5", { ...one({}), source: 5 }]
  ])("a wrong %s is refused by its name, with its value %s", ([name, value, options]) =>
    Effect.sync(() => {
      const made = Result.try(() => CostModel.layer(options as CostModel.Options))
      const error = Result.isFailure(made) ? made.failure : undefined
      assert.instanceOf(error, RangeError)
      assert.include(String(error), `CostModel.make: ${name} must be `)
      assert.include(String(error), `got ${value}`)
    })
  )
})
