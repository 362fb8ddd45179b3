/**
 * What a desk says about its questions to people, and the terms that a single question gets from it.
 *
 * | risk | who is asked about an approval | may decide | `agents` | in batches | silence may approve |
 * |---|---|---|---|---|---|
 * | `low` | one | anybody asked | if allowed | yes | if allowed |
 * | `medium` | one | anybody asked | no | yes | no |
 * | `high` | one | not the requester | no | no | no |
 * | `critical` | two | not the requester | no | no | no |
 *
 * These are the defaults, with the deadlines of `Ladder.defaults`. The terms are recorded with the question: a policy that
 * changes does not change what was asked under another one.
 *
 * **Details**
 *
 * - What cannot be undone has at least the risk `high`, as in `Autonomy`.
 * - What is critical is of the risk `critical`, or `high` where the policy asks for more than one approval.
 * - A question is answered by one person, and by the requester too: more than one approval and separation are about
 *   approving.
 * - Silence approves only an action, only at risk `low`, and only where both the ladder and `allowAutoApprove` say so.
 *   A ladder that says it alone rejects.
 *
 * **Invariants**
 *
 * - R1. Above risk `low` neither silence nor an agent approves: a policy that says so is refused, or its terms do not.
 * - R2. Terms are plain JSON, and a field at its default is left out; {@link full} puts it back.
 *
 * **Example** (Two approvals for what is dear)
 *
 * ```ts
 * import { ReviewPolicy } from "espalier/run"
 *
 * const policy = ReviewPolicy.make({ version: "7", quorum: { high: 2 } })
 * const terms = ReviewPolicy.terms(policy, { kind: "action-approval", risk: "high" })
 *
 * terms.policy // => { version: "7", rule: "high" }
 * terms.risk // => "critical"
 * terms.quorum // => 2
 * ReviewPolicy.full(terms).extensions // => 2
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"

import { Risk } from "./Autonomy.ts"
import { Count, Millis, Text, Version } from "./internal/fields.ts"
import { Given } from "./internal/given.ts"
import { ReviewKind } from "./internal/vocabulary.ts"
import * as Ladder from "./Ladder.ts"

/**
 * Who may not approve: nobody is left out, the requester is, or who has edited what is approved is left out, too.
 *
 * @category models
 * @since 0.1.0
 */
export const Separation = Schema.Literals(["off", "requester", "requester-and-editor"])

/**
 * @category models
 * @since 0.1.0
 */
export type Separation = typeof Separation.Type

/**
 * What a rejection does: the worker is told, the task ends as failed, or somebody else is asked.
 *
 * @category models
 * @since 0.1.0
 */
export const OnReject = Schema.Literals(["tell", "fail", "escalate"])

/**
 * @category models
 * @since 0.1.0
 */
export type OnReject = typeof OnReject.Type

type Ladders = {
  readonly [Of in Risk | "question" | "reconciliation"]?: Ladder.Ladder | undefined
}

