/**
 * Who can: a typed function with a name, what it is good at, and what it may cost.
 *
 * A worker is handed an {@link Order} and answers with its output, a {@link Result.Result}, or an error. What the error
 * means is told by its kind ({@link Failure}); an error without a kind, and anything thrown, counts as a bug. A worker
 * never talks to another worker and sees nothing but its order.
 *
 * **Details**
 *
 * - Input and output are schemas. The input is decoded from the contract's plain values before the worker is called, the
 *   output is encoded to plain JSON and checked before anybody sees it; what its schema marks as a secret
 *   (`Redaction.secret`, `Schema.Redacted`) is taken out then.
 * - What the handler needs is inferred and becomes a requirement of the desk. Each attempt has a scope of its own: what it
 *   acquires is released when it ends, also when it is interrupted. `Effects` come with the order.
 *
 * **Gotchas**
 *
 * A handler may be called again with the same order: after a passing failure, after a crash of the process. What it does
 * outside goes through `Effects.perform`, which does it once; whoever does without keys it by {@link Order.idempotencyKey}.
 *
 * **Example** (A worker that counts words)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   capabilities: ["count-words"],
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Struct({ words: Schema.Int }),
 *   handle: ({ input }) => Effect.succeed({ words: input.text.split(/\s+/).length })
 * })
 *
 * count.name // => "count"
 * ```
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import type { Reference } from "../journal/Reference.ts"
import * as Allowances from "./Allowance.ts"
import type { Allowance, Spend } from "./Allowance.ts"
import type * as Autonomy from "./Autonomy.ts"
import type { Contract } from "./Contract.ts"
import { Effects, type Service } from "./Effects.ts"
import { Memory } from "./internal/effectMemory.ts"
import { Given } from "./internal/given.ts"
import { jsonSchema } from "./internal/jsonSchema.ts"
import { Paying } from "./internal/paying.ts"
import { decoder, encoder, sentences, type Problem } from "./internal/problems.ts"
import { quietly } from "./internal/scrubbing.ts"
import { type Tools, toolsOf } from "./internal/tools.ts"
import { workerFields } from "./internal/workerFields.ts"
import { type ErrorKind, type Missing, type Result, Usage } from "./Result.ts"
import * as Review from "./Review.ts"
import * as Secrets from "./Secrets.ts"
import type * as ToolGate from "./ToolGate.ts"

const TypeId = "~espalier/run/Worker"

/**
 * How much harm a worker's actions can do: `low` reads and drafts, `medium` writes outside production, `high` touches
 * production, is dear, or cannot be undone.
 *
 * @category models
 * @since 0.1.0
 */
export type Risk = "low" | "medium" | "high"

/**
 * An earlier try at the same task, and how it failed.
 *
 * @category models
 * @since 0.1.0
 */
export interface PreviousError {
  readonly dispatch: string
  readonly worker: string
  readonly kind: ErrorKind
  readonly reason: string
}

/**
 * What a task lacks from the tasks before it.
 *
 * @category models
 * @since 0.1.0
 */
export interface MissingInput extends Missing {
  readonly task: string
}

/**
 * What a person said about a task.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answered {
  readonly by: string
  readonly answer?: Schema.Json | undefined
  readonly note: string
}

/**
 * Everything a worker is handed.
 *
 * **Details**
 *
 * - `dispatch`: id of this order, `run/task/n`; the same after a crash of the process.
 * - `attempt`: 1 for the first try inside this dispatch.
 * - `idempotencyKey`: the same for every attempt and every dispatch of the task.
 * - `accepted`: what the tasks before it put out, by task id, as plain JSON.
 * - `artefacts`: where the artefacts of the tasks before it are, by task id and name; only tasks that have some.
 * - `missing`: what they did not; empty when everything is there.
 * - `previous`: earlier errors of this task, oldest first. After a malformed answer, the last one says what was wrong.
 * - `answers`: what people said about it, oldest first.
 * - `allowance`: what may still be spent; calls that cost something go through it.
 * - `spend`: pays for calls one by one, each of which is written down as it happens (`Spent`). What is paid so is not lost when
 *   the process is; the usage of a result says only what was used beside it.
 * - `notice`: writes down something that changes nothing and must not be silent (`Noticed`): what it is, as in
 *   `"window-alert"`, and one sentence. At most 100 of an order.
 * - `progress`: a sign of life; the time-out of the attempt counts from the last one. The deadline of the task does not move.
 *
 * @category models
 * @since 0.1.0
 */
