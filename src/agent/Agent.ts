/**
 * A worker that is a language model: instructions, tools in scope, and an output that has to fit.
 *
 * An agent is a `Worker` like any other. It owns its loop: a model is asked for a turn, what the turn calls is checked, gated and
 * done here, the results are told, and so on, until the model delivers an output that fits the schema, says that it cannot go
 * on, or has used up what it may.
 *
 * **Details**
 *
 * | what happens | the order ends as |
 * |---|---|
 * | the model calls `deliver` with an output that fits | `completed`, or `partial` where it names what is missing |
 * | it delivers something else, or calls nothing | it is told what is wrong, `corrections` times; then `malformed`, and the ladder goes on behind its correction |
 * | it calls `give_up` | `capability`, `denied`, `oversized`, or a question to a person, by what it says |
 * | its steps, or its budget, are used up | what `partial` makes of what was done; without it `exhausted`, with what was done in the reason |
 * | three calls are refused | `denied` |
 * | three calls of one tool do not fit | `malformed` |
 * | a tool fails | the model is told; or the order ends, where the tool says so |
 * | the call of a model fails | the kind of that failure |
 *
 * - Every turn and every call of a tool is in the journal before the next one begins. An order that was cut off goes on where it was: no model
 *   is asked again for what it has answered.
 * - Every call of a model is paid for as it happens: see `Meter`. A call is only made when what it may take is left.
 * - The prompt holds the order as data, and never more than the window has room for: see `ContextWindow`.
 * - No argument and no result is put on a span or into a log.
 *
 * **Invariants**
 *
 * - A1. An order is only ever completed with an output that fits the schema.
 * - A2. What an agent can do is its scope. Nothing that a model, a tool or an input says widens it.
 * - A3. Every prompt that leaves has exactly one result for each call, in their order.
 *
 * **Gotchas**
 *
 * - What a model says of itself proves nothing: evidence and artefacts come from `attach`, out of what was really done.
 * - Secrets are taken out of an answer before anything in it is done, by the `Redaction` that is around: code that a model writes may be
 *   changed by rules that go by names. A notice (`redacted-answer`) says so.
 * - An answer that needed two corrections or more has a confidence of at most 0.5: what fits only after several tries may fit
 *   for the wrong reason.
 *
 * **Example** (A model that looks something up and delivers)
 *
 * ```ts
 * import { Effect, Layer, Schema } from "effect"
 * import { Tool } from "effect/ai"
 * import { Agent, CostModel, Models, ScriptedModel, ToolScope } from "espalier/agent"
 * import { Journal } from "espalier/journal"
 * import { Dependency, Desk, Domain, Plan, Run } from "espalier/run"
 *
 * const Search = Tool.make("search", {
 *   description: "Searches the notes",
 *   parameters: Schema.Struct({ query: Schema.String }),
 *   success: Schema.Array(Schema.String)
 * }).annotate(Tool.Readonly, true)
 *
 * const script = ScriptedModel.make([
 *   ScriptedModel.tools([{ name: "search", params: { query: "ship" } }]),
 *   ScriptedModel.tools([{ name: "deliver", params: { output: { ship: "Fram" }, confidence: 0.9 } }])
 * ])
 * const reader = Agent.make("reader", {
 *   description: "Finds facts in the notes",
 *   instructions: "Find what you are asked for in the notes.",
 *   input: Schema.Struct({ question: Schema.String }),
 *   output: Schema.Struct({ ship: Schema.String }),
 *   models: Models.make([{ provide: script.model }]),
 *   tools: ToolScope.make([
 *     ToolScope.tool(Search, { handle: ({ query }) => Effect.succeed([`the ${query} was called Fram`]) })
 *   ])
 * })
 * const desk = Desk.make("library", {
 *   version: "1",
 *   input: Schema.Struct({ question: Schema.String }),
 *   domains: [Domain.make("notes", { workers: [reader] })],
 *   coordinator: Plan.make([
 *     { id: "find", worker: "notes.reader", objective: "Find it", input: (_, given: { question: string }) => given }
 *   ])
 * })
 * const program = Run.start(desk, { id: "r1", input: { question: "What was the ship called?" } })
 * const services = Layer.mergeAll(Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown)
 * const { results } = await Effect.runPromise(Effect.provide(program, services))
 * results["find"]?.output // => { ship: "Fram" }
 * ```
 *
 * @since 0.1.0
 */

import type * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type * as Dependency from "../run/Dependency.ts"
import type * as Effects from "../run/Effects.ts"
import { Given } from "../run/internal/given.ts"
import { workerFields } from "../run/internal/workerFields.ts"
import * as Result from "../run/Result.ts"
import type * as Review from "../run/Review.ts"
import * as Worker from "../run/Worker.ts"
import * as ContextWindow from "./ContextWindow.ts"
import type { CostModel } from "./CostModel.ts"
import { endings, modelEffect } from "./internal/endings.ts"
import { type Done, type Ended, Talk } from "./internal/talk.ts"
import * as Memory from "./Memory.ts"
import * as Models from "./Models.ts"
import * as ToolScope from "./ToolScope.ts"

