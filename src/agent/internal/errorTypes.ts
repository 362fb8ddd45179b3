/**
 * What `error.type` says: few words, the same on spans and metrics.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"

import type { Ended } from "../../run/Observer.ts"
import type { ErrorKind } from "../../run/Result.ts"
import type { DispatchEnd, Of } from "../../run/RunEvent.ts"

/**
 * Every value of `error.type` that espalier writes.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypes = [
  "timeout",
  "cancelled",
  "rate_limited",
  "quota_exhausted",
  "auth",
  "content_policy",
  "invalid_request",
  "invalid_output",
  "provider_internal",
  "network",
  "tool_not_found",
  "tool_parameters",
  "tool_failed",
  "contract_violation",
  "oversized",
  "denied",
  "budget_exceeded",
  "loop_detected",
  "breaker_open",
  "mailbox_full",
  "restart_intensity",
  "review_expired",
  "transient",
  "capability",
  "crash",
  "_OTHER"
] as const

/**
 * @category errors
 * @since 0.1.0
 */
export type ErrorType = (typeof errorTypes)[number]

/**
 * Whether it is one of {@link errorTypes}.
 *
 * @category guards
 * @since 0.1.0
 */
export const isErrorType = (value: unknown): value is ErrorType => errorTypes.some((known) => known === value)

const ofAi: Readonly<Record<AiError.AiErrorReason["_tag"], ErrorType>> = {
  RateLimitError: "rate_limited",
  QuotaExhaustedError: "quota_exhausted",
  AuthenticationError: "auth",
  ContentPolicyError: "content_policy",
  InvalidRequestError: "invalid_request",
  UnsupportedSchemaError: "invalid_request",
  InvalidUserInputError: "invalid_request",
  ToolConfigurationError: "invalid_request",
  ToolkitRequiredError: "invalid_request",
  InvalidResponseError: "invalid_output",
  InvalidOutputError: "invalid_output",
  StructuredOutputError: "invalid_output",
  InternalProviderError: "provider_internal",
  NetworkError: "network",
  ToolNotFoundError: "tool_not_found",
  ToolParameterValidationError: "tool_parameters",
  InvalidToolResultError: "tool_failed",
  ToolResultEncodingError: "tool_failed",
  UnknownError: "_OTHER"
}

/**
 * Of the reason of an `AiError`. A reason that is not known is `_OTHER`.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfAi = (reason: AiError.AiErrorReason["_tag"] | (string & {})): ErrorType =>
  Object.hasOwn(ofAi, reason) ? ofAi[reason as AiError.AiErrorReason["_tag"]] : "_OTHER"

const ofKind: Readonly<Record<ErrorKind, ErrorType>> = {
  transient: "transient",
  capability: "capability",
  oversized: "oversized",
  malformed: "contract_violation",
  denied: "denied",
  exhausted: "budget_exceeded",
  defect: "crash"
}

/**
 * What is known of a failure.
 *
 * **Details**
 *
 * - `kind`: absent = nobody has said what it means. `late`: what it failed of was time.
 *
 * @category errors
 * @since 0.1.0
 */
export interface Failed {
  readonly kind?: ErrorKind | undefined
  readonly late?: boolean | undefined
}

/**
 * Of a failure by its kind. A kind says what to do about a failure and not what it was, which is more than nothing.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfKind = ({ kind, late }: Failed): ErrorType =>
  late === true ? "timeout" : kind === undefined ? "_OTHER" : ofKind[kind]

const ofOutcome: Readonly<Record<DispatchEnd | "suspended" | "ok", ErrorType | "none" | "by-kind">> = {
  ok: "none",
  accepted: "none",
  partial: "none",
  suspended: "none",
  cancelled: "none",
  refused: "none",
  "rejected-quality": "none",
  "rejected-contract": "contract_violation",
  failed: "by-kind",
  "timed-out": "timeout",
  crashed: "crash",
  "budget-exceeded": "budget_exceeded",
  denied: "denied"
}

/**
 * Of a piece of work by how it ended, or `undefined` where that is not an error: it is done, in part or as a whole; it waits; it was
 * called back; somebody has judged it, or has said that it is not for them.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfOutcome = (
  outcome: DispatchEnd | "suspended" | "ok",
  failed: Failed = {}
): ErrorType | undefined => {
  const type = ofOutcome[outcome]
  return type === "none" ? undefined : type === "by-kind" ? errorTypeOfKind(failed) : type
}

/**
 * Of a piece of work by what its end means. What people were asked about and nobody let be done is `denied` with nothing to blame, and
 * no error.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfEnd = ({ kind, outcome }: Ended): ErrorType | undefined =>
  outcome === "denied" && kind === undefined
    ? undefined
    : errorTypeOfOutcome(outcome, { kind, late: outcome === "timed-out" })

/**
 * Of a call of a tool by what its end means. Where its kind does not say what it failed of, the tool has failed.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfTool = (ended: Ended): ErrorType | undefined => {
  const type = errorTypeOfEnd(ended)
  return type !== undefined && vague.has(type) ? "tool_failed" : type
}

/** What says less than who has failed. */
const vague: ReadonlySet<ErrorType> = new Set(["_OTHER", "transient", "capability"] as const)

/**
 * What the end of an order means. One that ended because people did not let it do something has nothing that is to blame on it.
 *
 * @category errors
 * @since 0.1.0
 */
export const endOfOrder = ({
  outcome,
  result: { error },
  review
}: Pick<Of<"Reported">, "outcome" | "result"> & { readonly review?: string | undefined }): Ended =>
  error === undefined || (outcome === "denied" && review !== undefined) ? { outcome } : { outcome, kind: error.kind }

/**
 * What the end of a choice means that came to nothing.
 *
 * @category errors
 * @since 0.1.0
 */
export const endOfChoice = ({
  error,
  late
}: Pick<Of<"DecisionFailed">, "error"> & { readonly late?: boolean | undefined }): Ended => ({
  outcome: late === true ? "timed-out" : "failed",
  kind: error.kind
})

const ofStop: Readonly<Record<Of<"RunFinished">["stopReason"], ErrorType | "none">> = {
  accepted: "_OTHER",
  empty: "_OTHER",
  "budget-exceeded": "budget_exceeded",
  deadline: "timeout",
  "no-ready-task": "_OTHER",
  "no-eligible-worker": "_OTHER",
  "loop-detected": "loop_detected",
  "stop-requested": "none",
  "rejected-by-reviewer": "none",
  "escalation-expired": "none",
  "untrusted-state": "_OTHER",
  "root-gave-up": "restart_intensity"
}

/**
 * Of a run by how it ended and why, or `undefined` where that is not an error: it is done, in part or as a whole; somebody has stopped
 * it; people did not let it go on, or did not answer.
 *
 * @category errors
 * @since 0.1.0
 */
export const errorTypeOfRun = ({
  status,
  stopReason
}: Pick<Of<"RunFinished">, "status" | "stopReason">): ErrorType | undefined => {
  if (status !== "failed") return undefined
  const type = ofStop[stopReason]
  return type === "none" ? undefined : type
}
