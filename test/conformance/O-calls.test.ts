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

  class Late extends Schema.TaggedError<Late>()("Late", {}) {}

  /** An actor that hands its answers out later, and counts what it was asked meanwhile. */
  class Kitchen extends Actor.Service<Kitchen>()("Kitchen", [
    Rpc.make("Order", { payload: { dish: Schema.String }, success: Schema.String, error: Late }),
    Rpc.make("OrderSlowly", { payload: { dish: Schema.String }, success: Schema.String, error: Late }),
    Rpc.make("Serve", { payload: { dish: Schema.String } }),
    Rpc.make("Close", { payload: { slowly: Schema.Boolean }, success: Schema.String }),
    Rpc.make("Crash", {})
  ]) {}

  class Orders {
    readonly all = new Map<string, Deferred.Deferred<string, Late>>()
    of(dish: string): Deferred.Deferred<string, Late> {
      const made = this.all.get(dish) ?? Deferred.makeUnsafe<string, Late>()
      this.all.set(dish, made)
      return made
    }
  }

  const kitchen = (stage: Stage, orders: Orders, options?: Actor.Options<never>) =>
    Kitchen.child(
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => stage.log.push("cleaned"))
          )
        )
        return Kitchen.handlers({
          Order: ({ dish }) => orders.of(dish),
          OrderSlowly: ({ dish }) => Effect.as(Effect.yieldNow, orders.of(dish)),
          Serve: ({ dish }) => Effect.asVoid(Deferred.succeed(orders.of(dish), `hot ${dish}`)),
          Close: ({ slowly }) =>
            slowly ? Effect.as(Effect.yieldNow, Actor.stopWith("good night")) : Actor.stopWith("good night"),
          Crash: () => Effect.die("fire")
        })
      }),
      options
    )

  const cooking = (options?: Actor.Options<never>) =>
    Effect.gen(function* () {
      const stage = new Stage()
      const orders = new Orders()
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { children: [kitchen(stage, orders, options)] })
      )
      return { stage, tree, orders, ref: Context.get(context, Kitchen), root: yield* tree.find(["root"]) }
    })

  it.effect("C-155 a handler may leave the answer for later, and the next messages do not wait for it", () =>
    Effect.gen(function* () {
      const { ref, orders } = yield* cooking()
      const soup = yield* forked(ref.Order({ dish: "soup" }))
      const stew = yield* forked(ref.OrderSlowly({ dish: "stew" }))
      const cake = yield* forked(Effect.flip(ref.Order({ dish: "cake" })))
      yield* quiet
      assert.isUndefined(soup.pollUnsafe())
      yield* ref.Serve({ dish: "stew" })
      assert.strictEqual(yield* Fiber.join(stew), "hot stew")
      yield* Deferred.fail(orders.of("cake"), new Late())
      assert.strictEqual((yield* Fiber.join(cake))._tag, "Late")
      yield* ref.Serve({ dish: "soup" })
      assert.strictEqual(yield* Fiber.join(soup), "hot soup")
      assert.strictEqual(yield* ref.Order({ dish: "soup" }), "hot soup") // there already
    })
  )

  it.effect("C-155 the first answer counts, and one deferred may answer many", () =>
    Effect.gen(function* () {
      const { ref, orders } = yield* cooking()
      const asks = yield* Effect.forEach([1, 2, 3], () => forked(ref.Order({ dish: "soup" })))
      yield* ref.tell.Order({ dish: "soup" })
      yield* ref.Serve({ dish: "soup" })
      assert.isFalse(yield* Deferred.succeed(orders.of("soup"), "cold soup"))
      assert.deepStrictEqual(yield* Fiber.joinAll(asks), ["hot soup", "hot soup", "hot soup"])
    })
  )

  it.effect("C-155 the time-out goes on, and callers that are gone leave nothing behind", () =>
    Effect.gen(function* () {
      const { ref, orders } = yield* cooking()
      const late = yield* forked(failure(ref.Order({ dish: "soup" })))
      const gone = yield* forked(ref.Order({ dish: "soup" }))
      yield* until("both wait", () => orders.of("soup").resumes?.length === 2)
      yield* Fiber.interrupt(gone)
      assert.lengthOf(orders.of("soup").resumes!, 1)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(late), "AskTimeout")
      assert.lengthOf(orders.of("soup").resumes!, 0)
      yield* Deferred.succeed(orders.of("soup"), "too late")
      assert.strictEqual(yield* ref.Order({ dish: "soup" }), "too late")
    })
  )

  it.effect("C-155 a stop and a crash tell those whose answers never came, after the supervisor knows", () =>
    Effect.gen(function* () {
      const { ref, root, tree, orders } = yield* cooking()
      const first = yield* forked(
        Effect.flatMap(failure(ref.Order({ dish: "soup" })), (tag) =>
          Effect.map(tree.snapshot, (snapshot) => [tag, nodeOf(snapshot, "Kitchen").restarts] as const)
        )
      )
      yield* quiet
      yield* Effect.ignore(ref.Crash())
      assert.deepStrictEqual(yield* Fiber.join(first), ["ActorCrashed", 1])
      const second = yield* forked(failure(ref.Order({ dish: "soup" })))
      yield* quiet
      yield* root.stopChild("Kitchen")
      assert.strictEqual(yield* Fiber.join(second), "ActorStopped")
      assert.lengthOf(orders.of("soup").resumes!, 0)
    })
  )

  for (const slowly of [false, true]) {
    it.effect(
      `C-156 an actor that answers ${slowly ? "slowly " : ""}and stops is cleaned up, and its place free, before its caller knows`,
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const orders = new Orders()
          const { tree } = yield* stage.start(Supervisor.make("root", { children: [] }))
          const root = yield* tree.find(["root"])
          for (let night = 1; night <= 200; night++) {
            const { context } = yield* root.startChild(kitchen(stage, orders, { restart: "never" }))
            const ref = Context.get(context, Kitchen)
            const closing = yield* forked(ref.Close({ slowly }))
            const behind = yield* forked(failure(ref.Order({ dish: "soup" })))
            yield* ref.tell.Serve({ dish: "soup" })
            assert.strictEqual(yield* Fiber.join(closing), "good night")
            assert.lengthOf(stage.log, night)
            assert.strictEqual(yield* Fiber.join(behind), "ActorStopped")
          }
          assert.isTrue(
            stage.of("Exited", "Kitchen").every((event) => event.reason._tag === "Normal" && !event.ordered)
          )
          assert.lengthOf(stage.of("DeadLetter"), 200)
        })
    )
  }

  it.effect("C-156 who stops with an answer and is always restarted keeps its mail for the next incarnation", () =>
    Effect.gen(function* () {
      const { ref, tree } = yield* cooking()
      const closing = yield* forked(ref.Close({ slowly: false }))
      const order = yield* forked(ref.Order({ dish: "soup" }))
      yield* ref.tell.Serve({ dish: "soup" })
      assert.strictEqual(yield* Fiber.join(closing), "good night")
      assert.strictEqual(yield* Fiber.join(order), "hot soup")
      assert.strictEqual(nodeOf(yield* tree.snapshot, "Kitchen").incarnation, 2)
    })
  )

  it.effect(
    "C-156 the answer comes though the clean-up fails or hangs, and those who wait for a later one are told",
    () =>
      Effect.gen(function* () {
        class Sloppy extends Actor.Service<Sloppy>()("Sloppy", [
          Rpc.make("Close", { success: Schema.String }),
          Rpc.make("Wait", {})
        ]) {}
        const cases = [
          [Effect.die("broken pipe"), "ActorCrashed"],
          [Effect.never, "ActorStopped"]
        ] as const
        for (const [cleanup, told] of cases) {
          const sloppy = Sloppy.child(
            Effect.as(
              Effect.addFinalizer(() => cleanup),
              Sloppy.handlers({ Close: () => Actor.stopWith("bye"), Wait: () => Deferred.makeUnsafe<void>() })
            ),
            { restart: "never" }
          )
          const stage = new Stage()
          const { context } = yield* stage.start(Supervisor.make("root", { children: [sloppy] }))
          const ref = Context.get(context, Sloppy)
          const waiting = yield* forked(failure(Actor.withTimeout("1 hour")(ref.Wait())))
          const closing = yield* forked(Actor.withTimeout("1 hour")(ref.Close()))
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual(yield* Fiber.join(closing), "bye")
          assert.strictEqual(yield* Fiber.join(waiting), told)
          assert.strictEqual(yield* failure(ref.Wait()), "ActorStopped")
        }
      })
  )
})
