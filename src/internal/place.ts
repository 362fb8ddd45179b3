/**
 * The way from what users hold (an actor's reference, a handle) to the place in the tree that it means.
 */
import type { Mount } from "./mount.ts"

/** The property that holds the place: a symbol, so that no rpc can be called like it. */
export const Place = Symbol.for("~espalier/Place")

export interface Placed<M extends Mount = Mount> {
  readonly [Place]: M
}

/** Gives an object its place, where nobody sees it. */
export const placed = <A extends object>(object: A, mount: Mount): A =>
  Object.defineProperty(object, Place, { value: mount })

/** The place that an object means, if it is one of the tree's. */
export const placeOf = (target: unknown): Mount | undefined =>
  (typeof target === "object" && target !== null) || typeof target === "function"
    ? (target as Partial<Placed>)[Place]
    : undefined
