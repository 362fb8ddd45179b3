/** Nine agents in three domains at the same time, each with two tools at once: every span is below what it belongs to. */
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { assert, describe, it } from "@effect/vitest"
import { InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Latch, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { OtlpExporter } from "effect/observability"
import { Agent, CostModel, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { EspalierTracer, Otlp, SemConv, Tracing } from "espalier/observe"
import { Dependency, Desk, Domain, Plan, Run } from "espalier/run"

import { withNetwork, withThirdParty } from "../fixtures/real.ts"
import { apart } from "./collector.ts"
import { otlpReceiver } from "./otlpReceiver.ts"
import { readable, received, type Seen } from "./seen.ts"
import { agree, sound, tracing } from "./traced.ts"
import { eventsOf } from "./trees.ts"

const { attributes: names } = SemConv.names()
const { espalier } = SemConv

const three = [1, 2, 3]
const topics = ["pears", "plums"]

const Look = Tool.make("look", {
  description: "Looks something up",
  parameters: Schema.Struct({ topic: Schema.String }),
  success: Schema.String
}).annotate(Tool.Readonly, true)

/** Nobody's tool is over before all eighteen have begun, so that nothing is as it is because one came after the other. */
const together = () => {
  const all = Latch.makeUnsafe(false)
  let begun = 0
  return Effect.suspend(() => {
    if (++begun === three.length * three.length * topics.length) all.openUnsafe()
    return all.await
  })
}

const makeDesk = () => {
  const meet = together()
  const agent = (name: string) => {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const script = ScriptedModel.make(
      [
        ScriptedModel.tools(
          topics.map((topic) => ({ name: "look", id: `${name}-${topic}`, params: { topic } })),
          { usage }
        ),
        ScriptedModel.tools([{ name: "deliver", params: { output: "done", confidence: 1 } }], { usage })
      ],
      { model: `model-${name}` }
    )
    const handle = ({ topic }: { readonly topic: string }) =>
      meet.pipe(
        Effect.andThen(Effect.withSpan(Effect.yieldNow, `read ${name} ${topic}`)),
        Effect.as(topic),
        Effect.withSpan(`search ${name} ${topic}`)
      )
    return Agent.make(name, {
      description: `Answers as ${name}`,
      instructions: "Answer.",
      input: Schema.Struct({}),
      output: Schema.String,
      models: Models.make([{ provide: script.model }]),
      tools: ToolScope.make([ToolScope.tool(Look, { handle })])
    })
  }
  const domains = three.map((domain) =>
    Domain.make(`d${domain}`, { workers: three.map((worker) => agent(`w${domain}${worker}`)) })
  )
  return Desk.make("desk", {
    version: "1",
    input: Schema.String,
    domains,
    coordinator: Plan.make(
      domains.flatMap(({ name, workers }) =>
        workers.map((worker) => ({ id: worker.name, worker: `${name}.${worker.name}`, objective: "Answer" }))
      ),
      { concurrency: 9 }
    )
  })
}

const run = Effect.gen(function* () {
  const { status } = yield* Run.start(makeDesk(), { id: "r1", input: "go", log: false })
  assert.strictEqual(status, "completed")
  return yield* eventsOf("r1")
}).pipe(Effect.provide(Layer.mergeAll(Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown)))

/** A span with what it is about, as far as its name does not say it. */
const labelOf = ({ attributes, name }: Seen): string => {
  const call = attributes[names.toolCallId]
  if (call !== undefined) return `${name} ${String(call)}`
  return attributes[names.requestModel] === undefined ? name : `${name} for ${String(attributes[names.agentName])}`
}

/** Every span with all that it is below; those that do the same in any order. */
const paths = (spans: ReadonlyArray<Seen>): ReadonlyArray<string> => {
  const known = new Map(spans.map((span) => [span.id, span]))
  const pathOf = (span: Seen): string => {
    if (span.parent === undefined) return labelOf(span)
    const above = known.get(span.parent)
    return `${above === undefined ? "nobody" : pathOf(above)} / ${labelOf(span)}`
  }
  return spans.map(pathOf).toSorted()
}

const expected = three
  .flatMap((domain) => {
    const supervisor = `espalier.segment / invoke_workflow desk / invoke_agent desk / invoke_agent d${domain}`
    return [
      supervisor,
      ...three.flatMap((worker) => {
        const name = `w${domain}${worker}`
        const full = `d${domain}.${name}`
        const order = `${supervisor} / espalier.delegate ${full}`
        const agent = `${order} / invoke_agent ${full}`
        const chat = `${agent} / chat model-${name} for ${full}`
        return [
          order,
          agent,
          chat,
          chat,
          ...topics.flatMap((topic) => {
            const tool = `${agent} / execute_tool look ${name}-${topic}`
            const search = `${tool} / search ${name} ${topic}`
            return [tool, search, `${search} / read ${name} ${topic}`]
          })
        ]
      })
    ]
  })
  .concat([
    "espalier.segment",
    "espalier.segment / invoke_workflow desk",
    "espalier.segment / invoke_workflow desk / invoke_agent desk"
  ])
  .toSorted()

const isWhole = (spans: ReadonlyArray<Seen>) => {
  assert.deepStrictEqual(paths(spans), expected)
  assert.strictEqual(new Set(spans.map(({ trace }) => trace)).size, 1)
  sound(spans, "r1")
}

describe("A tree of three by three, with tools at the same time", () => {
  it.effect("R-501 D101 has every span below what it belongs to, as the journal has it", () =>
    Effect.gen(function* () {
      const { layer, seen } = tracing()
      const events = yield* Effect.provide(run, layer)
      isWhole(seen())
      agree("r1", seen(), events)
      const paid = seen().filter(({ attributes }) => attributes[names.usageInput] !== undefined)
      assert.strictEqual(paid.length, 18)
      assert.isTrue(seen().every(({ attributes }) => attributes[espalier.runId] === "r1"))
    })
  )

  withNetwork("R-501 D101 arrives so at a collector, by OTLP", () =>
    Effect.gen(function* () {
      const receiver = yield* otlpReceiver
      const otlp = Otlp.layer({ endpoint: receiver.url, signals: { metrics: false, logs: false } }).pipe(
        Layer.provide(FetchHttpClient.layer)
      )
      const tracer = EspalierTracer.layer().pipe(Layer.provideMerge(otlp))
      yield* Effect.gen(function* () {
        yield* run
        yield* (yield* OtlpExporter.Flusher).flush
      }).pipe(Effect.provide(Layer.merge(Tracing.layer(), tracer)), apart)
      assert.deepStrictEqual(receiver.problems, [])
      isWhole(received(receiver.spans))
    }).pipe(Effect.scoped)
  )

  withThirdParty("R-501 D101 arrives so at the SDK of OpenTelemetry", () =>
    Effect.gen(function* () {
      const exporter = new InMemorySpanExporter()
      const sdk = NodeSdk.layer(() => ({
        resource: { serviceName: "desk" },
        spanProcessor: new SimpleSpanProcessor(exporter)
      }))
      const tracer = EspalierTracer.layer().pipe(Layer.provideMerge(sdk))
      const spans = yield* Effect.map(run, () => readable(exporter.getFinishedSpans())).pipe(
        Effect.provide(Layer.merge(Tracing.layer(), tracer))
      )
      isWhole(spans)
    })
  )
})
