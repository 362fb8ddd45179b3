/** From the figures of samples to records and lines of a table. */
import type { Group, Metric } from "./groups.ts"
import { type Summary, summary } from "./util.ts"

/** The figures of each contender in one repetition. */
export type Round = Readonly<Record<string, Readonly<Record<string, number>>>>

/** A contender's figures in one metric, and over and above those of the reference line of the same repetition. */
export interface Figure {
  readonly cost: Summary
  readonly ratio: Summary | undefined
  readonly added: Summary | undefined
}

/** The figures of one metric by contender; who did not take part in every repetition is left out. */
export const figuresOf = (
  rounds: ReadonlyArray<Round>,
  metric: string,
  reference: string
): ReadonlyMap<string, Figure> => {
  const figures = new Map<string, Figure>()
  const costsOf = (contender: string): ReadonlyArray<number> | undefined => {
    const costs = rounds.flatMap((round) => round[contender]?.[metric] ?? [])
    return costs.length === rounds.length ? costs : undefined
  }
  const limits = costsOf(reference)
  for (const contender of Object.keys(rounds[0] ?? {})) {
    const costs = costsOf(contender)
    if (costs === undefined) continue
    const ratio = limits === undefined ? undefined : summary(costs.map((cost, round) => cost / limits[round]!))
    const added = limits === undefined ? undefined : summary(costs.map((cost, round) => cost - limits[round]!))
    figures.set(contender, { cost: summary(costs), ratio, added })
  }
  return figures
}

/** One record of the file. */
export const recordOf = (
  { metric, store, unit, watcher, workload }: Metric,
  contender: string,
  { added, cost, ratio }: Figure,
  group: Pick<Group, "ratio" | "added">
): object => ({
  workload,
  ...(store === undefined ? {} : { store }),
  ...(watcher === undefined ? {} : { watcher }),
  contender,
  metric,
  unit,
  ...cost,
  ...(ratio === undefined ? {} : { ratio: { [group.ratio]: ratio.median } }),
  ...(group.added === undefined || added === undefined ? {} : { added: added.median })
})

export const show = ({ max, median, min }: Summary, digits = 2): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

/** A target as it stands in the table, and `!` after it when it is missed. */
export const targetOf = ({ digits = 2, most, target, unit }: Metric, ours: Figure | undefined): string => {
  if (target !== undefined) return `≤ ${target} ×${(ours?.ratio?.median ?? 0) > target ? " !" : ""}`
  if (most === undefined) return ""
  const value = Number.isInteger(most) ? String(most) : most.toFixed(digits)
  return `≤ ${value}${unit === "" || unit === "×" ? "" : ` ${unit}`}${(ours?.cost.median ?? 0) > most ? " !" : ""}`
}

/** The head of a group's table. */
export const headOf = ({ added, ratio, reference }: Group, peers: ReadonlyArray<string>): ReadonlyArray<string> => [
  "",
  "metric",
  "unit",
  reference,
  "espalier",
  `× ${ratio}`,
  ...(added === undefined ? [] : [`− ${ratio}`]),
  "target",
  ...peers.map((peer) => `${peer} × ${ratio}`)
]

/** The line of a metric, or nothing when nobody has figures. `judged`: whether a target that is missed is marked. */
export const lineOf = (
  metric: Metric,
  figures: ReadonlyMap<string, Figure>,
  { added, reference }: Pick<Group, "added" | "reference">,
  peers: ReadonlyArray<string>,
  judged: boolean
): ReadonlyArray<string> | undefined => {
  if (figures.size === 0) return undefined
  const { digits } = metric
  const cost = (contender: string): string => {
    const figure = figures.get(contender)
    return figure === undefined ? "" : show(figure.cost, digits)
  }
  const ours = figures.get("espalier")
  return [
    [metric.workload, metric.store ?? metric.watcher ?? []].flat().join(" "),
    metric.metric,
    metric.unit,
    cost(reference),
    cost("espalier"),
    ours?.ratio === undefined ? "" : show(ours.ratio),
    ...(added === undefined ? [] : [ours?.added === undefined ? "" : show(ours.added, digits)]),
    targetOf(metric, judged ? ours : undefined),
    ...peers.map((peer) => figures.get(peer)?.ratio?.median.toFixed(2) ?? "")
  ]
}
