/**
 * How lines get to the loggers that are there: at once, and without doing harm.
 *
 * **Invariants**
 *
 * - W1. Nothing that a logger throws, or answers with, gets out of here. What it lost is counted.
 * - W2. Loggers are called where the line is made, and nothing is waited for: there is no fiber, and no queue.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Predicate from "effect/Predicate"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"

import { heard } from "../../internal/heard.ts"
import { dropped } from "./drops.ts"
import type { LevelRules } from "./levels.ts"
import type { Line } from "./logLines.ts"
import type { Fields } from "./logNames.ts"

/** The span that a line belongs to: by its ids only. A line is a record of its own, and no event of a span. */
const spanOf = (context: Context.Context<never>, { span_id, trace_id }: Fields): Tracer.AnySpan | undefined => {
  const around = Context.getOption(context, Tracer.ParentSpan)
  if (Predicate.isString(trace_id) && Predicate.isString(span_id)) {
    return Tracer.externalSpan({ traceId: trace_id, spanId: span_id })
  }
  return around._tag === "None" ? undefined : Tracer.externalSpan(around.value)
}

const lost = (context: Context.Context<never>): void => dropped("logs", "thrown", context)

/**
 * Writes a line to the loggers of a context, unless it is below the level of its place. `trace`: where it belongs, unless it
 * says so itself.
 *
 * @since 0.1.0
 */
export const write = (context: Context.Context<never>, rules: LevelRules, line: Line, trace: () => Fields): void => {
  try {
    const least = rules.at(line.place) ?? Context.get(context, References.MinimumLogLevel)
    if (LogLevel.isGreaterThan(least, line.level)) return
    const loggers = Context.get(context, Logger.CurrentLoggers)
    if (loggers.size === 0) return
    const fields: Fields = { ...trace(), ...line.fields() }
    const message = [line.message()]
    const date = DateTime.toDateUtc(DateTime.makeUnsafe(line.at))
    const annotations = { ...Context.get(context, References.CurrentLogAnnotations), ...fields }
    const span = spanOf(context, fields)
    const known = Context.add(context, References.CurrentLogAnnotations, annotations)
    const telling = Effect.withFiber((fiber) => {
      for (const logger of loggers) {
        try {
          const record = { message: [...message], logLevel: line.level, cause: Cause.empty, fiber, date }
          heard(logger.log(record), () => lost(context))
        } catch {
          lost(context) // W1
        }
      }
      return Effect.void
    })
    Effect.runSyncExitWith(span === undefined ? known : Context.add(known, Tracer.ParentSpan, span))(telling)
  } catch {
    lost(context) // W1
  }
}
