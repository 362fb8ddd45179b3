/**
 * One attempt at an order: a free member of the pool, the work under its time-out, and what the answer means.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"

import type * as Actor from "../../Actor.ts"
import * as Failure from "../../Failure.ts"
import * as Artefacts from "../../journal/Artefacts.ts"
import { Redaction } from "../../Redaction.ts"
import * as Dependency from "../Dependency.ts"
import type { Ended, Work } from "../Observer.ts"
import * as Result from "../Result.ts"
import type { DispatchEnd } from "../RunEvent.ts"
import type { Order } from "../Worker.ts"
import { delivered } from "./delivered.ts"
import type { Observing } from "./observing.ts"
import { largest } from "./plain.ts"
import { sentences, shorten } from "./problems.ts"
import type { Pulse } from "./pulse.ts"
import { reasonOf } from "./reasons.ts"
import { cancel, give, grace, isDown, Job, type Member, type Post, type Staff } from "./staff.ts"

/**
 * What came of an attempt.
 *
 * `final`: another attempt at this worker is pointless.
 *
 * @since 0.1.0
 */
export interface Answer {
  readonly result: Result.Envelope
  readonly outcome: DispatchEnd
  readonly label?: string | undefined
  readonly dependency?: string | undefined
  readonly retryAfterMillis?: number | undefined
  readonly final?: boolean | undefined
}

const longestReason = 500

const outcomes: { readonly [K in Result.ErrorKind]: DispatchEnd } = {
  transient: "failed",
  capability: "refused",
  oversized: "failed",
  malformed: "rejected-contract",
  denied: "denied",
  exhausted: "budget-exceeded",
  defect: "failed"
}

/** @since 0.1.0 */
export const failure = (kind: Result.ErrorKind, reason: string, outcome: DispatchEnd = outcomes[kind]): Answer => ({
  outcome,
  result: {
    status: "failed",
    confidence: 0,
    error: { kind, reason: shorten(reason.trim() === "" ? "no reason given" : reason, longestReason) },
    evidence: [],
    usage: {},
    missing: []
  }
})

/** A reason is cut short afterwards, so that no half of a secret is left. */
const ofCause = (cause: Cause.Cause<unknown>, outcome?: DispatchEnd): Effect.Effect<Answer> =>
  Effect.flatMap(Failure.Classifier, (classifier) =>
    Effect.map(Redaction, (rules) => answerOf(cause, classifier, rules, outcome))
  )

const answerOf = (
  cause: Cause.Cause<unknown>,
  classifier: (error: unknown) => Failure.Kind | undefined,
  rules: Redaction,
  outcome?: DispatchEnd
): Answer => {
  const { error, kind } = Failure.classify(cause, classifier)
  const reason = error === undefined && Cause.hasInterruptsOnly(cause) ? "it was interrupted" : reasonOf(error)
  const retryAfter = Failure.retryAfterOf(error)
  const dependency = Dependency.blame(error)
  return {
    ...failure(kind ?? "defect", rules.text(reason), outcome),
    ...(dependency === undefined ? {} : { dependency }),
    ...(retryAfter === undefined ? {} : { retryAfterMillis: Duration.toMillis(retryAfter) })
  }
}

/** What a cause says of itself, as the error of a result. */
export const ofError = (cause: Cause.Cause<unknown>): Effect.Effect<Result.ErrorInfo> =>
  Effect.map(ofCause(cause), ({ result }) => result.error ?? { kind: "defect", reason: "no reason given" })

/** What is asked of an output beyond its schema. */
export type Judge = (result: Result.Envelope) => {
  readonly label?: string | undefined
  readonly against?: string | undefined
}

const ofOutput = (
  { seat }: Post,
  task: string,
  output: unknown,
  judge: Judge,
  at: number,
  rules: Redaction
): Effect.Effect<Answer> => {
  const check = (limit: number) =>
    Result.check(output, seat.worker.encodeOutput, {
      artefacts: seat.worker.artefacts,
      origin: { worker: seat.name, task, at },
      limit,
      redact: rules.text
    })
  const checked = check(largest)
  if (EffectResult.isSuccess(checked)) return ofEnvelope(checked.success, judge)
  const refused = failure(checked.failure[Failure.kind], checked.failure.message)
  if (checked.failure.oversized !== true) return Effect.succeed(refused)
  // What an event could not hold has to be in the store before it is taken for an answer.
  return Effect.flatMap(Effect.serviceOption(Artefacts.Artefacts), (store) => {
    if (Option.isNone(store)) return Effect.succeed(refused)
    const again = check(Math.max(largest, store.value.limit))
    if (EffectResult.isFailure(again)) {
      return Effect.succeed(failure(again.failure[Failure.kind], again.failure.message))
    }
    return Artefacts.putJson(again.success.output ?? null).pipe(
      Effect.provideService(Artefacts.Artefacts, store.value),
      Effect.andThen(ofEnvelope(again.success, judge)),
      orTrouble
    )
  })
}

