import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Exit, Fiber, Result, Schema, Stream } from "effect"
import { AiError, LanguageModel, Model, Prompt, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { OutputLimit, ScriptedModel } from "espalier/agent"

const Search = Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }), success: Schema.String })
const toolkit = Toolkit.make(Search)
const handlers = toolkit.toLayer({ search: ({ query }) => Effect.succeed(`found ${query}`) })

const ask = (prompt: Prompt.RawInput = "Hi") => LanguageModel.generateText({ prompt })

const deferred = (prompt: Prompt.RawInput = "Hi") =>
  LanguageModel.generateText({ prompt, disableToolCallResolution: true, toolCallValidation: "deferred" })

/** All parts that a streamed answer had until it ended, and how it ended. */
const streamed = Effect.gen(function* () {
  const parts: Array<{ readonly type: string; readonly delta?: string }> = []
  const exit = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
    Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
    Effect.exit
  )
  return { parts, exit }
})

const mismatchIn = (exit: Exit.Exit<unknown, unknown>): ScriptedModel.ScriptMismatch => {
  assert.isTrue(Exit.isFailure(exit))
  const defect = Exit.isFailure(exit) ? Cause.findDefect(exit.cause) : undefined
  assert.isTrue(defect !== undefined && Result.isSuccess(defect))
  const found = (defect as Result.Success<unknown, never>).success
  assert.instanceOf(found, ScriptedModel.ScriptMismatch)
  return found as ScriptedModel.ScriptMismatch
}

