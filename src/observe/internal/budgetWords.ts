/**
 * What the accounts and measures of budgets are called, on spans and on metrics.
 *
 * @since 0.1.0
 */
import { word } from "./names.ts"

const scopes: ReadonlySet<string> = new Set(["run", "domain", "worker", "task"])

/** The kind of an account: which one it is would name a task. */
export const scopeOf = (account: string): string => {
  const [scope = ""] = account.split(":", 1)
  return scopes.has(scope) ? scope : "other"
}

/** What of a name is a word of ours; another one may say anything. */
const measures: ReadonlySet<string> = new Set(["steps", "tokens", "toolCalls", "cost"])

export const measureOf = (measure: string): string =>
  measures.has(measure) ? word(measure.replace("toolCalls", "tool-calls")) : "other"
