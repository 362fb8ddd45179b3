/**
 * The way from what users hold (an actor's reference, a handle) to the place in the tree that it means.
 */
import { showPath } from "./errors.ts"
import type { Mount } from "./mount.ts"

/** The property that holds the place: a symbol, so that no rpc can be called like it. */
export const Place = Symbol.for("~espalier/Place")

export interface Placed<M extends Mount = Mount> {
  readonly [Place]: M
}

const inspect = Symbol.for("nodejs.util.inspect.custom")

/** Lets an object be shown by a text alone: what is behind it is the whole tree, with every service that it holds. */
export const shownAs = <A extends object>(object: A, text: (this: A) => string): A =>
  Object.defineProperties(object, {
    toString: { value: text },
    toJSON: { value: text },
    [inspect]: { value: text }
  })

/** Gives an object its place, where nobody sees it. */
export const placed = <A extends object>(object: A, mount: Mount, name: string): A =>
  shownAs(Object.defineProperty(object, Place, { value: mount }), () => `${name}(${showPath(mount.path)})`)

/** The place that an object means, if it is one of the tree's. */
export const placeOf = (target: unknown): Mount | undefined =>
  (typeof target === "object" && target !== null) || typeof target === "function"
    ? (target as Partial<Placed>)[Place]
    : undefined
