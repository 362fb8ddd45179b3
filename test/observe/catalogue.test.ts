import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { parser } from "@prometheus-io/lezer-promql"
import { Metrics, SemConv } from "espalier/observe"

const root = resolve(import.meta.dirname, "..", "..")
const read = (path: string): string => readFileSync(resolve(root, path), "utf8")

/** What Prometheus knows of a profile. */
const promNamesOf = (profile: SemConv.Profile): ReadonlySet<string> =>
  new Set(
    Metrics.catalogOf(profile).flatMap(({ instrument, name }) => {
      const text = name.replaceAll(".", "_")
      return instrument === "histogram" ? [`${text}_bucket`, `${text}_sum`, `${text}_count`] : [text]
    })
  )

/** The metrics of all profiles. */
const catalog = SemConv.Profiles.flatMap(Metrics.catalogOf)
const promNames = new Set(SemConv.Profiles.flatMap((profile) => [...promNamesOf(profile)]))

const labels = new Set([
  "le",
  "espalier_worker",
  ...catalog.flatMap(({ attributes }) => attributes.map((name) => name.replace(/\./g, "_")))
])

/** A text of YAML: in double quotes as in JSON, in single ones as it stands, or plain. */
const unquoted = (text: string): string =>
  text.startsWith('"')
    ? (JSON.parse(text) as string)
    : text.startsWith("'")
      ? text.slice(1, -1).replaceAll("''", "'")
      : text

/** The values of a field, in the order of the file. */
const fields = (name: string): ReadonlyArray<string> =>
  [...read("docs/alerts.yml").matchAll(new RegExp(`^ +(?:- )?${name}: (.+)$`, "gm"))].map(([, text]) => unquoted(text!))

interface Parsed {
  readonly errors: number
  readonly metrics: ReadonlyArray<string>
  readonly labels: ReadonlyArray<string>
}

const parse = (expr: string): Parsed => {
  let errors = 0
  const metrics: Array<string> = []
  const names: Array<string> = []
  parser.parse(expr).iterate({
    enter: (node) => {
      const text = expr.slice(node.from, node.to)
      if (node.type.isError) errors += 1
      if (node.name === "VectorSelector") metrics.push(/^[\w:]+/.exec(text)?.[0] ?? "")
      if (node.name === "LabelName") names.push(text)
    }
  })
  return { errors, metrics, labels: names }
}

const recorded = new Set(fields("record"))
const rules = fields("expr")

/** The alerts of the file: what each asks for, and the profiles that it says it is for. */
const alerts = read("docs/alerts.yml")
  .split(/^ +- alert: /m)
  .slice(1)
  .map((text) => {
    const [, expr = ""] = /^ +expr: (.+)$/m.exec(text) ?? []
    const [, profiles] = /^ +profiles: (.+)$/m.exec(text) ?? []
    const only = profiles === undefined ? undefined : unquoted(profiles).split(", ")
    return { name: text.slice(0, text.indexOf("\n")), expr: unquoted(expr), only }
  })

/** Whether an expression has data in a profile: one side of it asks for nothing else than what there is. */
const hasData = (expr: string, profile: SemConv.Profile): boolean => {
  const records = new Map(fields("record").map((name, index) => [name, rules[index] ?? ""]))
  const known = promNamesOf(profile)
  return expr.split(/(?<= > 0) or /).some((side) =>
    parse(side).metrics.every((metric) => {
      const record = records.get(metric)
      return record === undefined ? known.has(metric) : hasData(record, profile)
    })
  )
}

describe("catalogue", () => {
  it("R-502 has units by the grammar of OpenTelemetry", () => {
    for (const { name, unit } of Metrics.catalog) assert.match(unit, /^(1|s|By|\{[a-z_A-Z]+\})$/, name)
  })

  it("R-502 has names without a unit or a total in them, each once", () => {
    const names = Metrics.catalog.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    for (const name of names) {
      assert.match(name, /^(espalier|gen_ai)(\.[a-z_]+)+$/)
      assert.notMatch(name, /_total|seconds|bytes/)
    }
  })

  it("R-502 has bounds that ascend for histograms, and none for others", () => {
    for (const { buckets, instrument, name } of Metrics.catalog) {
      assert.strictEqual(buckets !== undefined, instrument === "histogram", name)
      for (let index = 1; index < (buckets?.length ?? 0); index++) {
        assert.isAbove(buckets![index]!, buckets![index - 1]!, name)
      }
    }
  })

  it("R-502 has no attribute that could hold an id or a text of people", () => {
    for (const { attributes, name } of Metrics.catalog) {
      for (const attribute of attributes) assert.notMatch(attribute, /\.(id|text|note|user|prompt|arguments)$/, name)
    }
  })

  it("R-502 says why of what is not measured, and measures none of it", () => {
    const names = new Set(Metrics.catalog.map(({ name }) => name))
    for (const { name, why } of Metrics.unmeasured) {
      assert.isFalse(names.has(name), name)
      assert.isAbove(why.length, 20, name)
    }
  })
})

