/**
 * Who decides about an action, as a table: the tier of autonomy × the risk of the action → run, confirm, or a person.
 *
 * | tier | `low` | `medium` | `high` | `critical` |
 * |---|---|---|---|---|
 * | `low` | person, in batches | person | person, not the requester | person, not the requester |
 * | `medium` | run | confirm | person, not the requester | person, not the requester |
 * | `full` | run | run | confirm | person, not the requester |
 *
 * The tier belongs to a workflow and is changed by configuration; the risk belongs to what is done. To confirm is the
 * supervisor's own decision before the dispatch: a pure function over the facts of the task ({@link confirm}).
 *
 * **Details**
 *
 * - Low confidence moves an action one column to the right.
 * - What cannot be undone has at least the risk `high`, and is a person's matter at every tier.
 *
 * **Invariants**
 *
 * - A1. A higher risk never asks for less: each row only becomes stricter from left to right.
 * - A2. A higher tier never asks for more: each column only becomes milder from top to bottom.
 * - A3. What is not known is not allowed: an unknown tool is denied, and a policy that throws says no.
 *
 * **Example** (The same action at two tiers)
 *
 * ```ts
 * import { Autonomy } from "espalier/run"
 *
 * Autonomy.decide("medium", { risk: "medium" })._tag // => "Confirm"
 * Autonomy.decide("medium", { risk: "medium", lowConfidence: true }) // => { _tag: "Person", requester: "excluded", batchable: false }
 * Autonomy.decide("full", { risk: "medium" })._tag // => "Run"
 * ```
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { Given } from "./internal/given.ts"
import { decoder, Problem, sentences, shorten, shortened, thrown } from "./internal/problems.ts"

const tiers = ["low", "medium", "full"] as const

const risks = ["low", "medium", "high", "critical"] as const

/**
 * How far a workflow may go on its own, from asking about everything to asking about the worst.
 *
 * @category models
 * @since 0.1.0
 */
export const Tier = Schema.Literals(tiers)

/**
 * @category models
 * @since 0.1.0
 */
export type Tier = typeof Tier.Type

/**
 * How much harm an action can do: `low` reads and drafts, `medium` writes outside production or makes cheap outside calls,
 * `high` touches production, is dear, or cannot be undone, `critical` is `high` and needs a quorum of people.
 *
 * @category models
 * @since 0.1.0
 */
export const Risk = Schema.Literals(risks)

/**
 * @category models
 * @since 0.1.0
 */
export type Risk = typeof Risk.Type

/**
 * The tier of a workflow that names none: `"medium"`.
 *
 * @category models
 * @since 0.1.0
 */
export const defaultTier: Tier = "medium"

/**
 * Who decides.
 *
 * **Details**
 *
 * - `Run`: nobody is asked.
 * - `Confirm`: the supervisor's policy is asked before the dispatch.
 * - `Person`: a person is asked. `requester`: whether the one who asked for the action may also approve it. `batchable`:
 *   whether several such actions may be approved at once.
 *
 * @category models
 * @since 0.1.0
 */
export type Decision =
  | { readonly _tag: "Run" }
  | { readonly _tag: "Confirm" }
  | { readonly _tag: "Person"; readonly requester: "allowed" | "excluded"; readonly batchable: boolean }

const run: Decision = { _tag: "Run" }
const confirmed: Decision = { _tag: "Confirm" }
const batch: Decision = { _tag: "Person", requester: "allowed", batchable: true }
const person: Decision = { _tag: "Person", requester: "allowed", batchable: false }
const another: Decision = { _tag: "Person", requester: "excluded", batchable: false }

const table: { readonly [T in Tier]: { readonly [R in Risk]: Decision } } = {
  low: { low: batch, medium: person, high: another, critical: another },
  medium: { low: run, medium: confirmed, high: another, critical: another },
  full: { low: run, medium: run, high: confirmed, critical: another }
}

