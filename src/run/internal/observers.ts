/**
 * Observers as services, each by a key of its own: layers that are merged side by side leave each other's alone.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

import type { Observer } from "../Observer.ts"

const prefix = "espalier/run/Observer/"

/** Those without a name are told apart by the order in which they were named here; nothing else depends on it. */
let unnamed = 0

/** A name that no other observer has. */
export const freshName = (): string => `#${++unnamed}`

/** An observer as a service. Of two of one name, the inner one is left. */
export const contextOf = (name: string, observer: Observer): Context.Context<never> =>
  Context.makeUnsafe(new Map([[prefix + name, observer]]))

/** The observers in a context. */
export const observersIn = (context: Context.Context<never>): ReadonlyArray<Observer> => {
  const found: Array<Observer> = []
  for (const [key, service] of context.mapUnsafe) if (key.startsWith(prefix)) found.push(service)
  return found
}

/** A context with these observers, and no others. */
export const withOnly = <R>(context: Context.Context<R>, observers: ReadonlyArray<Observer>): Context.Context<R> => {
  const map = new Map<string, unknown>()
  for (const [key, service] of context.mapUnsafe) if (!key.startsWith(prefix)) map.set(key, service)
  for (const observer of observers) map.set(prefix + freshName(), observer)
  return Context.makeUnsafe(map)
}
