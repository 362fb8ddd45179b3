// says: Property 'Decrement' does not exist
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor } from "espalier"

class Counter extends Actor.Service<Counter>()("Counter", [Rpc.make("Increment", { success: Schema.Finite })]) {}

export const program = Effect.flatMap(Counter, (counter) => counter.Decrement())
