/**
 * A run as a stream that holds one page at a time.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

import type { Page } from "./row.ts"

/** The events `from` … `last`, each page fetched when the one before has been consumed. */
export const pages = <A, E>(
  from: number,
  last: number,
  fetch: (from: number) => Effect.Effect<Page<A>, E>
): Stream.Stream<A, E> =>
  from > last
    ? Stream.empty
    : Stream.paginate(from, (from) =>
        Effect.map(fetch(from), (page) => [page.events, Option.fromUndefinedOr(page.next)] as const)
      )
