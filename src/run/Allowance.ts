/**
 * What a handler may still spend inside one dispatch: each of its calls is reserved before it is made and settled after.
 *
 * An allowance is made from what was reserved for the dispatch. It lives in memory and ends with the dispatch; what was
 * used in the end is reported with the result, and settled in the ledger of the run. It owns a ledger of one account and
 * the order of things around a call; the arithmetic is that of {@link Budget}.
 *
 * **Invariants**
 *
 * - A1. A call that is refused is never begun.
 * - A2. A call that was begun is settled once, however it ends: by success, failure, defect or interruption.
 * - A3. Calls at the same time never have more reserved together than what is left.
 *
 * **Gotchas**
 *
 * An estimate is a ceiling. A call that uses more of a limited measure than its estimate says closes the allowance, and
 * the next call is refused. A measure that the estimate leaves out claims nothing, and is not held to `perCall`.
 *
 * **Example** (One call is too large, another fits)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Allowance } from "espalier/run"
 *
 * const program = Effect.gen(function* () {
 *   const allowance = yield* Allowance.make({ limit: { tokens: 5_000 }, perCall: { tokens: 500 } })
 *   const large = yield* Effect.flip(allowance.call({ tokens: 900 }, Effect.succeed("…")))
 *   yield* allowance.call({ tokens: 400 }, Effect.succeed("…"), () => ({ tokens: 120 }))
 *   return [large.message, yield* allowance.left, yield* allowance.used]
 * })
 *
 * const [refused, left, used] = Effect.runSync(program)
 * refused // => "one call has 500 tokens left, 900 were asked for: limit 500, settled 0, reserved 0"
 * left // => { tokens: 4_880 }
 * used // => { tokens: 120 }
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"

import * as Budget from "./Budget.ts"
import { Given } from "./internal/given.ts"
import type { Usage } from "./Result.ts"

const TypeId = "~espalier/run/Allowance"

/**
 * What may still be spent, and the way to spend it.
 *
 * **Details**
 *
 * - `perCall`: the most that one call may reserve.
 * - `left`: what can still be reserved now; a measure that is not limited is absent.
 * - `used`: what all calls that have ended came to, those that were cancelled or failed included.
 * - `call`: runs an effect under a reservation of `estimate`, or fails with `BudgetExceeded` and does not run it.
 *   `usageOf` says what the call came to, from its exit; what it leaves out, and all of it when it answers `undefined` or
 *   is not given, is charged as estimated. It is asked after an interruption too, so that what is known by then can be
 *   told.
 *
 * `call` dies with a `RangeError` when the estimate is not a number >= 0 of its kind, and with whatever `usageOf` throws,
 * after the estimate is charged.
 *
 * @category models
 * @since 0.1.0
 */
export interface Allowance {
  readonly [TypeId]: () => void
  readonly perCall: Budget.Amount
  readonly left: Effect.Effect<Budget.Amount>
  readonly used: Effect.Effect<Usage>
  readonly call: <A, E, R>(
    estimate: Budget.Amount,
    effect: Effect.Effect<A, E, R>,
    usageOf?: ((exit: Exit.Exit<A, E>) => Usage | undefined) | undefined
  ) => Effect.Effect<A, E | Budget.BudgetExceeded, R>
}

/**
 * Something that was paid for.
 *
 * **Details**
 *
 * - `what`: such as `"model"` or `"tool"`, at most 100 characters. `facts`: what else there is to know of it, plain JSON of at
 *   most 8 KiB; no arguments, no answers, no secrets. `note`: one sentence. Default: what, and how much.
 *
 * @category models
 * @since 0.1.0
 */
export interface Spending {
  readonly what: string
  readonly usage: Usage
  readonly facts?: Readonly<Record<string, Schema.Json>> | undefined
  readonly note?: string | undefined
}

/**
 * Runs work that pays for calls, under a reservation of `estimate` for all of them, or fails with `BudgetExceeded` and does
 * not run it. Each call that is handed to `record` is written down and charged at once, whatever becomes of the work.
 *
 * @category models
 * @since 0.1.0
 */
export type Spend = <A, E, R>(
  estimate: Budget.Amount,
  work: (record: (spending: Spending) => Effect.Effect<void>) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E | Budget.BudgetExceeded, R>

/**
 * What an allowance is made of.
 *
 * **Details**
 *
 * - `limit`: what all calls together may use. A measure that is absent is not limited, 0 = none at all.
 * - `perCall`: what one call may reserve, in the same terms. Default not limited.
 * - `account`: how the whole is called where it refuses a call. Default `"the dispatch"`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly limit: Budget.Amount
  readonly perCall?: Budget.Amount | undefined
  readonly account?: string | undefined
}

/**
 * Makes an allowance of which nothing is used.
 *
 * **Gotchas**
 *
 * Dies with a `RangeError` that names the measure when a limit is not a number >= 0 of its kind, and when an option or a
 * measure is none that there is.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Effect.Effect<Allowance> =>
  Effect.sync(() => {
    given.record("options", options, ["limit", "perCall", "account"])
    const { account = "", limit, perCall = {} } = options
    given.record("limit", limit, Budget.measures)
    given.record("perCall", perCall, Budget.measures)
    given.text("account", account)
    const allowance = makeUnsafe(options)
    allowance[TypeId]()
    return allowance
  })

/**
 * As {@link make}, for one that may never be used: nothing is built, and nothing is checked, before the first call.
 *
 * @category constructors
 * @since 0.1.0
 */
export const makeUnsafe = (options: Options): Allowance => {
  const { account = "the dispatch", limit, perCall = {} } = options
  const accounts = [account]
  let built: { readonly ledger: Budget.Draft; readonly cap: Budget.Draft } | undefined
  let calls = 0

  const books = () => {
    if (built !== undefined) return built
    const ledger = Budget.make()
    Budget.allot(ledger, account, limit)
    built = { ledger, cap: Budget.make({ [single]: perCall }) }
    return built
  }

  const begin = (amount: Budget.Amount): string | Budget.BudgetExceeded => {
    const { cap, ledger } = books()
    const id = `${calls}`
    const refused =
      Budget.reserve(Budget.copy(cap), { id, accounts: [single], amount }) ??
      Budget.reserve(ledger, { id, accounts, amount })
    if (refused !== undefined) return refused
    calls += 1
    return id
  }

  const end = (id: string, usageOf: () => Usage | undefined): void => {
    let used: Usage | undefined
    try {
      used = usageOf()
    } finally {
      Budget.settle(books().ledger, { id, used }) // A2
    }
  }

  const call: Allowance["call"] = <A, E, R>(
    estimate: Budget.Amount,
    effect: Effect.Effect<A, E, R>,
    usageOf?: (exit: Exit.Exit<A, E>) => Usage | undefined
  ) =>
    Effect.uninterruptibleMask((restore): Effect.Effect<A, E | Budget.BudgetExceeded, R> => {
      const begun = begin(estimate) // A3. Nothing comes between the question and the reservation.
      return typeof begun === "string"
        ? Effect.onExit(restore(effect), (exit) => Effect.sync(() => end(begun, () => usageOf?.(exit))))
        : Effect.fail(begun) // A1
    })

  return {
    [TypeId]: () => void books(),
    perCall,
    left: Effect.sync(() => Budget.left(books().ledger, accounts)),
    used: Effect.sync(() => built?.ledger.accounts.get(account)?.settled ?? {}),
    call
  }
}

const single = "one call"

const given = new Given("Allowance.make")
