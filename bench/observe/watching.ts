/** Those who observe runs, each with a proof that it has seen them. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

import { type Context, Effect, Layer, Logger, Metric, Option, type Scope } from "effect"
import { FetchHttpClient } from "effect/http"
import { OtlpExporter } from "effect/observability"

import { Logs, Metrics, Otlp, Prometheus, Tracing } from "../../src/observe/index.ts"
import { Observer } from "../../src/run/index.ts"
import type { Watcher } from "../groups.ts"
import { mustBe } from "../util.ts"
import type { Listening, Order, Received } from "./receiver.ts"
import { recording } from "./recording.ts"

/** What was done while somebody observed it. */
export interface Done {
  readonly runs: number
  readonly dispatches: number
}

/**
 * One who observes.
 *
 * `settled`: what has to be over before time is up. `seen`: throws unless everything was seen, and answers with figures beside the
 * time.
 */
export interface Watching {
  readonly layer: Layer.Layer<never>
  readonly settled?: Effect.Effect<void>
  readonly seen: (done: Done) => Effect.Effect<Readonly<Record<string, number>>>
}

const nothing: Effect.Effect<Watching> = Effect.sync(() => {
  let [runs, events, works] = [0, 0, 0]
  const attendance: Observer.Attendance = {
    recall: () => {},
    begin: () => {},
    happened: ({ length }) => void (events += length),
    around: (_, effect) => {
      works += 1
      return effect
    },
    end: () => void (runs += 1)
  }
  return {
    layer: Observer.layer({ attend: () => attendance }),
    seen: (done) =>
      Effect.sync(() => {
        mustBe("the runs that were seen", runs, done.runs)
        mustBe("the work that was seen", works, done.dispatches)
        mustBe("whether all events were seen", events > 3 * done.dispatches, true)
        return {}
      })
  }
})

const spans: Effect.Effect<Watching> = Effect.sync(() => {
  const { count, layer } = recording()
  return {
    layer: Layer.mergeAll(Tracing.layer(), layer),
    seen: (done) =>
      Effect.sync(() => {
        mustBe("the orders that have a span", count.orders, done.dispatches)
        return { spans: count.spans / done.dispatches }
      })
  }
})

/** Metrics of one measure, and none of those before. */
const registry = () => {
  const all: Context.Service.Shape<typeof Metric.MetricRegistry> = new Map()
  const total = (name: string) =>
    Metric.snapshot.pipe(
      Effect.provideService(Metric.MetricRegistry, all),
      Effect.map((found) =>
        found.reduce(
          (sum, each) => (each.id === name && each.type === "Counter" ? sum + Number(each.state.count) : sum),
          0
        )
      )
    )
  const seen = (done: Done) =>
    Effect.map(total("espalier.delegation.attempts"), (attempts) => {
      mustBe("the attempts that were counted", attempts, done.dispatches)
      return {}
    })
  return { layer: Layer.succeed(Metric.MetricRegistry, all), seen, total }
}

const metrics: Effect.Effect<Watching> = Effect.sync(() => {
  const { layer, seen } = registry()
  return { layer: Layer.provideMerge(Metrics.layer(), layer), seen }
})

/** A logger that counts lines, and writes none. */
const sink = () => {
  let lines = 0
  const logger = Logger.make<unknown, void>(() => void (lines += 1))
  const seen = (done: Done) =>
    Effect.sync(() => {
      // That it began, that it ended, and each report.
      mustBe("the lines", lines, 2 * done.runs + done.dispatches)
      return {}
    })
  return { layer: Logger.layer([logger]), seen }
}

const logs: Effect.Effect<Watching> = Effect.sync(() => {
  const { layer, seen } = sink()
  return { layer: Layer.mergeAll(Logs.layer(), layer), seen }
})

const file = fileURLToPath(new URL("./receiver.ts", import.meta.url))

interface Receiver {
  readonly endpoint: string
  /** Begins to scrape, and has done so once. */
  readonly scrape: (url: string) => Effect.Effect<unknown>
  /** How many bytes came. */
  readonly end: Effect.Effect<Received>
}

const said = async <A>(child: ChildProcess): Promise<A> => {
  const [message] = await once(child, "message")
  return message
}

const receiver: Effect.Effect<Receiver, never, Scope.Scope> = Effect.gen(function* () {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => fork(file)),
    (child) => Effect.sync(() => void child.kill())
  )
  const tell = (order: Order) => Effect.sync(() => void child.send(order))
  const { port } = yield* Effect.promise(() => said<Listening>(child))
  return {
    endpoint: `http://127.0.0.1:${port}`,
    scrape: (url) =>
      Effect.andThen(
        tell({ scrape: url }),
        Effect.promise(() => said(child))
      ),
    end: Effect.andThen(
      tell("end"),
      Effect.promise(() => said<Received>(child))
    )
  }
})

/** What was handed over is at the collector, or given up. */
const flushed = Effect.flatMap(
  Effect.serviceOption(OtlpExporter.Flusher),
  Option.match({ onNone: () => Effect.void, onSome: ({ flush }) => flush })
)

const otlp: Effect.Effect<Watching, never, Scope.Scope> = Effect.gen(function* () {
  const { end, endpoint } = yield* receiver
  const { layer, total } = registry()
  const exporting = Otlp.layer({ endpoint, signals: { metrics: false, logs: false } })
  return {
    layer: Tracing.layer().pipe(
      Layer.provideMerge(exporting),
      Layer.provide(FetchHttpClient.layer),
      Layer.provideMerge(layer)
    ),
    settled: flushed,
    seen: (done) =>
      Effect.gen(function* () {
        mustBe("whether spans arrived", (yield* end).pushed > done.dispatches, true)
        return { dropped: (yield* total("espalier.telemetry.dropped")) / done.dispatches }
      })
  }
})

const all: Effect.Effect<Watching, never, Scope.Scope> = Effect.gen(function* () {
  const { end, endpoint, scrape } = yield* receiver
  const log = sink()
  const counted = registry()
  const served = Effect.flatMap(Prometheus.serve({ port: 0 }), ({ url }) => scrape(url))
  return {
    layer: Layer.mergeAll(
      Tracing.layer(),
      Logs.layer(),
      Metrics.layer(),
      Layer.effectDiscard(Effect.orDie(served))
    ).pipe(
      Layer.provideMerge(Otlp.layer({ endpoint })),
      Layer.provide(FetchHttpClient.layer),
      Layer.provideMerge(Layer.mergeAll(log.layer, counted.layer))
    ),
    settled: flushed,
    seen: (done) =>
      Effect.gen(function* () {
        yield* log.seen(done)
        yield* counted.seen(done)
        const { pushed, scraped } = yield* end
        mustBe("whether telemetry arrived", pushed > done.dispatches, true)
        mustBe("whether metrics were scraped", scraped > 0, true)
        return { dropped: (yield* counted.total("espalier.telemetry.dropped")) / done.dispatches }
      })
  }
})

export const watching: { readonly [Who in Watcher]: Effect.Effect<Watching, never, Scope.Scope> } = {
  nothing,
  spans,
  otlp,
  metrics,
  logs,
  all
}
