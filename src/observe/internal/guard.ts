/**
 * Tracers and loggers that throw at nobody.
 *
 * @since 0.1.0
 */
import * as Logger from "effect/Logger"
import * as Tracer from "effect/Tracer"

type Method = "end" | "attribute" | "event" | "addLinks"

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
  const begin = (options: Parameters<Tracer.Tracer["span"]>[0]): Tracer.Span => {
    try {
      return inner.span(options)
    } catch {
      lost()
      return new Tracer.NativeSpan(options)
    }
  }
  return Tracer.make({
    span(options) {
      const span = begin(options)
      for (const method of methods) {
        const guarded: (...given: Array<never>) => void = span[method].bind(span)
        span[method] = (...given: ReadonlyArray<unknown>) => {
          try {
            guarded(...(given as Array<never>))
          } catch {
            lost()
          }
        }
      }
      return span
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
      inner.log(options)
    } catch {
      lost()
    }
  })
