/** A run that somebody wants to begin or take up, and cannot: what is told of that is not what would be told of a run. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Metrics, Tracing } from "espalier/observe"
import { Office, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { freshPath } from "../journal/fixtures/folder.ts"
import { desk, gate, history, memory, task, worker } from "../run/desks.ts"
import { r1 } from "../run/guards.ts"
import { begin } from "../run/living.ts"
import { attributesOf, collecting, endOf, ownMetrics } from "./spans.ts"

const telemetry = () => {
  const { layer, spans } = collecting()
  const anchors = () =>
    spans.flatMap((span) => {
      if (span.name !== "espalier.segment") return []
      const { "espalier.outcome": outcome, "espalier.segment.lost": lost } = attributesOf(span)
      return [
        { end: endOf(span), outcome, lost, below: spans.filter(({ traceId }) => traceId === span.traceId).length - 1 }
      ]
    })
  return { anchors, layer: Layer.mergeAll(Tracing.layer(), Metrics.layer(), layer) }
}

const refused = { end: "interrupted", outcome: "refused", lost: undefined, below: 0 }
const carried = { end: "ok", outcome: undefined, lost: undefined, below: 5 }

/** What is counted of runs that are taken up again. */
const takenUp = Effect.map(Metric.snapshot, (all) =>
  all.flatMap(({ id, state }) =>
    (id === "espalier.run.recoveries" || id === "espalier.journal.replay.duration") && "count" in state
      ? [`${id} ${state.count}`]
      : []
  )
)

describe("who cannot", () => {
  it.effect("R-501 R-502 begin a run, as it is there already, leaves an anchor that says so and counts nothing", () => {
    const { anchors, layer } = telemetry()
    return Effect.gen(function* () {
      const built = desk([Fake.worker("one", { otherwise: "done" })], [task("a")])
      yield* Run.start(built, r1)
      const before = yield* history("r1")
      assert.strictEqual((yield* Effect.flip(Run.start(built, r1)))._tag, "RunExists")
      assert.deepStrictEqual(anchors(), [carried, refused])
      assert.deepStrictEqual(yield* history("r1"), before)
      assert.deepStrictEqual(yield* takenUp, [])
    }).pipe(Effect.provide(layer), memory, ownMetrics)
  })

  it.effect("R-501 R-502 take a run up, as somebody else does at the same time, has recovered nothing", () => {
    const { anchors, layer } = telemetry()
    return Effect.gen(function* () {
      const open = gate()
      const built = desk([worker("one", () => Effect.as(open.wait, "done"))], [task("a")])
      const going = yield* begin(Run.start(built, r1))
      yield* going.interrupt
      const office = yield* Office.open(built, { log: false })
      yield* open.open
      const one = Effect.exit(Run.resumeIn(office, "r1"))
      const exits = yield* Effect.all([one, one], { concurrency: 2 })
      assert.deepStrictEqual(exits.map(({ _tag }) => _tag).toSorted(), ["Failure", "Success"])
      assert.deepStrictEqual(anchors(), [carried, carried])
      assert.deepStrictEqual(yield* takenUp, ["espalier.journal.replay.duration 1"])
    }).pipe(Effect.provide(layer), memory, Effect.scoped, ownMetrics)
  })

  it.effect("R-501 R-502 take a run up, as another process carries it out, has not found that one dead", () => {
    const { anchors, layer } = telemetry()
    return Effect.gen(function* () {
      const filename = yield* freshPath
      const open = Effect.map(
        Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))),
        (context) => Effect.provide(context)
      )
      const owner = yield* open
      const other = yield* open
      const wait = gate()
      const built = desk([worker("one", () => Effect.as(wait.wait, "done"))], [task("a")])
      const going = yield* begin(owner(Run.start(built, r1)))
      yield* wait.reached
      yield* Effect.flip(other(Run.resume(built, "r1", { log: false })))
      assert.deepStrictEqual(anchors().at(-1), refused)
      assert.deepStrictEqual(yield* takenUp, [])
      yield* wait.open
      yield* going.join
      assert.deepStrictEqual(anchors(), [carried, refused])
    }).pipe(Effect.provide(layer), Effect.scoped, ownMetrics)
  })

  it.effect("R-501 R-502 write has begun nothing", () => {
    const { anchors, layer } = telemetry()
    return Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const full = new Journal.JournalError({ reason: new Journal.JournalReadOnly({ location: "memory" }) })
      const broken = { ...journal, append: () => Effect.fail(full) }
      const built = desk([Fake.worker("one", { otherwise: "done" })], [task("a")])
      yield* Effect.flip(Run.start(built, r1)).pipe(Effect.provideService(Journal.Journal, broken))
      assert.deepStrictEqual(anchors(), [refused])
      assert.deepStrictEqual(yield* takenUp, [])
    }).pipe(Effect.provide(layer), memory, ownMetrics)
  })
})
