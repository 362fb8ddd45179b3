/**
 * What an error says of itself.
 *
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"

import * as Failure from "../../Failure.ts"
import { show } from "./problems.ts"

/** What helps where a service is missing, which only Effect has said. */
const brought = "; a desk brings what its workers need by Desk.provide"

/** What an error says of itself, whatever it is. */
export const reasonOf = (error: unknown): string => {
  try {
    // Its kind is told beside it.
    if (error instanceof Failure.Failure) return error.reason
    if (Predicate.hasProperty(error, "message") && typeof error.message === "string" && error.message !== "") {
      return error.message.startsWith("Service not found:") ? `${error.message}${brought}` : error.message
    }
    if (Predicate.hasProperty(error, "_tag") && typeof error._tag === "string") return error._tag
    return typeof error === "string" ? error : show(error)
  } catch {
    return "an error that cannot be read"
  }
}