/** What trouble of a store, or a bug in it, makes of an answer. */
const orTrouble = <R>(answer: Effect.Effect<Answer, Artefacts.ArtefactsError | Result.ResultInvalid, R>) =>
  answer.pipe(
    Effect.catch((error) => Effect.succeed(failure(error[Failure.kind] ?? "defect", error.message))),
    Effect.catchDefect((error) => Effect.succeed(failure("defect", reasonOf(error))))
  )

const ofEnvelope = (result: Result.Envelope, judge: Judge): Effect.Effect<Answer> => {
  const answer = judged(result, judge)
  if (result.artefacts === undefined) return Effect.succeed(answer)
  return orTrouble(Effect.as(delivered(result), answer))
}

const judged = (result: Result.Envelope, judge: Judge): Answer => {
  if (result.error !== undefined) return { result, outcome: outcomes[result.error.kind] }
  const { against, label } = judge(result)
  if (against === undefined) return { result, outcome: result.status === "completed" ? "accepted" : "partial", label }
  const { evidence, usage } = result
  const refused = failure("malformed", against, "rejected-quality")
  return { ...refused, result: { ...refused.result, evidence, usage } }
}

const ofActorFailure = (staff: Staff, post: Post, job: Job, error: Actor.ActorFailure): Effect.Effect<Answer> => {
  const { exit } = job
  if (error._tag === "AskTimeout") {
    const reason = `no answer within ${Duration.toMillis(post.seat.worker.attemptTimeout)} ms`
    return Effect.succeed(failure("transient", reason, "timed-out"))
  }
  if (error._tag === "ActorCrashed" && exit !== undefined && Exit.isFailure(exit)) {
    return ofCause(exit.cause, "crashed")
  }
  return Effect.map(isDown(staff, post), (down) =>
    down
      ? { ...failure("transient", `the domain ${post.seat.domain} is down`), final: true }
      : failure("transient", error.message)
  )
}

/**
 * What of an attempt is known outside of it.
 *
 * **Details**
 *
 * - `observing`: who sees it; `interrupted`: what an interruption of it means. `stands`: an answer as it counts. `unapproved`: whether it
 *   ended because people did not let it do something.
 * - `around`: what is done about its work as a whole. `pulse`: its signs of life. `late`: called when work that was left behind ends after all.
 *
 * @since 0.1.0
 */
export interface Trace {
  readonly observing: Observing
  readonly interrupted: () => Ended
  readonly stands: (answer: Answer) => Answer
  readonly unapproved: (answer: Answer) => boolean
  readonly around: (work: Job["work"]) => Job["work"]
  readonly pulse: Pulse
  readonly finished: { answer?: Answer; unsettled?: boolean }
  readonly late: () => void
}

/** The time is over, but not since the last sign of life: waits on as long as there are signs. */
const goOn = (job: Job, millis: number, pulse: Pulse, late: Actor.AskTimeout): Effect.Effect<void, Actor.AskTimeout> =>
  Clock.clockWith((clock) => {
    const left = pulse.at + millis - clock.currentTimeMillisUnsafe()
    if (left <= 0) return Effect.fail(late)
    return Effect.flatMap(Effect.timeoutOption(job.over(), left), (over) =>
      Option.isSome(over) ? Effect.void : goOn(job, millis, pulse, late)
    )
  })

/** Cancels the work; what does not stop is left behind, and told of when it ends. */
const stop = (staff: Staff, post: Post, member: Member, job: Job, trace: Trace): Effect.Effect<void> =>
  Effect.map(cancel(staff, post, member, job), (stopped) => {
    if (stopped) return
    trace.finished.unsettled = true
    job.late = trace.late
  })

const isLate = (reason: Cause.Reason<Actor.ActorFailure>): boolean =>
  Cause.isFailReason(reason) && reason.error._tag === "AskTimeout"

/**
 * Makes one attempt. When it is interrupted or timed out, the work is interrupted too, and this waits for it. What the work
 * had brought before it could be interrupted is left in `finished`.
 *
 * @since 0.1.0
 */
