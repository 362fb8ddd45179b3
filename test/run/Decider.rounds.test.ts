/** What is decided at one moment is carried out together: no part of it may make another one impossible. */
import { assert, describe, it } from "@effect/vitest"
import { type Coordinator, Decider, type Recovery, type Result, type RunEvent } from "espalier/run"

import { envelope, fold, started } from "./simulate.ts"

type Event = RunEvent.RunEvent

const workers = [
  { name: "d.one", capabilities: ["read"], size: 10 },
  { name: "d.two", capabilities: ["read"], size: 10 }
]
const plain = Decider.spec({ workers })
const one = started([{ id: "a", worker: "d.one" }])

const given = (task: string, n = 1, worker = "d.one"): ReadonlyArray<Event> => [
  { _tag: "Routed", at: 1, task, worker, candidates: [worker], note: "" },
  { _tag: "Dispatched", at: 1, task, dispatch: `r1/${task}/${n}`, worker, contract: 1, deadlineAt: 5, note: "" }
]

const reported = (
  task: string,
  result: Partial<Result.Envelope>,
  outcome: RunEvent.DispatchEnd = "accepted"
): RunEvent.Of<"Reported"> => {
  const dispatch = `r1/${task}/1`
  const said = { at: 6, attempts: 1, outcome, result: envelope(result), note: "" }
  return { _tag: "Reported", task, dispatch, worker: "d.one", ...said }
}

const failed = (kind: Result.ErrorKind) =>
  reported("a", { status: "failed", confidence: 0, error: { kind, reason: "broke" } }, "failed")

const degraded: Event = { _tag: "HealthChanged", at: 6, worker: "d.one", health: "degraded", note: "" }

const decided = (events: ReadonlyArray<Event>, spec = plain): ReadonlyArray<string> =>
  Decider.decide(fold(events), spec).map((action) => {
    switch (action._tag) {
      case "Dispatch":
        return `${action.task} to ${action.worker}`
      case "EndTask":
        return `${action.task} ${action.status}`
      case "StopGroup":
        return `stop ${action.group} ${action.reason}`
      case "Review":
        return `review ${action.kind} of ${action.task}`
      default:
        return action._tag
    }
  })

const facts = (can: ReadonlyArray<Recovery.Expansion>): Decider.TaskFacts => ({
  escalate: false,
  can: new Set(can),
  reduceScope: false,
  permissions: [],
  optional: []
})

describe("one round of decisions", () => {
  it("R-215 ends a task that waits for a slot once when its group is stopped", () => {
    const stopping = { at: 1, group: "", reason: "stop-requested", recall: true, note: "Enough" } as const
    const events: ReadonlyArray<Event> = [
      started(["a", "b"].map((id) => ({ id, worker: "d.one" }))),
      { _tag: "CancelRequested", at: 1, by: "somebody", note: "Enough" },
      { _tag: "GroupStopping", ...stopping }
    ]
    assert.deepStrictEqual(decided(events), ["a cancelled", "b cancelled"])
    assert.strictEqual(fold(events).ready.size, 0)
  })

  it("R-215 asks once for a plan that stands in for a task that nobody can have", () => {
    const spec = Decider.spec({ workers: [], tasks: new Map([["a", facts(["re-plan"])]]) })
    const asked: Event = {
      _tag: "Consulted",
      at: 1,
      consult: "r1/consult/1",
      subject: "a",
      purpose: "re-plan",
      note: ""
    }
    assert.deepStrictEqual(decided([one], spec), ["Consult"])
    assert.deepStrictEqual(decided([one, asked], spec), [])
  })

  it("R-210 counts what its other orders will reserve", () => {
    const spec = Decider.spec({ workers: workers.map((worker) => ({ ...worker, estimate: { tokens: 60 } })) })
    const tasks = started(["a", "b"].map((id) => ({ id, worker: "d.one" })))
    // The other one waits for what the first leaves.
    assert.deepStrictEqual(decided([{ ...tasks, limits: { run: { tokens: 100 } } }], spec), ["a to d.one"])
    assert.deepStrictEqual(decided([{ ...tasks, limits: { run: { tokens: 120 } } }], spec), [
      "a to d.one",
      "b to d.one"
    ])
  })
})

