/* oxlint-disable vitest/warn-todo -- a row that is left out keeps its place, with the reason */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Context, Deferred, type Duration, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Failure, Supervisor } from "espalier"

import { Mount } from "../../src/internal/mount.ts"
import { Decisions, fakeChild } from "../fixtures/decisions.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const seconds = (millis: number): number => millis / 1_000

const shown = (exit: Exit.Exit<unknown, unknown>): string => (Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")

/** When an effect ends, in milliseconds of the test clock. */
const finishedAt = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Fiber.Fiber<readonly [A, number], E>> =>
  Effect.forkChild(
    Effect.flatMap(effect, (value) => Effect.map(Clock.currentTimeMillis, (at) => [value, at] as const)),
    { startImmediately: true }
  )

/** A child that makes the decision to start it throw. */
class Bomb extends Mount {
  readonly kind = "worker"
  protected launch(): void {
    throw new Error("the runtime is broken")
  }
  protected quit(): void {}
  protected fence(): boolean {
    return false
  }
  snapshot() {
    return this.node([])
  }
}
const policy = Child.policyOf("test", "bomb", undefined, Child.workerDefaults)
const bomb = Child.fromMount<never, never, never>(
  policy,
  [],
  (runtime, parent, outer) => new Bomb(runtime, parent, policy, outer)
)

describe("F: shutdown, on the core", () => {
  const abc = () => new Decisions("one-for-one", [fakeChild("a"), fakeChild("b"), fakeChild("c")])

  it("C-059 the core stops one child after the other, in reverse", () => {
    const core = abc().boot()
    core.stop()
    assert.deepStrictEqual(core.take(), ["stop c"])
    core.down("c")
    assert.deepStrictEqual(core.take(), ["stop b"])
    core.down("b")
    assert.deepStrictEqual(core.take(), ["stop a"])
    core.down("a")
    assert.deepStrictEqual(core.take(), ["ended Stopped"])
  })

  it("C-060 the core goes on after a child that was abandoned, and remembers that it leaked", () => {
    const core = abc().boot()
    core.stop()
    core.down("c", "stop", { leaked: true })
    assert.deepStrictEqual(core.take(), ["stop c", "stop b"])
    assert.strictEqual(core.get("c").state, "leaked")
  })

  it("C-064 the core restarts nobody who ends by itself while the supervisor stops", () => {
    const core = abc().boot()
    core.stop()
    core.down("a", "restart")
    core.down("b", "escalate")
    core.down("c", "restart")
    assert.deepStrictEqual(core.take(), ["stop c", "ended Stopped"])
  })

  it("C-065 the core stops nobody whose own exit waits behind the request to stop it", () => {
    const core = abc().boot()
    const c = core.request("StopChild", "c")
    const a = core.request("StopChild", "a")
    core.down("a", "stop") // it waits, behind the request
    core.down("c")
    assert.deepStrictEqual(core.take(), ["stop c", "settled c", "settled a"])
    assert.deepStrictEqual([c.answer, a.answer], [{ _tag: "Done" }, { _tag: "Done" }])
    assert.strictEqual(core.state.exits.size, 0)
    core.stop()
    core.down("b")
    assert.deepStrictEqual(core.take(), ["stop b", "ended Stopped"])
  })

  it("C-065 the core takes back a group without the member that died while the group was started", () => {
    const core = new Decisions("one-for-all", [fakeChild("a"), fakeChild("b"), fakeChild("c")]).boot()
    core.down("c", "restart")
    core.down("b")
    core.down("a")
    core.up("a")
    core.down("a", "restart") // it waits: the group is being started
    core.startFails("b")
    assert.deepStrictEqual(core.take().slice(-3), ["start a", "start b", "retry b"])
    assert.strictEqual(core.get("a").state, "stopped")
    core.send({ _tag: "Retry", child: core.get("b"), incarnation: 2, now: 100 })
    assert.deepStrictEqual(core.take(), ["restarting b", "start a"])
  })

  it("C-069 the core stops at once when a retry is due, and ignores the retry that comes after", () => {
    const core = abc().boot()
    core.down("b", "restart", { delayMillis: 100 })
    assert.deepStrictEqual(core.take(), ["retry b"])
    core.stop()
    assert.deepStrictEqual(core.take(), ["stop c"])
    core.send({ _tag: "Retry", child: core.get("b"), incarnation: 1, now: 5 })
    core.down("c")
    core.send({ _tag: "Retry", child: core.get("b"), incarnation: 1, now: 6 })
    core.down("a")
    assert.deepStrictEqual(core.take(), ["cancel b", "stop a", "ended Stopped"])
  })

  it("C-070 the core interrupts the init that is under way, and starts nobody after it", () => {
    const core = abc()
    core.send({ _tag: "Boot" })
    core.up("a")
    core.stop()
    assert.deepStrictEqual(core.take(), ["start a", "start b", "stop b"])
    core.up("b") // its ready crossed the stop: it will still exit
    assert.deepStrictEqual(core.take(), [])
    core.down("b")
    core.down("a")
    assert.deepStrictEqual(core.take(), ["stop a", "ended Stopped"])
  })

  it("C-072 the core ignores every stop but the first", () => {
    const core = abc().boot()
    for (let i = 0; i < 3; i++) core.stop()
    for (const id of ["c", "b", "a"]) core.down(id)
    core.stop()
    assert.deepStrictEqual(core.take(), ["stop c", "stop b", "stop a", "ended Stopped"])
  })
})

describe("F: shutdown", () => {
  it.effect("C-059 a stop goes through the children in reverse, each down before the next is asked", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: ["a", "b", "c"].map((id) => stage.child(id, { cleanup: "1 second" }))
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("10 seconds")
      const [report, at] = yield* Fiber.join(stopping)
      assert.deepStrictEqual(stage.log, ["stop c", "down c", "stop b", "down b", "stop a", "down a"])
      assert.deepStrictEqual(report, { leaked: [] })
      assert.strictEqual(seconds(at), 3)
      assert.deepStrictEqual(stage.steps, [
        "Stopping root",
        "Stopping c",
        "Exited c",
        "Stopping b",
        "Exited b",
        "Stopping a",
        "Exited a",
        "Exited root"
      ])
      assert.isTrue(stage.of("Exited").every((event) => event.ordered && event.reason._tag === "Shutdown"))
    })
  )

  it.effect(
    "C-060 a child whose clean-up hangs is abandoned at its grace time, the others stop well, the times add up",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [
            stage.child("a", { cleanup: "100 millis" }),
            stage.child("b", { cleanup: "Infinity", shutdown: "300 millis" }),
            stage.child("c", { cleanup: "200 millis" })
          ]
        })
        const { tree } = yield* stage.start(root)
        stage.takeLog()
        const stopping = yield* finishedAt(tree.stop)
        yield* TestClock.adjust("5 seconds")
        const [report, at] = yield* Fiber.join(stopping)
        assert.strictEqual(at, 600)
        assert.deepStrictEqual(stage.log, ["stop c", "down c", "stop b", "stop a", "down a"])
        assert.deepStrictEqual(report.leaked, [["root", "b"]])
        assert.deepStrictEqual(
          stage.of("Exited").map((event) => [event.path.at(-1), event.reason._tag, event.at]),
          [
            ["c", "Shutdown", 200],
            ["b", "Killed", 500],
            ["a", "Shutdown", 600],
            ["root", "Shutdown", 600]
          ]
        )
        assert.deepStrictEqual(
          stage.of("Leaked").map((event) => [event.path, event.at]),
          [[["root", "b"], 500]]
        )
      })
  )

  it.effect("C-060 the grace time covers the body and the clean-up together", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const body = Effect.uninterruptible(Effect.sleep("200 millis"))
      const slow = Child.make(
        "slow",
        Effect.as(
          Effect.addFinalizer(() => Effect.never),
          body
        ),
        { shutdown: "300 millis" }
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [slow] }))
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 300)
    })
  )

  it.effect("C-061 abandon does not wait for the clean-up, which goes on by itself and is told when it ends", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("a", { cleanup: "1 minute", shutdown: "abandon" }),
          stage.child("quick", { shutdown: "abandon" })
        ]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      const report = yield* tree.stop
      assert.deepStrictEqual(report.leaked, [["root", "a"]])
      assert.deepStrictEqual(stage.log, ["stop quick", "down quick", "stop a"])
      assert.strictEqual(stage.of("Exited", "a")[0]!.reason._tag, "Killed")
      assert.deepStrictEqual(stage.of("Leaked", "quick"), [])
      assert.deepStrictEqual(stage.of("LeakEnded"), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(stage.log.slice(3), ["down a"])
      assert.deepStrictEqual(
        stage.of("LeakEnded").map((event) => [event.path.at(-1), event.incarnation, event.at]),
        [["a", 1, 60_000]]
      )
      assert.deepStrictEqual((yield* tree.stop).leaked, [])
    })
  )

  it.effect("C-062 an unlimited grace waits as long as the clean-up takes, for workers and supervisors", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("worker", { cleanup: "2 hours", shutdown: "Infinity" }),
          Supervisor.make("middle", { children: [stage.child("leaf", { cleanup: "3 hours", shutdown: "Infinity" })] })
        ]
      })
      const { tree } = yield* stage.start(root)
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("1 day")
      const [report, at] = yield* Fiber.join(stopping)
      assert.strictEqual(at, 5 * 3_600_000)
      assert.deepStrictEqual(report.leaked, [])
      assert.isTrue(stage.of("Exited").every((event) => event.reason._tag === "Shutdown"))
    })
  )

  it.effect("C-062 a grace of zero lets a child without clean-up shut down and kills one that is slow", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          Child.effect("bare", Effect.never, { shutdown: 0 }),
          stage.child("slow", { cleanup: "1 second", shutdown: 0 })
        ]
      })
      const { tree } = yield* stage.start(root)
      const report = yield* tree.stop
      assert.deepStrictEqual(
        stage.of("Exited").map((event) => [event.path.at(-1), event.reason._tag]),
        [
          ["slow", "Killed"],
          ["bare", "Shutdown"],
          ["root", "Shutdown"]
        ]
      )
      assert.deepStrictEqual(report.leaked, [["root", "slow"]])
    })
  )

  it.effect("C-063 a supervisor's subtree is down before the sibling ahead of it is asked to stop", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("first"),
          Supervisor.make("inner", {
            children: [stage.child("x", { cleanup: "1 second" }), stage.child("y", { cleanup: "1 second" })]
          }),
          stage.child("last")
        ]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(stage.log, [
        "stop last",
        "down last",
        "stop y",
        "down y",
        "stop x",
        "down x",
        "stop first",
        "down first"
      ])
      const steps = stage.steps
      assert.isBelow(steps.indexOf("Exited inner"), steps.indexOf("Stopping first"))
    })
  )

  for (const [how, end, reason] of [
    ["normally", Effect.void, "Normal"],
    ["with Shutdown", Effect.fail(new Failure.Shutdown({ detail: "done" })), "Shutdown"],
    ["with an error", Effect.fail("broken"), "Error"],
    ["with a defect", Effect.die("broken"), "Error"]
  ] as const) {
    it.effect(`C-064 a child that ends ${how} during the stop is not restarted, and the stop completes`, () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [stage.child("a"), stage.child("b"), stage.child("c", { cleanup: "1 second" })]
        })
        const { tree } = yield* stage.start(root)
        stage.takeLog()
        const stopping = yield* finishedAt(tree.stop)
        yield* until("c is stopping", () => stage.log.includes("stop c"))
        stage.end("a", end)
        stage.end("b", end)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        yield* quiet
        assert.deepStrictEqual(
          stage.log.filter((line) => line.startsWith("start")),
          []
        )
        assert.deepStrictEqual(stage.of("Restarting"), [])
        assert.strictEqual(stage.of("Exited", "a")[0]!.reason._tag, reason)
        assert.strictEqual(stage.of("Exited", "root")[0]!.reason._tag, "Shutdown")
        assert.deepStrictEqual(yield* Effect.exit(tree.ended), Exit.void)
      })
    )
  }

  it.effect("C-064 what goes wrong on the way down is reported with the ordered exit", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const fragile = Child.make(
        "fragile",
        Effect.as(
          Effect.addFinalizer(() => Effect.die("no clean-up")),
          Effect.never
        )
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [fragile] }))
      yield* tree.stop
      const [exited] = stage.of("Exited", "fragile")
      assert.isTrue(exited!.ordered)
      assert.strictEqual(exited!.reason._tag, "Shutdown")
      assert.include(JSON.stringify(exited!.reason), "no clean-up")
    })
  )

  it.effect("C-065 a child that ends in the tick in which its stop begins keeps its own reason", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", { children: [stage.child("a"), stage.child("b")] })
      const { tree } = yield* stage.start(root)
      const handle = yield* tree.find(["root"])
      stage.takeLog()
      // The child ends first: the stop finds it gone, and both are right.
      const stopping = yield* Effect.forkChild(
        Effect.andThen(
          Effect.sync(() => stage.end("a", Effect.fail("its own reason"))),
          handle.stopChild("a")
        ),
        { startImmediately: true }
      )
      assert.deepStrictEqual(yield* Fiber.join(stopping), undefined)
      const [exited] = stage.of("Exited", "a")
      assert.strictEqual(exited!.reason._tag, "Error")
      assert.include(JSON.stringify(exited!.reason), "its own reason")
      assert.isFalse(exited!.ordered)
    })
  )

  it.effect("C-065 ten thousand races of an end with a stop leave no trouble behind", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 1_000_000, within: "1 second" },
        children: [Child.effect("keeper", Effect.never)]
      })
      const { tree } = yield* stage.start(root)
      const handle = yield* tree.find(["root"])
      let doors: Array<Deferred.Deferred<void>> = []
      for (let round = 0; round < 100; round++) {
        doors = []
        for (let i = 0; i < 100; i++) {
          const door = Deferred.makeUnsafe<void>()
          doors.push(door)
          yield* handle.startChild(Child.effect(`c${i}`, Deferred.await(door), { restart: "on-failure" }))
        }
        yield* Effect.forEach(
          doors,
          (door, i) => {
            const end = Deferred.succeed(door, undefined)
            const stop = handle.stopChild(`c${i}`)
            if (i % 3 === 0) return Effect.andThen(end, stop)
            return i % 3 === 1 ? Effect.all([stop, end], { concurrency: 2 }) : stop
          },
          { concurrency: "unbounded", discard: true }
        )
        yield* Effect.forEach(doors, (_, i) => handle.removeChild(`c${i}`), { discard: true })
      }
      const reasons = new Set(stage.of("Exited").map((event) => event.reason._tag))
      assert.isTrue(reasons.has("Normal") && reasons.has("Shutdown"))
      assert.isFalse(reasons.has("Error") || reasons.has("Killed"))
      assert.lengthOf(stage.of("Exited"), 10_000)
      assert.deepStrictEqual(stage.of("Failed"), [])
    })
  )

  it.effect("C-066 a child that swallows interruption or leaves work detached cannot make a stop hang", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let detached = 0
      const swallower = Child.effect(
        "swallower",
        Effect.never.pipe(
          Effect.exit,
          Effect.catchCause(() => Effect.void),
          Effect.forever
        )
      )
      const deserter = Child.effect(
        "deserter",
        Effect.andThen(
          Effect.forkDetach(
            Effect.andThen(
              Effect.sleep("1 hour"),
              Effect.sync(() => (detached += 1))
            )
          ),
          Effect.never
        )
      )
      const stubborn = Child.effect("stubborn", Effect.uninterruptible(Effect.sleep("1 hour")), {
        shutdown: "2 seconds"
      })
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [swallower, deserter, stubborn] }))
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("2 seconds")
      const [report, at] = yield* Fiber.join(stopping)
      assert.strictEqual(at, 2_000)
      assert.deepStrictEqual(report.leaked, [["root", "stubborn"]])
      assert.strictEqual(detached, 0)
    })
  )

  it.effect("C-067 a supervisor that runs out of patience takes its leaves down, or names them as leaked", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("elder"),
          Supervisor.make("middle", {
            shutdown: "1 second",
            children: [
              stage.child("good"),
              Supervisor.make("deep", {
                children: [stage.child("fine"), stage.child("hung", { cleanup: "1 hour", shutdown: "Infinity" })]
              }),
              stage.child("waiting", { cleanup: "500 millis" })
            ]
          })
        ]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("1 second")
      const [report, at] = yield* Fiber.join(stopping)
      assert.strictEqual(at, 1_000)
      assert.deepStrictEqual(report.leaked, [["root", "middle", "deep", "hung"]])
      assert.deepStrictEqual(
        stage.log.filter((line) => line.startsWith("down")),
        ["down waiting", "down fine", "down good", "down elder"]
      )
      assert.deepStrictEqual(
        stage.of("Leaked").map((event) => event.path.at(-1)),
        ["hung"]
      )
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(
        stage.of("LeakEnded").map((event) => event.path.at(-1)),
        ["hung"]
      )
      assert.deepStrictEqual((yield* tree.stop).leaked, [])
    })
  )

  it.effect("C-067 an abandoned incarnation is fenced: its late end neither restarts nor disturbs its successor", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [stage.child("a", { cleanup: "10 seconds", shutdown: "1 second" })]
      })
      const { tree } = yield* stage.start(root)
      const handle = yield* tree.find(["root"])
      const stopping = yield* Effect.forkChild(handle.stopChild("a"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "leaked")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").leaked, 1)
      yield* handle.restartChild("a")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").leaked, 1)
      yield* TestClock.adjust("10 seconds")
      const node = nodeOf(yield* tree.snapshot, "a")
      assert.deepStrictEqual([node.state, node.incarnation, node.leaked, node.restarts], ["running", 2, 0, 0])
      assert.deepStrictEqual(
        stage.of("LeakEnded").map((event) => event.incarnation),
        [1]
      )
      const stopping2 = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual((yield* Fiber.join(stopping2))[0], { leaked: [["root", "a"]] })
    })
  )

  it.effect("C-068 a decision that throws ends the tree with everything in it, and the tree dies of that defect", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Echo extends Actor.Service<Echo>()("Echo", [Rpc.make("Wait", {})]) {}
      const root = Supervisor.make("root", {
        children: [
          stage.child("a"),
          Supervisor.make("inner", { children: [stage.child("b"), stage.child("slow", { cleanup: "1 second" })] }),
          Echo.child(Effect.succeed(Echo.handlers({ Wait: () => Effect.never })))
        ]
      })
      const { context, tree } = yield* stage.start(root)
      const asking = yield* Effect.forkChild(Context.get(context, Echo).Wait(), { startImmediately: true })
      stage.takeLog()
      const handle = yield* tree.find(["root", "inner"])
      yield* Effect.forkChild(handle.startChild(bomb))
      const exit = yield* Effect.exit(tree.ended)
      assert.isTrue(Exit.hasDies(exit))
      assert.include(shown(exit), "the runtime is broken")
      assert.strictEqual((yield* Effect.flip(Fiber.join(asking)))._tag, "ActorStopped")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(stage.log.toSorted(), ["down a", "down b", "down slow", "stop a", "stop b", "stop slow"])
      assert.deepStrictEqual(
        stage.of("Leaked").map((event) => event.path.at(-1)),
        stage.of("LeakEnded").map((event) => event.path.at(-1))
      )
      assert.strictEqual((yield* Effect.flip(handle.stopChild("b"))).reason, "not-running")
    })
  )

  it.effect("C-068 a decision that throws while the tree starts is a defect of the start", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const exit = yield* Effect.exit(stage.start(Supervisor.make("root", { children: [stage.child("a"), bomb] })))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(shown(exit), "the runtime is broken")
      yield* quiet
      assert.deepStrictEqual(stage.log.slice(-1), ["down a"])
    })
  )

  it.effect("C-069 a stop during a backoff is obeyed before the next attempt", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [stage.child("a"), stage.child("b", { backoff: Schedule.spaced("1 minute") })]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      stage.end("b")
      yield* until("b waits", () => stage.of("BackingOff", "b").length === 1)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "b").state, "backing-off")
      yield* tree.stop
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(stage.log, ["stop b", "down b", "stop a", "down a"])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "b").state, "stopped")
    })
  )

  it.effect("C-069 a stop overtakes a restart that fails to start again and again", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let broken = false
      let attempts = 0
      const init = Effect.suspend(() => {
        if (!broken) return Effect.void
        attempts += 1
        return Effect.die("not yet")
      })
      const root = Supervisor.make("root", {
        intensity: { restarts: 1_000_000, within: "1 minute" },
        children: [stage.child("a", { init })]
      })
      const { tree } = yield* stage.start(root)
      broken = true
      stage.end("a")
      yield* until("some attempts", () => attempts > 5)
      yield* tree.stop
      const then = attempts
      yield* quiet
      assert.strictEqual(attempts, then)
      assert.deepStrictEqual(yield* Effect.exit(tree.ended), Exit.void)
    })
  )

  it.effect("C-070 a stop during an init interrupts it, releases what it had, and resolves after that", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("a"),
          stage.child("b", { init: Effect.never, cleanup: "1 second", initTimeout: "Infinity" }),
          stage.child("c")
        ]
      })
      const starting = yield* Effect.forkChild(Effect.scoped(stage.start(root)), { startImmediately: true })
      yield* until("b is in its init", () => stage.log.includes("start b"))
      const interrupting = yield* finishedAt(Fiber.interrupt(starting))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(interrupting))[1], 1_000)
      assert.deepStrictEqual(stage.log, ["start a", "up a", "start b", "stop b", "down b", "stop a", "down a"])
    })
  )

  it.effect("C-070 a stop during the init of a restart is not lost", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let slow = false
      const init = Effect.suspend(() => (slow ? Effect.never : Effect.void))
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a", { init })] }))
      slow = true
      stage.takeLog()
      stage.end("a")
      yield* until("a starts again", () => stage.log.includes("start a"))
      yield* tree.stop
      assert.deepStrictEqual(stage.log, ["stop a", "down a", "start a", "stop a", "down a"])
    })
  )

  it.effect("C-071 a dynamic supervisor stops its children at the same time, each within its own grace time", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      class Crew extends Supervisor.DynamicService<Crew, Duration.Input, never, unknown>()("crew") {}
      let hands = 0
      const crew = Crew.child((cleanup) =>
        stage.child(`hand ${(hands += 1)}`, {
          cleanup,
          shutdown: cleanup === "Infinity" ? "500 millis" : "5 seconds"
        })
      )
      const { context, tree } = yield* stage.start(Supervisor.make("ship", { children: [crew] }))
      const { start } = yield* Effect.provide(Crew, context)
      for (const cleanup of ["300 millis", "Infinity", "300 millis"] as const) yield* start(cleanup)
      stage.takeLog()
      const stopping = yield* finishedAt(tree.stop)
      yield* until("all are asked", () => stage.log.length === 3)
      assert.deepStrictEqual(stage.log.toSorted(), ["stop hand 1", "stop hand 2", "stop hand 3"])
      yield* TestClock.adjust("300 millis")
      assert.deepStrictEqual(stage.log.slice(3).toSorted(), ["down hand 1", "down hand 3"])
      yield* TestClock.adjust("10 seconds")
      const [report, at] = yield* Fiber.join(stopping)
      assert.strictEqual(at, 500)
      assert.deepStrictEqual(report.leaked, [["ship", "crew", "2"]])
    })
  )

  it.effect("C-072 any number may ask for the stop, and all hear of it after the last clean-up", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", { children: [stage.child("a", { cleanup: "3 seconds" })] })
      const { tree } = yield* stage.start(root)
      const early = yield* Effect.forEach([1, 2, 3, 4, 5], () => finishedAt(tree.stop))
      const interrupted = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(interrupted)
      const late = yield* Effect.forEach([1, 2], () => finishedAt(tree.stop))
      const waiting = yield* finishedAt(tree.ended)
      yield* TestClock.adjust("2 seconds")
      for (const fiber of [...early, ...late]) assert.strictEqual((yield* Fiber.join(fiber))[1], 3_000)
      assert.strictEqual((yield* Fiber.join(waiting))[1], 3_000)
      assert.deepStrictEqual(stage.log.slice(-1), ["down a"])
      assert.lengthOf(stage.of("Stopping", "a"), 1)
      assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
    })
  )

  class Press extends Actor.Service<Press>()("Press", [
    Rpc.make("Print", { payload: { page: Schema.Finite }, success: Schema.Finite })
  ]) {}

  /** An actor that takes a second for each page, and has a stop hook. */
  const press = (log: Array<string>, options?: Actor.Options<never>) =>
    Press.child(
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => Effect.sync(() => log.push("stop hook")))
        return Press.handlers({
          Print: ({ page }) =>
            Effect.sync(() => log.push(`begin ${page}`)).pipe(
              Effect.andThen(Effect.sleep("1 second")),
              Effect.andThen(Effect.sync(() => log.push(`end ${page}`))),
              Effect.onInterrupt(() => Effect.sync(() => log.push(`interrupted ${page}`))),
              Effect.as(page)
            )
        })
      }),
      options
    )

  const printing = (options?: Actor.Options<never>) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [press(stage.log, options)] }))
      const ref = Context.get(context, Press)
      const first = yield* Effect.forkChild(Effect.exit(ref.Print({ page: 1 })), { startImmediately: true })
      const second = yield* Effect.forkChild(Effect.exit(ref.Print({ page: 2 })), { startImmediately: true })
      yield* ref.tell.Print({ page: 3 })
      yield* until("page 1 is being printed", () => stage.log.includes("begin 1"))
      return { stage, tree, ref, first, second }
    })

  it.effect("C-073 with finish, the message in progress ends and answers, the hook runs, the queue is skipped", () =>
    Effect.gen(function* () {
      const { stage, tree, first, second } = yield* printing({ stop: "finish" })
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 1_000)
      assert.deepStrictEqual(stage.log, ["begin 1", "end 1", "stop hook"])
      assert.deepStrictEqual(yield* Fiber.join(first), Exit.succeed(1))
      assert.include(JSON.stringify(yield* Fiber.join(second)), "ActorStopped")
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => [event.message, event.reason]),
        [["Print", "stopped"]]
      )
    })
  )

  it.effect("C-073 by default, the message in progress is interrupted, then the hook runs", () =>
    Effect.gen(function* () {
      const { stage, tree, first, second } = yield* printing()
      const [, at] = yield* Fiber.join(yield* finishedAt(tree.stop))
      assert.strictEqual(at, 0)
      assert.deepStrictEqual(stage.log, ["begin 1", "interrupted 1", "stop hook"])
      assert.include(JSON.stringify(yield* Fiber.join(first)), "ActorStopped")
      assert.include(JSON.stringify(yield* Fiber.join(second)), "ActorStopped")
    })
  )

  it.effect("C-073 with finish, a message that takes longer than the grace time is abandoned", () =>
    Effect.gen(function* () {
      const { stage, tree, first } = yield* printing({ stop: "finish", shutdown: "300 millis" })
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("300 millis")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 300)
      assert.deepStrictEqual(stage.log, ["begin 1", "interrupted 1", "stop hook"])
      assert.include(JSON.stringify(yield* Fiber.join(first)), "ActorStopped")
    })
  )

  it.effect("C-073 abandon interrupts the handler and does not wait", () =>
    Effect.gen(function* () {
      const { stage, tree, first } = yield* printing({ stop: "finish", shutdown: "abandon" })
      yield* tree.stop
      assert.deepStrictEqual(stage.log, ["begin 1", "interrupted 1", "stop hook"])
      assert.include(JSON.stringify(yield* Fiber.join(first)), "ActorStopped")
    })
  )

  it.effect("C-073 drain handles what is queued, refuses what comes, then runs the hook", () =>
    Effect.gen(function* () {
      const { stage, tree, ref, first, second } = yield* printing({ stop: "drain" })
      const stopping = yield* finishedAt(tree.stop)
      yield* quiet
      const late = yield* Effect.exit(ref.Print({ page: 4 }))
      yield* ref.tell.Print({ page: 5 })
      assert.isFalse(ref.tellUnsafe.Print({ page: 6 }))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 3_000)
      assert.deepStrictEqual(stage.log, ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3", "stop hook"])
      assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [Exit.succeed(1), Exit.succeed(2)])
      assert.include(JSON.stringify(late), "ActorStopped")
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => [event.message, event.reason]),
        [["Print", "stopped"]]
      )
    })
  )

  it.effect("C-073 a drain ends with the grace time, and what is left is answered and reported", () =>
    Effect.gen(function* () {
      const { stage, tree, first, second } = yield* printing({ stop: "drain", shutdown: "1500 millis" })
      const stopping = yield* finishedAt(tree.stop)
      yield* TestClock.adjust("1500 millis")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 1_500)
      assert.deepStrictEqual(stage.log, ["begin 1", "end 1", "begin 2", "interrupted 2", "stop hook"])
      assert.deepStrictEqual(yield* Fiber.join(first), Exit.succeed(1))
      assert.include(JSON.stringify(yield* Fiber.join(second)), "ActorStopped")
      assert.lengthOf(stage.of("DeadLetter"), 1)
    })
  )

  it.effect("C-073 a drain of an idle actor is at once, and a drained actor can be started again", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { children: [press(stage.log, { stop: "drain" })] })
      )
      const root = yield* tree.find(["root"])
      assert.strictEqual((yield* Fiber.join(yield* finishedAt(root.stopChild("Press"))))[1], 0)
      yield* root.restartChild("Press")
      const page = yield* Effect.forkChild(Context.get(context, Press).Print({ page: 1 }), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(page), 1)
    })
  )

  it.effect("C-073 a group restart keeps the mail instead of draining it", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        strategy: "one-for-all",
        children: [press(stage.log, { stop: "drain" }), stage.child("sibling")]
      })
      const { context } = yield* stage.start(root)
      const ref = Context.get(context, Press)
      yield* ref.tell.Print({ page: 1 })
      yield* until("page 1 is being printed", () => stage.log.includes("begin 1"))
      const second = yield* Effect.forkChild(ref.Print({ page: 2 }), { startImmediately: true })
      stage.end("sibling")
      yield* quiet
      yield* ref.tell.Print({ page: 3 })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(second), 2)
      assert.deepStrictEqual(
        stage.log.filter((line) => !line.includes("sibling")),
        ["begin 1", "end 1", "stop hook", "begin 2", "end 2", "begin 3", "end 3"]
      )
      assert.deepStrictEqual(stage.of("DeadLetter"), [])
    })
  )

  class Desk extends Actor.Service<Desk>()("Desk", [
    Rpc.make("Later", { success: Schema.String }),
    Rpc.make("Plain", { payload: { n: Schema.Finite } }),
    Rpc.make("Crash", {})
  ]) {}

  it.effect("C-073 a drain waits for answers that a handler left for later, and handles plain messages in turns", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const answer = Deferred.makeUnsafe<string>()
      const seen: Array<number> = []
      const desk = Desk.child(
        Effect.succeed(
          Desk.handlers({ Later: () => answer, Plain: ({ n }) => void seen.push(n), Crash: () => Effect.die("boom") })
        ),
        { stop: "drain" }
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [desk] }))
      const ref = Context.get(context, Desk)
      const later = yield* Effect.forkChild(ref.Later(), { startImmediately: true })
      for (let n = 0; n < 1_000; n++) yield* ref.tell.Plain({ n })
      const stopping = yield* finishedAt(tree.stop)
      yield* quiet
      assert.lengthOf(seen, 1_000)
      assert.isUndefined(stopping.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      yield* Deferred.succeed(answer, "done")
      assert.strictEqual(yield* Fiber.join(later), "done")
      assert.strictEqual((yield* Fiber.join(stopping))[1], 2_000)
      assert.deepStrictEqual(stage.of("DeadLetter"), [])
    })
  )

  it.effect("C-073 a crash ends a drain: what was behind it is refused", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const seen: Array<number> = []
      const desk = Desk.child(
        Effect.succeed(
          Desk.handlers({
            Later: () => Effect.as(Effect.sleep("1 second"), "done"),
            Plain: ({ n }) => void seen.push(n),
            Crash: () => Effect.die("boom")
          })
        ),
        { stop: "drain" }
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [desk] }))
      const ref = Context.get(context, Desk)
      yield* ref.tell.Later()
      yield* ref.tell.Plain({ n: 1 })
      const crash = yield* Effect.forkChild(Effect.exit(ref.Crash()), { startImmediately: true })
      yield* ref.tell.Plain({ n: 2 })
      yield* stage.stop(tree, "1 second")
      assert.deepStrictEqual(seen, [1])
      assert.include(JSON.stringify(yield* Fiber.join(crash)), "ActorCrashed")
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => event.reason),
        ["stopped"]
      )
      const [exited] = stage.of("Exited", "Desk")
      assert(exited?.reason._tag === "Shutdown")
      assert.include(shown(Exit.failCause(exited.reason.cause!)), "boom")
    })
  )
})
