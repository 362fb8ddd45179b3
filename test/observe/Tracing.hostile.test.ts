/** Spans of runs, where what they are made of is of no good: what the journal says, tracers, and what decides whether they are told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Redaction } from "espalier"
import { Tracing } from "espalier/observe"
import type { RunEvent } from "espalier/run"

import { LogLines } from "../../src/observe/internal/logLines.ts"
import { begun } from "./events.ts"
import { collecting } from "./spans.ts"

const good = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`

const forged = [
  "",
  "nonsense",
  "-".repeat(100),
  good.replace("00-", "ff-"),
  `00-${"0".repeat(32)}-${"0".repeat(16)}-01`,
  `00-${"a".repeat(32)}-${"0".repeat(16)}-01`,
  good.toUpperCase(),
  `${good}-more`,
  "x-".repeat(500_000)
]

const resumed = (trace: string): RunEvent.RunEvent => ({ _tag: "RunResumed", at: 1, trace, note: "" })

/** What the anchor of a segment is like that begins after these traces. */
const anchorAfter = Effect.fnUntraced(function* (traces: ReadonlyArray<string>, options: Tracing.Options) {
  const { layer, spans } = collecting()
  const [first, ...later] = traces
  const attendance = Tracing.make(options).attend?.("r1")
  const context = yield* Effect.provide(Effect.context<never>(), layer)
  attendance?.recall?.({ ...begun([{ id: "a" }]), ...(first === undefined ? {} : { trace: first }) })
  for (const trace of later) attendance?.recall?.(resumed(trace))
  const said = attendance?.begin?.({ cause: "message", at: 0, desk: "desk", decided: traces, context })
  const [anchor] = spans
  const links = (anchor?.links ?? []).map(({ attributes, span }) => [attributes["espalier.link.type"], span.sampled])
  return { links, sampled: anchor?.sampled, hasTrace: said?.trace !== undefined, trace: anchor?.traceId }
})

describe("a trace in a journal that is none", () => {
  it.effect.each(forged)("R-501 %# is one that is not there", (trace) =>
    Effect.gen(function* () {
      for (const traceMode of ["segment", "run"] as const) {
        const { links, sampled, hasTrace } = yield* anchorAfter([trace, trace], { traceMode, sampled: 0 })
        assert.deepStrictEqual({ links, sampled, hasTrace }, { links: [], sampled: false, hasTrace: true })
      }
    })
  )

  it.effect("R-501 does not hide the one before it", () =>
    Effect.gen(function* () {
      const { links, trace } = yield* anchorAfter([good, "nonsense"], { traceMode: "run", sampled: 0 })
      assert.deepStrictEqual(links, [
        ["resumed_from", true],
        ["run_origin", true],
        ["decided_by", true]
      ])
      assert.strictEqual(trace, "a".repeat(32))
    })
  )

  it.each(forged)("R-505 %# is in no log", (trace) => {
    const lines = new LogLines("r1", { by: Redaction.defaults, reasons: true })
    for (const event of [{ ...begun([{ id: "a" }]), trace }, resumed(trace)]) {
      for (const line of lines.happened(event)) assert.doesNotHaveAnyKeys(line.fields(), ["trace_id", "span_id"])
    }
  })

  it.effect.each([
    ["00", false],
    ["01", true],
    ["02", false],
    ["03", true],
    ["ff", true]
  ] as const)("R-501 with the flags %s it was told: %s, whatever else they say", ([flags, told]) =>
    Effect.gen(function* () {
      const { links, sampled } = yield* anchorAfter([good.replace(/01$/, flags)], { sampled: 0 })
      assert.strictEqual(sampled, told)
      assert.deepStrictEqual(links[0], ["resumed_from", told])
    })
  )
})
