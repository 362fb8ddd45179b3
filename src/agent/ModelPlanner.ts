/**
 * A language model that makes the plan of a planner.
 *
 * It sees the workers as tools and calls as many of them as it likes in one answer: each call is a task. The calls are decoded
 * before anything else; then the planner checks the plan that they make, and has the model asked once more when it does not
 * hold, with every problem in the prompt.
 *
 * | the answer | what follows |
 * |---|---|
 * | calls that fit, with or without text | the plan that they make, which the planner checks |
 * | a worker that there is not, `__proto__` and `constructor` among them | `Planner.PlanInvalid` with those that there are |
 * | any other one | `ModelAnswer.AnswerInvalid`, see there |
 * | any of these errors, for the first time | the model is asked again and told what was wrong |
 * | any of these errors, for the second time | the planner's fallback |
 *
 * **Details**
 *
 * - A call says `id`, `objective`, `needs`, `acceptMissing`, `inputs`, `constraints`, `done` and `permissions`, all of them and
 *   nothing else. It cannot say what a task may spend: that is for the planner's `limits`.
 * - The inputs of a worker are as its schema in `inputs` says, so that no plan has others. A worker without one gets a list of
 *   `name` and `value`, a text, a number, true, false, null or a list of texts or numbers.
 * - Names and prompt are as `ModelRouter` has them.
 *
 * **Invariants**
 *
 * - M1. No worker is asked because of a plan that does not fit.
 * - M2. A plan is made once: a resumed run has it in its journal and does not ask the model again.
 *
 * **Example** (A model plans)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { CostModel, ModelPlanner, ScriptedModel } from "espalier/agent"
 * import { Dependency, Planner } from "espalier/run"
 *
 * const planner = Planner.make({ plan: ModelPlanner.plan(), fallback: "review" })
 *
 * const task = { id: "all", objective: "Find dead links", needs: [], inputs: [], constraints: [], done: [], permissions: [] }
 * const script = ScriptedModel.make([
 *   ScriptedModel.tools([{ name: "docs__links", params: { ...task, acceptMissing: false } }])
 * ])
 * const links = { name: "docs.links", description: "Finds dead links", capabilities: ["check-links"], available: true }
 * const question = { run: "r1", consult: "r1/consult/1", purpose: "plan" as const, input: "docs", workers: [links], tasks: [], left: {} }
 * const services = Layer.mergeAll(script.layer, Dependency.layer(), CostModel.layerUnknown)
 * const { note } = Effect.runSync(Effect.provide(planner.decide(question), services))
 * note // => "A plan of 1 task"
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as JsonSchema from "effect/JsonSchema"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import * as Contract from "../run/Contract.ts"
import type { Question } from "../run/Coordinator.ts"
import type * as Dependency from "../run/Dependency.ts"
import { Given, isRecord } from "../run/internal/given.ts"
import { decoder, sentence, show, type Problem } from "../run/internal/problems.ts"
import * as Planner from "../run/Planner.ts"
import type { CostModel } from "./CostModel.ts"
import type { Call } from "./internal/answers.ts"
import { strictSchema, strictTool } from "./internal/strictSchema.ts"
import * as supervising from "./internal/supervising.ts"
import { offerLine, offerOf } from "./internal/supervisorPrompt.ts"
import { toolNames, type ToolNames } from "./internal/toolNames.ts"
import type { AnswerInvalid } from "./ModelAnswer.ts"
import type * as Models from "./Models.ts"

/**
 * How a model plans.
 *
 * **Details**
 *
 * - `inputs`: the schemas of what workers take, by their registered names. A schema is shown to the model and holds for the
 *   inputs as they are in JSON.
 * - `models`: who is asked, in their order. Default: the model around, with the names of it and of its provider.
 * - `timeout`: how long one call may take, > 0. Default 50 seconds, so that there is time for two: a choice has 110 seconds
 *   in all.
 * - `instructions`: what it has to know beyond the rules. Default nothing.
 * - `work`: what of the planner's input it is told, plain data of which at most 4,000 characters are told. Default: all of it.
 * - `recent`: how many tasks are told one by one; older ones are counted. A whole number >= 0. Default 10.
 * - `forced`: whether the model is made to call something. Some models refuse that; one that is only asked to may answer with text,
 *   which is told so and asked once more. Default true.
 * - `outputLimit`: the most tokens of an answer, a whole number >= 1. Default 8,000.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in Input = unknown, out R = Models.Provided> extends supervising.Options<Input, R> {
  readonly inputs?: Readonly<Record<string, Schema.Codec<unknown, unknown>>> | undefined
}

const role = [
  "You plan work that others carry out. Answer with calls of the tools, all in one answer: each tool stands for a worker, and",
  "each call gives it a task. One worker can have several tasks. Tasks that need nothing from each other are done at the same",
  "time: name in `needs` only the `id`s of tasks of this plan whose results a task builds on. Plan as few tasks as the work",
  "takes. A worker knows of the whole only what its task says."
].join(" ")

const Value = Schema.Union([
  Schema.String,
  Schema.Finite,
  Schema.Boolean,
  Schema.Null,
  Schema.Array(Schema.String),
  Schema.Array(Schema.Finite)
])

const Pairs = Schema.Array(Schema.Struct({ name: Contract.TaskId, value: Value }))

const { objective } = Contract.Contract.fields
const { statement } = Contract.Requirement.fields

const said = (description: string, schema: Schema.Codec<string, string>) => schema.annotate({ description })

const common = {
  id: said("A short name of the task: letters, digits, '.', '_' and '-', beginning with a letter", Contract.TaskId),
  objective: said("What the worker is to achieve, complete in itself", objective),
  needs: Schema.Array(Contract.TaskId).annotate({ description: "Ids of tasks of this plan that come before" }),
  acceptMissing: Schema.Boolean.annotate({
    description: "Whether it is done even when a task it needs gave no result"
  }),
  constraints: Schema.Array(objective).annotate({ description: "What must hold while working, one sentence each" }),
  done: Schema.Array(Schema.Struct({ id: Contract.TaskId, statement })).annotate({
    description: "What is checked at the end"
  }),
  permissions: Schema.Array(Schema.Struct({ area: Contract.TaskId, scopes: Schema.Array(objective) })).annotate({
    description: "What the task may touch, by area; empty for nothing"
  })
}

/** How the calls of one worker's tool are shown and read. */
interface Form {
  readonly parameters: JsonSchema.JsonSchema
  readonly decode: (params: unknown) => EffectResult.Result<typeof Task.Type, ReadonlyArray<Problem>>
}

