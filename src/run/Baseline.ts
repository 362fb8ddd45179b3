/**
 * How well a workflow does, out of the journals of its finished runs, and whether that supports a higher tier of autonomy.
 *
 * A baseline is recorded before a change and compared with later runs: how many tasks were accepted, how often they had to
 * be done again, how often a person had to be asked, and what an accepted task costs.
 *
 * **Details**
 *
 * - Only runs with a `RunFinished` as their last word count. The others are counted as unfinished, and nothing else.
 * - A task that was skipped was not needed: it is no ended task.
 *
 * **Invariants**
 *
 * - B1. What is divided by nothing, and what nobody measured, is not known: `null`, never 0 and never `NaN`.
 * - B2. What is not known supports nothing.
 *
 * **Example** (One finished run)
 *
 * ```ts
 * import { Baseline, type RunEvent } from "espalier/run"
 *
 * const run: ReadonlyArray<RunEvent.RunEvent> = [
 *   { _tag: "TaskEnded", at: 1, task: "links", status: "accepted", missing: [], note: "" },
 *   { _tag: "TaskEnded", at: 2, task: "prose", status: "failed", missing: [], note: "" },
 *   { _tag: "RunFinished", at: 3, status: "partial", stopReason: "accepted", degraded: false, note: "" }
 * ]
 * const { cost, verified } = Baseline.measure([run])
 * verified // => 0.5
 * cost // => null
 * ```
 *
 * @since 0.1.0
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Tier, TierChange } from "./Autonomy.ts"
import { decoder, Problem, sentences } from "./internal/problems.ts"
import type { RunEvent } from "./RunEvent.ts"

const Text = Schema.String.check(Schema.isPattern(/\S/, { expected: "a text that is not empty" }))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a whole number >= 0" })).annotate({
  expected: "a whole number >= 0"
})

const Rate = Schema.NullOr(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a number >= 0" })))

/** @since 0.1.0 */
export interface Measures extends Schema.Schema.Type<typeof Measures> {}

/**
 * What was measured. `null` = not known.
 *
 * **Details**
 *
 * - `runs`: finished ones. `unfinished`: those that do not count.
 * - `ended`, `accepted`: tasks. `dispatches`: orders given. `reports`: orders that were answered.
 * - `costReports`, `tokenReports`: answers that say what they cost, and how many tokens they took.
 * - `verified`: accepted tasks of all ended ones, between 0 and 1.
 * - `rework`: orders beyond the first of each task, for each accepted task.
 * - `escalations`: reviews for each run.
 * - `cost`, `tokens`: for each accepted task, those of all tasks together, as far as they were measured.
 *
 * @category models
 * @since 0.1.0
 */
export const Measures = Schema.Struct({
  runs: Count,
  unfinished: Count,
  ended: Count,
  accepted: Count,
  dispatches: Count,
  reports: Count,
  costReports: Count,
  tokenReports: Count,
  verified: Rate,
  rework: Rate,
  escalations: Rate,
  cost: Rate,
  tokens: Rate
})

/**
 * Which events open a review.
 *
 * @category models
 * @since 0.1.0
 */
export type Opens = (event: RunEvent) => boolean

/**
 * The default of {@link Opens}: events with the tag `ReviewOpened`.
 *
 * @category measuring
 * @since 0.1.0
 */
export const opensReview: Opens = ({ _tag }) => {
  const tag: string = _tag
  return tag === "ReviewOpened"
}

/** B1. */
const per = (amount: number, of: number): number | null => {
  const rate = amount / of
  return of > 0 && Number.isFinite(rate) ? rate : null
}

/**
 * Measures runs by their events.
 *
 * **Details**
 *
 * - `runs`: the events of each run, in their order.
 * - `opens`: which events open a review. Default {@link opensReview}.
 *
 * @category measuring
 * @since 0.1.0
 */
export const measure = (
  runs: Iterable<Iterable<RunEvent>>,
  options: { readonly opens?: Opens | undefined } = {}
): Measures => {
  const { opens = opensReview } = options
  const all = nothing()
  let finished = 0
  let unfinished = 0
  for (const events of runs) {
    const run = countRun(events, opens)
    if (!run.finished) {
      unfinished += 1
      continue
    }
    finished += 1
    for (const name of names) all[name] += run.counts[name]
  }
  const { accepted, cost, costReports, dispatches, ended, reports, reviews, rework, tokenReports, tokens } = all
  return {
    runs: finished,
    unfinished,
    ended,
    accepted,
    dispatches,
    reports,
    costReports,
    tokenReports,
    verified: per(accepted, ended),
    rework: per(rework, accepted),
    escalations: per(reviews, finished),
    cost: costReports === 0 ? null : per(cost, accepted),
    tokens: tokenReports === 0 ? null : per(tokens, accepted)
  }
}

