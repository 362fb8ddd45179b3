/**
 * Whether a tool may be called with these arguments: run, confirm, ask a person, or deny.
 *
 * The answer follows from what is declared of the tool, from the worker that calls it, from the tier of the run, and from the
 * tool's own gate, a function of the arguments. No text of a model is looked at.
 *
 * | the gate of the tool says | the tool is no riskier than its worker | it is |
 * |---|---|---|
 * | nothing, `never`, `allow` | run: the order was decided on already | what `Autonomy.decide` says of it |
 * | `always`, `ask` | ask | ask |
 * | `deny`, something else, or it throws | deny | deny |
 *
 * **Invariants**
 *
 * - T1. Deny comes before ask, ask before confirm, confirm before run.
 * - T2. What cannot be decided is denied: a gate that throws, or that answers with something that is no verdict.
 * - T3. A gate makes nothing milder than the tier does, and lowers no risk.
 *
 * **Example** (Refunds of more than 100 are asked about)
 *
 * ```ts
 * import { ToolGate } from "espalier/run"
 *
 * const tool: ToolGate.Tool = {
 *   name: "refund",
 *   risk: "low",
 *   irreversible: false,
 *   gate: ({ amount }: { readonly amount: number }) =>
 *     amount > 100 ? { decision: "ask", rule: "over-100", reason: "It is more than 100" } : "allow"
 * }
 * const worker = { risk: "low", irreversible: false } as const
 *
 * ToolGate.decide({ tool, args: { amount: 50 }, worker, tier: "medium" }) // => { _tag: "Run", risk: "low", irreversible: false }
 * const asked = ToolGate.decide({ tool, args: { amount: 500 }, worker, tier: "medium" })
 * asked._tag === "Ask" ? asked.rule : "" // => "over-100"
 * ```
 *
 * @since 0.1.0
 */
import * as Autonomy from "./Autonomy.ts"
import { shorten, shortened, thrown } from "./internal/problems.ts"

/**
 * What a gate says of one call.
 *
 * **Details**
 *
 * - `rule`: the name of what it goes by, for people and for the record. Default `"gate"`. `reason`: one sentence. Default none.
 * - `risk`: of this call, where its arguments make it higher than that of the tool.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict =
  | "allow"
  | "ask"
  | "deny"
  | {
      readonly decision: "allow" | "ask" | "deny"
      readonly rule?: string | undefined
      readonly reason?: string | undefined
      readonly risk?: Autonomy.Risk | undefined
    }

/**
 * When a tool is asked about, beside what its risk and the tier of the run ask for: at each call, never, or as a pure function
 * of the arguments says. It is called with the arguments as the tool's `input` decodes them, and again before each execution.
 *
 * @category models
 * @since 0.1.0
 */
export type Gate = "always" | "never" | ((args: never) => Verdict)

/**
 * A tool, as far as its gate goes.
 *
 * @category models
 * @since 0.1.0
 */
export interface Tool {
  readonly name: string
  readonly risk: Autonomy.Risk
  readonly irreversible: boolean
  readonly gate: Gate
}

/**
 * One call.
 *
 * **Details**
 *
 * - `args`: as the tool's `input` decodes them. `worker`: who calls. `tier`: of the run.
 * - `lowConfidence`: what it builds on has a confidence below the threshold. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  readonly tool: Tool
  readonly args: unknown
  readonly worker: { readonly risk: Autonomy.Risk; readonly irreversible: boolean }
  readonly tier: Autonomy.Tier
  readonly lowConfidence?: boolean | undefined
}

/**
 * What is to be done about a call.
 *
 * **Details**
 *
 * - `risk`: the higher one of the worker's, the tool's and the call's. `irreversible`: of the tool or the worker.
 * - `rule`, `reason`: why. `"autonomy"` is the rule of the tier.
 *
 * @category models
 * @since 0.1.0
 */
export type Ruling =
  | { readonly _tag: "Run"; readonly risk: Autonomy.Risk; readonly irreversible: boolean }
  | {
      readonly _tag: "Confirm" | "Ask" | "Deny"
      readonly risk: Autonomy.Risk
      readonly irreversible: boolean
      readonly rule: string
      readonly reason: string
    }

const risks = Autonomy.Risk.literals

const rank = (risk: Autonomy.Risk): number => risks.indexOf(risk)

const higher = (one: Autonomy.Risk, other: Autonomy.Risk): Autonomy.Risk => (rank(one) >= rank(other) ? one : other)

/**
 * Whether one action needs more than another: it is riskier, or cannot be undone where the other one can.
 *
 * @category decisions
 * @since 0.1.0
 */
export const needsMore = (
  one: { readonly risk: Autonomy.Risk; readonly irreversible: boolean },
  other: { readonly risk: Autonomy.Risk; readonly irreversible: boolean }
): boolean => rank(one.risk) > rank(other.risk) || (one.irreversible && !other.irreversible)

/** What the gate says, in full; what is no verdict denies. T2 */
const said = (
  gate: Gate,
  args: unknown
): { decision: "allow" | "ask" | "deny"; rule: string; reason: string; risk?: Autonomy.Risk } => {
  if (gate === "never") return { decision: "allow", rule: "gate", reason: "" }
  if (gate === "always") return { decision: "ask", rule: "always", reason: "It is asked about each time" }
  let verdict: unknown
  try {
    // What it is handed has been decoded by the schema that was declared beside it.
    verdict = (gate as (args: unknown) => unknown)(args)
  } catch (error) {
    return { decision: "deny", rule: "gate-failed", reason: `The gate failed: ${shorten(thrown(error), 120)}` }
  }
  const no = { decision: "deny", rule: "gate-failed", reason: "The gate did not answer with a verdict" } as const
  const whole = typeof verdict === "string" ? { decision: verdict } : verdict
  if (typeof whole !== "object" || whole === null) return no
  const { decision, reason, risk, rule } = whole as { readonly [name: string]: unknown }
  if (decision !== "allow" && decision !== "ask" && decision !== "deny") return no
  if (risk !== undefined && !risks.some((each) => each === risk)) return no
  return {
    decision,
    rule: typeof rule === "string" && rule.trim() !== "" ? shortened(rule, 100) : "gate",
    reason: typeof reason === "string" ? shortened(reason, 500) : "",
    ...(risk === undefined ? {} : { risk: risk as Autonomy.Risk })
  }
}

/**
 * What is to be done about a call. The table of the module.
 *
 * @category decisions
 * @since 0.1.0
 */
export const decide = ({ args, lowConfidence = false, tier, tool, worker }: Call): Ruling => {
  const { decision, reason, risk: ofCall = "low", rule } = said(tool.gate, args)
  const own = { risk: higher(tool.risk, ofCall), irreversible: tool.irreversible } // T3
  const whole = {
    risk: higher(worker.risk, own.risk),
    irreversible: worker.irreversible || own.irreversible
  }
  if (decision === "deny") return { _tag: "Deny", ...whole, rule, reason } // T1
  if (decision === "ask") return { _tag: "Ask", ...whole, rule, reason }
  // Whether its worker may do such things was decided with the order.
  if (!needsMore(own, worker)) return { _tag: "Run", ...whole }
  const { _tag } = Autonomy.decide(tier, { ...whole, lowConfidence })
  if (_tag === "Run") return { _tag, ...whole }
  const because = [`risk ${whole.risk}`, `autonomy ${tier}`]
  if (whole.irreversible) because.push("it cannot be undone")
  if (lowConfidence) because.push("what it builds on has a low confidence")
  return { _tag: _tag === "Confirm" ? "Confirm" : "Ask", ...whole, rule: "autonomy", reason: because.join(", ") }
}
