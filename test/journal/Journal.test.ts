import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Journal } from "espalier/journal"

import { contract } from "./contract.ts"
import { contract as lists } from "./listsContract.ts"

describe("layerMemory", () => {
  contract(Journal.layerMemory)
  lists(Journal.layerMemory)
})

describe("JournalError", () => {
  it.effect("is caught by its reason", () =>
    Effect.gen(function* () {
      const journal = yield* Journal.Journal
      const caught = yield* journal
        .append({ run: "a", expected: 0, events: [] })
        .pipe(Effect.catchReason("JournalError", "InvalidInput", (reason) => Effect.succeed(reason.field)))
      assert.strictEqual(caught, "events")
    }).pipe(Effect.provide(Journal.layerMemory))
  )

  it("survives being encoded and decoded", () => {
    const error = new Journal.JournalError({
      reason: new Journal.JournalCorrupt({ location: "journal.db", run: "a", version: 3, detail: "a gap" })
    })
    const codec = Schema.toCodecJson(Journal.JournalError)
    const again = Schema.decodeSync(codec)(Schema.encodeSync(codec)(error))
    assert.strictEqual(again.message, 'the journal journal.db is damaged at run "a", version 3: a gap')
  })

  const location = "journal.db"
  const retryable: ReadonlyArray<readonly [Journal.Reason, boolean]> = [
    [new Journal.JournalUnavailable({ location, problem: "busy", detail: "locked" }), true],
    [new Journal.JournalUnavailable({ location, problem: "io", detail: "disk" }), true],
    [new Journal.JournalUnavailable({ location, problem: "closed", detail: "closed" }), false],
    [new Journal.JournalFull({ location }), true],
    [new Journal.JournalReadOnly({ location }), false],
    [new Journal.JournalTooNew({ location, found: 9, supported: 1 }), false]
  ]
  it.each(retryable)("says whether the same call may succeed later: %s", (reason, expected) => {
    assert.strictEqual(new Journal.JournalError({ reason }).isRetryable, expected)
  })
})
