/**
 * `npm run bench -- [GROUP] [--reps N] [--only WORKLOAD] [--scale X] [--postgres URL] [--alone] [--smoke] [--json FILE]`
 *
 * Runs each workload on the library, on the reference line and on the peers that are installed, interleaved, every
 * sample in a fresh process, and prints cost over cost of the same repetition: above 1 is slower or bigger. Times are
 * never asserted; machines are shared and noisy.
 *
 * Groups: `tree` is the tree alone (W1 to W4), `runs` is orchestration without a model and with a journal in memory (W5),
 * `journal` is the same kept at each step, in SQLite and PostgreSQL (W6), and long runs and large answers (W7), `agents` is
 * one agent whose model answers at once (W8), in memory and in SQLite, and what is done about a prompt of 100 KB, `observe` is the
 * runs of W5 with somebody who observes them over the same with nobody (W9), the delegation of a run out of its journal over its
 * state (W10), and one of our spans over one of Effect's (W11). It counts the time in which the thread works, as what it is after
 * is less than what others on the machine make of it; so what waits for a collector is not counted, and what hands over to it is.
 *
 * Peers: `npm install --prefix bench` brings them; Erlang/OTP takes part where `erl` and `erlc` are on the path; js-direct,
 * functions that are called and awaited, is the floor of `runs`. Workloads on PostgreSQL run where a server answers that
 * lets databases be made: they are dropped again. `--alone` leaves the peers out.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

import Table from "cli-table3"

import { answers, dropDatabases } from "./durable/postgres.ts"
import { groups, packages, type Peer } from "./groups.ts"
import { figuresOf, headOf, lineOf, recordOf, type Round } from "./report.ts"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    reps: { type: "string" },
    only: { type: "string" },
    smoke: { type: "boolean" },
    alone: { type: "boolean" },
    json: { type: "string" },
    scale: { type: "string" },
    postgres: { type: "string" }
  }
})
const chosen = positionals.length > 0 ? positionals : Object.keys(groups)
const unknown = chosen.find((name) => groups[name] === undefined)
if (unknown !== undefined) {
  process.stderr.write(`bench: no group ${unknown}; there is ${Object.keys(groups).join(", ")}\n`)
  process.exit(3)
}
const smoke = values.smoke === true
const reps = smoke ? 1 : Number(values.reps ?? 3)
const scale = smoke ? 0.01 : Number(values.scale ?? 1)
if (!(Number.isInteger(reps) && reps > 0 && scale > 0)) {
  process.stderr.write("bench: --reps must be a whole number > 0, --scale a number > 0\n")
  process.exit(3)
}
const { only } = values
/** A workload, or one of them in one store: `W6` or `W6/full`. */
const isChosen = (workload: string): boolean =>
  only === undefined || workload === only || workload.startsWith(`${only}/`)

const server = values.postgres ?? "postgres://postgres@127.0.0.1:5432/postgres"
const databases = `espalier_bench_${process.pid}`
const root = fileURLToPath(new URL("..", import.meta.url))
// What is imported and opened by a process that takes up is what is published, not what has to be stripped of types first.
const built = fileURLToPath(new URL("./node_modules/.espalier", import.meta.url))
const builds = !smoke && chosen.includes("journal")
if (builds) {
  rmSync(built, { recursive: true, force: true })
  const compiler = fileURLToPath(new URL("../node_modules/.bin/tsc", import.meta.url))
  execFileSync(compiler, ["-p", "tsconfig.build.json", "--outDir", built], { cwd: root, stdio: "inherit" })
  writeFileSync(`${built}/package.json`, `{ "type": "module" }\n`)
}
const environment = {
  ...process.env,
  NODE_NO_WARNINGS: "1",
  ESPALIER_BENCH_POSTGRES: server,
  ESPALIER_BENCH_PREFIX: databases,
  ...(builds ? { ESPALIER_BENCH_BUILT: "1" } : {})
}

const sampleFile = fileURLToPath(new URL("./sample.ts", import.meta.url))
const sample = (contender: string, workload: string): Record<string, number> =>
  JSON.parse(
    execFileSync(
      process.execPath,
      ["--conditions=@espalier/source", "--expose-gc", sampleFile, contender, workload, String(scale)],
      { encoding: "utf8", env: environment, maxBuffer: 1 << 24, stdio: ["ignore", "pipe", "inherit"] }
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

const isThere = (peer: Peer): boolean => {
  if (peer === "js-direct" || peer === "raw-grouped") return true
  if (peer === "otp") return runs("erlc", ["-help"]) && runs("erl", ["-version"])
  return (packages[peer] ?? [peer]).every(resolves)
}
const wanted = new Set(smoke || values.alone === true ? [] : chosen.flatMap((group) => groups[group]!.peers))
const there = new Set(
  [...wanted].filter((peer) => {
    if (isThere(peer)) return true
    process.stdout.write(`${peer} is not installed and left out\n`)
    return false
  })
)
const hasPostgres = !smoke && chosen.includes("journal") && (await answers(server))
if (!smoke && chosen.includes("journal") && !hasPostgres) {
  process.stdout.write("no PostgreSQL answers (or pg is not installed), and workloads on it are left out\n")
}

const records: Array<object> = []
for (const name of chosen) {
  const group = groups[name]!
  const peers = group.peers.filter((peer) => there.has(peer))
  const contenders = [group.reference, "espalier", ...peers]
  const metrics = group.metrics
    .filter(({ store }) => (store !== "postgres" || hasPostgres) && (store !== "normal" || !smoke))
    // Who observes all does what the others do.
    .filter(({ watcher = "all" }) => !smoke || watcher === "all" || watcher === "nothing")
    .map((metric) => ({ ...metric, key: [metric.workload, metric.store ?? metric.watcher ?? []].flat().join("/") }))
    .filter(({ key }) => isChosen(key))
  const table = new Table({ style: { head: [], border: [], compact: true }, head: [...headOf(group, peers)] })
  for (const workload of new Set(metrics.map(({ key }) => key))) {
    const rounds = Array.from({ length: reps }, (): Round =>
      Object.fromEntries(contenders.map((contender) => [contender, sample(group.folder + contender, workload)]))
    )
    for (const metric of metrics.filter(({ key }) => key === workload)) {
      const figures = figuresOf(rounds, metric.metric, group.reference)
      for (const [contender, figure] of figures) records.push(recordOf(metric, contender, figure, group))
      const line = lineOf(metric, figures, group, peers, !smoke)
      if (line !== undefined) table.push([...line])
    }
  }
  process.stdout.write(`${name}, ${reps} repetitions, scale ${scale}\n${table.toString()}\n`)
}
if (hasPostgres) await dropDatabases(server, databases)
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(records, undefined, 2)}\n`)
