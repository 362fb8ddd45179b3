/**
 * Plays a script as a language model.
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type * as Response from "effect/ai/Response"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

import * as Redaction from "../../Redaction.ts"
import { OutputLimit } from "../OutputLimit.ts"
import { highestCall, lastOf, saidIn, turnOf } from "./promptText.ts"
import { streamParts, wholeParts, type Said } from "./scriptedAnswer.ts"
import { faultError } from "./scriptedFault.ts"
import {
  isStep,
  ScriptMismatch,
  short,
  TypeId,
  type AnswerOptions,
  type Request,
  type Step,
  type StepData
} from "./scriptedStep.ts"

const excerpt = (request: Request): string => short(Redaction.defaults.text(request.last), 300)

const mismatch = (problem: string, calls: number, left: ReadonlyArray<Step>, request?: Request): ScriptMismatch =>
  new ScriptMismatch({
    problem,
    calls,
    left: left.map(({ name }) => name),
    asked: request === undefined ? "" : excerpt(request)
  })

/** Where steps come from. */
export interface Source {
  readonly left: ReadonlyArray<Step>
  readonly endless: boolean
  readonly next: () => Step | undefined
}

/** What is left of a step when its conditions are met and its time has passed. */
type Settled = Extract<StepData, { readonly _tag: "Answer" | "Fault" | "Hang" }>

const mostRequests = 1_000

/** The model that calls itself `name` and takes its steps from a source. */
export const play = (provider: string, name: string, source: Source) => {
  const requests: Array<Request> = []
  let calls = 0
  let issued = 0
  let misfit: ScriptMismatch | undefined

  const refuse = (problem: string, request: Request): Effect.Effect<never> => {
    const found = mismatch(problem, calls, source.left, request)
    misfit ??= found
    return Effect.die(found)
  }

  const settle = (given: Step, request: Request): Effect.Effect<Settled> => {
    const data = given[TypeId]
    switch (data._tag) {
      case "Slow":
        return Effect.andThen(Effect.sleep(data.takes), settle(data.step, request))
      case "Respond":
        return Effect.suspend(() => {
          const decided = data.answer(request, turnOf(request.prompt))
          return Effect.flatMap(Effect.isEffect(decided) ? decided : Effect.succeed(decided), (step: unknown) =>
            isStep(step)
              ? settle(step, request)
              : refuse("The function of a step answers with something that is no step", request)
          )
        })
      case "Expecting":
        return Effect.suspend(() => {
          const complaint = data.check(request)
          return complaint === undefined
            ? settle(data.step, request)
            : refuse(`The step ${given.name} does not fit call ${request.number}: ${complaint}`, request)
        })
      default:
        return Effect.succeed(data)
    }
  }

  const begin = (method: Request["method"], asked: LanguageModel.ProviderOptions) =>
    Effect.flatMap(OutputLimit, (outputLimit) => {
      const request: Request = {
        number: (calls += 1),
        method,
        prompt: asked.prompt,
        tools: [...asked.tools],
        toolChoice: asked.toolChoice,
        responseFormat: asked.responseFormat,
        toolCallValidation: asked.toolCallValidation ?? "strict",
        outputLimit,
        last: lastOf(asked.prompt),
        said: saidIn(asked.prompt)
      }
      requests.push(request)
      if (source.endless && requests.length > mostRequests) requests.shift()
      const next = source.next()
      return next === undefined
        ? refuse(`The script has no step left for call ${calls}`, request)
        : Effect.map(settle(next, request), (settled) => [settled, request] as const)
    })

  const say = (
    { calls: wanted, chunks, options }: Extract<Settled, { readonly _tag: "Answer" }>,
    request: Request
  ): Effect.Effect<Said, AiError.AiError> => {
    const unknown = wanted.find((call) => !request.tools.some((tool) => tool.name === call.name))
    if (unknown !== undefined && request.toolCallValidation === "strict") {
      return Effect.fail(
        AiError.make({
          module: "ScriptedModel",
          method: request.method,
          reason: new AiError.ToolNotFoundError({
            toolName: unknown.name,
            availableTools: request.tools.map((tool) => tool.name)
          })
        })
      )
    }
    const before = highestCall(request.prompt)
    let number = source.endless ? before : Math.max(before, issued)
    const named = wanted.map((call) => ({ ...call, id: call.id ?? `call_${(number += 1)}` }))
    issued = number
    return Effect.succeed({
      id: `response_${source.endless ? turnOf(request.prompt) : request.number}`,
      model: name,
      reasoning: options.reasoning ?? "",
      chunks,
      calls: named,
      usage: options.usage ?? {},
      finish: options.finish ?? (named.length === 0 ? "stop" : "tool-calls")
    })
  }

  const generateText = Effect.fnUntraced(function* (asked: LanguageModel.ProviderOptions) {
    const [settled, request] = yield* begin("generateText", asked)
    if (settled._tag === "Hang") return yield* Effect.never
    if (settled._tag === "Fault") return yield* faultError(settled.fault, "generateText", settled.retryAfter)
    const said = yield* say(settled, request)
    const { every, stall } = settled.options
    if (stall !== undefined) return yield* Effect.never
    if (every !== undefined) yield* Effect.sleep(Duration.times(Duration.fromInputUnsafe(every), said.chunks.length))
    return wholeParts(said)
  })

  const streamText = (asked: LanguageModel.ProviderOptions) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const [settled, request] = yield* begin("streamText", asked)
        if (settled._tag === "Hang") return Stream.never
        if (settled._tag === "Answer") return played(yield* say(settled, request), settled.options)
        const { chunks, fault, retryAfter } = settled
        const error = Stream.fail(faultError(fault, "streamText", retryAfter))
        if (chunks.length === 0) return error
        const said = { id: `response_${request.number}`, model: name, reasoning: "", calls: [], usage: {} }
        return Stream.concat(
          played({ ...said, chunks: [...chunks, ""], finish: "none" }, { stall: chunks.length }, "end"),
          error
        )
      })
    )

  const model = Model.make(
    provider,
    name,
    Layer.effect(
      LanguageModel.LanguageModel,
      LanguageModel.make({ generateText, streamText, supportsSystemMessagesInHistory: Effect.succeed(true) })
    )
  )
  return {
    model,
    requests: Effect.sync(() => [...requests]),
    complete: Effect.suspend(() => {
      if (misfit !== undefined) return Effect.fail(misfit)
      return source.left.length === 0
        ? Effect.void
        : Effect.fail(mismatch("The script was not used up", calls, source.left))
    })
  }
}

/** The parts of an answer one by one; from the chunk on where it stalls, it waits forever, or ends. */
const played = (
  said: Said,
  { every, stall }: AnswerOptions,
  then: "wait" | "end" = "wait"
): Stream.Stream<Response.StreamPartEncoded> => {
  const parts = streamParts(said)
  let kept = parts.length
  if (stall !== undefined) {
    const deltas = parts.flatMap((part, index) => (part.type === "text-delta" ? [index] : []))
    // Without so many chunks, it is the end of the answer that does not come.
    kept = deltas[stall] ?? Math.max(0, parts.length - 1)
  }
  const coming = Stream.fromIterable(parts.slice(0, kept), { chunkSize: 1 }).pipe(
    Stream.mapEffect((part) =>
      every !== undefined && part.type === "text-delta" ? Effect.as(Effect.sleep(every), part) : Effect.succeed(part)
    )
  )
  return stall !== undefined && then === "wait" ? Stream.concat(coming, Stream.never) : coming
}