/**
 * What was done when an agent ends.
 *
 * **Details**
 *
 * - `turns`: how many there were. `text`: what the model said last beside its calls.
 * - `calls`: in their order, each with its turn, the arguments as the model gave them, and the result as it was told.
 *
 * @category models
 * @since 0.1.0
 */
export type { Done } from "./internal/talk.ts"

/**
 * What an agent is made of, beside what any worker is made of (`Worker.Options`).
 *
 * **Details**
 *
 * - `instructions`: what it is to do in all its orders. They come from you, not from a run: what an order holds is data.
 * - `models`: who is asked, and who stands in. They are made once for each attempt at an order.
 * - `tools`: what it may call. Default nothing but to deliver and to give up.
 * - `steps`: turns of the model in one order, a whole number >= 1. Default 5. Limits of the contract and of the run hold beside it.
 * - `corrections`: how often in one order a delivery that does not fit, or a turn without a call, is sent back, a whole number from 0
 *   to 10. Default 1.
 * - `maxCalls`: calls of tools in one turn, a whole number from 2 to 1,000. What is beyond is not looked at, which the model is
 *   told and a notice (`too-many-calls`) says. Default 50.
 * - `maxOutput`: tokens of one answer, a whole number >= 1. Default 4,096. Where less is left of its budget, at least 256, an answer
 *   may be as long as that. An answer of more than 2 MiB of JSON is `malformed`.
 * - `maxResult`: characters of one result of a tool in a prompt, a whole number >= 100; what is longer is shortened, which the
 *   model is told. Default 20,000.
 * - `context`: the window of the model; see `ContextWindow.Options`. Default 100,000 tokens. `summary`: who says what the turns
 *   were that are taken out of it, `"mechanical"` code or a `"model"`, which is one more call. Default `"mechanical"`.
 * - `memory`: gives it a memory of its own, or one that is shared, with the tools `memory_get`, `memory_put` and `memory_list`.
 *   Default none.
 * - `partial`: what there is when a limit is reached, made out of what was done; `undefined` when nothing is of use.
 * - `attach`: what is said beside an output that was delivered, such as evidence and artefacts, made out of what was done. Results are
 *   there as the model was told them: a tool with a long one puts it into `Artefacts` and answers with its reference.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<I, IE, A, AE, RM = never, RT = never, E = never, RA = never> extends Omit<
  Worker.Options<I, IE, A, AE, never, never>,
  "handle" | "tools" | "attemptTimeout" | "window"
> {
  readonly instructions: string | ((order: Worker.Order<I>) => string)
  readonly models: Models.Models<RM>
  readonly tools?: ToolScope.ToolScope<RT> | undefined
  readonly steps?: number | undefined
  readonly corrections?: number | undefined
  readonly maxCalls?: number | undefined
  readonly maxOutput?: number | undefined
  readonly maxResult?: number | undefined
  readonly context?: ContextWindow.Options | undefined
  readonly summary?: "mechanical" | "model" | undefined
  readonly memory?: boolean | Memory.Options | undefined
  readonly partial?:
    | ((done: Done) => { readonly output: NoInfer<A>; readonly missing?: ReadonlyArray<Result.Missing> } | undefined)
    | undefined
  readonly attach?:
    | ((
        output: NoInfer<A>,
        done: Done,
        order: Worker.Order<I>
      ) => Effect.Effect<Omit<Result.Options, "confidence" | "usage">, E, RA>)
    | undefined
}

/** A type that nothing is inferred from: what an agent needs is said by its options, not by where it is put. */
type Settled<A> = [A][A extends unknown ? 0 : never]

const given = new Given("Agent.make")

const own: ReadonlyArray<keyof Options<unknown, unknown, unknown, unknown>> = [
  "instructions",
  "models",
  "tools",
  "steps",
  "corrections",
  "maxCalls",
  "maxOutput",
  "maxResult",
  "context",
  "summary",
  "memory",
  "partial",
  "attach"
]

/** The tools of a memory. */
const remembering = [Memory.tools.get, Memory.tools.put, Memory.tools.list].map(({ handle, idempotent, tool }) =>
  ToolScope.tool(tool as Tool.Any, { handle: handle as never, idempotent, recorded: "handler" })
) as unknown as ReadonlyArray<ToolScope.Entry<Memory.Memory>>

const namePattern = /^[A-Za-z][\w-]{0,63}$/

/** What a worker has that an agent makes by itself is not among them. */
const all = [...own, ...workerFields.filter((field) => !["handle", "attemptTimeout", "window"].includes(field))]

/** How long an attempt may be silent beside what its longest call may take. */
const margin = Duration.seconds(30)

