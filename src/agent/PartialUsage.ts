/**
 * What a model call has used so far, told while it goes on.
 *
 * A call that is cut, or interrupted by its caller, ends without the numbers that a finished one returns. Who has to settle it
 * provides a function here; an adapter calls it with each report of the provider.
 *
 * **Details**
 *
 * - Each report is the whole of the call until then, attempts that were given up included. The last one counts.
 * - A provider that reports nothing leads to no call of the function.
 *
 * **Gotchas**
 *
 * The function is called synchronously between two pieces of an answer. It must be short and must not throw.
 *
 * **Example** (What an interrupted call has cost)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { PartialUsage } from "espalier/agent"
 *
 * let last: PartialUsage.Usage | undefined
 * const adapter = Effect.gen(function* () {
 *   const report = yield* PartialUsage.PartialUsage
 *   report?.({ inputTokens: { total: 900 }, outputTokens: { total: 12 } })
 *   return yield* Effect.interrupt
 * })
 * const call = Effect.provideService(adapter, PartialUsage.PartialUsage, (usage) => {
 *   last = usage
 * })
 * Effect.runSyncExit(call)._tag // => "Failure"
 * last?.inputTokens.total // => 900
 * ```
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as Context from "effect/Context"

/**
 * Tokens, in the encoded form that Effect's `Response.Usage` has in a finish part.
 *
 * @category models
 * @since 0.1.0
 */
export type Usage = typeof Response.Usage.Encoded

/**
 * Hears of what a call has used so far. Default `undefined`: nobody listens.
 *
 * @category references
 * @since 0.1.0
 */
export const PartialUsage = Context.Reference<((usage: Usage) => void) | undefined>("espalier/agent/PartialUsage", {
  defaultValue: () => undefined
})
