import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { Lines } from "../../src/internal/lines.ts"

const all = (pieces: ReadonlyArray<string>, max?: number) => {
  const lines = new Lines(max)
  return [...pieces.flatMap((piece) => lines.push(piece)), ...lines.end()]
}

describe("Lines", () => {
  it.each([
    ["lines with either end", ["a\nb\r\nc"], ["a", "b", "c"]],
    ["empty lines", ["\n\r\n\n"], ["", "", ""]],
    ["a line that comes in pieces", ["a", "b", "\n", "c\n"], ["ab", "c"]],
    ["an end that comes in two pieces", ["a\r", "\nb"], ["a", "b"]],
    ["a return that ends no line", ["a\rb\n"], ["a\rb"]],
    ["no text", [], []]
  ] as const)("R-114 tells %s", (_, pieces, expected) => {
    assert.deepStrictEqual(
      all(pieces).map(({ text }) => text),
      [...expected]
    )
  })

  it("R-114 tells a line that is too long in parts, and keeps a character of two halves whole", () => {
    assert.deepStrictEqual(all(["abcdef\nabc\n"], 3), [
      { text: "abc", cut: true },
      { text: "def", cut: false },
      { text: "abc", cut: false }
    ])
    assert.deepStrictEqual(all(["ab😀c"], 3), [
      { text: "ab", cut: true },
      { text: "😀c", cut: false }
    ])
  })

  it.prop(
    "R-114 loses nothing, however the text is cut, and no part is longer than the bound",
    [Schema.Array(Schema.Literals(["a", "bcdef", "\n", "\r\n", "😀", "\r"])), Schema.Literals([2, 3, 5, 100])],
    ([pieces, max]) => {
      const lines = all(pieces, max)
      const told = lines.map(({ text, cut }) => (cut ? text : `${text}\n`)).join("")
      const meant = pieces.join("").replaceAll("\r\n", "\n")
      assert.strictEqual(told, meant === "" || meant.endsWith("\n") ? meant : `${meant}\n`)
      for (const { text } of lines) assert.isAtMost(text.length, max)
    }
  )
})
