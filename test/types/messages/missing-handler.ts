// says: Property 'Increment' is missing in type
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor } from "espalier"

class Counter extends Actor.Service<Counter>()("Counter", [
  Rpc.make("Get", { success: Schema.Finite }),
  Rpc.make("Increment", { success: Schema.Finite })
]) {}

export const counter = Counter.child(Effect.sync(() => Counter.handlers({ Get: () => 1 })))