export const attempt = (
  staff: Staff,
  post: Post,
  { attempt, dispatch, task }: Pick<Order, "attempt" | "dispatch" | "task">,
  work: Job["work"],
  judge: Judge,
  trace: Trace
): Effect.Effect<Answer> =>
  Effect.uninterruptibleMask((restore) => {
    const carry = (member: Member, job: Job, timed = { out: false }): Effect.Effect<Answer> => {
      const { attemptTimeout } = post.seat.worker
      return restore(
        Effect.catchTag(give(member, job, attemptTimeout), "AskTimeout", (late) =>
          goOn(job, Duration.toMillis(attemptTimeout), trace.pulse, late)
        )
      ).pipe(
        Effect.onExit((exit) => {
          if (job.exit !== undefined) return Effect.void
          timed.out = Exit.isFailure(exit) && exit.cause.reasons.some(isLate)
          return stop(staff, post, member, job, trace)
        }),
        Effect.flatMap(() => restore(ofJob(post, task, job, judge))),
        Effect.catch((error) => ofActorFailure(staff, post, job, error)),
        Effect.onInterrupt(() => {
          if (job.cancelled || job.exit === undefined || Exit.isFailure(job.exit)) return Effect.void
          return Effect.map(Effect.timeoutOption(ofJob(post, task, job, judge), grace), (answer) => {
            if (Option.isSome(answer)) trace.finished.answer = answer.value
          })
        })
      )
    }
    const jobOf = () => new Job(trace.around(work))
    const watched = (member: Member, waitMillis: number) => {
      const job = jobOf()
      const timed = { out: false }
      const named = { attempt, dispatch, task, _tag: "Attempt", worker: post.seat.name, waitMillis } as const
      // What the work has brought counts, although what is around it may not be over when it is interrupted.
      const kept = Effect.map(carry(member, job, timed), (answer) => {
        if (job.exit !== undefined && Exit.isSuccess(job.exit)) trace.finished.answer = answer
        return answer
      })
      return Effect.map(restore(seen(named, kept, job, timed, trace)), (answer) => {
        delete trace.finished.answer
        return answer
      })
    }
    const free = restore(post.free.take)
    const taken = (given: (member: Member) => Effect.Effect<Answer>) =>
      Effect.flatMap(free, (member) => Effect.onExit(given(member), () => Effect.sync(() => post.free.put(member))))
    if (trace.observing.isNobody) return taken((member) => carry(member, jobOf()))
    return Clock.clockWith((clock) => {
      const since = clock.currentTimeMillisUnsafe()
      return taken((member) => watched(member, clock.currentTimeMillisUnsafe() - since))
    })
  })

/** Does an attempt with whoever sees it. What is interrupted inside of its work while that goes on is `cancelled`. */
const seen = (
  work: Work,
  effect: Effect.Effect<Answer>,
  job: Job,
  timed: { readonly out: boolean },
  trace: Trace
): Effect.Effect<Answer> => {
  const endOf = (answer: Answer): Ended => {
    const standing = trace.stands(answer)
    const { outcome, result } = standing
    const { error } = result
    if (error === undefined) return { outcome }
    // Where people did not let it be done, nothing has failed.
    const { kind, reason } = error
    return outcome === "denied" && trace.unapproved(standing) ? { outcome, reason } : { outcome, kind, reason }
  }
  return trace.observing.around(
    work,
    Effect.uninterruptible(effect),
    (exit) => (Exit.isSuccess(exit) ? endOf(exit.value) : { outcome: "crashed", kind: "defect" }),
    () => (trace.finished.answer === undefined ? trace.interrupted() : endOf(trace.finished.answer)),
    () => {
      if (!job.cancelled) return { outcome: "cancelled" }
      return timed.out ? { outcome: "timed-out", kind: "transient" } : trace.interrupted()
    }
  )
}

/**
 * Makes another attempt at an order, of which the input is looked at again.
 *
 * @since 0.1.0
 */
export const attemptAnew = (
  staff: Staff,
  post: Post,
  order: Order,
  judge: Judge,
  trace: Trace
): Effect.Effect<Answer> => {
  const prepared = post.seat.worker.prepare(order)
  return EffectResult.isFailure(prepared)
    ? Effect.succeed(failure("defect", `CONTRACT_INVALID: ${sentences(prepared.failure, "the inputs")}`))
    : attempt(staff, post, order, prepared.success, judge, trace)
}

const ofJob = (post: Post, task: string, { exit }: Job, judge: Judge): Effect.Effect<Answer> => {
  if (exit === undefined) return Effect.die(new Error("a member answered before its work had ended"))
  return Exit.isSuccess(exit)
    ? Effect.flatMap(Redaction, (rules) =>
        Clock.clockWith((clock) => ofOutput(post, task, exit.value, judge, clock.currentTimeMillisUnsafe(), rules))
      )
    : ofCause(exit.cause)
}
