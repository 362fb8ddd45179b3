/**
 * What of a budget stands on spans: limits where work begins, what was used where it ends, and what did not fit.
 *
 * @since 0.1.0
 */
import type { Usage } from "../../run/Result.ts"
import type { Of } from "../../run/RunEvent.ts"
import { espalier } from "../SemConv.ts"
import { measureOf, scopeOf } from "./budgetWords.ts"

type Fields = Readonly<Record<string, string | number>>

const present = (fields: Readonly<Record<string, number | undefined>>): Fields => {
  const found: Record<string, number> = {}
  for (const [key, each] of Object.entries(fields)) if (each !== undefined) found[key] = each
  return found
}

/** Where work begins. */
export const limits = ({ cost, tokens }: Usage = {}): Fields =>
  present({ [espalier.budgetTokensLimit]: tokens, [espalier.budgetCostLimit]: cost })

/** Where it ends. */
export const used = ({ cost, tokens }: Usage = {}): Fields =>
  present({ [espalier.budgetTokensUsed]: tokens, [espalier.budgetCostUsed]: cost })

/** What did not fit into an account: the kind of the account, whose name would be that of a task. */
export const met = ({ _tag, account, measure }: Of<"BudgetRefused"> | Of<"Overrun">): Fields => ({
  [espalier.budgetScope]: scopeOf(account),
  [espalier.budgetKind]: measureOf(measure),
  [espalier.budgetAction]: _tag === "Overrun" ? "overrun" : "refused"
})
