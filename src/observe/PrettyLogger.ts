/**
 * Loggers that print records: for people on a terminal, and as lines of JSON for programs.
 *
 * ```text
 * 09:30:00.120Z WARN  billing.refunds    attempt 1 of r1/pay/1 failed (transient), again after 1000 ms
 *     run_id=r1 task=pay attempt=1 outcome=failed error.kind=transient error.reason="the bank is busy"
 * ```
 *
 * **Details**
 *
 * - On a terminal: the time in UTC, the level in its colour, who it is about, the message, and the fields, dimmed. What does
 *   not fit into the width hangs below, indented; so do the lines of a cause.
 * - Elsewhere: one line without colours, with the whole time; the lines of a cause hang below.
 * - As JSON: `timestamp`, `level`, `message`, then every annotation under its own name, then `cause`. See `Logs` for the names.
 * - Colours follow `NO_COLOR`, `FORCE_COLOR` and `TERM`.
 *
 * **Gotchas**
 *
 * Nothing in a record is obeyed by a terminal, and no text in it begins a line: control characters and signs that turn the
 * direction of text are left out, or escaped in JSON.
 *
 * **Example** (A line for programs)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { PrettyLogger } from "espalier/observe"
 *
 * const printed: Array<string> = []
 * const program = Effect.logWarning("the bank is busy").pipe(
 *   Effect.annotateLogs({ worker: "billing.refunds", run_id: "r1", latency_ms: 120 }),
 *   Effect.provide(PrettyLogger.layerJson({ write: (text) => void printed.push(text) }))
 * )
 * await Effect.runPromise(program)
 * const { level, run_id } = JSON.parse(printed[0]!)
 * level // => "WARN"
 * run_id // => "r1"
 * ```
 *
 * @since 0.1.0
 */

import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import type * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as References from "effect/References"

import { type Look, lookOf } from "../internal/look.ts"
import { Given } from "../run/internal/given.ts"
import { type Entry, render, renderJson } from "./internal/logLook.ts"
import { type Fields, given } from "./internal/logNames.ts"

/**
 * Where lines go to.
 *
 * **Details**
 *
 * - `write`: is called with each record, without a line feed at its end. Default: the `Console` around; its `error` where
 *   `Logger.LogToStderr` says so.
 *
 * @category models
 * @since 0.1.0
 */
export interface JsonOptions {
  readonly write?: ((text: string) => void) | undefined
}

/**
 * How lines look.
 *
 * **Details**
 *
 * - `colours`: `auto` asks the terminal and the environment. Default `auto`.
 * - `columns`: how wide a line may be, a whole number >= 40; `Infinity` for as wide as it is. Default: the width of the
 *   terminal, or plain lines where there is none.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options extends JsonOptions {
  readonly colours?: "auto" | "always" | "never" | undefined
  readonly columns?: number | undefined
}

const narrowest = 40

/** The terminal may become wider or narrower: it is asked each time. */
const looking = (options: Options): ((fiber: Fiber.Fiber<unknown, unknown>) => Look) => {
  const check = new Given("PrettyLogger.make")
  check.record("options", options, ["colours", "columns", "write"])
  const { colours = "auto", columns, write } = options
  if (write !== undefined) check.code("write", write)
  check.oneOf("colours", colours, ["auto", "always", "never"])
  if (columns !== undefined && columns !== Number.POSITIVE_INFINITY) check.whole("columns", columns, narrowest)
  return (fiber) => {
    const stream = fiber.getRef(Logger.LogToStderr) ? process.stderr : process.stdout
    // Somebody else's place is no terminal.
    const here = lookOf(process.env, write === undefined ? stream : {})
    const wide = columns ?? here.columns
    return {
      colour: colours === "auto" ? here.colour : colours === "always",
      columns: wide === undefined ? undefined : Math.max(narrowest, wide)
    }
  }
}

const entryOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): Entry => {
  const now = date.getTime()
  const { span } = fiber.cache
  const fields: Fields = {
    ...given({ trace_id: span?.traceId, span_id: span?.spanId }),
    ...Object.fromEntries(
      fiber.getRef(References.CurrentLogSpans).map(([label, since]) => [`${label}_ms`, Math.max(0, now - since)])
    ),
    ...fiber.getRef(References.CurrentLogAnnotations)
  }
  return {
    at: now,
    level: logLevel,
    messages: Array.isArray(message) ? message : [message],
    fields,
    cause: cause.reasons.length === 0 ? undefined : Cause.pretty(cause)
  }
}

const writing =
  ({ write }: JsonOptions, text: (options: Logger.Options<unknown>) => string) =>
  (options: Logger.Options<unknown>): void => {
    if (write !== undefined) return write(text(options))
    const console = options.fiber.getRef(Console.Console)
    if (options.fiber.getRef(Logger.LogToStderr)) console.error(text(options))
    else console.log(text(options))
  }

/**
 * A logger for people.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for an option that does not hold.
 *
 * **Example** (In eighty columns)
 *
 * ```ts
 * import { Effect, Logger } from "effect"
 * import { PrettyLogger } from "espalier/observe"
 *
 * const printed: Array<string> = []
 * const logger = PrettyLogger.make({ colours: "never", columns: 80, write: (text) => void printed.push(text) })
 * const program = Effect.log("r1/pay/1 of billing.refunds: accepted").pipe(
 *   Effect.annotateLogs({ worker: "billing.refunds", run_id: "r1", latency_ms: 120 }),
 *   Effect.provide(Logger.layer([logger]))
 * )
 * await Effect.runPromise(program)
 * const [first, second] = printed[0]!.split("\n")
 * first!.slice(14) // => "INFO  billing.refunds    r1/pay/1 of billing.refunds: accepted"
 * second // => "    run_id=r1 latency_ms=120"
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): Logger.Logger<unknown, void> => {
  const look = looking(options)
  return Logger.make(writing(options, (given) => render(look(given.fiber), entryOf(given))))
}

/**
 * A logger for programs: one line of JSON for each record.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeJson = (options: JsonOptions = {}): Logger.Logger<unknown, void> => {
  const check = new Given("PrettyLogger.makeJson")
  check.record("options", options, ["write"])
  if (options.write !== undefined) check.code("write", options.write)
  return Logger.make(writing(options, (given) => renderJson(entryOf(given))))
}

/**
 * Has records printed for people, instead of what prints them otherwise.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options | undefined): Layer.Layer<never> => Logger.layer([make(options)])

/**
 * Has records printed as lines of JSON, instead of what prints them otherwise.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerJson = (options?: JsonOptions | undefined): Layer.Layer<never> => Logger.layer([makeJson(options)])
