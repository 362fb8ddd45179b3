/** A collector without a network: an `HttpClient` that answers as it is told, on a test clock. */
import { Clock, Effect, Layer, Logger, Metric } from "effect"
import { HttpClient, type HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { Otlp } from "espalier/observe"

import { logsOf, pointsOf, type ReceivedLog, type ReceivedPoint, type ReceivedSpan, spansOf } from "./otlpDecode.ts"

export const status = (
  code: number,
  headers: Record<string, string> = {},
  body: string | null = null
): Effect.Effect<Response> => Effect.sync(() => new Response(body, { status: code, headers }))

export type Behaviour = (
  request: HttpClientRequest.HttpClientRequest,
  count: number
) => Effect.Effect<Response, HttpClientError.HttpClientError>

/** What was sent, when, and what was logged below the layer. */
export class Collector {
  readonly spans: Array<ReceivedSpan> = []
  readonly points: Array<ReceivedPoint> = []
  readonly logs: Array<ReceivedLog> = []
  readonly requests: Array<{ readonly at: number; readonly url: string; readonly headers: Record<string, string> }> = []
  readonly told: Array<unknown> = []
  /** How many requests are on their way, and how many were at most. */
  open = 0
  most = 0
  behaviour: Behaviour

  constructor(behaviour: Behaviour = () => status(200)) {
    this.behaviour = behaviour
  }

  private take(url: string, body: unknown): void {
    if (url.includes("traces")) this.spans.push(...spansOf(body))
    else if (url.includes("metrics")) this.points.push(...pointsOf(body))
    else this.logs.push(...logsOf(body))
  }

  readonly client = HttpClient.make((request) =>
    Effect.gen({ self: this }, function* () {
      this.requests.push({ at: yield* Clock.currentTimeMillis, url: request.url, headers: { ...request.headers } })
      this.open++
      this.most = Math.max(this.most, this.open)
      const response = yield* this.behaviour(request, this.requests.length)
      if (response.ok && request.body._tag === "Uint8Array") {
        this.take(request.url, JSON.parse(new TextDecoder().decode(request.body.body)))
      }
      return HttpClientResponse.fromWeb(request, response)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          this.open--
        })
      )
    )
  )

  layer(options: Otlp.Options = {}) {
    const told = Logger.make(({ logLevel, message }) => void this.told.push([logLevel, message]))
    return Otlp.layer({ endpoint: "http://collector:4318", resource: { serviceName: "desk" }, ...options }).pipe(
      Layer.provide(Layer.succeed(HttpClient.HttpClient, this.client)),
      Layer.provide(Logger.layer([told]))
    )
  }
}

/** How much was dropped, by signal and reason. */
export const dropped: Effect.Effect<Readonly<Record<string, number>>> = Effect.map(Metric.snapshot, (all) => {
  const found: Record<string, number> = {}
  for (const metric of all) {
    if (metric.id !== "espalier.telemetry.dropped" || metric.type !== "Counter") continue
    const attributes = metric.attributes ?? {}
    const key = `${attributes["espalier.telemetry.signal"]} ${attributes["espalier.telemetry.reason"]}`
    found[key] = Number(metric.state.count)
  }
  return found
})

/** Metrics of its own for a test. */
export const apart = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, Metric.MetricRegistry, new Map())

export const spans = (count: number, name = "s"): Effect.Effect<void> =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    (index) => Effect.withSpan(Effect.void, `${name}${index}`),
    { discard: true }
  )

/** Lets time pass a second at a time, so that what one second begins is there in the next. */
export const pass = (seconds: number): Effect.Effect<void> =>
  Effect.forEach(Array.from({ length: seconds }), () => TestClock.adjust("1 second"), { discard: true })
