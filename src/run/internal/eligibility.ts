/**
 * Who may decide, as a rule over data: who is asked, who stands in for whom, who has asked for it, and who has edited it.
 *
 * @since 0.1.0
 */
import type { Risk } from "../Autonomy.ts"
import { folded, identities, keyOf, nameOf, nameOfKey, type Principal, somebody } from "./principals.ts"
import { shortened } from "./problems.ts"

/**
 * From whom the one who approves has to be independent.
 *
 * **Details**
 *
 * - `off`: from nobody.
 * - `requester`: from the one who has asked for the action.
 * - `requester-and-editor`: besides, somebody who has edited it is not the only one who approves it.
 *
 * @category models
 * @since 0.1.0
 */
export type Separation = "off" | "requester" | "requester-and-editor"

/**
 * What is decided about, as far as it matters who may.
 *
 * **Details**
 *
 * - `stages`: whom each stage asks that has begun. Who was asked by an earlier one keeps the right.
 * - `requester`: who has asked for the action; absent where nobody has.
 * - `editors`: who has changed it. `approvals`: who has approved it as it is now; an approval that was given in the place of
 *   another names that one as `onBehalfOf`. Default none.
 * - `quorum`: how many have to approve it, >= 1. Default 1.
 * - `agents`: whether agents may decide where the risk is low.
 * - `run`, `desk`: where it was asked, for directories that make a difference.
 *
 * @category models
 * @since 0.1.0
 */
export interface Question {
  readonly stages: ReadonlyArray<ReadonlyArray<string>>
  readonly risk: Risk
  readonly separation: Separation
  readonly requester?: string | Principal | undefined
  readonly editors: ReadonlyArray<string | Principal>
  readonly approvals?: ReadonlyArray<string | Principal> | undefined
  readonly quorum?: number | undefined
  readonly agents: boolean
  readonly run?: string | undefined
  readonly desk?: string | undefined
}

/**
 * Who wants to decide, and what. Every decision but `reject` counts as an approval, and `edit` as one of something that the
 * same person has changed.
 *
 * @category models
 * @since 0.1.0
 */
export interface Vote extends Question {
  readonly by: Principal
  readonly decision: string
}

/**
 * Why somebody may not decide.
 *
 * @category models
 * @since 0.1.0
 */
export type Because = "not-a-reviewer" | "self-approval" | "reviewers-unavailable"

/**
 * Whether somebody may decide.
 *
 * **Details**
 *
 * - `as`: who decides. `via`: in whose place, where the right is that of somebody who is away.
 * - `alone`: false when the decision only counts beside the approval of somebody else, because it is one of an editor.
 * - `reason`: a sentence.
 *
 * @category models
 * @since 0.1.0
 */
export type Verdict =
  | { readonly _tag: "Eligible"; readonly as: Principal; readonly via?: string | undefined; readonly alone: boolean }
  | { readonly _tag: "Refused"; readonly because: Because; readonly reason: string }

/**
 * What a directory has said: who is asked, and who stands in for whom, by name.
 *
 * @category models
 * @since 0.1.0
 */
export interface Resolved {
  readonly members: "anyone" | ReadonlyArray<string>
  readonly standIns: ReadonlyMap<string, ReadonlyArray<string>>
}

/**
 * A chain of people who stand in for one another is followed so far.
 *
 * @since 0.1.0
 */
export const longestChain = 3

/** @since 0.1.0 */
export const refused = (because: Because, reason: string): Verdict => ({
  _tag: "Refused",
  because,
  reason: shortened(reason, 500)
})

const eligible = (as: Principal, alone: boolean, via?: string | undefined): Verdict =>
  via === undefined ? { _tag: "Eligible", as, alone } : { _tag: "Eligible", as, via, alone }

const meets = (one: Iterable<string>, others: ReadonlySet<string>): boolean => {
  for (const each of one) if (others.has(each)) return true
  return false
}

const all = (who: ReadonlyArray<string | Principal>): ReadonlySet<string> => new Set(who.flatMap(identities))

const requesters = ({ requester }: Question): ReadonlySet<string> => all(requester === undefined ? [] : [requester])

/** Whether it is the one who has asked, to the letter, or the one behind it. */
const isRequester = ({ by, requester }: Vote): boolean => {
  if (requester === undefined) return false
  const { onBehalfOf } = somebody(requester)
  return [requester, ...(onBehalfOf === undefined ? [] : [onBehalfOf])].some((each) => keyOf(each) === keyOf(by))
}

/** What somebody is beside what they say they are: whoever acts for an agent has no more rights than an agent. */
const kindsOf = (by: Principal): ReadonlySet<string> =>
  new Set(identities(by).map((each) => each.slice(0, each.indexOf(":"))))

