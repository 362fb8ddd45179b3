/**
 * The conversation of one order: turns of a model and results of tools, until the work ends.
 *
 * Each turn is an effect of its order, with the answer of the model as its value. So a process that begins anew walks through the
 * same conversation, without asking a model, up to where it was cut off.
 *
 * **Invariants**
 *
 * - T1. A turn that is recorded is not asked for again; nor is a call that is recorded made again.
 * - T2. The next turn is asked for when every call of the last one has its result.
 * - T3. What is counted, turns, corrections, refusals, is counted in the walk, so a crash gives nothing back.
 * - T4. What was delivered ends the work only when it fits the schema of the output.
 *
 * @since 0.1.0
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"

import * as Failure from "../../Failure.ts"
import { BudgetExceeded } from "../../run/Budget.ts"
import type * as Dependency from "../../run/Dependency.ts"
import * as Effects from "../../run/Effects.ts"
import { owned } from "../../run/internal/plain.ts"
import { many, sentences, shorten } from "../../run/internal/problems.ts"
import * as Result from "../../run/Result.ts"
import * as Secrets from "../../run/Secrets.ts"
import type { Order } from "../../run/Worker.ts"
import * as ContextWindow from "../ContextWindow.ts"
import { CostModel } from "../CostModel.ts"
import * as DroppedResults from "../DroppedResults.ts"
import * as ModelCall from "../ModelCall.ts"
import { ModelFailure } from "../ModelFailure.ts"
import * as Models from "../Models.ts"
import type * as ToolScope from "../ToolScope.ts"
import { WindowSize } from "./callNotes.ts"
import { type Delivery, type Endings, type GivenUp, modelEffect } from "./endings.ts"
import { entryOf } from "./entries.ts"
import { metered } from "./metering.ts"
import { opening } from "./opening.ts"
import { asking } from "./summarising.ts"
import { type Made, Toolbox } from "./toolbox.ts"
import * as turn from "./turn.ts"

/** Tokens of an answer that is still worth asking for, where less is left than it may have. */
const shortest = 256

/** What a conversation goes by. */
export interface Manner<A, RT, RM> {
  readonly models: Models.Models<RM>
  readonly scope: ToolScope.ToolScope<RT>
  readonly endings: Endings<A>
  readonly steps: number
  readonly corrections: number
  readonly maxCalls: number
  readonly maxOutput: number
  readonly maxResult: number
  readonly window: ContextWindow.Window
  readonly summary: "mechanical" | "model"
}

/**
 * How a conversation ended: with a delivery, with a result that says why there is none, or at a limit.
 */
export type Ended<A> =
  | { readonly _tag: "Delivered"; readonly delivery: Delivery<A>; readonly corrections: number }
  | { readonly _tag: "Stopped"; readonly result: Result.Result<never> }
  | { readonly _tag: "Limit"; readonly why: string }

/** What was done in a conversation. */
export interface Done {
  readonly turns: number
  readonly text: string
  readonly calls: ReadonlyArray<Made>
}

type Needs<RT, RM> = RT | RM | Effects.Effects | Dependency.Dependency | CostModel

/** @since 0.1.0 */
export class Talk<A, RT, RM> {
  private readonly manner: Manner<A, RT, RM>
  private readonly order: Order
  private readonly toolbox: Toolbox<RT>
  private tools: ReadonlyArray<Tool.Any>
  private readonly ids = new Set<string>()
  private messages: ReadonlyArray<Prompt.Message> = []
  private dropped = DroppedResults.empty
  private readonly reading = DroppedResults.tool(Effect.sync(() => this.dropped))
  private readonly beginning: string
  private window = ContextWindow.initial
  private corrections = 0
  private turns = 0
  private text = ""
  /** Who answered last, by whom the next call is priced before it is made. */
  private last: Pick<ModelCall.Call, "model" | "provider"> | undefined

  constructor(manner: Manner<A, RT, RM>, instructions: string, order: Order) {
    this.manner = manner
    this.order = order
    this.toolbox = new Toolbox(manner.scope, order, manner.maxResult)
    this.tools = [...[...manner.scope.entries.values()].map(({ tool }) => tool), ...manner.endings.tools]
    this.beginning = instructions
  }

  get done(): Done {
    return { turns: this.turns, text: this.text, calls: [...this.toolbox.made] }
  }

