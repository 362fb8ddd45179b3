/**
 * Children made from a template: many of one spec under one supervisor, each with an id and references of its own.
 */
import { format } from "effect/Formatter"

import * as Child from "../Child.ts"
import type { Mount, Parent } from "./mount.ts"
import type { Runtime } from "./runtime.ts"

/** Whether a value is one type or several: a child of one reference can be handed out as that reference. */
type IsUnion<A, B = A> = A extends unknown ? ([B] extends [A] ? false : true) : never

/**
 * The reference that a child provides: its value when it provides one service, `undefined` when none or several.
 *
 * @category models
 * @since 0.1.0
 */
export type RefOf<P> = [P] extends [never]
  ? undefined
  : IsUnion<P> extends true
    ? undefined
    : P extends { readonly Service: infer S }
      ? S
      : unknown

/** Whether a template's child provides all that its service declares. */
export type Declared<P, Provides> = [Provides] extends [P]
  ? unknown
  : "the template's child does not provide what the service declares"

/** Throws when what a template returned is no child. */
export const mustBeChild = (where: string, id: string, child: unknown): void => {
  if (typeof child !== "object" || child === null || !(Child.TypeId in child)) {
    throw new RangeError(`${where}: template of ${id} must return a child made by this library, got ${format(child)}`)
  }
}

/** Throws when a child would end a supervisor that never shuts itself down. */
export const mustBeInsignificant = (where: string, id: string, child: Child.Any): void => {
  if (child.policy.significant) {
    throw new RangeError(`${where}: significant of a child of ${id} must be false, got true`)
  }
}

/** Throws when a template is no function. */
export const mustBeTemplate = (where: string, id: string, template: unknown): void => {
  if (typeof template !== "function") {
    throw new RangeError(`${where}: template of ${id} must be a function, got ${format(template)}`)
  }
}

/** Throws when an option is given that such a supervisor does not have, unless it says what holds anyway. */
export const mustBeOneForOne = (where: string, id: string, options: object | undefined): void => {
  const given = (options ?? {}) as { readonly strategy?: unknown; readonly autoShutdown?: unknown }
  if (given.strategy !== undefined && given.strategy !== "one-for-one") {
    throw new RangeError(`${where}: strategy of ${id} must be one-for-one, got ${Child.show(given.strategy)}`)
  }
  if (given.autoShutdown !== undefined && given.autoShutdown !== "never") {
    throw new RangeError(`${where}: autoShutdown of ${id} must be never, got ${Child.show(given.autoShutdown)}`)
  }
}

/** Mounts a template's child under a name of its own. */
export const mountAs = (id: string, child: Child.Any, runtime: Runtime, parent: Parent): Mount => {
  const mount = child.mount(runtime, parent)
  mount.seat = { id, provides: child.provides, context: undefined }
  return mount
}

/** The one reference that a template's child provides. */
export const refOf = (mount: Mount): unknown => {
  const provides = mount.seat?.provides ?? []
  return provides.length === 1 ? mount.refs.get(provides[0]!) : undefined
}
