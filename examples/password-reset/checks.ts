/**
 * Tests and probes that are really run: in a sandbox, on the files of one commit.
 *
 * Each is a process of its own with nothing but a copy of the revision, without network, without other processes, and
 * with no file outside of its folder. Its record says what was run, against which revision, how it ended and what it printed.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Schema } from "effect"
import { Sandbox } from "espalier/agent"
import { Artefacts, Reference } from "espalier/journal"
import type { Result } from "espalier/run"

import { secured, tested } from "./contract.ts"
import { Workspace, WorkspaceFailed } from "./Workspace.ts"

/** @since 0.1.0 */
export interface Check extends Schema.Schema.Type<typeof Check> {}

/**
 * One command that was run.
 *
 * **Details**
 *
 * - `exitStatus`: absent for a process that was killed.
 * - `leaked`: how many tokens that it had mailed stand in what it has printed; looked for from outside.
 *
 * @category models
 * @since 0.1.0
 */
export const Check = Schema.Struct({
  requirement: Schema.String,
  command: Schema.String,
  exitStatus: Schema.optionalKey(Schema.Int),
  output: Schema.String,
  leaked: Schema.Int
})

/** @since 0.1.0 */
export interface Record extends Schema.Schema.Type<typeof Record> {}

/**
 * What was run against one revision. `environment`: also says what the sandbox could not hold back on this machine.
 *
 * @category models
 * @since 0.1.0
 */
export const Record = Schema.Struct({
  revision: Schema.String,
  environment: Schema.String,
  checks: Schema.Array(Check)
})

/** The end of an output, longer where it says what was wrong, without the name of a folder that is gone. */
const shown = (text: string, exitCode: number | undefined): string =>
  text
    .replaceAll(/file:\/\/\S*?\/espalier-sandbox-[\w-]+\//g, "")
    .trim()
    .slice(exitCode === 0 ? -200 : -1200)

/**
 * How many of the keys that were mailed stand in a text.
 *
 * @category checking
 * @since 0.1.0
 */
export const leaks = (outbox: string, printed: string): number =>
  [...outbox.matchAll(/key=([\w-]+)/g)].filter(([, key = ""]) => printed.includes(key)).length

/** Runs one file of a revision. */
const one = (files: Readonly<{ readonly [path: string]: string }>, requirement: string, entry: string) =>
  Effect.gen(function* () {
    const command = `node ${entry}`
    if (!Object.hasOwn(files, entry)) {
      return { check: { requirement, command, output: "There is no such file", leaked: 0 }, unenforced: [] }
    }
    const ran = yield* Sandbox.run({ files, entry, collect: { files: 5 } })
    const printed = `${ran.stdout}${ran.stderr}`
    const mail = ran.files.find(({ path }) => path === "outbox.jsonl")
    const leaked = leaks(mail === undefined ? "" : new TextDecoder().decode(mail.content), printed)
    const check: Check = {
      requirement,
      command,
      ...(ran.exitCode === undefined ? {} : { exitStatus: ran.exitCode }),
      output: shown(printed, ran.exitCode),
      leaked
    }
    return { check, unenforced: ran.unenforced }
  })

const recordOf = (
  revision: string,
  files: Readonly<{ readonly [path: string]: string }>,
  entries: ReadonlyArray<readonly [requirement: string, entry: string]>
) =>
  Effect.map(
    Effect.forEach(entries, ([requirement, entry]) => one(files, requirement, entry), { concurrency: 2 }),
    (ran): Record => {
      const open = [...new Set(ran.flatMap(({ unenforced }) => unenforced))]
      const sandbox = open.length === 0 ? "in a sandbox" : `in a sandbox, not held back: ${open.join(" ")}`
      const environment = `node ${process.version}, ${process.platform}, ${sandbox}`
      return { revision, environment, checks: ran.map(({ check }) => check) }
    }
  )

/**
 * A record as a model is told of it. `record`: where it is whole.
 *
 * @category models
 * @since 0.1.0
 */
export const Told = Schema.Struct({
  record: Reference.Reference,
  revision: Schema.String,
  passed: Schema.Array(Schema.String),
  failed: Schema.Array(Schema.Struct({ requirement: Schema.String, output: Schema.String }))
})

/**
 * Keeps a record in the store, and says in short what is in it.
 *
 * @category conversions
 * @since 0.1.0
 */
export const keep = <E, R>(run: Effect.Effect<Record, E, R>) =>
  Effect.gen(function* () {
    const record = yield* run
    const wrong = failing(record)
    return {
      record: yield* Artefacts.putJson(record),
      revision: record.revision,
      passed: record.checks
        .map(({ requirement }) => requirement)
        .filter((id) => !wrong.some((each) => each.requirement === id)),
      failed: wrong.map(({ output = "", requirement }) => ({ requirement, output: output.slice(0, 500) }))
    }
  })

/**
 * Runs tests of the newest revision: those that are named, otherwise all.
 *
 * @category checking
 * @since 0.1.0
 */
export const runTests = (only: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { head, snapshot } = yield* Workspace
    const revision = yield* head
    const names = Object.keys(tested).filter((name) => only.length === 0 || only.includes(name))
    return yield* recordOf(
      revision,
      yield* snapshot(revision),
      names.map((name) => [name, `test/${name}.test.js`])
    )
  })

/**
 * Runs the probes of security against the newest revision. They are of this desk, and not of the branch.
 *
 * @category checking
 * @since 0.1.0
 */
export const runProbes = Effect.gen(function* () {
  const { head, snapshot } = yield* Workspace
  const files = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const revision = yield* head
  const names = Object.keys(secured)
  const own = yield* Effect.forEach(names, (name) =>
    Effect.flatMap(path.fromFileUrl(new URL(`probes/${name}.js`, import.meta.url)), files.readFileString)
  ).pipe(Effect.mapError(({ message }) => new WorkspaceFailed({ what: "the probes", reason: message })))
  const probes = Object.fromEntries(names.map((name, index) => [`probe/${name}.js`, own[index] ?? ""]))
  return yield* recordOf(
    revision,
    { ...(yield* snapshot(revision)), ...probes },
    names.map((name) => [name, `probe/${name}.js`])
  )
})

/**
 * A record as evidence. Tokens in what a command has printed count against `leakage`, whatever it says of itself.
 *
 * @category conversions
 * @since 0.1.0
 */
export const evidence = ({ checks, environment, revision }: Record): ReadonlyArray<Result.Evidence> =>
  checks.flatMap(({ command, exitStatus, leaked, output, requirement }) => {
    const at = { environment, revision }
    const ran = { ...at, requirement, command, output, ...(exitStatus === undefined ? {} : { exitStatus }) }
    if (leaked === 0) return [ran]
    const looked = `look for mailed tokens in the output of ${command}`
    return [ran, { ...at, requirement: "leakage", command: looked, exitStatus: 1, output: `${leaked} were found` }]
  })

/**
 * The evidence that something does not hold.
 *
 * @category conversions
 * @since 0.1.0
 */
export const failing = (record: Record): ReadonlyArray<Result.Evidence> =>
  evidence(record).filter(({ exitStatus }) => exitStatus !== 0)
