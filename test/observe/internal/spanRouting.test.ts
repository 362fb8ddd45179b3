import { assert, describe, it } from "@effect/vitest"
import type { RunEvent } from "espalier/run"

import { Routing } from "../../../src/observe/internal/spanRouting.ts"
import * as e from "../events.ts"

const decided: RunEvent.RunEvent = { _tag: "Decided", at: 0, consult: "c", subject: "g", answer: null, note: "" }
const spent = (dispatch: string): RunEvent.RunEvent => ({ ...e.spent("g", dispatch, ""), what: "model" }) as never

const method = (...events: ReadonlyArray<RunEvent.RunEvent>) => {
  const routing = new Routing()
  for (const event of events) routing.learn(event)
  return routing.of("a", "g", "d.x")["espalier.routing.method"]
}

describe("Routing", () => {
  it.each([
    ["nobody, where nobody is known to have chosen", [], undefined],
    ["a rule, where nobody was asked", [e.routed("a", "d.x")], "rule"],
    ["a rule, where code was asked", [decided, e.routed("a", "d.x")], "rule"],
    ["a model, where one was asked for it", [spent("c"), decided, e.routed("a", "d.x")], "llm"],
    ["a rule, where a model was asked for something else", [spent("other"), decided, e.routed("a", "d.x")], "rule"],
    [
      "a fall-back, after an order of the same task",
      [spent("c"), decided, e.routed("a", "d.x"), e.reported("a", "d.x", "failed", 1), e.routed("a", "d.y")],
      "fallback"
    ]
  ] as const)("R-501 it was %s", (_, events, expected) => {
    assert.strictEqual(method(...events), expected)
  })

  it("R-501 nothing is kept of a task that has ended", () => {
    const routing = new Routing()
    for (const event of [e.routed("a", "d.x"), e.reported("a", "d.x", "failed", 1), e.ended("a", "failed", 1)]) {
      routing.learn(event as RunEvent.RunEvent)
    }
    assert.deepStrictEqual([routing.of("a", "", "d.x"), routing.before("a")], [{}, undefined])
  })
})
