/**
 * Metrics where Prometheus can read them.
 *
 * Effect writes the text. This module owns that it can be read whatever the metrics are, and the endpoint.
 *
 * **Details**
 *
 * - Names are those of the metrics with `_` for what Prometheus does not know, without `_total` and without the unit:
 *   `espalier.task.duration` is `espalier_task_duration`.
 * - A counter that can fall is a `gauge`. The attributes `unit` and `time_unit` are no labels.
 * - Attributes that come to have the same name are one label, with their values joined by `;`. What the format itself uses (`le`,
 *   `quantile`, `key`) is `exported_le` and so on.
 * - What cannot be shown is left out and counted in `espalier.telemetry.dropped`, at each scrape: a metric that cannot be
 *   read, one that comes to have the name of another of a different type, and a second of the same name and labels.
 *
 * **Invariants**
 *
 * - P1. A scrape changes nothing and waits for nothing. One that throws is answered with 500.
 *
 * **Gotchas**
 *
 * - There is no key: whoever reaches the port can read the metrics. `serve` is for this machine unless it is told otherwise.
 *
 * **Example** (What a scrape reads)
 *
 * ```ts
 * import { Effect, Metric } from "effect"
 * import { Prometheus } from "espalier/observe"
 *
 * const orders = Metric.counter("orders.packed", { incremental: true, attributes: { zone: 'the "north"' } })
 * const program = Effect.andThen(Metric.update(orders, 2), Prometheus.text())
 * const text = await Effect.runPromise(Effect.provideService(program, Metric.MetricRegistry, new Map()))
 * text.split("\n") // => ["# TYPE orders_packed counter", "orders_packed{zone=\"the \\\"north\\\"\"} 2", ""]
 * ```
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpRouter from "effect/http/HttpRouter"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import { Given } from "../run/internal/given.ts"
import { metricName, render } from "./internal/prometheusText.ts"
import { answer } from "./internal/scrape.ts"
import { listen } from "./internal/scrapeServer.ts"

/**
 * The port cannot be listened on.
 *
 * **Details**
 *
 * - `reason`: the code of the operating system, such as `EADDRINUSE`.
 *
 * @category errors
 * @since 0.1.0
 */
export class PrometheusUnavailable extends Schema.TaggedError<PrometheusUnavailable>(
  "espalier/observe/Prometheus/PrometheusUnavailable"
)("PrometheusUnavailable", { host: Schema.String, port: Schema.Int, reason: Schema.String }) {
  override get message(): string {
    return `cannot listen on ${this.host}, port ${this.port}: ${this.reason}`
  }
}

/**
 * How metrics are written.
 *
 * **Details**
 *
 * - `prefix`: before each name, with `_` after it. Default none.
 *
 * @category options
 * @since 0.1.0
 */
export interface TextOptions {
  readonly prefix?: string | undefined
}

/**
 * Where they are.
 *
 * **Details**
 *
 * - `path`: begins with `/`. Default `/metrics`.
 *
 * @category options
 * @since 0.1.0
 */
export interface RouteOptions extends TextOptions {
  readonly path?: `/${string}` | undefined
}

/**
 * Who can reach them.
 *
 * **Details**
 *
 * - `port`: 0 to 65535; 0 = one that is free. Default 9464, as of OpenTelemetry's exporter.
 * - `host`: whose address is listened on. Default `127.0.0.1`: this machine only.
 *
 * @category options
 * @since 0.1.0
 */
export interface ServeOptions extends RouteOptions {
  readonly port?: number | undefined
  readonly host?: string | undefined
}

/**
 * A server that listens.
 *
 * @category models
 * @since 0.1.0
 */
export interface Served {
  readonly port: number
  readonly url: string
}

const textOptions = (given: Given, { prefix }: TextOptions): void => {
  if (prefix === undefined) return
  given.text("prefix", prefix)
  given.made("prefix", "a text with letters or digits", metricName(prefix) !== undefined, prefix)
}

const routeOptions = (given: Given, options: RouteOptions): `/${string}` => {
  const { path = "/metrics" } = options
  textOptions(given, options)
  given.made("path", "a path that begins with / and has no ?, # or blank", /^\/[^?#\s]*$/.test(path), path)
  return path
}

/**
 * Writes the metrics of the registry around, as Prometheus reads them.
 *
 * **Gotchas**
 *
 * Dies with what a broken registry throws; the endpoints answer 500 in its place.
 *
 * @category constructors
 * @since 0.1.0
 */
export const text = (options: TextOptions = {}): Effect.Effect<string> => {
  const given = new Given("Prometheus.text")
  given.record("options", options, ["prefix"])
  textOptions(given, options)
  return Effect.map(Effect.context<never>(), (context) => render(context, options.prefix))
}

/**
 * A route for a server that there is, of the metrics of the registry around the layer.
 *
 * **Details**
 *
 * - `GET` and `HEAD` are answered with the metrics, other methods with 405. Requests are not logged.
 *
 * @category layers
 * @since 0.1.0
 */
export const layerHttp = (options: RouteOptions = {}): Layer.Layer<never, never, HttpRouter.HttpRouter> => {
  const given = new Given("Prometheus.layerHttp")
  given.record("options", options, ["path", "prefix"])
  const path = routeOptions(given, options)
  return Layer.effectDiscard(
    Effect.gen(function* () {
      const context = yield* Effect.context<never>()
      const router = yield* HttpRouter.HttpRouter
      const handler = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.sync(() => {
          const { body, headers, status } = answer(request.method, () => render(context, options.prefix))
          return HttpServerResponse.text(body, { status, headers, contentType: headers["content-type"] })
        })
      // Somebody asks every few seconds; a line in the log for each says nothing.
      yield* router.add("*", path, (request) => HttpMiddleware.withLoggerDisabled(handler(request)))
    })
  )
}

/**
 * Serves the metrics of the registry around, for as long as the scope is open.
 *
 * **Details**
 *
 * - `GET` and `HEAD` of the path are answered with the metrics, other methods with 405, and other paths with 404.
 *
 * **Gotchas**
 *
 * Fails with {@link PrometheusUnavailable} where it cannot listen. Needs Node.
 *
 * @category constructors
 * @since 0.1.0
 */
export const serve = (options: ServeOptions = {}): Effect.Effect<Served, PrometheusUnavailable, Scope.Scope> => {
  const given = new Given("Prometheus.serve")
  given.record("options", options, ["path", "prefix", "port", "host"])
  const path = routeOptions(given, options)
  const { host = "127.0.0.1", port = 9464 } = options
  // Node takes an empty one for all addresses.
  given.made("host", "a name or an address", typeof host === "string" && host.trim() !== "", host)
  given.made("port", "a whole number between 0 and 65535", Number.isInteger(port) && port >= 0 && port <= 65_535, port)
  return Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const opened = yield* Effect.mapError(
      listen({ host, port, path }, (method) => answer(method, () => render(context, options.prefix))),
      (reason) => new PrometheusUnavailable({ host, port, reason })
    )
    const name = host.includes(":") ? `[${host}]` : host
    return { port: opened, url: `http://${name}:${opened}${path}` }
  })
}

/**
 * As {@link serve}, as a layer.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: ServeOptions = {}): Layer.Layer<never, PrometheusUnavailable> =>
  Layer.effectDiscard(serve(options))
