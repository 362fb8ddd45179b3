/**
 * Keeps values that are known to be secret out of what a worker logs and traces.
 *
 * **Gotchas**
 *
 * Loggers and tracers that a handler provides by itself are not looked at.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Formatter from "effect/Formatter"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"

import { tellable } from "../../internal/telling.ts"
import { none, type Redaction } from "../../Redaction.ts"
import type { Secrets } from "../Secrets.ts"

/** A value as it may be shown: itself where it shows no secret, otherwise data or a text without. */
const shown = (value: unknown, by: Redaction): unknown => {
  if (typeof value === "string") return by.text(value)
  if (Array.isArray(value)) return value.map((each) => shown(each, by))
  const told = tellable(value, by)
  if (!Predicate.isObject(told)) return told
  // What is no plain data shows more than is walked through.
  try {
    const text = `${Formatter.format(told)}`
    const redacted = by.text(text)
    return redacted === text ? told : redacted
  } catch {
    return "what cannot be read"
  }
}

const record = (fields: Readonly<Record<string, unknown>>, by: Redaction): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(fields).map(([key, value]) => [by.text(key), shown(value, by)]))

const causeOf = (cause: Cause.Cause<unknown>, by: Redaction): Cause.Cause<unknown> => {
  const told = tellable(cause, by)
  return Cause.isCause(told) ? told : Cause.die(told)
}

/** A fiber as a logger sees it. */
const seen = (fiber: Fiber.Fiber<unknown, unknown>, by: Redaction): Fiber.Fiber<unknown, unknown> => {
  const annotations = record(fiber.getRef(References.CurrentLogAnnotations), by)
  const spans = fiber.getRef(References.CurrentLogSpans).map(([label, at]) => [by.text(label), at] as const)
  const getRef: Fiber.Fiber<unknown, unknown>["getRef"] = (reference) => {
    const { key } = reference
    if (key === References.CurrentLogAnnotations.key) return annotations as never
    if (key === References.CurrentLogSpans.key) return spans as never
    return fiber.getRef(reference)
  }
  return Object.create(fiber, { getRef: { value: getRef } }) as Fiber.Fiber<unknown, unknown>
}

const logging = (logger: Logger.Logger<unknown, unknown>, by: Redaction): Logger.Logger<unknown, unknown> =>
  Logger.make((options) =>
    logger.log({
      ...options,
      message: shown(options.message, by),
      cause: causeOf(options.cause, by),
      fiber: seen(options.fiber, by)
    })
  )

const exitOf = (exit: Exit.Exit<unknown, unknown>, by: Redaction): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit) ? Exit.succeed(shown(exit.value, by)) : Exit.failCause(causeOf(exit.cause, by))

const guarded = new WeakSet<Tracer.Span>()

/** The same span, which is told nothing secret from now on. */
const guard = (span: Tracer.Span, by: Redaction): Tracer.Span => {
  if (guarded.has(span)) return span
  guarded.add(span)
  const attribute = span.attribute.bind(span)
  const event = span.event.bind(span)
  const end = span.end.bind(span)
  const addLinks = span.addLinks.bind(span)
  span.attribute = (key, value) => attribute(by.text(key), shown(value, by))
  span.event = (name, at, attributes) => event(by.text(name), at, attributes && { ...record(attributes, by) })
  span.end = (at, exit) => end(at, exitOf(exit, by))
  span.addLinks = (links) => addLinks(linksOf(links, by))
  return span
}

const linksOf = (links: ReadonlyArray<Tracer.SpanLink>, by: Redaction): Array<Tracer.SpanLink> =>
  links.map((link) => ({ ...link, attributes: record(link.attributes, by) }))

const tracing = (tracer: Tracer.Tracer, by: Redaction): Tracer.Tracer =>
  Tracer.make({
    span: (options) =>
      guard(tracer.span({ ...options, name: by.text(options.name), links: linksOf(options.links, by) }), by),
    ...(tracer.context === undefined ? {} : { context: tracer.context.bind(tracer) })
  })

/** Does work so that no known secret gets into its logs and spans. */
export const quietly = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  { scrub, scrubJson }: Pick<Secrets["Service"], "scrub" | "scrubJson">
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const by: Redaction = { ...none, text: scrub, value: scrubJson as Redaction["value"] }
    const loggers = yield* Logger.CurrentLoggers
    const tracer = yield* Effect.tracer
    const span = yield* Effect.option(Effect.currentSpan)
    if (Option.isSome(span)) guard(span.value, by)
    return yield* work.pipe(
      Effect.provideService(Logger.CurrentLoggers, new Set([...loggers].map((logger) => logging(logger, by)))),
      Effect.provideService(Tracer.Tracer, tracing(tracer, by))
    )
  })
