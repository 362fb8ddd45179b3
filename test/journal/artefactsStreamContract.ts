/** What every store of artefacts must do with streams: a part of `artefactsContract.ts`. */
import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, type Layer, Ref, Schema, Stream } from "effect"
import { Artefacts, type Reference } from "espalier/journal"

const hashOf = (content: Uint8Array): string => `sha256:${createHash("sha256").update(content).digest("hex")}`

/** Bytes that are not the same everywhere. */
const noise = (length: number, seed = 1): Uint8Array => {
  const bytes = new Uint8Array(length)
  let word = seed
  for (let i = 0; i < length; i++) {
    word = (Math.imul(word, 1_103_515_245) + 12_345) | 0
    bytes[i] = word >>> 16
  }
  return bytes
}

const cut = (bytes: Uint8Array, size: number): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => bytes.subarray(n * size, (n + 1) * size))

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

const piece = 256 * 1024

const absent = (content: Uint8Array) =>
  Effect.gen(function* () {
    const { has } = yield* Artefacts.Artefacts
    const hash = hashOf(content)
    assert.isFalse(yield* has({ uri: `artefact:${hash}`, hash }))
  })

export const artefactsStreamContract = (
  layer: (limit?: number) => Layer.Layer<Artefacts.Artefacts, Artefacts.ArtefactsError>
): void => {
  describe("putStream and getStream", () => {
    const sizes: ReadonlyArray<readonly [bytes: number, parts: number]> = [
      [0, 1],
      [1, 1],
      [piece - 1, 1_000],
      [piece, piece],
      [piece + 1, 70_000],
      [3 * piece, 5 * piece],
      [3 * piece + 17, 100_003]
    ]
    it.effect.each(sizes)("%d bytes in parts of %d come back in pieces", ([length, size]) =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(length)
        const reference = yield* artefacts.putStream(Stream.fromIterable(cut(bytes, size)))
        const hash = hashOf(bytes)
        assert.deepStrictEqual(reference, {
          uri: `artefact:${hash}`,
          hash,
          bytes: length,
          mediaType: "application/octet-stream"
        })
        const content = artefacts.getStream(reference)
        for (let time = 0; time < 2; time++) {
          const pieces = yield* Stream.runCollect(content)
          assert.isTrue(pieces.every((each) => each.length <= piece))
          assert.isTrue(Buffer.compare(joined(pieces), bytes) === 0)
        }
        assert.isTrue(Buffer.compare(yield* artefacts.get(reference), bytes) === 0)
        yield* artefacts.verify(reference)
      }).pipe(Effect.provide(layer()))
    )

    it.effect.prop(
      "are put and get, however the content is cut",
      { parts: Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200_000 }))) },
      ({ parts }) =>
        Effect.gen(function* () {
          const artefacts = yield* Artefacts.Artefacts
          const contents = parts.slice(0, 8).map((length, index) => noise(length, index))
          const whole = joined(contents)
          const streamed = yield* artefacts.putStream(Stream.fromIterable(contents))
          assert.deepStrictEqual(yield* artefacts.put(whole), streamed)
          assert.strictEqual(streamed.hash, hashOf(whole))
          assert.isTrue(Buffer.compare(joined(yield* Stream.runCollect(artefacts.getStream(streamed))), whole) === 0)
        }).pipe(Effect.provide(layer())),
      { arbitrary: { runs: 15 } }
    )

    it.effect("several at once do not get into each other", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const contents = Array.from({ length: 5 }, (_, index) => noise(piece * 2 + index, index))
        const references = yield* Effect.forEach(
          contents,
          (bytes) => artefacts.putStream(Stream.tap(Stream.fromIterable(cut(bytes, 50_000)), () => Effect.yieldNow)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          references.map(({ hash }) => hash),
          contents.map(hashOf)
        )
        yield* Effect.forEach(references, artefacts.verify)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("the same content is the same artefact, streamed again and put as a whole", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(piece * 2 + 1)
        const once = yield* artefacts.putStream(Stream.make(bytes), { mediaType: "video/mp4" })
        assert.strictEqual(once.mediaType, "video/mp4")
        const again = yield* artefacts.putStream(Stream.fromIterable(cut(bytes, 999)))
        assert.deepStrictEqual([again.hash, (yield* artefacts.put(bytes)).hash], [once.hash, once.hash])
        yield* artefacts.verify(once)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("what happens to the parts afterwards does not reach what is kept", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const part = new Uint8Array(100_000)
        // Sources like to fill one buffer over and over.
        const reused = Stream.mapEffect(Stream.range(1, 6), (n) => Effect.sync(() => part.fill(n)))
        const reference = yield* artefacts.putStream(Stream.rechunk(reused, 1))
        const expected = joined([1, 2, 3, 4, 5, 6].map((n) => new Uint8Array(100_000).fill(n)))
        assert.strictEqual(reference.hash, hashOf(expected))
        const [first] = yield* Stream.runCollect(artefacts.getStream(reference))
        first?.fill(9)
        yield* artefacts.verify(reference)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("content is there only when it is whole", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(piece * 2)
        const [reached, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const end = Stream.fromEffect(
          Effect.as(Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go)), new Uint8Array())
        )
        const putting = yield* Effect.forkChild(artefacts.putStream(Stream.concat(Stream.make(bytes), end)))
        yield* Deferred.await(reached)
        yield* absent(bytes)
        yield* Deferred.succeed(go, undefined)
        assert.isTrue(yield* artefacts.has(yield* Fiber.join(putting)))
      }).pipe(Effect.provide(layer()))
    )

    it.effect("D63 what is over the limit is refused while it comes, and no more of it is asked for", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const asked = yield* Ref.make(0)
        const endless = Stream.rechunk(
          Stream.mapEffect(Stream.forever(Stream.make(noise(100_000))), (part) =>
            Effect.as(
              Ref.update(asked, (n) => n + 1),
              part
            )
          ),
          1
        )
        const error = yield* Effect.flip(artefacts.putStream(endless))
        assert.deepStrictEqual(error.reason, new Artefacts.ArtefactTooLarge({ bytes: 1_100_000, limit: 1_000_000 }))
        assert.isFalse(error.isRetryable)
        assert.strictEqual(yield* Ref.get(asked), 11)
        const most = noise(1_000_000)
        assert.strictEqual((yield* artefacts.putStream(Stream.make(most))).hash, hashOf(most))
      }).pipe(Effect.provide(layer(1_000_000)))
    )

    it.effect("a source that fails is told as it is, and leaves nothing", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(piece * 2)
        const source = Stream.concat(Stream.make(bytes), Stream.fail("torn" as const))
        assert.strictEqual(yield* Effect.flip(artefacts.putStream(source)), "torn")
        yield* absent(bytes)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("a source that is interrupted leaves nothing", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(piece * 2)
        const reached = yield* Deferred.make<void>()
        const waits = Stream.fromEffect(Effect.andThen(Deferred.succeed(reached, undefined), Effect.never))
        const putting = yield* Effect.forkChild(artefacts.putStream(Stream.concat(Stream.make(bytes), waits)))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(putting)
        assert.isTrue(Exit.isFailure(yield* Fiber.await(putting)))
        yield* absent(bytes)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("refuse what put and get refuse", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const asked = Stream.fromEffect(Effect.die("the source is not asked"))
        const media = yield* Effect.flip(artefacts.putStream(asked, { mediaType: "markdown" }))
        assert.strictEqual(media.message, "mediaType must be a media type such as text/plain, at most 255 characters")
        const hash = hashOf(noise(3))
        const missing = yield* Effect.flip(Stream.runDrain(artefacts.getStream({ uri: `artefact:${hash}`, hash })))
        assert.strictEqual(missing.reason._tag, "ArtefactMissing")
        const elsewhere = yield* Effect.flip(Stream.runDrain(artefacts.getStream({ uri: "file:x", hash })))
        assert.deepInclude(elsewhere.reason, { _tag: "InvalidInput", field: "reference.uri" })
      }).pipe(Effect.provide(layer()))
    )

    it.effect("R-202 the last piece is not given when the size is not that of the reference", () =>
      Effect.gen(function* () {
        const artefacts = yield* Artefacts.Artefacts
        const bytes = noise(piece + 5)
        const reference: Reference.Reference = { ...(yield* artefacts.put(bytes)), bytes: piece }
        const given: Array<number> = []
        const error = yield* Effect.flip(
          Stream.runForEach(artefacts.getStream(reference), ({ length }) => Effect.sync(() => given.push(length)))
        )
        assert.deepStrictEqual(given, [piece])
        assert.deepInclude(error.reason, {
          _tag: "ArtefactMismatch",
          detail: `it has ${piece + 5} bytes, not ${piece}`
        })
      }).pipe(Effect.provide(layer()))
    )
  })
}
