import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Context, DateTime, Deferred, Effect, Fiber, Layer, Logger, Queue, Redacted, Schema, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Notifier } from "espalier/run"

import { withNetwork } from "../fixtures/real.ts"

const text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
const secret = Redacted.make(text)
const other = Redacted.make(`whsec_${btoa("b".repeat(32))}`)

/** Tuesday, 14 November 2023, 22:13:20 GMT. */
const now = 1_700_000_000_000

const options: Notifier.NoticeOptions = {
  run: "r-1",
  review: "r-1/review/1",
  desk: "release",
  what: "created",
  kind: "action-approval",
  at: now,
  due: now + 3_600_000,
  risk: "high",
  task: "publish",
  to: ["user:ada", "group:finance"],
  event: 7
}
const notice = Notifier.notice(options)

const withChannels = (...channels: ReadonlyArray<Notifier.Channel>) =>
  Effect.provide(Notifier.layer(channels), { local: true })

const failed = (channel: string, reason: string, rest?: { retryAfterMillis?: number; retryable?: boolean }) =>
  new Notifier.NotifyFailed({ channel, reason, retryable: true, ...rest })

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : assert.fail(`a body of bytes, got ${body._tag}`)

/** A web server without a network: each request is told, and answered in turn. */
const receiver = Effect.fnUntraced(function* (...answers: ReadonlyArray<Response | "no-connection" | "silence">) {
  const requests = yield* Queue.unbounded<HttpClientRequest.HttpClientRequest>()
  const signals: Array<AbortSignal> = []
  let served = 0
  const client = HttpClient.make((request, _, signal) =>
    Effect.gen(function* () {
      signals.push(signal)
      const answer = answers[served++]
      yield* Queue.offer(requests, request)
      if (answer === "silence") return yield* Effect.never
      if (answer instanceof Response) return HttpClientResponse.fromWeb(request, answer)
      const cause = new TypeError(`fetch failed for ${request.url}`, {
        cause: Object.assign(new Error(`connect to ${request.url}`), { code: "ECONNREFUSED" })
      })
      return yield* new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({ request, cause })
      })
    })
  )
  return { requests, signals, served: () => served, layer: Layer.succeed(HttpClient.HttpClient, client) }
})

const answer = (status: number, headers?: Record<string, string>) =>
  new Response(status === 204 ? null : "nobody reads this", { status, ...(headers && { headers }) })

const url = "https://hooks.example.com/services/T000/path-secret?sig=query-secret"

const sending = (layer: Layer.Layer<HttpClient.HttpClient>, rest?: Partial<Notifier.WebhookOptions>) =>
  Notifier.send(notice).pipe(
    Effect.provide(Notifier.layerWebhook({ url, secrets: [secret], ...rest })),
    Effect.provide(layer)
  )

