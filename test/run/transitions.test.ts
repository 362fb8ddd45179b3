import { assert, describe, it } from "@effect/vitest"
import { Result as EffectResult } from "effect"
import { type Autonomy, type RunEvent, RunState } from "espalier/run"

import { envelope, fold, get, started } from "./simulate.ts"

type Event = RunEvent.RunEvent

const plan = started([
  { id: "a", worker: "d.w" },
  { id: "b", worker: "d.w", needs: ["a"] },
  { id: "c", group: "plan" }
])
const planned = (id: string, needs: ReadonlyArray<string> = []) => ({ id, needs, acceptMissing: false, worker: "d.w" })
const routed: Event = { _tag: "Routed", at: 1, task: "a", worker: "d.w", candidates: ["d.w"], note: "" }
const dispatched: Event = {
  _tag: "Dispatched",
  at: 1,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.w",
  contract: 1,
  note: ""
}
const recalled: Event = { _tag: "Recalled", at: 1, task: "a", dispatch: "r1/a/1", reason: "stop-requested", note: "" }
const report = (result: Parameters<typeof envelope>[0], outcome: RunEvent.DispatchEnd): Event => ({
  _tag: "Reported",
  at: 2,
  task: "a",
  dispatch: "r1/a/1",
  worker: "d.w",
  attempts: 1,
  outcome,
  result: envelope(result),
  note: ""
})
const failed = report({ status: "failed", confidence: 0, error: { kind: "oversized", reason: "1 GB" } }, "failed")
const delivered = report({ output: 1 }, "accepted")
const ended = (task: string, status: RunEvent.TaskEnd, dispatch?: string): Event => ({
  _tag: "TaskEnded",
  at: 3,
  task,
  status,
  ...(dispatch === undefined ? {} : { dispatch }),
  missing: [],
  note: ""
})
const opened = (
  task = "c",
  kind = "plan",
  tasks = [planned(`${task}/x`), planned(`${task}/y`, [`${task}/x`])]
): Event => ({
  _tag: "GroupOpened",
  at: 1,
  task,
  kind,
  containment: "isolate",
  tasks,
  note: ""
})
const added = (group: string, tasks = [planned(`${group === "" ? "" : `${group}/`}z`)]): Event => ({
  _tag: "TasksAdded",
  at: 1,
  group,
  tasks,
  note: ""
})
const stopping = (group: string, recall = true): Event => ({
  _tag: "GroupStopping",
  at: 1,
  group,
  reason: "no-ready-task",
  recall,
  note: ""
})
const merged = (group: string): Event => ({
  _tag: "Merged",
  at: 3,
  group,
  kind: "plan",
  outcome: "accepted",
  result: envelope({ output: 1 }),
  note: ""
})
const consulted = (subject: string, number = 1, purpose: RunEvent.Purpose = "decompose"): Event => ({
  _tag: "Consulted",
  at: 2,
  consult: `r1/consult/${number}`,
  subject,
  purpose,
  note: ""
})
const decided = (subject: string, number = 1): Event => ({
  _tag: "Decided",
  at: 2,
  consult: `r1/consult/${number}`,
  subject,
  answer: [],
  note: ""
})
const undecided = (subject: string, number = 1): Event => ({
  _tag: "DecisionFailed",
  at: 2,
  consult: `r1/consult/${number}`,
  subject,
  error: { kind: "malformed", reason: "No" },
  note: ""
})
const review = (task: string | undefined, number = 1): Event => ({
  _tag: "ReviewOpened",
  at: 2,
  review: `r1/review/${number}`,
  ...(task === undefined ? {} : { task }),
  kind: "escalation",
  reason: "incomplete",
  allowed: ["retry", "reject"],
  facts: {},
  note: ""
})
const said = (decision: RunEvent.Decision = "retry", number = 1): Event => ({
  _tag: "ReviewDecided",
  at: 3,
  review: `r1/review/${number}`,
  decision,
  by: "ada",
  note: ""
})
const cancel: Event = { _tag: "CancelRequested", at: 1, by: "ada", note: "Enough" }
const late = (subject: string): Event => ({ _tag: "DeadlinePassed", at: 1, subject, note: "" })
const tier = (from: Autonomy.Tier): Event => ({ _tag: "AutonomyChanged", at: 1, from, to: "low", by: "ada", note: "" })
const suspended: Event = { _tag: "RunSuspended", at: 1, reason: "asked", note: "" }
const finished = (status: RunEvent.RunEnd): Event => ({
  _tag: "RunFinished",
  at: 4,
  status,
  stopReason: "accepted",
  degraded: false,
  note: ""
})
const confirmed: Event = { _tag: "Confirmed", at: 1, task: "a", worker: "d.w", allowed: true, note: "" }
const unaffordable: Event = {
  _tag: "BudgetRefused",
  at: 1,
  task: "a",
  worker: "d.w",
  account: "run",
  measure: "tokens",
  limit: 1,
  asked: 2,
  note: ""
}
const reused: Event = { _tag: "Reused", at: 1, task: "a", worker: "d.w", of: "b", version: 2, note: "" }
const refused: Event = { _tag: "ContractRefused", at: 1, task: "a", worker: "d.w", note: "" }

