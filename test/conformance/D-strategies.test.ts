import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Supervisor } from "espalier"

import { Decisions, fakeChild } from "../fixtures/decisions.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const of = (strategy: Supervisor.Strategy, ...ids: ReadonlyArray<string>) =>
  new Decisions(
    strategy,
    ids.map((id) => fakeChild(id))
  ).boot()

describe("D: strategies, on the core", () => {
  it("C-033 R-103 one-for-one starts the one that crashed", () => {
    const core = of("one-for-one", "a", "b", "c")
    core.down("a", "restart")
    assert.deepStrictEqual(core.take(), ["restarting a", "start a"])
  })

  it("C-034 R-103 one-for-all stops the survivors in reverse, then starts all in order", () => {
    const core = of("one-for-all", "a", "b", "c")
    core.down("b", "restart")
    core.down("c")
    core.down("a")
    core.up("a")
    core.up("b")
    core.up("c")
    assert.deepStrictEqual(core.take(), ["restarting b", "stop c", "stop a", "start a", "start b", "start c"])
  })

  it("C-035 R-103 rest-for-one takes those after it along, and nobody before", () => {
    const core = of("rest-for-one", "a", "b", "c", "d")
    core.down("b", "restart")
    core.down("d")
    core.down("c")
    core.up("b")
    core.up("c")
    core.up("d")
    assert.deepStrictEqual(core.take(), ["restarting b", "stop d", "stop c", "start b", "start c", "start d"])
    core.down("d", "restart")
    assert.deepStrictEqual(core.take(), ["restarting d", "start d"])
    core.up("d")
    core.take()
    core.down("a", "restart")
    assert.deepStrictEqual(core.take(), ["restarting a", "stop d"])
  })

  it("C-037 a `never` bystander of a group restart is stopped, forgotten, and not started again", () => {
    const core = new Decisions("one-for-all", [fakeChild("a"), fakeChild("once", "never"), fakeChild("c")]).boot()
    core.down("c", "restart")
    core.down("once")
    core.down("a")
    core.up("a")
    core.up("c")
    assert.deepStrictEqual(core.take(), ["restarting c", "stop once", "forgotten once", "stop a", "start a", "start c"])
    assert.isUndefined(core.get("once"))
  })

  it("C-038 a group restart starts members that were down, and nobody outside the group", () => {
    const core = new Decisions("rest-for-one", [
      fakeChild("outside", "on-failure"),
      fakeChild("b"),
      fakeChild("done", "on-failure"),
      fakeChild("stopped")
    ]).boot()
    core.down("outside", "stop")
    core.down("done", "stop")
    core.request("StopChild", "stopped")
    core.down("stopped")
    core.take()
    core.down("b", "restart")
    core.up("b")
    core.up("done")
    core.up("stopped")
    assert.deepStrictEqual(core.take(), ["restarting b", "start b", "start done", "start stopped"])
  })

  it("C-038 a member that declines in a group restart is left stopped, and the rest starts", () => {
    const core = of("one-for-all", "a", "b")
    core.down("b", "restart")
    core.down("a")
    core.send({ _tag: "Ignored", child: core.get("a"), incarnation: 2 })
    core.up("b")
    assert.deepStrictEqual(core.take().slice(-3), ["start a", "settled a", "start b"])
    assert.deepStrictEqual([core.get("a").state, core.get("b").state], ["stopped", "running"])
  })

  it("C-039 two deaths before either is handled are one group restart, or two single ones", () => {
    const all = of("one-for-all", "a", "b")
    all.down("a", "restart")
    all.down("b", "restart") // absorbed: the group stop covers it
    all.up("a")
    all.up("b")
    assert.deepStrictEqual(all.take(), ["restarting a", "stop b", "start a", "start b"])
    const one = of("one-for-one", "a", "b")
    one.down("a", "restart")
    one.down("b", "restart")
    one.up("a")
    one.up("b")
    assert.deepStrictEqual(one.take(), ["restarting a", "start a", "restarting b", "start b"])
  })

  it("C-040 a member that is abandoned while the group stops does not keep the group from starting", () => {
    const core = of("one-for-all", "a", "b", "c")
    core.down("a", "restart")
    core.down("c", "stop", { leaked: true })
    core.down("b", "escalate")
    assert.deepStrictEqual(core.take(), ["restarting a", "stop c", "stop b", "start a"])
  })

  it("C-041 one-for-all begins again from the first when a member fails to start", () => {
    const core = of("one-for-all", "a", "b", "c")
    core.down("a", "restart")
    core.down("c")
    core.down("b")
    core.up("a")
    core.take()
    core.startFails("b")
    assert.deepStrictEqual(core.take(), ["retry b", "stop a"])
    core.down("a")
    core.send({ _tag: "Retry", child: core.get("b"), incarnation: 2, now: 50 })
    core.up("a")
    core.up("b")
    core.up("c")
    assert.deepStrictEqual(core.take(), ["restarting b", "start a", "start b", "start c"])
  })

  it("C-042 rest-for-one goes on from the member that failed to start", () => {
    const core = of("rest-for-one", "a", "b", "c")
    core.down("a", "restart")
    core.down("c")
    core.down("b")
    core.up("a")
    core.take()
    core.startFails("b")
    assert.deepStrictEqual(core.take(), ["retry b"])
    core.send({ _tag: "Retry", child: core.get("b"), incarnation: 2, now: 50 })
    core.up("b")
    core.up("c")
    assert.deepStrictEqual(core.take(), ["restarting b", "start b", "start c"])
    assert.strictEqual(core.get("a").incarnation, 2)
  })

  it("a group that waits for the retry of a member starts without it when that member is stopped", () => {
    const core = of("one-for-all", "a", "b")
    core.down("a", "restart")
    core.down("b")
    core.startFails("a")
    core.take()
    core.request("StopChild", "a")
    core.up("b")
    assert.deepStrictEqual(core.take(), ["cancel a", "settled a", "start b"])
  })
})

