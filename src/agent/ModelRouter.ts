/**
 * A language model that chooses what a router does next.
 *
 * It sees the router's tasks as tools, one each and two more, `finish` and `none`, and answers with one call. The call says
 * why. It is decoded and compared with what there is before anything is done; the router does the rest, and has the model
 * asked once more when an answer was none.
 *
 * | the answer | what follows |
 * |---|---|
 * | one choice, with or without text | that task, the end, or nobody |
 * | a tool that there is not, `__proto__` and `constructor` among them | `Router.RoutingError` with the candidates |
 * | any other one | `ModelAnswer.AnswerInvalid`, see there |
 * | any of these errors, for the first time | the model is asked again and told what was wrong |
 * | any of these errors, for the second time in a row | the router's fallback |
 *
 * **Details**
 *
 * - Names are compared after trimming and in normal form, nothing fuzzier. A tool has the name of its task where providers
 *   take that; otherwise `.` is `__`, other characters are `_`, and a number makes it unique.
 * - The prompt holds how tasks ended and not what they put out. It stays of the same length, however many tasks there were.
 *   What an output means for the next choice is the `label` of its task (`Coordinator.Task`): that is told.
 * - A task that was chosen is called `name#n`, where n is the number of the choice in the run, as `Router` says.
 * - What others wrote stands in it as data, in quotes on one line: names, descriptions, reasons of failures, the work.
 * - Calls go through the breaker of their provider. What they cost counts against the budget of the run, also that of those
 *   which failed or whose answer could not be used.
 *
 * **Invariants**
 *
 * - M1. No worker is asked, and no tool carried out, because of an answer that does not fit.
 * - M2. A choice is made once: a resumed run has it in its journal and does not ask the model again.
 *
 * **Gotchas**
 *
 * A swarm needs none of this: its peers say themselves who is next, by an output that their schema checks.
 *
 * **Example** (A model chooses who begins)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { CostModel, ModelRouter, ScriptedModel } from "espalier/agent"
 * import { Dependency, Router } from "espalier/run"
 *
 * const router = Router.make({
 *   tasks: [
 *     { id: "links", worker: "docs.links", objective: "Find dead links" },
 *     { id: "summary", worker: "docs.summary", objective: "Sum up" }
 *   ],
 *   choose: ModelRouter.choose({ instructions: "Look for dead links first." }),
 *   fallback: "review"
 * })
 *
 * const script = ScriptedModel.make([ScriptedModel.tools([{ name: "links", params: { reason: "It comes first" } }])])
 * const question = { run: "r1", consult: "r1/consult/1", purpose: "route" as const, input: "docs", workers: [], tasks: [], left: {} }
 * const decided = router.decide?.(question) ?? Effect.die("nobody can be asked")
 * const services = Layer.mergeAll(script.layer, Dependency.layer(), CostModel.layerUnknown)
 * const { note } = Effect.runSync(Effect.provide(decided, services))
 * note // => 'The choice is links: "It comes first"'
 * ```
 *
 * **Example** (What it goes by is a label)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { CostModel, ModelRouter, ScriptedModel } from "espalier/agent"
 * import { Dependency, Router } from "espalier/run"
 *
 * const router = Router.make({
 *   tasks: [
 *     {
 *       id: "links",
 *       worker: "docs.links",
 *       objective: "Find dead links",
 *       label: (dead) => (Array.isArray(dead) && dead.length > 0 ? "some are dead" : "all are fine")
 *     },
 *     { id: "mend", worker: "docs.mender", objective: "Mend the links that are dead" }
 *   ],
 *   choose: ModelRouter.choose({ instructions: "Have links mended when some are dead." }),
 *   fallback: "review"
 * })
 *
 * const script = ScriptedModel.make([
 *   ScriptedModel.respond(({ said }) => {
 *     const name = said.includes("some are dead") ? "mend" : "finish"
 *     return ScriptedModel.tools([{ name, params: { reason: "The links say so" } }])
 *   })
 * ])
 * const before = { id: "links#1", template: "links", status: "accepted" as const, label: "some are dead", confidence: 1, reason: "" }
 * const question = { run: "r1", consult: "r1/consult/2", purpose: "route" as const, input: "docs", workers: [], tasks: [before], left: {} }
 * const decided = router.decide?.(question) ?? Effect.die("nobody can be asked")
 * const services = Layer.mergeAll(script.layer, Dependency.layer(), CostModel.layerUnknown)
 * const { note } = Effect.runSync(Effect.provide(decided, services))
 * note // => 'The choice is mend: "The links say so"'
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"

import type * as Dependency from "../run/Dependency.ts"
import { Given } from "../run/internal/given.ts"
import { decoder, many, sentence, show } from "../run/internal/problems.ts"
import * as Router from "../run/Router.ts"
import type { CostModel } from "./CostModel.ts"
import type { Call } from "./internal/answers.ts"
import { quote } from "./internal/quoting.ts"
import { strictSchema, strictTool } from "./internal/strictSchema.ts"
import * as supervising from "./internal/supervising.ts"
import { type Offer, offerLine } from "./internal/supervisorPrompt.ts"
import { toolNames, type ToolNames } from "./internal/toolNames.ts"
import type { AnswerInvalid } from "./ModelAnswer.ts"
import type * as Models from "./Models.ts"

/**
 * How a model chooses.
 *
 * **Details**
 *
 * - `models`: who is asked, in their order. Default: the model around, with the names of it and of its provider.
 * - `timeout`: how long one call may take, > 0. Default 50 seconds, so that there is time for two: a choice has 110 seconds
 *   in all.
 * - `instructions`: what it has to know beyond the rules, such as when the work is finished. Default nothing.
 * - `work`: what of the router's input it is told, plain data of which at most 4,000 characters are told. Default: all of it.
 * - `recent`: how many tasks are told one by one; older ones are counted. A whole number >= 0. Default 10.
 * - `forced`: whether the model is made to call something. Some models refuse that; one that is only asked to may answer with text,
 *   which is told so and asked once more. Default true.
 * - `outputLimit`: the most tokens of an answer, a whole number >= 1. Default 1,000.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<in Input = unknown, out R = Models.Provided> extends supervising.Options<Input, R> {}

const role = [
  "You direct work that others carry out. Decide what is done next, and answer with exactly one call of one tool.",
  "Each tool stands for a task that somebody does when you call it, but for two: call `finish` when the work is finished,",
  "and `none` when none of the tasks would help. Whoever does a task sees what the tasks before it put out; you see how they",
  "ended. Say in `reason` why, in one sentence."
].join(" ")

const Reason = Schema.Struct({ reason: Schema.String.check(Schema.isMaxLength(1_000)) })

const decode = decoder(Reason, "error")

const parameters = strictSchema(
  Schema.Struct({
    reason: Schema.String.annotate({ description: "Why this is next, in one sentence of at most 300 characters" })
  })
)

const ends = [
  strictTool("finish", "The work is finished: nothing more is to be done.", parameters),
  strictTool("none", "None of the tasks would help, and the work is not finished.", parameters)
]

const reserved = ends.map(({ name }) => name)

/**
 * Whoever chooses for a router is a model: what `Router.make` takes as `choose`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when an option is not what its type says.
 *
 * @category constructors
 * @since 0.1.0
 */