/**
 * A policy, as it is written down. Everything is optional.
 *
 * **Details**
 *
 * - `version`: of the policy, recorded with each question. Default `"1"`.
 * - `ladders`: made by `Ladder.make` or `Ladder.defaults`, for approvals by risk, and for questions and reconciliations at
 *   any risk. Default: `Ladder.defaults`.
 * - `quorum`: how many people have to approve, by risk; a whole number >= 1, for `critical` >= 2. Default 1, and 2 for
 *   `critical`.
 * - `veto`: whether one rejection is enough. Default true.
 * - `separation`: by risk. Default `"off"` for `low` and `medium`, `"requester"` for `high` and `critical`.
 * - `allowAutoApprove`: whether silence may approve an action of low risk whose ladder ends so. Default false.
 * - `agents`: whether agents may decide at low risk. Default false.
 * - `grantFor`: how long an approval holds that is not made use of. Default 24 hours.
 * - `stalledAfter`: when it is told that an approval has not been made use of. Default 10 minutes.
 * - `maxExtensions`: how often the time of a question may be extended, a whole number >= 0. Default 2.
 * - `onReject`: default `"tell"`.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly version?: string | undefined
  readonly ladders?: Ladders | undefined
  readonly quorum?: { readonly [R in Risk]?: number | undefined } | undefined
  readonly veto?: boolean | undefined
  readonly separation?: { readonly [R in Risk]?: Separation | undefined } | undefined
  readonly allowAutoApprove?: boolean | undefined
  readonly agents?: boolean | undefined
  readonly grantFor?: Duration.Input | undefined
  readonly stalledAfter?: Duration.Input | undefined
  readonly maxExtensions?: number | undefined
  readonly onReject?: OnReject | undefined
}

/**
 * A policy, as {@link make} makes it. `ladders` has those that are not the default.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReviewPolicy {
  readonly version: string
  readonly ladders: Ladders
  readonly quorum: { readonly [R in Risk]: number }
  readonly veto: boolean
  readonly separation: { readonly [R in Risk]: Separation }
  readonly allowAutoApprove: boolean
  readonly agents: boolean
  readonly grantMillis: number
  readonly stalledMillis: number
  readonly maxExtensions: number
  readonly onReject: OnReject
}

const optionNames: ReadonlyArray<keyof Options> = [
  "version",
  "ladders",
  "quorum",
  "veto",
  "separation",
  "allowAutoApprove",
  "agents",
  "grantFor",
  "stalledAfter",
  "maxExtensions",
  "onReject"
]

const ladderNames: ReadonlyArray<keyof Ladders> = [...Risk.literals, "question", "reconciliation"]

/** What silence may do where it must not approve. */
const withoutApproval = Ladder.Action.literals.filter((action) => action !== "approve")

const day = 86_400_000

const longest = 36_525 * day

const given = new Given("ReviewPolicy.make")

const isText = Schema.is(Text)

const millis = (name: string, input: Duration.Input): number => {
  const value = Duration.toMillis(given.duration(name, input, "more"))
  return value <= longest ? value : given.refuse(name, "a duration of at most 100 years", input)
}

const readLadders = (input: Ladders): Ladders => {
  given.record("ladders", input, ladderNames)
  const ladders: { -readonly [Of in keyof Ladders]: Ladders[Of] } = {}
  for (const name of ladderNames) {
    const ladder = input[name]
    if (ladder === undefined) continue
    given.made(`ladders.${name}`, "a ladder that Ladder.make has made", Ladder.isLadder(ladder), ladder)
    if (name !== "low") given.oneOf(`ladders.${name}.final.action`, ladder.final.action, withoutApproval) // R1
    ladders[name] = ladder
  }
  return ladders
}

const byRisk = <A>(
  name: string,
  input: { readonly [R in Risk]?: A | undefined } = {},
  usual: { readonly [R in Risk]: A },
  check: (path: string, value: A, risk: Risk) => void
): { readonly [R in Risk]: A } => {
  given.record(name, input, Risk.literals)
  const read = (risk: Risk): A => {
    const { [risk]: value = usual[risk] } = input
    check(`${name}.${risk}`, value, risk)
    return value
  }
  return { low: read("low"), medium: read("medium"), high: read("high"), critical: read("critical") }
}

