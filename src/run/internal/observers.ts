/**
 * Observers as services, each by a key of its own: layers that are merged side by side leave each other's alone.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"

import type { Observer } from "../Observer.ts"

/** Nothing but observers is below it, whatever their names are. */
const prefix = "espalier/run/Observer/each/"

/** Those without a name are told apart by the order in which they were named here; nothing else depends on it. */
let unnamed = 0

/** By what an observer is found: of two of one name, the inner one is left; one without a name takes the place of none. */
export const keyOf = (name: string | undefined): string => prefix + (name === undefined ? `#${++unnamed}` : `=${name}`)

/** An observer as a service. */
export const contextOf = (key: string, observer: Observer): Context.Context<never> =>
  Context.makeUnsafe(new Map([[key, observer]]))

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
  for (const observer of observers) map.set(keyOf(undefined), observer)
  return Context.makeUnsafe(map)
}
