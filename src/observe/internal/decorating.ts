/**
 * Spans as espalier tells them: Effect's own ones of models get the names of the conventions, and none has content.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Model from "effect/ai/Model"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

import { CostModel } from "../../agent/CostModel.ts"
import { CallNotes, WindowSize } from "../../agent/internal/callNotes.ts"
import { errorTypeOfExit } from "../../agent/internal/errorTypeOfExit.ts"
import { errorUsage } from "../../agent/internal/modelAttempt.ts"
import type { Tokens } from "../../agent/ModelCall.ts"
import { Overrides } from "../../agent/ModelFailure.ts"
import { heard } from "../../internal/heard.ts"
import { Redaction } from "../../Redaction.ts"
import { espalier, isContent, isUsage, operations, renamed, spanName, value, type Names } from "../SemConv.ts"
import type { Job, Take } from "./captured.ts"
import { dropped } from "./drops.ts"
import { GenAiScope, type Capture, type Scope } from "./genAiScope.ts"
import { cut, jsonOf } from "./messages.ts"
import { failedOf, scrubbed } from "./scrubbed.ts"

/** What the spans of a layer have in common. */
export interface Settings {
  readonly names: Names
  readonly capture: Capture
  readonly onSpan: boolean
  readonly hooked: boolean
  readonly safe: ReadonlySet<string>
  /** How many bytes are told of the arguments of a tool, and of its result. */
  readonly limit: number
  readonly take: Take
}

/** What is known of a span of an inference while it is open. */
export interface Inference {
  readonly names: Names
  readonly level: Capture
  readonly by: Redaction
  readonly context: Context.Context<never>
  /** Whether somebody wants its content. */
  readonly keeps: boolean
  /** Puts an attribute on the span past what is left out of it. */
  readonly write: (key: string, told: unknown) => void
  /** Puts what was used on the span, and what that cost where it is known. */
  readonly use: (tokens: Tokens) => void
  /** Content that is told as soon as the span ends. */
  content: Omit<Job, "told"> | undefined
}

const inferences = new WeakMap<Tracer.Span, Inference>()
const known = new WeakSet<Tracer.Span>()

/** What is known of a span, when it is one of an inference that a decorated tracer has made. */
export const inferenceOf = (span: Tracer.Span): Inference | undefined => inferences.get(span)

type Options = Parameters<Tracer.Tracer["span"]>[0]

interface Surrounding {
  readonly context: Context.Context<never>
  readonly scope: Scope
  readonly by: Redaction
  readonly provider: string | undefined
  readonly model: string | undefined
}

const surrounding = (): Surrounding => {
  const context = Fiber.getCurrent()?.context ?? Context.empty()
  return {
    context,
    scope: Context.get(context, GenAiScope),
    by: Context.get(context, Redaction),
    provider: Context.getOrUndefined(context, Model.ProviderName),
    model: Context.getOrUndefined(context, Model.ModelName)
  }
}

/** The operation that a span of Effect's models stands for. The others only call one of these. */
const operationOf = (name: string): "chat" | "embeddings" | undefined =>
  name.startsWith("LanguageModel.")
    ? operations.chat
    : name === "EmbeddingModel.resolver"
      ? operations.embeddings
      : undefined

/** Operations that use tokens themselves. */
const inferring: ReadonlySet<unknown> = new Set(["chat", "generate_content", "text_completion", "embeddings"])

/** What a toolkit puts on whatever span is open, and what errors and logs say. */
const leaks: ReadonlySet<string> = new Set([
  "parameters",
  "tool",
  "exception.message",
  "exception.stacktrace",
  "effect.cause"
])

/** Ends that are no errors, whatever the exit is. */
const calm: ReadonlySet<unknown> = new Set(
  ["ok", "accepted", "partial", "suspended", "cancelled", "refused", "rejected", "rejected-quality"].map(value)
)

const usageOf = (cause: Cause.Cause<unknown>): Tokens | undefined => {
  const error = cause.reasons.find(Cause.isFailReason)?.error
  return AiError.isAiError(error) ? errorUsage(error) : undefined
}

const shown = (told: unknown, by: Redaction): unknown => {
  if (typeof told === "string") return by.text(told)
  return typeof told === "object" && told !== null ? by.value(told) : told
}

/** Runs what may throw, and counts when it does. */
const guarded = (context: Context.Context<never>, run: () => unknown): void => {
  const lost = () => dropped("traces", "thrown", context)
  try {
    heard(run(), lost)
  } catch {
    lost()
  }
}