export const choose = <Input = unknown, R = Models.Provided>(
  options: Options<Input, R> = {}
): ((
  question: Router.Question<Input>
) => Effect.Effect<unknown, AnswerInvalid, R | Dependency.Dependency | CostModel>) => {
  given.record("options", options, supervising.known)
  const settings = supervising.settingsOf(given, options, { role, outputLimit: 1_000 })
  return (question) => {
    const { choices, workers } = question
    const names = toolNames(
      choices.map(({ name }) => name),
      reserved
    )
    const offers = choices.map(({ available, capability, description, name, objective, worker }): Offer => {
      const known = workers.find((each) => each.name === worker)
      const capabilities = known?.capabilities ?? (capability === undefined ? [] : [capability])
      return { tool: names.toolOf(name), template: name, objective, worker, description, capabilities, available }
    })
    const tools = offers.map((offer) => strictTool(offer.tool, offerLine(offer), parameters))
    const asked = supervising.supervise(settings, question, offers, [...tools, ...ends], (calls) => read(calls, names))
    return Effect.map(asked, ({ read: { name, note }, usage }) => Router.answer(name, { usage, note }))
  }
}

const given = new Given("ModelRouter.choose")

/** What to answer the router with. A name that nobody has is for the router to refuse, whatever else the call holds. */
interface Choice {
  readonly name: string
  readonly note?: string | undefined
}

const read = (calls: ReadonlyArray<Call>, names: ToolNames): supervising.Read<Choice> => {
  const [call, ...others] = calls
  if (call === undefined || others.length > 0) {
    const detail = `there are ${many(calls.length, "choice")} in one answer, and one is asked for`
    return EffectResult.fail({ problem: "several-choices", details: [detail] })
  }
  const name = names.nameOf(call.name)
  if (name === undefined) return EffectResult.succeed({ name: call.name })
  return EffectResult.mapBoth(decode(call.params), {
    onSuccess: ({ reason }) => ({ name, note: `The choice is ${name}: ${quote(reason, 400)}` }),
    onFailure: (problems) => ({
      problem: "unfit" as const,
      details: problems.map((each) => `in the call of ${show(call.name)}, ${sentence(each, "what was given")}`)
    })
  })
}
