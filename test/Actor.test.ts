import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Duration, Effect, Exit, Fiber, Option, Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Failure, Supervisor, type Tree } from "espalier"

import { counter, Counter, counting, failure, forked, Full } from "./fixtures/counter.ts"
import { nodeOf, quiet, Stage, until } from "./fixtures/stage.ts"

describe("Actor", () => {
  describe("ask", () => {
    it.effect("a handler's typed error answers the caller and leaves the actor as it was", () =>
      Effect.gen(function* () {
        const { ref, tree } = yield* counting()
        yield* ref.Add({ by: 99 })
        const error = yield* Effect.flip(ref.Add({ by: 9 }))
        assert.deepStrictEqual(error, new Full({ total: 99 }))
        assert.strictEqual(yield* ref.Add({ by: 1 }), 100)
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Counter").incarnation, 1)
      })
    )

    it.effect("the time-out nearest to the call wins: around the ask, then on the rpc, then five seconds", () =>
      Effect.gen(function* () {
        class Patient extends Actor.Service<Patient>()("Patient", [
          Rpc.make("Own", {}).annotate(Actor.Timeout, "1 minute"),
          Rpc.make("Usual", {})
        ]) {}
        const child = Patient.child(
          Effect.succeed(Patient.handlers({ Own: () => Effect.never, Usual: () => Effect.never }))
        )
        const ref = Context.get(
          yield* Supervisor.start(Supervisor.make("root", { children: [child] }), { log: false }),
          Patient
        )
        const after = (ask: Effect.Effect<void, Actor.ActorFailure>) =>
          forked(
            Effect.map(Effect.flip(ask), (error) => (error._tag === "AskTimeout" ? error.afterMillis : error._tag))
          )
        const usual = yield* after(ref.Usual())
        const own = yield* after(ref.Own())
        const said = yield* after(Actor.withTimeout("7 seconds")(ref.Own()))
        const inner = yield* after(ref.Usual().pipe(Actor.withTimeout("2 seconds"), Actor.withTimeout("1 hour")))
        const forever = yield* after(Actor.withTimeout("Infinity")(ref.Usual()))
        yield* TestClock.adjust("2 hours")
        assert.deepStrictEqual(yield* Fiber.joinAll([usual, own, said, inner]), [5_000, 60_000, 7_000, 2_000])
        assert.isUndefined(forever.pollUnsafe())
      })
    )

    it.effect("a payload that its schema refuses is the caller's bug, and never reaches the actor", () =>
      Effect.gen(function* () {
        class Strict extends Actor.Service<Strict>()("Strict", [
          Rpc.make("Take", {
            payload: { n: Schema.Int, unit: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed("kg"))) },
            success: Schema.String
          })
        ]) {}
        const seen: Array<unknown> = []
        const strict = Strict.child(
          Effect.succeed(
            Strict.handlers({
              Take: (payload) => {
                seen.push(payload)
                return `${payload.n} ${payload.unit}`
              }
            })
          )
        )
        const ref = Context.get(
          yield* Supervisor.start(Supervisor.make("root", { children: [strict] }), { log: false }),
          Strict
        )
        assert.strictEqual(yield* ref.Take({ n: 3 }), "3 kg")
        assert.isTrue(Exit.hasDies(yield* Effect.exit(ref.Take({ n: 1.5 }))))
        assert.isTrue(Exit.hasDies(yield* Effect.exit(ref.tell.Take({ n: 1.5 }))))
        assert.throws(() => ref.tellUnsafe.Take({ n: 1.5 }))
        assert.lengthOf(seen, 1)
      })
    )
  })

  describe("restart", () => {
    it.effect("R-109 mail that waits when an actor crashes is handled in order by the next incarnation, once", () =>
      Effect.gen(function* () {
        const { ref, stage } = yield* counting()
        const asks = [ref.Add({ by: 1 }), ref.Crash(), ref.Add({ by: 10 }), ref.Add({ by: 20 })]
        const fibers = yield* Effect.forEach(asks, (ask) => forked(Effect.exit(ask as Effect.Effect<unknown, unknown>)))
        const exits = yield* Fiber.joinAll(fibers)
        assert.deepStrictEqual(
          exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : "failed")),
          [1, "failed", 10, 30]
        )
        assert.deepStrictEqual(stage.of("DeadLetter"), [])
      })
    )

    it.effect("R-109 with onRestart fail, waiting asks get ActorCrashed and waiting tells are dead letters", () =>
      Effect.gen(function* () {
        const { ref, stage } = yield* counting({ mailbox: { onRestart: "fail" } })
        const crash = yield* forked(failure(ref.Crash()))
        const ask = yield* forked(failure(ref.Add({ by: 1 })))
        yield* ref.tell.Add({ by: 2 })
        assert.deepStrictEqual(yield* Fiber.joinAll([crash, ask]), ["ActorCrashed", "ActorCrashed"])
        assert.deepStrictEqual(
          stage.of("DeadLetter").map((event) => event.reason),
          ["crashed"]
        )
        assert.strictEqual(yield* ref.Add({ by: 5 }), 5)
      })
    )

    it.effect("R-109 a reference stays valid over restarts, stops and starts of its place", () =>
      Effect.gen(function* () {
        const { ref, root } = yield* counting({}, { intensity: { restarts: 100, within: "1 second" } })
        for (let round = 1; round <= 5; round++) {
          assert.strictEqual(yield* ref.Add({ by: round }), round)
          yield* Effect.ignore(ref.Crash())
        }
        yield* root.stopChild("Counter")
        yield* root.restartChild("Counter")
        assert.strictEqual(yield* ref.Add({ by: 4 }), 4)
      })
    )

    it.effect("R-109 an ask during a backoff waits for the next incarnation", () =>
      Effect.gen(function* () {
        class Flaky extends Actor.Service<Flaky>()("Flaky", [
          Rpc.make("Fail", {}),
          Rpc.make("Ping", { success: Schema.String })
        ]) {}
        const stage = new Stage()
        const flaky = Flaky.child(
          Effect.succeed(
            Flaky.handlers({
              Fail: () => Effect.die(Failure.transient("overload", { retryAfter: "3 seconds" })),
              Ping: () => "pong"
            })
          )
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [flaky] }))
        const ref = Context.get(context, Flaky)
        yield* Effect.flip(ref.Fail())
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Flaky").state, "backing-off")
        const ping = yield* forked(ref.Ping())
        yield* quiet
        assert.isUndefined(ping.pollUnsafe())
        yield* TestClock.adjust("3 seconds")
        assert.strictEqual(yield* Fiber.join(ping), "pong")
      })
    )

    it.effect("a group restart interrupts the message in progress and keeps the mail", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const root = Supervisor.make("root", {
          strategy: "one-for-all",
          children: [counter(stage), stage.child("sibling")]
        })
        const { context } = yield* stage.start(root)
        const ref = Context.get(context, Counter)
        yield* ref.Add({ by: 50 })
        const handled = yield* forked(failure(ref.Wait()))
        const queued = yield* forked(ref.Add({ by: 1 }))
        yield* ref.tell.Add({ by: 2 })
        yield* until("it waits", () => stage.log.includes("waits"))
        stage.end("sibling")
        assert.strictEqual(yield* Fiber.join(handled), "ActorStopped")
        assert.strictEqual(yield* Fiber.join(queued), 1)
        assert.strictEqual(yield* ref.Add({ by: 0 }), 3)
        assert.deepStrictEqual(stage.of("DeadLetter"), [])
      })
    )
  })

  describe("init", () => {
    it.effect("what an init acquires is released when the incarnation ends, before the next begins", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { log } = stage
        class Holder extends Actor.Service<Holder>()("Holder", [Rpc.make("Crash", {})]) {}
        let n = 0
        const holder = Holder.child(
          Effect.gen(function* () {
            const id = (n += 1)
            yield* Effect.acquireRelease(
              Effect.sync(() => log.push(`open ${id}`)),
              () => Effect.sync(() => log.push(`close ${id}`))
            )
            return Holder.handlers({ Crash: () => Effect.die("boom") })
          })
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [holder] }))
        yield* Effect.flip(Context.get(context, Holder).Crash())
        yield* tree.stop
        assert.deepStrictEqual(log, ["open 1", "close 1", "open 2", "close 2"])
      })
    )

    it.effect("an init's typed error is the start's error, and onFailure decides about it at a restart", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Picky extends Actor.Service<Picky>()("Picky", [Rpc.make("Crash", {})]) {}
        let broken = true
        const seen: Array<string> = []
        const picky = Picky.child(
          Effect.suspend(() =>
            broken ? Effect.fail("no disk" as const) : Effect.succeed(Picky.handlers({ Crash: () => Effect.die("x") }))
          ),
          {
            onFailure: (error) => {
              seen.push(error)
              return "stop"
            }
          }
        )
        const root = Supervisor.make("root", { children: [picky] })
        const error: Supervisor.StartFailure<"no disk"> = yield* Effect.flip(Effect.scoped(stage.start(root)))
        assert.deepStrictEqual([error.path, Cause.squash(error.cause)], [["root", "Picky"], "no disk"])
        broken = false
        const { context, tree } = yield* stage.start(root)
        stage.takeLog()
        broken = true
        yield* Effect.flip(Context.get(context, Picky).Crash())
        yield* until("it stays down", () => stage.of("Failed", "Picky").length === 1)
        yield* quiet
        assert.include(seen, "no disk")
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Picky").state, "failed")
        assert.strictEqual(yield* failure(Context.get(context, Picky).Crash()), "ActorStopped")
      })
    )

    it.effect("an ask from an init to a younger sibling fails at once with ActorNotStarted, a tell waits for it", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let seen: Exit.Exit<unknown, unknown> | undefined
        const eager = Child.make(
          "eager",
          Effect.gen(function* () {
            const ref = yield* Counter
            yield* ref.tell.Add({ by: 42 })
            seen = yield* Effect.exit(ref.Add({ by: 1 }))
            return Effect.never
          })
        )
        const { context } = yield* stage.start(Supervisor.make("root", { children: [eager, counter(stage)] }))
        const error = Option.getOrThrow(Exit.findErrorOption(seen!)) as Actor.ActorFailure
        assert.strictEqual(error._tag, "ActorNotStarted")
        assert.strictEqual(
          error.message,
          "root/Counter has not started and cannot answer Add to an init that it waits for"
        )
        assert.strictEqual(yield* Context.get(context, Counter).Add({ by: 0 }), 42)
      })
    )

    it.effect("an ask from what runs already to a younger sibling waits until it has started: it holds nobody up", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        let seen: Exit.Exit<unknown, unknown> | undefined
        const early = Child.effect(
          "early",
          Effect.gen(function* () {
            seen = yield* Effect.exit((yield* Counter).Add({ by: 1 }))
            return yield* Effect.never
          })
        )
        const inner = Supervisor.make("inner", { children: [early, stage.child("slow", { init: Effect.sleep(100) })] })
        const starting = yield* forked(stage.start(Supervisor.make("root", { children: [inner, counter(stage)] })))
        yield* quiet
        assert.isUndefined(seen)
        yield* TestClock.adjust(100)
        yield* Fiber.join(starting)
        yield* until("it has its answer", () => seen !== undefined)
        assert.deepStrictEqual(seen, Exit.succeed(1))
      })
    )

    for (const [where, build] of [
      [
        "inside a younger supervisor",
        (eager: Child.Child<never, unknown, Counter>, other: Child.Child<Counter, never, never>) =>
          Supervisor.make("root", { children: [eager, Supervisor.make("inner", { children: [other] })] })
      ],
      [
        "beside the supervisor of the init",
        (eager: Child.Child<never, unknown, Counter>, other: Child.Child<Counter, never, never>) =>
          Supervisor.make("root", { children: [Supervisor.make("inner", { children: [eager] }), other] })
      ],
      [
        "in another branch",
        (eager: Child.Child<never, unknown, Counter>, other: Child.Child<Counter, never, never>) =>
          Supervisor.make("root", {
            children: [
              Supervisor.make("left", { children: [eager] }),
              Supervisor.make("right", { children: [Supervisor.make("deep", { children: [other] })] })
            ]
          })
      ]
    ] as const) {
      it.effect(`an ask from an init to an actor that starts later, ${where}, fails at once`, () =>
        Effect.gen(function* () {
          const stage = new Stage()
          let seen: string | undefined
          const eager = Child.make(
            "eager",
            Effect.gen(function* () {
              seen = yield* failure((yield* Counter).Add({ by: 1 }))
              return Effect.never
            })
          )
          yield* stage.start(build(eager, counter(stage)) as Supervisor.Supervisor<Counter, unknown, never>)
          assert.strictEqual(seen, "ActorNotStarted")
        })
      )
    }

    it.effect(
      "an ask from an init to an elder sibling that just crashed fails at once, for its restart waits too",
      () =>
        Effect.gen(function* () {
          const stage = new Stage()
          const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [counter(stage)] }))
          const ref = Context.get(context, Counter)
          let seen: string | undefined
          const late = Child.make(
            "late",
            Effect.gen(function* () {
              yield* Effect.ignore(ref.Crash())
              seen = yield* failure(ref.Add({ by: 1 }))
              return Effect.never
            })
          )
          yield* (yield* tree.find(["root"])).startChild(late)
          assert.strictEqual(seen, "ActorNotStarted")
          assert.strictEqual(yield* ref.Add({ by: 1 }), 1)
        })
    )

    it.effect("an init may ask actors that started before it, in its own and in other supervisors", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const answers: Array<number> = []
        const eager = Child.make(
          "eager",
          Effect.gen(function* () {
            answers.push(yield* (yield* Counter).Add({ by: 3 }))
            return Effect.never
          })
        )
        const root = Supervisor.make("root", {
          children: [
            Supervisor.make("left", { children: [counter(stage)] }),
            Supervisor.make("right", { children: [eager] })
          ]
        })
        yield* stage.start(root)
        assert.deepStrictEqual(answers, [3])
      })
    )
  })

  describe("orCrash", () => {
    it.effect("makes the loss of a neighbour a crash with the backoff of a passing failure", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        class Back extends Actor.Service<Back>()("Back", [Rpc.make("Get", { success: Schema.Finite })]) {}
        class Front extends Actor.Service<Front>()("Front", [Rpc.make("Get", { success: Schema.Finite })]) {}
        const back = Back.child(Effect.succeed(Back.handlers({ Get: () => 1 })))
        const front = Front.child(
          Effect.map(Back, (neighbour) => Front.handlers({ Get: () => Actor.orCrash(neighbour.Get()) }))
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [back, front] }))
        const ref = Context.get(context, Front)
        assert.strictEqual(yield* ref.Get(), 1)
        const root = yield* tree.find(["root"])
        yield* root.stopChild("Back")
        assert.strictEqual(yield* failure(ref.Get()), "ActorCrashed")
        const [waits] = stage.of("BackingOff", "Front")
        const delay = Duration.toMillis(waits!.delay)
        assert.isTrue(delay >= 800 && delay <= 1_200)
        assert.strictEqual(nodeOf(yield* tree.snapshot, "Front").state, "backing-off")
        yield* root.restartChild("Back")
        const answer = yield* forked(ref.Get())
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* Fiber.join(answer), 1)
      })
    )

    it.effect("leaves the errors of the protocol alone", () =>
      Effect.gen(function* () {
        const { ref } = yield* counting()
        const error: Full = yield* Effect.flip(Actor.orCrash(ref.Add({ by: 1_000 })))
        assert.strictEqual(error._tag, "Full")
        assert.isFalse(Actor.isActorFailure(error))
        assert.isFalse(Actor.isActorFailure(undefined))
      })
    )
  })

  describe("Service", () => {
    const rpc = (tag: string) => Rpc.make(tag, {})

    it("refuses rpcs that would hide members of the reference, and equal names", () => {
      for (const tag of ["tell", "tellUnsafe", "then", "constructor", "__proto__", "toString"]) {
        assert.throws(() => Actor.Service()("Bad", [rpc(tag)]), RangeError, `Bad must not have an rpc called ${tag}`)
      }
      assert.throws(() => Actor.Service()("Bad", [rpc("A"), rpc("A")]), RangeError, "Bad has two rpcs called A")
    })

    it("refuses options out of range, naming them", () => {
      const build = Effect.succeed(Counter.handlers({} as never))
      assert.throws(() => Counter.child(build, { stop: "later" as never }), RangeError, "stop of Counter must be")
      assert.throws(() => Counter.child(build, { id: "" }), RangeError, "id must be")
      assert.throws(() => Counter.child(build, { mailbox: { capacity: 0 } }), RangeError, "capacity must be")
      assert.throws(() => Counter.child(build, { restart: "forever" as never }), RangeError, "restart of Counter")
    })

    it("keeps the protocol, so that a group or an entity can be made of it", () => {
      assert.deepStrictEqual(
        Counter.protocol.map((some) => some._tag),
        ["Add", "Slow", "Wait", "Crash"]
      )
      assert.sameMembers([...RpcGroup.make(...Counter.protocol).requests.keys()], ["Add", "Slow", "Wait", "Crash"])
    })

    it.effect("two services of one key in one supervisor are refused, unless one is hidden", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const one = counter(stage)
        const two = counter(stage, { id: "other" })
        assert.throws(
          () => Supervisor.make("root", { children: [one, two] }),
          RangeError,
          "Supervisor.make: two children of root, Counter and other, provide Counter; hide one with Child.hide"
        )
        const { context, tree } = yield* stage.start(Supervisor.make("root", { children: [Child.hide(two), one] }))
        yield* Context.get(context, Counter).Add({ by: 1 })
        yield* (yield* tree.find(["root"])).stopChild("other")
        assert.strictEqual(yield* Context.get(context, Counter).Add({ by: 1 }), 2)
      })
    )

    it.effect("a child that is started at run time hands its reference to the caller", () =>
      Effect.gen(function* () {
        const stage = new Stage()
        const { tree } = yield* stage.start(Supervisor.make("root", { children: [] }))
        const started: Tree.StartedChild<Counter> = yield* (yield* tree.find(["root"])).startChild(counter(stage))
        assert.strictEqual(yield* Context.get(started.context, Counter).Add({ by: 2 }), 2)
        assert.deepStrictEqual(started.path, ["root", "Counter"])
      })
    )
  })
})
