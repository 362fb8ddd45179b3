/**
 * What a run of the desk says in the end: JSON, a Markdown report, a table of the dispatches, a few lines for a terminal
 * and an exit code, all from the same data.
 *
 * **Invariants**
 *
 * - O1. Every function is pure; the same input gives the same text, whatever order findings and facts came in.
 * - O2. Text from the audited repository has no effect on what shows it: no heading, HTML or link in Markdown
 *   (`markdown.ts`), no control character on a terminal.
 * - O3. A report that lacks something says so before anything else.
 *
 * @since 0.1.0
 */
import Table from "cli-table3"
import { DateTime, Option, Schema } from "effect"
import pc from "picocolors"

import type { FailOn } from "./arguments.ts"
import { Finding, oneLine, severities } from "./Finding.ts"
import type { Severity } from "./Finding.ts"
import * as Markdown from "./markdown.ts"

/**
 * A finding, with who found it.
 *
 * @category models
 * @since 0.1.0
 */
export const ReportFinding = Schema.Struct({ domain: Schema.String, worker: Schema.String, ...Finding.fields })

/**
 * @category models
 * @since 0.1.0
 */
export type ReportFinding = typeof ReportFinding.Type

/**
 * What a report is made from.
 *
 * **Details**
 *
 * - `facts`: by worker.
 * - `missing`: the tasks that gave no result, and why.
 * - `dispatches`: every order that a worker got; `attempts` counts the tries inside it.
 * - `startedAt`: milliseconds since 1970. `resumed`: how often the run was taken up again.
 *
 * @category models
 * @since 0.1.0
 */
export const ReportInput = Schema.Struct({
  run: Schema.String,
  desk: Schema.String,
  root: Schema.String,
  status: Schema.Literals(["completed", "partial", "failed", "cancelled"]),
  stopReason: Schema.String,
  startedAt: Schema.Finite,
  durationMillis: Schema.Finite,
  findings: Schema.Array(ReportFinding),
  facts: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json)),
  missing: Schema.Array(
    Schema.Struct({ domain: Schema.String, worker: Schema.String, task: Schema.String, reason: Schema.String })
  ),
  dispatches: Schema.Array(
    Schema.Struct({
      dispatch: Schema.String,
      task: Schema.String,
      worker: Schema.String,
      attempts: Schema.Int,
      outcome: Schema.String,
      startedAt: Schema.Finite,
      durationMillis: Schema.Finite,
      note: Schema.String
    })
  ),
  resumed: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ReportInput = typeof ReportInput.Type

/**
 * The machine-readable report.
 *
 * @category models
 * @since 0.1.0
 */
export interface ReportJson {
  readonly run: string
  readonly status: ReportInput["status"]
  readonly findings: ReadonlyArray<ReportFinding>
  readonly missing: ReportInput["missing"]
}

/**
 * The findings as the report lists them: the worst first, then by domain and place.
 *
 * @category ordering
 * @since 0.1.0
 */
export const ordered = (findings: ReadonlyArray<ReportFinding>): ReadonlyArray<ReportFinding> =>
  findings.toSorted(
    (a, b) =>
      severities.indexOf(b.severity) - severities.indexOf(a.severity) ||
      byText(a.domain, b.domain) ||
      // What was left out of a list has no file and comes after what is in it.
      Number(a.file === "") - Number(b.file === "") ||
      byText(a.file, b.file) ||
      a.line - b.line ||
      byText(a.rule, b.rule) ||
      byText(a.worker, b.worker) ||
      byText(a.message, b.message)
  )

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)

const byWorker = (missing: ReportInput["missing"]): ReportInput["missing"] =>
  missing.toSorted((a, b) => byText(a.domain, b.domain) || byText(a.worker, b.worker) || byText(a.task, b.task))

/**
 * The report as JSON: exactly these fields, in a stable order.
 *
 * @category reports
 * @since 0.1.0
 */
export const reportJson = (input: ReportInput): ReportJson => ({
  run: input.run,
  status: input.status,
  findings: ordered(input.findings).map(({ domain, file, line, message, rule, severity, worker }) => ({
    domain,
    worker,
    rule,
    severity,
    file,
    line,
    message
  })),
  missing: byWorker(input.missing).map(({ domain, reason, task, worker }) => ({ domain, worker, task, reason }))
})

