/**
 * What a run may spend, as a tree of accounts: reserve before the work, settle after it.
 *
 * A piece of work names every account that it belongs to, such as `run`, `domain:docs`, `worker:docs.links` and
 * `task:links`. What it may cost at most is reserved at all of them or at none, and what it did cost is charged at all of
 * them. The ledger is plain data; it owns numbers, and knows neither what an account stands for nor what time it is.
 *
 * **Details**
 *
 * - A limit that is absent is no limit of the account's own; 0 means none at all.
 * - The functions change a {@link Draft} in place. They replace its entries and never change one, so a copy of the two
 *   maps ({@link copy}) is a copy of the ledger.
 * - A measure that was used and not reported is charged with what was reserved for it: nothing is free for being unknown.
 * - A use above its reservation is an {@link Overrun} at every account that limits this measure, and closes it. A measure
 *   for which nothing was reserved overruns when it takes the account beyond its limit.
 * - Costs are kept to a billionth, so that ten times 0.1 is 1.
 *
 * **Invariants**
 *
 * - B1. When a reservation is granted, settled + reserved is within every limit of every account that it names.
 * - B2. A reservation that is refused changes nothing.
 * - B3. A settlement charges each account of its reservation once, and settling it again charges nothing.
 * - B4. What an account has reserved is the sum of its open reservations; with none open it is empty.
 * - B5. Nothing is reserved at a closed account until somebody raises it.
 *
 * **Gotchas**
 *
 * What is reserved is a ceiling, not a guess: an estimate that is too low by one closes the account. Costs add up exactly
 * below nine million. Sums stop at the largest amount there is: 2^53 - 1, and 1e15 in cost.
 *
 * **Example** (A third call of 400 does not fit into 1,000)
 *
 * ```ts
 * import { Budget } from "espalier/run"
 *
 * const ledger = Budget.make({ run: { tokens: 1_000 } })
 * const ask = (id: string) => Budget.reserve(ledger, { id, accounts: ["run", "task:links"], amount: { tokens: 400 } })
 *
 * ask("first") // => undefined
 * ask("second") // => undefined
 * ask("third")?.message // => "run has 200 tokens left, 400 were asked for: limit 1000, settled 0, reserved 800"
 *
 * Budget.settle(ledger, { id: "first", used: { tokens: 150 } }) // => []
 * ask("third") // => undefined
 * Budget.left(ledger, ["run"]) // => { tokens: 50 }
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import * as amounts from "./internal/amounts.ts"
import { charge, checked, exact, isNothing, minus, plus, rest, tidy, type Writable } from "./internal/amounts.ts"
import { isLimitless, setLimited, setLimitless } from "./internal/limitless.ts"
import { Usage } from "./Result.ts"

/**
 * What is counted: steps, tokens and tool calls in whole numbers, cost in the currency of the desk.
 *
 * @category models
 * @since 0.1.0
 */
export const measures = amounts.measures

/**
 * The schema of {@link measures}.
 *
 * @category models
 * @since 0.1.0
 */
export const Measure = Schema.Literals(measures)

/**
 * @category models
 * @since 0.1.0
 */
export type Measure = typeof Measure.Type

/** @since 0.1.0 */
export interface Amount extends Schema.Schema.Type<typeof Amount> {}

/**
 * An amount of each measure: whole numbers from 0 to 2^53 - 1, and a cost from 0 to 1e15. What absent means depends on
 * the place: no limit, nothing reserved, or not measured.
 *
 * @category models
 * @since 0.1.0
 */
export const Amount = Schema.Struct(Usage.fields)

/** @since 0.1.0 */
export interface Account extends Schema.Schema.Type<typeof Account> {}

/**
 * One account.
 *
 * **Details**
 *
 * - `limit`: its own limits. `settled`: what was charged. `reserved`: the sum of its open reservations.
 * - `closed`: the measure that overran; absent while the account is open.
 *
 * @category models
 * @since 0.1.0
 */
