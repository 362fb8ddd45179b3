/**
 * Whether who decides may: looked up when they decide, by whoever has the last word about it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as Reviewers from "../Reviewers.ts"
import type { RunEvent } from "../RunEvent.ts"
import type { ReviewState, RunState } from "../RunState.ts"
import type { News } from "./news.ts"
import type { Principal } from "./principals.ts"
import type { Eligible } from "./submitting.ts"
import { stageOf } from "./timing.ts"

/** What only those may say who are asked. */
export type Judged = Extract<
  News,
  { readonly _tag: "ReviewDecided" | "ReviewWithdrawn" | "ReviewChanged" | "GrantGiven" | "GrantRevoked" }
>

/** Whether only those may say it who are asked. What the run itself withdraws is nobody's word. */
export const asksWho = <E extends Pick<News | RunEvent, "_tag">>(said: E): said is E & Judged =>
  said._tag === "ReviewDecided" ||
  said._tag === "ReviewChanged" ||
  said._tag === "GrantGiven" ||
  said._tag === "GrantRevoked" ||
  (said._tag === "ReviewWithdrawn" && (said as { readonly by?: string }).by !== undefined)

/** What takes something back, as a rejection does. */
const takesBack: ReadonlySet<string> = new Set(["ReviewWithdrawn", "GrantRevoked"])

/** Who has voted: in the place of somebody else, it is as if that one had, too. */
const voter = ({ by, principal, via }: ReviewState["votes"][number]): string | Principal => {
  if (via === undefined) return principal ?? by
  const who = principal ?? Result.getOrElse(Reviewers.principal(by), (): Principal => ({ kind: "human", id: by }))
  return { ...who, onBehalfOf: via }
}

/** Whether somebody may say what they say. Never fails: who cannot be looked up may not. */
export const vet = (state: RunState, said: Judged): Effect.Effect<Eligible> =>
  Effect.flatMap(Clock.currentTimeMillis, (at) => vetAt(state, said, at))

/** The question of a grant that is to be taken back: it is closed, and whoever may decide by its terms may do that. */
const behind = (state: RunState, grant: string): Pick<ReviewState, "requester" | "terms"> | undefined =>
  state.standing.get(grant)

const vetAt = (state: RunState, said: Judged, at: number): Effect.Effect<Eligible> => {
  const open = state.reviews.get(said.review)
  const review = said._tag === "GrantRevoked" ? behind(state, said.grant) : open
  // Of one that is closed, everybody who comes late is told the same.
  if (review === undefined) return Effect.succeed({ _tag: "Eligible" })
  const { extensions: _, ...terms } = {
    agents: false,
    quorum: 1,
    risk: "low" as const,
    separation: "off" as const,
    ...review.terms
  }
  const { by = "", principal } = said
  // Whoever has given it may take it back.
  if (said._tag === "GrantRevoked" && state.standing.get(said.grant)?.grant.by === by) {
    return Effect.succeed({ _tag: "Eligible" })
  }
  const who = principal === undefined ? Reviewers.principal(by) : Result.succeed(principal)
  if (Result.isFailure(who)) {
    return Effect.succeed({ _tag: "Refused", because: "not-a-reviewer", reason: who.failure.message })
  }
  const stages = review.terms?.stages ?? [["anyone"]]
  const begun = open === undefined ? stages : stages.slice(0, stageOf(state, open, at) + 1)
  const requester = review.requester
  return Effect.map(
    Reviewers.eligible({
      by: who.success,
      stages: open?.to === undefined ? begun : [open.to],
      run: state.run,
      desk: state.desk,
      risk: terms.risk,
      separation: terms.separation,
      ...(requester === undefined ? {} : { requester }),
      quorum: terms.quorum,
      approvals: (open?.votes ?? []).filter(({ decision }) => decision !== "reject").map(voter),
      editors: (open?.votes ?? []).flatMap((vote) => (vote.edits === undefined ? [] : [vote.by])),
      agents: terms.agents,
      decision: said._tag === "ReviewDecided" ? said.decision : takesBack.has(said._tag) ? "reject" : "approve"
    }),
    (verdict): Eligible =>
      verdict._tag === "Eligible"
        ? { _tag: "Eligible", ...(verdict.via === undefined ? {} : { via: verdict.via }) }
        : verdict
  )
}
