/**
 * Tells people that they are asked something, and what came of it.
 *
 * A `Notifier` is a list of channels. {@link send} tries each of them, never fails, and answers with what came of it: a
 * channel that is out of order keeps neither the others nor the run from going on.
 *
 * Provide one around `Run.start`, `Run.resume` or `Host.serve`, and the runs that are carried out there tell people: that
 * they are asked, reminded, not needed any more, what was decided, and what came too late. A notice is sent once the event
 * that it comes from is in the journal, and a `Notified` says there what came of it. What has no such event is still owed, by
 * whoever carries the run out next; so each notice comes at least once, and its `id` tells when it comes twice.
 *
 * A notice says that there is a question, of which kind and where. Of what is asked it says nothing: for that, people go
 * where they decide.
 *
 * **Details**
 *
 * - An attempt is given up after 10 seconds. There are 3 of them, with about 1 and 2 seconds between them; a channel can have
 *   other numbers.
 * - A run sends 4 notices at once. One that has failed is sent again, where it has not come through, with the next thing that
 *   people are told of its question, or when the run is taken up; after 5 times it is given up, and its `Notified` says so.
 * - One that a channel holds back is sent when that is over, if the run is carried out then, and otherwise when it is taken up.
 * - A run with nothing else to do waits for its notices, for 3 minutes at most. What is not sent until then is owed.
 * - That somebody is asked is not sent any more once nobody is.
 * - A webhook that answers 2xx has been told. After 408, 429, 5xx and where there is no connection it is tried again, and
 *   after no other answer. `Retry-After` is waited for up to 60 seconds; what is longer becomes the `until` of the receipt.
 * - A webhook is signed as the Standard Webhooks scheme says: `webhook-id`, `webhook-timestamp` and `webhook-signature`, an
 *   HMAC-SHA256 for each secret. {@link verify} checks that on the other side.
 *
 * **Gotchas**
 *
 * - A run that is over is not taken up by a host: what its process could not send is sent by `Run.resume`.
 * - A run that was carried out without a notifier owes all that was never told; the first one with a notifier tells it.
 * - Redirects are not followed with `fetch`, nor with the clients of Node.js. A client that was made to follow them does so.
 * - Nothing is traced of a webhook, and no receipt and no error holds its address: it is often a secret itself.
 *
 * **Example** (A signed notice, and the other side of it)
 *
 * ```ts
 * import { Effect, Layer, Redacted } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 * import { Notifier } from "espalier/run"
 *
 * const secrets = [Redacted.make("whsec_c2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVz")]
 *
 * // The receiver, without a network in between.
 * const received: Array<string> = []
 * const receiver = HttpClient.make((request) =>
 *   Effect.gen(function* () {
 *     const body = request.body._tag === "Uint8Array" ? request.body.body : ""
 *     const notice = yield* Effect.orDie(Notifier.verify({ secrets, headers: request.headers, body }))
 *     received.push(notice.summary)
 *     return HttpClientResponse.fromWeb(request, new Response(null, { status: 204 }))
 *   })
 * )
 *
 * const notice = Notifier.notice({
 *   run: "r-1", review: "r-1/review/1", desk: "release", what: "created", kind: "action-approval",
 *   risk: "high", task: "publish", at: 0, due: 86_400_000, to: ["group:releases"], event: 12
 * })
 * const receipts = Notifier.send(notice).pipe(
 *   Effect.provide(Notifier.layerWebhook({ url: "https://hooks.example.com/in", secrets })),
 *   Effect.provide(Layer.succeed(HttpClient.HttpClient, receiver))
 * )
 * await Effect.runPromise(receipts) // => [{ channel: "webhook", ok: true, attempts: 1 }]
 * received[0]?.startsWith("A decision is asked for: whether an action may be carried out (desk release, run r-1") // => true
 * ```
 *
 * @see https://www.standardwebhooks.com
 * @since 0.1.0
 */

import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import type * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import { durationOf } from "../internal/options.ts"
import { attemptsByDefault, type Channel, deliver, type Receipt, timeoutByDefault } from "./internal/channels.ts"
import { isId } from "./internal/fields.ts"
import { Given } from "./internal/given.ts"
import { Notice } from "./internal/notices.ts"
import { decoder, Problem, sentences, show } from "./internal/problems.ts"
import { isSigned } from "./internal/signing.ts"
import { plain } from "./internal/text.ts"
import { keysOf, webhook as makeWebhook, type WebhookOptions } from "./internal/webhook.ts"

export { type Channel, NotifyFailed, Receipt } from "./internal/channels.ts"
export { Notice, notice, type NoticeOptions, What } from "./internal/notices.ts"
export { quiet, type QuietHours } from "./internal/quiet.ts"
export { type WebhookOptions } from "./internal/webhook.ts"

const TypeId = "~espalier/run/Notifier"

