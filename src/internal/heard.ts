/**
 * What may be a promise, of a function of others that was to answer with something else.
 */
import * as Predicate from "effect/Predicate"

/** Hears of what fails later: a rejection that nobody hears of ends the process. */
export const heard = (answer: unknown, failed: (error: unknown) => void): void => {
  if (!Predicate.hasProperty(answer, "then") || !Predicate.isFunction(answer.then)) return
  Promise.resolve(answer).then(undefined, failed)
}
