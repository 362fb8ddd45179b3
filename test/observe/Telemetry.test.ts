import { assert, describe, it } from "@effect/vitest"
import { type Config, ConfigProvider, Effect, Exit, Fiber, Layer, Logger, Metric, References } from "effect"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Telemetry } from "espalier/observe"
import { Dependency, Observer, Run } from "espalier/run"

import { calls, delivers, deskWith, Search, search, started } from "../agent/agents.ts"
import { withNetwork } from "../fixtures/real.ts"
import { desk, gate, task, worker } from "../run/desks.ts"
import { r1 } from "../run/guards.ts"
import { attributesOf, collecting, ownMetrics } from "./spans.ts"

type Told = Layer.Layer<never, Config.ConfigError>

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

  it.effect.each([
    [
      "over the tracer",
      (telemetry: Told, tracer: Told): ReadonlyArray<Told> => [Layer.provideMerge(telemetry, tracer)]
    ],
    ["beside the tracer", (telemetry: Told, tracer: Told): ReadonlyArray<Told> => [Layer.merge(telemetry, tracer)]],
    ["before the tracer", (telemetry: Told, tracer: Told): ReadonlyArray<Told> => [telemetry, tracer]],
    ["after the tracer", (telemetry: Told, tracer: Told): ReadonlyArray<Told> => [tracer, telemetry]],
    [
      "under the tracer",
      (telemetry: Told, tracer: Told): ReadonlyArray<Told> => [Layer.provideMerge(tracer, telemetry)]
    ]
  ] as const)("R-501 a run is told the same where it stands %s", ([, wired]) => {
    const { layer, spans } = collecting()
    const [first = Layer.empty, second = Layer.empty] = wired(Telemetry.layer({ logs: { level: "None" } }), layer)
    return Effect.gen(function* () {
      const script = ScriptedModel.make([calls(["search", { query: "x" }]), delivers("found")], { model: "m" })
      yield* started(deskWith(script, { tools: ToolScope.make([search()]) as never }))
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        [
          "espalier.segment",
          "invoke_workflow desk",
          "invoke_agent desk",
          "invoke_agent d",
          "espalier.delegate d.one",
          "invoke_agent d.one",
          "chat m",
          "execute_tool search",
          "chat m"
        ]
      )
      const chat = attributesOf(spans.find(({ name }) => name === "chat m")!)
      assert.strictEqual(chat["gen_ai.agent.name"], "d.one")
      assert.isAbove(Number(chat["gen_ai.usage.input_tokens"]), 0)
    }).pipe(
      Effect.provide([Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown, first, second]),
      ownMetrics
    )
  })

  const token = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

  it.effect.each([
    ["none", "span", undefined],
    ["metadata", "span", undefined],
    ["full", "event", undefined],
    ["redacted", "span", "told"],
    ["full", "span", "told"]
  ] as const)(
    "R-501 with content %s on the %s, a tool's span has of it what may be told",
    ([capture, captureTarget, expected]) => {
      const { layer, spans } = collecting()
      const models = { capture, captureTarget, partLimit: 96 } as const
      const telemetry = Telemetry.layer({ models, logs: { level: "None" } })
      const script = ScriptedModel.make(
        [calls(["search", { query: "x" }], ["search", { query: "y".repeat(500) }]), delivers("found")],
        { model: "m" }
      )
      const leaking = ToolScope.tool(Search, { handle: () => Effect.succeed([token]) })
      return Effect.gen(function* () {
        yield* started(deskWith(script, { tools: ToolScope.make([leaking]) as never }))
        const tools = spans.filter(({ name }) => name === "execute_tool search").map(attributesOf)
        assert.lengthOf(tools, 2)
        const said = (key: string) => tools.map((tool) => tool[`gen_ai.tool.call.${key}`])
        if (expected === undefined) {
          assert.deepStrictEqual(
            [...said("arguments"), ...said("result")],
            [undefined, undefined, undefined, undefined]
          )
          return
        }
        const [short, long] = said("arguments")
        assert.strictEqual(short, '{"query":"x"}')
        assert.isAtMost(new TextEncoder().encode(String(long)).length, 96)
        assert.match(String(long), /^\{"query":"y+…$/)
        // An agent takes secrets out before anybody else sees what a tool has answered.
        assert.strictEqual(said("result")[0], '["[redacted:api-key]"]')
      }).pipe(
        Effect.provide([telemetry, layer, Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown]),
        ownMetrics
      )
    }
  )

  const inEnvironment = (env: Readonly<Record<string, string>>) => ConfigProvider.layer(ConfigProvider.fromUnknown(env))

  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }

  it.effect.each([
    ["nothing", {}, 0],
    ["all three signals", endpoint, 3],
    ["one signal", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1/v1/traces" }, 1],
    ["a signal less", { ...endpoint, OTEL_LOGS_EXPORTER: "none" }, 2],
    ["nothing at all", { ...endpoint, OTEL_SDK_DISABLED: "true" }, 0],
    ["metrics that are fetched", { ESPALIER_METRICS_PORT: "0" }, 1],
    ["nothing, with blanks", { ESPALIER_METRICS_PORT: " ", OTEL_EXPORTER_OTLP_ENDPOINT: " \t" }, 0],
    ["three signals, with blanks", { ...endpoint, ESPALIER_METRICS_PORT: " ", ESPALIER_CAPTURE_CONTENT: " " }, 3]
  ] as const)("R-501 R-502 R-505 the environment asks for %s", ([, env, observers]) =>
    Effect.gen(function* () {
      assert.lengthOf(yield* Observer.all, observers)
    }).pipe(Effect.provide(Telemetry.layerConfig()), Effect.provide(inEnvironment(env)), ownMetrics)
  )

  it.effect.each([
    ["-1", /from 0 to 65535, got -1/],
    ["many", /ESPALIER_METRICS_PORT/]
  ] as const)("R-502 a port %s is refused", ([port, expected]) =>
    Effect.gen(function* () {
      const env = inEnvironment({ ESPALIER_METRICS_PORT: port })
      const error = yield* Effect.flip(Effect.provide(Effect.provide(Effect.void, Telemetry.layerConfig()), env))
      assert.strictEqual(error._tag, "ConfigError")
      assert.match(error.message, expected)
    })
  )

  withNetwork("R-502 metrics are offered while a run goes on, and no longer", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const logger = Logger.make<unknown, void>(({ message }) => void told.push(String(message)))
      const open = gate()
      const slow = worker("one", () => Effect.as(open.wait, "done"))
      const url = yield* Effect.scoped(
        Effect.gen(function* () {
          const run = yield* Effect.forkChild(Run.start(desk([slow], [task("a")]), r1))
          yield* open.reached
          const url = /http:\S+/.exec(told.join(" "))?.[0] ?? ""
          const text = yield* Effect.promise(() => fetch(url).then((response) => response.text()))
          assert.match(text, /espalier_task_count\{[^}]*espalier_task_state="running"[^}]*\} 1/)
          yield* open.open
          yield* Fiber.join(run)
          return url
        }).pipe(
          Effect.provide(Telemetry.layerConfig()),
          Effect.provide(inEnvironment({ ESPALIER_METRICS_PORT: "0" })),
          Effect.provide([Journal.layerMemory, Logger.layer([logger])]),
          ownMetrics
        )
      )
      const gone = yield* Effect.exit(Effect.tryPromise(() => fetch(url)))
      assert.isTrue(Exit.isFailure(gone))
    })
  )

  it("R-501 a wrong option is named, with the part that it is of", () => {
    assert.throws(() => Telemetry.layer({ trace: {} } as never), /trace/)
    assert.throws(() => Telemetry.layer({ traces: { maxSpans: 0 } }), /Tracing.*maxSpans/)
    assert.throws(() => Telemetry.layer({ metrics: { maxSeries: 0 } }), /Metrics.*maxSeries/)
    assert.throws(() => Telemetry.layerConfig({ offers: 1 } as never), /Telemetry\.layerConfig.*offers/)
    assert.throws(() => Telemetry.layer({ models: { room: 0 } }), /EspalierTracer.*room/)
  })
})
