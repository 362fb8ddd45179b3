import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Logger, Scope, Stream } from "effect"
import { Child, Supervisor, Tree } from "espalier"

import { Counter, counter, forked } from "./fixtures/counter.ts"
import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

/** A root over an actor and a plain child. */
const spec = (stage: Stage, options: Partial<Pick<Supervisor.Options<[]>, "intensity" | "autoShutdown">> = {}) =>
  Supervisor.make("root", { ...options, children: [counter(stage), stage.child("a")] })

const failing = (stage: Stage) =>
  Supervisor.make("root", { children: [stage.child("a"), Child.make("b", Effect.fail("no" as const))] })

const rolledBack = ["start a", "up a", "stop a", "down a"]

describe("Supervisor", () => {
  describe("start", () => {
    it.effect("gives the references and the tree when every child is ready, and stops with its scope", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const scope = yield* Scope.make()
        const context = yield* Supervisor.start(spec(stage)).pipe(Scope.provide(scope))
        assert.deepStrictEqual(stage.log, ["start a", "up a"])
        assert.strictEqual(yield* Context.get(context, Counter).Add({ by: 2 }), 2)
        const tree = Context.get(context, Tree.Tree)
        assert.strictEqual((yield* tree.snapshot).state, "running")
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(stage.log.slice(2), ["stop a", "down a"])
        assert.strictEqual((yield* tree.snapshot).state, "stopped")
        yield* tree.ended
      })
    )

    it.effect("fails with the path and the cause, after what had started is down", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const failure = yield* Effect.flip(Effect.scoped(Supervisor.start(failing(stage), { log: false })))
        assert.deepStrictEqual(failure.path, ["root", "b"])
        assert.deepStrictEqual(failure.cause, Cause.fail("no"))
        assert.strictEqual(failure.message, "root/b did not start: no")
        assert.deepStrictEqual(stage.log, rolledBack)
      })
    )

    it.effect("an interruption rolls back what had started, and returns after it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [stage.child("a"), stage.child("hangs", { init: Effect.never })]
        })
        const starting = yield* forked(Effect.scoped(Supervisor.start(root)))
        yield* until("it hangs", () => stage.log.includes("start hangs"))
        yield* Fiber.interrupt(starting)
        assert.deepStrictEqual(stage.log.slice(3), ["stop hangs", "down hangs", "stop a", "down a"])
      })
    )

    it.effect("two starts of one spec are two trees that know nothing of each other", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = spec(stage)
        const [one, two] = [yield* Supervisor.start(root), yield* Supervisor.start(root)]
        yield* Context.get(one, Counter).Add({ by: 5 })
        assert.strictEqual(yield* Context.get(two, Counter).Add({ by: 1 }), 1)
        yield* Context.get(one, Tree.Tree).stop
        assert.strictEqual(yield* Context.get(two, Counter).Add({ by: 1 }), 2)
      })
    )

    it.effect("tells `onEvent` everything, from the first step on", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const steps: Array<string> = []
        yield* Effect.scoped(
          Supervisor.start(Supervisor.make("root", { children: [stage.child("a")] }), {
            onEvent: ({ _tag, path }) => void steps.push(`${_tag} ${path.join("/")}`)
          })
        )
        assert.deepStrictEqual(steps, [
          "Starting root",
          "Starting root/a",
          "Started root/a",
          "Started root",
          "Stopping root",
          "Stopping root/a",
          "Exited root/a",
          "Exited root"
        ])
      })
    )
  })

  describe("layer", () => {
    const add = (by: number) => Effect.flatMap(Counter, (ref) => ref.Add({ by }))

    it.effect("provides the references and the tree, and stops it after its users", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const program = Effect.gen(function* () {
          yield* Effect.addFinalizer(() => Effect.sync(() => stage.log.push("user ends")))
          assert.strictEqual((yield* Tree.snapshot).state, "running")
          return yield* add(3)
        })
        assert.strictEqual(yield* Effect.provide(Effect.scoped(program), Supervisor.layer(spec(stage))), 3)
        assert.deepStrictEqual(stage.log, ["start a", "up a", "user ends", "stop a", "down a"])
      })
    )

    it.effect("a start that fails is the failure of the layer, and the program does not begin", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const failure = yield* Effect.sync(() => stage.log.push("program")).pipe(
          Effect.provide(Supervisor.layer(failing(stage), { log: false })),
          Effect.flip
        )
        assert.strictEqual(failure.message, "root/b did not start: no")
        assert.deepStrictEqual(stage.log, rolledBack)
      })
    )

    it.effect("an interruption of the program stops the tree before it is over", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const running = yield* forked(Effect.provide(Effect.never, Supervisor.layer(spec(stage))))
        yield* until("it is up", () => stage.log.includes("up a"))
        yield* Fiber.interrupt(running)
        assert.deepStrictEqual(stage.log.slice(2), ["stop a", "down a"])
      })
    )

    it.effect("two layers of one spec are two trees, one after the other or side by side", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = spec(stage)
        const once = () => Effect.provide(add(1), Supervisor.layer(root))
        assert.deepStrictEqual([yield* once(), yield* once()], [1, 1])
        const outer = Effect.gen(function* () {
          yield* add(10)
          return [yield* once(), yield* add(1)]
        })
        assert.deepStrictEqual(yield* Effect.provide(outer, Supervisor.layer(root)), [1, 11])
      })
    )

    it.effect("one layer in two places of a graph is one tree", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const tree = Supervisor.layer(spec(stage))
        const adding = (by: number) => Layer.effectDiscard(add(by)).pipe(Layer.provide(tree))
        const total = yield* add(0).pipe(
          Effect.provide(Layer.mergeAll(adding(1), adding(2)).pipe(Layer.provideMerge(tree)))
        )
        assert.strictEqual(total, 3)
        assert.lengthOf(
          stage.log.filter((line) => line === "start a"),
          1
        )
      })
    )

    it.effect("a root that gives up does not interrupt the program: its references answer, its tree has ended", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const program = Effect.gen(function* () {
          stage.end("a")
          const gaveUp = yield* Effect.flip(Tree.ended)
          const ask = yield* Effect.flip(add(1))
          return [gaveUp.path, ask._tag]
        })
        assert.deepStrictEqual(
          yield* Effect.provide(program, Supervisor.layer(spec(stage, { intensity: { restarts: 0 } }), { log: false })),
          [["root", "a"], "ActorStopped"]
        )
      })
    )

    it.effect("a child's needs are met by the layer's own", () =>
      Effect.gen(function* () {
        class Greeting extends Context.Service<Greeting, string>()("Greeting") {}
        const greeted = yield* Deferred.make<string>()
        const child = Child.effect(
          "greeter",
          Effect.flatMap(Greeting, (greeting) => Deferred.succeed(greeted, greeting))
        )
        const tree = Supervisor.layer(Supervisor.make("root", { children: [child] }))
        const answer = yield* Deferred.await(greeted).pipe(
          Effect.provide(Layer.provide(tree, Layer.succeed(Greeting, "hello")))
        )
        assert.strictEqual(answer, "hello")
      })
    )
  })

  describe("run", () => {
    it.effect("succeeds when the tree was stopped from within", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const stopper = Child.effect(
          "stopper",
          Effect.flatMap(Tree.Tree, (tree) => tree.stop)
        )
        const root = Supervisor.make("root", { children: [stage.child("a"), stopper] })
        yield* Supervisor.run(root, { log: false })
        assert.deepStrictEqual(stage.log, ["start a", "up a", "stop a", "down a"])
      })
    )

    it.effect("succeeds when its root shut itself down", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const job = Child.effect("job", Effect.void, { restart: "on-failure", significant: true })
        const root = Supervisor.make("root", { autoShutdown: "any-significant", children: [stage.child("a"), job] })
        yield* Supervisor.run(root)
        assert.deepStrictEqual(stage.log, ["start a", "up a", "stop a", "down a"])
      })
    )

    it.effect("fails when it does not start", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const failure = yield* Effect.flip(Supervisor.run(failing(stage), { log: false }))
        assert.strictEqual(failure._tag, "StartFailure")
        assert.deepStrictEqual(stage.log, rolledBack)
      })
    )

    it.effect("fails when the root gives up, with the cause, after everybody is down", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const error = new Error("busy")
        const running = yield* forked(
          Supervisor.run(
            Supervisor.make("root", {
              intensity: { restarts: 0 },
              children: [stage.child("a"), Child.effect("b", Effect.die(error))]
            }),
            { log: false }
          )
        )
        const failure = yield* Effect.flip(Fiber.join(running))
        assert.strictEqual(failure._tag, "GaveUp")
        assert.deepStrictEqual([failure.path, failure.cause], [["root", "b"], Cause.die(error)])
        assert.deepStrictEqual(stage.log, rolledBack)
      })
    )

    it.effect("an interruption stops the tree first", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const running = yield* forked(Supervisor.run(Supervisor.make("root", { children: [stage.child("a")] })))
        yield* until("it is up", () => stage.log.includes("up a"))
        yield* Fiber.interrupt(running)
        assert.deepStrictEqual(stage.log, rolledBack)
        assert.isTrue(Exit.hasInterrupts(running.pollUnsafe()!))
      })
    )

    it.effect("logs what nobody is told of, unless it is told not to", () =>
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const logger = Logger.make(({ message }) => void lines.push(message))
        const root = Supervisor.make("root", {
          intensity: { restarts: 0 },
          children: [Child.effect("a", Effect.die("bug"))]
        })
        for (const log of [true, false]) {
          yield* Effect.exit(Supervisor.run(root, { log })).pipe(Effect.provide(Logger.layer([logger])))
          yield* quiet
          assert.lengthOf(lines.splice(0), log ? 2 : 0)
        }
      })
    )
  })

  describe("a tree in a tree", () => {
    it.effect("a child that starts a tree of its own has it stopped with itself, and its own Tree inside", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const host = Child.make(
          "host",
          Effect.gen(function* () {
            const context = yield* Supervisor.start(Supervisor.make("guest", { children: [stage.child("a")] }))
            const tree = Context.get(context, Tree.Tree)
            // It is no child of that tree: it may wait for it from an init.
            yield* (yield* tree.find(["guest"])).stopChild("a")
            yield* (yield* tree.find(["guest"])).restartChild("a")
            return Stream.runDrain(tree.events)
          })
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [host] }))
        assert.strictEqual(nodeOf(yield* tree.snapshot, "host").state, "running")
        stage.takeLog()
        yield* tree.stop
        assert.deepStrictEqual(stage.log, ["stop a", "down a"])
      })
    )
  })
})
