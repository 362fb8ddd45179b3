import { assert, describe, it } from "@effect/vitest"

import type * as transition from "../../src/internal/transition.ts"
import { fakeChild } from "../fixtures/decisions.ts"
import { DynamicDecisions } from "../fixtures/dynamicDecisions.ts"

const done = { _tag: "Done" } as const
const refused = (reason: transition.Refusal) => ({ _tag: "Refused", reason }) as const

/** Counts what is done to a map: single operations, and each entry that an iteration visits. */
class CountedMap<K, V> extends Map<K, V> {
  private readonly count: { operations: number }
  constructor(count: { operations: number }) {
    super()
    this.count = count
  }
  override get(key: K): V | undefined {
    this.count.operations += 1
    return super.get(key)
  }
  override has(key: K): boolean {
    this.count.operations += 1
    return super.has(key)
  }
  override set(key: K, value: V): this {
    this.count.operations += 1
    return super.set(key, value)
  }
  override delete(key: K): boolean {
    this.count.operations += 1
    return super.delete(key)
  }
  override *keys(): MapIterator<K> {
    for (const key of super.keys()) {
      this.count.operations += 1
      yield key
    }
  }
  override *values(): MapIterator<V> {
    for (const value of super.values()) {
      this.count.operations += 1
      yield value
    }
  }
  override *entries(): MapIterator<[K, V]> {
    for (const entry of super.entries()) {
      this.count.operations += 1
      yield entry
    }
  }
  override [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }
  override forEach(): void {
    throw new Error("not counted")
  }
}

