import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, References } from "effect"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Telemetry } from "espalier/observe"
import { Dependency } from "espalier/run"

import { calls, delivers, deskWith, search, started } from "../agent/agents.ts"
import { attributesOf, collecting, ownMetrics } from "./spans.ts"

describe("Telemetry.layer", () => {
  it.effect.each([
    ["genai-0.1", "gen_ai.client.inference.duration", "gen_ai.agent.name"],
    ["semconv-1.41", "gen_ai.client.operation.duration", "gen_ai.workflow.name"]
  ] as const)(
    "R-501 R-502 R-505 tells a run in traces, metrics and logs, by the names of %s",
    ([profile, latency, name]) => {
      const { layer, spans } = collecting()
      const told: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ fiber }) => {
        told.push(fiber.getRef(References.CurrentLogAnnotations)["event.name"])
      })
      const telemetry = Telemetry.layer({ profile }).pipe(
        Layer.provideMerge(Layer.mergeAll(layer, Logger.layer([logger])))
      )
      const script = ScriptedModel.make([calls(["search", { query: "x" }]), delivers("found")], { model: "m" })
      return Effect.gen(function* () {
        yield* started(deskWith(script, { tools: ToolScope.make([search()]) as never }))
        const workflow = spans.find((span) => span.name === "invoke_workflow desk")
        assert.strictEqual(attributesOf(workflow!)[name], "desk")
        assert.strictEqual(spans.filter((span) => span.name === "chat m").length, 2)
        const metrics = (yield* Metric.snapshot).map(({ id }) => id)
        assert.include(metrics, latency)
        assert.include(metrics, "espalier.task.results")
        assert.includeMembers(told, ["espalier.run.started", "espalier.dispatch.reported", "espalier.run.finished"])
      }).pipe(Effect.provide([telemetry, Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown]), ownMetrics)
    }
  )

  it("R-501 a wrong option is named, with the part that it is of", () => {
    assert.throws(() => Telemetry.layer({ trace: {} } as never), /trace/)
    assert.throws(() => Telemetry.layer({ traces: { maxSpans: 0 } }), /Tracing.*maxSpans/)
    assert.throws(() => Telemetry.layer({ metrics: { maxSeries: 0 } }), /Metrics.*maxSeries/)
    assert.throws(() => Telemetry.layer({ models: { room: 0 } }), /EspalierTracer.*room/)
  })
})
