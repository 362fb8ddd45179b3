/**
 * How well workers are chosen: precision, recall and F1 of each, and what else shows a router that does not route.
 *
 * It needs choices of which it is known who should have been chosen, and there are three sources of those. They say different
 * things, and no number here is made of two of them.
 *
 * | source | who says who should have been chosen |
 * |---|---|
 * | `golden` | a set of examples with answers, which you have a router answer: see {@link of} and {@link record} |
 * | `human` | people who were asked for a route that nobody could choose |
 * | `outcome` | what came of it: a first choice whose result was accepted was right; one that refused or failed was wrong when another worker's result was accepted for the same task |
 *
 * **Details**
 *
 * - `outcome` is a weak label: it says nothing of a worker that would have been better, and leaves out what nobody could do.
 * - Macro-F1 counts each class the same, however rare it is. Look at the worst one beside it.
 * - A corpus in which most answers are `none` rewards a router that never chooses: so there are the share of the most chosen
 *   worker, and of choices of nobody.
 *
 * **Invariants**
 *
 * - Q1. A confidence is no label: nothing here is made of what a model thinks of its own answer.
 * - Q2. A class with less than `least` labels says so, and so does the report.
 *
 * **Example** (A set of examples)
 *
 * ```ts
 * import { RoutingQuality } from "espalier/observe"
 *
 * const answers = [
 *   { predicted: "billing", expected: "billing" },
 *   { predicted: "billing", expected: "refunds" },
 *   { predicted: "refunds", expected: "refunds" }
 * ]
 * const report = RoutingQuality.of(answers, { least: 1 })
 * report.classes.map(({ name, precision, recall }) => [name, precision, recall])
 * // => [["billing", 0.5, 1], ["refunds", 1, 0.5]]
 * report.worst?.name // => "billing"
 * report.macroF1?.toFixed(2) // => "0.67"
 * RoutingQuality.of(answers).enough // => false
 * ```
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import { Given } from "../run/internal/given.ts"
import * as Run from "../run/Run.ts"
import type { Attributes } from "./internal/cardinality.ts"
import { f1Of, hitsOf, matrixOf, type Pair, share } from "./internal/confusion.ts"
import { make as makeMeasuring } from "./internal/measures/measuring.ts"
import { nobody, routing } from "./internal/measures/routing.ts"
import { attribute as a } from "./internal/names.ts"
import { Metrics } from "./Metrics.ts"

/**
 * A choice, and the one that would have been right. `none`: nobody.
 *
 * @category models
 * @since 0.1.0
 */
export interface Label {
  readonly predicted: string
  readonly expected: string
}

/**
 * Where labels come from.
 *
 * @category models
 * @since 0.1.0
 */
export type Source = "golden" | "human" | "outcome"

/**
 * How well one worker is chosen.
 *
 * **Details**
 *
 * - `hits`: choices of it that were right. `predicted`: choices of it. `expected`: where it should have been chosen.
 * - `precision`, `recall`: absent where it was never chosen, or never should have been. `f1`: of both; 0 where nothing was hit.
 * - `enough`: whether there are `least` labels of it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Class {
  readonly name: string
  readonly hits: number
  readonly predicted: number
  readonly expected: number
  readonly precision: number | undefined
  readonly recall: number | undefined
  readonly f1: number
  readonly enough: boolean
}

/**
 * What labels and decisions come to.
 *
 * **Details**
 *
 * - `labels`: how many. `matrix`: how often each was expected, and what was predicted then. `classes`: by name.
 * - `macroF1`: the mean of all classes. `worst`: the one with the least F1. Both absent without a label.
 * - `enough`: whether each class has enough labels. Without that the numbers are noise.
 * - `decisions`: choices that were made, with a label or without. `concentration`: the share of the worker that was chosen most,
 *   which is `top`. `abstention`: the share of nobody. `coverage`: how many labels there are for a decision. All absent without a decision.
 *
 * @category models
 * @since 0.1.0
 */
export interface Report {
  readonly labels: number
  readonly matrix: ReadonlyMap<string, ReadonlyMap<string, number>>
  readonly classes: ReadonlyArray<Class>
  readonly macroF1: number | undefined
  readonly worst: Class | undefined
  readonly enough: boolean
  readonly decisions: number
  readonly top: string | undefined
  readonly concentration: number | undefined
  readonly abstention: number | undefined
  readonly coverage: number | undefined
}

/**
 * **Details**
 *
 * - `least`: labels that a class needs, a whole number >= 1. Default 30.
 * - `decisions`: how often each was chosen, `none` for nobody. Default: the labels are all that was chosen.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly least?: number | undefined
  readonly decisions?: ReadonlyMap<string, number> | undefined
}

/**
 * The report of some labels. They have to be of one source.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when `least` is out of range.
 *
 * @category reports
 * @since 0.1.0
 */
