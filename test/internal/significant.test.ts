import { assert, describe, it } from "@effect/vitest"

import type { AutoShutdown, Strategy, Verdict } from "../../src/internal/transition.ts"
import { Decisions, fakeChild } from "../fixtures/decisions.ts"

/** `A` and `N` are significant: restarted on failure, and never; `p` is plain. */
const make = (autoShutdown: AutoShutdown, ids: string, strategy: Strategy = "one-for-one", restarts = 1000) => {
  const children = [...ids].map((id) =>
    id === id.toLowerCase()
      ? fakeChild(id, id === "t" ? "never" : "on-failure")
      : fakeChild(id, id.startsWith("N") ? "never" : "on-failure", true)
  )
  return new Decisions(strategy, children, { restarts, within: "1 hour" }, autoShutdown).boot()
}

/** What the supervisor says when `child` ends with that verdict, up to the first stop. */
const after = (mode: AutoShutdown, ids: string, child: string, verdict: Verdict): string => {
  const core = make(mode, ids)
  core.down(child, verdict)
  return core.take().join(", ")
}

describe("transition: significant children", () => {
  it.each([
    // [mode, children, who ends, verdict, orders]
    ["any-significant", "pAq", "p", "stop", "settled p"],
    ["any-significant", "pAq", "p", "fail", "settled p"],
    ["any-significant", "tA", "t", "forget", "forgotten t"],
    ["all-significant", "tA", "t", "forget", "forgotten t"],
    ["never", "pAq", "A", "stop", "settled A"],
    ["never", "pNq", "N", "forget", "forgotten N"],
    ["any-significant", "pAq", "A", "stop", "settled A, auto-shutdown A, stop q"],
    ["any-significant", "pAq", "A", "fail", "settled A, auto-shutdown A, stop q"],
    ["any-significant", "pAq", "A", "gave-up", "settled A, auto-shutdown A, stop q"],
    ["any-significant", "pNq", "N", "forget", "forgotten N, auto-shutdown N, stop q"],
    ["any-significant", "pAq", "A", "restart", "restarting A, start A"],
    ["any-significant", "pAq", "A", "escalate", "gave-up A, stop q"],
    ["any-significant", "A", "A", "stop", "settled A, auto-shutdown A, ended AutoShutdown"],
    ["all-significant", "ANp", "A", "stop", "settled A"],
    ["all-significant", "ANp", "N", "forget", "forgotten N"],
    ["all-significant", "Ap", "A", "stop", "settled A, auto-shutdown A, stop p"]
  ] as const)("under %s, children %s: %s ends with `%s`: %s", (mode, ids, child, verdict, expected) => {
    assert.strictEqual(after(mode, ids, child, verdict), expected)
  })

  it("the rest is stopped in reverse, and the end comes last", () => {
    const core = make("any-significant", "pAqr")
    core.down("A", "stop")
    core.settle()
    assert.deepStrictEqual(core.take(), [
      "settled A",
      "auto-shutdown A",
      "stop r",
      "stop q",
      "stop p",
      "ended AutoShutdown"
    ])
  })

  it("the last significant end counts, whatever became of the others", () => {
    const core = make("all-significant", "ABCDp")
    core.down("A", "stop")
    core.down("B", "fail")
    core.request("StopChild", "C")
    core.down("C")
    core.take()
    core.down("D", "gave-up")
    assert.deepStrictEqual(core.take().slice(0, 2), ["settled D", "auto-shutdown D"])
  })

  it("one that waits for its restart counts as running", () => {
    const core = make("all-significant", "AB")
    core.down("A", "restart", { delayMillis: 10 })
    core.down("B", "stop")
    assert.deepStrictEqual(core.take(), ["retry A", "settled B"])
    core.retry("A")
    core.up("A")
    core.take()
    core.down("A", "stop")
    assert.deepStrictEqual(core.take(), ["settled A", "auto-shutdown A", "ended AutoShutdown"])
  })

  it("one whose wait was cancelled is gone", () => {
    const core = make("all-significant", "AB")
    core.down("A", "restart", { delayMillis: 10 })
    core.request("StopChild", "A")
    core.take()
    core.down("B", "stop")
    assert.deepStrictEqual(core.take(), ["settled B", "auto-shutdown B", "ended AutoShutdown"])
  })

  it("a request stops it, starts it, fails to start it, without any further end", () => {
    for (const mode of ["any-significant", "all-significant"] as const) {
      const core = make(mode, "Ap")
      core.request("StopChild", "A")
      core.down("A")
      core.request("RestartChild", "A")
      core.startFails("A")
      core.request("RestartChild", "A")
      core.ignored("A")
      assert.strictEqual(core.state.phase, "running")
      core.request("RemoveChild", "A")
      assert.notInclude(core.take(), "auto-shutdown A")
    }
  })

  it.each(["one-for-all", "rest-for-one"] as const)(
    "a %s restart takes it along, and the supervisor stays",
    (strategy) => {
      const core = make("any-significant", "pAN", strategy)
      core.down("p", "restart")
      core.settle()
      assert.deepStrictEqual(core.take(), ["restarting p", "stop N", "forgotten N", "stop A", "start p", "start A"])
      assert.strictEqual(core.state.phase, "running")
    }
  )

  it("an end in the middle of a group stop belongs to the group", () => {
    const core = make("any-significant", "Apq", "one-for-all")
    core.down("p", "restart")
    core.down("A", "stop") // q is being stopped
    core.settle()
    assert.deepStrictEqual(core.take(), ["restarting p", "stop q", "start A", "start p", "start q"])
  })

  it("an end that waited is decided in its turn, before the requests behind it", () => {
    const core = make("any-significant", "pqA")
    core.request("StopChild", "p")
    core.down("A", "stop")
    const behind = core.request("StopChild", "q")
    core.down("p")
    assert.deepStrictEqual(core.take(), ["stop p", "settled p", "settled A", "auto-shutdown A", "stop q"])
    assert.deepStrictEqual(behind.answer, { _tag: "Refused", reason: "not-running" })
  })

  it("an end of a stop that was asked for first is no end by itself", () => {
    const core = make("any-significant", "pA")
    core.request("StopChild", "p")
    core.request("StopChild", "A")
    core.down("A", "stop") // it waits behind the request
    core.down("p")
    assert.deepStrictEqual(core.take(), ["stop p", "settled p", "settled A"])
    assert.strictEqual(core.state.phase, "running")
  })

  it("one that cannot be started again, and must not be tried again, has ended", () => {
    const core = make("any-significant", "pA")
    core.down("A", "restart")
    core.startFails("A", "fail")
    core.settle()
    assert.deepStrictEqual(core.take(), [
      "restarting A",
      "start A",
      "settled A",
      "auto-shutdown A",
      "stop p",
      "ended AutoShutdown"
    ])
  })

  it("members that a group is about to start count as running", () => {
    const core = make("all-significant", "ABp", "one-for-all")
    core.down("p", "restart")
    core.down("B")
    core.down("A")
    core.startFails("A", "fail") // B is down, and next to be started
    assert.deepStrictEqual(core.take().slice(-2), ["settled A", "start B"])
  })

  it("members of a group that waits to be started count as running", () => {
    const core = make("all-significant", "ApB", "rest-for-one")
    core.down("p", "restart")
    core.down("B")
    core.startFails("p") // the group waits: B is down
    core.take()
    core.down("A", "stop")
    assert.deepStrictEqual(core.take(), ["settled A"])
  })

  it("an auto-shutdown spends nothing", () => {
    const core = make("any-significant", "pA", "one-for-one", 0)
    core.down("A", "stop")
    core.settle()
    assert.notInclude(core.take(), "restarting A")
    assert.lengthOf(core.state.intensity.marks, 0)
  })

  it("a stop that comes meanwhile changes nothing any more", () => {
    const core = make("any-significant", "pA")
    core.down("A", "stop")
    core.stop()
    core.settle()
    assert.deepStrictEqual(core.take(), ["settled A", "auto-shutdown A", "stop p", "ended AutoShutdown"])
  })
})
