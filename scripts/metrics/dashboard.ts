/** A dashboard of Grafana with a panel for each metric, in the order of the catalogue. */
import { Metrics, SemConv } from "espalier/observe"

import { derived } from "./alerts.ts"
import { measured, profilesOf, prometheus } from "./profiles.ts"

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

/** What is asked of each name that a metric has, beside each other: one of them has data. */
const targetsOfAll = (entries: ReadonlyArray<Metrics.Entry>): ReadonlyArray<Target> => {
  const [first = [], ...others] = entries.map(targetsOf)
  return first.map(({ expr, legendFormat }, index) => ({
    expr: [expr, ...others.map((targets) => targets[index]?.expr)].join(" or "),
    legendFormat
  }))
}

/** The metrics of all profiles, each once, by all names that it has. The conventions are last, in the order of their list. */
const panelled = (): ReadonlyArray<ReadonlyArray<Metrics.Entry>> => {
  const catalogs = SemConv.Profiles.map((profile) => ({ profile, catalog: Metrics.catalogOf(profile) }))
  const conventions = measured.map(({ nameIn }) => {
    const entries = catalogs.flatMap(({ catalog, profile }) => catalog.filter(({ name }) => name === nameIn(profile)))
    return entries.filter(({ name }, index) => entries.findIndex((each) => each.name === name) === index)
  })
  const names = new Set(conventions.flat().map(({ name }) => name))
  return [...Metrics.catalog.filter(({ name }) => !names.has(name)).map((entry) => [entry]), ...conventions]
}

const aboutOf = ({ description, name }: Metrics.Entry): string => {
  const profiles = profilesOf(prometheus(name))
  const known = measured.find(({ nameIn }) => SemConv.Profiles.some((profile) => nameIn(profile) === name))
  const isEverywhere = SemConv.Profiles.every((profile) => known === undefined || known.nameIn(profile) !== undefined)
  return isEverywhere ? description : `${description}. Only with the profile ${profiles.join(", ")}`
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
export const dashboard = (): string => {
  const all = panelled()
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
  for (const section of new Set(Metrics.catalog.map((entry) => entry.section))) {
    const found = all.flatMap((entries) => {
      const [first] = entries
      return first?.section === section ? [{ first, entries }] : []
    })
    rows(
      section,
      found.map(({ entries, first }) => (at) => {
        const title = entries.map(({ name }) => name).join(" or ")
        return panel((id += 1), at, title, aboutOf(first), unitOf(first), targetsOfAll(entries))
      })
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
