/**
 * One after the other, by what it is about: who reads something, decides about it and writes it looks at what the one before
 * has written.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

interface Turn {
  readonly one: Semaphore.Semaphore
  waiting: number
}

const turns = new WeakMap<object, Map<string, Turn>>()

/** Runs an effect when nobody else runs one about the same `name` of the same `of`. Nothing is kept of who is done. */
export const inTurn = <A, E, R>(of: object, name: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const names = turns.get(of) ?? new Map<string, Turn>()
    turns.set(of, names)
    const turn = names.get(name) ?? { one: Semaphore.makeUnsafe(1), waiting: 0 }
    names.set(name, turn)
    turn.waiting += 1
    return Effect.ensuring(
      turn.one.withPermits(1)(effect),
      Effect.sync(() => {
        turn.waiting -= 1
        if (turn.waiting === 0) names.delete(name)
      })
    )
  })
