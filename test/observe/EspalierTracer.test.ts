import * as OtelTracer from "@effect/opentelemetry/OtelTracer"
import { assert, describe, it } from "@effect/vitest"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node"
import { Clock, Effect, Exit, Fiber, Layer, Result, Schema, Stream, Tracer } from "effect"
import { AiError, EmbeddingModel, LanguageModel, Model, Prompt, Tool, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { CostModel, type ModelCall, Models, ScriptedModel } from "espalier/agent"
import { EspalierTracer, SemConv } from "espalier/observe"
import { Dependency } from "espalier/run"

import { canaries, assertClean } from "../run/canaries.ts"
import { attributesOf, collecting, drops, endOf, everything, ownMetrics, treeOf } from "./spans.ts"

const { fault, hang, slow, stream, text, tools } = ScriptedModel
const { espalier } = SemConv
const { attributes: at } = SemConv.names()

const ask = LanguageModel.generateText({ prompt: "Say hello" })

const costs = CostModel.make({ currency: "USD", prices: { "a/one": { input: 1, output: 10 } } })

/** Runs a program with a script and the decorated tracer, and answers with the spans. */
const traced = <A, E>(
  program: Effect.Effect<A, E, LanguageModel.LanguageModel | Model.ModelName | Model.ProviderName>,
  steps: ReadonlyArray<ScriptedModel.Step>,
  options: EspalierTracer.Options = {}
) => {
  const { layer, spans } = collecting()
  const script = ScriptedModel.make(steps, { provider: "a", model: "one" })
  const run = program.pipe(
    Effect.provide(script.model),
    Effect.exit,
    Effect.provide(EspalierTracer.layer(options).pipe(Layer.provideMerge(layer)))
  )
  return Effect.map(run, (exit) => ({ exit, spans }))
}

/** The same for a call of a chain of models, with what is recorded of it. */
const called = (steps: ReadonlyArray<ScriptedModel.Step>, options: Models.Options = {}) => {
  const { layer, spans } = collecting()
  const script = ScriptedModel.make(steps, { provider: "a", model: "one" })
  const calls: Array<ModelCall.Call> = []
  const run = Models.call(
    Models.make([{ provide: script.model }], options),
    { prompt: Prompt.make("Say hello"), tools: [] },
    { onCall: (call) => Effect.sync(() => calls.push(call)) }
  ).pipe(
    Effect.provideService(CostModel.CostModel, costs),
    Effect.provide(Dependency.layer()),
    Effect.exit,
    Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
  )
  return { run, spans, calls }
}

const lookup = Tool.make("lookup", {
  parameters: Schema.Struct({ card: Schema.String }),
  success: Schema.String,
  failure: Schema.String,
  failureMode: "error"
})
const toolkit = Toolkit.make(lookup)

const useTool = (card: string, handle: Effect.Effect<string, string>) =>
  LanguageModel.generateText({ prompt: `The card is ${card}`, toolkit }).pipe(
    Effect.provide(toolkit.toLayer({ lookup: () => handle }))
  )

describe("EspalierTracer", () => {
  describe("the span of a call", () => {
    it.effect.each(SemConv.Profiles)("D105 is this in %s", (profile) =>
      Effect.gen(function* () {
        const { attributes: at } = SemConv.names(profile)
        const answer = text("Hello", {
          usage: { inputTokens: 100, outputTokens: 40, cacheRead: 30, cacheWrite: 20, reasoning: 15 }
        })
        const { spans } = yield* ask.pipe(
          Effect.provideService(EspalierTracer.GenAiScope, {
            agent: "greeter",
            run: "r1",
            kindPath: "root/greeting",
            conversation: "c1"
          }),
          (program) => traced(program, [answer], { profile })
        )
        assert.deepStrictEqual(
          spans.map(({ kind, name }) => [name, kind]),
          [["chat one", "client"]]
        )
        const found = attributesOf(spans[0]!)
        assert.deepStrictEqual(found, {
          "espalier.run.id": "r1",
          "espalier.node.kind_path": "root/greeting",
          [at.operationName]: "chat",
          [at.providerName]: "a",
          [at.requestModel]: "one",
          [at.agentName]: "greeter",
          [at.conversationId]: "c1",
          [at.outputType]: "text",
          "effect.ai.tool_choice": found["effect.ai.tool_choice"],
          "effect.ai.concurrency": found["effect.ai.concurrency"],
          [at.responseId]: "response_1",
          [at.responseModel]: "one",
          [at.responseFinishReasons]: ["stop"],
          [at.usageInput]: 100,
          [at.usageOutput]: 40,
          [at.usageCacheRead]: 30,
          [at.usageCacheWrite]: 20,
          [at.usageReasoning]: 15
        })
        assert.strictEqual(endOf(spans[0]!), "ok")
      })
    )

    it.effect("R-501 of a stream is the same, and ends with it", () =>
      Effect.gen(function* () {
        const program = Stream.runDrain(LanguageModel.streamText({ prompt: "Say hello" }))
        const { spans } = yield* traced(program, [
          stream(["Hel", "lo"], { usage: { inputTokens: 3, outputTokens: 2 } })
        ])
        const found = spans.map((span) => [span.name, span.kind, span.attributes.get(at.usageOutput), endOf(span)])
        assert.deepStrictEqual(found, [["chat one", "client", 2, "ok"]])
      })
    )

    it.effect("R-501 of a model whose name is not known is chat", () =>
      Effect.gen(function* () {
        const { layer, spans } = collecting()
        const model = Layer.effect(
          LanguageModel.LanguageModel,
          LanguageModel.make({ generateText: () => Effect.succeed([]), streamText: () => Stream.empty })
        )
        yield* ask.pipe(Effect.provide(model), Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer))))
        assert.deepStrictEqual([spans[0]!.name, attributesOf(spans[0]!)[at.operationName]], ["chat", "chat"])
        assert.isFalse(spans[0]!.attributes.has(at.requestModel))
      })
    )

    it.effect("R-501 embeddings are one client's span, below whatever asks for them", () =>
      Effect.gen(function* () {
        const { layer, spans } = collecting()
        const model = Layer.effect(
          EmbeddingModel.EmbeddingModel,
          EmbeddingModel.make({
            embedMany: ({ inputs }) =>
              Effect.succeed({ results: inputs.map(() => [1]), usage: { inputTokens: inputs.length } })
          })
        )
        yield* Effect.flatMap(EmbeddingModel.EmbeddingModel, ({ embed }) => embed("x")).pipe(
          Effect.provide(Model.make("a", "vectors", model)),
          Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
        )
        const operations = spans.flatMap((span) =>
          span.attributes.has(at.operationName) ? [[span.name, span.kind, span.attributes.get(at.requestModel)]] : []
        )
        assert.deepStrictEqual(operations, [["embeddings vectors", "client", "vectors"]])
      })
    )
  })

  describe("usage and cost", () => {
    it.effect("D104 are on spans of inferences alone, and add up to the receipts", () =>
      Effect.gen(function* () {
        const { calls, run, spans } = called([
          text("Hello", { usage: { inputTokens: 100, outputTokens: 40, reasoning: 15 } })
        ])
        const program = Effect.gen(function* () {
          yield* run
          yield* Effect.annotateCurrentSpan({ [at.usageInput]: 100, [at.usageOutput]: 40, [espalier.usageTokens]: 140 })
        })
        const { layer, spans: outer } = collecting()
        yield* program.pipe(
          Effect.withSpan("invoke_agent greeter", { attributes: { [at.operationName]: "invoke_agent" } }),
          Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
        )
        const all = [...outer, ...spans]
        const having = all.filter((span) => [...span.attributes.keys()].some(SemConv.isUsage)).map(({ name }) => name)
        assert.deepStrictEqual(having, ["chat one"])
        assert.strictEqual(outer[0]!.attributes.get(espalier.usageTokens), 140)
        const told = attributesOf(spans[0]!)
        assert.deepStrictEqual(
          [told[at.usageInput], told[at.usageOutput]],
          [calls[0]!.usage.input, calls[0]!.usage.output]
        )
        assert.deepStrictEqual(
          [told[espalier.costAmount], told[espalier.costCurrency], told[espalier.costSource]],
          [calls[0]!.cost, "USD", "local"]
        )
        assert.strictEqual(calls[0]!.cost, 0.0005)
      })
    )

    it.effect("R-406 a price that is not known is absent, and not 0", () =>
      Effect.gen(function* () {
        const { calls, run, spans } = called([
          text("Hello", { usage: { inputTokens: 100, outputTokens: 40, cacheRead: 30 } })
        ])
        yield* run
        assert.isUndefined(calls[0]!.cost)
        assert.strictEqual(attributesOf(spans[0]!)[at.usageCacheRead], 30)
        assert.deepStrictEqual(
          Object.keys(attributesOf(spans[0]!)).filter((key) => key.startsWith("espalier.cost")),
          []
        )
      })
    )

    it.effect("written by others under a former name get the name of the profile, once", () =>
      Effect.gen(function* () {
        const { spans } = yield* traced(
          Effect.void.pipe(
            Effect.withSpan("chat other", {
              attributes: {
                [at.operationName]: "chat",
                "gen_ai.system": "other",
                "gen_ai.usage.cache_creation.input_tokens": 7
              }
            })
          ),
          []
        )
        assert.deepStrictEqual(attributesOf(spans[0]!), {
          [at.operationName]: "chat",
          [at.providerName]: "other",
          [at.usageCacheWrite]: 7
        })
      })
    )
  })

  describe("what fails", () => {
    it.effect.each<readonly [fault: Parameters<typeof fault>[0], type: string, told: string]>([
      ["rate-limit", "rate_limited", "AiError: rate limit (HTTP 429)"],
      ["overloaded", "provider_internal", "AiError: the provider failed (HTTP 529)"],
      ["network", "network", "AiError: the provider cannot be reached"],
      ["unauthorized", "auth", "AiError: not authorised (HTTP 401)"],
      ["refusal", "content_policy", "AiError: refused"],
      ["quota", "quota_exhausted", "AiError: the quota is spent (HTTP 429)"],
      ["malformed", "invalid_output", "AiError: the answer is not what was asked for"]
    ])("R-502 with %s has the error.type %s, and says: %s", ([name, type, told]) =>
      Effect.gen(function* () {
        const { exit, spans } = yield* traced(ask, [fault(name)])
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual([attributesOf(spans[0]!)[at.errorType], endOf(spans[0]!)], [type, told])
      })
    )

    it.effect("R-502 because its time is over is an error, though it was interrupted", () =>
      Effect.gen(function* () {
        const { calls, run, spans } = called([hang], { timeout: "10 seconds" })
        const fiber = yield* Effect.forkChild(run)
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(fiber)
        assert.strictEqual(calls[0]!.end, "transient")
        assert.deepStrictEqual(
          [attributesOf(spans[0]!)[at.errorType], endOf(spans[0]!)],
          ["timeout", "TimeoutError: no answer in time"]
        )
      })
    )

    it.effect("D103 is not what its caller interrupts", () =>
      Effect.gen(function* () {
        const { run, spans } = called([hang], { timeout: "10 seconds" })
        const fiber = yield* Effect.forkChild(run)
        yield* TestClock.adjust("9 seconds")
        yield* Fiber.interrupt(fiber)
        assert.isFalse(spans[0]!.attributes.has(at.errorType))
        assert.strictEqual(endOf(spans[0]!), "interrupted")
      })
    )

    it.effect.each(["suspended", "rejected", "cancelled", "refused", "partial"])(
      "D103 is not what ends as %s",
      (outcome) =>
        Effect.gen(function* () {
          const program = Effect.annotateCurrentSpan(espalier.outcome, outcome).pipe(
            Effect.andThen(Effect.fail("parked")),
            Effect.withSpan("execute_tool refund")
          )
          const { spans } = yield* traced(program, [])
          assert.isFalse(spans[0]!.attributes.has(at.errorType))
          assert.strictEqual(endOf(spans[0]!), "ok")
        })
    )

    it.effect("R-502 keeps an error.type that was said, and what a defect is", () =>
      Effect.gen(function* () {
        const said = Effect.fail("x").pipe(Effect.withSpan("said", { attributes: { [at.errorType]: "loop_detected" } }))
        const died = Effect.die(new TypeError(canaries.password)).pipe(Effect.withSpan("died"))
        const { spans } = yield* traced(Effect.all([Effect.exit(said), Effect.exit(died)]), [])
        assert.deepStrictEqual(
          spans.map((span) => [span.attributes.get(at.errorType), endOf(span)]),
          [
            ["loop_detected", "Error"],
            ["crash", "TypeError"]
          ]
        )
      })
    )

    it.effect("R-502 may say what it says when its name is on the list", () =>
      Effect.gen(function* () {
        class Known extends Schema.TaggedError<Known>()("Known", { message: Schema.String }) {}
        const program = Effect.fail(new Known({ message: "the queue is full" })).pipe(Effect.withSpan("push"))
        const { spans } = yield* traced(program, [], { safeErrors: ["Known"] })
        assert.strictEqual(endOf(spans[0]!), "Known: the queue is full")
      })
    )
  })

  describe("content", () => {
    it.effect("D106 is put on spans by Effect itself, and not any more", () =>
      Effect.gen(function* () {
        const steps = () => [tools([{ name: "lookup", params: { card: canaries.pin } }])]
        const program = useTool(canaries.pin, Effect.succeed("found"))
        const plain = collecting()
        yield* program.pipe(Effect.provide(ScriptedModel.make(steps()).model), Effect.provide(plain.layer))
        assert.deepStrictEqual(
          plain.spans.map((span) => span.attributes.get("parameters")),
          [{ card: canaries.pin }]
        )

        const { exit, spans } = yield* traced(program, steps())
        assert.isTrue(Exit.isSuccess(exit))
        assert.notInclude(everything(spans), canaries.pin)
        assert.deepStrictEqual(
          spans.map((span) => [span.attributes.has("parameters"), span.attributes.has("tool")]),
          [[false, false]]
        )
      })
    )

    it.effect.each(Object.entries(canaries))("D106 with a secret of the kind %s is on no span", ([, secret]) =>
      Effect.gen(function* () {
        const call = () => tools([{ name: "lookup", params: { card: secret } }])
        const prompt = [
          { role: "system" as const, content: `Never say ${secret}` },
          { role: "user" as const, content: [{ type: "text" as const, text: secret }] }
        ]
        const failing = AiError.make({
          module: "A",
          method: secret,
          reason: new AiError.InvalidOutputError({ description: secret })
        })
        const program = Effect.all([
          Effect.exit(useTool(secret, Effect.succeed(secret))),
          Effect.exit(useTool(secret, Effect.fail(secret))),
          Effect.exit(useTool(secret, Effect.die(new Error(secret, { cause: { secret } })))),
          Effect.exit(LanguageModel.generateText({ prompt })),
          Effect.exit(Effect.fail(failing).pipe(Effect.withSpan("failing"))),
          Effect.succeed({ secret }).pipe(
            Effect.withSpan("done", {
              attributes: { [SemConv.names().content.inputMessages]: secret, "gen_ai.prompt": secret }
            })
          )
        ])
        const { exit, spans } = yield* traced(program, [call(), call(), call(), text(secret)])
        assert.isTrue(Exit.isSuccess(exit))
        assert.strictEqual(spans.length, 6)
        assertClean(everything(spans), "a span")
      })
    )

    it.effect("D106 the name of an error is told where it is one", () =>
      Effect.gen(function* () {
        const names = ["espalier/agent/ModelFailure", "the card is 4242", "4242", 7]
        const program = Effect.forEach(names, (_tag) =>
          Effect.exit(Effect.fail({ _tag, card: "4242" }).pipe(Effect.withSpan("failing")))
        )
        const { spans } = yield* traced(program, [])
        assert.deepStrictEqual(spans.map(endOf), ["espalier/agent/ModelFailure", "Error", "Error", "Error"])
      })
    )

    it.effect("D106 texts that look like a secret are taken out of every attribute", () =>
      Effect.gen(function* () {
        const program = Effect.void.pipe(
          Effect.withSpan("GET", {
            attributes: {
              "url.full": "https://ada:pa55w0rd@a.example/x",
              list: [1, "ghp_16C7e42F292c6912E7710c838347Ae178B4a"]
            }
          })
        )
        const { spans } = yield* traced(program, [])
        const told = everything(spans)
        assert.notInclude(told, "pa55w0rd")
        assert.notInclude(told, "16C7e42F292c6912E7710c838347Ae178B4a")
        assert.include(told, "a.example")
      })
    )
  })

  describe("a tracer that throws", () => {
    const broken = (where: string): Tracer.Tracer => {
      const fail = () => {
        throw new Error(`${where} of the tracer`)
      }
      return Tracer.make({
        span: (options) => {
          if (where === "span") return fail()
          if (where === "frozen") return Object.freeze(new Tracer.NativeSpan(options))
          return Object.assign(new Tracer.NativeSpan(options), { [where]: fail })
        }
      })
    }

    it.effect.each(["none", "span", "attribute", "event", "addLinks", "end", "frozen"])(
      "R-505 in %s changes neither a result nor how long it takes, and is counted",
      (where) =>
        Effect.gen(function* () {
          const script = ScriptedModel.make([slow("3 seconds", text("Hello"))], { provider: "a", model: "one" })
          const program = Effect.gen(function* () {
            const span = yield* Effect.currentSpan
            span.event("begins", 0n, { n: 1 })
            span.addLinks([{ span, attributes: { n: 1 } }])
            const answer = yield* ask
            const failed = yield* Effect.exit(Effect.fail("no").pipe(Effect.withSpan("failing")))
            return [answer.text, Exit.isFailure(failed), yield* Clock.currentTimeMillis]
          }).pipe(
            Effect.withSpan("outer"),
            Effect.provide(script.model),
            Effect.provide(EspalierTracer.layer()),
            Effect.provideService(Tracer.Tracer, where === "none" ? collecting().tracer : broken(where))
          )
          const fiber = yield* Effect.forkChild(Effect.all([program, drops]).pipe(ownMetrics))
          yield* TestClock.adjust("3 seconds")
          const [result, counted] = yield* Fiber.join(fiber)
          assert.deepStrictEqual(result, ["Hello", true, 3_000])
          assert.deepStrictEqual(Object.keys(counted), where === "none" ? [] : ["traces threw"])
        })
    )

    it.effect("R-505 is counted by signal and reason", () =>
      Effect.gen(function* () {
        yield* Effect.void.pipe(
          Effect.withSpan("outer"),
          Effect.provide(EspalierTracer.layer()),
          Effect.provideService(Tracer.Tracer, broken("span"))
        )
        assert.deepStrictEqual(yield* drops, { "traces threw": 1 })
      }).pipe(ownMetrics)
    )
  })

  describe("over the SDK of OpenTelemetry", () => {
    it.effect("R-501 its spans stay parents of each other", () =>
      Effect.gen(function* () {
        const exporter = new InMemorySpanExporter()
        const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
        const script = ScriptedModel.make([tools([{ name: "lookup", params: { card: canaries.pin } }])], {
          provider: "a",
          model: "one"
        })
        yield* useTool("1", Effect.succeed("2").pipe(Effect.withSpan("execute_tool lookup"))).pipe(
          Effect.withSpan("invoke_agent greeter"),
          Effect.provide(script.model),
          Effect.provide(
            EspalierTracer.layer().pipe(
              Layer.provideMerge(OtelTracer.layer),
              Layer.provide(Layer.succeed(OtelTracer.OtelTracerProvider, provider))
            )
          )
        )
        const spans = exporter.getFinishedSpans()
        const nameOf = (id: string | undefined) => spans.find((span) => span.spanContext().spanId === id)?.name
        assert.deepStrictEqual(
          spans.map((span) => [span.name, nameOf(span.parentSpanContext?.spanId)]),
          [
            ["execute_tool lookup", "chat one"],
            ["chat one", "invoke_agent greeter"],
            ["invoke_agent greeter", undefined]
          ]
        )
        assert.strictEqual(new Set(spans.map((span) => span.spanContext().traceId)).size, 1)
        assert.strictEqual(spans[1]!.attributes[at.providerName], "a")
        assert.notInclude(JSON.stringify(spans.map((span) => [span.attributes, span.events])), canaries.pin)
      })
    )
  })

  describe("layer", () => {
    it.effect.each<readonly [string, string, object]>([
      ["profile", `"semconv-1.40"`, { profile: "semconv-1.40" }],
      ["capture", `"all"`, { capture: "all" }],
      ["captureTarget", `"log"`, { captureTarget: "log" }],
      ["partLimit", "1", { partLimit: 1 }],
      ["room", "0", { room: 0 }],
      ["onContent", "1", { onContent: 1 }],
      ["each field of options", `"captured"`, { captured: "full" }]
    ])("refuses %s when it is %s", ([name, told, options]) =>
      Effect.sync(() => {
        const made = Result.try(() => EspalierTracer.layer(options as EspalierTracer.Options))
        assert.isTrue(Result.isFailure(made) && made.failure instanceof RangeError)
        const said = Result.isFailure(made) ? String(made.failure) : ""
        assert.include(said, `EspalierTracer.layer: ${name} must be`)
        assert.include(said, told)
      })
    )

    it.effect("twice around a tracer does what it does once", () =>
      Effect.gen(function* () {
        const { layer, spans } = collecting()
        const script = ScriptedModel.make([text("Hello", { usage: { inputTokens: 1, outputTokens: 1 } })])
        const once = EspalierTracer.layer()
        yield* ask.pipe(
          Effect.withSpan("outer"),
          Effect.provide(script.model),
          Effect.provide(Layer.fresh(once).pipe(Layer.provideMerge(Layer.fresh(once)), Layer.provideMerge(layer)))
        )
        assert.deepStrictEqual(treeOf(spans), ["outer", "  chat scripted-1"])
        assert.strictEqual(spans[1]!.attributes.get(at.usageInput), 1)
      })
    )
  })
})
