/**
 * What a worker does outside, such as a payment, a mail or a deployment: once, whatever happens to the worker, to its order
 * and to the process.
 *
 * A handler does it through {@link perform}. The intent is in the journal before anything is done, and what came of it is
 * before anybody goes on with it. An order that is given again, after a passing failure, a time-out or a crash of the
 * process, gets what is recorded and does not do it again.
 *
 * **Details**
 *
 * An effect has a key: a digest of the run, the task, its name, its arguments and its occurrence. It is the same over
 * attempts, orders and processes; hand it on to what is called, where that takes an idempotency key.
 *
 * | what came of it | what the next one who asks gets |
 * |---|---|
 * | it was done | the recorded value, whoever records it: the worker, a probe, a person |
 * | it failed with a typed error, which says that it did not happen | it is done |
 * | nobody knows: a defect, an interruption, a time-out, the end of the process | with `idempotent` it is done again under the same key; with `probe` that is asked; otherwise a person is |
 * | it was done, and its value cannot be recorded | a person is asked for the value; it is never done again |
 *
 * Where a person is asked, the order ends and a review of kind `reconciliation` opens: `answer` with what came of it, `retry`
 * if it did not happen, `reject` to end the task. After an answer or a retry the order is given anew. While it is not known
 * what came of an effect, nobody in the run does the same, by name and arguments; a task that has such an effect neither
 * goes on nor ends, unless it is stopped.
 *
 * A worker that declares tools (`Worker.Tool`) does nothing outside but those, and people can be asked about a call before it
 * is done: by its risk and the tier of the run, and by the tool's own gate (`ToolGate`). The question is a review of kind
 * `action-approval`; the order waits for it, and begins anew with the answer.
 *
 * | what became of the call | `perform` |
 * |---|---|
 * | nobody has to be asked, somebody approved it, or a standing grant covers it (`Review.allow`) | does it, once |
 * | somebody approved it with changes | does it with the changed arguments, which `run` is handed; they fit the tool, and are looked at by the gate as if they had been proposed |
 * | somebody rejected it, nobody decided in time, or the question was taken back | fails with `rejected`, `expired`, `withdrawn`; the policy of the desk (`onReject`) may end the order instead |
 * | it is the same, by tool and arguments, as one that was rejected before in this run | fails with `rejected`, and nobody is asked |
 * | its arguments do not fit, the gate says no, or there is no such tool | fails with `malformed`, `denied`; the third such failure ends the order |
 *
 * **Invariants**
 *
 * - E1. Nothing is done outside before its intent is in the journal.
 * - E2. Nobody sees what came of it before that is in the journal.
 * - E3. What may have happened is done again only under the same key, and only where that is declared to be harmless.
 * - E4. An order never reports success while one of its effects is not settled.
 * - E5. An approval lets one call be done, once, with the arguments that were approved, of the same tool in the same version. One
 *   that has not been used in time, or by its order, lets nothing be done any more.
 * - E6. What nobody let be done is not done: `run` is not called.
 *
 * **Gotchas**
 *
 * - A typed failure means that nothing happened outside. An error after which that is not sure has to be told by
 *   `ambiguous`; time-outs of Effect are, by default.
 * - Name and arguments say what is done. What has to happen twice with the same arguments has two occurrences.
 * - Arguments and values are written into the journal as they are: no secrets in them.
 * - What an attempt has forked and left behind may still perform effects while the order is tried again: they are recorded
 *   as the order's. An effect with `probe` can happen twice when a process that stood still wakes between its intent and its
 *   doing, after another one has taken over; only the receiver's own check of the key can prevent that.
 * - An effect in which another one with the same name and arguments is performed waits for itself.
 * - A call that people are asked about must not be raced with a time-out, as with `Review.ask`.
 * - An approval holds for what is proposed under the same key. A handler that proposes something else when it begins anew is told
 *   of (`approval-mismatch`), and asks for something else.
 *
 * **Example** (A payment that is made once, although its worker fails after it)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Failure } from "espalier"
 * import { Journal } from "espalier/journal"
 * import { Desk, Domain, Effects, Plan, Run, Worker } from "espalier/run"
 *
 * const payments: Array<string> = []
 * const pay = Worker.make("pay", {
 *   description: "Pays an invoice",
 *   input: Schema.Struct({ invoice: Schema.String }),
 *   output: Schema.String,
 *   handle: ({ attempt, input }) =>
 *     Effects.perform({
 *       name: "pay",
 *       args: { invoice: input.invoice },
 *       run: () => Effect.sync(() => `receipt ${payments.push(input.invoice)}`)
 *     }).pipe(
 *       Effect.flatMap((receipt) =>
 *         attempt === 1
 *           ? Effect.fail(new Failure.Failure({ kind: "transient", reason: "the printer is busy", retryAfterMillis: 1 }))
 *           : Effect.succeed(receipt)
 *       )
 *     )
 * })
 * const desk = Desk.make("accounts", {
 *   version: "1",
 *   input: Schema.Struct({ invoice: Schema.String }),
 *   domains: [Domain.make("money", { workers: [pay] })],
 *   coordinator: Plan.make([
 *     { id: "pay", worker: "money.pay", objective: "Pay it", input: (_, given: { invoice: string }) => given }
 *   ])
 * })
 *
 * const program = Run.start(desk, { id: "r1", input: { invoice: "2026-17" } })
 * const { results } = await Effect.runPromise(Effect.provide(program, Journal.layerMemory))
 * results["pay"]?.output // => "receipt 1"
 * payments // => ["2026-17"]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

import type * as Autonomy from "./Autonomy.ts"
import type { EffectError } from "./internal/effectErrors.ts"
import { Memory, type Question, type Said } from "./internal/effectMemory.ts"
import { keyOf } from "./internal/performing.ts"
import type { Called } from "./internal/tools.ts"

export { EffectError } from "./internal/effectErrors.ts"
export type { Question, Said } from "./internal/effectMemory.ts"

/**
 * Something to be done outside.
 *
 * **Details**
 *
 * - `name`: what is done, 1 to 100 letters, digits and any of `_ . : / -`, beginning with a letter.
 * - `args`: what it is done with, plain JSON of at most 2 MiB. Default `null`.
 * - `occurrence`: which time it is, where the same is to happen more than once, a whole number >= 0. Default 0.
 * - `per`: whose it is. What belongs to the `"task"` is done once for the task, whichever of its orders does it; what belongs to
 *   the `"dispatch"`, such as looking something up, is done anew by the next order, and known to this one after a crash.
 *   Default `"task"`.
 * - `run`: does it. It is handed the key, and the arguments, which are other ones than `args` where somebody who approved it
 *   has changed them.
 * - `schema`: of what comes of it, which has to be recorded. Default: plain JSON, or nothing at all.
 * - `idempotent`: whether doing it again under the same key does no harm. Default: as the worker declares of the tool of
 *   this name, otherwise false.
 * - `probe`: asks outside whether it has happened: `Some` with what came of it, `None` when it has not. When it fails itself,
 *   nothing is known. Default: nobody can be asked.
 * - `interruptible`: whether `run` is interrupted when its order is called back or out of time. Otherwise its end is waited
 *   for, as long as work is waited for that does not stop, and recorded. Default true.
 * - `ambiguous`: whether it may have happened although it failed with this error. Default: only for a `Cause.TimeoutError`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<A, E = never, R = never, E2 = never, R2 = never> {
  readonly name: string
  readonly args?: Schema.Json | undefined
  readonly occurrence?: number | undefined
  readonly per?: "task" | "dispatch" | undefined
  readonly run: (key: string, args: Schema.Json) => Effect.Effect<A, E, R>
  readonly schema?: Schema.Codec<A, unknown> | undefined
  readonly idempotent?: boolean | undefined
  readonly probe?: ((key: string) => Effect.Effect<Option.Option<A>, E2, R2>) | undefined
  readonly interruptible?: boolean | undefined
  readonly ambiguous?: ((error: E) => boolean) | undefined
}

/**
 * What {@link Effects} does.
 *
 * **Details**
 *
 * - `called`: the tool of the effect's name, as the worker declares it. Its calls are looked at by its gate then.
 * - `recall`: what is recorded of an effect that was done, as `perform` would answer; nothing is done.
 * - `done`: what earlier orders of the task have done that belongs to the task, oldest first, at most the last 50, also what only
 *   a person could tell of.
 *
 * @category models
 * @since 0.1.0
 */
