/**
 * What a failed model call means: the one place where an `AiError` becomes one of the kinds of `Failure`.
 *
 * | reason | kind |
 * |---|---|
 * | `RateLimitError`, `InternalProviderError`, a network that failed, a time-out, `UnknownError` | `transient` |
 * | `AuthenticationError` | `denied` |
 * | `QuotaExhaustedError`, `ContentPolicyError`, `InvalidRequestError`, `UnsupportedSchemaError`, `InvalidUserInputError` | `capability` |
 * | `ToolConfigurationError`, `ToolkitRequiredError`, a tool whose result cannot be used | `capability` |
 * | `InvalidOutputError`, `InvalidResponseError`, `StructuredOutputError`, `ToolNotFoundError`, `ToolParameterValidationError` | `malformed` |
 *
 * **Details**
 *
 * - An error that knows its HTTP status is read by {@link table} first, where its reason is one that stands for a status: a
 *   context that is too long is `oversized`, throttling sent as 503 is `transient`.
 * - Rows of {@link Overrides} come before everything but the mark. They look at status, body and headers.
 * - The mark: an adapter that knows better puts `{ espalier: { kind, requestId, begun, retryAfterMillis } }` into the
 *   `metadata` of the reason. Each field of it wins.
 * - `begun`: the provider may already have done something outside, for the request had a tool that the provider carries out.
 *   Such a call must not be made again without a decision to do so.
 *
 * **Gotchas**
 *
 * The texts of a provider are left out: they may repeat what was asked, or a key.
 *
 * **Example** (A rate limit)
 *
 * ```ts
 * import { Duration } from "effect"
 * import { AiError } from "effect/ai"
 * import { Failure } from "espalier"
 * import { ModelFailure } from "espalier/agent"
 *
 * const error = AiError.make({
 *   module: "AnthropicModel",
 *   method: "generateText",
 *   reason: new AiError.RateLimitError({ retryAfter: Duration.seconds(30) })
 * })
 * const failure = ModelFailure.fromAiError(error, { provider: "anthropic", model: "claude" })
 * Failure.kindOf(failure) // => "transient"
 * failure.retryAfterMillis // => 30_000
 * failure.message // => "anthropic/claude: rate limit"
 * ```
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import * as HttpFailure from "../run/HttpFailure.ts"

/**
 * A failed model call, with what it means.
 *
 * **Details**
 *
 * - `reason`: a few words, without anything that a provider, a prompt or a tool said. The message has it behind the model, and
 *   not the kind, which whoever tells of the failure says beside it.
 * - `retryAfterMillis`: what a `transient` one asks to be left alone for, >= 0.
 * - `requestId`: what the provider calls the request, for its support.
 * - `begun`: whether the provider may already have done something outside.
 *
 * @category errors
 * @since 0.1.0
 */
export class ModelFailure extends Schema.TaggedError<ModelFailure>("espalier/agent/ModelFailure/ModelFailure")(
  "ModelFailure",
  {
    kind: Failure.Kind,
    reason: Schema.String,
    provider: Schema.String,
    model: Schema.String,
    retryAfterMillis: Schema.optionalKey(Schema.Finite),
    requestId: Schema.optionalKey(Schema.String),
    begun: Schema.Boolean
  }
) {
  /** @since 0.1.0 */
  get [Failure.kind](): Failure.Kind {
    return this.kind
  }

  override get message(): string {
    const request = this.requestId === undefined ? "" : ` (request ${this.requestId})`
    return `${this.provider}/${this.model}: ${this.reason}${request}`
  }
}

/**
 * What an error means.
 *
 * @category models
 * @since 0.1.0
 */
export interface Classified {
  readonly kind: Failure.Kind
  readonly reason: string
  readonly retryAfterMillis?: number
  readonly requestId?: string
  readonly begun: boolean
}

/**
 * The rows for errors that know their HTTP status: those of `HttpFailure`, and what model providers say besides.
 *
 * @category models
 * @since 0.1.0
 */
export const table: HttpFailure.Table = [
  { status: 400, body: "exceed context limit", kind: "oversized" },
  { status: 400, body: "exceeds the context window", kind: "oversized" },
  { status: 400, body: "model_context_window_exceeded", kind: "oversized" },
  { status: 400, body: "too many tokens", kind: "oversized" },
  ...HttpFailure.table
]

/**
 * Rows that come before the table and before the reasons. Default none.
 *
 * **Details**
 *
 * Provide them around a model call: an adapter that does not keep the body of a response reads it by these rows.
 *
 * @category references
 * @since 0.1.0
 */
export const Overrides = Context.Reference<HttpFailure.Table>("espalier/agent/ModelFailure/Overrides", {
  defaultValue: () => []
})

