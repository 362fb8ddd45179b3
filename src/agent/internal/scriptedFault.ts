/**
 * The errors that a scripted fault fails with, as an adapter of a provider would make them.
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"

/** What can go wrong with a call. */
export const faults = [
  "rate-limit",
  "overloaded",
  "server",
  "network",
  "timeout",
  "context-overflow",
  "unauthorized",
  "forbidden",
  "bad-request",
  "refusal",
  "quota",
  "malformed",
  "cut"
] as const

export type Fault = (typeof faults)[number]

const url = "https://scripted.invalid/v1/messages"

const http = (status: number, type: string, message: string, retryAfter?: Duration.Duration | undefined) => ({
  response: {
    status,
    headers: {
      "content-type": "application/json",
      ...(retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(Duration.toSeconds(retryAfter))) })
    }
  },
  body: JSON.stringify({ type: "error", error: { type, message } })
})

const network = (description: string): AiError.NetworkError =>
  new AiError.NetworkError({ reason: "TransportError", method: "POST", url, description })

const reasonOf = (fault: Fault, retryAfter?: Duration.Duration | undefined): AiError.AiErrorReason => {
  switch (fault) {
    case "rate-limit":
      return new AiError.RateLimitError({
        ...(retryAfter === undefined ? {} : { retryAfter }),
        http: http(429, "rate_limit_error", "Too many requests", retryAfter)
      })
    case "overloaded":
      return new AiError.InternalProviderError({
        description: "Overloaded",
        http: http(529, "overloaded_error", "Overloaded", retryAfter)
      })
    case "server":
      return new AiError.InternalProviderError({
        description: "Internal server error",
        http: http(500, "api_error", "Internal server error", retryAfter)
      })
    case "network":
      return network("Connection refused")
    case "timeout":
      return network("Request timed out")
    case "cut":
      return network("Connection closed in the middle of the answer")
    case "context-overflow":
      return new AiError.InvalidRequestError({
        description: "prompt is too long: 200001 tokens > 200000 maximum",
        metadata: { espalier: { kind: "oversized" } },
        http: http(400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum")
      })
    case "unauthorized":
      return new AiError.AuthenticationError({
        kind: "InvalidKey",
        http: http(401, "authentication_error", "invalid x-api-key")
      })
    case "forbidden":
      return new AiError.AuthenticationError({
        kind: "InsufficientPermissions",
        http: http(403, "permission_error", "not allowed")
      })
    case "bad-request":
      return new AiError.InvalidRequestError({
        description: "messages: at least one message is required",
        http: http(400, "invalid_request_error", "messages: at least one message is required")
      })
    case "refusal":
      return new AiError.ContentPolicyError({ description: "The model refuses to answer this" })
    case "quota":
      return new AiError.QuotaExhaustedError({ http: http(429, "quota_error", "Your credit is used up") })
    case "malformed":
      return new AiError.InvalidOutputError({ description: "The answer is not what a model answers" })
  }
}

/** The error of a fault. */
export const faultError = (fault: Fault, method: string, retryAfter?: Duration.Duration | undefined): AiError.AiError =>
  AiError.make({ module: "ScriptedModel", method, reason: reasonOf(fault, retryAfter) })
