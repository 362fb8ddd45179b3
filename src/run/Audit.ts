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
import { DispatchEnd, EffectEnd, type RunEvent } from "./RunEvent.ts"

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
 * - `effects`: what it intended outside, oldest first; absent when that was nothing. `open`: it is under way, or nobody knows
 *   what came of it. What a person or a later dispatch has found out is told here, too.
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
  effects: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        effect: Schema.String,
        name: Schema.String,
        outcome: Schema.Union([EffectEnd, Schema.Literal("open")])
      })
    )
  ),
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
  /** Effects that are not settled, by the dispatch that intended them; questions about them, by review. */
  const intended = new Map<string, string>()
  const asked = new Map<string, string>()
  const mark = (effect: string, outcome: EffectEnd): void => {
    const row = rows.get(intended.get(effect) ?? "")
    intended.delete(effect)
    if (row === undefined) return
    const effects = row.effects?.map((each) =>
      each.effect === effect && each.outcome === "open" ? { ...each, outcome } : each
    )
    rows.set(row.dispatch, { ...row, ...(effects === undefined ? {} : { effects }) })
  }
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
        case "EffectIntended": {
          const { dispatch, effect, name } = event
          const row = rows.get(dispatch)
          if (row === undefined) return
          intended.set(effect, dispatch)
          rows.set(dispatch, { ...row, effects: [...(row.effects ?? []), { effect, name, outcome: "open" }] })
          return
        }
        case "EffectSettled": {
          mark(event.effect, event.outcome)
          return
        }
        case "ReviewOpened": {
          const { effect } = event.facts
          if (typeof effect === "string") asked.set(event.review, effect)
          return
        }
        case "ReviewDecided": {
          const effect = asked.get(event.review)
          asked.delete(event.review)
          if (effect === undefined || event.decision === "reject") return
          mark(effect, event.decision === "answer" ? "done" : "failed")
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
