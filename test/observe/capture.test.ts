/** Content of calls, when it is asked for: what is told, where, and what becomes of hooks that fail. */
import { assert, describe, it } from "@effect/vitest"
import {
  Clock,
  ConfigProvider,
  Console,
  Deferred,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  References,
  Schema
} from "effect"
import { LanguageModel, Prompt, Telemetry, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { ScriptedModel } from "espalier/agent"
import { EspalierTracer, SemConv } from "espalier/observe"

import { collecting, drops, endOf, everything, ownMetrics } from "./spans.ts"

const { text, tools } = ScriptedModel
const { content, events } = SemConv.names()

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

const prompt = Prompt.make([
  { role: "system", content: "Be short" },
  { role: "user", content: [{ type: "text", text: `Say hello to ${token}` }] },
  {
    role: "assistant",
    content: [{ type: "tool-call", id: "c1", name: "who", params: { of: token }, providerExecuted: false }]
  },
  {
    role: "tool",
    content: [
      { type: "tool-result", id: "c1", name: "who", result: { name: "Ada" }, isFailure: false, providerExecuted: false }
    ]
  },
  {
    role: "user",
    content: [{ type: "file", mediaType: "image/png", data: new Uint8Array(9) }]
  }
])

const ask = LanguageModel.generateText({ prompt })

interface Told {
  readonly message: unknown
  readonly level: string
  readonly span: string | undefined
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Runs a program with content captured, and answers with what was logged and traced. */
const capturing = <A, E>(
  program: Effect.Effect<A, E, LanguageModel.LanguageModel>,
  options: EspalierTracer.Options,
  env: Record<string, string> = {},
  steps: ReadonlyArray<ScriptedModel.Step> = [text("Hello Ada", { usage: { inputTokens: 1, outputTokens: 1 } })]
) => {
  const { layer, spans } = collecting()
  const logged: Array<Told> = []
  const logger = Logger.make<unknown, void>(({ fiber, logLevel, message }) => {
    const annotations = fiber.getRef(References.CurrentLogAnnotations)
    const span = fiber.cache.span
    logged.push({ message, level: logLevel, span: span?._tag === "Span" ? span.name : undefined, annotations })
  })
  const script = ScriptedModel.make(steps, { provider: "a", model: "one" })
  const run = program.pipe(
    Effect.provide(script.layer),
    Effect.exit,
    Effect.provide(EspalierTracer.layer(options).pipe(Layer.provideMerge(layer))),
    Effect.provideService(Logger.CurrentLoggers, new Set([logger, Logger.tracerLogger])),
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(env))
  )
  return { run, spans, logged }
}

const json = (value: unknown): unknown => JSON.parse(String(value))

describe("EspalierTracer, content", () => {
  it.effect("D106 nothing is told unless it is asked for, not even that there is something", () =>
    Effect.gen(function* () {
      const { logged, run, spans } = capturing(ask, {})
      assert.isTrue(Exit.isSuccess(yield* run))
      assert.deepStrictEqual(logged, [])
      assert.notInclude(everything(spans), "Ada")
    })
  )

  it.effect(
    "R-501 in full is a record at level Debug, in the shape of the conventions, of its span, and not on it",
    () =>
      Effect.gen(function* () {
        const { logged, run, spans } = capturing(ask, { capture: "full" })
        yield* run
        const [{ annotations, level, message, span }] = logged as [Told]
        assert.strictEqual(logged.length, 1)
        assert.deepStrictEqual([String(message), level, span], [events.inferenceDetails, "Debug", "chat one"])
        assert.strictEqual(annotations["event.name"], events.inferenceDetails)
        assert.strictEqual(annotations[SemConv.names().attributes.requestModel], "one")
        assert.deepStrictEqual(json(annotations[content.systemInstructions]), [{ type: "text", content: "Be short" }])
        assert.deepStrictEqual(json(annotations[content.inputMessages]), [
          { role: "user", parts: [{ type: "text", content: `Say hello to ${token}` }] },
          { role: "assistant", parts: [{ type: "tool_call", id: "c1", name: "who", arguments: { of: token } }] },
          { role: "tool", parts: [{ type: "tool_call_response", id: "c1", name: "who", response: { name: "Ada" } }] },
          { role: "user", parts: [{ type: "blob", modality: "image", mime_type: "image/png", size: 9 }] }
        ])
        assert.deepStrictEqual(json(annotations[content.outputMessages]), [
          { role: "assistant", parts: [{ type: "text", content: "Hello Ada" }], finish_reason: "stop" }
        ])
        assert.notInclude(everything(spans), "Ada")
      })
  )

  it.effect("D106 redacted is the same without what looks like a secret", () =>
    Effect.gen(function* () {
      const { logged, run } = capturing(ask, { capture: "redacted" })
      yield* run
      const told = JSON.stringify(logged)
      assert.notInclude(told, token)
      assert.include(told, "Say hello to [redacted:github-token]")
      assert.include(told, "Hello Ada")
    })
  )

  it.effect("D106 metadata is of what kinds its parts are, and how large", () =>
    Effect.gen(function* () {
      const { logged, run } = capturing(ask, { capture: "metadata" })
      yield* run
      const { annotations } = logged[0]!
      assert.deepStrictEqual(json(annotations[content.outputMessages]), [
        { role: "assistant", parts: [{ size: 9, type: "text" }], finish_reason: "stop" }
      ])
      assert.notInclude(JSON.stringify(logged), "Ada")
    })
  )

  it.effect.each<readonly [env: string, said: EspalierTracer.Capture | undefined, told: number]>([
    ["full", undefined, 1],
    ["full", "none", 0],
    ["none", undefined, 0],
    [" ", undefined, 0]
  ])("R-501 the variable says %s, and the option says %s", ([env, capture, told]) =>
    Effect.gen(function* () {
      const { logged, run } = capturing(ask, { capture }, { ESPALIER_CAPTURE_CONTENT: env })
      yield* run
      assert.strictEqual(logged.length, told)
    })
  )

  it.effect("R-501 a variable that says something else keeps the layer from being built", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(capturing(ask, {}, { ESPALIER_CAPTURE_CONTENT: "yes" }).run)
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(exit), "ConfigError")
    })
  )

  it.effect("R-501 the scope of an agent stands over both", () =>
    Effect.gen(function* () {
      const program = Effect.provideService(ask, EspalierTracer.GenAiScope, { capture: "none" })
      const { logged, run } = capturing(program, { capture: "full" })
      yield* run
      assert.deepStrictEqual(logged, [])
    })
  )

  it.effect("R-501 on the span it is there when the span ends, and in no record", () =>
    Effect.gen(function* () {
      const { logged, run, spans } = capturing(ask, { capture: "redacted", captureTarget: "span" })
      yield* run
      assert.deepStrictEqual(logged, [])
      assert.strictEqual(endOf(spans[0]!), "ok")
      assert.include(String(spans[0]!.attributes.get(content.inputMessages)), "[redacted:github-token]")
      assert.notInclude(everything(spans), token)
    })
  )

  it.effect("R-501 each part is cut to its limit, with the secrets taken out before, and stays JSON", () =>
    Effect.gen(function* () {
      const long = "é".repeat(90)
      const lookup = Tool.make("lookup", { parameters: Schema.Struct({ text: Schema.String }), success: Schema.String })
      const toolkit = Toolkit.make(lookup)
      const program = LanguageModel.generateText({ prompt: `${"x".repeat(80)} ${token}`, toolkit }).pipe(
        Effect.provide(toolkit.toLayer({ lookup: () => Effect.succeed("found") }))
      )
      const { logged, run } = capturing(program, { capture: "redacted", partLimit: 100 }, {}, [
        tools([{ name: "lookup", params: { text: long } }])
      ])
      yield* run
      const { annotations } = logged[0]!
      const [input] = json(annotations[content.inputMessages]) as ReadonlyArray<EspalierTracer.Message>
      const said = String(input!.parts[0]!["content"])
      assert.isAtMost(Buffer.byteLength(said), 100)
      assert.isTrue(said.startsWith(`${"x".repeat(80)} [redacted:`))
      const [output] = json(annotations[content.outputMessages]) as ReadonlyArray<EspalierTracer.Message>
      const call = output!.parts.find(({ type }) => type === "tool_call")!
      const cut = String(call["arguments"])
      assert.isAtMost(Buffer.byteLength(cut), 100)
      assert.isTrue(cut.startsWith('{"text":"é') && cut.endsWith("é…"))
    })
  )

  describe("onContent", () => {
    const replaced: EspalierTracer.OnContent = (messages) =>
      Effect.succeed({
        ...messages,
        input: [{ role: "user", parts: [{ type: "uri", modality: "text", uri: "store://1" }] }]
      })

    it.effect("R-501 says what is told in the place of content", () =>
      Effect.gen(function* () {
        const { logged, run } = capturing(ask, { capture: "full", onContent: replaced })
        yield* run
        assert.deepStrictEqual(json(logged[0]!.annotations[content.inputMessages]), [
          { role: "user", parts: [{ type: "uri", modality: "text", uri: "store://1" }] }
        ])
      })
    )

    it.effect("R-501 is shown content though none is told", () =>
      Effect.gen(function* () {
        const shown = yield* Deferred.make<string>()
        const { logged, run } = capturing(ask, {
          onContent: (messages) =>
            Effect.as(Deferred.succeed(shown, String(messages.output[0]!.parts[0]!["content"])), messages)
        })
        yield* run
        assert.strictEqual(yield* Deferred.await(shown), "Hello Ada")
        assert.deepStrictEqual(logged, [])
      })
    )

    it.effect.each<readonly [what: string, hook: EspalierTracer.OnContent, reason: string]>([
      ["fails", () => Effect.fail("no"), "hook_failed"],
      ["dies", () => Effect.die("no"), "hook_failed"],
      ["interrupts itself", () => Effect.interrupt, "hook_failed"],
      [
        "throws",
        () => {
          throw new Error("no")
        },
        "hook_failed"
      ],
      ["hangs", () => Effect.never, "timed_out"],
      ["hangs and cannot be interrupted", () => Effect.uninterruptible(Effect.never), "timed_out"]
    ])("R-505 that %s changes nothing but that nothing is told", ([, onContent, reason]) =>
      Effect.gen(function* () {
        for (const captureTarget of ["event", "span"] as const) {
          const program = Effect.flatMap(ask, ({ text }) =>
            Effect.map(Clock.currentTimeMillis, (at) => [text, at] as const)
          )
          const { logged, run, spans } = capturing(program, { capture: "full", captureTarget, onContent })
          const begun = yield* Clock.currentTimeMillis
          const ended = yield* Deferred.make<void>()
          const fiber = yield* Effect.forkChild(
            Effect.ensuring(Effect.all([run, drops]), Deferred.succeed(ended, undefined)).pipe(ownMetrics)
          )
          if (reason === "timed_out") {
            yield* Effect.yieldNow
            yield* TestClock.adjust("5 seconds")
          }
          yield* Deferred.await(ended)
          const [exit, counted] = yield* Fiber.join(fiber)
          assert.deepStrictEqual(exit, Exit.succeed(["Hello Ada", begun] as const))
          assert.deepStrictEqual(Object.keys(counted), [`logs ${reason}`])
          assert.deepStrictEqual(logged, [])
          assert.strictEqual(endOf(spans[0]!), "ok")
          assert.notInclude(everything(spans), "Ada")
        }
      })
    )

    it.effect("R-505 content without room is dropped and counted", () =>
      Effect.gen(function* () {
        const open = yield* Deferred.make<void>()
        const { logged, run, spans } = capturing(
          Effect.all([ask, ask, ask, ask]).pipe(
            Effect.andThen(Effect.andThen(drops, (counted) => Effect.as(Deferred.succeed(open, undefined), counted)))
          ),
          {
            capture: "full",
            room: 1,
            captureTarget: "span",
            onContent: (messages) => Effect.as(Deferred.await(open), messages)
          },
          {},
          ["1", "2", "3", "4"].map((each) => text(each, { usage: { inputTokens: 1, outputTokens: 1 } }))
        )
        const exit = yield* run
        const dropped = Exit.isSuccess(exit) ? exit.value["logs queue_full"] : undefined
        assert.isAtLeast(dropped ?? 0, 2)
        assert.deepStrictEqual(spans.map(endOf), ["ok", "ok", "ok", "ok"])
        assert.strictEqual(spans.filter((span) => !span.attributes.has(content.inputMessages)).length, dropped)
        assert.deepStrictEqual(logged, [])
      }).pipe(ownMetrics)
    )
  })

  it.effect("R-505 a logger that throws changes nothing, and is counted", () =>
    Effect.gen(function* () {
      const script = ScriptedModel.make([text("Hello")])
      const { layer, spans } = collecting()
      const broken = Logger.make(() => {
        throw new Error("no disk")
      })
      const answer = yield* ask.pipe(
        Effect.provide(script.layer),
        Effect.provide(EspalierTracer.layer({ capture: "full" }).pipe(Layer.provideMerge(layer))),
        Effect.provideService(Logger.CurrentLoggers, new Set([broken]))
      )
      assert.strictEqual(answer.text, "Hello")
      assert.deepStrictEqual(spans.map(endOf), ["ok"])
      assert.deepStrictEqual(yield* drops, { "logs unreadable": 1 })
    }).pipe(ownMetrics)
  )

  it.effect("D106 content is not printed by the logger that prints by default", () =>
    Effect.gen(function* () {
      const printed: Array<unknown> = []
      const { layer } = collecting()
      const print = (...words: ReadonlyArray<unknown>) => void printed.push(...words)
      const console: Console.Console = Object.assign(Object.create(globalThis.console), { log: print, debug: print })
      const script = ScriptedModel.make([text("Hello Ada")])
      yield* Effect.logWarning("begins").pipe(
        Effect.andThen(ask),
        Effect.provide(script.layer),
        Effect.provide(EspalierTracer.layer({ capture: "full" }).pipe(Layer.provideMerge(layer))),
        Effect.provideService(Logger.CurrentLoggers, new Set([Logger.defaultLogger])),
        Effect.provideService(Console.Console, console)
      )
      assert.include(printed.join(" "), "begins")
      assert.notInclude(printed.join(" "), "inference")
    })
  )

  it.effect("a transformer around is called as well", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { layer } = collecting()
      const own = Layer.succeed(Telemetry.CurrentSpanTransformer, ({ span }) => void seen.push(span.name))
      const script = ScriptedModel.make([text("Hello")], { model: "one" })
      yield* ask.pipe(
        Effect.provide(script.layer),
        Effect.provide(EspalierTracer.layer().pipe(Layer.provide(own), Layer.provideMerge(layer)))
      )
      assert.deepStrictEqual(seen, ["chat one"])
    })
  )
})
