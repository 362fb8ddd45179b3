/**
 * The command line of the release desk, as data.
 *
 * **Details**
 *
 * Written by hand: every wrong argument is one line that names the argument, what it got and what it expects, and the
 * caller decides the exit code. A flag that takes a value accepts `--flag value` and `--flag=value`; a value that begins
 * with a dash needs the second form. `--` ends the flags. A flag given twice is a mistake, but for `--fault`.
 *
 * @since 0.1.0
 */
import { Result, Schema } from "effect"

import { split, type Words } from "../shared/words.ts"
import type { Fault } from "./faults.ts"
import { faultKinds } from "./faults.ts"
import { oneLine, severities } from "./Finding.ts"
import type { Severity } from "./Finding.ts"

/**
 * What was asked for.
 *
 * **Details**
 *
 * - `path`: the folder to audit, `"."` by default.
 * - `out`: where the report goes; `undefined` = `.espalier/RUN`.
 * - `resume`: the run to take up again.
 * - `failOn`: the least severity that makes the exit code 1.
 *
 * @category models
 * @since 0.1.0
 */
export interface Arguments {
  readonly path: string
  readonly out: string | undefined
  readonly faults: ReadonlyArray<Fault>
  readonly resume: string | undefined
  readonly json: boolean
  readonly failOn: FailOn
  readonly runChecks: boolean
  readonly help: boolean
}

/**
 * @category models
 * @since 0.1.0
 */
export type FailOn = Severity | "never"

/**
 * An argument that cannot be obeyed.
 *
 * **Details**
 *
 * - `argument`: the flag, or `PATH`.
 * - `value`: what was given; missing when nothing was.
 *
 * @category errors
 * @since 0.1.0
 */
export class ArgumentError extends Schema.TaggedError<ArgumentError>()("ArgumentError", {
  argument: Schema.String,
  value: Schema.optionalKey(Schema.String),
  expected: Schema.String
}) {
  override get message(): string {
    const got = this.value === undefined ? "nothing" : JSON.stringify(oneLine(this.value, 80))
    return `${oneLine(this.argument, 80)}: expected ${this.expected}, got ${got}`
  }
}

/**
 * The names that `--fault` accepts, in the order of the desk. A domain alone means all of its workers.
 *
 * @category models
 * @since 0.1.0
 */
export const workers = [
  "code.size",
  "code.markers",
  "code.complexity",
  "dependencies.lockfile",
  "dependencies.licences",
  "dependencies.usage",
  "docs.readme",
  "docs.links",
  "docs.changelog",
  "docs.exports"
] as const

/**
 * @category parsing
 * @since 0.1.0
 */
export const failOnLevels: ReadonlyArray<FailOn> = [...severities, "never"]

/**
 * What `--help` prints.
 *
 * @category models
 * @since 0.1.0
 */
export const help = `Audits a repository: code, dependencies and documentation.

  npm start -- [PATH] [options]

  PATH                     the folder to audit, by default this one
  --out DIR                where report.md, report.json and audit.jsonl go, by default .espalier/RUN
  --json                   print the report as JSON, and the progress on the error stream
  --fail-on LEVEL          exit with 1 from this severity on: ${failOnLevels.join(", ")}; by default high
  --run-checks             run the repository's own checks too
  --resume RUN             take up a run that was interrupted
  --fault WORKER=KIND[@N]  let a worker fail, on its first N calls or on every one; may be repeated
                           WORKER: ${workers.slice(0, 3).join(", ")},
                             ${workers.slice(3, 6).join(", ")},
                             ${workers.slice(6).join(", ")},
                             or a whole domain: code, dependencies, docs
                           KIND: ${faultKinds.join(", ")}
  --help                   print this

Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 a partial report, 3 could not run, 130 interrupted.
`

const switches = ["--json", "--run-checks", "--help"] as const
const valued = ["--out", "--fault", "--resume", "--fail-on"] as const
const known: ReadonlyArray<string> = [...valued, ...switches]

/**
 * Reads the arguments after the program's name.
 *
 * **Details**
 *
 * `--help` before a `--` wins over everything else, mistakes included.
 *
 * @category parsing
 * @since 0.1.0
 */
export const parse = (argv: ReadonlyArray<string>): Result.Result<Arguments, ArgumentError> => {
  const flagsEnd = argv.indexOf("--")
  const flagged = flagsEnd < 0 ? argv : argv.slice(0, flagsEnd)
  if (flagged.includes("--help") || flagged.includes("-h")) return Result.succeed({ ...defaults, help: true })
  return Result.flatMap(split(argv, { known, switches, repeated: ["--fault"], expectation, wrong }), interpret)
}

