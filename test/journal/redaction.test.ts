import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Redaction } from "espalier"
import { Artefacts } from "espalier/journal"

const { getJson, getText, putJson } = Artefacts

const put = (content: Uint8Array | string, options?: { readonly mediaType?: string }) =>
  Effect.flatMap(Artefacts.Artefacts, (artefacts) => artefacts.put(content, options))

describe("artefacts", () => {
  it.effect("R-305 are hashed and kept without the secrets of their text", () =>
    Effect.gen(function* () {
      const reference = yield* put("DB_PASSWORD=hunter2\nuser=ada\n")
      assert.strictEqual(yield* getText(reference), "DB_PASSWORD=[redacted:password]\nuser=ada\n")
      assert.deepStrictEqual(yield* put("DB_PASSWORD=[redacted:password]\nuser=ada\n"), reference)
    }).pipe(Effect.provide(Artefacts.layerMemory()))
  )

  it.effect("R-305 are kept without the secrets of their JSON, which stays JSON", () =>
    Effect.gen(function* () {
      const reference = yield* putJson({ session: { clientSecret: "abc", pin: 1, password: 12 } })
      assert.deepStrictEqual(yield* getJson(reference), {
        session: { clientSecret: "[redacted:secret]", pin: 1, password: "[redacted:password]" }
      })
    }).pipe(Effect.provide(Artefacts.layerMemory()))
  )

  it.effect("R-305 are kept as they are when they are bytes, and by the rules around them", () =>
    Effect.gen(function* () {
      const bytes = yield* put(new TextEncoder().encode("password=hunter2"), { mediaType: "text/plain" })
      assert.strictEqual(yield* getText(bytes), "password=hunter2")
      const kept = yield* Effect.provide(put("password=hunter2"), Layer.succeed(Redaction.Redaction, Redaction.none))
      assert.strictEqual(yield* getText(kept), "password=hunter2")
    }).pipe(Effect.provide(Artefacts.layerMemory()))
  )
})
