/**
 * A stream of what happens from now on. A subscriber that does not keep up loses the newest, and is told how many.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** Elements that one subscriber may be behind. */
export const Buffer = 4096

/** Where what happens is put. */
export interface Feed<A> {
  offer(element: A): void
  end(): void
}

/** `subscribe` begins to put elements in, and its scope ends that; `missed` tells a subscriber of its gap. */
export const make = <A>(
  subscribe: (feed: Feed<A>) => Effect.Effect<unknown, never, Scope.Scope>,
  missed: (count: number) => A
): Stream.Stream<A> =>
  Stream.unwrap(
    Effect.gen(function* () {
      // Unbounded in type, bounded by the check below: a slow reader must hear how much it missed.
      const queue = yield* Queue.unbounded<A, Cause.Done>()
      let lost = 0
      const fill = (): void => {
        if (lost > 0) Queue.offerUnsafe(queue, missed(lost))
        lost = 0
      }
      yield* subscribe({
        offer: (element) => {
          if (Queue.sizeUnsafe(queue) >= Buffer) {
            lost += 1
            return
          }
          fill()
          Queue.offerUnsafe(queue, element)
        },
        end: () => {
          fill()
          Queue.endUnsafe(queue)
        }
      })
      return Stream.fromQueue(queue)
    })
  )
