import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
/**
 * A language model that answers from a script: for tests of agents, and for examples that need no key.
 *
 * It is a `LanguageModel` of Effect like any other, without a network. Each call takes the next step of the script: a text,
 * calls of tools, an object, a stream, a fault as a provider would give it, or no answer at all. It remembers every request.
 *
 * **Details**
 *
 * - Calls take steps in the order in which they begin. A step is used up when its call begins, however that ends.
 * - Calls of tools have the ids `call_1`, `call_2`, …, and none that the conversation already has.
 * - An answer that calls a tool which the request does not offer fails as it would with a provider, unless the request asks
 *   for `toolCallValidation: "deferred"`.
 *
 * **Invariants**
 *
 * - What an answer is depends on the script and the request alone; the time it takes is that of the `Clock`.
 * - A call that the script has no step for, or whose step complains about the request, dies with a {@link ScriptMismatch}.
 *   Nobody tries again what is a defect, and `complete` fails because of it.
 *
 * **Gotchas**
 *
 * A script keeps its state for as long as it lives, whichever layer was built from it. Make a new one for each test.
 *
 * **Example** (A conversation of two calls)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { ScriptedModel } from "espalier/agent"
 *
 * const script = ScriptedModel.make([
 *   ScriptedModel.text("Hello", { usage: { inputTokens: 3, outputTokens: 1 } }),
 *   ScriptedModel.respond((request) => ScriptedModel.text(`You said: ${request.last}`))
 * ])
 *
 * const program = Effect.gen(function* () {
 *   const first = yield* LanguageModel.generateText({ prompt: "Hi" })
 *   const second = yield* LanguageModel.generateText({ prompt: "Good night" })
 *   yield* script.complete
 *   return [first.text, first.usage.inputTokens.total, second.text]
 * })
 * await Effect.runPromise(Effect.provide(program, script.layer)) // => ["Hello", 3, "You said: Good night"]
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Redaction from "../Redaction.ts"
import { Given } from "../run/internal/given.ts"
import { highestCall, lastOf, saidIn, turnOf } from "./internal/promptText.ts"
import { streamParts, wholeParts, type Said, type ScriptedUsage } from "./internal/scriptedAnswer.ts"
import { faultError, faults, type Fault } from "./internal/scriptedFault.ts"
import { OutputLimit } from "./OutputLimit.ts"

const TypeId = "~espalier/agent/ScriptedModel/Step"

/**
 * What can go wrong with a call.
 *
 * **Details**
 *
 * | fault | what it is for the caller |
 * |---|---|
 * | `rate-limit` | `RateLimitError`, HTTP 429 |
 * | `overloaded`, `server` | `InternalProviderError`, HTTP 529 and 500 |
 * | `network`, `timeout`, `cut` | `NetworkError` of the transport |
 * | `context-overflow` | `InvalidRequestError`, HTTP 400, which says that the request is too long |
 * | `bad-request` | `InvalidRequestError`, HTTP 400 |
 * | `unauthorized`, `forbidden` | `AuthenticationError`, HTTP 401 and 403 |
 * | `refusal` | `ContentPolicyError` |
 * | `quota` | `QuotaExhaustedError` |
 * | `malformed` | `InvalidOutputError` |
 *
 * @category models
 * @since 0.1.0
 */
export type FaultKind = Fault

/**
 * Tokens that a call took, whole numbers >= 0. What is left out is not said to the caller either.
 *
 * **Details**
 *
 * - `inputTokens`, `outputTokens`: the totals.
 * - `cacheRead`, `cacheWrite`: of the input, what was read from and written to the provider's cache.
 * - `reasoning`: of the output, what was reasoning.
 *
 * @category models
 * @since 0.1.0
 */
export type Usage = ScriptedUsage

