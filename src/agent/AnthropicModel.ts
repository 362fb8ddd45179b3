/**
 * Claude as an Effect `LanguageModel`, by `@anthropic-ai/sdk`, which has to be installed beside this package and is needed by
 * nobody else. It is imported by its own name, `espalier/agent/AnthropicModel`.
 *
 * It turns prompts, tools and schemas into requests of the Messages API and their answers into parts. What a failure means is
 * told by `ModelFailure`. It makes one request for one call: whether a failed call is made again is decided by its caller.
 *
 * **Details**
 *
 * - Every answer is streamed, that of `generateText` too, so that a silence is noticed. After `idleTimeout` without a sign of
 *   life the answer is gone on with, at most `resumes` times: its text is sent back as the beginning of the answer. Where
 *   that cannot be, because it holds thoughts or calls, follows a schema, or the model refuses to be given a beginning,
 *   `generateText` asks anew and `streamText` fails.
 * - Nothing is taken up when a tool that the provider carries out is in the request: it may have done something already.
 *   Such a failure says `begun`.
 * - Thoughts are parts of their own. Their signatures are in the metadata under `anthropic`, and go back with the prompt; a
 *   thought without one is left out. No thinking is asked for when a tool is forced, for the API refuses both together.
 * - A refusal is a `ContentPolicyError` of `generateText`, and the finish reason `content-filter` of `streamText`. A reason
 *   that is not known fails: it does not mean that the model may go on.
 * - The tokens of attempts that were given up are part of the usage. `PartialUsage` hears of them while they are used.
 * - `OutputLimit` goes before `maxTokens`.
 * - With `toolCallValidation: "deferred"` a call whose arguments are no JSON is handed on with its text as the arguments.
 * - What is missing or superfluous in a prompt is put right: a call without a result gets one that says so, a result without
 *   a call is left out, approvals are never sent, turns of one side are joined.
 *
 * **Gotchas**
 *
 * - The key is in no error, log or span, and neither is anything of prompts and answers.
 * - The version of the API that the SDK speaks takes no temperature. There is `effort` instead.
 * - The SDK reads `ANTHROPIC_CUSTOM_HEADERS` from the environment. All else comes from here.
 *
 * **Example** (A model, a key out of the configuration)
 *
 * ```ts no-run
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import * as AnthropicModel from "espalier/agent/AnthropicModel"
 *
 * const program = LanguageModel.generateText({ prompt: "What does OTP stand for?" }).pipe(
 *   Effect.map((response) => response.text),
 *   Effect.provide(AnthropicModel.model("claude-sonnet-4-6", { maxTokens: 500, cache: "5m" })),
 *   Effect.provide(AnthropicModel.layerClientConfig())
 * )
 *
 * const main = Effect.runPromise(program)
 * ```
 *
 * @see https://platform.claude.com/docs/en/api/messages
 * @since 0.1.0
 */

