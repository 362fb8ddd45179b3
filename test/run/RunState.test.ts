import { assert, describe, it } from "@effect/vitest"
import { Result as EffectResult, Schema } from "effect"
import { Decider, RunEvent, RunState } from "espalier/run"

import { envelope, fold, get, simulate, started } from "./simulate.ts"

const plan = started([
  { id: "a", worker: "d.w" },
  { id: "b", worker: "d.w", needs: ["a"] }
])
const routed = { _tag: "Routed", at: 1, task: "a", worker: "d.w", candidates: ["d.w"], note: "" } as const
const dispatched = {
  _tag: "Dispatched",
  at: 1,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.w",
  contract: 1,
  note: ""
} as const
const attempt = {
  _tag: "AttemptFailed",
  at: 2,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.w",
  attempt: 1,
  kind: "transient",
  waitMillis: 1_000,
  note: ""
} as const
const reported = {
  _tag: "Reported",
  at: 3,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.w",
  attempts: 2,
  outcome: "accepted",
  result: envelope({ output: { words: 3 } }),
  note: ""
} as const
const accepted = {
  _tag: "TaskEnded",
  at: 3,
  task: "a",
  status: "accepted",
  dispatch: "r1/a/1",
  missing: [],
  note: ""
} as const
const finished = {
  _tag: "RunFinished",
  at: 4,
  status: "partial",
  stopReason: "no-ready-task",
  degraded: false,
  note: ""
} as const
const suspended = { _tag: "RunSuspended", at: 4, reason: "asked", note: "" } as const

const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

describe("RunState", () => {
  describe("evolve", () => {
    it("takes a task from ready over running to accepted, and its dependant to ready", () => {
      const states = [plan, routed, dispatched, attempt, reported, accepted].map(
        (_, index, events) => fold(events.slice(0, index + 1)).tasks
      )
      assert.deepStrictEqual(
        states.map((tasks) => [tasks.get("a")!.status, tasks.get("b")!.status]),
        [
          ["ready", "queued"],
          ["ready", "queued"],
          ["running", "queued"],
          ["running", "queued"],
          ["running", "queued"],
          ["accepted", "ready"]
        ]
      )
    })

    it("keeps where a result lies, not the result", () => {
      const state = fold([plan, routed, dispatched, attempt, reported])
      assert.strictEqual(state.tasks.get("a")!.result, 5)
      assert.notInclude(JSON.stringify(Schema.encodeSync(RunState.Json)(state)), "words")
    })

    it("leaves the state that it is given as it was", () => {
      const before = fold([plan, routed])
      const copy = Schema.encodeSync(RunState.Json)(before)
      get(RunState.evolve(before, dispatched))
      assert.deepStrictEqual(Schema.encodeSync(RunState.Json)(before), copy)
    })

    const refusals: ReadonlyArray<
      readonly [reason: string, history: ReadonlyArray<RunEvent.RunEvent>, event: RunEvent.RunEvent]
    > = [
      ["the run has not started", [], routed],
      ["the run has started already", [plan], plan],
      ['the task "a" is planned twice', [], started([{ id: "a" }, { id: "a" }])],
      ['the task "a" needs an unknown task "z"', [], started([{ id: "a", needs: ["z"] }])],
      ['the task "b" names a need twice', [], started([{ id: "a" }, { id: "b", needs: ["a", "a"] }])],
      ['there is no task "z"', [plan], { ...routed, task: "z" }],
      ["the task b is queued", [plan], { ...routed, task: "b" }],
      ["the task a is not routed to d.w", [plan], dispatched],
      ["the task a is not routed to d.other", [plan, routed], { ...dispatched, worker: "d.other" }],
      ["the task a is routed to d.w already", [plan, routed], routed],
      ["the next dispatch of a is r1/a/1, not r1/a/2", [plan, routed], { ...dispatched, dispatch: "r1/a/2" }],
      ["the task a is running", [plan, routed, dispatched], routed],
      ["r1/a/2 at d.w is not open", [plan, routed, dispatched], { ...attempt, dispatch: "r1/a/2" }],
      ["the attempt is 1, not 2", [plan, routed, dispatched], { ...attempt, attempt: 2 }],
      ["r1/a/1 at d.w is not open", [plan, routed], reported],
      ["r1/a/1 at d.w is not open", [plan, routed, dispatched, reported], reported],
      ["the dispatch r1/a/1 is open", [plan, routed, dispatched], accepted],
      ["no dispatch of a stands behind accepted", [plan], accepted],
      ["r1/a/1 was partial", [plan, routed, dispatched, { ...reported, outcome: "partial" as const }], accepted],
      ["the task a has ended: accepted", [plan, routed, dispatched, reported, accepted], routed],
      ["the task a has ended: accepted", [plan, routed, dispatched, reported, accepted], accepted],
      ["1 dispatches are open", [plan, routed, dispatched], finished],
      ["2 tasks have not ended", [plan], { ...finished, status: "completed" }],
      ["the run is over: partial", [plan, finished], routed],
      ["the run is over: partial", [plan, finished], suspended],
      ["the run is suspended", [plan, suspended], routed]
    ]
    it.each(refusals)("refuses what cannot happen: %s", (reason, history, event) => {
      const before = get(RunState.fold(history))
      const refused = RunState.evolve(before, event)
      assert.isTrue(EffectResult.isFailure(refused))
      if (EffectResult.isFailure(refused)) assert.strictEqual(refused.failure.reason, reason)
      assert.deepStrictEqual(get(RunState.fold(history)), before)
    })
  })

  describe("fold", () => {
    it("names the first event of a history that cannot have happened", () => {
      const folded = RunState.fold([plan, routed, reported])
      assert.isTrue(EffectResult.isFailure(folded))
      if (EffectResult.isFailure(folded)) {
        assert.strictEqual(folded.failure.message, "Reported refused at version 2: r1/a/1 at d.w is not open")
      }
    })

    it("has no state for no events", () => {
      assert.isUndefined(get(RunState.fold([])))
    })

    it.prop("R-215 gives the state that evolve gives step by step", { seed }, ({ seed }) => {
      const { events, state } = simulate(seed)
      assert.deepStrictEqual(fold(events), state)
      assert.strictEqual(state.version, events.length)
    })
  })

  describe("JSON", () => {
    it.prop("R-215 brings states and events through a round trip unchanged", { seed }, ({ seed }) => {
      const { events, spec } = simulate(seed)
      const encode = Schema.encodeSync(RunEvent.RunEvent)
      const decode = Schema.decodeUnknownSync(RunEvent.RunEvent)
      const again = events.map((event) => decode(JSON.parse(JSON.stringify(encode(event)))))
      assert.deepStrictEqual(again, [...events])
      for (let length = 1; length <= events.length; length += 3) {
        const state = fold(events.slice(0, length))
        const text = JSON.stringify(Schema.encodeSync(RunState.Json)(state))
        const back = Schema.decodeUnknownSync(RunState.Json)(JSON.parse(text))
        assert.deepStrictEqual(back, state)
        assert.deepStrictEqual(Decider.decide(back, spec), Decider.decide(state, spec))
      }
    })
  })
})
