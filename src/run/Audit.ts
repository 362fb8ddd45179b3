/**
 * The audit trail of runs, out of the journal's events alone: one row per dispatch, and every event as one plain step.
 *
 * **Details**
 *
 * - Rows say who was asked what, when, why, and what came of it. {@link ofRun} and {@link ofAll} find them by worker, task,
 *   outcome and time; {@link table} shows them, and so does {@link line} as JSON.
 * - Steps say what rows do not: transitions, validations, approvals, and why a run stopped. {@link trail} has them all.
 * - Notes are as they were written, by models, too. {@link table} and {@link stepLine} leave out what a terminal would obey.
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
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import { cells, columns } from "./internal/auditCells.ts"
import { fromRecord, refusal } from "./internal/log.ts"
import { shortened } from "./internal/problems.ts"
import type { RunTooNew, RunUntrusted } from "./internal/runErrors.ts"
import { stepOf } from "./internal/steps.ts"
import { instantOf, plain, tableOf } from "./internal/text.ts"
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

/**
 * Which rows of an audit.
 *
 * **Details**
 *
 * - `worker`, `task`: only of these. Default: all.
 * - `outcome`: only with one of these; `open` for those that have not reported. Default: all.
 * - `since`, `until`: only dispatches that were given not before and not after, in milliseconds since 1970. Default: all.
 *
 * @category models
 * @since 0.1.0
 */
