import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, ExecutionPlan, Exit, Fiber, Layer, Result, Schedule, Schema, Stream } from "effect"
import { LanguageModel, Model, Prompt, Tool } from "effect/ai"
import { TestClock } from "effect/testing"
import { CostModel, type ModelCall, type ModelFailure, Models, PartialUsage, ScriptedModel } from "espalier/agent"
import { Dependency } from "espalier/run"

const { fault, hang, object, text, tools } = ScriptedModel

const prompt = Prompt.make("Say hello")
const ask: Models.Request = { prompt, tools: [] }

const costs = CostModel.make({
  currency: "USD",
  prices: { "a/one": { input: 1, output: 10 }, "b/two": { input: 2, output: 20 } }
})

/** Models by their scripts, who was asked, and what was recorded. */
const setup = (
  scripts: ReadonlyArray<ReadonlyArray<ScriptedModel.Step>>,
  options: {
    readonly members?: ReadonlyArray<Partial<Models.Member>>
    readonly models?: Models.Options
    readonly dependency?: Dependency.Options
  } = {}
) => {
  const names = [
    ["a", "one"],
    ["b", "two"],
    ["c", "three"]
  ] as const
  const scripted = scripts.map((steps, index) =>
    ScriptedModel.make(steps, { provider: names[index]![0], model: names[index]![1] })
  )
  const [first, ...rest] = scripted.map(({ model }, index) => ({ provide: model, ...options.members?.[index] }))
  const models = Models.make([first!, ...rest], options.models)
  const calls: Array<ModelCall.Call> = []
  const swaps: Array<Models.Swap> = []
  const dependency = Dependency.make(options.dependency)
  const hear: Models.CallOptions = {
    onCall: (call) => Effect.sync(() => calls.push(call)),
    onSwap: (swap) => Effect.sync(() => swaps.push(swap))
  }
  const provide = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provideService(Dependency.Dependency, dependency),
      Effect.provideService(CostModel.CostModel, costs)
    )
  const call = (request: Models.Request = ask, more: Models.CallOptions = {}) =>
    provide(Models.call(models, request, { ...hear, ...more }))
  const asked = Effect.forEach(scripted, ({ requests }) => Effect.map(requests, ({ length }) => length))
  return { models, scripted, call, calls, swaps, asked, provide, hear, dependency }
}

const textOf = ({ response }: Models.Answer) => response.text

const ends = (calls: ReadonlyArray<ModelCall.Call>) =>
  calls.map(({ attempt, end, step }) => `${attempt} step ${step}: ${end}`)

