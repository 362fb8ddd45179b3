import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Schedule } from "effect"
import { TestClock } from "effect/testing"
import { Child, Failure, RestartIntensity, Supervisor, Tree } from "espalier"

import { Decisions, fakeChild } from "../fixtures/decisions.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

/** A tree of children that can be crashed, with a budget. */
const withBudget = (intensity: RestartIntensity.Options, ...ids: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const root = Supervisor.make("root", { intensity, children: ids.map((id) => stage.child(id)) })
    const { tree } = yield* stage.start(root)
    const crash = Effect.fnUntraced(function* (id: string) {
      const before = stage.of("Exited", id).length
      stage.end(id)
      yield* until(`${id} ended`, () => stage.of("Exited", id).length > before)
      yield* quiet
    })
    return { crash, stage, tree }
  })

const starts = (stage: Stage, id: string): number => stage.log.filter((line) => line === `start ${id}`).length

describe("E: intensity", () => {
  it.effect("C-044 R-104 the restart beyond the budget makes the supervisor give up, starting nothing", () =>
    Effect.gen(function* () {
      const { crash, stage, tree } = yield* withBudget({ restarts: 2, within: "1 hour" }, "a")
      yield* crash("a")
      yield* crash("a")
      assert.strictEqual(starts(stage, "a"), 3)
      yield* crash("a")
      assert.strictEqual(starts(stage, "a"), 3)
      const gaveUp = yield* Effect.flip(tree.ended)
      assert.instanceOf(gaveUp, Supervisor.GaveUp)
      assert.deepStrictEqual(gaveUp.path, ["root", "a"])
    })
  )

  it.effect("C-045 with a budget of zero the first crash is the last", () =>
    Effect.gen(function* () {
      const { crash, stage, tree } = yield* withBudget({ restarts: 0 }, "a")
      yield* crash("a")
      assert.strictEqual(starts(stage, "a"), 1)
      yield* Effect.flip(tree.ended)
    })
  )

  it.effect("C-046 crashes that are further apart than the window never exhaust it", () =>
    Effect.gen(function* () {
      const { crash, tree } = yield* withBudget({ restarts: 1, within: "1 second" }, "a")
      for (let i = 0; i < 20; i++) {
        yield* crash("a")
        yield* TestClock.adjust("2100 millis")
      }
      assert.strictEqual((yield* tree.snapshot).state, "running")
    })
  )

  it.effect.each([
    [1_000, "gave-up"],
    [1_001, "running"]
  ] as const)("C-047 a restart aged %d ms within a second leaves the supervisor %s", ([age, state]) =>
    Effect.gen(function* () {
      const { crash, tree } = yield* withBudget({ restarts: 1, within: "1 second" }, "a")
      yield* crash("a")
      yield* TestClock.adjust(age)
      yield* crash("a")
      assert.strictEqual((yield* tree.snapshot).state, state)
    })
  )

  it.effect("C-048 moving the wall clock back and forth changes nothing", () =>
    Effect.gen(function* () {
      const { crash, tree } = yield* withBudget({ restarts: 1, within: "1 second" }, "a")
      yield* TestClock.setTime(1_000_000)
      yield* crash("a")
      yield* TestClock.setTime(0)
      yield* crash("a")
      assert.strictEqual((yield* tree.snapshot).state, "gave-up")
    })
  )

  it.effect("C-049 the budget is the supervisor's: three children that crash once each exhaust a budget of two", () =>
    Effect.gen(function* () {
      const { crash, tree } = yield* withBudget({ restarts: 2, within: "1 hour" }, "a", "b", "c")
      yield* crash("a")
      yield* crash("b")
      assert.strictEqual((yield* tree.snapshot).intensity?.left, 0)
      yield* crash("c")
      assert.strictEqual((yield* tree.snapshot).state, "gave-up")
    })
  )

  it.effect("C-050 requests and their failures spend nothing", () =>
    Effect.gen(function* () {
      const { crash, tree } = yield* withBudget({ restarts: 1, within: "1 hour" }, "a")
      const handle = yield* tree.find(["root"])
      for (let i = 0; i < 5; i++) {
        yield* handle.stopChild("a")
        yield* handle.restartChild("a")
        yield* Effect.flip(handle.startChild(Child.make("broken", Effect.fail("no"))))
      }
      assert.strictEqual((yield* tree.snapshot).intensity?.left, 1)
      yield* crash("a")
      assert.strictEqual((yield* tree.snapshot).state, "running")
    })
  )

  it.effect(
    "C-051 C-056 a restart that fails to start is tried again at once, one unit each, until the budget is spent",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let broken = false
        const child = stage.child("a", { init: Effect.suspend(() => (broken ? Effect.fail("broken") : Effect.void)) })
        const root = Supervisor.make("root", { intensity: { restarts: 3, within: "1 hour" }, children: [child] })
        const { tree } = yield* stage.start(root)
        stage.takeLog()
        broken = true
        stage.end("a")
        yield* Effect.exit(tree.ended)
        assert.strictEqual(starts(stage, "a"), 3)
      })
  )

  it.effect("C-052 between tries the supervisor hears requests and other exits, and other fibers have their turn", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let broken = false
      let tries = 0
      const flaky = stage.child("flaky", {
        init: Effect.suspend(() => {
          tries += 1
          return broken ? Effect.fail("broken") : Effect.void
        })
      })
      const root = Supervisor.make("root", {
        intensity: { restarts: 1_000_000, within: "1 hour" },
        children: [flaky, stage.child("b")]
      })
      const { tree } = yield* stage.start(root)
      broken = true
      stage.end("flaky")
      yield* until("it tries", () => tries > 3)
      stage.end("b")
      yield* until("b is back", () => starts(stage, "b") === 2)
      yield* (yield* tree.find(["root"])).stopChild("flaky")
      const so = tries
      yield* quiet
      assert.strictEqual(tries, so)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "flaky").state, "stopped")
    })
  )

  it.effect("C-053 giving up stops the remaining children in reverse", () =>
    Effect.gen(function* () {
      const { crash, stage, tree } = yield* withBudget({ restarts: 0 }, "a", "b", "c")
      stage.takeLog()
      yield* crash("b")
      yield* Effect.flip(tree.ended)
      assert.deepStrictEqual(stage.log, ["stop b", "down b", "stop c", "down c", "stop a", "down a"])
    })
  )

  it.effect.each([
    ["always", "running", 1],
    ["on-failure", "gave-up", 0],
    ["never", undefined, 0]
  ] as const)(
    "C-054 R-104 under `%s` a supervisor that gave up is %s, for %d units of its parent",
    ([restart, state, spent]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const inner = Supervisor.make("inner", { restart, intensity: { restarts: 0 }, children: [stage.child("leaf")] })
        const root = Supervisor.make("root", { intensity: { restarts: 5, within: "1 hour" }, children: [inner] })
        const { tree } = yield* stage.start(root)
        stage.end("leaf")
        yield* until("it gave up", () => stage.of("GaveUp", "inner").length === 1)
        yield* quiet
        const snapshot = yield* tree.snapshot
        assert.strictEqual(snapshot.children.find(({ id }) => id === "inner")?.state, state)
        assert.strictEqual(5 - snapshot.intensity!.left, spent)
        assert.strictEqual(snapshot.state, "running")
      })
  )

  it.effect("C-055 a restarted supervisor begins unspent: a leaf below budgets of 2 and 3 starts 12 times", () =>
    Effect.gen(function* () {
      let count = 0
      const leaf = Child.make(
        "leaf",
        Effect.sync(() => (count++, Effect.die("always")))
      )
      const inner = Supervisor.make("inner", { intensity: { restarts: 3, within: "1 hour" }, children: [leaf] })
      const root = Supervisor.make("root", { intensity: { restarts: 2, within: "1 hour" }, children: [inner] })
      const { tree } = yield* new Stage().start(root)
      const gaveUp = yield* Effect.flip(tree.ended)
      assert.strictEqual(count, 12)
      assert.deepStrictEqual(gaveUp.path, ["root", "inner", "leaf"])
    })
  )

  it.effect("C-055 R-105 a restarted supervisor has forgotten the delays of its children", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const inner = Supervisor.make("inner", {
        intensity: { restarts: 2, within: "1 hour" },
        children: [stage.child("leaf", { backoff: Schedule.exponential("1 second"), backoffReset: "1 hour" })]
      })
      const root = Supervisor.make("root", { intensity: { restarts: 2, within: "1 hour" }, children: [inner] })
      yield* stage.start(root)
      const crash = (starts: number) =>
        Effect.gen(function* () {
          stage.end("leaf")
          yield* quiet
          yield* TestClock.adjust("1 minute")
          yield* until("it is back", () => stage.of("Started", "leaf").length === starts)
        })
      yield* crash(2)
      yield* crash(3)
      yield* crash(4) // beyond the budget: inner gave up, and was restarted
      assert.lengthOf(stage.of("GaveUp", "inner"), 1)
      yield* crash(5)
      assert.deepStrictEqual(
        stage.of("BackingOff", "leaf").map(({ delay }) => Duration.toMillis(delay)),
        // The third waits like the others before it exceeds the budget.
        [1_000, 2_000, 4_000, 1_000]
      )
    })
  )

  it("C-056 on the core a delayed attempt counts when it is made", () => {
    const core = new Decisions("one-for-one", [fakeChild("a")], { restarts: 1, within: "1 second" }).boot()
    core.down("a", "restart", { delayMillis: 100 })
    assert.strictEqual(RestartIntensity.left(core.state.intensity, 0), 1)
    core.send({ _tag: "Retry", child: core.get("a"), incarnation: 1, now: 5 })
    assert.strictEqual(RestartIntensity.left(core.state.intensity, 5), 0)
  })

  it.effect("C-057 giving up is one event that names the child, the cause, the budget and when it was spent", () =>
    Effect.gen(function* () {
      const { crash, stage } = yield* withBudget({ restarts: 1, within: "1 hour" }, "a")
      yield* TestClock.adjust("1 second")
      yield* crash("a")
      yield* TestClock.adjust("1 second")
      yield* crash("a")
      const [event, ...more] = stage.of("GaveUp")
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual(
        [event?.path, event?.child, event?.intensity, event?.restarts],
        [["root"], "a", { restarts: 1, within: Duration.hours(1) }, [1_000, 2_000]]
      )
      assert.deepStrictEqual(event?.cause, Cause.die("a crashed"))
    })
  )

  it.effect("C-058 a grace time that makes the budget unreachable is warned about, and the defaults are not", () =>
    Effect.gen(function* () {
      const slow = Child.effect("slow", Effect.never, { shutdown: "3 seconds" })
      const plain = Child.effect("plain", Effect.never)
      const of = (strategy: Supervisor.Strategy, ...children: ReadonlyArray<Child.Child<never, never, never>>) =>
        Supervisor.make("root", { strategy, intensity: { restarts: 3, within: "5 seconds" }, children })
      assert.match(Tree.check(of("one-for-all", slow)).join(), /root: a group stop may wait 3s for slow/)
      assert.deepStrictEqual(Tree.check(of("one-for-one", slow)), [])
      assert.deepStrictEqual(Tree.check(of("one-for-all", plain)), [])
      const endless = Child.effect("endless", Effect.never, { shutdown: "Infinity" })
      const none = { strategy: "one-for-all", intensity: { restarts: 0 }, children: [endless] } as const
      assert.deepStrictEqual(Tree.check(Supervisor.make("root", none)), [])
      const stage = new Stage()
      yield* stage.start(of("rest-for-one", slow))
      assert.strictEqual(stage.of("Warning").length, 1)
    })
  )
})