/**
 * The exit code that a report deserves: 2 when it is not complete, else 1 when a finding is at or above `failOn`, else 0.
 *
 * @category reports
 * @since 0.1.0
 */
export const exitCode = (input: ReportInput, failOn: FailOn): 0 | 1 | 2 => {
  if (isIncomplete(input)) return 2
  if (failOn === "never") return 0
  const least = severities.indexOf(failOn)
  return input.findings.some(({ severity }) => severities.indexOf(severity) >= least) ? 1 : 0
}

const isIncomplete = (input: ReportInput): boolean => input.status !== "completed" || input.missing.length > 0

const worstFirst: ReadonlyArray<Severity> = severities.toReversed()

const counted = (findings: ReadonlyArray<ReportFinding>): ReadonlyMap<Severity, number> =>
  new Map(worstFirst.map((severity) => [severity, findings.filter((found) => found.severity === severity).length]))

const countsIn = (findings: ReadonlyArray<ReportFinding>): string =>
  [...counted(findings)]
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => `${count} ${severity}`)
    .join(", ")

const plural = (count: number, one: string): string => (count === 1 ? `1 ${one}` : `${count} ${one}s`)

const title: Readonly<Record<Severity, string>> = { high: "High", medium: "Medium", low: "Low", info: "Info" }

/**
 * A duration for people: `820 ms`, `3.4 s`, `2 min 5 s`.
 *
 * @category text
 * @since 0.1.0
 */
