import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Journal } from "espalier/journal"
import { type Autonomy, Baseline, Run, type RunEvent } from "espalier/run"

import { type Change, reportOf, reportsText } from "../../src/cli/autonomy.ts"
import { piped } from "../../src/cli/look.ts"
import { withCommand } from "../fixtures/real.ts"
import { withJournal } from "../journal/fixtures/folder.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"

/** A finished run, in which so many of four tasks were accepted. */
const measured = (run: string, startedAt: number, accepted: number, changes: ReadonlyArray<Change> = []) => {
  const events: ReadonlyArray<RunEvent.RunEvent> = [
    ...Array.from({ length: 4 }, (_, at): RunEvent.RunEvent => {
      const status = at < accepted ? "accepted" : "failed"
      return { _tag: "TaskEnded", at, task: `t${at}`, status, missing: [], note: "" }
    }),
    { _tag: "RunFinished", at: 9, status: "partial", stopReason: "accepted", degraded: false, note: "" }
  ]
  const tier: Autonomy.Tier = changes.at(-1)?.to ?? "low"
  return { run, desk: "docs", version: "1", startedAt, tier, events, changes }
}

const change: Change = {
  run: "r2",
  from: "low",
  to: "medium",
  who: "ann",
  why: "It went\u001B[2J well",
  at: 70_000,
  taken: true
}

describe("autonomy", () => {
  it("R-219 says how a desk does against its baseline, and who changed a tier and why", () => {
    const measures = Baseline.measure([measured("r0", 1, 2).events])
    const baseline = { workflow: "docs", version: "1", tier: "low", at: 5_000, measures } as const
    const report = reportOf([measured("r1", 6_000, 4), measured("r2", 60_000, 3, [change])], baseline, 90_000)
    assert.deepStrictEqual(reportsText(piped, report === undefined ? [] : [report]).split("\n"), [
      "desk  version  tier    runs  unfinished  verified        rework  escalations  cost       tokens",
      "docs  1        medium  2     0           0.875 (+0.375)  0       0            not known  not known",
      "",
      "docs: a higher tier is not supported",
      "baseline of 1970-01-01T00:00:05.000Z, at tier low",
      "yes  Both are of docs 1",
      "yes  The tier is medium",
      "no   The baseline has 1 finished run, and 20 are needed",
      "no   Now has 2 finished runs, and 20 are needed",
      "yes  Verified tasks of all ended ones rose from 0.5 to 0.875",
      "yes  Rework for each accepted task stayed at 0",
      "yes  Escalations for each run stayed at 0",
      "",
      "changes",
      "time                      run  from  to      by   why",
      "1970-01-01T00:01:10.000Z  r2   low   medium  ann  It went [2J well"
    ])
    assert.strictEqual(reportOf([], baseline, 90_000), undefined)
  })

  withCommand(
    "R-219 records a baseline, compares with it, and refuses one that is none",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const file = join(dirname(journal), "before.json")
        assert.strictEqual((yield* espalier(journal, ["autonomy", "--record", file])).code, 0)
        const [baseline] = JSON.parse(readFileSync(file, "utf8"))
        assert.deepInclude(baseline, { workflow: "gazette", version: "1", tier: "medium" })
        assert.deepInclude(baseline.measures, { runs: 3, unfinished: 3, accepted: 6, verified: 1 })
        const again = yield* espalier(journal, ["autonomy", "--record", file])
        assert.deepStrictEqual(
          [again.code, again.err],
          [2, [`espalier: ${file} cannot be written: it is there already`]]
        )
        writeFileSync(file, JSON.stringify({ ...baseline, at: 5, tier: "low" }))
        const compared = yield* espalier(journal, ["autonomy", "--baseline", file, "--json"])
        const [report] = JSON.parse(compared.out[0]!)
        assert.deepInclude(report, { desk: "gazette", supported: false })
        assert.deepInclude(report.differences, { verified: 0, rework: 0, escalations: 0, cost: null })
        writeFileSync(file, JSON.stringify([{ ...baseline, tier: "high" }]))
        const wrong = yield* espalier(journal, ["autonomy", "--baseline", file])
        assert.strictEqual(wrong.code, 2)
        assert.include(wrong.err[0], `${file} cannot be used as a baseline: BASELINE_INVALID: tier must be`)
      }),
    120_000
  )

  withCommand(
    "R-216 R-219 a tier is set by who does not carry the run out, once, and told with who and why",
    () =>
      Effect.gen(function* () {
        const journal = yield* copied
        const set = (run: string, tier: string) =>
          espalier(journal, ["autonomy", "set", run, tier, "--by", "ann", "--why", "A bad day"])
        assert.deepStrictEqual(yield* set("waiting", "low"), {
          code: 0,
          out: ["waiting: the tier changes from medium to low when the run is carried out, by ann: A bad day"],
          err: []
        })
        const twice = yield* set("waiting", "full")
        assert.deepStrictEqual([twice.code, twice.out], [2, []])
        assert.include(twice.err[0], "ann has changed it from medium to low; that is not taken in yet")
        assert.strictEqual((yield* set("stumbled", "low")).code, 2)
        assert.strictEqual((yield* set("suspended", "medium")).code, 2)
        const listed = yield* espalier(journal, ["autonomy", "waiting"])
        assert.match(listed.out.at(-1)!, /Z {2}waiting {2}medium {2}low {2}ann {2}A bad day \(not taken in yet\)$/)
        // Whoever owns the journal has it taken in.
        yield* withJournal(journal)(
          Effect.gen(function* () {
            const { commands, own } = yield* Journal.Journal
            yield* own
            const [left] = yield* commands("waiting")
            assert.deepInclude(left, { type: "AutonomyChanged" })
            yield* Run.changeTier("suspended", { from: "medium", to: "full", who: "bob", why: "Quiet" })
          })
        )
        const { out } = yield* espalier(journal, ["autonomy", "suspended", "--json"])
        assert.deepInclude(JSON.parse(out[0]!)[0], { desk: "gazette", tier: "full" })
        assert.deepInclude(JSON.parse(out[0]!)[0].changes[0], { who: "bob", why: "Quiet", to: "full", taken: true })
      }),
    120_000
  )
})