export interface Service {
  readonly perform: <A, E, R, E2, R2>(
    options: Options<A, E, R, E2, R2>,
    called?: Called | undefined
  ) => Effect.Effect<A, E | E2 | EffectError, R | R2>
  readonly recall: <A, E, R, E2, R2>(options: Options<A, E, R, E2, R2>) => Effect.Effect<Option.Option<A>, EffectError>
  readonly done: Effect.Effect<ReadonlyArray<Done>, EffectError>
}

/**
 * Something that was done. `arguments`, `value`: absent where they are not known, too large for their event, or nothing at all.
 *
 * @category models
 * @since 0.1.0
 */
export interface Done {
  readonly name: string
  readonly arguments?: Schema.Json | undefined
  readonly value?: Schema.Json | undefined
}

/**
 * The effects of an order. A handler that requires it gets it from whoever carries its order out.
 *
 * @category services
 * @since 0.1.0
 */
export class Effects extends Context.Service<Effects, Service>()("espalier/run/Effects") {}

/**
 * Does something outside once, and answers with what came of it.
 *
 * **Details**
 *
 * - Fails as `run` and `probe` do, and with an {@link EffectError}.
 * - Asked for by several at once it is done once, and all get its value. What came of it is answered as it was recorded: as
 *   the schema decodes what it encodes.
 * - Can be interrupted while it waits, and while `run` and `probe` can be. An effect that is interrupted while it is done is
 *   one of which nobody knows whether it has happened; also where `run` is uninterruptible by itself, but not where
 *   `interruptible` is false.
 *
 * **Gotchas**
 *
 * Without a schema what comes of it is plain JSON, or nothing. An object of a class, or one with a property that is
 * `undefined`, cannot be recorded: it has happened, and a person is asked what came of it.
 *
 * @category performing
 * @since 0.1.0
 */
