import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Prompt } from "effect/ai"
import { Failure } from "espalier"
import { ContextWindow, DroppedResults } from "espalier/agent"

import { step } from "./histories.ts"

const dropped = (handle: string, result: unknown): ContextWindow.Dropped => ({
  handle,
  tool: "look",
  failed: false,
  result
})

describe("DroppedResults", () => {
  it.effect("D99 gives back in pieces what a compaction has taken out, by the handle in the summary", () =>
    Effect.gen(function* () {
      const long = Array.from({ length: 900 }, (_, index) => `line ${index}`).join("\n")
      const fitted = yield* ContextWindow.fit(
        ContextWindow.make({ size: 3500, maxSummary: 2000 }),
        ContextWindow.initial,
        {
          prompt: Prompt.make([{ role: "user", content: "Find it" }, ...step("a", long), ...step("b"), ...step("c")]),
          tools: [],
          summarise: ContextWindow.mechanical
        }
      )
      assert.isTrue(JSON.stringify(fitted.prompt).includes(String.raw`{\"handle\":\"a\"`))
      const { handle } = DroppedResults.tool(Effect.succeed(DroppedResults.keep(DroppedResults.empty, fitted.dropped)))
      let text = ""
      for (let total = 1; text.length < total;) {
        const piece = yield* handle({ handle: "a", from: text.length })
        assert.isAtMost(piece.text.length, 4000)
        text += piece.text
        total = piece.total
      }
      assert.strictEqual(text, long)
      assert.deepStrictEqual(yield* handle({ handle: "a", from: -5 }), {
        text: long.slice(0, 4000),
        from: 0,
        total: long.length
      })
      const gone = yield* Effect.flip(handle({ handle: "b" }))
      assert.strictEqual(Failure.kindOf(gone), "malformed")
      assert.include(gone.message, "call its tool again")
    })
  )

  it("keeps the last ones when there is no room for all", () => {
    const million = "x".repeat(1_000_000)
    let state = DroppedResults.empty
    for (let index = 0; index < 10; index++) state = DroppedResults.keep(state, [dropped(`r${index}`, million)])
    assert.deepStrictEqual([...state.texts.keys()], ["r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"])
    assert.strictEqual(state.characters, 8_000_000)
    assert.strictEqual(DroppedResults.keep(state, [dropped("r5", "short")]).characters, 7_000_005)
    assert.strictEqual(DroppedResults.keep(state, []), state)
  })
})
