import { assert, describe, it } from "@effect/vitest"
import { Context, Metric, Schema } from "effect"

import { Board } from "../../../src/observe/internal/board.ts"
import { CardinalityGuard, isRest, keyOf } from "../../../src/observe/internal/cardinality.ts"
import { byKey } from "../../../src/observe/internal/catalogue.ts"
import { measured } from "../../../src/observe/internal/measures/measurement.ts"
import { Recorder } from "../../../src/observe/internal/recorder.ts"
import { type Sample, sample } from "../../../src/observe/internal/sample.ts"

const entries = byKey("genai-0.1")

const made = (limit = 100) => {
  const context = Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>
  const guard = new CardinalityGuard(limit)
  return { context, guard, recorder: new Recorder(context, entries, guard), board: new Board(context, entries, guard) }
}

const found = (context: Context.Context<never>, name: string) =>
  Metric.snapshotUnsafe(context).filter(({ id }) => id === name)

const Word = Schema.Literals(["a", "b", "c", "d", "e", "f"])

describe("CardinalityGuard", () => {
  it.prop(
    "R-502 a metric has at most so many series of its own, and one that was admitted stays",
    [Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 5 })), Schema.Array(Word)],
    ([limit, words]) => {
      const guard = new CardinalityGuard(limit)
      const own = new Set<string>()
      for (const word of words) {
        const admitted = guard.admit("m", { word })
        if (isRest(admitted)) assert.isFalse(own.has(word))
        else own.add(word)
        assert.isAtMost(own.size, limit)
        assert.strictEqual(guard.sizes.get("m"), own.size)
      }
      assert.strictEqual(own.size, Math.min(limit, new Set(words).size))
    }
  )

  it("R-502 one that is gone makes room, and metrics do not count for each other", () => {
    const guard = new CardinalityGuard(1)
    guard.admit("m", { word: "a" })
    assert.isTrue(isRest(guard.admit("m", { word: "b" })))
    assert.isFalse(isRest(guard.admit("other", { word: "b" })))
    guard.release("m", { word: "a" })
    assert.isFalse(isRest(guard.admit("m", { word: "b" })))
  })

  it("R-502 the order of attributes says nothing", () => {
    assert.strictEqual(keyOf({ a: "1", b: "2" }), keyOf({ b: "2", a: "1" }))
    assert.notStrictEqual(keyOf({ a: "1", b: "2" }), keyOf({ a: "2", b: "1" }))
    assert.notStrictEqual(keyOf({ a: '1","b":"2' }), keyOf({ a: "1", b: "2" }))
    assert.notStrictEqual(keyOf({ a: "1b2" }), keyOf({ a: "1", b: "2" }))
  })
})

describe("Recorder", () => {
  it("R-502 leaves out an attribute that the catalogue does not know", () => {
    const { context, recorder } = made()
    recorder.record([measured("espalier.task.results", 1, { "espalier.workflow.type": "d", "espalier.run.id": "r1" })])
    const [only] = found(context, "espalier.task.results")
    assert.deepStrictEqual(only?.attributes, { "espalier.workflow.type": "d", unit: "{task}" })
  })

  it("R-502 counts what has no series of its own, also when that is what was dropped", () => {
    const { context, recorder } = made(1)
    const dropped = (signal: string) =>
      measured("espalier.telemetry.dropped", 1, {
        "espalier.telemetry.signal": signal,
        "espalier.telemetry.reason": "slow_reader"
      })
    recorder.record([dropped("tree_event"), dropped("other"), dropped("other")])
    for (const worker of ["a", "b", "c"]) {
      recorder.record([measured("espalier.delegation.repeats", 1, { "espalier.delegation.to": worker })])
    }
    const counts = found(context, "espalier.telemetry.dropped").map(({ attributes, state }) => [
      attributes?.["espalier.overflow"],
      (state as { readonly count: number }).count
    ])
    assert.deepStrictEqual(counts, [
      [undefined, 1],
      ["true", 4]
    ])
  })

  it("R-502 takes in no number that is none", () => {
    const { context, recorder } = made()
    recorder.record([
      measured("espalier.task.duration", Number.NaN, {}),
      measured("espalier.task.results", Infinity, {})
    ])
    assert.deepStrictEqual(Metric.snapshotUnsafe(context), [])
  })
})