export interface Query {
  readonly worker?: string | undefined
  readonly task?: string | undefined
  readonly outcome?: Row["outcome"] | ReadonlyArray<Row["outcome"]> | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * Whether a row is one that is looked for.
 *
 * @category queries
 * @since 0.1.0
 */
export const matches = (row: Row, query: Query): boolean => {
  const { outcome, since, task, until, worker } = query
  if (worker !== undefined && row.worker !== worker) return false
  if (task !== undefined && row.task !== task) return false
  if (since !== undefined && row.startedAt < since) return false
  if (until !== undefined && row.startedAt > until) return false
  if (outcome === undefined) return true
  return typeof outcome === "string" ? row.outcome === outcome : outcome.includes(row.outcome)
}

/**
 * The rows of one run.
 *
 * **Details**
 *
 * - `unread`: why its history could not be read to the end; the rows are those of the events before.
 *
 * @category models
 * @since 0.1.0
 */
export interface Found {
  readonly run: string
  readonly rows: ReadonlyArray<Row>
  readonly unread?: RunTooNew | RunUntrusted | undefined
}

/**
 * The rows of a run that are looked for, in the order in which the dispatches were given.
 *
 * **Details**
 *
 * Of a run that the journal does not know there are none. Fails with trouble of the store.
 *
 * @category queries
 * @since 0.1.0
 */
export const ofRun = (run: string, query: Query = {}): Effect.Effect<Found, Journal.JournalError, Journal.Journal> =>
  Effect.suspend(() => {
    const all = fold()
    return Stream.runForEach(told(run), ({ event }) => Effect.sync(() => all.add(event))).pipe(
      Effect.as(undefined),
      Effect.catchTags({
        RunTooNew: (unread) => Effect.succeed(unread),
        RunUntrusted: (unread) => Effect.succeed(unread)
      }),
      Effect.map((unread) => {
        const rows = all.rows().filter((row) => matches(row, query))
        return { run, rows, ...(unread === undefined ? {} : { unread }) }
      })
    )
  })

/**
 * The rows of all runs that are looked for, run by run in the order of their ids; runs without any are left out.
 *
 * **Details**
 *
 * A run that cannot be read to its end stops nobody else: it is told, with what could be read of it.
 *
 * @category queries
 * @since 0.1.0
 */
export const ofAll = (query: Query = {}): Stream.Stream<Found, Journal.JournalError, Journal.Journal> =>
  Stream.unwrap(
    Effect.map(Journal.Journal, (journal) =>
      journal.ids.pipe(
        Stream.mapEffect((run) => ofRun(run, query)),
        Stream.filter(({ rows, unread }) => rows.length > 0 || unread !== undefined)
      )
    )
  )

/** The events of a run, with their versions. */
const told = (run: string) =>
  Stream.unwrap(
    Effect.map(Journal.Journal, (journal) =>
      Stream.mapEffect(journal.read(run), (recorded) =>
        Effect.fromResult(
          EffectResult.mapBoth(fromRecord(recorded), {
            onSuccess: (event) => ({ version: recorded.version, event }),
            onFailure: (why) => refusal(run, recorded.version, why)
          })
        )
      )
    )
  )

/**
 * Rows as a table of text: a line of heads, and one line for each row.
 *
 * **Details**
 *
 * The columns are the time, the dispatch, its task, the worker, the version of the contract, the outcome, the confidence,
 * retries, how long it took, why this worker, and the note.
 *
 * **Example** (A table)
 *
 * ```ts
 * import { Audit } from "espalier/run"
 *
 * const rows = Audit.rows([
 *   { _tag: "Routed", at: 5, task: "links", worker: "docs.links", candidates: ["docs.links"], note: "Its plan names it" },
 *   { _tag: "Dispatched", at: 5, task: "links", dispatch: "r1/links/1", worker: "docs.links", contract: 1, note: "Given" }
 * ])
 * const [heads = "", row = ""] = Audit.table(rows).split("\n")
 * heads.startsWith("time ") // => true
 * row.endsWith("Its plan names it  Given") // => true
 * ```
 *
 * @category rendering
 * @since 0.1.0
 */
export const table = (rows: ReadonlyArray<Row>): string =>
  tableOf(
    columns,
    rows.map((row) => cells(row, instantOf))
  )

/**
 * Rows of several runs as a table of text, as {@link table} has it, with the run in a column of its own after the time.
 *
 * @category rendering
 * @since 0.1.0
 */
export const tableOfRuns = (rows: ReadonlyArray<Row & { readonly run: string }>): string => {
  const [time = "", ...rest] = columns
  return tableOf(
    [time, "run", ...rest],
    rows.map((row) => {
      const [at = "", ...others] = cells(row, instantOf)
      return [at, row.run, ...others]
    })
  )
}

/**
 * A row as a line of JSON, with the run, and with `retries` beside `attempts`.
 *
 * @category rendering
 * @since 0.1.0
 */
export const line = (run: string, row: Row): string => JSON.stringify({ run, ...row, retries: row.attempts - 1 })

/** @since 0.1.0 */
export interface Step extends Schema.Schema.Type<typeof Step> {}

/**
 * An event as one plain step of a run.
 *
 * **Details**
 *
 * - `version`, `at`, `type`: of the event. `subject`: the task, group, dispatch, review or worker that it is about; the run
 *   itself is `run`.
 * - `what`: what happened to it, in a few words: the status that it has now, who decided what. `note`: why.
 *
 * @category models
 * @since 0.1.0
 */
export const Step = Schema.Struct({
  version: Schema.Int,
  at: Schema.Finite,
  type: Schema.String,
  subject: Schema.String,
  what: Schema.String,
  note: Schema.String
})

/**
 * An event as a step.
 *
 * @category folding
 * @since 0.1.0
 */
export const step = (version: number, event: RunEvent): Step => {
  const step = stepOf(event)
  if (event._tag !== "ReviewDecided" || event.answer === undefined) return { version, ...step }
  return { version, ...step, what: `${step.what}, answer ${shortened(JSON.stringify(event.answer), longestAnswer)}` }
}

/** An answer may be as long as a document: a step is a line. */
const longestAnswer = 1000

/**
 * Every event of a run as a step, in order.
 *
 * @category queries
 * @since 0.1.0
 */
export const trail = (
  run: string
): Stream.Stream<Step, RunTooNew | RunUntrusted | Journal.JournalError, Journal.Journal> =>
  Stream.map(told(run), ({ event, version }) => step(version, event))

/**
 * A step as a line of text.
 *
 * @category rendering
 * @since 0.1.0
 */
export const stepLine = ({ at, note, subject, type, version, what }: Step): string => {
  const head = `${String(version).padStart(5)}  ${instantOf(at)}  ${type.padEnd(15)}  ${plain(subject)}`
  const said = plain(what)
  const why = plain(note)
  return `${head}${said === "" ? "" : `  ${said}`}${why === "" ? "" : `: ${why}`}`
}
