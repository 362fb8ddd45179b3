import { assert, describe, it } from "@effect/vitest"

import * as Circuit from "../../../src/run/internal/circuit.ts"

const settings: Circuit.Settings = { failures: 3, openMillis: 30, longestMillis: 100 }

/** In short: `closed 2`, `held 1 until 40`, `open until 40`, `probing 7`, each with `/openings`. */
const shown = ({ openings, state }: Circuit.Circuit): string => {
  switch (state.status) {
    case "closed":
      return `closed ${state.failures}/${openings}`
    case "held":
      return `held ${state.failures} until ${state.until}/${openings}`
    case "open":
      return `open until ${state.until}/${openings}`
    case "probing":
      return `probing ${state.call}/${openings}`
  }
}

const circuit = (state: Circuit.State): Circuit.Circuit => ({ state, openings: 1 })
const closed = (failures: number) => circuit({ status: "closed", failures })
const held = circuit({ status: "held", failures: 1, until: 40 })
const open = circuit({ status: "open", until: 40 })
const probing = circuit({ status: "probing", call: 7 })

const answered: Circuit.Verdict = { _tag: "Answered" }
const nothing: Circuit.Verdict = { _tag: "Nothing" }
const failed = (retryAfterMillis?: number): Circuit.Verdict => ({ _tag: "Failed", retryAfterMillis })

describe("circuit", () => {
  describe("settle", () => {
    const mine: Circuit.Call = { id: 7, openings: 1 }
    const other: Circuit.Call = { id: 8, openings: 1 }
    const old: Circuit.Call = { id: 3, openings: 0 }
    const table: ReadonlyArray<readonly [Circuit.Circuit, Circuit.Call, Circuit.Verdict, string]> = [
      [closed(1), mine, answered, "closed 0/1"],
      [closed(1), mine, nothing, "closed 1/1"],
      [closed(1), mine, failed(), "closed 2/1"],
      [closed(2), mine, failed(), "open until 50/2"],
      [closed(2), mine, failed(5), "open until 25/2"],
      [closed(2), mine, failed(0), "open until 50/2"],
      [closed(2), mine, failed(500), "open until 120/2"],
      [closed(1), mine, failed(5), "held 2 until 25/1"],
      [closed(1), mine, failed(500), "held 2 until 120/1"],
      [closed(2), old, failed(), "closed 2/1"],
      [closed(2), old, answered, "closed 2/1"],
      [closed(2), old, nothing, "closed 2/1"],
      [closed(2), old, failed(5), "held 2 until 25/1"],
      [held, mine, answered, "held 0 until 40/1"],
      [held, mine, failed(), "held 2 until 40/1"],
      [held, mine, failed(5), "held 2 until 40/1"],
      [held, mine, failed(50), "held 2 until 70/1"],
      [held, old, failed(50), "held 1 until 70/1"],
      [circuit({ status: "held", failures: 2, until: 90 }), mine, failed(5), "open until 90/2"],
      [open, old, answered, "open until 40/1"],
      [open, old, failed(), "open until 40/1"],
      [open, old, failed(5), "open until 40/1"],
      [open, old, failed(50), "open until 70/1"],
      [probing, mine, answered, "closed 0/1"],
      [probing, mine, nothing, "open until 20/1"],
      [probing, mine, failed(), "open until 50/2"],
      [probing, mine, failed(5), "open until 25/2"],
      [probing, other, answered, "probing 7/1"],
      [probing, other, failed(50), "probing 7/1"],
      [probing, old, nothing, "probing 7/1"]
    ]
    it.each(table.map(([before, ...rest]) => [shown(before), before, ...rest] as const))(
      "R-209 %s",
      (_, before, call, verdict, after) => {
        assert.strictEqual(shown(Circuit.settle(before, 20, call, verdict, settings)), after)
      }
    )
  })

  describe("admit", () => {
    const table: ReadonlyArray<readonly [Circuit.Circuit, number, string]> = [
      [closed(2), 0, "closed 2/1"],
      [held, 39, "held until 40"],
      [held, 40, "closed 1/1"],
      [open, 39, "open until 40"],
      [open, 40, "probing 9/1"],
      [probing, 1_000, "probing"]
    ]
    it.each(table.map(([before, ...rest]) => [shown(before), before, ...rest] as const))(
      "R-209 %s",
      (_, before, at, expected) => {
        const admission = Circuit.admit(before, at, 9)
        if (admission._tag === "Admitted") {
          assert.strictEqual(shown(admission.circuit), expected)
          assert.deepStrictEqual(admission.call, { id: 9, openings: 1 })
        } else {
          const { reason, until } = admission
          assert.strictEqual(until === undefined ? reason : `${reason} until ${until}`, expected)
        }
      }
    )
  })
})
