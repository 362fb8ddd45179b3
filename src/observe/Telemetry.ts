/**
 * All that is told of runs, in one layer: traces, metrics and logs, by one profile of names.
 *
 * | part | what it tells |
 * |---|---|
 * | {@link Tracing} | runs, as spans |
 * | {@link EspalierTracer} | calls of models, as spans of the conventions and without content |
 * | {@link Metrics} | what is counted and measured |
 * | {@link Logs} | facts for people on call |
 *
 * **When to use**
 *
 * For all of it. Whoever wants a part takes the layer of that part; they may be merged side by side.
 *
 * **Gotchas**
 *
 * It tells the tracer, the registry of metrics and the loggers around it: provide it over those of {@link Otlp}, of
 * `@effect/opentelemetry` (inside `Bulkhead.around`), or over none.
 *
 * **Example** (A run that is told to a tracer, with metrics)
 *
 * ```ts
 * import { Effect, Layer, Metric, Schema, Tracer } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Telemetry } from "espalier/observe"
 * import { Desk, Domain, Plan, Run, Worker } from "espalier/run"
 *
 * const count = Worker.make("count", {
 *   description: "Counts the words of a text",
 *   input: Schema.Struct({ text: Schema.String }),
 *   output: Schema.Int,
 *   handle: ({ input }) => Effect.succeed(input.text.split(" ").length)
 * })
 * const desk = Desk.make("counting", {
 *   version: "1",
 *   input: Schema.Struct({ text: Schema.String }),
 *   domains: [Domain.make("words", { workers: [count] })],
 *   coordinator: Plan.make([
 *     { id: "count", worker: "words.count", objective: "Count", input: (_, { text }: { text: string }) => ({ text }) }
 *   ])
 * })
 *
 * const names: Array<string> = []
 * const tracer = Tracer.make({
 *   span: (options) => {
 *     names.push(options.name)
 *     return new Tracer.NativeSpan(options)
 *   }
 * })
 * const telemetry = Telemetry.layer({ logs: { level: "Warn" } }).pipe(
 *   Layer.provideMerge(Layer.succeed(Tracer.Tracer, tracer))
 * )
 * const program = Effect.andThen(
 *   Run.start(desk, { id: "r1", input: { text: "to be" } }),
 *   Effect.map(Metric.snapshot, (all) => all.filter(({ id }) => id === "espalier.task.results").length)
 * )
 * const counted = await Effect.runPromise(Effect.provide(program, [telemetry, Journal.layerMemory]))
 * counted // => 1
 * names.at(-1) // => "invoke_agent count"
 * ```
 *
 * @since 0.1.0
 */
import type * as AiTelemetry from "effect/ai/Telemetry"
import type * as Config from "effect/Config"
import * as Layer from "effect/Layer"

import { Given } from "../run/internal/given.ts"
import * as EspalierTracer from "./EspalierTracer.ts"
import * as Logs from "./Logs.ts"
import * as Metrics from "./Metrics.ts"
import type { Profile } from "./SemConv.ts"
import * as Tracing from "./Tracing.ts"

/**
 * How runs are told.
 *
 * **Details**
 *
 * - `profile`: by the names of which version, in all parts. Default `genai-0.1`.
 * - `traces`, `models`, `metrics`, `logs`: the options of each part. Default: those of that part.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly profile?: Profile | undefined
  readonly traces?: Omit<Tracing.Options, "profile"> | undefined
  readonly models?: Omit<EspalierTracer.Options, "profile"> | undefined
  readonly metrics?: Omit<Metrics.Options, "profile"> | undefined
  readonly logs?: Logs.Options | undefined
}

/**
 * Traces, metrics and logs of all runs around which it is.
 *
 * **Gotchas**
 *
 * - Throws a `RangeError` that names the option when a value does not hold, or when there is no such option.
 * - Fails with a `ConfigError` when `ESPALIER_CAPTURE_CONTENT` is none of the levels of content.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (
  options: Options = {}
): Layer.Layer<Metrics.Metrics | AiTelemetry.CurrentSpanTransformer, Config.ConfigError> => {
  const given = new Given("Telemetry.layer")
  given.record("options", options, ["profile", "traces", "models", "metrics", "logs"])
  const { logs, metrics, models, profile, traces } = options
  return Layer.mergeAll(
    Tracing.layer({ ...traces, profile }),
    EspalierTracer.layer({ ...models, profile }),
    Metrics.layer({ ...metrics, profile }),
    Logs.layer(logs)
  )
}
