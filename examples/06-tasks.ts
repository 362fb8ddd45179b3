/**
 * Tasks run work for a caller under a supervisor: limited, timed, and never left behind.
 *
 * A letter office has its letters printed, three at a time. One printer is stuck and one letter is blank: both are
 * values in their place. Whoever needs every letter links to the tasks, and ends with the first that fails.
 */
import { Effect, Stream } from "effect"
import { Supervisor, Tasks } from "espalier"

class Printers extends Tasks.Service<Printers>()("Printers") {}

const print = (letter: string) => {
  if (letter === "") return Effect.fail("a blank page")
  return letter === "to Bob" ? Effect.never : Effect.succeed(`printed ${letter}`)
}

const program = Effect.gen(function* () {
  const printers = yield* Printers
  const letters = printers.stream(["to Ada", "to Bob", "", "to Cyd"], print, {
    concurrency: 3,
    timeout: "20 millis",
    onTimeout: "value",
    link: false,
    zipInput: true
  })
  yield* Stream.runForEach(letters, (letter) =>
    Effect.sync(() => {
      if (letter._tag === "Ok") console.log(letter.value)
      else console.log(`${letter._tag} ${letter.index} "${letter.input}"`)
    })
  )

  const together = Effect.gen(function* () {
    yield* printers.async(print("to Bob"))
    yield* printers.async(Effect.delay(print(""), "5 millis"))
    return yield* Effect.never // never looks: it is ended all the same
  })
  console.log(`ended by ${yield* Effect.flip(Tasks.linked(together))}`)
})

const office = Supervisor.make("office", { children: [Printers.child({ maxChildren: 10 })] })
await Effect.runPromise(Effect.provide(program, Supervisor.layer(office, { log: false })))