/**
 * Makes a policy out of what differs from the defaults.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is unknown or out of range, and when silence would approve at a
 * risk above `low`, or answer a question.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options = {}): ReviewPolicy => {
  given.record("options", options, optionNames)
  const {
    agents = false,
    allowAutoApprove = false,
    grantFor = day,
    ladders = {},
    maxExtensions = 2,
    onReject = "tell",
    stalledAfter = "10 minutes",
    version = "1",
    veto = true
  } = options
  if (!isText(version)) given.refuse("version", "a text that is not empty", version)
  given.flag("veto", veto)
  given.flag("allowAutoApprove", allowAutoApprove)
  given.flag("agents", agents)
  given.oneOf("onReject", onReject, OnReject.literals)
  return {
    version,
    ladders: readLadders(ladders),
    quorum: byRisk("quorum", options.quorum, { low: 1, medium: 1, high: 1, critical: 2 }, (path, value, risk) => {
      given.whole(path, value, risk === "critical" ? 2 : 1)
    }),
    veto,
    separation: byRisk(
      "separation",
      options.separation,
      { low: "off", medium: "off", high: "requester", critical: "requester" },
      (path, value) => given.oneOf(path, value, Separation.literals)
    ),
    allowAutoApprove,
    agents,
    grantMillis: millis("grantFor", grantFor),
    stalledMillis: millis("stalledAfter", stalledAfter),
    maxExtensions: given.whole("maxExtensions", maxExtensions, 0),
    onReject
  }
}

/**
 * The policy of a desk that has none of its own.
 *
 * @category models
 * @since 0.1.0
 */
export const policy: ReviewPolicy = make()

/**
 * What is asked, as far as a policy looks at it.
 *
 * **Details**
 *
 * - `risk`: of what is asked about, as in `Autonomy.riskOf`. `irreversible`: whether it cannot be undone. Default false.
 *
 * @category models
 * @since 0.1.0
 */
export interface Subject {
  readonly kind: ReviewKind
  readonly risk: Risk
  readonly irreversible?: boolean | undefined
}

/** @since 0.1.0 */
export interface Terms extends Schema.Schema.Type<typeof Terms> {}

/**
 * The terms of one question, as they are recorded with it. A field that is absent is at its default.
 *
 * **Details**
 *
 * - `policy`: its version, and the rule of it: a risk, `question` or `reconciliation`.
 * - `stages`: for each stage of the ladder, whom it adds. `final`: what happens when nobody has decided at its end.
 * - `irreversible`: default false. `quorum`: default 1. `veto`: default true. `separation`: default `"off"`.
 * - `agents`: default false. `autoApprove`: whether silence approves. Default false.
 * - `batchable`: whether it may be decided together with others. Default false.
 * - `extensions`: how often its time may still be extended. Default 2.
 * - `grantMillis`: default 24 hours. `stalledMillis`: default 10 minutes. `onReject`: default `"tell"`.
 *
 * @category models
 * @since 0.1.0
 */
export const Terms = Schema.Struct({
  policy: Schema.Struct({ version: Text, rule: Text }),
  risk: Risk,
  stages: Schema.Array(Schema.Array(Ladder.Who)),
  final: Ladder.Action,
  irreversible: Schema.optionalKey(Schema.Boolean),
  quorum: Schema.optionalKey(Version),
  veto: Schema.optionalKey(Schema.Boolean),
  separation: Schema.optionalKey(Separation),
  agents: Schema.optionalKey(Schema.Boolean),
  autoApprove: Schema.optionalKey(Schema.Boolean),
  batchable: Schema.optionalKey(Schema.Boolean),
  extensions: Schema.optionalKey(Count),
  grantMillis: Schema.optionalKey(Millis),
  stalledMillis: Schema.optionalKey(Millis),
  onReject: Schema.optionalKey(OnReject)
})

type Usual = Required<Omit<Terms, "policy" | "risk" | "stages" | "final">>

const usual: Usual = {
  irreversible: false,
  quorum: 1,
  veto: true,
  separation: "off",
  agents: false,
  autoApprove: false,
  batchable: false,
  extensions: 2,
  grantMillis: day,
  stalledMillis: 600_000,
  onReject: "tell"
}

const usualNames = Struct.keys(usual)

const asked: { readonly [K in ReviewKind]: Ladder.Asked } = {
  "action-approval": "approval",
  "plan-approval": "approval",
  "result-acceptance": "approval",
  question: "question",
  escalation: "approval",
  "budget-increase": "approval",
  "scope-reduction": "approval",
  reconciliation: "reconciliation",
  routing: "approval"
}