/**
 * One request as the model got it.
 *
 * **Details**
 *
 * - `number`: which call of the script it is, from 1.
 * - `method`: `generateText` also for an object; then `responseFormat` is `json`.
 * - `prompt`, `tools`, `toolChoice`, `responseFormat`, `toolCallValidation`: as Effect hands them to a provider.
 * - `outputLimit`: the `OutputLimit` of the caller.
 * - `last`: the text of the last message; results of tools as JSON.
 * - `said`: the text of all messages, one per line.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly number: number
  readonly method: "generateText" | "streamText"
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly responseFormat: LanguageModel.ProviderOptions["responseFormat"]
  readonly toolCallValidation: "strict" | "deferred"
  readonly outputLimit: number | undefined
  readonly last: string
  readonly said: string
}

/**
 * What an answer has beside its content.
 *
 * **Details**
 *
 * - `usage`: default nothing is said.
 * - `reasoning`: text of the model's reasoning, before the content. Default none.
 * - `finish`: why the answer ends; `"none"` leaves out the part that would say it, and the usage with it. Default `"stop"`,
 *   or `"tool-calls"` for an answer with calls.
 * - `every`: how long each chunk takes to come, >= 0. Default no time. An answer that is not streamed takes all of it.
 * - `stall`: after so many chunks nothing more comes, a whole number >= 0. Default everything comes.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnswerOptions {
  readonly usage?: Usage | undefined
  readonly reasoning?: string | undefined
  readonly finish?: Response.FinishReason | "none" | undefined
  readonly every?: Duration.Input | undefined
  readonly stall?: number | undefined
}

/**
 * A call of a tool. `params` may be anything, also what the tool would not take. Default of `id`: the next `call_N`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolCall {
  readonly name: string
  readonly params: unknown
  readonly id?: string | undefined
}

type StepData =
  | {
      readonly _tag: "Answer"
      readonly chunks: ReadonlyArray<string>
      readonly calls: ReadonlyArray<ToolCall>
      readonly options: AnswerOptions
    }
  | {
      readonly _tag: "Fault"
      readonly fault: Fault
      readonly retryAfter: Duration.Duration | undefined
      readonly chunks: ReadonlyArray<string>
    }
  | { readonly _tag: "Hang" }
  | { readonly _tag: "Slow"; readonly takes: Duration.Duration; readonly step: Step }
  | { readonly _tag: "Respond"; readonly answer: (request: Request) => Step }
  | { readonly _tag: "Expecting"; readonly step: Step; readonly check: (request: Request) => string | undefined }

/**
 * One step of a script. `name` is how a mismatch calls it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  readonly [TypeId]: StepData
  readonly name: string
}

/**
 * The script and its calls do not fit.
 *
 * **Details**
 *
 * - `problem`: what does not fit, in one sentence.
 * - `calls`: how many calls there were.
 * - `left`: the names of the steps that no call has taken.
 * - `asked`: the text of the request that did not fit, in short; empty when there was none.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScriptMismatch extends Schema.TaggedError<ScriptMismatch>("espalier/agent/ScriptedModel/ScriptMismatch")(
  "ScriptMismatch",
  { problem: Schema.String, calls: Schema.Int, left: Schema.Array(Schema.String), asked: Schema.String }
) {
  override get message(): string {
    const left = this.left.length === 0 ? "" : `; left over: ${this.left.join(", ")}`
    return `${this.problem} (calls: ${this.calls}${left})${this.asked === "" ? "" : `\nasked: ${this.asked}`}`
  }
}

const step = (name: string, data: StepData): Step => ({ [TypeId]: data, name })

const isStep = (value: unknown): value is Step => Predicate.hasProperty(value, TypeId)

const checkStep = (given: Given, parameter: string, value: unknown): void =>
  given.made(parameter, "a step of ScriptedModel", isStep(value), value)

const usageNames = ["inputTokens", "outputTokens", "cacheRead", "cacheWrite", "reasoning"] as const
const optionNames = ["usage", "reasoning", "finish", "every", "stall"] as const

const answer = (
  where: string,
  name: string,
  chunks: ReadonlyArray<string>,
  calls: ReadonlyArray<ToolCall>,
  options: AnswerOptions
): Step => {
  const given = new Given(where)
  given.record("options", options, optionNames)
  const { every, finish, reasoning, stall, usage } = options
  if (usage !== undefined) {
    given.record("options.usage", usage, usageNames)
    for (const each of usageNames) if (usage[each] !== undefined) given.whole(`options.usage.${each}`, usage[each], 0)
  }
  if (reasoning !== undefined) given.text("options.reasoning", reasoning)
  if (finish !== undefined) given.oneOf("options.finish", finish, [...Response.FinishReason.literals, "none"])
  if (every !== undefined) given.duration("options.every", every, "zero")
  if (stall !== undefined) given.whole("options.stall", stall, 0)
  return step(name, { _tag: "Answer", chunks: [...chunks], calls: [...calls], options: { ...options } })
}

const short = (text: string, most = 40): string => (text.length > most ? `${text.slice(0, most)}…` : text)

/**
 * Answers with a text.
 *
 * **Gotchas**
 *
 * An empty text is no part of the answer, as with a provider.
 *
 * @category steps
 * @since 0.1.0
 */
