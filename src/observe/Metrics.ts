/**
 * Metrics of trees, desks and runs, as metrics of Effect: any exporter that reads those has them.
 *
 * **Details**
 *
 * - What happens is counted when it happens. What is read back from a journal has been counted by somebody else: a run that is
 *   taken up again goes on counting, and counts nothing again.
 * - What stands is read when somebody looks, and costs nothing until then: children by state, what is left of an
 *   intensity, mail, pools, breakers, tasks, questions to people. Its series are there as long as what they are about.
 * - Names of workers, tools and models are attributes; ids of runs, tasks, orders, questions and people never are.
 * - {@link catalog} has every metric as data. A ratio is no metric: it is derived from counters by whoever asks.
 *
 * **Invariants**
 *
 * - E1. A metric has `maxSeries` series at most, and one with `espalier.overflow` for the rest.
 * - E2. A counter counts each event of a run once, however often the run is read.
 *
 * **Gotchas**
 *
 * - The unit of a metric is its attribute `unit`. The exporter for OTLP takes it from there and leaves it among the attributes,
 *   too: drop it in a collector. The one for Prometheus leaves it out.
 * - Prometheus has the names with `_` in place of `.`, without `_total` or a unit at the end.
 * - A confidence is what a model thinks of itself, and no measure of quality: none is made of it.
 *
 * **Example** (What a run counts)
 *
 * ```ts
 * import { Effect, Layer, Metric, Schema } from "effect"
 * import { Journal } from "espalier/journal"
 * import { Metrics } from "espalier/observe"
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
 * const program = Effect.gen(function* () {
 *   yield* Run.start(desk, { id: "r1", input: { text: "to be" } })
 *   const found = (yield* Metric.snapshot).filter(({ id }) => id === "espalier.task.results")
 *   return found.map(({ attributes, state }) => [attributes?.["espalier.task.result"], state])
 * })
 * const layer = Layer.mergeAll(Metrics.layer(), Journal.layerMemory)
 * const registry = Layer.succeed(Metric.MetricRegistry)(new Map())
 * await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.provide(registry)))
 * // => [["accepted", { count: 1, incremental: true }]]
 * ```
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import { Given } from "../run/internal/given.ts"
import { contextOf, keyOf } from "../run/internal/observers.ts"
import { Tree } from "../Tree.ts"
import * as catalogue from "./internal/catalogue.ts"
import { golden } from "./internal/measures/routing.ts"
import * as metering from "./internal/metering.ts"
import { defaultProfile, Profiles } from "./SemConv.ts"

export type { Entry, Profile, Section } from "./internal/catalogue.ts"

/**
 * The metrics that are installed.
 *
 * @category services
 * @since 0.1.0
 */
export class Metrics extends Context.Service<
  Metrics,
  {
    /**
     * See {@link tree}.
     *
     * @since 0.1.0
     */
    readonly tree: (tree: Tree["Service"]) => Effect.Effect<void, never, Scope.Scope>

    /**
     * Counts who was chosen in an example of a golden set, and who should have been. See `RoutingQuality.record`.
     *
     * @since 0.1.0
     */
    readonly labelled: (label: {
      readonly supervisor: string
      readonly predicted: string
      readonly expected: string
    }) => Effect.Effect<void>
  }
>()("espalier/observe/Metrics") {}

