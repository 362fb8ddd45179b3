/**
 * What can be wrong with the numbers of a desk: its limits, its budgets, its policy.
 *
 * @since 0.1.0
 */
import * as EffectResult from "effect/Result"

import * as Autonomy from "../../Autonomy.ts"
import * as Breaker from "../../Breaker.ts"
import * as Confidence from "../../Confidence.ts"
import { Limits } from "../../Contract.ts"
import * as Decider from "../../Decider.ts"
import type { Desk, Seat } from "../../Desk.ts"
import * as Recovery from "../../Recovery.ts"
import { ErrorKind, Usage } from "../../Result.ts"
import { candidates, knownAs } from "../closest.ts"
import { isRecord, quoted } from "../given.ts"
import { limitNames } from "../limiting.ts"
import { decoder, sentence, show, thrown, type Problem } from "../problems.ts"
import type { Findings } from "./findings.ts"

const isNumber = (value: unknown): value is number => typeof value === "number"

type Amounts = { readonly [Measure in (typeof limitNames)[number]]?: number | undefined }

/** One measure of an amount that is above its limit. */
export interface Above {
  readonly measure: (typeof limitNames)[number]
  readonly amount: number
  readonly most: number
}

/** What of an amount is above a limit. */
export const above = (amounts: Amounts, limit: Amounts | undefined): ReadonlyArray<Above> =>
  limit === undefined
    ? []
    : limitNames.flatMap((measure) => {
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
  const oneOf = (option: string, value: unknown, names: ReadonlyArray<string>) =>
    range(typeof value === "string" && names.includes(value), option, `must be one of ${quoted(names)}`, value)
  const whole = (option: string, value: unknown, least: number) =>
    range(
      isNumber(value) && Number.isSafeInteger(value) && value >= least,
      option,
      `must be a whole number >= ${least}`,
      value
    )
  const share = (option: string, value: unknown) =>
    range(isNumber(value) && value >= 0 && value <= 1, option, "must be a number between 0 and 1", value)
  const time = (option: string, value: unknown) =>
    range(
      isNumber(value) && Number.isFinite(value) && value >= 0,
      option,
      "must be a number of milliseconds >= 0",
      value
    )
  const list = (option: string, value: unknown, each: (option: string, value: unknown) => void) => {
    if (Array.isArray(value)) value.forEach((item, index) => each(`${option}[${index}]`, item))
    else range(false, option, "must be a list", value)
  }
  const closed = (option: string, value: object, names: ReadonlyArray<string>) => {
    for (const key of Object.keys(value)) {
      const message = `${option}.${key} is not a known field; known are ${candidates(key, names)}`
      if (!names.includes(key)) findings.error("out-of-range", desk.name, `the desk ${desk.name}: ${message}`)
    }
  }
  const { policy } = desk
  oneOf("tier", desk.tier, Autonomy.Tier.literals)
  closed("policy", policy, Object.keys(Decider.policy))
  whole("steps", desk.steps, 0)
  whole("policy.attempts", policy.attempts, 1)
  whole("policy.dispatchesPerWorker", policy.dispatchesPerWorker, 1)
  whole("policy.skipAfter", policy.skipAfter, 1)
  share("policy.confidence", policy.confidence)
  share("policy.jitter", policy.jitter)
  time("policy.longestWaitMillis", policy.longestWaitMillis)
  list("policy.waitsMillis", policy.waitsMillis, time)
  oneOf("policy.lowConfidence", policy.lowConfidence, Confidence.Low.literals)
  oneOf("policy.atCap", policy.atCap, ["stop", "review"])
  const asks: unknown = policy.reviewConfidence
  range(typeof asks === "boolean", "policy.reviewConfidence", "must be true or false", asks)
  const ladders: unknown = policy.ladders
  if (isRecord(ladders)) {
    closed("policy.ladders", ladders, ErrorKind.literals)
    for (const kind of ErrorKind.literals) {
      list(`policy.ladders.${kind}`, ladders[kind], (option, rung) => oneOf(option, rung, Recovery.Rung.literals))
    }
  } else range(false, "policy.ladders", "must be an object", ladders)
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
      const message = `there is a budget for ${account}, which is neither a domain nor a worker of ${name}${knownAs(account, accounts)}`
      findings.error("unknown-account", account, message)
    }
    for (const problem of problemsIn(`budgets[${JSON.stringify(account)}]`, decodeUsage(amount))) {
      findings.error("invalid-limits", account, `the desk ${name}: ${problem}`)
    }
  }
}
