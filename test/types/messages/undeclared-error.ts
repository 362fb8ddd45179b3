// says: Type 'string' is not assignable to type 'never'
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor } from "espalier"

class Counter extends Actor.Service<Counter>()("Counter", [Rpc.make("Get", { success: Schema.Finite })]) {}

const fails: Effect.Effect<number, string> = Effect.fail("not in the protocol")
export const handlers = Counter.handlers({ Get: () => fails })
