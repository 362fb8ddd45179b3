import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor } from "espalier"

import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

/** What a caller without types could pass. */
const untyped = (value: unknown): never => value as never

/** A value that even `String` cannot show. */
const bare: unknown = Object.create(null)

describe("Child", () => {
  describe("make and effect", () => {
    it.each([
      [
        "nothing as init",
        () => Child.make("a", untyped(undefined)),
        "Child.make: init of a must be an Effect, got undefined"
      ],
      [
        "a function as init",
        () =>
          Child.make(
            "a",
            untyped(() => Effect.never)
          ),
        "Child.make: init of a must be an Effect, got "
      ],
      [
        "a promise as run",
        () => Child.effect("a", untyped(Promise.resolve())),
        "Child.effect: run of a must be an Effect, got "
      ],
      [
        "a number as backoff",
        () => Child.effect("a", Effect.never, { backoff: untyped(100) }),
        "Child.effect: backoff of a must be a Schedule, got 100"
      ],
      [
        "a value without a text as restart",
        () => Child.effect("a", Effect.never, { restart: untyped(bare) }),
        "Child.effect: restart of a must be one of always, on-failure, never, got {}"
      ],
      [
        "a symbol as id",
        () => Child.effect(untyped(Symbol("a")), Effect.never),
        "Child.effect: id must be a string that is not empty, got Symbol(a)"
      ],
      [
        "a value without a text as grace time",
        () => Child.effect("a", Effect.never, { shutdown: untyped([bare]) }),
        "Child.effect: shutdown of a must be a duration >= 0, got "
      ],
      [
        "no options as a supervisor's",
        () => Supervisor.make("root", untyped(undefined)),
        "Supervisor.make: options of root must be an object with children, got undefined"
      ],
      [
        "a value without a text as child",
        () => Supervisor.make("root", { children: [untyped(bare)] }),
        "Supervisor.make: every child of root must be made by this library, got {}"
      ]
    ] as ReadonlyArray<readonly [string, () => unknown, string]>)("C-016 refuse %s", (_, make, message) => {
      assert.throws(make, RangeError, message)
    })

    it.effect("the run effect sees the init's scope, and what it forks ends with it", () =>
      Effect.gen(function* () {
        const log: Array<string> = []
        const ticking = (id: string) =>
          Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push(`${id} ended`)))
        const stage = new Stage()
        const child = Child.make(
          "a",
          Effect.gen(function* () {
            yield* Effect.forkScoped(ticking("init"))
            return Effect.gen(function* () {
              yield* Effect.forkScoped(ticking("run"))
              yield* Effect.forkChild(ticking("child"))
              yield* Effect.addFinalizer(() => Effect.sync(() => log.push("released")))
              return yield* Effect.never
            })
          })
        )
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
        yield* quiet
        yield* tree.stop
        assert.deepStrictEqual(log.toSorted(), ["child ended", "init ended", "released", "run ended"])
      })
    )

    it.effect("a service that the tree was started with reaches init and run", () =>
      Effect.gen(function* () {
        class Name extends Context.Service<Name, string>()("test/Name") {}
        const seen: Array<string> = []
        const note = Effect.map(Name, (name) => void seen.push(name))
        const child = Child.make("a", Effect.as(note, Effect.andThen(note, Effect.never)))
        yield* new Stage()
          .start(Supervisor.make("root", { children: [child] }))
          .pipe(Effect.provideService(Name, "espalier"))
        yield* quiet
        assert.deepStrictEqual(seen, ["espalier", "espalier"])
      })
    )
  })

  describe("ignore", () => {
    it.effect("C-007 a child that declined starts when it is asked again and has something to run", () =>
      Effect.gen(function* () {
        let ready = false
        const released: Array<string> = []
        const child = Child.make(
          "a",
          Effect.gen(function* () {
            yield* Effect.addFinalizer(() => Effect.sync(() => released.push("released")))
            return ready ? Effect.never : Child.ignore
          })
        )
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
        assert.deepStrictEqual(released, ["released"])
        const handle = yield* tree.find(["root"])
        yield* handle.restartChild("a")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "stopped")
        ready = true
        yield* handle.restartChild("a")
        assert.deepInclude(nodeOf(yield* tree.snapshot, "a"), { state: "running", incarnation: 3, restarts: 0 })
      })
    )

    it.effect("a child that declines but cannot clean up has failed to start", () =>
      Effect.gen(function* () {
        const child = Child.make(
          "a",
          Effect.as(
            Effect.addFinalizer(() => Effect.die("dirty")),
            Child.ignore
          )
        )
        const error = yield* Effect.flip(new Stage().start(Supervisor.make("root", { children: [child] })))
        assert.deepStrictEqual(error.path, ["root", "a"])
        assert.include(error.message, "dirty")
      })
    )

    it.effect("a run effect that just ends is no ignore", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [Child.make("a", Effect.succeed(Effect.void), { restart: "on-failure" })]
        })
        yield* stage.start(root)
        yield* until("it ended", () => stage.of("Exited", "a").length === 1)
        assert.deepStrictEqual(stage.of("Ignored"), [])
      })
    )
  })

  describe("hide", () => {
    it.effect("keeps what a child provides from the tree's users", () =>
      Effect.gen(function* () {
        class Echo extends Actor.Service<Echo>()("Echo", [Rpc.make("Say", { success: Schema.String })]) {}
        const echo = (id: string) => Echo.child(Effect.succeed(Echo.handlers({ Say: () => id })), { id })
        const root = Supervisor.make("root", { children: [Child.hide(echo("hidden")), echo("shown")] })
        const { context } = yield* new Stage().start(root)
        assert.strictEqual(yield* Context.get(context, Echo).Say(), "shown")
      })
    )
  })

  describe("initTimeout", () => {
    it.effect("an init that hangs and whose clean-up hangs too is abandoned and named, and the start fails", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          children: [
            stage.child("a"),
            stage.child("b", {
              init: Effect.never,
              cleanup: "Infinity",
              initTimeout: "1 second",
              shutdown: "2 seconds"
            })
          ]
        })
        const starting = yield* Effect.forkChild(Effect.flip(stage.start(root)), { startImmediately: true })
        yield* TestClock.adjust("2999 millis")
        assert.isUndefined(starting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const error = yield* Fiber.join(starting)
        assert.include(error.message, "root/b was not ready after 1000 ms")
        assert.strictEqual(stage.of("Leaked", "b").length, 1)
        assert.deepStrictEqual(stage.log.slice(-2), ["stop a", "down a"])
      })
    )

    it.effect("an init that cannot be interrupted and finishes late never runs", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let ran = false
        const child = Child.make(
          "a",
          Effect.as(
            Effect.uninterruptible(Effect.sleep("3 seconds")),
            Effect.sync(() => (ran = true))
          ),
          { initTimeout: "1 second" }
        )
        const starting = yield* Effect.forkChild(
          Effect.flip(stage.start(Supervisor.make("root", { children: [child] }))),
          {
            startImmediately: true
          }
        )
        yield* TestClock.adjust("10 seconds")
        assert.include((yield* Fiber.join(starting)).message, "not ready after 1000 ms")
        assert.isFalse(ran)
        assert.deepStrictEqual(stage.of("Leaked"), [])
      })
    )
  })
})
