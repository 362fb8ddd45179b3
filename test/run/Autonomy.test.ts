import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { Failure } from "espalier"
import { Autonomy } from "espalier/run"

const tiers: ReadonlyArray<Autonomy.Tier> = ["low", "medium", "full"]
const risks: ReadonlyArray<Autonomy.Risk> = ["low", "medium", "high", "critical"]

const shown = (decision: Autonomy.Decision): string => {
  switch (decision._tag) {
    case "Run":
      return "run"
    case "Confirm":
      return "confirm"
    case "Person":
      return `${decision.requester === "excluded" ? "another " : ""}person${decision.batchable ? ", in batches" : ""}`
  }
}

const facts = (fields: Partial<Autonomy.Facts>): Autonomy.Facts => ({
  task: "links",
  worker: "docs.links",
  risk: "medium",
  tier: "medium",
  confidence: 1,
  attempts: 0,
  ...fields
})

describe("Autonomy", () => {
  describe("decide", () => {
    type Row = readonly [tier: Autonomy.Tier, risk: Autonomy.Risk, extra: string, decision: string]
    const matrix: ReadonlyArray<Row> = [
      ["low", "low", "", "person, in batches"],
      ["low", "medium", "", "person"],
      ["low", "high", "", "another person"],
      ["low", "critical", "", "another person"],
      ["medium", "low", "", "run"],
      ["medium", "medium", "", "confirm"],
      ["medium", "high", "", "another person"],
      ["medium", "critical", "", "another person"],
      ["full", "low", "", "run"],
      ["full", "medium", "", "run"],
      ["full", "high", "", "confirm"],
      ["full", "critical", "", "another person"],
      ["low", "low", "low-confidence", "person"],
      ["low", "medium", "low-confidence", "another person"],
      ["low", "high", "low-confidence", "another person"],
      ["low", "critical", "low-confidence", "another person"],
      ["medium", "low", "low-confidence", "confirm"],
      ["medium", "medium", "low-confidence", "another person"],
      ["medium", "high", "low-confidence", "another person"],
      ["medium", "critical", "low-confidence", "another person"],
      ["full", "low", "low-confidence", "run"],
      ["full", "medium", "low-confidence", "confirm"],
      ["full", "high", "low-confidence", "another person"],
      ["full", "critical", "low-confidence", "another person"],
      ...tiers.flatMap((tier) =>
        risks.flatMap((risk): ReadonlyArray<Row> => [
          [tier, risk, "irreversible", "another person"],
          [tier, risk, "irreversible low-confidence", "another person"]
        ])
      )
    ]
    it.effect.each(matrix)("R-216 at tier %s an action of risk %s (%s) goes to: %s", ([tier, risk, extra, decision]) =>
      Effect.sync(() => {
        const action = {
          risk,
          irreversible: extra.includes("irreversible"),
          lowConfidence: extra.includes("low-confidence")
        }
        assert.strictEqual(shown(Autonomy.decide(tier, action)), decision)
      })
    )

    it("R-216 a higher risk never asks for less, and a higher tier never for more", () => {
      const strictness = ["run", "confirm", "person, in batches", "person", "another person"]
      const at = (tier: Autonomy.Tier, action: Autonomy.Action) =>
        strictness.indexOf(shown(Autonomy.decide(tier, action)))
      for (const irreversible of [false, true]) {
        for (const lowConfidence of [false, true]) {
          for (const [row, tier] of tiers.entries()) {
            for (const [column, risk] of risks.entries()) {
              const here = at(tier, { risk, irreversible, lowConfidence })
              const right = risks[column + 1]
              if (right !== undefined) assert.isAtLeast(at(tier, { risk: right, irreversible, lowConfidence }), here)
              const below = tiers[row + 1]
              if (below !== undefined) assert.isAtMost(at(below, { risk, irreversible, lowConfidence }), here)
              assert.isAtLeast(at(tier, { risk, irreversible, lowConfidence: true }), here)
            }
          }
        }
      }
    })
  })

  describe("riskOf", () => {
    const tools = { read: "low", write: "medium", deploy: "high" } as const
    const table: ReadonlyArray<readonly [Parameters<typeof Autonomy.riskOf>[0], Autonomy.Risk]> = [
      [{ worker: "medium" }, "medium"],
      [{ worker: "medium", tool: "read", tools }, "medium"],
      [{ worker: "low", tool: "write", tools }, "medium"],
      [{ worker: "medium", tool: "deploy", tools }, "high"],
      [{ worker: "low", tool: "deploy", tools, quorum: true }, "critical"],
      [{ worker: "critical", tool: "read", tools }, "critical"],
      [{ worker: "low", tool: "write", tools, quorum: true }, "medium"]
    ]
    it.effect.each(table)("R-216 is the higher one of worker and tool: %j has %s", ([action, risk]) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Effect.fromResult(Autonomy.riskOf(action)), risk)
      })
    )

    it.effect.each([tools, {}, undefined])("R-216 an unknown tool is denied, out of %j", (tools) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.fromResult(Autonomy.riskOf({ worker: "low", tool: "toString", tools })))
        assert.strictEqual(error._tag, "ToolUnknown")
        assert.strictEqual(Failure.kindOf(error), "denied")
        const known = tools === undefined || !("read" in tools) ? "there are none" : "known are deploy, read, write"
        assert.strictEqual(error.message, `TOOL_UNKNOWN: tool must be a registered one, got "toString"; ${known}`)
      })
    )
  })

  describe("confirm", () => {
    const table: ReadonlyArray<readonly [Partial<Autonomy.Facts>, Autonomy.Verdict]> = [
      [{}, { allowed: true, reason: "Its risk is medium, and it is within its budget and its attempts" }],
      [
        { costEstimate: 3, budgetLeft: 3, attempts: 2, risk: "high", confidence: 0.6 },
        { allowed: true, reason: "Its risk is high, and it is within its budget and its attempts" }
      ],
      [
        { costEstimate: 3.5, budgetLeft: 3 },
        { allowed: false, reason: "It costs about 3.5, and 3 is left of the budget" }
      ],
      [
        { costEstimate: Number.NaN, budgetLeft: 3 },
        { allowed: false, reason: "It costs about NaN, and 3 is left of the budget" }
      ],
      [{ budgetLeft: 0 }, { allowed: false, reason: "Nothing is left of the budget" }],
      [{ attempts: 3 }, { allowed: false, reason: "docs.links has had this task 3 times" }],
      [
        { risk: "high", confidence: 0.59 },
        { allowed: false, reason: "Its risk is high, and the confidence of 0.59 is below 0.6" }
      ],
      [
        { risk: "medium", confidence: 0.1 },
        { allowed: true, reason: "Its risk is medium, and it is within its budget and its attempts" }
      ]
    ]
    it.effect.each(table)("R-216 by default: %j gives %j", ([fields, verdict]) =>
      Effect.sync(() => assert.deepStrictEqual(Autonomy.confirm(facts(fields)), verdict))
    )

    it("R-216 asks the policy that it is given, with all facts", () => {
      const seen: Array<Autonomy.Facts> = []
      const asked: Autonomy.Policy = (facts) => {
        seen.push(facts)
        return { allowed: facts.tier === "full", reason: " " }
      }
      assert.deepStrictEqual(Autonomy.confirm(facts({ tier: "full" }), asked), {
        allowed: true,
        reason: "The policy says yes"
      })
      assert.deepStrictEqual(Autonomy.confirm(facts({}), asked), { allowed: false, reason: "The policy says no" })
      assert.deepStrictEqual(seen, [facts({ tier: "full" }), facts({})])
    })

    it("R-216 a policy that throws or says neither yes nor no refuses", () => {
      const verdict = Autonomy.confirm(facts({}), () => {
        throw new Error("no such table")
      })
      assert.deepStrictEqual(verdict, { allowed: false, reason: "The policy failed: no such table" })
      const odd: unknown = "yes"
      const answer = Autonomy.confirm(facts({}), () => ({ allowed: odd as boolean, reason: "fine" }))
      assert.deepStrictEqual(answer, { allowed: false, reason: "The policy did not answer with yes or no" })
    })
  })

  describe("change", () => {
    const good = { from: "low", to: "medium", who: "ada", why: "20 clean runs", at: 1_000 }

    it.effect("R-216 is data with who and why", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Effect.fromResult(Autonomy.change("low", good)), good)
      })
    )

    const bad: ReadonlyArray<readonly [message: string, input: unknown]> = [
      ["from must be the tier of now, low, got medium", { ...good, from: "medium", to: "full" }],
      ["to must be another tier, got low", { ...good, to: "low" }],
      ["who is required", { from: "low", to: "medium", why: "x", at: 1 }],
      ['why must be a text that is not empty, got " "', { ...good, why: " " }],
      ["at must be a time in milliseconds >= 0, got -1", { ...good, at: -1 }],
      ["by is not a known field", { ...good, by: "ada" }],
      ["the change must be an object, got null", null]
    ]
    it.effect.each(bad)("R-216 is refused: %s", ([message, input]) =>
      Effect.sync(() => {
        const refused = Autonomy.change("low", input)
        assert.isTrue(Result.isFailure(refused))
        if (Result.isFailure(refused)) assert.strictEqual(refused.failure.message, `TIER_CHANGE_INVALID: ${message}`)
      })
    )

    it("tells a raise from a cut", () => {
      assert.isTrue(Autonomy.raises({ from: "low", to: "medium" }))
      assert.isTrue(Autonomy.raises({ from: "medium", to: "full" }))
      assert.isFalse(Autonomy.raises({ from: "full", to: "medium" }))
      assert.isFalse(Autonomy.raises({ from: "low", to: "low" }))
    })
  })
})