export const text = (content: string, options: AnswerOptions = {}): Step => {
  new Given("ScriptedModel.text").text("content", content)
  const chunks = content === "" ? [] : [content]
  return answer("ScriptedModel.text", `text ${JSON.stringify(short(content))}`, chunks, [], options)
}

/**
 * Answers with calls of tools, in this order. `text` is said before them; default nothing.
 *
 * @category steps
 * @since 0.1.0
 */
export const tools = (
  calls: ReadonlyArray<ToolCall>,
  { text: said, ...options }: AnswerOptions & { readonly text?: string | undefined } = {}
): Step => {
  const given = new Given("ScriptedModel.tools")
  given.list("calls", calls).forEach((call, index) => {
    const { id, name } = given.record(`calls[${index}]`, call, ["name", "params", "id"])
    given.text(`calls[${index}].name`, name)
    if (id !== undefined) given.text(`calls[${index}].id`, id)
  })
  if (said !== undefined) given.text("options.text", said)
  const name = `tools ${calls.map((call) => call.name).join(", ")}`
  return answer("ScriptedModel.tools", name, said === undefined || said === "" ? [] : [said], calls, options)
}

/**
 * Answers with a value as JSON: what `generateObject` expects, and what it does not.
 *
 * @category steps
 * @since 0.1.0
 */
export const object = (value: unknown, options: AnswerOptions = {}): Step => {
  const json = JSON.stringify(value)
  if (json === undefined) new Given("ScriptedModel.object").refuse("value", "plain JSON", value)
  return answer("ScriptedModel.object", `object ${short(json)}`, [json], [], options)
}

/**
 * Answers with a text in these chunks; a caller that does not stream gets them as one.
 *
 * @category steps
 * @since 0.1.0
 */
export const stream = (chunks: ReadonlyArray<string>, options: AnswerOptions = {}): Step => {
  new Given("ScriptedModel.stream").texts("chunks", chunks)
  return answer("ScriptedModel.stream", `stream ${JSON.stringify(short(chunks.join("")))}`, chunks, [], options)
}

/**
 * Fails as a provider would.
 *
 * **Details**
 *
 * - `retryAfter`: how long the provider asks to be left alone, >= 0. A `rate-limit` has it as a field; `rate-limit`,
 *   `overloaded` and `server` have it as a header, in whole seconds. Default nothing is said.
 * - `after`: what is streamed before the fault: chunks of text, or how many made-up ones, a whole number >= 0. A caller that
 *   does not stream gets none of it. Default 0, of `cut` 1.
 *
 * @category steps
 * @since 0.1.0
 */
export const fault = (
  kind: FaultKind,
  options: {
    readonly retryAfter?: Duration.Input | undefined
    readonly after?: number | ReadonlyArray<string> | undefined
  } = {}
): Step => {
  const given = new Given("ScriptedModel.fault")
  given.oneOf("kind", kind, faults)
  given.record("options", options, ["retryAfter", "after"])
  const { after = kind === "cut" ? 1 : 0, retryAfter } = options
  if (typeof after === "object") given.texts("options.after", after)
  return step(`fault ${kind}`, {
    _tag: "Fault",
    fault: kind,
    retryAfter: retryAfter === undefined ? undefined : given.duration("options.retryAfter", retryAfter, "zero"),
    chunks:
      typeof after === "object"
        ? [...after]
        : Array.from({ length: given.whole("options.after", after, 0) }, (_, index) => `chunk ${index + 1} `)
  })
}

/**
 * Never answers; only a time-out or an interruption ends the call.
 *
 * @category steps
 * @since 0.1.0
 */
export const hang: Step = step("hang", { _tag: "Hang" })

/**
 * Takes so long before the step, >= 0.
 *
 * @category steps
 * @since 0.1.0
 */
export const slow = (takes: Duration.Input, then: Step): Step => {
  const given = new Given("ScriptedModel.slow")
  checkStep(given, "then", then)
  return step(then.name, { _tag: "Slow", takes: given.duration("takes", takes, "zero"), step: then })
}

/**
 * Decides by the request which step it is.
 *
 * @category steps
 * @since 0.1.0
 */
export const respond = (decide: (request: Request) => Step): Step => {
  new Given("ScriptedModel.respond").code("decide", decide)
  return step("respond", { _tag: "Respond", answer: decide })
}

/**
 * Looks at the request first. A complaint, in a sentence, is a mismatch; `undefined` lets the step answer.
 *
 * @category steps
 * @since 0.1.0
 */
