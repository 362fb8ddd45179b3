/**
 * What models have used, as rows of a table for people.
 *
 * @since 0.1.0
 */
import { plain } from "../../run/internal/text.ts"
import type { Table, Totals } from "../Meter.ts"

/** The domain of `domain.worker`. @since 0.1.0 */
export const domainOf = (worker: string): string => {
  const dot = worker.indexOf(".")
  return dot < 0 ? worker : worker.slice(0, dot)
}

/** What stands above the columns. @since 0.1.0 */
export const headsOf = ({ run }: Table): ReadonlyArray<string> => [
  "",
  "calls",
  "answered",
  "failed",
  "interrupted",
  ...(run.cutOff === 0 ? [] : ["cut off"]),
  "swaps",
  "input",
  "output",
  "reasoning",
  "cache read",
  "cache write",
  "total",
  "cost",
  "unpriced"
]

/** An amount without an exponent. @since 0.1.0 */
export const shownAmount = (cost: number): string => {
  const text = cost.toFixed(12).replace(/0+$/, "")
  return text.endsWith(".") ? text.slice(0, -1) : text
}

const cellsOf = (name: string, { costs, tokens, ...of }: Totals, cuts: boolean): ReadonlyArray<string> => {
  const priced = costs.map(({ cost, currency }) => `${shownAmount(cost)} ${currency}`).join(" + ")
  const { cacheRead, cacheWrite, input, output, reasoning, total } = tokens
  return [
    name,
    ...[of.calls, of.answered, of.failed, of.interrupted, ...(cuts ? [of.cutOff] : []), of.swaps].map(String),
    ...[input, output, reasoning, cacheRead, cacheWrite, total].map(String),
    costs.length > 0 ? priced : of.calls > 0 ? "not known" : "",
    String(of.unpriced)
  ]
}

/** The run, its domains, and their workers below them. @since 0.1.0 */
export const rowsOf = ({ domains, run, workers }: Table): ReadonlyArray<ReadonlyArray<string>> => {
  const cells = (name: string, of: Totals) => cellsOf(name, of, run.cutOff > 0)
  const rows = [cells("run", run)]
  for (const domain of domains) {
    rows.push(cells(domain.name === "" ? "choices" : plain(domain.name), domain))
    for (const worker of workers) {
      if (worker.name === "" || domainOf(worker.name) !== domain.name) continue
      rows.push(cells(`  ${plain(worker.name)}`, worker))
    }
  }
  return rows
}
