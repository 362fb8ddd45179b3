/**
 * Limits that were met, windows that filled up, and effects that were about to happen twice.
 *
 * @since 0.1.0
 */
import { attribute as a, word } from "../names.ts"
import { type Measure, measured, nothing } from "./measurement.ts"

const scopes: ReadonlySet<string> = new Set(["run", "domain", "worker", "task"])

/** The kind of an account: which one it is would name a task. */
const scopeOf = (account: string): string => {
  const [scope = ""] = account.split(":", 1)
  return scopes.has(scope) ? scope : "other"
}

/** What of a name is a word of ours; another one may say anything. */
const measures: ReadonlySet<string> = new Set(["steps", "tokens", "toolCalls", "cost"])

const measureOf = (measure: string): string =>
  measures.has(measure) ? word(measure.replace("toolCalls", "tool-calls")) : "other"

/** @since 0.1.0 */
export const incidents: Measure = (event, before) => {
  switch (event._tag) {
    case "BudgetRefused":
    case "Overrun":
      return [
        measured("espalier.budget.exhaustions", 1, {
          [a.scope]: scopeOf(event.account),
          [a.measure]: measureOf(event.measure),
          [a.exhaustion]: event._tag === "Overrun" ? "overrun" : "refused"
        })
      ]
    case "EffectIntended":
      return before.intended(event.task, event.effect)
        ? [measured("espalier.tool.duplicate_calls", 1, { [a.tool]: event.name, [a.dedup]: "executed" })]
        : nothing
    case "Noticed": {
      const agent = before.tasks.get(event.subject)?.order?.worker
      if (event.what === "compacted") return [measured("espalier.context_window.compactions", 1, { [a.agent]: agent })]
      if (event.what === "window-alert") return [measured("espalier.context_window.alerts", 1, { [a.agent]: agent })]
      if (event.what === "rejected-repeat") {
        return [measured("espalier.tool.duplicate_calls", 1, { [a.dedup]: "blocked" })]
      }
      return nothing
    }
    default:
      return nothing
  }
}
