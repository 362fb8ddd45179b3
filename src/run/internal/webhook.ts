/**
 * Tells a web server: a signed POST with the notice as JSON.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"

import { codeOf } from "../../internal/systemCode.ts"
import { retryAfter } from "../HttpFailure.ts"
import { type Channel, NotifyFailed } from "./channels.ts"
import { Given } from "./given.ts"
import type { Notice } from "./notices.ts"
import { keyOf, sign } from "./signing.ts"

/**
 * What a webhook is made of.
 *
 * **Details**
 *
 * - `url`: where the notices go; `http` or `https`, without credentials. It may be `Redacted`.
 * - `secrets`: what the notices are signed with, at least one: base64 of 24 to 64 bytes, with or without `whsec_` in front.
 *   There is one signature for each, so that a receiver can change over from one to the next.
 * - `name`: of the channel. Default `"webhook"`.
 * - `attempts`, `timeout`: as of a channel.
 *
 * @category options
 * @since 0.1.0
 */
export interface WebhookOptions {
  readonly url: string | Redacted.Redacted
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  readonly name?: string | undefined
  readonly attempts?: number | undefined
  readonly timeout?: Duration.Input | undefined
}

/**
 * What the status of an answer means.
 *
 * @since 0.1.0
 */
export const meaning = (status: number): "told" | "again" | "never" => {
  if (status >= 200 && status <= 299) return "told"
  return status === 408 || status === 429 || (status >= 500 && status <= 599) ? "again" : "never"
}

/** An address is never shown: in many, the path or the query is a secret. */
const addressOf = (where: string, given: unknown): string => {
  const refuse = (got: string): never => {
    throw new RangeError(`${where}: url must be an http or https address without credentials, got ${got}`)
  }
  const text = Redacted.isRedacted(given) ? Redacted.value(given) : given
  if (typeof text !== "string") return refuse(`a ${typeof text}`)
  if (!URL.canParse(text)) return refuse("a text that is no address")
  const { password, protocol, username } = new URL(text)
  if (protocol !== "http:" && protocol !== "https:") return refuse("another scheme")
  return username === "" && password === "" ? text : refuse("one with credentials")
}

/**
 * The keys of secrets, which are never shown.
 *
 * @since 0.1.0
 */
export const keysOf = (where: string, given: unknown): ReadonlyArray<Uint8Array> => {
  const secrets = new Given(where).list("secrets", given)
  if (secrets.length === 0) throw new RangeError(`${where}: secrets must be at least one, got none`)
  return secrets.map((secret, index) => {
    const text = Redacted.isRedacted(secret) ? Redacted.value(secret) : undefined
    const key = typeof text === "string" ? keyOf(text) : undefined
    if (key !== undefined) return key
    const expectation = "a Redacted text that is base64 of 24 to 64 bytes, with or without whsec_ in front"
    throw new RangeError(`${where}: secrets[${index}] must be ${expectation}, got something else`)
  })
}

const unsent = (channel: string, { reason }: HttpClientError.HttpClientError): NotifyFailed => {
  if (reason._tag !== "TransportError") {
    return new NotifyFailed({ channel, reason: "the request cannot be made", retryable: false })
  }
  const why = codeOf(reason.cause)
  return new NotifyFailed({
    channel,
    reason: why === undefined ? "no connection" : `no connection (${why})`,
    retryable: true
  })
}

/**
 * Makes the channel.
 *
 * @since 0.1.0
 */
export const webhook = (options: WebhookOptions): Effect.Effect<Channel, never, HttpClient.HttpClient> => {
  const where = "Notifier.webhook"
  new Given(where).record("options", options, ["url", "secrets", "name", "attempts", "timeout"])
  const { attempts, name = "webhook", secrets, timeout } = options
  const url = addressOf(where, options.url)
  const keys = keysOf(where, secrets)
  return Effect.map(HttpClient.HttpClient, (client) => ({
    name,
    send: posting(name, url, keys, HttpClient.withScope(client)),
    attempts,
    timeout
  }))
}

const posting = (
  channel: string,
  url: string,
  keys: ReadonlyArray<Uint8Array>,
  client: ReturnType<typeof HttpClient.withScope<HttpClientError.HttpClientError, never>>
) =>
  Effect.fnUntraced(
    function* (notice: Notice): Effect.fn.Return<void, NotifyFailed> {
      const body = new TextEncoder().encode(JSON.stringify(notice))
      const timestamp = String(Math.floor((yield* Clock.currentTimeMillis) / 1_000))
      const request = HttpClientRequest.post(url).pipe(
        HttpClientRequest.bodyUint8Array(body, "application/json"),
        HttpClientRequest.setHeaders({
          "webhook-id": notice.id,
          "webhook-timestamp": timestamp,
          "webhook-signature": sign(keys, { id: notice.id, timestamp, body })
        })
      )
      // The end of the scope ends the connection: nothing of the body of the answer is read.
      const { headers, status } = yield* Effect.scoped(
        Effect.mapError(client.execute(request), (error) => unsent(channel, error))
      )
      const what = meaning(status)
      if (what === "told") return
      const redirect = status === 0 || (status >= 300 && status <= 399)
      const asked = retryAfter(headers["retry-after"] ?? "", yield* Clock.currentTimeMillis)
      return yield* new NotifyFailed({
        channel,
        reason: redirect ? `HTTP ${status}, a redirect, which is not followed` : `HTTP ${status}`,
        retryable: what === "again",
        ...(what === "again" && asked !== undefined && { retryAfterMillis: asked })
      })
    },
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "manual", credentials: "omit" }),
    // A span would have the address, and a receiver needs no trace of this program.
    Effect.provideService(HttpClient.TracerDisabledWhen, () => true)
  )
