/**
 * Functions that are too long or written twice, and how the project checks itself.
 *
 * Nothing of the repository is run unless `runChecks` says so. What is parsed is parsed in a process of its own.
 *
 * @since 0.1.0
 */
import { Effect, Result, type Schema } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { text } from "../Repository.ts"
import type { Check } from "./checks.ts"
import { checkFiles, checksOf } from "./checks.ts"
import type { Function, Functions } from "./functions.ts"
import { functionsOf } from "./functions.ts"
import type { Language } from "./languages.ts"
import { isGenerated, isTest, languageOf } from "./languages.ts"
import * as Parser from "./Parser.ts"

const longLines = 120
const veryLongLines = 300
const twinLines = 10

const heuristic = "; found by a scan, not a parser"

const longFunction = (file: string, { line, name, own }: Function, exact: boolean): Finding | undefined =>
  own <= longLines
    ? undefined
    : finding(
        "long-function",
        own > veryLongLines ? "medium" : "low",
        { file, line },
        `${name} has ${own} lines of its own${exact ? "" : heuristic}`
      )

/** Runs one of the project's own commands; its output is not kept. */
const run = Effect.fnUntraced(function* (root: string, { command: [program, ...args], from, kind }: Check) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const words = [program, ...args].join(" ")
  const ended = yield* spawner
    .exitCode(
      ChildProcess.make(program, args, {
        cwd: root,
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
        // A command that watches for changes would never end by itself, and one may not mind being asked to.
        env: { CI: "true" },
        extendEnv: true,
        forceKillAfter: "5 seconds"
      })
    )
    .pipe(Effect.timeout("5 minutes"), Effect.result)
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
 * - `runChecks`: whether to run the project's own commands, each for at most 5 minutes. Default `false`.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  options?: { readonly runChecks?: boolean | undefined } | undefined
) {
  const findings: Array<Finding> = []
  const seen = new Map<string, { readonly file: string; readonly line: number; readonly name: string }>()
  let functions = 0
  const parser = yield* Parser.make()

  const take = (path: string, language: Language, found: Functions) => {
    functions += found.functions.length
    if (found.problem !== undefined) {
      const { line, reason, refused } = found.problem
      findings.push(
        finding("unparsed", refused === true || isTest(path) ? "info" : "low", { file: path, line }, reason)
      )
    }
    if (isTest(path)) return // tests are long and alike on purpose
    let told = 0 // what stands inside of a function that was named as a duplicate is one too
    for (const each of found.functions) {
      const long = longFunction(path, each, found.exact)
      if (long !== undefined) findings.push(long)
      if (each.bodyLines < twinLines) continue
      const key = `${language.name}:${each.bodyLines}:${each.body}`
      const twin = seen.get(key)
      if (twin === undefined) seen.set(key, { file: path, line: each.line, name: each.name })
      else if (each.end > told && (twin.file !== path || twin.line !== each.line)) {
        told = each.end
        const where = `${twin.name} at ${twin.file}:${twin.line}`
        const message = `${each.name} has the same ${each.bodyLines} lines as ${where}${found.exact ? "" : heuristic}`
        findings.push(finding("duplicate-function", "low", { file: path, line: each.line }, message))
      }
    }
  }

  const look = Effect.fnUntraced(function* (path: string) {
    const language = languageOf(path)
    if (language?.kind !== "source" || isGenerated(path)) return
    const content = yield* text(repository, path)
    if (content === undefined) return
    take(
      path,
      language,
      Parser.reads(language) ? yield* parser.functionsOf(path, content) : functionsOf(path, content, language)
    )
  })
  yield* Effect.forEach(repository.files, ({ path }) => look(path), { discard: true })

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
    const ran = yield* run(repository.root, check)
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
}, Effect.scoped)
