import { assert, describe, it } from "@effect/vitest"
import { Result as EffectResult, Schema } from "effect"
import { Result } from "espalier/run"

import { tooMuch } from "../../../src/run/internal/plain.ts"
import { decoder } from "../../../src/run/internal/problems.ts"
import { ifUsual } from "../../../src/run/internal/usual.ts"
import { values } from "../values.ts"

const decode = decoder(Result.Envelope, "error")

const amounts = [0, 1, 7, 2 ** 53, -1, -0, 0.5, 1e15, 1e16, Number.NaN, "1", undefined]

describe("ifUsual", () => {
  it.prop(
    "R-203 says what the schema says, or nothing",
    { seed: Schema.Int },
    ({ seed }) => {
      const { next, pick, value } = values(seed)
      const now = <A>(usual: A, rest: ReadonlyArray<unknown>): unknown => (next() < 0.85 ? usual : pick(rest))
      const usage: Record<string, unknown> = {}
      for (const measure of ["cost", "toolCalls", "tokens", "steps", "apples"]) {
        if (next() < (measure === "apples" ? 0.03 : 0.3)) usage[measure] = next() < 0.8 ? 3 : pick(amounts)
      }
      const fields: Record<string, unknown> = {
        status: now("completed", ["partial", "failed", 1]),
        output: value(),
        confidence: now(0.5, [0, 1, -1, 2, Number.NaN, "1", -0]),
        evidence: now([], [[{ requirement: "a" }], {}, undefined]),
        usage: now(usage, [null, [], new Set(), { [Symbol("tokens")]: 1 }]),
        missing: now([], [[{ part: "a", reason: "b" }], undefined])
      }
      if (next() < 0.05) fields[pick(["error", "findings", "artefacts", "ambiguity", "else"])] = value()
      if (next() < 0.05) delete fields[pick(Object.keys(fields))]
      const usual = ifUsual(fields)
      if (usual === undefined) return
      const expected = EffectResult.getOrThrow(decode(fields))
      assert.deepStrictEqual(usual, expected)
      assert.strictEqual(JSON.stringify(usual), JSON.stringify(expected))
      assert.deepStrictEqual(
        EffectResult.getOrThrow(Result.check(Result.completed(fields["output"]), EffectResult.succeed)).output,
        usual.output
      )
      assert.isUndefined(tooMuch(usual.output, "output"))
    },
    { arbitrary: { runs: 1_000 } }
  )

  it("takes the usual answers itself", () => {
    const fields = { status: "completed", output: { a: [1, "b"] }, confidence: 1, evidence: [], usage: {}, missing: [] }
    assert.deepStrictEqual(ifUsual(fields), fields as unknown as Result.Envelope)
    const used = { ...fields, usage: { tokens: 3, cost: 0.5 } }
    assert.deepStrictEqual(ifUsual(used), used as unknown as Result.Envelope)
  })
})
