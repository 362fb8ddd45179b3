/**
 * What an audit hands back: findings with their place, and facts for the report.
 *
 * Both are plain JSON, because they travel: a worker's result is validated, journalled, resumed from the journal and
 * printed, none of which knows this folder.
 *
 * **Invariants**
 *
 * - F1. A finding's `file` is a POSIX path relative to the audited folder, `""` for the repository as a whole; `line`
 *   counts from 1, 0 means the whole file.
 * - F2. A message is one printable line: text from the audited repository never carries control characters to a
 *   terminal.
 * - F3. Nothing is cut silently: a list that was shortened says how long it was.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

/**
 * How much a finding matters, from a remark to a reason not to release.
 *
 * @category models
 * @since 0.1.0
 */
export const Severity = Schema.Literals(["info", "low", "medium", "high"])

/**
 * @category models
 * @since 0.1.0
 */
export type Severity = typeof Severity.Type

/**
 * The severities, least first: the order of comparison.
 *
 * @category models
 * @since 0.1.0
 */
export const severities: ReadonlyArray<Severity> = Severity.literals

/**
 * One thing that a maintainer would want to know, with the place where it can be seen.
 *
 * **Details**
 *
 * - `rule`: the kind of finding in kebab-case, `"dead-link"`.
 * - `file`: POSIX path relative to the audited folder, `""` for the repository as a whole.
 * - `line`: from 1, 0 for the whole file.
 *
 * @category models
 * @since 0.1.0
 */
export class Finding extends Schema.Opaque<Finding>()(
  Schema.Struct({
    rule: Schema.String,
    severity: Severity,
    file: Schema.String,
    line: Schema.Int,
    message: Schema.String
  })
) {}

/**
 * What an audit found out, the output of every worker of the desk.
 *
 * **Details**
 *
 * - `facts`: figures for the report, plain JSON, named by the audit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Audit {
  readonly findings: ReadonlyArray<Finding>
  readonly facts: Readonly<Record<string, Schema.Json>>
}

/**
 * The schema of {@link Audit}.
 *
 * @category models
 * @since 0.1.0
 */
export const Audit = Schema.Struct({
  findings: Schema.Array(Finding),
  facts: Schema.Record(Schema.String, Schema.Json)
})

/**
 * Makes a finding whose message is safe to print.
 *
 * @category constructors
 * @since 0.1.0
 */
export const finding = (
  rule: string,
  severity: Severity,
  place: { readonly file: string; readonly line?: number | undefined },
  message: string
): Finding => ({ rule, severity, file: place.file, line: place.line ?? 0, message: oneLine(message, 400) })

/**
 * Text from the audited repository as one printable line of at most `limit` characters, with `…` where it was cut.
 *
 * @category text
 * @since 0.1.0
 */
export const oneLine = (text: string, limit = 120): string => {
  // The slice comes first: a line can be megabytes long. Cutting inside a surrogate pair leaves half a character, which
  // the last step replaces.
  const flat = text
    .slice(0, limit * 4)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim()
  const cut = flat.length > limit || text.length > limit * 4 ? `${flat.slice(0, limit - 1)}…` : flat
  return cut.toWellFormed()
}

/**
 * At most `limit` findings per rule, the most severe first, and for each shortened rule one more that says how many
 * there are in all.
 *
 * **Details**
 *
 * The order of the findings that stay is kept. The remainder has the severity of the worst finding it stands for.
 *
 * @category bounds
 * @since 0.1.0
 */
export const atMost = (findings: ReadonlyArray<Finding>, limit: number): ReadonlyArray<Finding> => {
  const byRule = new Map<string, Array<Finding>>()
  for (const finding of findings) {
    const known = byRule.get(finding.rule)
    if (known === undefined) byRule.set(finding.rule, [finding])
    else known.push(finding)
  }
  const dropped = new Set<Finding>()
  const remainders: Array<Finding> = []
  for (const [rule, all] of byRule) {
    if (all.length <= limit) continue
    const ranked = all.toSorted((a, b) => severities.indexOf(b.severity) - severities.indexOf(a.severity))
    const rest = ranked.slice(limit)
    for (const finding of rest) dropped.add(finding)
    remainders.push(
      finding(
        rule,
        rest[0]?.severity ?? "info",
        { file: "" },
        `and ${rest.length} more of the rule ${rule}, ${all.length} in all; only the first ${limit} are listed`
      )
    )
  }
  return [...findings.filter((finding) => !dropped.has(finding)), ...remainders]
}
