import { assert, describe } from "@effect/vitest"
import { Clock, Deferred, Duration, Effect, Layer, Logger, Metric } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpExporter } from "effect/observability"
import { Otlp } from "espalier/observe"

import * as Real from "../fixtures/real.ts"
import { apart, dropped, spans } from "./collector.ts"
import { type Answer, otlpReceiver, type Receiver } from "./otlpReceiver.ts"

const fast = { interval: "20 millis" } as const

const to = (receiver: Receiver, options: Otlp.Options = {}, told: (message: unknown) => void = () => {}) =>
  Otlp.layer({
    endpoint: receiver.url,
    resource: { serviceName: "desk", attributes: { zone: "north" } },
    headers: { "api-key": "secret" },
    signals: { traces: fast, metrics: fast, logs: fast },
    ...options
  }).pipe(
    Layer.provide(FetchHttpClient.layer),
    Layer.provide(Logger.layer([Logger.make(({ message }) => told(message))]))
  )

const traces = { signals: { traces: fast, metrics: false, logs: false } } as const

const took = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    yield* effect
    return (yield* Clock.currentTimeMillis) - began
  })

describe("Otlp over a network", () => {
  Real.withNetwork(
    "R-501 R-502 sends spans, metrics and logs with what sends them, packed where that is asked for",
    () =>
      Effect.gen(function* () {
        for (const compression of ["none", "gzip"] as const) {
          const receiver = yield* otlpReceiver
          yield* Effect.gen(function* () {
            yield* Effect.logInfo("packed").pipe(
              Effect.withSpan("inner", { attributes: { text: "x".repeat(2_000) } }),
              Effect.withSpan("outer")
            )
            yield* Metric.update(Metric.counter("orders", { incremental: true, attributes: { unit: "{order}" } }), 3)
            yield* (yield* OtlpExporter.Flusher).flush
          }).pipe(Effect.provide(to(receiver, { compression })), apart)
          assert.deepStrictEqual(receiver.problems, [])
          assert.deepStrictEqual(
            receiver.spans.map(({ name }) => name),
            ["inner", "outer"]
          )
          const log = receiver.logs.find(({ body }) => body === "packed")
          assert.strictEqual(log?.spanId, receiver.spans[0]?.spanId)
          const orders = receiver.points.find(({ name }) => name === "orders")
          assert.deepStrictEqual([orders?.value, orders?.unit, orders?.attributes], [3, "{order}", {}])
          for (const { resource } of [...receiver.spans, ...receiver.points, ...receiver.logs]) {
            assert.deepStrictEqual([resource["service.name"], resource["zone"]], ["desk", "north"])
          }
          for (const { headers } of receiver.requests) {
            assert.strictEqual(headers["api-key"], "secret")
            assert.isUndefined(headers["traceparent"])
          }
          assert.strictEqual(
            receiver.requests.find(({ signal }) => signal === "traces")?.headers["content-encoding"],
            compression === "gzip" ? "gzip" : undefined
          )
        }
      }).pipe(Effect.scoped)
  )

  Real.withNetwork("D15 sends again what was refused, once the collector is back", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      const told = yield* Deferred.make<unknown>()
      yield* receiver.close
      yield* Effect.gen(function* () {
        yield* spans(5)
        assert.include(JSON.stringify(yield* Deferred.await(told)), "no connection (ECONNREFUSED)")
        yield* receiver.open
        yield* receiver.until(() => receiver.spans.length === 5)
        yield* spans(2, "later")
        yield* receiver.until(() => receiver.spans.length === 7)
        assert.deepStrictEqual(yield* dropped, {})
      }).pipe(
        Effect.provide(to(receiver, traces, (message) => void Deferred.doneUnsafe(told, Effect.succeed(message))))
      )
    }).pipe(Effect.scoped, apart)
  )

  Real.withNetwork("D15 sends again what got no answer, over one connection at a time", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      for (const fault of ["hang", "drop", { status: 503, headers: { "retry-after": "0" } }] as const) {
        const before = receiver.requests.length
        receiver.answer(fault satisfies Answer)
        yield* Effect.gen(function* () {
          yield* spans(3)
          yield* receiver.until(() => receiver.requests.length > before)
          assert.isAtMost(receiver.connections(), 2)
          receiver.answer({ status: 200 })
          yield* receiver.until(() => receiver.spans.length === 3)
        }).pipe(Effect.provide(to(receiver, { ...traces, timeout: "100 millis" })))
        assert.strictEqual((receiver.spans as Array<unknown>).splice(0).length, 3)
      }
      assert.deepStrictEqual(yield* dropped, {})
    }).pipe(Effect.scoped, apart)
  )

  Real.withNetwork("D15 takes 200 for an answer, also where its body is cut", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      receiver.answer("cut")
      yield* Effect.gen(function* () {
        yield* spans(3)
        yield* (yield* OtlpExporter.Flusher).flush
      }).pipe(Effect.provide(to(receiver, traces)))
      assert.deepStrictEqual([receiver.spans.length, receiver.requests.length], [3, 1])
      assert.deepStrictEqual(yield* dropped, {})
    }).pipe(Effect.scoped, apart)
  )

  Real.withNetwork("D15 ends within the time-out where the collector hangs, and leaves no connection", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      receiver.answer("hang")
      const work = Effect.gen(function* () {
        yield* Effect.logInfo("work").pipe(Effect.withSpan("work"))
        yield* receiver.until(() => receiver.requests.length >= 2)
      })
      const millis = yield* took(Effect.provide(work, to(receiver, { shutdownTimeout: "200 millis" })))
      assert.isBelow(millis, 2_000)
      yield* receiver.until(() => receiver.connections() === 0)
      const lost = yield* dropped
      assert.deepStrictEqual([lost["traces shutdown"], lost["logs shutdown"]], [1, 1])
    }).pipe(Effect.scoped, apart)
  )

  Real.withNetwork("D15 holds a bounded number of spans, whatever their number, while the collector hangs", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      receiver.answer("hang")
      yield* Effect.gen(function* () {
        for (let n = 0; n < 50; n++) {
          yield* spans(1_000)
          yield* Effect.yieldNow
        }
        assert.isAtMost(receiver.connections(), 1)
        const lost = (yield* dropped)["traces queue_full"] ?? 0
        assert.isAtLeast(lost, 50_000 - 1_000 - 100)
      }).pipe(Effect.provide(to(receiver, { ...traces, maxBatch: 100, maxQueue: 1_000, shutdownTimeout: 0 })))
      const all = Object.values(yield* dropped).reduce((sum, count) => sum + count, 0)
      assert.strictEqual(all, 50_000)
    }).pipe(Effect.scoped, apart)
  )

  Real.withNetwork("D15 does not make a program wait for a slow collector", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      receiver.answer("held")
      yield* Effect.gen(function* () {
        const millis = yield* took(Effect.forEach([1, 2, 3], () => spans(10), { discard: true }))
        assert.isBelow(millis, Duration.toMillis("2 seconds"))
        yield* receiver.until(() => receiver.requests.length === 1)
        receiver.release()
        yield* receiver.until(() => receiver.spans.length === 30)
      }).pipe(Effect.provide(to(receiver, traces)))
    }).pipe(Effect.scoped, apart)
  )
})
