/**
 * The main job: audits a repository with ten workers in three domains, and writes a report.
 *
 * `npm start -- [PATH] [options]`, see `--help`. This file is the edge: arguments, folders, terminal, exit code. What is
 * decided is decided in `desk.ts`, `arguments.ts` and `report.ts`.
 *
 * @since 0.1.0
 */
import { Clock, Effect, FileSystem, Option, Path, Result, Schema, Stream } from "effect"
import { Run } from "espalier/run"
import type { Outcome } from "espalier/run"

import { CouldNotRun, runProgram, write } from "../shared/edge.ts"
import * as Arguments from "./arguments.ts"
import { desk, Input, Subject } from "./desk.ts"
import * as Faults from "./faults.ts"
import { Audit } from "./Finding.ts"
import * as Progress from "./progress.ts"
import * as report from "./report.ts"
import * as Repository from "./Repository.ts"

/** Any typed failure on the way is a reason not to run. */
const orNot = <A, E extends { readonly message: string }, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, CouldNotRun, R> => Effect.mapError(self, (error) => new CouldNotRun({ reason: error.message }))

/** Where a run looks for its repository: where it was begun, when it is taken up again. */
const begun = Effect.fnUntraced(function* (run: string) {
  const first = yield* Stream.runHead(Run.events(run))
  if (Option.isNone(first) || first.value._tag !== "RunStarted") return yield* new Run.RunNotFound({ run })
  const input = decodeInput(first.value.input)
  if (Result.isFailure(input)) return yield* new CouldNotRun({ reason: `the run ${run} is not one of this desk` })
  return input.success
})

const decodeInput = Schema.decodeUnknownResult(Input)

const decodeAudit = Schema.decodeUnknownResult(Audit)

/** What the report is made from. */
const toReport = (
  outcome: Outcome.Outcome,
  repository: Repository.Repository,
  resumed: boolean,
  now: number
): report.ReportInput => {
  const findings: Array<report.ReportInput["findings"][number]> = []
  const facts: Record<string, Audit["facts"]> = {}
  for (const [worker, { output }] of Object.entries(outcome.results)) {
    const audit = decodeAudit(output)
    if (Result.isFailure(audit)) continue
    const [domain = ""] = worker.split(".", 1)
    facts[worker] = audit.success.facts
    for (const finding of audit.success.findings) findings.push({ domain, worker, ...finding })
  }
  const { status } = outcome
  return {
    run: outcome.run,
    desk: outcome.desk,
    root: repository.root,
    status: status === "completed" || status === "failed" || status === "cancelled" ? status : "partial",
    stopReason: outcome.stopReason ?? "stop-requested",
    startedAt: outcome.startedAt,
    durationMillis: (outcome.endedAt ?? now) - outcome.startedAt,
    findings,
    facts,
    missing: outcome.missing.map(({ reason, task, worker }) => ({
      domain: task.split(".", 1)[0] ?? "",
      worker: worker === "" ? task : worker,
      task,
      reason
    })),
    dispatches: outcome.dispatches.map(
      ({ attempts, dispatch, durationMillis, note, outcome, startedAt, task, worker }) => ({
        dispatch,
        task,
        worker,
        attempts,
        outcome,
        startedAt,
        durationMillis: durationMillis ?? 0,
        note
      })
    ),
    resumed: resumed ? 1 : 0
  }
}

/** Writes a file so that it is there whole or not at all. */
const writeWhole = Effect.fnUntraced(function* (file: string, text: string) {
  const fs = yield* FileSystem.FileSystem
  yield* fs.writeFileString(`${file}.part`, text)
  yield* fs.rename(`${file}.part`, file)
})

const job = Effect.fnUntraced(function* (args: Arguments.Arguments) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const runId = args.resume ?? (yield* Run.makeId)
  const input =
    args.resume === undefined
      ? { root: path.resolve(args.path), runChecks: args.runChecks }
      : yield* orNot(begun(args.resume))
  const repository = yield* orNot(Repository.open(input.root))
  const out = path.resolve(args.out ?? path.join(".espalier", runId))
  // A folder that cannot be written to is better known before the work than after it.
  yield* orNot(fs.makeDirectory(out, { recursive: true }))
  yield* write(args.json ? process.stderr : process.stdout, `run ${runId}\n`)

  const progress = Progress.make(args.json ? process.stderr : process.stdout)
  const watching = { onEvent: progress.onRun, onTreeEvent: progress.onTree, log: false }
  const running =
    args.resume === undefined
      ? orNot(Run.start(desk, { ...watching, id: runId, input }))
      : orNot(Run.resume(desk, runId, watching))
  const outcome = yield* running.pipe(
    Effect.ensuring(Effect.sync(progress.done)),
    Effect.provideService(Subject, { repository, strike: Faults.make(args.faults) })
  )

  const made = toReport(outcome, repository, args.resume !== undefined, yield* Clock.currentTimeMillis)
  const json = `${JSON.stringify(report.reportJson(made), undefined, 2)}\n`
  yield* orNot(
    Effect.all([
      writeWhole(path.join(out, "report.md"), report.reportMarkdown(made)),
      writeWhole(path.join(out, "report.json"), json),
      writeWhole(path.join(out, "audit.jsonl"), outcome.dispatches.map((row) => `${JSON.stringify(row)}\n`).join(""))
    ])
  )
  if (args.json) yield* write(process.stdout, json)
  else {
    const colour = process.stdout.isTTY
    const lines = report.summaryLines(made, { colour })
    yield* write(
      process.stdout,
      `\n${report.auditTable(made, { colour, width: process.stdout.columns ?? 120 })}\n\n${lines.join("\n")}\nreport ${path.join(out, "report.md")}\n`
    )
  }
  return report.exitCode(made, args.failOn)
})

runProgram("release-desk", { help: Arguments.help, parse: Arguments.parse, job })