  /** What was done, in a few words. */
  get sum(): string {
    const counts = new Map<string, number>()
    for (const { isFailure, name } of this.toolbox.made) if (!isFailure) counts.set(name, (counts.get(name) ?? 0) + 1)
    const calls = [...counts].map(([name, count]) => `${name} ×${count}`).join(", ")
    return `${many(this.turns, "step")}, done: ${calls === "" ? "nothing" : calls}`
  }

  /** Talks until the work ends. */
  readonly run: Effect.Effect<Ended<A>, unknown, Needs<RT, RM>> = Effect.suspend(() => this.loop()).pipe(
    Effect.catchIf(isLimit, (error) => Effect.succeed<Ended<A>>({ _tag: "Limit", why: error.message }))
  )

  private loop(): Effect.Effect<Ended<A>, unknown, Needs<RT, RM>> {
    const { steps } = this.manner
    return Effect.gen({ self: this }, function* () {
      this.messages = yield* opening(this.beginning, this.order)
      let before: ReadonlyArray<turn.Failed> = []
      let known = yield* this.recorded(1)
      for (let number = 1; number <= steps; number++) {
        const answer = yield* this.turn(number, known, before)
        const said = turn.read(answer, number, this.ids)
        this.turns = number
        if (said.text !== "") this.text = said.text
        if (said.message !== undefined) this.messages = [...this.messages, said.message]
        known = yield* this.recorded(number + 1)
        before = []
        const step = turn.stepOf(said)
        switch (step._tag) {
          case "Deliver": {
            const read = this.manner.endings.delivery(step.call.params)
            if (EffectResult.isSuccess(read)) {
              return { _tag: "Delivered", delivery: read.success, corrections: this.corrections } // T4
            }
            const end = yield* this.correct(
              [step.call],
              `What you delivered does not fit: ${sentences(read.failure, "it")}`
            )
            if (end !== undefined) return end
            break
          }
          case "GiveUp": {
            const read = this.manner.endings.givenUp(step.call.params)
            if (EffectResult.isSuccess(read)) return stopped(read.success)
            const end = yield* this.correct([step.call], `What you said does not fit: ${sentences(read.failure, "it")}`)
            if (end !== undefined) return end
            break
          }
          case "Call": {
            // T2
            const { failed, told } = yield* this.toolbox.call(number, step.calls, known?.before)
            this.say(turn.results(told))
            before = failed
            break
          }
          case "Correct": {
            const end = yield* this.correct(step.calls, step.why)
            if (end !== undefined) return end
            break
          }
          case "GoOn": {
            break
          }
          case "Fail": {
            const failed = step.kind === "capability" ? Failure.capability : Failure.malformed
            return yield* failed(step.reason)
          }
        }
        if (answer.beyond !== undefined) this.say(turn.remark(turn.tooMany(answer.beyond, this.manner.maxCalls)))
        if (number === steps - 1) this.say(turn.remark("Your next turn is the last one: deliver what you have then."))
      }
      return { _tag: "Limit", why: `the limit of ${many(steps, "step")} is reached` }
    })
  }

  private say(message: Prompt.Message): void {
    this.messages = [...this.messages, message]
  }

  /** The model is told what was wrong, as often as that may be; then it ends. */
  private correct(calls: ReadonlyArray<turn.Call>, why: string): Effect.Effect<Ended<never> | undefined> {
    return Effect.gen({ self: this }, function* () {
      const { corrections } = this.manner
      const text = shorten(yield* Secrets.scrub(why), 4000)
      if (this.corrections >= corrections) {
        const told = corrections === 0 ? "" : ` (after ${many(corrections, "correction")})`
        const corrected = corrections === 0 ? {} : { corrected: true as const }
        return { _tag: "Stopped", result: Result.failed("malformed", `${shorten(text, 1000)}${told}`, corrected) }
      }
      this.corrections += 1
      if (calls.length === 0) this.say(turn.remark(text))
      else this.say(turn.results(calls.map((call) => ({ call, result: text, isFailure: true }))))
      return undefined
    })
  }

