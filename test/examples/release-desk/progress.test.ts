import { stripVTControlCharacters } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import type { Tree } from "espalier"
import type { RunEvent } from "espalier/run"

import * as Progress from "../../../examples/release-desk/progress.ts"

const at = 0
const started: RunEvent.RunEvent = {
  _tag: "RunStarted",
  at,
  run: "r",
  desk: "release-desk",
  version: "1",
  definition: "",
  input: null,
  tasks: ["code.size", "docs.links"].map((worker) => ({ id: worker, worker, needs: [], acceptMissing: false })),
  note: ""
}
const dispatched: RunEvent.RunEvent = {
  _tag: "Dispatched",
  at,
  task: "code.size",
  dispatch: "r/code.size/1",
  worker: "code.size",
  contract: 1,
  note: ""
}
const accepted: RunEvent.RunEvent = {
  _tag: "TaskEnded",
  at,
  task: "code.size",
  status: "accepted",
  missing: [],
  note: "code.size is accepted"
}
const restarting: Tree.Event = {
  _tag: "Restarting",
  at,
  path: ["release-desk", "code", "size"],
  left: 2,
  strategy: "one-for-one"
}
const gaveUp = { _tag: "Exited", at, path: ["release-desk", "code"], ordered: false, incarnation: 1 } as const

const draw = (view: Progress.View, width = 100): ReadonlyArray<string> =>
  stripVTControlCharacters(Progress.draw(view, width)).split("\n")

describe("progress", () => {
  it("has a line per worker, under its domain", () => {
    assert.deepStrictEqual(
      draw(Progress.onRun(Progress.empty, started)).map((line) => line.trimEnd()),
      ["release-desk", "├─ code starting", "│  · size         queued", "├─ docs starting", "│  · links        queued"]
    )
  })

  it("follows a worker from queued to done, restarts included", () => {
    let view = Progress.onRun(Progress.empty, started)
    view = Progress.onRun(view, dispatched)
    assert.match(draw(view)[2]!, /size +working/)
    view = Progress.onTree(view, restarting)
    view = Progress.onRun(view, accepted)
    assert.match(draw(view)[2]!, /✓ size +done +restarted ×1/)
  })

  it("does not report the end of a tree whose run has ended", () => {
    const end = {
      _tag: "RunFinished",
      at,
      status: "completed",
      stopReason: "accepted",
      degraded: false,
      note: ""
    } as const
    const view = Progress.onRun(Progress.onRun(Progress.empty, started), end)
    const stopped = { ...gaveUp, ordered: true, reason: { _tag: "Shutdown", cause: undefined } } as const
    assert.strictEqual(Progress.onTree(view, stopped), view)
  })

  it("changes nothing for events that it does not show", () => {
    const view = Progress.onRun(Progress.empty, started)
    assert.strictEqual(Progress.onTree(view, { _tag: "Stopping", at, path: ["release-desk", "code", "size"] }), view)
  })

  it("keeps lines within the width of the terminal, whatever a note says", () => {
    const note = `\u001b[31m${"x".repeat(1_000)}\n`
    const view = Progress.onRun(Progress.onRun(Progress.empty, started), { ...accepted, status: "failed", note })
    for (const line of draw(view, 80)) assert.isAtMost(line.length, 80)
  })

  it("says in a plain line what broke in the tree and what became of it", () => {
    assert.strictEqual(Progress.treeLine(restarting), "tree release-desk/code/size: restarting, 2 restarts left")
    assert.isUndefined(Progress.treeLine({ ...gaveUp, reason: { _tag: "Normal" } }))
    assert.strictEqual(Progress.runLine(accepted), "code.size: accepted")
  })
})