export const Account = Schema.Struct({
  limit: Amount,
  settled: Amount,
  reserved: Amount,
  closed: Schema.optionalKey(Measure)
})

/** @since 0.1.0 */
export interface Reservation extends Schema.Schema.Type<typeof Reservation> {}

/**
 * What is set aside for a piece of work that has not been settled.
 *
 * @category models
 * @since 0.1.0
 */
export const Reservation = Schema.Struct({ accounts: Schema.Array(Schema.String), amount: Amount })

/** @since 0.1.0 */
export interface Ledger extends Schema.Schema.Type<typeof Ledger> {}

/**
 * Accounts by name and open reservations by id.
 *
 * @category models
 * @since 0.1.0
 */
export const Ledger = Schema.Struct({
  accounts: Schema.ReadonlyMap(Schema.String, Account),
  reservations: Schema.ReadonlyMap(Schema.String, Reservation)
})

/**
 * A ledger whose maps the caller owns.
 *
 * @category models
 * @since 0.1.0
 */
export interface Draft {
  readonly accounts: Map<string, Account>
  readonly reservations: Map<string, Reservation>
}

/**
 * A reservation that does not fit. Nothing was reserved anywhere.
 *
 * **Details**
 *
 * - `account`, `measure`: the first account, in the order in which they were named, that could not grant it.
 * - `asked`: how much of the measure was asked for; 0 when it was none.
 * - `closed`: the account is closed, whatever is left of it.
 *
 * @category errors
 * @since 0.1.0
 */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>("espalier/run/Budget/BudgetExceeded")(
  "BudgetExceeded",
  {
    account: Schema.String,
    measure: Measure,
    limit: Schema.Finite,
    settled: Schema.Finite,
    reserved: Schema.Finite,
    asked: Schema.Finite,
    closed: Schema.Boolean
  }
) {
  /** @since 0.1.0 */
  readonly [Failure.kind] = "exhausted"

  override get message(): string {
    const { account, asked, closed, limit, measure, reserved, settled } = this
    const unit = words[measure]
    const sums = `limit ${limit}, settled ${settled}, reserved ${reserved}`
    return closed
      ? `${account} is closed since its ${unit} were overrun: ${sums}`
      : `${account} has ${rest(measure, limit, settled, reserved)} ${unit} left, ${asked} were asked for: ${sums}`
  }
}

const words: { readonly [M in Measure]: string } = {
  steps: "steps",
  tokens: "tokens",
  toolCalls: "tool calls",
  cost: "units of cost"
}

/** @since 0.1.0 */
export interface Overrun extends Schema.Schema.Type<typeof Overrun> {}

/**
 * An account that a settlement closed, or found closed.
 *
 * **Details**
 *
 * - `reserved`: what had been set aside for this use. `used`: what it came to.
 * - `settled`: everything that has been charged to the account, this use included.
 *
 * @category models
 * @since 0.1.0
 */
export const Overrun = Schema.Struct({
  account: Schema.String,
  measure: Measure,
  limit: Schema.Finite,
  settled: Schema.Finite,
  reserved: Schema.Finite,
  used: Schema.Finite
})

/**
 * A ledger in which nothing is spent, with the limits of some accounts.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the account and the measure when a limit is not a number >= 0 of its kind.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (limits: { readonly [account: string]: Amount | undefined } = {}): Draft => {
  const draft: Draft = { accounts: new Map(), reservations: new Map() }
  setLimitless(draft)
  for (const [account, limit] of Object.entries(limits)) allot(draft, account, limit ?? {})
  return draft
}

/**
 * A ledger with the same content, whose maps are the caller's.
 *
 * @category constructors
 * @since 0.1.0
 */
export const copy = (ledger: Ledger): Draft => {
  const draft: Draft = { accounts: new Map(ledger.accounts), reservations: new Map(ledger.reservations) }
  if (isLimitless(ledger)) setLimitless(draft)
  return draft
}