  /** A turn as it is recorded, or as it is asked for now. */
  private turn(
    number: number,
    known: turn.Turn | undefined,
    before: ReadonlyArray<turn.Failed>
  ): Effect.Effect<turn.Turn, unknown, Needs<RT, RM>> {
    const { manner, order, tools } = this
    return Effect.gen({ self: this }, function* () {
      const fitted = yield* ContextWindow.fit(manner.window, this.window, {
        prompt: Prompt.fromMessages(this.messages),
        tools,
        summarise: (work) => this.summarise(number, work)
      })
      this.forget(fitted)
      this.window = ContextWindow.advance(fitted.state)
      if (known === undefined) yield* Effect.forEach(fitted.events, ({ note, what }) => order.notice(what, note))
      const answer = known ?? (yield* this.asked(number, fitted, before))
      const { estimated } = fitted
      const { harder = false, tokens } = answer
      this.last = answer
      if (harder) {
        this.forget(yield* this.smaller(fitted))
      } else if (tokens !== undefined)
        this.window = ContextWindow.calibrate(this.window, { estimated, reported: tokens })
      return answer
    })
  }

  /** A turn that is asked for now, as it is recorded: without secrets, which is said where it changes something. */
  private asked(number: number, fitted: ContextWindow.Fitted, before: ReadonlyArray<turn.Failed>) {
    return Effect.suspend(() => {
      let whole: string | undefined
      const ask = Effect.tap(this.ask(number, fitted, before), ({ parts }) =>
        Effect.sync(() => void (whole = JSON.stringify(parts)))
      )
      return Effect.tap(Effects.perform(this.effect(number, ask)), ({ parts }) =>
        whole === undefined || whole === JSON.stringify(parts)
          ? Effect.void
          : this.order.notice(
              "redacted-answer",
              `something was taken out of turn ${number} before anything of it is done`
            )
      )
    })
  }

  /** The conversation goes on from what fits. What is no longer in it can be read again. */
  private forget({ dropped, prompt }: ContextWindow.Fitted): void {
    this.messages = prompt.content
    if (dropped.length === 0) return
    const first = this.dropped.texts.size === 0
    this.dropped = DroppedResults.keep(this.dropped, dropped)
    if (first && !this.tools.includes(this.reading.tool)) {
      this.tools = [...this.tools, this.reading.tool]
      this.toolbox.add(entryOf(this.reading.tool, { handle: this.reading.handle, recorded: "handler" }))
    }
  }

  /** What takes the place of turns. That of a model is asked for once, and recorded. */
  private summarise(
    number: number,
    work: ContextWindow.Work
  ): Effect.Effect<ContextWindow.Summary, never, Needs<RT, RM>> {
    const { manner, order } = this
    if (manner.summary === "mechanical") return ContextWindow.mechanical(work)
    const limits = { maxInput: 100_000, maxTokens: Math.min(2000, manner.maxOutput) }
    const summary = asking(work, limits, ({ objectName, outputLimit, prompt, schema }) => {
      const tokens = ContextWindow.estimate({ prompt })
      return Effect.flatMap(order.allowance.left, (left) =>
        order.spend({ tokens: tokens + outputLimit }, (record) =>
          Effect.flatMap(
            metered({
              what: `a summary before turn ${number} of ${order.dispatch}`,
              estimate: { input: tokens, output: outputLimit },
              left,
              record,
              notice: order.notice,
              more: { turn: number, summary: true }
            }),
            (options) => Models.callObject(manner.models, { prompt, schema, objectName, outputLimit }, options)
          )
        )
      ).pipe(
        Effect.mapBoth({
          onFailure: (error) => (error instanceof BudgetExceeded ? "the budget" : error.kind),
          onSuccess: ({ value }) => value
        })
      )
    })
    return Effects.perform({
      name: modelEffect,
      args: { summary: number },
      per: "dispatch",
      idempotent: true,
      schema: ContextWindow.Summary,
      run: () =>
        Effect.flatMap(summary, (made) =>
          EffectResult.isSuccess(owned(made, "the summary")) ? Effect.succeed(made) : ContextWindow.mechanical(work)
        )
    }).pipe(
      // What cannot be recorded is not asked for again: it is made without a model.
      Effect.catchTag("EffectError", () => ContextWindow.mechanical(work))
    )
  }

  private smaller(fitted: ContextWindow.Fitted) {
    return ContextWindow.harder(this.manner.window, fitted.state, {
      prompt: fitted.prompt,
      tools: this.tools,
      summarise: ContextWindow.mechanical
    })
  }

  private effect<E, R>(number: number, run: Effect.Effect<turn.Turn, E, R>) {
    return {
      name: modelEffect,
      args: { turn: number },
      per: "dispatch",
      idempotent: true,
      schema: turn.Turn,
      run: () => run
    } as const
  }

