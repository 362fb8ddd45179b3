/**
 * Follows the events of a tree, to the last one.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import type { Event, Tree } from "../../Tree.ts"

/** Whether a tree has ended. */
const isOver = (tree: Tree["Service"]): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const end = yield* Effect.forkChild(Effect.exit(tree.ended), { startImmediately: true })
    const over = end.pollUnsafe() !== undefined
    yield* Fiber.interrupt(end)
    return over
  })

/**
 * Takes the events of a tree as they come, for as long as the scope, or until the tree ends. Of a tree that has ended before the scope
 * does, all events are taken before the scope has closed. The buffer of events has a bound of its own. Where `take` throws, `lost` is called,
 * and what comes after is taken.
 *
 * @since 0.1.0
 */
export const following = (
  tree: Tree["Service"],
  take: (events: ReadonlyArray<Event>) => void,
  lost: () => void
): Effect.Effect<void, never, Scope.Scope> => {
  const taken = (events: ReadonlyArray<Event>): void => {
    try {
      take(events)
    } catch {
      lost()
    }
  }
  return Effect.asVoid(
    Effect.acquireRelease(
      Effect.forkDetach(
        Stream.runForEachArray(tree.events, (events) => Effect.sync(() => taken(events))),
        { startImmediately: true }
      ),
      (fiber) =>
        Effect.flatMap(isOver(tree), (over) => (over ? Effect.asVoid(Fiber.await(fiber)) : Fiber.interrupt(fiber)))
    )
  )
}
