/**
 * One request to a collector, and what its answer means.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"

import { codeOf } from "../../internal/systemCode.ts"
import { retryAfter } from "../../run/HttpFailure.ts"
import type { Sent } from "./outbox.ts"

/**
 * Where a signal goes.
 *
 * @since 0.1.0
 */
export interface Destination {
  readonly address: Redacted.Redacted
  readonly headers: Readonly<Record<string, Redacted.Redacted>>
  readonly compression: "gzip" | "none"
}

/**
 * What a status means: the specification of OTLP lists what may be tried again, and nothing else may.
 *
 * @since 0.1.0
 */
export const meaning = (status: number): Sent["_tag"] => {
  if (status >= 200 && status <= 299) return "Taken"
  return status === 429 || status === 502 || status === 503 || status === 504 ? "Again" : "Never"
}

const unsent = ({ reason }: HttpClientError.HttpClientError): Sent => {
  if (reason._tag !== "TransportError") return { _tag: "Never", why: "the request cannot be made" }
  const why = codeOf(reason.cause)
  return { _tag: "Again", why: why === undefined ? "no connection" : `no connection (${why})` }
}

const whyOf = (status: number): string => {
  // A client that does not follow may show nothing of it.
  const redirect = status === 0 || (status >= 300 && status <= 399)
  return redirect ? "a redirect, which is not followed" : `HTTP ${status}`
}

const longestAnswer = 65_536

const counts = ["rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"]

/**
 * How many items a collector did not take, out of what it says.
 *
 * @since 0.1.0
 */
export const rejectedOf = (body: string): number => {
  try {
    const answer: unknown = JSON.parse(body)
    const part = Predicate.hasProperty(answer, "partialSuccess") ? answer.partialSuccess : undefined
    for (const name of counts) {
      const count = Predicate.hasProperty(part, name) ? Number(part[name]) : 0
      if (count > 0) return count
    }
  } catch {
    // The collector has said 200, so it has the items.
  }
  return 0
}

/**
 * Only a short answer in JSON is read: a body may be endless, and the status has said what matters. How long one that is packed is
 * unpacked is not said.
 */
const isRead = ({ headers }: HttpClientResponse.HttpClientResponse): boolean =>
  headers["content-type"]?.includes("json") === true &&
  Number(headers["content-length"]) <= longestAnswer &&
  (headers["content-encoding"] ?? "identity").trim().toLowerCase() === "identity"

/**
 * Sends what an exporter has made. Redirects are not followed: the headers may be keys.
 *
 * @since 0.1.0
 */
export const send = (
  client: HttpClient.HttpClient,
  { address, compression, headers }: Destination,
  made: HttpClientRequest.HttpClientRequest
): Effect.Effect<Sent> => {
  const secrets: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) secrets[name] = Redacted.value(value)
  const request = HttpClientRequest.post(Redacted.value(address)).pipe(
    HttpClientRequest.setHeaders({ "accept-encoding": "identity", ...made.headers, ...secrets }),
    HttpClientRequest.setBody(made.body)
  )
  const packed = compression === "gzip" ? HttpClientRequest.compressBody(request, "gzip") : Effect.succeed(request)
  return Effect.gen(function* () {
    const response = yield* HttpClient.withScope(client).execute(yield* packed)
    const what = meaning(response.status)
    if (what === "Taken") {
      const body = isRead(response) ? yield* Effect.orElseSucceed(response.text, () => "") : ""
      return { _tag: what, rejected: rejectedOf(body) } as const
    }
    const why = whyOf(response.status)
    if (what === "Never") return { _tag: what, why } as const
    const afterMillis = retryAfter(response.headers["retry-after"] ?? "", yield* Clock.currentTimeMillis)
    return { _tag: what, why, afterMillis } as const
  }).pipe(
    // The end of the scope ends the connection where the body was not read.
    Effect.scoped,
    Effect.catch((error) => Effect.succeed(unsent(error))),
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual", credentials: "omit" }),
    Effect.provideService(HttpClient.TracerPropagationEnabled, false),
    Effect.withTracerEnabled(false)
  )
}
