/** A dashboard of Grafana with a panel for each metric, in the order of the catalogue. */
import type { Metrics } from "espalier/observe"

import { derived, prometheus } from "./alerts.ts"

interface Target {
  readonly expr: string
  readonly legendFormat: string
}

const labelsOf = ({ attributes }: Metrics.Entry): string => attributes.map(prometheus).join(", ")

const legendOf = (attributes: ReadonlyArray<string>): string =>
  attributes.map((name) => `{{${prometheus(name)}}}`).join(" ")

/** What a metric is looked at as: a rate, two quantiles, or the value as it stands. */
const targetsOf = (entry: Metrics.Entry): ReadonlyArray<Target> => {
  const name = prometheus(entry.name)
  const labels = labelsOf(entry)
  switch (entry.instrument) {
    case "counter":
      return [
        { expr: `sum by (${labels}) (rate(${name}[$__rate_interval]))`, legendFormat: legendOf(entry.attributes) }
      ]
    case "gauge":
      return [{ expr: name, legendFormat: legendOf(entry.attributes) }]
    case "histogram": {
      const main = entry.attributes.slice(0, 2)
      const by = ["le", ...main.map(prometheus)].join(", ")
      return [0.5, 0.95].map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum by (${by}) (rate(${name}_bucket[$__rate_interval])))`,
        legendFormat: `p${quantile * 100} ${legendOf(main)}`
      }))
    }
  }
}

/** A unit of ours as Grafana names it. */
const unitOf = ({ instrument, unit }: Metrics.Entry): string =>
  unit === "s"
    ? "s"
    : unit === "1" && instrument === "histogram"
      ? "percentunit"
      : instrument === "counter"
        ? "cps"
        : "short"

const source = { type: "prometheus", uid: "${datasource}" }

const panel = (
  id: number,
  at: { readonly x: number; readonly y: number },
  title: string,
  description: string,
  unit: string,
  targets: ReadonlyArray<Target>
) => ({
  id,
  type: "timeseries",
  title,
  description,
  datasource: source,
  gridPos: { h: 8, w: 8, ...at },
  fieldConfig: { defaults: { unit }, overrides: [] },
  targets: targets.map((target, index) => ({ refId: String.fromCodePoint(65 + index), datasource: source, ...target }))
})

/** The dashboard as the text of a file. */
export const dashboard = (catalog: ReadonlyArray<Metrics.Entry>): string => {
  const panels: Array<object> = []
  let id = 0
  let y = 0
  const row = (title: string): void => {
    panels.push({ id: (id += 1), type: "row", title, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y } })
    y += 1
  }
  const rows = (title: string, all: ReadonlyArray<(at: { x: number; y: number }) => object>): void => {
    row(title)
    all.forEach((make, index) => panels.push(make({ x: (index % 3) * 8, y: y + Math.floor(index / 3) * 8 })))
    y += Math.ceil(all.length / 3) * 8
  }
  rows(
    "At a glance",
    derived.map(
      ({ expr, what }) =>
        (at) =>
          panel((id += 1), at, what, what, "short", [{ expr, legendFormat: "" }])
    )
  )
  for (const section of new Set(catalog.map((entry) => entry.section))) {
    const entries = catalog.filter((entry) => entry.section === section)
    rows(
      section,
      entries.map(
        (entry) => (at) => panel((id += 1), at, entry.name, entry.description, unitOf(entry), targetsOf(entry))
      )
    )
  }
  const board = {
    title: "espalier",
    uid: "espalier",
    schemaVersion: 39,
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    tags: ["espalier"],
    templating: { list: [{ name: "datasource", type: "datasource", query: "prometheus", label: "Data source" }] },
    panels
  }
  return `${JSON.stringify(board, undefined, 2)}\n`
}
