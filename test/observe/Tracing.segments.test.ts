import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, type Tracer } from "effect"
import { TestClock } from "effect/testing"
import { Journal, JournalSqlite } from "espalier/journal"
import { Tracing } from "espalier/observe"
import { Office, Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { isAmong } from "../../src/observe/internal/spanSegments.ts"
import { freshPath } from "../journal/fixtures/folder.ts"
import { desk, elapse, gate, history, settle, task, worker } from "../run/desks.ts"
import { guarded, r1, say } from "../run/guards.ts"
import { begin, deskOf, of, resume } from "../run/living.ts"
import { attributesOf, collecting } from "./spans.ts"

const one = (...answers: ReadonlyArray<Fake.Reply<string>>) => Fake.worker("one", { answers })

/** A desk that asks before it does something. */
const asking = () => guarded([Fake.worker("one", { otherwise: "done", risk: "high" })], [task("a")])

const anchors = (spans: ReadonlyArray<Tracer.Span>) => spans.filter(({ name }) => name === "espalier.segment")

/** The kinds of links to one span. */
const linked = (span: Tracer.Span | undefined, to: Tracer.Span | undefined) =>
  span?.links.flatMap(({ attributes, span }) =>
    span.spanId === to?.spanId && span.traceId === to.traceId ? [attributes["espalier.link.type"]] : []
  )

/** Whether each span is told, by its run. */
const told = (spans: ReadonlyArray<Tracer.Span>) => [...new Set(spans.map(({ sampled }) => sampled))]

describe("a segment points", () => {
  it.effect("R-501 to the span in which its run is begun, and stays the root of a trace of its own", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      yield* Effect.withSpan(Run.start(desk([one("a")], [task("a")]), r1), "POST /runs")
      const [request, anchor] = spans
      assert.deepStrictEqual(linked(anchor, request), ["triggered_by"])
      assert.isTrue(Option.isNone(anchor!.parent))
      assert.notStrictEqual(anchor!.traceId, request!.traceId)
      assert.strictEqual(attributesOf(anchor!)["espalier.workflow.type"], "desk")
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })

  it.effect("R-501 D74 to the decision of another process that it takes in, which the one after it does not", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const filename = yield* freshPath
      const open = Effect.map(
        Layer.build(Layer.fresh(JournalSqlite.layerSqlite({ filename, synchronous: "normal" }))),
        (context) => Effect.provide(context)
      )
      const own = yield* open
      const other = yield* open
      const later = Fake.worker("two", { otherwise: "done", risk: "high" })
      const built = guarded(
        [Fake.worker("one", { otherwise: "done", risk: "high" }), later],
        [task("a"), { id: "b", worker: "d.two", objective: "Do b", needs: ["a"] }]
      )
      yield* Run.start(built, r1).pipe(own)
      const left = yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" }).pipe(other)
      assert.strictEqual(left._tag, "Left")
      yield* resume(built).pipe(own)
      yield* say("approve").pipe(own)
      yield* resume(built).pipe(own)
      const decisions = spans.filter(({ name }) => name === "espalier.review decide")
      assert.lengthOf(decisions, 2)
      assert.deepStrictEqual(
        anchors(spans).map((anchor) => decisions.map((decision) => linked(anchor, decision))),
        [
          [[], []],
          [["decided_by"], []],
          [[], ["decided_by"]]
        ]
      )
    }).pipe(Effect.provide([Tracing.layer(), layer]), Effect.scoped)
  })

  it.effect("R-501 to nothing that was decided while somebody carried the run out", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const open = gate()
      const slow = worker("two", () => Effect.as(open.wait, "two"))
      const built = guarded(
        [Fake.worker("one", { otherwise: "done", risk: "high" }), slow],
        [task("a"), task("b", { worker: "d.two" })]
      )
      const office = yield* Office.open(built, { log: false })
      const run = yield* begin(Run.startIn(office, r1))
      yield* open.reached
      yield* say("approve", {}, office)
      yield* settle
      assert.lengthOf(of(yield* history("r1"), "Reported"), 1)
      yield* run.interrupt
      const again = yield* begin(Run.resumeIn(office, "r1"))
      yield* again.interrupt
      const [, second] = anchors(spans)
      assert.deepStrictEqual(
        second?.links.map(({ attributes }) => attributes["espalier.link.type"]),
        ["resumed_from", "run_origin"]
      )
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]), Effect.scoped)
  })
})

