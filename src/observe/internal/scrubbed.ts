/**
 * What a span is told of an end: that it failed and of what kind of error, without what the error says.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"

import * as ModelFailure from "../../agent/ModelFailure.ts"

/** A name of a class or a tag; what looks like anything else may be a text. */
const isName = (value: unknown): value is string =>
  typeof value === "string" && /^[A-Za-z_@~][\w$./:@-]{0,99}$/.test(value)

const nameOf = (error: unknown): string => {
  if (!Predicate.isObjectKeyword(error)) return "Error"
  const { _tag, name } = error as { readonly _tag?: unknown; readonly name?: unknown }
  return isName(_tag) ? _tag : isName(name) ? name : "Error"
}

/** What may be said of an error besides its name: words of espalier's own, and messages of errors that are said to be safe. */
const wordsOf = (error: unknown, safe: ReadonlySet<string>): string => {
  if (error instanceof ModelFailure.ModelFailure) return error.reason
  if (AiError.isAiError(error)) return ModelFailure.fromAiError(error, { provider: "", model: "" }).reason
  return Predicate.isError(error) && safe.has(nameOf(error)) ? error.message : ""
}

/** An error that is only shown. */
class Told extends Error {
  constructor(name: string, message: string) {
    super(message)
    this.name = name
    // A stack repeats the message of the error that it is of.
    this.stack = message === "" ? name : `${name}: ${message}`
  }
}

const told = (error: unknown, safe: ReadonlySet<string>): Told => {
  try {
    return new Told(nameOf(error), wordsOf(error, safe))
  } catch {
    return new Told("Error", "")
  }
}

/** An error of which nothing is known but what it is. */
export const failedOf = (name: string, message: string): Exit.Exit<never, unknown> =>
  Exit.failCause(Cause.fail<unknown>(new Told(name, message)))

/** The exit as a tracer may see it: without values, and without what errors say. */
export const scrubbed = (exit: Exit.Exit<unknown, unknown>, safe: ReadonlySet<string>): Exit.Exit<unknown, unknown> =>
  Exit.isSuccess(exit)
    ? Exit.void
    : Exit.failCause(
        Cause.fromReasons(
          exit.cause.reasons.map((reason) =>
            Cause.isFailReason(reason)
              ? Cause.makeFailReason(told(reason.error, safe))
              : Cause.isDieReason(reason)
                ? Cause.makeDieReason(told(reason.defect, safe))
                : Cause.makeInterruptReason(reason.fiberId)
          )
        )
      )
