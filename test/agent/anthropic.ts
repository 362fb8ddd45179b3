/** A Claude whose provider follows a script, and what is asked of it. */
import { Effect, Layer, Logger, Redacted, Schema, Stream } from "effect"
import { type AiError, LanguageModel, type Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { ModelFailure } from "espalier/agent"
import * as AnthropicModel from "espalier/agent/AnthropicModel"

import * as Api from "./messagesServer.ts"

export const key = "sk-ant-canary-7f3a"

/** A model whose provider answers by the script, and the server. */
export const scripted = Effect.fnUntraced(function* (
  answers: ReadonlyArray<Api.Answer>,
  options: AnthropicModel.Options = {}
) {
  const server = yield* Api.serve(...answers)
  const client = AnthropicModel.layerClient({ apiKey: Redacted.make(key), baseURL: server.url })
  const model = AnthropicModel.layer({ model: "claude-test", ...options })
  const context = yield* Layer.build(Layer.provideMerge(model, client))
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => lines.push(String(message)))])
  const run = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(Effect.provideContext(context), Effect.provide(logger))
  return { server, lines, run }
})

export const Weather = Tool.make("weather", {
  description: "The weather of a town",
  parameters: Schema.Struct({ town: Schema.String, days: Schema.optionalKey(Schema.Int) }),
  success: Schema.Struct({ sky: Schema.String })
})
export const Search = Tool.providerDefined({
  id: "anthropic.web_search_20260318",
  customName: "Search",
  providerName: "web_search",
  args: Schema.Struct({ max_uses: Schema.Int }),
  parameters: Schema.Unknown,
  success: Schema.Unknown,
  failure: Schema.Unknown
})({ max_uses: 2 })

export const search = Toolkit.make(Search)

export const unresolved = { disableToolCallResolution: true, toolCallValidation: "deferred" } as const
export const weather = Toolkit.make(Weather).pipe(
  Effect.provide(Toolkit.make(Weather).toLayer({ weather: () => Effect.succeed({ sky: "blue" }) }))
)

export const messagesOf = (request: Api.Request | undefined): ReadonlyArray<unknown> =>
  (request?.body["messages"] ?? []) as ReadonlyArray<unknown>

export const deltas = (parts: ReadonlyArray<{ readonly type: string }>): string =>
  (parts as ReadonlyArray<Response.StreamPartEncoded>)
    .map((part) => (part.type === "text-delta" ? part.delta : ""))
    .join("")

export const provider = { provider: "anthropic", model: "claude-test" }

/** The failure of a call, read as one of the kinds. */
export const failureOf = <A, R>(effect: Effect.Effect<A, AiError.AiError, R>) =>
  Effect.flatMap(Effect.flip(effect), (error) => ModelFailure.read(error, provider))

export const ways = {
  generateText: (options: { readonly prompt: Prompt.RawInput }) => Effect.asVoid(LanguageModel.generateText(options)),
  streamText: (options: { readonly prompt: Prompt.RawInput }) => Stream.runDrain(LanguageModel.streamText(options))
}
