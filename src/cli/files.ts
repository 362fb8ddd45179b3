/**
 * Files that a command reads and writes.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

import { Refused } from "./failures.ts"

/** What the system said of a file. */
export const refused = (what: string, cause: unknown): Refused => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : "unknown"
  const why = code === "EEXIST" ? "it is there already" : code === "ENOENT" ? "it is not there" : code
  return new Refused({ reason: `${what}: ${why}` })
}
