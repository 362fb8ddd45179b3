/**
 * Carrying out what a model calls, for one order: in scope, checked, gated, done once, and told back.
 *
 * **Invariants**
 *
 * - X1. What is not in scope, or does not fit, never reaches a handler.
 * - X2. A call that is recorded is not made again, and not asked about again.
 * - X3. Calls of a turn are made in their order; those that are declared safe beside each other, at the same time.
 * - X4. When one call ends the order, those beside it are interrupted, and have stopped before that is told.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import type * as Schema from "effect/Schema"

import * as Failure from "../../Failure.ts"
import { Redaction } from "../../Redaction.ts"
import { BudgetExceeded } from "../../run/Budget.ts"
import * as Effects from "../../run/Effects.ts"
import { canonical } from "../../run/internal/canonical.ts"
import { owned } from "../../run/internal/plain.ts"
import { sentences, shorten } from "../../run/internal/problems.ts"
import { reasonOf } from "../../run/internal/reasons.ts"
import { type Ended, Inside } from "../../run/Observer.ts"
import * as Secrets from "../../run/Secrets.ts"
import type { Order } from "../../run/Worker.ts"
import * as Gateway from "../Gateway.ts"
import * as ToolScope from "../ToolScope.ts"
import { errorTypeOfTool } from "./errorTypes.ts"
import { type Call, type Failed, isEnding, notAlone, type Told } from "./turn.ts"

/** A call that was made, for whoever looks at what was done. */
export interface Made {
  readonly turn: number
  readonly name: string
  readonly params: unknown
  readonly result: Schema.Json
  readonly isFailure: boolean
}

/** So many refusals end an order, and so many calls of one tool whose arguments do not fit. */
const most = 3

/** So many calls are made at the same time. */
const atOnce = 8

/** A result, and what of it no effect has recorded. */
interface Outcome {
  readonly told: Told
  readonly failed?: Failed
}

/** What an error says, without secrets. It is cut short afterwards, so that no half of one is left. */
const said = (error: unknown): Effect.Effect<string> =>
  Effect.gen(function* () {
    const rules = yield* Redaction
    return shorten(rules.text(yield* Secrets.scrub(reasonOf(error))), 2000)
  })

/** Ends of an effect after which its order cannot go on. */
const ends: ReadonlySet<string> = new Set(["refused", "unknown", "busy", "invalid"])

/** @since 0.1.0 */
export class Toolbox<R> {
  private readonly scope: ToolScope.ToolScope<R>
  private readonly order: Order
  /** The most characters that a result may have in a prompt. */
  private readonly longest: number
  private readonly occurrences = new Map<string, number>()
  private readonly misfits = new Map<string, number>()
  private refusals = 0
  readonly made: Array<Made> = []
  /** What can be called beside what is in scope. */
  private readonly beside = new Map<string, ToolScope.Entry>()

  constructor(scope: ToolScope.ToolScope<R>, order: Order, longest: number) {
    this.scope = scope
    this.order = order
    this.longest = longest
  }

  /** Lets a tool be called that belongs to the conversation itself. */
  add(entry: ToolScope.Entry): void {
    this.beside.set(entry.name, entry)
  }

  private entry(name: string): ToolScope.Entry<R> | undefined {
    return ToolScope.get(this.scope, name) ?? (this.beside.get(name) as ToolScope.Entry<R> | undefined)
  }

  /**
   * Makes the calls of a turn and answers with their results, and with those that are not recorded by themselves. `before`: what
   * is known of them, when they were made before.
   */
  readonly call = (
    turn: number,
    calls: ReadonlyArray<Call>,
    before: ReadonlyArray<Failed> | undefined
  ): Effect.Effect<
    { readonly told: ReadonlyArray<Told>; readonly failed: ReadonlyArray<Failed> },
    unknown,
    R | Effects.Effects
  > =>
    Effect.gen({ self: this }, function* () {
      const known = new Map(before?.map((each) => [each.call, each]))
      // What time it is is counted in the order of the calls, whoever is done first.
      const numbered = calls.map((call) => ({ call, occurrence: this.occurrence(call) }))
      const outcomes: Array<Outcome> = []
      for (const batch of this.batches(numbered)) {
        const done = yield* Effect.forEach(
          batch,
          ({ call, occurrence }) => {
            const earlier = known.get(call.id)
            return earlier === undefined ? this.one(call, occurrence) : this.again(call, earlier)
          },
          { concurrency: atOnce }
        )
        outcomes.push(...done)
      }
      for (const { told } of outcomes) {
        const { call, isFailure, result } = told
        this.made.push({ turn, name: call.name, params: call.params, result, isFailure })
      }
      return {
        told: outcomes.map(({ told }) => told),
        failed: outcomes.flatMap(({ failed }) => (failed === undefined ? [] : [failed]))
      }
    })

