/** What every store of artefacts must do: the same suite runs against all of them. */
import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Schema } from "effect"
import { Artefacts, Reference } from "espalier/journal"

import { artefactsCollectContract } from "./artefactsCollectContract.ts"
import { artefactsStreamContract } from "./artefactsStreamContract.ts"

const hashOf = (content: Uint8Array | string): string => `sha256:${createHash("sha256").update(content).digest("hex")}`

const put = (content: Uint8Array | string, mediaType?: string) =>
  Effect.flatMap(Artefacts.Artefacts, (artefacts) => artefacts.put(content, { mediaType }))

const get = (reference: Reference.Reference) =>
  Effect.flatMap(Artefacts.Artefacts, (artefacts) => artefacts.get(reference))

const has = (reference: Reference.Reference) =>
  Effect.flatMap(Artefacts.Artefacts, (artefacts) => artefacts.has(reference))

const verify = (reference: Reference.Reference) =>
  Effect.flatMap(Artefacts.Artefacts, (artefacts) => artefacts.verify(reference))

/** The reason for which a call is refused. */
const refusal = <A, R>(call: Effect.Effect<A, Artefacts.ArtefactsError, R>) =>
  Effect.map(Effect.flip(call), ({ reason }) => reason)

/** A value that the types do not allow, as one that comes from outside. */
const foreign = (value: unknown): Schema.Json => value as Schema.Json

const absent: Reference.Reference = { uri: `artefact:${hashOf("absent")}`, hash: hashOf("absent") }

