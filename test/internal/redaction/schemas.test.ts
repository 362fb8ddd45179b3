import { assert, describe, it } from "@effect/vitest"
import { Option, Redacted, Schema, SchemaTransformation } from "effect"
import { Redaction } from "espalier"

import { concealing } from "../../../src/internal/redaction/schemas.ts"

const secret = "[redacted:secret]"

/** What is written down of a value of this schema. */
const written = <T, E>(schema: Schema.Codec<T, E>, value: T): unknown => {
  const codec = Schema.toCodecJson(schema)
  return concealing(codec)(Schema.encodeSync(codec)(value))
}

interface Tree {
  readonly key: string
  readonly below: ReadonlyArray<Tree>
}

const Tree: Schema.Codec<Tree> = Schema.Struct({
  key: Redaction.secret(Schema.String),
  below: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
})

class Account extends Schema.Class<Account>("Account")({ user: Schema.String, pin: Redaction.secret(Schema.Int) }) {}

describe("concealing", () => {
  it("R-305 gives the same reference back where a schema marks nothing", () => {
    const schema = Schema.Struct({ a: Schema.Array(Schema.NumberFromString), b: Schema.optionalKey(Schema.String) })
    const encoded = { a: ["1"], b: "password=x" }
    assert.strictEqual(concealing(Schema.toCodecJson(schema))(encoded), encoded)
  })

  it("R-305 gives the same reference back where what is marked is not there", () => {
    const schema = Schema.Struct({ a: Schema.optionalKey(Redaction.secret(Schema.String)), b: Schema.Null })
    const encoded = { b: null }
    assert.strictEqual(concealing(Schema.toCodecJson(schema))(encoded), encoded)
  })

  it("R-305 takes out a marked value at any place: a field, an item, a value of a record", () => {
    const Secret = Redaction.secret(Schema.String)
    const schema = Schema.Struct({
      plain: Schema.String,
      field: Secret,
      items: Schema.Array(Schema.Struct({ inner: Secret })),
      pair: Schema.Tuple([Schema.String, Secret]),
      record: Schema.Record(Schema.String, Secret)
    })
    const value = { plain: "p", field: "a", items: [{ inner: "b" }], pair: ["c", "d"], record: { e: "f" } } as const
    assert.deepStrictEqual(written(schema, value), {
      plain: "p",
      field: secret,
      items: [{ inner: secret }],
      pair: ["c", secret],
      record: { e: secret }
    })
  })

  it("R-305 takes out a field that is marked by its key, and a schema that has checks", () => {
    const schema = Schema.Struct({
      key: Schema.String.pipe(Schema.annotateKey({ [Redaction.secretKey]: true })),
      checked: Redaction.secret(Schema.String.check(Schema.isMinLength(1)))
    })
    assert.deepStrictEqual(written(schema, { key: "a", checked: "b" }), { key: secret, checked: secret })
  })

  it("R-305 takes out numbers, objects and lists that are marked", () => {
    const schema = Schema.Struct({
      pin: Redaction.secret(Schema.Int),
      all: Redaction.secret(Schema.Struct({ a: Schema.Int })),
      list: Redaction.secret(Schema.Array(Schema.Int))
    })
    assert.deepStrictEqual(written(schema, { pin: 4711, all: { a: 1 }, list: [1] }), {
      pin: secret,
      all: secret,
      list: secret
    })
  })

  it("R-305 takes out Redacted values without a mark", () => {
    const schema = Schema.Struct({ a: Schema.Redacted(Schema.String), b: Schema.Option(Schema.Redacted(Schema.Int)) })
    const value = { a: Redacted.make("x"), b: Option.some(Redacted.make(5)) }
    const text = JSON.stringify(written(schema, value))
    assert.include(text, `"a":"${secret}"`)
    assert.notInclude(text, "5")
    assert.strictEqual(written(Schema.RedactedFromValue(Schema.String), Redacted.make("x")), secret)
  })

  it("R-305 takes out of a union only what the member that fits marks", () => {
    const schema = Schema.Union([
      Schema.Struct({ kind: Schema.Literal("login"), word: Redaction.secret(Schema.String) }),
      Schema.Struct({ kind: Schema.Literal("public"), word: Schema.String })
    ])
    assert.deepStrictEqual(written(schema, { kind: "login", word: "a" }), { kind: "login", word: secret })
    assert.deepStrictEqual(written(schema, { kind: "public", word: "a" }), { kind: "public", word: "a" })
    assert.strictEqual(written(Schema.NullOr(Redaction.secret(Schema.String)), null), null)
  })

  it("R-305 takes out what is marked in a class and in a schema that refers to itself", () => {
    assert.deepStrictEqual(written(Account, new Account({ user: "ada", pin: 1 })), { user: "ada", pin: secret })
    assert.deepStrictEqual(written(Tree, { key: "a", below: [{ key: "b", below: [] }] }), {
      key: secret,
      below: [{ key: secret, below: [] }]
    })
  })

  it("R-305 takes out the whole where a transformation leaves no trace of the mark", () => {
    const schema = Schema.String.pipe(
      Schema.decodeTo(
        Schema.Struct({ user: Schema.String, word: Redaction.secret(Schema.String) }),
        SchemaTransformation.transform({
          decode: (text) => ({ user: text.split(":")[0] ?? "", word: text.split(":")[1] ?? "" }),
          encode: ({ user, word }) => `${user}:${word}`
        })
      )
    )
    assert.strictEqual(written(schema, { user: "ada", word: "hunter2" }), secret)
  })
})
