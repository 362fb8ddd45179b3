/**
 * One dispatch: attempts until an answer stands, each told to `post` as an event without its time.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

import type { Allowance } from "../Allowance.ts"
import type { Ended } from "../Observer.ts"
import * as Recovery from "../Recovery.ts"
import type { Usage } from "../Result.ts"
import type { Order } from "../Worker.ts"
import { minus, plus } from "./amounts.ts"
import { attempt, attemptAnew, type Answer, failure, type Judge } from "./attempt.ts"
import { canonical, digest as digestOf } from "./canonical.ts"
import type { News } from "./news.ts"
import type { Observing } from "./observing.ts"
import type { Doubt, Session } from "./outside.ts"
import type { Pulse } from "./pulse.ts"
import { type Job, type Post, revive, type Staff } from "./staff.ts"

const times = (count: number): string => (count === 1 ? "" : ` after ${count} attempts`)

const note = (worker: string, attempts: number, { outcome, result }: Answer): string => {
  const { error, status } = result
  if (error !== undefined) return `${worker} failed${times(attempts)} (${error.kind}, ${outcome}): ${error.reason}`
  return `${worker} delivered a ${status} result${times(attempts)}`
}

/**
 * What of a dispatch is decided before it begins.
 *
 * **Details**
 *
 * - `probe`: whether it decides about the health of its worker; it starts the worker's domain again where that is down.
 * - `digests`: whether the output is compared with others. `deadlineAt`: when the task's time is over.
 * - `retryAt`: before which it does not begin, because it was cut off while it waited for its next attempt.
 * - `outside`: what it does outside.
 *
 * @since 0.1.0
 */
export interface Terms {
  readonly policy: Recovery.Policy
  readonly judge: Judge
  readonly probe: boolean
  readonly digests: boolean
  readonly allowance: Allowance
  readonly pulse: Pulse
  readonly outside: Session
  readonly deadlineAt?: number | undefined
  readonly retryAt?: number | undefined
}

/**
 * What had finished when its order was called back.
 *
 * **Details**
 *
 * - `before`: what the attempts before this one have used, and what of that their calls had counted.
 *
 * @since 0.1.0
 */
export interface Finished {
  attempts?: number
  answer?: Answer
  /** Its work did not stop when it was asked to, and was left behind. */
  unsettled?: boolean
  before?: { readonly usage: Usage; readonly calls: Usage }
}

/** Who sees it. `interrupted`: what an interruption of its work means. */
export interface Watched {
  readonly observing: Observing
  readonly interrupted: () => Ended
}

/**
 * @since 0.1.0
 */
export const dispatch = Effect.fnUntraced(function* (
  staff: Staff,
  post: Post,
  order: Order,
  work: Job["work"],
  terms: Terms,
  tell: (news: News) => void,
  finished: Finished,
  watched: Watched
) {
  const worker = post.seat.name
  const { dispatch, task } = order
  const { policy } = terms
  const { outside } = terms
  const trace = {
    ...watched,
    pulse: terms.pulse,
    finished,
    around: outside.whole,
    stands: (answer: Answer) => certain(answer, outside),
    unapproved: ({ result }: Answer) => unapprovedBy(result, outside) !== undefined,
    late: () => tell(settled(order, worker))
  }
  if (terms.retryAt !== undefined) yield* rest(terms.retryAt, policy)
  if (terms.probe) yield* revive(staff, post)
  for (let number = order.attempt; ; number++) {
    finished.attempts = number
    const given = yield* number === order.attempt
      ? attempt(staff, post, order, work, terms.judge, trace)
      : attemptAnew(staff, post, { ...order, attempt: number }, terms.judge, trace)
    const answer = certain(given, outside)
    const { error } = answer.result
    if (error !== undefined && answer.final !== true) {
      const random = yield* Random.next
      const { retryAfterMillis } = answer
      const step = Recovery.retry({ kind: error.kind, attempt: number, retryAfterMillis, random }, policy)
      const inTime = step._tag === "Wait" && (yield* fits(step.millis, terms.deadlineAt))
      if (step._tag === "Wait" && inTime) {
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
        const calls = yield* beside(terms)
        finished.before = { usage: usageOf(answer.result, calls, finished), calls }
        delete finished.answer
        continue
      }
    }
    return yield* report(worker, order, terms, { ...finished, attempts: number, answer }, tell)
  }
})

/**
 * Tells how a dispatch has ended.
 *
 * @since 0.1.0
 */
