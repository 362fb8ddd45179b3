import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { Autonomy, ToolGate } from "espalier/run"

const tool = (fields: Partial<ToolGate.Tool> = {}): ToolGate.Tool => ({
  name: "refund",
  risk: "low",
  irreversible: false,
  gate: "never",
  ...fields
})

const decide = (fields: Partial<ToolGate.Call> = {}): ToolGate.Ruling =>
  ToolGate.decide({
    tool: tool(),
    args: { amount: 5 },
    worker: { risk: "low", irreversible: false },
    tier: "medium",
    ...fields
  })

const inShort = (ruling: ToolGate.Ruling): string =>
  `${ruling._tag} ${ruling.risk}${ruling.irreversible ? " irreversible" : ""}${"rule" in ruling ? ` ${ruling.rule}` : ""}`

describe("ToolGate.decide", () => {
  type Row = readonly [
    gate: ToolGate.Gate,
    tool: Autonomy.Risk,
    worker: Autonomy.Risk,
    tier: Autonomy.Tier,
    ruling: string
  ]
  const table: ReadonlyArray<Row> = [
    ["never", "low", "low", "low", "Run low"],
    ["never", "low", "high", "low", "Run high"],
    ["never", "high", "high", "low", "Run high"],
    ["never", "medium", "low", "low", "Ask medium autonomy"],
    ["never", "medium", "low", "medium", "Confirm medium autonomy"],
    ["never", "medium", "low", "full", "Run medium"],
    ["never", "high", "low", "medium", "Ask high autonomy"],
    ["never", "high", "medium", "full", "Confirm high autonomy"],
    ["never", "critical", "high", "full", "Ask critical autonomy"],
    ["always", "low", "high", "full", "Ask high always"],
    [() => "allow", "low", "low", "low", "Run low"],
    [() => "allow", "high", "low", "medium", "Ask high autonomy"],
    [() => "ask", "low", "low", "full", "Ask low gate"],
    [() => "deny", "low", "low", "full", "Deny low gate"],
    [() => ({ decision: "ask", rule: "big" }), "low", "low", "full", "Ask low big"],
    [() => ({ decision: "deny", rule: "closed" }), "critical", "low", "medium", "Deny critical closed"],
    [() => ({ decision: "allow", risk: "high" }), "low", "low", "medium", "Ask high autonomy"],
    [() => ({ decision: "allow", risk: "low" }), "high", "low", "medium", "Ask high autonomy"],
    [() => ({ decision: "allow", rule: " " }), "low", "low", "medium", "Run low"]
  ]
  it.each(table)("R-216 R-306 gate %s, tool %s, worker %s, tier %s: %s", (gate, risk, of, tier, ruling) => {
    const worker = { risk: of, irreversible: false }
    assert.strictEqual(inShort(decide({ tool: tool({ gate, risk }), worker, tier })), ruling)
  })

  it("R-216 what cannot be undone is a person's matter, unless its worker was let do such things", () => {
    const irreversible = tool({ irreversible: true })
    assert.strictEqual(inShort(decide({ tool: irreversible, tier: "full" })), "Ask low irreversible autonomy")
    const worker = { risk: "low", irreversible: true } as const
    assert.strictEqual(inShort(decide({ tool: irreversible, worker, tier: "full" })), "Run low irreversible")
    assert.strictEqual(inShort(decide({ tool: tool({ risk: "medium" }), worker })), "Ask medium irreversible autonomy")
  })

  it("R-216 a low confidence asks for more", () => {
    const medium = tool({ risk: "medium" })
    const ruling = decide({ tool: medium, tier: "medium", lowConfidence: true })
    assert.deepStrictEqual(ruling, {
      _tag: "Ask",
      risk: "medium",
      irreversible: false,
      rule: "autonomy",
      reason: "risk medium, autonomy medium, what it builds on has a low confidence"
    })
    assert.strictEqual(decide({ tool: medium, tier: "full", lowConfidence: true })._tag, "Confirm")
  })

  it("R-306 is handed the arguments", () => {
    const gate = ({ amount }: { readonly amount: number }) => (amount > 100 ? "ask" : "allow") as ToolGate.Verdict
    assert.strictEqual(decide({ tool: tool({ gate }), args: { amount: 101 } })._tag, "Ask")
    assert.strictEqual(decide({ tool: tool({ gate }), args: { amount: 100 } })._tag, "Run")
  })

  const broken: ReadonlyArray<readonly [string, () => unknown]> = [
    ["throws", () => assert.fail("broken")],
    ["answers with true", () => true],
    ["answers with nothing", () => undefined],
    ["answers with another word", () => "yes"],
    ["answers with a promise", () => Promise.resolve("allow")],
    ["answers with an effect", () => Effect.succeed("allow")],
    ["answers without a decision", () => ({ rule: "big" })],
    ["answers with a risk that is none", () => ({ decision: "allow", risk: "tiny" })]
  ]
  it.each(broken)("R-306 denies where the gate %s", (_, gate) => {
    const ruling = decide({ tool: tool({ gate: gate as ToolGate.Gate }) })
    assert.strictEqual(inShort(ruling), "Deny low gate-failed")
  })

  it("R-306 a gate never makes anything milder", () => {
    const order = ["Run", "Confirm", "Ask", "Deny"]
    const gates: ReadonlyArray<ToolGate.Gate> = ["always", () => "allow", () => "ask", () => "deny"]
    for (const tier of Autonomy.Tier.literals) {
      for (const risk of Autonomy.Risk.literals) {
        for (const irreversible of [false, true]) {
          const without = decide({ tier, tool: tool({ risk, irreversible }) })
          for (const gate of gates) {
            const ruling = decide({ tier, tool: tool({ gate, risk, irreversible }) })
            assert.isAtLeast(order.indexOf(ruling._tag), order.indexOf(without._tag))
          }
        }
      }
    }
  })

  it("R-306 says which of two needs more", () => {
    const low = { risk: "low", irreversible: false } as const
    assert.isFalse(ToolGate.needsMore(low, low))
    assert.isTrue(ToolGate.needsMore({ ...low, risk: "medium" }, low))
    assert.isTrue(ToolGate.needsMore({ ...low, irreversible: true }, { ...low, risk: "high" }))
    assert.isFalse(ToolGate.needsMore(low, { risk: "high", irreversible: true }))
  })
})
