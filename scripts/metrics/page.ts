/** The page about metrics, and the file of rules, as texts. */
import { type Metrics, SemConv } from "espalier/observe"

import { alerts, assumed, derived, profilesOfRule, recordings, ruleAsksFor } from "./alerts.ts"
import { measured } from "./profiles.ts"

const cell = (text: string): string => text.replaceAll("|", "\\|")

const code = (text: string): string => `\`${text}\``

const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [heads, heads.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n")

const boundsOf = ({ buckets }: Metrics.Entry): string =>
  buckets === undefined ? "" : ` Bounds: ${buckets.join(", ")}.`

const sectionOf = (section: string, entries: ReadonlyArray<Metrics.Entry>): string => {
  const rows = entries.map((entry) => [
    code(entry.name),
    entry.instrument,
    code(entry.unit),
    entry.attributes.map(code).join(", "),
    `${entry.description}.${boundsOf(entry)}`
  ])
  return `### ${section}\n\n${table(["metric", "instrument", "unit", "attributes", "what it says"], rows)}`
}

const intro = `# Metrics

This page is made by \`scripts/metrics-docs.ts\` out of \`Metrics.catalog\`; so are [alerts.yml](alerts.yml), rules for
Prometheus, and [grafana.json](grafana.json), a dashboard.

\`Metrics.layer()\` around a program records all of this as metrics of Effect. Any exporter for those has them: over OTLP, or as a
page that Prometheus reads.

- Prometheus writes \`_\` for \`.\` and adds nothing: \`espalier.task.results\` is \`espalier_task_results\` there. A collector that
  exports to Prometheus itself adds \`_total\` and units, and the rules have to be changed for it.
- A counter counts what happened in this process. A run that is taken up again elsewhere goes on there, and counts nothing again.
- A gauge is read when somebody looks, and is gone with what it is about.
- \`espalier.review.pending.count\` and \`espalier.review.pending.age\` are of all questions in a journal, and are read while a desk is
  open on it: by an \`Office\`, a \`Host\`, or a run that is carried out. When \`Run.start\` has returned \`waiting\` its desk is closed, and
  nobody reads them: keep an office or a host open in some process for as long as people may be asked, or the alerts about old
  questions have no data.
- Names of workers, tools, models, desks and domains are attributes. Ids are not, nor is anything that people or models wrote. A metric
  has at most 1,000 series (\`maxSeries\`), and one with \`espalier.overflow="true"\` for the rest.
- \`espalier.node.kind_path\` and \`espalier.supervisor\` are paths of kinds: \`*\` stands for the id of one of many of a kind.
- Money is in the currency of \`espalier.cost.currency\`; amounts of two currencies cannot be added up. What is not known is counted
  apart, and is in no sum.
- A confidence is no quality. Nothing here is made of what a model says about itself.
- Times in which a task waited for people, timers or its next attempt are not in \`…active.duration\`.`

const derivation = `## What is derived

A ratio is no metric: it is made of counters by whoever asks, over the time that they ask about. Names with a colon are recorded by
[alerts.yml](alerts.yml).`

const isEverywhere = (rule: { readonly expr: string }): boolean =>
  profilesOfRule(rule).length === SemConv.Profiles.length

/** What a rule says of its profiles, where it has no data in some. */
const onlyIn = (rule: { readonly expr: string }): string =>
  isEverywhere(rule) ? "" : ` (only with the profile ${profilesOfRule(rule).map(code).join(", ")})`

const profiles = `## Profiles

The names of the GenAI conventions are those of the profile that \`Metrics.layer({ profile })\` was given: \`${SemConv.defaultProfile}\` if nothing
else is said. The table above has the names of that one. What is named \`espalier.…\` is the same in all of them.

A rule or a panel that can be asked of both names asks for both. One that asks for what a profile does not have stays empty with it,
and says so: a rule in its annotation \`profiles\`, a panel in its description. Attributes that a profile does not have are missing
there.`

const shownNames = (): string =>
  table(
    ["what it says", ...SemConv.Profiles.map(code), "asked for by"],
    measured.map(({ about, nameIn }) => {
      const names = SemConv.Profiles.map(nameIn)
      const rules = [
        ...recordings.map((rule) => ({ rule, name: rule.record })),
        ...alerts.map((rule) => ({ rule, name: rule.alert }))
      ].flatMap(({ name, rule }) =>
        names.some((each) => each !== undefined && ruleAsksFor(rule, each)) ? [`${code(name)}${onlyIn(rule)}`] : []
      )
      return [
        about,
        ...names.map((name) => (name === undefined ? "none" : code(name))),
        ["its panel", ...rules].join(", ")
      ]
    })
  )

const guide = `## Alerts

An alert about something that must not happen at all also looks for series that were not there before: a counter comes up when it
stands at 1, and \`increase\` does not see that first event. So it also tells of what had been counted before Prometheus began to look,
or while it did not for longer than the window of the rule.

The thresholds are to begin with, and yours to change. Three of them cannot be known from here: the share of tasks that have to be finished
(${assumed.completion}), what may be spent in an hour (${assumed.hourlyBudget}), and how long a question may stay open (${assumed.deadlineSeconds / 3600} hours, the last
step of the default ladder).`

/** docs/metrics.md */
export const page = (
  catalog: ReadonlyArray<Metrics.Entry>,
  unmeasured: ReadonlyArray<{ readonly name: string; readonly why: string }>
): string => {
  const sections = [...new Set(catalog.map((entry) => entry.section))]
  const catalogue = sections.map((section) =>
    sectionOf(
      section,
      catalog.filter((entry) => entry.section === section)
    )
  )
  const rows = alerts.map(({ act, alert, expr, for: time, means, section, severity }) => [
    section,
    code(alert),
    severity,
    time === "0m" ? "at once" : time,
    `${means}${onlyIn({ expr })}`,
    act
  ])
  return `${[
    intro,
    "## The catalogue",
    ...catalogue,
    profiles,
    shownNames(),
    derivation,
    table(
      ["what", "PromQL"],
      derived.map(({ expr, what }) => [what, code(expr)])
    ),
    guide,
    table(["about", "alert", "severity", "after", "it means that", "what to do"], rows),
    "## What is not measured",
    "Numbers that others have, and that cannot be honestly given here.",
    table(
      ["name", "why not"],
      unmeasured.map(({ name, why }) => [code(name), why])
    )
  ].join("\n\n")}\n`
}

/** A text of YAML in double quotes has the rules of JSON. */
const quoted = (text: string): string => JSON.stringify(text)

/** docs/alerts.yml */
export const rules = (): string => {
  const recorded = recordings.flatMap(({ about, expr, record }) => [
    `      # ${about}${onlyIn({ expr }).replaceAll("`", "")}`,
    `      - record: ${quoted(record)}`,
    `        expr: ${quoted(expr)}`
  ])
  const alerting = alerts.flatMap(({ act, alert, expr, for: time, means, section, severity }) => [
    `      - alert: ${alert}`,
    `        expr: ${quoted(expr)}`,
    `        for: ${time}`,
    "        labels:",
    `          severity: ${severity}`,
    `          section: ${quoted(section)}`,
    "        annotations:",
    `          summary: ${quoted(means)}`,
    `          description: ${quoted(act)}`,
    ...(isEverywhere({ expr }) ? [] : [`          profiles: ${quoted(profilesOfRule({ expr }).join(", "))}`])
  ])
  return `${[
    "# Rules for Prometheus, made by scripts/metrics-docs.ts. What they mean is in metrics.md.",
    "groups:",
    "  - name: espalier-recordings",
    "    interval: 1m",
    "    rules:",
    ...recorded,
    "  - name: espalier-alerts",
    "    rules:",
    ...alerting
  ].join("\n")}\n`
}