export interface Order<out Input = unknown> {
  readonly run: string
  readonly task: string
  readonly dispatch: string
  readonly attempt: number
  readonly idempotencyKey: string
  readonly contract: Contract
  readonly input: Input
  readonly accepted: Readonly<Record<string, Schema.Json>>
  readonly artefacts: Readonly<Record<string, Readonly<Record<string, Reference>>>>
  readonly missing: ReadonlyArray<MissingInput>
  readonly previous: ReadonlyArray<PreviousError>
  readonly answers: ReadonlyArray<Answered>
  readonly allowance: Allowance
  readonly spend: Spend
  readonly notice: (what: string, note: string) => Effect.Effect<void>
  readonly progress: Effect.Effect<void>
}

/**
 * An order before it is given.
 *
 * **Details**
 *
 * - `effects`: what the handler does outside goes through them. Default: those of `Effects.layerMemory`, for this once.
 * - `people`: whom it may ask. Default: those of `Review.layerMemory`, who reject everything.
 *
 * @category models
 * @since 0.1.0
 */
export type Prepared = Omit<Order, "allowance" | "spend" | "notice" | "progress"> &
  Partial<Pick<Order, "allowance" | "spend" | "notice" | "progress">> & {
    readonly effects?: Service | undefined
    readonly people?: Review.Service | undefined
  }

/**
 * A worker, ready to be put into a domain. `R` is what its handler needs.
 *
 * **Details**
 *
 * - `prepare` decodes the input of an order and answers with the work, or with what is wrong with the input.
 * - `encodeOutput` turns an output into plain JSON by the output schema, without what that marks as a secret.
 * - `schemas` are both schemas as JSON schema.
 *
 * @category models
 * @since 0.1.0
 */
export interface Worker<out R = unknown> {
  readonly [TypeId]: typeof TypeId
  readonly name: string
  readonly description: string
  readonly capabilities: ReadonlyArray<string>
  readonly risk: Risk
  readonly size: number
  readonly queue: number
  readonly available: boolean
  readonly attemptTimeout: Duration.Duration
  readonly permissions: ReadonlyArray<string>
  readonly tools: ReadonlyArray<string>
  readonly dependencies: ReadonlyArray<string>
  readonly artefacts: ReadonlyArray<string>
  readonly secrets: ReadonlyArray<string>
  readonly estimate: Usage
  readonly confidence: number | undefined
  readonly window: number | undefined
  readonly irreversible: boolean
  readonly prepare: (order: Prepared) => EffectResult.Result<Effect.Effect<unknown, unknown, R>, ReadonlyArray<Problem>>
  readonly encodeOutput: (output: unknown) => EffectResult.Result<unknown, ReadonlyArray<Problem>>
  readonly schemas: () => ReadonlyArray<unknown>
}

/**
 * What a worker needs from its surroundings.
 *
 * @category types
 * @since 0.1.0
 */
export type Requires<W> = W extends Worker<infer R> ? R : never

