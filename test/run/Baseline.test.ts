import { assert, describe, it } from "@effect/vitest"
import { Effect, type Result as EffectResult, Schema } from "effect"
import { type Autonomy, Baseline, type Result, type RunEvent } from "espalier/run"

import { envelope, get, simulate, started } from "./simulate.ts"

const dispatched = (task: string, n = 1): RunEvent.RunEvent => ({
  _tag: "Dispatched",
  at: 1,
  task,
  dispatch: `r1/${task}/${n}`,
  worker: "d.w",
  contract: 1,
  note: ""
})

const reported = (task: string, usage: Result.Usage = {}, n = 1): RunEvent.RunEvent => ({
  _tag: "Reported",
  at: 2,
  task,
  dispatch: `r1/${task}/${n}`,
  worker: "d.w",
  attempts: 1,
  outcome: "accepted",
  result: envelope({ output: 1, usage }),
  note: ""
})

const ended = (task: string, status: RunEvent.TaskEnd): RunEvent.RunEvent => ({
  _tag: "TaskEnded",
  at: 3,
  task,
  status,
  missing: [],
  note: ""
})

const finished: RunEvent.RunEvent = {
  _tag: "RunFinished",
  at: 9,
  status: "completed",
  stopReason: "accepted",
  degraded: false,
  note: ""
}

const begun = started([{ id: "a" }])

/** Opens a review in the sense of the tests that bring a predicate of their own. */
const suspended: RunEvent.RunEvent = { _tag: "RunSuspended", at: 4, reason: "asked", note: "" }

const zero: Baseline.Measures = {
  runs: 0,
  unfinished: 0,
  ended: 0,
  accepted: 0,
  dispatches: 0,
  reports: 0,
  costReports: 0,
  tokenReports: 0,
  verified: null,
  rework: null,
  escalations: null,
  cost: null,
  tokens: null
}

const good: Baseline.Measures = {
  ...zero,
  runs: 20,
  verified: 0.9,
  rework: 0.2,
  escalations: 0.5,
  cost: 2,
  tokens: 100
}

const baseline = (measures: Partial<Baseline.Measures> = {}, fields: Partial<Baseline.Baseline> = {}) => ({
  workflow: "desk",
  version: "1",
  tier: "medium" as const,
  at: 1_000,
  ...fields,
  measures: { ...good, ...measures }
})

