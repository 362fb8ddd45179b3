/**
 * The models of an agent: one that is asked, and others that are asked when it cannot answer.
 *
 * A call goes to the first model of the chain. What its failure means decides what happens next:
 *
 * | the call fails with | then |
 * |---|---|
 * | `transient` that says to come back within `swapAfter` | it fails; whoever calls waits and tries again |
 * | `transient` that says nothing, or says later than that | the next model |
 * | `oversized` | the next model with a larger window |
 * | `capability`, `denied`, `malformed` | the next model |
 * | `exhausted`, or anything after the answer had begun | it fails |
 *
 * **Details**
 *
 * - Effect's `ExecutionPlan` carries the chain. Nothing here tries a model again.
 * - Every call is made through `Dependency.call` as `provider`, or `provider/credential`: what one worker learns about a
 *   provider, all know. A provider that keeps failing is passed over for the next model; one that asked to be left alone for
 *   a short time is waited for.
 * - A model that is passed over without a call is no call: it shows as a swap.
 * - Without any answer, the call fails as its most hopeful failure does: see {@link mostHopeful}.
 * - What only another model understands is taken out of the prompt: see {@link portable}.
 *
 * **Invariants**
 *
 * - M1. Each model is called at most once per call.
 * - M2. Every call that was sent is recorded once, however it ends, also when it is interrupted.
 * - M3. What a call used is never taken for nothing because its provider did not say: it is what was reported, else the
 *   estimate, wherever the provider may have worked on it.
 *
 * **Example** (A second model answers for the first)
 *
 * ```ts
 * import { Effect, Layer, Stream } from "effect"
 * import { AiError, LanguageModel, Model, Prompt, type Response } from "effect/ai"
 * import { CostModel, Models } from "espalier/agent"
 * import { Dependency } from "espalier/run"
 *
 * const modelOf = (generateText: Effect.Effect<Array<Response.PartEncoded>, AiError.AiError>) =>
 *   Layer.effect(
 *     LanguageModel.LanguageModel,
 *     LanguageModel.make({ generateText: () => generateText, streamText: () => Stream.empty })
 *   )
 * const reason = new AiError.QuotaExhaustedError({})
 * const spent = modelOf(Effect.fail(AiError.make({ module: "Acme", method: "generateText", reason })))
 * const greeting = modelOf(Effect.succeed([{ type: "text", text: "Hello" }]))
 *
 * const models = Models.make([
 *   { provide: Model.make("acme", "large", spent) },
 *   { provide: Model.make("other", "small", greeting) }
 * ])
 * const swaps: Array<string> = []
 * const program = Effect.gen(function* () {
 *   const answer = yield* Models.call(
 *     models,
 *     { prompt: Prompt.make("Say hello"), tools: [] },
 *     { onSwap: ({ from, kind, to }) => Effect.sync(() => swaps.push(`${from} -> ${to}: ${kind}`)) }
 *   )
 *   return answer.response.text
 * })
 * const services = Layer.merge(Dependency.layer(), CostModel.layerUnknown)
 * await Effect.runPromise(Effect.provide(program, services)) // => "Hello"
 * swaps // => ["acme/large -> other/small: capability"]
 * ```
 *
 * @since 0.1.0
 */

import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Model from "effect/ai/Model"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import type * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionPlan from "effect/ExecutionPlan"
import * as Layer from "effect/Layer"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import type * as Failure from "../Failure.ts"
import type * as Dependency from "../run/Dependency.ts"
import { Given } from "../run/internal/given.ts"
import type { CostModel } from "./CostModel.ts"
import * as chain from "./internal/chain.ts"
import { attempt, type Asked, type Generated, type Tried } from "./internal/modelAttempt.ts"
import * as portability from "./internal/portable.ts"
import type * as ModelCall from "./ModelCall.ts"
import type { ModelFailure } from "./ModelFailure.ts"

const TypeId = "~espalier/agent/Models"

/**
 * What a model is made of: the model itself and its names.
 *
 * @category models
 * @since 0.1.0
 */
export type Provided = LanguageModel.LanguageModel | Model.ModelName | Model.ProviderName

/**
 * One model of a chain.
 *
 * **Details**
 *
 * - `provide`: a `Model`, or a layer with a model and its names.
 * - `credential`: the name of the key that it is called with, never the key. Calls with different credentials of a provider
 *   do not hold each other up. Default none.
 * - `window`: how many tokens prompt and answer may have together, a whole number >= 1. Default not known; then a prompt that
 *   is too large for another model is not given to this one.
 * - `maxOutput`: the most tokens that an answer may have, a whole number >= 1. Default: what the adapter says.
 * - `name`: for people. Default `provider/model`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Member<out R = never> {
  readonly provide: Layer.Layer<Provided, never, R>
  readonly credential?: string | undefined
  readonly window?: number | undefined
  readonly maxOutput?: number | undefined
  readonly name?: string | undefined
}

/**
 * What holds for all models of a chain.
 *
 * **Details**
 *
 * - `swapAfter`: up to which pause, that a provider asks for, its model is waited for, >= 0. Default 60 seconds.
 * - `timeout`: how long one call may take, > 0. Then it is a `transient` failure. Default 120 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly swapAfter?: Duration.Input | undefined
  readonly timeout?: Duration.Input | undefined
}

/**
 * Models in the order in which they are asked. `R` is what they need to be made.
 *
 * @category models
 * @since 0.1.0
 */
