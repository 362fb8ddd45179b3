/**
 * What the models of Anthropic cost: one table, as of one day. Prices change; look them up before you rely on a sum.
 *
 * **Details**
 *
 * - The figures are those of copies of the pages of {@link pages}, kept without a date; none was newer than {@link asOf}. They
 *   were not compared with the pages as they are now: they are unverified.
 * - `cacheWrite` is the price of a cache that is kept for 5 minutes. One that is kept for an hour costs more.
 * - A model is listed when the SDK of Anthropic names it as one that is not retired, and its price is the same for prompts of any
 *   size. Others have no price here: `claude-haiku-5-5` has two, by the size of the prompt.
 * - Where the cache prices were not the same in all copies, they are left out: a call that uses a cache is not known then.
 *
 * @since 0.1.0
 */
import type { Layer } from "effect"
import { CostModel } from "espalier/agent"

/**
 * Where the figures are from.
 *
 * @category models
 * @since 0.1.0
 */
export const pages: ReadonlyArray<string> = [
  "https://platform.claude.com/docs/en/about-claude/pricing",
  "https://platform.claude.com/docs/en/models/overview"
]

/**
 * As of which day.
 *
 * @category models
 * @since 0.1.0
 */
export const asOf = "2026-11-30, unverified"

/** In USD per 1,000,000 tokens. */
const opus = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 }

/**
 * The prices, in USD per 1,000,000 tokens.
 *
 * @category models
 * @since 0.1.0
 */
export const prices: Readonly<Record<string, CostModel.Prices>> = {
  "anthropic/claude-haiku-4-5": { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
  "anthropic/claude-sonnet-4-6": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  "anthropic/claude-sonnet-5": { input: 2, output: 10, cacheRead: 0.2, cacheWrite: 2.5 },
  "anthropic/claude-sonnet-5-5": { input: 2, output: 10 },
  "anthropic/claude-opus-4-6": opus,
  "anthropic/claude-opus-4-7": opus,
  "anthropic/claude-opus-4-8": opus,
  "anthropic/claude-opus-5": opus,
  "anthropic/claude-opus-5-5": { input: 4, output: 20 }
}

/**
 * The prices as what calls are charged with.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer: Layer.Layer<CostModel.CostModel> = CostModel.layer({
  currency: "USD",
  source: pages.join(" "),
  at: asOf,
  prices
})
