/**
 * What can be wrong with a desk, and the list in which it is collected. Public through `Desk`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * What can be wrong with a desk.
 *
 * **Details**
 *
 * - `no-estimate`: a worker says nothing of a measure that is limited for it. Nothing is reserved then, so that the limit bites
 *   only on what is reported after the work.
 * - `coordinator`: what a coordinator says of itself under a name that is none of these.
 *
 * @category models
 * @since 0.1.0
 */
export const Rule = Schema.Literals([
  "no-name",
  "no-version",
  "no-domain",
  "no-worker",
  "no-task",
  "no-fallback",
  "no-aggregate",
  "duplicate-domain",
  "duplicate-worker",
  "duplicate-task",
  "same-description",
  "infinite-timeout",
  "crowded",
  "unavailable",
  "invalid-name",
  "invalid-contract",
  "invalid-limits",
  "out-of-range",
  "excessive-limits",
  "unaffordable",
  "no-estimate",
  "unknown-account",
  "ungranted-permission",
  "lacking-permission",
  "unassigned",
  "assigned-twice",
  "unknown-worker",
  "unknown-capability",
  "unknown-task",
  "unknown-need",
  "cycle",
  "unknown-node",
  "unreachable-node",
  "unknown-outcome",
  "no-outcome",
  "no-exit",
  "missing-transition",
  "reserved-name",
  "several-domains",
  "coordinator"
])

/**
 * @category models
 * @since 0.1.0
 */
export type Rule = typeof Rule.Type

/** @since 0.1.0 */
export interface Finding extends Schema.Schema.Type<typeof Finding> {}

/**
 * One thing that is wrong with a desk.
 *
 * **Details**
 *
 * - `severity`: an `error` keeps the desk from running, a `warning` does not.
 * - `subject`: the desk, the domain, the worker, the account, or the task with the tasks that it is a part of: `notes/draft`.
 *
 * @category models
 * @since 0.1.0
 */
export const Finding = Schema.Struct({
  rule: Rule,
  severity: Schema.Literals(["error", "warning"]),
  subject: Schema.String,
  message: Schema.String
})

const rules: ReadonlyMap<string, Rule> = new Map(Rule.literals.map((rule) => [rule, rule]))

/** The rule of this name; `coordinator` for a name that is none. */
export const ruleOf = (name: string): Rule => rules.get(name) ?? "coordinator"

/** Findings in the order in which they are made; the same one is kept once. */
export class Findings {
  private readonly found = new Map<string, Finding>()
  private readonly about = new Set<string>()

  get all(): ReadonlyArray<Finding> {
    return [...this.found.values()]
  }

  error(rule: Rule, subject: string, message: string): void {
    this.add({ rule, severity: "error", subject, message })
  }

  warning(rule: Rule, subject: string, message: string): void {
    this.add({ rule, severity: "warning", subject, message })
  }

  add(finding: Finding): void {
    const key = JSON.stringify([finding.rule, finding.subject, finding.message])
    if (!this.found.has(key)) this.found.set(key, finding)
    this.about.add(`${finding.rule} ${finding.subject}`)
  }

  /** Whether something was found by this rule about this subject. */
  has(rule: Rule, subject: string): boolean {
    return this.about.has(`${rule} ${subject}`)
  }
}