const timer = (subject: string, due = 10, number = 1): Event => ({
  _tag: "TimerSet",
  at: 0,
  timer: `r1/timer/${number}`,
  subject,
  purpose: "after",
  due,
  note: ""
})
const fires = (subject: string, due = 10, number = 1, at = due): Event => ({
  _tag: "TimerFired",
  at,
  timer: `r1/timer/${number}`,
  subject,
  due,
  note: ""
})
const slow = started([
  { id: "a", afterMillis: 10 },
  { id: "b", afterMillis: 5 },
  { id: "c", needs: ["a"], afterMillis: 1 },
  { id: "d" }
])

const order = [plan, routed, dispatched]
const tried = [...order, failed]
const group = [plan, opened()]

describe("RunState.evolve", () => {
  const table: ReadonlyArray<readonly [reason: string, history: ReadonlyArray<Event>, event: Event]> = [
    // groups
    ['there is no task "z"', [plan], opened("z")],
    ["the task b is queued", [plan], opened("b")],
    ["the task a is running", order, opened("a")],
    ["the task a is routed to d.w", [plan, routed], opened("a")],
    ["the task c is running", group, opened()],
    ['the task "c/x" is planned twice', [plan], opened("c", "plan", [planned("c/x"), planned("c/x")])],
    ['the task "c/x" needs an unknown task "a"', [plan], opened("c", "plan", [planned("c/x", ["a"])])],
    ["the task c is running", group, { ...routed, task: "c" }],
    ["2 tasks of c have not ended", group, ended("c", "failed")],
    ['there is no group "z"', [plan], added("z")],
    ['the task "a" is planned twice', [plan], added("", [planned("a")])],
    ['the task "y" needs an unknown task "c/x"', group, added("", [planned("y", ["c/x"])])],
    ['the group "c" is being stopped', [...group, stopping("c")], added("c")],
    ['there is no group "a"', [plan], stopping("a")],
    ['the group "c" is being stopped already', [...group, stopping("c")], stopping("c")],
    ['the group "c" is being stopped already', [...group, stopping("c", false)], stopping("c", false)],
    ["2 tasks of the group have not ended", group, merged("c")],
    ["3 tasks of the group have not ended", [plan], merged("")],
    ['there is no group "a"', [plan], merged("a")],
    ["a decision of the group is open", [plan, opened("c", "plan", []), consulted("c")], merged("c")],
    ['there is no group "c"', [plan, opened("c", "plan", []), merged("c")], merged("c")],
    // choices
    ['there is no group or task "z"', [plan], consulted("z")],
    ["the next decision is r1/consult/1, not r1/consult/2", tried, consulted("a", 2)],
    ["r1/consult/1 is open", [...tried, consulted("a")], consulted("a", 2)],
    ["the task a has ended: failed", [...tried, ended("a", "failed")], consulted("a")],
    ["r1/consult/1 is not open", tried, decided("a")],
    ["r1/consult/2 is not open", [...tried, consulted("a")], decided("a", 2)],
    ["r1/consult/1 is not open", [...tried, consulted("a"), decided("a")], decided("a")],
    ["r1/consult/1 is not open", [...tried, consulted("a"), decided("a")], undecided("a")],
    ["r1/consult/1 is not open", [...tried, consulted("a"), undecided("a")], decided("a")],
    ["the task a has ended: failed", [...tried, consulted("a"), ended("a", "failed")], decided("a")],
    ["the task a is running", [...tried, consulted("a")], { ...routed }],
    ["1 decisions are open", [...tried, consulted("a")], finished("partial")],
    // people
    ["the next review is r1/review/1, not r1/review/2", tried, review("a", 2)],
    ['there is no task "z"', tried, review("z")],
    ["the task a is running", order, review("a")],
    ["the task a is ready", [plan, routed], review("a")],
    ["r1/review/1 is open already", [...tried, review("a")], review("a", 2)],
    ["a review of the run is open already", [plan, review(undefined)], review(undefined, 2)],
    ["a review of c is open already", [...group, review("c")], review("c", 2)],
    ["the task a has ended: failed", [...tried, ended("a", "failed")], review("a")],
    ["the review r1/review/1 is not open", tried, said()],
    ["the review r1/review/1 is not open", [...tried, review("a"), said()], said("reject")],
    ['decision must be one of retry, reject, got "approve"', [...tried, review("a")], said("approve")],
    ["the review r1/review/1 is not open", [...tried, review("a"), ended("a", "cancelled")], said()],
    ["the task a is awaiting-review", [...tried, review("a")], routed],
    ["the task a is awaiting-review", [...tried, review("a")], opened("a", "decompose")],
    ["the tier is medium, not full", [plan], tier("full")],
    ["the end of the run is asked for already", [plan, cancel], cancel],
    // time
    [
      "r1/a/2 is not open",
      order,
      { ...suspended, interrupted: [{ task: "a", dispatch: "r1/a/2", usage: { tokens: 1 } }] } as Event
    ],
    ["the time of the run is over already", [plan, late("")], late("")],
    ["the time of a is over already", [plan, late("a")], late("a")],
    ['there is no task "z"', [plan], late("z")],
    ["the task a has ended: failed", [...tried, ended("a", "failed")], late("a")],
    ["the next timer is r1/timer/1, not r1/timer/2", [slow], timer("a", 10, 2)],
    ['there is no task "z"', [slow], timer("z")],
    ["the task d waits for no time", [slow], timer("d")],
    ["the task c is queued", [slow], timer("c")],
    ["r1/timer/1 of a is open already", [slow, timer("a")], timer("a", 11, 2)],
    ["the task a is ready", [slow, timer("a"), fires("a")], timer("a", 11, 2)],
    ["the task a has ended: cancelled", [slow, ended("a", "cancelled")], timer("a")],
    ["r1/timer/1 is not open", [slow], fires("a")],
    ["r1/timer/1 is not open", [slow, timer("a"), fires("a")], fires("a")],
    ["r1/timer/1 is not open", [slow, timer("a"), ended("a", "cancelled")], fires("a")],
    ["the next timer to fire is r1/timer/2, not r1/timer/1", [slow, timer("a"), timer("b", 5, 2)], fires("a")],
    ["the next timer to fire is r1/timer/1, not r1/timer/2", [slow, timer("a"), timer("b", 10, 2)], fires("b", 10, 2)],
    ['r1/timer/1 is of a, not of "b"', [slow, timer("a")], fires("b")],
    ["r1/timer/1 is due at 10, not at 9", [slow, timer("a")], fires("a", 9)],
    ["r1/timer/1 is not due before 10", [slow, timer("a")], fires("a", 10, 1, 9)],
    ["the task a is queued", [slow, timer("a")], routed],
    ["the task a is queued", [slow, timer("a")], opened("a")],
    ["the task a is queued", [slow], routed],
    // orders
    ["r1/a/1 is not open", [plan], recalled],
    ["r1/a/1 is called back already", [...order, recalled], recalled],
    ["r1/a/1 is not open", tried, recalled],
    ["the task a is running", order, confirmed],
    ["the task a is running", order, unaffordable],
    ["the task a is ready", [plan, routed], unaffordable],
    ["the task a is not routed to d.w", [plan], refused],
    ["the task a is not routed to d.w", [plan], reused],
    ["b has no outcome at version 2", [plan, routed], reused],
    ["the task a is routed to d.w", [plan, routed], ended("a", "cancelled")],
    ["no dispatch of a stands behind accepted", tried, ended("a", "accepted", "r1/a/2")],
    ["r1/a/1 was failed", tried, ended("a", "accepted", "r1/a/1")],
    // the end
    ["the run is suspended", [plan, suspended], stopping("")],
    ["the run is suspended", [plan, suspended], suspended],
    ["the run is suspended", [...order, suspended], delivered],
    ["the run is over: partial", [plan, finished("partial")], cancel],
    ["the run is over: cancelled", [plan, finished("cancelled")], { _tag: "RunResumed", at: 5, note: "" }],
    ["the run is over: failed", [plan, finished("failed")], finished("failed")],
    ["the run is over: partial", [...tried, review("a"), finished("partial")], said()],
    [
      "the run is over: partial",
      [plan, finished("partial")],
      { _tag: "Noticed", at: 5, subject: "", what: "x", note: "" }
    ]
  ]
  it.each(table)("R-215 refuses, and changes nothing: %s", (reason, history, event) => {
    const before = fold(history)
    const copy = structuredClone(before)
    const after = RunState.evolve(before, event)
    assert.strictEqual(EffectResult.isFailure(after) ? after.failure.reason : after._tag, reason)
    assert.deepStrictEqual(before, copy)
    assert.deepStrictEqual(get(RunState.fold(history)), before)
  })
})
