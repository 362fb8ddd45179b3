import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { RunEvent } from "espalier/run"

import * as Progress from "../../src/cli/progress.ts"

const note = ""
const planned = (id: string) => ({ id, needs: [], contract: 1, worker: "d.w" }) as unknown as RunEvent.PlannedTask

const started = (...tasks: ReadonlyArray<string>): RunEvent.RunEvent => ({
  _tag: "RunStarted",
  at: 0,
  run: "r1",
  desk: "release",
  version: "1",
  definition: "",
  input: null,
  tasks: tasks.map(planned),
  note
})

const given = (task: string, at = 0): RunEvent.RunEvent => ({
  _tag: "Dispatched",
  at,
  task,
  dispatch: `r1/${task}/1`,
  worker: "docs.links",
  contract: 1,
  note
})

const ended = (task: string, status: RunEvent.TaskEnd, note = ""): RunEvent.RunEvent => ({
  _tag: "TaskEnded",
  at: 5,
  task,
  status,
  missing: [],
  note
})

const asked: RunEvent.RunEvent = {
  _tag: "ReviewOpened",
  at: 0,
  review: "r1/review/1",
  kind: "question",
  task: "a",
  reason: "asked",
  allowed: ["answer"],
  facts: {},
  note: "Which one?"
} as unknown as RunEvent.RunEvent

const viewOf = (...events: ReadonlyArray<RunEvent.RunEvent>) => events.reduce(Progress.after, Progress.empty)

const room = { width: 60, height: 24, now: 2_000 }

describe("the progress of a run", () => {
  it("R-503 has a line for each task: what works on it, what came of it, what people are asked", () => {
    const view = viewOf(
      started("a", "b", "c", "d"),
      given("b", 500),
      ended("c", "accepted"),
      ended("d", "failed", "No \u001b[2Jone"),
      asked
    )
    assert.deepStrictEqual(Progress.draw(view, room), [
      "r1  release 1  2 of 4 tasks, 2 s",
      "  ? a  Which one?",
      "  ▸ b  docs.links, 1.5 s",
      "  ✓ c",
      "  ✗ d  failed: No [2Jone"
    ])
    const decided = Progress.after(view, {
      _tag: "ReviewDecided",
      at: 5,
      review: "r1/review/1",
      decision: "answer",
      by: "ada",
      note: "This one"
    })
    assert.strictEqual(Progress.draw(decided, room)[1], "  · a  This one")
  })

  it("R-503 never takes more room than there is, and shows what goes on first", () => {
    const names = Array.from({ length: 30 }, (_, at) => `task-${at}`)
    const view = viewOf(started(...names), ended("task-0", "accepted"), given("task-29"))
    const lines = Progress.draw(view, { width: 20, height: 8, now: 0 })
    assert.strictEqual(lines.length, 7)
    assert.include(lines[1], "task-29")
    assert.strictEqual(lines.at(-1), "  and 25 more")
    for (const line of lines) assert.isBelow(line.length, 20)
  })

  it.effect("R-503 a terminal is drawn in place, what else is said stands above, and nothing is left behind", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const said: Array<string> = []
      const screen = { isTTY: true, columns: 0, write: (text: string) => written.push(text) }
      const progress = yield* Progress.make(screen, { write: (text) => said.push(text) })
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(written, [])
      progress.onEvent(started("a"))
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(written.splice(0), ["r1  release 1  0 of 1 task, 200 ms\n  · a\n"])
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(written.splice(0), ["\u001b[2A\r\u001b[Jr1  release 1  0 of 1 task, 300 ms\n  · a\n"])
      progress.above("a warning\n")
      assert.deepStrictEqual([written.splice(0), said], [["\u001b[2A\r\u001b[J"], ["a warning\n"]])
      yield* TestClock.adjust("100 millis")
      written.length = 0
      progress.done()
      assert.deepStrictEqual(written.splice(0), ["\u001b[2A\r\u001b[J"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(written, [])
    })
  )

  it.effect("R-503 elsewhere each thing that happens is a line, and without a screen nothing is", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const progress = yield* Progress.make({ write: (text) => written.push(text) }, { write: () => {} })
      progress.onEvent(started("a"))
      progress.onEvent(given("a"))
      progress.onEvent(ended("a", "failed", "No\nworker"))
      assert.deepStrictEqual(written, [
        "1970-01-01T00:00:00.000Z  run r1  release 1, 1 task\n",
        "1970-01-01T00:00:00.000Z  r1/a/1  given to docs.links, contract 1\n",
        "1970-01-01T00:00:00.005Z  a  failed: No worker\n"
      ])
      const silent = yield* Progress.make(undefined, { write: (text) => written.push(text) })
      silent.onEvent(started("a"))
      assert.strictEqual(written.length, 3)
    })
  )
})
