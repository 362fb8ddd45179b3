/** Runs of a journal of before, whose events say less, as they are told when they go on. */
import { assert, describe, it } from "@effect/vitest"
import { DateTime, type Duration, Effect, Layer, Logger, Metric, References } from "effect"
import { TestClock } from "effect/testing"
import { Telemetry } from "espalier/observe"
import { Run } from "espalier/run"
import { VirtualTime } from "espalier/testing"

import { desk } from "../fixtures/journals/desk.ts"
import { released } from "../run/released.ts"
import { inMemory } from "./seen.ts"
import { attributesOf, collecting, drops, ownMetrics } from "./spans.ts"
import { sound } from "./traced.ts"

const later = TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-12-01T00:00:00Z")))

const resume = (run: string, time: Duration.Input) => VirtualTime.elapse(Run.resume(desk, run, { log: false }), time)

const approve = (run: string) => Run.decide({ review: `${run}/review/1`, decision: "approve", by: "bo" })

describe("a run of a journal of 0.1.0", () => {
  it.effect.each([
    ["waiting", Effect.andThen(approve("waiting"), resume("waiting", "1 minute")), "decision", undefined],
    ["suspended", resume("suspended", "61 minutes"), "message", undefined],
    ["cut-off", resume("cut-off", "61 minutes"), "crash_recovery", true]
  ] as const)("R-501 R-502 R-505 R-308 that is %s goes on in spans, metrics and logs", ([run, going, cause, lost]) => {
    const { layer, spans } = collecting()
    const told: Array<Readonly<Record<string, unknown>>> = []
    const warned: Array<string> = []
    const logger = Logger.make<unknown, void>(({ fiber, message }) => {
      told.push(fiber.getRef(References.CurrentLogAnnotations))
      if (String(message).startsWith("Observer:")) warned.push(String(message))
    })
    const telemetry = Telemetry.layer({ logs: { level: "All" }, metrics: { reviewsEvery: "1 hour" } }).pipe(
      Layer.provideMerge(Layer.mergeAll(layer, Logger.layer([logger])))
    )
    return Effect.gen(function* () {
      yield* later
      yield* going
      assert.deepStrictEqual(warned, [])
      assert.deepStrictEqual(yield* drops, {})
      sound(inMemory(spans), run)
      const anchor = spans.find(({ name }) => name === "espalier.segment")
      const { "espalier.segment.cause": why, "espalier.segment.lost": isLost } = attributesOf(anchor!)
      assert.deepStrictEqual([why, isLost], [cause, lost])
      // The segments of before have no traces.
      assert.deepStrictEqual(
        anchor!.links.map(({ attributes }) => attributes["espalier.link.type"]),
        cause === "decision" ? ["decided_by"] : []
      )
      assert.include(
        told.map((each) => each["event.name"]),
        "espalier.run.resumed"
      )
      const metrics = (yield* Metric.snapshot).map(({ id }) => id)
      assert.include(metrics, "espalier.journal.replay.duration")
      assert.strictEqual(metrics.includes("espalier.run.recoveries"), lost === true)
    }).pipe(Effect.provide(telemetry), Effect.provide(released), ownMetrics)
  })
})