/**
 * A tool that a worker may call, through `Effects.perform` with its name.
 *
 * **Details**
 *
 * - `idempotent`: whether calling it again under the same key does no harm. Default false.
 * - `risk`, `irreversible`: of a call of it. Where that is more than its worker's, the tier of the run decides who is asked, as
 *   `Autonomy` does for an order. Defaults `"low"`, false.
 * - `gate`: when people are asked beside that; see `ToolGate`. Default `"never"`.
 * - `input`: a schema of its arguments. A call whose arguments do not fit is refused before anybody is asked. Default: anything.
 * - `editable`: JSON Pointers to the arguments that whoever approves a call may change, at most 100; needs an `input`. Default
 *   none.
 * - `describe`: one sentence for people that says what a call does, made out of its arguments. Default: only the arguments are
 *   shown.
 * - `version`: an approval holds for one version of a tool. Default `"1"`.
 *
 * `gate` and `describe` get the arguments as `input` decodes them; their types are what the author says they are.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tool {
  readonly name: string
  readonly idempotent?: boolean | undefined
  readonly risk?: Autonomy.Risk | undefined
  readonly irreversible?: boolean | undefined
  readonly gate?: ToolGate.Gate | undefined
  readonly input?: Schema.Codec<unknown, unknown> | undefined
  readonly editable?: ReadonlyArray<string> | undefined
  readonly describe?: ((args: never) => string) | undefined
  readonly version?: string | undefined
}

/**
 * What a worker is made of.
 *
 * **Details**
 *
 * - `description`: one sentence by which it is chosen; no two workers of a desk have the same.
 * - `capabilities`: what it can take over; another worker with the same capabilities is its stand-in. Default none.
 * - `input`: a schema over the contract's named inputs.
 * - `output`: the schema of what `handle` returns; it must encode to JSON.
 * - `risk`: default `"low"`.
 * - `size`: how many orders it works on at once, a whole number >= 1. Default 1.
 * - `queue`: how many orders of all runs may wait in line for a free place, a whole number >= 0. Default 100. Later ones are
 *   held back by their runs, which have no more of them than the worker has places, and move up in the order in which they
 *   came.
 * - `available`: whether it takes orders; a worker that does not is passed over. Default true.
 * - `attemptTimeout`: how long one attempt may go on without a sign of `progress` before it is interrupted, > 0. Default 30
 *   seconds. Waiting between attempts does not count.
 * - `permissions`: the areas in which it works. A contract that does not grant each of them is refused. Default none.
 * - `tools`: the tools that it may call, by name or with what there is to say of them ({@link Tool}). A worker with tools
 *   performs no effect of any other name. One that does no harm when it is called again under the same key says so:
 *   `{ name, idempotent: true }`; an effect of its name is repeated then where nobody knows what came of it. Default: none are
 *   declared, and any effect may be performed.
 * - `dependencies`: names of the services outside that it relies on, shared with other workers. Default none.
 * - `artefacts`: names of the artefacts that it may deliver, out of the run's store (`Artefacts`); an answer with any other
 *   is refused, and so is one that the store does not hold. Default none.
 * - `secrets`: names of the secrets that it may have, out of `Secrets`, with `Secrets.get`; any other is refused, whatever the
 *   service holds. Default none.
 * - `estimate`: what one dispatch is expected to use, to be reserved before it; see `Result.Usage`. Default nothing.
 * - `confidence`: below it, an answer of this worker counts as uncertain, between 0 and 1. Default: the recovery policy's.
 * - `window`: how much it can take in, in whatever unit the desk uses throughout, such as tokens, a whole number >= 1. What
 *   was too large for one worker goes to one with a larger window, or one that names none. Default none.
 * - `irreversible`: whether what it does cannot be undone. A person is asked before each order then, at every autonomy tier,
 *   and not the one who asked for it. Default false.
 * - `handle`: the work.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<I, IE, A, AE, E, R> {
  readonly description: string
  readonly capabilities?: ReadonlyArray<string> | undefined
  readonly input: Schema.Codec<I, IE>
  readonly output: Schema.Codec<A, AE>
  readonly risk?: Risk | undefined
  readonly size?: number | undefined
  readonly queue?: number | undefined
  readonly available?: boolean | undefined
  readonly attemptTimeout?: Duration.Input | undefined
  readonly permissions?: ReadonlyArray<string> | undefined
  readonly tools?: ReadonlyArray<string | Tool> | undefined
  readonly dependencies?: ReadonlyArray<string> | undefined
  readonly artefacts?: ReadonlyArray<string> | undefined
  readonly secrets?: ReadonlyArray<string> | undefined
  readonly estimate?: Usage | undefined
  readonly confidence?: number | undefined
  readonly window?: number | undefined
  readonly irreversible?: boolean | undefined
  readonly handle: (order: Order<I>) => Effect.Effect<NoInfer<A> | Result<NoInfer<A>>, E, R>
}

/** Of an order that was never given, as one that only its inputs are checked of. */
const unlimited = Allowances.makeUnsafe({ limit: {} })

/** Of an order that belongs to no run. */
const unheard = () => Effect.void

const namePattern = /^[A-Za-z][\w-]{0,63}$/

const decodeUsage = decoder(Usage, "error")

const given = new Given("Worker.make")

const estimateOf = (estimate: Usage = {}): Usage =>
  EffectResult.getOrElse(decodeUsage(estimate), (problems) => {
    const placed = problems.map((each) => ({ ...each, path: each.path === "" ? "estimate" : `estimate.${each.path}` }))
    throw new RangeError(`Worker.make: ${sentences(placed)}`)
  })