describe("another try at the same worker", () => {
  it("R-209 is not made while it is left alone: a stand-in has the correction", () => {
    const events = [one, ...given("a"), failed("malformed")]
    assert.deepStrictEqual(decided(events), ["a to d.one"])
    assert.deepStrictEqual(decided([...events, degraded]), ["a to d.two"])
  })

  it("R-208 is not made while it is left alone: the unsure result stands, or a person is asked", () => {
    const events = [one, ...given("a"), reported("a", { output: 1, confidence: 0.1 })]
    const spec = (reviewConfidence: boolean) =>
      Decider.spec({ workers, policy: { lowConfidence: "retry", reviewConfidence } })
    assert.deepStrictEqual(decided(events, spec(false)), ["a to d.one"])
    assert.deepStrictEqual(decided([...events, degraded], spec(false)), ["a accepted"])
    assert.deepStrictEqual(decided([...events, degraded], spec(true)), ["review result-acceptance of a"])
  })

  it("R-208 is made no oftener than one worker may have a task, whatever it is for", () => {
    const spec = (dispatchesPerWorker: number) =>
      Decider.spec({ workers, policy: { lowConfidence: "retry", dispatchesPerWorker } })
    const events = [one, ...given("a"), reported("a", { output: 1, confidence: 0.1 })]
    assert.deepStrictEqual([decided(events, spec(2)), decided(events, spec(1))], [["a to d.one"], ["a accepted"]])
  })
})

describe("a task whose time is over", () => {
  const late: ReadonlyArray<Event> = [
    one,
    ...given("a"),
    { _tag: "DeadlinePassed", at: 5, subject: "a", note: "" },
    { _tag: "Recalled", at: 5, task: "a", dispatch: "r1/a/1", reason: "deadline", note: "" }
  ]

  it("is not given to another worker for a cross-check of what came late", () => {
    const spec = Decider.spec({ workers, policy: { lowConfidence: "cross-check" } })
    const events = [...late, reported("a", { output: 1, confidence: 0.1 })]
    assert.deepStrictEqual(decided(events, spec), ["a accepted"])
  })

  it("is not tried anew because a person said so too late", () => {
    const missing = [{ part: "p", reason: "q" }]
    const asks = {
      kind: "result-acceptance",
      reason: "needs-review",
      allowed: ["approve", "retry"],
      facts: {}
    } as const
    const review = "r1/review/1"
    const events: ReadonlyArray<Event> = [
      ...late,
      reported("a", { status: "needs-review", output: 1, missing }, "partial"),
      { _tag: "ReviewOpened", at: 6, review, task: "a", ...asks, note: "" },
      { _tag: "ReviewDecided", at: 7, review, decision: "retry", by: "somebody", note: "" }
    ]
    assert.deepStrictEqual(decided(events), ["a partial"])
  })
})

describe("a group inside another one", () => {
  const router: Decider.CoordinatorFacts = {
    kind: "router",
    adds: true,
    next: ({ tasks }): Coordinator.Next => ({
      _tag: "Add",
      tasks: [{ id: `t#${tasks.length + 1}`, needs: [], worker: "d.one", acceptMissing: false }],
      note: ""
    })
  }
  const spec = Decider.spec({ workers, coordinators: new Map([["a", router]]) })
  const opened = (containment: RunEvent.Containment, tasks: ReadonlyArray<string>): ReadonlyArray<Event> => [
    started([{ id: "a", group: "router" }]),
    {
      _tag: "GroupOpened",
      at: 1,
      task: "a",
      kind: "router",
      containment,
      tasks: tasks.map((id) => ({ id, needs: [], worker: "d.one", acceptMissing: false })),
      note: ""
    }
  ]

  it("R-215 is stopped with it, once, and adds nothing at that moment", () => {
    const stopping = { at: 2, group: "", reason: "stop-requested", recall: true, note: "Enough" } as const
    const events: ReadonlyArray<Event> = [
      ...opened({ quorum: 2 }, []),
      { _tag: "CancelRequested", at: 2, by: "somebody", note: "Enough" },
      { _tag: "GroupStopping", ...stopping }
    ]
    assert.deepStrictEqual(decided(events, spec), ["stop a stop-requested"])
  })

  it("is not given up for its quorum while it may get more tasks", () => {
    assert.deepStrictEqual(decided(opened({ quorum: 2 }, ["a/x"]), spec), ["AddTasks"])
    const fixed = Decider.spec({ workers })
    assert.deepStrictEqual(decided(opened({ quorum: 2 }, ["a/x"]), fixed), ["stop a no-ready-task"])
  })
})

describe("the tokens of a choice", () => {
  it("D34 are charged to the run when nothing is left of its budget", () => {
    const choice = { consult: "r1/consult/1", subject: "", note: "" } as const
    const used = (n: number): number | undefined =>
      fold([
        { ...one, limits: { run: { tokens: 10 } } },
        { _tag: "Consulted", at: 1, purpose: "route", ...choice },
        { _tag: "Decided", at: 2, ...choice, answer: "a", usage: { tokens: 12 } },
        ...(n < 2
          ? []
          : ([
              { _tag: "Consulted", at: 3, purpose: "route", ...choice, consult: "r1/consult/2" },
              { _tag: "Decided", at: 4, ...choice, consult: "r1/consult/2", answer: "a", usage: { tokens: 5 } }
            ] as const))
      ]).ledger.accounts.get("run")?.settled.tokens
    assert.deepStrictEqual([used(1), used(2)], [12, 17])
  })
})
