import { assert, describe, it } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { Journal } from "espalier/journal"
import { Plan, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { memory, task } from "./desks.ts"
import { begin, deskOf, options } from "./living.ts"

const one = Fake.worker("one", { otherwise: Fake.never })
const built = deskOf([one], Plan.make<string>([task("a")]))

/** A run that newer code went on with: what it wrote last is not known here. */
const continued = (type: string) =>
  Effect.gen(function* () {
    const run = yield* begin(Run.start(built, options))
    yield* run.interrupt
    const journal = yield* Journal.Journal
    const expected = yield* journal.version("r1")
    yield* journal.append({ run: "r1", expected, events: [{ type, at: 1, data: { note: "" } }] })
    return expected + 1
  })

const ways: ReadonlyArray<
  readonly [string, Effect.Effect<unknown, { readonly _tag: string; readonly message: string }, Journal.Journal>]
> = [
  ["taken up", Run.resume(built, "r1", { log: false })],
  ["decided about", Run.decide({ review: "r1/review/1", decision: "approve", by: "ada" })],
  ["cancelled", Run.cancel("r1", { by: "ada" })],
  ["read", Run.outcome("r1")],
  ["listed event by event", Stream.runDrain(Run.events("r1"))]
]

describe("a run of a newer release", () => {
  it.effect.each(ways)("R-308 D61 is not %s, and not a word is written", ([, way]) =>
    Effect.gen(function* () {
      const version = yield* continued("Danced")
      const journal = yield* Journal.Journal
      const before = yield* journal.runs()
      const error = yield* Effect.flip(way)
      assert.strictEqual(error._tag, "RunTooNew")
      assert.strictEqual(
        error.message,
        `the run r1 is of a newer release: its event ${version} is a Danced, which this one does not know at all`
      )
      assert.strictEqual(yield* journal.version("r1"), version)
      assert.deepStrictEqual(yield* journal.runs(), before)
    }).pipe(memory)
  )

  it.effect("R-308 D61 is one, too, when only the version of an event is newer", () =>
    Effect.gen(function* () {
      yield* continued("RunResumed.2")
      const error = yield* Effect.flip(Run.resume(built, "r1", { log: false }))
      assert.include(error.message, "is a RunResumed.2, which this one knows up to version 1")
    }).pipe(memory)
  )
})