describe("docs", () => {
  it("R-502 the page, the rules and the dashboard are what the catalogue makes them", () => {
    const output = execFileSync(
      process.execPath,
      ["--conditions=@espalier/source", "scripts/metrics-docs.ts", "--check"],
      { cwd: root, encoding: "utf8" }
    )
    assert.strictEqual(output, "")
  })

  it("R-502 every rule is PromQL", () => {
    assert.isAbove(rules.length, 50)
    for (const rule of rules) assert.strictEqual(parse(rule).errors, 0, rule)
    assert.isAbove(parse("sum by (le) (rate(x[5m])").errors, 0)
  })

  it("R-502 no rule asks for a metric or a label that nobody has", () => {
    for (const rule of rules) {
      const { labels: asked, metrics } = parse(rule)
      assert.isAbove(metrics.length, 0, rule)
      for (const metric of metrics) assert.isTrue(promNames.has(metric) || recorded.has(metric), `${metric} in ${rule}`)
      for (const label of asked) assert.isTrue(labels.has(label), `${label} in ${rule}`)
    }
  })

  it("R-502 an alert about any event at all sees the first one, with which a series comes up", () => {
    const seesFirst = /\(\((\w+(?:\{[^}]*\})?) unless \1 offset (\w+)\) or increase\(\1\[\2\]\)\) > 0(?![.\d])/g
    const missesFirst = /increase\(.*> 0(?![.\d])/
    const left = rules.map((rule) => rule.replaceAll(seesFirst, "seen"))
    assert.isAtLeast(left.filter((rule) => rule.includes("seen")).length, 8)
    for (const rule of left) assert.notMatch(rule, missesFirst)
    assert.match("sum by (a) (increase(x[15m])) > 0", missesFirst)
    assert.match("sum ((x unless y offset 15m) or increase(x[15m])) > 0".replaceAll(seesFirst, "seen"), missesFirst)
  })

  it("R-502 an alert has data in every profile, or says in which", () => {
    assert.isAbove(alerts.length, 40)
    for (const { expr, name, only } of alerts) {
      const found = SemConv.Profiles.filter((profile) => hasData(expr, profile))
      assert.deepStrictEqual(found, only ?? SemConv.Profiles, name)
    }
    // What can be asked of both names is.
    assert.deepStrictEqual(
      alerts.flatMap(({ name, only }) => (only === undefined ? [] : [name])),
      ["EspalierCacheLost"]
    )
    assert.isFalse(hasData("espalier:cache_share:1h < 1", "semconv-1.41"))
  })

  it("R-502 the page has every metric of every profile by its name", () => {
    const page = read("docs/metrics.md")
    for (const { name } of catalog) assert.include(page, `\`${name}\``)
  })

  it("R-502 a label that a rule asks of a metric is one of that metric", () => {
    const known = new Map(
      catalog.map(({ attributes, name }) => [
        name.replaceAll(".", "_"),
        new Set(["le", ...attributes.map((attribute) => attribute.replaceAll(".", "_"))])
      ])
    )
    for (const rule of rules) {
      for (const [, metric, matchers] of rule.matchAll(/([a-z_]+)\{([^}]*)\}/g)) {
        const own = known.get(metric!) ?? known.get(metric!.replace(/_(bucket|sum|count)$/, ""))
        if (own === undefined) continue
        for (const [, label] of matchers!.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)) {
          assert.isTrue(own.has(label!), `${label} of ${metric}`)
        }
      }
    }
  })

  it("R-502 every panel of the dashboard asks for what there is, in PromQL", () => {
    const board = JSON.parse(read("docs/grafana.json")) as {
      readonly panels: ReadonlyArray<{
        readonly id: number
        readonly targets?: ReadonlyArray<{ readonly expr: string }>
      }>
    }
    const asked = board.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const seen = new Set<string>()
    for (const expr of asked) {
      const { errors, metrics } = parse(expr.replaceAll("$__rate_interval", "5m"))
      assert.strictEqual(errors, 0, expr)
      for (const metric of metrics) {
        assert.isTrue(promNames.has(metric) || recorded.has(metric), metric)
        seen.add(metric.replace(/_(bucket|sum|count)$/, ""))
      }
    }
    for (const { name } of catalog) {
      const text = name.replaceAll(".", "_")
      assert.isTrue(seen.has(text) || seen.has(text.replace(/_count$/, "")), name)
    }
    assert.strictEqual(new Set(board.panels.map(({ id }) => id)).size, board.panels.length)
  })
})
