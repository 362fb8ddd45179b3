import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

import { piped } from "../../src/cli/look.ts"
import { labelled, status, tableIn } from "../../src/cli/table.ts"
import { padded, widthOf, wrapped } from "../../src/cli/width.ts"

const terminal = (columns: number) => ({ colour: false, columns })

describe("how wide text is", () => {
  it.each([
    ["", 0],
    ["plain", 5],
    ["naïve", 5],
    ["nai\u0308ve", 5],
    ["日本語", 6],
    ["ｆｕｌｌ", 8],
    ["ﾊﾝ", 2],
    ["한글", 4],
    ["\u1112\u1161\u11AB", 2],
    ["👍", 2],
    ["👩‍🚀", 2],
    ["🇩🇪", 2],
    ["✔", 1],
    ["a\u200Bb", 2]
  ] as const)("R-503 %j takes %d columns", (text, width) => {
    assert.strictEqual(widthOf(text), width)
    assert.strictEqual(widthOf(padded(text, 20)), 20)
  })

  it("R-503 a text is broken between words, and inside of one only where it has to be", () => {
    assert.deepStrictEqual(wrapped("to be or not", 6), ["to be", "or not"])
    assert.deepStrictEqual(wrapped("a 日本語日本語 b", 6), ["a", "日本語", "日本語", "b"])
    assert.deepStrictEqual(wrapped("short", 6), ["short"])
  })

  it.prop(
    "R-503 no line is wider than it may be, and nothing is lost",
    [Schema.Array(Schema.Literals(["a", "word", "日本", "👩‍🚀", "averyveryverylongword"]))],
    ([words]) => {
      const text = words.join(" ")
      const lines = wrapped(text, 7)
      assert.isTrue(lines.every((line) => widthOf(line) <= 7))
      assert.strictEqual(lines.join("").replaceAll(" ", ""), text.replaceAll(" ", ""))
    }
  )
})

describe("tables", () => {
  const heads = ["task", "status", "note"]
  const long = "links is accepted from docs.links, which found nothing that leads nowhere"
  const rows = [
    ["links", status("accepted"), long],
    ["日本語", status("running"), ""]
  ]

  it("R-503 in a pipe a row is a line, whole, under heads in line", () => {
    assert.deepStrictEqual(tableIn(piped, heads, rows).split("\n"), [
      "task    status    note",
      `links   accepted  ${long}`,
      "日本語  running"
    ])
  })

  it("R-503 in a terminal what does not fit goes on below itself", () => {
    assert.deepStrictEqual(tableIn(terminal(50), heads, rows).split("\n"), [
      "task    status    note",
      "links   accepted  links is accepted from",
      "                  docs.links, which found nothing",
      "                  that leads nowhere",
      "日本語  running"
    ])
  })

  it("R-503 in a terminal that is too narrow for that a row is a list", () => {
    assert.deepStrictEqual(tableIn(terminal(30), heads, rows).split("\n"), [
      "task    links",
      "status  accepted",
      "note    links is accepted from",
      "        docs.links, which",
      "        found nothing that",
      "        leads nowhere",
      "",
      "task    日本語",
      "status  running"
    ])
  })

  it("R-503 a status has its colour, and blanks have none", () => {
    const [head, first] = tableIn(
      { colour: true, columns: undefined },
      ["status", "task"],
      [[status("failed"), "a"]]
    ).split("\n")
    assert.strictEqual(head, "\u001B[1mstatus\u001B[22m  \u001B[1mtask\u001B[22m")
    assert.strictEqual(first, "\u001B[31mfailed\u001B[39m  a")
    const kind = tableIn({ colour: true, columns: undefined }, ["outcome"], [[status("failed (capability)")]])
    assert.include(kind, "\u001B[31mfailed (capability)\u001B[39m")
  })

  it("R-503 a cell is one line of what is seen, wherever it comes from", () => {
    const text = tableIn(piped, ["task"], [["a\u001B[2J\nb\u202Ec"], [status("failed\u001B]0;x\u0007")]])
    assert.deepStrictEqual(text.split("\n"), ["task", "a [2J b c", "failed ]0;x"])
  })

  it.prop(
    "R-503 a table is as wide as its terminal at most",
    [Schema.Array(Schema.Array(Schema.String)), Schema.Int.check(Schema.isBetween({ minimum: 24, maximum: 200 }))],
    ([rows, columns]) => {
      const lines = tableIn(terminal(columns), ["one", "two", "three", "four"], rows).split("\n")
      assert.isTrue(lines.every((line) => widthOf(line) <= columns))
    }
  )

  it("R-503 what stands beside a label goes on below itself, with the first word in its style", () => {
    const look = { colour: true, columns: 26 }
    assert.deepStrictEqual(labelled(look, "status", 9, "failed, deadline: the time is over", "red").split("\n"), [
      "status   \u001B[31mfailed\u001B[39m, deadline:",
      "         the time is over"
    ])
    assert.strictEqual(labelled(piped, "status", 9, "failed\nby far"), "status   failed by far")
  })
})