/** Effects go by what is declared of the tools of their names. A worker that declares none performs whatever it wants. */
const calling = (effects: Service, tools: Tools): Service =>
  tools.size === 0
    ? effects
    : {
        recall: effects.recall,
        done: effects.done,
        perform: (options) => {
          const tool = tools.get(options.name)
          if (tool === undefined) return effects.perform(options, { _tag: "Undeclared", known: [...tools.keys()] })
          const { idempotent = tool.idempotent } = options
          return effects.perform({ ...options, idempotent }, tool.gated ? tool : undefined)
        }
      }

/** Has work see only the secrets that are declared, and keeps those out of its logs and spans. */
const trusting =
  (worker: string, names: ReadonlyArray<string>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(Effect.serviceOption(Secrets.Secrets), (secrets) => {
      if (Option.isNone(secrets)) return work
      const own = Secrets.narrow(secrets.value, { worker, names })
      const seeing = Effect.provideService(work, Secrets.Secrets, own) as Effect.Effect<A, E, R>
      return names.length === 0 ? seeing : quietly(seeing, own)
    })

/**
 * Makes a worker.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when the name has other characters than letters, digits, `_` and `-`, when a
 * value is not of its kind or out of its range, when a list names something twice or nothing at all, when there is no such
 * option, and when what is editable of a tool could not be checked. Areas and artefacts are named with letters, digits, `.`, `_` and `-`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <I, IE, A, AE, E, R>(
  name: string,
  options: Options<I, IE, A, AE, E, R>
): Worker<Exclude<R, Scope.Scope | Effects | Review.Review>> => {
  if (typeof name !== "string" || !namePattern.test(name)) given.refuse("name", "letters, digits, '_' and '-'", name)
  given.record("options", options, workerFields)
  given.text("description", options.description)
  given.schema("input", options.input)
  given.schema("output", options.output)
  given.code("handle", options.handle)
  const { available = true, irreversible = false, risk = "low" } = options
  given.oneOf("risk", risk, ["low", "medium", "high"])
  given.flag("available", available)
  given.flag("irreversible", irreversible)
  const tools = toolsOf(options.tools ?? [], { risk, irreversible })
  const secrets = given.names("secrets", options.secrets ?? [])
  const decodeInput = decoder(Schema.toCodecJson(options.input))
  return {
    [TypeId]: TypeId,
    name,
    description: options.description,
    capabilities: given.names("capabilities", options.capabilities ?? []),
    risk,
    size: given.whole("size", options.size ?? 1, 1),
    queue: given.whole("queue", options.queue ?? 100, 0),
    available,
    attemptTimeout: given.duration("attemptTimeout", options.attemptTimeout ?? "30 seconds", "more"),
    permissions: given.names("permissions", options.permissions ?? [], "ids"),
    tools: [...tools.keys()],
    dependencies: given.names("dependencies", options.dependencies ?? []),
    artefacts: given.names("artefacts", options.artefacts ?? [], "ids"),
    secrets,
    estimate: estimateOf(options.estimate),
    confidence: options.confidence === undefined ? undefined : given.share("confidence", options.confidence),
    window: options.window === undefined ? undefined : given.whole("window", options.window, 1),
    irreversible,
    prepare: (order) =>
      EffectResult.map(decodeInput(order.contract.inputs), (input) => {
        const work = Effect.scoped(
          Effect.suspend(() => {
            const { allowance = unlimited, effects, people, progress = Effect.void, ...given } = order
            const { notice = unheard, spend = new Paying(allowance, () => {}).spend } = order
            const outside = calling(effects ?? new Memory(order.run, order.task).service, tools)
            return options
              .handle({ ...given, allowance, spend, notice, progress, input })
              .pipe(
                Effect.provideService(Effects, outside),
                Effect.provideService(Review.Review, people ?? Review.memory({ run: order.run, task: order.task })),
                trusting(name, secrets)
              )
          })
        )
        // What is left out is the same, one after the other or both at once.
        return work as Effect.Effect<unknown, unknown, Exclude<R, Scope.Scope | Effects | Review.Review>>
      }),
    encodeOutput: encoder(Schema.toCodecJson(options.output)),
    schemas: () => [jsonSchema(options.input), jsonSchema(options.output)]
  }
}

/**
 * Whether a value is a worker.
 *
 * @category guards
 * @since 0.1.0
 */
export const isWorker = (value: unknown): value is Worker =>
  typeof value === "object" && value !== null && TypeId in value
