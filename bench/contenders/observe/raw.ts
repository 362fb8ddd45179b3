/** The limits of being observed: runs that nobody sees, the state of a run alone, and a span of Effect. */
import { Context, Effect, Option, Result } from "effect"

import { RunState } from "../../../src/run/index.ts"
import { folding } from "../../observe/history.ts"
import { recording } from "../../observe/recording.ts"
import { at, type Contender, mustBe, worked } from "../../util.ts"
import { chain, fan, run } from "../espalier-runs.ts"

const unobserved = async (scale: number) => ({
  dispatch: await run(chain(at(5_000, scale, 20), { clock: worked })),
  "fan-out": await run(fan(at(200, scale, 2), { clock: worked }))
})

/** As many as an attempt has. */
const attributes = {
  "espalier.run.id": "run-1",
  "espalier.workflow.type": "chain",
  "gen_ai.operation.name": "invoke_agent",
  "gen_ai.agent.name": "research",
  "espalier.node.path": "chain/desk/research",
  "espalier.node.kind_path": "chain/desk/research",
  "espalier.node.role": "worker",
  "espalier.task.id": "research",
  "espalier.task.attempt": 1,
  "espalier.mailbox.wait.duration": 0
}

/** A span around nothing, by `Effect.withSpan`: microseconds. */
const withSpan = (n: number) => {
  const { count, layer } = recording()
  const one = Effect.withSpan(Effect.void, "invoke_agent research", { attributes })
  return Effect.gen(function* () {
    const t0 = worked()
    for (let i = 0; i < n; i++) yield* one
    const micros = ((worked() - t0) * 1000) / n
    mustBe("the spans", count.spans, n)
    return micros
  }).pipe(Effect.provide(layer), Effect.runPromise)
}

/** A span that nothing is done in, by the tracer alone: microseconds. */
const bare = (n: number): number => {
  const { count, tracer } = recording()
  const each = Object.entries(attributes)
  const exit = Effect.runSyncExit(Effect.void)
  const t0 = worked()
  for (let i = 0; i < n; i++) {
    const span = tracer.span({
      name: "invoke_agent research",
      parent: Option.none(),
      annotations: Context.empty(),
      links: [],
      startTime: process.hrtime.bigint(),
      kind: "internal",
      root: true,
      sampled: true
    })
    for (const [key, value] of each) span.attribute(key, value)
    span.end(process.hrtime.bigint(), exit)
  }
  const micros = ((worked() - t0) * 1000) / n
  mustBe("the spans", count.spans, n)
  return micros
}

export const contender: Contender = {
  "W9/nothing": unobserved,
  "W9/spans": unobserved,
  "W9/otlp": unobserved,
  "W9/metrics": unobserved,
  "W9/logs": unobserved,
  "W9/all": unobserved,
  W10: folding((events) => {
    const state = Result.getOrThrow(RunState.fold(events))
    return Array.from(state?.tasks.values() ?? []).filter(({ status }) => status === "accepted").length
  }),
  W11: async (scale) => ({
    span: await withSpan(at(200_000, scale)),
    "span-bare": bare(at(200_000, scale))
  })
}