describe("Models", () => {
  describe("call", () => {
    it.effect("an answer comes with its parts as plain JSON and with the record of its call", () =>
      Effect.gen(function* () {
        const { call, calls } = setup([[text("Hello", { usage: { inputTokens: 100, outputTokens: 20 } })]])
        const answer = yield* call()
        assert.strictEqual(textOf(answer), "Hello")
        assert.deepStrictEqual(JSON.parse(JSON.stringify(answer.parts)), answer.parts as unknown)
        assert.deepStrictEqual(
          answer.parts.map(({ type }) => type),
          ["response-metadata", "text", "finish"]
        )
        const record: ModelCall.Call = {
          provider: "a",
          model: "one",
          step: 0,
          attempt: 1,
          end: "answered",
          finish: "stop",
          requestId: "response_1",
          usage: { input: 100, output: 20 },
          cost: 0.0003,
          currency: "USD",
          durationMillis: 0
        }
        assert.deepStrictEqual(calls, [record])
        assert.deepStrictEqual(answer.call, record)
      })
    )

    it.effect("calls of tools come back as they were made, also of tools that do not exist", () =>
      Effect.gen(function* () {
        const search = Tool.make("search", { parameters: Schema.Struct({ query: Schema.String }) })
        const wanted = [
          { name: "search", params: { query: 7 } },
          { name: "unheard", params: {} }
        ]
        const { call } = setup([[tools(wanted)]])
        const { parts, response } = yield* call({ prompt, tools: [search] })
        assert.deepStrictEqual(
          parts.flatMap((part) => (part.type === "tool-call" ? [{ name: part.name, params: part.params }] : [])),
          wanted
        )
        assert.strictEqual(response.finishReason, "tool-calls")
      })
    )

    it.effect("the limit of an answer is the smaller one of what is asked for and what the model can", () =>
      Effect.gen(function* () {
        const limitOf = Effect.fnUntraced(function* (outputLimit?: number, maxOutput?: number) {
          const { call, scripted } = setup([[text("Hello")]], { members: [{ maxOutput }] })
          yield* call({ ...ask, outputLimit })
          return (yield* scripted[0]!.requests)[0]!.outputLimit
        })
        assert.strictEqual(yield* limitOf(), undefined)
        assert.strictEqual(yield* limitOf(500), 500)
        assert.strictEqual(yield* limitOf(undefined, 300), 300)
        assert.strictEqual(yield* limitOf(500, 300), 300)
        assert.strictEqual(yield* limitOf(200, 300), 200)
      })
    )

    it.effect.each([
      ["overloaded", "transient"],
      ["network", "transient"],
      ["bad-request", "capability"],
      ["quota", "capability"],
      ["refusal", "capability"],
      ["unauthorized", "denied"],
      ["malformed", "malformed"]
    ] as const)("D45 after %s, which is %s, the next model answers, and the swap says why", ([kind, means]) =>
      Effect.gen(function* () {
        const { asked, call, calls, swaps } = setup([[fault(kind)], [text("Hello")]])
        assert.strictEqual(textOf(yield* call()), "Hello")
        assert.deepStrictEqual(ends(calls), [`1 step 0: ${means}`, "2 step 1: answered"])
        assert.deepStrictEqual(yield* asked, [1, 1])
        assert.strictEqual(swaps.length, 1)
        const { from, kind: why, reason, to } = swaps[0]!
        assert.deepStrictEqual([from, to, why], ["a/one", "b/two", means])
        assert.strictEqual(calls[0]!.reason, reason)
      })
    )

    it.effect("D43 three models whose quota is spent are called once each, and the outcome is capability", () =>
      Effect.gen(function* () {
        const { asked, call, calls, swaps } = setup([[fault("quota")], [fault("quota")], [fault("quota")]])
        const failure = yield* Effect.flip(call())
        assert.strictEqual(failure.kind, "capability")
        assert.strictEqual(failure.provider, "c")
        assert.deepStrictEqual(yield* asked, [1, 1, 1])
        assert.deepStrictEqual(ends(calls), ["1 step 0: capability", "2 step 1: capability", "3 step 2: capability"])
        assert.strictEqual(swaps.length, 2)
      })
    )

    it.effect("a chain that nobody answers fails as the most hopeful of its failures", () =>
      Effect.gen(function* () {
        const { call } = setup([[fault("unauthorized")], [fault("overloaded")], [fault("malformed")]])
        const failure = yield* Effect.flip(call())
        assert.deepStrictEqual([failure.kind, failure.provider], ["transient", "b"])
      })
    )

    it.effect("what is too large goes to the next model with a larger window, past those without", () =>
      Effect.gen(function* () {
        const members = [{ window: 100 }, { window: 100 }, { window: 1_000 }]
        const { asked, call } = setup([[fault("context-overflow")], [], [text("Read")]], { members })
        assert.strictEqual(textOf(yield* call()), "Read")
        assert.deepStrictEqual(yield* asked, [1, 0, 1])
      })
    )

    it.effect("what is too large for the largest window is oversized, and nobody else is asked", () =>
      Effect.gen(function* () {
        const { asked, call } = setup([[fault("context-overflow")], []], { members: [{ window: 100 }, {}] })
        assert.strictEqual((yield* Effect.flip(call())).kind, "oversized")
        assert.deepStrictEqual(yield* asked, [1, 0])
      })
    )

    it.effect("no answer in time is transient, and what it may have cost is charged", () =>
      Effect.gen(function* () {
        const { call, calls, swaps } = setup([[hang], [text("Hello")]], { members: [{ maxOutput: 50 }] })
        const fiber = yield* Effect.forkChild(call())
        yield* TestClock.adjust(Duration.seconds(119))
        assert.deepStrictEqual(calls, [])
        yield* TestClock.adjust(Duration.seconds(1))
        assert.strictEqual(textOf(yield* Fiber.join(fiber)), "Hello")
        assert.deepStrictEqual(ends(calls), ["1 step 0: transient", "2 step 1: answered"])
        const [late] = calls
        assert.strictEqual(late!.durationMillis, 120_000)
        assert.strictEqual(late!.estimated, true)
        assert.strictEqual(late!.usage.output, 50)
        assert.isAbove(late!.usage.input, 0)
        assert.strictEqual(swaps[0]!.reason, late!.reason)
      })
    )

    it.effect("D49 no answer in time, where the provider carries out tools, is not asked of another model", () =>
      Effect.gen(function* () {
        const searching = Tool.providerDefined({
          id: "a.search",
          customName: "Searching",
          providerName: "search",
          parameters: Schema.Struct({}),
          success: Schema.Struct({})
        })()
        const { asked, call } = setup([[hang], []], { models: { timeout: 10 } })
        const fiber = yield* Effect.forkChild(Effect.flip(call({ prompt, tools: [searching] })))
        yield* TestClock.adjust(10)
        const failure = yield* Fiber.join(fiber)
        assert.deepStrictEqual([failure.kind, failure.begun], ["transient", true])
        assert.deepStrictEqual(yield* asked, [1, 0])
      })
    )

    it.effect(
      "D41 a short pause that is asked for is waited for by whoever calls: no other model is asked by anybody",
      () =>
        Effect.gen(function* () {
          const limited = fault("rate-limit", { retryAfter: "30 seconds" })
          const { asked, call, calls } = setup([[limited], []])
          const failures = yield* Effect.all(
            Array.from({ length: 20 }, () => Effect.flip(call())),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            failures.map(({ kind, retryAfterMillis }) => `${kind} ${retryAfterMillis}`),
            Array.from({ length: 20 }, () => "transient 30000")
          )
          assert.isTrue(failures.every((failure) => Dependency.blame(failure) === "a"))
          assert.deepStrictEqual(yield* asked, [1, 0])
          assert.strictEqual(calls.length, 1)
        })
    )

    it.effect("D41 a long pause that is asked for is not waited for: another model answers", () =>
      Effect.gen(function* () {
        const limited = fault("rate-limit", { retryAfter: "10 minutes" })
        const { asked, call } = setup([[limited], [text("Hello"), text("Hello again")]])
        assert.strictEqual(textOf(yield* call()), "Hello")
        assert.strictEqual(textOf(yield* call()), "Hello again")
        assert.deepStrictEqual(yield* asked, [1, 2])
      })
    )

    it.effect("swapAfter says which pause is short", () =>
      Effect.gen(function* () {
        const limited = fault("rate-limit", { retryAfter: "30 seconds" })
        const { asked, call } = setup([[limited], [text("Hello")]], { models: { swapAfter: "20 seconds" } })
        assert.strictEqual(textOf(yield* call()), "Hello")
        assert.deepStrictEqual(yield* asked, [1, 1])
      })
    )

    it.effect("D44 50 workers of a provider that is down: its calls end with the fifth, and each gets its answer", () =>
      Effect.gen(function* () {
        const down = Array.from({ length: 5 }, () => fault("overloaded"))
        const up = Array.from({ length: 20 }, () => text("From a"))
        const stand = Array.from({ length: 51 }, () => text("From b"))
        const { asked, call, swaps } = setup([[...down, ScriptedModel.slow(1_000, text("From a")), ...up], stand])
        const answers = yield* Effect.all(Array.from({ length: 50 }, () => call()))
        assert.isTrue(answers.every((answer) => textOf(answer) === "From b"))
        assert.deepStrictEqual(yield* asked, [5, 50])
        assert.strictEqual(swaps.length, 50)

        // One probe; who comes meanwhile is answered by the other model.
        yield* TestClock.adjust(Duration.seconds(30))
        const probe = yield* Effect.forkChild(call())
        yield* TestClock.adjust(500)
        assert.strictEqual(textOf(yield* call()), "From b")
        assert.deepStrictEqual(yield* asked, [6, 51])
        yield* TestClock.adjust(500)
        assert.strictEqual(textOf(yield* Fiber.join(probe)), "From a")
        const after = yield* Effect.all(
          Array.from({ length: 20 }, () => call()),
          { concurrency: "unbounded" }
        )
        assert.isTrue(after.every((answer) => textOf(answer) === "From a"))
      })
    )

    it.effect("D44 credentials of a provider do not hold each other up", () =>
      Effect.gen(function* () {
        const limited = fault("rate-limit", { retryAfter: "10 minutes" })
        const one = ScriptedModel.make([limited], { provider: "a", model: "one" })
        const same = ScriptedModel.make([text("Hello")], { provider: "a", model: "one" })
        const { dependency, hear, provide, swaps } = setup([[]])
        const models = Models.make([
          { provide: one.model, credential: "key-1" },
          { provide: same.model, credential: "key-2", name: "the spare key" }
        ])
        assert.strictEqual(textOf(yield* provide(Models.call(models, ask, hear))), "Hello")
        assert.deepStrictEqual(
          (yield* dependency.states).map(({ dependency, status }) => `${dependency} ${status}`),
          ["a/key-1 held"]
        )
        assert.deepStrictEqual(
          swaps.map(({ from, to }) => [from, to]),
          [["a/one", "the spare key"]]
        )
      })
    )

    it.effect("D35 an interrupted call is recorded with what the provider reported", () =>
      Effect.gen(function* () {
        const { calls, hear, provide } = setup([[]])
        const reporting = LanguageModel.make({
          generateText: () =>
            Effect.flatMap(PartialUsage.PartialUsage, (report) => {
              report?.({ inputTokens: { total: 900, cacheRead: 100 }, outputTokens: { total: 1 } })
              report?.({ inputTokens: { total: 900, cacheRead: 100 }, outputTokens: { total: 12 } })
              return Effect.never
            }),
          streamText: () => Stream.empty
        })
        const models = Models.make([
          { provide: Model.make("b", "two", Layer.effect(LanguageModel.LanguageModel, reporting)) }
        ])
        const fiber = yield* Effect.forkChild(provide(Models.call(models, ask, hear)))
        yield* TestClock.adjust(1_000)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ends(calls), ["1 step 0: interrupted"])
        assert.deepStrictEqual(calls[0]!.usage, { input: 800, output: 12, cacheRead: 100 })
        assert.strictEqual(calls[0]!.estimated, undefined)
        assert.strictEqual(calls[0]!.cost, undefined)
      })
    )

    it.effect("D35 an interrupted call whose provider reported nothing is recorded with the estimate", () =>
      Effect.gen(function* () {
        const { call, calls } = setup([[hang]])
        const fiber = yield* Effect.forkChild(call(ask, { estimate: { input: 70, output: 30 } }))
        yield* TestClock.adjust(1_000)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(ends(calls), ["1 step 0: interrupted"])
        const { cost, durationMillis, estimated, usage } = calls[0]!
        assert.deepStrictEqual([cost, durationMillis, estimated], [0.00037, 1_000, true])
        assert.deepStrictEqual(usage, { input: 70, output: 30 })
      })
    )

    it.effect("a call that is interrupted while it waits for its turn was not sent, and is not recorded", () =>
      Effect.gen(function* () {
        const { asked, call, calls } = setup([[text("Hello"), text("Hello")]], { dependency: { spacing: 1_000 } })
        yield* call()
        const fiber = yield* Effect.forkChild(call())
        yield* TestClock.adjust(500)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(calls.length, 1)
        assert.deepStrictEqual(yield* asked, [1])
      })
    )

    it.effect("a bug of an adapter is recorded, stays a defect, and is no news of the provider", () =>
      Effect.gen(function* () {
        const { asked, call, calls, dependency } = setup([[], [text("Hello")]])
        const exit = yield* Effect.exit(call())
        assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
        assert.deepStrictEqual(ends(calls), ["1 step 0: defect"])
        assert.deepStrictEqual(yield* asked, [1, 0])
        assert.deepStrictEqual(yield* dependency.states, [])
      })
    )

    it.effect("a failure that cost nothing is recorded with nothing", () =>
      Effect.gen(function* () {
        const { call, calls } = setup([[fault("unauthorized")]])
        yield* Effect.flip(call())
        const { cost, estimated, usage } = calls[0]!
        assert.deepStrictEqual(usage, { input: 0, output: 0 })
        assert.deepStrictEqual([cost, estimated], [0, undefined])
      })
    )
  })

  describe("callObject", () => {
    const schema = Schema.Struct({ name: Schema.String, age: Schema.FiniteFromString })

    it.effect("an answer that fits is decoded", () =>
      Effect.gen(function* () {
        const { calls, hear, models, provide } = setup([[object({ name: "Ada", age: "36" })]])
        const answer = yield* provide(Models.callObject(models, { prompt, schema }, hear))
        assert.deepStrictEqual(answer.value, { name: "Ada", age: 36 })
        assert.deepStrictEqual(ends(calls), ["1 step 0: answered"])
      })
    )

    it.effect("an answer that does not fit is malformed and paid for, and the next model is asked", () =>
      Effect.gen(function* () {
        const { calls, hear, models, provide } = setup([
          [object({ name: 7 }, { usage: { inputTokens: 10, outputTokens: 5 } })],
          [object({ name: "Ada", age: "36" })]
        ])
        const answer = yield* provide(Models.callObject(models, { prompt, schema }, hear))
        assert.strictEqual(answer.value.name, "Ada")
        assert.deepStrictEqual(ends(calls), ["1 step 0: malformed", "2 step 1: answered"])
        assert.isAbove(calls[0]!.usage.input, 0)
      })
    )
  })

  describe("next", () => {
    const chain = [{ window: 100 }, { window: 50 }, { window: 1_000 }, {}]
    type Case = readonly [Parameters<typeof Models.next>[0], number, ReturnType<typeof Models.next>]

    it.effect.each<Case>([
      [{ kind: "transient", retryAfterMillis: 0 }, 0, "retry-later"],
      [{ kind: "transient", retryAfterMillis: 60_000 }, 0, "retry-later"],
      [{ kind: "transient", retryAfterMillis: 60_001 }, 0, "swap"],
      [{ kind: "transient" }, 0, "swap"],
      [{ kind: "transient" }, 3, "stop"],
      [{ kind: "transient", retryAfterMillis: 5 }, 3, "retry-later"],
      [{ kind: "transient", retryAfterMillis: 600_000 }, 3, "stop"],
      [{ kind: "oversized" }, 0, "swap"],
      [{ kind: "oversized" }, 1, "swap"],
      [{ kind: "oversized" }, 2, "stop"],
      [{ kind: "oversized" }, 3, "stop"],
      [{ kind: "capability" }, 0, "swap"],
      [{ kind: "denied" }, 0, "swap"],
      [{ kind: "malformed" }, 0, "swap"],
      [{ kind: "capability" }, 3, "stop"],
      [{ kind: "exhausted" }, 0, "stop"],
      [{ kind: "transient", begun: true }, 0, "stop"],
      [{ kind: "transient", retryAfterMillis: 5, begun: true }, 0, "stop"],
      [{ kind: "capability", begun: true }, 0, "stop"]
    ])("D41 D49 %j at position %i is %s", ([failure, position, expected]) =>
      Effect.sync(() => assert.strictEqual(Models.next(failure, position, chain), expected))
    )
  })

  describe("mostHopeful", () => {
    type Kind = ModelFailure.ModelFailure["kind"]
    const of = (kind: Kind, retryAfterMillis?: number) => ({ kind, retryAfterMillis })

    it.effect.each([
      ["transient", ["denied", "transient", "oversized", "capability", "malformed"]],
      ["oversized", ["malformed", "denied", "capability", "oversized"]],
      ["capability", ["denied", "capability", "malformed"]],
      ["denied", ["malformed", "denied"]],
      ["malformed", ["malformed", "exhausted"]]
    ] as const)("%s is the most hopeful of %j", ([expected, [first, ...rest]]) =>
      Effect.sync(() =>
        assert.strictEqual(Models.mostHopeful([of(first), ...rest.map((kind) => of(kind))]).kind, expected)
      )
    )

    it.effect("the shortest pause of several that pass, the last of others that are alike", () =>
      Effect.sync(() => {
        const short = of("transient", 5)
        assert.strictEqual(Models.mostHopeful([of("transient"), short, of("transient", 9)]), short)
        const last = of("denied")
        assert.strictEqual(Models.mostHopeful([of("denied"), last]), last)
      })
    )
  })

  describe("portable", () => {
    const from = { provider: "a", model: "one" }
    const to = { provider: "b", model: "two" }
    const own = { a: { signature: "s" } }

    const history = (options: Prompt.ProviderOptions) =>
      Prompt.fromMessages([
        Prompt.systemMessage({ content: "Rules", options: { a: { cache: true } } }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: "Hi", options: { a: { cache: true } } })] }),
        Prompt.assistantMessage({ content: [Prompt.reasoningPart({ text: "Only thought", options })] }),
        Prompt.assistantMessage({
          content: [
            Prompt.reasoningPart({ text: "Hm", options }),
            Prompt.textPart({ text: "Hello", options }),
            Prompt.toolCallPart({ id: "1", name: "web", params: {}, providerExecuted: true, options }),
            Prompt.toolResultPart({
              id: "1",
              name: "web",
              isFailure: false,
              result: "found",
              providerExecuted: true,
              options
            }),
            Prompt.toolCallPart({ id: "2", name: "mine", params: {}, providerExecuted: false, options })
          ]
        }),
        Prompt.toolMessage({
          content: [
            Prompt.toolResultPart({
              id: "2",
              name: "mine",
              isFailure: false,
              result: 1,
              providerExecuted: false,
              options: {}
            })
          ]
        })
      ])

    const seen = (prompt: Prompt.Prompt) =>
      prompt.content.map((message) =>
        typeof message.content === "string"
          ? `${message.role} ${JSON.stringify(message.options)}`
          : `${message.role}: ${message.content.map(({ options, type }) => `${type} ${JSON.stringify(options)}`).join(", ")}`
      )

    it.effect("another provider gets what was said, without what only the first one understands", () =>
      Effect.sync(() =>
        assert.deepStrictEqual(seen(Models.portable(history(own), to, from)), [
          "system {}",
          "user: text {}",
          "assistant: text {}, tool-call {}",
          "tool: tool-result {}"
        ])
      )
    )

    it.effect("another model of the same provider gets what people wrote as it is, and no reasoning", () =>
      Effect.sync(() => {
        const marked = { ...own, espalier: from }
        assert.deepStrictEqual(seen(Models.portable(history(marked), { provider: "a", model: "two" }, from)), [
          'system {"a":{"cache":true}}',
          'user: text {"a":{"cache":true}}',
          "assistant: text {}, tool-call {}",
          "tool: tool-result {}"
        ])
      })
    )

    it.effect("the first model gets everything, also what it has made before, but not what others have made", () =>
      Effect.sync(() => {
        const whole = history({ ...own, espalier: to })
        assert.deepStrictEqual(seen(Models.portable(whole, to)), seen(whole))
        assert.deepStrictEqual(seen(Models.portable(whole, from)), [
          'system {"a":{"cache":true}}',
          'user: text {"a":{"cache":true}}',
          "assistant: text {}, tool-call {}",
          "tool: tool-result {}"
        ])
      })
    )

    it.effect("what a stand-in thought is kept for it, and is not shown to the first model", () =>
      Effect.gen(function* () {
        const { call, scripted } = setup([
          [fault("overloaded"), text("Second"), fault("overloaded")],
          [text("First", { reasoning: "Hm" }), text("Third")]
        ])
        const types = ({ prompt }: ScriptedModel.Request) =>
          prompt.content.flatMap(({ content }) => (typeof content === "string" ? [] : content.map(({ type }) => type)))
        const { response } = yield* call()
        const next = Prompt.concat(prompt, Prompt.fromResponseParts(response.content as never))
        yield* call({ ...ask, prompt: next })
        yield* call({ ...ask, prompt: next })
        const [a, b] = scripted
        assert.deepStrictEqual(types((yield* a!.requests)[1]!), ["text", "text"])
        assert.deepStrictEqual(types((yield* b!.requests)[1]!), ["text", "reasoning", "text"])
      })
    )
  })

  describe("make", () => {
    const provide = ScriptedModel.make([]).model

    it.effect.each([
      ["members", () => Models.make([] as never)],
      ["members[0].provide", () => Models.make([{ provide: {} as never }])],
      ["members[1].window", () => Models.make([{ provide }, { provide, window: 0 }])],
      ["members[0].maxOutput", () => Models.make([{ provide, maxOutput: 1.5 }])],
      ["members[0].credential", () => Models.make([{ provide, credential: " " }])],
      ["members[0].name", () => Models.make([{ provide, name: "" }])],
      ["swapAfter", () => Models.make([{ provide }], { swapAfter: -1 })],
      ["timeout", () => Models.make([{ provide }], { timeout: 0 })]
    ] as const)("a wrong %s is refused by its name", ([name, make]) =>
      Effect.sync(() => {
        const error = Result.getFailure(Result.try(make))
        assert.isTrue(error._tag === "Some" && error.value instanceof RangeError)
        assert.include(String(error._tag === "Some" ? error.value : ""), name)
      })
    )

    it.effect("a plan is a chain of its steps", () =>
      Effect.gen(function* () {
        const { hear, provide, swaps } = setup([[]])
        const one = ScriptedModel.make([fault("quota")], { provider: "a", model: "one" })
        const two = ScriptedModel.make([text("Hello")], { provider: "b", model: "two" })
        const models = Models.fromPlan(ExecutionPlan.make({ provide: one.model }, { provide: two.model }))
        assert.strictEqual(textOf(yield* provide(Models.call(models, ask, hear))), "Hello")
        assert.strictEqual(swaps.length, 1)
        assert.isTrue(Models.isModels(models))
      })
    )

    it.effect("a plan that tries again by itself is refused", () =>
      Effect.sync(() => {
        assert.throws(() => Models.fromPlan(ExecutionPlan.make({ provide, attempts: 2 })), RangeError, "attempts")
        const schedule = Schedule.recurs(2)
        assert.throws(() => Models.fromPlan(ExecutionPlan.make({ provide, schedule })), RangeError, "schedule")
      })
    )

    it.effect("opened models are made once, others with each call", () =>
      Effect.gen(function* () {
        const { hear, provide } = setup([[]])
        const script = ScriptedModel.make([text("1"), text("2"), text("3"), text("4")])
        let made = 0
        const counted = Layer.unwrap(
          Effect.sync(() => {
            made += 1
            return script.layer
          })
        )
        const models = Models.make([{ provide: counted }])
        yield* provide(Models.call(models, ask, hear))
        yield* provide(Models.call(models, ask, hear))
        assert.strictEqual(made, 2)
        const opened = yield* Models.open(models)
        yield* provide(Models.call(opened, ask, hear))
        yield* provide(Models.call(opened, ask, hear))
        assert.strictEqual(made, 3)
      })
    )
  })
})
