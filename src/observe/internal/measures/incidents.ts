/**
 * Limits that were met, windows that filled up, and effects that were about to happen twice.
 *
 * @since 0.1.0
 */
import { measureOf, scopeOf } from "../budgetWords.ts"
import { attribute as a } from "../names.ts"
import { type Measure, measured, nothing } from "./measurement.ts"

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
