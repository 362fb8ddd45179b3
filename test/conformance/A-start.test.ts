import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Context, Data, Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Child, Supervisor } from "espalier"

import { Decisions, fakeChild } from "../fixtures/decisions.ts"
import { nodeOf, quiet, Stage } from "../fixtures/stage.ts"

class Broken extends Data.TaggedError("Broken")<{ readonly part: string }> {}

const failureOf = <E>(exit: Exit.Exit<unknown, Supervisor.StartFailure<E>>): Supervisor.StartFailure<E> => {
  assert.isTrue(Exit.isFailure(exit))
  const reason = (exit as Exit.Failure<unknown, Supervisor.StartFailure<E>>).cause.reasons.find(Cause.isFailReason)
  return reason!.error
}

describe("A: start, on the core", () => {
  it("C-001 R-102 the core starts the next child only after the one before is up", () => {
    const core = new Decisions("one-for-one", [fakeChild("a"), fakeChild("b")])
    core.send({ _tag: "Boot" })
    assert.deepStrictEqual(core.take(), ["start a"])
    core.up("a")
    assert.deepStrictEqual(core.take(), ["start b"])
    core.up("b")
    assert.deepStrictEqual(core.take(), ["ready"])
  })

  it("C-003 C-006 the core rolls a failed start back in reverse, once, and spends nothing", () => {
    const core = new Decisions(
      "one-for-one",
      ["a", "b", "c", "d"].map((id) => fakeChild(id)),
      {
        restarts: 10,
        within: "5 seconds"
      }
    )
    core.send({ _tag: "Boot" })
    core.up("a")
    core.up("b")
    core.take()
    core.startFails("c")
    assert.deepStrictEqual(core.take(), ["stop b"])
    core.down("b")
    assert.deepStrictEqual(core.take(), ["stop a"])
    core.down("a")
    assert.deepStrictEqual(core.take(), ["ended StartFailed"])
  })
})