const deciders: ReadonlySet<string> = new Set(["human", "service", "agent"])

/**
 * What can be said before any directory is asked; nothing where it has to be asked.
 *
 * @since 0.1.0
 */
export const beforehand = (vote: Vote): Verdict | undefined => {
  const { agents, by, decision, risk, separation } = vote
  const name = nameOf(by)
  const kinds = kindsOf(by)
  if (![...kinds].every((kind) => deciders.has(kind))) {
    return refused("not-a-reviewer", `${name} decides for the system, which decides nothing that people are asked`)
  }
  if (kinds.has("agent") && !(agents && risk === "low")) {
    const why = agents ? `may do so only where the risk is low, and it is ${risk}` : "may not do so here"
    return refused("not-a-reviewer", `${name} decides as an agent, and agents ${why}`)
  }
  const asked = requesters(vote)
  if (decision === "reject") return isRequester(vote) ? eligible(by, true) : undefined
  return separation !== "off" && meets(identities(by), asked) ? ownRequest(by, decision) : undefined
}

const verbs: ReadonlyMap<string, string> = new Map([
  ["approve", "approve"],
  ["edit", "edit and approve"]
])

const ownRequest = (by: Principal, decision: string): Verdict => {
  const { onBehalfOf } = by
  const who = onBehalfOf === undefined ? nameOf(by) : `${nameOf(by)}, on behalf of ${onBehalfOf},`
  const what = verbs.get(decision) ?? "decide about"
  return refused("self-approval", `${who} has asked for this and may reject it, but not ${what} it`)
}

/**
 * Whose right somebody has: their own, or that of one in whose place they stand, over a chain on which nobody is that is
 * to be avoided. Chains end after three steps, and a circle leads nowhere.
 */
const rightOf = (who: string, resolved: Resolved, avoided: ReadonlySet<string>): string | undefined => {
  if (resolved.members === "anyone") return who
  let chains = new Map<string, string>()
  const join = (key: string, origin: string) => {
    if (!chains.has(key) && !avoided.has(folded(key))) chains.set(key, origin)
  }
  for (const member of resolved.members) join(keyOf(member), keyOf(member))
  for (let step = 0; step <= longestChain; step++) {
    const right = chains.get(who)
    if (right !== undefined) return right
    const before = chains
    chains = new Map()
    for (const [key, origin] of before) {
      for (const standIn of resolved.standIns.get(key) ?? []) join(keyOf(standIn), origin)
    }
  }
  return undefined
}

const nobody: ReadonlySet<string> = new Set()

/** Whether an approval by an editor would be the only one, or would stand among those of editors only. */
const onlyEditors = (vote: Vote, editors: ReadonlySet<string>): { readonly others: number; readonly only: boolean } => {
  const { approvals = [], by } = vote
  const asked = requesters(vote)
  const own = new Set(identities(by))
  const others = new Map(approvals.filter((each) => !meets(identities(each), own)).map((each) => [keyOf(each), each]))
  const only = [...others.values()].every((each) => meets(identities(each), editors) || meets(identities(each), asked))
  return { others: others.size, only }
}

/**
 * Whether somebody may decide.
 *
 * @since 0.1.0
 */
export const rule = (vote: Vote, resolved: Resolved): Verdict => {
  const already = beforehand(vote)
  if (already !== undefined) return already
  const { by, decision, editors, quorum = 1, separation, stages } = vote
  const who = keyOf(by)
  const right = rightOf(who, resolved, nobody)
  if (right === undefined) {
    const asked = [...new Set(stages.flat())].join(", ")
    return refused("not-a-reviewer", `${nameOf(by)} is none of those who are asked${asked === "" ? "" : `: ${asked}`}`)
  }
  const verdict = (alone: boolean, right: string) => eligible(by, alone, right === who ? undefined : nameOfKey(right))
  if (decision === "reject" || separation === "off") return verdict(true, right)

  const asked = requesters(vote)
  const independent = rightOf(who, resolved, asked)
  if (independent === undefined) {
    const chain = `${nameOf(by)} would decide in the place of ${nameOfKey(right)}`
    return refused("self-approval", `${chain}, by right of the one who has asked for this`)
  }
  if (separation === "requester") return verdict(true, independent)

  const edited = all(editors)
  const unedited = rightOf(who, resolved, new Set([...asked, ...edited]))
  const editor = decision === "edit" || unedited === undefined || meets(identities(by), edited)
  if (!editor) return verdict(true, unedited)
  const { only, others } = onlyEditors(vote, edited)
  if (decision !== "edit" && only && others + 1 >= quorum) {
    return refused("self-approval", `${nameOf(by)} has edited this, and somebody else has to approve it, too`)
  }
  return verdict(decision !== "edit" && !only, independent)
}
