/**
 * Asks a chain of models for calls of tools, none of which is carried out.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"

import type * as Failure from "../../Failure.ts"
import type { Spending } from "../../run/Allowance.ts"
import type { Question } from "../../run/Coordinator.ts"
import type * as Dependency from "../../run/Dependency.ts"
import { plus } from "../../run/internal/amounts.ts"
import { shorten } from "../../run/internal/problems.ts"
import type { Usage } from "../../run/Result.ts"
import * as ContextWindow from "../ContextWindow.ts"
import type { CostModel } from "../CostModel.ts"
import * as ModelCall from "../ModelCall.ts"
import { ModelFailure } from "../ModelFailure.ts"
import * as Models from "../Models.ts"
import type { Part } from "./answers.ts"
import { metered } from "./metering.ts"
import type { SupervisorPrompt } from "./supervisorPrompt.ts"

/** Those who answer, how long one of them has for it, and whether it is made to call something. */
export interface Chain<out R> {
  readonly models: Models.Models<R>
  readonly timeout: Duration.Duration
  readonly forced: boolean
}

/** What asking needs beside what makes the models. */
export type Needs = Dependency.Dependency | CostModel

/** What all calls together used, and what there is to record about them. Absent = there was no call. */
export interface Spent {
  readonly usage?: Usage | undefined
  readonly facts?: ReadonlyArray<Schema.Json> | undefined
}

/** Why there is no answer. */
export interface Unanswered {
  readonly kind: Failure.Kind
  readonly reason: string
}

/** What came of asking. */
export interface Asked extends Spent {
  readonly answer: ReadonlyArray<Part> | Unanswered
}

/** The model around, as a chain of one. */
export const around: Models.Models<Models.Provided> = Models.make([
  { provide: Layer.effectContext(Effect.context<Models.Provided>()) }
])

/** A run waits 2 minutes for a choice. What comes later would be paid for, and nobody would know of it. */
const patience = Duration.seconds(110)

const late: Unanswered = { kind: "transient", reason: "no model answered within 110 seconds" }

/** Asks. What it costs is paid for call by call where the question can, and told with the answer where it cannot. */
export const askModel = <R>(
  { forced, models, timeout }: Chain<R>,
  { system, user }: SupervisorPrompt,
  tools: ReadonlyArray<Tool.Any>,
  outputLimit: number,
  { consult, left, notice, spend }: Pick<Question, "consult" | "left" | "notice" | "spend">
): Effect.Effect<Asked, never, R | Needs> =>
  Effect.suspend(() => {
    const calls: Array<ModelCall.Call> = []
    const prompt = Prompt.make([
      { role: "system", content: system },
      { role: "user", content: user }
    ])
    const tokens = ContextWindow.estimate({ prompt, tools })
    const asking = (record: (spending: Spending) => Effect.Effect<void>) =>
      Effect.flatMap(
        metered({ what: consult, estimate: { input: tokens, output: outputLimit }, left, record, notice }),
        (options) =>
          Models.call(
            models,
            { prompt, tools, toolChoice: forced ? "required" : "auto", outputLimit },
            { ...options, timeout }
          )
      )
    const beside = ({ facts }: Spending) => Effect.sync(() => calls.push(facts as unknown as ModelCall.Call))
    const asked = spend === undefined ? asking(beside) : spend({ tokens: tokens + outputLimit }, asking)
    return asked.pipe(
      Effect.map(({ response }): Asked["answer"] => response.content),
      Effect.catch((error) =>
        Effect.succeed<Unanswered>({
          kind: error instanceof ModelFailure ? error.kind : "exhausted",
          reason: shorten(error.message, 300)
        })
      ),
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(late) }),
      Effect.map((answer) => ({ answer, ...spentBy(calls) }))
    )
  })

const spentBy = (calls: ReadonlyArray<ModelCall.Call>): Spent =>
  calls.length === 0
    ? {}
    : {
        usage: calls.map((call) => ModelCall.usageOf(call)).reduce(plus),
        facts: calls.map((call): Schema.Json => call)
      }
