/**
 * What is going on in a run, as far as it is measured.
 *
 * @since 0.1.0
 */
import type { ErrorType } from "../../../agent/internal/errorTypes.ts"
import type { DispatchEnd, Of } from "../../../run/RunEvent.ts"
import type { Waiting } from "./waiting.ts"

/** An order that is open. */
export interface OpenOrder {
  readonly dispatch: string
  readonly worker: string
  readonly at: number
  readonly first: boolean
  readonly waiting: Waiting
  models: number
  tools: number
  retryUntil: number
}

/** Tokens by kind. */
export interface Tokens {
  input: number
  output: number
  cacheRead: number
  reasoning: number
}

/** A task that is not over. */
export interface OpenTask {
  readonly id: string
  readonly group: string
  readonly needs: ReadonlyArray<string>
  /** how many of them are not over */
  open: number
  readonly method: "llm" | "rule"
  readonly waiting: Waiting
  readonly depth: number
  readonly correcting: boolean
  /** since when it could begin, in milliseconds since 1970 */
  readyAt: number
  state: "queued" | "ready" | "running" | "awaiting_review"
  /** the workers that got it, with how often, and how the last order of each ended */
  readonly orders: Map<string, { times: number; outcome?: DispatchEnd }>
  routed: string | undefined
  order: OpenOrder | undefined
  attempts: number
  steps: number
  delivered: boolean
  accepted: string | undefined
  /** of what it failed last; `none`: of nothing that is an error */
  lastError: ErrorType | "none" | undefined
  readonly tokens: Tokens
  readonly costs: Map<string, number>
}

/** A question that is open. */
export interface OpenReview {
  readonly event: Of<"ReviewOpened">
  stage: "primary" | "alternate" | "escalated"
  /** since when somebody takes care of it, and until when at most */
  claim: { readonly since: number; readonly until: number } | undefined
}

/** A choice that somebody was asked for. */
export interface OpenChoice {
  readonly purpose: string
  readonly subject: string
  readonly waiting: Waiting
  readonly at: number
  models: number
}
