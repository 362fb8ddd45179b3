import { assert, describe, it } from "@effect/vitest"
import type { RunEvent, RunState } from "espalier/run"

import { recorded } from "../../../src/run/internal/reusing.ts"
import { envelope, fold, started } from "../simulate.ts"

const done = (digest: string, end: RunEvent.TaskEnd | "open"): ReadonlyArray<RunEvent.RunEvent> => [
  { _tag: "Routed", at: 1, task: "a", worker: "d.one", candidates: ["d.one"], note: "" },
  { _tag: "Dispatched", at: 1, task: "a", dispatch: "r1/a/1", worker: "d.one", contract: 1, digest, note: "" },
  {
    _tag: "Reported",
    at: 2,
    task: "a",
    dispatch: "r1/a/1",
    worker: "d.one",
    attempts: 1,
    outcome: "accepted",
    result: envelope({ output: 1 }),
    note: ""
  },
  ...(end === "open"
    ? []
    : [
        {
          _tag: "TaskEnded" as const,
          at: 3,
          task: "a",
          status: end,
          ...(end === "accepted" ? { dispatch: "r1/a/1" } : {}),
          missing: [],
          note: ""
        }
      ])
]

const after = (kind: string, end: RunEvent.TaskEnd | "open"): RunState.RunState =>
  fold([{ ...started([{ id: "a" }, { id: "b" }]), coordinator: kind }, ...done("d.one x", end)])

describe("An order that is the same as another one", () => {
  const table: ReadonlyArray<
    readonly [
      what: string,
      kind: string,
      end: RunEvent.TaskEnd | "open",
      digest: string | undefined,
      fresh: boolean,
      same: boolean
    ]
  > = [
    ["has its outcome", "plan", "accepted", "d.one x", false, true],
    ["has its outcome when a router chooses it again", "router", "accepted", "d.one x", false, true],
    ["is given when it is to be fresh", "plan", "accepted", "d.one x", true, false],
    ["is given again in a graph", "graph", "accepted", "d.one x", false, false],
    ["is given again in a swarm", "swarm", "accepted", "d.one x", false, false],
    ["is given while the other one is not decided", "plan", "open", "d.one x", false, false],
    ["is given when the other one was not let stand", "plan", "rejected", "d.one x", false, false],
    ["is another one for another worker", "plan", "accepted", "d.two x", false, false],
    ["is not looked for where there can be none", "plan", "accepted", undefined, false, false]
  ]
  it.each(table)("D20 %s (%s, %s)", (_, kind, end, digest, fresh, same) => {
    const state = after(kind, end)
    const found = recorded(state, state.tasks.get("b")!, digest, fresh)
    assert.deepStrictEqual(found, same ? { task: "a", version: 4 } : undefined)
  })

  it("D20 is not asked about once a task has been tried", () => {
    const state = after("plan", "accepted")
    assert.isUndefined(recorded(state, state.tasks.get("a")!, "d.one x", false))
  })
})
