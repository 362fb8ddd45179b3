/**
 * What the program prints: a line per event, the report, the audit, and how the run ended.
 *
 * Every text goes through `oneLine`: what stands in a note, a topic or an error never reaches the terminal as more than
 * letters.
 *
 * @since 0.1.0
 */
import Table from "cli-table3"
import { Option, Schema } from "effect"
import type { Tree } from "espalier"
import type { Meter } from "espalier/agent"
import type { Outcome, RunEvent } from "espalier/run"

import { Report } from "./model.ts"
import { oneLine } from "./text.ts"

const words = (tag: string): string => tag.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()

/**
 * The line of a run's event: what happened, and the sentence that the journal has for it.
 *
 * @category drawing
 * @since 0.1.0
 */
export const eventLine = (event: RunEvent.RunEvent): string =>
  `${words(event._tag).padEnd(16)} ${oneLine(event.note, 240)}`

/**
 * The line of a tree's event, for what broke and what became of it.
 *
 * @category drawing
 * @since 0.1.0
 */
export const treeLine = (event: Tree.Event): string | undefined => {
  const path = event.path.join("/")
  switch (event._tag) {
    case "Restarting":
      return `tree             ${path} crashed and is restarting, ${event.left} restarts left`
    case "GaveUp":
      return `tree             ${path} gave up on ${event.child}`
    default:
      return undefined
  }
}

/**
 * The report of a run that has one.
 *
 * @category accessors
 * @since 0.1.0
 */
export const reportOf = ({ output }: Outcome.Outcome): Report | undefined =>
  Option.getOrUndefined(Schema.decodeUnknownOption(Report)(output))

const lines = (text: string): ReadonlyArray<string> => text.split("\n").map((line) => oneLine(line, 10_000))

/**
 * The article, or what there is of it.
 *
 * @category drawing
 * @since 0.1.0
 */
export const reportText = (report: Report): string => {
  const { confidence, kind, notes, text, title, verdict } = report
  const head = kind === "nothing" ? ["Nothing was found."] : [oneLine(title), "", ...lines(text)]
  const said = notes.map((note) => `- ${oneLine(note, 400)}`)
  return [...head, "", `${kind}, verdict ${verdict}, confidence ${confidence}`, ...said].join("\n")
}

/**
 * What a person is asked, and how to answer.
 *
 * @category drawing
 * @since 0.1.0
 */
export const questionText = ({ reviews, run }: Outcome.Outcome): string =>
  reviews
    .map(({ allowed, note, review }) =>
      [
        `question ${oneLine(review)}: ${oneLine(note, 600)}`,
        `answers: ${allowed.join(", ")}`,
        `answer it with: --resume ${oneLine(run)} --answer ${allowed[0] ?? "retry"}`
      ].join("\n")
    )
    .join("\n\n")

const columns = ["dispatch", "worker", "outcome", "tries", "conf.", "why this worker", "what came of it"] as const

/**
 * The dispatches of a run as a table no wider than `width`, at least 100 characters.
 *
 * @category drawing
 * @since 0.1.0
 */
export const auditTable = ({ dispatches, run }: Outcome.Outcome, width: number): string => {
  if (dispatches.length === 0) return "no worker was called"
  const rows = dispatches.map(({ attempts, confidence, dispatch, note, outcome, routing, worker }) => [
    oneLine(dispatch.startsWith(`${run}/`) ? dispatch.slice(run.length + 1) : dispatch, 60),
    oneLine(worker, 40),
    outcome,
    `${attempts}`,
    confidence === undefined ? "–" : `${confidence}`,
    oneLine(routing, 300),
    oneLine(note, 300)
  ])
  const own = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)) + 2)
  const used = own.slice(0, 5).reduce((sum, each) => sum + each + 1, 3)
  const room = Math.max(20, Math.floor((Math.max(100, width) - used) / 2))
  const table = new Table({
    head: [...columns],
    colWidths: own.map((each, at) => (at < 5 ? each : Math.min(each, room))),
    wordWrap: true,
    style: { head: [], border: [] }
  })
  for (const row of rows) table.push(row)
  return table.toString()
}

/**
 * How the run ended: steps, stop reason, what is missing.
 *
 * @category drawing
 * @since 0.1.0
 */
export const endText = (outcome: Outcome.Outcome): string => {
  const { degraded, missing, note, status, stopReason, usage } = outcome
  const flags = degraded ? ", degraded" : ""
  return [
    `steps used ${usage.steps ?? 0}`,
    `${status}${flags}${stopReason === undefined ? "" : `: ${stopReason}`} (${oneLine(note, 300)})`,
    ...missing.map(
      ({ reason, task, worker }) => `missing ${oneLine(task, 60)} of ${oneLine(worker, 60)}: ${oneLine(reason, 300)}`
    )
  ].join("\n")
}

/**
 * All of it as JSON, in a stable order. `models`: what they have used.
 *
 * @category drawing
 * @since 0.1.0
 */
export const json = (outcome: Outcome.Outcome, models: Meter.Table): string => {
  const { degraded, dispatches, missing, reviews, run, status, stopReason, usage } = outcome
  const questions = reviews.map(({ allowed, kind, note, reason, review }) => ({ review, kind, reason, note, allowed }))
  const report = reportOf(outcome) ?? null
  const all = {
    run,
    status,
    stopReason,
    degraded,
    report,
    steps: usage.steps ?? 0,
    missing,
    questions,
    dispatches,
    models
  }
  return `${JSON.stringify(all, undefined, 2)}\n`
}

/**
 * The exit code that an outcome deserves.
 *
 * @category drawing
 * @since 0.1.0
 */
export const exitCode = (outcome: Outcome.Outcome): 0 | 1 | 2 => {
  if (outcome.status === "waiting") return 0
  if (outcome.status !== "completed") return 2
  return reportOf(outcome)?.verdict === "NEEDS_REVISION" ? 1 : 0
}
