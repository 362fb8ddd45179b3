/**
 * What models that choose and models that plan have in common: their options, and asking for calls that count.
 *
 * @since 0.1.0
 */
import type * as Tool from "effect/ai/Tool"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"

import type * as Failure from "../../Failure.ts"
import type { Question } from "../../run/Coordinator.ts"
import type { Given } from "../../run/internal/given.ts"
import { AnswerInvalid } from "../ModelAnswer.ts"
import * as Models from "../Models.ts"
import { type Call, callsOf, type Unusable } from "./answers.ts"
import { around, askModel, type Chain, type Needs, type Spent } from "./askModel.ts"
import { type Offer, supervisorPrompt } from "./supervisorPrompt.ts"

/** What both take, see the options of `ModelRouter.choose`. */
export interface Options<in Input, out R> {
  readonly models?: Models.Models<R> | undefined
  readonly timeout?: Duration.Input | undefined
  readonly instructions?: string | undefined
  readonly work?: ((input: Input) => unknown) | undefined
  readonly recent?: number | undefined
  readonly forced?: boolean | undefined
  readonly outputLimit?: number | undefined
}

export const known = ["models", "timeout", "instructions", "work", "recent", "forced", "outputLimit"]

/** The options, checked. */
export interface Settings<in Input, out R> {
  readonly chain: Chain<R>
  readonly role: string
  readonly instructions: string
  readonly work: (input: Input) => unknown
  readonly recent: number
  readonly outputLimit: number
}

export const settingsOf = <Input, R>(
  given: Given,
  options: Options<Input, R>,
  usual: { readonly role: string; readonly outputLimit: number }
): Settings<Input, R> => {
  const {
    instructions = "",
    models,
    outputLimit,
    recent = 10,
    forced = true,
    timeout = "50 seconds",
    work = (input) => input
  } = options
  if (models !== undefined) given.made("models", "made by Models", Models.isModels(models), models)
  given.text("instructions", instructions)
  given.code("work", work)
  given.flag("forced", forced)
  return {
    // Without models, `R` is what the model around is.
    chain: {
      models: models ?? (around as Models.Models<unknown> as Models.Models<R>),
      forced,
      timeout: given.duration("timeout", timeout, "more")
    },
    role: usual.role,
    instructions,
    work,
    recent: given.whole("recent", recent, 0),
    outputLimit: given.whole("outputLimit", outputLimit ?? usual.outputLimit, 1)
  }
}

/** What a reading of calls gives: what to answer with, or what is wrong with them. */
export type Read<A> = EffectResult.Result<A, Unusable>

/** Asks, and reads the calls; what the answer cost goes along either way. */
export const supervise = <Input, R, A>(
  settings: Settings<Input, R>,
  question: Question<Input>,
  offers: ReadonlyArray<Offer>,
  tools: ReadonlyArray<Tool.Any>,
  read: (calls: ReadonlyArray<Call>) => Read<A>
): Effect.Effect<Spent & { readonly read: A }, AnswerInvalid, R | Needs> =>
  Effect.suspend(() => {
    const { chain, outputLimit, work } = settings
    const prompt = supervisorPrompt({ ...question, work: work(question.input), offers }, settings)
    return Effect.flatMap(askModel(chain, prompt, tools, outputLimit, question), ({ answer, facts, usage }) => {
      const spent = { ...(usage === undefined ? {} : { usage }), ...(facts === undefined ? {} : { facts }) }
      const invalid = (wrong: Unusable & { readonly kind?: Failure.Kind }) =>
        Effect.fail(new AnswerInvalid({ ...wrong, ...spent }))
      if ("reason" in answer) {
        return invalid({ problem: "unanswered", details: [answer.reason], kind: answer.kind })
      }
      return EffectResult.match(EffectResult.flatMap(callsOf(answer), read), {
        onSuccess: (read) => Effect.succeed({ read, ...spent }),
        onFailure: invalid
      })
    })
  })
