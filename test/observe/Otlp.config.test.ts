import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer } from "effect"
import { HttpClient } from "effect/http"
import { Otlp } from "espalier/observe"

import { apart, Collector, dropped, pass, spans, status } from "./collector.ts"

type Env = Readonly<Record<string, string>>

/** What comes of a span and a log where the environment is so. */
const sent = (env: Env, options: Otlp.Options = {}, collector = new Collector()) =>
  Effect.gen(function* () {
    const layer = Otlp.layerConfig(options).pipe(
      Layer.provide(Layer.succeed(HttpClient.HttpClient, collector.client)),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
    )
    const work = Effect.gen(function* () {
      yield* Effect.logInfo("work")
      yield* spans(1)
    })
    yield* Effect.provide(work, layer)
    return collector
  }).pipe(apart)

const base = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" }
const urls = ({ requests }: Collector) => requests.map(({ url }) => url).toSorted()

describe("Otlp.layerConfig", () => {
  it.effect("R-501 R-502 sends nothing where no endpoint is named, or the SDK is off", () =>
    Effect.gen(function* () {
      const off = { OTEL_SDK_DISABLED: "true" }
      for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, { ...base, ...off }]) {
        assert.deepStrictEqual(urls(yield* sent(env)), [])
      }
      assert.deepStrictEqual(urls(yield* sent(off, { endpoint: "http://code" })), [])
    })
  )

  it.effect("R-501 R-502 sends the signals below the endpoint, and one of its own to its own", () =>
    Effect.gen(function* () {
      const env = {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/otlp/",
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://logs/whole?a=1"
      }
      assert.deepStrictEqual(urls(yield* sent(env, { signals: { metrics: false } })), [
        "http://collector:4318/otlp/v1/traces",
        "http://logs/whole?a=1"
      ])
    })
  )

  it.effect("sends what the exporters of signals say", () =>
    Effect.gen(function* () {
      const env = {
        ...base,
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "prometheus",
        OTEL_TRACES_EXPORTER: "otlp"
      }
      assert.deepStrictEqual(urls(yield* sent(env)), ["http://collector:4318/v1/traces"])
      const only = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces/" }
      assert.deepStrictEqual(urls(yield* sent(only)), ["http://traces/"])
    })
  )

  it.effect("has headers, a resource and a name", () =>
    Effect.gen(function* () {
      const env = {
        ...base,
        OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b=c, x=1",
        OTEL_EXPORTER_OTLP_LOGS_HEADERS: "api-key=logs",
        OTEL_SERVICE_NAME: "desk",
        OTEL_RESOURCE_ATTRIBUTES: "service.name=other,zone=north%2C1,service.version=2"
      }
      const { requests, spans } = yield* sent(env, { signals: { metrics: false } })
      const found = requests.map(({ headers }) => [headers["api-key"], headers["x"]])
      assert.sameDeepMembers(found, [
        ["a b=c", "1"],
        ["logs", undefined]
      ])
      const resource = spans[0]?.resource ?? {}
      assert.deepStrictEqual(
        [resource["service.name"], resource["zone"], resource["service.version"]],
        ["desk", "north,1", "2"]
      )
    })
  )

  it.effect("lets the code win", () =>
    Effect.gen(function* () {
      const env = {
        ...base,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://env/",
        OTEL_EXPORTER_OTLP_HEADERS: "key=env",
        OTEL_SERVICE_NAME: "env",
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "none"
      }
      const collector = yield* sent(env, {
        endpoint: "http://code",
        headers: { key: "code" },
        resource: { attributes: { "service.name": "code" } }
      })
      assert.deepStrictEqual(urls(collector), ["http://code/v1/traces"])
      assert.strictEqual(collector.requests[0]?.headers["key"], "code")
      assert.strictEqual(collector.spans[0]?.resource["service.name"], "code")
    })
  )

  it.effect("has times and sizes", () =>
    Effect.gen(function* () {
      const collector = new Collector(() => Effect.never)
      const env = {
        ...base,
        OTEL_METRICS_EXPORTER: "none",
        OTEL_LOGS_EXPORTER: "none",
        OTEL_BSP_SCHEDULE_DELAY: "2000",
        OTEL_BSP_MAX_QUEUE_SIZE: "4",
        OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "2",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "1000"
      }
      const layer = Otlp.layerConfig({ shutdownTimeout: 0 }).pipe(
        Layer.provide(Layer.succeed(HttpClient.HttpClient, collector.client)),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
      )
      yield* Effect.gen(function* () {
        yield* spans(1)
        yield* pass(4)
        assert.deepStrictEqual(
          collector.requests.map(({ at }) => at),
          [2_000, 4_000]
        )
        yield* spans(10)
        yield* pass(1)
        assert.deepStrictEqual(yield* dropped, { "traces queue_full": 8 })
      }).pipe(Effect.provide(layer))
    }).pipe(apart)
  )

  const wrong: ReadonlyArray<readonly [Env, RegExp]> = [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: "canary" }, /endpoint must be an http or https address/],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: "soon" }, /OTEL_EXPORTER_OTLP_TIMEOUT/],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" }, /OTEL_EXPORTER_OTLP_PROTOCOL/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "key=%zz-canary" }, /OTEL_EXPORTER_OTLP_HEADERS must be a list of name=value/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "canary" }, /OTEL_EXPORTER_OTLP_HEADERS must be a list of name=value/],
    [{ OTEL_EXPORTER_OTLP_HEADERS: "key=canary%0A" }, /headers\.key must be a text on one line/],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: "0" }, /must be a whole number >= 1/],
    [{ OTEL_RESOURCE_ATTRIBUTES: "zone" }, /OTEL_RESOURCE_ATTRIBUTES must be a list of name=value/]
  ]
  it.effect.each(wrong)("fails with a ConfigError that shows no value of a key: %j", ([env, message]) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(sent({ ...base, ...env }, {}, new Collector(() => status(200))))
      assert.isTrue(Exit.isFailure(exit))
      const error = yield* Effect.flip(exit)
      assert.strictEqual(error._tag, "ConfigError")
      assert.match(error.message, message)
      assert.notInclude(error.message, "canary")
    })
  )

  it("refuses options that do not hold, whatever the environment says", () => {
    assert.throws(() => Otlp.layerConfig({ maxBatch: 0 }), RangeError, /Otlp\.layerConfig: maxBatch/)
  })
})
