import { assert, describe, it } from "@effect/vitest"
import {
  Cause,
  Clock,
  ConfigProvider,
  Effect,
  Exit,
  Fiber,
  Metric,
  Random,
  Redacted,
  Schema,
  Stream,
  Tracer
} from "effect"
import { HttpClientError } from "effect/http"
import { OtlpExporter } from "effect/observability"
import { TestClock } from "effect/testing"
import { Journal } from "espalier/journal"
import { Otlp } from "espalier/observe"
import { Desk, Domain, Plan, Run, Worker } from "espalier/run"

import { apart, type Behaviour, Collector, dropped, pass, spans, status } from "./collector.ts"

const traces = { signals: { metrics: false, logs: false } } as const

const transport: Behaviour = (request) =>
  Effect.fail(
    new HttpClientError.HttpClientError({
      reason: new HttpClientError.TransportError({ request, cause: { code: "ECONNREFUSED" } })
    })
  )

const behaviours: ReadonlyArray<readonly [name: string, behaviour: Behaviour]> = [
  ["takes everything", () => status(200)],
  ["fails with 500", () => status(500)],
  ["fails with 429 for an hour", () => status(429, { "retry-after": "3600" })],
  ["refuses the connection", transport],
  ["dies", () => Effect.die(new Error("a defect"))],
  [
    "throws",
    () => {
      throw new Error("thrown")
    }
  ],
  ["is interrupted", () => Effect.interrupt],
  ["hangs", () => Effect.never],
  ["hangs and cannot be interrupted", () => Effect.uninterruptible(Effect.never)],
  ["is slow", () => Effect.delay(status(200), "7 seconds")]
]

/** Something of everything that telemetry takes part in. */
const program = Effect.gen(function* () {
  const began = yield* Clock.currentTimeMillis
  const orders = Metric.counter("orders", { incremental: true })
  const step = (n: number) =>
    Effect.gen(function* () {
      yield* Effect.logInfo("step", n)
      yield* Metric.update(orders, 1)
      yield* Effect.sleep("700 millis")
      const drawn = yield* Random.nextInt
      return n % 3 === 0 ? yield* Effect.fail(drawn) : drawn
    }).pipe(Effect.withSpan("step", { attributes: { n } }))
  const all = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (n) => Effect.exit(step(n)))
  const two = yield* Effect.all([Effect.exit(step(1)), Effect.exit(step(3))], { concurrency: 2 })
  return {
    all: [...all, ...two].map(Exit.match({ onFailure: Cause.squash, onSuccess: (value) => value })),
    took: (yield* Clock.currentTimeMillis) - began
  }
}).pipe(Effect.withSpan("program"), Random.withSeed("same"))

