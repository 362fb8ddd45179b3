import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { assert, describe } from "@effect/vitest"
import { SpanKind, SpanStatusCode } from "@opentelemetry/api"
import {
  BatchSpanProcessor,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor
} from "@opentelemetry/sdk-trace-base"
import { Clock, Effect, Exit, Layer, Logger, Tracer } from "effect"
import { Bulkhead } from "espalier/observe"

import * as Real from "../fixtures/real.ts"
import { apart, dropped } from "./collector.ts"

const sdk = (spanProcessor: SpanProcessor, shutdownTimeout: number = 200) =>
  NodeSdk.layer(() => ({ resource: { serviceName: "desk" }, spanProcessor, shutdownTimeout }))

const ready = { shutdown: () => Promise.resolve(), forceFlush: () => Promise.resolve() }

const throwing: SpanExporter = {
  ...ready,
  export: () => {
    throw new Error("the exporter")
  }
}

const never = () => new Promise<void>(() => {})
const hanging: SpanExporter = { export: () => {}, shutdown: never, forceFlush: never }

const processor: SpanProcessor = {
  ...ready,
  onStart: () => {
    throw new Error("the start")
  },
  onEnd: () => {
    throw new Error("the end")
  }
}

const work = Effect.succeed("packed").pipe(Effect.withSpan("inner"), Effect.withSpan("outer"))

describe("the SDK of OpenTelemetry", () => {
  Real.withThirdParty("R-501 gets spans with their parents, links, kinds, attributes and ends", () =>
    Effect.gen(function* () {
      const exporter = new InMemorySpanExporter()
      const taken: Array<ReadableSpan> = []
      const outside = { spanId: "b7ad6b7169203331", traceId: "0af7651916cd43dd8448eb211c80319c" }
      yield* Effect.gen(function* () {
        yield* Effect.void.pipe(
          Effect.withSpan("chat", { kind: "client", attributes: { model: "m", tries: 2, ok: true } }),
          Effect.withSpan("desk", {
            root: true,
            links: [{ span: Tracer.externalSpan(outside), attributes: { why: "resumed" } }]
          })
        )
        yield* Effect.exit(Effect.withSpan(Effect.fail(new Error("no stock")), "bad"))
        yield* Effect.withSpan(Effect.void, "below", { parent: Tracer.externalSpan(outside) })
        yield* Effect.withSpan(Effect.void, "unkept", { parent: Tracer.externalSpan({ ...outside, sampled: false }) })
        taken.push(...exporter.getFinishedSpans())
      }).pipe(Effect.provide(Bulkhead.around(sdk(new SimpleSpanProcessor(exporter)))))

      const [chat, desk, bad, below, ...more] = taken
      assert.deepStrictEqual([chat?.name, chat?.kind], ["chat", SpanKind.CLIENT])
      assert.deepStrictEqual(chat?.attributes, { model: "m", tries: 2, ok: true })
      assert.strictEqual(chat?.parentSpanContext?.spanId, desk?.spanContext().spanId)
      assert.deepStrictEqual(
        desk?.links.map(({ attributes, context }) => [context.traceId, context.spanId, attributes]),
        [[outside.traceId, outside.spanId, { why: "resumed" }]]
      )
      assert.notStrictEqual(desk?.spanContext().traceId, outside.traceId)
      assert.deepStrictEqual(bad?.status, { code: SpanStatusCode.ERROR, message: "no stock" })
      assert.deepStrictEqual(
        [below?.spanContext().traceId, below?.parentSpanContext?.spanId],
        [outside.traceId, outside.spanId]
      )
      assert.strictEqual(below?.resource.attributes["service.name"], "desk")
      assert.deepStrictEqual(more, [])
    }).pipe(apart)
  )

  const faults: ReadonlyArray<readonly [name: string, make: () => SpanProcessor, thrown: number]> = [
    ["an exporter throws", () => new SimpleSpanProcessor(throwing), 0],
    ["an exporter of batches throws", () => new BatchSpanProcessor(throwing), 0],
    ["a processor throws", () => processor, 2],
    ["an exporter hangs", () => new SimpleSpanProcessor(hanging), 0],
    ["an exporter of batches hangs", () => new BatchSpanProcessor(hanging), 0]
  ]
  for (const [name, make, thrown] of faults) {
    Real.withThirdParty(`D15 R-501 leaves the result as it is where ${name}, behind a bulkhead`, () =>
      Effect.gen(function* () {
        const began = yield* Clock.currentTimeMillis
        const telemetry = Layer.provide(Bulkhead.around(sdk(make())), Logger.layer([]))
        assert.strictEqual(yield* Effect.provide(work, telemetry), "packed")
        assert.isBelow((yield* Clock.currentTimeMillis) - began, 3_000)
        assert.strictEqual((yield* dropped)["traces thrown"] ?? 0, thrown)
      }).pipe(apart)
    )
  }

  Real.withThirdParty("D15 changes the result without a bulkhead, which is what it is for", () =>
    Effect.gen(function* () {
      for (const make of [
        () => new SimpleSpanProcessor(throwing),
        () => new BatchSpanProcessor(throwing),
        () => processor
      ]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Effect.provide(work, sdk(make())))))
      }
    })
  )
})
