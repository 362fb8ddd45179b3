// @effect-diagnostics nodeBuiltinImport:off -- baselines are files.
/**
 * How far runs may go on their own, how well that goes, against a recorded baseline, and who changed it. A Node file: uses
 * `node:fs`.
 *
 * @since 0.1.0
 */
import { readFile, writeFile } from "node:fs/promises"

import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as EffectResult from "effect/Result"
import * as Stream from "effect/Stream"

import * as Journal from "../journal/Journal.ts"
import type * as Autonomy from "../run/Autonomy.ts"
import * as Baseline from "../run/Baseline.ts"
import { many, shorten, thrown } from "../run/internal/problems.ts"
import { plain } from "../run/internal/text.ts"
import { wordOf } from "../run/internal/word.ts"
import * as Run from "../run/Run.ts"
import type { RunEvent } from "../run/RunEvent.ts"
import { Damaged, Misused, Refused } from "./failures.ts"
import { refused } from "./files.ts"
import { type Look, painted, timeOf } from "./look.ts"
import { here, print, printJson, warn } from "./printing.ts"
import { demand } from "./reading.ts"
import { labelled, tableIn } from "./table.ts"

/** What of a run is measured. */
interface Measured {
  readonly run: string
  readonly desk: string
  readonly version: string
  readonly startedAt: number
  readonly tier: Autonomy.Tier
  readonly events: ReadonlyArray<RunEvent>
  readonly changes: ReadonlyArray<Change>
}

/** A change of the tier of a run. `taken`: whether it is in the run; else it was left for whoever carries it out. */
export interface Change extends Autonomy.TierChange {
  readonly run: string
  readonly taken: boolean
}

/** How well a desk does, or a run of it. `baseline`: what it is compared with; `supported`: whether a higher tier is. */
export interface Report {
  readonly desk: string
  readonly version: string
  readonly tier: Autonomy.Tier
  readonly measures: Baseline.Measures
  readonly baseline?: Baseline.Baseline | undefined
  readonly differences?: Baseline.Comparison["differences"] | undefined
  readonly supported?: boolean | undefined
  readonly reasons?: ReadonlyArray<Baseline.Reason> | undefined
  readonly changes: ReadonlyArray<Change>
}

/** An event without what nothing is measured by, which may be large; nothing where nothing is. */
const slim = (event: RunEvent): ReadonlyArray<RunEvent> => {
  switch (event._tag) {
    case "Dispatched":
    case "TaskEnded":
    case "RunFinished":
      return [event]
    case "ReviewOpened":
      return [{ ...event, facts: {} }]
    case "Reported": {
      const { output: _, ...result } = event.result
      return [{ ...event, result }]
    }
    default:
      return []
  }
}

/** Reads a run. */
const measured = Effect.fnUntraced(function* (run: string) {
  const events: Array<RunEvent> = []
  const changes: Array<Change> = []
  const journal = yield* Journal.Journal
  let began: Pick<Measured, "desk" | "version" | "startedAt" | "tier"> | undefined
  yield* Stream.runForEach(Run.events(run), (event) =>
    Effect.sync(() => {
      events.push(...slim(event))
      if (event._tag === "RunStarted") {
        const { at, desk, tier = "medium", version } = event
        began = { desk, version, startedAt: at, tier }
      }
      if (event._tag !== "AutonomyChanged") return
      const { at, by, from, note, to } = event
      changes.push({ run, from, to, who: by, why: note, at, taken: true })
    })
  )
  if (began === undefined) return undefined
  const tier = changes.at(-1)?.to ?? began.tier
  for (const left of yield* journal.commands(run)) {
    const word = wordOf(left)
    if (word._tag !== "AutonomyChanged") continue
    const { by, from, note, to } = word
    changes.push({ run, from, to, who: by, why: note, at: left.at, taken: false })
  }
  const found: Measured = { run, ...began, tier, events, changes }
  return found
})