/**
 * Who tells people.
 *
 * @category models
 * @since 0.1.0
 */
export interface Notifier {
  readonly [TypeId]: typeof TypeId
  readonly channels: ReadonlyArray<Channel>
}

/**
 * Makes a notifier of channels, which are tried at the same time.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` for a channel that does not hold, or a name that is there twice.
 * - A channel that cannot be interrupted is waited for, however long an attempt may take.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (channels: ReadonlyArray<Channel>): Notifier => {
  const given = new Given("Notifier.make")
  const names = given.list("channels", channels).map((channel, index) => {
    const at = `channels[${index}]`
    const { attempts = attemptsByDefault, name, send, timeout = timeoutByDefault } = given.record(at, channel)
    if (typeof name !== "string" || !isId(name)) {
      return given.refuse(`${at}.name`, "letters, digits, '.', '_' and '-', beginning with a letter", name)
    }
    given.code(`${at}.send`, send)
    given.whole(`${at}.attempts`, attempts, 1)
    given.duration(`${at}.timeout`, timeout, "more")
    return name
  })
  names.forEach((name, index) => {
    if (names.indexOf(name) !== index) given.refuse(`channels[${index}].name`, "a name that no other has", name)
  })
  return { [TypeId]: TypeId, channels: [...channels] }
}

/**
 * Tells nobody.
 *
 * @category constructors
 * @since 0.1.0
 */
export const none: Notifier = make([])

/**
 * Who tells people around this effect. Default: {@link none}.
 *
 * @category services
 * @since 0.1.0
 */
export const Notifier = Context.Reference<Notifier>("espalier/run/Notifier", { defaultValue: () => none })

/**
 * Provides a notifier of these channels; one that has to be made first is made with the layer.
 *
 * **Example** (Two channels, one of which is quiet at night)
 *
 * ```ts
 * import { Effect, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 * import { Notifier } from "espalier/run"
 *
 * const chat = Notifier.webhook({
 *   name: "chat",
 *   url: "https://hooks.example.com/in",
 *   secrets: [Redacted.make("whsec_c2VjcmV0IG9mIHR3ZW50eS1mb3VyIGJ5dGVz")]
 * }).pipe(Effect.map(Notifier.quiet({ from: "22:00", until: "07:00", zone: "Europe/Vienna" })))
 *
 * const names = Effect.gen(function* () {
 *   const { channels } = yield* Notifier.Notifier
 *   return channels.map(({ name }) => name)
 * })
 * const layer = Notifier.layer([Notifier.log, chat])
 * await Effect.runPromise(names.pipe(Effect.provide(layer), Effect.provide(FetchHttpClient.layer))) // => ["log", "chat"]
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = <E = never, R = never>(
  channels: ReadonlyArray<Channel | Effect.Effect<Channel, E, R>>
): Layer.Layer<never, E, R> =>
  Layer.effect(
    Notifier,
    Effect.map(
      Effect.forEach(channels, (each) => (Effect.isEffect(each) ? each : Effect.succeed(each))),
      make
    )
  )

/**
 * Tells the log: one line for each notice.
 *
 * @category channels
 * @since 0.1.0
 */
export const log: Channel = {
  name: "log",
  send: ({ id, review, summary, to }) =>
    Effect.logInfo(plain(`${summary} review ${review}, to ${to.join(", ") || "nobody"}, ${id}`))
}

/**
 * Provides a notifier that tells the log.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerLog: Layer.Layer<never> = layer([log])

/**
 * Makes a channel that tells a web server, by a signed POST with the notice as JSON.
 *
 * **Details**
 *
 * - `url`, `secrets`, `name`, `attempts`, `timeout`: see {@link WebhookOptions}.
 * - The id and the body are the same in each attempt, the time and the signature are new.
 * - The body of the answer is not read.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for an address or a secret that does not hold, and shows neither.
 *
 * @category channels
 * @since 0.1.0
 */
export const webhook: (options: WebhookOptions) => Effect.Effect<Channel, never, HttpClient.HttpClient> = makeWebhook

/**
 * Provides a notifier that tells a web server, see {@link webhook}.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerWebhook = (options: WebhookOptions): Layer.Layer<never, never, HttpClient.HttpClient> =>
  layer([webhook(options)])

const decodeNotice = decoder(Notice)

/**
 * Sends a notice on every channel, as often as each is tried, and answers with what came of it, in the order of the channels.
 *
 * **Details**
 *
 * - Never fails. Fields that are no part of a notice are left out; one that does not hold is tried nowhere.
 * - Interrupted, it interrupts what is under way, and answers nothing.
 *
 * @category operations
 * @since 0.1.0
 */