/**
 * Gives an account its limits, where it has none of its own yet.
 *
 * **Details**
 *
 * The first limit of a measure stands, and what was settled stays: the same task in other hands has no new budget, and
 * what a person has raised is not lowered by saying the old limit again.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when a limit is not a number >= 0 of its kind; nothing is changed.
 *
 * @category operations
 * @since 0.1.0
 */
export const allot = (draft: Draft, account: string, limit: Amount): void => {
  const own = checked(limit, `the limit of ${account}`)
  if (!isNothing(own)) setLimited(draft)
  const known = draft.accounts.get(account) ?? blank
  draft.accounts.set(account, { ...known, limit: { ...own, ...known.limit } })
}

/**
 * Sets an amount aside at every account, or says which one cannot grant it and leaves everything as it was.
 *
 * **Details**
 *
 * - `id`: under which it is settled. An id that is open has its reservation already: nothing is added to it.
 * - `accounts`: from the root on; one that is not known yet is opened without a limit. Named twice counts once.
 * - `amount`: the most that the work may use. A measure that is absent claims nothing.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when the amount is not a number >= 0 of its kind; nothing is changed.
 *
 * @category operations
 * @since 0.1.0
 */
export const reserve = (
  draft: Draft,
  request: { readonly id: string; readonly accounts: ReadonlyArray<string>; readonly amount: Amount }
): BudgetExceeded | undefined => {
  const amount = checked(request.amount, "the amount")
  if (draft.reservations.has(request.id)) return undefined
  const accounts = distinct(request.accounts)
  const refused = check(draft, accounts, amount)
  if (refused !== undefined) return refused // B2
  const nothing = isNothing(amount)
  for (const name of accounts) {
    const account = draft.accounts.get(name)
    if (nothing && account !== undefined) continue
    const { closed, limit, reserved, settled } = account ?? blank
    draft.accounts.set(name, accountOf(limit, settled, plus(reserved, amount), closed))
  }
  draft.reservations.set(request.id, { accounts, amount })
  return undefined
}

/**
 * What would keep an amount from being reserved at these accounts, if anything would. Nothing is changed.
 *
 * @category queries
 * @since 0.1.0
 */
export const check = (ledger: Ledger, accounts: ReadonlyArray<string>, amount: Amount): BudgetExceeded | undefined => {
  if (isLimitless(ledger)) return undefined
  for (const name of accounts) {
    const account = ledger.accounts.get(name)
    const refused = account === undefined ? undefined : refusal(name, account, amount)
    if (refused !== undefined) return refused
  }
  return undefined
}

const refusal = (name: string, account: Account, amount: Amount): BudgetExceeded | undefined => {
  if (account.closed !== undefined) return exceeded(name, account, account.closed, amount) // B5
  for (const measure of measures) {
    const limit = account.limit[measure]
    if (limit === undefined) continue
    const claimed = (account.settled[measure] ?? 0) + (account.reserved[measure] ?? 0) + (amount[measure] ?? 0)
    if (tidy(measure, claimed) > limit) return exceeded(name, account, measure, amount) // B1
  }
  return undefined
}

const exceeded = (name: string, account: Account, measure: Measure, amount: Amount): BudgetExceeded =>
  new BudgetExceeded({
    account: name,
    measure,
    limit: account.limit[measure] ?? 0,
    settled: account.settled[measure] ?? 0,
    reserved: account.reserved[measure] ?? 0,
    asked: amount[measure] ?? 0,
    closed: account.closed !== undefined
  })

const none: ReadonlyArray<Overrun> = []

/**
 * Frees a reservation, charges what was used, and says which accounts were overrun and are closed now.
 *
 * **Details**
 *
 * - `used`: what the work came to. A measure that is absent, or is not a number >= 0, was not reported and is charged with
 *   what was reserved. Without `used` the whole reservation is charged, as for a call that was cancelled in flight.
 * - An id that is not open has been settled: nothing is charged, and no account is overrun.
 *
 * @category operations
 * @since 0.1.0
 */