export const expecting = (then: Step, check: (request: Request) => string | undefined): Step => {
  const given = new Given("ScriptedModel.expecting")
  checkStep(given, "then", then)
  given.code("check", check)
  return step(then.name, { _tag: "Expecting", step: then, check })
}

/**
 * How a scripted model calls itself. Default `"scripted"` and `"scripted-1"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/**
 * A model that answers from a script.
 *
 * **Details**
 *
 * - `layer`, `model`: the model as a layer and as an Effect AI `Model`.
 * - `requests`: the requests so far, oldest first.
 * - `complete`: fails when steps are left over, and when a call did not fit.
 *
 * @category models
 * @since 0.1.0
 */
export interface ScriptedModel {
  readonly layer: Layer.Layer<LanguageModel.LanguageModel | Model.ModelName | Model.ProviderName>
  readonly model: Model.Model<string, LanguageModel.LanguageModel, never>
  readonly requests: Effect.Effect<ReadonlyArray<Request>>
  readonly complete: Effect.Effect<void, ScriptMismatch>
}

const excerpt = (request: Request): string => short(Redaction.defaults.text(request.last), 300)

const mismatch = (problem: string, calls: number, left: ReadonlyArray<Step>, request?: Request): ScriptMismatch =>
  new ScriptMismatch({
    problem,
    calls,
    left: left.map(({ name }) => name),
    asked: request === undefined ? "" : excerpt(request)
  })

/**
 * Makes a model of a list of steps, one per call.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when something among the steps is none, or an option is not what its type says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (steps: ReadonlyArray<Step>, options: Options = {}): ScriptedModel => {
  const given = new Given("ScriptedModel.make")
  given.list("steps", steps).forEach((each, index) => checkStep(given, `steps[${index}]`, each))
  const left = [...steps]
  return built(given, options, { left, endless: false, next: () => left.shift() })
}

/**
 * Makes a model whose answer to each request follows from that request: it never ends, and answers the same after a restart.
 *
 * **Details**
 *
 * - `answer`: is given the request and which turn of its conversation it is, from 1: how often the model has spoken in it,
 *   and once more.
 * - `requests` has the latest 1000.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromFunction = (
  decide: (request: Request, turn: number) => Step,
  options: Options = {}
): ScriptedModel => {
  const given = new Given("ScriptedModel.fromFunction")
  given.code("decide", decide)
  return built(given, options, {
    left: [],
    endless: true,
    next: () => respond((request) => decide(request, turnOf(request.prompt)))
  })
}

/** Where steps come from. */
interface Source {
  readonly left: ReadonlyArray<Step>
  readonly endless: boolean
  readonly next: () => Step | undefined
}

/** What is left of a step when its conditions are met and its time has passed. */
type Settled = Extract<StepData, { readonly _tag: "Answer" | "Fault" | "Hang" }>

const mostRequests = 1_000

