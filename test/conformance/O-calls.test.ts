import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Failure, Supervisor } from "espalier"

import { counter, Counter, counting, failure, forked } from "../fixtures/counter.ts"
import { nodeOf, quiet, Stage, until } from "../fixtures/stage.ts"

describe("O: calls and replies", () => {
  it.effect("C-149 R-109 an ask returns the handler's answer, and concurrent callers each get their own", () =>
    Effect.gen(function* () {
      const { ref } = yield* counting()
      assert.strictEqual(yield* ref.Add({ by: 1 }), 1)
      const answers = yield* Effect.forEach([1, 2, 3, 4, 5], (by) => ref.Add({ by }), { concurrency: "unbounded" })
      assert.deepStrictEqual(answers, [2, 4, 7, 11, 16])
    })
  )

  it.effect("C-150 an ask fails at its deadline, the actor goes on, and the late answer goes nowhere", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting()
      const late = yield* forked(Effect.flip(ref.Slow({ name: "late", millis: 6_000 })))
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(late.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(late)
      assert(error._tag === "AskTimeout")
      assert.strictEqual(error.message, "root/Counter did not answer Slow within 5000 ms")
      const next = yield* forked(ref.Slow({ name: "next", millis: 1_000 }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(stage.log, ["begin late", "end late", "begin next"])
      assert.isUndefined(next.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(next), "next")
    })
  )

  it.effect("C-151 an ask of an actor that is gone fails at once, whatever made it go", () =>
    Effect.gen(function* () {
      const { ref, root, stage, tree } = yield* counting()
      yield* root.stopChild("Counter")
      const error = yield* Effect.flip(ref.Add({ by: 1 }))
      assert.strictEqual(error.message, "root/Counter is stopped and cannot answer Add")
      yield* root.restartChild("Counter")
      assert.strictEqual(yield* ref.Add({ by: 1 }), 1)
      yield* root.stopChild("Counter")
      yield* root.removeChild("Counter")
      assert.strictEqual(yield* failure(ref.Add({ by: 1 })), "ActorStopped")
      yield* root.startChild(counter(stage))
      assert.strictEqual(yield* failure(ref.Add({ by: 1 })), "ActorStopped") // another place of the same name
      yield* tree.stop
      assert.strictEqual(yield* failure(ref.Add({ by: 1 })), "ActorStopped")
    })
  )

  it.effect("C-151 an actor that is never restarted is gone after its crash", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting({ restart: "never" })
      assert.strictEqual(yield* failure(ref.Crash()), "ActorCrashed")
      assert.strictEqual(yield* failure(ref.Add({ by: 1 })), "ActorStopped")
      assert.lengthOf(stage.of("Removed"), 1)
    })
  )

  it.effect("C-152 R-109 the caller of the message that crashes an actor fails at once, and finds it restarting", () =>
    Effect.gen(function* () {
      const { ref, stage, tree } = yield* counting()
      yield* ref.Add({ by: 7 })
      const error = yield* Effect.flip(ref.Crash())
      assert.strictEqual(error.message, "root/Counter crashed on Crash")
      // The supervisor was told before the caller.
      assert.lengthOf(stage.of("Restarting", "Counter"), 1)
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Counter").restarts, 1)
      assert.strictEqual(yield* ref.Add({ by: 1 }), 1)
      assert.strictEqual(Failure.kindOf(error), "transient")
    })
  )

  it.effect("C-152 a stop answers the caller in progress and those who wait, at once", () =>
    Effect.gen(function* () {
      const { ref, root, stage } = yield* counting()
      const asks = yield* Effect.forEach([ref.Wait(), ref.Add({ by: 1 }), ref.Add({ by: 2 })], (ask) =>
        forked(failure(ask as Effect.Effect<unknown, Actor.ActorFailure>))
      )
      yield* until("it waits", () => stage.log.includes("waits"))
      yield* root.stopChild("Counter")
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["ActorStopped", "ActorStopped", "ActorStopped"])
    })
  )

  it.effect("C-152 giving up answers those who wait at once, though siblings still clean up", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 0, within: "1 second" },
        children: [stage.child("slow", { cleanup: "3 seconds" }), counter(stage), stage.child("cause")]
      })
      const { context, tree } = yield* stage.start(root)
      const ref = Context.get(context, Counter)
      const asks = yield* Effect.forEach([ref.Wait(), ref.Add({ by: 1 })], (ask) =>
        forked(failure(ask as Effect.Effect<unknown, Actor.ActorFailure>))
      )
      yield* quiet
      stage.end("cause")
      yield* until("the elder sibling cleans up", () => stage.log.includes("stop slow"))
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["ActorStopped", "ActorStopped"])
      assert.strictEqual(yield* failure(ref.Add({ by: 1 })), "ActorStopped")
      assert.notInclude(stage.log, "down slow")
      yield* stage.stop(tree, "3 seconds")
    })
  )

  it.effect("C-152 giving up also answers those who wait for a member that was down already", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const root = Supervisor.make("root", {
        intensity: { restarts: 0, within: "1 second" },
        children: [
          stage.child("slow", { cleanup: "3 seconds" }),
          counter(stage, { backoff: Schedule.spaced("1 hour") }),
          stage.child("cause")
        ]
      })
      const { context, tree } = yield* stage.start(root)
      const ref = Context.get(context, Counter)
      yield* Effect.flip(ref.Crash())
      const ask = yield* forked(failure(ref.Add({ by: 1 })))
      yield* quiet
      assert.isUndefined(ask.pollUnsafe())
      stage.end("cause")
      yield* until("the elder sibling cleans up", () => stage.log.includes("stop slow"))
      assert.strictEqual(yield* Fiber.join(ask), "ActorStopped")
      yield* stage.stop(tree, "3 seconds")
    })
  )

  it.effect("C-154 a tell to an actor that is gone fails nobody and is a dead letter", () =>
    Effect.gen(function* () {
      const { ref, root, stage } = yield* counting()
      yield* root.stopChild("Counter")
      yield* ref.tell.Add({ by: 1 })
      assert.isFalse(ref.tellUnsafe.Add({ by: 1 }))
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => [event.path.join("/"), event.message, event.reason]),
        [["root/Counter", "Add", "stopped"]]
      )
    })
  )

  it.effect("C-154 C-165 a told message that crashes the actor, or is interrupted by its stop, is a dead letter", () =>
    Effect.gen(function* () {
      const { ref, root, stage } = yield* counting()
      yield* ref.tell.Crash()
      yield* until("it crashed", () => stage.of("DeadLetter").length === 1)
      yield* ref.tell.Wait()
      yield* until("it waits", () => stage.log.includes("waits"))
      yield* root.stopChild("Counter")
      assert.deepStrictEqual(
        stage.of("DeadLetter").map((event) => [event.message, event.reason]),
        [
          ["Crash", "crashed"],
          ["Wait", "interrupted"]
        ]
      )
    })
  )

  it.effect("C-157 a time-out of zero is legal and does not wait, one that is no duration is refused at the call", () =>
    Effect.gen(function* () {
      const { ref } = yield* counting()
      const zero = yield* forked(Effect.flip(Actor.withTimeout(0)(ref.Wait())))
      yield* quiet
      assert.strictEqual((yield* Fiber.join(zero))._tag, "AskTimeout")
      for (const bad of [-1, Number.NaN, "soon", null, []]) {
        const exit = yield* Effect.exit(Actor.withTimeout(bad as never)(ref.Add({ by: 1 })))
        const defect = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined
        assert(defect instanceof RangeError)
        assert.include(defect.message, "Actor.Timeout: must be a duration >= 0")
      }
      assert.throws(
        () => Actor.Service()("Bad", [Rpc.make("X", {}).annotate(Actor.Timeout, "soon" as never)]),
        RangeError,
        "Actor.Timeout"
      )
    })
  )

  it.effect("C-157 an ask whose caller is interrupted before its turn is not handled at all", () =>
    Effect.gen(function* () {
      const { ref, stage, tree } = yield* counting()
      const first = yield* forked(ref.Slow({ name: "first", millis: 1_000 }))
      const gone = yield* forked(ref.Slow({ name: "gone", millis: 1_000 }))
      const third = yield* forked(ref.Slow({ name: "third", millis: 1_000 }))
      yield* quiet
      yield* Fiber.interrupt(gone)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.joinAll([first, third]), ["first", "third"])
      assert.deepStrictEqual(stage.log, ["begin first", "end first", "begin third", "end third"])
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Counter").mailbox, 0)
      assert.deepStrictEqual(stage.of("DeadLetter"), [])
    })
  )

  it.effect("C-157 an ask whose caller is interrupted while it is handled goes on, and answers nobody", () =>
    Effect.gen(function* () {
      const { ref, stage } = yield* counting()
      const gone = yield* forked(ref.Slow({ name: "gone", millis: 1_000 }))
      yield* until("it is being handled", () => stage.log.includes("begin gone"))
      yield* Fiber.interrupt(gone)
      const next = yield* forked(ref.Slow({ name: "next", millis: 1_000 }))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(stage.log, ["begin gone", "end gone", "begin next", "end next"])
      assert.strictEqual(yield* Fiber.join(next), "next")
    })
  )

  /** An actor that asks itself: from a handler, a handler's own fiber, its init, and its finalizers. */
  class Narcissus extends Actor.Service<Narcissus>()("Narcissus", [
    Rpc.make("Name", { success: Schema.String }),
    Rpc.make("Look", { success: Schema.String }),
    Rpc.make("LookLater", {}),
    Rpc.make("Send", {})
  ]) {}

  const narcissus = (seen: Array<string>) =>
    Narcissus.child(
      Effect.gen(function* () {
        const self = yield* Narcissus
        const scope = yield* Effect.scope
        const look = (where: string) =>
          Effect.map(Effect.result(self.Name()), (result) => {
            seen.push(`${where}: ${result._tag === "Failure" ? result.failure._tag : result.success}`)
          })
        yield* look("init")
        yield* Effect.addFinalizer(() => look("finalizer"))
        yield* Effect.forkScoped(look("fiber of the init"), { startImmediately: true })
        return Narcissus.handlers({
          Name: () => "Narcissus",
          Look: () =>
            Effect.yieldNow.pipe(
              Effect.andThen(Effect.flip(self.Name())),
              Effect.orDie,
              Effect.map((error) => error.message)
            ),
          LookLater: () => Effect.asVoid(Effect.forkIn(look("fiber of a handler"), scope)),
          Send: () => Effect.andThen(look("handler"), self.tell.LookLater())
        })
      })
    )

  it.effect("C-153 an actor that asks itself is told so at once, wherever it does, and lives on", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const seen: Array<string> = []
      const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [narcissus(seen)] }))
      const ref = Context.get(context, Narcissus)
      assert.strictEqual(
        yield* ref.Look(),
        "root/Narcissus asked itself Name, which it could only answer once it stops waiting for it"
      )
      yield* ref.Send()
      yield* until("the forked fiber has its answer", () => seen.length === 4)
      yield* tree.stop
      assert.deepStrictEqual(seen, [
        "init: ActorCalledItself",
        "fiber of the init: Narcissus",
        "handler: ActorCalledItself",
        "fiber of a handler: Narcissus",
        "finalizer: ActorCalledItself"
      ])
      assert.deepStrictEqual(stage.of("DeadLetter"), [])
    })
  )

  it.effect("C-153 the first ask of the first handler is seen too, and another fiber that it wakes is not meant", () =>
    Effect.gen(function* () {
      class Waker extends Actor.Service<Waker>()("Waker", [Rpc.make("Wake", { success: Schema.String })]) {}
      const door = yield* Deferred.make<void>()
      const waker = Waker.child(
        Effect.map(Waker, (self) =>
          Waker.handlers({
            Wake: () =>
              Effect.andThen(
                Deferred.succeed(door, undefined),
                Effect.match(self.Wake(), { onFailure: (error) => error._tag, onSuccess: (text) => text })
              )
          })
        )
      )
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("root", { children: [waker] }))
      const ref = Context.get(context, Waker)
      const woken = yield* forked(Effect.andThen(Deferred.await(door), ref.Wake()))
      assert.strictEqual(yield* ref.Wake(), "ActorCalledItself")
      assert.strictEqual(yield* Fiber.join(woken), "ActorCalledItself")
    })
  )

  it.effect("C-153 a circle of two actors ends with the time-out of the ask that closes it", () =>
    Effect.gen(function* () {
      class Left extends Actor.Service<Left>()("Left", [Rpc.make("Go", { success: Schema.String })]) {}
      class Right extends Actor.Service<Right>()("Right", [Rpc.make("Go", { success: Schema.String })]) {}
      const told = <A extends string>(ask: Effect.Effect<A, Actor.ActorFailure>) =>
        Effect.match(ask, { onFailure: (error) => error._tag, onSuccess: (text): string => text })
      const left = Left.child(
        Effect.map(Right, (right) =>
          Left.handlers({ Go: () => Effect.map(told(right.Go()), (text) => `left ${text}`) })
        )
      )
      const right = Right.child(
        Effect.map(Left, (other) =>
          Right.handlers({
            Go: () => Effect.map(told(Actor.withTimeout("1 second")(other.Go())), (text) => `right ${text}`)
          })
        )
      )
      const stage = new Stage()
      const { context } = yield* stage.start(Supervisor.make("root", { children: [left, right] }))
      const ask = yield* forked(Context.get(context, Left).Go())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(ask), "left right AskTimeout")
    })
  )
})
