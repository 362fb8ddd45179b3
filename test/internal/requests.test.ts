import { assert, describe, it } from "@effect/vitest"

import { awaits } from "../../src/internal/transition.ts"
import { Decisions, fakeChild } from "../fixtures/decisions.ts"

type Kind = "StartChild" | "StopChild" | "RestartChild" | "RemoveChild" | "ReplaceChild"

/** A supervisor of `a`, `x`, `z`, with `x` brought into a state. */
const states = {
  running: (_core: Decisions) => {},
  "backing-off": (core: Decisions) => core.down("x", "restart", { delayMillis: 10 }),
  stopped: (core: Decisions) => core.down("x", "stop"),
  failed: (core: Decisions) => core.down("x", "fail"),
  "gave-up": (core: Decisions) => core.down("x", "gave-up"),
  leaked: (core: Decisions) => (core.request("StopChild", "x"), core.down("x", "stop", { leaked: true })),
  unknown: (core: Decisions) => (core.down("x", "stop"), core.request("RemoveChild", "x"))
} as const
type State = keyof typeof states

const inState = (state: State): Decisions => {
  const core = new Decisions("one-for-one", [fakeChild("a"), fakeChild("x", "on-failure"), fakeChild("z")]).boot()
  states[state](core)
  core.take()
  return core
}

const ask = (core: Decisions, kind: Kind) =>
  kind === "StartChild"
    ? core.startChild(fakeChild("x"))
    : kind === "ReplaceChild"
      ? core.replace("x").answer
      : core.request(kind, "x")

/** The answer, once what it asked for was carried out. */
const answerTo = (core: Decisions, kind: Kind): string => {
  const box = ask(core, kind)
  core.settle()
  const { answer } = box
  return answer === undefined ? "none" : answer._tag === "Refused" ? answer.reason : answer._tag
}

describe("transition: requests", () => {
  // prettier-ignore
  const table: Record<State, Record<Kind, string>> = {
    running:       { StartChild: "already-started", StopChild: "Done",      RestartChild: "running",    RemoveChild: "running",    ReplaceChild: "Done" },
    "backing-off": { StartChild: "already-present", StopChild: "Done",      RestartChild: "restarting", RemoveChild: "restarting", ReplaceChild: "Done" },
    stopped:       { StartChild: "already-present", StopChild: "Done",      RestartChild: "Done",       RemoveChild: "Done",       ReplaceChild: "Done" },
    failed:        { StartChild: "already-present", StopChild: "Done",      RestartChild: "Done",       RemoveChild: "Done",       ReplaceChild: "Done" },
    "gave-up":     { StartChild: "already-present", StopChild: "Done",      RestartChild: "Done",       RemoveChild: "Done",       ReplaceChild: "Done" },
    leaked:        { StartChild: "already-present", StopChild: "Done",      RestartChild: "Done",       RemoveChild: "Done",       ReplaceChild: "Done" },
    unknown:       { StartChild: "Done",            StopChild: "not-found", RestartChild: "not-found",  RemoveChild: "not-found",  ReplaceChild: "not-found" }
  }
  const rows = (Object.keys(table) as Array<State>).flatMap((state) =>
    (Object.keys(table[state]) as Array<Kind>).map((kind) => [kind, state, table[state][kind]] as const)
  )

  it.each(rows)("%s of a child that is %s: %s", (kind, state, expected) => {
    const core = inState(state)
    assert.strictEqual(answerTo(core, kind), expected)
    assert.lengthOf(core.state.intensity.marks, 0, "requests spend nothing")
  })

  it.each(rows)("%s of a child that is %s, once the supervisor stops: not-running", (kind, state) => {
    const core = inState(state)
    core.stop()
    assert.deepStrictEqual(ask(core, kind).answer, { _tag: "Refused", reason: "not-running" })
  })

  it("a stop of one that waits for its restart cancels the wait", () => {
    const core = inState("backing-off")
    core.request("StopChild", "x")
    core.retry("x")
    assert.deepStrictEqual(core.take(), ["cancel x", "settled x"])
    assert.deepStrictEqual(core.states, ["a running", "x stopped", "z running"])
  })

  it.each([
    ["running", false],
    ["backing-off", false],
    ["stopped", true],
    ["failed", true],
    ["gave-up", true],
    ["leaked", true]
  ] as const)("a new spec for a child that is %s: at once %s", (state, atOnce) => {
    assert.deepStrictEqual(inState(state).replace("x").asked, [["x", atOnce]])
  })

  it("a new spec waits for what is under way, in its turn, and the shell may refuse it", () => {
    const core = inState("running")
    core.request("StopChild", "x")
    const replaced = core.replace("x", "other-kind")
    assert.deepStrictEqual(replaced.asked, [])
    core.settle()
    assert.deepStrictEqual(replaced.asked, [["x", true]])
    assert.deepStrictEqual(replaced.answer.answer, { _tag: "Refused", reason: "other-kind" })
  })

  describe("awaits", () => {
    const of = (core: Decisions) => core.state.order.map((child) => awaits(core.state, child!) ?? "-")

    it("nobody while nothing is under way", () => {
      assert.deepStrictEqual(of(inState("running")), ["-", "-", "-"])
      assert.deepStrictEqual(of(inState("backing-off")), ["-", "-", "-"])
    })

    it("the child that starts, until it is ready", () => {
      const core = inState("stopped")
      core.request("RestartChild", "x")
      assert.deepStrictEqual(of(core), ["-", "ready", "-"])
    })

    it("the child that stops, and those that the same group stops after it", () => {
      const core = new Decisions("one-for-all", [fakeChild("a"), fakeChild("x"), fakeChild("z")]).boot()
      core.down("a", "restart")
      assert.deepStrictEqual(of(core), ["down", "down", "down"])
      core.down("z")
      assert.deepStrictEqual(of(core), ["down", "down", "-"])
      core.down("x")
      assert.deepStrictEqual(of(core), ["ready", "-", "-"])
    })
  })
})
