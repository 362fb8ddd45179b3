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
 * - A provider that is down for a time is {@link down}; {@link respond} and {@link fromFunction} take an effect, too.
 * - An answer that calls a tool which the request does not offer fails as it would with a provider, unless the request asks
 *   for `toolCallValidation: "deferred"`.
 *
 * **Invariants**
 *
 * - What an answer is depends on the script, the request and the `Clock` alone, and so does the time that it takes.
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
 * **Example** (A provider that is down for two minutes)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { TestClock } from "effect/testing"
 * import { ScriptedModel } from "espalier/agent"
 *
 * const script = ScriptedModel.fromFunction(
 *   ScriptedModel.down({ for: "2 minutes" }, (request) => ScriptedModel.text(`You said: ${request.last}`))
 * )
 * const ask = LanguageModel.generateText({ prompt: "Hi" }).pipe(
 *   Effect.match({ onFailure: ({ reason }) => reason._tag, onSuccess: ({ text }) => text })
 * )
 * const program = Effect.gen(function* () {
 *   const first = yield* ask
 *   yield* TestClock.adjust("2 minutes")
 *   return [first, yield* ask]
 * })
 * await Effect.runPromise(Effect.provide(program, [script.layer, TestClock.layer()]))
 * // => ["InternalProviderError", "You said: Hi"]
 * ```
 *
 * @since 0.1.0
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Model from "effect/ai/Model"
import * as Response from "effect/ai/Response"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

import { Given } from "../run/internal/given.ts"
import { faults, type Fault } from "./internal/scriptedFault.ts"
import { play, type Source } from "./internal/scriptedPlay.ts"
import {
  isStep,
  short,
  TypeId,
  type AnswerOptions,
  type Decide,
  type Request,
  type ScriptMismatch,
  type Step,
  type StepData,
  type ToolCall
} from "./internal/scriptedStep.ts"

export {
  ScriptMismatch,
  type AnswerOptions,
  type Decide,
  type Request,
  type Step,
  type ToolCall,
  type Usage
} from "./internal/scriptedStep.ts"

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

const step = (name: string, data: StepData): Step => ({ [TypeId]: data, name })

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
 * Decides by the request which step it is, see {@link Decide}.
 *
 * @category steps
 * @since 0.1.0
 */
export const respond = (decide: Decide): Step => {
  new Given("ScriptedModel.respond").code("decide", decide)
  return step("respond", { _tag: "Respond", answer: decide })
}

/**
 * When a model is down, and what it says then.
 *
 * **Details**
 *
 * - `from`: the time of the `Clock` that the outage is counted from, in milliseconds since 1970, a whole number >= 0. Default:
 *   when the first call asks. `after`: how long after that it begins, >= 0. Default at once.
 * - `for`: how long it lasts, > 0. At its end the model answers again.
 * - `fault`: what calls fail with meanwhile. Default `"overloaded"`. `retryAfter`: as in {@link fault}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Outage {
  readonly from?: number | undefined
  readonly after?: Duration.Input | undefined
  readonly for: Duration.Input
  readonly fault?: FaultKind | undefined
  readonly retryAfter?: Duration.Input | undefined
}

/**
 * Is down for a time by the `Clock`, and otherwise what it is: for {@link fromFunction}, and for {@link respond}.
 *
 * **Gotchas**
 *
 * Without `from` it remembers its first call for as long as it lives: use one for each test, and not two models. Throws a
 * `RangeError` when an option is not what its type says.
 *
 * @category steps
 * @since 0.1.0
 */
export const down = (
  outage: Outage,
  otherwise: Step | Decide
): ((request: Request, turn: number) => Effect.Effect<Step>) => {
  const given = new Given("ScriptedModel.down")
  given.record("outage", outage, ["from", "after", "for", "fault", "retryAfter"])
  const { after = 0, fault: kind = "overloaded", from, retryAfter } = outage
  if (from !== undefined) given.whole("outage.from", from, 0)
  const begins = Duration.toMillis(given.duration("outage.after", after, "zero"))
  const lasts = Duration.toMillis(given.duration("outage.for", outage.for, "more"))
  given.oneOf("outage.fault", kind, faults)
  if (retryAfter !== undefined) given.duration("outage.retryAfter", retryAfter, "zero")
  if (!isStep(otherwise)) given.code("otherwise", otherwise)
  const decide = isStep(otherwise) ? () => otherwise : otherwise
  const failed = fault(kind, { retryAfter })
  let counted = from
  return (request, turn) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const since = now - (counted ??= now) - begins
      if (since >= 0 && since < lasts) return Effect.succeed(failed)
      const decided = decide(request, turn)
      return Effect.isEffect(decided) ? decided : Effect.succeed(decided)
    })
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
 * - `decide`: see {@link Decide}. One that looks at the clock, as {@link down} does, answers by that, too.
 * - `requests` has the latest 1000.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromFunction = (decide: Decide, options: Options = {}): ScriptedModel => {
  const given = new Given("ScriptedModel.fromFunction")
  given.code("decide", decide)
  return built(given, options, {
    left: [],
    endless: true,
    next: () => respond(decide)
  })
}

const built = (given: Given, options: Options, source: Source): ScriptedModel => {
  given.record("options", options, ["provider", "model"])
  const { model = "scripted-1", provider = "scripted" } = options
  given.text("options.provider", provider)
  given.text("options.model", model)
  const played = play(provider, model, source)
  return { ...played, layer: played.model }
}
