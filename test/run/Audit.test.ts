import { copyFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Schema, Stream } from "effect"
import { Journal, JournalSqlite } from "espalier/journal"
import { Audit, type RunEvent } from "espalier/run"

import { folder } from "../journal/fixtures/folder.ts"
import { simulate } from "./simulate.ts"

/** The journal of a released version: runs with a retry, with approvals, cut off, waiting. */
const journal = Layer.unwrap(
  Effect.map(folder, (path) => {
    const filename = join(path, "journal.db")
    copyFileSync(join(import.meta.dirname, "../fixtures/journals/0.1.0.db"), filename)
    return JournalSqlite.layerSqlite({ filename })
  })
)

const at = (text: string): number => DateTime.toEpochMillis(DateTime.makeUnsafe(text))

describe("Audit", () => {
  it.effect("R-304 is a table in which each dispatch is a row", () =>
    Effect.gen(function* () {
      const { rows, unread } = yield* Audit.ofRun("stumbled")
      assert.isUndefined(unread)
      assert.deepStrictEqual(Audit.table(rows).split("\n"), [
        "time                      dispatch          task   worker         contract  outcome   confidence  retries  took    routing                                            note",
        "2026-11-30T14:00:00.000Z  stumbled/write/1  write  press.writer   1         accepted  0.9         1        60 min  write goes to press.writer, which its plan names   press.writer delivered a completed result after 2 attempts",
        "2026-11-30T16:00:00.000Z  stumbled/print/1  print  press.printer  1         accepted  1           0        0 ms    print goes to press.printer, which its plan names  press.printer delivered a completed result"
      ])
    }).pipe(Effect.provide(journal))
  )

  it.effect("R-304 is lines of JSON with the run, retries, and all that the row has", () =>
    Effect.gen(function* () {
      const { rows, run } = yield* Audit.ofRun("stumbled")
      const [first] = rows.map((row) => JSON.parse(Audit.line(run, row)))
      assert.deepStrictEqual(first, {
        run: "stumbled",
        dispatch: "stumbled/write/1",
        task: "write",
        worker: "press.writer",
        contract: 1,
        attempts: 2,
        outcome: "accepted",
        confidence: 0.9,
        startedAt: rows[0]?.startedAt,
        durationMillis: rows[0]?.durationMillis,
        routing: rows[0]?.routing,
        note: rows[0]?.note,
        retries: 1
      })
      assert.isTrue(Schema.is(Audit.Row)(rows[0]))
    }).pipe(Effect.provide(journal))
  )

  it.effect("R-304 is a trail of transitions, validations, approvals and the reason of the end", () =>
    Effect.gen(function* () {
      const steps = yield* Stream.runCollect(Audit.trail("stumbled"))
      assert.deepStrictEqual(steps.map(Audit.stepLine), [
        "    1  2026-11-30T14:00:00.000Z  RunStarted       run  gazette 1, 2 tasks, tier medium: gazette 1 was asked to run 2 tasks",
        "    2  2026-11-30T14:00:00.000Z  Routed           write  routed to press.writer: write goes to press.writer, which its plan names",
        "    3  2026-11-30T14:00:00.000Z  Dispatched       stumbled/write/1  given to press.writer, contract 1: stumbled/write/1 is given to press.writer",
        "    4  2026-11-30T14:00:00.000Z  AttemptFailed    stumbled/write/1  attempt 1 failed, transient: Attempt 1 at press.writer failed (transient): The ink is dry; again after 912 ms",
        "    5  2026-11-30T15:00:00.912Z  Reported         stumbled/write/1  accepted (result completed, confidence 0.9): press.writer delivered a completed result after 2 attempts",
        "    6  2026-11-30T15:00:00.912Z  TaskEnded        write  accepted: write is accepted from press.writer",
        "    7  2026-11-30T15:00:00.912Z  ReviewOpened     stumbled/review/1  asked, action-approval of print: press.printer may do print only with a person's approval (risk high, autonomy medium, it cannot be undone); print goes to press.printer, which its plan names",
        "    8  2026-11-30T16:00:00.000Z  ReviewDecided    stumbled/review/1  approve by ada: Let it be printed",
        "    9  2026-11-30T16:00:00.000Z  RunResumed       run  resumed: Taken up at version 8: what it waited for is decided",
        "   10  2026-11-30T16:00:00.000Z  Routed           print  routed to press.printer: print goes to press.printer, which its plan names",
        "   11  2026-11-30T16:00:00.000Z  Dispatched       stumbled/print/1  given to press.printer, contract 1: stumbled/print/1 is given to press.printer",
        "   12  2026-11-30T16:00:00.000Z  Reported         stumbled/print/1  accepted (result completed, confidence 1): press.printer delivered a completed result",
        "   13  2026-11-30T16:00:00.000Z  TaskEnded        print  accepted: print is accepted from press.printer",
        "   14  2026-11-30T16:00:00.000Z  RunFinished      run  completed, accepted: 2 of 2 tasks accepted"
      ])
    }).pipe(Effect.provide(journal))
  )

  const queries: ReadonlyArray<readonly [string, Audit.Query, ReadonlyArray<string>]> = [
    ["a worker", { worker: "press.printer" }, ["finished/print/1", "large/print/1", "stumbled/print/1"]],
    ["a task and an outcome", { task: "write", outcome: "open" }, ["cut-off/write/1", "suspended/write/1"]],
    ["outcomes", { outcome: ["open", "cancelled"] }, ["cut-off/write/1", "suspended/write/1"]],
    ["nobody", { worker: "press" }, []],
    ["a time", { since: at("2026-11-30T18:00:00Z"), task: "write" }, ["cut-off/write/1", "suspended/write/1"]],
    ["a span", { since: at("2026-11-30T08:00:00Z"), until: at("2026-11-30T08:00:00Z") }, ["finished/write/1"]]
  ]
  it.effect.each(queries)("R-304 is asked over all runs for %s", ([, query, expected]) =>
    Effect.gen(function* () {
      const found = yield* Stream.runCollect(Audit.ofAll(query))
      assert.deepStrictEqual(
        found.flatMap(({ rows }) => rows.map(({ dispatch }) => dispatch)),
        expected
      )
    }).pipe(Effect.provide(journal))
  )

  it.effect("R-304 D62 goes on past a run that cannot be read, and says how far it could", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const expected = yield* journal.version("cut-off")
      yield* journal.append({ run: "cut-off", expected, events: [{ type: "Reported", at: 0, data: { task: 1 } }] })
      const found = yield* Stream.runCollect(Audit.ofAll({ task: "write" }))
      assert.deepStrictEqual(
        found.map(({ rows, run, unread }) => [run, rows.length, unread?._tag]),
        [
          ["cut-off", 1, "RunUntrusted"],
          ["finished", 1, undefined],
          ["large", 1, undefined],
          ["stumbled", 1, undefined],
          ["suspended", 1, undefined],
          ["waiting", 1, undefined]
        ]
      )
    }).pipe(Effect.provide(journal))
  )

  it.effect("R-304 has nothing of a run that nobody knows", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Audit.ofRun("nobody"), { run: "nobody", rows: [] })
      assert.deepStrictEqual(yield* Stream.runCollect(Audit.trail("nobody")), [])
    }).pipe(Effect.provide(journal))
  )

  it("R-304 shows notes that a terminal does not obey, one line each", () => {
    const events: ReadonlyArray<RunEvent.RunEvent> = [
      { _tag: "Routed", at: 5, task: "a", worker: "d.w", candidates: [], note: "one\ntwo" },
      {
        _tag: "Dispatched",
        at: 5,
        task: "a",
        dispatch: "r1/a/1",
        worker: "d.w",
        contract: 1,
        note: "\u001b[31mred\u001b[0m\u202eback \u2028 end"
      }
    ]
    const table = Audit.table(Audit.rows(events))
    assert.strictEqual(table.split("\n").length, 2)
    // oxlint-disable-next-line no-control-regex
    assert.notMatch(table, /[\u001b\u202e\u2028]/)
    const line = Audit.stepLine(Audit.step(2, events[1]!))
    // oxlint-disable-next-line no-control-regex
    assert.notMatch(line, /[\u001b\u202e\u2028\n]/)
    assert.include(line, "[31mred [0m back end")
  })

  const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
  it.prop("R-304 says of every event when, about what, and why", { seed }, ({ seed }) => {
    for (const [index, event] of simulate(seed).events.entries()) {
      const step = Audit.step(index + 1, event)
      assert.strictEqual(step.note, event.note)
      assert.notStrictEqual(step.subject, "")
      assert.notStrictEqual(step.what, "")
      assert.notInclude(Audit.stepLine(step), "undefined")
    }
  })
})

describe("Audit.step", () => {
  it("R-304 tells of a decision who decided what, and the answer that was given", () => {
    const decided = { _tag: "ReviewDecided", at: 5, review: "r1/review/1", by: "ada", note: "Asked her" } as const
    const what = (answer: Schema.Json) => Audit.step(1, { ...decided, decision: "answer", answer }).what
    assert.strictEqual(what({ city: "Bern" }), `answer by ada, answer {"city":"Bern"}`)
    assert.isBelow(what("x".repeat(5_000)).length, 1_100)
    assert.strictEqual(Audit.step(1, { ...decided, decision: "approve" }).what, "approve by ada")
  })
})