describe("Board", () => {
  const size = (worker: string, value: number): Sample =>
    sample("espalier.pool.size", value, { "espalier.worker.name": worker })

  const values = (context: Context.Context<never>) =>
    found(context, "espalier.pool.size").map(({ attributes, state }) => [
      attributes?.["espalier.worker.name"] ?? attributes?.["espalier.overflow"],
      (state as { readonly value: number }).value
    ])

  it("R-502 a series is there for as long as its sample, and is read when somebody looks", () => {
    const { board, context } = made()
    let samples = [size("a", 1), size("b", 2)]
    const { refresh, remove } = board.add(() => samples)
    assert.deepStrictEqual(values(context), [
      ["a", 1],
      ["b", 2]
    ])
    samples = [size("a", 5), size("b", 6)]
    assert.deepStrictEqual(values(context), [
      ["a", 5],
      ["b", 6]
    ])
    samples = [size("b", 7)]
    refresh()
    assert.deepStrictEqual(values(context), [["b", 7]])
    remove()
    assert.deepStrictEqual(values(context), [])
  })

  it("R-502 a source is read once for a scrape, however many series it has", () => {
    const { board, context } = made()
    let reads = 0
    board.add(() => {
      reads += 1
      return Array.from({ length: 50 }, (_, n) => size(`w${n}`, reads))
    })
    reads = 0
    const seen = new Set(values(context).map(([, value]) => value))
    assert.deepStrictEqual([reads, [...seen]], [1, [1]])
    values(context)
    assert.strictEqual(reads, 2)
  })

  it("R-502 what two sources have of one kind is put together, as the catalogue says", () => {
    const { board, context } = made()
    const left = (value: number) => sample("espalier.supervisor.restart.left", value, { "espalier.supervisor": "root" })
    board.add(() => [size("a", 1), left(3)])
    board.add(() => [size("a", 2), left(1)])
    assert.deepStrictEqual(values(context), [["a", 3]])
    const [least] = found(context, "espalier.supervisor.restart.left")
    assert.deepStrictEqual(least?.state as unknown, { value: 1 })
  })

  it("R-502 a series that two sources have goes with the last of them, and comes back with one", () => {
    const { board, context } = made()
    let samples = [size("a", 1)]
    const first = board.add(() => samples)
    const second = board.add(() => [size("a", 2)])
    first.refresh()
    second.refresh()
    assert.deepStrictEqual(values(context), [["a", 3]])
    samples = []
    first.refresh()
    assert.deepStrictEqual(values(context), [["a", 2]])
    second.remove()
    second.remove()
    second.refresh()
    assert.deepStrictEqual(values(context), [])
    samples = [size("a", 4)]
    first.refresh()
    assert.deepStrictEqual(values(context), [["a", 4]])
    board.close()
    first.refresh()
    assert.deepStrictEqual(values(context), [])
  })

  it("R-502 what is new in a source is no reason to read the others", () => {
    const { board } = made()
    const reads = { first: 0, second: 0 }
    const first = board.add(() => [size("a", ++reads.first)])
    board.add(() => [size("b", ++reads.second)])
    first.refresh()
    assert.deepStrictEqual(reads, { first: 2, second: 1 })
  })

  it("R-502 has no more series than it may, and the rest in one; what goes makes room", () => {
    const { board, context } = made(2)
    let samples = ["a", "b", "c", "d"].map((worker) => size(worker, 1))
    const { refresh } = board.add(() => samples)
    assert.deepStrictEqual(values(context), [
      ["a", 1],
      ["b", 1],
      ["true", 2]
    ])
    samples = samples.slice(2)
    refresh()
    refresh()
    assert.deepStrictEqual(values(context).toSorted(), [
      ["c", 1],
      ["d", 1]
    ])
  })

  it("R-502 what is new since the last look is in the rest, or not there yet", () => {
    const { board, context } = made()
    let samples = [size("a", 1)]
    const { refresh } = board.add(() => samples)
    samples = [size("a", 1), size("b", 1)]
    assert.deepStrictEqual(values(context), [["a", 1]])
    refresh()
    assert.strictEqual(values(context).length, 2)
  })
})
