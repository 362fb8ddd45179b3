/**
 * What keeps telemetry of others from doing harm.
 *
 * A tracer, a logger or their exporter is called by the program itself, and what it throws is the program's. So is what it
 * throws at the end. Behind a bulkhead, the program has the result that it has without it.
 *
 * **Details**
 *
 * - What was thrown is counted in `espalier.telemetry.dropped` with the reason `thrown`.
 * - An end that fails, or does not come in time, is logged by the loggers below the layer.
 * - `Otlp` has its own bulkhead, which does more: see there.
 *
 * **Invariants**
 *
 * - H1. No tracer and no logger of the layer throws.
 * - H2. Its end throws nothing, and is over within `shutdownTimeout`.
 *
 * **Gotchas**
 *
 * - What works long without giving way, or blocks, blocks the program. Nothing in the same process can help.
 * - The layer itself may still fail: an exporter that cannot be made is a mistake to be told.
 *
 * **Example** (A tracer that throws)
 *
 * ```ts
 * import { Effect, Layer, Tracer } from "effect"
 * import { Bulkhead } from "espalier/observe"
 *
 * const broken = Layer.succeed(
 *   Tracer.Tracer,
 *   Tracer.make({
 *     span: () => {
 *       throw new Error("no more spans")
 *     }
 *   })
 * )
 * const order = Effect.succeed("packed").pipe(Effect.withSpan("order"))
 *
 * const bare = await Effect.runPromiseExit(Effect.provide(order, broken))
 * bare._tag // => "Failure"
 * await Effect.runPromise(Effect.provide(order, Bulkhead.around(broken))) // => "packed"
 * ```
 *
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import { Given } from "../run/internal/given.ts"
import { dropped, type Signal } from "./internal/drops.ts"
import * as Guard from "./internal/guard.ts"

/**
 * How long it may take.
 *
 * **Details**
 *
 * - `shutdownTimeout`: how long the program waits for the end of the layer, >= 0. Default 5 s: longer than the 3 s which exporters
 *   of Effect and the SDK wait themselves.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly shutdownTimeout?: Duration.Input | undefined
}

/**
 * The layer, with its tracer and loggers behind a bulkhead.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` for an option that is out of range.
 *
 * @category layers
 * @since 0.1.0
 */
export const around = <A, E, R>(
  telemetry: Layer.Layer<A, E, R>,
  options: Options = {}
): Layer.Layer<A, E, Exclude<R, Scope.Scope>> => {
  const given = new Given("Bulkhead.around")
  given.record("options", options, ["shutdownTimeout"])
  const within = given.duration("shutdownTimeout", options.shutdownTimeout ?? "5 seconds", "zero")
  return Layer.effectContext(
    Effect.gen(function* () {
      const outside = yield* Effect.context<never>()
      const scope = yield* Scope.make()
      yield* Effect.addFinalizer((exit) =>
        Effect.gen(function* () {
          // H2: an end that cannot be interrupted is left to itself.
          const closing = yield* Effect.forkDetach(Effect.interruptible(Scope.close(scope, exit)))
          const closed = yield* Effect.timeoutOption(Effect.interruptible(Fiber.await(closing)), within)
          if (Option.isNone(closed)) yield* tell("no end in time")
          else if (Exit.isFailure(closed.value)) yield* tell("a failure")
          closing.interruptUnsafe()
        })
      )
      return behind(yield* Layer.buildWithScope(telemetry, scope), outside)
    })
  )
}

/** By the loggers below the layer. What was thrown may say anything, and is not told. */
const tell = (why: string): Effect.Effect<void> =>
  Effect.ignoreCause(Effect.logWarning("Telemetry did not end well; what it had may be lost", { why }))

const behind = <A>(inside: Context.Context<A>, outside: Context.Context<never>): Context.Context<A> => {
  const lost = (signal: Signal) => () => dropped(signal, "thrown", outside, 1)
  const services = new Map(inside.mapUnsafe)
  const tracer = Context.getOrUndefined(inside, Tracer.Tracer)
  if (tracer !== undefined) {
    const methods = ["end", "attribute", "event", "addLinks"] as const
    services.set(Tracer.Tracer.key, Guard.tracer(tracer, methods, lost("traces")))
  }
  const loggers = Context.getOrUndefined(inside, Logger.CurrentLoggers)
  if (loggers !== undefined) {
    const before = Context.get(outside, Logger.CurrentLoggers)
    const guarded = [...loggers].map((each) => (before.has(each) ? each : Guard.logger(each, lost("logs"))))
    services.set(Logger.CurrentLoggers.key, new Set(guarded))
  }
  return Context.makeUnsafe(services)
}
