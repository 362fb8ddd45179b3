import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { Decider, type Result, type RunEvent, RunState } from "espalier/run"

import { envelope, fold, simulate, started } from "./simulate.ts"

const workers = [
  { name: "d.one", capabilities: ["read"], size: 10 },
  { name: "d.two", capabilities: ["read", "write"], size: 10 },
  { name: "d.three", capabilities: [], size: 10 }
]
const spec = Decider.spec({ workers, concurrency: 2 })

/** The events of a task that went to a worker and came back with this result. */
const reports = (
  task: string,
  n: number,
  worker: string,
  result: Partial<Result.Envelope>,
  outcome: RunEvent.DispatchEnd = "accepted"
): ReadonlyArray<RunEvent.RunEvent> => {
  const dispatch = `r1/${task}/${n}`
  return [
    { _tag: "Routed", at: 1, task, worker, candidates: [worker], note: "" },
    { _tag: "Dispatched", at: 1, task, dispatch, worker, contract: 1, note: "" },
    { _tag: "Reported", at: 2, task, dispatch, worker, attempts: 1, outcome, result: envelope(result), note: "" }
  ]
}

const fails = (task: string, n: number, worker: string, kind: Result.ErrorKind) =>
  reports(task, n, worker, { status: "failed", confidence: 0, error: { kind, reason: "broke" } }, "failed")

const ended = (task: string, status: RunEvent.TaskEnd, dispatch?: string): RunEvent.RunEvent => ({
  _tag: "TaskEnded",
  at: 3,
  task,
  status,
  ...(dispatch === undefined ? {} : { dispatch }),
  missing: [],
  note: ""
})

/** What is decided after these events, without the prose. */
const decided = (events: ReadonlyArray<RunEvent.RunEvent>, with_ = spec) =>
  Decider.decide(fold(events), with_).map((action) => {
    switch (action._tag) {
      case "Dispatch":
        return `${action.task} to ${action.worker}`
      case "EndTask":
        return `${action.task} ${action.status}`
      case "Finish":
        return `${action.status} ${action.stopReason}${action.degraded ? " degraded" : ""}`
      case "Review":
        return `review ${action.kind} ${action.reason} of ${action.task ?? "the run"}`
      default:
        return action._tag
    }
  })

const one = started([{ id: "a", worker: "d.one" }])
const onTwo = started([{ id: "a", worker: "d.two" }])
const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))

