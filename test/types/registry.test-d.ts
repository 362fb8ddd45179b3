/**
 * What the compiler must say about registries and watches. Nothing here runs: the compiler is the test, and an expected error
 * that does not come is an error.
 */
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, type Child, Registry, Supervisor, Watch } from "espalier"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}

class Room extends Actor.Service<Room>()("Room", [
  Rpc.make("Say", { payload: { text: Schema.String } }),
  Rpc.make("Clear", {})
]) {}
class Bell extends Actor.Service<Bell>()("Bell", [Rpc.make("Ring", {})]) {}
class Rooms extends Registry.Unique<Rooms, string, Room["Service"]>()("Rooms") {}
class Topics extends Registry.Duplicate<Topics, string, Room["Service"]>()("Topics") {}

declare const build: Effect.Effect<ReturnType<typeof handlers>, "no room">
const handlers = () => Room.handlers({ Say: () => undefined, Clear: () => undefined })

declare const room: Room["Service"]

declare const bell: Bell["Service"]

test("R-113 what a registry, a name and a watch add to a tree is inferred", () => {
  // A name adds what it needs and how it can fail to the child; without one nothing is added.
  const named = Room.child(build, { via: Rooms.at("roses") })
  same<typeof named, Child.Child<Room, "no room" | Registry.AlreadyRegistered, Rooms>>()
  const plain = Room.child(build, { restart: "never" })
  same<typeof plain, Child.Child<Room, "no room", never>>()

  // So it is where the context has a type of its own, and in any order of the options.
  const root = Supervisor.make("root", {
    children: [
      Room.child(build, {
        onFailure: (error) => (error === "no room" || error._tag === "AlreadyRegistered" ? "stop" : "restart"),
        via: Rooms.at("roses")
      }),
      Bell.child(Effect.succeed(Bell.handlers({ Ring: () => undefined })))
    ]
  })
  same<typeof root, Supervisor.Supervisor<Room | Bell, "no room" | Registry.AlreadyRegistered, Rooms>>()

  // A name is for an actor of the registry's own sort, and keys have their type.
  // @ts-expect-error a room is not a bell
  Bell.child(Effect.succeed(Bell.handlers({ Ring: () => undefined })), { via: Rooms.at("roses") })
  // @ts-expect-error keys are strings
  Rooms.at(1)
  // @ts-expect-error what has duplicate keys names nobody
  Topics.at("news")
  // @ts-expect-error a registry that is not provided is missed
  Supervisor.layer(root).pipe((layer) => Effect.provide(Effect.void, layer), Effect.runPromise)

  // What is looked up has its type, and how that fails is said.
  const found = Effect.flatMap(Rooms, (rooms) => rooms.whereis("roses"))
  same<typeof found, Effect.Effect<Room["Service"], Registry.NotRegistered, Rooms>>()

  // A notice is a message of the watcher, with a payload of its own.
  const told = Watch.tell(room, bell, "Say", (down) => ({ text: down.path.join("/") }))
  same<typeof told, Effect.Effect<void, Watch.WatchConflict>>()
  Watch.tell(room, bell, "Say", { text: "it is gone" })
  Watch.tell(room, bell, "Clear")
  // @ts-expect-error a bell says nothing
  Watch.tell(bell, room, "Say", { text: "it is gone" })
  // @ts-expect-error the payload is missing
  Watch.tell(room, bell, "Say")
  // @ts-expect-error the payload is another
  Watch.tell(room, bell, "Say", { words: "it is gone" })
  // @ts-expect-error not so either
  Watch.tell(room, bell, "Say", () => ({ text: 1 }))
  // @ts-expect-error a number is no place
  Watch.down(1)
})