export const settle = (
  draft: Draft,
  settlement: { readonly id: string; readonly used?: Amount | undefined }
): ReadonlyArray<Overrun> => {
  const reservation = draft.reservations.get(settlement.id)
  if (reservation === undefined) return none // B3
  draft.reservations.delete(settlement.id)
  const { accounts, amount } = reservation
  const used = settlement.used === undefined ? amount : charge(amount, settlement.used)
  if (isNothing(amount) && isNothing(used)) return none
  const overruns: Array<Overrun> = []
  for (const name of accounts) {
    const account = draft.accounts.get(name) ?? blank
    const settled = plus(account.settled, used)
    const reserved = minus(account.reserved, amount) // B4
    const before = overruns.length
    if (used !== amount) overrun(name, account.limit, { amount, used, settled, reserved }, overruns)
    const closed = account.closed ?? overruns[before]?.measure
    draft.accounts.set(name, accountOf(account.limit, settled, reserved, closed))
  }
  return overruns
}

/**
 * Charges a part of what a reservation was made for, and leaves the rest of it set aside.
 *
 * **Details**
 *
 * - `used`: what the part came to. A measure that is absent is not touched. What is beyond the reservation is charged too,
 *   and closes accounts as {@link settle} does.
 * - An id that is not open has nothing set aside: the part is charged to `accounts` as it is.
 *
 * @category operations
 * @since 0.1.0
 */
export const draw = (
  draft: Draft,
  part: { readonly id: string; readonly accounts: ReadonlyArray<string>; readonly used: Amount }
): ReadonlyArray<Overrun> => {
  const whole = draft.reservations.get(part.id)
  const amount = whole === undefined ? {} : least(whole.amount, part.used)
  if (whole !== undefined) {
    draft.reservations.set(part.id, { ...whole, amount: { ...zeros(whole.amount), ...minus(whole.amount, amount) } })
  }
  const id = `${part.id} drawn`
  draft.reservations.set(id, { accounts: whole?.accounts ?? distinct(part.accounts), amount })
  return settle(draft, { id, used: part.used })
}

/** Of what is in both amounts, the smaller one. */
const least = (one: Amount, other: Amount): Amount => {
  const found: Writable<Amount> = {}
  for (const measure of measures) {
    const [here, there] = [one[measure], other[measure]]
    if (here !== undefined && there !== undefined) found[measure] = Math.min(here, there)
  }
  return found
}

/** Nothing of each measure that there is. */
const zeros = (amount: Amount): Amount => {
  const found: Writable<Amount> = {}
  for (const measure of measures) if (amount[measure] !== undefined) found[measure] = 0
  return found
}

/** Which limits of an account a settlement overran, with what is settled and still reserved there after it. */
const overrun = (
  account: string,
  limits: Amount,
  after: { readonly [K in "amount" | "used" | "settled" | "reserved"]: Amount },
  found: Array<Overrun>
): void => {
  for (const measure of measures) {
    const limit = limits[measure]
    const used = after.used[measure] ?? 0
    if (limit === undefined || used === 0) continue
    const reserved = after.amount[measure]
    const settled = after.settled[measure] ?? 0
    const over =
      reserved === undefined ? tidy(measure, settled + (after.reserved[measure] ?? 0)) > limit : used > reserved
    if (over) found.push({ account, measure, limit, settled, reserved: reserved ?? 0, used })
  }
}

/**
 * Lifts the limits of an account by an amount and opens it again, because somebody who may has said so.
 *
 * **Details**
 *
 * A measure without a limit stays without one. An amount of nothing only opens the account. An account that is not known
 * has nothing to lift.
 *
 * **Gotchas**
 *
 * It lifts one account: what its ancestors have left still counts. Throws a `RangeError` when the amount is not a number
 * >= 0 of its kind; nothing is changed.
 *
 * @category operations
 * @since 0.1.0
 */
export const raise = (draft: Draft, account: string, by: Amount): void => {
  const amount = checked(by, `the raise of ${account}`)
  const known = draft.accounts.get(account)
  if (known === undefined) return
  const { closed: _, ...open } = known
  const limit: Writable<Amount> = {}
  for (const measure of measures) {
    const most = known.limit[measure]
    if (most !== undefined) limit[measure] = exact(measure, most + (amount[measure] ?? 0))
  }
  draft.accounts.set(account, { ...open, limit })
}