describe("traceMode", () => {
  it.effect("R-501 run: all segments are one trace, below the first anchor", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      yield* say("approve")
      yield* resume(asking())
      const [first, second] = anchors(spans)
      assert.strictEqual(Option.getOrUndefined(second!.parent)?.spanId, first?.spanId)
      assert.deepStrictEqual(
        new Set(spans.filter(({ name }) => name !== "espalier.review decide").map(({ traceId }) => traceId)).size,
        1
      )
      assert.deepStrictEqual(linked(second, first), ["resumed_from", "run_origin"])
    }).pipe(Effect.provide([Tracing.layer({ traceMode: "run" }), layer, Journal.layerMemory]))
  })
})

describe("sampled", () => {
  it.effect("R-501 keeps so many of the runs, and of a run all or nothing", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const ids = Array.from({ length: 40 }, (_, index) => `r${index}`)
      for (const id of ids) yield* Run.start(desk([one("a")], [task("a")]), { ...r1, id })
      for (const id of ids) {
        const own = spans.filter((span) => attributesOf(span)["espalier.run.id"] === id)
        assert.deepStrictEqual(told(own), [isAmong(id, 0.5)], id)
      }
      assert.deepStrictEqual(told(spans).toSorted(), [false, true])
      const [started] = of(yield* history("r0"), "RunStarted")
      assert.match(started?.trace ?? "", isAmong("r0", 0.5) ? /-01$/ : /-00$/)
    }).pipe(Effect.provide([Tracing.layer({ sampled: 0.5 }), layer, Journal.layerMemory]))
  })

  it("R-501 the share is that of the runs, whatever their ids are like", () => {
    for (const idOf of [(n: number) => `r${n}`, (n: number) => `run-2026-${n}-x`, (n: number) => String(n * 7919)]) {
      const ids = Array.from({ length: 20_000 }, (_, index) => idOf(index))
      for (const share of [0, 0.01, 0.1, 0.5, 0.9, 1]) {
        const kept = ids.filter((id) => isAmong(id, share)).length / ids.length
        assert.closeTo(kept, share, 0.01)
      }
    }
  })

  it.effect("R-501 after a question to people, from the next segment on, whatever the share is", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      yield* Run.start(asking(), r1)
      const before = spans.length
      yield* say("approve")
      yield* resume(asking())
      assert.deepStrictEqual(told(spans.slice(0, before)), [false])
      assert.deepStrictEqual(told(anchors(spans.slice(before))), [true])
      assert.isTrue(spans.slice(before + 1).every(({ sampled }) => sampled))
    }).pipe(Effect.provide([Tracing.layer({ sampled: 0 }), layer, Journal.layerMemory]))
  })

  it.effect("R-501 after a try that failed, and what is put down in peace is not", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const later = [task("a"), task("b", { needs: ["a"], after: "1 hour" })]
      const calm = () => deskOf([Fake.worker("one", { otherwise: "done" })], Plan.make<string>(later))
      const start = (built: ReturnType<typeof calm>, id: string) =>
        elapse(Run.start(built, { ...r1, id, waitFor: "1 minute" }), "2 minutes")
      const tried = deskOf(
        [Fake.worker("one", { answers: [Fake.fail("transient")], otherwise: "done" })],
        Plan.make<string>(later)
      )
      yield* start(calm(), "calm")
      yield* start(tried, "tried")
      yield* TestClock.adjust("2 hours")
      yield* Run.resume(calm(), "calm", { log: false })
      yield* Run.resume(tried, "tried", { log: false })
      assert.deepStrictEqual(
        anchors(spans).map((span) => [attributesOf(span)["espalier.run.id"], span.sampled]),
        [
          ["calm", false],
          ["tried", false],
          ["calm", false],
          ["tried", true]
        ]
      )
    }).pipe(Effect.provide([Tracing.layer({ sampled: () => false }), layer, Journal.layerMemory]))
  })

  it.effect("R-501 what was told once is told to its end, whoever goes on with it", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const later = [task("a"), task("b", { needs: ["a"], after: "1 hour" })]
      const built = () => deskOf([Fake.worker("one", { otherwise: "done" })], Plan.make<string>(later))
      yield* elapse(Run.start(built(), { ...r1, waitFor: "1 minute" }), "2 minutes").pipe(
        Effect.provide(Tracing.layer())
      )
      yield* TestClock.adjust("2 hours")
      yield* resume(built()).pipe(Effect.provide(Tracing.layer({ sampled: 0 })))
      assert.deepStrictEqual(
        anchors(spans).map(({ sampled }) => sampled),
        [true, true]
      )
    }).pipe(Effect.provide([layer, Journal.layerMemory]))
  })

  it("R-501 another one is named", () => {
    assert.throws(() => Tracing.layer({ sampled: 1.5 }), /sampled .* a number from 0 to 1, or a function.*1\.5/)
    assert.throws(() => Tracing.layer({ traceMode: "day" as never }), /traceMode/)
  })
})
