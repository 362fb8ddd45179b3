import { assert, describe, it } from "@effect/vitest"
import { Decider, type Result, RunState, type RunEvent } from "espalier/run"

import { envelope, fold, started } from "./simulate.ts"

const workers: ReadonlyArray<Decider.WorkerOptions> = [
  { name: "d.one", capabilities: ["read"], size: 9, estimate: { tokens: 4, cost: 2 } },
  { name: "d.two", capabilities: ["read"], size: 9, estimate: { tokens: 2, cost: 1 } }
]
const stop = Decider.spec({ workers })
const review = Decider.spec({ workers, policy: { atCap: "review" } })

const begun = (tokens: number | undefined, ...ids: ReadonlyArray<string>): RunEvent.RunEvent => ({
  ...started(ids.map((id) => ({ id, worker: "d.one" }))),
  ...(tokens === undefined ? {} : { limits: { run: { tokens } } })
})

const refused = (task: string, account = "run"): RunEvent.RunEvent => ({
  _tag: "BudgetRefused",
  at: 1,
  task,
  worker: "d.one",
  account,
  measure: "tokens",
  limit: 1,
  asked: 4,
  note: "too dear"
})

const asked = (task: string): RunEvent.RunEvent => ({
  _tag: "ReviewOpened",
  at: 1,
  review: "r1/review/1",
  task,
  kind: "budget-increase",
  reason: "budget",
  allowed: ["approve", "reject"],
  facts: { account: "run" },
  note: ""
})

const said = (decision: RunEvent.Decision, raise?: Result.Usage): RunEvent.RunEvent => ({
  _tag: "ReviewDecided",
  at: 2,
  review: "r1/review/1",
  decision,
  by: "ann",
  ...(raise === undefined ? {} : { raise }),
  note: ""
})

const reports = (task: string, n: number, worker: string, result: Partial<Result.Envelope>, digest?: string) => {
  const dispatch = `r1/${task}/${n}`
  const events: ReadonlyArray<RunEvent.RunEvent> = [
    { _tag: "Routed", at: 1, task, worker, candidates: [worker], note: "" },
    { _tag: "Dispatched", at: 1, task, dispatch, worker, contract: 1, note: "" },
    {
      _tag: "Reported",
      at: 2,
      task,
      dispatch,
      worker,
      attempts: 1,
      outcome: result.error === undefined ? "accepted" : "failed",
      result: envelope(result),
      ...(digest === undefined ? {} : { digest }),
      note: ""
    }
  ]
  return events
}

const broke = { status: "failed", confidence: 0, error: { kind: "capability", reason: "no" } } as const

const accepted = (task: string, n: number): RunEvent.RunEvent => ({
  _tag: "TaskEnded",
  at: 3,
  task,
  status: "accepted",
  dispatch: `r1/${task}/${n}`,
  missing: [],
  note: ""
})

const whole = (outcome: RunEvent.DispatchEnd): RunEvent.RunEvent => ({
  _tag: "Merged",
  at: 4,
  group: "",
  kind: "plan",
  outcome,
  result: envelope({ output: 1 }),
  note: "the answer"
})

const decided = (events: ReadonlyArray<RunEvent.RunEvent>, spec: Decider.Spec) =>
  Decider.decide(fold(events), spec).map((action) => {
    switch (action._tag) {
      case "Dispatch":
        return `${action.task} to ${action.worker}`
      case "RefuseBudget":
        return `${action.task} refused by ${action.account}`
      case "Review":
        return `review ${action.kind} of ${action.task}`
      case "StopGroup":
        return `stop ${action.reason}${action.recall ? " recall" : ""}`
      case "EndTask":
        return `${action.task} ${action.status}`
      case "Finish":
        return `${action.status} ${action.stopReason}${action.degraded ? " degraded" : ""}`
      default:
        return action._tag
    }
  })

