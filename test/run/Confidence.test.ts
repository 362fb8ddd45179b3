import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Confidence } from "espalier/run"

type History = Parameters<typeof Confidence.next>[0]

/** `"a 0.4 x, b 0.5 y"` as a history: worker, confidence, digest. */
const history = (text: string): History => {
  const [first, ...rest] = text.split(", ").map((entry): Confidence.Delivered => {
    const [worker, confidence, digest] = entry.split(" ")
    return { worker: worker!, confidence: Number(confidence), digest: digest! }
  })
  return [first!, ...rest]
}

const shown = (step: Confidence.Step): string => {
  switch (step._tag) {
    case "Accept":
      return `accept ${step.index}${step.confirmed ? " confirmed" : ""}${step.low ? " low" : ""}`
    case "Retry":
      return `retry ${step.worker}`
    case "CrossCheck":
      return `cross-check ${step.worker}`
    case "Review":
      return `review ${step.reason}`
  }
}

describe("Confidence", () => {
  describe("next", () => {
    const table: ReadonlyArray<readonly [low: Confidence.Low, review: boolean, delivered: string, step: string]> = [
      ["note", false, "a 0.6 x", "accept 0"],
      ["retry", true, "a 0.6 x", "accept 0"],
      ["cross-check", true, "a 1 x", "accept 0"],
      ["review", true, "a 0.6 x", "accept 0"],
      ["note", false, "a 0.59 x", "accept 0 low"],
      ["note", true, "a 0.59 x", "accept 0 low"],
      ["note", false, "a 0.3 x, a 0.4 y", "accept 1 low"],
      ["retry", false, "a 0.59 x", "retry a"],
      ["retry", false, "a 0.5 x, a 0.7 y", "accept 1"],
      ["retry", false, "a 0.5 x, a 0.4 y", "accept 0 low"],
      ["retry", false, "a 0.4 x, a 0.5 x", "accept 1 low"],
      ["retry", false, "a 0.5 x, a 0.5 y", "accept 0 low"],
      ["retry", true, "a 0.5 x, a 0.4 y", "review disagreement"],
      ["retry", true, "a 0.5 x, a 0.4 x", "review low-confidence"],
      ["retry", false, "a 0.5 x, b 0.4 x", "accept 0 confirmed"],
      ["cross-check", false, "a 0.59 x", "cross-check b"],
      ["cross-check", false, "b 0.59 x", "cross-check a"],
      ["cross-check", false, "a 0.4 x, a 0.5 y", "cross-check b"],
      ["cross-check", false, "a 0.4 x, b 0.5 x", "accept 1 confirmed"],
      ["cross-check", false, "a 0.4 x, b 0.7 x", "accept 1 confirmed"],
      ["cross-check", false, "a 0.4 x, b 0.7 y", "accept 1"],
      ["cross-check", false, "a 0.4 x, b 0.5 y", "accept 1 low"],
      ["cross-check", false, "a 0.5 x, b 0.4 y", "accept 0 low"],
      ["cross-check", false, "a 0.5 x, b 0.5 y", "accept 0 low"],
      ["cross-check", true, "a 0.4 x, b 0.5 y", "review disagreement"],
      ["cross-check", false, "a 0.4 x, b 0.5 y, c 0.2 x", "accept 0 confirmed"],
      ["cross-check", true, "a 0.4 x, b 0.5 y, c 0.2 x, d 0.2 y", "review disagreement"],
      ["cross-check", false, "a 0.7 x, b 0.8 y", "accept 1"],
      ["cross-check", true, "a 0.7 x, b 0.8 y", "review disagreement"],
      ["review", false, "a 0.59 x", "review low-confidence"],
      ["review", false, "a 0.4 x, b 0.5 y", "review disagreement"]
    ]
    it.effect.each(table)("R-208 by %s (review %s), after %s comes: %s", ([low, review, delivered, step]) =>
      Effect.sync(() => {
        const policy = Confidence.make({ low, review })
        assert.strictEqual(shown(Confidence.next(history(delivered), { others: ["a", "b", "c"], policy })), step)
      })
    )

    const alone: ReadonlyArray<readonly [review: boolean, step: string, note: string]> = [
      [false, "accept 0 low", "a gives it a confidence of 0.4, below 0.6; nobody else could check it"],
      [true, "review low-confidence", "No result settles it at a threshold of 0.6: a 0.4"]
    ]
    it.effect.each(alone)("R-208 with nobody else to check it (review %s): %s", ([review, expected, note]) =>
      Effect.sync(() => {
        const policy = Confidence.make({ low: "cross-check", review })
        const step = Confidence.next(history("a 0.4 x"), { others: ["a"], policy })
        assert.strictEqual(shown(step), expected)
        assert.strictEqual(step.note, note)
      })
    )

    it("R-208 by default a low result is accepted, and the note says how low", () => {
      assert.deepStrictEqual(Confidence.next(history("a 0.5 x"), { others: ["b"] }), {
        _tag: "Accept",
        index: 0,
        confirmed: false,
        low: true,
        note: "a gives it a confidence of 0.5, below 0.6"
      })
    })

    it("R-208 goes by the threshold of the policy", () => {
      const policy = Confidence.make({ threshold: 0.9, low: "retry" })
      assert.strictEqual(shown(Confidence.next(history("a 0.89 x"), { others: [], policy })), "retry a")
      assert.strictEqual(shown(Confidence.next(history("a 0.9 x"), { others: [], policy })), "accept 0")
    })

    const delivered = Schema.Struct({
      worker: Schema.Literals(["a", "b", "c"]),
      confidence: Schema.Literals([0.1, 0.5, 0.6, 0.9]),
      digest: Schema.Literals(["x", "y"])
    })
    it.prop(
      "R-208 every history ends: whatever is delivered, at most one retry and two cross-checks are asked for",
      {
        low: Confidence.Low,
        review: Schema.Boolean,
        answers: Schema.Tuple([delivered, delivered, delivered, delivered])
      },
      ({ answers, low, review }) => {
        const policy = Confidence.make({ low, review })
        const others = ["a", "b", "c"]
        let past: History = [answers[0]]
        for (const answer of answers.slice(1)) {
          const step = Confidence.next(past, { others, policy })
          if (step._tag === "Accept") {
            assert.isDefined(past[step.index])
            assert.strictEqual(step.low, !step.confirmed && past[step.index]!.confidence < policy.threshold)
            return
          }
          if (step._tag === "Review") return
          assert.strictEqual(
            past.some(({ worker }) => worker === step.worker),
            step._tag === "Retry"
          )
          past = [...past, { ...answer, worker: step.worker }]
        }
        assert.fail("it went on and on")
      }
    )
  })

  describe("make", () => {
    it.effect.each([-0.1, 1.1, Number.NaN])("throws when threshold is %d", (threshold) =>
      Effect.sync(() =>
        assert.throws(() => Confidence.make({ threshold }), RangeError, "threshold must be a number between 0 and 1")
      )
    )
  })

  describe("judge", () => {
    const table: ReadonlyArray<readonly [verdicts: string, judgement: string]> = [
      ["", "Wait v,w"],
      ["v+", "Wait w"],
      ["v+ w+", "Accepted"],
      ["v- w-", "Rejected"],
      ["v+ w-", "Again"],
      ["v+ w- v-", "Wait w"],
      ["v+ w- v- w-", "Rejected"],
      ["v+ v- w- w-", "Rejected"],
      ["v+ w- v+ w-", "Escalate"],
      ["v+ w- v- w+", "Escalate"],
      ["v+ x- w+", "Accepted"]
    ]
    it.effect.each(table)("R-208 two validators that say %j: %s", ([verdicts, expected]) =>
      Effect.sync(() => {
        const said = verdicts.split(" ").filter((each) => each !== "")
        const judgement = Confidence.judge(
          ["v", "w"],
          said.map((each) => ({ validator: each.charAt(0), accepts: each.endsWith("+") }))
        )
        const shown = judgement._tag === "Wait" ? `Wait ${judgement.missing.join(",")}` : judgement._tag
        assert.strictEqual(shown, expected)
      })
    )

    it("R-208 the escalation names who is for it and who against", () => {
      const round = [
        { validator: "v", accepts: true },
        { validator: "w", accepts: false }
      ]
      assert.deepStrictEqual(Confidence.judge(["v", "w"], [...round, ...round]), {
        _tag: "Escalate",
        reason: "disagreement",
        note: "v for it, w against it"
      })
    })
  })
})
