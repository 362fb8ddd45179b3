import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { fits, recordable } from "../../../src/run/internal/fitting.ts"

const parsed = (text: string) => JSON.parse(text) as Schema.Json

const mail = parsed(`{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "title": "Mail",
  "x-order": ["to"],
  "properties": {
    "to": { "type": "string", "minLength": 1, "maxLength": 20, "pattern": "^[a-z@.]+$", "format": "email" },
    "cc": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
    "copies": { "type": "integer", "minimum": 1, "maximum": 5, "default": 1 },
    "kind": { "enum": ["plain", "html"] },
    "lines": { "type": "array", "items": { "$ref": "#/$defs/Line" }, "maxItems": 2, "uniqueItems": true },
    "a/b~c": { "const": true }
  },
  "required": ["to"],
  "additionalProperties": false,
  "$defs": { "Line": { "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] } }
}`)

describe("fits", () => {
  const table: ReadonlyArray<readonly [args: string, paths: ReadonlyArray<string>]> = [
    [`{"to":"ada@b.org"}`, []],
    [`{"to":"ada@b.org","cc":null,"copies":5,"kind":"html","lines":[{"text":"a","more":1}],"a/b~c":true}`, []],
    [`{}`, ["/to"]],
    [`[]`, [""]],
    [`null`, [""]],
    [`"to"`, [""]],
    [`{"to":""}`, ["/to", "/to"]],
    [`{"to":"ADA"}`, ["/to"]],
    [`{"to":"${"a".repeat(21)}"}`, ["/to"]],
    [`{"to":null}`, ["/to"]],
    [`{"to":"a","copies":"1"}`, ["/copies"]],
    [`{"to":"a","copies":1.5}`, ["/copies"]],
    [`{"to":"a","copies":0}`, ["/copies"]],
    [`{"to":"a","copies":null}`, ["/copies"]],
    [`{"to":"a","kind":"rtf"}`, ["/kind"]],
    [`{"to":"a","lines":[{"text":"a"},{}]}`, ["/lines/1/text"]],
    [`{"to":"a","lines":[{"text":"a"},{"text":"a"}]}`, ["/lines"]],
    [`{"to":"a","lines":[{"text":"a"},{"text":"b"},{"text":"c"}]}`, ["/lines"]],
    [`{"to":"a","a/b~c":1}`, ["/a~1b~0c"]],
    [`{"to":"a","bcc":1}`, ["/bcc"]],
    [`{"to":"a","__proto__":1}`, ["/__proto__"]],
    [`{"to":"a","constructor":1}`, ["/constructor"]],
    [`{"__proto__":{"to":"a"}}`, ["/__proto__", "/to"]],
    [`{"copies":9,"kind":1,"to":1}`, ["/copies", "/kind", "/to"]]
  ]
  it.each(table)("R-306 holds %s against a schema: %j", (args, paths) => {
    assert.deepStrictEqual(
      fits(parsed(args), mail)
        .map(({ path }) => path)
        .toSorted(),
      paths
    )
  })

  it("R-306 says what was expected and what was there, and nothing of a secret", () => {
    const schema = parsed(
      `{"type":"object","properties":{"n":{"type":"integer"},"password":{"type":"number"}},"required":["x"]}`
    )
    assert.deepStrictEqual(fits({ n: "1", password: "hunter2!" }, schema), [
      { path: "/n", expectation: "must be a number", actual: `"1"` },
      { path: "/password", expectation: "must be a number", actual: "a string" },
      { path: "/x", expectation: "is required", actual: "" }
    ])
  })

  const anything: ReadonlyArray<string> = ["{}", "[]", "null", "1", '"a"', "true", '{"a":{"b":[null]}}']
  it.each(anything)("reads true as anything and false as nothing: %s", (args) => {
    assert.deepStrictEqual(fits(parsed(args), true), [])
    assert.deepStrictEqual(fits(parsed(args), {}), [])
    assert.strictEqual(fits(parsed(args), false).length, 1)
  })

  it("tells a list from an object", () => {
    for (const object of [
      "{}",
      `{"properties":{}}`,
      `{"additionalProperties":false}`,
      `{"additionalProperties":true}`
    ]) {
      const schema = { type: "object", ...(parsed(object) as Record<string, Schema.Json>) }
      assert.deepStrictEqual(fits({}, schema), [])
      assert.strictEqual(fits([], schema).length, 1, object)
      assert.strictEqual(fits("", schema).length, 1, object)
    }
    assert.strictEqual(fits({}, { type: "array" }).length, 1)
    assert.strictEqual(fits({ length: 0 }, { type: "array" }).length, 1)
  })

  const unreadable: ReadonlyArray<readonly [schema: string, reason: string]> = [
    [`null`, "the schema is none"],
    [`[]`, "the schema is none"],
    [`"object"`, "the schema is none"],
    [`{"typ":"object"}`, `the schema has "typ", which is not understood`],
    [`{"if":{},"then":false}`, `the schema has "if", which is not understood`],
    [`{"unevaluatedProperties":false}`, `the schema has "unevaluatedProperties", which is not understood`],
    [`{"dependentRequired":{"a":["b"]}}`, `the schema has "dependentRequired", which is not understood`],
    [`{"contains":{}}`, `the schema has "contains", which is not understood`],
    [`{"$id":"x"}`, `the schema has "$id", which is not understood`],
    [
      `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
      `the schema has a "$schema" of another kind than it must be`
    ],
    [
      `{"properties":{"a":{"minLength":"3"}}}`,
      `the schema at /properties/a has a "minLength" of another kind than it must be`
    ],
    [
      `{"properties":{"a/b":{"anyOf":[{"type":"text"}]}}}`,
      `the schema at /properties/a~1b/anyOf/0 has a "type" of another kind than it must be`
    ],
    [`{"items":[{"type":"string"}]}`, `the schema has a "items" of another kind than it must be`],
    [`{"additionalProperties":0}`, `the schema has a "additionalProperties" of another kind than it must be`],
    [`{"required":"a"}`, `the schema has a "required" of another kind than it must be`],
    [`{"enum":[{"a":1}]}`, `the schema has a "enum" of another kind than it must be`],
    [`{"anyOf":[]}`, `the schema has a "anyOf" of another kind than it must be`],
    [`{"$defs":{"a":{"foo":1}}}`, `the schema at /$defs/a has "foo", which is not understood`],
    [`{"properties":{"a":{"$defs":{}}}}`, `the schema at /properties/a has "$defs", which is not understood`],
    [`{"not":{"type":"string"}}`, "not"],
    [`{"$ref":"#/$defs/gone"}`, "gone"],
    [`{"$ref":"https://example.org/a"}`, "https://example.org/a"],
    [`{"$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "cannot be checked"],
    [`{"type":"string","pattern":"("}`, "pattern"]
  ]
  it.each(unreadable)("R-306 refuses whatever it is by the schema %s", (schema, reason) => {
    for (const args of [{}, "a", null]) {
      const [problem, ...more] = fits(args, parsed(schema))
      assert.deepStrictEqual(more, [])
      assert.strictEqual(problem?.path, "")
      assert.match(problem?.expectation ?? "", /^cannot be checked: /)
      assert.include(problem?.expectation, reason)
    }
  })

  it("refuses arguments that are too deep, too large or not JSON", () => {
    let deep: Schema.Json = 1
    for (let level = 0; level < 200; level++) deep = [deep]
    for (const args of [deep, "x".repeat(2 ** 21), Number.NaN]) assert.strictEqual(fits(args, true).length, 1)
  })
})

describe("recordable", () => {
  const Tool = Schema.Struct({
    to: Schema.NonEmptyString,
    at: Schema.Date,
    copies: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))),
    kind: Schema.Union([Schema.Literal("plain"), Schema.Struct({ html: Schema.Boolean })]),
    cc: Schema.NullOr(Schema.String)
  }).annotate({ identifier: "Mail" })

  it("R-306 is the encoded form of a tool's arguments, which can be checked without the tool", () => {
    const recorded = recordable(Tool)
    if (recorded === undefined) return assert.fail("it cannot be recorded")
    const check = (args: Schema.Json) => fits(args, parsed(JSON.stringify(recorded))).map(({ path }) => path)
    const args = { to: "ada", at: "2026-01-01T00:00:00.000Z", kind: "plain", cc: null }
    assert.deepStrictEqual(check(args), [])
    assert.deepStrictEqual(check({ ...args, kind: { html: true }, copies: 3 }), [])
    assert.deepStrictEqual(check({ ...args, to: "" }), ["/to"])
    assert.deepStrictEqual(check({ ...args, at: 1 }), ["/at"])
    assert.deepStrictEqual(check({ ...args, copies: 4 }), ["/copies"])
    assert.deepStrictEqual(check({ to: "ada", at: "", kind: "plain" }), ["/cc"])
  })

  it("is recursive where the schema is", () => {
    interface Tree {
      readonly name: string
      readonly below: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({
      name: Schema.String,
      below: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
    }).annotate({ identifier: "Tree" })
    const recorded = recordable(Tree)
    if (recorded === undefined) return assert.fail("it cannot be recorded")
    const tree = { name: "a", below: [{ name: "b", below: [] }] }
    assert.deepStrictEqual(fits(tree, recorded), [])
    assert.deepStrictEqual(
      fits({ name: "a", below: [{ name: 1, below: [] }] }, recorded).map(({ path }) => path),
      ["/below/0/name"]
    )
  })

  it("is nothing where the schema could not be read again", () => {
    const keys = Schema.TemplateLiteral(["x-", Schema.String])
    assert.isUndefined(recordable(Schema.Record(keys, Schema.Number)))
  })
})
