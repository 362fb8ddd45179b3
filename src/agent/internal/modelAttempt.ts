/**
 * One call to one model of a chain: sent through its dependency, measured, priced and recorded.
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import * as Model from "effect/ai/Model"
import type * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import * as Dependency from "../../run/Dependency.ts"
import { shortened } from "../../run/internal/problems.ts"
import { CostModel } from "../CostModel.ts"
import * as ModelCall from "../ModelCall.ts"
import * as ModelFailure from "../ModelFailure.ts"
import type { CallOptions, Member, Provided } from "../Models.ts"
import { OutputLimit } from "../OutputLimit.ts"
import { PartialUsage } from "../PartialUsage.ts"
import { CallNotes } from "./callNotes.ts"
import { errorTypeOfCall, errorTypeOfExit } from "./errorTypeOfExit.ts"
import { marked, portable, type Target } from "./portable.ts"

/** A model did not answer. */
export class Tried {
  readonly step: number
  readonly target: Target
  readonly failure: ModelFailure.ModelFailure

  constructor(step: number, target: Target, failure: ModelFailure.ModelFailure) {
    this.step = step
    this.target = target
    this.failure = failure
  }
}

/** What every response of Effect has. */
export interface Generated {
  readonly content: ReadonlyArray<Part>
}

export type Part = Response.Part<Record<string, Tool.Any>, "deferred"> | Response.Part<{}, "opaque">

/** What is asked, of whichever model. */
export interface Asked {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  readonly outputLimit: number | undefined
  readonly timeout: Duration.Duration
  readonly estimate: CallOptions["estimate"]
}

export interface Attempted<G> {
  readonly answer: G
  readonly content: ReadonlyArray<Part>
  readonly parts: ReadonlyArray<Response.PartEncoded>
  readonly call: ModelCall.Call
}

/** How many characters of a reason are kept. */
const longest = 300

const least = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)

const withoutBytes = (_: string, value: unknown): unknown => (value instanceof Uint8Array ? "" : value)

const charactersPerToken = 4

/** What a call may have used of which nothing is known. */
const estimated = ({ estimate, prompt, tools }: Asked, limit: number | undefined): ModelCall.Tokens => {
  if (estimate !== undefined) return { input: estimate.input, output: estimate.output }
  const described = tools.map(({ description, name }) => [name, description])
  const { length } = JSON.stringify([prompt.content, described], withoutBytes)
  return { input: Math.ceil(length / charactersPerToken), output: limit ?? 0 }
}

const encodeParts = Schema.encodeSync(Schema.Array(Response.Part()))

/** The parts of an answer as plain JSON. What the HTTP response said stays out: headers are no part of a record. */
const encoded = (content: ReadonlyArray<Part>): ReadonlyArray<Response.PartEncoded> => {
  const kept = content.map((part) => (part.type === "finish" ? { ...part, response: undefined } : part))
  const parts = encodeParts(kept as ReadonlyArray<Response.Part<Record<string, Tool.Any>>>)
  return JSON.parse(JSON.stringify(parts)) as ReadonlyArray<Response.PartEncoded>
}

/** Nothing for what is no JSON, such as arguments that are nested too deep. */
const encodedOption = Option.liftThrowable(encoded)

const headers = ["request-id", "x-request-id"]

/** An id that is one: what a provider makes too long must not keep a call from being recorded. */
const isRequestId = (value: unknown): value is string => typeof value === "string" && /^[!-~]{1,128}$/.test(value)

/** By which the provider knows a call that it answered. */
const requestIdOf = (content: ReadonlyArray<Part>): string | undefined => {
  let id: string | undefined
  for (const part of content) {
    if (part.type === "response-metadata" && isRequestId(part.id)) id ??= part.id
    if (part.type !== "finish") continue
    for (const name of headers) {
      const value = part.response?.headers[name]
      if (isRequestId(value)) return value
    }
  }
  return id
}

