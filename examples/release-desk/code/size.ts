/**
 * How large the code is, by language, and which files are too long to read.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { read } from "../Repository.ts"
import { isGenerated, languageOf } from "./languages.ts"

const longLines = 1_000
const veryLongLines = 3_000

interface Sum {
  files: number
  lines: number
  bytes: number
}

const countLines = (text: string): number => {
  if (text === "") return 0
  let lines = text.endsWith("\n") ? 0 : 1
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1
  return lines
}

/**
 * Measures every file whose language is known.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const sums = new Map<string, Sum>()
  const longest: Array<{ readonly file: string; readonly lines: number }> = []
  const findings: Array<Finding> = [...repository.problems]
  let unread = 0
  let generated = 0
  if (repository.files.length === 0) {
    findings.push(finding("empty-repository", "info", { file: "" }, "there is no file to audit"))
  }
  yield* Effect.forEach(
    repository.files,
    ({ bytes, path }) => {
      const language = languageOf(path)
      if (language === undefined) return Effect.void
      if (isGenerated(path)) {
        generated += 1
        return Effect.void
      }
      return Effect.map(read(repository, path), (content) => {
        if (content.text === undefined) {
          unread += 1
          findings.push(finding("unread-file", "info", { file: path }, `not measured: ${content.detail}`))
          return
        }
        const lines = countLines(content.text)
        const sum = sums.get(language.name) ?? { files: 0, lines: 0, bytes: 0 }
        sums.set(language.name, { files: sum.files + 1, lines: sum.lines + lines, bytes: sum.bytes + bytes })
        if (language.kind !== "source") return
        longest.push({ file: path, lines })
        if (lines > longLines) {
          const severity = lines > veryLongLines ? "medium" : "low"
          findings.push(finding("long-file", severity, { file: path, line: 1 }, `${lines} lines of ${language.name}`))
        }
      })
    },
    { concurrency: 8, discard: true }
  )
  const byLines = [...sums].toSorted(([, a], [, b]) => b.lines - a.lines)
  const result: Audit = {
    findings: atMost(
      findings.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0)),
      50
    ),
    facts: {
      files: repository.files.length,
      generated,
      unread,
      languages: Object.fromEntries(byLines.map(([name, sum]) => [name, { ...sum }])),
      longest: longest.toSorted((a, b) => b.lines - a.lines).slice(0, 10)
    }
  }
  return result
})
