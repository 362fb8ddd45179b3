/**
 * Who sees what a command does: nobody, unless the environment says so. Then the modules for it are loaded.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { Misused } from "./failures.ts"

/** Any of these asks for it. */
const variables = [
  "ESPALIER_METRICS_PORT",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
]

const isAsked = Effect.map(
  Effect.forEach(variables, (name) => Config.String(name).pipe(Config.withDefault(""))),
  (found) => found.some((text) => text.trim() !== "")
)

/**
 * What the environment asks for. `offers`: the command goes on for a while, so that its metrics can be fetched.
 *
 * @since 0.1.0
 */
export const seen = ({ offers }: { readonly offers: boolean }): Layer.Layer<never, Misused> =>
  Layer.unwrap(
    Effect.gen(function* () {
      if (!(yield* isAsked)) return Layer.empty
      const { layerConfig } = yield* Effect.promise(() => import("../observe/Telemetry.ts"))
      return layerConfig({ offers, serviceName: "espalier" })
    })
  ).pipe(
    Layer.catchTag("ConfigError", ({ cause }) =>
      Layer.effectDiscard(Effect.fail(new Misused({ reason: cause.message })))
    )
  )