export const duration = (millis: number): string => {
  if (millis < 1_000) return `${Math.max(0, Math.round(millis))} ms`
  if (millis < 59_950) return `${(millis / 1_000).toFixed(1)} s`
  const seconds = Math.round(millis / 1_000)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const moment = (millis: number): string =>
  Option.match(DateTime.make(millis), {
    onNone: () => "an unknown time",
    onSome: (time) => `${DateTime.formatIso(time).slice(0, 19).replace("T", " ")} UTC`
  })

/**
 * The report for the maintainer, in Markdown.
 *
 * **Details**
 *
 * In this order: what is missing, the verdict, the findings by severity and domain, figures by domain, the dispatches,
 * how it was made.
 *
 * @category reports
 * @since 0.1.0
 */
export const reportMarkdown = (input: ReportInput): string => {
  const name = input.root.split(/[\\/]/).findLast((part) => part !== "") ?? input.root
  return [
    `# Release audit of ${Markdown.plain(name, 100)}`,
    ...missingSection(input),
    "",
    verdict(input),
    ...findingSections(input),
    ...figures(input),
    ...dispatchSection(input),
    ...making(input),
    ""
  ].join("\n")
}

const missingSection = (input: ReportInput): ReadonlyArray<string> => {
  if (!isIncomplete(input)) return []
  const missing = byWorker(input.missing)
  const list = missing.map(
    ({ reason, task, worker }) =>
      `> - **${Markdown.plain(worker, 100)}**${task === worker ? "" : ` (task ${Markdown.plain(task, 100)})`}: ${Markdown.plain(reason)}`
  )
  const head =
    missing.length === 0
      ? `> **This report is not complete**: the run ended as ${input.status} (${Markdown.plain(input.stopReason, 100)}).`
      : `> **This report is not complete: ${plural(missing.length, "audit")} missing.** What they would have found is not in it.`
  return ["", "> [!WARNING]", head, ...(list.length === 0 ? [] : [">", ...list])]
}

const verdict = (input: ReportInput): string => {
  const { findings } = input
  const audits = Object.keys(input.facts).length
  const base = `${plural(audits, "audit")} reported ${plural(findings.length, "finding")}`
  const counts = findings.length === 0 ? base : `${base}: ${countsIn(findings)}`
  const blocking = counted(findings).get("high") ?? 0
  const [worst] = ordered(findings)
  if (isIncomplete(input)) {
    const known = blocking > 0 ? ` ${plural(blocking, "high finding")} already stand in the way of a release.` : ""
    return `**No verdict on a release**: a part of the audit is missing. ${counts}.${known}`
  }
  if (findings.length === 0) return `**Nothing stands in the way of a release.** ${base}.`
  if (blocking > 0) {
    return `**Not ready for a release**: ${plural(blocking, "high finding")} to settle first. ${counts}.`
  }
  const first =
    worst === undefined || worst.severity === "info"
      ? ""
      : ` Begin with ${place(worst)}: ${Markdown.plain(worst.message)}.`
  return `**Nothing of high severity stands in the way of a release.** ${counts}.${first.replace(/\.\.$/, ".")}`
}

const place = ({ file, line }: ReportFinding): string =>
  file === "" ? "the repository" : Markdown.code(line > 0 ? `${file}:${line}` : file, 300)

const findingSections = (input: ReportInput): ReadonlyArray<string> => {
  const all = ordered(input.findings)
  const lines: Array<string> = ["", "## Findings"]
  if (all.length === 0) lines.push("", isIncomplete(input) ? "None by the audits that were made." : "None.")
  for (const severity of worstFirst) {
    const some = all.filter((found) => found.severity === severity)
    if (some.length === 0) continue
    lines.push("", `### ${title[severity]} (${some.length})`)
    for (const [domain, findings] of Map.groupBy(some, (found) => found.domain)) {
      lines.push("", `**${Markdown.plain(domain, 100)}**`, "")
      for (const found of findings) {
        lines.push(`- ${place(found)} ${Markdown.plain(found.message)} (${Markdown.plain(found.rule, 100)})`)
      }
    }
  }
  return lines
}

const figures = (input: ReportInput): ReadonlyArray<string> => {
  const workers = Object.entries(input.facts)
    .map(([worker, facts]) => [worker, Object.entries(facts)] as const)
    .filter(([, facts]) => facts.length > 0)
    .toSorted(([a], [b]) => byText(a, b))
  if (workers.length === 0) return []
  const lines: Array<string> = ["", "## Figures"]
  for (const [domain, group] of Map.groupBy(workers, ([worker]) => worker.split(".")[0] ?? worker)) {
    const rows = group.flatMap(([worker, facts]) =>
      facts.map(([name, value]) => [
        Markdown.plain(worker, 100),
        Markdown.plain(spaced(name), 100),
        Markdown.plain(Markdown.fact(value))
      ])
    )
    lines.push("", `### ${Markdown.plain(domain, 100)}`, "", ...Markdown.table(["audit", "figure", "value"], rows))
  }
  return lines
}

const spaced = (name: string): string =>
  name.replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)

const dispatchSection = (input: ReportInput): ReadonlyArray<string> => {
  if (input.dispatches.length === 0) return []
  const rows = input.dispatches.map((sent) => [
    Markdown.code(shortDispatch(input, sent.dispatch)),
    Markdown.plain(sent.worker, 100),
    String(sent.attempts),
    Markdown.plain(sent.outcome, 60),
    duration(sent.durationMillis),
    Markdown.plain(sent.note, 200)
  ])
  const table = Markdown.table(["dispatch", "worker", "attempts", "outcome", "took", "note"], rows)
  return ["", "## Dispatches", "", ...table]
}

const shortDispatch = (input: ReportInput, dispatch: string): string =>
  dispatch.startsWith(`${input.run}/`) ? dispatch.slice(input.run.length + 1) : dispatch

const making = (input: ReportInput): ReadonlyArray<string> => {
  const attempts = input.dispatches.reduce((sum, { attempts }) => sum + attempts, 0)
  const resumed = input.resumed === 0 ? "" : ` It was taken up again ${plural(input.resumed, "time")}.`
  const sent = `${plural(input.dispatches.length, "dispatch").replace(/hs$/, "hes")} with ${plural(attempts, "attempt")}`
  return [
    "",
    "## How this was made",
    "",
    `The desk ${Markdown.code(input.desk)} audited ${Markdown.code(input.root, 300)} in the run ${Markdown.code(input.run)}, ` +
      `begun ${moment(input.startedAt)}, in ${duration(input.durationMillis)}: ${sent}.${resumed} ` +
      `The run ended as ${input.status} (${Markdown.plain(input.stopReason, 100)}). ` +
      "Findings are heuristic where they say so; lists that were shortened say how long they were."
  ]
}