/**
 * An action, as far as the table looks at it.
 *
 * **Details**
 *
 * - `risk`: see {@link riskOf}.
 * - `irreversible`: it cannot be undone. Default false.
 * - `lowConfidence`: what it builds on has a confidence below the threshold. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Action {
  readonly risk: Risk
  readonly irreversible?: boolean | undefined
  readonly lowConfidence?: boolean | undefined
}

const deciding = new Given("Autonomy.decide")

const rating = new Given("Autonomy.riskOf")

const higher = (one: Risk, other: Risk): Risk => (risks.indexOf(one) >= risks.indexOf(other) ? one : other)

/**
 * Who decides about an action at a tier. The table of the module.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when there is no such tier or no such risk.
 *
 * @category decisions
 * @since 0.1.0
 */
export const decide = (tier: Tier, action: Action): Decision => {
  const { irreversible = false, lowConfidence = false } = action
  if (!tiers.includes(tier)) deciding.oneOf("tier", tier, tiers)
  if (!risks.includes(action.risk)) deciding.oneOf("risk", action.risk, risks)
  const risk = irreversible ? higher(action.risk, "high") : action.risk
  const column = risks.indexOf(risk) + (lowConfidence ? 1 : 0)
  const decision = table[tier][risks[column] ?? "critical"]
  return irreversible && decision._tag !== "Person" ? another : decision
}

/**
 * A tool that nobody has registered. Its action is denied.
 *
 * **Details**
 *
 * - `known`: the tools that there are, by name.
 *
 * @category errors
 * @since 0.1.0
 */
