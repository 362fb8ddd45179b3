/** Mistakes that other runtimes shipped about stopping, orphans and leaks; each is shown not to be made here. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, Tree } from "espalier"

import { withCollector } from "../fixtures/real.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const plenty = { restarts: 1_000_000, within: "1 hour" } as const

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

/** Counts what lives. */
class Census {
  alive = 0
  readonly born = Effect.acquireRelease(
    Effect.sync(() => (this.alive += 1)),
    () => Effect.sync(() => (this.alive -= 1))
  )

  child(id: string) {
    return Child.make(id, Effect.as(this.born, Effect.never))
  }
}

describe("mistakes about stops", () => {
  it.effect("a middle supervisor that runs out of patience leaves no orphan: its leaf is named as leaked", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const leaf = stage.child("leaf", { cleanup: "Infinity", shutdown: "Infinity" })
      const middle = Supervisor.make("middle", { shutdown: "1 second", children: [leaf, stage.child("good")] })
      const root = Supervisor.make("root", { children: [stage.child("first"), middle] })
      const { tree } = yield* stage.start(root)
      const report = yield* stage.stop(tree, "1 second")
      assert.deepStrictEqual(report.leaked, [["root", "middle", "leaf"]])
      assert.includeMembers(stage.log, ["down good", "down first"])
      assert.notInclude(stage.log, "down leaf")
    })
  )

  it.effect("a child that finishes in the tick in which it is stopped: ten thousand rounds without an error", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", { intensity: plenty, children: [stage.child("a", { restart: "on-failure" })] })
      )
      const root = yield* tree.find(["root"])
      const reasons = new Set<string>()
      for (let round = 0; round < 10_000; round++) {
        if (round % 2 === 0) {
          stage.end("a", Effect.void)
          yield* root.stopChild("a")
        } else {
          const stopping = yield* forked(root.stopChild("a"))
          stage.end("a", Effect.void)
          yield* Fiber.join(stopping)
        }
        for (const { reason } of stage.of("Exited")) reasons.add(reason._tag)
        assert.deepStrictEqual(stage.of("Failed"), [])
        stage.takeLog()
        yield* root.restartChild("a")
      }
      assert.includeMembers(["Normal", "Shutdown"], [...reasons])
    })
  )

  it.effect("a child that crashes as the stop begins is reported with what it crashed of", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
      stage.end("a", Effect.die("the real reason"))
      yield* tree.stop
      const [exited] = stage.of("Exited", "a")
      const { reason } = exited!
      assert(reason._tag === "Error" || reason._tag === "Shutdown")
      assert.deepStrictEqual(reason.cause, Cause.die("the real reason"))
    })
  )

  it.effect("a restart that declines leaves nothing that a later stop could stumble over", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const census = new Census()
      let starts = 0
      const decliner = Child.make(
        "decliner",
        Effect.sync(() => {
          starts += 1
          return starts === 1 ? Effect.die("boom") : Child.ignore
        })
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [census.child("a"), decliner] }))
      yield* until("it declines", () => stage.of("Ignored").length === 1)
      assert.deepStrictEqual(yield* tree.stop, { leaked: [] })
      assert.strictEqual(census.alive, 0)
    })
  )

  it.effect("stopped means ended, not asked: the fiber is over when the request is answered", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let fiber: Fiber.Fiber<unknown, unknown> | undefined
      const child = Child.effect(
        "a",
        Effect.withFiber((self) => {
          fiber = self
          return Effect.never
        })
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      yield* (yield* tree.find(["root"])).stopChild("a")
      assert.isDefined(fiber?.pollUnsafe())
    })
  )

  it.effect("interrupting whoever runs the tree ends every descendant", () =>
    Effect.gen(function* () {
      const census = new Census()
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          census.child("a"),
          Supervisor.make("x", {
            children: [census.child("b"), Supervisor.make("y", { children: [census.child("c")] })]
          })
        ]
      })
      const running = yield* forked(Supervisor.run(root, { log: false, onEvent: (event) => stage.events.push(event) }))
      yield* until("all are up", () => census.alive === 3)
      yield* Fiber.interrupt(running)
      assert.strictEqual(census.alive, 0)
    })
  )

  it.effect("a defect in a handler is seen by its caller when everything the actor started is down", () =>
    Effect.gen(function* () {
      class Machine extends Actor.Service<Machine>()("Machine", [Rpc.make("Fail", {}), Rpc.make("Spawn", {})]) {}
      const census = new Census()
      const stage = new Stage()
      const machine = Machine.child(
        Effect.gen(function* () {
          const scope = yield* Effect.scope
          return Machine.handlers({
            Spawn: () => Effect.asVoid(Effect.forkIn(Effect.scoped(Effect.andThen(census.born, Effect.never)), scope)),
            Fail: () => Effect.die("boom")
          })
        })
      )
      const { context } = yield* stage.start(Supervisor.make("root", { children: [machine] }))
      const ref = Context.get(context, Machine)
      yield* ref.Spawn()
      yield* ref.Spawn()
      yield* until("both run", () => census.alive === 2)
      const crashed = yield* Effect.flip(ref.Fail())
      assert.strictEqual(crashed._tag, "ActorCrashed")
      assert.strictEqual(census.alive, 0)
    })
  )

  it.effect("what is abandoned is not asked nicely as well: the finalizers run once, and nobody waits for them", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [stage.child("a", { shutdown: "abandon", cleanup: "1 second" })] })
      )
      const root = yield* tree.find(["root"])
      yield* root.stopChild("a")
      assert.deepStrictEqual(stage.of("Stopping", "a").length, 1)
      yield* until("its clean-up has begun", () => stage.log.includes("stop a"))
      assert.notInclude(stage.log, "down a")
      yield* TestClock.adjust("1 second")
      yield* until("its clean-up is over", () => stage.log.includes("down a"))
      assert.strictEqual(stage.log.filter((line) => line === "stop a").length, 1)
    })
  )

  it.effect("stopping a parent stops its children properly, the leaf first", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        children: [
          stage.child("a"),
          Supervisor.make("x", { children: [stage.child("b"), Supervisor.make("y", { children: [stage.child("c")] })] })
        ]
      })
      const { tree } = yield* stage.start(root)
      stage.takeLog()
      yield* tree.stop
      assert.deepStrictEqual(stage.log, ["stop c", "down c", "stop b", "down b", "stop a", "down a"])
    })
  )

  it.effect("a child that simply ends does not take its supervisor along", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          intensity: { restarts: 0, within: "1 hour" },
          children: [stage.child("a", { restart: "on-failure" }), stage.child("b")]
        })
      )
      stage.end("a", Effect.void)
      yield* until("it has ended", () => stage.of("Exited", "a").length === 1)
      yield* quiet
      const snapshot = yield* tree.snapshot
      assert.deepStrictEqual(
        [snapshot.state, nodeOf(snapshot, "a").state, nodeOf(snapshot, "b").state],
        ["running", "stopped", "running"]
      )
    })
  )

  it.effect("a clean-up that dies while the child is stopped is reported, and the child is down, not restarted", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const child = Child.make(
        "a",
        Effect.as(
          Effect.addFinalizer(() => Effect.die("the clean-up broke")),
          Effect.never
        )
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      yield* (yield* tree.find(["root"])).stopChild("a")
      yield* quiet
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "stopped")
      assert.strictEqual(stage.of("Starting", "a").length, 1)
      const { reason } = stage.of("Exited", "a")[0]!
      assert(reason._tag === "Shutdown" && reason.cause !== undefined)
      assert.include(Cause.pretty(reason.cause), "the clean-up broke")
    })
  )

  it.effect(
    "a sibling's crash under one-for-all during a stop request: the request is answered, one child at most",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(
          Supervisor.make("root", {
            strategy: "one-for-all",
            children: [stage.child("a"), stage.child("b", { cleanup: "1 second" })]
          })
        )
        const root = yield* tree.find(["root"])
        const stopping = yield* forked(root.stopChild("b"))
        yield* until("b is stopping", () => stage.log.includes("stop b"))
        stage.end("a")
        yield* quiet
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(stopping)
        yield* until("the group is up again", () => stage.of("Started", "b").length === 2)
        const lives = stage.log.filter((line) => line === "up b" || line === "down b")
        assert.deepStrictEqual(lives, ["up b", "down b", "up b"])
        const done = yield* forked(tree.stop)
        yield* TestClock.adjust("1 second")
        yield* Fiber.join(done)
      })
  )
})

