import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { CostModel, Meter } from "espalier/agent"
import { Dependency, Desk, type Outcome } from "espalier/run"

import { Folder, make } from "../../examples/planned/desk.ts"
import { byKind, measure, sumUp } from "../../examples/planned/measures.ts"
import * as Script from "../../examples/planned/script.ts"
import { maxBytes } from "../../examples/shared/files.ts"
import { withProcesses } from "../fixtures/real.ts"
import { carryOut, ends, program, tagged } from "./patterns.ts"
import { folder } from "./release-desk/folder.ts"

const files = {
  "README.md": "# Till\n\nA [guide](guide.md) to the till\n",
  "guide.md": "## Guide\n",
  "src/till.ts": "// Adds up\nexport const total = 1\n",
  "data/prices.json": '{ "rye": 3.2, "rolls": [0.5, 0.6] }',
  "data/broken.json": "{ this is no JSON"
}

const synthesis = [
  "5 files of 3 kinds.",
  "prose: 2 files, 9 words, 2 headings, 1 links.",
  "data: 2 files, 3 values.",
  "code: 1 file, 2 lines, 1 comments, 1 exports.",
  "data/broken.json is broken."
]

const runIn = (root: string, badPlans: 0 | 1 | 2) =>
  carryOut(make(Script.make(badPlans)), {}).pipe(
    Effect.provideService(Folder, root),
    Effect.provide(Layer.merge(Dependency.layer(), CostModel.layerUnknown))
  )

const run = (badPlans: 0 | 1 | 2, more: Readonly<Record<string, string>> = files) =>
  Effect.flatMap(folder(more), (root) => runIn(root, badPlans)).pipe(Effect.scoped)

const synthesisOf = ({ results }: Outcome.Outcome) =>
  Schema.decodeUnknownSync(Schema.Array(Schema.String))(results["synthesis"]?.output)

describe("the planned survey", () => {
  it("R-804 holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(make(Script.make())), [])
  })

  it("R-804 sorts files by kind, and measures each kind in its own way", () => {
    assert.deepStrictEqual(
      [...byKind(["a.md", "b.json", "c.js", "d.ts", "e.txt", "f"])],
      [
        ["prose", ["a.md"]],
        ["data", ["b.json"]],
        ["code", ["c.js", "d.ts"]],
        ["plain", ["e.txt", "f"]]
      ]
    )
    const measured = measure("data", [
      { file: "a.json", text: '{"a":[1,{"b":2}]}' },
      { file: "b.json", text: "{" }
    ])
    assert.deepStrictEqual(measured, { files: 2, numbers: { values: 2 }, broken: ["b.json"] })
    assert.deepStrictEqual(sumUp({ data: measured }), [
      "2 files of 1 kind.",
      "data: 2 files, 2 values.",
      "b.json is broken."
    ])
  })

  it.effect("R-804 R-205 makes a task for each kind, and sums up what they measured by name", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* run(0)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(ends(outcome), [
        "survey accepted",
        "synthesis accepted",
        "survey/prose accepted",
        "survey/data accepted",
        "survey/code accepted"
      ])
      assert.deepStrictEqual(synthesisOf(outcome), synthesis)
      assert.deepStrictEqual([Meter.fold(events).run.calls, outcome.results["survey/code"]?.status], [1, "accepted"])
      assert.deepStrictEqual(
        tagged(events, "Dispatched")
          .slice(0, 3)
          .map(({ at }) => at),
        [0, 0, 0],
        "side by side"
      )
    })
  )

  it.effect("R-804 R-204 a bad plan is refused with its problems, and corrected", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* run(1)
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(synthesisOf(outcome), synthesis)
      const refused = tagged(events, "DecisionFailed").map(({ error }) => error.reason)
      assert.strictEqual(refused.length, 1)
      assert.include(refused[0], "tasks[0].worker must be one of: survey.prose, survey.code, survey.data, survey.plain")
      assert.include(refused[0], "prose → code → prose")
    })
  )

  it.effect("R-804 R-204 after a second bad plan the fallback stands in", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* run(2)
      assert.strictEqual(outcome.status, "completed")
      assert.strictEqual(tagged(events, "DecisionFailed").length, 2)
      assert.deepStrictEqual(synthesisOf(outcome), ["5 files of 1 kind.", "everything: 5 files, 6 lines, 29 words."])
    })
  )

  it.effect("R-804 a file that cannot be read is missing, and the synthesis says so", () =>
    Effect.gen(function* () {
      const { outcome } = yield* run(0, { ...files, "large.md": "a".repeat(maxBytes + 1) })
      assert.strictEqual(outcome.status, "partial")
      assert.strictEqual(outcome.results["survey/prose"]?.status, "partial")
      const lines = synthesisOf(outcome)
      assert.deepStrictEqual(lines.slice(0, 5), synthesis)
      assert.match(lines.at(-1) ?? "", /^Missing: .*large\.md/)
    })
  )

  it.effect("R-804 a folder that is not there ends the run with the reason", () =>
    Effect.gen(function* () {
      const { outcome } = yield* runIn("/nowhere/at/all", 0)
      assert.strictEqual(outcome.status, "failed")
      assert.match(outcome.results["survey/everything"]?.note ?? "", /nowhere\/at\/all cannot be read: NotFound/)
    })
  )

  withProcesses("R-804 runs as a program", () =>
    Effect.gen(function* () {
      const root = yield* folder(files)
      const done = yield* program("planned", [root, "--bad-plan"])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.match(done.stdout, /^! refused: PLAN_INVALID: /m)
      assert.include(done.stdout, `\n${synthesis.join("\n")}\n`)
      const twice = yield* program("planned", ["--bad-plan", "twice", root])
      assert.match(twice.stdout, /^\+ survey\/everything: .*the fallback stands in$/m)
      const misused = yield* program("planned", [root, "elsewhere"])
      assert.strictEqual(misused.code, 3)
      assert.strictEqual(misused.stderr, "planned: one folder is enough, got elsewhere as well\n")
    })
  )
})
