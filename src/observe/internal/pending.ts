/**
 * The questions to people that are open in a journal, read again from time to time, and when something happens to one.
 *
 * The lists of the journal have those of all runs, whoever carries them out, and of those that nobody does, as they wait.
 *
 * **Invariants**
 *
 * - P1. Of a journal that cannot be read nothing is shown: an old number would look like a new one.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"

import type * as Journal from "../../journal/Journal.ts"
import type { Board } from "./board.ts"
import { attribute as a, word } from "./names.ts"
import { type Sample, sample } from "./sample.ts"

/** How many are open of each kind, and how old the oldest is at `at`. */
export const pendingSamples = (
  open: ReadonlyArray<Pick<Journal.ListedReview, "kind" | "openedAt">>,
  at: number
): ReadonlyArray<Sample> => {
  const kinds = new Map<string, { count: number; since: number }>()
  for (const { kind, openedAt } of open) {
    const before = kinds.get(kind)
    kinds.set(kind, { count: (before?.count ?? 0) + 1, since: Math.min(before?.since ?? openedAt, openedAt) })
  }
  return Array.from(kinds).flatMap(([kind, { count, since }]) => {
    const of = { [a.reviewKind]: word(kind) }
    return [
      sample("espalier.review.pending.count", count, of),
      sample("espalier.review.pending.age", Math.max(0, at - since) / 1000, of)
    ]
  })
}

/** Shows them on a board for as long as the scope. The answer has them read again soon. */
export const watch = (
  journal: Journal.Journal["Service"],
  board: Board,
  every: Duration.Duration
): Effect.Effect<() => void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const news = Latch.makeUnsafe(true)
    let open: ReadonlyArray<Journal.ListedReview> = []
    const shown = yield* Effect.acquireRelease(
      Effect.sync(() => board.add(() => pendingSamples(open, clock.currentTimeMillisUnsafe()))),
      ({ remove }) => Effect.sync(remove)
    )
    const read = Effect.suspend(() => {
      Latch.closeUnsafe(news)
      return Effect.map(
        Effect.orElseSucceed(journal.reviews(), () => []),
        (found) => {
          open = found // P1
          shown.refresh()
        }
      )
    })
    const soon = Effect.timeoutOption(Latch.await(news), every)
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(soon, read)))
    return () => {
      Latch.openUnsafe(news)
    }
  })