/**
 * How an error is read.
 *
 * **Details**
 *
 * - `overrides`: rows that come first. Default none.
 * - `at`: the time, in milliseconds since 1970, that a `Retry-After` which is a date is counted from. Default 0, which makes
 *   it a very long time; {@link read} knows the time.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly overrides?: HttpFailure.Table | undefined
  readonly at?: number | undefined
}

const tags: Readonly<Record<AiError.AiErrorReason["_tag"], readonly [kind: Failure.Kind, words: string]>> = {
  RateLimitError: ["transient", "rate limit"],
  QuotaExhaustedError: ["capability", "the quota is spent"],
  AuthenticationError: ["denied", "not authorised"],
  ContentPolicyError: ["capability", "refused"],
  InvalidRequestError: ["capability", "the request was not accepted"],
  InvalidResponseError: ["malformed", "the response cannot be read"],
  InternalProviderError: ["transient", "the provider failed"],
  NetworkError: ["transient", "the provider cannot be reached"],
  InvalidOutputError: ["malformed", "the answer is not what was asked for"],
  StructuredOutputError: ["malformed", "the answer does not fit its schema"],
  UnsupportedSchemaError: ["capability", "the schema is not supported"],
  UnknownError: ["transient", "an unknown error"],
  ToolNotFoundError: ["malformed", "a tool that does not exist was called"],
  ToolParameterValidationError: ["malformed", "a tool was called with arguments that do not fit"],
  InvalidToolResultError: ["capability", "a tool gave a result that does not fit"],
  ToolResultEncodingError: ["capability", "the result of a tool cannot be sent"],
  ToolConfigurationError: ["capability", "a tool is not set up for this provider"],
  ToolkitRequiredError: ["capability", "tools are needed and none were given"],
  InvalidUserInputError: ["capability", "the prompt has something that this provider does not take"]
}

/** Reasons that say no more than a status does, so that the status decides. */
const byStatus: ReadonlySet<string> = new Set([
  "RateLimitError",
  "AuthenticationError",
  "InvalidRequestError",
  "InternalProviderError",
  "UnknownError"
])

interface Mark {
  readonly kind?: Failure.Kind
  readonly requestId?: string
  readonly begun?: boolean
  readonly retryAfterMillis?: number
}

const isKind = Schema.is(Failure.Kind)

const isWait = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value) && value >= 0

const isRequestId = (value: unknown): value is string => typeof value === "string" && /^[\w.:-]{1,128}$/.test(value)

const markOf = (reason: AiError.AiErrorReason): Mark => {
  const mark = "metadata" in reason ? reason.metadata["espalier"] : undefined
  if (!Predicate.isObject(mark)) return {}
  const { kind, requestId, begun, retryAfterMillis } = mark as Readonly<Record<string, unknown>>
  return {
    ...(isKind(kind) ? { kind } : {}),
    ...(isRequestId(requestId) ? { requestId } : {}),
    ...(typeof begun === "boolean" ? { begun } : {}),
    ...(isWait(retryAfterMillis) ? { retryAfterMillis } : {})
  }
}

const responseOf = (reason: AiError.AiErrorReason): HttpFailure.Response | undefined => {
  const http = "http" in reason ? reason.http : undefined
  if (http?.response === undefined) return undefined
  const headers = Object.entries(http.response.headers).map(
    ([name, value]) => [name, Redacted.isRedacted(value) ? Redacted.value(value) : value] as const
  )
  return { status: http.response.status, body: http.body, headers }
}

const requestIdOf = (response: HttpFailure.Response | undefined): string | undefined => {
  for (const [name, value] of (response?.headers ?? []) as Iterable<readonly [string, string]>) {
    if (/^(x-)?request-id$/i.test(name) && isRequestId(value)) return value
  }
  return undefined
}

/** A row of the user's, else of the table where the reason leaves it to the status. */
const rowFor = (
  reason: AiError.AiErrorReason,
  response: HttpFailure.Response,
  { overrides = [], at = 0 }: Options
): HttpFailure.Classified | undefined => {
  const own = HttpFailure.rowOf(response, overrides)
  if (own !== undefined) return HttpFailure.classify(response, at, [own])
  return byStatus.has(reason._tag) ? HttpFailure.classify(response, at, table) : undefined
}

const isTimeout = (error: AiError.AiError | Cause.TimeoutError): error is Cause.TimeoutError =>
  error._tag === "TimeoutError"

/**
 * Reads an error of a model call, or of its time limit.
 *
 * @category classification
 * @since 0.1.0
 */
export const classify = (error: AiError.AiError | Cause.TimeoutError, options: Options = {}): Classified => {
  if (isTimeout(error)) return { kind: "transient", reason: "no answer in time", begun: false }
  const { reason } = error
  const mark = markOf(reason)
  const response = responseOf(reason)
  const row = response === undefined ? undefined : rowFor(reason, response, options)
  const [usual, words] = tags[reason._tag] ?? tags.UnknownError
  const kind = mark.kind ?? row?.kind ?? (isWrongUrl(reason) ? "capability" : usual)
  const after = error.retryAfter === undefined ? undefined : Duration.toMillis(error.retryAfter)
  const wait = mark.retryAfterMillis ?? (isWait(after) ? after : row?.retryAfterMillis)
  const requestId = mark.requestId ?? requestIdOf(response)
  const status = response === undefined ? "" : ` (HTTP ${response.status})`
  return {
    kind,
    reason: `${kind === "oversized" ? "more than the model can take" : words}${status}`,
    ...(kind === "transient" && wait !== undefined ? { retryAfterMillis: wait } : {}),
    ...(requestId === undefined ? {} : { requestId }),
    begun: mark.begun ?? false
  }
}

/** A request that could not even be made will not be made by waiting. */
const isWrongUrl = (reason: AiError.AiErrorReason): boolean =>
  reason._tag === "NetworkError" && reason.reason !== "TransportError"

/**
 * An error of a model call as a marked one.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromAiError = (
  error: AiError.AiError | Cause.TimeoutError,
  options: Options & { readonly provider: string; readonly model: string }
): ModelFailure => new ModelFailure({ ...classify(error, options), provider: options.provider, model: options.model })

/**
 * As {@link fromAiError}, by the {@link Overrides} that are provided and the time that it is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const read = (
  error: AiError.AiError | Cause.TimeoutError,
  of: { readonly provider: string; readonly model: string }
): Effect.Effect<ModelFailure> =>
  Effect.all([Overrides, Clock.currentTimeMillis]).pipe(
    Effect.map(([overrides, at]) => fromAiError(error, { ...of, overrides, at }))
  )
