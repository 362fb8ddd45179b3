import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Data, Deferred, Effect, Exit, Fiber, Layer, Option, Schedule, Schema, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Child, Registry, Supervisor } from "espalier"

import { quiet, Stage, until } from "../fixtures/stage.ts"

const many = { restarts: 100, within: "1 hour" } as const

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

class Names extends Registry.Unique<Names, unknown, string>()("Names") {}
class Topics extends Registry.Duplicate<Topics, string, string>()("Topics") {}

/** A child that registers in its init; it tells nobody how else it lives. */
const holder = (stage: Stage, id: string, key: unknown, options?: Parameters<Stage["child"]>[1]) =>
  stage.child(id, {
    ...options,
    init: Effect.flatMap(Names, (names) => names.register(key, id)) as unknown as Effect.Effect<void>
  })

const start = (children: (stage: Stage) => ReadonlyArray<Child.Child<never, unknown, never>>) =>
  Effect.gen(function* () {
    const stage = new Stage()
    const { tree } = yield* stage.start(Supervisor.make("root", { intensity: many, children: children(stage) }))
    return { stage, tree, root: yield* tree.find(["root"]), names: yield* Names }
  })

/** Who has a key. */
const owner = (names: Names["Service"], key: unknown) =>
  Effect.map(
    names.lookup(key),
    Option.match({
      onNone: () => "nobody",
      onSome: (entry) => `${entry.owner.path.at(-1)} ${entry.owner.incarnation}`
    })
  )

class Door extends Actor.Service<Door>()("Door", [
  Rpc.make("Count", { success: Schema.Finite }),
  Rpc.make("Crash", {}),
  Rpc.make("Wait", {})
]) {}
class Doors extends Registry.Unique<Doors, string, Door["Service"]>()("Doors") {}

const door = (id: string, options?: Actor.Options<unknown> & { readonly init?: Effect.Effect<unknown> }) =>
  Door.child(
    Effect.gen(function* () {
      if (options?.init !== undefined) yield* options.init
      let count = 0
      return Door.handlers({ Count: () => (count += 1), Crash: () => Effect.die("slam"), Wait: () => Effect.never })
    }),
    { id, ...options, via: Doors.at("front") }
  )

const withRegistries = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.mergeAll(Names.layer, Topics.layer, Doors.layer), { local: true })

