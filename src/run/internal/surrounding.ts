/**
 * What an observer puts around a piece of work: whatever it is, the work is done once, and comes out as it does by itself.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

import { heard } from "../../internal/heard.ts"

/** Whether two failures are of the same: an interruption is no part of that, and where they came by is not. */
const isSame = (one: Cause.Cause<unknown>, other: Cause.Cause<unknown>): boolean => {
  const errors = ({ reasons }: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
    reasons.flatMap((each) => (Cause.isFailReason(each) ? [each.error] : Cause.isDieReason(each) ? [each.defect] : []))
  const ones = errors(one)
  const others = errors(other)
  return ones.length === others.length && ones.every((each, index) => Object.is(each, others[index]))
}

/** What an observer gives for an effect, which may be anything. */
export const effectOf = <A, E, R>(given: Effect.Effect<A, E, R> | undefined): Effect.Effect<A, E, R> => {
  if (Effect.isEffect(given)) return given
  heard(given, () => {})
  throw new TypeError("it is no effect that an observer answers with")
}

/** What is wrong with what an observer makes of the end of a piece of work, if anything is. */
const changed = (own: Exit.Exit<unknown, unknown>, given: Exit.Exit<unknown, unknown>): unknown => {
  if (Exit.isFailure(given)) {
    return Exit.isFailure(own) && isSame(own.cause, given.cause) ? undefined : Cause.squash(given.cause)
  }
  return Exit.isSuccess(own) && Object.is(own.value, given.value)
    ? undefined
    : new Error("it answered with something else than the work")
}

/**
 * Does work with something around it, which gets the work and is told of where it is of no good.
 *
 * @since 0.1.0
 */
export const surrounded = <A, E, R>(
  around: (work: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> | undefined,
  work: Effect.Effect<A, E, R>,
  trouble: (error: unknown) => void
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) => {
    const own = Deferred.makeUnsafe<A, E>()
    let begun = 0
    let by: Fiber.Fiber<unknown, unknown> | undefined
    let exit: Exit.Exit<A, E> | undefined
    const end = (as: Exit.Exit<A, E>) =>
      Effect.sync(() => {
        exit ??= as
        Deferred.doneUnsafe(own, exit)
      })
    // What has begun always comes to an end that is known.
    const tracked = Effect.uninterruptibleMask((restore) =>
      Effect.withFiber<A, E, R>((fiber) => {
        begun += 1
        if (begun > 1 || exit !== undefined) return restore(Deferred.await(own)) // B2
        by = fiber
        return Effect.onExit(restore(work), end)
      })
    )
    // B1
    const settle = (given: Exit.Exit<A, E>): Effect.Effect<A, E, R> => {
      if (begun === 0) {
        return Effect.flatMap(Effect.exit(restore(Effect.void)), (now) => {
          if (Exit.isFailure(now)) {
            const { cause } = now
            return Effect.andThen(end(Exit.failCause(cause)), Effect.failCause(cause))
          }
          const why = Exit.isFailure(given) ? Cause.squash(given.cause) : new Error("it left the work out")
          trouble(why)
          return restore(tracked)
        })
      }
      // Whoever has the work done beside does not end before it, and does not keep it from being interrupted.
      if (exit === undefined) {
        const over = Effect.onInterrupt(restore(Deferred.await(own)), () =>
          by === undefined ? Effect.void : Fiber.interrupt(by)
        )
        return Effect.flatMap(Effect.exit(over), () => settle(given))
      }
      const wrong = begun > 1 ? new Error("it had the work done more than once") : changed(exit, given)
      if (wrong !== undefined) trouble(wrong)
      return exit
    }
    const wrapped = Effect.suspend(() => effectOf(around(tracked)))
    return Effect.matchCauseEffect(restore(wrapped), {
      onFailure: (cause) => settle(Exit.failCause(cause)),
      onSuccess: (value) => settle(Exit.succeed(value))
    })
  })
