import { assert, describe, it } from "@effect/vitest"
import { type RunEvent, RunState } from "espalier/run"

import { dueBy } from "../../../src/run/internal/timing.ts"
import { fold, started } from "../simulate.ts"

const hour = 3_600_000

const set = (subject: string, due: number, number: number): RunEvent.RunEvent => ({
  _tag: "TimerSet",
  at: 0,
  timer: `r1/timer/${number}`,
  subject,
  purpose: "after",
  due,
  note: ""
})

/** A run with timers of these tasks, in this order, and a deadline. */
const waiting = (timers: ReadonlyArray<readonly [string, number]>, deadlineAt?: number): RunState.RunState =>
  fold([
    {
      ...started(timers.map(([id]) => ({ id, afterMillis: 1 }))),
      ...(deadlineAt === undefined ? {} : { deadlineAt })
    },
    ...timers.map(([id, due], index) => set(id, due, index + 1))
  ])

const told = (state: RunState.RunState, at: number) =>
  dueBy(state, at, new Set()).map((event) => `${event._tag} ${"subject" in event ? event.subject : ""} ${event.due}`)

describe("What is due", () => {
  const table: ReadonlyArray<
    readonly [
      what: string,
      state: RunState.RunState,
      at: number,
      due: ReadonlyArray<string>,
      wakeAt: number | undefined
    ]
  > = [
    ["nothing without timers", waiting([]), 100, [], undefined],
    ["nothing before its time", waiting([["a", 10]]), 9, [], 10],
    ["a timer at its time", waiting([["a", 10]]), 10, ["TimerFired a 10"], 10],
    [
      "timers by their times, and then as they were set",
      waiting([
        ["a", 30],
        ["b", 10],
        ["c", 20],
        ["d", 10],
        ["e", 40]
      ]),
      35,
      ["TimerFired b 10", "TimerFired d 10", "TimerFired c 20", "TimerFired a 30"],
      10
    ],
    [
      "a deadline after a timer that was due before it",
      waiting([["a", 10]], 20),
      30,
      ["TimerFired a 10", "DeadlinePassed  20"],
      10
    ],
    ["no timer that is due when the time of the run is over", waiting([["a", 20]], 20), 30, ["DeadlinePassed  20"], 20],
    [
      "no timer that is due after that",
      waiting(
        [
          ["a", 25],
          ["b", 5]
        ],
        20
      ),
      30,
      ["TimerFired b 5", "DeadlinePassed  20"],
      5
    ],
    ["a timer before the deadline", waiting([["a", 10]], 20), 15, ["TimerFired a 10"], 10]
  ]
  it.each(table)("is %s", (_, state, at, due, wakeAt) => {
    assert.deepStrictEqual(told(state, at), due)
    assert.strictEqual(RunState.wakeAt(state), wakeAt)
  })

  it("can be taken in as it is told", () => {
    const state = waiting([
      ["a", 3 * hour],
      ["b", hour],
      ["c", 2 * hour]
    ])
    let next: RunState.RunState = state
    for (const event of dueBy(state, 9 * hour, new Set())) {
      const after = RunState.evolve(next, event)
      assert.strictEqual(after._tag, "Success")
      if (after._tag === "Success") next = after.success
    }
    assert.deepStrictEqual([...next.ready], ["b", "c", "a"])
    assert.deepStrictEqual([next.timers, next.status, RunState.wakeAt(next)], [[], "running", undefined])
  })

  it("leaves out the deadline of a task that has reported in the same moment", () => {
    const state = fold([
      started([{ id: "a", worker: "d.w" }]),
      { _tag: "Routed", at: 0, task: "a", worker: "d.w", candidates: ["d.w"], note: "" },
      { _tag: "Dispatched", at: 0, task: "a", dispatch: "r1/a/1", worker: "d.w", contract: 1, deadlineAt: 10, note: "" }
    ])
    assert.deepStrictEqual(told(state, 10), ["DeadlinePassed a 10"])
    assert.deepStrictEqual(dueBy(state, 10, new Set(["a"])), [])
    assert.strictEqual(RunState.wakeAt(state), undefined)
  })
})
