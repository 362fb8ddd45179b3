import { assert, describe, it } from "@effect/vitest"
import { Recovery } from "espalier/run"

import { failures, shown } from "./steps.ts"

describe("Recovery", () => {
  describe("next", () => {
    const table: ReadonlyArray<readonly [history: string, others: ReadonlyArray<string>, step: string]> = [
      ["transient@a", ["a", "b"], "other b"],
      ["transient@a", ["a"], "incomplete no-other-worker"],
      ["capability@a", ["a", "b"], "other b"],
      ["capability@a", [], "incomplete no-other-worker"],
      ["capability@a capability@b", ["a", "b", "c"], "other c"],
      ["capability@a capability@b", ["a", "b"], "incomplete no-other-worker"],
      ["oversized@a", ["a", "b"], "other b"],
      ["oversized@a oversized@b", ["a", "b"], "incomplete no-other-worker"],
      ["malformed@a", ["a", "b"], "correct a"],
      ["malformed@a malformed@a", ["a", "b"], "other b"],
      ["malformed@a malformed@a malformed@b", ["a", "b"], "correct b"],
      ["malformed@a malformed@a", ["a"], "incomplete no-other-worker"],
      ["denied@a", ["a", "b"], "review"],
      ["exhausted@a", ["a", "b"], "incomplete no-rung"],
      ["defect@a", ["a", "b"], "again a"],
      ["defect@a defect@a", ["a", "b"], "other b"],
      ["defect@a defect@a defect@b", ["a", "b"], "again b"],
      ["defect@a malformed@a", ["a", "b"], "correct a"],
      ["defect@a malformed@a defect@a", ["a", "b"], "other b"],
      ["malformed@a defect@a transient@a", ["a", "b"], "other b"],
      ["defect@a transient@a malformed@a", ["a", "b"], "other b"],
      ["capability@a denied@b", ["a", "b", "c"], "review"]
    ]
    it.each(table)("R-206 after %s with %j comes: %s", (failed, others, step) => {
      assert.strictEqual(shown(Recovery.next(failures(failed), { others })), step)
    })

    it("R-207 does not have corrected once more what was corrected inside the order", () => {
      const history = [{ worker: "a", kind: "malformed" as const, corrected: true }]
      assert.strictEqual(shown(Recovery.next(history, { others: ["a", "b"] })), "other b")
      assert.strictEqual(shown(Recovery.next(history, { others: ["a"] })), "incomplete no-other-worker")
    })

    it("gives the same task to the same worker three times at most", () => {
      const policy = { ...Recovery.policy, dispatchesPerWorker: 1 }
      assert.strictEqual(shown(Recovery.next(failures("defect@a"), { others: ["a", "b"], policy })), "other b")
    })

    it("goes by the ladders of the policy", () => {
      const ladders = { ...Recovery.ladders, defect: ["incomplete" as const] }
      const policy = { ...Recovery.policy, ladders }
      assert.strictEqual(shown(Recovery.next(failures("defect@a"), { others: ["b"], policy })), "incomplete no-rung")
    })
  })

  describe("retry", () => {
    const table: ReadonlyArray<readonly [string, Parameters<typeof Recovery.retry>[0], number | "final"]> = [
      ["waits 1 s before the second attempt", { kind: "transient", attempt: 1, random: 0.5 }, 1_000],
      ["waits 2 s before the third", { kind: "transient", attempt: 2, random: 0.5 }, 2_000],
      ["has no fourth", { kind: "transient", attempt: 3, random: 0.5 }, "final"],
      ["moves the wait down by at most 20 %", { kind: "transient", attempt: 1, random: 0 }, 800],
      ["moves the wait up by at most 20 %", { kind: "transient", attempt: 2, random: 1 }, 2_400],
      ["waits as long as it is asked to", { kind: "transient", attempt: 1, random: 0, retryAfterMillis: 7_000 }, 7_000],
      [
        "never waits less than its own wait",
        { kind: "transient", attempt: 1, random: 0.5, retryAfterMillis: 3 },
        1_000
      ],
      ["waits a whole minute", { kind: "transient", attempt: 1, random: 0.5, retryAfterMillis: 60_000 }, 60_000],
      ["does not wait longer", { kind: "transient", attempt: 1, random: 0.5, retryAfterMillis: 60_001 }, "final"],
      ["does not retry capability", { kind: "capability", attempt: 1, random: 0.5 }, "final"],
      ["does not retry denied", { kind: "denied", attempt: 1, random: 0.5 }, "final"],
      ["does not retry a defect", { kind: "defect", attempt: 1, random: 0.5 }, "final"]
    ]
    it.each(table)("%s", (_, failed, expected) => {
      const step = Recovery.retry(failed)
      assert.strictEqual(step._tag === "Wait" ? step.millis : "final", expected)
    })
  })
})
