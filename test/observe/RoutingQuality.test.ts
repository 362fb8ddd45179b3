import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Metrics, RoutingQuality } from "espalier/observe"
import { Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { desk, task } from "../run/desks.ts"
import { r1 } from "../run/guards.ts"
import { registry, values } from "./scrape.ts"

const Name = Schema.Literals(["a", "b", "c", "d", "none"])
const Labels = Schema.Array(Schema.Struct({ predicted: Name, expected: Name }))

/** The same numbers as anybody would write them down, slowly. */
const naive = (labels: ReadonlyArray<RoutingQuality.Label>, name: string) => {
  const both = labels.filter(({ expected, predicted }) => predicted === name && expected === name).length
  const predicted = labels.filter((label) => label.predicted === name).length
  const expected = labels.filter((label) => label.expected === name).length
  const precision = predicted === 0 ? undefined : both / predicted
  const recall = expected === 0 ? undefined : both / expected
  const f1 =
    precision === undefined || recall === undefined || precision + recall === 0
      ? 0
      : (2 * precision * recall) / (precision + recall)
  return { precision, recall, f1 }
}

describe("of", () => {
  it.prop("R-502 has the precision, recall and F1 of each class that anybody would work out", [Labels], ([labels]) => {
    const report = RoutingQuality.of(labels)
    const names = [...new Set(labels.flatMap(({ expected, predicted }) => [expected, predicted]))].toSorted()
    assert.deepStrictEqual(
      report.classes.map(({ name }) => name as string),
      names
    )
    for (const { f1, name, precision, recall } of report.classes) {
      const slow = naive(labels, name)
      assert.deepStrictEqual([precision, recall], [slow.precision, slow.recall])
      assert.approximately(f1, slow.f1, 1e-12)
    }
    const all = names.map((name) => naive(labels, name).f1)
    if (all.length === 0) assert.deepStrictEqual([report.macroF1, report.worst], [undefined, undefined])
    else {
      assert.approximately(report.macroF1!, all.reduce((sum, each) => sum + each, 0) / all.length, 1e-12)
      assert.approximately(report.worst!.f1, Math.min(...all), 1e-12)
    }
  })

  it.prop("R-502 the matrix has each label once, and its order says nothing", [Labels], ([labels]) => {
    const { matrix } = RoutingQuality.of(labels)
    let sum = 0
    for (const [expected, row] of matrix) {
      for (const [predicted, count] of row) {
        sum += count
        const same = labels.filter((label) => label.expected === expected && label.predicted === predicted)
        assert.strictEqual(same.length, count)
      }
    }
    assert.strictEqual(sum, labels.length)
    const { classes, macroF1 } = RoutingQuality.of([...labels].toReversed())
    const report = RoutingQuality.of(labels)
    assert.deepStrictEqual([classes, macroF1], [report.classes, report.macroF1])
  })

  it("R-502 a class with less than 30 labels has not enough, and neither has the report", () => {
    const labels = (count: number, name: string) =>
      Array.from({ length: count }, () => ({ predicted: name, expected: name }))
    assert.isTrue(RoutingQuality.of([...labels(30, "a"), ...labels(30, "b")]).enough)
    const { classes, enough } = RoutingQuality.of([...labels(30, "a"), ...labels(29, "b")])
    assert.deepStrictEqual([enough, classes.map((each) => each.enough)], [false, [true, false]])
    assert.isFalse(RoutingQuality.of([]).enough)
    assert.isTrue(RoutingQuality.of(labels(2, "a"), { least: 2 }).enough)
  })

  it("R-502 a router that never chooses shows: it abstains, and covers little", () => {
    const decisions = new Map([
      ["none", 6],
      ["a", 3],
      ["b", 1]
    ])
    const label = { predicted: "a", expected: "a" }
    const { abstention, concentration, coverage, top } = RoutingQuality.of([label], { decisions })
    assert.deepStrictEqual([abstention, concentration, coverage, top], [0.6, 0.3, 0.1, "a"])
    const silent = RoutingQuality.of([])
    assert.deepStrictEqual([silent.abstention, silent.top, silent.coverage], [undefined, undefined, undefined])
  })

  it.each([
    [{ least: 0 }, "RoutingQuality.of: least must be a whole number >= 1, got 0"],
    [{ most: 1 } as never, "each field of options"]
  ])("R-502 throws for %o", (options, message) => {
    assert.throws(() => RoutingQuality.of([], options), RangeError, message)
  })
})

describe("record", () => {
  it.effect("R-502 counts an example under its source, apart from what runs and people say", () =>
    Effect.gen(function* () {
      yield* RoutingQuality.record({ supervisor: "desk", predicted: "d.one", expected: "d.two" })
      yield* Run.start(desk([Fake.worker("one", { answers: ["a"] })], [task("a")]), r1)
      assert.deepStrictEqual(yield* values("espalier.routing.evaluations"), {
        "desk d.one d.two golden": 1,
        "desk d.one d.one outcome": 1
      })
    }).pipe(Effect.provide(Layer.merge(Metrics.layer(), Journal.layerMemory)), Effect.provide(registry()))
  )
})

describe("report", () => {
  /** One that takes the first task for not its own, and another one. */
  const staffed = () =>
    desk(
      [
        Fake.worker("one", { answers: [Fake.fail("capability"), "a"], capabilities: ["work"] }),
        Fake.worker("two", { answers: ["b"], capabilities: ["work"] })
      ],
      [task("a", { capability: "work" })]
    )

  it.effect("R-502 is made of the journal: who was chosen, who was accepted in the end, and nothing of others", () =>
    Effect.gen(function* () {
      const two = staffed()
      yield* Run.start(two, r1)
      yield* Run.start(two, { ...r1, id: "r2" })
      const report = yield* RoutingQuality.report({ supervisor: "desk", source: "outcome", least: 1 })
      assert.deepStrictEqual([...report.matrix].map(([expected, row]) => [expected, ...row] as const).toSorted(), [
        ["d.one", ["d.one", 1]],
        ["d.two", ["d.one", 1]]
      ])
      assert.deepStrictEqual([report.labels, report.decisions, report.top, report.unread], [2, 3, "d.one", 0])
      const people = yield* RoutingQuality.report({ supervisor: "desk", source: "human" })
      assert.deepStrictEqual([people.labels, people.decisions], [0, 3])
      const other = yield* RoutingQuality.report({ supervisor: "desk/decompose", source: "outcome" })
      assert.deepStrictEqual([other.labels, other.decisions], [0, 0])
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-502 has only what happened in its window, and only the newest runs", () =>
    Effect.gen(function* () {
      const two = staffed()
      yield* Run.start(two, r1)
      const labels = (query: Partial<RoutingQuality.Query>) =>
        Effect.map(
          RoutingQuality.report({ supervisor: "desk", source: "outcome", ...query }),
          (report) => report.decisions
        )
      assert.strictEqual(yield* labels({ window: { since: 1 } }), 0)
      assert.strictEqual(yield* labels({ window: { until: 0 } }), 2)
      yield* TestClock.adjust("1 second")
      yield* Run.start(two, { ...r1, id: "r2" })
      assert.strictEqual(yield* labels({ runs: 1 }), 1)
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it.effect("R-502 dies of an option that is out of range", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(RoutingQuality.report({ supervisor: "desk", source: "golden" as never }))
      const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
      assert.instanceOf(error, RangeError)
      assert.include(String(error), 'source must be one of "human", "outcome"')
    }).pipe(Effect.provide(Journal.layerMemory))
  )
})
