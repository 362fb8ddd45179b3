/**
 * Spans that are sent as soon as they are over: anchors, which others point to whatever becomes of this process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import { spanName } from "../SemConv.ts"

/** So long nothing is sent again for the sake of an anchor. */
const pause = "100 millis"

/** Has something done soon, however often it is asked for: once for all who ask while it is done or rests. */
const soon = (run: Effect.Effect<void>): Effect.Effect<() => void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const asked = yield* Latch.make()
    const round = asked.await.pipe(
      Effect.andThen(Effect.sync(() => asked.closeUnsafe())),
      Effect.andThen(run),
      Effect.andThen(Effect.sleep(pause))
    )
    yield* Effect.forkScoped(Effect.forever(round))
    return () => void asked.openUnsafe()
  })

/** A tracer whose anchors are handed over by `hand` when they end, and not when it is time. */
export const prompting = (
  inner: Tracer.Tracer,
  hand: Effect.Effect<void>
): Effect.Effect<Tracer.Tracer, never, Scope.Scope> =>
  Effect.map(soon(hand), (ask) =>
    Tracer.make({
      span(options) {
        const span = inner.span(options)
        if (options.name !== spanName.segment) return span
        const end = span.end.bind(span)
        span.end = (time, exit) => {
          end(time, exit)
          ask()
        }
        return span
      },
      ...(inner.context && { context: inner.context.bind(inner) })
    })
  )
