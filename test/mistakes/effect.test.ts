/** What Effect itself once did wrong, or does in a way that a supervisor must know: each is held here by a test. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Schema, Scope } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Supervisor, type Tree } from "espalier"

import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

class Echo extends Actor.Service<Echo>()("Echo", [
  Rpc.make("Say", { payload: Schema.Finite, success: Schema.Finite, error: Schema.String }),
  Rpc.make("Wait", { success: Schema.Finite })
]) {}

describe("what Effect does, and a tree survives", () => {
  it.effect("a clean-up that asks its supervisor for new work starts nothing that outlives the stop", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let answer: Exit.Exit<unknown, unknown> | undefined
      let root: Tree.Handle | undefined
      const child = Child.make(
        "a",
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() =>
            Effect.gen(function* () {
              answer = yield* Effect.exit(root!.startChild(stage.child("late")))
            })
          )
          return Effect.never
        })
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      root = yield* tree.find(["root"])
      yield* tree.stop
      assert(answer !== undefined && Exit.isFailure(answer))
      assert.deepStrictEqual(stage.log, [])
    })
  )

  it.effect("the late end of an old incarnation does not clear the current one", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [stage.child("a", { cleanup: "10 seconds", shutdown: "1 second" })] })
      )
      const root = yield* tree.find(["root"])
      const stopping = yield* forked(root.stopChild("a"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      yield* root.restartChild("a")
      yield* TestClock.adjust("9 seconds")
      yield* until("the old one has ended", () => stage.of("LeakEnded").length === 1)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "a").state, "running")
      stage.end("a") // and it is still watched
      yield* TestClock.adjust("10 seconds")
      yield* until("it is restarted", () => stage.of("Started", "a").length === 3)
      yield* stage.stop(tree, "1 second")
    })
  )

  it.effect("all who wait for the end hear of it, also when the first goes away in that moment", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stage.child("a")] }))
      const first = yield* forked(Effect.raceFirst(tree.ended, Effect.never))
      const second = yield* forked(tree.ended)
      const third = yield* forked(tree.stop)
      yield* Fiber.interrupt(first)
      yield* Fiber.join(second)
      yield* Fiber.join(third)
    })
  )

  it.effect("two who wait for one stop are both resumed, by a failure and never by an interrupt", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const echo = Echo.child(Effect.sync(() => Echo.handlers({ Say: (n) => n, Wait: () => Effect.never })))
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [echo] }))
      const ref = Context.get(context, Echo)
      const waiting = [yield* forked(Effect.flip(ref.Wait())), yield* forked(Effect.flip(ref.Wait()))]
      yield* quiet
      yield* tree.stop
      const failures = yield* Effect.forEach(waiting, Fiber.join)
      assert.deepStrictEqual(
        failures.map((failure) => failure._tag),
        ["ActorStopped", "ActorStopped"]
      )
    })
  )

  it.effect("a caller that is interrupted in the tick of its reply ends cleanly", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const gate = yield* Deferred.make<number>()
      const echo = Echo.child(Effect.sync(() => Echo.handlers({ Say: (n) => n, Wait: () => Deferred.await(gate) })))
      const { context } = yield* stage.start(Supervisor.make("root", { children: [echo] }))
      const ref = Context.get(context, Echo)
      for (const order of ["reply first", "interrupt first"]) {
        const caller = yield* forked(ref.Say(1).pipe(Effect.andThen(ref.Wait())))
        yield* quiet
        if (order === "reply first") Deferred.doneUnsafe(gate, Exit.succeed(1))
        caller.interruptUnsafe()
        const exit = yield* Fiber.await(caller)
        assert.isTrue(Exit.isSuccess(exit) || Exit.hasInterrupts(exit), order)
      }
      assert.strictEqual(yield* ref.Say(7), 7)
    })
  )

  it.effect("an actor that is stopped while it waits for mail was shut down, not killed", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const echo = Echo.child(Effect.sync(() => Echo.handlers({ Say: (n) => n, Wait: () => Effect.never })))
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [echo] }))
      yield* (yield* tree.find(["root"])).stopChild("Echo")
      assert.deepStrictEqual(
        stage.of("Exited").map(({ reason, ordered }) => [reason._tag, ordered]),
        [["Shutdown", true]]
      )
    })
  )

  it.effect("a child that interrupts itself was killed, and its finalizers ran once", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      let finalizers = 0
      const child = Child.make(
        "a",
        Effect.as(
          Effect.addFinalizer(() => Effect.sync(() => (finalizers += 1))),
          Effect.interrupt
        ),
        { restart: "never" }
      )
      yield* stage.start(Supervisor.make("root", { children: [child] }))
      yield* until("it is gone", () => stage.of("Removed").length === 1)
      assert.deepStrictEqual(
        stage.of("Exited").map(({ reason }) => reason._tag),
        ["Killed"]
      )
      assert.strictEqual(finalizers, 1)
    })
  )

  it.effect("a tree that is started and stopped before anything else runs stops", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const scope = yield* Scope.make()
      yield* Supervisor.start(Supervisor.make("root", { children: [stage.child("a"), stage.child("b")] }), {
        log: false
      }).pipe(Scope.provide(scope))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(stage.log.slice(-4), ["stop b", "down b", "stop a", "down a"])
    })
  )
})
