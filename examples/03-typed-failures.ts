/**
 * What a failure means decides what the supervisor does.
 *
 * A printer that is out of paper will pass: it is restarted, after a while. One that cannot print colour never will: it
 * is stopped and reported, and the printer beside it does not notice.
 */
import { Effect, Schema } from "effect"
import { Child, Failure, Supervisor, Tree } from "espalier"

class OutOfPaper extends Schema.TaggedError<OutOfPaper>()("OutOfPaper", {}) {
  readonly [Failure.kind] = "transient"
}

class NoColour extends Schema.TaggedError<NoColour>()("NoColour", {}) {
  readonly [Failure.kind] = "capability"
}

const printers = Supervisor.make("printers", {
  children: [
    Child.effect("draft", Effect.never),
    Child.effect("office", Effect.fail(new OutOfPaper())),
    Child.effect("photo", Effect.fail(new NoColour()))
  ]
})

const program = Effect.gen(function* () {
  yield* Effect.sleep("20 millis")
  const { children } = yield* Tree.snapshot
  for (const { id, state } of children) console.log(`${id}: ${state}`)
})

await Effect.runPromise(Effect.provide(program, Supervisor.layer(printers, { log: false })))
