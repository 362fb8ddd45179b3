/**
 * A supervisor restarts what crashes.
 *
 * An order desk has a poller that trips over its third order. It is restarted, in order, and the rest goes on.
 */
import { Effect, Stream } from "effect"
import { Child, Supervisor, Tree } from "espalier"

let orders = 0

const poller = Child.effect(
  "poller",
  Effect.suspend(() => {
    orders += 1
    return orders === 3 ? Effect.die(new Error("order 3 is a riddle")) : Effect.log(`order ${orders}`)
  }).pipe(Effect.delay("5 millis"), Effect.forever)
)

const clerk = Child.effect("clerk", Effect.never)

const desk = Supervisor.make("order-desk", { children: [poller, clerk] })

const program = Effect.gen(function* () {
  yield* Tree.events.pipe(
    Stream.filter((event) => event._tag === "Started" && event.path.at(-1) === "poller"),
    Stream.runHead
  )
  const { children } = yield* Tree.snapshot
  for (const { id, incarnation, state } of children) console.log(`${id}: ${state}, incarnation ${incarnation}`)
})

await Effect.runPromise(Effect.provide(program, Supervisor.layer(desk, { log: false })))