/**
 * How a terminal shows it.
 *
 * **Details**
 *
 * - `colour`: with escape sequences for colours.
 * - `width`: of the terminal in characters, default 120.
 *
 * @category models
 * @since 0.1.0
 */
export interface TerminalOptions {
  readonly colour: boolean
  readonly width?: number | undefined
}

/**
 * The dispatches as a table for a terminal.
 *
 * **Details**
 *
 * The notes take the room that is left; below 80 characters they are left out, below 60 so are the frames.
 *
 * @category reports
 * @since 0.1.0
 */
export const auditTable = (input: ReportInput, options: TerminalOptions): string => {
  if (input.dispatches.length === 0) return "no worker was called"
  const colours = pc.createColors(options.colour)
  const width = Math.max(20, Math.floor(options.width ?? 120))
  const outcomeColour = (outcome: string) =>
    outcome === "accepted" ? colours.green : outcome === "partial" || outcome === "open" ? colours.yellow : colours.red
  const rows = input.dispatches.map((sent) => [
    oneLine(shortDispatch(input, sent.dispatch), 40),
    String(sent.attempts),
    oneLine(sent.outcome, 20),
    duration(sent.durationMillis),
    oneLine(sent.note, 300)
  ])
  const head = ["dispatch", "tries", "outcome", "took", "note"]
  if (width < 60) {
    return rows.map(([dispatch, , outcome = ""]) => oneLine(`${outcome} ${dispatch}`, width)).join("\n")
  }
  const used = head.slice(0, 4).map((name, at) => Math.max(name.length, ...rows.map((cells) => cells[at]?.length ?? 0)))
  // A frame left of each column and one at the end, a blank on both sides of each cell.
  const room = width - used.reduce((sum, cell) => sum + cell + 3, 1) - 3
  const hasNotes = room >= 12 && width >= 80
  const columns = hasNotes ? 5 : 4
  const table = new Table({
    head: head.slice(0, columns),
    colAligns: ["left", "right", "left", "right", "left"],
    style: { head: [], border: [], compact: true }
  })
  for (const [dispatch = "", tries = "", outcome = "", took = "", note = ""] of rows) {
    const cells = [dispatch, tries, outcomeColour(outcome)(outcome), took, oneLine(note, Math.max(2, room))]
    table.push(cells.slice(0, columns))
  }
  return table.toString()
}

/**
 * The end of a run in a few lines: what is missing, the counts, the worst findings.
 *
 * @category reports
 * @since 0.1.0
 */
export const summaryLines = (input: ReportInput, options: TerminalOptions): ReadonlyArray<string> => {
  const colours = pc.createColors(options.colour)
  const width = Math.max(40, Math.floor(options.width ?? 120))
  const lines: Array<string> = []
  if (isIncomplete(input)) {
    lines.push(colours.bold(colours.yellow(`${input.status}: ${oneLine(input.stopReason, 60)}`)))
    for (const { reason, worker } of byWorker(input.missing)) {
      lines.push(colours.yellow(oneLine(`missing ${worker}: ${reason}`, width)))
    }
  }
  const worst = ordered(input.findings).filter(({ severity }) => severity === "high" || severity === "medium")
  for (const found of worst.slice(0, 10)) {
    const where = found.file === "" ? "" : `${found.file}${found.line > 0 ? `:${found.line}` : ""} `
    const text = `${found.severity.padEnd(6)} ${oneLine(`${where}${found.message}`, width - 7)}`
    lines.push(found.severity === "high" ? colours.red(text) : text)
  }
  if (worst.length > 10) lines.push(`… and ${worst.length - 10} more of high or medium severity in the report`)
  const counts = input.findings.length === 0 ? "" : ` (${countsIn(input.findings)})`
  lines.push(`${plural(input.findings.length, "finding")}${counts} in ${duration(input.durationMillis)}`)
  return lines
}
