/**
 * Signs of life of a dispatch: when its worker last said that it is getting on.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** @since 0.1.0 */
export class Pulse {
  /** Milliseconds since 1970; nothing was said before the first one. */
  at = Number.NEGATIVE_INFINITY

  readonly beat: Effect.Effect<void> = Clock.clockWith((clock) =>
    Effect.sync(() => {
      this.at = clock.currentTimeMillisUnsafe()
    })
  )
}
