import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import type { Failure } from "espalier"
import { ModelFailure } from "espalier/agent"
import * as AnthropicModel from "espalier/agent/AnthropicModel"

import { bounded, isTooLong } from "../../src/agent/internal/anthropicBody.ts"
import { reasonOf } from "../../src/agent/internal/anthropicFailure.ts"
import { Reading } from "../../src/agent/internal/anthropicStream.ts"
import * as Real from "../fixtures/real.ts"
import { collecting } from "../observe/spans.ts"
import { key, scripted, search, unresolved, provider, failureOf, ways } from "./anthropic.ts"
import * as Api from "./messagesServer.ts"

describe("AnthropicModel", () => {
  describe("failures", () => {
    const began = [Api.start(), ...Api.says(0, "Hel")]
    const rows: ReadonlyArray<
      readonly [
        name: string,
        answer: Api.Answer,
        expected: Partial<ModelFailure.Classified> & { readonly kind: Failure.Kind },
        options?: AnthropicModel.Options
      ]
    > = [
      [
        "429 with retry-after",
        Api.error(429, "rate_limit_error", "", { "retry-after": "30" }),
        { kind: "transient", retryAfterMillis: 30_000 }
      ],
      ["429 without", Api.error(429, "rate_limit_error"), { kind: "transient" }],
      [
        "429 of a spent quota",
        Api.error(429, "rate_limit_error", "You exceeded your current quota"),
        { kind: "capability" }
      ],
      [
        "529",
        Api.error(529, "overloaded_error", "", { "retry-after": "2" }),
        { kind: "transient", retryAfterMillis: 2_000 }
      ],
      ["500", Api.error(500, "api_error"), { kind: "transient" }],
      [
        "503 of a gateway",
        { status: 503, body: "<html>busy</html>", headers: { "retry-after": "1" } },
        { kind: "transient", retryAfterMillis: 1_000 }
      ],
      ["418", { status: 418, body: "{}" }, { kind: "transient" }],
      [
        "a prompt that is too long",
        Api.error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        { kind: "oversized" }
      ],
      [
        "a limit that does not fit",
        Api.error(400, "invalid_request_error", "input length and `max_tokens` exceed context limit"),
        { kind: "oversized" }
      ],
      ["413", Api.error(413, "request_too_large"), { kind: "oversized" }],
      ["400", Api.error(400, "invalid_request_error", "messages: nope"), { kind: "capability" }],
      ["404", Api.error(404, "not_found_error", "model: claude-test"), { kind: "capability" }],
      ["402", Api.error(402, "billing_error"), { kind: "capability" }],
      ["401", Api.error(401, "authentication_error"), { kind: "denied" }],
      ["403", Api.error(403, "permission_error"), { kind: "denied" }],
      ["another content type", { body: `{"id":"msg_1"}` }, { kind: "malformed" }],
      [
        "an event that is no JSON",
        { events: [...began, "event: content_block_delta\ndata: {oops\n\n"] },
        { kind: "malformed" }
      ],
      ["an event that lacks a field", { events: [...began, { type: "content_block_delta" }] }, { kind: "malformed" }],
      ["an end within the answer", { events: began }, { kind: "malformed" }],
      ["D38 no reason to stop", { events: [...began, Api.stop(0), { type: "message_stop" }] }, { kind: "malformed" }],
      [
        "D38 an unknown reason to stop",
        { events: [...began, Api.stop(0), ...Api.end("fresh_reason")] },
        { kind: "malformed" }
      ],
      [
        "a full context window",
        { events: [...began, Api.stop(0), ...Api.end("model_context_window_exceeded")] },
        { kind: "oversized" }
      ],
      ["a lost connection", { events: began, after: "cut" }, { kind: "transient" }],
      [
        "overload within the answer",
        { events: [...began, { type: "error", error: { type: "overloaded_error", message: "" } }] },
        { kind: "transient" }
      ],
      [
        "an error within the answer",
        { events: [...began, { type: "error", error: { type: "fresh_error", message: "" } }] },
        { kind: "transient" }
      ],
      ["no answer", { after: "hang" }, { kind: "transient", requestId: undefined } as never, { firstEventTimeout: 60 }],
      [
        "no first event",
        { after: "silence" },
        { kind: "transient", requestId: undefined } as never,
        { firstEventTimeout: 60 }
      ],
      [
        "a silence, nothing taken up",
        { events: began, after: "silence" },
        { kind: "transient" },
        { idleTimeout: 60, resumes: 0 }
      ]
    ]
    for (const way of ["generateText", "streamText"] as const) {
      Real.withNetwork.each(rows)(`R-401, D40, D42 ${way}: %s`, ([, answer, expected, options]) =>
        Effect.gen(function* () {
          const { server, run } = yield* scripted([answer], options)
          const { kind, retryAfterMillis, requestId, begun } = yield* run(failureOf(ways[way]({ prompt: "Hi" })))
          assert.deepStrictEqual(
            { kind, retryAfterMillis, requestId, begun, requests: server.requests.length },
            { retryAfterMillis: undefined, requestId: "req_1", begun: false, ...expected, requests: 1 }
          )
        })
      )
    }

    Real.withNetwork("D42 a row of one's own is asked first, with the body that is kept nowhere", () =>
      Effect.gen(function* () {
        const { run } = yield* scripted([
          Api.error(503, "api_error", "Maintenance until Monday"),
          Api.error(503, "api_error")
        ])
        const rows = [{ status: 503, body: "maintenance", kind: "capability" }] as const
        const call = failureOf(ways.generateText({ prompt: "Hi" })).pipe(
          Effect.provideService(ModelFailure.Overrides, rows)
        )
        assert.strictEqual((yield* run(call)).kind, "capability")
        assert.strictEqual((yield* run(call)).kind, "transient")
      })
    )

    Real.withNetwork("R-401 a refusal is an error of generateText and a finish reason of streamText", () =>
      Effect.gen(function* () {
        const answer = { events: [Api.start(), ...Api.end("refusal")] }
        const { run } = yield* scripted([answer, answer])
        const error = yield* run(Effect.flip(LanguageModel.generateText({ prompt: "Hi" })))
        assert.strictEqual(error.reason._tag, "ContentPolicyError")
        assert.strictEqual(ModelFailure.classify(error).kind, "capability")
        const parts = yield* run(Stream.runCollect(LanguageModel.streamText({ prompt: "Hi" })))
        assert.deepInclude(parts.at(-1), { type: "finish", reason: "content-filter" })
      })
    )

    Real.withNetwork("R-401 nobody listens: transient, and nothing has begun", () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.scoped(Api.serve())
        const layer = AnthropicModel.layer({ model: "claude-test" }).pipe(
          Layer.provide(AnthropicModel.layerClient({ apiKey: Redacted.make(key), baseURL: url }))
        )
        const toolkit = search
        const failure = yield* failureOf(LanguageModel.generateText({ prompt: "Hi", toolkit, ...unresolved })).pipe(
          Effect.provide(layer)
        )
        assert.deepStrictEqual([failure.kind, failure.begun], ["transient", false])
      })
    )

    for (const way of ["generateText", "streamText"] as const) {
      Real.withNetwork(
        `D49 ${way}: a connection lost after the first chunk, with a tool of the provider, is not taken up`,
        () =>
          Effect.gen(function* () {
            const events = [Api.start(), ...Api.says(0, "Let me")]
            const { server, run } = yield* scripted(
              [{ events, after: "cut" }, { events, after: "silence" }, { after: "hang" }],
              { idleTimeout: 60, firstEventTimeout: 60 }
            )
            const toolkit = search
            const asked = { prompt: "Hi", toolkit, ...unresolved } as const
            const call =
              way === "generateText"
                ? LanguageModel.generateText(asked)
                : Stream.runDrain(LanguageModel.streamText(asked))
            for (const requests of [1, 2, 3]) {
              const failure = yield* run(failureOf(call as Effect.Effect<unknown, AiError.AiError>))
              assert.deepStrictEqual(
                [failure.kind, failure.begun, server.requests.length],
                ["transient", true, requests]
              )
            }
          })
      )
    }

    Real.withNetwork(
      "D106 the key, the prompt and what the provider repeats of them are in no error, log or span",
      () =>
        Effect.gen(function* () {
          const secret = "canary-prompt-91c2"
          const echo = `Bad key ${key} for ${secret}`
          const { run } = yield* scripted([
            Api.error(401, "authentication_error", echo),
            Api.error(400, `invalid ${secret}`, echo),
            { status: 502, body: echo },
            { body: echo },
            { events: [`event: message_start\ndata: ${echo}\n\n`] },
            { events: [Api.start(), { type: "error", error: { type: "api_error", message: echo } }] }
          ])
          const { spans, tracer } = collecting()
          const lines: Array<string> = []
          for (let call = 0; call < 6; call += 1) {
            const ask = LanguageModel.generateText({ prompt: secret })
            const error = yield* run(Effect.flip(ask).pipe(Effect.withTracer(tracer)))
            const failure = yield* ModelFailure.read(error, provider)
            lines.push(String(error), JSON.stringify(error), error.stack ?? "", inspect(error, { depth: 12 }))
            lines.push(String(failure), JSON.stringify(failure))
          }
          assert.lengthOf(spans, 6)
          lines.push(inspect(spans, { depth: 12 }))
          lines.push(inspect(yield* run(AnthropicModel.Client), { depth: 12, showHidden: true }))
          assert.isFalse(lines.some((line) => line.includes(key) || line.includes(secret)))
        })
    )
  })

  describe("a hostile host", () => {
    Real.withNetwork("R-404 has no prompt sent to where it says", () =>
      Effect.gen(function* () {
        const other = yield* Api.serve(Api.text("mine now"))
        const location = `${other.url}/v1/messages`
        const { run, server } = yield* scripted([{ status: 307, headers: { location }, body: "{}" }])
        const failure = yield* run(failureOf(LanguageModel.generateText({ prompt: "Hi" })))
        assert.include(failure.reason, "HTTP 307")
        assert.deepStrictEqual([server.requests.length, other.requests.length], [1, 0])
      })
    )

    it("R-401 cannot make an answer longer than any is", () => {
      const request = { toolName: (name: string) => name, restore: (_: string, value: unknown) => value } as never
      const reading = new Reading(request, { deferred: true, refusals: "part" }, undefined)
      const event = JSON.stringify({ type: "something new", padding: "x".repeat(2 ** 24) })
      const wrong = Array.from({ length: 4 }, () => reading.read(event).wrong?._tag)
      assert.deepStrictEqual(wrong, [undefined, undefined, undefined, "Unreadable"])
    })

    it.effect("R-401 has no more read of its answer than any can have, also of one that is a single line", () =>
      Effect.gen(function* () {
        const piece = new Uint8Array(1000)
        let sent = 0
        const body = () =>
          new ReadableStream<Uint8Array>({
            pull: (controller) => {
              sent += 1
              controller.enqueue(piece)
            }
          })
        const answered = { status: 200, headers: { "content-type": "text/event-stream" } }
        const read = bounded(10_000, () => Promise.resolve(new Response(body(), answered)))
        const failed = yield* Effect.flip(
          Effect.tryPromise({
            try: () => read("http://localhost").then((response) => response.text()),
            catch: (error) => error
          })
        )
        assert.isTrue(isTooLong(failed))
        assert.isBelow(sent, 20)
        const around = { requestId: undefined, serverTools: false, streaming: true, url: "", overrides: [], at: 0 }
        const told = reasonOf(new Error("Connection error.", { cause: failed }), around as never)
        const error = AiError.make({ module: "AnthropicModel", method: "generateText", reason: told })
        assert.strictEqual(ModelFailure.classify(error).kind, "malformed")
      })
    )
  })
})