describe("Notifier", () => {
  describe("notice", () => {
    it("R-306 has the same id for the same event, whoever is told, and another for any other", () => {
      const others: ReadonlyArray<Partial<Notifier.NoticeOptions>> = [
        { run: "r-2" },
        { review: "r-1/review/2" },
        { what: "reminder" },
        { event: 8 }
      ]
      const ids = [{}, ...others].map((each) => Notifier.notice({ ...options, ...each }).id)
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.strictEqual(Notifier.notice({ ...options, to: ["user:bob"], at: 0 }).id, notice.id)
      assert.match(notice.id, /^notice_[0-9a-f]{32}$/)
    })

    it("R-306 is plain JSON, with one sentence out of a template", () => {
      const json: unknown = JSON.parse(JSON.stringify(notice))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Notifier.Notice)(json), notice)
      assert.strictEqual(
        notice.summary,
        "A decision is asked for: whether an action may be carried out (desk release, run r-1, task publish, high risk);" +
          " the next step is at 2023-11-14T23:13:20.000Z."
      )
    })

    it("R-306 names that are long or that a terminal obeys stay one short line", () => {
      const { summary } = Notifier.notice({ ...options, task: `\u001b[31m\n${"x".repeat(5_000)}`, desk: "a\r\nb" })
      assert.isBelow(summary.length, 600)
      assert.notMatch(summary, /[\p{Cc}]/u)
      assert.include(summary, "desk a b")
    })
  })

  describe("make", () => {
    const send = () => Effect.void
    it.each([
      [[{ name: "two words", send }], "channels[0].name must be letters"],
      [[{ name: "a", send: 1 }], "channels[0].send must be a function"],
      [[{ name: "a", send, attempts: 0 }], "channels[0].attempts must be a whole number >= 1"],
      [[{ name: "a", send, timeout: 0 }], "timeout must be a duration > 0"],
      [
        [
          { name: "a", send },
          { name: "a", send }
        ],
        "channels[1].name must be a name that no other has"
      ],
      ["log", "channels must be a list"]
    ])("R-306 refuses %j: %s", (channels, expected) => {
      assert.throws(() => Notifier.make(channels as ReadonlyArray<Notifier.Channel>), RangeError, expected)
    })
  })

  describe("send", () => {
    it.effect("R-306 tells nobody where nobody is named", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Notifier.send(notice), [])
      })
    )

    it.effect("R-306 one channel that fails, one that breaks and one that throws keep no other from telling", () =>
      Effect.gen(function* () {
        const told: Array<string> = []
        const receipts = yield* Notifier.send(notice).pipe(
          withChannels(
            { name: "refuses", send: () => Effect.fail(failed("refuses", "no such user", { retryable: false })) },
            { name: "dies", send: () => Effect.die(new Error("out of ghp_16C7e42F292c6912E7710c838347Ae178B4a")) },
            {
              name: "throws",
              send: () => {
                throw new TypeError("not a function")
              }
            },
            { name: "stops", send: () => Effect.interrupt },
            { name: "works", send: ({ id }) => Effect.sync(() => void told.push(id)) }
          )
        )
        assert.deepStrictEqual(told, [notice.id])
        assert.deepStrictEqual(
          receipts.map(({ attempts, channel, ok, reason }) => [channel, ok, attempts, reason]),
          [
            ["refuses", false, 1, "no such user"],
            ["dies", false, 1, "the channel itself failed: out of [redacted:github-token]"],
            ["throws", false, 1, "the channel itself failed: not a function"],
            ["stops", false, 1, "the channel itself failed: All fibers interrupted without error"],
            ["works", true, 1, undefined]
          ]
        )
      })
    )

    it.effect("R-306 channels are tried at the same time", () =>
      Effect.gen(function* () {
        const told = yield* Deferred.make<void>()
        const receipts = yield* Notifier.send(notice).pipe(
          withChannels(
            { name: "waits", send: () => Deferred.await(told) },
            { name: "tells", send: () => Effect.asVoid(Deferred.succeed(told, undefined)) }
          )
        )
        assert.deepStrictEqual(
          receipts.map(({ channel, ok }) => [channel, ok]),
          [
            ["waits", true],
            ["tells", true]
          ]
        )
      })
    )

    it.effect("R-306 three attempts, with about one and two seconds between them", () =>
      Effect.gen(function* () {
        const attempts = yield* Queue.unbounded<number>()
        const channel: Notifier.Channel = {
          name: "busy",
          send: () =>
            TestClock.testClockWith((clock) => clock.currentTimeMillis).pipe(
              Effect.flatMap((at) => Queue.offer(attempts, at)),
              Effect.andThen(Effect.fail(failed("busy", "not now")))
            )
        }
        const fiber = yield* Effect.forkChild(Notifier.send(notice).pipe(withChannels(channel)))
        const times: Array<number> = [yield* Queue.take(attempts)]
        yield* TestClock.adjust(799)
        assert.strictEqual(yield* Queue.size(attempts), 0)
        yield* TestClock.adjust(401)
        times.push(yield* Queue.take(attempts))
        yield* TestClock.adjust(2_400)
        times.push(yield* Queue.take(attempts))
        assert.deepStrictEqual(yield* Fiber.join(fiber), [
          { channel: "busy", ok: false, attempts: 3, reason: "not now" }
        ])
        assert.isAtLeast((times[2] ?? 0) - (times[1] ?? 0), 1_600)
        assert.strictEqual(yield* Queue.size(attempts), 0)
      })
    )

    it.effect("R-306 an attempt that hangs is given up, and the channel's own numbers hold", () =>
      Effect.gen(function* () {
        const begun = yield* Queue.unbounded<void>()
        let ended = 0
        const fiber = yield* Notifier.send(notice).pipe(
          withChannels({
            name: "slow",
            attempts: 2,
            timeout: "3 seconds",
            send: () =>
              Queue.offer(begun, undefined).pipe(
                Effect.andThen(Effect.never),
                Effect.onInterrupt(() => Effect.sync(() => void ended++))
              )
          }),
          Effect.forkChild
        )
        yield* Queue.take(begun)
        yield* TestClock.adjust("3 seconds")
        yield* TestClock.adjust("1200 millis")
        yield* Queue.take(begun)
        yield* TestClock.adjust("3 seconds")
        assert.deepStrictEqual(yield* Fiber.join(fiber), [
          { channel: "slow", ok: false, attempts: 2, reason: "no answer within 3 s" }
        ])
        assert.strictEqual(ended, 2)
      })
    )

    it.effect("R-306 interrupted, it interrupts what is under way", () =>
      Effect.gen(function* () {
        const begun = yield* Deferred.make<void>()
        const ended = yield* Deferred.make<void>()
        const send = () =>
          Deferred.succeed(begun, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
          )
        const fiber = yield* Effect.forkChild(Notifier.send(notice).pipe(withChannels({ name: "slow", send })))
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        assert.isTrue(yield* Deferred.isDone(ended))
      })
    )

    it.effect("R-306 leaves out what is no part of a notice, and tries none that does not hold", () =>
      Effect.gen(function* () {
        const seen: Array<Notifier.Notice> = []
        const channel: Notifier.Channel = { name: "a", send: (each) => Effect.sync(() => void seen.push(each)) }
        const more = { ...notice, facts: { output: "content" } }
        const bad: Notifier.Notice = { ...notice, id: "a.b" }
        const receipts = yield* Effect.all([Notifier.send(more), Notifier.send(bad)]).pipe(withChannels(channel))
        assert.deepStrictEqual(seen, [notice])
        assert.deepStrictEqual(receipts, [
          [{ channel: "a", ok: true, attempts: 1 }],
          [
            {
              channel: "a",
              ok: false,
              attempts: 0,
              reason: `id must be letters, digits, '_' and '-', at most 128 characters, got "a.b"`
            }
          ]
        ])
      })
    )
  })

  describe("layerLog", () => {
    it.effect("R-306 writes one line for each notice", () =>
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
        const receipts = yield* Notifier.send(notice).pipe(
          Effect.provide(Notifier.layerLog),
          Effect.provide(Logger.layer([logger]))
        )
        assert.deepStrictEqual(receipts, [{ channel: "log", ok: true, attempts: 1 }])
        assert.deepStrictEqual(lines.flat(), [
          `${notice.summary} review r-1/review/1, to user:ada, group:finance, ${notice.id}`
        ])
      })
    )
  })

  describe("layerWebhook", () => {
    it.effect("R-306 each attempt has the same id and body, and a time and a signature of its own", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(now)
        const { layer, requests } = yield* receiver(answer(500, { "retry-after": "2" }), answer(204))
        const fiber = yield* Effect.forkChild(sending(layer, { secrets: [other, secret] }))
        const first = yield* Queue.take(requests)
        yield* TestClock.adjust("2 seconds")
        const second = yield* Queue.take(requests)
        assert.deepStrictEqual(yield* Fiber.join(fiber), [{ channel: "webhook", ok: true, attempts: 2 }])
        for (const request of [first, second]) {
          assert.strictEqual(request.method, "POST")
          assert.strictEqual(request.url, url)
          assert.strictEqual(request.headers["content-type"], "application/json")
          assert.strictEqual(request.headers["webhook-id"], notice.id)
          // Each secret alone is enough for a receiver.
          for (const known of [secret, other]) {
            const input = { secrets: [known], headers: request.headers, body: bodyOf(request) }
            assert.deepStrictEqual(yield* Notifier.verify(input), notice)
          }
        }
        assert.strictEqual(bodyOf(first), bodyOf(second))
        assert.strictEqual(first.headers["webhook-timestamp"], "1700000000")
        assert.strictEqual(second.headers["webhook-timestamp"], "1700000002")
        assert.notStrictEqual(first.headers["webhook-signature"], second.headers["webhook-signature"])
      })
    )

    const statuses: ReadonlyArray<readonly [number, "told" | "again" | "never"]> = [
      [200, "told"],
      [202, "told"],
      [204, "told"],
      [301, "never"],
      [302, "never"],
      [307, "never"],
      [308, "never"],
      [400, "never"],
      [401, "never"],
      [403, "never"],
      [404, "never"],
      [408, "again"],
      [409, "never"],
      [410, "never"],
      [413, "never"],
      [422, "never"],
      [429, "again"],
      [500, "again"],
      [502, "again"],
      [503, "again"],
      [504, "again"]
    ]
    it.effect.each(statuses)("R-306 after HTTP %d: %s", ([status, expected]) =>
      Effect.gen(function* () {
        const { layer, requests, served } = yield* receiver(answer(status), answer(status), answer(status))
        const fiber = yield* Effect.forkChild(sending(layer))
        yield* Queue.take(requests)
        yield* TestClock.adjust("1 minute")
        const [receipt] = yield* Fiber.join(fiber)
        assert.strictEqual(served(), expected === "again" ? 3 : 1)
        const redirect = status >= 300 && status < 400 ? ", a redirect, which is not followed" : ""
        assert.deepStrictEqual(
          receipt,
          expected === "told"
            ? { channel: "webhook", ok: true, attempts: 1 }
            : { channel: "webhook", ok: false, attempts: served(), reason: `HTTP ${status}${redirect}` }
        )
      })
    )

    it.effect("R-306 waits for as long as it is asked to, up to a minute", () =>
      Effect.gen(function* () {
        const { layer, requests } = yield* receiver(answer(429, { "retry-after": "60" }), answer(204))
        const fiber = yield* Effect.forkChild(sending(layer))
        yield* Queue.take(requests)
        yield* TestClock.adjust(59_999)
        assert.strictEqual(yield* Queue.size(requests), 0)
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(fiber), [{ channel: "webhook", ok: true, attempts: 2 }])
      })
    )

    it.effect.each([
      ["61", 61_000],
      ["3600", 3_600_000],
      ["999999999", 86_400_000]
    ] as const)(
      "R-306 does not wait when it is asked to for %s seconds: the receipt says until when",
      ([asked, millis]) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(now)
          const { layer } = yield* receiver(answer(503, { "retry-after": asked }))
          assert.deepStrictEqual(yield* sending(layer), [
            { channel: "webhook", ok: false, attempts: 1, reason: "HTTP 503", until: now + millis }
          ])
        })
    )

    it.effect("R-306 tries again without a connection and without an answer", () =>
      Effect.gen(function* () {
        const { layer, requests } = yield* receiver("no-connection", "silence", "no-connection")
        const fiber = yield* Effect.forkChild(sending(layer))
        yield* Queue.take(requests)
        yield* TestClock.adjust("1200 millis")
        yield* Queue.take(requests)
        yield* TestClock.adjust("10 seconds")
        yield* TestClock.adjust("2400 millis")
        assert.deepStrictEqual(yield* Fiber.join(fiber), [
          { channel: "webhook", ok: false, attempts: 3, reason: "no connection (ECONNREFUSED)" }
        ])
      })
    )

    it.effect("R-306 neither the secret nor the address is in a receipt, a log, a span or the channel", () =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const logger = Logger.make<unknown, void>((each) => void seen.push(each.message, each.cause))
        const tracer = Tracer.make({
          span: (span) => {
            const made = new Tracer.NativeSpan(span)
            seen.push(made)
            return made
          }
        })
        const { layer, requests } = yield* receiver("no-connection", answer(500), answer(400))
        const fiber = yield* sending(layer).pipe(
          Effect.withSpan("outside"),
          Effect.provide(Logger.layer([logger])),
          Effect.provideService(Tracer.Tracer, tracer),
          Effect.forkChild
        )
        yield* Queue.take(requests)
        yield* TestClock.adjust("1 minute")
        const receipts = yield* Fiber.join(fiber)
        const channel = yield* Effect.provide(Notifier.webhook({ url, secrets: [secret] }), layer)
        const again = yield* receiver(answer(400))
        const error = yield* Notifier.webhook({ url, secrets: [secret] }).pipe(
          Effect.flatMap(({ send }) => send(notice)),
          Effect.flip,
          Effect.provide(again.layer)
        )
        const shown = [
          ...seen.map((each) => (each instanceof Tracer.NativeSpan ? [each.name, ...each.attributes] : each)),
          receipts,
          channel,
          error,
          error.message,
          error.stack
        ]
          .map((each) => `${String(each)} ${JSON.stringify(each)}`)
          .join("\n")
        assert.include(shown, "outside")
        assert.include(shown, "HTTP 400")
        for (const hidden of [text, text.slice(6), "path-secret", "query-secret", "hooks.example.com"]) {
          assert.notInclude(shown, hidden)
        }
        assert.strictEqual(again.served(), 1)
      })
    )

    const long = `whsec_${btoa("x".repeat(65))}`
    it.each([
      [{ url: "ftp://example.com/" }, "url must be an http or https address without credentials, got another scheme"],
      [{ url: "javascript:alert(1)" }, "got another scheme"],
      [{ url: "/hidden-in" }, "got a text that is no address"],
      [{ url: "https://user@example.com/" }, "got one with credentials"],
      [{ url: "https://:hidden-in@example.com/" }, "got one with credentials"],
      [{ url: 7 }, "got a number"],
      [{ secrets: [] }, "secrets must be at least one, got none"],
      [{ secrets: secret }, "secrets must be a list"],
      [{ secrets: [secret, "hidden-in"] }, "secrets[1] must be a Redacted text"],
      [{ secrets: [Redacted.make("hidden-in")] }, "secrets[0] must be a Redacted text"],
      [{ secrets: [Redacted.make(long)] }, "secrets[0] must be a Redacted text"],
      [{ retries: 1 }, "each field of options must be one of"]
    ])("R-306 refuses %j: %s", (part, expected) => {
      const given = { url, secrets: [secret], ...part } as unknown as Notifier.WebhookOptions
      assert.throws(() => Notifier.webhook(given), RangeError, expected)
      assert.throws(() => Notifier.webhook(given), /^(?!.*(hidden-in|path-secret|eHh4))/)
    })

    it.effect("R-306 once it is answered, the connection is ended instead of reading on", () =>
      Effect.gen(function* () {
        const { layer, signals } = yield* receiver(answer(200))
        yield* sending(layer)
        assert.deepStrictEqual(
          signals.map(({ aborted }) => aborted),
          [true]
        )
      })
    )

    it.effect("R-306 an address may be a secret as a whole", () =>
      Effect.gen(function* () {
        const { layer, requests } = yield* receiver(answer(204))
        yield* sending(layer, { url: Redacted.make(url) })
        assert.strictEqual((yield* Queue.take(requests)).url, url)
      })
    )

    withNetwork("R-306 over a network: what is signed arrives, redirects end it, and no body is read", () =>
      Effect.gen(function* () {
        const seen: Array<{ readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }> = []
        const closed = yield* Deferred.make<void>()
        const context = yield* Effect.context<never>()
        const respond = (path: string, response: ServerResponse) => {
          if (path === "/moved") return response.writeHead(302, { location: "/in?a=%20+b%2B" }).end()
          if (path !== "/endless") return response.writeHead(204).end()
          response.on("close", () => Effect.runForkWith(context)(Deferred.succeed(closed, undefined)))
          return response.writeHead(200).write("a body that never ends")
        }
        const server = createServer((request, response) => {
          let body = ""
          request.setEncoding("utf8").on("data", (part: string) => (body += part))
          request.on("end", () => {
            seen.push({ path: request.url ?? "", headers: request.headers, body })
            respond(request.url ?? "", response)
          })
        })
        yield* Effect.acquireRelease(
          Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
          () =>
            Effect.callback<void>((resume) => {
              server.close(() => resume(Effect.void))
              server.closeAllConnections()
            })
        )
        const { port } = server.address() as AddressInfo
        const channel = (name: string, path: string) =>
          Notifier.webhook({ name, url: `http://127.0.0.1:${port}${path}`, secrets: [secret] })
        const receipts = yield* Notifier.send(notice).pipe(
          Effect.provide(
            Notifier.layer([
              channel("in", "/in?a=%20+b%2B"),
              channel("moved", "/moved"),
              channel("endless", "/endless")
            ])
          ),
          Effect.provide(FetchHttpClient.layer)
        )
        assert.deepStrictEqual(receipts, [
          { channel: "in", ok: true, attempts: 1 },
          { channel: "moved", ok: false, attempts: 1, reason: "HTTP 302, a redirect, which is not followed" },
          { channel: "endless", ok: true, attempts: 1 }
        ])
        yield* Deferred.await(closed)
        assert.deepStrictEqual(seen.map(({ path }) => path).toSorted(), ["/endless", "/in?a=%20+b%2B", "/moved"])
        for (const { body, headers } of seen) {
          assert.deepStrictEqual(yield* Notifier.verify({ secrets: [secret], headers, body }), notice)
          assert.isUndefined(headers["traceparent"])
        }
      })
    )
  })

  describe("verify", () => {
    const signed = Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const { layer, requests } = yield* receiver(answer(204))
      yield* sending(layer)
      const request = yield* Queue.take(requests)
      return { secrets: [secret], headers: { ...request.headers }, body: bodyOf(request) }
    })

    it.effect("R-306 accepts headers in any form and casing, and the body as bytes", () =>
      Effect.gen(function* () {
        const given = yield* signed
        const upper = Object.fromEntries(
          Object.entries(given.headers).map(([key, value]) => [key.toUpperCase(), value])
        )
        const bytes = new TextEncoder().encode(given.body)
        for (const headers of [
          given.headers,
          upper,
          new Headers(given.headers),
          new Map(Object.entries(given.headers))
        ]) {
          assert.deepStrictEqual(yield* Notifier.verify({ ...given, headers, body: bytes }), notice)
        }
      })
    )

    it.effect("R-306 passes over signatures of other versions and other secrets", () =>
      Effect.gen(function* () {
        const given = yield* signed
        const signature = `v1a,${"A".repeat(88)} v2,x v1,not-base64! v1,AAAA ${given.headers["webhook-signature"]}`
        const headers = { ...given.headers, "webhook-signature": signature }
        assert.deepStrictEqual(yield* Notifier.verify({ ...given, secrets: [other, secret], headers }), notice)
      })
    )

    type Given = { secrets: Array<Redacted.Redacted>; headers: Record<string, string>; body: string }
    const cases: ReadonlyArray<readonly [string, (given: Given) => Given, Notifier.NoticeRefused["reason"], string]> = [
      ["another body", (given) => ({ ...given, body: `${given.body} ` }), "unsigned", "webhook-signature must have a"],
      ["another secret", (given) => ({ ...given, secrets: [other] }), "unsigned", "webhook-signature"],
      ["another id", (given) => replaced(given, "webhook-id", "notice_0"), "unsigned", "webhook-signature"],
      ["another time", (given) => replaced(given, "webhook-timestamp", "1700000001"), "unsigned", "webhook-signature"],
      ["an empty signature", (given) => replaced(given, "webhook-signature", ""), "unsigned", "webhook-signature"],
      ["a cut signature", (given) => replaced(given, "webhook-signature", "v1,AAAA"), "unsigned", "webhook-signature"],
      ["no id", (given) => replaced(given, "webhook-id"), "incomplete", "webhook-id is required"],
      ["no time", (given) => replaced(given, "webhook-timestamp"), "incomplete", "webhook-timestamp is required"],
      ["no signature", (given) => replaced(given, "webhook-signature"), "incomplete", "webhook-signature is required"],
      ["no number", (given) => replaced(given, "webhook-timestamp", "1e9"), "malformed", `1970, got "1e9"`],
      [
        "an old time",
        (given) => replaced(given, "webhook-timestamp", "1699999699"),
        "expired",
        "within 300000 ms of now"
      ],
      ["a time to come", (given) => replaced(given, "webhook-timestamp", "1700000301"), "early", "got 1700000301"],
      ["a huge body", (given) => ({ ...given, body: "x".repeat(1_048_577) }), "too-large", "at most 1048576 bytes"]
    ]
    const replaced = (given: Given, name: string, value?: string): Given => {
      const { [name]: _, ...rest } = given.headers
      return { ...given, headers: value === undefined ? rest : { ...rest, [name]: value } }
    }
    it.effect.each(cases)("R-306 refuses %s", ([, change, reason, message]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Notifier.verify(change(yield* signed)))
        assert.strictEqual(error.reason, reason)
        assert.match(error.message, /^NOTICE_REFUSED: /)
        assert.include(error.message, message)
      })
    )

    it.effect("R-306 a time is good up to the tolerance, and no longer", () =>
      Effect.gen(function* () {
        const given = yield* signed
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(yield* Notifier.verify(given), notice)
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Effect.flip(Notifier.verify(given))).reason, "expired")
        assert.deepStrictEqual(yield* Notifier.verify({ ...given, tolerance: "6 minutes" }), notice)
      })
    )

    it.effect("R-306 what is signed and is no notice is refused by field", () =>
      Effect.gen(function* () {
        // The key is that of `secret`; WebCrypto stands for a sender of another make.
        const key = yield* Effect.promise(() =>
          crypto.subtle.importKey(
            "raw",
            Uint8Array.from(atob(text.slice(6)), (each) => each.charCodeAt(0)),
            { name: "HMAC", hash: "SHA-256" },
            false,
            ["sign"]
          )
        )
        yield* TestClock.setTime(now)
        const refusal = Effect.fnUntraced(function* (body: string) {
          const bytes = new TextEncoder().encode(`${notice.id}.1700000000.${body}`)
          const tag = new Uint8Array(yield* Effect.promise(() => crypto.subtle.sign("HMAC", key, bytes)))
          const headers = {
            "webhook-id": notice.id,
            "webhook-timestamp": "1700000000",
            "webhook-signature": `v1,${btoa(String.fromCharCode(...tag))}`
          }
          return yield* Effect.flip(Notifier.verify({ secrets: [secret], headers, body }))
        })
        const messages = yield* Effect.all([
          refusal("{"),
          refusal(JSON.stringify({ ...notice, at: "today" })),
          refusal(JSON.stringify({ ...notice, id: "notice_1" }))
        ])
        assert.deepStrictEqual(
          messages.map(({ message, reason }) => `${reason} ${message}`),
          [
            "malformed NOTICE_REFUSED: the body must be JSON",
            `malformed NOTICE_REFUSED: at must be a number, got "today"`,
            "malformed NOTICE_REFUSED: webhook-id must be the id of the notice"
          ]
        )
      })
    )
  })

  describe("quiet", () => {
    const night = { from: "22:00", until: "07:00", zone: "Europe/Vienna" }
    const low = Notifier.notice({ ...options, risk: "low", due: now + 365 * 86_400_000 })
    const told: Array<string> = []
    const chat: Notifier.Channel = { name: "chat", send: ({ id }) => Effect.sync(() => void told.push(id)) }

    const at = (iso: string) => DateTime.toEpochMillis(DateTime.makeUnsafe(iso))
    const untilOf = Effect.fnUntraced(function* (hours: Notifier.QuietHours, moment: string, each = low) {
      yield* TestClock.setTime(at(moment))
      const [receipt] = yield* Notifier.send(each).pipe(withChannels(Notifier.quiet(hours)(chat)))
      return receipt?.until === undefined ? receipt?.ok : DateTime.formatIso(DateTime.makeUnsafe(receipt.until))
    })

    const day = { from: "12:00", until: "13:30", zone: "+01:00" }
    const table: ReadonlyArray<readonly [Notifier.QuietHours, string, string | true]> = [
      [night, "2023-11-14T20:59:59.999Z", true],
      [night, "2023-11-14T21:00:00.000Z", "2023-11-15T06:00:00.000Z"],
      [night, "2023-11-15T02:00:00.000Z", "2023-11-15T06:00:00.000Z"],
      [night, "2023-11-15T05:59:59.999Z", "2023-11-15T06:00:00.000Z"],
      [night, "2023-11-15T06:00:00.000Z", true],
      [night, "2023-12-31T22:00:00.000Z", "2024-01-01T06:00:00.000Z"],
      // The nights in which the clocks change.
      [night, "2023-03-25T22:00:00.000Z", "2023-03-26T05:00:00.000Z"],
      [night, "2023-10-28T21:00:00.000Z", "2023-10-29T06:00:00.000Z"],
      [{ ...night, until: "02:30" }, "2023-03-25T22:00:00.000Z", "2023-03-26T01:30:00.000Z"],
      [{ ...night, until: "02:30" }, "2023-10-28T21:00:00.000Z", "2023-10-29T01:30:00.000Z"],
      [day, "2023-11-14T10:59:00.000Z", true],
      [day, "2023-11-14T11:00:00.000Z", "2023-11-14T12:30:00.000Z"],
      [day, "2023-11-14T12:30:00.000Z", true]
    ]
    it.effect.each(table)("R-306 %j at %s: %s", ([hours, moment, expected]) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* untilOf(hours, moment), expected)
      })
    )

    it.effect("R-306 a notice that is held is not lost: the receipt says until when, and then it goes out", () =>
      Effect.gen(function* () {
        told.length = 0
        yield* TestClock.setTime(at("2023-11-15T02:00:00Z"))
        const send = Notifier.send(low).pipe(withChannels(Notifier.quiet(night)(chat)))
        const until = at("2023-11-15T06:00:00Z")
        assert.deepStrictEqual(yield* send, [
          { channel: "chat", ok: false, attempts: 0, reason: "quiet until 2023-11-15T06:00:00.000Z", until }
        ])
        assert.deepStrictEqual(told, [])
        yield* TestClock.setTime(until)
        assert.deepStrictEqual(yield* send, [{ channel: "chat", ok: true, attempts: 1 }])
        assert.deepStrictEqual(told, [low.id])
      })
    )

    it.effect("R-306 nothing waits where much is at stake, or where the next step would come first", () =>
      Effect.gen(function* () {
        const moment = "2023-11-15T02:00:00.000Z"
        const due = (iso: string) => ({ ...low, due: at(iso) })
        assert.isTrue(yield* untilOf(night, moment, { ...low, risk: "high" }))
        assert.isTrue(yield* untilOf(night, moment, { ...low, risk: "critical" }))
        assert.isTrue(yield* untilOf(night, moment, due("2023-11-15T05:59:59.999Z")))
        assert.strictEqual(yield* untilOf(night, moment, due("2023-11-15T06:00:00.000Z")), "2023-11-15T06:00:00.000Z")
        const { risk: _, ...plain } = low
        assert.strictEqual(yield* untilOf(night, moment, plain), "2023-11-15T06:00:00.000Z")
      })
    )

    it.effect("R-306 of two that are put around each other both hold", () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(at("2023-11-15T05:30:00Z"))
        const [short, long] = [Notifier.quiet(night), Notifier.quiet({ ...night, until: "09:00" })]
        for (const channel of [short(long(chat)), long(short(chat))]) {
          const [receipt] = yield* Notifier.send(low).pipe(withChannels(channel))
          assert.strictEqual(receipt?.until, at("2023-11-15T08:00:00Z"))
        }
      })
    )

    it.each([
      [{ from: "24:00" }, `from must be a time from 00:00 to 23:59, got "24:00"`],
      [{ until: "7:00" }, "until must be a time"],
      [{ until: 7 }, "until must be a time"],
      [{ until: "22:00" }, "until must be another time than from"],
      [{ zone: "Europe/Nowhere" }, `zone must be the name of a time zone, or an offset, got "Europe/Nowhere"`],
      [{ days: [] }, "each field of hours must be one of"]
    ])("R-306 refuses %j: %s", (part, expected) => {
      const hours = { ...night, ...part } as unknown as Notifier.QuietHours
      assert.throws(() => Notifier.quiet(hours), RangeError, expected)
    })
  })

  it("R-306 by default nobody is told", () => {
    assert.strictEqual(Context.get(Context.empty(), Notifier.Notifier), Notifier.none)
  })
})