/** What fits only after several tries may fit for the wrong reason. */
const doubtful = 0.5

const bounded = (name: string, value: number, least: number, most: number): number => {
  given.whole(name, value, least)
  if (value > most) given.refuse(name, `a whole number from ${least} to ${most}`, value)
  return value
}

/**
 * Makes a worker that is a language model.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is not what it can be, also those of `Worker.make`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <I, IE, A, AE, RM, RT = never, E = never, RA = never>(
  name: string,
  options: Options<I, IE, A, AE, RM, RT, E, RA>
): Worker.Worker<
  Exclude<
    Settled<RM> | Settled<RT> | Settled<RA> | Dependency.Dependency | CostModel,
    Scope.Scope | Effects.Effects | Review.Review
  >
> => {
  given.record("options", options, all)
  if (typeof name !== "string" || !namePattern.test(name)) given.refuse("name", "letters, digits, '_' and '-'", name)
  const { attach, context, corrections = 1, memory = false, summary = "mechanical" } = options
  const { instructions, maxCalls = 50, maxOutput = 4096, maxResult = 20_000, models } = options
  const { partial, steps = 5, tools = ToolScope.empty as ToolScope.ToolScope<RT>, ...rest } = options
  if (typeof instructions !== "function") given.text("instructions", instructions)
  given.made("models", "made by Models.make", Models.isModels(models), models)
  given.made("tools", "a scope made by ToolScope.make", ToolScope.isToolScope(tools), tools)
  if (!Duration.isFinite(models.timeout)) given.refuse("models", "models whose calls have a finite timeout", "Infinity")
  if (partial !== undefined) given.code("partial", partial)
  if (attach !== undefined) given.code("attach", attach)
  given.schema("output", options.output)
  given.oneOf("summary", summary, ["mechanical", "model"])
  const shared = typeof memory === "boolean" ? undefined : memory
  const keeps = memory === false ? [] : remembering
  const scope: ToolScope.ToolScope<RT | Memory.Memory> = ToolScope.make<RT | Memory.Memory>([
    ...tools.entries.values(),
    ...keeps
  ])
  const window = ContextWindow.make(context ?? { size: 100_000 })
  const manner = {
    models,
    scope,
    endings: endings(options.output),
    steps: given.whole("steps", steps, 1),
    corrections: bounded("corrections", corrections, 0, 10),
    maxCalls: bounded("maxCalls", maxCalls, 2, 1000),
    maxOutput: given.whole("maxOutput", maxOutput, 1),
    maxResult: given.whole("maxResult", maxResult, 100),
    window,
    summary
  }
  const entries = [...scope.entries.values()]
  const timeouts = [Duration.times(models.timeout, models.members.length * 2), ...entries.map(({ timeout }) => timeout)]
  const worker = Object.fromEntries(
    Object.entries(rest).filter(([key]) => !(own as ReadonlyArray<string>).includes(key))
  )
  return Worker.make<
    I,
    IE,
    A,
    AE,
    unknown,
    RM | RT | RA | Effects.Effects | Dependency.Dependency | CostModel | Scope.Scope
  >(name, {
    ...(worker as unknown as Omit<Worker.Options<I, IE, A, AE, never, never>, "handle">),
    window: window.size,
    attemptTimeout: Duration.sum(
      timeouts.reduce((one, other) => Duration.max(one, other)),
      margin
    ),
    tools: [
      ...entries.filter(({ recorded }) => recorded === "call").map((entry) => entry.worker),
      ...(memory === false ? [] : Memory.effects),
      { name: modelEffect, idempotent: true }
    ],
    handle: (order) =>
      Effect.gen(function* () {
        const said = typeof instructions === "function" ? instructions(order) : instructions
        const talk = new Talk({ ...manner, models: yield* Models.open(models) }, said, order)
        const kept = yield* Memory.make(shared)
        const ended: Ended<A> = yield* Effect.provideService(talk.run, Memory.Memory, kept)
        switch (ended._tag) {
          case "Delivered": {
            const { confidence, missing = [], output } = ended.delivery
            const beside = attach === undefined ? {} : yield* attach(output, talk.done, order)
            const sure = ended.corrections < 2 ? confidence : Math.min(confidence, doubtful)
            if (ended.corrections > 0) {
              yield* order.notice("corrected-answer", `what it delivered fits after ${ended.corrections} corrections`)
            }
            return missing.length === 0
              ? Result.completed(output, { ...beside, confidence: sure })
              : Result.partial(output, missing, { ...beside, confidence: sure })
          }
          case "Stopped":
            return ended.result
          case "Limit": {
            const why = `${ended.why} (${talk.sum})`
            yield* order.notice("limit", why)
            const there = partial?.(talk.done)
            if (there === undefined) return Result.failed("exhausted", why)
            const lacks = [{ part: "output", reason: why }, ...(there.missing ?? [])]
            return Result.partial(there.output, lacks)
          }
        }
      })
  })
}
