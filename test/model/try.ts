import { generate } from "./plan.ts"
import { perform } from "./perform.ts"
let bad = 0
const t = performance.now()
const from = Number(process.argv[3] ?? 0)
const n = Number(process.argv[2])
for (let seed = from; seed < from + n; seed++) {
  const wrong = perform(generate(seed))
  if (wrong !== undefined) { if (bad++ < 8) console.log(seed, wrong.slice(0, 600)) }
}
console.log(n, "seeds", bad, "failures", Math.round(performance.now() - t), "ms")