describe("Otlp", () => {
  describe("a program", () => {
    it.effect.each(behaviours)("D15 R-501 R-502 has its result at its time when the collector %s", ([, behaviour]) =>
      Effect.gen(function* () {
        const plain = yield* Effect.forkChild(apart(program))
        yield* pass(10)
        const expected = yield* Fiber.join(plain)
        assert.strictEqual(expected.took, 7_700)

        const collector = new Collector(behaviour)
        const watched = yield* Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(program)
          yield* pass(10)
          return yield* Fiber.join(fiber)
        }).pipe(Effect.provide(collector.layer({ shutdownTimeout: 0 })), apart)
        assert.deepStrictEqual(watched, expected)
        assert.isAbove(collector.requests.length, 2)
      })
    )

    it.effect.each(behaviours)("D15 R-501 has the same run and journal when the collector %s", ([, behaviour]) =>
      Effect.gen(function* () {
        const count = Worker.make("count", {
          description: "Counts the words of a text",
          input: Schema.Struct({ text: Schema.String }),
          output: Schema.Int,
          handle: ({ input }) =>
            Effect.delay(Effect.succeed(input.text.split(" ").length), "3 seconds").pipe(Effect.withSpan("count"))
        })
        const desk = Desk.make("counting", {
          version: "1",
          input: Schema.Struct({ text: Schema.String }),
          domains: [Domain.make("words", { workers: [count] })],
          coordinator: Plan.make([
            {
              id: "count",
              worker: "words.count",
              objective: "Count",
              input: (_, { text }: { text: string }) => ({ text })
            }
          ])
        })
        const run = Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(Run.start(desk, { id: "r1", input: { text: "to be" } }))
          yield* pass(5)
          const result = yield* Fiber.join(fiber)
          return { result, events: yield* Stream.runCollect((yield* Journal.Journal).read("r1")) }
        }).pipe(Effect.provide(Journal.layerMemory))
        // Each with a clock and metrics of its own.
        const plain = yield* run.pipe(Effect.provide(TestClock.layer()), apart)
        const collector = new Collector(behaviour)
        const watched = yield* run.pipe(
          Effect.provide(collector.layer({ shutdownTimeout: 0 })),
          Effect.provide(TestClock.layer()),
          apart
        )
        assert.deepStrictEqual(watched, plain)
        assert.isAbove(collector.requests.length, 0)
      })
    )

    it.effect.each(behaviours.slice(1, 9))("D15 counts all that is lost when the collector %s", ([, behaviour]) =>
      Effect.gen(function* () {
        const collector = new Collector(behaviour)
        yield* Effect.gen(function* () {
          yield* spans(50)
          yield* pass(100)
        }).pipe(Effect.provide(collector.layer({ ...traces, shutdownTimeout: 0 })))
        const lost = Object.values(yield* dropped).reduce((sum, count) => sum + count, 0)
        assert.deepStrictEqual([collector.spans.length, lost], [0, 50])
      }).pipe(apart)
    )

    it.effect("D15 is not touched by what cannot be encoded, which is counted; the rest is sent", () =>
      Effect.gen(function* () {
        const collector = new Collector()
        const ring: Array<unknown> = []
        ring.push(ring)
        const hostile = {
          get message(): string {
            throw new Error("no message")
          }
        }
        yield* Effect.gen(function* () {
          const one = Effect.succeed(1).pipe(Effect.withSpan("ring", { attributes: { ring } }))
          assert.strictEqual(yield* one, 1)
          assert.strictEqual(yield* Effect.flip(Effect.fail(hostile).pipe(Effect.withSpan("hostile"))), hostile)
          yield* Effect.logInfo(ring)
          yield* Effect.logInfo("good").pipe(Effect.withSpan("good"))
          yield* (yield* OtlpExporter.Flusher).flush
        }).pipe(Effect.provide(collector.layer({ signals: { metrics: false } })))
        assert.deepStrictEqual(
          collector.spans.map(({ name }) => name),
          ["good"]
        )
        assert.deepStrictEqual(
          collector.logs.map(({ body }) => body),
          ["good"]
        )
        assert.deepStrictEqual(yield* dropped, { "traces unencodable": 2, "logs unencodable": 1 })
      }).pipe(apart)
    )
  })

  describe("the queue", () => {
    it.effect.each(["drop-old", "drop-new"] as const)("D15 is bounded and counts what does not fit: %s", (overflow) =>
      Effect.gen(function* () {
        const collector = new Collector(() => Effect.never)
        yield* Effect.gen(function* () {
          yield* spans(10)
          yield* pass(6)
          yield* spans(990, "t")
          yield* pass(6)
          // One batch is on its way and four wait, each of ten.
          assert.deepStrictEqual(yield* dropped, { "traces queue_full": 950 })
          assert.deepStrictEqual([collector.open, collector.most], [1, 1])
          collector.behaviour = () => status(200)
          yield* pass(20)
          const names = collector.spans.map(({ name }) => name)
          const first = overflow === "drop-old" ? 950 : 0
          const rest = Array.from({ length: 40 }, (_, index) => `t${first + index}`)
          assert.deepStrictEqual(names, ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", ...rest])
        }).pipe(Effect.provide(collector.layer({ ...traces, overflow, maxBatch: 10, maxQueue: 50 })))
        assert.deepStrictEqual(yield* dropped, { "traces queue_full": 950 })
      }).pipe(apart)
    )

    it.effect("D15 is bounded in bytes, too", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => Effect.never)
        const large = Effect.withSpan(Effect.void, "large", { attributes: { text: "x".repeat(10_000) } })
        yield* Effect.gen(function* () {
          for (let n = 0; n < 100; n++) yield* large
          yield* pass(6)
          const lost = (yield* dropped)["traces queue_full"] ?? 0
          assert.isAtLeast(lost, 95)
        }).pipe(Effect.provide(collector.layer({ ...traces, maxBatch: 1, maxBytes: 50_000, shutdownTimeout: 0 })))
      }).pipe(apart)
    )

    it.effect("keeps one snapshot of metrics, the newest, and misses nothing by it", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => Effect.never)
        const orders = Metric.counter("orders", { incremental: true })
        yield* Effect.gen(function* () {
          for (let n = 0; n < 6; n++) {
            yield* Metric.update(orders, 1)
            yield* pass(10)
            if (n === 4) collector.behaviour = () => status(200)
          }
          yield* pass(30)
          const counts = collector.points.filter(({ name }) => name === "orders").map(({ value }) => value)
          assert.strictEqual(counts.at(-1), 6)
          assert.deepStrictEqual(yield* dropped, {})
        }).pipe(Effect.provide(collector.layer({ signals: { traces: false, logs: false } })))
      }).pipe(apart)
    )
  })

  describe("temporality", () => {
    it.effect("R-502 is of totals or of differences, which add up once all have been taken", () =>
      Effect.gen(function* () {
        for (const temporality of ["cumulative", "delta"] as const) {
          const collector = new Collector((_, count) =>
            count === 2 ? Effect.delay(status(200), "25 seconds") : status(200)
          )
          const orders = Metric.counter("orders", { incremental: true })
          yield* Effect.gen(function* () {
            for (let n = 0; n < 4; n++) {
              yield* Metric.update(orders, 2)
              yield* pass(10)
            }
          }).pipe(
            Effect.provide(
              collector.layer({
                temporality,
                timeout: "1 minute",
                signals: { traces: false, logs: false },
                shutdownTimeout: "1 hour"
              })
            ),
            Effect.forkChild,
            Effect.flatMap((fiber) => Effect.andThen(pass(80), Fiber.join(fiber))),
            apart
          )
          const found = collector.points.filter(({ name }) => name === "orders")
          assert.deepStrictEqual([...new Set(found.map((point) => point.temporality))], [temporality])
          const values = found.map(({ value }) => value ?? 0)
          const total = temporality === "delta" ? values.reduce((sum, value) => sum + value, 0) : values.at(-1)
          assert.strictEqual(total, 8)
        }
      })
    )
  })

  describe("attempts", () => {
    const attempts = (behaviour: Behaviour, options: Otlp.Options = {}) =>
      Effect.gen(function* () {
        const collector = new Collector(behaviour)
        const began = yield* Clock.currentTimeMillis
        yield* Effect.gen(function* () {
          yield* spans(1)
          yield* pass(400)
        }).pipe(Effect.provide(collector.layer({ ...traces, ...options })))
        return { at: collector.requests.map(({ at }) => at - began), dropped: yield* dropped, collector }
      }).pipe(apart)

    it.effect("are at 1, 2, 4 and 8 seconds from each other, and five", () =>
      Effect.gen(function* () {
        const { at, dropped } = yield* attempts(() => status(503))
        assert.deepStrictEqual(at, [5_000, 6_000, 8_000, 12_000, 20_000])
        assert.deepStrictEqual(dropped, { "traces unreachable": 1 })
      })
    )

    it.effect("are one where the collector does not want it", () =>
      Effect.gen(function* () {
        const { at, dropped } = yield* attempts(() => status(400))
        assert.deepStrictEqual([at, dropped], [[5_000], { "traces rejected": 1 }])
      })
    )

    it.effect("wait for what the collector asks, and for no more than a minute", () =>
      Effect.gen(function* () {
        const asks = (seconds: string) =>
          attempts((_, count) => (count === 1 ? status(429, { "retry-after": seconds }) : status(200)))
        assert.deepStrictEqual((yield* asks("7")).at, [5_000, 12_000])
        assert.deepStrictEqual((yield* asks("86400")).at, [5_000, 65_000])
        assert.deepStrictEqual((yield* asks("soon")).at, [5_000, 6_000])
      })
    )

    it.effect("end after the time-out, and the next is not in its way", () =>
      Effect.gen(function* () {
        const { at, collector, dropped } = yield* attempts((_, count) => (count === 1 ? Effect.never : status(200)), {
          timeout: "3 seconds"
        })
        assert.deepStrictEqual([at, dropped, collector.most], [[5_000, 9_000], {}, 1])
        assert.deepStrictEqual(
          collector.spans.map(({ name }) => name),
          ["s0"]
        )
      })
    )

    it.effect("count what a collector takes only in part", () =>
      Effect.gen(function* () {
        const body = JSON.stringify({ partialSuccess: { rejectedSpans: "1", errorMessage: "too long" } })
        const { dropped } = yield* attempts(() =>
          status(200, { "content-type": "application/json", "content-length": String(body.length) }, body)
        )
        assert.deepStrictEqual(dropped, { "traces rejected": 1 })
      })
    )

    it.effect.each([
      ["gzip", {}],
      ["BR", {}],
      ["identity", { "traces rejected": 1 }]
    ] as const)("do not read an answer that is packed as %s, which may be endless when it is not", ([packed, lost]) =>
      Effect.gen(function* () {
        const body = JSON.stringify({ partialSuccess: { rejectedSpans: "1" } })
        const { dropped } = yield* attempts(() =>
          status(
            200,
            {
              "content-type": "application/json",
              "content-length": String(body.length),
              "content-encoding": packed
            },
            body
          )
        )
        assert.deepStrictEqual(dropped, lost)
      })
    )
  })

  describe("what is told", () => {
    it.effect("is that nothing gets through, once, and that it does again; never over OTLP", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => status(503))
        yield* Effect.gen(function* () {
          for (let n = 0; n < 50; n++) {
            yield* Effect.logInfo("work")
            yield* pass(2)
          }
          collector.behaviour = () => status(200)
          yield* pass(60)
        }).pipe(Effect.provide(collector.layer({ signals: { traces: false, metrics: false } })))
        const why = { why: "HTTP 503" }
        assert.deepStrictEqual(
          collector.told.filter((each) => JSON.stringify(each).includes("Telemetry")),
          [
            ["Warn", ["Telemetry does not get through; what does not fit is dropped and counted", why]],
            ["Info", ["Telemetry gets through again", { dropped: (yield* dropped)["logs unreachable"] }]]
          ]
        )
        assert.isAbove(collector.logs.length, 0)
        assert.deepStrictEqual([...new Set(collector.logs.map(({ body }) => body))], ["work"])
      }).pipe(apart)
    )

    it.effect("has neither the address nor a header", () =>
      Effect.gen(function* () {
        const collector = new Collector((request) => transport(request, 1))
        yield* Effect.gen(function* () {
          yield* Effect.logInfo("work").pipe(Effect.withSpan("work"))
          yield* pass(100)
        }).pipe(
          Effect.provide(
            collector.layer({
              endpoint: Redacted.make("http://collector/canary-address"),
              headers: { authorization: Redacted.make("Bearer canary-header") }
            })
          )
        )
        assert.strictEqual(collector.requests[0]?.headers["authorization"], "Bearer canary-header")
        assert.include(JSON.stringify(collector.told), "no connection (ECONNREFUSED)")
        const all = JSON.stringify([
          collector.told,
          (yield* Metric.snapshot).map(({ attributes, id }) => [id, attributes])
        ])
        assert.notInclude(all, "canary")
      }).pipe(apart)
    )
  })

  describe("the end", () => {
    it.effect.each([
      ["hangs", () => Effect.never, 3_000],
      ["hangs and cannot be interrupted", () => Effect.uninterruptible(Effect.never), 3_000],
      ["refuses", transport, 0],
      ["takes two seconds", () => Effect.delay(status(200), "2 seconds"), 2_000]
    ] as ReadonlyArray<readonly [string, Behaviour, number]>)(
      "D15 comes within the time-out, for all signals together, when the collector %s",
      ([, behaviour, millis]) =>
        Effect.gen(function* () {
          const collector = new Collector(behaviour)
          const work = Effect.gen(function* () {
            yield* Effect.logInfo("work").pipe(Effect.withSpan("work"))
            yield* Metric.update(Metric.counter("orders"), 1)
          })
          const fiber = yield* Effect.forkChild(
            Effect.gen(function* () {
              yield* Effect.provide(work, collector.layer())
              return yield* Clock.currentTimeMillis
            })
          )
          // The program ends before any time passes.
          yield* Effect.forEach(Array.from({ length: 20 }), () => TestClock.adjust(0), { discard: true })
          yield* pass(10)
          assert.strictEqual(yield* Fiber.join(fiber), millis)
          const lost = millis === 2_000 ? 0 : 1
          const spansLost = Object.entries(yield* dropped).filter(([key]) => key.startsWith("traces"))
          assert.strictEqual(collector.spans.length, 1 - lost)
          assert.strictEqual(
            spansLost.reduce((sum, [, count]) => sum + count, 0),
            lost
          )
        }).pipe(apart)
    )

    it.effect("D15 does not wait for the next attempt", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => status(503, { "retry-after": "50" }))
        const fiber = yield* Effect.forkChild(
          Effect.gen(function* () {
            yield* Effect.andThen(spans(3), Effect.sleep("20 seconds")).pipe(Effect.provide(collector.layer(traces)))
            return yield* Clock.currentTimeMillis
          })
        )
        yield* pass(30)
        assert.strictEqual(yield* Fiber.join(fiber), 20_000)
        assert.deepStrictEqual(yield* dropped, { "traces unreachable": 3 })
        assert.deepStrictEqual(
          collector.requests.map(({ at }) => at),
          [5_000, 20_000]
        )
      }).pipe(apart)
    )
  })

  describe("what is sent", () => {
    const sent = <A, E>(effect: Effect.Effect<A, E, OtlpExporter.Flusher>, options: Otlp.Options = {}) =>
      Effect.gen(function* () {
        const collector = new Collector()
        yield* Effect.provide(effect, collector.layer(options))
        return collector
      })

    it.effect("R-502 has the unit of a metric as its unit, and not as an attribute", () =>
      Effect.gen(function* () {
        const attributes = { unit: "s", zone: "north" }
        const collector = yield* sent(
          Effect.gen(function* () {
            yield* Metric.update(Metric.histogram("wait", { boundaries: [1, 2], attributes }), 1.5)
            yield* Metric.update(Metric.counter("orders", { attributes: { unit: "{order}" } }), 1)
            yield* Metric.update(Metric.gauge("depth", { attributes: { unit: "{message}" } }), 4)
          })
        )
        const found = collector.points.map(({ attributes, name, unit }) => [name, unit, attributes])
        assert.deepStrictEqual(found, [
          ["wait", "s", { zone: "north" }],
          ["orders", "{order}", {}],
          ["depth", "{message}", {}]
        ])
      }).pipe(apart)
    )

    it.effect("R-502 D15 lacks a metric that cannot be read or is two things at once, and has the others", () =>
      Effect.gen(function* () {
        const collector = yield* sent(
          Effect.gen(function* () {
            const context = yield* Effect.context<never>()
            yield* Metric.update(Metric.counter("twice"), 1)
            yield* Metric.update(Metric.gauge("twice", { attributes: { zone: "north" } }), 2)
            const broken = Metric.registerUnsafe(Metric.gauge("broken"), context, {
              get: () => {
                throw new Error("cannot be read")
              },
              update: () => {},
              modify: () => {}
            })
            yield* Metric.update(Metric.gauge("good"), 3)
            yield* (yield* OtlpExporter.Flusher).flush
            broken.remove()
          }),
          { signals: { traces: false, logs: false, metrics: { interval: "1 hour" } } }
        )
        assert.deepStrictEqual(
          collector.points.slice(0, 2).map(({ name, type, value }) => [name, type, value]),
          [
            ["twice", "sum", 1],
            ["good", "gauge", 3]
          ]
        )
        // Two at the flush, and one at the end.
        assert.deepStrictEqual(yield* dropped, { "metrics unencodable": 3 })
      }).pipe(apart)
    )

    it.effect("R-501 has no span that is not sampled, and none below one", () =>
      Effect.gen(function* () {
        const outside = { spanId: "b7ad6b7169203331", traceId: "0af7651916cd43dd8448eb211c80319c" }
        const kept = Tracer.externalSpan(outside)
        const unkept = Tracer.externalSpan({ ...outside, sampled: false })
        const collector = yield* sent(
          Effect.gen(function* () {
            yield* Effect.withSpan(Effect.void, "kept", { parent: kept })
            yield* Effect.withSpan(Effect.void, "linked", { links: [{ span: kept, attributes: { why: "resumed" } }] })
            yield* Effect.void.pipe(Effect.withSpan("inner"), Effect.withSpan("unkept", { parent: unkept }))
            yield* Effect.withSpan(Effect.void, "unsampled", { sampled: false })
          })
        )
        const [first, second, ...more] = collector.spans
        assert.deepStrictEqual(
          [first?.name, first?.traceId, first?.parentSpanId],
          ["kept", outside.traceId, outside.spanId]
        )
        assert.deepStrictEqual(second?.links, [{ ...outside, attributes: { why: "resumed" } }])
        assert.notStrictEqual(second?.traceId, outside.traceId)
        assert.deepStrictEqual(more, [])
      }).pipe(apart)
    )

    it.effect("R-501 D15 has no id that is none: it would take all others of the request with it", () =>
      Effect.gen(function* () {
        const foreign = Tracer.externalSpan({ spanId: "span", traceId: "trace" })
        const half = Tracer.externalSpan({ spanId: "span", traceId: "0af7651916cd43dd8448eb211c80319c" })
        const collector = yield* sent(
          Effect.gen(function* () {
            yield* Effect.logInfo("work").pipe(Effect.withSpan("foreign", { parent: foreign }))
            yield* Effect.withSpan(Effect.void, "half", { parent: half })
            yield* Effect.withSpan(Effect.void, "linked", { links: [{ span: foreign, attributes: {} }] })
          })
        )
        assert.deepStrictEqual(
          collector.spans.map(({ links, name, parentSpanId }) => [name, parentSpanId, links]),
          [
            ["half", undefined, []],
            ["linked", undefined, []]
          ]
        )
        assert.deepStrictEqual(
          collector.logs.map(({ body, traceId }) => [body, traceId]),
          [["work", undefined]]
        )
        assert.deepStrictEqual(yield* dropped, { "traces unencodable": 1 })
      }).pipe(apart)
    )

    it.effect("R-501 leaves the status of what went well unset", () =>
      Effect.gen(function* () {
        const collector = yield* sent(
          Effect.gen(function* () {
            yield* spans(1)
            yield* Effect.exit(Effect.withSpan(Effect.fail(new Error("no stock")), "bad"))
            yield* Effect.exit(Effect.withSpan(Effect.interrupt, "stopped"))
          })
        )
        assert.deepStrictEqual(
          collector.spans.map(({ status }) => status),
          [{ code: "unset" }, { code: "error", message: "no stock" }, { code: "unset" }]
        )
      }).pipe(apart)
    )

    it.effect("R-501 R-502 names who sends it", () =>
      Effect.gen(function* () {
        const resource = { serviceName: "desk", serviceVersion: "2", attributes: { zone: "north" } }
        const collector = yield* sent(Effect.andThen(spans(1), Effect.logInfo("work")), { resource })
        for (const { resource } of [...collector.spans, ...collector.logs]) {
          assert.deepStrictEqual(
            [resource["service.name"], resource["service.version"], resource["zone"]],
            ["desk", "2", "north"]
          )
        }
        const unnamed = yield* sent(spans(1), { resource: {} })
        assert.strictEqual(unnamed.spans[0]?.resource["service.name"], "unknown_service")
      }).pipe(apart)
    )

    it.effect("R-501 D15 reads nothing from the environment, where it could fail", () =>
      Effect.gen(function* () {
        const env = { OTEL_RESOURCE_ATTRIBUTES: "zone=%zz" }
        const collector = yield* Effect.provide(sent(spans(1)), ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
        assert.strictEqual(collector.spans[0]?.resource["service.name"], "desk")
      }).pipe(apart)
    )

    it.effect("R-501 goes where the signal goes, with its headers, as it is told", () =>
      Effect.gen(function* () {
        const collector = yield* sent(Effect.andThen(spans(1), Effect.logInfo("work")), {
          endpoint: "http://all/otlp/",
          headers: { key: "all" },
          signals: { metrics: false, logs: { endpoint: "http://logs/v1/logs?x=1", headers: { key: "logs" } } }
        })
        const found = collector.requests.map(({ headers, url }) => [url, headers["key"], headers["content-type"]])
        assert.sameDeepMembers(found, [
          ["http://all/otlp/v1/traces", "all", "application/json"],
          ["http://logs/v1/logs?x=1", "logs", "application/json"]
        ])
      }).pipe(apart)
    )

    it.effect("is protobuf where that is asked for", () =>
      Effect.gen(function* () {
        const types: Array<unknown> = []
        const collector = new Collector((request) => {
          types.push(request.body._tag === "Uint8Array" ? request.body.contentType : undefined)
          return status(500)
        })
        yield* Effect.provide(spans(1), collector.layer({ ...traces, protocol: "http/protobuf" }))
        assert.deepStrictEqual(types, ["application/x-protobuf"])
      }).pipe(apart)
    )
  })

  describe("anchors", () => {
    const anchor = Effect.withSpan(Effect.void, "espalier.segment")

    it.effect("R-501 D102 are sent when they end, with what ended before, and what ends later waits as ever", () => {
      const collector = new Collector()
      return Effect.gen(function* () {
        yield* spans(1, "before")
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(collector.spans, [])
        yield* anchor
        yield* spans(1, "after")
        yield* TestClock.adjust("0 millis")
        const names = () => collector.spans.map(({ name }) => name)
        assert.includeMembers(names(), ["before0", "espalier.segment"])
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(names().toSorted(), ["after0", "before0", "espalier.segment"])
      }).pipe(Effect.provide(collector.layer(traces)), apart)
    })

    it.effect("R-501 D15 that are many are few requests, however fast they end", () => {
      const collector = new Collector()
      return Effect.gen(function* () {
        for (let n = 0; n < 100; n++) {
          yield* anchor
          yield* TestClock.adjust("10 millis")
        }
        assert.isAtMost(collector.requests.length, 11)
        yield* TestClock.adjust("100 millis")
        assert.lengthOf(collector.spans, 100)
      }).pipe(Effect.provide(collector.layer(traces)), apart)
    })

    it.effect("R-501 D15 lose nothing that is not lost without them: one request is made up of all that waits", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => Effect.delay(status(200), "1 second"))
        yield* Effect.gen(function* () {
          for (let n = 0; n < 100; n++) {
            yield* anchor
            yield* spans(4, `s${n}-`)
            yield* TestClock.adjust("100 millis")
          }
          yield* pass(20)
          assert.lengthOf(collector.spans, 500)
          assert.isAtMost(collector.requests.length, 15)
        }).pipe(Effect.provide(collector.layer({ ...traces, maxQueue: 100, maxBatch: 100 })))
        assert.deepStrictEqual(yield* dropped, {})
      }).pipe(apart)
    )
  })

  describe("Flusher", () => {
    it.effect("waits until what there is has been sent or dropped", () =>
      Effect.gen(function* () {
        const collector = new Collector(() => Effect.delay(status(200), "2 seconds"))
        yield* Effect.gen(function* () {
          yield* spans(3)
          const fiber = yield* Effect.forkChild((yield* OtlpExporter.Flusher).flush)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(collector.spans.length, 0)
          yield* TestClock.adjust("1 second")
          yield* Fiber.join(fiber)
          assert.strictEqual(collector.spans.length, 3)
        }).pipe(Effect.provide(collector.layer(traces)))
      }).pipe(apart)
    )
  })

  describe("options", () => {
    const rows: ReadonlyArray<readonly [options: unknown, message: RegExp]> = [
      [{}, /^Otlp\.layer: endpoint must be an http or https address without credentials, got nothing$/],
      [{ endpoint: "collector" }, /got a text that is no address$/],
      [{ endpoint: "ftp://collector" }, /got another scheme$/],
      [{ endpoint: "http://ann:canary@collector" }, /got one with credentials$/],
      [{ endpoint: "http://c", headers: { "a b": "canary" } }, /each name in headers must be one of a header/],
      [{ endpoint: "http://c", headers: { key: "canary\n" } }, /headers\.key must be a text on one line/],
      [{ endpoint: "http://c", maxQueue: 4, maxBatch: 5 }, /maxQueue must be a whole number >= 5, got 4$/],
      [{ endpoint: "http://c", maxBatch: 0 }, /maxBatch must be a whole number >= 1, got 0$/],
      [{ endpoint: "http://c", attempts: 1.5 }, /attempts must be a whole number >= 1/],
      [{ endpoint: "http://c", overflow: "wait" }, /overflow must be one of "drop-old", "drop-new", got "wait"$/],
      [{ endpoint: "http://c", protocol: "grpc" }, /protocol must be one of/],
      [{ endpoint: "http://c", timeout: 0 }, /timeout must be a duration > 0/],
      [{ endpoint: "http://c", shutdownTimeout: -1 }, /shutdownTimeout must be a duration >= 0/],
      [{ endpoint: "http://c", signals: { spans: true } }, /each field of signals must be one of/],
      [{ endpoint: "http://c", signals: { logs: 1 } }, /signals\.logs must be true, false or an object, got "number"$/],
      [{ endpoint: "http://c", headers: "key=canary" }, /headers must be an object, got another value$/],
      [{ endpoint: "http://c", signals: { logs: "http://canary" } }, /signals\.logs must be true, false or an object/],
      [
        { endpoint: "http://c", resource: { attributes: { a: { b: 1 } } } },
        /resource\.attributes\.a must be a text, a number, true, false or a list of those/
      ],
      [{ endpoint: "http://c", endpiont: 1 }, /each field of options must be one of/]
    ]
    it.each(rows)("%j are refused", (options, message) => {
      try {
        Otlp.layer(options as Otlp.Options)
      } catch (error) {
        assert.instanceOf(error, RangeError)
        assert.match(error.message, message)
        assert.notInclude(error.message, "canary")
        return
      }
      assert.fail("nothing was thrown")
    })
  })
})
