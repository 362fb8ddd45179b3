import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, FileSystem, Layer, Logger, PlatformError, Schema, Stream } from "effect"
import { type AiError, LanguageModel, Model, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { Redaction } from "espalier"
import { OutputLimit, RecordedModel, ScriptedModel } from "espalier/agent"

import anthropic from "./fixtures/recorded-anthropic.json" with { type: "json" }

const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

const Search = Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String })
const toolkit = Toolkit.make(Search)
const handlers = toolkit.toLayer({ search: ({ query }) => Effect.succeed(`found ${query}`) })

const ask = (prompt = "Hi") => LanguageModel.generateText({ prompt })
const textOf = (prompt?: string) => Effect.map(ask(prompt), ({ text }) => text)
const streamed = (prompt = "Hi") => Stream.runCollect(LanguageModel.streamText({ prompt }))
const Answer = Schema.Struct({ score: Schema.Number })
const judge = LanguageModel.generateObject({ prompt: "Judge", schema: Answer })

/** What a program answers with a scripted model, what was recorded of it, and what the replay answers, each as an exit. */
const twice = Effect.fnUntraced(function* <A, E>(
  steps: ReadonlyArray<ScriptedModel.Step>,
  program: Effect.Effect<A, E, LanguageModel.LanguageModel>
) {
  const script = ScriptedModel.make(steps)
  const recorder = RecordedModel.recorder()
  const first = yield* Effect.exit(Effect.provide(program, Layer.provide(recorder.layer, script.layer)))
  yield* script.complete
  const recording = yield* recorder.recording
  // As it comes back from where it was kept.
  const kept = Schema.decodeUnknownSync(RecordedModel.Recording)(JSON.parse(JSON.stringify(recording)))
  const replay = RecordedModel.replay(kept)
  const second = yield* Effect.exit(Effect.provide(program, replay.layer))
  return { script, first, second, recording, replay }
})

const mismatchOf = (exit: Exit.Exit<unknown, unknown>): RecordedModel.RecordingMismatch => {
  assert.isTrue(Exit.isFailure(exit))
  const defect = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  assert.instanceOf(defect, RecordedModel.RecordingMismatch)
  return defect as RecordedModel.RecordingMismatch
}

/** Files in memory. */
const disk = () => {
  const files = new Map<string, string>()
  const layer = FileSystem.layerNoop({
    writeFileString: (path, text) =>
      path.startsWith("/full/")
        ? Effect.fail(PlatformError.systemError({ _tag: "WriteZero", module: "FileSystem", method: "writeFileString" }))
        : Effect.sync(() => void files.set(path, text)),
    readFileString: (path) => Effect.sync(() => files.get(path) ?? "")
  })
  return { files, layer }
}

