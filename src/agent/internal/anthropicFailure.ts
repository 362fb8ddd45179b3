/**
 * What the SDK throws, as a reason of an `AiError`. Nothing that the provider wrote is kept but names of known forms: a
 * gateway may repeat the prompt, or the key.
 */
import { APIConnectionError, APIConnectionTimeoutError, APIError } from "@anthropic-ai/sdk"
import * as AiError from "effect/ai/AiError"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"

import * as HttpFailure from "../../run/HttpFailure.ts"
import * as ModelFailure from "../ModelFailure.ts"
import { isTooLong } from "./anthropicBody.ts"

/** Whatever a promise was rejected with. */
export class Thrown extends Data.TaggedError("Thrown")<{ readonly error: unknown }> {}

/** What is known besides the error. */
export interface Around {
  readonly overrides: HttpFailure.Table
  /** Milliseconds since 1970. */
  readonly at: number
  /** Where requests go, without anything secret. */
  readonly url: string
  /** Whether the provider carries out a tool of the request. */
  readonly serverTools: boolean
  /** Whether the answer had begun. */
  readonly streaming: boolean
  readonly requestId?: string | undefined
}

const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  conflict_error: 409,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529
}

const requestIdForm = /^[\w.:-]{1,128}$/

/** The id of a request, if it looks like one. */
export const requestIdOf = (headers: Headers | undefined): string | undefined => {
  const id = headers?.get("request-id") ?? headers?.get("x-request-id")
  return typeof id === "string" && requestIdForm.test(id) ? id : undefined
}

/** A connection that was never made has carried no request. */
const unreached: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT"
])

const neverSent = (error: unknown): boolean => {
  let cause: unknown = error
  for (let depth = 0; depth < 5 && Predicate.isObject(cause); depth += 1) {
    if (Predicate.hasProperty(cause, "code") && unreached.has(cause.code)) return true
    cause = Predicate.hasProperty(cause, "cause") ? cause.cause : undefined
  }
  return false
}

interface Mark {
  readonly kind?: string
  readonly requestId?: string
  readonly begun?: boolean
  readonly retryAfterMillis?: number
}

/** What `ModelFailure` reads. */
export const markOf = (around: Pick<Around, "requestId">, mark: Mark): AiError.ProviderMetadata => ({
  espalier: { ...(around.requestId === undefined ? {} : { requestId: around.requestId }), ...mark }
})

/** An answer that was waited for too long. */
export const silence = (
  around: Pick<Around, "requestId" | "serverTools">,
  limit: Duration.Duration
): AiError.AiErrorReason =>
  new AiError.InternalProviderError({
    description: `Nothing came for ${Duration.format(limit)}`,
    metadata: markOf(around, { kind: "transient", begun: around.serverTools })
  })

const bodyOf = (error: APIError): string => {
  try {
    return JSON.stringify(error.error) ?? ""
  } catch {
    return ""
  }
}

const fromStatus = (status: number, type: string | null, error: APIError, around: Around): AiError.AiErrorReason => {
  const requestId = requestIdOf(error.headers) ?? around.requestId
  const headers = Object.fromEntries(error.headers?.entries() ?? [])
  const response = { status, headers, body: bodyOf(error) }
  const row = HttpFailure.rowOf(response, around.overrides)
  const { kind, retryAfterMillis } = HttpFailure.classify(
    response,
    around.at,
    row === undefined ? ModelFailure.table : [row]
  )
  const metadata = markOf(
    { requestId },
    {
      kind,
      ...(around.streaming && around.serverTools ? { begun: true } : {}),
      ...(retryAfterMillis === undefined ? {} : { retryAfterMillis })
    }
  )
  const http = around.streaming ? {} : { http: { response: { status, headers: {} } } }
  const name = type !== null && /^[a-z_]{1,64}$/.test(type) ? ` ${type}` : ""
  const description = around.streaming ? `The answer was broken off:${name || " an error"}` : `HTTP ${status}${name}`
  const common = { metadata, ...http }
  if (status === 402 || (status === 429 && kind === "capability")) return new AiError.QuotaExhaustedError(common)
  if (status === 429 || (status === 403 && kind === "transient")) {
    const retryAfter = retryAfterMillis === undefined ? {} : { retryAfter: Duration.millis(retryAfterMillis) }
    return new AiError.RateLimitError({ ...common, ...retryAfter })
  }
  if (status === 401) return new AiError.AuthenticationError({ kind: "InvalidKey", description, ...common })
  if (status === 403)
    return new AiError.AuthenticationError({ kind: "InsufficientPermissions", description, ...common })
  if (status >= 500) return new AiError.InternalProviderError({ description, ...common })
  if ([400, 404, 405, 413, 415, 422].includes(status))
    return new AiError.InvalidRequestError({ description, ...common })
  return new AiError.UnknownError({ description, ...common })
}

/** Reads what a call of the SDK, or the reading of its stream, has thrown. */
export const reasonOf = (error: unknown, around: Around): AiError.AiErrorReason => {
  if (isTooLong(error)) {
    return new AiError.InvalidOutputError({
      description: "The answer is longer than any answer",
      metadata: markOf(around, { kind: "malformed" })
    })
  }
  if (error instanceof APIConnectionError || !(error instanceof APIError)) {
    const late = error instanceof APIConnectionTimeoutError
    if (!around.streaming && !around.serverTools) {
      return new AiError.NetworkError({
        reason: "TransportError",
        method: "POST",
        url: around.url,
        description: late ? "No answer in time" : "The connection failed"
      })
    }
    return new AiError.InternalProviderError({
      description: around.streaming ? "The connection was lost" : "The connection failed",
      metadata: markOf(around, {
        kind: "transient",
        begun: around.serverTools && (around.streaming || !neverSent(error))
      })
    })
  }
  const status = error.status ?? (error.type === null ? undefined : statuses[error.type]) ?? 599
  return fromStatus(status, error.type, error, around)
}
