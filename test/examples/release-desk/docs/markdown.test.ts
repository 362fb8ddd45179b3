import { assert, describe, it } from "@effect/vitest"

import { parse } from "../../../../examples/release-desk/docs/markdown.ts"

const parsed = (text: string) => {
  const document = parse(text)
  assert.isObject(document)
  return document as Exclude<typeof document, string>
}

describe("parse", () => {
  it("reads every attribute of raw HTML, and nothing of its comments", () => {
    const { anchors, headings, links } = parsed(
      '<h1 align="center">The <b>Title</b></h1>\n\n<a id="x" href=\'a.md?b&amp;c\'>x</a> <img alt="" id="y" src="p.png">\n\n<!-- <a href="no.md"> -->\n'
    )
    assert.deepStrictEqual(
      headings.map(({ text }) => text),
      ["The Title"]
    )
    assert.deepStrictEqual(
      links.map(({ target }) => target),
      ["a.md?b&c", "p.png"]
    )
    assert.deepStrictEqual([...anchors], ["the-title", "x", "y"])
  })

  // Real time is what is tested here: each of these takes the parser a minute or its stack when it is let in.
  it.each([
    ["[a](", 100_000],
    ["[^a] ", 100_000],
    ["|a", 200_000],
    ["a|b\n-|-\n", 50_000],
    ["> - ", 1_000],
    ["- ", 2_000],
    ["a**bc* ", 50_000],
    ["[^a]: x\n\n", 60_000]
  ])("refuses %j %d times", (part, times) => {
    assert.isString(parse(part.repeat(times)))
  })

  it("refuses a stair of lists", () => {
    assert.isString(parse(Array.from({ length: 600 }, (_, step) => `${" ".repeat(step * 2)}- x`).join("\n")))
  })
})