/** What is told of a desk, from runs of it, with the baseline where there is one. */
export const reportOf = (
  runs: ReadonlyArray<Measured>,
  baseline: Baseline.Baseline | undefined,
  now: number
): Report | undefined => {
  const newest = runs.toSorted((one, other) => one.startedAt - other.startedAt).at(-1)
  if (newest === undefined) return undefined
  const { desk, tier, version } = newest
  const measures = Baseline.measure(runs.map(({ events }) => events))
  const changes = runs.flatMap(({ changes }) => changes).toSorted((one, other) => one.at - other.at)
  const report = { desk, version, tier, measures, changes }
  if (baseline === undefined) return report
  const current = { workflow: desk, version, tier, at: now, measures }
  const { differences, reasons, supported } = Baseline.compare(baseline, current, { changes })
  return { ...report, baseline, differences, supported, reasons }
}

const readBaselines = Effect.fnUntraced(function* (file: string) {
  const unusable = (reason: string) => new Refused({ reason: `${file} cannot be used as a baseline: ${reason}` })
  const text = yield* Effect.tryPromise({
    try: () => readFile(file, "utf8"),
    catch: (cause) => refused(`${file} cannot be read`, cause)
  })
  const value = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (cause) => unusable(`it must be JSON: ${shorten(thrown(cause), 120)}`)
  })
  const all: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  return yield* Effect.forEach(all, (each) =>
    Effect.fromResult(EffectResult.mapError(Baseline.parse(each), ({ message }) => unusable(message)))
  )
})

/** What was not measured is not known. */
const rate = (value: number | null, difference: number | null | undefined): string => {
  if (value === null) return "not known"
  const round = (of: number): number => Math.round(of * 1_000) / 1_000
  const moved = difference === null || difference === undefined ? 0 : round(difference)
  return `${round(value)}${moved === 0 ? "" : ` (${moved > 0 ? "+" : ""}${moved})`}`
}

/** Reports as text. */
export const reportsText = (look: Look, reports: ReadonlyArray<Report>): string => {
  const rows = reports.map(({ desk, differences, measures, tier, version }) => [
    desk,
    version,
    tier,
    String(measures.runs),
    String(measures.unfinished),
    rate(measures.verified, differences?.verified),
    rate(measures.rework, differences?.rework),
    rate(measures.escalations, differences?.escalations),
    rate(measures.cost, differences?.cost),
    rate(measures.tokens, differences?.tokens)
  ])
  const heads = ["desk", "version", "tier", "runs", "unfinished", "verified", "rework", "escalations", "cost", "tokens"]
  const compared = reports.flatMap(({ baseline, desk, reasons = [], supported }) =>
    baseline === undefined
      ? []
      : [
          "",
          painted(look, "bold", `${plain(desk)}: a higher tier is ${supported === true ? "" : "not "}supported`),
          labelled(look, "", 0, `baseline of ${timeOf(look, baseline.at)}, at tier ${baseline.tier}`),
          ...reasons.map(({ holds, sentence }) =>
            labelled(look, { text: holds ? "yes" : "no", style: holds ? "green" : "red" }, 5, plain(sentence))
          )
        ]
  )
  const changes = reports
    .flatMap(({ changes }) => changes)
    .map(({ at, from, run, taken, to, who, why }) => {
      return [timeOf(look, at), run, from, to, who, `${why}${taken ? "" : " (not taken in yet)"}`]
    })
  return [
    tableIn(look, heads, rows),
    ...compared,
    ...(changes.length === 0
      ? []
      : ["", painted(look, "bold", "changes"), tableIn(look, ["time", "run", "from", "to", "by", "why"], changes)])
  ].join("\n")
}

/** Which runs, what they are compared with, and where what is measured goes. */
export interface Asked {
  readonly run?: string | undefined
  readonly desk?: string | undefined
  readonly baseline?: string | undefined
  readonly record?: string | undefined
}

