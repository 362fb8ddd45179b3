/**
 * A finished run as scorers see it, and the shapes of its failures.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import type * as Outcome from "../../run/Outcome.ts"
import * as Run from "../../run/Run.ts"
import type { RunEvent } from "../../run/RunEvent.ts"

/** How a failure looks when what differs from run to run is left out. */
export interface Shape {
  readonly kind: string
  readonly shape: string
}

const longestShape = 200

/** A reason without ids, numbers, paths, addresses and what is quoted. */
export const shapeOf = (reason: string): string =>
  reason
    .slice(0, 4_000)
    .toLowerCase()
    .replaceAll(/https?:\/\/\S+/g, "<url>")
    .replaceAll(/"[^"]*"|'[^']*'|`[^`]*`/g, "<quoted>")
    .replaceAll(/[^\s()[\]{}]*\/[^\s()[\]{}]+/g, "<path>")
    .replaceAll(/\b[\da-f]{8,}(?:-[\da-f]+)*\b/g, "<id>")
    .replaceAll(/\d+(?:[.,:]\d+)*/g, "#")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, longestShape)

/** What is told of a run beside its outcome. */
export interface Traits {
  readonly models: ReadonlyArray<string>
  readonly workers: ReadonlyArray<string>
  readonly failures: ReadonlyArray<Shape>
}

/** Takes the events of a run in order. */
export const traits = (): { readonly add: (event: RunEvent) => void; readonly all: () => Traits } => {
  const models = new Set<string>()
  const workers = new Set<string>()
  const failures = new Map<string, Shape>()
  const failed = (kind: string, reason: string): void => {
    const shape = shapeOf(reason)
    failures.set(`${kind} ${shape}`, { kind, shape })
  }
  return {
    add: (event) => {
      switch (event._tag) {
        case "Spent": {
          const model = event.facts?.["model"]
          if (typeof model === "string") models.add(model)
          return
        }
        case "Dispatched": {
          workers.add(event.worker)
          return
        }
        case "AttemptFailed": {
          failed(event.kind, event.note)
          return
        }
        case "Reported": {
          if (event.result.error !== undefined) failed(event.result.error.kind, event.result.error.reason)
        }
      }
    },
    all: () => ({ models: [...models], workers: [...workers], failures: [...failures.values()] })
  }
}

/** A run with its outcome and what its events tell beside that. */
export const read = Effect.fnUntraced(function* (run: string) {
  const outcome: Outcome.Outcome = yield* Run.outcome(run)
  const seen = traits()
  let input: unknown = null
  yield* Stream.runForEach(Run.events(run), (event) =>
    Effect.sync(() => {
      if (event._tag === "RunStarted") input = event.input
      seen.add(event)
    })
  )
  return { outcome, input, ...seen.all() }
})
