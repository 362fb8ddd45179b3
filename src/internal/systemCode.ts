/**
 * What of an error of the operating system may be told.
 */
import * as Predicate from "effect/Predicate"

const code = /^[A-Z][A-Z0-9_]{2,39}$/

/** The code of the operating system for why there is no connection, and nothing else of an error. */
export const codeOf = (error: unknown, levels = 4): string | undefined => {
  if (levels === 0 || !Predicate.isObject(error)) return undefined
  const own = Predicate.hasProperty(error, "code") ? error.code : undefined
  if (typeof own === "string" && code.test(own)) return own
  return Predicate.hasProperty(error, "cause") ? codeOf(error.cause, levels - 1) : undefined
}
