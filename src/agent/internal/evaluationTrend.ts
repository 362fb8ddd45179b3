/**
 * Scores as data, and what they come to over a time.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type * as Journal from "../../journal/Journal.ts"
import { reports } from "./evaluationReport.ts"

/**
 * Which scores.
 *
 * **Details**
 *
 * - `evaluation`: the name of the evaluation. Default `"evaluation"`.
 * - `desk`, `worker`, `scorer`: only scores of runs of this desk, in which this worker took part, by this scorer. Default: all.
 * - `since`, `until`: only of runs that ended not before and not after, in milliseconds since 1970. Default: all.
 *
 * @category models
 * @since 0.1.0
 */
export interface Query {
  readonly evaluation?: string | undefined
  readonly desk?: string | undefined
  readonly worker?: string | undefined
  readonly scorer?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/**
 * One score of one run. `value`: `null` = no score.
 *
 * @category models
 * @since 0.1.0
 */
export interface Row {
  readonly run: string
  readonly desk: string
  readonly workers: ReadonlyArray<string>
  readonly scorer: string
  readonly value: number | null
  readonly at: number
}

/**
 * Scores as plain rows, the newest run first: what metrics are made of.
 *
 * @category reading
 * @since 0.1.0
 */
export const scores = (query: Query = {}): Stream.Stream<Row, Journal.JournalError, Journal.Journal> => {
  const { desk, evaluation = "evaluation", scorer, since, until, worker } = query
  return reports(evaluation).pipe(
    Stream.filter(
      (report) =>
        (desk === undefined || report.desk === desk) &&
        (worker === undefined || report.workers.includes(worker)) &&
        (since === undefined || report.endedAt >= since) &&
        (until === undefined || report.endedAt <= until)
    ),
    Stream.flatMap((report) =>
      Stream.fromIterable(
        report.scores
          .filter((given) => scorer === undefined || given.scorer === scorer)
          .map(({ scorer, value }) => {
            const { desk, endedAt, run, workers } = report
            return { run, desk, workers, scorer, value, at: endedAt }
          })
      )
    )
  )
}

/**
 * Which scores make a trend, and what it is compared with.
 *
 * **Details**
 *
 * - `by`: one row for each desk and scorer, or for each desk, worker and scorer; a score counts for all who took part.
 *   Default `"desk"`.
 * - `baseline`: the time that it is compared with, as `since` and `until` of a {@link Query}. Default none.
 *
 * @category models
 * @since 0.1.0
 */
export interface TrendQuery extends Query {
  readonly by?: "desk" | "worker" | undefined
  readonly baseline?: { readonly since?: number | undefined; readonly until?: number | undefined } | undefined
}

/**
 * What the scores of one desk, or of one of its workers, come to.
 *
 * **Details**
 *
 * - `count`: scores. `unscored`: runs that a scorer gave no score; they are in none of the numbers.
 * - `mean`, `p10`: of the scores; a tenth of them is not above `p10`. `null` = there are none.
 * - `baseline`: how many scores there were then, and their mean. `change`: the mean now, less that of then; `null` when either
 *   is not known. Absent without a baseline.
 *
 * @category models
 * @since 0.1.0
 */
export interface Trend {
  readonly desk: string
  readonly worker?: string | undefined
  readonly scorer: string
  readonly count: number
  readonly unscored: number
  readonly mean: number | null
  readonly p10: number | null
  readonly baseline?: { readonly count: number; readonly mean: number | null } | undefined
  readonly change?: number | null | undefined
}

interface Group {
  readonly desk: string
  readonly worker: string | undefined
  readonly scorer: string
  readonly values: Array<number>
  unscored: number
}

const grouped = (query: TrendQuery) =>
  Stream.runFold(
    scores(query),
    () => new Map<string, Group>(),
    (groups, { desk, scorer, value, workers }) => {
      const named = workers.filter((worker) => query.worker === undefined || worker === query.worker)
      for (const worker of query.by === "worker" ? named : [undefined]) {
        const key = JSON.stringify([desk, worker ?? null, scorer])
        const group = groups.get(key) ?? { desk, worker, scorer, values: [], unscored: 0 }
        groups.set(key, group)
        if (value === null) group.unscored += 1
        else group.values.push(value)
      }
      return groups
    }
  )

const meanOf = (values: ReadonlyArray<number>): number | null =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length

/** The nearest rank. */
const tenth = (values: ReadonlyArray<number>): number | null =>
  values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length / 10) - 1)] ?? null

/**
 * What scores come to, in the order of desk, worker and scorer.
 *
 * @category reading
 * @since 0.1.0
 */
export const trend = Effect.fnUntraced(function* (
  query: TrendQuery = {}
): Effect.fn.Return<ReadonlyArray<Trend>, Journal.JournalError, Journal.Journal> {
  const now = yield* grouped(query)
  const { since, until } = query.baseline ?? {}
  const then = query.baseline === undefined ? undefined : yield* grouped({ ...query, since, until })
  for (const [key, group] of then ?? []) {
    if (!now.has(key)) now.set(key, { ...group, values: [], unscored: 0 })
  }
  return [...now.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, { desk, scorer, unscored, values, worker }]): Trend => {
      const mean = meanOf(values)
      const before = then?.get(key)?.values ?? []
      const old = meanOf(before)
      return {
        desk,
        ...(worker === undefined ? {} : { worker }),
        scorer,
        count: values.length,
        unscored,
        mean,
        p10: tenth(values),
        ...(then === undefined
          ? {}
          : {
              baseline: { count: before.length, mean: old },
              change: mean === null || old === null ? null : mean - old
            })
      }
    })
})
