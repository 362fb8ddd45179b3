/**
 * One dispatch: attempts until an answer stands, each told to `post` as an event without its time.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

import * as Recovery from "../Recovery.ts"
import type { Of } from "../RunEvent.ts"
import type { Order } from "../Worker.ts"
import { attempt, type Answer } from "./attempt.ts"
import type { Post, Staff } from "./staff.ts"

/**
 * What a dispatch tells the run.
 *
 * @since 0.1.0
 */
export type News = Omit<Of<"AttemptFailed">, "at"> | Omit<Of<"Reported">, "at">

const times = (count: number): string => (count === 1 ? "" : ` after ${count} attempts`)

const note = (worker: string, attempts: number, { outcome, result }: Answer): string => {
  const { error, status } = result
  if (error !== undefined) return `${worker} failed${times(attempts)} (${error.kind}, ${outcome}): ${error.reason}`
  return `${worker} delivered a ${status} result${times(attempts)}`
}

/**
 * @since 0.1.0
 */
export const dispatch = Effect.fnUntraced(function* (
  staff: Staff,
  post: Post,
  order: Order,
  policy: Recovery.Policy,
  tell: (news: News) => void
) {
  const worker = post.seat.name
  const { dispatch, task } = order
  for (let number = order.attempt; ; number++) {
    const answer = yield* attempt(staff, post, { ...order, attempt: number })
    const { error } = answer.result
    if (error !== undefined && answer.final !== true) {
      const random = yield* Random.next
      const { retryAfterMillis } = answer
      const step = Recovery.retry({ kind: error.kind, attempt: number, retryAfterMillis, random }, policy)
      if (step._tag === "Wait") {
        tell({
          _tag: "AttemptFailed",
          task,
          dispatch,
          worker,
          attempt: number,
          kind: error.kind,
          waitMillis: step.millis,
          note: `Attempt ${number} at ${worker} failed (${error.kind}): ${error.reason}; again after ${step.millis} ms`
        })
        yield* Effect.sleep(step.millis)
        continue
      }
    }
    return tell({
      _tag: "Reported",
      task,
      dispatch,
      worker,
      attempts: number,
      outcome: answer.outcome,
      result: answer.result,
      note: note(worker, number, answer)
    })
  }
})
