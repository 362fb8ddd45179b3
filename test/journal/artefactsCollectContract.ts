/** What every store of artefacts must do when it is collected: a part of `artefactsContract.ts`. */
import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, type Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Artefacts, type Reference } from "espalier/journal"

const none = Stream.empty

const hashOf = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`

const referTo = (...references: ReadonlyArray<Reference.Reference>) =>
  Stream.fromIterable(references.map(({ hash }) => hash))

const large = "large ".repeat(100_000)

export const artefactsCollectContract = (
  layer: (limit?: number) => Layer.Layer<Artefacts.Artefacts, Artefacts.ArtefactsError>
): void => {
  describe("collect", () => {
    it.effect("removes what is old and nobody refers to, and nothing else", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const [kept, small, whole] = [
          yield* artefacts.put("kept"),
          yield* artefacts.put("small"),
          yield* artefacts.put(large)
        ]
        yield* TestClock.adjust("25 hours")
        const young = yield* artefacts.put("young")
        const removed = yield* artefacts.collect({ references: referTo(kept) })
        assert.deepStrictEqual(removed, { artefacts: 2, bytes: 5 + large.length, uploads: 0 })
        const has = yield* Effect.forEach([kept, small, whole, young], artefacts.has)
        assert.deepStrictEqual(has, [true, false, false, true])
        assert.deepStrictEqual(yield* artefacts.collect({ references: referTo(kept) }), {
          artefacts: 0,
          bytes: 0,
          uploads: 0
        })
        assert.strictEqual(yield* Artefacts.getText(yield* artefacts.put(large)), large)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("leaves what is exactly as old as olderThan, which is a day when nothing is said", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const reference = yield* artefacts.put("a")
        yield* TestClock.adjust("1 day")
        assert.strictEqual((yield* artefacts.collect({ references: none })).artefacts, 0)
        assert.strictEqual((yield* artefacts.collect({ references: none, olderThan: "1 hour" })).artefacts, 1)
        assert.isFalse(yield* artefacts.has(reference))
        yield* artefacts.put("a")
        yield* TestClock.adjust("86400001 millis")
        assert.strictEqual((yield* artefacts.collect({ references: none })).artefacts, 1)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("takes for young what was put in again, as a whole or as a stream, or was verified", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const texts = ["again", "streamed", "verified", "looked at"]
        const [again, streamed, verified, lookedAt] = yield* Effect.forEach(texts, (text) =>
          artefacts.put(text + large)
        )
        if (lookedAt === undefined || verified === undefined) return assert.fail()
        yield* TestClock.adjust("2 days")
        yield* artefacts.put(`again${large}`)
        yield* artefacts.putStream(Stream.make(new TextEncoder().encode(`streamed${large}`)))
        yield* artefacts.verify(verified)
        yield* artefacts.get(lookedAt)
        assert.strictEqual((yield* artefacts.collect({ references: none })).artefacts, 1)
        const has = yield* Effect.forEach([again, streamed, verified, lookedAt], (each) =>
          each === undefined ? Effect.succeed(undefined) : artefacts.has(each)
        )
        assert.deepStrictEqual(has, [true, true, true, false])
      }).pipe(Effect.provide(layer()))
    )

    it.effect("a dry run says the same and removes nothing", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const references = yield* Effect.forEach(["a", "bc", large], (text) => artefacts.put(text))
        yield* TestClock.adjust("2 days")
        const expected = { artefacts: 3, bytes: 3 + large.length, uploads: 0 }
        assert.deepStrictEqual(yield* artefacts.collect({ references: none, dryRun: true }), expected)
        yield* Effect.forEach(references, artefacts.verify)
        yield* TestClock.adjust("2 days")
        assert.deepStrictEqual(yield* artefacts.collect({ references: none }), expected)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("removes nothing when the references cannot be read whole", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const reference = yield* artefacts.put("a")
        yield* TestClock.adjust("2 days")
        const references = Stream.concat(Stream.make(hashOf("b")), Stream.fail("torn" as const))
        assert.strictEqual(yield* Effect.flip(artefacts.collect({ references })), "torn")
        assert.isTrue(yield* artefacts.has(reference))
      }).pipe(Effect.provide(layer()))
    )

    it.effect("does not remove what was young when it began, however long the references take to be read", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const reference = yield* artefacts.put("a")
        yield* TestClock.adjust("30 minutes")
        const slow = Stream.fromEffectDrain(TestClock.adjust("2 hours"))
        yield* artefacts.collect({ olderThan: "1 hour", references: slow })
        assert.isTrue(yield* artefacts.has(reference))
      }).pipe(Effect.provide(layer()))
    )

    it.effect("does not take a place without a journal for one in which nothing is referred to", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const reference = yield* artefacts.put("a")
        yield* TestClock.adjust("2 days")
        const error = yield* Effect.flip(artefacts.collect())
        assert.strictEqual(error.message, "references must be given: no journal lies in the place of these artefacts")
        assert.isTrue(yield* artefacts.has(reference))
      }).pipe(Effect.provide(layer()))
    )

    it.effect.each([Duration.zero, Duration.infinity, Duration.millis(-1)])(
      "refuses to collect what is older than %s",
      (olderThan) =>
        Effect.gen(function* () {
          const artefacts = yield* Artefacts.Artefacts
          const error = yield* Effect.flip(artefacts.collect({ olderThan, references: none }))
          assert.strictEqual(error.message, "olderThan must be a finite duration > 0")
        }).pipe(Effect.provide(layer()))
    )
  })
}