  /** T1 */
  private recorded(number: number): Effect.Effect<turn.Turn | undefined, Effects.EffectError, Effects.Effects> {
    return Effect.flatMap(Effects.Effects, ({ recall }) =>
      Effect.map(recall(this.effect(number, Effect.never)), Option.getOrUndefined)
    )
  }

  /** Asks the models for a turn. What a provider finds too long is made smaller once. */
  private ask(number: number, fitted: ContextWindow.Fitted, before: ReadonlyArray<turn.Failed>) {
    const { order } = this
    return Effect.gen({ self: this }, function* () {
      yield* order.progress
      return yield* this.call(number, fitted, before, false).pipe(
        Effect.catchIf(
          (error): error is ModelFailure => error instanceof ModelFailure && error.kind === "oversized",
          () =>
            Effect.gen({ self: this }, function* () {
              const smaller = yield* this.smaller(fitted)
              yield* Effect.forEach(smaller.events, ({ note, what }) => order.notice(what, note))
              return yield* this.call(number, smaller, before, true)
            })
        )
      )
    })
  }

  /** How long the answer may be: as long as ever, or shorter where that is what is left and still of use. */
  private longest(tokens: number, left: { readonly tokens?: number | undefined }): number {
    const { maxOutput } = this.manner
    const room = left.tokens === undefined ? maxOutput : Math.min(maxOutput, left.tokens - tokens)
    return room >= Math.min(maxOutput, shortest) ? room : maxOutput
  }

  private call(
    number: number,
    { prompt, tokens, utilisation }: ContextWindow.Fitted,
    before: ReadonlyArray<turn.Failed>,
    harder: boolean
  ) {
    const { manner, order, tools } = this
    const { models } = manner
    return Effect.gen({ self: this }, function* () {
      const { price } = yield* CostModel
      const left = yield* order.allowance.left
      const maxOutput = this.longest(tokens, left)
      const cost =
        this.last === undefined ? undefined : price({ ...this.last, usage: { input: tokens, output: maxOutput } })
      const estimate = { steps: 1, tokens: tokens + maxOutput, ...(cost === undefined ? {} : { cost }) }
      const { call, parts } = yield* order.spend(estimate, (record) =>
        Effect.flatMap(
          metered({
            what: `turn ${number} of ${order.dispatch}`,
            estimate: { input: tokens, output: maxOutput },
            left,
            record,
            notice: order.notice,
            more: { turn: number, estimatedTokens: tokens, utilisation: Math.round(utilisation * 1000) / 1000 },
            usage: (call) => ({ ...ModelCall.usageOf(call), steps: call.end === "answered" ? 1 : 0 })
          }),
          (options) =>
            Effect.provideService(
              Models.call(models, { prompt, tools, outputLimit: maxOutput }, options),
              WindowSize,
              manner.window.size
            )
        )
      )
      const { cacheRead = 0, cacheWrite = 0, input } = call.usage
      const { beyond, parts: kept } = turn.bounded(parts, manner.maxCalls)
      if (beyond !== undefined) {
        const note = `turn ${number} has ${manner.maxCalls + beyond} calls, of which ${many(beyond, "call")} are not looked at`
        yield* order.notice("too-many-calls", note)
      }
      const answer = {
        parts: kept,
        ...(beyond === undefined ? {} : { beyond }),
        before,
        provider: call.provider,
        model: call.model,
        ...(call.estimated === true ? {} : { tokens: ModelCall.tokensOf({ input, output: 0, cacheRead, cacheWrite }) }),
        ...(harder ? { harder } : {})
      } satisfies turn.Turn
      // An answer that the journal cannot hold is no answer, and nobody has to find out what became of it.
      const own = owned(answer, "its answer")
      if (EffectResult.isSuccess(own)) return answer
      return yield* Failure.malformed(sentences([own.failure], "its answer"))
    })
  }
}

/** What may be spent is spent. */
const isLimit = (error: unknown): error is BudgetExceeded | ModelFailure =>
  error instanceof BudgetExceeded || (error instanceof ModelFailure && error.kind === "exhausted")

/** Why the model says that it cannot go on, as a result. */
const stopped = ({ because, reason }: typeof GivenUp.Type): Ended<never> => {
  const result = {
    "not-able": () => Result.failed("capability", reason),
    "not-allowed": () => Result.failed("denied", reason),
    "too-large": () => Result.failed("oversized", reason),
    question: () => Result.ambiguous(reason)
  }
  return { _tag: "Stopped", result: result[because]() }
}