/**
 * How metrics are recorded.
 *
 * **Details**
 *
 * - `profile`: by which names of the GenAI conventions. Default `"genai-0.1"`.
 * - `maxSeries`: of one metric, a whole number >= 1. Default 1,000.
 * - `reviewsEvery`: how often the questions to people that are open are read from the journal, > 0. What happens to one in this process
 *   is seen at once; this is for what other processes do. Default 15 seconds.
 * - `people`: what an hour of their time costs, >= 0, and in which currency. It is counted of questions that somebody took care of
 *   before they were decided. Default: that is not known.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly profile?: catalogue.Profile | undefined
  readonly maxSeries?: number | undefined
  readonly reviewsEvery?: Duration.Input | undefined
  readonly people?: { readonly perHour: number; readonly currency: string } | undefined
}

const check = (options: Options): metering.Settings => {
  const given = new Given("Metrics.layer")
  given.record("options", options, ["profile", "maxSeries", "reviewsEvery", "people"])
  const { maxSeries = 1000, people, profile = defaultProfile, reviewsEvery = "15 seconds" } = options
  given.oneOf("profile", profile, Profiles)
  given.whole("maxSeries", maxSeries, 1)
  if (people !== undefined) {
    given.record("people", people, ["perHour", "currency"])
    const { currency, perHour } = people
    if (!(typeof perHour === "number" && perHour >= 0 && Number.isFinite(perHour))) {
      given.refuse("people.perHour", "a number >= 0", perHour)
    }
    if (typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) {
      given.refuse("people.currency", "three capital letters, as in USD", currency)
    }
  }
  return { profile, maxSeries, people, reviewsEvery: given.duration("reviewsEvery", reviewsEvery, "more") }
}

/**
 * Installs the metrics: of all runs, and of all desks that are opened, with this layer around them.
 *
 * **Details**
 *
 * They are recorded in the registry that is around the layer (`Metric.MetricRegistry`), where exporters look for them. Labels of
 * the process (`Metric.CurrentMetricAttributes` around the layer) go to all of them.
 *
 * **Gotchas**
 *
 * Throws a `RangeError` that names the option when one is out of range, and when there is no such option.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<Metrics> => {
  const settings = check(options)
  return Layer.effectContext(
    Effect.gen(function* () {
      const installed = yield* metering.make(settings)
      const service: Metrics["Service"] = {
        tree: (tree) => installed.tree(tree),
        labelled: (label) => Effect.sync(() => installed.record([golden(label)]))
      }
      return Context.make(Metrics, service).pipe(Context.merge(contextOf(keyOf("Metrics"), installed.observer)))
    })
  )
}

/**
 * Measures a tree for as long as the scope: restarts, what is left of each intensity, children by state, mail.
 *
 * **When to use**
 *
 * For a tree of its own. The trees of desks are measured by {@link layer}.
 *
 * @category trees
 * @since 0.1.0
 */
export const tree = (tree: Tree["Service"]): Effect.Effect<void, never, Metrics | Scope.Scope> =>
  Effect.flatMap(Metrics, (metrics) => metrics.tree(tree))

/**
 * Measures the tree in the context, see {@link tree}.
 *
 * **Example** (A tree without runs)
 *
 * ```ts
 * import { Effect, Layer, Metric } from "effect"
 * import { Child, Supervisor } from "espalier"
 * import { Metrics } from "espalier/observe"
 *
 * const root = Supervisor.make("root", {
 *   intensity: { restarts: 5, within: "1 minute" },
 *   children: [Child.effect("worker", Effect.never)]
 * })
 * const layer = Metrics.layerTree.pipe(Layer.provideMerge(Layer.mergeAll(Metrics.layer(), Supervisor.layer(root))))
 * const left = Effect.map(Metric.snapshot, (all) => all.find(({ id }) => id === "espalier.supervisor.restart.left")?.state)
 * const registry = Layer.succeed(Metric.MetricRegistry)(new Map())
 * await Effect.runPromise(left.pipe(Effect.provide(layer), Effect.provide(registry))) // => { value: 5 }
 * ```
 *
 * @category trees
 * @since 0.1.0
 */
export const layerTree: Layer.Layer<never, never, Metrics | Tree> = Layer.effectDiscard(Effect.flatMap(Tree, tree))

/**
 * The metrics of a profile.
 *
 * @category catalogue
 * @since 0.1.0
 */
export const catalogOf = (profile: catalogue.Profile): ReadonlyArray<catalogue.Entry> => [
  ...catalogue.byKey(profile).values()
]

/**
 * Every metric that there is, by the names of the default profile.
 *
 * @category catalogue
 * @since 0.1.0
 */
export const catalog: ReadonlyArray<catalogue.Entry> = catalogOf(defaultProfile)

/**
 * What is not measured, by the name that it would have, and why.
 *
 * @category catalogue
 * @since 0.1.0
 */
export const unmeasured: ReadonlyArray<{ readonly name: string; readonly why: string }> = catalogue.unmeasured
