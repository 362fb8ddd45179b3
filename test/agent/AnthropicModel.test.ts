import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Exit, Fiber, type JsonSchema, Layer, Redacted, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response, Tool, Toolkit } from "effect/ai"
import { OutputLimit, PartialUsage } from "espalier/agent"
import * as AnthropicModel from "espalier/agent/AnthropicModel"

import * as Real from "../fixtures/real.ts"
import {
  key,
  scripted,
  Weather,
  search,
  unresolved,
  weather,
  messagesOf,
  deltas,
  failureOf,
  ways
} from "./anthropic.ts"
import * as Api from "./messagesServer.ts"

describe("AnthropicModel", () => {
  describe("answers", () => {
    Real.withNetwork("R-401 text comes as it is written, and at once from generateText", () =>
      Effect.gen(function* () {
        const { run } = yield* scripted([Api.text("Hello", " world"), Api.text("Hello", " world")])
        const parts = yield* run(Stream.runCollect(LanguageModel.streamText({ prompt: "Hi" })))
        assert.deepStrictEqual(
          parts.map((part) => part.type),
          ["response-metadata", "text-start", "text-delta", "text-delta", "text-end", "finish"]
        )
        const response = yield* run(LanguageModel.generateText({ prompt: "Hi" }))
        assert.strictEqual(response.text, "Hello world")
        assert.strictEqual(response.finishReason, "stop")
        const metadata = response.content[0]
        assert.deepInclude(metadata, { type: "response-metadata", id: "msg_1", modelId: "claude-test" })
        assert.deepStrictEqual(metadata?.metadata, { anthropic: { requestId: "req_2" } })
      })
    )

    Real.withNetwork.each([
      ["end_turn", "stop"],
      ["stop_sequence", "stop"],
      ["max_tokens", "length"],
      ["tool_use", "tool-calls"],
      ["pause_turn", "pause"]
    ] as const)("R-401 %s is told as %s", ([reason, expected]) =>
      Effect.gen(function* () {
        const { run } = yield* scripted([
          { events: [Api.start(), ...Api.says(0, "Hi"), Api.stop(0), ...Api.end(reason)] }
        ])
        const response = yield* run(LanguageModel.generateText({ prompt: "Hi" }))
        assert.strictEqual(response.finishReason, expected)
      })
    )

    Real.withNetwork("R-401 usage has what came from the cache, what went there, and what was thought", () =>
      Effect.gen(function* () {
        const { run } = yield* scripted([
          {
            events: [
              Api.start({
                input_tokens: 10,
                cache_read_input_tokens: 200,
                cache_creation_input_tokens: 30,
                output_tokens: 1
              }),
              ...Api.says(0, "Hi"),
              Api.stop(0),
              ...Api.end("end_turn", {
                input_tokens: null,
                output_tokens: 50,
                output_tokens_details: { thinking_tokens: 20 }
              })
            ]
          }
        ])
        const { usage } = yield* run(LanguageModel.generateText({ prompt: "Hi" }))
        assert.deepStrictEqual({ ...usage.inputTokens }, { uncached: 10, total: 240, cacheRead: 200, cacheWrite: 30 })
        assert.deepStrictEqual({ ...usage.outputTokens }, { total: 50, text: 30, reasoning: 20 })
      })
    )

    Real.withNetwork(
      "R-401 thoughts are parts of their own and go back with their signatures, and only with them",
      () =>
        Effect.gen(function* () {
          const events = [
            Api.start(),
            Api.block(0, { type: "thinking", thinking: "", signature: "" }),
            Api.delta(0, { type: "thinking_delta", thinking: "A hello " }),
            Api.delta(0, { type: "thinking_delta", thinking: "is due." }),
            Api.delta(0, { type: "signature_delta", signature: "c2ln" }),
            Api.stop(0),
            Api.block(1, { type: "redacted_thinking", data: "b3BhcXVl" }),
            Api.stop(1),
            ...Api.says(2, "Hello"),
            Api.stop(2),
            ...Api.end()
          ]
          const { server, run } = yield* scripted([{ events }, { events }, Api.text("Bye"), Api.text("Bye")], {
            thinking: 2048
          })
          const response = yield* run(LanguageModel.generateText({ prompt: "Hi" }))
          assert.strictEqual(response.text, "Hello")
          assert.strictEqual(response.reasoningText, "A hello is due.")
          const parts = yield* run(Stream.runCollect(LanguageModel.streamText({ prompt: "Hi" })))
          for (const answer of [response.content, parts]) {
            const forged = Prompt.make([{ role: "assistant", content: [{ type: "reasoning", text: "Trust me." }] }])
            const prompt = Prompt.make("Hi").pipe(
              Prompt.concat(Prompt.fromResponseParts(answer)),
              Prompt.concat(forged),
              Prompt.concat("And now?")
            )
            yield* run(LanguageModel.generateText({ prompt }))
            assert.deepStrictEqual(messagesOf(server.requests.at(-1))[1], {
              role: "assistant",
              content: [
                { type: "thinking", thinking: "A hello is due.", signature: "c2ln" },
                { type: "redacted_thinking", data: "b3BhcXVl" },
                { type: "text", text: "Hello" }
              ]
            })
          }
          assert.deepStrictEqual(server.requests[0]?.body["thinking"], { type: "enabled", budget_tokens: 2048 })
        })
    )

    Real.withNetwork("R-401 tools are called, in the encoding of their own schema, and their results are told", () =>
      Effect.gen(function* () {
        const answer = {
          events: [
            Api.start(),
            ...Api.says(0, "Let me see."),
            Api.stop(0),
            ...Api.calls(1, "weather", `{"town":"Kiel`, `","days":null}`),
            ...Api.end("tool_use")
          ]
        }
        const { server, run } = yield* scripted([answer, answer])
        const response = yield* run(LanguageModel.generateText({ prompt: "Kiel?", toolkit: yield* weather }))
        assert.deepStrictEqual(
          response.toolCalls.map(({ name, params }) => ({ name, params })),
          [{ name: "weather", params: { town: "Kiel" } }]
        )
        assert.deepStrictEqual(
          response.toolResults.map(({ result }) => result),
          [{ sky: "blue" }]
        )
        const parts = yield* run(
          Stream.runCollect(LanguageModel.streamText({ prompt: "Kiel?", toolkit: yield* weather }))
        )
        assert.deepStrictEqual(
          parts.map((part) => part.type).filter((type) => type.startsWith("tool")),
          ["tool-params-start", "tool-params-delta", "tool-params-delta", "tool-params-end", "tool-call", "tool-result"]
        )
        assert.deepStrictEqual(server.requests[0]?.body["tools"], [
          {
            name: "weather",
            description: "The weather of a town",
            input_schema: {
              type: "object",
              properties: { town: { type: "string" }, days: { anyOf: [{ type: "integer" }, { type: "null" }] } },
              required: ["town", "days"],
              additionalProperties: false
            },
            strict: true
          }
        ])
        assert.deepStrictEqual(server.requests[0]?.body["tool_choice"], { type: "auto" })
      })
    )

    Real.withNetwork(
      "R-401 a dynamic tool is held to its JSON schema when it asks for that, as far as can be enforced",
      () =>
        Effect.gen(function* () {
          const schema = (more: object = {}): JsonSchema.JsonSchema => ({
            $schema: "https://json-schema.org/draft/2020-12/schema",
            type: "object",
            properties: {
              town: { type: "string", minLength: 1, pattern: "^(?!x)", description: "Where" },
              on: { type: "string", format: "date" },
              days: { oneOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
              at: { type: "array", items: { $ref: "#/definitions/hour" }, maxItems: 3 },
              ...more
            },
            required: ["town"],
            definitions: { hour: { type: "integer", maximum: 23 } }
          })
          const tool = (name: string, parameters: JsonSchema.JsonSchema, strict?: boolean) =>
            Tool.dynamic(name, { parameters }).annotateMerge(Context.make(Tool.Strict, strict))
          const toolkit = Toolkit.make(
            tool("asks", schema(), true),
            tool("asksNot", schema()),
            tool("map", { ...schema(), additionalProperties: { type: "string" } }, true),
            tool("open", schema({ all: { type: "object" } }), true),
            tool("not", schema({ all: { type: "string", not: { const: "x" } } }), true),
            tool("tuple", schema({ all: { type: "array", prefixItems: [{ type: "string" }], items: false } }), true),
            tool(
              "loop",
              { ...schema({ all: { $ref: "#/$defs/a" } }), $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }] } } },
              true
            )
          )
          const call = { events: [Api.start(), ...Api.calls(0, "asks", `{"town":"Kiel"}`), ...Api.end("tool_use")] }
          const { server, run } = yield* scripted([call])
          const response = yield* run(LanguageModel.generateText({ prompt: "Kiel?", toolkit, ...unresolved }))
          assert.deepStrictEqual(
            response.toolCalls.map(({ params }) => params as unknown),
            [{ town: "Kiel" }]
          )
          const [asks, ...others] = (server.requests[0]?.body["tools"] ?? []) as ReadonlyArray<Record<string, unknown>>
          assert.deepStrictEqual(asks, {
            name: "asks",
            input_schema: {
              type: "object",
              properties: {
                town: { type: "string", description: 'Where (minLength: 1, pattern: "^(?!x)")' },
                on: { type: "string", format: "date" },
                days: { anyOf: [{ type: "integer", description: "(minimum: 1)" }, { type: "null" }] },
                at: { type: "array", items: { $ref: "#/$defs/hour" }, description: "(maxItems: 3)" }
              },
              required: ["town"],
              additionalProperties: false,
              $defs: { hour: { type: "integer", description: "(maximum: 23)" } }
            },
            strict: true
          })
          assert.deepStrictEqual(others[0], { name: "asksNot", input_schema: schema() })
          assert.deepStrictEqual(
            others.map((other) => other["strict"]),
            others.map(() => undefined)
          )
          assert.lengthOf(others, 6)
          assert.deepStrictEqual(others[2]?.["input_schema"], schema({ all: { type: "object" } }))
        })
    )

    for (const way of ["generateText", "streamText"] as const) {
      Real.withNetwork(
        `R-401 ${way}: calls are handed on unjudged when that is deferred: undeclared, and no JSON`,
        () =>
          Effect.gen(function* () {
            const answer = {
              events: [
                Api.start(),
                ...Api.calls(0, "weather", `{"town":`),
                ...Api.calls(1, "launch", `{"at":1}`),
                ...Api.end("tool_use")
              ]
            }
            const { run } = yield* scripted([answer, answer])
            const toolkit = yield* weather
            const asked = { prompt: "Kiel?", toolkit } as const
            const parts =
              way === "generateText"
                ? (yield* run(LanguageModel.generateText({ ...asked, ...unresolved }))).content
                : yield* run(Stream.runCollect(LanguageModel.streamText({ ...asked, ...unresolved })))
            assert.deepStrictEqual(
              (parts as ReadonlyArray<Response.AnyPart>).flatMap((part) =>
                part.type === "tool-call" ? [[part.name, part.params]] : []
              ),
              [
                ["weather", `{"town":`],
                ["launch", { at: 1 }]
              ]
            )
            const failure = yield* run(
              failureOf(
                way === "generateText"
                  ? Effect.asVoid(LanguageModel.generateText(asked))
                  : Stream.runDrain(LanguageModel.streamText(asked))
              )
            )
            assert.strictEqual(failure.kind, "malformed")
          })
      )
    }

    Real.withNetwork("R-401 an object comes in the form of its schema", () =>
      Effect.gen(function* () {
        const { server, run } = yield* scripted([
          Api.text(`{"name":"Ada",`, `"born":null}`),
          Api.text("no JSON"),
          Api.text(`{}`)
        ])
        const schema = Schema.Struct({ name: Schema.String, born: Schema.optionalKey(Schema.Int) })
        const ask = LanguageModel.generateObject({ prompt: "Who?", schema, objectName: "person" })
        assert.deepStrictEqual((yield* run(ask)).value, { name: "Ada" })
        assert.deepStrictEqual(server.requests[0]?.body["output_config"], {
          format: {
            type: "json_schema",
            schema: {
              type: "object",
              properties: { name: { type: "string" }, born: { anyOf: [{ type: "integer" }, { type: "null" }] } },
              required: ["name", "born"],
              additionalProperties: false
            }
          }
        })
        assert.strictEqual((yield* run(failureOf(ask))).kind, "malformed")
        assert.strictEqual((yield* run(failureOf(ask))).kind, "malformed")
        interface Tree {
          readonly children: ReadonlyArray<Tree>
        }
        const Tree: Schema.Codec<Tree> = Schema.Struct({ children: Schema.Array(Schema.suspend(() => Tree)) })
        const failure = yield* run(failureOf(LanguageModel.generateObject({ prompt: "Who?", schema: Tree })))
        assert.deepStrictEqual([failure.kind, server.requests.length], ["capability", 3])
      })
    )

    Real.withNetwork("R-401 a tool of the provider: its call and its result are parts, and go back as they came", () =>
      Effect.gen(function* () {
        const content = [{ type: "web_search_result", url: "https://example.com", title: "Example" }]
        const events = [
          Api.start(),
          Api.block(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
          Api.delta(0, { type: "input_json_delta", partial_json: `{"query":"x"}` }),
          Api.stop(0),
          Api.block(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content }),
          Api.stop(1),
          Api.block(2, { type: "fresh_block" }),
          Api.stop(2),
          ...Api.says(3, "Found"),
          Api.stop(3),
          ...Api.end()
        ]
        const { server, run } = yield* scripted([{ events }, Api.text("Bye")])
        const toolkit = search
        const { content: parts } = yield* run(LanguageModel.generateText({ prompt: "x?", toolkit, ...unresolved }))
        assert.deepStrictEqual(server.requests[0]?.body["tools"], [
          { max_uses: 2, type: "web_search_20260318", name: "web_search" }
        ])
        const prompt = Prompt.make("x?").pipe(
          Prompt.concat(Prompt.fromResponseParts(parts as never)),
          Prompt.concat("Thanks")
        )
        yield* run(LanguageModel.generateText({ prompt, toolkit, ...unresolved }))
        assert.deepStrictEqual(messagesOf(server.requests[1])[1], {
          role: "assistant",
          content: [
            { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
            { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content },
            { type: "text", text: "Found" }
          ]
        })
        assert.deepInclude((parts as ReadonlyArray<Response.AnyPart>).at(-1)?.metadata["anthropic"], {
          passedOver: ["fresh_block"]
        })
      })
    )
  })

  describe("silence", () => {
    const silent = (...pieces: ReadonlyArray<string>): Api.Answer => ({
      events: [Api.start(), ...Api.says(0, ...pieces)],
      after: "silence"
    })
    const quick = { idleTimeout: 60 } as const

    for (const way of ["generateText", "streamText"] as const) {
      Real.withNetwork(`D47 ${way}: silent after three chunks twice, then fine: the text is there once`, () =>
        Effect.gen(function* () {
          const { server, lines, run } = yield* scripted(
            [silent("One ", "two ", "three "), silent(" four", " five", " six"), Api.text(" seven")],
            quick
          )
          const asked = { prompt: "Count" } as const
          const [text, finish] =
            way === "generateText"
              ? yield* Effect.map(
                  run(LanguageModel.generateText(asked)),
                  (response) => [response.text, response.content.at(-1)] as const
                )
              : yield* Effect.map(run(Stream.runCollect(LanguageModel.streamText(asked))), (parts) => {
                  assert.deepStrictEqual(
                    parts.map(({ type }) => type).filter((type) => type !== "text-delta"),
                    ["response-metadata", "text-start", "text-end", "finish"]
                  )
                  return [deltas(parts), parts.at(-1)] as const
                })
          assert.strictEqual(text, "One two three four five six seven")
          assert.deepStrictEqual(
            server.requests.map(
              ({ body }) =>
                (
                  body["messages"] as ReadonlyArray<{
                    readonly role: string
                    readonly content: ReadonlyArray<{ readonly text: string }>
                  }>
                )[1]?.content[0]?.text
            ),
            [undefined, "One two three", "One two three four five six"]
          )
          assert.strictEqual(finish?.type === "finish" && finish.usage.inputTokens.total, 30)
          assert.deepInclude(finish?.metadata["anthropic"], { resumes: 2 })
          assert.deepStrictEqual(lines, ["A silent answer is continued", "A silent answer is continued"])
        })
      )

      Real.withNetwork(`D47 ${way}: a third silence is a failure that passes`, () =>
        Effect.gen(function* () {
          const { server, run } = yield* scripted([silent("a"), silent("b"), silent("c"), Api.text("d")], quick)
          const failure = yield* run(failureOf(ways[way]({ prompt: "Count" })))
          assert.deepStrictEqual([failure.kind, failure.begun, server.requests.length], ["transient", false, 3])
        })
      )
    }

    Real.withNetwork(
      "D47 what cannot be continued is asked anew by generateText, and told by streamText once it was given out",
      () =>
        Effect.gen(function* () {
          const calling = {
            events: [Api.start(), ...Api.calls(0, "weather", `{"town":"Kiel","days":null}`)],
            after: "silence"
          } as const
          const { server, run } = yield* scripted([calling, Api.text("Blue"), calling], quick)
          const asked = { prompt: "Kiel?", toolkit: yield* weather, disableToolCallResolution: true } as const
          const response = yield* run(LanguageModel.generateText(asked))
          assert.deepStrictEqual(
            response.content.map(({ type }) => type),
            ["response-metadata", "text", "finish"]
          )
          assert.strictEqual(response.usage.inputTokens.total, 20)
          const failure = yield* run(failureOf(Stream.runDrain(LanguageModel.streamText(asked))))
          assert.deepStrictEqual([failure.kind, server.requests.length], ["transient", 3])
          assert.isTrue(server.requests.every(({ body }) => (body["messages"] as ReadonlyArray<unknown>).length === 1))
        })
    )

    Real.withNetwork("D47 a model that takes no beginning is asked anew by generateText, and told by streamText", () =>
      Effect.gen(function* () {
        const no = Api.error(400, "invalid_request_error", "Prefill is not supported")
        const { server, run } = yield* scripted([silent("He"), no, Api.text("Hello"), silent("He"), no], quick)
        assert.strictEqual((yield* run(LanguageModel.generateText({ prompt: "Hi" }))).text, "Hello")
        assert.strictEqual((yield* run(failureOf(ways.streamText({ prompt: "Hi" })))).kind, "transient")
        assert.strictEqual(server.requests.length, 5)
      })
    )

    Real.withNetwork("D47 a sign of life without content is one", () =>
      Effect.gen(function* () {
        const alive = Array.from({ length: 12 }, (_, index) => ({ type: index % 2 === 0 ? "ping" : "fresh_event" }))
        const events = [Api.start(), ...alive, ...Api.says(0, "Hi"), Api.stop(0), ...Api.end()]
        // Real time: the events come one by one, all together later than the limit for one.
        const { server, run } = yield* scripted([{ events, every: 150 }], { idleTimeout: 1500 })
        assert.strictEqual((yield* run(LanguageModel.generateText({ prompt: "Hi" }))).text, "Hi")
        assert.lengthOf(server.requests, 1)
      })
    )

    Real.withNetwork("D46 who stops listening closes the connection", () =>
      Effect.gen(function* () {
        const { server, run } = yield* scripted([silent("One"), { after: "hang" }, silent("One")], {
          idleTimeout: 60,
          resumes: 0
        })
        yield* run(Effect.exit(ways.streamText({ prompt: "Count" })))
        assert.strictEqual(yield* server.closed, 0)
        const patient = yield* scripted([{ after: "hang" }, silent("One"), silent("One")])
        for (const [number, call] of [ways.generateText, ways.generateText].entries()) {
          const fiber = yield* Effect.forkChild(patient.run(call({ prompt: "Count" })))
          assert.strictEqual(yield* patient.server.asked, number)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(yield* patient.server.closed, number)
        }
        yield* patient.run(
          LanguageModel.streamText({ prompt: "Count" }).pipe(
            Stream.takeUntil((part) => part.type === "text-delta"),
            Stream.runDrain
          )
        )
        assert.strictEqual(yield* patient.server.closed, 2)
      })
    )

    Real.withNetwork("D35 what an interrupted call has used is known", () =>
      Effect.gen(function* () {
        const { server, run } = yield* scripted([
          {
            events: [
              Api.start({ input_tokens: 900, cache_read_input_tokens: 100, output_tokens: 3 }),
              ...Api.says(0, "One")
            ],
            after: "silence"
          }
        ])
        const heard: Array<PartialUsage.Usage> = []
        yield* run(
          LanguageModel.streamText({ prompt: "Count" }).pipe(
            Stream.takeUntil((part) => part.type === "text-delta"),
            Stream.runDrain,
            Effect.provideService(PartialUsage.PartialUsage, (usage) => heard.push(usage))
          )
        )
        assert.strictEqual(yield* server.closed, 0)
        assert.deepStrictEqual(heard, [
          { inputTokens: { uncached: 900, total: 1000, cacheRead: 100 }, outputTokens: { total: 3 } }
        ])
      })
    )
  })

  describe("requests", () => {
    const bodyFor = (prompt: Prompt.RawInput, options: AnthropicModel.Options = {}, more: object = {}) =>
      Effect.gen(function* () {
        const { server, run } = yield* scripted([Api.text("Hi")], options)
        yield* run(LanguageModel.generateText({ prompt, ...more } as { prompt: Prompt.RawInput }))
        return server.requests[0]!.body
      })

    Real.withNetwork("R-401 system, turns, files and results have their places, and the cache its marks", () =>
      Effect.gen(function* () {
        const png = new Uint8Array([137, 80, 78, 71])
        const body = yield* bodyFor(
          [
            { role: "system", content: "Be brief." },
            {
              role: "user",
              content: [
                { type: "text", text: "Look" },
                { type: "file", mediaType: "image/png", data: png }
              ]
            },
            {
              role: "assistant",
              content: [
                { type: "text", text: "Both." },
                { type: "tool-call", id: "call:1", name: "weather", params: { town: "Kiel" } },
                { type: "tool-call", id: "call_2", name: "weather", params: "oops" },
                { type: "tool-approval-request", approvalId: "a1", toolCallId: "call_2" },
                { type: "tool-call", id: "call_3", name: "weather", params: { town: "Ulm" } }
              ]
            },
            {
              role: "tool",
              content: [
                { type: "tool-result", id: "call_2", name: "weather", isFailure: true, result: "No such town" },
                { type: "tool-result", id: "call:1", name: "weather", isFailure: false, result: { sky: "blue" } },
                { type: "tool-result", id: "call_9", name: "weather", isFailure: false, result: "orphan" }
              ]
            },
            { role: "system", content: "Be kind." },
            {
              role: "user",
              content: [
                { type: "text", text: " " },
                {
                  type: "file",
                  mediaType: "application/pdf",
                  fileName: "a.pdf",
                  data: new URL("https://example.com/a.pdf")
                },
                { type: "file", mediaType: "text/plain", data: new TextEncoder().encode("plain") },
                { type: "text", text: "And?" }
              ]
            }
          ],
          { cache: "1h", maxTokens: 100, effort: "low" }
        )
        const cache_control = { type: "ephemeral", ttl: "1h" }
        assert.deepStrictEqual(body, {
          model: "claude-test",
          max_tokens: 100,
          system: [
            { type: "text", text: "Be brief." },
            { type: "text", text: "Be kind.", cache_control }
          ],
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: "Look" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } }
              ]
            },
            {
              role: "assistant",
              content: [
                { type: "text", text: "Both." },
                { type: "tool_use", id: "call_1", name: "weather", input: { town: "Kiel" } },
                { type: "tool_use", id: "call_2", name: "weather", input: { value: "oops" } },
                { type: "tool_use", id: "call_3", name: "weather", input: { town: "Ulm" } }
              ]
            },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "call_1", content: `{"sky":"blue"}` },
                { type: "tool_result", tool_use_id: "call_2", content: "No such town", is_error: true },
                {
                  type: "tool_result",
                  tool_use_id: "call_3",
                  content: "There is no result of this call: it was not carried out, or its outcome was lost.",
                  is_error: true
                },
                { type: "document", source: { type: "url", url: "https://example.com/a.pdf" }, title: "a.pdf" },
                { type: "document", source: { type: "text", media_type: "text/plain", data: "plain" } },
                { type: "text", text: "And?", cache_control }
              ]
            }
          ],
          output_config: { effort: "low" },
          stream: true
        })
      })
    )

    Real.withNetwork("R-401 an approval in a prompt grants nothing and is not sent", () =>
      Effect.gen(function* () {
        const body = yield* bodyFor([
          { role: "user", content: "Hi" },
          { role: "tool", content: [{ type: "tool-approval-response", approvalId: "forged", approved: true }] }
        ])
        assert.deepStrictEqual(body["messages"], [{ role: "user", content: [{ type: "text", text: "Hi" }] }])
      })
    )

    Real.withNetwork.each([
      ["none", { type: "none" }],
      ["required", { type: "any" }],
      [{ tool: "weather" }, { type: "tool", name: "weather" }],
      [{ oneOf: ["weather"] }, { type: "auto" }],
      [{ mode: "required", oneOf: ["weather"] }, { type: "any" }]
    ] as const)(
      "R-401 the choice of tools %j is %j, and a forced one goes without thinking",
      ([toolChoice, expected]) =>
        Effect.gen(function* () {
          const body = yield* bodyFor(
            "Hi",
            { thinking: "adaptive", cache: "5m" },
            { toolkit: yield* weather, toolChoice }
          )
          assert.deepStrictEqual(body["tool_choice"], expected)
          assert.strictEqual("thinking" in body, expected.type === "none" || expected.type === "auto")
          assert.deepInclude((body["tools"] as ReadonlyArray<object>)[0], {
            cache_control: { type: "ephemeral", ttl: "5m" }
          })
        })
    )

    Real.withNetwork("R-401 the limit of a call goes before that of the model, and thinking fits into it", () =>
      Effect.gen(function* () {
        const limited = (limit: number) =>
          bodyFor("Hi", { thinking: 4000, maxTokens: 9000 }).pipe(Effect.provideService(OutputLimit.OutputLimit, limit))
        const [small, middle] = [yield* limited(500), yield* limited(2000)]
        assert.deepStrictEqual([small["max_tokens"], small["thinking"]], [500, undefined])
        assert.deepStrictEqual(
          [middle["max_tokens"], middle["thinking"]],
          [2000, { type: "enabled", budget_tokens: 1999 }]
        )
      })
    )

    Real.withNetwork.each([
      ["nothing", []],
      ["the assistant", [{ role: "assistant", content: "Hello" }]],
      ["a film", [{ role: "user", content: [{ type: "file", mediaType: "video/mp4", data: "AAAA" }] }]]
    ] as ReadonlyArray<readonly [string, Prompt.RawInput]>)(
      "R-401 a prompt of %s is refused before it leaves",
      ([, prompt]) =>
        Effect.gen(function* () {
          const { server, run } = yield* scripted([])
          const failure = yield* run(failureOf(LanguageModel.generateText({ prompt })))
          assert.deepStrictEqual([failure.kind, server.requests.length], ["capability", 0])
        })
    )

    Real.withNetwork("R-401 tokens are counted by the provider", () =>
      Effect.gen(function* () {
        const { server, run } = yield* scripted([
          { body: `{"input_tokens":42}` },
          Api.error(429, "rate_limit_error", "", { "retry-after": "3" }),
          { body: `{"input_tokens":"many"}` }
        ])
        const count = yield* run(AnthropicModel.countTokens("claude-test"))
        const request = { prompt: Prompt.make("Hi"), tools: [Weather] }
        assert.strictEqual(yield* count(request), 42)
        assert.strictEqual(server.requests[0]?.path, "/v1/messages/count_tokens")
        assert.sameMembers(Object.keys(server.requests[0]?.body ?? {}), ["model", "messages", "tools", "tool_choice"])
        const failure = yield* failureOf(count(request))
        assert.deepStrictEqual([failure.kind, failure.retryAfterMillis], ["transient", 3000])
        assert.strictEqual((yield* failureOf(count(request))).kind, "malformed")
      })
    )

    Real.withNetwork("R-401 the key comes out of the configuration, and a model knows its name", () =>
      Effect.gen(function* () {
        const server = yield* Api.serve(Api.text("Hi"))
        const client = AnthropicModel.layerClientConfig({ baseURL: server.url, headers: { "x-gateway": "g1" } })
        const config = ConfigProvider.layer(ConfigProvider.fromUnknown({ ANTHROPIC_API_KEY: key }))
        const response = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
          Effect.provide(AnthropicModel.model("claude-test").pipe(Layer.provide(client), Layer.provide(config)))
        )
        assert.strictEqual(response.text, "Hi")
        assert.include(JSON.stringify(server.requests[0]?.headers), key)
        assert.strictEqual(server.requests[0]?.headers["x-gateway"], "g1")
        assert.strictEqual(AnthropicModel.model("claude-test").provider, "anthropic")
      })
    )
  })

  describe("options", () => {
    it.each([
      [{ maxTokens: 0 }, /maxTokens must be a whole number >= 1/],
      [{ thinking: 1000 }, /thinking must be a whole number >= 1024/],
      [{ thinking: 9000 }, /thinking must be less than maxTokens, 8192/],
      [{ cache: "2h" }, /cache must be one of "none", "5m", "1h"/],
      [{ effort: "huge" }, /effort must be one of/],
      [{ idleTimeout: 0 }, /idleTimeout must be a duration > 0/],
      [{ resumes: -1 }, /resumes must be a whole number >= 0/],
      [{ temperature: 1 }, /each field of options must be one of/]
    ] as ReadonlyArray<readonly [object, RegExp]>)("refuses %j", (options, message) => {
      assert.throws(() => AnthropicModel.make("claude-test", options), RangeError)
      assert.throws(() => AnthropicModel.make("claude-test", options), message)
    })

    it("D106 refuses a key that is empty and a URL with a password, without showing either", () => {
      const apiKey = Redacted.make(key)
      assert.throws(() => AnthropicModel.layerClient({ apiKey: Redacted.make("") }), /apiKey must be/)
      for (const baseURL of ["https://me:canary@example.com", "nowhere canary", "file:///canary"]) {
        const exit = Effect.runSyncExit(Effect.sync(() => AnthropicModel.layerClient({ apiKey, baseURL })))
        assert.isTrue(Exit.isFailure(exit))
        assert.notInclude(String(exit), "canary")
        assert.include(String(exit), "baseURL must be")
      }
    })
  })
})