describe("D: strategies, on a living tree", () => {
  const alive = (strategy: Supervisor.Strategy, ...ids: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        strategy,
        intensity: { restarts: 5, within: "1 hour" },
        children: ids.map((id) => stage.child(id))
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      return { stage, tree }
    })

  it.effect("C-033 one-for-one leaves the others untouched", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* alive("one-for-one", "a", "b", "c")
      stage.end("a")
      yield* until("a is up", () => stage.log.includes("up a"))
      assert.deepStrictEqual(stage.log, ["stop a", "down a", "start a", "up a"])
      assert.deepStrictEqual(
        (yield* tree.snapshot).children.map(({ incarnation }) => incarnation),
        [2, 1, 1]
      )
    })
  )

  it.effect("C-034 C-036 one-for-all stops all before it starts any, for one unit", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* alive("one-for-all", "a", "b", "c")
      stage.end("b")
      yield* until("c is up", () => stage.log.includes("up c"))
      assert.deepStrictEqual(stage.log, [
        "stop b",
        "down b",
        "stop c",
        "down c",
        "stop a",
        "down a",
        "start a",
        "up a",
        "start b",
        "up b",
        "start c",
        "up c"
      ])
      assert.strictEqual((yield* tree.snapshot).intensity?.left, 4)
    })
  )

  it.effect("C-035 C-036 rest-for-one restarts those after it, for one unit", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* alive("rest-for-one", "a", "b", "c", "d")
      stage.end("b")
      yield* until("d is up", () => stage.log.includes("up d"))
      assert.deepStrictEqual(
        stage.log.filter((line) => /^(stop|start)/.test(line)),
        ["stop b", "stop d", "stop c", "start b", "start c", "start d"]
      )
      assert.strictEqual((yield* tree.snapshot).intensity?.left, 4)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").incarnation, 1)
    })
  )

  it.effect("C-039 two members that die in the same tick are one group restart", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* alive("one-for-all", "a", "b")
      stage.end("a")
      stage.end("b")
      yield* until("b is up", () => stage.log.includes("up b"))
      yield* quiet
      assert.strictEqual((yield* tree.snapshot).intensity?.left, 4)
      assert.deepStrictEqual(
        (yield* tree.snapshot).children.map(({ incarnation }) => incarnation),
        [2, 2]
      )
    })
  )

  it.effect("C-040 a sibling that hangs while the group stops is abandoned, not counted, and replaced", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        strategy: "one-for-all",
        intensity: { restarts: 1, within: "1 hour" },
        children: [stage.child("a"), stage.child("b", { cleanup: "Infinity", shutdown: "300 millis" })]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      stage.end("a")
      yield* TestClock.adjust("300 millis")
      yield* until("b is up", () => stage.log.includes("up b"))
      assert.strictEqual(stage.of("Leaked", "b").length, 1)
      const snapshot = yield* tree.snapshot
      assert.deepStrictEqual(
        [snapshot.intensity?.left, nodeOf(snapshot, "b").state, nodeOf(snapshot, "b").leaked],
        [0, "running", 1]
      )
      yield* stage.stop(tree, "1 second")
    })
  )

  it.effect("C-041 C-042 a restart that fails to start is tried again as its strategy says", () =>
    Effect.gen(function* () {
      for (const strategy of ["one-for-all", "rest-for-one"] as const) {
        const stage = new Stage()
        let fail = 0
        const root = Supervisor.make("root", {
          strategy,
          intensity: { restarts: 5, within: "1 hour" },
          children: [
            stage.child("a"),
            stage.child("b", { init: Effect.suspend(() => (fail-- > 0 ? Effect.fail("not yet") : Effect.void)) }),
            stage.child("c")
          ]
        })
        yield* stage.start(root)
        stage.takeLog()
        fail = 1
        stage.end("a")
        yield* until("c is up", () => stage.log.includes("up c"))
        const starts = stage.log.filter((line) => line.startsWith("start"))
        assert.deepStrictEqual(
          starts,
          strategy === "one-for-all"
            ? ["start a", "start b", "start a", "start b", "start c"]
            : ["start a", "start b", "start b", "start c"]
        )
      }
    })
  )

  it.effect("C-043 a child that was added is the last: it stops first and takes part in the group", () =>
    Effect.gen(function* () {
      const { stage, tree } = yield* alive("one-for-all", "a", "b")
      yield* (yield* tree.find(["root"])).startChild(stage.child("added"))
      stage.takeLog()
      stage.end("a")
      yield* until("added is up", () => stage.log.includes("up added"))
      assert.deepStrictEqual(
        stage.log.filter((line) => /^(stop|start)/.test(line)),
        ["stop a", "stop added", "stop b", "start a", "start b", "start added"]
      )
      stage.takeLog()
      yield* tree.stop
      assert.deepStrictEqual(
        stage.log.filter((line) => line.startsWith("stop")),
        ["stop added", "stop b", "stop a"]
      )
    })
  )

  it.effect("with a backoff the group is stopped when the delay is over, not before", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        strategy: "one-for-all",
        children: [stage.child("a"), stage.child("b")]
      })
      const { tree } = yield* stage.start(root)
      stage.end("a", Effect.die(Object.assign(new Error("passing"), { "~espalier/Failure/kind": "transient" })))
      yield* until("it backs off", () => stage.of("BackingOff", "a").length === 1)
      yield* quiet
      assert.strictEqual(nodeOf(yield* tree.snapshot, "b").state, "running")
      yield* TestClock.adjust("2 seconds")
      yield* until("b was restarted", () => stage.of("Started", "b").length === 2)
    })
  )
})
