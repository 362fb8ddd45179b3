/**
 * Variables of the environment.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"

/** A variable; `undefined`: it is not set, or has nothing but blanks. */
export const variable = <A>(
  name: string,
  read: (name: string) => Config.Config<A>
): Effect.Effect<A | undefined, Config.ConfigError> =>
  Effect.gen(function* () {
    const text = yield* Config.String(name).pipe(Config.withDefault(""))
    return text.trim() === "" ? undefined : yield* read(name)
  })
