import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Logger, Metric } from "effect"
import { FetchHttpClient } from "effect/http"
import { Otlp, OtlpExporter } from "effect/observability"

import * as Real from "../fixtures/real.ts"
import { otlpReceiver } from "./otlpReceiver.ts"

const layer = (baseUrl: string) =>
  Otlp.layerJson({ baseUrl, resource: { serviceName: "desk", attributes: { zone: "north" } } }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )

describe("otlpReceiver", () => {
  Real.withNetwork("R-501 R-502 takes what Effect's own exporter sends, as plain values", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      yield* Effect.gen(function* () {
        yield* Effect.logInfo("hello").pipe(
          Effect.annotateLogs("who", "ann"),
          Effect.withSpan("inner", { kind: "client", attributes: { tries: 2, ok: true, names: ["a", "b"] } }),
          Effect.withSpan("outer")
        )
        yield* Metric.update(Metric.withAttributes(Metric.counter("orders", { incremental: true }), { zone: "n" }), 3)
        yield* (yield* OtlpExporter.Flusher).flush
      }).pipe(
        Effect.provide(Layer.provide(layer(receiver.url), Logger.layer([]))),
        Effect.provideService(Metric.MetricRegistry, new Map())
      )

      const [inner, outer] = receiver.spans
      assert.deepStrictEqual([inner?.name, inner?.kind, outer?.name], ["inner", "client", "outer"])
      assert.deepStrictEqual(inner?.attributes, { tries: 2, ok: true, names: ["a", "b"] })
      assert.deepStrictEqual([inner?.parentSpanId, inner?.traceId], [outer?.spanId, outer?.traceId])
      assert.strictEqual(outer?.parentSpanId, undefined)
      assert.deepStrictEqual([inner?.resource["service.name"], inner?.resource["zone"]], ["desk", "north"])
      const orders = receiver.points.find(({ name }) => name === "orders")
      assert.deepStrictEqual(
        [orders?.type, orders?.monotonic, orders?.value, orders?.attributes],
        ["sum", true, 3, { zone: "n" }]
      )
      const log = receiver.logs.find(({ body }) => body === "hello")
      assert.deepStrictEqual([log?.severity, log?.attributes["who"], log?.spanId], ["Info", "ann", inner?.spanId])
      assert.deepStrictEqual(receiver.problems, [])
    }).pipe(Effect.scoped)
  )
})
