/**
 * The steps of a scripted model, and what they are asked.
 */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

import type { ScriptedUsage } from "./scriptedAnswer.ts"
import type { Fault } from "./scriptedFault.ts"

export const TypeId = "~espalier/agent/ScriptedModel/Step"

/**
 * Tokens that a call took, whole numbers >= 0. What is left out is not said to the caller either.
 *
 * **Details**
 *
 * - `inputTokens`, `outputTokens`: the totals.
 * - `cacheRead`, `cacheWrite`: of the input, what was read from and written to the provider's cache.
 * - `reasoning`: of the output, what was reasoning.
 *
 * @category models
 * @since 0.1.0
 */
export type Usage = ScriptedUsage

/**
 * One request as the model got it.
 *
 * **Details**
 *
 * - `number`: which call of the script it is, from 1.
 * - `method`: `generateText` also for an object; then `responseFormat` is `json`.
 * - `prompt`, `tools`, `toolChoice`, `responseFormat`, `toolCallValidation`: as Effect hands them to a provider.
 * - `outputLimit`: the `OutputLimit` of the caller.
 * - `last`: the text of the last message; results of tools as JSON.
 * - `said`: the text of all messages, one per line.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly number: number
  readonly method: "generateText" | "streamText"
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice: LanguageModel.ToolChoice<string>
  readonly responseFormat: LanguageModel.ProviderOptions["responseFormat"]
  readonly toolCallValidation: "strict" | "deferred"
  readonly outputLimit: number | undefined
  readonly last: string
  readonly said: string
}

/**
 * What an answer has beside its content.
 *
 * **Details**
 *
 * - `usage`: default nothing is said.
 * - `reasoning`: text of the model's reasoning, before the content. Default none.
 * - `finish`: why the answer ends; `"none"` leaves out the part that would say it, and the usage with it. Default `"stop"`,
 *   or `"tool-calls"` for an answer with calls.
 * - `every`: how long each chunk takes to come, >= 0. Default no time. An answer that is not streamed takes all of it.
 * - `stall`: after so many chunks nothing more comes, a whole number >= 0. Default everything comes.
 *
 * @category models
 * @since 0.1.0
 */
export interface AnswerOptions {
  readonly usage?: Usage | undefined
  readonly reasoning?: string | undefined
  readonly finish?: Response.FinishReason | "none" | undefined
  readonly every?: Duration.Input | undefined
  readonly stall?: number | undefined
}

/**
 * A call of a tool. `params` may be anything, also what the tool would not take. Default of `id`: the next `call_N`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ToolCall {
  readonly name: string
  readonly params: unknown
  readonly id?: string | undefined
}

/**
 * Decides which step it is by the request, and by which turn of its conversation it is, from 1: how often the model has spoken
 * in it, and once more. An effect may look at the `Clock` and take its time; it fails with nothing and needs nothing.
 *
 * @category models
 * @since 0.1.0
 */
export type Decide = (request: Request, turn: number) => Step | Effect.Effect<Step>

export type StepData =
  | {
      readonly _tag: "Answer"
      readonly chunks: ReadonlyArray<string>
      readonly calls: ReadonlyArray<ToolCall>
      readonly options: AnswerOptions
    }
  | {
      readonly _tag: "Fault"
      readonly fault: Fault
      readonly retryAfter: Duration.Duration | undefined
      readonly chunks: ReadonlyArray<string>
    }
  | { readonly _tag: "Hang" }
  | { readonly _tag: "Slow"; readonly takes: Duration.Duration; readonly step: Step }
  | { readonly _tag: "Respond"; readonly answer: Decide }
  | { readonly _tag: "Expecting"; readonly step: Step; readonly check: (request: Request) => string | undefined }

/**
 * One step of a script. `name` is how a mismatch calls it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Step {
  readonly [TypeId]: StepData
  readonly name: string
}

/**
 * The script and its calls do not fit.
 *
 * **Details**
 *
 * - `problem`: what does not fit, in one sentence.
 * - `calls`: how many calls there were.
 * - `left`: the names of the steps that no call has taken.
 * - `asked`: the text of the request that did not fit, in short; empty when there was none.
 *
 * @category errors
 * @since 0.1.0
 */
export class ScriptMismatch extends Schema.TaggedError<ScriptMismatch>("espalier/agent/ScriptedModel/ScriptMismatch")(
  "ScriptMismatch",
  { problem: Schema.String, calls: Schema.Int, left: Schema.Array(Schema.String), asked: Schema.String }
) {
  override get message(): string {
    const left = this.left.length === 0 ? "" : `; left over: ${this.left.join(", ")}`
    return `${this.problem} (calls: ${this.calls}${left})${this.asked === "" ? "" : `\nasked: ${this.asked}`}`
  }
}

export const isStep = (value: unknown): value is Step => Predicate.hasProperty(value, TypeId)

/** The beginning of a long text. */
export const short = (text: string, most = 40): string => (text.length > most ? `${text.slice(0, most)}…` : text)
