/**
 * Calls of models and tools: how long they took, what they used, and what that cost.
 *
 * **Details**
 *
 * - What a provider did not say is in no number: the call is counted as one of which that is not known.
 * - Money for work on a task after something had been delivered for it is rework.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { errorTypeOfCall } from "../../../agent/internal/errorTypeOfExit.ts"
import { isErrorType } from "../../../agent/internal/errorTypes.ts"
import * as ModelCall from "../../../agent/ModelCall.ts"
import type { Of } from "../../../run/RunEvent.ts"
import { attribute as a } from "../names.ts"
import { type Measure, measured, type Measurement, nothing, seconds, yesNo } from "./measurement.ts"
import { currencyOf, type Memory } from "./memory.ts"

const readCall = Schema.decodeUnknownOption(ModelCall.Call)

/** What a model is asked for, in the words of the conventions: nothing else is asked of one here. */
const operation = "chat"

const isRework = ({ task }: Of<"Spent">, before: Memory): boolean => {
  const known = before.tasks.get(task)
  return known !== undefined && (known.delivered || known.correcting)
}

const cost = (event: Of<"Spent">, model: string | undefined, before: Memory): ReadonlyArray<Measurement> => {
  const { usage, what, worker } = event
  if (usage.cost === undefined) return nothing
  return [
    measured("espalier.cost.spent", usage.cost, {
      [a.workflow]: before.desk,
      [a.pool]: worker === "" ? undefined : worker,
      [a.model]: model,
      [a.costKind]: what === "model" || what === "tool" ? what : "other",
      [a.rework]: yesNo(isRework(event, before)),
      [a.currency]: currencyOf(event)
    })
  ]
}

/** What a call of a model counts in the names of the conventions. Those of one profile are not in the other. */
const tokens = ({ estimated, model, provider, usage }: ModelCall.Call): ReadonlyArray<Measurement> => {
  const { cacheRead = 0, cacheWrite = 0, output, reasoning = 0 } = usage
  const input = usage.input + cacheRead + cacheWrite
  const of = { [a.operation]: operation, [a.provider]: provider, [a.model]: model }
  const total = { ...of, [a.modality]: "unknown" }
  const known = estimated === true ? 0 : 1
  const found = [
    measured("inputTokens", input * known, total),
    measured("outputTokens", output * known, total),
    measured("cacheReadTokens", cacheRead * known, total),
    measured("cacheWriteTokens", cacheWrite * known, total),
    measured("reasoningTokens", reasoning * known, total)
  ]
  if (known === 0) return found
  found.push(
    measured("operationInputTokens", input, of),
    measured("operationOutputTokens", output, of),
    measured("tokenUsage", input, { ...of, [a.tokenType]: "input" }),
    measured("tokenUsage", output, { ...of, [a.tokenType]: "output" })
  )
  return found
}

const window = (event: Of<"Spent">, call: ModelCall.Call): ReadonlyArray<Measurement> => {
  const of = { [a.agent]: event.worker === "" ? undefined : event.worker, [a.model]: call.model }
  const share = event.facts?.["utilisation"]
  const { cacheRead = 0, cacheWrite = 0, input } = call.usage
  const usage =
    call.estimated === true ? [] : [measured("espalier.context_window.usage", input + cacheRead + cacheWrite, of)]
  return typeof share === "number"
    ? [measured("espalier.context_window.utilization", share, of), ...usage]
    : [measured("espalier.context_window.unknown", 1, of), ...usage]
}

const called = (event: Of<"Spent">, before: Memory): ReadonlyArray<Measurement> => {
  const call = Option.getOrUndefined(readCall(event.facts))
  // What cannot be read was paid for all the same.
  if (call === undefined) return cost(event, undefined, before)
  const { attempt, durationMillis, estimated, model, provider, usage } = call
  const workflow = { [a.workflow]: before.desk, [a.model]: model }
  const found = [
    measured("inferenceDuration", seconds(durationMillis), {
      [a.operation]: operation,
      [a.provider]: provider,
      [a.model]: model,
      [a.errorType]: errorTypeOfCall(call)
    }),
    ...tokens(call),
    ...window(event, call),
    ...cost(event, model, before)
  ]
  if (call.cost === undefined) found.push(measured("espalier.cost.unknown", 1, workflow))
  if (estimated === true) found.push(measured("espalier.usage.unknown", 1, workflow))
  else if (isRework(event, before)) {
    const count = ModelCall.tokensOf(usage)
    found.push(measured("espalier.task.rework.tokens", count, { [a.workflow]: before.desk }))
  }
  if (attempt > 1) {
    const agent = event.worker === "" ? undefined : event.worker
    found.push(measured("espalier.model.swaps", 1, { [a.agent]: agent, [a.model]: model }))
  }
  return found
}

const tool = (event: Of<"Spent">, before: Memory): ReadonlyArray<Measurement> => {
  const { facts, worker } = event
  const found = cost(event, undefined, before)
  const millis = facts?.["durationMillis"]
  const name = facts?.["tool"]
  if (typeof millis !== "number" || typeof name !== "string") return found
  const type = facts?.["errorType"]
  // Calls that are older than that say only that they have failed.
  const failed = facts?.["outcome"] === "failed" ? "tool_failed" : undefined
  const attributes = { [a.tool]: name, [a.agent]: worker, [a.errorType]: isErrorType(type) ? type : failed }
  return [measured("toolDuration", seconds(millis), attributes), ...found]
}

/** @since 0.1.0 */
export const spending: Measure = (event, before) => {
  switch (event._tag) {
    case "Spent":
      if (event.what === "model") return called(event, before)
      return event.what === "tool" ? tool(event, before) : cost(event, undefined, before)
    case "Reported": {
      const order = before.tasks.get(event.task)?.order
      if (order?.dispatch !== event.dispatch || order.models === 0) return nothing
      const agent = { [a.agent]: event.worker }
      return [measured("inferenceCalls", order.models, agent), measured("toolCalls", order.tools, agent)]
    }
    default:
      return nothing
  }
}
