/**
 * What `error.type` of an exit is: of the call of a model, or of whatever else a span is around.
 *
 * @since 0.1.0
 */
import * as AiError from "effect/ai/AiError"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"

import * as Failure from "../../Failure.ts"
import type * as HttpFailure from "../../run/HttpFailure.ts"
import type * as ModelCall from "../ModelCall.ts"
import * as ModelFailure from "../ModelFailure.ts"
import { errorTypeOfAi, errorTypeOfKind, type ErrorType } from "./errorTypes.ts"

/**
 * How a call of a model is looked at.
 *
 * **Details**
 *
 * - `late`: its time was over, whatever it was interrupted by. `overrides`: see `ModelFailure.Overrides`.
 */
export interface Looked {
  readonly late?: boolean | undefined
  readonly overrides?: HttpFailure.Table | undefined
}

/** Providers have no reason of their own for what is too large. */
const ofAi = (error: AiError.AiError, overrides: HttpFailure.Table | undefined): ErrorType =>
  ModelFailure.classify(error, { overrides }).kind === "oversized" ? "oversized" : errorTypeOfAi(error.reason._tag)

/** `undefined` where nothing is wrong: it succeeded, or was only interrupted. */
export const errorTypeOfExit = (
  exit: Exit.Exit<unknown, unknown>,
  { late = false, overrides }: Looked = {}
): ErrorType | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  if (Cause.hasInterruptsOnly(exit.cause)) return late ? "timeout" : undefined
  try {
    const { error, kind } = Failure.classify(exit.cause)
    if (AiError.isAiError(error)) return ofAi(error, overrides)
    if (kind !== undefined) return errorTypeOfKind({ kind })
    return exit.cause.reasons.some(Cause.isDieReason) ? "crash" : "_OTHER"
  } catch {
    return "_OTHER"
  }
}

/** Of a recorded call: what was recorded, or what can be known of one that is older than that. */
export const errorTypeOfCall = ({
  end,
  errorType
}: Pick<ModelCall.Call, "end" | "errorType">): ErrorType | undefined => {
  if (end === "answered" || end === "interrupted") return undefined
  return errorType ?? (end === "malformed" ? "invalid_output" : errorTypeOfKind({ kind: end }))
}
