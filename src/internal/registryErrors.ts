/**
 * The errors of a registry. Public through `Registry`.
 */
import { format } from "effect/Formatter"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { showPath } from "./errors.ts"

const where = { registry: Schema.String, key: Schema.Unknown }

const show = (key: unknown): string => (typeof key === "string" ? key : format(key))

/**
 * The key is taken. Nothing was registered.
 *
 * **Details**
 *
 * `owner`: the path of the child that has it.
 *
 * @category errors
 * @since 0.1.0
 */
export class AlreadyRegistered extends Schema.TaggedError<AlreadyRegistered>("espalier/Registry/AlreadyRegistered")(
  "AlreadyRegistered",
  { ...where, owner: Schema.Array(Schema.String) }
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${show(this.key)} is registered in ${this.registry} already, by ${showPath(this.owner)}`
  }
}

/**
 * Nobody has registered the key, or whoever had is gone.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotRegistered extends Schema.TaggedError<NotRegistered>("espalier/Registry/NotRegistered")(
  "NotRegistered",
  where
) {
  readonly [Failure.kind] = "transient"

  override get message(): string {
    return `${show(this.key)} is not registered in ${this.registry}`
  }
}

/**
 * The entry belongs to somebody else, or is not there. Nothing was changed.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotOwner extends Schema.TaggedError<NotOwner>("espalier/Registry/NotOwner")("NotOwner", {
  ...where,
  caller: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `${showPath(this.caller)} does not own ${show(this.key)} of ${this.registry}`
  }
}
