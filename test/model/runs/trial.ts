/** A seed, tried twice: by decisions alone, and in a living office. Nothing, or what is wrong and the least that shows it. */
import type { RunEvent } from "espalier/run"

import { type Case, generate } from "./case.ts"
import { live } from "./living.ts"
import { showCase, shrink } from "./shrink.ts"
import { walk } from "./walk.ts"

type Tried = (plan: Case) => { readonly events: ReadonlyArray<RunEvent.RunEvent>; readonly wrong: string | undefined }

const lastEvents = 15

const showEvent = (event: RunEvent.RunEvent): string => {
  const { _tag, at, note, ...rest } = event
  const told = Object.entries(rest).filter(([, value]) => typeof value === "string")
  return `    ${at} ${_tag} ${told.map(([name, value]) => `${name} ${String(value)}`).join(", ")}: ${note}`
}

const tried = (how: "pure" | "living", tries: Tried, seed: number): string | undefined => {
  const plan = generate(seed)
  if (tries(plan).wrong === undefined) return undefined
  // A desk that is refused is another story.
  const fails = ({ wrong }: ReturnType<Tried>): boolean => wrong !== undefined && !wrong.includes("DESK_INVALID")
  const least = shrink(plan, (smaller) => fails(tries(smaller)))
  const { events, wrong } = tries(least)
  const story = events.slice(-lastEvents).map(showEvent).join("\n")
  const again = `again: npm run simulate -- runs --seeds 1 --from ${seed}`
  return `seed ${seed} (${how}): ${wrong}\n${showCase(least)}\n${story}\n  ${again}`
}

/** What is wrong with the decisions of a seed. */
export const pureTrial = (seed: number): string | undefined => tried("pure", walk, seed)

/** What is wrong with the living run of a seed. */
export const livingTrial = (seed: number): string | undefined => tried("living", live, seed)

export const trial = (seed: number): string | undefined => pureTrial(seed) ?? livingTrial(seed)
