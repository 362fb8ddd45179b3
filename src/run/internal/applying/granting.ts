/**
 * What happens to an approval for more than one call: it is given, it covers one, it is taken back.
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import { Risk } from "../../Autonomy.ts"
import type { Of } from "../../RunEvent.ts"
import type { StandingState } from "../../RunState.ts"
import * as StandingGrant from "../../StandingGrant.ts"
import { isSameVoter } from "../principals.ts"
import { type Draft, outgrown } from "./draft.ts"

/** The id of the grant that is given with a question. */
export const grantOf = (review: string): string => `${review}/grant`

export const given = (draft: Draft, { at, by, grant, review: id }: Of<"GrantGiven">): string | undefined => {
  const review = draft.reviews.get(id)
  if (review === undefined) return `the review ${id} is not open`
  const { facts, kind, requester, terms } = review
  const { irreversible, tool } = facts
  if (kind !== "action-approval" || typeof tool !== "string") return `${id} is not about the call of a tool`
  if (grant.grant !== grantOf(id)) return `the grant that is given with ${id} is ${grantOf(id)}, not ${grant.grant}`
  if (draft.standing.has(grant.grant)) return `${grant.grant} is given already`
  if (grant.by !== by) return `${by} cannot give what ${grant.by} gives`
  if (grant.tool !== tool) return `${id} is about ${tool}, not about ${grant.tool}`
  if (grant.at > at || grant.until <= at) return `${grant.grant} does not stand now`
  if ((terms?.quorum ?? 1) > 1) return `${id} needs more than one approval, and nobody gives those alone`
  const risk = terms?.risk ?? "critical"
  const made = StandingGrant.make(grant, { risk, irreversible: irreversible !== false })
  if (Result.isFailure(made)) return made.failure.message
  const next: StandingState = {
    grant,
    used: 0,
    review: id,
    risk,
    ...(terms === undefined ? {} : { terms }),
    ...(requester === undefined ? {} : { requester })
  }
  const bytes = JSON.stringify(next).length
  const large = outgrown(draft, bytes, "this grant")
  if (large !== undefined) return large
  draft.size += bytes
  draft.standing.set(grant.grant, next)
  return undefined
}

export const revoked = (draft: Draft, { at, by, grant: id }: Of<"GrantRevoked">): string | undefined => {
  const standing = draft.standing.get(id)
  if (standing === undefined) return `there is no grant ${id}`
  if (standing.grant.revoked !== undefined) return `${id} is taken back already`
  draft.standing.set(id, { ...standing, grant: { ...standing.grant, revoked: { by, at } } })
  return undefined
}

/** A call, as far as a standing grant looks at it. */
type Call = Omit<StandingGrant.Action, "used">

/** Why a standing grant does not cover a call. */
export const uncovered = ({ grant, risk, used }: StandingState, call: Call): StandingGrant.Refusal | undefined =>
  Risk.literals.indexOf(call.risk) > Risk.literals.indexOf(risk)
    ? "risk"
    : StandingGrant.refusal(grant, { ...call, used })

/**
 * Why a question cannot be decided by a standing grant: that it does not cover it, or that whoever gave it could not approve it
 * alone by the rules of now. Its arguments were looked at by whoever asks, who has them whole.
 */
export const barred = (
  draft: Draft,
  { at, facts, grant: id, requester, task = "", terms }: Of<"ReviewOpened">
): string | undefined => {
  if (id === undefined) return undefined
  const standing = draft.standing.get(id)
  if (standing === undefined) return `there is no grant ${id}`
  const { irreversible, risk, tool } = facts
  const { where: _, ...grant } = standing.grant
  if ((terms?.quorum ?? 1) > 1) return `${id} does not cover it (it needs more than one approval)`
  if (requester !== undefined && (terms?.separation ?? "off") !== "off" && isSameVoter({ by: requester }, grant)) {
    return `${id} does not cover it (${grant.by} has asked for it)`
  }
  const call = {
    tool: typeof tool === "string" ? tool : "",
    args: null,
    task,
    risk: risk as Call["risk"],
    irreversible: irreversible !== false,
    at
  }
  const why = uncovered({ ...standing, grant }, call)
  return why === undefined ? undefined : `${id} does not cover it (${why})`
}

/** One use of it. */
export const used = (draft: Draft, id: string, tool: Schema.Json | undefined): string | undefined => {
  const standing = draft.standing.get(id)
  if (standing === undefined || standing.grant.tool !== tool) return `there is no grant ${id} for it`
  draft.standing.set(id, { ...standing, used: standing.used + 1 })
  return undefined
}
