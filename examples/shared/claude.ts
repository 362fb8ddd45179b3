/**
 * Claude for the examples, where there is a key: a cheap model and a strong one, each with the other as its stand-in.
 *
 * Without a key nothing of Anthropic is loaded.
 *
 * **Gotchas**
 *
 * Whoever chooses or plans has to call a tool. Models that refuse to be made to, as `claude-sonnet-5-5` is documented to, cannot
 * do that here; as workers they can be asked.
 *
 * @since 0.1.0
 */
import { Config, Effect, Layer, Option, Redacted } from "effect"
import type { Prompt, Tool } from "effect/ai"
import { Models } from "espalier/agent"

/**
 * Which models, and where they are asked.
 *
 * **Details**
 *
 * - `cheap`, `strong`: ids of models. Defaults `claude-haiku-4-5` and `claude-sonnet-4-6`.
 * - `baseURL`: where the API is. Default that of Anthropic.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly cheap?: string | undefined
  readonly strong?: string | undefined
  readonly baseURL?: string | undefined
}

/**
 * Two chains: the cheap model first, and the strong one first.
 *
 * @category models
 * @since 0.1.0
 */
export interface Claude {
  readonly cheap: Models.Models
  readonly strong: Models.Models
}

/**
 * The models that are asked by default.
 *
 * @category models
 * @since 0.1.0
 */
export const defaults = { cheap: "claude-haiku-4-5", strong: "claude-sonnet-4-6" } as const

/** The smallest window of the models that are asked by default, in tokens. */
const window = 200_000

/**
 * The key of the environment, if there is one.
 *
 * @category keys
 * @since 0.1.0
 */
export const key: Effect.Effect<Option.Option<Redacted.Redacted>, Config.ConfigError> = Effect.map(
  Config.option(Config.Redacted("ANTHROPIC_API_KEY")),
  Option.filter((found) => Redacted.value(found) !== "")
)

// Only now: who has no key needs no SDK.
const sdk = Effect.promise(() => import("espalier/agent/AnthropicModel"))

/**
 * One model, with a key, and the count of its provider.
 *
 * @category constructors
 * @since 0.1.0
 */
export const one = (apiKey: Redacted.Redacted, model: string, { baseURL }: Pick<Options, "baseURL"> = {}) =>
  Effect.map(sdk, (AnthropicModel) => {
    const client = AnthropicModel.layerClient({ apiKey, baseURL })
    return {
      model: Layer.provide(AnthropicModel.model(model), client),
      count: (request: { readonly prompt: Prompt.Prompt; readonly tools: ReadonlyArray<Tool.Any> }) =>
        Effect.flatMap(AnthropicModel.countTokens(model), (count) => count(request)).pipe(Effect.provide(client))
    }
  })

/**
 * Both chains, with a key.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (apiKey: Redacted.Redacted, options: Options = {}): Effect.Effect<Claude> => {
  const { baseURL, cheap = defaults.cheap, strong = defaults.strong } = options
  return Effect.map(
    Effect.all([one(apiKey, cheap, { baseURL }), one(apiKey, strong, { baseURL })]),
    ([first, second]) => {
      const low = { provide: first.model, window }
      const high = { provide: second.model, window }
      const chain = (one: typeof low, other: typeof low) => Models.make(cheap === strong ? [one] : [one, other])
      return { cheap: chain(low, high), strong: chain(high, low) }
    }
  )
}
