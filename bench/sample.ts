/** One sample in a process of its own: `sample.ts CONTENDER WORKLOAD SCALE` prints the figures as JSON. */
import type { Contender } from "./util.ts"

const [name, workload, scale] = process.argv.slice(2)
const { contender }: { readonly contender: Contender } = await import(`./contenders/${name}.ts`)
const workOf = contender[workload!]!
await workOf(Number(scale) / 10) // the process is warm when it counts
const figures = await workOf(Number(scale))
process.stdout.write(`${JSON.stringify(figures)}\n`)
