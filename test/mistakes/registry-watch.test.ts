/** Mistakes that other runtimes shipped about names and about watching; each is shown not to be made here. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Schedule, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { TestClock } from "effect/testing"
import { Actor, Failure, Registry, Supervisor, Tree, Watch } from "espalier"

import type { Incarnation } from "../../src/internal/mount.ts"
import { Entries } from "../../src/internal/registry.ts"
import { CurrentLife } from "../../src/internal/runtime.ts"
import { quiet, Stage, until } from "../fixtures/stage.ts"
import { lost, Notes, Witness } from "../fixtures/witness.ts"

const many = { restarts: 1_000_000, within: "1 hour" } as const

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

class Names extends Registry.Unique<Names, string, string>()("Names") {}

class Shop extends Actor.Service<Shop>()("Shop", [
  Rpc.make("Sell", { payload: { cents: Schema.Finite }, success: Schema.Finite }),
  Rpc.make("Break", {})
]) {}
class Shops extends Registry.Unique<Shops, string, Shop["Service"]>()("Shops") {}

const handlers = Shop.handlers({ Sell: ({ cents }) => cents, Break: () => Effect.die("broken") })

const withNames = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.mergeAll(Names.layer, Shops.layer), { local: true })

const registers = (key: string) => Effect.flatMap(Names, (names) => names.register(key, key)) as Effect.Effect<void>

describe("mistakes about names", () => {
  it.effect("a thousand refused registrations leave nothing behind, not even inside", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const lives: Array<Incarnation> = []
      const init = Effect.withFiber((fiber) => Effect.sync(() => lives.push(fiber.getRef(CurrentLife)!)))
      yield* stage.start(Supervisor.make("root", { children: ["a", "b"].map((id) => stage.child(id, { init })) }))
      const [a, b] = lives as [Incarnation, Incarnation]
      const entries = new Entries<string, number>(true)
      entries.add(a, "key", 0)
      const before = entries.sizes
      assert.deepStrictEqual(before, { keys: 1, entries: 1, owners: 1, locks: 0 })
      for (let i = 0; i < 1_000; i++) assert.strictEqual(entries.add(b, "key", i)?.value, 0)
      assert.deepStrictEqual(entries.sizes, before)
      const watched = (life: Incarnation) => (life.mount as unknown as { observers: unknown }).observers
      assert.isUndefined(watched(b))
      for (let i = 0; i < 1_000; i++) {
        entries.add(b, `${i}`, i)
        entries.remove(b, `${i}`)
        yield* entries.withLock(`${i}`, Effect.void)
      }
      assert.deepStrictEqual(entries.sizes, before)
      entries.remove(a, "key")
      assert.deepStrictEqual(entries.sizes, { keys: 0, entries: 0, owners: 0, locks: 0 })
      assert.deepStrictEqual([a, b].map(watched), [undefined, undefined])
    })
  )

  it.effect("a named actor that cannot start says why, not that its name is in trouble", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const broken = Shop.child(Effect.fail("no licence" as const), { via: Shops.at("corner") })
      const failure = yield* Effect.flip(stage.start(Supervisor.make("root", { children: [broken] })))
      assert.strictEqual(Cause.squash(failure.cause), "no licence")
      assert.strictEqual(yield* (yield* Shops).size, 0)
    }).pipe(withNames)
  )

  it.effect("nobody is found in the tick in which the end of an owner is seen", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const names = yield* Names
      const found: Array<boolean> = []
      let look = (): void => {}
      const root = Supervisor.make("root", {
        children: [stage.child("a", { init: registers("a"), restart: "never" })]
      })
      const { tree } = yield* stage.start(root, {
        onEvent: (event) => {
          if (event._tag === "Exited") look()
        }
      })
      look = () => found.push(Option.isSome(Effect.runSync(names.lookup("a"))))
      const down = yield* forked(
        Effect.andThen(Effect.flatMap(tree.find(["root", "a"]), Watch.down), names.lookup("a"))
      )
      assert.isTrue(Option.isSome(yield* names.lookup("a")))
      stage.end("a", Effect.interrupt)
      assert.isTrue(Option.isNone(yield* Fiber.join(down)))
      assert.deepStrictEqual(found, [false])
    }).pipe(withNames)
  )

  it.effect("an owner that cannot be stopped does not keep its successor from starting", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const stuck = stage.child("stuck", { init: registers("port"), cleanup: "Infinity", shutdown: "1 second" })
      const root = Supervisor.make("root", { strategy: "one-for-all", children: [stuck, stage.child("other")] })
      const { tree } = yield* stage.start(root)
      stage.end("other")
      yield* quiet
      yield* TestClock.adjust("1 second")
      yield* until("the successor is up", () => stage.of("Started", "stuck").length === 2)
      const entry = Option.getOrThrow(yield* (yield* Names).lookup("port"))
      assert.deepStrictEqual(entry.owner, { path: ["root", "stuck"], incarnation: 2 })
      assert.deepStrictEqual(stage.of("StartFailed"), [])
      yield* stage.stop(tree, "1 second")
    }).pipe(withNames)
  )

  it.effect("a named actor comes back under its name, a hundred times, alone and with its group", () =>
    Effect.gen(function* () {
      for (const strategy of ["one-for-one", "one-for-all"] as const) {
        const stage = new Stage()
        const shop = Shop.child(Effect.succeed(handlers), { via: Shops.at(strategy) })
        const other = stage.child("other", { init: registers(strategy) })
        const root = Supervisor.make("root", { strategy, intensity: many, children: [other, shop] })
        const { context } = yield* stage.start(root)
        const ref = Context.get(context, Shop)
        for (let i = 2; i < 102; i++) {
          yield* ref.tell.Break()
          yield* until("it is back", () => stage.of("Started", "Shop").length === i)
        }
        assert.deepStrictEqual(stage.of("StartFailed"), [])
        assert.strictEqual(yield* Effect.flatMap((yield* Shops).whereis(strategy), (it) => it.Sell({ cents: 5 })), 5)
      }
    }).pipe(withNames)
  )

  it.effect("a child whose init throws is not listed, its watcher is told, and its name is free", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const shops = yield* Shops
      let broken: Effect.Effect<void> = Effect.void
      const build = Effect.andThen(
        Effect.suspend(() => broken),
        Effect.succeed(handlers)
      )
      const shop = (id: string) =>
        Shop.child(build, { id, restart: "on-failure", onFailure: () => "stop", via: Shops.at(id) })
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", {
          intensity: { restarts: 1, within: "1 hour" },
          children: [notes.child(), shop("shop")]
        })
      )
      const root = yield* tree.find(["root"])

      // One that never was up: nothing of it stays.
      broken = Effect.sync(() => {
        throw new Error("thrown in the init")
      })
      const failure = yield* Effect.flip(root.startChild(shop("second")))
      assert(failure._tag === "StartFailure")
      assert.deepStrictEqual(
        (yield* root.snapshot).children.map(({ id }) => id),
        ["Witness", "shop"]
      )
      assert.deepStrictEqual(yield* shops.keys, ["shop"])

      // One whose restart fails for good.
      broken = Effect.die(new Denied({}))
      const target = yield* tree.find(["root", "shop"])
      const watcher = Context.get(context, Witness)
      yield* Watch.tell(watcher, target, "Lost", lost)
      const ref = yield* shops.whereis("shop")
      yield* ref.tell.Break()
      yield* until("the watcher is told", () => notes.heard.length > 0)
      assert.deepStrictEqual(notes.heard, ["lost shop: Error"])
      assert.strictEqual((yield* target.snapshot).state, "failed")
      assert.strictEqual((yield* Effect.flip(ref.Sell({ cents: 1 })))._tag, "ActorStopped")
      assert.deepStrictEqual(yield* shops.keys, [])
    }).pipe(withNames)
  )
})

/** Nobody should try again. */
class Denied extends Schema.TaggedError<Denied>()("Denied", {}) {
  readonly [Failure.kind] = "denied"
}