const names = [
  "accepted",
  "cost",
  "costReports",
  "dispatches",
  "ended",
  "reports",
  "reviews",
  "rework",
  "tokenReports",
  "tokens"
] as const

type Counts = Record<(typeof names)[number], number>

const nothing = (): Counts => ({
  accepted: 0,
  cost: 0,
  costReports: 0,
  dispatches: 0,
  ended: 0,
  reports: 0,
  reviews: 0,
  rework: 0,
  tokenReports: 0,
  tokens: 0
})

const countRun = (
  events: Iterable<RunEvent>,
  opens: Opens
): { readonly finished: boolean; readonly counts: Counts } => {
  const counts = nothing()
  const ordered = new Set<string>()
  let finished = false
  for (const event of events) {
    finished = event._tag === "RunFinished"
    if (opens(event)) counts.reviews += 1
    switch (event._tag) {
      case "Dispatched": {
        counts.dispatches += 1
        if (ordered.has(event.task)) counts.rework += 1
        ordered.add(event.task)
        break
      }
      case "Reported": {
        const { cost, tokens } = event.result.usage
        counts.reports += 1
        counts.costReports += cost === undefined ? 0 : 1
        counts.tokenReports += tokens === undefined ? 0 : 1
        counts.cost += cost ?? 0
        counts.tokens += tokens ?? 0
        break
      }
      case "TaskEnded": {
        counts.ended += event.status === "skipped" ? 0 : 1
        counts.accepted += event.status === "accepted" ? 1 : 0
        break
      }
    }
  }
  return { finished, counts }
}

/** @since 0.1.0 */
export interface Baseline extends Schema.Schema.Type<typeof Baseline> {}

/**
 * A recorded measurement of a workflow.
 *
 * **Details**
 *
 * - `workflow`, `version`: which one. `tier`: the one that it ran at.
 * - `at`: when it was recorded, in milliseconds since 1970, >= 0.
 *
 * @category models
 * @since 0.1.0
 */
export const Baseline = Schema.Struct({
  workflow: Text,
  version: Text,
  tier: Tier,
  at: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0, { expected: "a time in milliseconds >= 0" })),
  measures: Measures
})

/**
 * A baseline that cannot be recorded or read. The message names the first problem, `problems` has them all.
 *
 * @category errors
 * @since 0.1.0
 */
export class BaselineInvalid extends Schema.TaggedError<BaselineInvalid>("espalier/run/Baseline/BaselineInvalid")(
  "BaselineInvalid",
  { problems: Schema.Array(Problem) }
) {
  override get message(): string {
    return `BASELINE_INVALID: ${sentences(this.problems, "the baseline")}`
  }
}

const decodeBaseline = decoder(Baseline, "error")

/**
 * Checks any value as a baseline.
 *
 * @category recording
 * @since 0.1.0
 */
export const parse = (input: unknown): Result.Result<Baseline, BaselineInvalid> =>
  Result.mapError(decodeBaseline(input), (problems) => new BaselineInvalid({ problems }))

/**
 * Measures runs as the baseline of a workflow.
 *
 * **Details**
 *
 * - `runs`: the events of each run. One that began with another desk or version than `workflow` and `version` is refused.
 * - `opens`: as in {@link measure}.
 *
 * Fails with {@link BaselineInvalid} when a field or a run does not hold.
 *
 * @category recording
 * @since 0.1.0
 */
export const record = (
  of: Omit<Baseline, "measures">,
  runs: Iterable<Iterable<RunEvent>>,
  options: { readonly opens?: Opens | undefined } = {}
): Result.Result<Baseline, BaselineInvalid> => {
  const histories = Array.from(runs, (events) => [...events])
  const problems = histories.flatMap((events, index): ReadonlyArray<Problem> => {
    const began = events.find((event) => event._tag === "RunStarted")
    if (began?.desk === of.workflow && began.version === of.version) return []
    const actual = began === undefined ? "" : `${began.desk} ${began.version}`
    return [{ path: `runs[${index}]`, expectation: `must be a run of ${of.workflow} ${of.version}`, actual }]
  })
  if (problems.length > 0) return Result.fail(new BaselineInvalid({ problems }))
  const { at, tier, version, workflow } = of
  return parse({ workflow, version, tier, at, measures: measure(histories, options) })
}

/** @since 0.1.0 */
export interface Reason extends Schema.Schema.Type<typeof Reason> {}

/**
 * One condition for a higher tier: whether it holds, and why in one plain sentence.
 *
 * @category comparing
 * @since 0.1.0
 */
export const Reason = Schema.Struct({ holds: Schema.Boolean, sentence: Schema.String })

/** @since 0.1.0 */
export interface Comparison extends Schema.Schema.Type<typeof Comparison> {}

