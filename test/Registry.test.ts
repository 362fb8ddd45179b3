import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Option, Schema, Scope, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Child, Registry, Supervisor, Watch } from "espalier"

import { quiet, Stage, until } from "./fixtures/stage.ts"

const forked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

class Names extends Registry.Unique<Names, string, string>()("Names") {}
class Topics extends Registry.Duplicate<Topics, string, string>()("Topics") {}

class Guest extends Actor.Service<Guest>()("Guest", [
  Rpc.make("Sit", { payload: { seat: Schema.String }, success: Schema.Boolean }),
  Rpc.make("Leave", { payload: { seat: Schema.String } }),
  Rpc.make("Move", { payload: { seat: Schema.String }, success: Schema.Boolean }),
  Rpc.make("Crash", {})
]) {}
class Guests extends Registry.Unique<Guests, string, Guest["Service"]>()("Guests") {}

/** An actor whose handlers register. */
const guest = Effect.gen(function* () {
  const names = yield* Names
  const me = yield* Registry.self
  return Guest.handlers({
    Sit: ({ seat }) => names.register(seat, "sits").pipe(Effect.isSuccess, Registry.as(me)),
    Leave: ({ seat }) => names.unregister(seat).pipe(Registry.as(me)),
    Move: ({ seat }) => names.update(seat, (value) => `${value} elsewhere`).pipe(Effect.isSuccess, Registry.as(me)),
    Crash: () => Effect.die("crash")
  })
})

const withRegistries = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.mergeAll(Names.layer, Topics.layer, Guests.layer), { local: true })

const defect = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "it succeeded"

