import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { canonical } from "../../../src/run/internal/canonical.ts"
import { jsonBytes } from "../../../src/run/internal/jsonBytes.ts"

const written = (value: unknown): number => new TextEncoder().encode(canonical(value)).length

const shapes: ReadonlyArray<Schema.Json> = [
  null,
  true,
  -0,
  1e21,
  -1.5e-7,
  "",
  [],
  {},
  [[], {}, ""],
  { b: 1, a: [true, { d: "é", c: "€" }], "": null }
]

describe("jsonBytes", () => {
  it.each(shapes)("R-505 is the length of %j as it is written", (value) => {
    assert.strictEqual(jsonBytes(value), written(value))
  })

  it("R-505 knows every character, and each half of a pair alone", () => {
    for (let code = 0; code <= 0xffff; code++) {
      const text = String.fromCharCode(code)
      if (jsonBytes(text) !== written(text)) assert.fail(`U+${code.toString(16)}`)
    }
    for (const text of ["\u{1f602}", "a\ud83d", "\ude02\ud83d", "\ud83d\ud83d\ude02", "\ud83dx"]) {
      assert.strictEqual(jsonBytes(text), written(text))
    }
  })

  it("R-505 counts long texts, too", () => {
    const text = "é\n😂x".repeat(1_000)
    assert.strictEqual(jsonBytes({ text }), written({ text }))
  })

  it.prop("R-505 is the length of the canonical text of any value", [Schema.Json], ([value]) => {
    assert.strictEqual(jsonBytes(value), written(value))
  })
})
