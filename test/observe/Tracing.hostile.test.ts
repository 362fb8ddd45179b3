/** Spans of runs, where what they are made of is of no good: what the journal says, tracers, and what decides whether they are told. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Tracer } from "effect"
import { Redaction } from "espalier"
import { Journal } from "espalier/journal"
import { Tracing } from "espalier/observe"
import { Run, type RunEvent } from "espalier/run"
import { Fake } from "espalier/testing"

import { LogLines } from "../../src/observe/internal/logLines.ts"
import { desk, task } from "../run/desks.ts"
import { r1 } from "../run/guards.ts"
import { logged } from "../run/watching.ts"
import { begun } from "./events.ts"
import { collecting, drops, endOf, ownMetrics, treeOf } from "./spans.ts"

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

const broken = (): unknown => {
  throw new Error("it is broken")
}

/** A tracer in memory, of which some spans are changed. */
const changing = (change: (span: Tracer.NativeSpan) => unknown) => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const changed = change(span) as Tracer.Span
      spans.push(span)
      return changed
    }
  })
  return { spans, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const whole = [
  "espalier.segment",
  "  invoke_workflow desk",
  "    invoke_agent desk",
  "      invoke_agent d",
  "        espalier.delegate d.one",
  "          invoke_agent d.one"
]

const start = Run.start(desk([Fake.worker("one", { otherwise: "done" })], [task("a")]), r1)

describe("a tracer that is of no good", () => {
  it.effect.each(["every span", "invoke_workflow desk", "invoke_agent d"])(
    "R-501 whose spans take no attributes, of %s, has all of them, over and each in its place",
    (which) => {
      const { layer, spans } = changing((span) => {
        if (which === "every span" || span.name === which) span.attribute = broken as () => void
        return span
      })
      return Effect.gen(function* () {
        assert.strictEqual((yield* start).status, "completed")
        assert.deepStrictEqual(treeOf(spans), whole)
        assert.deepStrictEqual([...new Set(spans.map(endOf))], ["ok"])
        assert.isAbove((yield* drops)["traces thrown"] ?? 0, 0)
      }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]), ownMetrics)
    }
  )

  const answers: ReadonlyArray<readonly [name: string, answer: () => unknown]> = [
    ["throws", broken],
    ["answers with nothing", () => undefined],
    ["answers with what is no span", () => ({})],
    ["answers with what cannot be ended", () => ({ attribute: () => {} })]
  ]

  it.effect.each(answers)(
    "R-501 that %s once leaves what would be below that span below the nearest one",
    ([, answer]) => {
      const { layer, spans } = changing((span) => (span.name === "invoke_agent d" ? answer() : span))
      return Effect.gen(function* () {
        assert.strictEqual((yield* start).status, "completed")
        const tree = whole.slice(0, 3).concat(whole.slice(4).map((line) => line.slice(2)))
        assert.deepStrictEqual(treeOf(spans.filter(({ name }) => name !== "invoke_agent d")), tree)
        assert.deepStrictEqual(yield* drops, { "traces thrown": 1 })
      }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]), ownMetrics)
    }
  )
})

describe("a function that decides whether a run is told", () => {
  const answers: ReadonlyArray<readonly [name: string, sampled: () => unknown]> = [
    ["throws", broken],
    ["answers with nothing", () => undefined],
    ["answers with a text", () => "yes"],
    ["answers later", () => Promise.resolve(true)]
  ]

  it.effect.each(answers)("R-501 and %s has said no", ([name, sampled]) => {
    const { layer, spans } = collecting()
    const { layer: logging, told } = logged()
    return Effect.gen(function* () {
      assert.strictEqual((yield* start).status, "completed")
      assert.deepStrictEqual([...new Set(spans.map((span) => span.sampled))], [false])
      assert.deepStrictEqual(treeOf(spans), whole)
      assert.deepStrictEqual(yield* drops, name === "throws" ? { "traces thrown": 1 } : {})
      assert.deepStrictEqual(told(), [])
    }).pipe(
      Effect.provide([Tracing.layer({ sampled: sampled as never }), layer, logging, Journal.layerMemory]),
      ownMetrics
    )
  })
})
