import { assert, describe, it } from "@effect/vitest"
import { Arbitrary } from "effect"
import { Redaction } from "espalier"
import { RunEvent } from "espalier/run"

import { LogLines, type Line, type Manner } from "../../src/observe/internal/logLines.ts"
import { table } from "../../src/observe/internal/logTable.ts"
import { canaries, assertClean } from "../run/canaries.ts"

type Event = RunEvent.RunEvent

const manner: Manner = { by: Redaction.defaults, reasons: true }

const started: Event = {
  _tag: "RunStarted",
  at: 1_000,
  run: "r1",
  desk: "shop",
  version: "1",
  definition: "x",
  input: { text: "é" },
  tasks: [],
  trace: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  note: "began"
}

const dispatched: Event = {
  _tag: "Dispatched",
  at: 2_000,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.one",
  contract: 1,
  note: "given"
}

const envelope = { status: "completed", output: "done", confidence: 1, evidence: [], usage: {}, missing: [] } as const

const reported = (fields: Partial<RunEvent.Of<"Reported">> = {}): Event => ({
  _tag: "Reported",
  at: 5_000,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.one",
  attempts: 2,
  outcome: "accepted",
  result: envelope,
  note: "reported",
  ...fields
})

const opened: Event = {
  _tag: "ReviewOpened",
  at: 3_000,
  review: "r1/review/1",
  task: "a",
  kind: "question",
  reason: "asked",
  allowed: ["answer"],
  facts: {},
  note: "asked"
}

const parked: Event = { _tag: "Parked", at: 2_500, task: "a", dispatch: "r1/a/1", worker: "d.one", note: "" }
const unparked: Event = { ...parked, _tag: "Unparked", at: 4_500 }

/** The lines of what happens, after what happened before. */
const after = (before: ReadonlyArray<Event>, now: ReadonlyArray<Event>, how: Manner = manner): ReadonlyArray<Line> => {
  const lines = new LogLines("r1", how)
  for (const event of before) lines.recall(event)
  return now.flatMap((event) => lines.happened(event))
}

const seen = ({ fields, level, message }: Line) => ({ level, message: message(), fields: fields() })

const open = [started, dispatched]

const trace = { trace_id: "a".repeat(32), span_id: "b".repeat(16) }
const place = { run_id: "r1", task: "a", worker: "d.one", domain: "d", ...trace }