describe("N: the registry", () => {
  it.effect("C-140 the second who wants a key is told who has it, and nothing of it remains", () =>
    Effect.gen(function* () {
      const { root, names, stage } = yield* start((stage) => [holder(stage, "a", "x"), holder(stage, "b", "y")])
      const before = yield* names.entries
      const failure = yield* Effect.flip(root.startChild(holder(stage, "c", "x")))
      assert(failure._tag === "StartFailure")
      const taken = Cause.squash(failure.cause)
      assert(taken instanceof Registry.AlreadyRegistered)
      assert.deepStrictEqual([taken.registry, taken.key, taken.owner], ["Names", "x", ["root", "a"]])
      assert.strictEqual(taken.message, "x is registered in Names already, by root/a")
      const itself = Child.effect(
        "d",
        Effect.gen(function* () {
          yield* names.register("z", "first")
          const second = yield* Effect.flip(names.register("z", "second"))
          stage.log.push(second.owner.join("/"))
          return yield* Effect.never
        })
      )
      yield* root.startChild(itself)
      yield* until("it knows", () => stage.log.includes("root/d"))
      yield* root.stopChild("d")
      assert.deepStrictEqual(yield* names.entries, before)
      assert.deepStrictEqual(yield* names.keys, ["x", "y"])
    }).pipe(withRegistries)
  )

  it.effect("C-141 however an owner ends, its keys are free for whoever has seen the end", () =>
    Effect.gen(function* () {
      const ends: Record<string, Effect.Effect<unknown, unknown>> = {
        finished: Effect.void,
        failed: Effect.fail("error"),
        crashed: Effect.die("defect"),
        killed: Effect.interrupt
      }
      const { stage, root, names, tree } = yield* start((stage) =>
        [...Object.keys(ends), "stopped"].map((id) => holder(stage, id, id, { restart: "never" }))
      )
      const claim = (key: string) =>
        Effect.gen(function* () {
          const next = yield* root.startChild(holder(stage, `next ${key}`, key))
          assert.strictEqual(yield* owner(names, key), `next ${key} 1`)
          yield* root.stopChild(next.id)
        })
      for (const [id, end] of Object.entries(ends)) {
        // The one who sees the event looks up in the same turn.
        const seen = yield* forked(
          tree.events.pipe(
            Stream.filter((event) => event._tag === "Exited" && event.path.at(-1) === id),
            Stream.take(1),
            Stream.mapEffect(() => owner(names, id)),
            Stream.runCollect
          )
        )
        yield* quiet
        stage.end(id, end)
        assert.deepStrictEqual(yield* Fiber.join(seen), ["nobody"])
        yield* claim(id)
      }
      yield* root.stopChild("stopped")
      yield* claim("stopped")
      assert.strictEqual(yield* names.size, 0)
    }).pipe(withRegistries)
  )

  it.effect("C-141 the keys of an owner that was abandoned are free, though it goes on", () =>
    Effect.gen(function* () {
      const { stage, root, names } = yield* start((stage) => [
        holder(stage, "hung", "x", { cleanup: "1 hour", shutdown: "1 second" })
      ])
      const stopping = yield* forked(root.stopChild("hung"))
      yield* quiet
      assert.strictEqual(yield* owner(names, "x"), "hung 1")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      assert.strictEqual(stage.of("Leaked").length, 1)
      assert.strictEqual(yield* owner(names, "x"), "nobody")
      yield* root.startChild(holder(stage, "next", "x"))
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(stage.of("LeakEnded").length, 1)
      assert.strictEqual(yield* owner(names, "x"), "next 1")
    }).pipe(withRegistries)
  )

  it.effect("C-142 nobody is found who is known to be dead, and a call by name to nobody fails at once", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = yield* Doors
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [door("door", { backoff: Schedule.spaced("1 minute") })] })
      )
      const call = Effect.flatMap(doors.whereis("front"), (ref) => ref.Count())
      assert.strictEqual(yield* call, 1)
      const ref = yield* doors.whereis("front")
      assert.strictEqual((yield* Effect.flip(ref.Crash()))._tag, "ActorCrashed")
      const missing = yield* Effect.flip(call)
      assert.deepStrictEqual(missing, new Registry.NotRegistered({ registry: "Doors", key: "front" }))
      assert.strictEqual((missing as Error).message, "front is not registered in Doors")
      yield* TestClock.adjust("1 minute")
      yield* until("it is back", () => stage.of("Started", "door").length === 2)
      assert.strictEqual(yield* call, 1)
      const waiting = yield* forked(Effect.flip(Effect.flatMap(doors.whereis("front"), (ref) => ref.Wait())))
      yield* quiet
      yield* (yield* tree.find(["root"])).stopChild("door")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "ActorStopped")
      assert.strictEqual((yield* Effect.flip(call))._tag, "NotRegistered")
    }).pipe(withRegistries)
  )

  it.effect("C-143 an incarnation that was abandoned takes nothing from its successor, and gets nothing any more", () =>
    Effect.gen(function* () {
      const names = yield* Names
      const gate = Deferred.makeUnsafe<void>()
      const said: Array<string> = []
      let lives = 0
      const stubborn = Child.make(
        "stubborn",
        Effect.gen(function* () {
          lives += 1
          const life = lives
          yield* names.register("x", `life ${life}`)
          yield* Effect.addFinalizer(() =>
            life > 1
              ? Effect.void
              : Effect.gen(function* () {
                  yield* Deferred.await(gate)
                  yield* names.unregister("x")
                  said.push((yield* Effect.orDie(Effect.flip(names.update("x", () => "mine")))).message)
                  const late = yield* forked(names.register("y", "late"))
                  const exit = yield* Fiber.await(late)
                  said.push(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "went on")
                })
          )
          return Effect.never
        }),
        { shutdown: "1 second" }
      )
      const stage = new Stage()
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [stubborn] }))
      const root = yield* tree.find(["root"])
      const stopping = yield* forked(root.stopChild("stubborn"))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      yield* root.restartChild("stubborn")
      assert.strictEqual(yield* names.whereis("x"), "life 2")
      Deferred.doneUnsafe(gate, Effect.void)
      yield* until("the first life ended after all", () => stage.of("LeakEnded").length > 0)
      assert.deepStrictEqual(said, ["root/stubborn does not own x of Names", "interrupted"])
      assert.strictEqual(yield* names.whereis("x"), "life 2")
      assert.strictEqual(yield* owner(names, "x"), "stubborn 2")
      assert.strictEqual(yield* names.size, 1)
    }).pipe(withRegistries)
  )

  it.effect("C-144 a duplicate key has many owners, an owner many entries, and each is served once", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const topics = yield* Topics
      const member = (id: string, ...values: ReadonlyArray<string>) =>
        stage.child(id, {
          init: Effect.forEach(values, (value) => topics.register("news", value)),
          restart: "never"
        })
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [member("a", "a1", "a2"), member("b", "b1"), member("c", "c1")] })
      )
      const root = yield* tree.find(["root"])
      const served: Array<string> = []
      yield* topics.dispatch("news", (value, entry) =>
        Effect.gen(function* () {
          served.push(`${entry.owner.path.at(-1)}: ${value}`)
          // Who is gone when its turn comes is left out.
          if (value === "a2") yield* Effect.orDie(root.stopChild("b"))
        })
      )
      assert.deepStrictEqual(served, ["a: a1", "a: a2", "c: c1"])
      yield* topics.dispatch("nothing", () => Effect.die("there is nobody"))
      assert.deepStrictEqual(
        (yield* topics.lookup("news")).map(({ value }) => value),
        ["a1", "a2", "c1"]
      )
      const together: Array<string> = []
      yield* topics.dispatch("news", (value) => Effect.sync(() => together.push(value)), { concurrency: "unbounded" })
      assert.deepStrictEqual(together.toSorted(), ["a1", "a2", "c1"])
      yield* root.stopChild("a")
      assert.deepStrictEqual([yield* topics.size, yield* topics.keys], [1, ["news"]])
      yield* root.stopChild("c")
      assert.deepStrictEqual([yield* topics.size, yield* topics.keys], [0, []])
    }).pipe(withRegistries)
  )

  it("C-144 a duplicate key is no name", () => {
    assert.isUndefined((Topics as { readonly at?: unknown }).at)
    assert.throws(
      () => Door.child(Effect.never, { via: { key: "news" } as never }),
      RangeError,
      'Actor.child: via of Door must be a key of a unique registry, as its at gives, got {"key":"news"}'
    )
  })

  it.effect("C-145 a named actor has its name before it is ready, and calls find who has it when they are made", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = yield* Doors
      const gate = Deferred.makeUnsafe<void>()
      const starting = yield* forked(
        stage.start(Supervisor.make("root", { children: [door("first", { init: Deferred.await(gate) })] }))
      )
      yield* until("it starts", () => stage.of("Starting").length === 2)
      const early = yield* doors.whereis("front")
      assert.deepStrictEqual(stage.of("Started"), [])
      yield* early.tellUnsafe.Count() ? Effect.void : Effect.die("the mail was refused")
      Deferred.doneUnsafe(gate, Effect.void)
      const { tree } = yield* Fiber.join(starting)
      const call = Effect.flatMap(doors.whereis("front"), (ref) => ref.Count())
      assert.strictEqual(yield* call, 2)
      const root = yield* tree.find(["root"])
      yield* root.stopChild("first")
      yield* root.startChild(door("second"))
      assert.strictEqual(yield* call, 1)
    }).pipe(withRegistries)
  )

  it.effect("C-145 C-013 a name that is taken refuses the start, its owner goes on, and nothing was added", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = yield* Doors
      const { tree, context } = yield* stage.start(Supervisor.make("root", { children: [door("first")] }))
      const root = yield* tree.find(["root"])
      const before = yield* doors.entries
      const failure = yield* Effect.flip(root.startChild(door("second")))
      assert(failure._tag === "StartFailure")
      assert.deepStrictEqual(failure.path, ["root", "second"])
      const taken = Cause.squash(failure.cause)
      assert(taken instanceof Registry.AlreadyRegistered)
      assert.deepStrictEqual(taken.owner, ["root", "first"])
      assert.strictEqual(yield* Context.get(context, Door).Count(), 1)
      assert.deepStrictEqual(
        (yield* root.snapshot).children.map(({ id, incarnation }) => [id, incarnation]),
        [["first", 1]]
      )
      assert.deepStrictEqual(yield* doors.entries, before)

      // So it is for a whole tree.
      const other = yield* Effect.flip(stage.start(Supervisor.make("other", { children: [door("third")] })))
      assert.deepStrictEqual(other.path, ["other", "third"])
      assert(Cause.squash(other.cause) instanceof Registry.AlreadyRegistered)
    }).pipe(withRegistries)
  )

  it.effect("C-145 a named actor whose init fails reports its own error, and its name is free", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = yield* Doors
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [] }))
      const root = yield* tree.find(["root"])
      for (const init of [Effect.die("no hinges"), Effect.fail("no hinges") as Effect.Effect<never>]) {
        const failure = yield* Effect.flip(root.startChild(door("door", { init })))
        assert(failure._tag === "StartFailure")
        assert.strictEqual(Cause.squash(failure.cause), "no hinges")
        assert.deepStrictEqual(yield* doors.entries, [])
      }
      yield* root.startChild(door("door"))
      assert.strictEqual(yield* doors.size, 1)
    }).pipe(withRegistries)
  )

  it.effect("C-146 after a restart the name leads to the new incarnation, and two never have it", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const doors = yield* Doors
      const steps: Array<string> = []
      yield* forked(
        Stream.runForEach(doors.events, (event) =>
          Effect.sync(() => {
            if (event._tag !== "Missed") steps.push(`${event._tag} ${event.owner.incarnation}`)
          })
        )
      )
      yield* quiet
      const { context } = yield* stage.start(Supervisor.make("root", { intensity: many, children: [door("door")] }))
      const ref = Context.get(context, Door)
      for (let life = 1; life <= 20; life++) {
        assert.strictEqual(yield* ref.Count(), 1)
        assert.strictEqual(yield* doors.whereis("front"), ref)
        assert.deepStrictEqual(
          (yield* doors.entries).map((entry) => entry.owner),
          [{ path: ["root", "door"], incarnation: life }]
        )
        yield* ref.tell.Crash()
        yield* until("it is back", () => stage.of("Started", "door").length === life + 1)
      }
      yield* quiet
      assert.deepStrictEqual(
        steps,
        Array.from({ length: 20 }, (_, i) => [`Registered ${i + 1}`, `Unregistered ${i + 1}`])
          .flat()
          .concat("Registered 21")
      )
    }).pipe(withRegistries)
  )

  it.effect("C-147 taking back what is not there does no harm, and only the owner changes a value", () =>
    Effect.gen(function* () {
      const { root, names } = yield* start((stage) => [holder(stage, "a", "x")])
      const said: Array<unknown> = []
      const b = Child.effect(
        "b",
        Effect.gen(function* () {
          yield* names.register("y", "one")
          yield* names.unregister("nothing")
          yield* names.unregister("x")
          said.push(yield* Effect.flip(names.update("x", () => "stolen")))
          said.push(yield* Effect.flip(names.update("nothing", () => "made")))
          said.push(yield* names.update("y", (value) => `${value}, two`))
          yield* names.unregister("nothing")
          return yield* Effect.never
        })
      )
      yield* root.startChild(b)
      yield* until("b is through", () => said.length === 3)
      const caller = ["root", "b"]
      assert.deepStrictEqual(said, [
        new Registry.NotOwner({ registry: "Names", key: "x", caller }),
        new Registry.NotOwner({ registry: "Names", key: "nothing", caller }),
        "one, two"
      ])
      assert.deepStrictEqual([yield* names.whereis("x"), yield* names.whereis("y")], ["a", "one, two"])
      assert.deepStrictEqual(yield* names.size, 2)
    }).pipe(withRegistries)
  )

  it.effect("C-147 keys are equal as Effect's Equal says, and nothing is coerced", () =>
    Effect.gen(function* () {
      class Seat extends Data.Class<{ readonly row: number }> {}
      const keys = ["1", 1, true, null, undefined, 1n, new Seat({ row: 1 }), new Seat({ row: 2 }), { row: 1 }, ["row"]]
      const { names, root, stage } = yield* start((stage) => keys.map((key, i) => holder(stage, `${i}`, key)))
      assert.strictEqual(yield* names.size, keys.length)
      for (const [i, key] of ["1", 1, true, null, undefined, 1n].entries()) {
        assert.strictEqual(yield* names.whereis(key), `${i}`)
      }
      assert.strictEqual(yield* names.whereis(new Seat({ row: 2 })), "7")
      assert.strictEqual(yield* names.whereis({ row: 1 }), "8")
      assert.strictEqual(yield* names.whereis(["row"]), "9")
      const again = yield* Effect.flip(root.startChild(holder(stage, "again", new Seat({ row: 1 }))))
      assert(again._tag === "StartFailure")
      assert(Cause.squash(again.cause) instanceof Registry.AlreadyRegistered)
    }).pipe(withRegistries)
  )

  it.effect("C-148 listeners hear who comes and who goes, and why", () =>
    Effect.gen(function* () {
      const { names, stage, root } = yield* start(() => [])
      const heard: Array<string> = []
      const listening = yield* forked(
        Stream.runForEach(names.events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Missed") return
            const why = event._tag === "Unregistered" ? `, ${event.because}` : ""
            heard.push(`${event._tag} ${String(event.key)} of ${event.owner.path.at(-1)}${why}`)
          })
        )
      )
      yield* quiet
      const brief = Child.effect(
        "brief",
        Effect.gen(function* () {
          yield* names.register("p", "1")
          yield* names.register("q", "2")
          yield* names.unregister("p")
        }),
        { restart: "never" }
      )
      yield* root.startChild(brief)
      yield* until("it is through", () => stage.of("Removed").length > 0)
      yield* quiet
      assert.deepStrictEqual(heard, [
        "Registered p of brief",
        "Registered q of brief",
        "Unregistered p of brief, asked",
        "Unregistered q of brief, owner-ended"
      ])
      yield* Fiber.interrupt(listening)
    }).pipe(withRegistries)
  )

  it.effect("C-148 the lock of a key lets one in at a time, whatever becomes of the holder or of who waits", () =>
    Effect.gen(function* () {
      const names = yield* Names
      const inside: Array<string> = []
      const section = (who: string, body: Effect.Effect<unknown, unknown>, key = "x") =>
        forked(
          names.withLock(key)(
            Effect.andThen(
              Effect.sync(() => inside.push(who)),
              body
            )
          )
        )
      const held = yield* section("holder", Effect.never)
      const other = yield* section("other key", Effect.void, "y")
      yield* Fiber.join(other)
      const waiter = yield* section("waiter", Effect.void)
      const killed = yield* section("killed while it waits", Effect.void)
      const failing = yield* section("failing", Effect.fail("no"))
      const dying = yield* section("dying", Effect.die("no"))
      const last = yield* section("last", Effect.succeed("done"))
      yield* quiet
      assert.deepStrictEqual(inside, ["holder", "other key"])
      yield* Fiber.interrupt(killed)
      yield* Fiber.interrupt(held)
      assert.strictEqual(yield* Fiber.join(last), "done")
      yield* Effect.forEach([waiter, failing, dying], Fiber.await)
      assert.deepStrictEqual(inside, ["holder", "other key", "waiter", "failing", "dying", "last"])
    }).pipe(withRegistries)
  )
})
