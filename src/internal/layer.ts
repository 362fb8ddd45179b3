/**
 * The life of a layer: built by the init in the incarnation's scope, kept until the run effect ends.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Builds the layer for this incarnation alone; the value runs with its services. */
export const init = <A, E, R, E2, R2>(layer: Layer.Layer<A, E, R>, run: Effect.Effect<unknown, E2, R2> | undefined) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    // A memo map of its own: nothing built before, or beside it, is used again.
    const built: Context.Context<A> = yield* Layer.buildWithMemoMap(layer, Layer.makeMemoMapUnsafe(), scope)
    return run === undefined ? Effect.never : Effect.provideContext(run, built)
  })