describe("dynamicTransition", () => {
  describe("what a child's end does, by verdict", () => {
    const ends: ReadonlyArray<[transition.Verdict, ReadonlyArray<string>, ReadonlyArray<string>]> = [
      ["restart", ["restarting a", "start a"], ["a starting", "b running"]],
      ["stop", ["forgotten a"], ["b running"]],
      ["fail", ["forgotten a"], ["b running"]],
      ["gave-up", ["forgotten a"], ["b running"]],
      ["forget", ["forgotten a"], ["b running"]],
      ["escalate", ["gave-up a", "settled a", "stop b"], ["b stopping"]]
    ]
    it.each(ends)("%s", (verdict, lines, states) => {
      const core = new DynamicDecisions().boot().with("a", "b")
      core.down("a", verdict)
      assert.deepStrictEqual(core.take(), lines)
      assert.deepStrictEqual(core.states, states)
    })
  })

  describe("what a request gets, by the state of its child", () => {
    const arrive: Readonly<Record<string, (core: DynamicDecisions) => void>> = {
      starting: (core) => void core.start("a"),
      running: (core) => void core.with("a"),
      "backing-off": (core) => core.with("a").down("a", "restart", { delayMillis: 10 }),
      stopping: (core) => void core.with("a").request("StopChild", "a")
    }
    const stops: ReadonlyArray<[string, ReadonlyArray<string>, transition.Answer<string> | undefined]> = [
      ["starting", ["stop a"], undefined],
      ["running", ["stop a"], undefined],
      ["backing-off", ["cancel a", "forgotten a"], done],
      ["stopping", [], undefined]
    ]
    it.each(stops)("StopChild, %s", (state, lines, answer) => {
      const core = new DynamicDecisions().boot()
      arrive[state]!(core)
      assert.deepStrictEqual(core.states, [`a ${state}`])
      core.take()
      const stop = core.request("StopChild", "a")
      assert.deepStrictEqual(core.take(), lines)
      assert.deepStrictEqual(stop.answer, answer)
      if (answer !== undefined) return
      core.down("a")
      assert.deepStrictEqual([core.take(), stop.answer], [["forgotten a"], done])
      assert.strictEqual(core.retained, 0)
    })

    it.each(["RestartChild", "RemoveChild"] as const)("%s is not for a dynamic supervisor", (kind) => {
      const core = new DynamicDecisions().boot().with("a")
      assert.deepStrictEqual(core.request(kind, "a").answer, refused("dynamic-supervisor"))
      assert.deepStrictEqual(core.take(), [])
    })

    it("StartChild is not either: its children come from the template", () => {
      const core = new DynamicDecisions().boot()
      let answer: unknown
      core.send({ _tag: "StartChild", child: fakeChild("b"), reply: (some) => (answer = some) })
      assert.deepStrictEqual([answer, core.take()], [refused("dynamic-supervisor"), []])
    })
  })

  it("is ready at once, and boots once", () => {
    const core = new DynamicDecisions()
    core.send({ _tag: "Boot" })
    core.send({ _tag: "Boot" })
    assert.deepStrictEqual(core.take(), ["ready"])
  })

  it("refuses everything before it runs and after it has ended", () => {
    const core = new DynamicDecisions()
    assert.deepStrictEqual(core.start("a").answer, refused("not-running"))
    core.boot()
    core.stop()
    assert.deepStrictEqual(core.start("a").answer, refused("not-running"))
    assert.deepStrictEqual(core.request("StopChild", "a").answer, refused("not-running"))
    assert.strictEqual(core.made, 0)
  })

  it("has several starts, stops and restarts under way at a time", () => {
    const core = new DynamicDecisions().boot().with("old", "ill")
    const [a, b] = [core.start("a"), core.start("b")]
    const stop = core.request("StopChild", "old")
    core.down("ill", "restart")
    assert.deepStrictEqual(core.take(), ["start a", "start b", "stop old", "restarting ill", "start ill"])
    core.up("b")
    assert.deepStrictEqual([a.answer, b.answer], [undefined, done])
    core.down("old")
    core.up("ill")
    core.up("a")
    assert.deepStrictEqual([a.answer, stop.answer], [done, done])
    assert.deepStrictEqual(core.states, ["ill running", "a running", "b running"])
  })

  it("answers all who wait for one child to stop", () => {
    const core = new DynamicDecisions().boot().with("a")
    const stops = [1, 2, 3].map(() => core.request("StopChild", "a"))
    core.down("a", "restart") // whatever its exit asked for
    assert.deepStrictEqual(
      stops.map((stop) => stop.answer),
      [done, done, done]
    )
    assert.deepStrictEqual(core.take(), ["stop a", "forgotten a"])
  })

  it("fails the start of a child that is stopped before it is ready, even when its ready crossed the stop", () => {
    const core = new DynamicDecisions().boot()
    const start = core.start("a")
    const stop = core.request("StopChild", "a")
    core.up("a")
    assert.strictEqual(start.answer, undefined)
    core.down("a")
    assert.deepStrictEqual(start.answer, { _tag: "Failed", failure: "a failed" })
    assert.deepStrictEqual(stop.answer, done)
  })

  it("takes a child that declined while it was to be stopped as down", () => {
    const core = new DynamicDecisions().boot()
    const start = core.start("a")
    const stop = core.request("StopChild", "a")
    core.ignored("a")
    assert.deepStrictEqual([start.answer, stop.answer], [refused("ignored"), done])
    assert.strictEqual(core.retained, 0)
  })

  it("ignores what an older incarnation, or a child that is gone, still says", () => {
    const core = new DynamicDecisions().boot().with("a", "b")
    const [a, b] = [core.get("a"), core.get("b")]
    core.down("a", "restart")
    core.down("b", "stop")
    core.take()
    const stale = { verdict: "restart", delayMillis: 0, now: 9, leaked: false, failure: "late" } as const
    for (const child of [a, b]) {
      core.send({ _tag: "Started", child, incarnation: 1 })
      core.send({ _tag: "Ignored", child, incarnation: 1 })
      core.send({ _tag: "Retry", child, incarnation: 1, now: 9 })
      core.send({ _tag: "Exited", child, incarnation: 1, ...stale })
      core.send({ _tag: "StartFailed", child, incarnation: 1, ...stale })
    }
    assert.deepStrictEqual([core.take(), core.states], [[], ["a starting"]])
  })

  it("ignores a retry of a child that does not wait for one", () => {
    const core = new DynamicDecisions().boot().with("a")
    core.retry("a")
    assert.deepStrictEqual(core.take(), [])
  })

  it("waits after a failed restart even without a delay, and not after a crash", () => {
    const core = new DynamicDecisions().boot().with("a")
    core.down("a", "restart")
    core.startFails("a")
    core.retry("a")
    core.startFails("a", "fail")
    assert.deepStrictEqual(core.take(), [
      "restarting a",
      "start a",
      "retry a",
      "restarting a",
      "start a",
      "forgotten a"
    ])
    assert.strictEqual(core.retained, 0)
  })

  it("names the failure that a retry waited for when the budget is spent on it", () => {
    const core = new DynamicDecisions(undefined, { restarts: 0 }).boot().with("a")
    core.down("a", "restart", { delayMillis: 10 })
    const a = core.get("a")
    core.retry("a")
    assert.deepStrictEqual(core.take(), ["retry a", "gave-up a", "settled a", "ended GaveUp"])
    assert.deepStrictEqual(core.state.ending, { _tag: "GaveUp", child: a, failure: "a failed" })
  })

  it("answers those who wait as soon as it begins to stop, and ends after the last child", () => {
    const core = new DynamicDecisions().boot().with("a", "b")
    core.down("b", "restart", { delayMillis: 10 })
    const waiting = [core.start("c"), core.request("StopChild", "a")]
    core.take()
    core.stop()
    assert.deepStrictEqual(
      waiting.map((box) => box.answer),
      [refused("not-running"), refused("not-running")]
    )
    assert.deepStrictEqual(core.take(), ["cancel b", "settled b", "stop c"])
    core.stop()
    core.down("a")
    core.down("c", "restart")
    assert.deepStrictEqual(core.take(), ["settled a", "settled c", "ended Stopped"])
    assert.strictEqual(core.retained, 0)
  })

  it("ends once when all its children only wait for their retries", () => {
    const core = new DynamicDecisions().boot().with("a", "b")
    for (const id of ["a", "b"]) core.down(id, "restart", { delayMillis: 10 })
    core.take()
    core.stop()
    assert.deepStrictEqual(core.take(), ["cancel a", "settled a", "cancel b", "settled b", "ended Stopped"])
  })

  it("remembers nothing of children that are gone, however they went", () => {
    const core = new DynamicDecisions().boot()
    const go: ReadonlyArray<(id: string) => void> = [
      (id) => core.ignored(id),
      (id) => core.startFails(id),
      (id) => {
        core.up(id)
        core.down(id, "forget")
      },
      (id) => {
        core.up(id)
        core.request("StopChild", id)
        core.down(id)
      },
      (id) => {
        core.up(id)
        core.down(id, "restart", { delayMillis: 5 })
        core.request("StopChild", id)
      },
      (id) => {
        core.up(id)
        core.down(id, "restart")
        core.ignored(id)
      },
      (id) => {
        core.up(id)
        core.down(id, "restart")
        core.startFails(id)
        core.retry(id)
        core.startFails(id, "fail")
      }
    ]
    for (let i = 0; i < 70; i++) {
      core.start(`${i}`)
      go[i % go.length]!(`${i}`)
    }
    assert.deepStrictEqual([core.states, core.retained], [[], 0])
  })

  it("C-123 does the same work for each child, however many there are", () => {
    const operations = (n: number): number => {
      const core = new DynamicDecisions().boot()
      const count = { operations: 0 }
      const state = core.state as { -readonly [K in keyof typeof core.state]: (typeof core.state)[K] }
      state.children = new CountedMap(count)
      state.starts = new CountedMap(count)
      state.stops = new CountedMap(count)
      state.causes = new CountedMap(count)
      const ids = Array.from({ length: n }, (_, i) => String(i))
      for (const id of ids) core.start(id)
      for (const id of ids) core.up(id)
      for (const id of ids) core.down(id, "restart")
      for (const id of ids) core.up(id)
      for (const id of ids) core.request("StopChild", id)
      for (const id of ids) core.down(id)
      assert.strictEqual(core.retained, 0)
      return count.operations
    }
    assert.strictEqual(operations(1_000), 10 * operations(100))
    assert.isAbove(operations(100), 1_000)
  })
})
