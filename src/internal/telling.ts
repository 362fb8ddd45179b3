/**
 * Where something is logged: without the secrets that texts and errors may hold.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

import { Redaction } from "../Redaction.ts"

/** What an error says of itself in a log: its text, and the fields that a logger may show. */
const isClean = (error: unknown, by: Redaction): boolean => {
  if (!Predicate.isObjectKeyword(error) || typeof error === "function") return by.value(error) === error
  const fields = Object.fromEntries(Object.entries(error))
  const said = Predicate.isError(error) ? [error.message, error.stack ?? "", error.name] : []
  const causes = Predicate.isError(error) && error.cause !== undefined ? isClean(error.cause, by) : true
  return causes && by.value(fields) === fields && said.every((text) => by.text(text) === text)
}

/** A cause, an error or any other value as it may be logged: itself when it holds no secret, otherwise its text without. */
export const tellable = (value: unknown, by: Redaction): unknown => {
  try {
    if (Cause.isCause(value)) {
      const text = Cause.pretty(value)
      const redacted = by.text(text)
      const clean = value.reasons.every(
        (reason) => reason._tag === "Interrupt" || isClean(reason._tag === "Fail" ? reason.error : reason.defect, by)
      )
      return clean && redacted === text ? value : redacted
    }
    if (Predicate.isError(value)) return isClean(value, by) ? value : by.text(value.stack ?? value.message)
    return by.value(value)
  } catch {
    return "what cannot be read"
  }
}

const telling =
  (log: (...message: ReadonlyArray<unknown>) => Effect.Effect<void>) =>
  (...message: ReadonlyArray<unknown>): Effect.Effect<void> =>
    Effect.flatMap(Redaction, (by) => log(...message.map((each) => tellable(each, by))))

/** As `Effect.logDebug`, by the rules around it. */
export const tellDebug = telling(Effect.logDebug)

/** As `Effect.logInfo`, by the rules around it. */
export const tellInfo = telling(Effect.logInfo)

/** As `Effect.logWarning`, by the rules around it. */
export const tellWarning = telling(Effect.logWarning)

/** As `Effect.logError`, by the rules around it. */
export const tellError = telling(Effect.logError)
