import * as net from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Schema } from "effect"
import { HttpRouter } from "effect/http"
import { Prometheus } from "espalier/observe"

import { listen } from "../../src/observe/internal/scrapeServer.ts"
import * as Real from "../fixtures/real.ts"
import { apart, dropped } from "./collector.ts"
import { family, parse } from "./prometheusText.ts"

/** A registry that throws at whoever reads it. */
const broken: Metric.MetricRegistry = new (class extends Map {
  override values(): never {
    throw new Error("a broken registry")
  }
})()

const hostile = [
  "a\nb",
  'a"b',
  "a\\b",
  "a\\nb",
  "a\\\nb",
  "\\",
  '"',
  "\n",
  "}",
  'a,b="c"',
  "# TYPE x counter",
  "🌵",
  "\u0000\u001b",
  "",
  " "
]

describe("Prometheus", () => {
  describe("text", () => {
    it.effect("R-502 is what a parser reads: counters, gauges and histograms, with their help", () =>
      Effect.gen(function* () {
        const zone = { zone: "north" }
        yield* Metric.update(
          Metric.counter("orders.packed", { incremental: true, description: "How\nmany", attributes: zone }),
          2
        )
        yield* Metric.update(Metric.gauge("queue.depth", { attributes: { unit: "{order}" } }), 4)
        const wait = Metric.histogram("wait", { boundaries: [1, 2], attributes: { unit: "s" } })
        yield* Metric.update(wait, 1.5)
        yield* Metric.update(wait, 9)
        const text = yield* Prometheus.text({ prefix: "desk" })
        assert.deepStrictEqual(
          parse(text).map(({ name, type }) => [name, type]),
          [
            ["desk_orders_packed", "COUNTER"],
            ["desk_queue_depth", "GAUGE"],
            ["desk_wait", "HISTOGRAM"]
          ]
        )
        assert.deepStrictEqual(family(text, "desk_orders_packed")?.metrics, [{ value: "2", labels: zone }])
        assert.strictEqual(family(text, "desk_orders_packed")?.help, "How\nmany")
        const [histogram] = family(text, "desk_wait")?.metrics ?? []
        assert.deepStrictEqual(
          [histogram?.buckets, histogram?.sum, histogram?.count],
          [{ "1": "0", "2": "1", "+Inf": "2" }, "10.5", "2"]
        )
      }).pipe(apart)
    )

    it.effect("R-502 has a counter that can fall as a gauge", () =>
      Effect.gen(function* () {
        const level = Metric.counter("level")
        yield* Metric.update(level, 3)
        yield* Metric.update(level, -5)
        const found = family(yield* Prometheus.text(), "level")
        assert.deepStrictEqual([found?.type, found?.metrics[0]?.value], ["GAUGE", "-2"])
      }).pipe(apart)
    )

    it.effect.each(hostile.map((value) => [value] as const))(
      "R-502 brings the label value %j back as it was",
      ([value]) =>
        Effect.gen(function* () {
          const after = { after: "intact" }
          yield* Metric.update(Metric.counter("said", { incremental: true, attributes: { value, ...after } }), 1)
          yield* Metric.update(Metric.gauge("next"), 7)
          const text = yield* Prometheus.text()
          assert.deepStrictEqual(family(text, "said")?.metrics[0]?.labels, { value, ...after })
          assert.strictEqual(family(text, "next")?.metrics[0]?.value, "7")
        }).pipe(apart)
    )

    it.effect("R-502 has each label once, and not those of the format", () =>
      Effect.gen(function* () {
        const attributes = { "x.y": "1", x_y: "2", le: "mine", "9lives": "n", __name__: "other" }
        yield* Metric.update(Metric.histogram("wait", { boundaries: [1], attributes }), 0.5)
        const text = yield* Prometheus.text()
        const line = text.split("\n").find((each) => each.startsWith("wait_count"))
        const names = [...(line ?? "").matchAll(/(\w+)=/g)].map(([, name]) => name)
        assert.sameMembers(names, ["x_y", "exported_le", "_9lives", "_name_"])
        assert.include(line, 'x_y="1;2"')
      }).pipe(apart)
    )

    it.effect("R-502 lacks what cannot be shown, which is counted, and has the rest", () =>
      Effect.gen(function* () {
        yield* Metric.update(Metric.counter("a.b", { incremental: true }), 1)
        yield* Metric.update(Metric.gauge("a_b", { attributes: { zone: "north" } }), 2)
        yield* Metric.update(Metric.counter("a-b", { incremental: true }), 3)
        yield* Metric.update(Metric.gauge("日本"), 4)
        const registration = Metric.registerUnsafe(Metric.gauge("broken"), yield* Effect.context<never>(), {
          get: () => {
            throw new Error("cannot be read")
          },
          update: () => {},
          modify: () => {}
        })
        yield* Metric.update(Metric.gauge("good"), 5)
        const text = yield* Prometheus.text()
        registration.remove()
        assert.deepStrictEqual(
          parse(text).map(({ metrics, name }) => [name, metrics.map(({ value }) => value)]),
          [
            ["a_b", ["1"]],
            ["good", ["5"]]
          ]
        )
        assert.deepStrictEqual(yield* dropped, { "metrics unencodable": 4 })
      }).pipe(apart)
    )

    it.effect.prop(
      "R-502 can be read whatever names and labels are",
      {
        id: Schema.String,
        attributes: Schema.Record(Schema.String, Schema.String),
        type: Schema.Literals(["counter", "gauge", "histogram", "summary", "frequency"])
      },
      ({ attributes, id, type }) =>
        Effect.gen(function* () {
          const update = {
            counter: Metric.update(Metric.counter(id, { attributes, incremental: true }), 1),
            gauge: Metric.update(Metric.gauge(id, { attributes }), 1),
            histogram: Metric.update(Metric.histogram(id, { attributes, boundaries: [1] }), 1),
            summary: Metric.update(
              Metric.summary(id, { attributes, maxAge: "1 minute", maxSize: 10, quantiles: [0.5] }),
              1
            ),
            frequency: Metric.update(Metric.frequency(id, { attributes }), "once")
          }
          yield* update[type]
          yield* Metric.update(Metric.gauge("zz_last"), 7)
          const text = yield* Prometheus.text()
          for (const line of text.trimEnd().split("\n")) {
            if (line.startsWith("#")) continue
            assert.match(line, /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^\n]*\})? \S+$/)
            const names = [...line.matchAll(/[{,]([a-zA-Z_][a-zA-Z0-9_]*)="(?:[^"\\]|\\.)*"/g)].map(([, name]) => name)
            assert.strictEqual(new Set(names).size, names.length)
          }
          const last = family(text, "zz_last")?.metrics.map(({ value }) => value) ?? []
          assert.include(last, "7")
        }).pipe(apart),
      { arbitrary: { runs: 200 } }
    )

    it.effect("says numbers that are none as Prometheus does", () =>
      Effect.gen(function* () {
        yield* Metric.update(Metric.gauge("up"), Number.POSITIVE_INFINITY)
        yield* Metric.update(Metric.gauge("nan"), Number.NaN)
        const text = yield* Prometheus.text()
        assert.include(text, "up +Inf")
        assert.include(text, "nan NaN")
      }).pipe(apart)
    )
  })

  describe("layerHttp", () => {
    const ask = (method: string, path: string, options?: Prometheus.RouteOptions) =>
      Effect.gen(function* () {
        const context = yield* Effect.context<never>()
        const { dispose, handler } = HttpRouter.toWebHandler(
          Layer.provide(Prometheus.layerHttp(options), Layer.succeedContext(context)),
          { disableLogger: true }
        )
        const response = yield* Effect.promise(() => handler(new Request(`http://desk${path}`, { method })))
        const text = yield* Effect.promise(() => response.text())
        yield* Effect.promise(() => dispose())
        return {
          status: response.status,
          type: response.headers.get("content-type"),
          allow: response.headers.get("allow"),
          text
        }
      })

    it.effect("R-502 answers with the metrics, and to other methods that it does not", () =>
      Effect.gen(function* () {
        yield* Metric.update(Metric.gauge("depth"), 4)
        const found = yield* ask("GET", "/metrics")
        assert.deepStrictEqual([found.status, found.type], [200, "text/plain; version=0.0.4; charset=utf-8"])
        assert.strictEqual(family(found.text, "depth")?.metrics[0]?.value, "4")
        const refused = yield* ask("POST", "/metrics")
        assert.deepStrictEqual([refused.status, refused.allow], [405, "GET, HEAD"])
        assert.strictEqual((yield* ask("GET", "/elsewhere")).status, 404)
        const head = yield* ask("HEAD", "/m", { path: "/m" })
        assert.deepStrictEqual([head.status, head.text], [200, ""])
      }).pipe(apart)
    )

    it.effect("D15 R-502 answers 500 where the metrics cannot be read", () =>
      Effect.gen(function* () {
        const { status, text } = yield* ask("GET", "/metrics")
        assert.deepStrictEqual([status, text], [500, "The metrics cannot be shown.\n"])
      }).pipe(Effect.provideService(Metric.MetricRegistry, broken))
    )
  })

  describe("serve", () => {
    const get = (url: string, init?: RequestInit) =>
      Effect.promise(async () => {
        const response = await fetch(url, init)
        return { status: response.status, headers: response.headers, text: await response.text() }
      })

    Real.withNetwork("R-502 answers many at once, each with all metrics", () =>
      Effect.gen(function* () {
        yield* Metric.update(Metric.gauge("depth"), 4)
        const { url } = yield* Prometheus.serve({ port: 0 })
        assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/metrics$/)
        const all = yield* Effect.all(
          Array.from({ length: 40 }, () => get(`${url}?x=1`)),
          { concurrency: "unbounded" }
        )
        for (const { status, text } of all) {
          assert.deepStrictEqual([status, family(text, "depth")?.metrics[0]?.value], [200, "4"])
        }
      }).pipe(Effect.scoped, apart)
    )

    Real.withNetwork("R-502 says what is not there and what cannot be done", () =>
      Effect.gen(function* () {
        const { url } = yield* Prometheus.serve({ port: 0, path: "/scrape" })
        assert.strictEqual((yield* get(new URL("/metrics", url).href)).status, 404)
        const { headers, status } = yield* get(url, { method: "DELETE" })
        assert.deepStrictEqual([status, headers.get("allow")], [405, "GET, HEAD"])
        assert.strictEqual((yield* get(url, { method: "POST", body: "x".repeat(1_000_000) })).status, 405)
        assert.deepStrictEqual((yield* get(url, { method: "HEAD" })).text, "")
      }).pipe(Effect.scoped, apart)
    )

    Real.withNetwork("D15 R-502 answers 500 to a scrape that throws, and goes on", () =>
      Effect.gen(function* () {
        const { url } = yield* Prometheus.serve({ port: 0 })
        for (const _ of [1, 2]) assert.strictEqual((yield* get(url)).status, 500)
      }).pipe(Effect.scoped, Effect.provideService(Metric.MetricRegistry, broken))
    )

    Real.withNetwork(
      "D15 R-502 leaves those who connect and do not ask, or not in whole, to make room for those who do",
      () =>
        Effect.gen(function* () {
          const at = { host: "127.0.0.1", port: 0, path: "/metrics", waits: 50 }
          const port = yield* listen(at, () => ({ status: 200, headers: {}, body: "here" }))
          const silent = Array.from({ length: 64 }, (_, index) =>
            Effect.callback<void>((resume) => {
              const socket = net.connect(port, "127.0.0.1", () => {
                if (index % 2 === 0) socket.write("GET /metrics HTTP/1.1\r\nhost: ")
              })
              socket.on("error", () => {})
              socket.on("close", () => resume(Effect.void))
            })
          )
          // All of them are closed, by nobody but the server.
          yield* Effect.all(silent, { concurrency: "unbounded" })
          assert.strictEqual((yield* get(`http://127.0.0.1:${port}/metrics`)).status, 200)
        }).pipe(Effect.scoped)
    )

    Real.withNetwork("fails where the port is taken, and gives its own back, with whoever is still connected", () =>
      Effect.gen(function* () {
        const port = yield* Effect.scoped(
          Effect.gen(function* () {
            const { port } = yield* Prometheus.serve({ port: 0 })
            const error = yield* Effect.flip(Prometheus.serve({ port }))
            assert.strictEqual(error.message, `cannot listen on 127.0.0.1, port ${port}: EADDRINUSE`)
            // A connection on which nothing is asked would keep the server open.
            yield* Effect.callback<void>((resume) => {
              const socket = net.connect(port, "127.0.0.1", () => resume(Effect.void))
              socket.on("error", () => {})
            })
            return port
          })
        )
        yield* Effect.scoped(Prometheus.serve({ port }))
      })
    )

    it("refuses options that do not hold", () => {
      assert.throws(
        () => Prometheus.serve({ port: 70_000 }),
        RangeError,
        /port must be a whole number between 0 and 65535/
      )
      assert.throws(() => Prometheus.serve({ host: "" }), RangeError, /host must be a name or an address/)
      assert.throws(() => Prometheus.serve({ path: "/a b" }), RangeError, /path must be a path/)
      assert.throws(() => Prometheus.layerHttp({ path: "metrics" as "/metrics" }), RangeError, /path/)
      assert.throws(() => Prometheus.text({ prefix: "…" }), RangeError, /prefix/)
      assert.throws(
        () => Prometheus.text({ perfix: "a" } as Prometheus.TextOptions),
        RangeError,
        /each field of options/
      )
    })
  })
})
