/** Chance that belongs to what it decides about, so that leaving something out of a case does not change the rest. */
import { dice } from "../../run/simulate.ts"

export type Dice = ReturnType<typeof dice>

/** Dice of a seed and a name. */
export const fate = (seed: number, ...key: ReadonlyArray<string | number>): Dice => {
  let hash = seed ^ 0x811c9dc5
  for (const char of key.join(" ")) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  const drawn = dice(hash)
  drawn.next()
  return drawn
}