export const perform: {
  <A, E, R, E2 = never, R2 = never>(
    options: Options<A, E, R, E2, R2> & { readonly schema: Schema.Codec<A, unknown> }
  ): Effect.Effect<A, E | E2 | EffectError, R | R2 | Effects>
  <A extends Schema.Json | void, E, R, E2 = never, R2 = never>(
    options: Options<A, E, R, E2, R2> & { readonly schema?: undefined }
  ): Effect.Effect<A, E | E2 | EffectError, R | R2 | Effects>
} = <A, E, R, E2, R2>(options: Options<A, E, R, E2, R2>): Effect.Effect<A, E | E2 | EffectError, R | R2 | Effects> =>
  Effect.flatMap(Effects, ({ perform }) => perform(options))

/**
 * The key of an effect, as `run` and `probe` are handed it; `dispatch`: the order, of one that belongs to an order alone.
 *
 * @category performing
 * @since 0.1.0
 */
export const key = (
  of: { readonly run: string; readonly task: string },
  effect: Pick<Options<unknown>, "args" | "name" | "occurrence">,
  dispatch?: string | undefined
): string => keyOf(of.run, of.task, effect.name, effect.args ?? null, effect.occurrence ?? 0, dispatch)

/**
 * Effects that belong to no run, for tests of a handler: they are done once for as long as the layer lives.
 *
 * **Details**
 *
 * - The keys are those of the task `task` of the run `run`. Defaults: `"none"`, `"none"`.
 * - `tier`: by which calls of tools are looked at, where a worker that declares them is given these effects. Default `"medium"`.
 * - `decide`: what is said where people would be asked about a call. Default: everything is rejected.
 * - Where a person would be asked what came of an effect, `perform` fails with an {@link EffectError} each time.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerMemory = (
  of: {
    readonly run?: string | undefined
    readonly task?: string | undefined
    readonly tier?: Autonomy.Tier | undefined
    readonly decide?: ((question: Question) => Said) | undefined
  } = {}
): Layer.Layer<Effects> => Layer.sync(Effects, () => new Memory(of.run ?? "none", of.task ?? "none", of).service)
