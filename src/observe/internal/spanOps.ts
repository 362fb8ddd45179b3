/**
 * What is to be done with spans, as data.
 *
 * @since 0.1.0
 */
import { errorTypeOfEnd } from "../../agent/internal/errorTypes.ts"
import type { Ended } from "../../run/Observer.ts"
import { type Attributes, type ErrorType, espalier, value } from "../SemConv.ts"
import type { Link } from "./spanSegments.ts"

export type Fields = Readonly<Record<string, string | number | boolean>>

/**
 * What is to be done with spans.
 *
 * **Details**
 *
 * - `Open`: below `parent`, absent for the root of a trace; `within`: it is in a trace that another process began. `sampled`:
 *   whether it is told, absent = as what it is below.
 * - `Tell`: more of one that is open.
 * - `Close`: `error` is the type of its failure; `quiet`: it neither failed nor is done; `kept`: others point to it afterwards, until
 *   `Forget`.
 */
export type Op =
  | {
      readonly _tag: "Open"
      readonly id: string
      readonly parent: string | undefined
      readonly name: string
      readonly kind: "internal" | "producer"
      readonly attributes: Fields
      readonly links: ReadonlyArray<Link>
      readonly within?: string | undefined
      readonly sampled?: boolean
    }
  | { readonly _tag: "Tell"; readonly id: string; readonly attributes: Fields }
  | {
      readonly _tag: "Close"
      readonly id: string
      readonly error: string | undefined
      readonly quiet: boolean
      readonly kept: boolean
      readonly attributes: Fields
    }
  | { readonly _tag: "Forget"; readonly id: string }

export type Open = Extract<Op, { readonly _tag: "Open" }>

/** How a span ends. `error`: the type of its failure, where its end alone does not say it. */
export interface How extends Ended {
  readonly error?: ErrorType | undefined
}

/** Ends that are neither a failure nor done, where they are no error. */
const quiet: ReadonlySet<Ended["outcome"]> = new Set(["suspended", "cancelled", "refused", "denied"] as const)

/** How a span ends. */
export const closing = (id: string, how: How, names: Attributes, attributes: Fields = {}): Op => {
  const { outcome } = how
  const error = "error" in how ? how.error : errorTypeOfEnd(how)
  return {
    _tag: "Close",
    id,
    error,
    quiet: error === undefined && quiet.has(outcome),
    kept: id.startsWith("attempt ") || id.startsWith("dispatch "),
    attributes: {
      ...attributes,
      [espalier.outcome]: outcome === "accepted" ? "ok" : value(outcome),
      ...(how.kind === undefined ? {} : { [espalier.failureKind]: value(how.kind) }),
      ...(error === undefined ? {} : { [names.errorType]: error })
    }
  }
}
