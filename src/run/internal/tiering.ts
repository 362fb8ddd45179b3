/**
 * What configuration changes of the tier of a run that is taken up.
 *
 * @since 0.1.0
 */
import type * as Journal from "../../journal/Journal.ts"
import type { Tier } from "../Autonomy.ts"
import type { Of } from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"

/** By whom configuration changes a tier. */
export const configuration = "configuration"

/**
 * Whether configuration may change the tier of a run: not one that was said of this run, by who began it or by a person since.
 *
 * Old journals do not say by whom a tier is; one that is not the desk's was said at the start.
 */
export const mayChange = (
  { tier, tierBy }: Pick<RunState, "tier" | "tierBy">,
  deskTier: Tier,
  left: ReadonlyArray<Pick<Journal.Left, "type">>
): boolean =>
  (tierBy === configuration || (tierBy === undefined && tier === deskTier)) &&
  // What a person has said and nobody has taken in yet is about the tier of now.
  left.every(({ type }) => type !== "AutonomyChanged")

/** The change to what is said, where the run has another tier. */
export const changeTo = (
  from: Tier,
  to: Tier | undefined,
  source: string,
  at: number
): ReadonlyArray<Of<"AutonomyChanged">> =>
  to === undefined || to === from
    ? []
    : [{ _tag: "AutonomyChanged", at, from, to, by: configuration, note: `${source} says ${to}` }]
