/**
 * What can be wrong with the numbers of a desk: its limits, its budgets, its policy.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Breaker from "../../Breaker.ts"
import { Limits } from "../../Contract.ts"
import type { Desk, Seat } from "../../Desk.ts"
import { Usage } from "../../Result.ts"
import { decoder, sentence, show, thrown, type Problem } from "../problems.ts"
import type { Findings } from "./findings.ts"

const measures = ["deadlineMillis", "steps", "tokens", "toolCalls", "cost"] as const

type Amounts = { readonly [Measure in (typeof measures)[number]]?: number | undefined }

/** One measure of an amount that is above its limit. */
export interface Above {
  readonly measure: (typeof measures)[number]
  readonly amount: number
  readonly most: number
}

/** What of an amount is above a limit. */
export const above = (amounts: Amounts, limit: Amounts | undefined): ReadonlyArray<Above> =>
  limit === undefined
    ? []
    : measures.flatMap((measure) => {
        const [amount, most] = [amounts[measure], limit[measure]]
        return amount === undefined || most === undefined || amount <= most ? [] : [{ measure, amount, most }]
      })

const decodeLimits = decoder(Limits, "error")

const decodeUsage = decoder(Usage, "error")

const problemsIn = (
  path: string,
  result: EffectResult.Result<unknown, ReadonlyArray<Problem>>
): ReadonlyArray<string> =>
  EffectResult.isSuccess(result)
    ? []
    : result.failure.map((each) => sentence({ ...each, path: each.path === "" ? path : `${path}.${each.path}` }))

/** Adds what is wrong with the numbers of the desk itself. */
export const checkNumbers = (desk: Desk, seats: ReadonlyArray<Seat>, findings: Findings): void => {
  for (const problem of problemsIn("limits", decodeLimits(desk.limits))) {
    findings.error("invalid-limits", desk.name, `the desk ${desk.name}: ${problem}`)
  }
  checkBudgets(desk, seats, findings)
  const range = (holds: boolean, option: string, expectation: string, value: unknown) => {
    if (holds) return
    findings.error("out-of-range", desk.name, `the desk ${desk.name}: ${option} ${expectation}, got ${show(value)}`)
  }
  const whole = (option: string, value: number, least: number) =>
    range(Number.isSafeInteger(value) && value >= least, option, `must be a whole number >= ${least}`, value)
  const share = (option: string, value: number) =>
    range(value >= 0 && value <= 1, option, "must be a number between 0 and 1", value)
  const time = (option: string, value: number) =>
    range(Number.isFinite(value) && value >= 0, option, "must be a number of milliseconds >= 0", value)
  const { policy } = desk
  whole("steps", desk.steps, 0)
  whole("policy.attempts", policy.attempts, 1)
  whole("policy.dispatchesPerWorker", policy.dispatchesPerWorker, 1)
  whole("policy.skipAfter", policy.skipAfter, 1)
  share("policy.confidence", policy.confidence)
  share("policy.jitter", policy.jitter)
  time("policy.longestWaitMillis", policy.longestWaitMillis)
  policy.waitsMillis.forEach((wait, index) => time(`policy.waitsMillis[${index}]`, wait))
  try {
    Breaker.make(desk.breaker)
  } catch (error) {
    findings.error("out-of-range", desk.name, `the desk ${desk.name}: ${thrown(error)}`)
  }
}

const checkBudgets = ({ budgets, domains, name }: Desk, seats: ReadonlyArray<Seat>, findings: Findings): void => {
  const accounts = new Set([
    ...domains.map((domain) => `domain:${domain.name}`),
    ...seats.map((seat) => `worker:${seat.name}`)
  ])
  for (const [account, amount] of Object.entries(budgets)) {
    if (account === "run") {
      const message = "there is a budget for run, whose limits are those of the desk"
      findings.error("unknown-account", account, message)
    } else if (!accounts.has(account)) {
      const message = `there is a budget for ${account}, which is neither a domain nor a worker of ${name}`
      findings.error("unknown-account", account, message)
    }
    for (const problem of problemsIn(`budgets[${JSON.stringify(account)}]`, decodeUsage(amount))) {
      findings.error("invalid-limits", account, `the desk ${name}: ${problem}`)
    }
  }
}
