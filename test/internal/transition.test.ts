import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"

import { abandon, type Answer } from "../../src/internal/transition.ts"
import { Decisions, fakeChild } from "../fixtures/decisions.ts"
import { World } from "../fixtures/world.ts"

const ids = (text: string) => [...text].map((id) => fakeChild(id))

const strategies = ["one-for-one", "one-for-all", "rest-for-one"] as const

describe("transition", () => {
  describe("with any answers in any order", () => {
    const int = (maximum: number) => Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))
    const seen = new Set<string>()

    it.prop(
      "T1–T6 hold, starts and stops keep their order, the budget is right, and nothing that was asked is lost",
      {
        strategy: Arbitrary.schema(Schema.Literals(strategies)),
        children: int(5),
        restarts: int(4),
        autoShutdown: Arbitrary.schema(Schema.Literals(["never", "any-significant", "all-significant"])),
        picks: Arbitrary.array(int(5), { minLength: 5, maxLength: 5 }),
        script: Arbitrary.array(int(1 << 20), { minLength: 0, maxLength: 300 })
      },
      ({ strategy, children, restarts, autoShutdown, picks, script }) => {
        const world = new World({ strategy, children, autoShutdown, intensity: { restarts, within: 1 } }, picks)
        try {
          for (const pick of script) world.step(pick)
          world.finish()
        } catch (error) {
          throw new Error(`${String(error)}\n${world.trace.slice(-40).join("\n")}`, { cause: error })
        }
        for (const name of world.seen) seen.add(name)
      },
      { arbitrary: { runs: 2_000, size: 300, seed: "espalier" } }
    )

    it("the scripts reach every order", () => {
      assert.deepStrictEqual([...seen].toSorted(), [
        "autoShutdown",
        "cancelRetry",
        "ended",
        "forgotten",
        "gaveUp",
        "ready",
        "restarting",
        "retryLater",
        "settled",
        "start",
        "stop"
      ])
    })
  })

  describe("deaths that wait", () => {
    it("a give-up decided from what waited stops nobody whose own death waits behind it", () => {
      const core = new Decisions("one-for-one", ids("abc"), { restarts: 0, within: "1 second" })
      core.send({ _tag: "Boot" })
      core.up("a")
      core.up("b")
      core.down("a", "restart")
      core.down("b", "restart")
      core.take()
      core.up("c")
      assert.deepStrictEqual(core.take(), ["ready", "gave-up a", "stop c"])
      core.down("c")
      assert.deepStrictEqual(core.take(), ["ended GaveUp"])
    })

    it("a give-up decided from what waited refuses the requests that wait behind it, at once", () => {
      const core = new Decisions("one-for-one", ids("abc"), { restarts: 0, within: "1 second" }).boot()
      core.request("StopChild", "c")
      core.down("a", "restart")
      const waiting = core.request("RestartChild", "c")
      core.down("c")
      assert.deepStrictEqual(core.take(), ["stop c", "settled c", "gave-up a", "stop b"])
      assert.deepStrictEqual(waiting.answer, { _tag: "Refused", reason: "not-running" })
    })

    it("a death that waits for its turn does not bury the incarnation that came after it", () => {
      const core = new Decisions("one-for-one", ids("ab")).boot()
      core.request("StopChild", "b")
      core.request("StopChild", "a")
      core.request("RestartChild", "a")
      core.request("StopChild", "a")
      core.down("a", "restart") // it waits behind those
      core.down("b") // a is found down, and started again
      core.up("a") // and is being stopped now
      core.take()
      core.stop()
      core.down("a")
      assert.deepStrictEqual(core.take(), ["ended Stopped"])
    })

    it("ten thousand deaths that wait are handled in order", () => {
      const children = Array.from({ length: 10_000 }, (_, i) => fakeChild(`c${i}`))
      const core = new Decisions("one-for-one", [...children, fakeChild("last")], {
        restarts: 20_000,
        within: "1 hour"
      })
      core.send({ _tag: "Boot" })
      for (const child of children) core.up(child.id)
      for (const child of children) core.down(child.id, "restart")
      core.take()
      core.up("last")
      core.settle()
      const restarting = core.take().filter((line) => line.startsWith("restarting"))
      assert.deepStrictEqual(
        restarting,
        children.map((child) => `restarting ${child.id}`)
      )
    })
  })

  describe("messages of the past", () => {
    it("T3 what names an older incarnation changes nothing", () => {
      const core = new Decisions("one-for-one", ids("a")).boot()
      core.down("a", "restart")
      core.up("a")
      core.take()
      core.down("a", "restart", { incarnation: 1 })
      core.send({ _tag: "Started", child: core.get("a"), incarnation: 1 })
      core.send({ _tag: "Ignored", child: core.get("a"), incarnation: 1 })
      core.send({ _tag: "Retry", child: core.get("a"), incarnation: 1, now: 1 })
      core.retry("a")
      assert.deepStrictEqual(core.take(), [])
      assert.deepStrictEqual(core.states, ["a running"])
    })

    it("a second boot changes nothing, nor does one after the end", () => {
      const core = new Decisions("one-for-one", ids("a")).boot()
      core.send({ _tag: "Boot" })
      core.stop()
      core.down("a")
      core.send({ _tag: "Boot" })
      assert.deepStrictEqual(core.take(), ["stop a", "ended Stopped"])
    })
  })

  describe("a stop", () => {
    it("ends a supervisor without children, and one that never began", () => {
      for (const begin of [true, false]) {
        const core = new Decisions("one-for-all", [])
        if (begin) core.send({ _tag: "Boot" })
        core.stop()
        assert.deepStrictEqual(core.take(), begin ? ["ready", "ended Stopped"] : ["ended Stopped"])
      }
    })

    it("takes a start failure of the child that it interrupted for its end", () => {
      const core = new Decisions("one-for-one", ids("ab"))
      core.send({ _tag: "Boot" })
      core.up("a")
      core.stop()
      core.startFails("b")
      core.down("a")
      assert.deepStrictEqual(core.take(), ["start a", "start b", "stop b", "stop a", "ended Stopped"])
    })

    it("takes a child that declined to start while it was stopped for down", () => {
      const core = new Decisions("one-for-one", ids("ab"))
      core.send({ _tag: "Boot" })
      core.up("a")
      core.stop()
      core.ignored("b")
      core.down("a")
      assert.deepStrictEqual(core.take(), ["start a", "start b", "stop b", "stop a", "ended Stopped"])
    })
  })

  describe("a group that waits for its member", () => {
    const waiting = () => {
      const core = new Decisions("one-for-all", ids("abc")).boot()
      core.down("c", "restart")
      core.down("b")
      core.down("a")
      core.up("a")
      core.startFails("b")
      core.down("a")
      core.take()
      return core
    }

    it("starts without the member when the wait is cancelled", () => {
      const core = waiting()
      core.request("StopChild", "b")
      core.settle()
      assert.deepStrictEqual(core.take(), ["cancel b", "settled b", "start a", "start c"])
      assert.deepStrictEqual(core.states, ["a running", "b stopped", "c running"])
    })

    it("is remembered while siblings are removed", () => {
      const core = waiting()
      for (let i = 0; i < 40; i++) {
        core.startChild(fakeChild(`x${i}`))
        core.up(`x${i}`)
        core.request("StopChild", `x${i}`)
        core.down(`x${i}`)
        core.request("RemoveChild", `x${i}`)
      }
      core.take()
      core.request("StopChild", "b")
      core.settle()
      assert.deepStrictEqual(core.take(), ["cancel b", "settled b", "start a", "start c"])
    })

    it("is forgotten once the group was started for another reason", () => {
      const core = waiting()
      core.request("RestartChild", "a")
      core.up("a")
      core.down("a", "restart") // takes the whole group along, b too
      core.settle()
      assert.deepStrictEqual(core.states, ["a running", "b running", "c running"])
      core.request("StopChild", "c")
      core.settle()
      core.down("b", "restart", { delayMillis: 10 }) // b waits again, alone
      core.take()
      core.request("StopChild", "b")
      assert.deepStrictEqual(core.take(), ["cancel b", "settled b"])
      assert.deepStrictEqual(core.states, ["a running", "b stopped", "c stopped"])
    })
  })

  describe("removed children", () => {
    const cases: ReadonlyArray<readonly [string, (core: Decisions, id: string) => void]> = [
      [
        "stopped and removed",
        (core, id) => (core.up(id), core.request("StopChild", id), core.down(id), core.request("RemoveChild", id))
      ],
      ["that failed to start", (core, id) => core.startFails(id)],
      ["that ended", (core, id) => (core.up(id), core.down(id, "forget"))]
    ]
    for (const [name, end] of cases) {
      it(`leave no trace: ten thousand ${name}`, () => {
        const core = new Decisions("one-for-one", ids("ab")).boot()
        for (let i = 0; i < 10_000; i++) {
          core.startChild(fakeChild("x"))
          end(core, "x")
        }
        assert.isBelow(core.state.order.length, 64)
        assert.strictEqual(core.state.byId?.size, 2)
        assert.strictEqual(core.state.causes.size + core.state.exits.size, 0)
        core.take()
        core.stop()
        core.settle()
        assert.deepStrictEqual(core.take(), ["stop b", "stop a", "ended Stopped"])
      })
    }

    it("leave no trace: ten thousand that are never restarted, stopped by request", () => {
      const core = new Decisions("one-for-one", ids("ab")).boot()
      for (let i = 0; i < 10_000; i++) {
        core.startChild(fakeChild("x", "never"))
        core.up("x")
        core.request("StopChild", "x")
        core.down("x")
      }
      assert.isBelow(core.state.order.length, 64)
    })
  })

  describe("abandon", () => {
    it("answers every request that is under way or waits, and nothing happens afterwards", () => {
      const core = new Decisions("one-for-one", ids("ab")).boot()
      const under = core.request("StopChild", "a")
      const waiting = core.request("StopChild", "b")
      abandon(core.state)
      const refused: Answer<string> = { _tag: "Refused", reason: "not-running" }
      assert.deepStrictEqual([under.answer, waiting.answer], [refused, refused])
      core.take()
      core.down("a")
      core.down("b", "restart")
      core.stop()
      core.send({ _tag: "Boot" })
      assert.deepStrictEqual(core.request("RestartChild", "a").answer, refused)
      assert.deepStrictEqual(core.take(), [])
    })
  })
})
