/** One sample in a process of its own: `sample.ts CONTENDER WORKLOAD SCALE` prints the figures as JSON. */
import type { Durable } from "./durable/engine.ts"
import type { Contender } from "./util.ts"

const [path, workload, scale] = process.argv.slice(2)
const module: { readonly contender: Contender } | Durable = await import(`./contenders/${path}.ts`)
const contender =
  "contender" in module
    ? module.contender
    : (await import("./durable/workloads.ts")).durable(path!.slice("durable/".length), module)
// Nobody is made to do what it cannot.
const workOf = contender[workload!] ?? (() => Promise.resolve({}))
// The process is warm when it counts, which it does not in a smoke test.
if (Number(scale) > 0.05) await workOf(Number(scale) / 10, true)
const figures = await workOf(Number(scale), false)
process.stdout.write(`${JSON.stringify(figures)}\n`)