  private occurrence({ name, params }: Call): number {
    const key = `${name} ${digestable(params)}`
    const count = this.occurrences.get(key) ?? 0
    this.occurrences.set(key, count + 1)
    return count
  }

  /** X3 */
  private batches<A extends { readonly call: Call }>(calls: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> {
    const batches: Array<Array<A>> = []
    let open: Array<A> | undefined
    for (const each of calls) {
      if (this.entry(each.call.name)?.parallel !== true) {
        batches.push([each])
        open = undefined
      } else if (open === undefined) batches.push((open = [each]))
      else open.push(each)
    }
    return batches
  }

  private one(call: Call, occurrence: number): Effect.Effect<Outcome, unknown, R | Effects.Effects> {
    if (isEnding(call)) return Effect.succeed(this.failure(call, "not-done", notAlone))
    const entry = this.entry(call.name)
    if (entry === undefined) return this.outOfScope(call)
    const read = entry.read(call.params)
    const own = EffectResult.isSuccess(read) ? owned(call.params, "arguments") : undefined
    if (EffectResult.isFailure(read)) return this.misfit(call, sentences(read.failure, "the arguments"))
    if (own === undefined || EffectResult.isFailure(own)) return this.misfit(call, "the arguments must be plain JSON")
    if (entry.recorded === "handler") return this.handle(entry, call, read.success)
    return this.perform(entry, call, own.success, occurrence)
  }

  /** A tool that records itself what it does. */
  private handle(
    entry: ToolScope.Entry<R>,
    call: Call,
    params: unknown
  ): Effect.Effect<Outcome, unknown, R | Effects.Effects> {
    const work = Effect.suspend(() => entry.handle(params, { key: call.id, call: call.id, order: this.order }))
    return Effect.matchCauseEffect(seen(entry, call, Effect.timeout(work, entry.timeout)), {
      onFailure: (cause) => this.failed(entry, call, cause),
      onSuccess: (value) => {
        const encoded = entry.encode(value)
        const own = EffectResult.isSuccess(encoded) ? owned(encoded.success ?? null, "the result") : undefined
        return own !== undefined && EffectResult.isSuccess(own)
          ? this.told(call, own.success)
          : Effect.die(new Error(`the result of ${entry.name} does not fit`))
      }
    })
  }

  /** A call that failed before, as it did then. */
  private again(call: Call, { text, what }: Failed): Effect.Effect<Outcome, unknown> {
    const outcome = this.failure(call, what, text)
    if (what === "refused") return Effect.as(this.count(call), outcome)
    if (what === "misfit") return Effect.as(this.countMisfit(call, text), outcome)
    return Effect.succeed(outcome)
  }

  private failure(call: Call, what: Failed["what"], text: string): Outcome {
    return { told: { call, result: text, isFailure: true }, failed: { call: call.id, text, what } }
  }

  private outOfScope(call: Call): Effect.Effect<Outcome, unknown> {
    const { names } = this.scope
    const known = names.length === 0 ? "there are none" : `there are ${names.join(", ")}`
    const text = `There is no tool of this name for you: ${known}`
    return Effect.andThen(
      this.order.notice(
        "undeclared-tool",
        `it called ${JSON.stringify(shorten(call.name, 100))}, which is not in its scope`
      ),
      Effect.as(this.count(call), this.failure(call, "refused", text))
    )
  }

  private count(call: Call): Effect.Effect<void, Failure.Failure> {
    this.refusals += 1
    if (this.refusals < most) return Effect.void
    return Effect.fail(
      Failure.denied(`${this.refusals} calls were refused, the last one of ${JSON.stringify(shorten(call.name, 100))}`)
    )
  }

  private misfit(call: Call, why: string): Effect.Effect<Outcome, unknown> {
    const text = `This was not done: ${shorten(why, 2000)}`
    return Effect.andThen(
      this.order.notice("malformed-call", `a call of ${call.name} does not fit: ${shorten(why, 300)}`),
      Effect.as(this.countMisfit(call, why), this.failure(call, "misfit", text))
    )
  }

  /** Each tool has a count of its own. */
  private countMisfit({ name }: Call, why: string): Effect.Effect<void, Failure.Failure> {
    const count = (this.misfits.get(name) ?? 0) + 1
    this.misfits.set(name, count)
    return count < most
      ? Effect.void
      : Effect.fail(Failure.malformed(`${count} calls of ${name} did not fit, the last one: ${shorten(why, 300)}`))
  }

  private perform(
    entry: ToolScope.Entry<R>,
    call: Call,
    args: Schema.Json,
    occurrence: number
  ): Effect.Effect<Outcome, unknown, R | Effects.Effects> {
    const { order } = this
    const { idempotent, name } = entry
    const effect = (record: Parameters<Parameters<Order["spend"]>[1]>[0]) => ({
      name,
      args,
      occurrence,
      // What may be called again is called anew by another order: what came of it may be another thing then.
      per: idempotent ? ("dispatch" as const) : ("task" as const),
      idempotent,
      schema: entry.result,
      run: (key: string, args: Schema.Json) => this.run(entry, { key, call: call.id, order }, args, record)
    })
    return Effect.gen({ self: this }, function* () {
      const { recall } = yield* Effects.Effects
      const known = yield* recall(effect(() => Effect.void)) // X2
      if (Option.isSome(known)) return yield* this.told(call, known.value)
      const exit = yield* Effect.exit(
        order.spend({ toolCalls: 1 }, (record) =>
          seen(entry, call, Effects.perform<Schema.Json, unknown, R>(effect(record)))
        )
      )
      yield* order.progress
      if (Exit.isSuccess(exit)) return yield* this.told(call, exit.value)
      return yield* this.failed(entry, call, exit.cause)
    })
  }

  /** Does it, within its time, and holds what came of it against its schema. */
  private run(
    entry: ToolScope.Entry<R>,
    called: ToolScope.Called,
    args: Schema.Json,
    record: Parameters<Parameters<Order["spend"]>[1]>[0]
  ): Effect.Effect<Schema.Json, unknown, R> {
    const { host, name, timeout } = entry
    return Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const read = entry.read(args)
      if (EffectResult.isFailure(read)) return yield* Failure.malformed(sentences(read.failure, "the arguments"))
      const work = Effect.suspend(() => entry.handle(read.success, called))
      // One with a host has made its scope need the gateway; any other can be switched off where there is one.
      const gateway = yield* Effect.serviceOption(Gateway.Gateway)
      const limited: Effect.Effect<unknown, unknown, R> = Option.isSome(gateway)
        ? waiting(called.order, (turn) => gateway.value.call({ tool: name, host, timeout }, Effect.andThen(turn, work)))
        : host === undefined
          ? Effect.timeout(work, timeout)
          : Effect.die(new Error(`the tool ${name} has a host, and there is no Gateway`))
      const exit = yield* Effect.exit(limited)
      const ended = yield* Clock.currentTimeMillis
      const outcome = Exit.isSuccess(exit) ? "done" : Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "failed"
      // It has been done: what came of it is not what the tool promises, which is its bug.
      const came: Exit.Exit<Schema.Json, unknown> = Exit.isSuccess(exit)
        ? resultOf(entry, exit.value)
        : Exit.failCause(exit.cause)
      const errorType = outcome === "interrupted" ? undefined : errorTypeOfTool(endOf(came))
      yield* record({
        what: "tool",
        usage: { toolCalls: 1 },
        facts: {
          tool: name,
          outcome,
          durationMillis: ended - began,
          ...(errorType === undefined ? {} : { errorType })
        },
        note: `${name} was called: ${outcome}`
      })
      return yield* came
    })
  }

  /** A result as the model is told it: without secrets, and not longer than there is room for. */
  private told(call: Call, value: Schema.Json): Effect.Effect<Outcome> {
    return Effect.gen({ self: this }, function* () {
      const clean = yield* Secrets.scrubJson(value)
      const size = JSON.stringify(clean).length
      if (size <= this.longest) return { told: { call, result: clean, isFailure: false } }
      const text = shorten(typeof clean === "string" ? clean : JSON.stringify(clean), this.longest)
      yield* this.order.notice("long-result", `the result of ${call.name} has ${size} characters and was shortened`)
      return { told: { call, result: `${text}\n(shortened: it has ${size} characters)`, isFailure: false } }
    })
  }

  /** A call that failed: the model is told, or the order ends. */
  private failed(entry: ToolScope.Entry<R>, call: Call, cause: Cause.Cause<unknown>): Effect.Effect<Outcome, unknown> {
    const { name, timeout } = entry
    if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
    const typed = cause.reasons.find(Cause.isFailReason)
    const error = typed?.error
    if (error instanceof BudgetExceeded) return Effect.fail(error)
    if (error instanceof Effects.EffectError) return this.unperformed(call, error, cause)
    const late = Cause.isTimeoutError(error)
    const limit = Duration.format(timeout)
    // Whether something that may not be done again has happened is not known: that is not for a model to guess.
    if (!entry.idempotent && (late || typed === undefined)) {
      const why = late ? Effect.succeed(`did not answer within ${limit}`) : said(Cause.squash(cause))
      return Effect.flatMap(why, (why) =>
        Effect.fail(Failure.transient(`the tool ${name} ${late ? "" : "broke: "}${why}`))
      )
    }
    return Effect.gen({ self: this }, function* () {
      const silent = `the tool ${name} did not answer within ${limit}`
      const text = late ? silent : yield* said(error ?? Cause.squash(cause))
      yield* this.order.notice("tool-failed", `${name} (${call.id}) failed: ${shorten(text, 300)}`)
      if (entry.onFailure === "return") return this.failure(call, "failed", text)
      return yield* Failure.kindOf(error) === undefined
        ? Effect.fail(Failure.capability(`the tool ${name} failed: ${text}`))
        : Effect.failCause(cause)
    })
  }

  /** It was not done: by its gate, by people, or because its order may begin nothing more. */
  private unperformed(
    call: Call,
    error: Effects.EffectError,
    cause: Cause.Cause<unknown>
  ): Effect.Effect<Outcome, unknown> {
    if (ends.has(error.reason)) return Effect.failCause(cause)
    const told = error.message
    if (error.reason === "denied") return Effect.as(this.count(call), this.failure(call, "refused", told))
    return Effect.succeed(this.failure(call, "not-done", told))
  }
}

