// says: Type 'string' is not assignable to type 'number'
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor } from "espalier"

class Counter extends Actor.Service<Counter>()("Counter", [
  Rpc.make("Increment", { payload: { by: Schema.Finite }, success: Schema.Finite })
]) {}

export const program = Effect.flatMap(Counter, (counter) => counter.Increment({ by: "two" }))
