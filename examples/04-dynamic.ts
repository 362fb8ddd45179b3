/**
 * Children that come and go, and children that share the work by key.
 *
 * A hotel opens an account for each guest who arrives, as many as it has rooms, and keeps its bookings in four ledgers,
 * one for each part of the names. An account that crashes is opened again for the same guest, behind the same reference.
 */
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Supervisor, Tree } from "espalier"

class Ledger extends Actor.Service<Ledger>()("Ledger", [
  Rpc.make("Book", { payload: { guest: Schema.String }, success: Schema.Int })
]) {}
class Ledgers extends Supervisor.PartitionedService<Ledgers, Ledger>()("Ledgers") {}

const ledgers = Ledgers.child(
  (index) =>
    Ledger.child(
      Effect.sync(() => {
        const guests: Array<string> = []
        return Ledger.handlers({ Book: ({ guest }) => 1000 * index + guests.push(guest) })
      })
    ),
  { partitions: 4 }
)

class Account extends Actor.Service<Account>()("Account", [
  Rpc.make("Charge", { payload: { cents: Schema.Int }, success: Schema.String })
]) {}
class Accounts extends Supervisor.DynamicService<Accounts, { readonly guest: string }, Account>()("Accounts") {}

const accounts = Accounts.child(
  ({ guest }) =>
    Account.child(
      Effect.gen(function* () {
        const booking = yield* (yield* Ledgers).at(guest).Book({ guest }).pipe(Actor.orCrash)
        let owed = 0
        return Account.handlers({
          Charge: ({ cents }) =>
            cents < 0
              ? Effect.die(new Error("the hotel owes nobody"))
              : Effect.sync(() => `${guest} owes ${(owed += cents)}, booking ${booking}`)
        })
      }),
      { restart: "on-failure" }
    ),
  { maxChildren: 2 }
)

const program = Effect.gen(function* () {
  const { start } = yield* Accounts
  const ada = yield* start({ guest: "Ada" })
  const bob = yield* start({ guest: "Bob" })
  console.log(yield* ada.ref.Charge({ cents: 250 }))
  console.log(yield* bob.ref.Charge({ cents: 100 }))

  const full = yield* Effect.flip(start({ guest: "Cleo" }))
  console.log(full.message)

  yield* Effect.exit(ada.ref.Charge({ cents: -1 }))
  console.log(yield* ada.ref.Charge({ cents: 80 }))

  yield* bob.stop
  const cleo = yield* start({ guest: "Cleo" })
  console.log(yield* cleo.ref.Charge({ cents: 10 }))
  const { children } = yield* Tree.snapshot
  for (const { id, children: below } of children) console.log(`${id}: ${below.map((child) => child.id).join(", ")}`)
})

const hotel = Supervisor.make("hotel", { children: [ledgers, accounts] })
await Effect.runPromise(Effect.provide(program, Supervisor.layer(hotel, { log: false })))
