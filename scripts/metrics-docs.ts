/**
 * Makes docs/metrics.md, docs/alerts.yml and docs/grafana.json out of the catalogue of metrics. With `--check` it writes nothing, and
 * fails when one of them is not what it would make.
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

import { Metrics } from "espalier/observe"

import { dashboard } from "./metrics/dashboard.ts"
import { page, rules } from "./metrics/page.ts"

const root = resolve(import.meta.dirname, "..")
const folder = join(root, "docs")

/** A text as the formatter of the repository would have it. */
const formatted = (name: string, text: string): readonly [name: string, text: string] => [
  name,
  execFileSync(join(root, "node_modules", ".bin", "oxfmt"), ["--stdin-filepath", join("docs", name)], {
    cwd: root,
    input: text,
    encoding: "utf8"
  })
]

const files = [
  formatted("metrics.md", page(Metrics.catalog, Metrics.unmeasured)),
  formatted("alerts.yml", rules()),
  formatted("grafana.json", dashboard())
]

const check = process.argv.includes("--check")
mkdirSync(folder, { recursive: true })
const stale = files.filter(([name, text]) => {
  const path = join(folder, name)
  if (existsSync(path) && readFileSync(path, "utf8") === text) return false
  if (!check) writeFileSync(path, text)
  return true
})
for (const [name] of stale) process.stdout.write(`docs/${name} ${check ? "is out of date" : "was written"}\n`)
if (check && stale.length > 0) {
  process.stdout.write("Run: node --conditions=@espalier/source scripts/metrics-docs.ts\n")
  process.exitCode = 1
}