const decorated = (
  span: Tracer.Span,
  { by, context, model, provider, scope }: Surrounding,
  operation: "chat" | "embeddings" | undefined,
  { capture, hooked, limit, names, onSpan, safe, take }: Settings
): Tracer.Span => {
  if (known.has(span)) return span
  const attribute = span.attribute.bind(span)
  const event = span.event.bind(span)
  const addLinks = span.addLinks.bind(span)
  const end = span.end.bind(span)
  const level = scope.capture ?? capture
  const { attributes: at } = names
  let infers = operation !== undefined
  let outcome: unknown
  let hasType = false
  let isOver = false

  const write = (key: string, told: unknown): void => guarded(context, () => attribute(key, told))
  const put = (key: string, told: unknown): void => {
    if (told !== undefined) write(key, told)
  }

  const setAttribute = (given: string, told: unknown): unknown => {
    if (leaks.has(given)) return
    const key = renamed(given, names)
    if (isContent(key) && !(onSpan && (level === "redacted" || level === "full"))) return
    if (key === at.operationName) {
      // What was renamed keeps its operation.
      if (operation !== undefined) return
      infers = inferring.has(told)
    }
    if (isUsage(key) && !infers) return
    if (key === espalier.outcome) outcome = told
    if (key === at.errorType) hasType = true
    // Secrets go first: half of one is not found any more.
    const may = level === "full" && isContent(key) ? told : shown(told, by)
    return attribute(
      key,
      key === names.content.toolCallArguments || key === names.content.toolCallResult ? cut(jsonOf(may), limit) : may
    )
  }

  const attributesOf = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(given).flatMap(([key, told]) =>
        leaks.has(key) || isContent(key) ? [] : [[by.text(key), shown(told, by)]]
      )
    )

  const ending = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
    const notes = Context.get(context, CallNotes)
    const interrupted = Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
    if (inference !== undefined && Exit.isFailure(exit)) {
      const said = notes?.reported ?? usageOf(exit.cause)
      if (said !== undefined) inference.use(said)
    }
    // Who waited for it has interrupted it because its time was over.
    const late = operation !== undefined && interrupted && notes?.late === true
    if (Exit.isFailure(exit) && !late && calm.has(outcome)) return Exit.void
    const type = errorTypeOfExit(exit, { late, overrides: Context.get(context, Overrides) })
    if (type !== undefined && !hasType) write(at.errorType, type)
    return late ? failedOf("TimeoutError", "no answer in time") : scrubbed(exit, safe)
  }

  const inference: Inference | undefined =
    operation === undefined
      ? undefined
      : {
          names,
          level,
          by,
          context,
          keeps: hooked || level !== "none",
          content: undefined,
          write,
          use: (tokens) => {
            const { cacheRead, cacheWrite, input, output, reasoning } = tokens
            const all = input + (cacheRead ?? 0) + (cacheWrite ?? 0)
            const window = Context.get(context, WindowSize)
            write(at.usageInput, all)
            put(espalier.contextWindowLimit, window)
            put(espalier.contextWindowUtilization, window === undefined ? undefined : all / window)
            write(at.usageOutput, output)
            put(at.usageCacheRead, cacheRead)
            put(at.usageCacheWrite, cacheWrite)
            put(at.usageReasoning, reasoning)
            const costs = Option.getOrUndefined(Context.getOption(context, CostModel))
            if (costs === undefined || model === undefined || provider === undefined) return
            const amount = costs.price({ model, provider, usage: tokens })
            if (amount === undefined || costs.currency === undefined) return
            write(espalier.costAmount, amount)
            write(espalier.costCurrency, costs.currency)
            write(espalier.costSource, "local")
          }
        }

  span.attribute = (key, told) => guarded(context, () => setAttribute(key, told))
  span.event = (name, time, given) =>
    guarded(context, () => event(by.text(name), time, given === undefined ? undefined : attributesOf(given)))
  span.addLinks = (links) =>
    guarded(context, () => addLinks(links.map((link) => ({ ...link, attributes: attributesOf(link.attributes) }))))
  span.end = (time, exit) => {
    if (isOver) return
    isOver = true
    guarded(context, () => {
      const told = ending(exit)
      const close = () => guarded(context, () => end(time, told))
      const content = inference?.content
      if (content === undefined) return close()
      const later = onSpan
        ? (attributes: Readonly<Record<string, unknown>>) => {
            for (const [key, each] of Object.entries(attributes)) write(key, each)
            close()
          }
        : undefined
      if (!onSpan) close()
      if (take({ ...content, told: later })) return
      dropped("logs", "queue_full", context)
      if (onSpan) close()
    })
  }
  known.add(span)
  if (inference !== undefined) inferences.set(span, inference)

  put(espalier.runId, scope.run)
  if (operation !== undefined) {
    write(at.operationName, operation)
    put(at.providerName, provider)
    put(at.requestModel, model)
    put(at.agentName, scope.agent)
    put(at.conversationId, scope.conversation)
    put(espalier.nodeKindPath, scope.kindPath)
  }
  return span
}

/** A span that nobody exports, for when none can be made. */
const unexported = (options: Options): Tracer.Span => new Tracer.NativeSpan({ ...options, sampled: false })

/** What is within those that were decorated. */
const within = new WeakMap<Tracer.Tracer, Tracer.Tracer>()

/** A tracer that makes its spans by another one, and never fails. Of one that is decorated, it takes the place. */
export const decorate = (given: Tracer.Tracer, settings: Settings): Tracer.Tracer => {
  const inner = within.get(given) ?? given
  const tracer = Tracer.make({
    span: (options) => {
      let context: Context.Context<never> = Context.empty()
      try {
        const around = surrounding()
        context = around.context
        const operation = operationOf(options.name)
        const { by, model } = around
        const span = inner.span({
          ...options,
          name: operation === undefined ? by.text(options.name) : spanName[operation](model),
          kind: operation === undefined ? options.kind : "client"
        })
        return decorated(span, around, operation, settings)
      } catch {
        dropped("traces", "thrown", context)
        return unexported(options)
      }
    },
    ...(inner.context === undefined ? {} : { context: inner.context.bind(inner) })
  })
  within.set(tracer, inner)
  return tracer
}
