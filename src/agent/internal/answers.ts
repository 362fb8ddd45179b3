/**
 * Reads the calls of tools out of an answer, if the answer is one that counts.
 *
 * @since 0.1.0
 */
import type * as Response from "effect/ai/Response"
import * as EffectResult from "effect/Result"

import { show } from "../../run/internal/problems.ts"
import type { Problem } from "../ModelAnswer.ts"

/** A part of an answer whose calls nobody has looked at. */
export type Part = Response.AnyPart

/** A call as the model made it. */
export interface Call {
  readonly name: string
  readonly params: unknown
}

/** What is wrong with an answer. */
export interface Unusable {
  readonly problem: Problem
  readonly details: ReadonlyArray<string>
}

const unusable = (problem: Problem, detail: string): EffectResult.Result<never, Unusable> =>
  EffectResult.fail({ problem, details: [detail] })

/**
 * The calls of an answer, at least one, or why it does not count.
 *
 * @since 0.1.0
 */
export const callsOf = (parts: ReadonlyArray<Part>): EffectResult.Result<ReadonlyArray<Call>, Unusable> => {
  if (parts.some(({ type }) => type === "error")) return unusable("broken", "the answer broke off with an error")
  const ends = parts.filter((part) => part.type === "finish")
  switch (ends.at(-1)?.reason) {
    case "stop":
    case "tool-calls":
      break
    case "length":
      return unusable("cut", "the answer was cut off because it is too long; say less")
    case "content-filter":
      return unusable("refused", "the model or its provider refused to answer")
    case "error":
      return unusable("broken", "the answer ended with an error of the provider")
    case undefined:
      return unusable("unfinished", "the answer does not say why it ended")
    default:
      return unusable("unfinished", "the answer did not end as answers do")
  }
  const calls: Array<Call> = []
  for (const part of parts) {
    if (part.type === "tool-approval-request") {
      return unusable("not-asked-for", "the answer asks for an approval, and there is none to give")
    }
    if (part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true)) {
      return unusable("not-asked-for", `the provider carried out ${show(part.name)} by itself`)
    }
    if (part.type === "tool-call") calls.push({ name: part.name, params: part.params as unknown })
  }
  if (calls.length > 0) return EffectResult.succeed(calls)
  const said = parts.some((part) => part.type === "text" && part.text.trim() !== "")
  return unusable("no-choice", said ? "there is text, but no choice" : "the answer is empty")
}
