import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ModelCall, type PartialUsage } from "espalier/agent"
import { Result } from "espalier/run"

const call: ModelCall.Call = {
  provider: "a",
  model: "one",
  step: 0,
  attempt: 1,
  end: "answered",
  usage: { input: 10, output: 5, cacheRead: 100, cacheWrite: 20, reasoning: 3 },
  durationMillis: 7
}

describe("ModelCall", () => {
  it.effect("D104 what a run counts has each token once, and the cost when it is known", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(ModelCall.usageOf(call), { tokens: 135 })
      assert.deepStrictEqual(ModelCall.usageOf({ ...call, cost: 0 }), { tokens: 135, cost: 0 })
      const vast = { ...call, usage: { input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER } }
      assert.isTrue(Schema.is(Result.Usage)(ModelCall.usageOf(vast)))
    })
  )

  it.effect.each<readonly [string, PartialUsage.Usage, ModelCall.Tokens | undefined]>([
    ["totals", { inputTokens: { total: 9 }, outputTokens: { total: 4 } }, { input: 9, output: 4 }],
    [
      "a total that has the cache in it",
      { inputTokens: { total: 9, cacheRead: 5, cacheWrite: 1 }, outputTokens: { total: 4, reasoning: 2 } },
      { input: 3, output: 4, cacheRead: 5, cacheWrite: 1, reasoning: 2 }
    ],
    [
      "what is not from the cache, which comes first",
      { inputTokens: { uncached: 2, total: 9, cacheRead: 7 }, outputTokens: { total: 4 } },
      { input: 2, output: 4, cacheRead: 7 }
    ],
    [
      "parts",
      { inputTokens: { total: 9 }, outputTokens: { text: 3, reasoning: 2 } },
      { input: 9, output: 5, reasoning: 2 }
    ],
    ["only what went in", { inputTokens: { total: 9 }, outputTokens: {} }, { input: 9, output: 0 }],
    ["nothing", { inputTokens: {}, outputTokens: {} }, undefined],
    [
      "numbers that cannot be",
      { inputTokens: { total: -9, cacheRead: Number.NaN }, outputTokens: { total: 1.5, reasoning: 7 } },
      { input: 0, output: 1, reasoning: 1 }
    ],
    [
      "a cache beyond the total",
      { inputTokens: { total: 3, cacheRead: 5 }, outputTokens: {} },
      { input: 0, output: 0, cacheRead: 5 }
    ]
  ])("D104 tokens of a provider that reports %s", ([, usage, expected]) =>
    Effect.sync(() => {
      const tokens = ModelCall.tokensFrom(usage)
      assert.deepStrictEqual(tokens, expected)
      assert.isTrue(tokens === undefined || Schema.is(ModelCall.Tokens)(tokens))
    })
  )

  it.effect("a call is plain JSON", () =>
    Effect.sync(() => {
      const decoded = Schema.decodeUnknownSync(ModelCall.Call)(JSON.parse(JSON.stringify(call)))
      assert.deepStrictEqual(decoded, call)
    })
  )
})
