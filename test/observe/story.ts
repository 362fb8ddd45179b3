/** One run in which everything happens that is measured from events. */
import type { RunEvent } from "espalier/run"

import * as e from "./events.ts"

const noticed = (what: string): RunEvent.RunEvent => ({ _tag: "Noticed", at: 0, subject: "a", what, note: "" })

const intended: RunEvent.RunEvent = {
  _tag: "EffectIntended",
  at: 0,
  task: "a",
  dispatch: "r1/a/1",
  effect: "k",
  name: "mail",
  digest: "d",
  occurrence: 0,
  recovery: "repeat",
  note: ""
}

const { cost: _, currency: __, ...unpriced } = e.call()

const silent = e.spent("a", "r1/a/2", "d.x", { ...unpriced, estimated: true })

export const story: ReadonlyArray<RunEvent.RunEvent> = [
  {
    ...e.begun([{ id: "a" }, { id: "b", needs: ["a"] }, { id: "score" }]),
    limits: { run: { tokens: 10 } }
  } as RunEvent.RunEvent,
  { _tag: "Consulted", at: 0, consult: "r1/choice/1", subject: "", purpose: "route", note: "" },
  { _tag: "Decided", at: 10, consult: "r1/choice/1", subject: "", answer: "d.x", note: "" },
  e.routed("a", "d.x"),
  e.dispatched("a", "d.x"),
  e.spent("a", "r1/a/1", "d.x"),
  e.spent("a", "r1/a/1", "d.x", { attempt: 2 }, {}),
  intended,
  intended,
  noticed("window-alert"),
  noticed("compacted"),
  e.reported("a", "d.x", "rejected-quality", 50),
  e.dispatched("a", "d.x", 50, 2),
  e.spent("a", "r1/a/2", "d.x"),
  { ...silent, usage: { tokens: 1, steps: 1 }, facts: { ...unpriced, estimated: true } as never },
  {
    _tag: "Spent",
    at: 60,
    task: "a",
    dispatch: "r1/a/2",
    worker: "d.x",
    what: "tool",
    usage: { toolCalls: 1 },
    facts: { tool: "search", outcome: "done", durationMillis: 5 },
    note: ""
  },
  e.reported("a", "d.x", "accepted", 90, 2, {
    result: {
      status: "completed",
      output: 1,
      confidence: 1,
      usage: {},
      missing: [],
      evidence: [{ requirement: "works", command: "npm test", exitStatus: 0 }]
    }
  }),
  e.ended("a", "accepted", 90),
  e.dispatched("b", "d.y", 90),
  e.reported("b", "d.y", "accepted", 95),
  e.ended("b", "accepted", 95),
  e.dispatched("score", "d.x", 95),
  e.reported("score", "d.x", "accepted", 99, 1, {
    result: {
      status: "completed",
      confidence: 1,
      usage: {},
      missing: [],
      evidence: [],
      output: {
        run: "r0",
        desk: "release",
        status: "completed",
        endedAt: 1,
        workers: [],
        failures: [],
        scores: [
          { scorer: "whole", value: 0.5, why: "" },
          { scorer: "style", value: null, why: "" }
        ]
      }
    }
  }),
  {
    _tag: "BudgetRefused",
    at: 99,
    task: "b",
    worker: "d.x",
    account: "run",
    measure: "cost",
    limit: 1,
    asked: 2,
    note: ""
  },
  e.opened({ at: 100 }),
  {
    _tag: "ReviewRefused",
    at: 101,
    review: "r1/review/1",
    decision: "approve",
    by: "eve",
    because: "invalid",
    note: ""
  },
  { _tag: "ReviewChanged", at: 102, review: "r1/review/1", by: "ann", what: "claimed", note: "" },
  e.decided("approve", 200),
  { _tag: "RunSuspended", at: 200, reason: "asked", note: "" },
  { _tag: "RunResumed", at: 300, note: "" },
  e.finished(400, { status: "failed", stopReason: "loop-detected" })
]