export const send = Effect.fnUntraced(function* (notice: Notice): Effect.fn.Return<ReadonlyArray<Receipt>> {
  const { channels } = yield* Notifier
  const checked = decodeNotice(notice)
  if (EffectResult.isFailure(checked)) {
    const reason = sentences(checked.failure, "the notice")
    return channels.map(({ name }) => ({ channel: name, ok: false, attempts: 0, reason }))
  }
  // There are as many at once as somebody has written down channels.
  return yield* Effect.forEach(channels, (channel) => deliver(channel, checked.success), { concurrency: "unbounded" })
})

/**
 * A message that is no notice of who it says it is from, or is not from now.
 *
 * **Details**
 *
 * - `reason`: `incomplete` without one of the headers, `malformed` where a header or the body cannot be read, `expired` and
 *   `early` when its time is too far from now, `unsigned` when no signature is one of ours, `too-large`.
 * - `problems`: where, and what was expected. A signature is never shown.
 *
 * @category errors
 * @since 0.1.0
 */
export class NoticeRefused extends Schema.TaggedError<NoticeRefused>("espalier/run/Notifier/NoticeRefused")(
  "NoticeRefused",
  {
    reason: Schema.Literals(["incomplete", "malformed", "expired", "early", "unsigned", "too-large"]),
    problems: Schema.Array(Problem)
  }
) {
  override get message(): string {
    return `NOTICE_REFUSED: ${sentences(this.problems, "the body")}`
  }
}

/**
 * What a receiver has got, and what it goes by.
 *
 * **Details**
 *
 * - `secrets`: those that are accepted, as in {@link WebhookOptions}.
 * - `headers`: of the request, in whatever case. `body`: as it came, not parsed and written again.
 * - `tolerance`: how far the time of the message may be from now, > 0. Default 5 minutes.
 *
 * @category options
 * @since 0.1.0
 */
export interface VerifyOptions {
  readonly secrets: ReadonlyArray<Redacted.Redacted>
  readonly headers: Headers.Input
  readonly body: string | Uint8Array
  readonly tolerance?: Duration.Input | undefined
}

/** No notice is nearly as large. */
const largest = 1024 * 1024

const seconds = /^\d{1,12}$/

const refused = (
  reason: NoticeRefused["reason"],
  path: string,
  expectation: string,
  actual: string = ""
): NoticeRefused => new NoticeRefused({ reason, problems: [{ path, expectation, actual }] })

/**
 * Checks, as a receiver, that a message is from somebody who has one of the secrets and from now, and reads the notice.
 *
 * **Details**
 *
 * - Fails with {@link NoticeRefused}. How long it takes to refuse a signature does not tell how much of it was right.
 * - A message that somebody has recorded passes until `tolerance` is over: remember the ids of that time, as one has to for a
 *   notice that comes twice anyway.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for a secret or a tolerance that does not hold.
 *
 * @category operations
 * @since 0.1.0
 */
export const verify = (options: VerifyOptions): Effect.Effect<Notice, NoticeRefused> => {
  const where = "Notifier.verify"
  const keys = keysOf(where, options.secrets)
  const tolerance = Duration.toMillis(durationOf(where, "tolerance", options.tolerance ?? "5 minutes", "more"))
  return Effect.gen(function* () {
    const body = typeof options.body === "string" ? new TextEncoder().encode(options.body) : options.body
    if (body.length > largest) {
      return yield* refused("too-large", "", `must be of at most ${largest} bytes`, `${body.length} bytes`)
    }
    const headers = Headers.fromInput(options.headers)
    const { "webhook-id": id, "webhook-signature": signature, "webhook-timestamp": timestamp } = headers
    if (id === undefined) return yield* refused("incomplete", "webhook-id", "is required")
    if (timestamp === undefined) return yield* refused("incomplete", "webhook-timestamp", "is required")
    if (signature === undefined) return yield* refused("incomplete", "webhook-signature", "is required")
    if (!seconds.test(timestamp)) {
      return yield* refused("malformed", "webhook-timestamp", "must be seconds since 1970", show(timestamp))
    }
    const age = (yield* Clock.currentTimeMillis) - Number(timestamp) * 1_000
    if (Math.abs(age) > tolerance) {
      const expectation = `must be within ${tolerance} ms of now`
      return yield* refused(age > 0 ? "expired" : "early", "webhook-timestamp", expectation, timestamp)
    }
    if (!isSigned(keys, { id, timestamp, body }, signature)) {
      return yield* refused("unsigned", "webhook-signature", "must have a signature by one of the secrets")
    }
    const parsed = yield* Effect.try({
      try: (): unknown => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)),
      catch: () => refused("malformed", "", "must be JSON")
    })
    const decoded = decodeNotice(parsed)
    if (EffectResult.isFailure(decoded)) {
      return yield* new NoticeRefused({ reason: "malformed", problems: decoded.failure })
    }
    if (decoded.success.id !== id) return yield* refused("malformed", "webhook-id", "must be the id of the notice")
    return decoded.success
  })
}