/**
 * The most that can still be reserved at all of these accounts together. A measure is absent when none of them limits it.
 *
 * **Details**
 *
 * At a closed account nothing is left of any measure.
 *
 * @category queries
 * @since 0.1.0
 */
export const left = (ledger: Ledger, accounts: ReadonlyArray<string>): Amount => {
  const least: Writable<Amount> = {}
  for (const name of accounts) {
    const account = ledger.accounts.get(name)
    if (account === undefined) continue
    for (const measure of measures) {
      const limit = account.closed === undefined ? account.limit[measure] : 0
      if (limit === undefined) continue
      const here = rest(measure, limit, account.settled[measure] ?? 0, account.reserved[measure] ?? 0)
      least[measure] = Math.min(least[measure] ?? here, here)
    }
  }
  return least
}

/**
 * A limit that is not kept, because what lies above is narrower.
 *
 * @category models
 * @since 0.1.0
 */
export interface TooWide {
  readonly account: string
  readonly measure: Measure
  readonly limit: number
  readonly inherited: number
}

/**
 * The limits that hold at the end of a path of accounts, and where they come from.
 *
 * **Details**
 *
 * - `limit`: absent = nobody on the path limits this measure.
 * - `from`: the account whose limit it is; of equal ones the nearest.
 * - `tooWide`: limits that say more than what they inherit, and do not hold.
 *
 * @category models
 * @since 0.1.0
 */
export interface Effective {
  readonly limit: Amount
  readonly from: { readonly [M in Measure]?: string }
  readonly tooWide: ReadonlyArray<TooWide>
}

/**
 * The one rule for limits that are set in several places: the nearest that is set wins, and can only narrow.
 *
 * **Details**
 *
 * `path` holds accounts with their own limits, from the root on: run, domain, worker, task. Absent and `undefined` mean
 * inherited, 0 means none at all.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the account and the measure when a limit is not a number >= 0 of its kind.
 *
 * **Example** (A task cannot have more than its run)
 *
 * ```ts
 * import { Budget } from "espalier/run"
 *
 * const { from, limit, tooWide } = Budget.merge([
 *   ["run", { tokens: 1_000, toolCalls: 20 }],
 *   ["worker:docs.links", { toolCalls: 0 }],
 *   ["task:links", { tokens: 5_000 }]
 * ])
 * limit // => { tokens: 1_000, toolCalls: 0 }
 * from // => { tokens: "run", toolCalls: "worker:docs.links" }
 * tooWide // => [{ account: "task:links", measure: "tokens", limit: 5_000, inherited: 1_000 }]
 * ```
 *
 * @category queries
 * @since 0.1.0
 */
export const merge = (path: Iterable<readonly [account: string, limit: Amount | undefined]>): Effective => {
  const limit: Writable<Amount> = {}
  const from: { [M in Measure]?: string } = {}
  const tooWide: Array<TooWide> = []
  for (const [account, given] of path) {
    const own = checked(given ?? {}, `the limit of ${account}`)
    for (const measure of measures) {
      const most = own[measure]
      if (most === undefined) continue
      const inherited = limit[measure]
      if (inherited !== undefined && most > inherited) tooWide.push({ account, measure, limit: most, inherited })
      else {
        limit[measure] = most
        from[measure] = account
      }
    }
  }
  return { limit, from, tooWide }
}

// ---------------------------------------------------------------------------------------------------------------------

const blank: Account = { limit: {}, settled: {}, reserved: {} }

const accountOf = (limit: Amount, settled: Amount, reserved: Amount, closed: Measure | undefined): Account =>
  closed === undefined ? { limit, settled, reserved } : { limit, settled, reserved, closed }

const distinct = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.some((name, index) => names.indexOf(name) !== index) ? [...new Set(names)] : [...names]
