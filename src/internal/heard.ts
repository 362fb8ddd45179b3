/**
 * What may be a promise, of a function of others that was to answer with something else.
 */
import * as Predicate from "effect/Predicate"

/** Hears of what fails later: a rejection that nobody hears of ends the process. */
export const heard = (answer: unknown, failed: (error: unknown) => void): void => {
  if (!Predicate.hasProperty(answer, "then") || !Predicate.isFunction(answer.then)) return
  Promise.resolve(answer).then(undefined, failed)
}

/** A function of others, called until it fails for the first time, at once or later. */
export const heeded = <A extends ReadonlyArray<unknown>>(
  call: (...given: A) => unknown,
  failed: (error: unknown) => void
): ((...given: A) => void) => {
  let over = false
  const end = (error: unknown): void => {
    if (over) return
    over = true
    failed(error)
  }
  return (...given) => {
    if (over) return
    try {
      heard(call(...given), end)
    } catch (error) {
      end(error)
    }
  }
}