const write = Effect.fnUntraced(function* (file: string, reports: ReadonlyArray<Report>, at: number) {
  const baselines: ReadonlyArray<Baseline.Baseline> = reports.map(({ desk, measures, tier, version }) => ({
    workflow: desk,
    version,
    tier,
    at,
    measures
  }))
  yield* Effect.tryPromise({
    try: () => writeFile(file, `${JSON.stringify(baselines, null, 2)}\n`, { flag: "wx" }),
    catch: (cause) => refused(`${file} cannot be written`, cause)
  })
})

/** Tells how well runs do at the tiers that they have. */
export const autonomy = Effect.fnUntraced(function* ({ baseline, desk, record, run }: Asked, json: boolean) {
  if (record !== undefined && (run !== undefined || baseline !== undefined)) {
    return yield* new Misused({ reason: "--record is of all runs of a desk: it takes no run and no --baseline" })
  }
  if (run !== undefined) yield* demand(run)
  const baselines = baseline === undefined ? [] : yield* readBaselines(baseline)
  const journal = yield* Journal.Journal
  const now = yield* Clock.currentTimeMillis
  const desks = new Map<string, Array<Measured>>()
  let damaged = false
  const read = (id: string) =>
    measured(id).pipe(
      Effect.catchTags({
        RunTooNew: ({ message }) => Effect.as(warn(plain(message)), "unread" as const),
        RunUntrusted: ({ message }) => Effect.as(warn(plain(message)), "unread" as const)
      })
    )
  yield* Stream.runForEach(run === undefined ? journal.ids : Stream.succeed(run), (id) =>
    Effect.map(read(id), (found) => {
      if (found === "unread") damaged = true
      else if (found !== undefined && (desk === undefined || found.desk === desk)) {
        desks.set(found.desk, [...(desks.get(found.desk) ?? []), found])
      }
    })
  )
  const reports = [...desks.values()].flatMap((runs) => {
    const against = baselines.find(({ workflow }) => workflow === runs[0]?.desk)
    // What was measured for the baseline is not measured again.
    const later =
      against === undefined ? [] : run === undefined ? runs.filter((each) => each.startedAt >= against.at) : runs
    const report = later.length === 0 ? reportOf(runs, undefined, now) : reportOf(later, against, now)
    return report === undefined ? [] : [report]
  })
  for (const { baseline: against, desk } of reports) {
    if (baseline !== undefined && against === undefined) {
      yield* warn(`${plain(desk)} is compared with nothing: ${baseline} has no baseline of it that runs came after`)
    }
  }
  if (record !== undefined) yield* write(record, reports, now)
  if (json) yield* printJson(reports)
  else yield* print(reports.length === 0 ? "no runs" : reportsText(here(), reports))
  if (record !== undefined) yield* warn(`${many(reports.length, "baseline")} recorded in ${record}`)
  if (damaged) return yield* new Damaged()
})

/** Changes the tier of a run, by word that whoever carries it out takes in. */
export const setTier = Effect.fnUntraced(function* (
  run: string,
  to: Autonomy.Tier,
  { by, why }: { readonly by: string; readonly why: string },
  json: boolean
) {
  yield* demand(run)
  const journal = yield* Journal.Journal
  for (const left of yield* journal.commands(run)) {
    const word = wordOf(left)
    if (word._tag !== "AutonomyChanged") continue
    const said = `${word.by} has changed it from ${word.from} to ${word.to}`
    return yield* new Refused({
      reason: `the tier of ${run} is about to change: ${plain(said)}; that is not taken in yet`
    })
  }
  const { tier: from } = yield* Run.state(run)
  yield* Run.changeTier(run, { from, to, who: by, why })
  const { tier } = yield* Run.state(run)
  const taken = tier === to
  if (json) return yield* printJson({ run, from, to, by, why, taken })
  const when = taken ? "" : " when the run is carried out"
  yield* print(`${run}: the tier changes from ${from} to ${to}${when}, by ${plain(by)}: ${plain(why)}`)
})
