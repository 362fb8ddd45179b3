/** A seed, tried: nothing, or what is wrong with it and the smallest case that shows it. */
import { perform } from "./perform.ts"
import { generate } from "./plan.ts"
import { showCase, shrink } from "./shrink.ts"

export const trial = (seed: number): string | undefined => {
  const plan = generate(seed)
  if (perform(plan) === undefined) return undefined
  const least = shrink(plan, (smaller) => perform(smaller) !== undefined)
  return `seed ${seed}: ${perform(least)}\n${showCase(least)}\n  again: npm run simulate -- tree --seeds 1 --from ${seed}`
}