describe("Registry", () => {
  it.effect("R-110 what a child registers is found by its key, and vanishes with the child", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const names = yield* Names
      const { tree } = yield* stage.start(
        Supervisor.make("root", {
          children: [stage.child("a", { init: Effect.orDie(names.register("x", "it is a")) })]
        })
      )
      assert.deepStrictEqual(yield* names.entries, [
        { key: "x", value: "it is a", owner: { path: ["root", "a"], incarnation: 1 } }
      ])
      yield* tree.stop
      assert.deepStrictEqual(yield* names.entries, [])
    }).pipe(withRegistries)
  )

  it.effect("a run effect registers as an init does, and so do the fibers that it forks", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const topics = yield* Topics
      const child = Child.effect(
        "a",
        Effect.gen(function* () {
          yield* topics.register("t", "run")
          yield* Effect.forkChild(topics.register("t", "forked"))
          return yield* Effect.never
        })
      )
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child] }))
      yield* quiet
      const values = (yield* topics.lookup("t")).map(({ value }) => value)
      assert.deepStrictEqual(values, ["run", "forked"])
      yield* tree.stop
      assert.strictEqual(yield* topics.size, 0)
    }).pipe(withRegistries)
  )

  it.effect("an owner takes back its own entries of a duplicate key, all of them and no other's", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const topics = yield* Topics
      const member = (id: string, then: Effect.Effect<unknown> = Effect.void) =>
        stage.child(id, {
          init: topics
            .register("t", `${id}1`)
            .pipe(Effect.andThen(topics.register("t", `${id}2`)), Effect.andThen(then))
        })
      yield* stage.start(
        Supervisor.make("root", { children: [member("a"), member("b", topics.unregister("t")), member("c")] })
      )
      assert.deepStrictEqual(
        (yield* topics.lookup("t")).map(({ value }) => value),
        ["a1", "a2", "c1", "c2"]
      )
    }).pipe(withRegistries)
  )

  it.effect("a handler acts for its actor, whose crash takes all that back", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const names = yield* Names
      const guests = yield* Guests
      const child = (id: string) => Guest.child(guest, { id, via: Guests.at(id) })
      const root = Supervisor.make("root", { children: [child("ann"), Child.hide(child("bob"))] })
      yield* stage.start(root)
      const ann = yield* guests.whereis("ann")
      const bob = yield* guests.whereis("bob")
      assert.isTrue(yield* ann.Sit({ seat: "4a" }))
      assert.isFalse(yield* bob.Sit({ seat: "4a" }))
      assert.deepStrictEqual([yield* bob.Move({ seat: "4a" }), yield* ann.Move({ seat: "4a" })], [false, true])
      yield* bob.Leave({ seat: "4a" })
      assert.strictEqual(yield* names.whereis("4a"), "sits elsewhere")
      yield* ann.tell.Crash()
      yield* until("ann is back", () => stage.of("Started", "ann").length === 2)
      assert.isTrue(Option.isNone(yield* names.lookup("4a")))
      assert.isTrue(yield* bob.Sit({ seat: "4a" }))
      yield* bob.Leave({ seat: "4a" })
      assert.strictEqual(yield* names.size, 0)
    }).pipe(withRegistries)
  )

  it.effect("names the actors that a dynamic supervisor starts, by what they are started with", () =>
    Effect.gen(function* () {
      class Table extends Supervisor.DynamicService<
        Table,
        { readonly name: string },
        Guest,
        Registry.AlreadyRegistered
      >()("Table") {}
      const stage = new Stage()
      const guests = yield* Guests
      const table = Table.child(({ name }: { readonly name: string }) => Guest.child(guest, { via: Guests.at(name) }))
      const { context } = yield* stage.start(Supervisor.make("root", { children: [table] }))
      const tables = yield* Effect.provide(Table, context)
      const ann = yield* tables.start({ name: "ann" })
      yield* tables.start({ name: "bob" })
      assert.strictEqual(yield* guests.whereis("ann"), ann.ref)
      const failure = yield* Effect.flip(tables.start({ name: "bob" }))
      assert(failure._tag === "StartFailure")
      const taken = Cause.squash(failure.cause)
      assert(taken instanceof Registry.AlreadyRegistered)
      assert.deepStrictEqual(taken.owner.slice(0, 2), ["root", "Table"])
      const down = yield* forked(Watch.down(ann.ref))
      yield* ann.stop
      assert.strictEqual((yield* Fiber.join(down)).reason._tag, "Shutdown")
      assert.deepStrictEqual(yield* guests.keys, ["bob"])
    }).pipe(withRegistries)
  )

  it.effect("serves more than one tree", () =>
    Effect.gen(function* () {
      const guests = yield* Guests
      const tree = (id: string) => Supervisor.make(id, { children: [Guest.child(guest, { via: Guests.at("ann") })] })
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Supervisor.start(tree("one"), { log: false })
          const failure = yield* Effect.flip(Effect.scoped(Supervisor.start(tree("two"), { log: false })))
          assert(Cause.squash(failure.cause) instanceof Registry.AlreadyRegistered)
        })
      )
      yield* Supervisor.start(tree("two"), { log: false })
      assert.deepStrictEqual(
        (yield* guests.entries).map(({ owner }) => owner.path),
        [["two", "Guest"]]
      )
    }).pipe(withRegistries)
  )

  it.effect("a restart of a named actor with a taken name is tried again, and ends well when the name is free", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const guests = yield* Guests
      const asked: Array<string> = []
      const child = (id: string) =>
        Guest.child(guest, {
          id,
          via: Guests.at("seat"),
          onFailure: (error) => {
            asked.push(error._tag)
            return "restart"
          }
        })
      const { tree } = yield* stage.start(Supervisor.make("root", { children: [child("ann")] }))
      const root = yield* tree.find(["root"])
      yield* root.stopChild("ann")
      const bob = Supervisor.make("bobs", { children: [child("bob")] })
      yield* root.startChild(bob)
      const refused = yield* Effect.flip(root.restartChild("ann"))
      assert(refused._tag === "StartFailure")
      yield* root.stopChild("bobs")
      yield* root.restartChild("ann")
      assert.deepStrictEqual((yield* guests.entries)[0]?.owner, { path: ["root", "ann"], incarnation: 3 })
      assert.deepStrictEqual(asked, ["AlreadyRegistered"])
    }).pipe(withRegistries)
  )

  it.effect("the streams of its events end with its layer, and it lets go of the owners", () =>
    Effect.gen(function* () {
      const stage = new Stage()
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(Names.layer, scope)
      const names = yield* Effect.provide(Names, context)
      const heard = yield* forked(Stream.runCollect(names.events))
      yield* quiet
      const { tree } = yield* stage.start(
        Supervisor.make("root", { children: [stage.child("a", { init: Effect.orDie(names.register("x", "1")) })] })
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        (yield* Fiber.join(heard)).map(({ _tag }) => _tag),
        ["Registered"]
      )
      yield* tree.stop
    })
  )

  it.effect("only a child may register, unregister and update", () =>
    Effect.gen(function* () {
      const names = yield* Names
      const topics = yield* Topics
      const of = (what: string) =>
        `RangeError: Registry.${what}: must be called by the init or the run effect of a child, or for one with Registry.as`
      const said = yield* Effect.forEach(
        [
          names.register("a", "b"),
          names.unregister("a"),
          names.update("a", () => "b"),
          topics.register("a", "b"),
          topics.unregister("a"),
          Registry.self
        ] as ReadonlyArray<Effect.Effect<unknown, unknown>>,
        (effect) => Effect.map(Effect.exit(effect), defect)
      )
      assert.deepStrictEqual(said, ["register", "unregister", "update", "register", "unregister", "self"].map(of))
      // A tree that a child starts is another's: its own children are not that child.
      const inner = Guest.child(
        Effect.succeed(
          Guest.handlers({
            Sit: ({ seat }) => Effect.map(Effect.exit(names.register(seat, "")), Exit.hasDies),
            Leave: () => undefined,
            Move: () => false,
            Crash: () => undefined
          })
        )
      )
      const outer = Child.make(
        "outer",
        Effect.gen(function* () {
          const context = yield* Supervisor.start(Supervisor.make("inner", { children: [inner] }), { log: false })
          const ref = yield* Effect.provide(Guest, context)
          stage.log.push(`refused: ${yield* ref.Sit({ seat: "x" })}`)
          return Effect.never
        })
      )
      const stage = new Stage()
      yield* stage.start(Supervisor.make("root", { children: [outer] }))
      assert.deepStrictEqual(stage.log, ["refused: true"])
    }).pipe(withRegistries)
  )
})