/** A provider that asked for a pause is waited for if it is short; one that fails, or is being tried, is passed over. */
const failureOfOpen = (open: Dependency.DependencyOpen, target: Target): ModelFailure.ModelFailure => {
  const { because, message, retryAfterMillis } = open
  const hint = because === "asked-to-wait" ? retryAfterMillis : undefined
  const failure = new ModelFailure.ModelFailure({
    ...target,
    kind: "transient",
    reason: message,
    begun: false,
    ...(hint === undefined ? {} : { retryAfterMillis: hint })
  })
  // By which the dependency is found to blame.
  Object.defineProperty(failure, "cause", { value: open, configurable: true })
  return failure
}

/** What a call used, and whether that is a guess. */
interface Used {
  readonly usage: ModelCall.Tokens
  readonly estimated?: true
}

const nothing: Used = { usage: { input: 0, output: 0 } }

/** What a call used, as its failure says. */
export const errorUsage = (error: AiError.AiError | undefined): ModelCall.Tokens | undefined => {
  const reason = error?.reason
  const usage = reason !== undefined && "usage" in reason ? reason.usage : undefined
  const { completionTokens: output, promptTokens: input } = usage ?? {}
  return input === undefined && output === undefined
    ? undefined
    : ModelCall.tokensFrom({ inputTokens: { total: input }, outputTokens: { total: output } })
}

interface Ended {
  readonly end: ModelCall.End
  readonly failure?: ModelFailure.ModelFailure
}

const endOf = (exit: Exit.Exit<unknown, ModelFailure.ModelFailure | Dependency.DependencyOpen>): Ended => {
  if (Exit.isSuccess(exit)) return { end: "answered" }
  const fail = exit.cause.reasons.find(Cause.isFailReason)
  if (fail !== undefined && fail.error._tag === "ModelFailure") return { end: fail.error.kind, failure: fail.error }
  return { end: Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "defect" }
}

/**
 * The call, for one member of a chain after the other, as its plan says.
 *
 * `tried` has those that did not answer, in their order; it is added to.
 *
 * @since 0.1.0
 */
