/**
 * One call to a model, as it is recorded: which model, how it ended, what it used, and what that cost.
 *
 * **Details**
 *
 * - Tokens are counted once: `input` leaves out what was read from or written to a cache, and `reasoning` is a part of
 *   `output`.
 * - A price that is not known is absent, never 0.
 *
 * **Example** (What a call used, as a run counts it)
 *
 * ```ts
 * import { ModelCall } from "espalier/agent"
 *
 * const call: ModelCall.Call = {
 *   provider: "anthropic",
 *   model: "claude-sonnet-4-6",
 *   step: 0,
 *   attempt: 1,
 *   end: "answered",
 *   finish: "stop",
 *   usage: { input: 120, output: 40, cacheRead: 1_000, reasoning: 25 },
 *   durationMillis: 850
 * }
 * ModelCall.usageOf(call) // => { tokens: 1_160 }
 * ModelCall.usageOf({ ...call, cost: 0.0021, currency: "USD" }) // => { tokens: 1_160, cost: 0.0021 }
 * ```
 *
 * @since 0.1.0
 */
import * as Response from "effect/ai/Response"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { Cost, Count } from "../run/internal/fields.ts"
import type * as Result from "../run/Result.ts"
import { errorTypes } from "./internal/errorTypes.ts"

/** @since 0.1.0 */
export interface Tokens extends Schema.Schema.Type<typeof Tokens> {}

/**
 * Tokens by kind, whole numbers >= 0.
 *
 * **Details**
 *
 * - `input`: of the prompt, without those of a cache. `cacheRead`, `cacheWrite`: those of a cache. Absent = none.
 * - `output`: of the answer, with the reasoning. `reasoning`: how many of them. Absent = not said.
 *
 * @category models
 * @since 0.1.0
 */
export const Tokens = Schema.Struct({
  input: Count,
  output: Count,
  cacheRead: Schema.optionalKey(Count),
  cacheWrite: Schema.optionalKey(Count),
  reasoning: Schema.optionalKey(Count)
})

/**
 * How a call ended: with an answer, with a kind of failure, with a bug in the adapter (`defect`), or because whoever made it
 * took it back.
 *
 * @category models
 * @since 0.1.0
 */
export const End = Schema.Literals(["answered", ...Failure.kinds, "defect", "interrupted"])

/**
 * @category models
 * @since 0.1.0
 */
export type End = typeof End.Type

/** @since 0.1.0 */
export interface Call extends Schema.Schema.Type<typeof Call> {}

/**
 * One call, as plain JSON.
 *
 * **Details**
 *
 * - `step`: the position of the model in its chain, from 0. `attempt`: which call for the same question it is, from 1.
 * - `finish`: why the model stopped; only with an answer. `requestId`: by which its provider knows the call.
 * - `estimated`: the provider did not say what was used; `usage` is what was set aside. Absent = it said.
 * - `cost`, `currency`: both or neither; neither = the price is not known.
 * - `errorType`: what it failed of, as `error.type` of its span says it. Absent = it has not failed, or is older than this field.
 * - `reason`: why it failed, in short.
 *
 * @category models
 * @since 0.1.0
 */
export const Call = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  step: Count,
  attempt: Count,
  end: End,
  errorType: Schema.optionalKey(Schema.Literals(errorTypes)),
  finish: Schema.optionalKey(Response.FinishReason),
  requestId: Schema.optionalKey(Schema.String),
  usage: Tokens,
  estimated: Schema.optionalKey(Schema.Literal(true)),
  cost: Schema.optionalKey(Cost),
  currency: Schema.optionalKey(Schema.String),
  durationMillis: Schema.Finite,
  reason: Schema.optionalKey(Schema.String)
})

/**
 * All tokens of a call, each counted once.
 *
 * @category accessors
 * @since 0.1.0
 */
export const tokensOf = ({ cacheRead = 0, cacheWrite = 0, input, output }: Tokens): number =>
  Math.min(input + output + cacheRead + cacheWrite, Number.MAX_SAFE_INTEGER)

/**
 * What a call used, as a run counts it. The cost is there when it is known.
 *
 * @category conversions
 * @since 0.1.0
 */
export const usageOf = ({ cost, usage }: Call): Result.Usage => ({
  tokens: tokensOf(usage),
  ...(cost === undefined ? {} : { cost })
})

const count = (value: number | null | undefined): number | undefined =>
  value !== undefined && value !== null && Number.isFinite(value)
    ? Math.min(Math.max(0, Math.trunc(value)), Number.MAX_SAFE_INTEGER)
    : undefined

/**
 * The tokens that a provider reports, or `undefined` when it says neither what went in nor what came out.
 *
 * **Details**
 *
 * What is missing is made of what is there: the input without the cache is the total less the cache, the total of the output
 * is its text and its reasoning. Numbers that cannot be are brought to the next one that can.
 *
 * @category conversions
 * @since 0.1.0
 */
export const tokensFrom = (usage: typeof Response.Usage.Encoded): Tokens | undefined => {
  const { inputTokens, outputTokens } = usage
  const cacheRead = count(inputTokens.cacheRead)
  const cacheWrite = count(inputTokens.cacheWrite)
  const reasoning = count(outputTokens.reasoning)
  const total = count(inputTokens.total)
  const text = count(outputTokens.text)
  const input =
    count(inputTokens.uncached) ??
    (total === undefined ? undefined : Math.max(0, total - (cacheRead ?? 0) - (cacheWrite ?? 0)))
  const parts = text === undefined && reasoning === undefined ? undefined : (text ?? 0) + (reasoning ?? 0)
  const output = count(outputTokens.total) ?? parts
  if (input === undefined && output === undefined) return undefined
  return {
    input: input ?? 0,
    output: output ?? 0,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoning: Math.min(reasoning, output ?? 0) })
  }
}
