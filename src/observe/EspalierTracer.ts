/**
 * Makes spans of calls of models such as the GenAI conventions want them, over whatever tracer there is, and keeps content out of all
 * spans.
 *
 * | what Effect traces | what is told |
 * |---|---|
 * | `LanguageModel.generateText`, `generateObject`, `streamText` | `chat {model}`, a client's, with provider, model, agent, usage and cost |
 * | `EmbeddingModel.resolver` | `embeddings {model}`, a client's |
 * | other spans | as they are, with the run that they belong to |
 *
 * **Details**
 *
 * - Usage and cost are on spans of inferences and on no other: who adds them up counts each token once. Input tokens include
 *   those of caches, and output tokens those of reasoning.
 * - A price that is not known is absent. Prices are those of `CostModel`, where it is around.
 * - What fails has `error.type`, the name of its error, and words of espalier's own. Messages, stacks and values stay out. A call whose
 *   time is over is an error; one that its caller interrupts is none; nor is one with an `espalier.outcome` that is none.
 * - Texts on spans pass the rules of `Redaction`.
 * - Content is captured when it is asked for, by the option `capture`, the variable `ESPALIER_CAPTURE_CONTENT`, or {@link GenAiScope}.
 *   It goes to a log record of its own, at level Debug, and to loggers other than Effect's default ones; or to the span.
 *
 * **Invariants**
 *
 * - T1. With `capture: "none"` no span has anything of a prompt, an answer, arguments or results.
 * - T2. A tracer that throws, and a hook that throws or hangs, change neither the result of a program nor how long it takes. What is lost
 *   is counted as `espalier.telemetry.dropped`.
 * - T3. A span of the tracer within stays its own: it is a parent like any other.
 *
 * **Gotchas**
 *
 * - A `CurrentSpanTransformer` provided inside of this layer takes its place: usage and content are then told by nobody. One outside of
 *   it is called after it.
 * - `status` is what an exporter makes of an exit. Effect's say Ok where the conventions would say nothing.
 * - With `captureTarget: "span"` a span ends when its content is ready, with the time at which it ended.
 *
 * **Example** (The span of a call)
 *
 * ```ts
 * import { Effect, Layer, Tracer } from "effect"
 * import { LanguageModel, Model } from "effect/ai"
 * import { ScriptedModel } from "espalier/agent"
 * import { EspalierTracer } from "espalier/observe"
 *
 * const spans: Array<Tracer.Span> = []
 * const collecting = Layer.succeed(
 *   Tracer.Tracer,
 *   Tracer.make({
 *     span: (options) => {
 *       const span = new Tracer.NativeSpan(options)
 *       spans.push(span)
 *       return span
 *     }
 *   })
 * )
 * const script = ScriptedModel.make([ScriptedModel.text("Hello", { usage: { inputTokens: 3, outputTokens: 1 } })])
 *
 * const program = LanguageModel.generateText({ prompt: "Hi" }).pipe(
 *   Effect.provide(Model.make("acme", "small", script.layer)),
 *   Effect.provideService(EspalierTracer.GenAiScope, { agent: "greeter" }),
 *   Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(collecting)))
 * )
 * await Effect.runPromise(program)
 * spans.map((span) => [span.name, span.kind]) // => [["chat small", "client"]]
 * ```
 *
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 * @since 0.1.0
 */

import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

import * as ModelCall from "../agent/ModelCall.ts"
import { Given } from "../run/internal/given.ts"
import { worker, type OnContent } from "./internal/captured.ts"
import { decorate, inferenceOf } from "./internal/decorating.ts"
import { dropped } from "./internal/drops.ts"
import { captures, Decoration, type Capture } from "./internal/genAiScope.ts"
import { messagesOf } from "./internal/messages.ts"
import { variable } from "./internal/variable.ts"
import * as SemConv from "./SemConv.ts"

export { GenAiScope, type Capture, type Scope } from "./internal/genAiScope.ts"
export type { OnContent } from "./internal/captured.ts"
export type { Message, Messages, Part } from "./internal/messages.ts"