export const report = (
  worker: string,
  { attempt, dispatch, task }: Pick<Order, "attempt" | "dispatch" | "task">,
  terms: Pick<Terms, "allowance" | "digests" | "outside">,
  { answer: given, attempts = attempt, before, unsettled = false }: Finished,
  tell: (news: News) => void
): Effect.Effect<void> => {
  if (given === undefined) return Effect.void
  const { digests, outside } = terms
  outside.close()
  const answer = certain(given, outside)
  return Effect.map(counted(answer.result, terms, before), (result) => {
    const { dependency, label, outcome } = answer
    const unapproved = unapprovedBy(result, outside)
    const digest = digests && result.output !== undefined ? digestOf(canonical(result.output)) : undefined
    tell({
      _tag: "Reported",
      task,
      dispatch,
      worker,
      attempts,
      outcome,
      result,
      ...(label === undefined ? {} : { label }),
      ...(digest === undefined ? {} : { digest }),
      ...(dependency === undefined ? {} : { dependency }),
      ...(unapproved === undefined ? {} : { review: unapproved }),
      note: `${note(worker, attempts, answer)}${unsettled ? leftBehind : ""}`
    })
  })
}

/** The question of its work that nobody answered with yes, where it ended for that. */
const unapprovedBy = ({ error }: Answer["result"], { end, rejection }: Session): string | undefined =>
  error?.kind === "denied" ? (end ?? rejection)?.review : undefined

/** An answer as it counts once what its worker did outside is looked at: it does not stand while any of that is unknown. */
const certain = (answer: Answer, { doubt, end }: Session): Answer => {
  const { evidence, usage } = answer.result
  const instead = (kind: "denied" | "transient", reason: string): Answer => {
    const refused = failure(kind, reason)
    return { ...refused, result: { ...refused.result, evidence, usage } }
  }
  if (end !== undefined) return { ...instead("denied", end.message), final: true }
  if (doubt === undefined) return answer
  const final = doubt.recovery === "person" ? { final: true } : {}
  if (answer.result.error !== undefined) return { ...answer, ...final }
  return { ...instead("transient", unknown(doubt)), ...final }
}

/** What is said of an effect that nobody knows the outcome of. */
export const unknown = ({ name }: Doubt): string => `it is not known whether its effect ${name} has happened`

/** What is said of work that does not stop. */
export const leftBehind = "; its work did not stop and was left behind, so what it does outside is unsettled"

/** Work that was left behind has ended after all. */
const settled = ({ dispatch, task }: Order, worker: string): News => ({
  _tag: "Noticed",
  subject: task,
  what: "settled",
  note: `The work of ${dispatch} at ${worker}, which had been left behind, has ended`
})

/** What is left of a wait, by whatever clock it was begun: never longer than any wait may be. */
const rest = (retryAt: number, { longestWaitMillis, waitsMillis, jitter }: Recovery.Policy): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const longest = Math.max(longestWaitMillis, ...waitsMillis.map((wait) => wait * (1 + jitter)))
    return retryAt <= now ? Effect.void : Effect.sleep(Math.min(retryAt - now, longest))
  })

/** A wait beyond the task's time is not waited for: the next rung comes at once. */
const fits = (millis: number, deadlineAt: number | undefined): Effect.Effect<boolean> =>
  deadlineAt === undefined ? yes : Effect.map(Clock.currentTimeMillis, (now) => now + millis < deadlineAt)

const yes = Effect.succeed(true)

/** What the attempts of a dispatch have used together: each what its result says, else what its calls came to. */
const usageOf = ({ usage }: Answer["result"], calls: Usage, { before }: Finished): Usage => {
  if (before === undefined) return Object.keys(usage).length > 0 ? usage : calls
  return plus(before.usage, Object.keys(usage).length > 0 ? usage : minus(calls, before.calls))
}

type Spending = Pick<Terms, "allowance" | "outside">

/** What the calls of the work have used that was not paid for one by one. */
export const beside = ({ allowance, outside }: Spending): Effect.Effect<Usage> =>
  Effect.map(allowance.used, (calls) => outside.beside(calls))

/**
 * The result with all that its order has used: what was paid for call by call, what the worker says, or else what its other
 * calls came to, and what earlier attempts did.
 */
export const counted = (
  result: Answer["result"],
  spending: Spending,
  before?: Finished["before"]
): Effect.Effect<Answer["result"]> => {
  const { spent } = spending.outside
  const paid = Object.keys(spent).length > 0
  if (before === undefined && !paid && Object.keys(result.usage).length > 0) return Effect.succeed(result)
  return Effect.map(beside(spending), (calls) => {
    const own = usageOf(result, calls, before === undefined ? {} : { before })
    return { ...result, usage: paid ? plus(own, spent) : own }
  })
}