describe("ScriptedModel", () => {
  describe("answers", () => {
    it.effect("R-408 a text, its reasoning, its usage and its reason to finish are what the script says", () => {
      const script = ScriptedModel.make([
        ScriptedModel.text("Hello", {
          reasoning: "be kind",
          finish: "length",
          usage: { inputTokens: 10, outputTokens: 5, cacheRead: 4, cacheWrite: 3, reasoning: 2 }
        })
      ])
      return Effect.gen(function* () {
        const answer = yield* ask()
        assert.strictEqual(answer.text, "Hello")
        assert.strictEqual(answer.reasoningText, "be kind")
        assert.strictEqual(answer.finishReason, "length")
        assert.deepStrictEqual({ ...answer.usage.inputTokens }, { total: 10, cacheRead: 4, cacheWrite: 3 })
        assert.deepStrictEqual({ ...answer.usage.outputTokens }, { total: 5, reasoning: 2 })
        assert.deepInclude(answer.content[0], {
          type: "response-metadata",
          id: "response_1",
          modelId: "scripted-1"
        })
        yield* script.complete
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("usage that the script does not say is not said, and without a finish part there is none", () => {
      const script = ScriptedModel.make([ScriptedModel.text("a"), ScriptedModel.text("b", { finish: "none" })])
      return Effect.gen(function* () {
        const first = yield* ask()
        assert.strictEqual(first.finishReason, "stop")
        assert.isUndefined(first.usage.inputTokens.total)
        const second = yield* ask()
        assert.strictEqual(second.finishReason, "unknown")
        assert.isFalse(second.content.some((part) => part.type === "finish"))
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("an empty text is an answer without content", () => {
      const script = ScriptedModel.make([ScriptedModel.text("")])
      return Effect.gen(function* () {
        assert.deepStrictEqual(
          (yield* ask()).content.map(({ type }) => type),
          ["response-metadata", "finish"]
        )
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("an object is what generateObject decodes, and one of another shape fails there", () => {
      const script = ScriptedModel.make([ScriptedModel.object({ score: 4 }), ScriptedModel.object({ score: "four" })])
      const judged = LanguageModel.generateObject({ prompt: "Judge", schema: Schema.Struct({ score: Schema.Number }) })
      return Effect.gen(function* () {
        assert.deepStrictEqual((yield* judged).value, { score: 4 })
        const error = yield* Effect.flip(judged)
        assert.strictEqual((error as AiError.AiError).reason._tag, "StructuredOutputError")
        assert.strictEqual((yield* script.requests)[0]?.responseFormat.type, "json")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("calls of tools are resolved like those of any model", () => {
      const script = ScriptedModel.make([ScriptedModel.tools([{ name: "search", params: { query: "elm" } }])])
      return Effect.gen(function* () {
        const answer = yield* LanguageModel.generateText({ prompt: "Find", toolkit })
        assert.strictEqual(answer.finishReason, "tool-calls")
        assert.deepStrictEqual(
          answer.toolResults.map(({ id, result }) => [id, result]),
          [["call_1", "found elm"]]
        )
      }).pipe(Effect.provide([script.layer, handlers]))
    })

    it.effect("several calls in one answer have ids in order over the whole script, or their own", () => {
      const call = (query: string, id?: string) => ({ name: "search", params: { query }, id })
      const script = ScriptedModel.make([
        ScriptedModel.tools([call("a"), call("b", "mine"), call("c")], { text: "Looking" }),
        ScriptedModel.tools([call("d")])
      ])
      return Effect.gen(function* () {
        const first = yield* deferred()
        assert.strictEqual(first.text, "Looking")
        assert.deepStrictEqual(
          first.toolCalls.map(({ id }) => id),
          ["call_1", "mine", "call_2"]
        )
        assert.deepStrictEqual(
          (yield* deferred()).toolCalls.map(({ id }) => id),
          ["call_3"]
        )
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a call never has the id of a call that the conversation already has", () => {
      const script = ScriptedModel.make([ScriptedModel.tools([{ name: "search", params: {} }])])
      const before = Prompt.make([
        { role: "user", content: [{ type: "text", text: "Find" }] },
        { role: "assistant", content: [{ type: "tool-call", id: "call_7", name: "search", params: {} }] },
        {
          role: "tool",
          content: [{ type: "tool-result", id: "call_7", name: "search", result: "x", isFailure: false }]
        }
      ])
      return Effect.gen(function* () {
        assert.strictEqual((yield* deferred(before)).toolCalls[0]?.id, "call_8")
        assert.strictEqual((yield* script.requests)[0]?.last, '"x"')
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("undeclared tools and malformed params come back when validation is deferred", () => {
      const script = ScriptedModel.make([
        ScriptedModel.tools([
          { name: "search", params: "not an object" },
          { name: "rm", params: null }
        ])
      ])
      return Effect.gen(function* () {
        const answer = yield* LanguageModel.generateText({
          prompt: "Find",
          toolkit,
          disableToolCallResolution: true,
          toolCallValidation: "deferred"
        })
        assert.deepStrictEqual(
          answer.toolCalls.map(({ name, params }) => [name, params]),
          [
            ["search", "not an object"],
            ["rm", null]
          ]
        )
      }).pipe(Effect.provide([script.layer, handlers]))
    })

    it.effect("undeclared tools and malformed params fail as with a provider when it is not", () => {
      const script = ScriptedModel.make([
        ScriptedModel.tools([{ name: "rm", params: {} }]),
        ScriptedModel.tools([{ name: "search", params: 1 }])
      ])
      const strict = LanguageModel.generateText({ prompt: "Find", toolkit, disableToolCallResolution: true })
      return Effect.gen(function* () {
        const unknown = (yield* Effect.flip(strict)) as AiError.AiError
        assert.strictEqual(unknown.reason._tag, "ToolNotFoundError")
        const malformed = (yield* Effect.flip(strict)) as AiError.AiError
        assert.strictEqual(malformed.reason._tag, "InvalidOutputError")
      }).pipe(Effect.provide([script.layer, handlers]))
    })
  })

  describe("streams", () => {
    it.effect("text comes in its chunks, reasoning and calls have their beginnings and ends", () => {
      const script = ScriptedModel.make([
        ScriptedModel.stream(["Hel", "lo"], { reasoning: "hm", usage: { outputTokens: 2 } })
      ])
      return Effect.gen(function* () {
        const { exit, parts } = yield* streamed
        assert.isTrue(Exit.isSuccess(exit))
        assert.deepStrictEqual(
          parts.map(({ delta, type }) => (delta === undefined ? type : `${type} ${delta}`)),
          [
            "response-metadata",
            "reasoning-start",
            "reasoning-delta hm",
            "reasoning-end",
            "text-start",
            "text-delta Hel",
            "text-delta lo",
            "text-end",
            "finish"
          ]
        )
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a caller that does not stream gets the chunks as one text", () => {
      const script = ScriptedModel.make([ScriptedModel.stream(["Hel", "lo"])])
      return Effect.gen(function* () {
        assert.strictEqual((yield* ask()).text, "Hello")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("calls of tools are resolved in a stream, too", () => {
      const script = ScriptedModel.make([ScriptedModel.tools([{ name: "search", params: { query: "elm" } }])])
      return Effect.gen(function* () {
        const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "Find", toolkit }))
        assert.deepStrictEqual(
          parts.map(({ type }) => type),
          [
            "response-metadata",
            "tool-params-start",
            "tool-params-delta",
            "tool-params-end",
            "tool-call",
            "tool-result",
            "finish"
          ]
        )
      }).pipe(Effect.provide([script.layer, handlers]))
    })

    it.effect("a fault comes in the middle of a stream, after its chunks", () => {
      const script = ScriptedModel.make([
        ScriptedModel.fault("overloaded", { after: ["one ", "two"] }),
        ScriptedModel.fault("cut"),
        ScriptedModel.fault("server", { after: 2 })
      ])
      const texts = Effect.map(streamed, ({ exit, parts }) => ({
        text: parts.map(({ delta }) => delta ?? "").join(""),
        ended: parts.some(({ type }) => type === "text-end" || type === "finish"),
        failed: Exit.isFailure(exit)
      }))
      return Effect.gen(function* () {
        assert.deepStrictEqual(yield* texts, { text: "one two", ended: false, failed: true })
        assert.deepStrictEqual(yield* texts, { text: "chunk 1 ", ended: false, failed: true })
        assert.deepStrictEqual(yield* texts, { text: "chunk 1 chunk 2 ", ended: false, failed: true })
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a stream that stalls gives what it has, then nothing, until it is interrupted", () => {
      const script = ScriptedModel.make([
        ScriptedModel.stream(["a", "b"], { stall: 1 }),
        ScriptedModel.text("a", { stall: 5 })
      ])
      return Effect.gen(function* () {
        for (const types of [
          ["response-metadata", "text-start", "text-delta"],
          ["response-metadata", "text-start", "text-delta", "text-end"]
        ]) {
          const parts = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
            Stream.take(types.length),
            Stream.runCollect
          )
          assert.deepStrictEqual(
            parts.map(({ type }) => type),
            types
          )
        }
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a stalled stream ends by a time-out on the clock", () => {
      const script = ScriptedModel.make([ScriptedModel.stream(["a", "b"], { stall: 1 })])
      return Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(
          LanguageModel.streamText({ prompt: "Hi" }).pipe(Stream.runDrain, Effect.timeoutOption("1 minute"))
        )
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "None")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("an answer that stalls and is not streamed never comes", () => {
      const script = ScriptedModel.make([ScriptedModel.stream(["a", "b"], { stall: 1 })])
      return Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(Effect.timeoutOption(ask(), "1 minute"))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "None")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("each chunk takes its time, and an answer that is not streamed takes all of it", () => {
      const script = ScriptedModel.make([
        ScriptedModel.stream(["a", "b", "c"], { every: "2 seconds" }),
        ScriptedModel.stream(["a", "b", "c"], { every: "2 seconds" })
      ])
      return Effect.gen(function* () {
        const times: Array<number> = []
        const first = yield* Effect.forkChild(
          LanguageModel.streamText({ prompt: "Hi" }).pipe(
            Stream.filter(({ type }) => type === "text-delta"),
            Stream.runForEach(() =>
              TestClock.testClockWith((clock) => Effect.sync(() => times.push(clock.currentTimeMillisUnsafe())))
            )
          )
        )
        yield* TestClock.adjust("6 seconds")
        yield* Fiber.join(first)
        assert.deepStrictEqual(times, [2_000, 4_000, 6_000])
        const second = yield* Effect.forkChild(ask())
        yield* TestClock.adjust("5 seconds")
        assert.isUndefined(second.pollUnsafe())
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* Fiber.join(second)).text, "abc")
      }).pipe(Effect.provide(script.layer))
    })
  })

  describe("faults", () => {
    it.effect.each<readonly [ScriptedModel.FaultKind, AiError.AiErrorReason["_tag"], boolean]>([
      ["rate-limit", "RateLimitError", true],
      ["overloaded", "InternalProviderError", true],
      ["server", "InternalProviderError", true],
      ["network", "NetworkError", true],
      ["timeout", "NetworkError", true],
      ["cut", "NetworkError", true],
      ["context-overflow", "InvalidRequestError", false],
      ["bad-request", "InvalidRequestError", false],
      ["unauthorized", "AuthenticationError", false],
      ["forbidden", "AuthenticationError", false],
      ["refusal", "ContentPolicyError", false],
      ["quota", "QuotaExhaustedError", false],
      ["malformed", "InvalidOutputError", true]
    ])("%s fails with a %s, whole and streamed", ([kind, tag, retryable]) => {
      const script = ScriptedModel.make([ScriptedModel.fault(kind), ScriptedModel.fault(kind)])
      return Effect.gen(function* () {
        const whole = yield* Effect.flip(ask())
        const halfway = yield* Effect.flip(Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })))
        for (const error of [whole, halfway]) {
          assert.isTrue(AiError.isAiError(error))
          assert.strictEqual(error.reason._tag, tag)
          assert.strictEqual(error.isRetryable, retryable)
        }
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("what the provider asks to wait is in the error and in its headers", () => {
      const script = ScriptedModel.make([
        ScriptedModel.fault("rate-limit", { retryAfter: "1500 millis" }),
        ScriptedModel.fault("overloaded", { retryAfter: "3 seconds" })
      ])
      return Effect.gen(function* () {
        const limited = yield* Effect.flip(ask())
        assert.deepStrictEqual(limited.retryAfter, Duration.millis(1_500))
        const overloaded = yield* Effect.flip(ask())
        assert.strictEqual(
          overloaded.reason._tag === "InternalProviderError" &&
            overloaded.reason.http?.response?.headers["retry-after"],
          "3"
        )
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a request that is too long says so by its kind", () => {
      const script = ScriptedModel.make([ScriptedModel.fault("context-overflow")])
      return Effect.gen(function* () {
        const { reason } = yield* Effect.flip(ask())
        assert.deepStrictEqual("metadata" in reason && reason.metadata["espalier"], { kind: "oversized" })
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a model that hangs is interruptible, whole and streamed", () => {
      const script = ScriptedModel.make([ScriptedModel.hang, ScriptedModel.hang])
      return Effect.gen(function* () {
        for (const call of [ask(), Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" }))]) {
          const fiber = yield* Effect.forkChild(call)
          yield* TestClock.adjust("1 day")
          assert.isUndefined(fiber.pollUnsafe())
          yield* Fiber.interrupt(fiber)
        }
        yield* script.complete
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a slow step takes its time on the clock, a slow fault too", () => {
      const script = ScriptedModel.make([
        ScriptedModel.slow("2 seconds", ScriptedModel.text("late")),
        ScriptedModel.slow("2 seconds", ScriptedModel.fault("server"))
      ])
      return Effect.gen(function* () {
        for (const expected of ["Success", "Failure"]) {
          const fiber = yield* Effect.forkChild(Effect.exit(ask()))
          yield* TestClock.adjust("1999 millis")
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust("1 millis")
          assert.strictEqual((yield* Fiber.join(fiber))._tag, expected)
        }
      }).pipe(Effect.provide(script.layer))
    })
  })

  describe("the script", () => {
    it.effect("R-408 D117 complete names the steps that no call has taken", () => {
      const script = ScriptedModel.make([
        ScriptedModel.text("a"),
        ScriptedModel.text("b"),
        ScriptedModel.fault("server"),
        ScriptedModel.tools([{ name: "search", params: {} }])
      ])
      return Effect.gen(function* () {
        yield* ask()
        const error = yield* Effect.flip(script.complete)
        assert.deepStrictEqual([...error.left], ['text "b"', "fault server", "tools search"])
        assert.include(error.message, "calls: 1")
        assert.include(error.message, "fault server")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect(
      "R-408 D117 a call beyond the script is a defect that says what was asked, and complete fails because of it",
      () => {
        const script = ScriptedModel.make([ScriptedModel.text("a")])
        return Effect.gen(function* () {
          yield* ask()
          const found = mismatchIn(yield* Effect.exit(ask("And now the key ghp_16C7e42F292c6912E7710c838347Ae178B4a")))
          assert.strictEqual(found.calls, 2)
          assert.include(found.message, "no step left for call 2")
          assert.include(found.message, "asked: And now the key [redacted:")
          assert.strictEqual(yield* Effect.flip(script.complete), found)
          const halfway = mismatchIn((yield* streamed).exit)
          assert.strictEqual(halfway.calls, 3)
        }).pipe(Effect.provide(script.layer))
      }
    )

    it.effect("a step looks at the request first, and its complaint is a mismatch", () => {
      const check = (request: ScriptedModel.Request) =>
        request.said.includes("weather") ? undefined : "nothing about the weather"
      const script = ScriptedModel.make([
        ScriptedModel.expecting(ScriptedModel.text("Sun"), check),
        ScriptedModel.expecting(ScriptedModel.text("Rain"), check)
      ])
      return Effect.gen(function* () {
        assert.strictEqual((yield* ask("The weather?")).text, "Sun")
        const found = mismatchIn(yield* Effect.exit(ask("The time?")))
        assert.include(found.message, 'The step text "Rain" does not fit call 2: nothing about the weather')
        assert.strictEqual(yield* Effect.flip(script.complete), found)
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a step decides by the request; a decision that is no step is a mismatch", () => {
      const script = ScriptedModel.make([
        ScriptedModel.respond(({ last }) => ScriptedModel.text(last.toUpperCase())),
        ScriptedModel.respond(() => "no step" as never)
      ])
      return Effect.gen(function* () {
        assert.strictEqual((yield* ask("hi")).text, "HI")
        assert.include(mismatchIn(yield* Effect.exit(ask())).message, "no step")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("remembers what was asked: prompt, tools, choice, format and limit", () => {
      const script = ScriptedModel.make([ScriptedModel.text("a"), ScriptedModel.text("b")])
      return Effect.gen(function* () {
        yield* LanguageModel.generateText({ prompt: "Find", toolkit, toolChoice: "required" }).pipe(
          Effect.provideService(OutputLimit.OutputLimit, 50)
        )
        yield* streamed
        const [first, second] = yield* script.requests
        assert.deepInclude(first, { number: 1, method: "generateText", toolChoice: "required", outputLimit: 50 })
        assert.deepStrictEqual(
          first?.tools.map(({ name }) => name),
          ["search"]
        )
        assert.deepInclude(second, { number: 2, method: "streamText", toolChoice: "none", said: "Hi" })
        assert.deepStrictEqual(second?.responseFormat, { type: "text" })
      }).pipe(Effect.provide([script.layer, handlers]))
    })

    it.effect("is one script for every layer that was built from it, and names its provider and model", () => {
      const script = ScriptedModel.make([ScriptedModel.text("a"), ScriptedModel.text("b")], {
        provider: "p",
        model: "m"
      })
      const once = (layer: typeof script.layer) =>
        Effect.gen(function* () {
          return [(yield* ask()).text, yield* Model.ProviderName, yield* Model.ModelName]
        }).pipe(Effect.provide(layer))
      return Effect.gen(function* () {
        assert.deepStrictEqual(yield* once(script.layer), ["a", "p", "m"])
        assert.deepStrictEqual(yield* once(script.model), ["b", "p", "m"])
        yield* script.complete
      })
    })

    it.effect("each of many calls at once takes a step of its own", () => {
      const script = ScriptedModel.make(Array.from({ length: 20 }, (_, index) => ScriptedModel.text(`${index}`)))
      return Effect.gen(function* () {
        const texts = yield* Effect.all(
          Array.from({ length: 20 }, () => Effect.map(ask(), ({ text }) => text)),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(texts).size, 20)
        yield* script.complete
      }).pipe(Effect.provide(script.layer))
    })
  })

  describe("down", () => {
    const outcome = ask().pipe(Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: ({ text }) => text }))
    const outages: ReadonlyArray<readonly [string, ScriptedModel.Outage, ReadonlyArray<string>]> = [
      ["at once", { for: "2 minutes" }, ["InternalProviderError", "InternalProviderError", "up", "up"]],
      ["later", { after: "1 minute", for: "1 minute", fault: "rate-limit" }, ["up", "RateLimitError", "up", "up"]],
      [
        "from a time",
        { from: 7 * 60_000, after: "1 minute", for: "90 seconds" },
        ["up", "up", "up", "InternalProviderError"]
      ]
    ]
    it.effect.each(outages)("begins and ends by the clock: %s", ([, outage, expected]) => {
      const script = ScriptedModel.fromFunction(ScriptedModel.down(outage, ScriptedModel.text("up")))
      return Effect.gen(function* () {
        yield* TestClock.setTime(5 * 60_000)
        const seen: Array<string> = []
        for (let minute = 0; minute < 4; minute++) {
          seen.push(yield* outcome)
          yield* TestClock.adjust("1 minute")
        }
        assert.deepStrictEqual(seen, expected)
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("ends on the millisecond, and says how long to wait", () => {
      const script = ScriptedModel.fromFunction(
        ScriptedModel.down({ for: 10, fault: "rate-limit", retryAfter: "3 seconds" }, (_, turn) =>
          Effect.succeed(ScriptedModel.text(`turn ${turn}`))
        )
      )
      return Effect.gen(function* () {
        assert.deepStrictEqual((yield* Effect.flip(ask())).retryAfter, Duration.seconds(3))
        yield* TestClock.adjust(9)
        assert.strictEqual(yield* outcome, "RateLimitError")
        yield* TestClock.adjust(1)
        assert.strictEqual(yield* outcome, "turn 1")
      }).pipe(Effect.provide(script.layer))
    })

    it.effect("a function may answer with an effect, which looks at the clock and takes its time", () => {
      const script = ScriptedModel.make([
        ScriptedModel.respond((request, turn) =>
          Effect.as(Effect.sleep("2 seconds"), ScriptedModel.text(`${request.last} ${turn}`))
        ),
        ScriptedModel.respond(() => Effect.succeed("no step" as never))
      ])
      return Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(ask())
        yield* TestClock.adjust("1999 millis")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.strictEqual((yield* Fiber.join(fiber)).text, "Hi 1")
        assert.include(mismatchIn(yield* Effect.exit(ask())).message, "no step")
      }).pipe(Effect.provide(script.layer))
    })
  })

  describe("fromFunction", () => {
    const conversation = [
      { role: "user", content: [{ type: "text", text: "Find" }] },
      { role: "assistant", content: [{ type: "tool-call", id: "call_1", name: "search", params: {} }] },
      { role: "tool", content: [{ type: "tool-result", id: "call_1", name: "search", result: "x", isFailure: false }] }
    ] as const
    const make = () =>
      ScriptedModel.fromFunction((_, turn) => ScriptedModel.tools([{ name: "search", params: { turn } }]))

    it.effect("answers by the request alone: the same in a new process, whatever was asked before", () => {
      const [old, fresh] = [make(), make()]
      return Effect.gen(function* () {
        yield* Effect.provide(deferred("something else"), old.layer)
        yield* Effect.provide(deferred("something else"), old.layer)
        const again = yield* Effect.provide(deferred(Prompt.make([...conversation])), old.layer)
        const first = yield* Effect.provide(deferred(Prompt.make([...conversation])), fresh.layer)
        assert.deepStrictEqual(first.content, again.content)
        assert.deepStrictEqual(
          first.toolCalls.map(({ id, params }) => [id, params]),
          [["call_2", { turn: 2 }]]
        )
        yield* old.complete
      })
    })

    it.effect("keeps the latest thousand requests", () => {
      const model = ScriptedModel.fromFunction(({ number }) => ScriptedModel.text(`${number}`))
      return Effect.gen(function* () {
        for (let call = 1; call <= 1_002; call++) yield* ask()
        const requests = yield* model.requests
        assert.strictEqual(requests.length, 1_000)
        assert.strictEqual(requests[0]?.number, 3)
      }).pipe(Effect.provide(model.layer))
    })
  })

  describe("refusals", () => {
    it.each<readonly [string, () => unknown, string]>([
      ["a step that is none", () => ScriptedModel.make(["hi" as never]), "steps[0]"],
      ["an unknown fault", () => ScriptedModel.fault("flood" as never), "kind"],
      [
        "a usage below zero",
        () => ScriptedModel.text("a", { usage: { inputTokens: -1 } }),
        "options.usage.inputTokens"
      ],
      ["an unknown option", () => ScriptedModel.text("a", { tokens: 1 } as never), "one of"],
      ["an unknown reason to finish", () => ScriptedModel.text("a", { finish: "done" as never }), "options.finish"],
      ["a negative wait", () => ScriptedModel.slow(-1, ScriptedModel.hang), "takes"],
      ["a broken stall", () => ScriptedModel.text("a", { stall: 0.5 }), "options.stall"],
      ["a value that is no JSON", () => ScriptedModel.object(undefined), "value"],
      ["calls without a name", () => ScriptedModel.tools([{ params: {} } as never]), "calls[0].name"],
      ["an outage that does not last", () => ScriptedModel.down({ for: 0 }, ScriptedModel.hang), "outage.for"],
      [
        "an outage of an unknown kind",
        () => ScriptedModel.down({ for: 1, fault: "flood" as never }, ScriptedModel.hang),
        "outage.fault"
      ],
      ["an outage of nothing", () => ScriptedModel.down({ for: 1 }, "up" as never), "otherwise"],
      ["a check that is none", () => ScriptedModel.expecting(ScriptedModel.hang, "x" as never), "check"],
      ["a model without a name", () => ScriptedModel.make([], { model: 1 as never }), "options.model"]
    ])("%s is a RangeError that names it", (_, make, named) => {
      try {
        make()
      } catch (error) {
        assert.instanceOf(error, RangeError)
        assert.include((error as RangeError).message, named)
        return
      }
      assert.fail("nothing was refused")
    })
  })
})
