import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Audit, Outcome, type RunEvent } from "espalier/run"

import { envelope, simulate, started } from "./simulate.ts"

const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

describe("Outcome", () => {
  describe("of", () => {
    it("has nothing to say of no events", () => {
      assert.isUndefined(Outcome.of([]))
    })

    it("tells a suspended run from a running one", () => {
      const events: ReadonlyArray<RunEvent.RunEvent> = [
        started([{ id: "a", worker: "d.w" }]),
        { _tag: "RunSuspended", at: 9, reason: "asked", note: "Asked to stop" }
      ]
      assert.strictEqual(Outcome.of(events.slice(0, 1))?.status, "running")
      const outcome = Outcome.of(events)
      assert.deepStrictEqual([outcome?.status, outcome?.endedAt, outcome?.note], ["suspended", 9, "Asked to stop"])
      assert.deepStrictEqual(outcome?.missing, [])
    })

    it("does not hand out the output of a task that was not accepted", () => {
      const outcome = Outcome.of([
        started([{ id: "a", worker: "d.w" }]),
        { _tag: "Routed", at: 1, task: "a", worker: "d.w", candidates: [], note: "" },
        { _tag: "Dispatched", at: 1, task: "a", dispatch: "r1/a/1", worker: "d.w", contract: 1, note: "" },
        {
          _tag: "Reported",
          at: 2,
          task: "a",
          dispatch: "r1/a/1",
          worker: "d.w",
          attempts: 1,
          outcome: "partial",
          result: envelope({ status: "partial", output: 1, missing: [{ part: "p", reason: "r" }] }),
          note: ""
        },
        { _tag: "TaskEnded", at: 2, task: "a", status: "failed", missing: [], note: "A partial result would do harm" }
      ])
      assert.notProperty(outcome?.results["a"], "output")
      assert.deepStrictEqual(outcome?.missing, [{ task: "a", worker: "d.w", reason: "A partial result would do harm" }])
    })

    it.prop("R-212 has one entry per planned task, and names everything that is missing", { seed }, ({ seed }) => {
      const { events, state } = simulate(seed)
      const outcome = Outcome.of(events)!
      assert.deepStrictEqual(Object.keys(outcome.results), [...state.tasks.keys()])
      for (const { output, status, task } of Object.values(outcome.results)) {
        assert.strictEqual(output !== undefined, status === "accepted" || status === "partial")
        assert.strictEqual(
          outcome.missing.some((missing) => missing.task === task),
          status !== "accepted"
        )
      }
      assert.strictEqual(outcome.status === "completed", outcome.missing.length === 0)
      assert.deepStrictEqual([outcome.status, outcome.stopReason], [state.status, state.stopReason])
    })
  })
})

describe("Audit", () => {
  describe("rows", () => {
    it.prop("has one row per dispatch, each closed once it reported", { seed }, ({ seed }) => {
      const { events } = simulate(seed)
      const dispatched = events.flatMap((event) => (event._tag === "Dispatched" ? [event.dispatch] : []))
      const rows = Audit.rows(events)
      assert.deepStrictEqual(
        rows.map(({ dispatch }) => dispatch),
        dispatched
      )
      for (const row of rows) {
        const report = events.find((event) => event._tag === "Reported" && event.dispatch === row.dispatch)
        assert.strictEqual(row.outcome, report?._tag === "Reported" ? report.outcome : "open")
        assert.strictEqual(row.durationMillis, report === undefined ? undefined : report.at - row.startedAt)
      }
    })

    it("shows an open dispatch as open", () => {
      const { events } = simulate(1)
      const index = events.findIndex((event) => event._tag === "Dispatched")
      assert.deepStrictEqual(
        Audit.rows(events.slice(0, index + 1)).map(({ attempts, outcome }) => [attempts, outcome]),
        [[1, "open"]]
      )
    })

    it("round-trips through its schema", () => {
      const rows = Audit.rows(simulate(7).events)
      const codec = Schema.toCodecJson(Schema.Array(Audit.Row))
      const text = JSON.stringify(Schema.encodeSync(codec)(rows))
      assert.deepStrictEqual(Schema.decodeUnknownSync(codec)(JSON.parse(text)), rows)
    })
  })
})