describe("mistakes about leaks", () => {
  const gc = async (): Promise<void> => {
    const { setFlagsFromString } = await import("node:v8")
    const { runInNewContext } = await import("node:vm")
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc") as () => void
    for (let i = 0; i < 5; i++) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  withCollector("finished children are forgotten, with what they were started with", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const stage = new Stage()
        const kept: Array<WeakRef<object>> = []
        const { tree } = yield* stage.start(Supervisor.make("root", { intensity: plenty, children: [] }))
        const root = yield* tree.find(["root"])
        const add = (i: number) => {
          const payload = { large: Array.from({ length: 1_000 }, () => i) }
          kept.push(new WeakRef(payload))
          const run = Effect.suspend(() => (payload.large.length === 0 ? Effect.never : Effect.void))
          return Effect.asVoid(root.startChild(Child.effect(`task-${i}`, run, { restart: "never" })))
        }
        // one of them crashes: a memory of crashes must not keep the others
        yield* root.startChild(Child.effect("crashed", Effect.die("boom"), { restart: "never" }))
        for (let i = 0; i < 2_000; i++) yield* add(i)
        yield* until("all are gone", () => stage.of("Removed").length === 2_001)
        stage.takeLog()
        assert.deepStrictEqual((yield* tree.snapshot).children, [])
        yield* Effect.promise(gc)
        assert.isBelow(kept.filter((ref) => ref.deref() !== undefined).length, 20)
      })
    )
  )

  it.effect("an actor that is stopped with a full mailbox and a slow handler does not spin until it is down", () =>
    Effect.gen(function* () {
      class Busy extends Actor.Service<Busy>()("Busy", [Rpc.make("Work", { success: Schema.Void })]) {}
      const stage = new Stage()
      const gate = yield* Deferred.make<void>()
      let handled = 0
      const busy = Busy.child(
        Effect.sync(() =>
          Busy.handlers({
            Work: () => {
              handled += 1
              return Effect.uninterruptible(Deferred.await(gate))
            }
          })
        ),
        { shutdown: "10 seconds" }
      )
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [busy] }))
      const ref = Context.get(context, Busy)
      for (let i = 0; i < 1_000; i++) yield* ref.tell.Work()
      yield* until("it works", () => handled === 1)
      const stopping = yield* forked(tree.stop)
      yield* quiet
      assert.isUndefined(stopping.pollUnsafe())
      assert.strictEqual(handled, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(stopping)
      assert.strictEqual(handled, 1)
      const reasons = stage.of("DeadLetter").map(({ reason }) => reason)
      assert.deepStrictEqual(
        [reasons.filter((reason) => reason === "stopped").length, reasons.filter((reason) => reason !== "stopped")],
        [999, ["interrupted"]]
      )
    })
  )

  it.effect(
    "an init that asks its own supervisor to start a sibling hears so at once, instead of waiting for itself",
    () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let heard: unknown
        const own: Child.Child<never, never, Tree.Tree> = Child.make(
          "own",
          Effect.gen(function* () {
            const root = yield* Tree.find(["root"]).pipe(Effect.orDie)
            heard = yield* Effect.flip(root.startChild(Child.effect("sibling", Effect.never))).pipe(Effect.orDie)
            return Effect.never
          })
        )
        yield* stage.start(Supervisor.make("root", { children: [own] }))
        assert.strictEqual((heard as Tree.ChildRefused).reason, "called-from-init")
      })
  )

  it.effect("a fiber that a clean-up forks ends with the tree's scope", () =>
    Effect.gen(function* () {
      const census = new Census()
      const scope = yield* Scope.make()
      const child = Child.make(
        "a",
        Effect.gen(function* () {
          const own = yield* Effect.scope
          yield* Effect.addFinalizer(() =>
            // its own scope is closing: what is forked into it now is interrupted, not kept
            Effect.asVoid(Effect.forkIn(Effect.scoped(Effect.andThen(census.born, Effect.never)), own))
          )
          return Effect.never
        })
      )
      yield* Supervisor.start(Supervisor.make("root", { children: [child] }), { log: false }).pipe(Scope.provide(scope))
      yield* Scope.close(scope, Exit.void)
      yield* quiet
      assert.strictEqual(census.alive, 0)
    })
  )
})