export interface Models<out R = never> {
  readonly [TypeId]: typeof TypeId
  readonly members: Arr.NonEmptyReadonlyArray<Member<R>>
  readonly swapAfter: Duration.Duration
  readonly timeout: Duration.Duration
}

/**
 * What a model is asked.
 *
 * **Details**
 *
 * - `tools`: those that the answer may call. None of them is run here, and the arguments of a call are not looked at.
 * - `toolChoice`: default `auto`.
 * - `outputLimit`: the most tokens that the answer may have, a whole number >= 1; never more than the model's `maxOutput`.
 *   Default `maxOutput`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  readonly toolChoice?: LanguageModel.ToolChoice<string> | undefined
  readonly outputLimit?: number | undefined
}

/**
 * What a model is asked for that has to have a form.
 *
 * **Details**
 *
 * - `schema`: of the answer, an object when it is encoded. `objectName`: what it is called. Default: as the schema is.
 * - `outputLimit`: as in {@link Request}.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectRequest<S extends ObjectSchema> {
  readonly prompt: Prompt.Prompt
  readonly schema: S
  readonly objectName?: string | undefined
  readonly outputLimit?: number | undefined
}

/**
 * A schema that is an object when it is encoded.
 *
 * @category types
 * @since 0.1.0
 */
export type ObjectSchema = Schema.Encoder<Record<string, unknown>, unknown>

/**
 * Another model is asked.
 *
 * **Details**
 *
 * - `from`, `to`: the names of the models. `kind`, `reason`: why the first one did not answer.
 *
 * @category models
 * @since 0.1.0
 */
export interface Swap {
  readonly from: string
  readonly to: string
  readonly kind: Failure.Kind
  readonly reason: string
}

/**
 * Who is told what happens, and what is set aside.
 *
 * **Details**
 *
 * - `onCall`: run for every call that was sent, with its record, before its outcome is known to anybody else. It is not
 *   interrupted. Default nobody.
 * - `onSwap`: run before another model is asked. Default nobody.
 * - `admit`: asked before each call, by whom and with what it may use: what it fails with is the failure of that model, which was
 *   not called. Default: every call is made.
 * - `timeout`: as in {@link Options}. Default: that of the models.
 * - `estimate`: what a call is charged with whose provider did not say what it used. Default: a token for every 4 characters
 *   of the prompt and the tools, and an answer as long as its limit.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallOptions {
  readonly onCall?: ((call: ModelCall.Call) => Effect.Effect<void>) | undefined
  readonly onSwap?: ((swap: Swap) => Effect.Effect<void>) | undefined
  readonly admit?:
    | ((call: Pick<ModelCall.Call, "model" | "provider" | "usage">) => Effect.Effect<void, ModelFailure>)
    | undefined
  readonly timeout?: Duration.Input | undefined
  readonly estimate?: { readonly input: number; readonly output: number } | undefined
}

/**
 * The answer of a model.
 *
 * **Details**
 *
 * - `parts`: as plain JSON, without what the HTTP response said. `response`: the same, as Effect has it.
 * - `call`: the record of the call that was answered; `onCall` has had it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Answer {
  readonly parts: ReadonlyArray<Response.PartEncoded>
  readonly response: LanguageModel.GenerateTextResponse<Record<string, Tool.Any>, "deferred">
  readonly call: ModelCall.Call
}

/**
 * An answer that has a form.
 *
 * @category models
 * @since 0.1.0
 */
export interface ObjectAnswer<out A> {
  readonly value: A
  readonly parts: ReadonlyArray<Response.PartEncoded>
  readonly call: ModelCall.Call
}

const defaultSwapAfter = Duration.seconds(60)
const defaultTimeout = Duration.seconds(120)

const given = new Given("Models.make")

const fields: ReadonlyArray<keyof Member> = ["provide", "credential", "window", "maxOutput", "name"]

const checkMember = (member: unknown, index: number): void => {
  const at = `members[${index}]`
  const { credential, maxOutput, name, provide, window } = given.record(at, member, fields)
  given.made(`${at}.provide`, "a Model or a layer", Layer.isLayer(provide), provide)
  if (credential !== undefined) given.names(`${at}.credential`, [credential])
  if (name !== undefined) given.names(`${at}.name`, [name])
  if (window !== undefined) given.whole(`${at}.window`, window, 1)
  if (maxOutput !== undefined) given.whole(`${at}.maxOutput`, maxOutput, 1)
}