/** What a gate, or people, said of an effect that was not let be done. */
const forbidden: ReadonlySet<string> = new Set(["denied", "rejected", "expired", "withdrawn"])

/** What a tool answered with, held against what it promises. */
const resultOf = <R>({ encode, name }: ToolScope.Entry<R>, value: unknown): Exit.Exit<Schema.Json> => {
  const encoded = encode(value)
  if (EffectResult.isSuccess(encoded)) {
    const own = owned(encoded.success ?? null, "the result")
    if (EffectResult.isSuccess(own)) return Exit.succeed(own.success)
  }
  const why = EffectResult.isFailure(encoded) ? sentences(encoded.failure, "the result") : "it is no plain JSON"
  return Exit.die(new Error(`the result of ${name} does not fit: ${shorten(why, 500)}`))
}

/** What the end of a call means. */
const endOf = (exit: Exit.Exit<unknown, unknown>): Ended => {
  if (Exit.isSuccess(exit)) return { outcome: "accepted" }
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  const reason = reasonOf(error ?? Cause.squash(exit.cause))
  if (error instanceof BudgetExceeded) return { outcome: "budget-exceeded", kind: "exhausted", reason }
  if (error instanceof Effects.EffectError) {
    // Where nobody let it be done, nothing has failed.
    if (forbidden.has(error.reason)) return { outcome: "denied" }
    return { outcome: "failed", kind: Failure.kindOf(error) ?? "defect", reason }
  }
  if (Cause.isTimeoutError(error)) return { outcome: "timed-out", kind: Failure.kindOf(error) ?? "transient", reason }
  // A failure that does not say what it means is one of the tool; only what is none is a bug.
  return { outcome: "failed", kind: Failure.kindOf(error) ?? (error === undefined ? "defect" : "capability"), reason }
}

/** Makes a call with whoever sees it. */
const seen = <A, E, R, RT>(
  { name, tool: { description } }: ToolScope.Entry<RT>,
  { id, params }: Call,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Inside, (around) => around({ _tag: "Tool", tool: name, call: id, params, description }, effect, endOf))

/** To wait for a turn, which the gateway bounds, is no silence: there is a sign of life until `turn`. */
const waiting = <A, E, R>(
  { progress }: Order,
  call: (turn: Effect.Effect<void>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const signs = yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.sleep("10 seconds"), progress)))
    const over = Fiber.interrupt(signs)
    return yield* Effect.ensuring(call(Effect.andThen(over, progress)), over)
  })

const digestable = (params: unknown): string => {
  const own = owned(params ?? null, "arguments")
  return EffectResult.isSuccess(own) ? canonical(own.success) : "malformed"
}