describe("Decider, at the limits", () => {
  const caps: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.RunEvent>, Decider.Spec, ReadonlyArray<string>]> =
    [
      ["takes what fits", [begun(8, "a")], stop, ["a to d.one"]],
      ["takes a cheaper one where the named one does not fit", [begun(3, "a")], stop, ["a to d.two"]],
      ["refuses by the account that nobody fits into", [begun(1, "a")], stop, ["a refused by run"]],
      ["counts what the round gives away, and waits for what it leaves", [begun(5, "a", "b")], stop, ["a to d.one"]],
      ["stops at the cap", [begun(1, "a"), refused("a")], stop, ["stop budget-exceeded"]],
      [
        "asks at the cap where the desk says so",
        [begun(1, "a"), refused("a")],
        review,
        ["review budget-increase of a"]
      ],
      [
        "asks once for an account",
        [begun(1, "a", "b"), refused("a"), refused("b")],
        review,
        ["review budget-increase of a"]
      ],
      ["waits for the answer", [begun(1, "a", "b"), refused("a"), refused("b"), asked("a")], review, []],
      [
        "goes on with all that it concerns",
        [begun(1, "a", "b"), refused("a"), refused("b"), asked("a"), said("approve", { tokens: 9 })],
        review,
        ["b to d.one", "a to d.one"]
      ],
      [
        "ends them all when the answer is no",
        [begun(1, "a", "b"), refused("a"), refused("b"), asked("a"), said("reject")],
        review,
        ["stop budget-exceeded"]
      ]
    ]
  it.each(caps)("R-210 %s", (_, events, spec, expected) => {
    assert.deepStrictEqual(decided(events, spec), [...expected])
  })

  it("R-210 a run waits while all that is due waits for one answer", () => {
    const events = [begun(1, "a", "b"), refused("a"), refused("b")]
    assert.strictEqual(fold(events).status, "running")
    assert.strictEqual(fold([...events, asked("a")]).status, "waiting")
    assert.strictEqual(fold([...events, asked("a"), said("approve", { tokens: 9 })]).status, "running")
    const bare = RunState.evolve(fold([...events, asked("a")]), said("approve"))
    assert.strictEqual(bare._tag, "Failure")
  })

  const ends: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.RunEvent>, string]> = [
    ["the named worker did it", reports("a", 1, "d.one", { output: 1 }), "completed accepted"],
    ["a stand-in did it", reports("a", 1, "d.two", { output: 1 }), "completed accepted degraded"],
    [
      "a stand-in did it after a failure",
      [...reports("a", 1, "d.one", broke), ...reports("a", 2, "d.two", { output: 1 })],
      "completed accepted degraded"
    ],
    ["nobody is sure of it", reports("a", 1, "d.one", { output: 1, confidence: 0.5 }), "completed accepted degraded"],
    [
      "two deliver the same, neither of them sure",
      [
        ...reports("a", 1, "d.one", { output: 1, confidence: 0.5 }, "same"),
        ...reports("a", 2, "d.two", { output: 1, confidence: 0.5 }, "same")
      ],
      "completed accepted"
    ]
  ]
  it.each(ends)("R-208 R-216 %s", (_, events, expected) => {
    const last = events.at(-1)
    const n = last?._tag === "Reported" ? Number(last.dispatch.slice(-1)) : 1
    assert.deepStrictEqual(decided([begun(undefined, "a"), ...events, accepted("a", n)], stop), [expected])
  })

  it.each([
    ["accepted", "completed accepted"],
    ["partial", "partial accepted"],
    ["failed", "failed empty"],
    ["rejected-contract", "failed empty"]
  ] as const)("R-212 a run whose merged answer is %s is %s", (outcome, expected) => {
    const events = [begun(undefined, "a"), ...reports("a", 1, "d.one", { output: 1 }), accepted("a", 1), whole(outcome)]
    assert.deepStrictEqual(decided(events, Decider.spec({ workers, merges: true })), [expected])
  })
})
