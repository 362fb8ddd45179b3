/**
 * What models have used and cost: per call, worker, domain and run, out of the events of a run alone.
 *
 * **Details**
 *
 * - A call counts for the worker whose order it was for, and for the domain of that worker. A call for a choice of the run,
 *   such as a plan, is nobody's: it counts under the name `""`.
 * - What is not known is counted apart, never taken for 0: calls without a price, calls whose usage is an estimate, calls of
 *   which the journal has only how many tokens they took.
 * - A call that was under way when its process died is paid for, too, and nobody knows what it used. Calls of orders of which
 *   that is to be seen are counted as `cutOff`, and in nothing else.
 *
 * **Invariants**
 *
 * - E1. The run is the sum of the calls; so are the workers together, and the domains together. Amounts are added up without
 *   rounding, so their order does not matter.
 * - E2. Currencies are kept apart.
 * - E3. A call counts as cut off once, however often its run was taken up until it is known how the call ended. When it was made
 *   anew and cut off again meanwhile, there were more.
 *
 * **Example** (One call of a run)
 *
 * ```ts
 * import { Meter, type ModelCall } from "espalier/agent"
 *
 * const call: ModelCall.Call = {
 *   provider: "acme",
 *   model: "small",
 *   step: 0,
 *   attempt: 1,
 *   end: "answered",
 *   usage: { input: 900, output: 100 },
 *   cost: 0.0004,
 *   currency: "USD",
 *   durationMillis: 800
 * }
 * const { domains, run } = Meter.fold([
 *   {
 *     _tag: "Spent",
 *     at: 5,
 *     task: "links",
 *     dispatch: "r1/links/1",
 *     worker: "docs.links",
 *     what: "model",
 *     usage: { tokens: 1_000, cost: 0.0004 },
 *     facts: { ...call },
 *     note: "Asked acme/small"
 *   }
 * ])
 * run.costs // => [{ currency: "USD", cost: 0.0004 }]
 * domains.map(({ calls, name }) => [name, calls]) // => [["docs", 1]]
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type * as Journal from "../journal/Journal.ts"
import { tableOf } from "../run/internal/text.ts"
import * as Run from "../run/Run.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import { callOf, CallSums, tokensOf } from "./internal/callSums.ts"
import { domainOf, headsOf, rowsOf } from "./internal/meterRows.ts"
import { UnderWay } from "./internal/underWay.ts"
import type * as ModelCall from "./ModelCall.ts"

/**
 * Sums over calls.
 *
 * **Details**
 *
 * - `calls`: all of them. `answered`, `interrupted`, `failed`: how they ended; `unread`: of which the journal does not say how.
 * - `cutOff`: calls that are not among them, as their process died before they ended.
 * - `swaps`: calls that were made because another model had not answered.
 * - `tokens`: by kind, as a `ModelCall` counts them; `total` has each once, and those of `unread` calls.
 * - `costs`: of the calls with a price, by currency. `unpriced`: how many have none.
 * - `estimated`: of how many calls the provider did not say what they used.
 *
 * @category models
 * @since 0.1.0
 */
export interface Totals {
  readonly calls: number
  readonly answered: number
  readonly failed: number
  readonly interrupted: number
  readonly unread: number
  readonly cutOff: number
  readonly swaps: number
  readonly tokens: Required<ModelCall.Tokens> & { readonly total: number }
  readonly costs: ReadonlyArray<{ readonly currency: string; readonly cost: number }>
  readonly unpriced: number
  readonly estimated: number
}

/**
 * The sums of a worker or a domain. The name of what is nobody's is empty.
 *
 * @category models
 * @since 0.1.0
 */
export interface Row extends Totals {
  readonly name: string
}

/**
 * One call: when, for which order, and its record, which is absent where the journal has none that can be read.
 *
 * @category models
 * @since 0.1.0
 */
export interface CallRow {
  readonly at: number
  readonly task: string
  readonly dispatch: string
  readonly worker: string
  readonly tokens: number
  readonly call?: ModelCall.Call
}

