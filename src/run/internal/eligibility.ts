/**
 * Who may decide, as a rule over data: who is asked, who stands in for whom, who has asked for it, and who has edited it.
 *
 * @since 0.1.0
 */
import type { Risk } from "../Autonomy.ts"
import type { Separation } from "../ReviewPolicy.ts"
import { folded, identities, keyOf, nameOf, nameOfKey, type Principal, somebody } from "./principals.ts"
import { shortened } from "./problems.ts"

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
 * Whose right each one has: their own, or that of one in whose place they stand, over chains on which nobody is that is to
 * be avoided. Chains end after three steps, so a circle does, too.
 */
const rightsOf = (
  members: ReadonlyArray<string>,
  standIns: Resolved["standIns"],
  avoided: ReadonlySet<string>
): ReadonlyMap<string, string> => {
  const rights = new Map<string, string>()
  let added: Array<string> = []
  const add = (key: string, origin: string) => {
    if (rights.has(key) || avoided.has(folded(key))) return
    rights.set(key, origin)
    added.push(key)
  }
  for (const member of members) add(keyOf(member), keyOf(member))
  for (let step = 0; step < longestChain; step++) {
    const before = added
    added = []
    for (const key of before) {
      for (const standIn of standIns.get(key) ?? []) add(keyOf(standIn), rights.get(key) ?? key)
    }
  }
  return rights
}

/** Whose right somebody has, where some are to be avoided: found once, and only if it is asked for. */
const rightsIn = ({ members, standIns }: Resolved, avoided: () => ReadonlySet<string>) => {
  let rights: ReadonlyMap<string, string> | undefined
  return (key: string): string | undefined => {
    if (members === "anyone") return key
    rights ??= rightsOf(members, standIns, avoided())
    return rights.get(key)
  }
}

/**
 * Who may decide about one question: what does not depend on who it is, is found once.
 *
 * @since 0.1.0
 */
export const judge = (question: Question, resolved: Resolved): ((by: Principal, decision: string) => Verdict) => {
  const { approvals = [], editors, quorum = 1, separation, stages } = question
  const asked = requesters(question)
  const edited = all(editors)
  const rightOf = rightsIn(resolved, () => new Set())
  const independentOf = rightsIn(resolved, () => asked)
  const uneditedOf = rightsIn(resolved, () => new Set([...asked, ...edited]))

  return (by, decision) => {
    const already = beforehand({ ...question, by, decision })
    if (already !== undefined) return already
    const who = keyOf(by)
    const right = rightOf(who)
    if (right === undefined) {
      const named = [...new Set(stages.flat())].join(", ")
      return refused(
        "not-a-reviewer",
        `${nameOf(by)} is none of those who are asked${named === "" ? "" : `: ${named}`}`
      )
    }
    const yes = (alone: boolean, right: string) => eligible(by, alone, right === who ? undefined : nameOfKey(right))
    if (decision === "reject" || separation === "off") return yes(true, right)

    const independent = independentOf(who)
    if (independent === undefined) {
      const chain = `${nameOf(by)} would decide in the place of ${nameOfKey(right)}`
      return refused("self-approval", `${chain}, by right of the one who has asked for this`)
    }
    if (separation === "requester") return yes(true, independent)

    const unedited = uneditedOf(who)
    if (decision === "edit") return yes(false, independent)
    if (unedited !== undefined && !meets(identities(by), edited)) return yes(true, unedited)
    const own = new Set(identities(by))
    const others = new Map(approvals.filter((each) => !meets(identities(each), own)).map((each) => [keyOf(each), each]))
    const only = [...others.values()].every((each) => identities(each).some((is) => edited.has(is) || asked.has(is)))
    return only && others.size + 1 >= quorum
      ? refused("self-approval", `${nameOf(by)} has edited this, and somebody else has to approve it, too`)
      : yes(!only, independent)
  }
}

/**
 * Whether somebody may decide, as a function of what a directory has said.
 *
 * **Details**
 *
 * Looks at these in turn, and the first that holds is the verdict:
 *
 * | | |
 * |---|---|
 * | the system, or one who acts for it | refused |
 * | an agent, or one who acts for it, unless agents may and the risk is low | refused |
 * | the one who has asked rejects | eligible |
 * | the one who has asked, or one who acts for them, and separation applies | refused |
 * | neither asked, nor in the place of one who is | refused |
 * | in the place of the one who has asked only, and separation applies | refused |
 * | an editor, or in the place of one, would close the question with no approval but those of editors | refused |
 * | everybody else | eligible |
 *
 * The last but one only with the separation `requester-and-editor`.
 *
 * @category decisions
 * @since 0.1.0
 */
export const rule = (vote: Vote, resolved: Resolved): Verdict => judge(vote, resolved)(vote.by, vote.decision)
