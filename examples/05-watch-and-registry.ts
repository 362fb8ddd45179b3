/**
 * A desk finds couriers by name and hears when one is gone.
 *
 * Each courier is an actor that a registry knows by its name, as long as it lives. The desk watches those it sends: a
 * crash is the supervisor's business, but when a courier is sent home for good, the desk is told by a message.
 */
import { Effect, Layer, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Registry, Supervisor, Tree, Watch } from "espalier"

class Courier extends Actor.Service<Courier>()("Courier", [
  Rpc.make("Carry", { payload: { parcel: Schema.String }, success: Schema.String })
]) {}

class Couriers extends Registry.Unique<Couriers, string, Courier["Service"]>()("Couriers") {}

class Desk extends Actor.Service<Desk>()("Desk", [
  Rpc.make("Send", { payload: { parcel: Schema.String, by: Schema.String }, success: Schema.String }),
  Rpc.make("Lost", { payload: { courier: Schema.String, failed: Schema.Boolean } })
]) {}

const courier = (name: string) =>
  Courier.child(
    Effect.sync(() =>
      Courier.handlers({
        Carry: ({ parcel }) => (parcel === "an anvil" ? Effect.die("too heavy") : `${name} carries ${parcel}`)
      })
    ),
    { id: name, via: Couriers.at(name) }
  )

const desk = Desk.child(
  Effect.gen(function* () {
    const self = yield* Desk
    const couriers = yield* Couriers
    return Desk.handlers({
      Send: ({ parcel, by }) =>
        Effect.gen(function* () {
          const ref = yield* couriers.whereis(by)
          yield* Watch.tell(self, ref, "Lost", lost)
          return yield* ref.Carry({ parcel })
        }).pipe(Effect.catch((error) => Effect.succeed(error.message))),
      Lost: ({ courier, failed }) => console.log(`${courier} is gone${failed ? ", by a failure" : ""}`)
    })
  })
)

const lost = (down: Watch.Down) => ({ courier: down.path.at(-1)!, failed: Watch.isFailure(down) })

const program = Effect.gen(function* () {
  const ref = yield* Desk
  const office = yield* Tree.find(["office"])
  console.log(yield* ref.Send({ parcel: "a letter", by: "ann" }))
  console.log(yield* ref.Send({ parcel: "an anvil", by: "ann" }))
  console.log(yield* ref.Send({ parcel: "a book", by: "ann" }))
  yield* office.stopChild("ann")
  console.log(yield* ref.Send({ parcel: "a box", by: "ann" }))
})

const office = Supervisor.make("office", { children: [courier("ann"), desk] })
const tree = Layer.provideMerge(Supervisor.layer(office, { log: false }), Couriers.layer)
await Effect.runPromise(Effect.provide(program, tree))
