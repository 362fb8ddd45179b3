import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { canonical, digest } from "../../../src/run/internal/canonical.ts"

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, shuffled(item)])
  )
}

describe("canonical", () => {
  const table: ReadonlyArray<readonly [value: unknown, text: string]> = [
    [null, "null"],
    [-0, "0"],
    [1e21, "1e+21"],
    [333333333.3333333, "333333333.3333333"],
    [0.000001, "0.000001"],
    [1e-7, "1e-7"],
    ['€$\u000f\nA\'B"\\\\"/', String.raw`"€$\u000f\nA'B\"\\\\\"/"`],
    ["\ud800", String.raw`"\ud800"`],
    [[], "[]"],
    [{}, "{}"],
    [{ b: 1, a: [true, { d: 1, c: 2 }], undefined: undefined }, '{"a":[true,{"c":2,"d":1}],"b":1}'],
    [{ 10: "a", 9: "b", 1: "c" }, '{"1":"c","10":"a","9":"b"}'],
    // Sorted by UTF-16 units: the surrogates of the emoji come before U+FB33.
    [{ "\ufb33": 1, "\u{1f602}": 2, ö: 3, "\r": 4 }, '{"\\r":4,"ö":3,"😂":2,"\ufb33":1}'],
    [JSON.parse('{"b":1,"__proto__":2}'), '{"__proto__":2,"b":1}']
  ]
  it.each(table)("writes %j as one text", (value, text) => {
    assert.strictEqual(canonical(value), text)
  })

  it.prop("is JSON of an equal value, whatever the order of the keys", [Schema.Json], ([value]) => {
    const text = canonical(value)
    assert.strictEqual(canonical(shuffled(value)), text)
    assert.strictEqual(canonical(JSON.parse(text)), text)
    assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
  })

  it.prop("is the same text below many levels as above them", [Schema.Json], ([value]) => {
    let deep: unknown = value
    for (let level = 0; level < 250; level++) deep = [deep]
    assert.strictEqual(canonical(deep), `${"[".repeat(250)}${canonical(value)}${"]".repeat(250)}`)
  })

  it("needs no stack for depth, nor for breadth", () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    assert.strictEqual(canonical(deep).length, 200_001)
    assert.strictEqual(canonical(Array.from({ length: 300_000 }, () => 1)).length, 600_001)
  })
})

describe("digest", () => {
  it("is MD5 in hexadecimal digits", () => {
    assert.strictEqual(digest(""), "d41d8cd98f00b204e9800998ecf8427e")
    assert.strictEqual(digest("abc"), "900150983cd24fb0d6963f7d28e17f72")
  })
})