const build = <R>(members: ReadonlyArray<Member<R>>, options: Options): Models<R> => {
  given.record("options", options, ["swapAfter", "timeout"])
  if (given.list("members", members).length === 0) given.refuse("members", "a list with at least one model", members)
  members.forEach(checkMember)
  return {
    [TypeId]: TypeId,
    members: members as Arr.NonEmptyReadonlyArray<Member<R>>,
    swapAfter: given.duration("swapAfter", options.swapAfter ?? defaultSwapAfter, "zero"),
    timeout: given.duration("timeout", options.timeout ?? defaultTimeout, "more")
  }
}

/**
 * Models in the order in which they are asked: by cost, by latency, or by what stands in for what.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when a value does not hold.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <const Members extends Arr.NonEmptyReadonlyArray<Member<unknown>>>(
  members: Members,
  options: Options = {}
): Models<Layer.Services<Members[number]["provide"]>> =>
  build(members as ReadonlyArray<Member<Layer.Services<Members[number]["provide"]>>>, options)

/**
 * Models from a plan, one for each of its steps.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a step has more than one attempt, a schedule or a condition: when a model is tried again, and
 * when another one is asked, is decided here and by whoever calls.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromPlan = <Input, R>(
  plan: ExecutionPlan.ExecutionPlan<{ provides: Provided; input: Input; error: never; requirements: R }>,
  options: Options = {}
): Models<R> => {
  const given = new Given("Models.fromPlan")
  given.made("plan", "an ExecutionPlan", ExecutionPlan.isExecutionPlan(plan), plan)
  const members = plan.steps.map((step, index): Member<R> => {
    const at = `plan.steps[${index}]`
    if (step.attempts !== undefined && step.attempts !== 1) given.refuse(`${at}.attempts`, "1 or absent", step.attempts)
    if (step.schedule !== undefined) given.refuse(`${at}.schedule`, "absent", step.schedule)
    if (step.while !== undefined) given.refuse(`${at}.while`, "absent", step.while)
    return { provide: Context.isContext(step.provide) ? Layer.succeedContext(step.provide) : step.provide }
  })
  return build(members, options)
}

/**
 * Whether a value was made by one of the constructors.
 *
 * @category guards
 * @since 0.1.0
 */
export const isModels = (value: unknown): value is Models<unknown> => Predicate.hasProperty(value, TypeId)

/**
 * The same models, made once and kept until the scope ends. Otherwise each call makes the model that it asks.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = <R>(models: Models<R>): Effect.Effect<Models, never, R | Scope.Scope> =>
  Effect.map(
    Effect.forEach(models.members, (member) =>
      Effect.map(Layer.build(member.provide), (context): Member => ({
        ...member,
        provide: Layer.succeedContext(context)
      }))
    ),
    (members): Models => ({ ...models, members: members as unknown as Arr.NonEmptyReadonlyArray<Member> })
  )

/**
 * What a failure of the model at a position means: the table of the module.
 *
 * **Details**
 *
 * - `retry-later`: it fails with this failure, and whoever calls waits. `swap`: another model of the chain is asked. `stop`:
 *   nobody else is asked.
 * - `swapAfter`: as in {@link Options}.
 *
 * **Example** (A short pause is waited for, a long one is not)
 *
 * ```ts
 * import { Models } from "espalier/agent"
 *
 * const chain = [{ window: 200_000 }, { window: 1_000_000 }]
 * Models.next({ kind: "transient", retryAfterMillis: 5_000 }, 0, chain) // => "retry-later"
 * Models.next({ kind: "transient", retryAfterMillis: 600_000 }, 0, chain) // => "swap"
 * Models.next({ kind: "oversized" }, 0, chain) // => "swap"
 * Models.next({ kind: "denied", begun: true }, 0, chain) // => "stop"
 * ```
 *
 * @category decisions
 * @since 0.1.0
 */
export const next = (
  failure: {
    readonly kind: Failure.Kind
    readonly retryAfterMillis?: number | undefined
    readonly begun?: boolean | undefined
  },
  position: number,
  members: ReadonlyArray<{ readonly window?: number | undefined }>,
  swapAfter: Duration.Input = defaultSwapAfter
): "retry-later" | "swap" | "stop" =>
  chain.next(failure, position, members, Duration.toMillis(Duration.fromInputUnsafe(swapAfter)))

/**
 * Of the failures of a chain that nobody answered, the one that it fails with.
 *
 * **Details**
 *
 * `transient` before `oversized` before `capability` before `denied` before `malformed`: what passes by itself, what a
 * smaller prompt helps, what another worker can, what a person has to allow, what nothing is known to help. Of several
 * `transient` ones the one that asks for the shortest pause; of others the last.
 *
 * @category decisions
 * @since 0.1.0
 */
