/**
 * `npm run bench -- [GROUP] [--reps N] [--smoke] [--json FILE]`
 *
 * Runs each workload on the library and on the reference line, interleaved, every sample in a fresh process, and prints
 * cost over cost: above 1 is slower or bigger. Times are never asserted; machines are shared and noisy.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import Table from "cli-table3"

import type { Summary } from "./util.ts"
import { summary } from "./util.ts"

interface Metric {
  readonly workload: string
  readonly metric: string
  readonly unit: string
  /** cost over the reference line, at most */
  readonly target?: number
}

const groups: Readonly<Record<string, ReadonlyArray<Metric>>> = {
  tree: [
    { workload: "W1", metric: "start", unit: "µs", target: 0.5 },
    { workload: "W1", metric: "stop", unit: "µs", target: 0.5 },
    { workload: "W1", metric: "heap", unit: "B", target: 0.4 },
    { workload: "W2", metric: "tell-plain", unit: "ns", target: 0.35 },
    { workload: "W2", metric: "tell-effect", unit: "ns", target: 0.65 },
    { workload: "W2", metric: "fan-in-plain", unit: "ns", target: 0.35 },
    { workload: "W2", metric: "fan-in-effect", unit: "ns", target: 0.65 },
    { workload: "W3", metric: "ask", unit: "µs", target: 0.35 },
    { workload: "W3", metric: "ask-effect", unit: "µs" },
    { workload: "W3", metric: "ask-100", unit: "µs", target: 0.25 },
    { workload: "W3", metric: "ask-100-effect", unit: "µs" },
    { workload: "W4", metric: "restart", unit: "µs", target: 0.5 },
    { workload: "W4", metric: "all-100", unit: "µs", target: 0.15 }
  ]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { reps: { type: "string" }, smoke: { type: "boolean" }, json: { type: "string" }, scale: { type: "string" } }
})
const chosen = positionals.length > 0 ? positionals : Object.keys(groups)
const unknown = chosen.find((name) => groups[name] === undefined)
if (unknown !== undefined) {
  process.stderr.write(`bench: no group ${unknown}; there is ${Object.keys(groups).join(", ")}\n`)
  process.exit(3)
}
const reps = values.smoke === true ? 1 : Number(values.reps ?? 3)
const scale = values.smoke === true ? 0.01 : Number(values.scale ?? 1)
if (!(Number.isInteger(reps) && reps > 0 && scale > 0)) {
  process.stderr.write("bench: --reps must be a whole number > 0, --scale a number > 0\n")
  process.exit(3)
}

const sampleFile = fileURLToPath(new URL("./sample.ts", import.meta.url))
const sample = (contender: string, workload: string): Record<string, number> =>
  JSON.parse(
    execFileSync(
      process.execPath,
      ["--conditions=@espalier/source", "--expose-gc", sampleFile, contender, workload, String(scale)],
      { encoding: "utf8", maxBuffer: 1 << 24, stdio: ["ignore", "pipe", "inherit"] }
    )
  )

const show = ({ median, min, max }: Summary, digits = 2): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

const records: Array<object> = []
for (const group of chosen) {
  const metrics = groups[group]!
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ["", "metric", "unit", "effect-raw", "espalier", "× raw", "target"]
  })
  for (const workload of new Set(metrics.map((metric) => metric.workload))) {
    const rounds = Array.from({ length: reps }, () => ({
      raw: sample("effect-raw", workload),
      ours: sample("espalier", workload)
    }))
    for (const { metric, unit, target } of metrics.filter((some) => some.workload === workload)) {
      const raw = summary(rounds.map((round) => round.raw[metric]!))
      const ours = summary(rounds.map((round) => round.ours[metric]!))
      const ratio = summary(rounds.map((round) => round.ours[metric]! / round.raw[metric]!))
      table.push([
        workload,
        metric,
        unit,
        show(raw),
        show(ours),
        show(ratio),
        target === undefined ? "" : `≤ ${target}`
      ])
      records.push({ workload, contender: "effect-raw", metric, unit, ...raw, ratio: { raw: 1 } })
      records.push({ workload, contender: "espalier", metric, unit, ...ours, ratio: { raw: ratio.median } })
    }
  }
  process.stdout.write(`${group}, ${reps} repetitions, scale ${scale}\n${table.toString()}\n`)
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(records, undefined, 2)}\n`)