const Task = Schema.Struct({ ...common, inputs: Schema.Unknown })

const formOf = (inputs: Schema.Codec<unknown, unknown>): Form => {
  const whole = Schema.Struct({ ...common, inputs })
  const decode = decoder(whole, "error")
  return {
    parameters: strictSchema(whole),
    decode: (params) =>
      EffectResult.map(decode(params), (task) => ({
        ...task,
        // The plan holds the inputs as JSON: what was decoded is for the worker to decode again.
        inputs: (params as { readonly inputs: unknown }).inputs
      }))
  }
}

const pairs = formOf(Pairs)

/**
 * Whoever plans for a planner is a model: what `Planner.make` takes as `plan`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is not what its type says, and when a schema in `inputs` has no JSON schema.
 *
 * @category constructors
 * @since 0.1.0
 */
export const plan = <Input = unknown, R = Models.Provided>(
  options: Options<Input, R> = {}
): ((question: Question<Input>) => Effect.Effect<unknown, AnswerInvalid, R | Dependency.Dependency | CostModel>) => {
  given.record("options", options, [...supervising.known, "inputs"])
  const { inputs = {}, ...rest } = options
  const settings = supervising.settingsOf(given, rest, { role, outputLimit: 8_000 })
  const forms = new Map<string, Form>()
  for (const [worker, schema] of Object.entries(given.record("inputs", inputs))) {
    given.schema(`inputs.${worker}`, schema)
    try {
      forms.set(worker, formOf(schema as Schema.Codec<unknown, unknown>))
    } catch {
      given.refuse(`inputs.${worker}`, "a schema that has a JSON schema", schema)
    }
  }
  const formFor = (worker: string): Form => forms.get(worker) ?? pairs
  return (question) => {
    const { workers } = question
    const names = toolNames(workers.map(({ name }) => name))
    const offers = workers.map((worker) => offerOf(worker, names.toolOf(worker.name)))
    const tools = offers.map((offer) =>
      strictTool(offer.tool, offerLine(offer), formFor(offer.worker ?? "").parameters)
    )
    const asked = supervising.supervise(settings, question, offers, tools, (calls) => read(calls, names, formFor))
    return Effect.map(asked, ({ read, usage }) => Planner.answer(read, { usage }))
  }
}

const given = new Given("ModelPlanner.plan")

const read = (
  calls: ReadonlyArray<Call>,
  names: ToolNames,
  formFor: (worker: string) => Form
): supervising.Read<ReadonlyArray<unknown>> => {
  const details: Array<string> = []
  const tasks = calls.map(({ name, params }, index) => {
    const problem = (detail: string) => details.push(`in call ${index + 1}, of ${show(name)}, ${detail}`)
    const worker = names.nameOf(name)
    if (worker === undefined) return stranger(name, params, index)
    const form = formFor(worker)
    const decoded = form.decode(params)
    if (EffectResult.isFailure(decoded)) {
      for (const each of decoded.failure) problem(sentence(each, "what was given"))
      return undefined
    }
    const { done, inputs, permissions, ...task } = decoded.success
    const areas = recordOf(permissions.map(({ area, scopes }) => [area, scopes]))
    const values =
      form === pairs
        ? recordOf((inputs as typeof Pairs.Type).map(({ name, value }) => [name, value]))
        : { record: inputs, twice: [] }
    for (const each of values.twice) problem(`the input ${show(each)} is named twice`)
    for (const each of areas.twice) problem(`the area ${show(each)} is named twice`)
    return { ...task, worker, inputs: values.record, permissions: areas.record, definitionOfDone: done }
  })
  return details.length === 0 ? EffectResult.succeed(tasks) : EffectResult.fail({ problem: "unfit", details })
}

/** A task for somebody who does not exist: for the planner to refuse, with everything else that is wrong with the plan. */
const stranger = (worker: string, params: unknown, index: number): object => {
  const { id, needs } = isRecord(params) ? params : {}
  return {
    id: typeof id === "string" ? id : `call-${index + 1}`,
    objective: "Not known",
    worker,
    needs: Array.isArray(needs) ? needs : []
  }
}

const recordOf = <A>(entries: ReadonlyArray<readonly [string, A]>) => {
  const keys = entries.map(([key]) => key)
  return { record: Object.fromEntries(entries), twice: keys.filter((key, at) => keys.indexOf(key) !== at) }
}
