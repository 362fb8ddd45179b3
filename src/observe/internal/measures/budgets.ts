/**
 * How much of each budget a run has used by its end.
 *
 * @since 0.1.0
 */
import type { Known } from "../../../run/Observer.ts"
import type { RunEvent } from "../../../run/RunEvent.ts"
import { measureOf, scopeOf } from "../budgetWords.ts"
import { attribute as a } from "../names.ts"
import { measured, type Measurement, nothing } from "./measurement.ts"

const measures = ["steps", "tokens", "toolCalls", "cost"] as const

/** The accounts of one run that have limits. */
export class Budgets {
  private readonly accounts = new Set<string>()

  see(event: RunEvent): void {
    if (event._tag === "RunStarted") for (const name of Object.keys(event.limits ?? {})) this.accounts.add(name)
  }

  /** Of a run that ends: what was charged, as a share of what was allowed. A limit of nothing has no share. */
  measure(event: RunEvent, known: Known | undefined): ReadonlyArray<Measurement> {
    if (event._tag !== "RunFinished" || known === undefined) return nothing
    return Array.from(this.accounts).flatMap((name) => {
      const { limit = {}, settled = {} } = known.account(name) ?? {}
      return measures.flatMap((measure) => {
        const most = limit[measure]
        if (most === undefined || most === 0) return []
        return [
          measured("espalier.budget.utilization", (settled[measure] ?? 0) / most, {
            [a.scope]: scopeOf(name),
            [a.measure]: measureOf(measure)
          })
        ]
      })
    })
  }
}