describe("mistakes about watching", () => {
  it.effect("a notice that is in the mailbox already is not handled after the watch was ended", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const ids = Array.from({ length: 100 }, (_, i) => `${i}`)
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", {
          children: [notes.child(), ...ids.map((id) => stage.child(id, { restart: "never" }))]
        })
      )
      const watcher = Context.get(context, Witness)
      const targets = yield* Effect.forEach(ids, (id) => tree.find(["root", id]))
      for (const target of targets) yield* Watch.tell(watcher, target, "Lost", lost)
      yield* watcher.tell.Busy()
      yield* until("it is busy", () => notes.heard.length > 0)
      for (const id of ids) stage.end(id)
      yield* until("all are gone", () => stage.of("Removed").length === 100)
      yield* quiet
      for (const [i, target] of targets.entries()) if (i % 2 === 0) yield* Watch.unwatch(watcher, target)
      notes.release()
      yield* watcher.Ping()
      assert.deepStrictEqual(
        notes.heard.slice(1),
        ids.filter((_, i) => i % 2 === 1).map((id) => `lost ${id}: Error`)
      )
    })
  )

  it.effect(
    "stopping a tree of one who watches a thousand, and of a thousand who watch one, makes no dead letter",
    () =>
      Effect.gen(function* () {
        for (const first of [true, false]) {
          const stage = new Stage()
          const notes = new Notes()
          const ids = Array.from({ length: 1_000 }, (_, i) => `${i}`)
          const team = Supervisor.make("team", { children: ids.map((id) => stage.child(id)) })
          // Once the watcher goes down before those it watches, once after them.
          const children = first ? [team, notes.child()] : [notes.child(), team]
          const { context, tree } = yield* stage.start(Supervisor.make("root", { children }))
          const watcher = Context.get(context as Context.Context<Witness>, Witness)
          for (const id of ids) yield* Watch.tell(watcher, yield* tree.find(["root", "team", id]), "Lost", lost)
          const one = yield* tree.find(["root", "team", "0"])
          const waiting = yield* Effect.forEach(ids, () => forked(Watch.down(one)))
          yield* watcher.tell.Busy()
          yield* until("it is busy", () => notes.heard.length > 0)
          yield* tree.stop
          yield* Fiber.joinAll(waiting)
          yield* quiet
          assert.deepStrictEqual(
            stage.of("DeadLetter").map(({ message }) => message),
            ["Busy"]
          )
          assert.deepStrictEqual(notes.heard, ["busy"])
        }
      })
  )

  it.effect("a parent that watches anew in every init, with a message of its own, restarts as often as it must", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const notes = new Notes()
      const init = Effect.gen(function* () {
        const child = yield* Tree.find(["root", "child"])
        // A function of this very init: the one of the last init is another.
        yield* Watch.tell(yield* Witness, child, "Alone", (down) => ({ who: `${down.path.at(-1)}` }))
      })
      const witness = notes.child(init as Effect.Effect<void>)
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { intensity: many, children: [stage.child("child"), witness] })
      )
      const ref = Context.get(context, Witness)
      for (let i = 2; i < 12; i++) {
        yield* ref.tell.Crash()
        yield* until("it is back", () => stage.of("Started", "Witness").length === i)
      }
      assert.deepStrictEqual(stage.of("StartFailed"), [])
      yield* (yield* tree.find(["root"])).stopChild("child")
      yield* until("it is told", () => notes.heard.length > 0)
      yield* quiet
      assert.deepStrictEqual(notes.heard, ["without child"])
    })
  )

  it.effect("a notice that comes while its watcher goes down and up is for the new incarnation alone", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const gate = Deferred.makeUnsafe<void>()
      const heard: Array<string> = []
      class Keeper extends Actor.Service<Keeper>()("Keeper", [
        Rpc.make("Gone", { payload: { who: Schema.String } }),
        Rpc.make("Crash", {})
      ]) {}
      let lives = 0
      const keeper = Keeper.child(
        Effect.gen(function* () {
          lives += 1
          const life = lives
          // The old incarnation is half dead until the gate opens.
          yield* Effect.addFinalizer(() => Deferred.await(gate))
          return Keeper.handlers({
            Gone: ({ who }) => void heard.push(`${life}: ${who}`),
            Crash: () => Effect.die("crash")
          })
        }),
        { backoff: Schedule.spaced("1 second") }
      )
      const ids = ["a", "b", "c"]
      const { context, tree } = yield* stage.start(
        Supervisor.make("root", { children: [keeper, ...ids.map((id) => stage.child(id, { restart: "never" }))] })
      )
      const ref = Context.get(context, Keeper)
      for (const id of ids) {
        const target = yield* tree.find(["root", id])
        yield* Watch.tell(ref, target, "Gone", { who: id })
      }
      yield* ref.tell.Crash()
      yield* quiet
      stage.end("a") // while the finalizers run
      yield* quiet
      Deferred.doneUnsafe(gate, Exit.void)
      yield* until("it waits", () => stage.of("BackingOff").length > 0)
      stage.end("b") // while nobody is there
      yield* quiet
      assert.deepStrictEqual(heard, [])
      yield* TestClock.adjust("1 second")
      yield* until("it is told of both", () => heard.length === 2)
      stage.end("c")
      yield* until("it is told of all", () => heard.length === 3)
      yield* quiet
      assert.deepStrictEqual(heard, ["2: a", "2: b", "2: c"])
    })
  )
})