describe("A: start, on a living tree", () => {
  it.effect(
    "C-001 C-002 R-102 children start in order, each after the one before is ready, then the tree counts as started",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [stage.child("a", { init: Effect.sleep("50 millis") }), stage.child("b"), stage.child("c")]
        })
        const starting = yield* Effect.forkChild(stage.start(root), { startImmediately: true })
        yield* quiet
        assert.deepStrictEqual(stage.log, ["start a"])
        assert.isUndefined(starting.pollUnsafe())
        yield* TestClock.adjust("50 millis")
        yield* Fiber.join(starting)
        assert.deepStrictEqual(stage.log, ["start a", "up a", "start b", "up b", "start c", "up c"])
      })
  )

  it.effect(
    "C-003 C-004 R-102 a failed start undoes the others in reverse, waits for their clean-up, and names the child",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [
            stage.child("a"),
            stage.child("b", { cleanup: "100 millis" }),
            Child.make("c", Effect.fail(new Broken({ part: "wheel" }))),
            stage.child("d")
          ]
        })
        const starting = yield* Effect.forkChild(Effect.exit(stage.start(root)), { startImmediately: true })
        yield* quiet
        assert.deepStrictEqual(stage.takeLog(), ["start a", "up a", "start b", "up b", "stop b"])
        assert.isUndefined(starting.pollUnsafe())
        yield* TestClock.adjust("100 millis")
        const failure = failureOf(yield* Fiber.join(starting))
        assert.deepStrictEqual(stage.log, ["down b", "stop a", "down a"])
        assert.deepStrictEqual(failure.path, ["root", "c"])
        assert.deepStrictEqual(failure.cause, Cause.fail(new Broken({ part: "wheel" })))
        assert.include(failure.message, "root/c")
      })
  )

  it.effect.each([
    ["a typed failure", Effect.fail("no")],
    ["a defect", Effect.die(new Error("no"))],
    ["interrupting itself", Effect.interrupt],
    ["a value that is no effect", Effect.succeed("not an effect" as never)]
  ] as ReadonlyArray<readonly [string, Effect.Effect<Effect.Effect<void>, string>]>)(
    "C-005 a start that ends by %s is a failed start",
    ([, init]) =>
      Effect.gen(function* () {
        const stage = new Stage()
        const exit = yield* Effect.exit(
          stage.start(Supervisor.make("root", { children: [stage.child("a"), Child.make("b", init)] }))
        )
        assert.deepStrictEqual(failureOf(exit).path, ["root", "b"])
        assert.deepStrictEqual(stage.log, ["start a", "up a", "stop a", "down a"])
      })
  )

  it.effect("C-006 a child that fails at the first start is tried once, whatever the budget", () =>
    Effect.gen(function* () {
      let tries = 0
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 10, within: "5 seconds" },
        children: [
          Child.make(
            "a",
            Effect.suspend(() => Effect.fail(`try ${++tries}`)),
            { backoff: undefined, restart: "always" }
          )
        ]
      })
      yield* Effect.exit(stage.start(root))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(tries, 1)
      assert.deepStrictEqual(stage.of("Restarting"), [])
    })
  )

  it.effect("C-007 a child that declines is listed as stopped, a `never` one is forgotten, and nothing failed", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          Child.make("a", Effect.succeed(Child.ignore)),
          Child.make("b", Effect.succeed(Child.ignore), { restart: "on-failure" }),
          Child.make("c", Effect.succeed(Child.ignore), { restart: "never" }),
          stage.child("d")
        ]
      })
      const { tree } = yield* stage.start(root)
      const snapshot = yield* tree.snapshot
      assert.deepStrictEqual(
        snapshot.children.map(({ id, state }) => `${id} ${state}`),
        ["a stopped", "b stopped", "d running"]
      )
      assert.strictEqual(stage.of("Ignored").length, 3)
      assert.deepStrictEqual(stage.of("Restarting"), [])
    })
  )

  it("C-008 a spec that cannot be is refused before there is anything to start", () => {
    const started: Array<string> = []
    const child = Child.make(
      "a",
      Effect.sync(() => (started.push("a"), Effect.never))
    )
    assert.throws(
      () => Supervisor.make("root", { children: [child, child] }),
      RangeError,
      /two children of root have the id a/
    )
    assert.deepStrictEqual(started, [])
  })

  it.effect("C-009 R-107 a failed start is reported when what it held is free again", () =>
    Effect.gen(function* () {
      let held = false
      let succeed = false
      const claim = Effect.acquireRelease(
        Effect.suspend(() => (held ? Effect.die("still held") : Effect.sync(() => (held = true)))),
        () =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => (held = false))
          )
      )
      const root = Supervisor.make("root", {
        children: [
          Child.make(
            "owner",
            Effect.andThen(
              claim,
              Effect.suspend(() => (succeed ? Effect.succeed(Effect.never) : Effect.fail("late")))
            )
          )
        ]
      })
      const failure = failureOf(yield* Effect.exit(new Stage().start(root)))
      assert.deepStrictEqual(failure.cause, Cause.fail("late"))
      assert.isFalse(held)
      succeed = true
      yield* new Stage().start(root)
      assert.isTrue(held)
    })
  )

  it.effect("C-010 an init that hangs is cut off at its time-out, cleaned up, and not heard of again", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [stage.child("a"), stage.child("b", { init: Effect.never, initTimeout: "100 millis" })]
      })
      const starting = yield* Effect.forkChild(
        Effect.flatMap(Effect.exit(stage.start(root)), (exit) =>
          Effect.map(Clock.currentTimeMillis, (at) => [exit, at] as const)
        ),
        { startImmediately: true }
      )
      yield* TestClock.adjust("99 millis")
      assert.isUndefined(starting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const [exit, at] = yield* Fiber.join(starting)
      const failure = failureOf(exit)
      assert.strictEqual(at, 100)
      assert.deepStrictEqual(failure.path, ["root", "b"])
      assert.include(failure.message, "not ready after 100 ms")
      assert.deepStrictEqual(stage.takeLog(), ["start a", "up a", "start b", "stop b", "down b", "stop a", "down a"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(stage.events, [])
    })
  )

  it.effect("C-011 a child that dies as it becomes ready is an ordinary exit: restarted, one unit", () =>
    Effect.gen(function* () {
      let starts = 0
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          Child.make(
            "a",
            Effect.sync(() => (++starts === 1 ? Effect.die("at once") : Effect.never))
          ),
          stage.child("b")
        ]
      })
      const { tree } = yield* stage.start(root)
      yield* quiet
      assert.strictEqual(starts, 2)
      assert.strictEqual(stage.of("Restarting").length, 1)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
    })
  )

  it.effect("C-012 interrupting the starter undoes what was started, the half-made child first", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [stage.child("a"), stage.child("b", { init: Effect.never }), stage.child("c")]
      })
      const starting = yield* Effect.forkChild(Effect.scoped(stage.start(root)), { startImmediately: true })
      yield* quiet
      assert.deepStrictEqual(stage.takeLog(), ["start a", "up a", "start b"])
      yield* Fiber.interrupt(starting)
      assert.deepStrictEqual(stage.log, ["stop b", "down b", "stop a", "down a"])
    })
  )

  it.effect("C-012 a starter that is interrupted before anything began leaves nothing to wait for", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const gate = yield* Deferred.make<void>()
      const starting = yield* Effect.forkChild(
        Effect.scoped(
          Effect.andThen(Deferred.await(gate), stage.start(Supervisor.make("root", { children: [stage.child("a")] })))
        ),
        { startImmediately: true }
      )
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.interrupt(starting)
      assert.deepStrictEqual(
        stage.log.filter((line) => line.startsWith("start")).length,
        stage.log.filter((line) => line.startsWith("down")).length
      )
    })
  )

  it.effect("R-101 trees nest: five levels start in order and stop in reverse", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let tree = Supervisor.make("level-5", { children: [stage.child("leaf")] })
      for (let level = 4; level >= 1; level--) tree = Supervisor.make(`level-${level}`, { children: [tree] })
      const running = yield* stage.start(tree)
      assert.deepStrictEqual(stage.of("Started", "leaf")[0]?.path, [
        "level-1",
        "level-2",
        "level-3",
        "level-4",
        "level-5",
        "leaf"
      ])
      assert.deepStrictEqual(
        stage.of("Started").map(({ path }) => path.length),
        [6, 5, 4, 3, 2, 1]
      )
      yield* running.tree.stop
      assert.deepStrictEqual(
        stage.of("Exited").map(({ path }) => path.length),
        [6, 5, 4, 3, 2, 1]
      )
      assert.isTrue(Context.isContext(running.context))
    })
  )
})