export const mostHopeful: <F extends { readonly kind: Failure.Kind; readonly retryAfterMillis?: number | undefined }>(
  failures: readonly [F, ...Array<F>]
) => F = chain.mostHopeful

/**
 * The prompt as a model can read it.
 *
 * **Details**
 *
 * - Without what another model has made and only that one understands: its reasoning, which is signed, its options, and the
 *   calls of tools that its provider carried out.
 * - `from`: for whom the parts are that do not say who made them. When it is another provider, their options are left out
 *   too. Default: they stay as they are.
 * - A message of which nothing is left is left out.
 *
 * @category conversions
 * @since 0.1.0
 */
export const portable: (
  prompt: Prompt.Prompt,
  to: { readonly provider: string; readonly model: string },
  from?: { readonly provider: string; readonly model: string } | undefined
) => Prompt.Prompt = portability.portable

const run = <G extends Generated, R, RG>(
  models: Models<R>,
  asked: Omit<Asked, "estimate" | "timeout">,
  options: CallOptions,
  generate: (prompt: Prompt.Prompt) => Effect.Effect<G, AiError.AiError, RG>
) => {
  const { members } = models
  const swapAfterMillis = Duration.toMillis(models.swapAfter)
  const timeout =
    options.timeout === undefined
      ? models.timeout
      : new Given("Models.call").duration("timeout", options.timeout, "more")
  const steps = members.map(({ provide }, index) => ({
    provide,
    while: ({ failure, step }: Tried) => chain.target(failure, step, members, swapAfterMillis) === index
  })) as unknown as Arr.NonEmptyReadonlyArray<{
    readonly provide: Layer.Layer<Provided, never, R>
    readonly while: (tried: Tried) => boolean
  }>
  const plan = ExecutionPlan.make(...steps)
  return Effect.suspend(() => {
    const tried: Array<Tried> = []
    const one = attempt({ ...asked, timeout, estimate: options.estimate }, members, tried, options, generate)
    return Effect.withExecutionPlan(one, plan).pipe(
      Effect.mapError(({ failure }) => {
        const failures = tried.map((each) => each.failure)
        return chain.outcome([failures[0] ?? failure, ...failures.slice(1)], swapAfterMillis)
      })
    )
  })
}

/**
 * Asks the models, in their order, for an answer.
 *
 * **Details**
 *
 * Fails with the failure of the call when nobody answers. A bug of an adapter is recorded and stays a defect.
 *
 * @category operations
 * @since 0.1.0
 */
export const call = <R>(
  models: Models<R>,
  request: Request,
  options: CallOptions = {}
): Effect.Effect<Answer, ModelFailure, R | Dependency.Dependency | CostModel> => {
  const { outputLimit, prompt, toolChoice, tools } = request
  const shared = {
    toolChoice,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  } as const
  const generate = (prompt: Prompt.Prompt) =>
    (tools.length === 0
      ? LanguageModel.generateText({ prompt, disableToolCallResolution: true, toolCallValidation: "deferred" })
      : LanguageModel.generateText({
          prompt,
          toolkit: Toolkit.make(...tools),
          ...shared
        })) as Effect.Effect<Answer["response"], AiError.AiError, LanguageModel.LanguageModel>
  return Effect.map(run(models, { prompt, tools, outputLimit }, options, generate), ({ call, content, parts }) => ({
    parts,
    response: new LanguageModel.GenerateTextResponse(content as Answer["response"]["content"]),
    call
  }))
}

/**
 * Asks the models, in their order, for an answer that has a form.
 *
 * **Details**
 *
 * An answer that does not fit the schema is a `malformed` failure. Otherwise as {@link call}.
 *
 * @category operations
 * @since 0.1.0
 */
export const callObject = <S extends ObjectSchema, R>(
  models: Models<R>,
  request: ObjectRequest<S>,
  options: CallOptions = {}
): Effect.Effect<
  ObjectAnswer<S["Type"]>,
  ModelFailure,
  R | Dependency.Dependency | CostModel | S["DecodingServices"]
> => {
  const { objectName, outputLimit, prompt, schema } = request
  const generate = (prompt: Prompt.Prompt) =>
    LanguageModel.generateObject({ prompt, schema, objectName }) as Effect.Effect<
      LanguageModel.GenerateObjectResponse<{}, S["Type"], "opaque">,
      AiError.AiError,
      LanguageModel.LanguageModel | S["DecodingServices"]
    >
  return Effect.map(run(models, { prompt, tools: [], outputLimit }, options, generate), ({ answer, call, parts }) => ({
    value: answer.value,
    parts,
    call
  }))
}