describe("R-505: lines of a log", () => {
  it("R-505: the start of a run tells the size of its input in bytes", () => {
    const [line] = after([], [started])
    assert.deepStrictEqual(seen(line!), {
      level: "Info",
      message: "the run of shop 1 began",
      fields: {
        "event.name": "espalier.run.started",
        run_id: "r1",
        ...trace,
        desk: "shop",
        version: "1",
        tasks: 0,
        input_size: 13
      }
    })
  })

  it("R-505: a report tells attempt, latency, usage, size and how it ended", () => {
    const result = { ...envelope, usage: { tokens: 160, cost: 0.25, steps: 2, toolCalls: 1 } }
    const [line] = after(open, [reported({ result })])
    assert.deepStrictEqual(seen(line!), {
      level: "Info",
      message: "r1/a/1 of d.one: accepted",
      fields: {
        "event.name": "espalier.dispatch.reported",
        ...place,
        dispatch: "r1/a/1",
        attempt: 2,
        latency_ms: 3_000,
        tokens: 160,
        cost: 0.25,
        steps: 2,
        tool_calls: 1,
        output_size: 6,
        outcome: "accepted",
        confidence: 1
      }
    })
  })

  it("R-505: what a call used is called an estimate where the provider did not say it", () => {
    const call = (estimated: unknown): Event => ({
      _tag: "Spent",
      at: 3_000,
      task: "a",
      dispatch: "r1/a/1",
      worker: "d.one",
      what: "model",
      usage: { tokens: 500, cost: 0.25 },
      facts: { durationMillis: 12, ...(estimated === undefined ? {} : { estimated }) } as never,
      note: ""
    })
    const told = after(open, [call(true), call(undefined), call("quoted")]).map((line) => {
      const { cost, estimated, tokens } = line.fields()
      return { cost, estimated, tokens }
    })
    const used = { tokens: 500, cost: 0.25 }
    assert.deepStrictEqual(told, [
      { ...used, estimated: true },
      { ...used, estimated: undefined },
      { ...used, estimated: undefined }
    ])
  })

  it("R-505: the latency of an order leaves out waits for people, and the time after a crash", () => {
    const latency = (before: ReadonlyArray<Event>, at: number) =>
      after(before, [reported({ at })])[0]!.fields()["latency_ms"]
    assert.strictEqual(latency([...open, parked, opened, unparked], 5_000), 1_000)
    assert.strictEqual(latency([...open, parked], 5_000), 500)
    // Nobody carried it out from 2,000 until 9,000; what a person said meanwhile changes nothing about that.
    const decided: Event = { _tag: "CancelRequested", at: 8_000, by: "ann", note: "" }
    const resumed: Event = { _tag: "RunResumed", at: 9_000, note: "" }
    assert.strictEqual(latency([...open, decided, resumed], 9_400), 400)
    // It waited for people the whole time, and for nobody else.
    assert.strictEqual(latency([...open, parked, resumed, { ...unparked, at: 9_100 }], 9_400), 800)
  })

  it("R-505: an error tells its kind, its reason, and what telemetry calls it", () => {
    const error = { kind: "transient", reason: "the bank is busy" } as const
    const [line] = after(open, [reported({ outcome: "timed-out", result: { ...envelope, status: "failed", error } })])
    const { fields, level } = seen(line!)
    assert.strictEqual(level, "Warn")
    assert.deepStrictEqual(fields["error"], { kind: "transient", reason: "the bank is busy" })
    assert.strictEqual(fields["error.type"], "timeout")
    assert.strictEqual(fields["outcome"], "timed_out")
  })

  const at = 6_000
  const note = "why"
  const rows: ReadonlyArray<readonly [Event, string, string, Readonly<Record<string, unknown>>]> = [
    [
      {
        _tag: "AttemptFailed",
        at,
        task: "a",
        dispatch: "r1/a/1",
        worker: "d.one",
        attempt: 1,
        kind: "transient",
        waitMillis: 1_000,
        note
      },
      "Warn",
      "espalier.attempt.failed",
      { attempt: 1, wait_ms: 1_000, error: { kind: "transient", reason: "why" } }
    ],
    [
      { _tag: "GroupStopping", at, group: "", reason: "loop-detected", recall: false, note },
      "Warn",
      "espalier.loop.detected",
      { reason: "loop_detected", note: "why" }
    ],
    [
      {
        _tag: "BudgetRefused",
        at,
        task: "a",
        worker: "d.one",
        account: "run",
        measure: "cost",
        limit: 1,
        asked: 2,
        note
      },
      "Warn",
      "espalier.budget.threshold",
      { action: "refused", limit: 1, asked: 2 }
    ],
    [
      { _tag: "Overrun", at, task: "a", dispatch: "r1/a/1", account: "run", measure: "cost", settled: 2, note },
      "Warn",
      "espalier.budget.threshold",
      { action: "overrun", worker: "d.one" }
    ],
    [opened, "Info", "espalier.review.opened", { review: "r1/review/1", kind: "question" }],
    [{ ...opened, kind: "escalation" }, "Warn", "espalier.review.opened", { kind: "escalation" }],
    [
      { _tag: "ReviewExpired", at, review: "r1/review/0", action: "reject", because: "deadline", due: 1, note },
      "Warn",
      "espalier.review.expired",
      { action: "reject" }
    ],
    [
      { _tag: "DeadlinePassed", at, subject: "a", due: 5_990, note },
      "Warn",
      "espalier.deadline.passed",
      { late_ms: 10 }
    ],
    [
      { _tag: "HealthChanged", at, worker: "d.one", health: "ready-for-probe", note },
      "Debug",
      "espalier.breaker.transition",
      { from: "healthy", to: "ready_for_probe" }
    ],
    [
      { _tag: "HealthChanged", at, worker: "d.one", health: "degraded", note },
      "Warn",
      "espalier.breaker.transition",
      { from: "healthy", to: "degraded" }
    ],
    [
      { _tag: "Noticed", at, subject: "a", what: "model-swap", note },
      "Warn",
      "espalier.model.swapped",
      { worker: "d.one", note: "why" }
    ],
    [
      { _tag: "EffectQuarantined", at, task: "a", effect: "e", happened: false, note },
      "Error",
      "espalier.effect.quarantined",
      { happened: false }
    ],
    [
      { _tag: "RunSuspended", at, reason: "asked", note },
      "Info",
      "espalier.run.suspended",
      { reason: "asked", outcome: "suspended" }
    ],
    [
      { _tag: "RunSuspended", at, reason: "quarantined", note },
      "Error",
      "espalier.run.suspended",
      { reason: "quarantined", note: "why" }
    ],
    [
      { _tag: "RunFinished", at, status: "completed", stopReason: "accepted", degraded: false, note },
      "Info",
      "espalier.run.finished",
      { elapsed_ms: 5_000, outcome: "completed" }
    ],
    [
      { _tag: "RunFinished", at, status: "completed", stopReason: "accepted", degraded: true, note },
      "Warn",
      "espalier.run.finished",
      { degraded: true }
    ],
    [
      { _tag: "RunFinished", at, status: "failed", stopReason: "no-ready-task", degraded: false, note },
      "Error",
      "espalier.run.finished",
      { stop_reason: "no_ready_task" }
    ],
    [reported({ outcome: "crashed" }), "Error", "espalier.dispatch.reported", { outcome: "crashed" }],
    [reported({ outcome: "refused" }), "Warn", "espalier.dispatch.reported", { outcome: "refused" }],
    [dispatched, "Debug", "espalier.dispatch.given", { dispatch: "r1/a/1" }]
  ]

  it.each(rows.map((row) => [row[0]._tag, row[1], row[2], row] as const))(
    "R-505: %s is told at %s as %s",
    (_, __, ___, [event, level, name, fields]) => {
      const [line] = after(open, [event])
      const { fields: own, level: told } = seen(line!)
      assert.strictEqual(told, level)
      assert.strictEqual(own["event.name"], name)
      for (const [key, value] of Object.entries(fields)) assert.deepStrictEqual(own[key], value, key)
    }
  )

  it("R-505: every event has a line, and a name of its own kind", () => {
    const tags = RunEvent.RunEvent.members.map(({ fields }) => fields._tag.schema.literal)
    assert.sameMembers(Object.keys(table), [...tags])
  })

  it.prop(
    "R-505: any event gives one line that can be written as JSON, without note where none is told",
    [Arbitrary.schema(RunEvent.RunEvent)],
    ([event]) => {
      const lines = after(open, [event])
      assert.lengthOf(lines, 1)
      const { fields, message } = seen(lines[0]!)
      assert.match(String(fields["event.name"]), /^espalier(\.[a-z_]+)+$/)
      assert.isAtMost(message.length, 300)
      assert.doesNotThrow(() => JSON.stringify(fields))
      for (const value of Object.values(fields)) assert.isDefined(value)
    },
    { arbitrary: { runs: 500, seed: "espalier" } }
  )

  it("R-505: a crash is told before the run is taken up, in the trace that was lost", () => {
    const lines = new LogLines("r1", manner)
    for (const event of open) lines.recall(event)
    lines.begin("crash-recovery")
    const again = `00-${"c".repeat(32)}-${"d".repeat(16)}-01`
    const [lost, resumed] = lines.happened({ _tag: "RunResumed", at: 9_000, trace: again, note: "" }).map(seen)
    assert.strictEqual(lost!.level, "Warn")
    assert.strictEqual(lost!.fields["event.name"], "espalier.segment.lost")
    assert.strictEqual(lost!.fields["trace_id"], "a".repeat(32))
    assert.deepStrictEqual([lost!.fields["events"], lost!.fields["open"], lost!.fields["silent_ms"]], [2, 1, 7_000])
    assert.strictEqual(resumed!.message, "the run was taken up: crash-recovery")
    assert.strictEqual(resumed!.fields["cause"], "crash_recovery")
    assert.strictEqual(resumed!.fields["trace_id"], "c".repeat(32))
  })

  it("R-505: nothing is kept of what has ended", () => {
    const lines = new LogLines("r1", manner)
    const decided: Event = {
      _tag: "ReviewDecided",
      at: 4_000,
      review: "r1/review/1",
      decision: "answer",
      by: "a",
      note
    }
    for (const event of [...open, opened, decided, reported()]) lines.happened(event)
    assert.strictEqual(lines.known.orders.size + lines.known.reviews.size, 0)
  })

  describe("what is no business of a log", () => {
    const all = Object.values(canaries).join("\n")
    const error = { kind: "malformed", reason: "no" } as const
    const full = { ...envelope, output: all, missing: [{ part: all, reason: all }] }
    const events: ReadonlyArray<Event> = [
      { ...started, input: { all }, requester: all, note: all } as Event,
      { ...dispatched, note: all } as Event,
      { _tag: "Decided", at, consult: "r1/consult/1", subject: "", answer: { all }, note: all },
      { _tag: "Routed", at, task: "a", worker: "d.one", candidates: [], note: all },
      { _tag: "Confirmed", at, task: "a", worker: "d.one", allowed: false, note: all },
      { _tag: "ContractRefused", at, task: "a", worker: "d.one", note: all },
      {
        _tag: "EffectIntended",
        at,
        task: "a",
        dispatch: "r1/a/1",
        effect: "k",
        name: "pay",
        digest: "d",
        occurrence: 0,
        recovery: "repeat",
        arguments: { all },
        note: all
      },
      { _tag: "EffectSettled", at, task: "a", effect: "k", outcome: "done", by: "run", value: { all }, note: all },
      { ...opened, facts: { arguments: { all }, rationale: all }, requester: all, note: all } as Event,
      {
        _tag: "ReviewDecided",
        at,
        review: "r1/review/1",
        decision: "edit",
        by: all,
        edits: { "/a": all },
        answer: { all },
        note: all
      },
      { _tag: "ReviewRefused", at, review: "r1/review/1", decision: "approve", by: all, because: "expired", note: all },
      { _tag: "Noticed", at, subject: "a", what: "tool-failed", note: all },
      { _tag: "Noticed", at, subject: "a", what: "refused-command", note: all },
      { _tag: "AutonomyChanged", at, from: "low", to: "full", by: all, note: all },
      { _tag: "CancelRequested", at, by: all, note: all },
      {
        _tag: "Spent",
        at,
        task: "a",
        dispatch: "r1/a/1",
        worker: "d.one",
        what: "model",
        usage: { tokens: 1 },
        facts: { prompt: all, reason: all, durationMillis: 12 },
        note: all
      },
      { _tag: "TaskEnded", at, task: "a", status: "rejected", missing: full.missing, note: all },
      { _tag: "Merged", at, group: "", kind: "plan", outcome: "accepted", result: full, note: all },
      reported({ result: { ...full, error, findings: [{ severity: "high", statement: all }] }, note: all }),
      { _tag: "RunSuspended", at, reason: "asked", note: all },
      { _tag: "GroupStopping", at, group: "a", reason: "accepted", recall: false, note: all },
      { _tag: "RunFinished", at, status: "completed", stopReason: "accepted", degraded: false, note: all },
      { _tag: "RunFinished", at, status: "partial", stopReason: "rejected-by-reviewer", degraded: false, note: all },
      { _tag: "RunFinished", at, status: "cancelled", stopReason: "stop-requested", degraded: false, note: all }
    ]

    it("D106: twelve kinds of secrets in inputs, outputs, arguments, answers and comments are in no line", () => {
      const lines = after([], events).map(seen)
      assert.lengthOf(lines, events.length)
      for (const line of lines) assertClean(JSON.stringify(line), line.message)
    })

    it("D106: reasons go through the rules that take secrets out, and are cut afterwards", () => {
      const token = `ghp_${"16C7e42F292c6912E7710c838347Ae178B4a"}`
      const reason = `${"x".repeat(290)} ${token} ${"y".repeat(500)}`
      const lines = after(open, [
        reported({ outcome: "failed", result: { ...envelope, error: { kind: "transient", reason } } }),
        { _tag: "RunFinished", at, status: "failed", stopReason: "empty", degraded: false, note: reason }
      ]).map(seen)
      for (const { fields } of lines) {
        assert.notInclude(JSON.stringify(fields), "ghp_")
      }
      const { error } = lines[0]!.fields as { readonly error: { readonly reason: string } }
      assert.isAtMost(error.reason.length, 300)
      assert.isAtMost(String(lines[1]!.fields["note"]).length, 300)
    })

    it("D106: reasons can be left out", () => {
      const result = { ...envelope, error: { kind: "transient", reason: "quoted" } } as const
      const quiet: Manner = { ...manner, reasons: false }
      const [line] = after(open, [reported({ outcome: "failed", result })], quiet)
      assert.deepStrictEqual(line!.fields()["error"], { kind: "transient" })
    })
  })
})
