/**
 * `npm run bench -- [GROUP] [--reps N] [--only WORKLOAD] [--scale X] [--smoke] [--json FILE]`
 *
 * Runs each workload on the library, on the reference line and on the peers that are installed, interleaved, every
 * sample in a fresh process, and prints cost over cost of the same repetition: above 1 is slower or bigger. Times are
 * never asserted; machines are shared and noisy.
 *
 * Groups: `tree` is the tree alone (W1 to W4), `runs` is orchestration without a model and with a journal in memory (W5).
 *
 * Peers: `npm install --prefix bench` brings nact and xstate; Erlang/OTP takes part where `erl` and `erlc` are on the
 * path; js-direct, functions that are called and awaited, is the floor of `runs`.
 */
import { execFileSync, spawnSync } from "node:child_process"
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

type Peer = "js-direct" | "nact" | "xstate" | "otp"

interface Group {
  readonly peers: ReadonlyArray<Peer>
  readonly metrics: ReadonlyArray<Metric>
}

const groups: Readonly<Record<string, Group>> = {
  tree: {
    peers: ["nact", "xstate", "otp"],
    metrics: [
      { workload: "W1", metric: "start", unit: "µs", target: 0.5 },
      { workload: "W1", metric: "stop", unit: "µs", target: 0.5 },
      { workload: "W1", metric: "heap", unit: "B", target: 0.4 },
      { workload: "W2", metric: "tell-plain", unit: "ns", target: 0.35 },
      { workload: "W2", metric: "tell-effect", unit: "ns", target: 0.65 },
      { workload: "W2", metric: "fan-in-plain", unit: "ns", target: 0.35 },
      { workload: "W2", metric: "fan-in-effect", unit: "ns", target: 0.65 },
      { workload: "W3", metric: "ask", unit: "µs", target: 0.35 },
      { workload: "W3", metric: "ask-p50", unit: "µs", target: 0.35 },
      { workload: "W3", metric: "ask-effect", unit: "µs" },
      { workload: "W3", metric: "ask-100", unit: "µs", target: 0.25 },
      { workload: "W3", metric: "ask-100-effect", unit: "µs" },
      { workload: "W4", metric: "restart", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "restart-among-1000", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "restart-depth-50", unit: "µs", target: 0.5 },
      { workload: "W4", metric: "all-100", unit: "µs", target: 0.15 }
    ]
  },
  runs: {
    peers: ["js-direct", "nact", "otp"],
    metrics: [
      { workload: "W5", metric: "dispatch", unit: "µs", target: 0.4 },
      { workload: "W5", metric: "fan-out", unit: "µs", target: 0.4 }
    ]
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    reps: { type: "string" },
    only: { type: "string" },
    smoke: { type: "boolean" },
    json: { type: "string" },
    scale: { type: "string" }
  }
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

const resolves = (name: string): boolean => {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
const runs = (command: string, args: ReadonlyArray<string>): boolean =>
  spawnSync(command, args, { stdio: "ignore" }).error === undefined

const reference = "effect-raw"
const isThere = (peer: Peer): boolean => {
  if (peer === "js-direct") return true
  return peer === "otp" ? runs("erlc", ["-help"]) && runs("erl", ["-version"]) : resolves(peer)
}
const wanted = new Set(values.smoke === true ? [] : chosen.flatMap((group) => groups[group]!.peers))
const there = new Set(
  [...wanted].filter((peer) => {
    if (isThere(peer)) return true
    process.stdout.write(`${peer} is not installed and left out\n`)
    return false
  })
)

const show = ({ median, min, max }: Summary, digits = 2): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

const records: Array<object> = []
for (const group of chosen) {
  const peers = groups[group]!.peers.filter((peer) => there.has(peer))
  const contenders = [reference, "espalier", ...peers]
  const metrics = groups[group]!.metrics.filter(({ workload }) => values.only === undefined || workload === values.only)
  const table = new Table({
    style: { head: [], border: [], compact: true },
    head: ["", "metric", "unit", reference, "espalier", "× raw", "target", ...peers.map((peer) => `${peer} × raw`)]
  })
  for (const workload of new Set(metrics.map((metric) => metric.workload))) {
    const rounds = Array.from({ length: reps }, () =>
      Object.fromEntries(contenders.map((contender) => [contender, sample(contender, workload)]))
    )
    for (const { metric, unit, target } of metrics.filter((some) => some.workload === workload)) {
      const figures = new Map<string, { readonly cost: Summary; readonly ratio: Summary }>()
      for (const contender of contenders) {
        if (rounds.some((round) => round[contender]![metric] === undefined)) continue
        const cost = summary(rounds.map((round) => round[contender]![metric]!))
        const ratio = summary(rounds.map((round) => round[contender]![metric]! / round[reference]![metric]!))
        figures.set(contender, { cost, ratio })
        records.push({ workload, contender, metric, unit, ...cost, ratio: { raw: ratio.median } })
      }
      const ours = figures.get("espalier")!
      table.push([
        workload,
        metric,
        unit,
        show(figures.get(reference)!.cost),
        show(ours.cost),
        show(ours.ratio),
        target === undefined ? "" : `≤ ${target}`,
        ...peers.map((peer) => figures.get(peer)?.ratio.median.toFixed(2) ?? "")
      ])
    }
  }
  process.stdout.write(`${group}, ${reps} repetitions, scale ${scale}\n${table.toString()}\n`)
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(records, undefined, 2)}\n`)