describe("Decider", () => {
  describe("candidates", () => {
    const table: ReadonlyArray<readonly [string, Partial<RunEvent.PlannedTask>, ReadonlyArray<string>]> = [
      ["the worker that it names, then its stand-ins", { worker: "d.one" }, ["d.one", "d.two"]],
      ["nobody who lacks one of the named worker's capabilities", { worker: "d.two" }, ["d.two"]],
      ["the named worker alone when it has no capability", { worker: "d.three" }, ["d.three"]],
      ["everyone with the capability", { capability: "read" }, ["d.one", "d.two"]],
      ["the named worker first", { worker: "d.three", capability: "write" }, ["d.three", "d.two"]],
      ["nobody for an unknown capability", { capability: "fly" }, []],
      ["nobody for an unknown worker", { worker: "d.nine" }, []]
    ]
    it.each(table)("are %s", (_, task, names) => {
      const planned = { id: "a", needs: [], acceptMissing: false, ...task }
      assert.deepStrictEqual([...Decider.candidates(planned, spec)], [...names])
    })
  })

  describe("decide", () => {
    const three = started([
      { id: "a", worker: "d.one" },
      { id: "b", worker: "d.two", needs: ["a"] },
      { id: "c", worker: "d.two", needs: ["a", "b"], acceptMissing: true }
    ])
    const accepted = [...reports("a", 1, "d.one", { output: 1 }), ended("a", "accepted", "r1/a/1")]
    const table: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.RunEvent>, ReadonlyArray<string>]> = [
      ["dispatches the first task of a new run", [one], ["a to d.one"]],
      [
        "keeps to the bound on tasks in flight",
        [started(["a", "b", "c"].map((id) => ({ id, worker: "d.one" })))],
        ["a to d.one", "b to d.one"]
      ],
      ["has nothing to do while dispatches are open", [one, ...reports("a", 1, "d.one", {}).slice(0, 2)], []],
      ["accepts what was delivered", [one, ...reports("a", 1, "d.one", { output: 1 })], ["a accepted"]],
      ["dispatches a task once what it needs is accepted", [three, ...accepted], ["b to d.two"]],
      [
        "lets a task run on a partial input",
        [
          three,
          ...reports(
            "a",
            1,
            "d.one",
            { status: "partial", output: 1, missing: [{ part: "x", reason: "y" }] },
            "partial"
          ),
          ended("a", "partial", "r1/a/1")
        ],
        ["b to d.two"]
      ],
      [
        "blocks a task whose need gave nothing, and not one that accepts missing inputs",
        [three, ...fails("a", 1, "d.one", "denied"), ended("a", "failed")],
        ["b blocked"]
      ],
      [
        "R-214 dispatches a task that accepts missing inputs when everything before it has ended",
        [three, ...fails("a", 1, "d.one", "denied"), ended("a", "failed"), ended("b", "blocked")],
        ["c to d.two"]
      ],
      ["gives a crashed worker one more try", [one, ...fails("a", 1, "d.one", "defect")], ["a to d.one"]],
      ["asks for one correction", [one, ...fails("a", 1, "d.one", "malformed")], ["a to d.one"]],
      [
        "hands a task on after the correction failed too",
        [one, ...fails("a", 1, "d.one", "malformed"), ...fails("a", 2, "d.one", "malformed")],
        ["a to d.two"]
      ],
      ["gives up when nobody is left", [onTwo, ...fails("a", 1, "d.two", "capability")], ["a failed"]],
      ["does not decide for a suspended run", [one, { _tag: "RunSuspended", at: 9, reason: "asked", note: "" }], []]
    ]
    it.each(table)("%s", (_, events, actions) => {
      assert.deepStrictEqual(decided(events), actions)
    })

    const two = started([
      { id: "a", worker: "d.one" },
      { id: "b", worker: "d.one" }
    ])
    const done = (task: string, n = 1, worker = "d.one", confidence = 1) => [
      ...reports(task, n, worker, { output: 1, confidence }),
      ended(task, "accepted", `r1/${task}/${n}`)
    ]
    const partial = (task: string) => [
      ...reports(task, 1, "d.one", { status: "partial", output: 1, missing: [{ part: "x", reason: "y" }] }, "partial"),
      ended(task, "partial", `r1/${task}/1`)
    ]
    const failed = (task: string, kind: Result.ErrorKind) => [...fails(task, 1, "d.one", kind), ended(task, "failed")]
    const ends: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.RunEvent>]> = [
      ["completed accepted", [two, ...done("a"), ...done("b")]],
      ["completed accepted degraded", [two, ...done("a"), ...done("b", 1, "d.one", 0.5)]],
      [
        "completed accepted degraded",
        [two, ...done("a"), ...fails("b", 1, "d.one", "capability"), ...done("b", 2, "d.two")]
      ],
      ["completed accepted", [two, ...done("a"), ...fails("b", 1, "d.one", "defect"), ...done("b", 2, "d.one")]],
      ["partial accepted", [two, ...done("a"), ...partial("b")]],
      ["partial no-eligible-worker", [two, ...done("a"), ...failed("b", "capability")]],
      ["partial no-ready-task", [two, ...done("a"), ...failed("b", "denied")]],
      ["failed empty", [two, ...failed("a", "denied"), ...failed("b", "capability")]]
    ]
    it.each(ends)("R-212 ends a run as %s", (end, events) => {
      assert.deepStrictEqual(decided(events), [end])
    })

    it("R-201 asks a person when a partial result would do harm", () => {
      const events = [one, ...partial("a").slice(0, 3)]
      const facts = { escalate: true, can: new Set<never>(), reduceScope: false, permissions: [], optional: [] }
      const careful = Decider.spec({ workers, tasks: new Map([["a", facts]]) })
      assert.deepStrictEqual(decided(events, careful), ["review escalation incomplete of a"])
    })

    it("R-203 gives a task to somebody who costs less when the budget has no room for the one that it names", () => {
      const started_ = { ...started([{ id: "a", worker: "d.dear" }]), limits: { run: { cost: 5 } } }
      const one = { name: "d.dear", capabilities: ["read"], estimate: { cost: 6 } }
      const choice = (workers: ReadonlyArray<Decider.WorkerOptions>) =>
        Decider.decide(fold([started_]), Decider.spec({ workers }))[0]
      const cheaper = choice([one, { ...one, name: "d.cheap", estimate: { cost: 4 } }])
      assert.deepInclude(cheaper, { _tag: "Dispatch", worker: "d.cheap" })
      assert.include(JSON.stringify(cheaper), "d.dear")
      assert.deepInclude(choice([one]), { _tag: "RefuseBudget", worker: "d.dear", account: "run", asked: 6 })
      const both = [one, { ...one, name: "d.dearer", estimate: { cost: 7 } }]
      assert.deepInclude(choice(both), { _tag: "RefuseBudget", worker: "d.dear" })
    })

    it("ends a task that nobody can do, with the reason", () => {
      const [action] = Decider.decide(fold([started([{ id: "a", capability: "fly" }])]), spec)
      assert.strictEqual(action?._tag === "EndTask" && action.note, "no worker has the capability fly")
    })

    it("ends a run whose tasks can never become ready instead of waiting for ever", () => {
      const circle = started([
        { id: "a", needs: ["b"] },
        { id: "b", needs: ["a"] }
      ])
      assert.deepStrictEqual(decided([circle]), ["failed no-ready-task"])
    })

    it.prop("R-215 gives the same actions for the same state, at every step of a run", { seed }, ({ seed }) => {
      const { events, spec } = simulate(seed)
      for (let length = 1; length <= events.length; length++) {
        const prefix = events.slice(0, length)
        assert.deepStrictEqual(Decider.decide(fold(prefix), spec), Decider.decide(fold(prefix), spec))
      }
    })

    it.prop("never dispatches a task that has ended, and never more than may be in flight", { seed }, ({ seed }) => {
      const { events, spec, state } = simulate(seed)
      const over = new Set<string>()
      events.forEach((event, index) => {
        if (event._tag === "TaskEnded") over.add(event.task)
        if (event._tag === "Dispatched") {
          assert.isFalse(over.has(event.task))
          assert.isAtMost(fold(events.slice(0, index + 1)).running, spec.concurrency)
        }
      })
      for (const task of state.tasks.values()) {
        for (const worker of spec.workers.keys()) {
          // Who has it tried anew begins anew.
          assert.isAtMost(task.tries.slice(task.ladder).filter((each) => each.worker === worker).length, 3)
        }
      }
    })

    it.prop("ends every run: every task is over and the status says what there is", { seed }, ({ seed }) => {
      const { state } = simulate(seed)
      const statuses = [...state.tasks.values()].map(({ status }) => status)
      assert.isTrue(statuses.every(RunState.isEnded))
      const useful = statuses.some((status) => status === "accepted" || status === "partial")
      const all = statuses.every((status) => status === "accepted")
      assert.strictEqual(state.status, all ? "completed" : useful ? "partial" : "failed")
    })
  })
})
