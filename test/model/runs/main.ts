/** What `npm run simulate -- runs` tries: each seed by decisions alone and in a living office, then the rates. */
import { rates, showRate } from "./rates.ts"

export { trial } from "./trial.ts"

/** Prints the success rate over as many runs as there are seeds, from 200 to 500; says what is wrong with them. */
export const closing = (from: number, seeds: number): ReadonlyArray<string> => {
  const all = rates(from, Math.min(500, Math.max(200, seeds)))
  for (const each of all.wrong) console.log(each)
  console.log(showRate(all))
  return all.wrong
}
