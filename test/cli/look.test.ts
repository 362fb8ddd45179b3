import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { RunEvent, RunState } from "espalier/run"

import { harmless, harmlessJson, lookOf, painted, piped, styleOf, timeOf } from "../../src/cli/look.ts"

const terminal = { isTTY: true, columns: 100 }
const coloured = { colour: true, columns: 100 }

describe("how text looks", () => {
  it.each([
    ["a terminal", {}, terminal, coloured],
    ["a pipe", {}, {}, piped],
    ["a pipe that is to have colours", { FORCE_COLOR: "1" }, {}, { colour: true, columns: undefined }],
    ["a terminal without colours", { NO_COLOR: "1", FORCE_COLOR: "1" }, terminal, { colour: false, columns: 100 }],
    ["an empty NO_COLOR", { NO_COLOR: "" }, terminal, coloured],
    ["FORCE_COLOR=0", { FORCE_COLOR: "0" }, terminal, { colour: false, columns: 100 }],
    ["FORCE_COLOR=false", { FORCE_COLOR: "false" }, terminal, { colour: false, columns: 100 }],
    ["a dumb terminal", { TERM: "dumb", FORCE_COLOR: "1" }, terminal, { colour: false, columns: 100 }],
    ["a terminal that does not tell its width", {}, { isTTY: true, columns: 0 }, { colour: true, columns: 80 }]
  ] as const)("R-503 %s", (_, env, place, look) => {
    assert.deepStrictEqual(lookOf(env, place), look)
  })

  it("R-503 every status has a style", () => {
    const all = [
      ...RunState.RunStatus.literals,
      ...RunState.TaskStatus.literals,
      ...RunEvent.DispatchEnd.literals,
      ...RunEvent.WorkerHealth.literals
    ]
    assert.deepStrictEqual(
      all.filter((each) => styleOf(each) === undefined),
      []
    )
    assert.strictEqual(styleOf("constructor"), undefined)
  })

  it("R-503 a time is told in full to programs, and to people as they read it; one that no calendar has is a number", () => {
    const at = 1_796_025_909_007
    assert.strictEqual(timeOf(piped, at), "2026-11-30T08:05:09.007Z")
    assert.strictEqual(timeOf(coloured, at), "2026-11-30 08:05:09Z")
    assert.strictEqual(timeOf(coloured, 9e15), "9000000000000000")
  })

  const hostile = [
    ["moves the cursor", "a\u001B[2J\u001B[Hb", "a[2J[Hb"],
    ["sets the title", "a\u001B]0;owned\u0007b", "a]0;ownedb"],
    ["writes to the clipboard", "a\u001B]52;c;ZXZpbA==\u001B\\b", "a]52;c;ZXZpbA==\\b"],
    ["begins with the one byte of C1", "a\u009B31mb", "a31mb"],
    ["goes back in its line", "good\rbad", "goodbad"],
    ["takes characters away", "good\b\b\b\bbad", "goodbad"],
    ["turns the direction", "a\u202Egnp.exe", "agnp.exe"],
    ["hides itself", "a\u001B[8mhidden\u001B[28m", "ahidden"]
  ] as const
  it.each(hostile)("R-503 nothing is obeyed that %s", (_, text, shown) => {
    assert.strictEqual(harmless(piped, text), shown)
    assert.strictEqual(harmless(coloured, text), shown)
    assert.strictEqual(JSON.parse(harmlessJson(JSON.stringify(text))), text)
    assert.strictEqual(harmless(piped, harmlessJson(JSON.stringify(text))), harmlessJson(JSON.stringify(text)))
  })

  it("R-503 the own styles stay where there are colours, and only there", () => {
    const text = painted(coloured, "red", "failed")
    assert.strictEqual(text, "\u001B[31mfailed\u001B[39m")
    assert.strictEqual(harmless(coloured, `${text}\n`), `${text}\n`)
    assert.strictEqual(harmless(piped, text), "failed")
    assert.strictEqual(painted(piped, "red", "failed"), "failed")
  })

  it.prop("R-503 no text, whatever it is, has anything left that a terminal obeys", [Schema.String], ([text]) => {
    const sequence = `${text}\u001B[${text}m\u0090${text}`
    // oxlint-disable-next-line no-control-regex -- it is what is looked for.
    assert.notMatch(harmless(coloured, sequence).replaceAll(/\u001B\[(?:[12]|22|3[1-69])m/g, ""), /[^\n\P{Cc}]/u)
  })
})