export const artefactsContract = (
  layer: (limit?: number) => Layer.Layer<Artefacts.Artefacts, Artefacts.ArtefactsError>
): void => {
  describe("put", () => {
    it.effect("answers with a reference by the hash of the bytes", () =>
      Effect.gen(function* () {
        const reference = yield* put("größe", "text/markdown")
        const hash = hashOf("größe")
        assert.deepStrictEqual(reference, { uri: `artefact:${hash}`, hash, bytes: 7, mediaType: "text/markdown" })
        assert.isTrue(Schema.is(Reference.Reference)(reference))
      }).pipe(Effect.provide(layer()))
    )

    it.effect("takes a text for plain text and bytes for nothing in particular", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* put("a")).mediaType, "text/plain; charset=utf-8")
        assert.strictEqual((yield* put(Uint8Array.of(1))).mediaType, "application/octet-stream")
      }).pipe(Effect.provide(layer()))
    )

    it.effect("gives the same content the same hash, as a text and as bytes", () =>
      Effect.gen(function* () {
        const references = yield* Effect.all(
          Array.from({ length: 20 }, (_, index) => put(index % 2 === 0 ? "same" : new TextEncoder().encode("same"))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(new Set(references.map(({ hash }) => hash)).size, 1)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("keeps a copy: what happens to the bytes before and after does not reach it", () =>
      Effect.gen(function* () {
        const bytes = Uint8Array.of(1, 2, 3)
        const reference = yield* put(bytes)
        bytes[0] = 9
        const first = yield* get(reference)
        first[1] = 9
        assert.deepStrictEqual(yield* get(reference), Uint8Array.of(1, 2, 3))
      }).pipe(Effect.provide(layer()))
    )

    it.effect("takes a part of a larger buffer for what it is", () =>
      Effect.gen(function* () {
        const reference = yield* put(Uint8Array.of(1, 2, 3, 4).subarray(1, 3))
        assert.deepStrictEqual(yield* get(reference), Uint8Array.of(2, 3))
      }).pipe(Effect.provide(layer()))
    )

    const sizes: ReadonlyArray<readonly [content: Uint8Array | string, bytes: number | undefined]> = [
      ["x".repeat(10), undefined],
      ["x".repeat(11), 11],
      [new Uint8Array(10), undefined],
      [new Uint8Array(11), 11],
      ["€€€", undefined],
      ["€€€€", 12],
      ["x".repeat(1_000_000), 1_000_000]
    ]
    it.effect.each(sizes)("D63 a limit of 10 bytes holds: case %#", ([content, bytes]) =>
      Effect.gen(function* () {
        if (bytes === undefined) return assert.strictEqual((yield* put(content)).hash, hashOf(content))
        const error = yield* Effect.flip(put(content))
        assert.isFalse(error.isRetryable)
        assert.deepStrictEqual(error.reason, new Artefacts.ArtefactTooLarge({ bytes, limit: 10 }))
        const hash = hashOf(content)
        assert.isFalse(yield* has({ uri: `artefact:${hash}`, hash }))
      }).pipe(Effect.provide(layer(10)))
    )

    const odd: ReadonlyArray<readonly [string, string, string | undefined, string]> = [
      ["a lone surrogate", "a\ud800", undefined, "content must not contain a lone surrogate"],
      ...["markdown", "text/", "", "text/plain\nx: y", `text/${"x".repeat(300)}`].map(
        (mediaType) =>
          [
            `the media type ${JSON.stringify(mediaType.slice(0, 20))}`,
            "a",
            mediaType,
            "mediaType must be a media type such as text/plain, at most 255 characters"
          ] as const
      )
    ]
    it.effect.each(odd)("refuses %s", ([, content, mediaType, message]) =>
      Effect.gen(function* () {
        const reason = yield* refusal(put(content, mediaType))
        assert.deepStrictEqual([reason._tag, reason.message], ["InvalidInput", message])
      }).pipe(Effect.provide(layer()))
    )
  })

  describe("get", () => {
    it.effect.prop("gives back what was put in", { numbers: Schema.Array(Schema.Int) }, ({ numbers }) =>
      Effect.gen(function* () {
        const bytes = Uint8Array.from(numbers, (number) => number & 0xff)
        const reference = yield* put(bytes)
        assert.strictEqual(reference.hash, hashOf(bytes))
        assert.deepStrictEqual(yield* get(reference), bytes)
        yield* verify(reference)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("keeps empty content, NULs and a byte order mark", () =>
      Effect.gen(function* () {
        for (const text of ["", "a\u0000b", "\ufeffa", "😀\r\n"]) {
          assert.strictEqual(yield* Artefacts.getText(yield* put(text)), text)
        }
      }).pipe(Effect.provide(layer()))
    )

    it.effect("does not need to be told the size or the type", () =>
      Effect.gen(function* () {
        const { hash, uri } = yield* put("a")
        assert.strictEqual(yield* Artefacts.getText({ hash, uri }), "a")
      }).pipe(Effect.provide(layer()))
    )
  })

  describe("has, get and verify", () => {
    it.effect("tell what is there from what is not", () =>
      Effect.gen(function* () {
        const there = yield* put("there")
        assert.isTrue(yield* has(there))
        assert.isFalse(yield* has(absent))
        yield* verify(there)
        for (const call of [verify(absent), get(absent)]) {
          const reason = yield* refusal<unknown, Artefacts.Artefacts>(call)
          assert.strictEqual(reason._tag, "ArtefactMissing")
          assert.include(reason.message, absent.hash)
        }
      }).pipe(Effect.provide(layer()))
    )

    it.effect("R-202 a reference with another size than the content does not hold", () =>
      Effect.gen(function* () {
        const reference = { ...(yield* put("four")), bytes: 5 }
        assert.isTrue(yield* has(reference))
        for (const call of [verify(reference), get(reference)]) {
          const reason = yield* refusal<unknown, Artefacts.Artefacts>(call)
          assert.deepInclude(reason, { _tag: "ArtefactMismatch", detail: "it has 4 bytes, not 5" })
        }
      }).pipe(Effect.provide(layer()))
    )

    it.effect("R-202 several references are told apart in those that hold and those that do not", () =>
      Effect.gen(function* () {
        const there = yield* put("there")
        const found = yield* Artefacts.broken({
          there,
          absent,
          longer: { ...there, bytes: 6 },
          file: { ...there, uri: "file:x" }
        })
        assert.deepStrictEqual(
          found.map(({ name, reason }) => [name, reason._tag]),
          [
            ["absent", "ArtefactMissing"],
            ["longer", "ArtefactMismatch"],
            ["file", "InvalidInput"]
          ]
        )
        assert.deepStrictEqual(yield* Artefacts.broken({ there }), [])
      }).pipe(Effect.provide(layer()))
    )

    const elsewhere: ReadonlyArray<readonly [string, Reference.Reference, string]> = [
      ["a file", { uri: "file:/etc/passwd", hash: hashOf("a") }, "reference.uri"],
      ["an address with a secret", { uri: "https://u:hunter2@example.org/x", hash: hashOf("a") }, "reference.uri"],
      ["another hash than its address", { uri: `artefact:${hashOf("b")}`, hash: hashOf("a") }, "reference.uri"],
      ["a hash of another kind", { uri: "artefact:md5:0", hash: "md5:0" }, "reference.hash"],
      ["a hash in capitals", { uri: "artefact:x", hash: hashOf("a").toUpperCase() }, "reference.hash"],
      ["a hash and a line end", { uri: "artefact:x", hash: `${hashOf("a")}\n` }, "reference.hash"]
    ]
    it.effect.each(elsewhere)("do not look into %s", ([, reference, field]) =>
      Effect.gen(function* () {
        yield* put("a")
        for (const call of [has(reference), get(reference), verify(reference)]) {
          const reason = yield* refusal<unknown, Artefacts.Artefacts>(call)
          assert.deepInclude(reason, { _tag: "InvalidInput", field })
          assert.notInclude(reason.message, "hunter2")
        }
      }).pipe(Effect.provide(layer()))
    )
  })

  describe("putJson and getJson", () => {
    it.effect.prop("D120 give back what was put in", { value: Schema.Json }, ({ value }) =>
      Effect.gen(function* () {
        const reference = yield* Artefacts.putJson(value)
        assert.strictEqual(reference.mediaType, "application/json")
        const expected: unknown = JSON.parse(JSON.stringify(value))
        assert.deepStrictEqual(yield* Artefacts.getJson(reference), expected)
      }).pipe(Effect.provide(layer()))
    )

    it.effect("decode by a schema, and say where it does not fit, not what was there", () =>
      Effect.gen(function* () {
        const Report = Schema.Struct({ at: Schema.DateTimeUtcFromMillis, lines: Schema.Array(Schema.Int) })
        const good = yield* Artefacts.getJson(yield* Artefacts.putJson({ at: 5, lines: [1] }), Report)
        assert.strictEqual(good.at.epochMilliseconds, 5)
        const bad = yield* Artefacts.putJson({ at: 5, lines: [1, "hunter2"] })
        const reason = yield* refusal(Artefacts.getJson(bad, Report))
        assert.strictEqual(
          reason.message,
          `the artefact ${bad.hash} cannot be read: it is not what was expected at "lines".1`
        )
      }).pipe(Effect.provide(layer()))
    )

    const unreadable: ReadonlyArray<readonly [string, Uint8Array | string, string]> = [
      ["a text that is not JSON", "{", "it is not the JSON that was expected"],
      ["nothing", "", "it is not the JSON that was expected"],
      ["bytes that are not UTF-8", Uint8Array.of(0x22, 0xff, 0x22), "it is not UTF-8"]
    ]
    it.effect.each(unreadable)("cannot read %s", ([, content, detail]) =>
      Effect.gen(function* () {
        const reason = yield* refusal(Artefacts.getJson(yield* put(content)))
        assert.deepInclude(reason, { _tag: "ArtefactUnreadable", detail })
      }).pipe(Effect.provide(layer()))
    )

    const notJson: ReadonlyArray<readonly [unknown, string]> = [
      [undefined, "content must be a JSON value, is undefined"],
      [{ a: [1, Number.NaN] }, "content.a[1] must be a JSON value, is NaN"],
      [{ "a b": new Map() }, 'content["a b"] must be a JSON value, is an object of a class']
    ]
    it.effect.each(notJson)("refuse what is not JSON: case %#", ([value, message]) =>
      Effect.gen(function* () {
        const reason = yield* refusal(Artefacts.putJson(foreign(value)))
        assert.deepStrictEqual([reason._tag, reason.message], ["InvalidInput", message])
      }).pipe(Effect.provide(layer()))
    )

    it.effect("D63 refuse a value over the limit before it is written out whole", () =>
      Effect.gen(function* () {
        let value: Schema.Json = "leaf"
        for (let level = 0; level < 64; level++) value = [value, value]
        const reason = yield* refusal(Artefacts.putJson(value))
        assert.strictEqual(reason._tag, "ArtefactTooLarge")
      }).pipe(Effect.provide(layer(1_000)))
    )
  })

  artefactsStreamContract(layer)
  artefactsCollectContract(layer)
}