describe("RecordedModel", () => {
  describe("recorder", () => {
    it.effect("a replay answers what the model answered: text, reasoning, usage and reason to finish", () =>
      Effect.gen(function* () {
        const { first, recording, replay, second } = yield* twice(
          [
            ScriptedModel.text("Hello", {
              reasoning: "hm",
              finish: "length",
              usage: { inputTokens: 3, outputTokens: 1, cacheRead: 2 }
            })
          ],
          Effect.map(ask(), ({ content }) => content)
        )
        assert.isTrue(Exit.isSuccess(first))
        assert.deepStrictEqual(second, first)
        assert.deepInclude(recording, { format: 1, provider: "scripted", model: "scripted-1" })
        assert.isFalse(recording.exchanges[0]?.redacted)
        yield* replay.complete
      })
    )

    it.effect("a model without a name is unknown", () =>
      Effect.gen(function* () {
        const plain = Layer.effect(
          LanguageModel.LanguageModel,
          LanguageModel.make({ generateText: () => Effect.succeed([]), streamText: () => Stream.empty })
        )
        const recorder = RecordedModel.recorder()
        yield* Effect.provide(ask(), Layer.provide(recorder.layer, plain))
        assert.deepInclude(yield* recorder.recording, { provider: "unknown", model: "unknown" })
      })
    )

    it.effect("tools are called while it is recorded and while it is replayed", () =>
      Effect.gen(function* () {
        const program = Effect.map(
          LanguageModel.generateText({ prompt: "Find", toolkit }),
          ({ toolResults }) => toolResults
        )
        const { first, recording, second } = yield* twice(
          [ScriptedModel.tools([{ name: "search", params: { query: "elm" } }])],
          Effect.provide(program, handlers)
        )
        assert.deepStrictEqual(second, first)
        assert.deepStrictEqual(Exit.isSuccess(first) && first.value.map(({ result }) => result), ["found elm"])
        assert.notInclude(JSON.stringify(recording.exchanges[0]?.parts), "found elm")
      })
    )

    it.effect("undeclared tools and malformed params come back from the replay as they came", () =>
      Effect.gen(function* () {
        const program = LanguageModel.generateText({
          prompt: "Find",
          toolkit,
          disableToolCallResolution: true,
          toolCallValidation: "deferred"
        }).pipe(
          Effect.map(({ toolCalls }) => toolCalls.map(({ name, params }) => [name, params])),
          Effect.provide(handlers)
        )
        const { first, second } = yield* twice(
          [
            ScriptedModel.tools([
              { name: "search", params: "nonsense" },
              { name: "rm", params: null }
            ])
          ],
          program
        )
        assert.deepStrictEqual(second, first)
        assert.deepStrictEqual(Exit.isSuccess(first) && first.value, [
          ["search", "nonsense"],
          ["rm", null]
        ])
      })
    )

    it.effect("a stream is kept part by part", () =>
      Effect.gen(function* () {
        const { first, second } = yield* twice([ScriptedModel.stream(["Hel", "lo"])], streamed())
        assert.deepStrictEqual(second, first)
        assert.strictEqual(Exit.isSuccess(first) && first.value.filter(({ type }) => type === "text-delta").length, 2)
      })
    )

    it.effect("objects are decoded in the replay as they were", () =>
      Effect.gen(function* () {
        const { first, second } = yield* twice(
          [ScriptedModel.object({ score: 4 })],
          Effect.map(judge, ({ value }) => value)
        )
        assert.deepStrictEqual(first, Exit.succeed({ score: 4 }))
        assert.deepStrictEqual(second, first)
      })
    )

    it.effect("an object that fits its schema is kept as the model wrote it", () =>
      Effect.gen(function* () {
        const { recording } = yield* twice([ScriptedModel.text('{ "score": 4 }')], judge)
        assert.include(JSON.stringify(recording.exchanges[0]?.parts), JSON.stringify('{ "score": 4 }'))
      })
    )

    it.effect("an object that its provider asked for in another shape is kept in the shape of the schema", () =>
      Effect.gen(function* () {
        const provider = Layer.effect(
          LanguageModel.LanguageModel,
          LanguageModel.make({
            generateText: () =>
              Effect.succeed([
                { type: "text", text: '{"points":4}' },
                { type: "finish", reason: "stop", usage: { inputTokens: {}, outputTokens: {} } }
              ]),
            streamText: () => Stream.empty,
            codecTransformer: () => ({
              codec: Schema.Struct({ score: Schema.Number }).pipe(Schema.encodeKeys({ score: "points" })) as never,
              jsonSchema: {}
            })
          })
        )
        const recorder = RecordedModel.recorder()
        const program = Effect.map(judge, ({ value }) => value)
        assert.deepStrictEqual(yield* Effect.provide(program, Layer.provide(recorder.layer, provider)), { score: 4 })
        const { exchanges } = yield* recorder.recording
        assert.deepStrictEqual(
          exchanges[0]?.parts.map((part) => (part as { readonly type: string; readonly text?: string }).text),
          ['{"score":4}', undefined]
        )
      })
    )

    it.effect.each<ScriptedModel.FaultKind>(["rate-limit", "overloaded", "context-overflow", "network", "refusal"])(
      "the error of %s is kept and comes again, without what was sent",
      (kind) =>
        Effect.gen(function* () {
          const { first, recording, second } = yield* twice(
            [ScriptedModel.fault(kind, { retryAfter: "3 seconds" })],
            Effect.flip(ask())
          )
          const [before, after] = [first, second].map((exit) =>
            Exit.isSuccess(exit) ? (exit.value as AiError.AiError) : assert.fail("no error")
          )
          assert.strictEqual(after?.message, before?.message)
          assert.strictEqual(after?.isRetryable, before?.isRetryable)
          assert.deepStrictEqual(after?.retryAfter, before?.retryAfter)
          const reasons = [before, after].map((error) => error?.reason as AiError.InternalProviderError)
          assert.deepStrictEqual(reasons[1]?.metadata, reasons[0]?.metadata)
          assert.strictEqual(reasons[1]?.http?.response?.status, reasons[0]?.http?.response?.status)
          assert.notInclude(JSON.stringify(recording), "content-type")
          assert.isUndefined(reasons[1]?.http?.body)
        })
    )

    it.effect("an error in the middle of a stream is kept with what had arrived", () =>
      Effect.gen(function* () {
        const program = Effect.gen(function* () {
          const parts: Array<string> = []
          const exit = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
            Stream.runForEach(({ type }) => Effect.sync(() => parts.push(type))),
            Effect.exit
          )
          return { parts, failed: Exit.isFailure(exit) }
        })
        const { first, second } = yield* twice([ScriptedModel.fault("overloaded", { after: ["one"] })], program)
        assert.deepStrictEqual(
          first,
          Exit.succeed({ parts: ["response-metadata", "text-start", "text-delta"], failed: true })
        )
        assert.deepStrictEqual(second, first)
      })
    )

    it.effect("a call that was interrupted is not kept", () =>
      Effect.gen(function* () {
        const script = ScriptedModel.make([ScriptedModel.hang, ScriptedModel.text("b")])
        const recorder = RecordedModel.recorder()
        yield* Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(ask("a"), { startImmediately: true })
          yield* Fiber.interrupt(fiber)
          yield* ask("b")
        }).pipe(Effect.provide(Layer.provide(recorder.layer, script.layer)))
        assert.strictEqual((yield* recorder.recording).exchanges.length, 1)
      })
    )

    it.effect("exchanges stand in the order in which the calls began", () =>
      Effect.gen(function* () {
        const script = ScriptedModel.fromFunction(({ last }) =>
          ScriptedModel.slow(Number(last), ScriptedModel.text(last))
        )
        const recorder = RecordedModel.recorder()
        yield* Effect.all([textOf("2"), textOf("1")], { concurrency: "unbounded" }).pipe(
          Effect.provide(Layer.provide(recorder.layer, script.layer)),
          Effect.forkChild({ startImmediately: true }),
          Effect.flatMap((fiber) => Effect.andThen(TestClock.adjust(2), Fiber.join(fiber)))
        )
        const { exchanges } = yield* recorder.recording
        assert.deepStrictEqual(
          exchanges.map(({ parts }) => JSON.stringify(parts).includes('"text":"2"')),
          [true, false]
        )
      })
    )

    it.effect("keeps no more than it is told, and says so", () =>
      Effect.gen(function* () {
        const logged: Array<unknown> = []
        const logger = Logger.make(({ message }) => void logged.push(message))
        const script = ScriptedModel.make([ScriptedModel.text("a"), ScriptedModel.text("b")])
        const recorder = RecordedModel.recorder({ most: 1 })
        yield* Effect.andThen(ask(), ask()).pipe(
          Effect.provide([Layer.provide(recorder.layer, script.layer), Logger.layer([logger])])
        )
        assert.strictEqual((yield* recorder.recording).exchanges.length, 1)
        assert.include(String(logged), "this one is not kept")
      })
    )
  })

  describe("redaction", () => {
    it.effect("no secret of request, answer or error is kept, and the exchange says that it differs", () =>
      Effect.gen(function* () {
        const { first, recording, second } = yield* twice(
          [
            ScriptedModel.text(`I read ${secret}`),
            ScriptedModel.tools([{ name: "search", params: { query: secret } }]),
            ScriptedModel.text("fine")
          ],
          Effect.gen(function* () {
            const said = yield* textOf(`Use ${secret}`)
            yield* LanguageModel.generateText({
              prompt: "Hi",
              disableToolCallResolution: true,
              toolCallValidation: "deferred"
            })
            yield* textOf(`Once more ${secret}`)
            return said
          })
        )
        assert.deepStrictEqual(first, Exit.succeed(`I read ${secret}`))
        assert.deepStrictEqual(second, Exit.succeed("I read [redacted:github-token]"))
        assert.notInclude(JSON.stringify(recording), secret)
        assert.deepStrictEqual(
          recording.exchanges.map(({ redacted }) => redacted),
          [true, true, false]
        )
      })
    )

    it.effect("a secret that comes in two chunks is not kept either", () =>
      Effect.gen(function* () {
        const { first, recording, second } = yield* twice(
          [ScriptedModel.stream(["I read ", secret.slice(0, 9), secret.slice(9), " today"])],
          Effect.map(streamed(), (parts) =>
            parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("")
          )
        )
        assert.deepStrictEqual(first, Exit.succeed(`I read ${secret} today`))
        assert.deepStrictEqual(second, Exit.succeed("I read [redacted:github-token] today"))
        assert.notInclude(JSON.stringify(recording), secret.slice(9))
        assert.isTrue(recording.exchanges[0]?.redacted)
      })
    )

    it.effect("goes by the rules of the context", () =>
      Effect.gen(function* () {
        const ticket = Redaction.rule({ name: "ticket", pattern: /INC-\d+/ })
        const { recording } = yield* twice([ScriptedModel.text("INC-1")], ask("INC-2")).pipe(
          Effect.provide(Redaction.layer({ rules: [ticket] }))
        )
        assert.notInclude(JSON.stringify(recording), "INC-")
      })
    )
  })

  describe("replay", () => {
    const recorded = twice(
      [ScriptedModel.text("one"), ScriptedModel.text("two"), ScriptedModel.text("three")],
      Effect.all([textOf("a"), textOf("b"), textOf("a")])
    )

    it.effect("requests may come in another order; the same one gets its answers in their order", () =>
      Effect.gen(function* () {
        const { recording } = yield* recorded
        const { complete, layer } = RecordedModel.replay(recording)
        const texts = yield* Effect.provide(Effect.all([textOf("b"), textOf("a"), textOf("a")]), layer)
        assert.deepStrictEqual(texts, ["two", "one", "three"])
        yield* complete
      })
    )

    it.effect("a request that is not in the recording shows the first difference", () =>
      Effect.gen(function* () {
        const { recording } = yield* recorded
        const { complete, layer } = RecordedModel.replay(recording)
        const found = mismatchOf(yield* Effect.exit(Effect.provide(ask("c"), layer)))
        assert.strictEqual(
          found.message,
          'The request is not in the recording\nprompt.content[0].content: recorded "a", asked "c"'
        )
        assert.strictEqual(yield* Effect.flip(complete), found)
      })
    )

    it.effect("a request that is asked more often than it was recorded is a mismatch", () =>
      Effect.gen(function* () {
        const { recording } = yield* recorded
        const { layer } = RecordedModel.replay(recording)
        const exit = yield* Effect.exit(Effect.provide(Effect.all([ask("a"), ask("a"), ask("a")]), layer))
        assert.include(mismatchOf(exit).message, "was recorded 2 times, and is asked again")
        assert.include(mismatchOf(exit).message, 'recorded "b", asked "a"')
      })
    )

    it.effect("what was not asked for is left over", () =>
      Effect.gen(function* () {
        const { recording } = yield* recorded
        const { complete, layer } = RecordedModel.replay(recording)
        yield* Effect.provide(ask("a"), layer)
        assert.strictEqual((yield* Effect.flip(complete)).message, "2 of 3 recorded exchanges were not asked for")
      })
    )

    it.effect.each<readonly [string, Effect.Effect<unknown, unknown, LanguageModel.LanguageModel>, string]>([
      ["streaming", streamed("a"), 'method: recorded "generateText", asked "streamText"'],
      [
        "a limit",
        Effect.provideService(ask("a"), OutputLimit.OutputLimit, 5),
        "outputLimit: recorded nothing, asked 5"
      ],
      [
        "tools",
        Effect.provide(LanguageModel.generateText({ prompt: "a", toolkit }), handlers),
        'tools[0]: recorded nothing, asked {"name":"search"'
      ],
      [
        "a format",
        LanguageModel.generateObject({ prompt: "a", schema: Answer }),
        'responseFormat.type: recorded "text", asked "json"'
      ],
      [
        "a message more",
        LanguageModel.generateText({
          prompt: [
            { role: "user", content: "a" },
            { role: "user", content: "b" }
          ]
        }),
        "prompt.content[1]: recorded nothing"
      ]
    ])("%s makes another request", ([, program, difference]) =>
      Effect.gen(function* () {
        const { recording } = yield* recorded
        const { layer } = RecordedModel.replay(recording)
        const found = mismatchOf(yield* Effect.exit(Effect.provide(program, layer)))
        assert.include(found.difference, difference)
      })
    )

    it.effect("a difference far into a long text is shown where it is", () =>
      Effect.gen(function* () {
        const long = "word ".repeat(500)
        const { recording } = yield* twice([ScriptedModel.text("x")], ask(`${long}here`))
        const { layer } = RecordedModel.replay(recording)
        const { difference } = mismatchOf(yield* Effect.exit(Effect.provide(ask(`${long}there`), layer)))
        assert.isBelow(difference.length, 200)
        assert.include(difference, 'here"')
        assert.include(difference, 'there"')
      })
    )

    it.effect("a recording of what Anthropic's adapter gives", () =>
      Effect.gen(function* () {
        const recording = yield* Schema.decodeUnknownEffect(RecordedModel.Recording)(anthropic)
        const { complete, model } = RecordedModel.replay(recording)
        yield* Effect.gen(function* () {
          assert.strictEqual(yield* Model.ModelName, "claude-opus-4-1")
          const answer = yield* LanguageModel.generateText({ prompt: "Find elms", toolkit })
          assert.strictEqual(answer.text, "Let me look.")
          assert.strictEqual(answer.reasoningText, "I should search.")
          assert.deepInclude(answer.usage.inputTokens, { total: 412, cacheRead: 400, uncached: 12 })
          assert.deepStrictEqual(
            answer.toolResults.map(({ id, result }) => [id, result]),
            [["toolu_01A09q90qw90lq917835lq9", "found elm"]]
          )
          const error = yield* Effect.flip(ask("Hi"))
          assert.strictEqual(error.reason._tag, "RateLimitError")
          assert.deepStrictEqual(error.retryAfter, Duration.seconds(3))
        }).pipe(Effect.provide([model, handlers]))
        yield* complete
      })
    )
  })

  describe("files", () => {
    it.effect("the file has what was said after each call, and is read again", () =>
      Effect.gen(function* () {
        const { files, layer } = disk()
        const script = ScriptedModel.make([ScriptedModel.text("one"), ScriptedModel.fault("server")])
        yield* Effect.gen(function* () {
          yield* ask("a")
          assert.strictEqual((yield* RecordedModel.load("/r.json")).exchanges.length, 1)
          yield* Effect.flip(ask("b"))
          const { exchanges } = yield* RecordedModel.load("/r.json")
          assert.strictEqual(exchanges.length, 2)
          assert.isDefined(exchanges[1]?.error)
        }).pipe(Effect.provide([Layer.provide(RecordedModel.record("/r.json"), [script.layer, layer]), layer]))
        assert.include(files.get("/r.json") ?? "", '\n  "exchanges": [\n')
      })
    )

    it.effect("a file that cannot be written is a defect of the call", () =>
      Effect.gen(function* () {
        const { layer } = disk()
        const script = ScriptedModel.make([ScriptedModel.text("one")])
        const exit = yield* Effect.exit(
          Effect.provide(ask(), Layer.provide(RecordedModel.record("/full/r.json"), [script.layer, layer]))
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      })
    )

    it.effect("a file that is no recording is an error that names it", () =>
      Effect.gen(function* () {
        const { files, layer } = disk()
        files.set("/r.json", '{"format":2}')
        const error = yield* Effect.flip(Effect.provide(RecordedModel.load("/r.json"), layer))
        assert.instanceOf(error, RecordedModel.RecordingUnreadable)
        assert.include(error.message, "/r.json is no recording of a model")
      })
    )
  })

  it("a bound that is none is a RangeError that names it", () => {
    assert.throws(() => RecordedModel.recorder({ most: 0 }), RangeError, "options.most")
    assert.throws(() => RecordedModel.recorder({ much: 1 } as never), RangeError, "much")
  })
})
