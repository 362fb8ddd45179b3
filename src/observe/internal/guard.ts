/**
 * Tracers and loggers that throw at nobody.
 *
 * @since 0.1.0
 */
import * as Logger from "effect/Logger"
import * as Predicate from "effect/Predicate"
import * as Tracer from "effect/Tracer"

import { heard } from "../../internal/heard.ts"

type Method = "end" | "attribute" | "event" | "addLinks"

const every: ReadonlyArray<Method> = ["end", "attribute", "event", "addLinks"]

/** Whether a tracer has answered with what a span is to the program: it can be told, and ended. */
export const isSpan = (given: unknown): given is Tracer.Span =>
  Predicate.isObject(given) &&
  every.every((method) => Predicate.hasProperty(given, method) && Predicate.isFunction(given[method]))

/**
 * A tracer whose spans throw nothing. `lost` is called for each throw.
 *
 * **Details**
 *
 * - A span that cannot be begun is one that only this process knows.
 * - `methods`: those that may throw.
 *
 * @since 0.1.0
 */
export const tracer = (inner: Tracer.Tracer, methods: ReadonlyArray<Method>, lost: () => void): Tracer.Tracer => {
  // A tracer may answer with one span for all.
  const known = new WeakSet<Tracer.Span>()
  const guard = (span: Tracer.Span): void => {
    for (const method of methods) {
      const guarded: (...given: Array<never>) => unknown = span[method].bind(span)
      span[method] = (...given: ReadonlyArray<unknown>) => {
        try {
          heard(guarded(...(given as Array<never>)), lost)
        } catch {
          lost()
        }
      }
    }
    known.add(span)
  }
  return Tracer.make({
    span(options) {
      try {
        const span: unknown = inner.span(options)
        if (isSpan(span)) {
          if (!known.has(span)) guard(span)
          return span
        }
        heard(span, () => {})
      } catch {
        // As one that is none.
      }
      lost()
      return new Tracer.NativeSpan(options)
    },
    // It carries out the program itself, whose throws are its own.
    ...(inner.context && { context: inner.context.bind(inner) })
  })
}

/**
 * A logger that throws nothing. `lost` is called for each throw.
 *
 * @since 0.1.0
 */
export const logger = (inner: Logger.Logger<unknown, unknown>, lost: () => void): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    try {
      heard(inner.log(options), lost)
    } catch {
      lost()
    }
  })
