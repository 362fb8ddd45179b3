import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Desk, type Outcome } from "espalier/run"

import { desk, isCritique } from "../../examples/swarm/desk.ts"
import { facts, lost, sentences, shorten, tighten, words } from "../../examples/swarm/text.ts"
import { withProcesses } from "../fixtures/real.ts"
import { carryOut, program, tagged } from "./patterns.ts"
import { folder } from "./release-desk/folder.ts"

const text = [
  "We are very glad to tell you.",
  "From 4 March on the shop opens at 6:30.",
  "It is really quite early (for some of us).",
  "Ask Amina about `rye` (3.20)."
].join(" ")

const last = ({ results }: Outcome.Outcome) => {
  const critique = Object.values(results).findLast(({ output }) => isCritique(output))?.output
  assert.isTrue(isCritique(critique))
  return isCritique(critique) ? critique : undefined
}

describe("the swarm", () => {
  it("R-804 holds as a desk", () => {
    assert.deepStrictEqual(Desk.check(desk), [])
  })

  it("R-804 takes a text apart into sentences and facts, without terminal escapes", () => {
    assert.deepStrictEqual(sentences("It costs 3.20 now.  Come\n\u001b[2Jsoon! Why"), [
      "It costs 3.20 now.",
      "Come [2Jsoon!",
      "Why"
    ])
    assert.deepStrictEqual(facts(text), ["4", "6:30", "March", "`rye`", "3.20", "Amina"])
    assert.deepStrictEqual(lost("Amina in Marching order at 16:30", ["Amina", "March", "6:30"]), ["March", "6:30"])
  })

  it("R-804 leaves out sentences without a fact that must be kept, and words that say nothing", () => {
    assert.strictEqual(shorten(text, 16, []), sentences(text).slice(0, 2).join(" "))
    assert.strictEqual(shorten(text, 16, ["Amina"]), "We are very glad to tell you. Ask Amina about `rye` (3.20).")
    assert.strictEqual(
      tighten(text),
      "We are glad to tell you. From 4 March on the shop opens at 6:30. It is early. Ask Amina about `rye` (3.20)."
    )
  })

  it.effect("R-804 R-205 hands the text on until it is short and has all facts", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* carryOut(desk, { text, limit: 16, stubborn: false })
      assert.strictEqual(outcome.status, "completed")
      assert.deepStrictEqual(
        tagged(events, "Reported").map(({ label, task }) => `${task} → ${label}`),
        [
          "drafter → shortener",
          "shortener → critic",
          "critic → shortener",
          "shortener#2 → critic",
          "critic#2 → shortener",
          "shortener#3 → critic",
          "critic#3 → done"
        ]
      )
      const critique = last(outcome)
      assert.strictEqual(critique?.text, "From 4 March on the shop opens at 6:30. Ask Amina about `rye` (3.20).")
      assert.isAtMost(words(critique?.text ?? ""), 16)
      assert.deepStrictEqual(lost(critique?.text ?? "", facts(text)), [])
    })
  )

  it.effect("R-804 R-205 finds that two peers hand the same things to and fro, and ends with the last text", () =>
    Effect.gen(function* () {
      const { events, outcome } = yield* carryOut(desk, { text, limit: 16, stubborn: true })
      assert.strictEqual(outcome.status, "partial")
      assert.strictEqual(outcome.stopReason, "loop-detected")
      assert.match(outcome.note, /editing\.shortener and editing\.critic handed the same things to and fro 3 times/)
      assert.strictEqual(tagged(events, "Reported").length, 7)
      assert.deepStrictEqual(last(outcome)?.lost, ["`rye`", "3.20", "Amina"])
    })
  )

  it.effect("R-804 R-205 finds that nobody gets on when the facts alone are too long", () =>
    Effect.gen(function* () {
      const { outcome } = yield* carryOut(desk, { text, limit: 3, stubborn: false })
      assert.strictEqual(outcome.stopReason, "loop-detected")
      assert.deepStrictEqual([last(outcome)?.next, last(outcome)?.lost], ["drafter", []])
    })
  )

  it.effect("R-804 refuses to begin with what makes no sense, with every problem", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(carryOut(desk, { text: "", limit: 0, stubborn: false }))
      const paths = refused._tag === "InputInvalid" ? refused.problems.map(({ path }) => path) : []
      assert.deepStrictEqual(paths, ["text", "limit"])
    })
  )

  withProcesses("R-804 runs as a program", () =>
    Effect.gen(function* () {
      const done = yield* program("swarm", [])
      assert.strictEqual(done.code, 0, done.stderr)
      assert.match(done.stdout, /^\+ drafter#2: critic#3 hands over to drafter$/m)
      assert.match(done.stdout, /^From 4 March on .* until 11 April\.\n\(51 words\)$/m)
      const stubborn = yield* program("swarm", ["--stubborn"])
      assert.strictEqual(stubborn.code, 2, stubborn.stderr)
      assert.match(stubborn.stdout, /^the run: stops, loop-detected: /m)
      const root = yield* folder({ "empty.txt": "" })
      const empty = yield* program("swarm", [join(root, "empty.txt")])
      assert.strictEqual(empty.code, 3)
      assert.strictEqual(empty.stderr.trim().split("\n").length, 1, empty.stderr)
    })
  )
})