export const of = (labels: Iterable<Label>, options: Options = {}): Report => {
  const given = new Given("RoutingQuality.of")
  given.record("options", options, ["least", "decisions"])
  const { least = 30 } = options
  given.whole("least", least, 1)
  const all = [...labels]
  const matrix = matrixOf(all)
  const classes = hitsOf(matrix).map((hits): Class => {
    const { expected, predicted } = hits
    return {
      ...hits,
      precision: share(hits.hits, predicted),
      recall: share(hits.hits, expected),
      f1: f1Of(hits),
      enough: expected >= least // Q2
    }
  })
  const [first, ...others] = classes
  return {
    labels: all.length,
    matrix,
    classes,
    macroF1: share(
      classes.reduce((sum, { f1 }) => sum + f1, 0),
      classes.length
    ),
    worst: first === undefined ? undefined : others.reduce((worst, each) => (each.f1 < worst.f1 ? each : worst), first),
    enough: first !== undefined && classes.every(({ enough }) => enough),
    ...chosenOf(all.length, options.decisions ?? counted(all))
  }
}

const counted = (labels: ReadonlyArray<Pair>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const { predicted } of labels) counts.set(predicted, (counts.get(predicted) ?? 0) + 1)
  return counts
}

const chosenOf = (
  labels: number,
  counts: ReadonlyMap<string, number>
): Pick<Report, "decisions" | "top" | "concentration" | "abstention" | "coverage"> => {
  let decisions = 0
  let top: readonly [string, number] | undefined
  for (const [name, count] of counts) {
    decisions += count
    if (name !== nobody && count > (top?.[1] ?? 0)) top = [name, count]
  }
  return {
    decisions,
    top: top?.[0],
    concentration: share(top?.[1] ?? 0, decisions),
    abstention: share(counts.get(nobody) ?? 0, decisions),
    coverage: share(labels, decisions)
  }
}

/**
 * Whose choices, and when.
 *
 * **Details**
 *
 * - `supervisor`: a desk, or a desk and the kind of a group as in `release/decompose`, as in the metrics.
 * - `source`: of the labels; `golden` ones are in no journal.
 * - `window`: only what happened in it, in milliseconds since 1970, both ends included. Default: all.
 * - `runs`: how many runs are read at most, the newest, a whole number >= 1. Default 1,000.
 * - `least`: see {@link Options}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Query {
  readonly supervisor: string
  readonly source: "human" | "outcome"
  readonly window?: { readonly since?: number | undefined; readonly until?: number | undefined } | undefined
  readonly runs?: number | undefined
  readonly least?: number | undefined
}

/**
 * The report of a supervisor's choices, out of the journal.
 *
 * **Details**
 *
 * - `unread`: runs that cannot be read, and are in none of the numbers.
 * - Dies with a `RangeError` when an option is out of range.
 *
 * @category reports
 * @since 0.1.0
 */
export const report: (
  query: Query
) => Effect.Effect<Report & { readonly unread: number }, Journal.JournalError, Journal.Journal> = Effect.fnUntraced(
  function* (query) {
    const given = new Given("RoutingQuality.report")
    given.record("query", query, ["supervisor", "source", "window", "runs", "least"])
    const { least, runs = 1000, source, supervisor, window } = query
    given.text("supervisor", supervisor)
    given.oneOf("source", source, ["human", "outcome"])
    given.whole("runs", runs, 1)
    const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = window ?? {}
    const labels: Array<Label> = []
    const decisions = new Map<string, number>()
    const take = (attributes: Attributes): void => {
      const { [a.expected]: expected, [a.predicted]: predicted, [a.selected]: selected } = attributes
      if (selected !== undefined) decisions.set(selected, (decisions.get(selected) ?? 0) + 1)
      if (expected !== undefined && predicted !== undefined && attributes[a.labelSource] === source) {
        labels.push({ predicted, expected })
      }
    }
    const journal = yield* Journal.Journal
    let unread = 0
    for (const { run } of yield* journal.runs({ desk: supervisor.split("/", 1)[0], limit: runs })) {
      const measuring = makeMeasuring([routing])
      const found: Array<Attributes> = []
      const read = Stream.runForEach(Run.events(run), (event) =>
        Effect.sync(() => {
          const inside = event.at >= since && event.at <= until
          for (const { attributes } of measuring.happened(event)) {
            if (inside && attributes[a.supervisor] === supervisor) found.push(attributes)
          }
        })
      )
      yield* Effect.catchTags(
        Effect.andThen(
          read,
          Effect.sync(() => found.forEach(take))
        ),
        {
          RunTooNew: () => Effect.sync(() => (unread += 1)),
          RunUntrusted: () => Effect.sync(() => (unread += 1))
        }
      )
    }
    return { ...of(labels, { least, decisions }), unread }
  }
)

/**
 * Counts the answer to an example of a golden set, in the metric that has the labels of all sources apart.
 *
 * @category recording
 * @since 0.1.0
 */
export const record = (label: Label & { readonly supervisor: string }): Effect.Effect<void, never, Metrics> =>
  Effect.flatMap(Metrics, (metrics) => metrics.labelled(label))
