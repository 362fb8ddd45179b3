/**
 * Functions that are too long or written twice, and how the project checks itself.
 *
 * Nothing of the repository is run unless `runChecks` says so.
 *
 * @since 0.1.0
 */
import { type Duration, Effect, Hash, Result, type Schema } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { text } from "../Repository.ts"
import type { Check } from "./checks.ts"
import { checkFiles, checksOf } from "./checks.ts"
import type { Function } from "./functions.ts"
import { functionsOf } from "./functions.ts"
import { isGenerated, isTest, languageOf } from "./languages.ts"

const longLines = 120
const veryLongLines = 300
const twinLines = 10

const scanned = "; found by a scan, not a parser"

const longFunction = (file: string, { line, name, own }: Function): Finding | undefined =>
  own <= longLines
    ? undefined
    : finding(
        "long-function",
        own > veryLongLines ? "medium" : "low",
        { file, line },
        `${name} has ${own} lines of its own${scanned}`
      )

/** Runs one of the project's own commands; its output is not kept. */
const run = Effect.fnUntraced(function* (
  root: string,
  { command: [program, ...args], from, kind }: Check,
  limit: Duration.Input
) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const words = [program, ...args].join(" ")
  const ended = yield* spawner
    .exitCode(
      ChildProcess.make(program, args, {
        cwd: root,
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
        // A test runner that watches for changes would never end by itself; many do not watch under CI.
        env: { CI: "true" },
        extendEnv: true,
        // A command may not mind being asked to end, and the limit must hold all the same.
        forceKillAfter: "2 seconds"
      })
    )
    .pipe(Effect.timeout(limit), Effect.result)
  const exitStatus = Result.isSuccess(ended) ? Number(ended.success) : undefined
  const fact = { kind, command: words, from, ran: true, exitStatus: exitStatus ?? "did not end by itself" }
  if (exitStatus === 0) return { fact, findings: [] }
  const why = exitStatus === undefined ? "could not be run to its end" : `ended with status ${exitStatus}`
  return { fact, findings: [finding("check-failed", "high", { file: from }, `${words} ${why}`)] }
})

/**
 * Reads the functions of every source file.
 *
 * **Details**
 *
 * - `runChecks`: whether to run the project's own commands. Default `false`.
 * - `checkLimit`: time for each of them, default 5 minutes; one that takes longer is ended, and is a finding.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  options?: { readonly runChecks?: boolean | undefined; readonly checkLimit?: Duration.Input | undefined } | undefined
) {
  const findings: Array<Finding> = []
  const seen = new Map<string, { readonly file: string; readonly line: number; readonly name: string }>()
  let functions = 0
  yield* Effect.forEach(
    repository.files,
    ({ path }) => {
      const language = languageOf(path)
      if (language?.kind !== "source" || isGenerated(path)) return Effect.void
      return Effect.map(text(repository, path), (content) => {
        if (content === undefined) return
        const found = functionsOf(content, language)
        functions += found.length
        if (isTest(path)) return // tests are long and alike on purpose
        let told = 0 // what stands inside of a function that was named as a duplicate goes without saying
        for (const each of found) {
          const long = longFunction(path, each)
          if (long !== undefined) findings.push(long)
          if (each.body.length < twinLines) continue
          const body = each.body.join("\n")
          // The text itself would hold the whole repository in memory; three figures tell bodies apart well enough.
          const key = `${language.name}:${body.length}:${each.body.length}:${Hash.string(body)}:${Hash.string(body.slice(body.length >> 1))}`
          const twin = seen.get(key)
          if (twin === undefined) seen.set(key, { file: path, line: each.line, name: each.name })
          else if (each.end > told && (twin.file !== path || twin.line !== each.line)) {
            told = each.end
            findings.push(
              finding(
                "duplicate-function",
                "low",
                { file: path, line: each.line },
                `${each.name} has the same ${each.body.length} lines as ${twin.name} at ${twin.file}:${twin.line}${scanned}`
              )
            )
          }
        }
      })
    },
    { discard: true }
  )

  const files = new Set(repository.files.map(({ path }) => path))
  const texts = new Map<string, string>()
  for (const file of checkFiles) {
    if (!files.has(file)) continue
    const content = yield* text(repository, file)
    if (content !== undefined) texts.set(file, content)
  }
  const checks = checksOf((file) => texts.get(file))
  const facts: Array<Schema.Json> = []
  for (const check of checks) {
    if (options?.runChecks !== true) {
      facts.push({ kind: check.kind, command: check.command.join(" "), from: check.from, ran: false })
      continue
    }
    const ran = yield* run(repository.root, check, options.checkLimit ?? "5 minutes")
    facts.push(ran.fact)
    findings.push(...ran.findings)
  }
  if (!checks.some(({ kind }) => kind === "tests") && functions > 0) {
    findings.push(
      finding("no-test-command", "low", { file: "" }, "no file at the root names a command that runs tests")
    )
  }
  const result: Audit = { findings: atMost(findings, 50), facts: { functions, checks: facts } }
  return result
})
