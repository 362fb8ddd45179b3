import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Result as EffectResult, Schema } from "effect"
import { Failure } from "espalier"
import { Result, Worker } from "espalier/run"

const worker = Worker.make("count", {
  description: "Counts",
  input: Schema.Struct({}),
  output: Schema.Struct({
    words: Schema.Int,
    at: Schema.optionalKey(Schema.DateTimeUtcFromMillis),
    note: Schema.optionalKey(Schema.String)
  }),
  handle: () => Effect.succeed({ words: 1 })
})

const check = (answer: unknown) => Result.check(answer, worker.encodeOutput)

describe("Result", () => {
  describe("check", () => {
    it("takes a plain output for completed with full confidence", () => {
      assert.deepStrictEqual(EffectResult.getOrThrow(check({ words: 3 })), {
        status: "completed",
        output: { words: 3 },
        confidence: 1,
        evidence: [],
        usage: {},
        missing: []
      })
    })

    it("makes the output plain JSON by the worker's schema", () => {
      const { output } = EffectResult.getOrThrow(check({ words: 3, at: DateTime.makeUnsafe(5) }))
      assert.deepStrictEqual(output, { words: 3, at: 5 })
    })

    it("keeps what was said beside the output", () => {
      const usage = { tokens: 12 }
      const evidence = [{ requirement: "counts", command: "wc -w", exitStatus: 0 }]
      const checked = check(Result.completed({ words: 3 }, { confidence: 0.5, usage, evidence }))
      const { confidence, ...rest } = EffectResult.getOrThrow(checked)
      assert.deepStrictEqual([confidence, rest.usage, rest.evidence], [0.5, usage, evidence])
    })

    const good: ReadonlyArray<readonly [Result.Status, unknown]> = [
      ["partial", Result.partial({ words: 1 }, [{ part: "p", reason: "r" }])],
      ["needs-review", Result.needsReview({ words: 1 }, [{ part: "p", reason: "r" }])],
      ["blocked", Result.blocked("denied", "No key")],
      ["failed", Result.failed("transient", "Busy")]
    ]
    it.each(good)("takes %s", (status, answer) => {
      assert.strictEqual(EffectResult.getOrThrow(check(answer)).status, status)
    })

    const bad: ReadonlyArray<readonly [message: string, answer: unknown]> = [
      ["output is empty", undefined],
      ["output is empty", null],
      ["output is empty", "  "],
      ["output is empty", Result.completed("")],
      ["output must be at most 2 MiB of JSON", { words: 3, note: "é".repeat(1_100_000) }],
      ["output.words is required", {}],
      ['output.words must be a number, got "3"', { words: "3" }],
      ["output must be an object, got [1 item]", [1]],
      ["confidence must be a number between 0 and 1, got 1.5", Result.completed({ words: 1 }, { confidence: 1.5 })],
      ["confidence must be a finite number, got NaN", Result.completed({ words: 1 }, { confidence: Number.NaN })],
      ["usage.tokens must be a whole number >= 0, got -1", Result.completed({ words: 1 }, { usage: { tokens: -1 } })],
      ["missing must name at least one part when the status is partial", Result.partial({ words: 1 }, [])],
      [
        'missing[0].reason must be a text that is not empty, got ""',
        Result.partial({ words: 1 }, [{ part: "p", reason: "" }])
      ],
      ['error.reason must be a text that is not empty, got ""', Result.failed("transient", "")],
      ["error is required when the status is failed", { ...Result.failed("transient", "x"), error: undefined }],
      [
        "error contradicts the status completed",
        { ...Result.completed({ words: 1 }), error: { kind: "denied", reason: "x" } }
      ],
      [
        'status must be "completed" | "partial" | "blocked" | "failed" | "needs-review", got "done"',
        { ...Result.completed({ words: 1 }), status: "done" }
      ],
      ["criteria is not a known field", { ...Result.completed({ words: 1 }), criteria: "none" }]
    ]
    it.each(bad)("R-202 never passes on what does not hold: %s", (message, answer) => {
      const checked = check(answer)
      assert.isTrue(EffectResult.isFailure(checked))
      if (EffectResult.isFailure(checked)) {
        assert.include(checked.failure.message, `RESULT_INVALID: ${message}`)
        assert.strictEqual(Failure.kindOf(checked.failure), "malformed")
      }
    })
  })
})
