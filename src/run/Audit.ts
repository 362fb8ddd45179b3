/**
 * The audit trail of a run: one row per dispatch, out of the journal's events alone.
 *
 * **Example** (A dispatch as a row)
 *
 * ```ts
 * import { Audit } from "espalier/run"
 *
 * const rows = Audit.rows([
 *   { _tag: "Routed", at: 5, task: "links", worker: "docs.links", candidates: ["docs.links"], note: "Its plan names it" },
 *   { _tag: "Dispatched", at: 5, task: "links", dispatch: "r1/links/1", worker: "docs.links", contract: 1, note: "" }
 * ])
 * rows.map(({ outcome, routing }) => [outcome, routing]) // => [["open", "Its plan names it"]]
 * ```
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

import { ErrorKind } from "./Result.ts"
import { DispatchEnd, type RunEvent } from "./RunEvent.ts"

/** @since 0.1.0 */
export interface Row extends Schema.Schema.Type<typeof Row> {}

/**
 * One dispatch.
 *
 * **Details**
 *
 * - `outcome`: `open` while it has not reported.
 * - `attempts`: tries inside it, the last one included; retries are one less.
 * - `kind`: of its failure; absent when it delivered.
 * - `contract`: version of the contract.
 * - `startedAt`: milliseconds since 1970. `durationMillis`: absent while it is open.
 * - `routing`: why this worker. `note`: what came of it.
 *
 * @category models
 * @since 0.1.0
 */
export const Row = Schema.Struct({
  dispatch: Schema.String,
  task: Schema.String,
  worker: Schema.String,
  contract: Schema.Int,
  attempts: Schema.Int,
  outcome: Schema.Union([DispatchEnd, Schema.Literal("open")]),
  kind: Schema.optionalKey(ErrorKind),
  confidence: Schema.optionalKey(Schema.Finite),
  startedAt: Schema.Finite,
  durationMillis: Schema.optionalKey(Schema.Finite),
  routing: Schema.String,
  note: Schema.String
})

/**
 * Takes events one after the other, so that a long history need not be held to be audited.
 *
 * @category folding
 * @since 0.1.0
 */
export interface Fold {
  readonly add: (event: RunEvent) => void
  readonly rows: () => ReadonlyArray<Row>
}

/**
 * Makes an empty {@link Fold}.
 *
 * @category folding
 * @since 0.1.0
 */
export const fold = (): Fold => {
  const rows = new Map<string, Row>()
  const routing = new Map<string, string>()
  return {
    add: (event) => {
      switch (event._tag) {
        case "Routed": {
          routing.set(event.task, event.note)
          return
        }
        case "Dispatched": {
          const { at, contract, dispatch, note, task, worker } = event
          const reason = routing.get(task) ?? ""
          rows.set(dispatch, {
            dispatch,
            task,
            worker,
            contract,
            attempts: 1,
            outcome: "open",
            startedAt: at,
            routing: reason,
            note
          })
          return
        }
        case "AttemptFailed": {
          const row = rows.get(event.dispatch)
          if (row !== undefined) rows.set(row.dispatch, { ...row, attempts: event.attempt + 1, note: event.note })
          return
        }
        case "Reported": {
          const row = rows.get(event.dispatch)
          if (row === undefined) return
          const { attempts, note, outcome, result } = event
          rows.set(row.dispatch, {
            ...row,
            attempts,
            outcome,
            ...(result.error === undefined ? { confidence: result.confidence } : { kind: result.error.kind }),
            durationMillis: event.at - row.startedAt,
            note
          })
        }
      }
    },
    rows: () => [...rows.values()]
  }
}

/**
 * All dispatches of a history, in the order in which they were given.
 *
 * @category folding
 * @since 0.1.0
 */
export const rows = (events: Iterable<RunEvent>): ReadonlyArray<Row> => {
  const all = fold()
  for (const event of events) all.add(event)
  return all.rows()
}