/**
 * What the models of a run have used: plain JSON.
 *
 * **Details**
 *
 * - `calls`: in the order of the journal. `workers`, `domains`: by name.
 *
 * @category models
 * @since 0.1.0
 */
export interface Table {
  readonly run: Totals
  readonly domains: ReadonlyArray<Row>
  readonly workers: ReadonlyArray<Row>
  readonly calls: ReadonlyArray<CallRow>
}

const rowOf = (event: RunEvent.RunEvent): CallRow | undefined => {
  if (event._tag !== "Spent" || event.what !== "model") return undefined
  const { at, dispatch, task, worker } = event
  const call = callOf(event)
  const tokens = tokensOf(call, event)
  return { at, task, dispatch, worker, tokens, ...(call === undefined ? {} : { call }) }
}

class Sums {
  readonly sums = new CallSums()
  readonly counts = { answered: 0, interrupted: 0, failed: 0, unread: 0, cutOff: 0, swaps: 0 }

  add({ call, tokens }: CallRow): void {
    const { counts } = this
    this.sums.add(call, tokens)
    if (call === undefined) {
      counts.unread += 1
      return
    }
    if (call.end === "answered" || call.end === "interrupted") counts[call.end] += 1
    else counts.failed += 1
    if (call.attempt > 1) counts.swaps += 1
  }

  get totals(): Totals {
    const { calls, costs, estimated, tokens, unpriced } = this.sums
    return { calls, ...this.counts, unpriced, estimated, tokens, costs }
  }
}

const grouped = ({ calls, cuts }: Found, nameOf: (worker: string) => string): ReadonlyArray<Row> => {
  const groups = new Map<string, Sums>()
  const sumsOf = (worker: string): Sums => {
    const name = nameOf(worker)
    const sums = groups.get(name) ?? new Sums()
    groups.set(name, sums)
    return sums
  }
  for (const row of calls) sumsOf(row.worker).add(row)
  for (const worker of cuts) sumsOf(worker).counts.cutOff += 1
  return [...groups]
    .map(([name, { totals }]) => ({ name, ...totals }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

/** What is found in events, one after the other. */
class Found {
  readonly calls: Array<CallRow> = []
  private readonly underWay = new UnderWay()

  /** Whose calls were cut off. */
  get cuts(): ReadonlyArray<string> {
    return this.underWay.cuts
  }

  see(event: RunEvent.RunEvent): void {
    const row = rowOf(event)
    if (row !== undefined) this.calls.push(row)
    this.underWay.see(event)
  }

  get table(): Table {
    const run = new Sums()
    for (const row of this.calls) run.add(row)
    run.counts.cutOff = this.cuts.length
    return {
      run: run.totals,
      domains: grouped(this, domainOf),
      workers: grouped(this, (worker) => worker),
      calls: this.calls
    }
  }
}

/**
 * The table of some events. Events that are no calls of models are passed over.
 *
 * @category folding
 * @since 0.1.0
 */
export const fold = (events: Iterable<RunEvent.RunEvent>): Table => {
  const found = new Found()
  for (const event of events) found.see(event)
  return found.table
}

/**
 * The table of a run, as far as its journal has it. Of a run that the journal does not know, the table is empty.
 *
 * @category queries
 * @since 0.1.0
 */
export const ofRun = (
  run: string
): Effect.Effect<Table, Run.RunTooNew | Run.RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Effect.suspend(() => {
    const found = new Found()
    return Run.events(run).pipe(
      Stream.runForEach((event) => Effect.sync(() => found.see(event))),
      Effect.map(() => found.table)
    )
  })

/**
 * A table for people: the run, its domains and their workers, with what each has used in tokens and in money. Where calls were
 * cut off, it has a column for them.
 *
 * @category rendering
 * @since 0.1.0
 */
export const render = (table: Table): string => tableOf(headsOf(table), rowsOf(table))
