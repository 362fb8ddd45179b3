/** Runs that somebody observes, the delegation of a run, and what a span of a run costs. */
import { Effect, type Scope } from "effect"

import type { Journal } from "../../../src/journal/index.ts"
import { Delegation } from "../../../src/observe/index.ts"
import type { Watcher } from "../../groups.ts"
import { folding } from "../../observe/history.ts"
import { type Done, watching } from "../../observe/watching.ts"
import { at, type Contender, fanOut, type Workload, worked } from "../../util.ts"
import { chain, fan, run, type Timing } from "../espalier-runs.ts"

interface Observed {
  readonly micros: number
  readonly figures: Readonly<Record<string, number>>
}

/** Work under the eyes of somebody. Time is up when all of it is where it belongs. */
const observed = (
  who: Watcher,
  work: (timing: Timing) => Effect.Effect<number, unknown, Journal.Journal | Scope.Scope>,
  done: Done
): Promise<Observed> =>
  run(
    Effect.gen(function* () {
      const { layer, seen, settled } = yield* watching[who]
      const micros = yield* Effect.provide(Effect.scoped(work({ clock: worked, settled })), layer)
      return { micros, figures: yield* seen(done) }
    })
  )

const chained = (who: Watcher, n: number): Promise<Observed> =>
  observed(who, (timing) => chain(n, timing), { runs: n, dispatches: n * 3 })

const fanned = (who: Watcher, n: number): Promise<Observed> =>
  observed(who, (timing) => fan(n, timing), { runs: n, dispatches: n * fanOut.tasks })

const w9 =
  (who: Watcher): Workload =>
  async (scale) => {
    const { figures, micros } = await chained(who, at(5_000, scale, 20))
    const fan = await fanned(who, at(200, scale, 2))
    return { ...figures, dispatch: micros, "fan-out": fan.micros }
  }

/** What a span costs: what runs with spans take longer than runs without, in turn, over their spans. In microseconds. */
const span = async (rounds: number, n: number): Promise<number> => {
  let added = 0
  let spans = 0
  for (let round = 0; round < rounds; round++) {
    const without = await run(chain(n, { clock: worked }))
    const { figures, micros } = await chained("spans", n)
    added += micros - without
    spans += figures["spans"] ?? 0
  }
  return added / spans
}

const delegates = (node: Delegation.Node): number =>
  node.children.reduce((sum, child) => sum + delegates(child), node.kind === "delegate" ? 1 : 0)

export const contender: Contender = {
  "W9/nothing": w9("nothing"),
  "W9/spans": w9("spans"),
  "W9/otlp": w9("otlp"),
  "W9/metrics": w9("metrics"),
  "W9/logs": w9("logs"),
  "W9/all": w9("all"),
  W10: folding((events) => {
    const { add, tree } = Delegation.fold()
    for (const event of events) add(event)
    const made = tree()
    return made === undefined ? 0 : delegates(made)
  }),
  W11: async (scale) => {
    const micros = await span(at(50, scale, 2), at(200, scale, 20))
    return { span: micros, "span-bare": micros }
  }
}