const built = (given: Given, options: Options, source: Source): ScriptedModel => {
  given.record("options", options, ["provider", "model"])
  const { model: name = "scripted-1", provider = "scripted" } = options
  given.text("options.provider", provider)
  given.text("options.model", name)
  const requests: Array<Request> = []
  let calls = 0
  let issued = 0
  let misfit: ScriptMismatch | undefined

  const refuse = (problem: string, request: Request): Effect.Effect<never> => {
    const found = mismatch(problem, calls, source.left, request)
    misfit ??= found
    return Effect.die(found)
  }

  const settle = (given: Step, request: Request): Effect.Effect<Settled> => {
    const data = given[TypeId]
    switch (data._tag) {
      case "Slow":
        return Effect.andThen(Effect.sleep(data.takes), settle(data.step, request))
      case "Respond":
        return Effect.suspend(() => {
          const decided = data.answer(request)
          return isStep(decided)
            ? settle(decided, request)
            : refuse("The function of a step answers with something that is no step", request)
        })
      case "Expecting":
        return Effect.suspend(() => {
          const complaint = data.check(request)
          return complaint === undefined
            ? settle(data.step, request)
            : refuse(`The step ${given.name} does not fit call ${request.number}: ${complaint}`, request)
        })
      default:
        return Effect.succeed(data)
    }
  }

  const begin = (method: Request["method"], asked: LanguageModel.ProviderOptions) =>
    Effect.flatMap(OutputLimit, (outputLimit) => {
      const request: Request = {
        number: (calls += 1),
        method,
        prompt: asked.prompt,
        tools: [...asked.tools],
        toolChoice: asked.toolChoice,
        responseFormat: asked.responseFormat,
        toolCallValidation: asked.toolCallValidation ?? "strict",
        outputLimit,
        last: lastOf(asked.prompt),
        said: saidIn(asked.prompt)
      }
      requests.push(request)
      if (source.endless && requests.length > mostRequests) requests.shift()
      const next = source.next()
      return next === undefined
        ? refuse(`The script has no step left for call ${calls}`, request)
        : Effect.map(settle(next, request), (settled) => [settled, request] as const)
    })

  const say = (
    { calls: wanted, chunks, options }: Extract<Settled, { readonly _tag: "Answer" }>,
    request: Request
  ): Effect.Effect<Said, AiError.AiError> => {
    const unknown = wanted.find((call) => !request.tools.some((tool) => tool.name === call.name))
    if (unknown !== undefined && request.toolCallValidation === "strict") {
      return Effect.fail(
        AiError.make({
          module: "ScriptedModel",
          method: request.method,
          reason: new AiError.ToolNotFoundError({
            toolName: unknown.name,
            availableTools: request.tools.map((tool) => tool.name)
          })
        })
      )
    }
    const before = highestCall(request.prompt)
    let number = source.endless ? before : Math.max(before, issued)
    const named = wanted.map((call) => ({ ...call, id: call.id ?? `call_${(number += 1)}` }))
    issued = number
    return Effect.succeed({
      id: `response_${source.endless ? turnOf(request.prompt) : request.number}`,
      model: name,
      reasoning: options.reasoning ?? "",
      chunks,
      calls: named,
      usage: options.usage ?? {},
      finish: options.finish ?? (named.length === 0 ? "stop" : "tool-calls")
    })
  }

  const generateText = Effect.fnUntraced(function* (asked: LanguageModel.ProviderOptions) {
    const [settled, request] = yield* begin("generateText", asked)
    if (settled._tag === "Hang") return yield* Effect.never
    if (settled._tag === "Fault") return yield* faultError(settled.fault, "generateText", settled.retryAfter)
    const said = yield* say(settled, request)
    const { every, stall } = settled.options
    if (stall !== undefined) return yield* Effect.never
    if (every !== undefined) yield* Effect.sleep(Duration.times(Duration.fromInputUnsafe(every), said.chunks.length))
    return wholeParts(said)
  })

  const streamText = (asked: LanguageModel.ProviderOptions) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const [settled, request] = yield* begin("streamText", asked)
        if (settled._tag === "Hang") return Stream.never
        if (settled._tag === "Answer") return played(yield* say(settled, request), settled.options)
        const { chunks, fault, retryAfter } = settled
        const error = Stream.fail(faultError(fault, "streamText", retryAfter))
        if (chunks.length === 0) return error
        const said = { id: `response_${request.number}`, model: name, reasoning: "", calls: [], usage: {} }
        return Stream.concat(
          played({ ...said, chunks: [...chunks, ""], finish: "none" }, { stall: chunks.length }, "end"),
          error
        )
      })
    )

  const model = Model.make(
    provider,
    name,
    Layer.effect(
      LanguageModel.LanguageModel,
      LanguageModel.make({ generateText, streamText, supportsSystemMessagesInHistory: Effect.succeed(true) })
    )
  )
  return {
    layer: model,
    model,
    requests: Effect.sync(() => [...requests]),
    complete: Effect.suspend(() => {
      if (misfit !== undefined) return Effect.fail(misfit)
      return source.left.length === 0
        ? Effect.void
        : Effect.fail(mismatch("The script was not used up", calls, source.left))
    })
  }
}

/** The parts of an answer one by one; from the chunk on where it stalls, it waits forever, or ends. */
const played = (
  said: Said,
  { every, stall }: AnswerOptions,
  then: "wait" | "end" = "wait"
): Stream.Stream<Response.StreamPartEncoded> => {
  const parts = streamParts(said)
  let kept = parts.length
  if (stall !== undefined) {
    const deltas = parts.flatMap((part, index) => (part.type === "text-delta" ? [index] : []))
    // Without so many chunks, it is the end of the answer that does not come.
    kept = deltas[stall] ?? Math.max(0, parts.length - 1)
  }
  const coming = Stream.fromIterable(parts.slice(0, kept), { chunkSize: 1 }).pipe(
    Stream.mapEffect((part) =>
      every !== undefined && part.type === "text-delta" ? Effect.as(Effect.sleep(every), part) : Effect.succeed(part)
    )
  )
  return stall !== undefined && then === "wait" ? Stream.concat(coming, Stream.never) : coming
}
