import { assert, describe, it } from "@effect/vitest"
import { Context } from "effect"
import { SemConv } from "espalier/observe"
import type { RunEvent } from "espalier/run"

import { SpanPlan } from "../../../src/observe/internal/spanPlan.ts"
import { envelope } from "../../run/simulate.ts"
import { begun } from "../events.ts"

const opened: RunEvent.RunEvent = {
  _tag: "GroupOpened",
  at: 0,
  task: "g",
  kind: "plan",
  tasks: [{ id: "g/x", needs: [], objective: "Do x" }],
  note: ""
} as never

const merged: RunEvent.RunEvent = {
  _tag: "Merged",
  at: 1,
  group: "g",
  outcome: "accepted",
  result: envelope({ output: 1 }),
  note: ""
} as never

const resumed: RunEvent.RunEvent = { _tag: "RunResumed", at: 2, note: "" }

/** The spans that a run is taken up with, which has this history. */
const takenUp = (history: ReadonlyArray<RunEvent.RunEvent>) => {
  const plan = new SpanPlan("r1", SemConv.names().attributes, { most: 100, mode: "segment", kept: true })
  for (const event of history) plan.recall(event)
  plan.begin({ cause: "crash-recovery", at: 2, desk: "desk", context: Context.empty(), decided: [] })
  return plan.happened(resumed).flatMap((op) => (op._tag === "Open" ? [op.name] : []))
}

describe("what is under way when a run is taken up", () => {
  it("R-501 D102 is a task of tasks, until its tasks are over", () => {
    const around = ["invoke_workflow desk", "invoke_agent desk"]
    assert.deepStrictEqual(takenUp([begun([{ id: "g" }]), opened]), [...around, "invoke_workflow plan"])
    assert.deepStrictEqual(takenUp([begun([{ id: "g" }]), opened, merged]), around)
  })
})