import { Anthropic } from "@anthropic-ai/sdk"
import type { MessageCountTokensParams, MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages"
import * as AiError from "effect/ai/AiError"
import { toCodecAnthropic } from "effect/ai/AnthropicStructuredOutput"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import type * as Tool from "effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"

import { Given } from "../run/internal/given.ts"
import { bounded, most } from "./internal/anthropicBody.ts"
import { answer, type Patience } from "./internal/anthropicCall.ts"
import { reasonOf, silence, Thrown } from "./internal/anthropicFailure.ts"
import { type Effort, type Request, requestOf, type Settings } from "./internal/anthropicRequest.ts"
import { collect } from "./internal/anthropicStream.ts"
import { Overrides } from "./ModelFailure.ts"
import { OutputLimit } from "./OutputLimit.ts"

/**
 * How requests get to the provider. It shows no key.
 *
 * **Details**
 *
 * - `url`: where they go, for errors.
 * - `send`: sends a request whose answer is a stream of events. `count`: asks how many tokens a request has. Both are ended
 *   by their signal, and try once.
 *
 * @category services
 * @since 0.1.0
 */
export class Client extends Context.Service<
  Client,
  {
    readonly url: string
    readonly send: (body: MessageCreateParamsStreaming, signal: AbortSignal) => Promise<globalThis.Response>
    readonly count: (body: MessageCountTokensParams, signal: AbortSignal) => Promise<{ readonly input_tokens: number }>
  }
>()("espalier/agent/AnthropicModel/Client") {}

/**
 * How the provider is reached.
 *
 * **Details**
 *
 * - `apiKey`: a key of the API, not empty.
 * - `baseURL`: where the API is. Default `https://api.anthropic.com`.
 * - `headers`: sent with each request besides those of the SDK, such as those for a gateway. Default none.
 *
 * @category options
 * @since 0.1.0
 */
export interface ClientOptions {
  readonly apiKey: Redacted.Redacted
  readonly baseURL?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * How a model is asked.
 *
 * **Details**
 *
 * - `maxTokens`: the most tokens of an answer, thoughts included, a whole number >= 1. Default 8,192.
 * - `effort`: how much the model does for an answer. Default what the API takes.
 * - `thinking`: `"adaptive"`, or the most tokens of thoughts, a whole number >= 1,024 and less than `maxTokens`. Default none.
 * - `cache`: for how long the provider keeps what a request begins with: tools, system and turns up to the last of the user.
 *   `"5m"` and `"1h"` cost more to write and less to read. Default `"none"`.
 * - `strictTools`: whether the provider makes the arguments of a call fit its schema, where the schema has a form for that
 *   and the tool does not say otherwise by `Tool.Strict`. Default true. A dynamic tool has to ask for it, by `Tool.Strict` and
 *   with a JSON schema; bounds that cannot be enforced are told in the descriptions instead.
 * - `firstEventTimeout`: how long the first sign of an answer may take, > 0. Default 2 minutes.
 * - `idleTimeout`: how long an answer may be silent, > 0. A sign of life without content counts. Default 30 seconds.
 * - `resumes`: how often a silent answer is gone on with, a whole number >= 0. Default 2.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly maxTokens?: number | undefined
  readonly effort?: Effort | undefined
  readonly thinking?: "adaptive" | number | undefined
  readonly cache?: "none" | "5m" | "1h" | undefined
  readonly strictTools?: boolean | undefined
  readonly firstEventTimeout?: Duration.Input | undefined
  readonly idleTimeout?: Duration.Input | undefined
  readonly resumes?: number | undefined
}

const known: ReadonlyArray<keyof Options> = [
  "maxTokens",
  "effort",
  "thinking",
  "cache",
  "strictTools",
  "firstEventTimeout",
  "idleTimeout",
  "resumes"
]

/** Checks the options, and puts the defaults where nothing is said. */
const settled = (
  where: string,
  model: string,
  options: Options
): { readonly settings: Settings; readonly patience: Patience } => {
  const given = new Given(`AnthropicModel.${where}`)
  given.record("options", options, known)
  given.names("model", [model])
  const { maxTokens = 8192, effort, thinking, cache = "none", strictTools = true, resumes = 2 } = options
  given.whole("maxTokens", maxTokens, 1)
  if (effort !== undefined) given.oneOf("effort", effort, ["low", "medium", "high", "xhigh", "max"])
  if (thinking !== undefined && thinking !== "adaptive") {
    given.whole("thinking", thinking, 1024)
    given.made("thinking", `less than maxTokens, ${maxTokens}`, thinking < maxTokens, thinking)
  }
  given.oneOf("cache", cache, ["none", "5m", "1h"])
  given.flag("strictTools", strictTools)
  given.whole("resumes", resumes, 0)
  return {
    settings: { model, maxTokens, effort, thinking, cache, strictTools },
    patience: {
      firstEvent: given.duration("firstEventTimeout", options.firstEventTimeout ?? "2 minutes", "more"),
      idle: given.duration("idleTimeout", options.idleTimeout ?? "30 seconds", "more"),
      resumes
    }
  }
}

/** The SDK's own limit, which is longer than any of a caller. */
const sdkTimeoutMillis = 24 * 60 * 60 * 1000

/**
 * Reaches the provider with a key.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the key is empty or `baseURL` is no URL.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerClient = (options: ClientOptions): Layer.Layer<Client> => {
  const { apiKey, baseURL = "https://api.anthropic.com", headers = {} } = options
  const given = new Given("AnthropicModel.layerClient")
  given.made(
    "apiKey",
    "a Redacted that is not empty",
    Redacted.isRedacted(apiKey) && Redacted.value(apiKey) !== "",
    "none"
  )
  // What is refused is not shown: a URL may have a password in it.
  given.made("baseURL", "a URL of http or https without a user", isPlainUrl(baseURL), "another text")
  return Layer.sync(Client, () => {
    const sdk = new Anthropic({
      apiKey: Redacted.value(apiKey),
      authToken: null,
      webhookKey: null,
      baseURL,
      defaultHeaders: headers,
      // One owner of retries, and it is not the client; what is sent and received is nobody's business but the caller's.
      maxRetries: 0,
      timeout: sdkTimeoutMillis,
      // What is asked goes to this host and to no other that it names.
      fetchOptions: { redirect: "manual" },
      fetch: bounded(most, globalThis.fetch),
      logLevel: "off",
      openTelemetry: false
    })
    return {
      url: baseURL,
      send: (body, signal) => sdk.messages.create(body, { signal, maxRetries: 0 }).asResponse(),
      count: (body, signal) => sdk.messages.countTokens(body, { signal, maxRetries: 0 })
    }
  })
}

const isPlainUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, username, password } = new URL(text)
  return /^https?:$/.test(protocol) && username === "" && password === ""
}

/**
 * Reaches the provider with the key that the configuration has under `ANTHROPIC_API_KEY`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerClientConfig = (
  options: Omit<ClientOptions, "apiKey"> = {}
): Layer.Layer<Client, Config.ConfigError> =>
  Layer.unwrap(Effect.map(Config.Redacted("ANTHROPIC_API_KEY"), (apiKey) => layerClient({ ...options, apiKey })))

const refused = (method: string) => (reason: AiError.AiErrorReason) =>
  AiError.make({ module: "AnthropicModel", method, reason })

/** The numbers and names of a call on its span. Nothing of what was said. */
const annotate = (
  span: LanguageModel.ProviderOptions["span"],
  body: Request["body"],
  parts: ReadonlyArray<{ readonly type: string }>
): void => {
  const all = parts as ReadonlyArray<Response.StreamPartEncoded>
  const finish = all.find((part) => part.type === "finish")
  const metadata = all.find((part) => part.type === "response-metadata")
  Telemetry.addGenAIAnnotations(span, {
    operation: { name: "chat" },
    request: { model: body.model, maxTokens: body.max_tokens },
    response: {
      id: metadata?.id,
      model: metadata?.modelId,
      finishReasons: finish === undefined ? null : [finish.reason]
    },
    usage: { inputTokens: finish?.usage.inputTokens.total, outputTokens: finish?.usage.outputTokens.total }
  })
}

/**
 * Makes the model of this name.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is out of its range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (
  model: string,
  options: Options = {}
): Effect.Effect<LanguageModel.LanguageModel, never, Client> => {
  const { settings, patience } = settled("make", model, options)
  return Effect.flatMap(Client, (wire) => {
    const ask = (method: "generateText" | "streamText", asked: LanguageModel.ProviderOptions) =>
      Effect.flatMap(OutputLimit, (limit) =>
        Effect.map(
          Effect.mapError(Effect.fromResult(requestOf(asked, settings, limit)), refused(method)),
          (request) => ({
            wire,
            request,
            patience,
            method,
            deferred: asked.toolCallValidation === "deferred"
          })
        )
      )
    return LanguageModel.make({
      codecTransformer: toCodecAnthropic,
      generateText: Effect.fnUntraced(function* (asked) {
        const call = yield* ask("generateText", asked)
        let parts: Array<Response.StreamPartEncoded> = []
        // What was read before a new beginning is no part of the answer, but for who answered.
        const forget = () => {
          parts = parts.filter((part) => part.type === "response-metadata")
        }
        yield* Stream.runForEach(answer(call, forget), (part) => Effect.sync(() => parts.push(part)))
        annotate(asked.span, call.request.body, parts)
        return collect(parts)
      }),
      streamText: (asked) =>
        Stream.unwrap(
          Effect.map(ask("streamText", asked), (call) => {
            const marks: Array<Response.StreamPartEncoded> = []
            return answer(call, () => {}).pipe(
              Stream.tap((part) =>
                Effect.sync(() => {
                  if (part.type === "finish" || part.type === "response-metadata") marks.push(part)
                })
              ),
              Stream.ensuring(Effect.sync(() => annotate(asked.span, call.request.body, marks)))
            )
          })
        )
    })
  })
}

/**
 * The model of this name as a `LanguageModel`.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options & { readonly model: string }
): Layer.Layer<LanguageModel.LanguageModel, never, Client> => {
  const { model, ...rest } = options
  return Layer.effect(LanguageModel.LanguageModel, make(model, rest))
}

/**
 * The model of this name, with its name and that of its provider.
 *
 * @category constructors
 * @since 0.1.0
 */
export const model = (
  name: string,
  options: Options = {}
): Model.Model<"anthropic", LanguageModel.LanguageModel, Client> =>
  Model.make("anthropic", name, layer({ ...options, model: name }))

/**
 * How many tokens a prompt and its tools have for the model of this name, by asking the provider. It costs a request, and
 * no tokens.
 *
 * **Details**
 *
 * The request has the form that a call with the same options has. It is given up after `firstEventTimeout`.
 *
 * @category counting
 * @since 0.1.0
 */
export const countTokens = (
  model: string,
  options: Options = {}
): Effect.Effect<
  (request: {
    readonly prompt: Prompt.Prompt
    readonly tools: ReadonlyArray<Tool.Any>
  }) => Effect.Effect<number, AiError.AiError>,
  never,
  Client
> => {
  const { settings, patience } = settled("countTokens", model, options)
  const fail = refused("countTokens")
  return Effect.map(Client, (wire) =>
    Effect.fnUntraced(function* ({ prompt, tools }) {
      const asked = { prompt, tools, toolChoice: "auto", responseFormat: { type: "text" } } as const
      const request = requestOf(asked, settings, undefined)
      if (Result.isFailure(request)) return yield* fail(request.failure)
      const { max_tokens: _max, stream: _stream, ...body } = request.success.body
      const overrides = yield* Overrides
      const counted = yield* Effect.tryPromise({
        try: (signal) => wire.count(body, signal),
        catch: (error) => new Thrown({ error })
      }).pipe(
        Effect.catch(({ error }) =>
          Effect.flatMap(Clock.currentTimeMillis, (at) =>
            fail(reasonOf(error, { overrides, at, url: wire.url, serverTools: false, streaming: false }))
          )
        ),
        Effect.timeoutOrElse({
          duration: patience.firstEvent,
          orElse: () => fail(silence({ serverTools: false }, patience.firstEvent))
        })
      )
      const tokens: unknown = counted.input_tokens
      if (typeof tokens !== "number" || !Number.isSafeInteger(tokens) || tokens < 0) {
        return yield* fail(new AiError.InvalidResponseError({ description: "The response has no number of tokens" }))
      }
      return tokens
    })
  )
}
