import * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
/**
 * Asks a chain of models for calls of tools, none of which is carried out.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"

import type * as Failure from "../../Failure.ts"
import type * as Dependency from "../../run/Dependency.ts"
import { plus } from "../../run/internal/amounts.ts"
import { shorten } from "../../run/internal/problems.ts"
import type { Usage } from "../../run/Result.ts"
import type { CostModel } from "../CostModel.ts"
import * as ModelCall from "../ModelCall.ts"
import * as Models from "../Models.ts"
import type { Part } from "./answers.ts"
import type { SupervisorPrompt } from "./supervisorPrompt.ts"

/** Those who answer, and how long one of them has for it. */
export interface Chain<out R> {
  readonly models: Models.Models<R>
  readonly timeout: Duration.Duration
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

/** Asks, and always tells what it cost. */
export const askModel = <R>(
  { models, timeout }: Chain<R>,
  { system, user }: SupervisorPrompt,
  tools: ReadonlyArray<Tool.Any>,
  outputLimit: number
): Effect.Effect<Asked, never, R | Needs> =>
  Effect.suspend(() => {
    const calls: Array<ModelCall.Call> = []
    const prompt = Prompt.make([
      { role: "system", content: system },
      { role: "user", content: user }
    ])
    const asking = Models.call(
      models,
      { prompt, tools, toolChoice: "required", outputLimit },
      { timeout, onCall: (call) => Effect.sync(() => calls.push(call)) }
    ).pipe(
      Effect.map(({ response }): Asked["answer"] => response.content),
      Effect.catch(({ kind, message }) => Effect.succeed<Unanswered>({ kind, reason: shorten(message, 300) })),
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.succeed(late) })
    )
    return Effect.map(asking, (answer) => ({ answer, ...spentBy(calls) }))
  })

const spentBy = (calls: ReadonlyArray<ModelCall.Call>): Spent =>
  calls.length === 0
    ? {}
    : {
        usage: calls.map((call) => ModelCall.usageOf(call)).reduce(plus),
        facts: calls.map((call): Schema.Json => call)
      }