/**
 * A baseline and what was measured since.
 *
 * **Details**
 *
 * - `differences`: of now from the baseline, positive where now is more. `null` = not known.
 * - `supported`: whether raising the tier is supported: all reasons hold.
 * - `changes`: of the tier, with who and why, oldest first. `history`: the same as plain sentences.
 *
 * @category comparing
 * @since 0.1.0
 */
export const Comparison = Schema.Struct({
  baseline: Baseline,
  now: Baseline,
  differences: Schema.Struct({
    verified: Schema.NullOr(Schema.Finite),
    rework: Schema.NullOr(Schema.Finite),
    escalations: Schema.NullOr(Schema.Finite),
    cost: Schema.NullOr(Schema.Finite),
    tokens: Schema.NullOr(Schema.Finite)
  }),
  supported: Schema.Boolean,
  reasons: Schema.Array(Reason),
  changes: Schema.Array(TierChange),
  history: Schema.Array(Schema.String)
})

/**
 * Compares what was measured now with a baseline.
 *
 * **Details**
 *
 * - `runs`: how many finished runs each side needs, a whole number >= 1. Default 20.
 * - `changes`: of the workflow's tier, in any order. Default none.
 *
 * Raising the tier is supported when both are of one workflow, the tier can be raised, both have enough runs, the share of
 * verified tasks is not lower, and rework and escalations are not higher. What they cost is told, and decides nothing.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` when `runs` is not a whole number >= 1.
 *
 * @category comparing
 * @since 0.1.0
 */
export const compare = (
  baseline: Baseline,
  now: Baseline,
  options: { readonly runs?: number | undefined; readonly changes?: ReadonlyArray<TierChange> | undefined } = {}
): Comparison => {
  const { runs = 20 } = options
  if (!Number.isInteger(runs) || runs < 1) {
    throw new RangeError(`Baseline.compare: runs must be a whole number >= 1, got ${runs}`)
  }
  const before = baseline.measures
  const after = now.measures
  const reasons: ReadonlyArray<Reason> = [
    sameWorkflow(baseline, now),
    {
      holds: now.tier !== "full",
      sentence: `The tier is ${now.tier}${now.tier === "full" ? ", the highest one" : ""}`
    },
    enough("The baseline", before.runs, runs),
    enough("Now", after.runs, runs),
    notLower(before.verified, after.verified),
    notHigher("Rework for each accepted task", before.rework, after.rework),
    notHigher("Escalations for each run", before.escalations, after.escalations)
  ]
  const changes = (options.changes ?? []).toSorted((one, other) => one.at - other.at)
  return {
    baseline,
    now,
    differences: {
      verified: less(after.verified, before.verified),
      rework: less(after.rework, before.rework),
      escalations: less(after.escalations, before.escalations),
      cost: less(after.cost, before.cost),
      tokens: less(after.tokens, before.tokens)
    },
    supported: reasons.every(({ holds }) => holds),
    reasons,
    changes,
    history: changes.map(({ from, to, who, why }) => `${who} changed the tier from ${from} to ${to}: ${why}`)
  }
}

const less = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one - other

const sameWorkflow = (baseline: Baseline, now: Baseline): Reason => {
  const [one, other] = [baseline, now].map(({ version, workflow }) => `${workflow} ${version}`)
  if (baseline.workflow !== now.workflow) {
    return { holds: false, sentence: `The baseline is of another workflow: ${one}, not ${other}` }
  }
  const sentence = one === other ? `Both are of ${one}` : `The baseline is of ${one}, and now is ${other}`
  return { holds: true, sentence }
}

const enough = (side: string, has: number, needs: number): Reason => ({
  holds: has >= needs,
  sentence: `${side} has ${has} finished ${has === 1 ? "run" : "runs"}, and ${needs} are needed`
})

/** A rate for people: at most three digits after the point. */
const round = (rate: number): string => String(Math.round(rate * 1_000) / 1_000)

/** B2. */
const notKnown = (what: string, before: number | null): Reason => ({
  holds: false,
  sentence: `${what}: not known ${before === null ? "for the baseline" : "now"}`
})

const notLower = (before: number | null, after: number | null): Reason =>
  before === null || after === null
    ? notKnown(verifiedTasks, before)
    : { holds: after >= before, sentence: moving(verifiedTasks, before, after) }

const verifiedTasks = "Verified tasks of all ended ones"

const notHigher = (what: string, before: number | null, after: number | null): Reason =>
  before === null || after === null
    ? notKnown(what, before)
    : { holds: after <= before, sentence: moving(what, before, after) }

const moving = (what: string, before: number, after: number): string =>
  before === after
    ? `${what} stayed at ${round(after)}`
    : `${what} ${after > before ? "rose" : "fell"} from ${round(before)} to ${round(after)}`
