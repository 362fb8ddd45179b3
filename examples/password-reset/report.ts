/**
 * The report of a run: what was asked, what was made, what was run, what was found, and what stays open.
 *
 * It is made of the events of the run and of git, and of nothing that a model says about itself. That a development was
 * accepted and that it may be deployed are two things, decided by two: code accepts, a person authorises.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import type { Outcome, Result, RunEvent } from "espalier/run"

import { Approved, secured, tested } from "./contract.ts"
import { Reconciled, Ruling } from "./control.ts"
import { Reviewed } from "./roles.ts"
import type { Changed, Commit } from "./Workspace.ts"

/**
 * What a report is made of. `base`: where the branch begins. `head`: its newest revision.
 *
 * @category models
 * @since 0.1.0
 */
export interface Facts {
  readonly outcome: Outcome.Outcome
  readonly events: ReadonlyArray<RunEvent.RunEvent>
  readonly base: string
  readonly head: string
  readonly commits: ReadonlyArray<Commit>
  readonly changed: ReadonlyArray<Changed>
}

/** @since 0.1.0 */
export interface Report extends ReturnType<typeof make> {}

const isApproved = Schema.is(Approved)
const isReconciled = Schema.is(Reconciled)
const isReviewed = Schema.is(Reviewed)
const isRuling = Schema.is(Ruling)

type Reported = Extract<RunEvent.RunEvent, { readonly _tag: "Reported" }>

const isReported = (event: RunEvent.RunEvent): event is Reported => event._tag === "Reported"

/** Who said what about a task. */
const decisions = (events: ReadonlyArray<RunEvent.RunEvent>, task: string) => {
  const asked = new Set(
    events.flatMap((event) => (event._tag === "ReviewOpened" && event.task === task ? [event.review] : []))
  )
  const decided = events.flatMap((event) =>
    event._tag === "ReviewDecided" && asked.has(event.review)
      ? [{ review: event.review, by: event.by, decision: event.decision }]
      : []
  )
  return { asked: asked.size > 0, decided }
}

const authorisation = (events: ReadonlyArray<RunEvent.RunEvent>): string => {
  const { asked, decided } = decisions(events, "deployment")
  const last = decided.at(-1)
  if (last !== undefined) return last.decision === "approve" ? `approved by ${last.by}` : `rejected by ${last.by}`
  return asked ? "pending human approval" : "not asked for"
}

/** What shows a requirement: the last evidence for it. */
const shownBy = (reports: ReadonlyArray<Reported>, id: string) => {
  const all = reports.flatMap(({ result, task }) =>
    result.evidence.filter(({ requirement }) => requirement === id).map((evidence) => ({ evidence, task }))
  )
  const last = all.at(-1)
  if (last === undefined) return { holds: false }
  const { command, exitStatus, revision } = last.evidence
  return { task: last.task, command, revision, exitStatus, holds: exitStatus === 0 }
}

const sent = ({ command, exitStatus, requirement, revision }: Result.Evidence) => ({
  requirement,
  command,
  exitStatus,
  revision
})

/**
 * Makes the report.
 *
 * @category reports
 * @since 0.1.0
 */
