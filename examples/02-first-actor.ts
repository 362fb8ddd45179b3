/**
 * An actor keeps its state behind a typed protocol, and its reference outlives a crash.
 *
 * A till adds up sales. A riddle of a sale crashes it: the caller hears of it at once, and the next sale finds a new
 * till behind the same reference.
 */
import { Effect, Schema } from "effect"
import { Rpc } from "effect/rpc"
import { Actor, Supervisor } from "espalier"

class Till extends Actor.Service<Till>()("Till", [
  Rpc.make("Sell", { payload: { cents: Schema.Int }, success: Schema.Int })
]) {}

const till = Till.child(
  Effect.sync(() => {
    let total = 0
    return Till.handlers({
      Sell: ({ cents }) => (cents === 13 ? Effect.die(new Error("nobody pays 13 cents")) : (total += cents))
    })
  })
)

const program = Effect.gen(function* () {
  const ref = yield* Till
  console.log(`total ${yield* ref.Sell({ cents: 250 })}`)
  const crashed = yield* Effect.flip(ref.Sell({ cents: 13 }))
  console.log(crashed.message)
  console.log(`total ${yield* ref.Sell({ cents: 100 })}`)
})

const shop = Supervisor.make("shop", { children: [till] })
await Effect.runPromise(Effect.provide(program, Supervisor.layer(shop, { log: false })))