export const attempt = <G extends Generated, R>(
  asked: Asked,
  members: ReadonlyArray<Member<unknown>>,
  tried: Array<Tried>,
  { admit, onCall, onSwap }: CallOptions,
  generate: (prompt: Prompt.Prompt) => Effect.Effect<G, AiError.AiError, R>
): Effect.Effect<Attempted<G>, Tried, R | Provided | Dependency.Dependency | CostModel> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { attempt, stepIndex: step } = yield* ExecutionPlan.CurrentMetadata
      const target: Target = { provider: yield* Model.ProviderName, model: yield* Model.ModelName }
      const { price, currency } = yield* CostModel
      const { credential, maxOutput } = members[step]!
      const nameOf = (step: number, { model, provider }: Target) => members[step]!.name ?? `${provider}/${model}`

      const last = tried.at(-1)
      if (last !== undefined && onSwap !== undefined) {
        const { kind, reason } = last.failure
        yield* onSwap({ from: nameOf(last.step, last.target), to: nameOf(step, target), kind, reason })
      }

      const limit = least(asked.outputLimit, maxOutput)
      let sentAt: number | undefined
      const notes: CallNotes = { late: false, reported: undefined }
      let error: AiError.AiError | undefined
      let generated: Exit.Exit<unknown, unknown> | undefined

      const listen = (usage: typeof Response.Usage.Encoded): void => {
        notes.reported = ModelCall.tokensFrom(usage) ?? notes.reported
      }
      const tooLate = () => {
        notes.late = true
        const reason = `No answer within ${Duration.format(asked.timeout)}`
        // Nobody knows what the provider has done by now.
        const begun = asked.tools.some(Tool.isProviderDefined)
        return Effect.fail(new ModelFailure.ModelFailure({ ...target, kind: "transient", reason, begun }))
      }
      const sent = Effect.gen(function* () {
        sentAt = yield* Clock.currentTimeMillis
        return yield* Effect.onExit(generate(portable(asked.prompt, target, tried[0]?.target)), (exit) =>
          Effect.sync(() => {
            generated = exit
          })
        )
      }).pipe(
        Effect.catch((failed) => {
          error = failed
          return Effect.flatMap(ModelFailure.read(failed, target), Effect.fail)
        }),
        Effect.flatMap((answer) => {
          const content = answer.content.map((part) => marked(part, target))
          const parts = encodedOption(content)
          if (Option.isSome(parts)) return Effect.succeed({ answer, content, parts: parts.value })
          for (const part of content) if (part.type === "finish") listen(part.usage)
          const reason = "the answer cannot be written as JSON"
          return Effect.fail(new ModelFailure.ModelFailure({ ...target, kind: "malformed", reason, begun: false }))
        }),
        // It is said to be late before it is interrupted, so that its span can tell why.
        Effect.raceFirst(Effect.andThen(Effect.sleep(asked.timeout), Effect.suspend(tooLate))),
        Effect.provideService(OutputLimit, limit),
        Effect.provideService(PartialUsage, listen),
        Effect.provideService(CallNotes, notes)
      )
      const dependency = credential === undefined ? target.provider : `${target.provider}/${credential}`
      const exit = yield* Effect.exit(
        restore(
          Effect.andThen(
            admit?.({ ...target, usage: estimated(asked, limit) }) ?? Effect.void,
            Dependency.call(dependency, sent, { classify: (failed) => ("kind" in failed ? failed : undefined) })
          )
        )
      )

      const used = (end: ModelCall.End, finish: ModelCall.Tokens | undefined, begun: boolean): Used => {
        const said = finish ?? notes.reported ?? errorUsage(error)
        if (said !== undefined) return { usage: said }
        const worked = end === "answered" || end === "interrupted" || end === "malformed" || end === "defect"
        return worked || notes.late || begun ? { usage: estimated(asked, limit), estimated: true } : nothing // M3
      }

      const record = Effect.fnUntraced(function* (content: ReadonlyArray<Part>, at: number) {
        const { end, failure } = endOf(exit)
        const finish = content.find((part) => part.type === "finish")
        const usage = used(end, finish && ModelCall.tokensFrom(finish.usage), failure?.begun === true)
        const requestId = failure === undefined ? requestIdOf(content) : failure.requestId
        const cost = price({ ...target, usage: usage.usage })
        // The span of the call is around what was generated, and says of it what is said here.
        const looked = { late: notes.late, overrides: yield* ModelFailure.Overrides }
        const said = generated === undefined ? undefined : errorTypeOfExit(generated, looked)
        const errorType = errorTypeOfCall({ end, ...(said === undefined ? {} : { errorType: said }) })
        const call: ModelCall.Call = {
          ...target,
          step,
          attempt,
          end,
          ...(errorType === undefined ? {} : { errorType }),
          ...(finish === undefined ? {} : { finish: finish.reason }),
          ...(requestId === undefined ? {} : { requestId }),
          ...usage,
          ...(cost === undefined || currency === undefined ? {} : { cost, currency }),
          durationMillis: (yield* Clock.currentTimeMillis) - at,
          ...(failure === undefined ? {} : { reason: shortened(failure.reason, longest) })
        }
        if (onCall !== undefined) yield* onCall(call)
        return call
      })

      if (Exit.isSuccess(exit)) {
        return { ...exit.value, call: yield* record(exit.value.content, sentAt ?? 0) }
      }
      if (sentAt !== undefined) yield* record([], sentAt) // M2
      const failed = exit.cause.reasons.find(Cause.isFailReason)?.error
      if (failed === undefined) return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
      const one = new Tried(step, target, failed._tag === "ModelFailure" ? failed : failureOfOpen(failed, target))
      tried.push(one)
      return yield* Effect.fail(one)
    })
  )
