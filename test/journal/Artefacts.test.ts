import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Schema } from "effect"
import { Failure } from "espalier"
import { Artefacts, Journal } from "espalier/journal"

import { artefactsContract } from "./artefactsContract.ts"

describe("layerMemory", () => {
  artefactsContract((limit) => Artefacts.layerMemory({ limit }))

  it.effect.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 40])("dies when limit is %d", (limit) =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(Artefacts.layerMemory({ limit }))))
      assert.isTrue(Exit.isFailure(exit))
      if (!Exit.isFailure(exit)) return
      const error = Cause.squash(exit.cause)
      assert.instanceOf(error, RangeError)
      assert.strictEqual(
        error.message,
        `Artefacts.layerMemory: limit must be a whole number from 1 to 536870912, got ${limit}`
      )
    })
  )
})

describe("ArtefactsError", () => {
  const location = "journal.db"
  const retryable: ReadonlyArray<readonly [Artefacts.Reason, boolean, Failure.Kind | undefined]> = [
    [new Journal.JournalUnavailable({ location, problem: "busy", detail: "locked" }), true, "transient"],
    [new Journal.JournalUnavailable({ location, problem: "closed", detail: "closed" }), false, undefined],
    [new Journal.JournalFull({ location }), true, "transient"],
    [new Artefacts.ArtefactMissing({ location, hash: "x" }), false, undefined],
    [new Artefacts.ArtefactTooLarge({ bytes: 2, limit: 1 }), false, "oversized"]
  ]
  it.each(retryable)("says whether the same call may succeed later: %s", (reason, expected, kind) => {
    const error = new Artefacts.ArtefactsError({ reason })
    assert.strictEqual(error.isRetryable, expected)
    assert.strictEqual(Failure.kindOf(error), kind)
  })

  it("survives being encoded and decoded", () => {
    const reason = new Artefacts.ArtefactMismatch({ location, hash: "sha256:0", detail: "its bytes have the hash x" })
    const codec = Schema.toCodecJson(Artefacts.ArtefactsError)
    const again = Schema.decodeSync(codec)(Schema.encodeSync(codec)(new Artefacts.ArtefactsError({ reason })))
    assert.strictEqual(
      again.message,
      "the artefact sha256:0 in journal.db is not what its reference says: its bytes have the hash x"
    )
  })
})