const reading = new Given("ReviewPolicy")

/** The risk that the policy is read at. */
const riskOf = ({ irreversible = false, kind, risk }: Subject): Risk => {
  reading.oneOf("kind", kind, ReviewKind.literals)
  reading.oneOf("risk", risk, Risk.literals)
  reading.flag("irreversible", irreversible)
  return irreversible && (risk === "low" || risk === "medium") ? "high" : risk
}

/**
 * The ladder of a question, to be armed when it is asked.
 *
 * **Gotchas**
 *
 * What silence does stands in the terms: where the ladder says `approve` and the policy does not allow it, they say
 * `reject`. Throws a `RangeError` when there is no such kind or no such risk.
 *
 * @category decisions
 * @since 0.1.0
 */
export const ladder = (policy: ReviewPolicy, subject: Subject): Ladder.Ladder => {
  const risk = riskOf(subject)
  const about = asked[subject.kind]
  return policy.ladders[about === "approval" ? risk : about] ?? Ladder.defaults(risk, about)
}

/**
 * The terms that a question gets.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when there is no such kind or no such risk.
 *
 * @category decisions
 * @since 0.1.0
 */
export const terms = (policy: ReviewPolicy, subject: Subject): Terms => {
  const risk = riskOf(subject)
  const about = asked[subject.kind]
  const { final, stages } = ladder(policy, subject)
  const autoApprove =
    final.action === "approve" && policy.allowAutoApprove && risk === "low" && subject.kind === "action-approval" // R1
  const answered = about === "question"
  return {
    policy: { version: policy.version, rule: about === "approval" ? risk : about },
    risk: risk === "high" && policy.quorum.high >= 2 ? "critical" : risk,
    stages: stages.map(({ to }) => to),
    final: final.action === "approve" && !autoApprove ? "reject" : final.action,
    ...trimmed({
      irreversible: subject.irreversible ?? false,
      quorum: answered ? 1 : policy.quorum[risk],
      veto: policy.veto,
      separation: answered ? "off" : policy.separation[risk],
      agents: policy.agents && risk === "low", // R1
      autoApprove,
      batchable: about === "approval" && (risk === "low" || risk === "medium"),
      extensions: policy.maxExtensions,
      grantMillis: policy.grantMillis,
      stalledMillis: policy.stalledMillis,
      onReject: policy.onReject
    })
  }
}

/** What differs from the defaults. */
const trimmed = (all: Usual): Partial<Usual> => {
  const kept: { -readonly [Name in keyof Usual]?: Usual[Name] } = { ...all }
  for (const name of usualNames) if (kept[name] === usual[name]) delete kept[name]
  return kept
}

/**
 * Terms with everything in them that is at its default.
 *
 * @category conversions
 * @since 0.1.0
 */
export const full = (terms: Terms): Required<Terms> => ({ ...usual, ...terms })

/**
 * What of a policy does not do what one might think, each as one sentence.
 *
 * @category validation
 * @since 0.1.0
 */
export const findings = (policy: ReviewPolicy): ReadonlyArray<string> => {
  const said: Array<string> = []
  const approves = policy.ladders.low?.final.action === "approve"
  if (approves && !policy.allowAutoApprove) {
    said.push("ladders.low ends with approve, but allowAutoApprove is false: silence rejects")
  }
  if (!approves && policy.allowAutoApprove) {
    said.push("allowAutoApprove is true, but ladders.low does not end with approve: silence approves nothing")
  }
  for (const name of ladderNames) {
    const afterMillis = policy.ladders[name]?.final.afterMillis
    if (afterMillis !== undefined && afterMillis < 60_000) {
      said.push(`ladders.${name} ends after ${afterMillis} milliseconds: hardly anybody decides in less than a minute`)
    }
  }
  if (policy.grantMillis <= policy.stalledMillis) {
    said.push("grantFor is not longer than stalledAfter: an approval ends before it is told that nobody made use of it")
  }
  return said
}