describe("backoff", () => {
  /** Delays before each restart of a child that fails at once, in milliseconds. */
  const delays = (
    count: number,
    end: Effect.Effect<unknown, unknown>,
    options: Child.Options<never>,
    health: Duration.Input = 0
  ) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 1_000, within: "1 hour" },
        children: [stage.child("a", options)]
      })
      const { tree } = yield* stage.start(root)
      for (let i = 0; i < count; i++) {
        yield* TestClock.adjust(health)
        stage.end("a", end)
        yield* until(
          "it waits or gave up",
          () => stage.of("BackingOff", "a").length === i + 1 || stage.of("GaveUp").length === 1
        )
        const [waits] = stage.of("BackingOff", "a").slice(i)
        if (waits === undefined) break
        yield* quiet
        const before = stage.of("Started", "a").length
        yield* TestClock.adjust(Duration.toMillis(waits.delay) - 1)
        assert.strictEqual(stage.of("Started", "a").length, before)
        yield* TestClock.adjust(1)
        yield* until("it is back", () => stage.of("Started", "a").length === before + 1)
      }
      return {
        gaveUp: stage.of("GaveUp").length,
        millis: stage.of("BackingOff", "a").map(({ delay }) => Duration.toMillis(delay)),
        tree
      }
    })

  it.effect("R-105 the delay is the schedule's, on the test clock", () =>
    Effect.map(delays(4, Effect.die("x"), { backoff: Schedule.exponential("100 millis") }), ({ millis }) =>
      assert.deepStrictEqual(millis, [100, 200, 400, 800])
    )
  )

  it.effect("R-105 the schedule starts anew after a time of health, and not before", () =>
    Effect.gen(function* () {
      const options = { backoff: Schedule.exponential("100 millis"), backoffReset: "10 seconds" } as const
      assert.deepStrictEqual((yield* delays(3, Effect.die("x"), options, "10 seconds")).millis, [100, 100, 100])
      assert.deepStrictEqual((yield* delays(3, Effect.die("x"), options, "9 seconds")).millis, [100, 200, 400])
    })
  )

  it.effect("R-105 when the schedule is over the supervisor gives up", () =>
    Effect.gen(function* () {
      const backoff = Schedule.max([Schedule.spaced("1 second"), Schedule.recurs(2)])
      const { gaveUp, millis } = yield* delays(5, Effect.die("x"), { backoff })
      assert.deepStrictEqual([millis, gaveUp], [[1_000, 1_000], 1])
    })
  )

  it.effect(
    "R-105 a transient failure waits by default: from a second, doubling, at most thirty, a fifth up or down",
    () =>
      Effect.gen(function* () {
        const { millis } = yield* delays(8, Effect.fail(Failure.transient("busy")), {})
        for (const [index, delay] of millis.entries()) {
          const nominal = Math.min(30_000, 1_000 * 2 ** index)
          assert.isTrue(delay >= nominal * 0.8 && delay <= nominal * 1.2, `${index}: ${delay}`)
        }
        assert.strictEqual(millis.length, 8)
      })
  )

  it.effect("R-105 a transient failure's retryAfter is a lower bound, of a schedule of its own too", () =>
    Effect.gen(function* () {
      const busy = Effect.fail(Failure.transient("busy", { retryAfter: "40 seconds" }))
      assert.deepStrictEqual((yield* delays(2, busy, {})).millis, [40_000, 40_000])
      assert.deepStrictEqual(
        (yield* delays(2, busy, { backoff: Schedule.spaced("1 minute") })).millis,
        [60_000, 60_000]
      )
    })
  )
})

describe("clean-up over restarts", () => {
  it.effect("R-107 ten thousand restarts release what each incarnation acquired, once, before the next begins", () =>
    Effect.gen(function* () {
      let open = 0
      let most = 0
      let acquired = 0
      let released = 0
      const rounds = 10_000
      const done = Effect.suspend(() => (acquired > rounds ? Effect.never : Effect.die("again")))
      const child = Child.make(
        "a",
        Effect.as(
          Effect.acquireRelease(
            Effect.sync(() => {
              acquired += 1
              open += 1
              most = Math.max(most, open)
            }),
            () =>
              Effect.sync(() => {
                released += 1
                open -= 1
              })
          ),
          done
        )
      )
      const root = Supervisor.make("root", { intensity: { restarts: 100_000, within: "1 hour" }, children: [child] })
      const { tree } = yield* new Stage().start(root)
      yield* Effect.yieldNow.pipe(Effect.repeat({ until: () => acquired > rounds }))
      assert.deepStrictEqual([acquired, released, open, most], [rounds + 1, rounds, 1, 1])
      yield* tree.stop
      assert.deepStrictEqual([released, open], [rounds + 1, 0])
    })
  )
})