export class ToolUnknown extends Schema.TaggedError<ToolUnknown>("espalier/run/Autonomy/ToolUnknown")("ToolUnknown", {
  tool: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "denied"

  override get message(): string {
    const known = this.known.length === 0 ? "there are none" : `known are ${this.known.join(", ")}`
    return `TOOL_UNKNOWN: tool must be a registered one, got ${JSON.stringify(shorten(this.tool, 64))}; ${known}`
  }
}

/**
 * The risk of an action: the higher one of the worker's and the tool's.
 *
 * **Details**
 *
 * - `worker`: the risk of the worker.
 * - `tool`: the name of the tool that it wants to use; absent when it uses none.
 * - `tools`: the risk of each registered tool, by name. Default none.
 * - `quorum`: whether the policy asks for more than one approval; then `high` becomes `critical`. Default false.
 *
 * Fails with {@link ToolUnknown}, whose kind is `denied`.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a risk is none.
 *
 * @category decisions
 * @since 0.1.0
 */
export const riskOf = (action: {
  readonly worker: Risk
  readonly tool?: string | undefined
  readonly tools?: Readonly<Record<string, Risk>> | undefined
  readonly quorum?: boolean | undefined
}): Result.Result<Risk, ToolUnknown> => {
  const { quorum = false, tool, tools = {}, worker } = action
  const ofTool = tool === undefined ? "low" : Object.hasOwn(tools, tool) ? tools[tool] : undefined
  if (ofTool === undefined) {
    return Result.fail(new ToolUnknown({ tool: tool ?? "", known: Object.keys(tools).toSorted() })) // A3
  }
  rating.oneOf("worker", worker, risks)
  rating.oneOf(`tools.${tool}`, ofTool, risks)
  const risk = higher(worker, ofTool)
  return Result.succeed(quorum && risk === "high" ? "critical" : risk)
}

/**
 * What a policy knows when it is asked to confirm an action.
 *
 * **Details**
 *
 * - `confidence`: of what the action builds on, between 0 and 1.
 * - `costEstimate`, `budgetLeft`: in the currency of the desk, >= 0. Absent = not known, or no limit.
 * - `attempts`: dispatches of this task to this worker so far, a whole number >= 0.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly task: string
  readonly worker: string
  readonly risk: Risk
  readonly tier: Tier
  readonly confidence: number
  readonly costEstimate?: number | undefined
  readonly budgetLeft?: number | undefined
  readonly attempts: number
}

/** @since 0.1.0 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

/**
 * What a policy says, and why in one plain sentence.
 *
 * @category models
 * @since 0.1.0
 */
export const Verdict = Schema.Struct({ allowed: Schema.Boolean, reason: Schema.String })

/**
 * A policy that confirms actions: a pure function. It sees the facts and nothing else.
 *
 * @category models
 * @since 0.1.0
 */
export type Policy = (facts: Facts) => Verdict

const no = (reason: string): Verdict => ({ allowed: false, reason })

/**
 * The default policy.
 *
 * **Details**
 *
 * It refuses, in this order, and allows everything else:
 *
 * - an action that costs more than is left of the budget,
 * - an action of unknown cost when nothing is left of the budget,
 * - the fourth dispatch of a task to the same worker,
 * - an action of high or critical risk with a confidence below 0.6.
 *
 * @category confirming
 * @since 0.1.0
 */
export const policy: Policy = ({ attempts, budgetLeft, confidence, costEstimate, risk, worker }) => {
  if (budgetLeft !== undefined) {
    if (costEstimate === undefined && budgetLeft <= 0) return no("Nothing is left of the budget")
    if (costEstimate !== undefined && !(costEstimate <= budgetLeft)) {
      return no(`It costs about ${costEstimate}, and ${budgetLeft} is left of the budget`)
    }
  }
  if (!(attempts < 3)) return no(`${worker} has had this task ${attempts} times`)
  if ((risk === "high" || risk === "critical") && !(confidence >= 0.6)) {
    return no(`Its risk is ${risk}, and the confidence of ${confidence} is below 0.6`)
  }
  return { allowed: true, reason: `Its risk is ${risk}, and it is within its budget and its attempts` }
}

/**
 * Asks a policy about an action. Default: {@link policy}.
 *
 * **Details**
 *
 * A policy that throws, or that answers with something else than a verdict, refuses.
 *
 * @category confirming
 * @since 0.1.0
 */
export const confirm = (facts: Facts, asked: Policy = policy): Verdict => {
  try {
    const { allowed, reason } = asked(facts)
    if (typeof allowed !== "boolean") return no("The policy did not answer with yes or no") // A3
    return {
      allowed,
      reason: reason.trim() === "" ? `The policy says ${allowed ? "yes" : "no"}` : shortened(reason, 500)
    }
  } catch (error) {
    return no(`The policy failed: ${shorten(thrown(error), 120)}`) // A3
  }
}

const Text = Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" }))

/** @since 0.1.0 */
export interface TierChange extends Schema.Schema.Type<typeof TierChange> {}

/**
 * A change of a workflow's tier, as it is recorded.
 *
 * **Details**
 *
 * - `who`: the person or the system that changed it. `why`: its reason. Neither may be empty.
 * - `at`: milliseconds since 1970, >= 0.
 *
 * @category tiers
 * @since 0.1.0
 */
export const TierChange = Schema.Struct({
  from: Tier,
  to: Tier,
  who: Text,
  why: Text,
  at: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a time in milliseconds >= 0" }))
})

/**
 * A change of tier that cannot be made. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class TierChangeInvalid extends Schema.TaggedError<TierChangeInvalid>("espalier/run/Autonomy/TierChangeInvalid")(
  "TierChangeInvalid",
  { problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `TIER_CHANGE_INVALID: ${sentences(this.problems, "the change")}`
  }
}

const decodeChange = decoder(TierChange, "error")

/**
 * Checks any value as a change of the tier that a workflow has now.
 *
 * **Details**
 *
 * Fails with {@link TierChangeInvalid} when a field does not hold, when `from` is not the tier of now, and when nothing
 * changes: a change that was decided on an older tier is not made on this one.
 *
 * @category tiers
 * @since 0.1.0
 */
export const change = (now: Tier, input: unknown): Result.Result<TierChange, TierChangeInvalid> => {
  const decoded = decodeChange(input)
  if (Result.isFailure(decoded)) return Result.fail(new TierChangeInvalid({ problems: decoded.failure }))
  const { from, to } = decoded.success
  const problems: Array<Problem> = []
  if (from !== now) problems.push({ path: "from", expectation: `must be the tier of now, ${now}`, actual: from })
  if (to === from) problems.push({ path: "to", expectation: "must be another tier", actual: to })
  return problems.length === 0 ? Result.succeed(decoded.success) : Result.fail(new TierChangeInvalid({ problems }))
}

/**
 * Whether a change gives a workflow more autonomy.
 *
 * @category tiers
 * @since 0.1.0
 */
export const raises = ({ from, to }: Pick<TierChange, "from" | "to">): boolean =>
  tiers.indexOf(to) > tiers.indexOf(from)