export const make = ({ base, changed, commits, events, head, outcome }: Facts) => {
  const { results } = outcome
  const outputs = (task: string) =>
    Object.values(results)
      .filter((each) => each.task === task || each.task.startsWith(`${task}#`))
      .map(({ output }) => output)
  const approved = results["contract"]?.output
  const reconciled = results["acceptance"]?.output
  const reports = events.filter(isReported).filter((event) => event.outcome === "accepted")
  const { decided } = decisions(events, "contract")
  const stands = results["contract"]?.status === "accepted"
  const findings = reports.flatMap(({ result, task }) =>
    isReviewed(result.output)
      ? result.output.findings.map((finding) => ({ ...finding, task, revision: result.evidence[0]?.revision }))
      : []
  )
  const rulings = outputs("development/judge").filter(isRuling)
  const environments = new Set(
    reports.flatMap(({ result }) => result.evidence.map(({ environment = "" }) => environment))
  )
  const deployment = authorisation(events)
  return {
    run: outcome.run,
    status: outcome.status,
    development_acceptance: isReconciled(reconciled) ? reconciled.development_acceptance : "open",
    deployment_authorisation: deployment,
    revision: isReconciled(reconciled) ? reconciled.revision : head,
    base,
    contracts: isApproved(approved)
      ? [
          {
            version: approved.version,
            digest: approved.digest,
            approved: stands ? decided.map(({ by, review }) => `${by} (${review})`).join(", ") : "not yet",
            objective: approved.contract.objective,
            limits: approved.contract.limits
          }
        ]
      : [],
    changed_files: changed,
    commits,
    requirements: Object.entries({ ...tested, ...secured }).map(([id, statement]) => ({
      id,
      statement,
      ...shownBy(reports, id)
    })),
    test_records: reports.flatMap(({ dispatch, result }) => {
      const record = result.artefacts?.["record"]
      if (record === undefined) return []
      const failed = result.evidence.filter(({ exitStatus }) => exitStatus !== 0).map(({ requirement }) => requirement)
      return [
        { dispatch, record: record.uri, revision: result.evidence[0]?.revision, run: result.evidence.length, failed }
      ]
    }),
    findings,
    retries: rulings
      .filter(({ verdict }) => verdict === "fix")
      .map(({ failing, revision, round }) => ({ round, revision, sent: failing.map(sent) })),
    escalations: outcome.reviews.filter(({ task }) => task?.startsWith("development") === true).map(({ note }) => note),
    reconciliation: isReconciled(reconciled) ? reconciled.points : [],
    open_risks: [
      ...(isApproved(approved) ? approved.risks : []),
      ...findings.filter(({ task }) => task === "audit").map(({ severity, statement }) => `${statement} (${severity})`),
      ...[...environments].filter((each) => each.includes("not held back")),
      ...outcome.missing.map(({ reason, task }) => `${task}: ${reason}`),
      ...(deployment === "pending human approval" ? ["Nobody has let it be deployed"] : [])
    ],
    usage: outcome.usage
  }
}

const short = (revision: string | undefined): string => (revision ?? "none").slice(0, 7)

/** Text that somebody else wrote, in a line of Markdown. */
const plain = (text: string): string => text.replaceAll(/[\r\n]+/g, " ").replaceAll(/[\\`*_[\]<>|#]/g, "\\$&")

const list = (lines: ReadonlyArray<string>): string =>
  lines.length === 0 ? "None." : lines.map((each) => `- ${each}`).join("\n")

/**
 * The report as Markdown.
 *
 * @category reports
 * @since 0.1.0
 */
export const markdown = (report: Report): string =>
  [
    "# Password reset",
    `- development_acceptance: ${report.development_acceptance}\n- deployment_authorisation: ${report.deployment_authorisation}\n- final revision: ${report.revision}\n- run: ${report.run}, ${report.status}`,
    "## Contracts",
    list(
      report.contracts.map(
        ({ approved, digest, objective, version }) =>
          `Version ${version}, digest ${digest}, approved: ${plain(approved)}. ${plain(objective)}.`
      )
    ),
    "## Requirements",
    list(
      report.requirements.map(
        (each) =>
          `${each.holds ? "holds" : "**does not hold**"}: ${plain(each.id)}, ${plain(each.statement)} (\`${each.command ?? "nothing was run"}\` at ${short(each.revision)})`
      )
    ),
    "## Changed files",
    list(report.changed_files.map(({ how, path }) => `${how} ${plain(path)}`)),
    "## Commits",
    list(report.commits.map(({ by, message, revision }) => `${short(revision)} ${plain(by)}: ${plain(message)}`)),
    "## Test records",
    list(
      report.test_records.map(
        ({ dispatch, failed, record, revision, run }) =>
          `${plain(dispatch)} at ${short(revision)}: ${run} run, ${failed.length === 0 ? "all hold" : `failed: ${failed.map(plain).join(", ")}`} (${plain(record)})`
      )
    ),
    "## Findings",
    list(
      report.findings.map(
        ({ revision, severity, statement, task }) =>
          `${severity}, ${plain(task)} at ${short(revision)}: ${plain(statement)}`
      )
    ),
    "## Retries",
    list(
      report.retries.map(
        ({ revision, round, sent }) =>
          `Round ${round}, sent back at ${short(revision)}: ${sent.map(({ requirement }) => plain(requirement)).join(", ")}`
      )
    ),
    "## Escalations",
    list(report.escalations.map(plain)),
    "## Reconciliation with one revision",
    list(
      report.reconciliation.map(
        ({ holds, note, revision, subject }) =>
          `${holds ? "holds" : "**does not hold**"} at ${short(revision)}: ${plain(subject)}. ${plain(note)}`
      )
    ),
    "## Open risks",
    list(report.open_risks.map(plain))
  ].join("\n\n") + "\n"
