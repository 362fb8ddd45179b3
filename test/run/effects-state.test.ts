import { assert, describe, it } from "@effect/vitest"
import { Result as EffectResult, Schema } from "effect"
import { RunEvent, RunState } from "espalier/run"

import { envelope, fold, get, started } from "./simulate.ts"

type Event = RunEvent.RunEvent

const plan = started([
  { id: "a", worker: "d.w" },
  { id: "b", worker: "d.w" }
])

const order = (task: string, number = 1): ReadonlyArray<Event> => [
  { _tag: "Routed", at: 1, task, worker: "d.w", candidates: ["d.w"], note: "" },
  { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/${number}`, worker: "d.w", contract: 1, note: "" }
]
const intended = (
  task: string,
  fields: Partial<RunEvent.Of<"EffectIntended">> = {}
): RunEvent.Of<"EffectIntended"> => ({
  _tag: "EffectIntended",
  at: 2,
  task,
  dispatch: `r1/${task}/1`,
  effect: `k-${task}`,
  name: "pay",
  digest: "5",
  occurrence: 0,
  recovery: "person",
  note: "",
  ...fields
})
const settled = (
  task: string,
  outcome: RunEvent.EffectEnd = "done",
  fields: Partial<RunEvent.Of<"EffectSettled">> = {}
): Event => ({ _tag: "EffectSettled", at: 3, task, effect: `k-${task}`, outcome, by: "run", note: "", ...fields })
const quarantined = (task: string, effect = `k-${task}`, happened = false): Event => ({
  _tag: "EffectQuarantined",
  at: 3,
  task,
  effect,
  happened,
  note: ""
})
const failed = (task: string, number = 1): Event => ({
  _tag: "Reported",
  at: 4,
  task,
  dispatch: `r1/${task}/${number}`,
  worker: "d.w",
  attempts: 1,
  outcome: "timed-out",
  result: envelope({ status: "failed", confidence: 0, error: { kind: "transient", reason: "late" } }),
  note: ""
})
const ended = (task: string): Event => ({ _tag: "TaskEnded", at: 9, task, status: "cancelled", missing: [], note: "" })
const recalled: Event = { _tag: "Recalled", at: 2, task: "a", dispatch: "r1/a/1", reason: "stop-requested", note: "" }
const asked = (task: string, effect: string, number = 1): Event => ({
  _tag: "ReviewOpened",
  at: 5,
  review: `r1/review/${number}`,
  task,
  kind: "reconciliation",
  reason: "unknown-effect",
  allowed: ["answer", "retry", "reject"],
  facts: { effect, arguments: { to: "ada" }, largeArguments: 7 },
  note: ""
})
const said = (decision: RunEvent.Decision, number = 1): Event => ({
  _tag: "ReviewDecided",
  at: 6,
  review: `r1/review/${number}`,
  decision,
  by: "ann",
  note: "",
  ...(decision === "answer" ? { answer: { receipt: 1 } } : {})
})

const begun = [plan, ...order("a"), ...order("b")]
const unknown = [...begun, intended("a"), failed("a"), quarantined("a"), asked("a", "k-a")]

/** What the state knows of effects: `k-a intended`. */
const known = ({ effects }: RunState.RunState): ReadonlyArray<string> =>
  Array.from(effects, ([id, { happened, status }]) => `${id} ${status}${happened ? " happened" : ""}`)

describe("RunState.evolve of an effect", () => {
  const refusals: ReadonlyArray<readonly [reason: string, history: ReadonlyArray<Event>, event: Event]> = [
    ["r1/a/1 is not open", [plan], intended("a")],
    ["r1/a/2 is not open", begun, intended("a", { dispatch: "r1/a/2" })],
    ["r1/a/1 is called back", [...begun, recalled], intended("a")],
    ['there is no task "z"', begun, intended("z")],
    ["the task a has ended: cancelled", [...begun, failed("a"), ended("a")], intended("a")],
    ["the effect pay is intended already", [...begun, intended("a")], intended("a")],
    ["the effect pay is done already", [...begun, intended("a"), settled("a")], intended("a")],
    ["the effect pay is quarantined already", [...begun, intended("a"), quarantined("a")], intended("a")],
    ["the same effect of a is not settled", [...begun, intended("a")], intended("b")],
    ["the same effect of a is not settled", [...begun, intended("a"), quarantined("a")], intended("b")],
    ["the same effect of a is not settled", [...begun, intended("a")], intended("a", { effect: "k2", occurrence: 1 })],
    ["the same effect of a is not settled", [...begun, intended("a"), failed("a"), ended("a")], intended("b")],
    ["a has no effect k-a", begun, settled("a")],
    ["b has no effect k-a", [...begun, intended("a")], settled("b", "done", { effect: "k-a" })],
    ["the effect pay is done", [...begun, intended("a"), settled("a")], settled("a")],
    ["the effect pay is done", [...begun, intended("a"), settled("a")], settled("a", "failed")],
    ["a has no effect k-a", [...begun, intended("a"), settled("a", "failed")], settled("a")],
    ["the effect pay is quarantined", [...begun, intended("a"), quarantined("a")], settled("a")],
    ["there is no effect k-a", begun, quarantined("a")],
    ["there is no effect k-a", [...begun, intended("a"), settled("a", "failed")], quarantined("a")],
    ["the effect pay is done", [...begun, intended("a"), settled("a")], quarantined("a")],
    ["a waits for the effect pay already", [...begun, intended("a"), quarantined("a")], quarantined("a")],
    ["the task a has ended: cancelled", [...begun, intended("a"), failed("a"), ended("a")], quarantined("a")],
    ["the run is suspended", [...begun, { _tag: "RunSuspended", at: 3, reason: "asked", note: "" }], intended("a")],
    ['decision must be one of answer, retry, reject, got "approve"', unknown, said("approve")]
  ]
  it.each(refusals)("D58 refuses, and changes nothing: %s", (reason, history, event) => {
    const before = fold(history)
    const copy = structuredClone(before)
    const after = RunState.evolve(before, event)
    assert.strictEqual(EffectResult.isFailure(after) ? after.failure.reason : after._tag, reason)
    assert.deepStrictEqual(before, copy)
  })

  const histories: ReadonlyArray<
    readonly [what: string, effects: ReadonlyArray<string>, history: ReadonlyArray<Event>]
  > = [
    ["is intended", ["k-a intended"], [...begun, intended("a")]],
    ["is done", ["k-a done happened"], [...begun, intended("a"), settled("a")]],
    ["has not happened, and is as if it had never been", [], [...begun, intended("a"), settled("a", "failed")]],
    ["may be intended again then", ["k-a intended"], [...begun, intended("a"), settled("a", "failed"), intended("a")]],
    ["stays intended when its attempt is over", ["k-a intended"], [...begun, intended("a"), failed("a")]],
    ["stays intended when its task has ended", ["k-a intended"], [...begun, intended("a"), failed("a"), ended("a")]],
    ["is settled late", [], [...begun, intended("a"), failed("a"), ended("a"), settled("a")]],
    ["stays intended while its order is called back", ["k-a intended"], [...begun, intended("a"), recalled]],
    ["is settled after the recall", ["k-a done happened"], [...begun, intended("a"), recalled, settled("a")]],
    [
      "is forgotten with its task when it is done",
      [],
      [...begun, intended("a"), settled("a"), failed("a"), ended("a")]
    ],
    [
      "of another name is another one",
      ["k-a intended", "k-b intended"],
      [...begun, intended("a"), intended("b", { name: "mail" })]
    ],
    [
      "with other arguments is another one",
      ["k-a intended", "k-b intended"],
      [...begun, intended("a"), intended("b", { digest: "6" })]
    ],
    [
      "that was done is done by another task on its own account",
      ["k-a done happened", "k-b intended"],
      [...begun, intended("a"), settled("a"), intended("b")]
    ],
    ["is in quarantine", ["k-a quarantined"], [...begun, intended("a"), quarantined("a")]],
    [
      "is known to have happened",
      ["k-a quarantined happened"],
      [...begun, intended("a"), quarantined("a", "k-a", true)]
    ],
    [
      "loses what came of it",
      ["k-a quarantined happened"],
      [...begun, intended("a"), settled("a"), quarantined("a", "k-a", true)]
    ],
    ["holds up another task, too", ["k-a quarantined"], [...begun, intended("a"), quarantined("b", "k-a")]],
    ["is done when a person says so", ["k-a done happened"], [...unknown, said("answer")]],
    ["has not happened when a person says so", [], [...unknown, said("retry")]],
    ["stays unknown when a person rejects the task", ["k-a quarantined"], [...unknown, said("reject")]],
    [
      "outlives the suspension of its run",
      ["k-a intended"],
      [
        ...begun,
        intended("a"),
        { _tag: "RunSuspended", at: 3, reason: "asked", note: "" },
        { _tag: "RunResumed", at: 4, note: "" }
      ]
    ]
  ]
  it.each(histories)("R-303 an effect %s", (_, effects, history) => {
    const state = fold(history)
    assert.deepStrictEqual(known(state), effects)
    const json = Schema.encodeSync(RunState.Json)(state)
    assert.deepStrictEqual(Schema.decodeUnknownSync(RunState.Json)(JSON.parse(JSON.stringify(json))), state)
    for (const event of history) {
      const written = JSON.parse(JSON.stringify(Schema.encodeSync(RunEvent.RunEvent)(event)))
      assert.deepStrictEqual(Schema.decodeUnknownSync(RunEvent.RunEvent)(written), event)
    }
  })

  it("R-303 an effect that was done points to the event that holds what came of it", () => {
    const done = [...begun, intended("a"), settled("a", "done", { value: { receipt: 1 } })]
    assert.strictEqual(fold(done).effects.get("k-a")?.version, done.length)
    const answered = [...unknown, said("answer")]
    assert.strictEqual(fold(answered).effects.get("k-a")?.version, answered.length)
  })

  it("R-303 whoever could not go on without it goes on from the beginning once a person has told", () => {
    const waiting = [...begun, intended("a"), quarantined("b", "k-a"), failed("b"), quarantined("a"), failed("a")]
    const both = fold([...waiting, asked("a", "k-a")])
    assert.deepStrictEqual([both.status, both.tasks.get("b")?.blocked], ["waiting", "k-a"])
    const after = fold([...waiting, asked("a", "k-a"), said("retry")])
    const tasks = ["a", "b"].map((id) => after.tasks.get(id))
    assert.deepStrictEqual(
      tasks.map((task) => [task?.blocked, task?.ladder, after.due.has(task?.id ?? "")]),
      [
        [undefined, 1, true],
        [undefined, 1, true]
      ]
    )
  })

  it("R-303 what a person is shown of the arguments is not in the state", () => {
    assert.deepStrictEqual(fold(unknown).reviews.get("r1/review/1")?.facts, { effect: "k-a" })
  })

  it("R-303 the state counts its effects, and gives the room back", () => {
    const sizes = [begun, [...begun, intended("a")], [...begun, intended("a"), settled("a", "failed")]].map(
      (history) => fold(history).size
    )
    assert.isAbove(sizes[1]!, sizes[0]! + 240)
    assert.strictEqual(sizes[2], sizes[0])
    const counted = fold([...begun, intended("a"), settled("a"), failed("a"), ended("a")]).size
    assert.strictEqual(counted, fold([...begun, failed("a"), ended("a")]).size)
  })

  it("R-303 refuses an effect that the state has no room for", () => {
    const name = "x".repeat(200)
    const state = get(RunState.fold(begun))!
    const full = { ...state, size: RunState.largest - 300 }
    const refused = RunState.evolve(full, intended("a", { name }))
    const reason = `with this effect the state would be larger than ${RunState.largest} bytes`
    assert.strictEqual(EffectResult.isFailure(refused) ? refused.failure.reason : "taken", reason)
    assert.isTrue(EffectResult.isSuccess(RunState.evolve(full, intended("a", { name: "x" }))))
  })
})
