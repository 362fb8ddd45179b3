/** A tool that asks another process, which is traced, too: both are one trace, and a run over there is found from here. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

import { assert, describe } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { FetchHttpClient, HttpClient } from "effect/http"
import { OtlpExporter } from "effect/observability"
import { ScriptedModel, ToolScope } from "espalier/agent"
import { EspalierTracer, Otlp, SemConv, Tracing } from "espalier/observe"
import { Run } from "espalier/run"

import { calls, delivers, deskWith, options, services } from "../agent/agents.ts"
import { bundled } from "../fixtures/bundled.ts"
import { withProcesses } from "../fixtures/real.ts"
import { apart } from "./collector.ts"
import { otlpReceiver } from "./otlpReceiver.ts"
import { received, type Seen } from "./seen.ts"

const { espalier } = SemConv

const program = fileURLToPath(new URL("fixtures/service.ts", import.meta.url))

/** The port of a process that is asked, which does not outlive the scope. */
const service = (collector: string) =>
  Effect.gen(function* () {
    const script = yield* Effect.promise(() => bundled(program))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--conditions=@espalier/source", script, collector], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    return yield* Effect.callback<string>((resume) => {
      createInterface({ input: child.stdout }).once("line", (line) => resume(Effect.succeed(line)))
    })
  })

const Ask = Tool.make("ask", {
  description: "Asks somebody else",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.String
}).annotate(Tool.Readonly, true)

/** The names of a span and of all that it is below. */
const upwards = (span: Seen | undefined, spans: ReadonlyArray<Seen>): ReadonlyArray<string> =>
  span === undefined
    ? []
    : [
        span.name,
        ...upwards(
          spans.find(({ id }) => id === span.parent),
          spans
        )
      ]

describe("A tool that asks another process", () => {
  withProcesses(
    "R-501 D107 has one trace with it, and the run that is carried out there points to the request",
    () =>
      Effect.gen(function* () {
        const receiver = yield* otlpReceiver
        const port = yield* service(receiver.url)
        const ask = ToolScope.tool(Ask, {
          handle: () =>
            HttpClient.get(`http://127.0.0.1:${port}/`).pipe(
              Effect.flatMap(({ text }) => text),
              Effect.orDie,
              Effect.provide(FetchHttpClient.layer)
            )
        })
        const script = ScriptedModel.make([calls(["ask", { query: "how many" }]), delivers("seven")], { model: "m" })
        const otlp = Otlp.layer({ endpoint: receiver.url, signals: { metrics: false, logs: false } }).pipe(
          Layer.provide(FetchHttpClient.layer)
        )
        yield* Effect.gen(function* () {
          const { status } = yield* Run.start(deskWith(script, { tools: ToolScope.make([ask]) as never }), options)
          assert.strictEqual(status, "completed")
          yield* (yield* OtlpExporter.Flusher).flush
        }).pipe(
          Effect.provide(Layer.merge(Tracing.layer(), EspalierTracer.layer().pipe(Layer.provideMerge(otlp)))),
          Effect.provide(services),
          apart
        )
        yield* receiver.until(() => receiver.spans.some(({ kind }) => kind === "server"))

        assert.deepStrictEqual(receiver.problems, [])
        const spans = received(receiver.spans)
        const id = receiver.spans.find(({ kind }) => kind === "server")?.spanId
        const server = spans.find((span) => span.id === id)
        assert.deepStrictEqual(upwards(server, spans), [
          "GET",
          "GET",
          "execute_tool ask",
          "invoke_agent d.one",
          "espalier.delegate d.one",
          "invoke_agent d",
          "invoke_agent desk",
          "invoke_workflow desk",
          "espalier.segment"
        ])
        assert.isTrue(
          spans.every(({ attributes, trace }) => trace === server?.trace || attributes[espalier.runId] === "far")
        )
        const [far] = spans.filter(
          ({ attributes, name }) => name === "espalier.segment" && attributes[espalier.runId] === "far"
        )
        assert.deepStrictEqual(
          far?.links.map(({ id, trace, type }) => `${type} ${trace} ${id}`),
          [`triggered_by ${server?.trace} ${server?.id}`]
        )
        assert.notStrictEqual(far?.trace, server?.trace)
      }).pipe(Effect.scoped),
    60_000
  )
})
