import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { treeIn } from "../../src/cli/drawing.ts"
import { piped } from "../../src/cli/look.ts"
import { naming, treeText, viewOf } from "../../src/cli/tree.ts"
import { withCommand } from "../fixtures/real.ts"
import { memory, task } from "../run/desks.ts"
import { begin, deskOf, options } from "../run/living.ts"
import { copied } from "../run/released.ts"
import { espalier } from "./inside.ts"

/** A run of the journal as a tree, after an event or as it is. */
const drawn = (at?: number) =>
  Effect.gen(function* () {
    const state = yield* at === undefined ? Run.state("r1") : Run.stateAt("r1", at)
    const { add, named } = naming()
    yield* Stream.runForEach(Stream.take(Run.events("r1"), state.version), (event) => Effect.sync(() => add(event)))
    return treeText(piped, viewOf(state, named())).split("\n")
  })

describe("tree", () => {
  it("R-503 draws what is below what, and nothing that a terminal obeys", () => {
    const look = { colour: true, columns: 40 }
    const leaf = { name: "b\u001B[2J", status: "failed", more: "it goes on, and on, and on, and on" }
    assert.deepStrictEqual(
      treeIn(look, { name: "a", below: [leaf, { name: "c", below: [{ name: "d" }] }] }).split("\n"),
      ["a", "├─ b [2J  \u001B[31mfailed\u001B[39m  it goes on, and on,", "│    and on, and on", "└─ c", "   └─ d"]
    )
  })

  it.effect(
    "R-503 shows domains, workers and tasks by group, with what they wait for, as they were after any event",
    () =>
      Effect.gen(function* () {
        const one = Fake.worker("one", { size: 1, answers: ({ task }) => (task === "first" ? "done" : Fake.never) })
        const two = Fake.worker("two", { risk: "high", otherwise: "done" })
        const inner = Plan.make<unknown>(["x", "y"].map((id) => ({ id, worker: "d.one", objective: `Do ${id}` })))
        const built = deskOf(
          [one, two],
          Plan.make<string>(
            [
              task("first"),
              { id: "many", by: inner, objective: "Do many" },
              task("asked", { worker: "d.two" }),
              { ...task("later"), after: "1 minute" },
              task("last", { needs: ["first", "many"] })
            ],
            { concurrency: 10 }
          )
        )
        const run = yield* begin(Run.start(built, options))
        const lines = yield* drawn()
        yield* run.interrupt
        assert.match(lines[0]!, /^r1: desk 1 {2}running {2}tier medium, after event \d+ of 1970-01-01T00:00:00.000Z$/)
        assert.deepStrictEqual(lines.slice(1), [
          "├─ d",
          "│  ├─ d.one  healthy  1 order open, last r1/many/x/1, open, 1970-01-01T00:00:00.000Z",
          "│  └─ d.two  healthy  0 orders open, no order yet",
          "└─ tasks (plan)",
          "   ├─ first  accepted         d.one, 1 try",
          "   ├─ many   running          plan",
          "   │  ├─ many/x  running  d.one, 1 try, waits for order r1/many/x/1 (at d.one)",
          "   │  └─ many/y  ready    d.one, waits for a free slot",
          "   ├─ asked  awaiting-review  d.two, waits for person r1/review/1 (action-approval)",
          "   ├─ later  queued           d.one, waits for timer r1/timer/1 (after) until 1970-01-01T00:01:00.000Z",
          "   └─ last   queued           d.one, waits for task many (running)"
        ])
        assert.include(
          (yield* drawn(1)).at(-1),
          "last   queued  d.one, waits for task first (ready), task many (ready)"
        )
      }).pipe(memory)
  )

  withCommand("R-503 is printed as of an event, and as JSON", () =>
    Effect.gen(function* () {
      const journal = yield* copied
      const { out } = yield* espalier(journal, ["tree", "stumbled", "--at", "4", "--json"])
      const view = JSON.parse(out[0]!)
      assert.deepInclude(view, { run: "stumbled", version: 4, status: "running" })
      const waits = [{ for: "retry", id: "stumbled/write/1", note: "at press.writer", until: 1_796_047_200_912 }]
      assert.deepInclude(view.tasks[0], { task: "write", status: "running", tries: 1, waits })
      const beyond = yield* espalier(journal, ["tree", "stumbled", "--at", "99"])
      assert.deepStrictEqual(
        [beyond.code, beyond.err],
        [2, ["espalier: the run stumbled has no event 99; its last one is 14"]]
      )
    })
  )
})
