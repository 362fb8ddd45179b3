/**
 * What the authors themselves left for later: markers in comments, tests that are skipped or run alone.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding } from "../Finding.ts"
import type { Severity } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { text } from "../Repository.ts"
import { isGenerated, languageOf } from "./languages.ts"
import type { Line } from "./lexer.ts"
import { scan } from "./lexer.ts"

/** Longer lines are data, not something that a person wrote. */
const longestLine = 2_000

const marker = /(?:^|[^\w`"'-])(TODO|FIXME|XXX|HACK)(?=[\s:(!,.]|$)/

interface Pattern {
  readonly languages: ReadonlyArray<string>
  readonly rule: "skipped-test" | "focused-test" | "todo-test"
  readonly severity: Severity
  readonly pattern: RegExp
}

const js = ["JavaScript", "TypeScript"]
const patterns: ReadonlyArray<Pattern> = [
  {
    languages: js,
    rule: "focused-test",
    severity: "high",
    pattern: /(?:^|[^\w.])(?:(?:it|test|describe|suite|context)(?:\.\w{1,20})?\.only|fit|fdescribe)(?:\.each)?\s*\(/
  },
  {
    languages: js,
    rule: "skipped-test",
    severity: "low",
    pattern:
      /(?:^|[^\w.])(?:(?:it|test|describe|suite|context)(?:\.\w{1,20})?\.skip|xit|xdescribe|xtest)(?:\.each)?\s*\(/
  },
  { languages: js, rule: "todo-test", severity: "info", pattern: /(?:^|[^\w.])(?:it|test|describe)\.todo\s*\(/ },
  {
    languages: ["Python"],
    rule: "skipped-test",
    severity: "low",
    pattern: /^\s*@(?:pytest\.mark\.(?:skip|xfail)\b|unittest\.skip\b|skip\b)/
  },
  { languages: ["Go"], rule: "skipped-test", severity: "low", pattern: /\b[tb]\.Skip(?:f|Now)?\(/ },
  { languages: ["Rust"], rule: "skipped-test", severity: "low", pattern: /^\s*#\[ignore\b/ },
  { languages: ["Java", "Kotlin"], rule: "skipped-test", severity: "low", pattern: /^\s*@(?:Disabled|Ignore)\b/ }
]

const inLine = (file: string, number: number, line: Line, known: ReadonlyArray<Pattern>): ReadonlyArray<Finding> => {
  if (line.code.length + line.comment.length > longestLine) return []
  const found: Array<Finding> = []
  const place = { file, line: number }
  const marked = line.comment === "" ? null : marker.exec(line.comment)
  if (marked !== null) {
    const [word] = marked.slice(1)
    const said = line.comment.slice(marked.index).trim()
    if (word === "TODO") found.push(finding("todo", "info", place, said))
    else found.push(finding(word!.toLowerCase(), "low", place, said))
  }
  for (const { pattern, rule, severity } of known) {
    if (pattern.test(line.code)) found.push(finding(rule, severity, place, line.code.trim()))
  }
  return found
}

/**
 * Reads the comments and the tests of every source file.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const findings: Array<Finding> = []
  let files = 0
  yield* Effect.forEach(
    repository.files,
    ({ path }) => {
      const language = languageOf(path)
      if (language?.kind !== "source" || isGenerated(path)) return Effect.void
      return Effect.map(text(repository, path), (content) => {
        if (content === undefined) return
        files += 1
        const known = patterns.filter(({ languages }) => languages.includes(language.name))
        const lines = scan(content, language.syntax)
        for (let index = 0; index < lines.length; index++) {
          findings.push(...inLine(path, index + 1, lines[index]!, known))
        }
      })
    },
    { discard: true }
  )
  const counts: Record<string, number> = {}
  for (const { rule } of findings) counts[rule] = (counts[rule] ?? 0) + 1
  const result: Audit = { findings: atMost(findings, 50), facts: { files, counts } }
  return result
})
