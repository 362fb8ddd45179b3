/**
 * What the models of a run have used and cost.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"

import { headsOf, rowsOf } from "../agent/internal/meterRows.ts"
import * as Meter from "../agent/Meter.ts"
import { print, printJson, table } from "./printing.ts"
import { demand } from "./reading.ts"

/** Prints what a run has used, by domain and worker; as JSON also call by call. */
export const costs = Effect.fnUntraced(function* (run: string, json: boolean) {
  yield* demand(run)
  const used = yield* Meter.ofRun(run)
  if (json) return yield* printJson(used)
  yield* print(used.run.calls + used.run.cutOff === 0 ? "no calls of models" : table(headsOf(used), rowsOf(used)))
})