describe("Baseline", () => {
  describe("measure", () => {
    it("R-219 counts what was accepted, done again, asked about and paid, over all finished runs", () => {
      const measures = Baseline.measure(
        [
          [
            begun,
            dispatched("a"),
            reported("a", { cost: 1, tokens: 10 }),
            dispatched("a", 2),
            reported("a", { cost: 2 }, 2),
            ended("a", "accepted"),
            suspended,
            dispatched("b"),
            reported("b"),
            ended("b", "failed"),
            ended("c", "skipped"),
            finished
          ],
          [begun, dispatched("a"), reported("a", { cost: 0.5, tokens: 20 }), ended("a", "accepted"), finished],
          [begun, dispatched("a"), reported("a", { cost: 100 })]
        ],
        { opens: ({ _tag }) => _tag === "RunSuspended" }
      )
      assert.deepStrictEqual(measures, {
        runs: 2,
        unfinished: 1,
        ended: 3,
        accepted: 2,
        dispatches: 4,
        reports: 4,
        costReports: 3,
        tokenReports: 2,
        verified: 2 / 3,
        rework: 0.5,
        escalations: 0.5,
        cost: 1.75,
        tokens: 15
      })
    })

    const unknown: ReadonlyArray<
      readonly [what: string, runs: ReadonlyArray<ReadonlyArray<RunEvent.RunEvent>>, Baseline.Measures]
    > = [
      ["no run", [], zero],
      ["no finished run", [[begun, dispatched("a")], []], { ...zero, unfinished: 2 }],
      ["a run without tasks", [[begun, finished]], { ...zero, runs: 1, escalations: 0 }],
      [
        "a run that was taken up again",
        [[begun, finished, { _tag: "RunResumed", at: 10, note: "" }]],
        { ...zero, unfinished: 1 }
      ],
      [
        "a run without an accepted task",
        [[begun, dispatched("a"), reported("a", { cost: 1, tokens: 1 }), ended("a", "failed"), finished]],
        {
          ...zero,
          runs: 1,
          ended: 1,
          dispatches: 1,
          reports: 1,
          costReports: 1,
          tokenReports: 1,
          verified: 0,
          escalations: 0
        }
      ],
      [
        "a run that measured nothing",
        [[begun, dispatched("a"), reported("a"), ended("a", "accepted"), finished]],
        { ...zero, runs: 1, ended: 1, accepted: 1, dispatches: 1, reports: 1, verified: 1, rework: 0, escalations: 0 }
      ]
    ]
    it.effect.each(unknown)("R-219 %s: what is not known is null", ([, runs, measures]) =>
      Effect.sync(() => assert.deepStrictEqual(Baseline.measure(runs), measures))
    )

    it("R-219 by default a review is opened by an event with that tag", () => {
      const review = { ...suspended, _tag: "ReviewOpened" } as unknown as RunEvent.RunEvent
      assert.isTrue(Baseline.opensReview(review))
      assert.strictEqual(Baseline.measure([[begun, review, review, finished]]).escalations, 2)
      assert.isFalse(Baseline.opensReview(finished))
    })

    const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
    it.prop(
      "R-219 whatever a run does, its measures are numbers within their bounds or not known",
      { seed },
      ({ seed }) => {
        const { events } = simulate(seed)
        const measures = Baseline.measure([events, events])
        assert.deepStrictEqual(Schema.decodeUnknownSync(Baseline.Measures)(measures), measures)
        assert.isAtMost(measures.accepted, measures.ended)
        assert.isAtMost(measures.reports, measures.dispatches)
        const once = Baseline.measure([events])
        for (const rate of ["verified", "rework", "escalations"] as const) {
          assert.strictEqual(measures[rate], once[rate])
        }
      }
    )
  })

  describe("record", () => {
    const head = { workflow: "desk", version: "1", tier: "low", at: 5 } as const
    const run = [begun, dispatched("a"), reported("a"), ended("a", "accepted"), finished]

    it("R-219 is plain data that reads back", () => {
      const recorded = get(Baseline.record(head, [run]))
      assert.deepStrictEqual(recorded, { ...head, measures: Baseline.measure([run]) })
      const json: unknown = JSON.parse(JSON.stringify(recorded))
      assert.deepStrictEqual(get(Baseline.parse(json)), recorded)
    })

    it("R-219 is told what opens a review", () => {
      const opens = ({ _tag }: RunEvent.RunEvent) => _tag === "TaskEnded"
      assert.strictEqual(get(Baseline.record(head, [run], { opens })).measures.escalations, 1)
    })

    const bad: ReadonlyArray<
      readonly [message: string, record: () => EffectResult.Result<unknown, Baseline.BaselineInvalid>]
    > = [
      ["runs[1] must be a run of desk 1, got desk 2", () => Baseline.record(head, [run, [{ ...begun, version: "2" }]])],
      ["runs[0] must be a run of desk 1, got other 1", () => Baseline.record(head, [[{ ...begun, desk: "other" }]])],
      ["runs[0] must be a run of desk 1", () => Baseline.record(head, [[finished]])],
      ["at must be a time in milliseconds >= 0, got -1", () => Baseline.record({ ...head, at: -1 }, [run])],
      ['tier must be "low" | "medium" | "full", got "high"', () => Baseline.parse({ ...baseline(), tier: "high" })],
      ["measures.runs must be a whole number >= 0, got -1", () => Baseline.parse(baseline({ runs: -1 }))]
    ]
    it.effect.each(bad)("R-219 refuses: %s", ([message, record]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.fromResult(record()))
        assert.strictEqual(error.message, `BASELINE_INVALID: ${message}`)
      })
    )
  })

  describe("compare", () => {
    it("R-219 R-216 supports a higher tier when nothing is worse, with a sentence for each reason", () => {
      const now = baseline({ runs: 25, verified: 0.95, rework: 0.2, escalations: 0.25, cost: null, tokens: 90 })
      const { differences, reasons, supported } = Baseline.compare(baseline(), now)
      assert.isTrue(supported)
      assert.deepStrictEqual(
        reasons.map(({ sentence }) => sentence),
        [
          "Both are of desk 1",
          "The tier is medium",
          "The baseline has 20 finished runs, and 20 are needed",
          "Now has 25 finished runs, and 20 are needed",
          "Verified tasks of all ended ones rose from 0.9 to 0.95",
          "Rework for each accepted task stayed at 0.2",
          "Escalations for each run fell from 0.5 to 0.25"
        ]
      )
      assert.deepStrictEqual(
        { ...differences, verified: Math.round((differences.verified ?? 0) * 100) },
        { verified: 5, rework: 0, escalations: -0.25, cost: null, tokens: -10 }
      )
    })

    type Side = Parameters<typeof baseline>
    const table: ReadonlyArray<readonly [reason: string, before: Side, after: Side]> = [
      ["Verified tasks of all ended ones fell from 0.9 to 0.89", [], [{ verified: 0.89 }]],
      ["Rework for each accepted task rose from 0.2 to 0.3", [], [{ rework: 0.3 }]],
      ["Escalations for each run rose from 0.5 to 0.51", [], [{ escalations: 0.51 }]],
      ["Now has 19 finished runs, and 20 are needed", [], [{ runs: 19 }]],
      ["The baseline has 1 finished run, and 20 are needed", [{ runs: 1 }], []],
      ["Verified tasks of all ended ones: not known for the baseline", [{ verified: null }], []],
      ["Rework for each accepted task: not known now", [], [{ rework: null }]],
      ["The tier is full, the highest one", [], [{}, { tier: "full" }]],
      ["The baseline is of another workflow: desk 1, not other 1", [], [{}, { workflow: "other" }]]
    ]
    it.effect.each(table)("R-219 R-216 does not support a higher tier: %s", ([reason, before, after]) =>
      Effect.sync(() => {
        const { reasons, supported } = Baseline.compare(baseline(...before), baseline(...after))
        assert.isFalse(supported)
        assert.deepStrictEqual(
          reasons.filter(({ holds }) => !holds),
          [{ holds: false, sentence: reason }]
        )
      })
    )

    it("R-219 cost decides nothing, and another version is told", () => {
      const { reasons, supported } = Baseline.compare(baseline(), baseline({ cost: 50 }, { version: "2" }))
      assert.isTrue(supported)
      assert.strictEqual(reasons[0]?.sentence, "The baseline is of desk 1, and now is desk 2")
    })

    it("R-219 goes by the number of runs that it is given", () => {
      assert.isTrue(Baseline.compare(baseline({ runs: 3 }), baseline({ runs: 3 }), { runs: 3 }).supported)
      assert.isFalse(Baseline.compare(baseline({ runs: 3 }), baseline({ runs: 2 }), { runs: 3 }).supported)
    })

    it.effect.each([0, 1.5, Number.NaN])("throws when runs is %d", (runs) =>
      Effect.sync(() =>
        assert.throws(
          () => Baseline.compare(baseline(), baseline(), { runs }),
          RangeError,
          "runs must be a whole number >= 1"
        )
      )
    )

    it("R-219 R-216 tells who changed the tier and why, oldest first, and is plain data", () => {
      const changes: ReadonlyArray<Autonomy.TierChange> = [
        { from: "medium", to: "low", who: "ben", why: "Two bad merges", at: 20 },
        { from: "low", to: "medium", who: "ada", why: "20 clean runs", at: 10 }
      ]
      const report = Baseline.compare(baseline(), baseline(), { changes })
      assert.deepStrictEqual(report.changes, changes.toReversed())
      assert.deepStrictEqual(report.history, [
        "ada changed the tier from low to medium: 20 clean runs",
        "ben changed the tier from medium to low: Two bad merges"
      ])
      const json: unknown = JSON.parse(JSON.stringify(report))
      assert.deepStrictEqual(Schema.decodeUnknownSync(Baseline.Comparison)(json), report)
    })
  })
})