const defaults: Arguments = {
  path: ".",
  out: undefined,
  faults: [],
  resume: undefined,
  json: false,
  failOn: "high",
  runChecks: false,
  help: false
}

const expectation = (flag: string): string => {
  switch (flag) {
    case "--out":
      return "a folder"
    case "--fault":
      return "WORKER=KIND or WORKER=KIND@N"
    case "--resume":
      return "the id of a run, letters, digits, dots, dashes and underscores"
    default:
      return `one of ${failOnLevels.join(", ")}`
  }
}

const interpret = ({ positionals, values }: Words): Result.Result<Arguments, ArgumentError> => {
  const [path, second] = positionals
  if (second !== undefined) return wrong("PATH", second, "one folder")
  if (path !== undefined && !isPath(path)) return wrong("PATH", path, "a folder")
  const out = values.get("--out")?.[0]
  if (out !== undefined && !isPath(out)) return wrong("--out", out, expectation("--out"))
  const resume = values.get("--resume")?.[0]
  if (resume !== undefined && !isRunId(resume)) return wrong("--resume", resume, expectation("--resume"))
  if (resume !== undefined && path !== undefined) {
    return wrong("PATH", path, "nothing beside --resume: a run is taken up with the folder it was begun with")
  }
  const runChecks = values.has("--run-checks")
  if (resume !== undefined && runChecks) {
    return wrong("--run-checks", "--run-checks", "nothing beside --resume: a run is taken up as it was begun")
  }
  const level = values.get("--fail-on")?.[0] ?? defaults.failOn
  const failOn = failOnLevels.find((name) => name === level)
  if (failOn === undefined) return wrong("--fail-on", level, expectation("--fail-on"))
  return Result.map(faultsOf(values.get("--fault") ?? []), (faults) => ({
    path: path ?? defaults.path,
    out,
    faults,
    resume,
    json: values.has("--json"),
    failOn,
    runChecks,
    help: false
  }))
}

const isPath = (text: string): boolean => text.trim() !== "" && !text.includes("\0")

const isRunId = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text) && !text.includes("..")

const faultsOf = (written: ReadonlyArray<string>): Result.Result<ReadonlyArray<Fault>, ArgumentError> => {
  const faults: Array<Fault> = []
  for (const text of written) {
    const equals = text.indexOf("=")
    if (equals <= 0 || equals === text.length - 1) return wrong("--fault", text, expectation("--fault"))
    const who = text.slice(0, equals)
    const [kindName = "", ...counts] = text.slice(equals + 1).split("@")
    const struck = workers.filter((worker) => worker === who || worker.startsWith(`${who}.`))
    if (struck.length === 0) {
      return wrong("--fault", text, `a worker (${workers.join(", ")}) or a domain (code, dependencies, docs)`)
    }
    const kind = faultKinds.find((name) => name === kindName)
    if (kind === undefined) return wrong("--fault", text, `a kind, one of ${faultKinds.join(", ")}`)
    const calls = counts.length === 0 ? undefined : countOf(counts)
    if (counts.length > 0 && calls === undefined) {
      return wrong("--fault", text, "a whole number of calls from 1 on after the @")
    }
    for (const worker of struck) {
      const covered = faults.some((fault) => fault.worker === worker && covers(fault, calls))
      if (covered) return wrong("--fault", text, `no fault of ${worker} that an earlier --fault already covers`)
      faults.push({ worker, kind, calls })
    }
  }
  return Result.succeed(faults)
}

/** Faults of one worker take turns: `transient@1` and then `crash@3` strikes the calls 2 and 3 with a crash. */
const covers = (earlier: Fault, calls: number | undefined): boolean =>
  earlier.calls === undefined || (calls !== undefined && earlier.calls >= calls)

const countOf = (counts: ReadonlyArray<string>): number | undefined => {
  const [count = ""] = counts
  if (counts.length !== 1 || !/^[1-9]\d{0,8}$/.test(count)) return undefined
  return Number(count)
}

const wrong = (argument: string, value: string | undefined, expected: string): Result.Result<never, ArgumentError> =>
  Result.fail(new ArgumentError({ argument, ...(value === undefined ? {} : { value }), expected }))
