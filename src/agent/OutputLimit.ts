/**
 * How many tokens the answer to one model call may have.
 *
 * Whoever calls a model says it here, and whoever adapts a provider passes it on. Effect's `LanguageModel` has no option
 * for it.
 *
 * **Example** (A call with a short answer)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { OutputLimit } from "espalier/agent"
 *
 * const program = Effect.gen(function* () {
 *   return yield* OutputLimit.OutputLimit
 * })
 * Effect.runSync(Effect.provideService(program, OutputLimit.OutputLimit, 500)) // => 500
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

/**
 * The most tokens that the answer may have, a whole number >= 1. Default `undefined`: what the adapter says.
 *
 * @category references
 * @since 0.1.0
 */
export const OutputLimit = Context.Reference<number | undefined>("espalier/agent/OutputLimit", {
  defaultValue: () => undefined
})