/**
 * How spans are told.
 *
 * **Details**
 *
 * - `profile`: the state of the conventions. Default `genai-0.1`.
 * - `capture`: how much content is told. Default: what `ESPALIER_CAPTURE_CONTENT` says, else `none`.
 * - `captureTarget`: where it is told: in a log record of its own, or on the span. Default `event`.
 * - `partLimit`: how many bytes of each part are told, a whole number >= 64. Default 4096.
 * - `onContent`: is shown the content of each call, whatever `capture` says, and answers with what is told in its place, as far as
 *   `capture` lets it. It is run beside the program. Default: none.
 * - `onContentTimeout`: how long it may take, > 0. Default 5 seconds. Then, or when it fails, nothing is told of that call.
 * - `room`: of how many calls the content may wait to be told, a whole number >= 1. Default 64. Without room it is dropped and counted.
 * - `safeErrors`: names or tags of errors whose messages may be told. Default: none but espalier's own words.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly profile?: SemConv.Profile | undefined
  readonly capture?: Capture | undefined
  readonly captureTarget?: "event" | "span" | undefined
  readonly partLimit?: number | undefined
  readonly onContent?: OnContent | undefined
  readonly onContentTimeout?: Duration.Input | undefined
  readonly room?: number | undefined
  readonly safeErrors?: ReadonlyArray<string> | undefined
}

const given = new Given("EspalierTracer.layer")

const checked = (options: Options) => {
  given.record("options", options, [
    "profile",
    "capture",
    "captureTarget",
    "partLimit",
    "onContent",
    "onContentTimeout",
    "room",
    "safeErrors"
  ])
  const {
    capture,
    captureTarget = "event",
    onContent,
    onContentTimeout = "5 seconds",
    partLimit = 4_096,
    profile = SemConv.defaultProfile,
    room = 64,
    safeErrors = []
  } = options
  given.oneOf("profile", profile, SemConv.Profiles)
  if (capture !== undefined) given.oneOf("capture", capture, captures)
  given.oneOf("captureTarget", captureTarget, ["event", "span"])
  if (onContent !== undefined) given.code("onContent", onContent)
  return {
    capture,
    onSpan: captureTarget === "span",
    onContent,
    onContentTimeout: given.duration("onContentTimeout", onContentTimeout, "more"),
    limit: given.whole("partLimit", partLimit, 64),
    names: SemConv.names(profile),
    room: given.whole("room", room, 1),
    safe: new Set(given.names("safeErrors", safeErrors))
  }
}

const level = variable("ESPALIER_CAPTURE_CONTENT", (name) => Config.Literals(captures, name))

const finishOf = (response: ReadonlyArray<Response.AnyPart>): Response.FinishPart | undefined =>
  response.find((part): part is Response.FinishPart => part.type === "finish")

/**
 * Tells the span of a call what came back: usage and cost, why the model stopped, and the id and model of the response. It is a part of
 * {@link layer}, and for those who provide a `CurrentSpanTransformer` of their own inside of that and want to call this one, too.
 *
 * **Details**
 *
 * A span that was not made by {@link layer} is left as it is.
 *
 * @category transformers
 * @since 0.1.0
 */
export const transformer: Telemetry.SpanTransformer = ({ prompt, response, span, tools }) => {
  const inference = inferenceOf(span)
  if (inference === undefined) return
  const { by, context, keeps, level, names, use, write } = inference
  try {
    const finish = finishOf(response)
    const usage = finish === undefined ? undefined : ModelCall.tokensFrom(finish.usage)
    if (finish !== undefined) write(names.attributes.responseFinishReasons, [SemConv.value(finish.reason)])
    if (usage !== undefined) use(usage)
    const metadata = response.find((part) => part.type === "response-metadata")
    if (metadata?.id !== undefined) write(names.attributes.responseId, by.text(metadata.id))
    if (metadata?.modelId !== undefined) write(names.attributes.responseModel, by.text(metadata.modelId))
    if (keeps) inference.content = { messages: messagesOf({ prompt, tools }, response), level, by, span, context }
  } catch {
    dropped("traces", "unreadable", context)
  }
}

/**
 * Decorates the tracer around, and reads the answers of models.
 *
 * **Details**
 *
 * - Provide it over the layer of a tracer: it takes the one that is around when it is built. In runs that are traced by {@link Tracing}
 *   that does not matter: there it is whichever tracer is around the run.
 * - It owns a fiber that tells content, which ends with it.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` that names the option and its value when one does not hold.
 * - Fails with a `ConfigError` when `ESPALIER_CAPTURE_CONTENT` is none of the four levels.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Telemetry.CurrentSpanTransformer, Config.ConfigError> => {
  const { capture, names, onContent, onSpan, safe, ...content } = checked(options)
  return Layer.effectContext(
    Effect.gen(function* () {
      const inner = yield* Tracer.Tracer
      const own = Context.get(Context.empty(), Tracer.Tracer)
      const outer = yield* Effect.serviceOption(Telemetry.CurrentSpanTransformer)
      const take = yield* worker({ ...content, names, onContent })
      const settings = {
        names,
        onSpan,
        safe,
        limit: content.limit,
        take,
        hooked: onContent !== undefined,
        capture: capture ?? (yield* level) ?? "none"
      }
      const decorated = new WeakMap<Tracer.Tracer, Tracer.Tracer>()
      const decoration = (tracer: Tracer.Tracer): Tracer.Tracer => {
        const known = decorated.get(tracer) ?? decorate(tracer, settings)
        decorated.set(tracer, known)
        return known
      }
      const services = Context.make(Telemetry.CurrentSpanTransformer, (told: Parameters<typeof transformer>[0]) => {
        transformer(told)
        if (Option.isSome(outer)) outer.value(told)
      }).pipe(Context.add(Decoration, { decorate: decoration, tellsTools: onSpan }))
      // Effect's own, which tells nobody, is left to whoever has another one.
      return inner === own ? services : Context.add(services, Tracer.Tracer, decoration(inner))
    })
  )
}
