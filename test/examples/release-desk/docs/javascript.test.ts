import { assert, describe, it } from "@effect/vitest"

import { exportsOf } from "../../../../examples/release-desk/docs/javascript.ts"

const own = (text: string) =>
  exportsOf(text).own.map(({ documented, line, name }) => `${name}:${line}${documented ? " documented" : ""}`)

describe("exportsOf", () => {
  it.each([
    ["/** A. */\nexport const a = 1\nexport let b", ["a:2 documented", "b:3"]],
    ["/** A. */\n// a line between\nexport async function* a() { export const b = 1 }", ["a:3 documented"]],
    ["export const { a, b: c, d = x } = y\nexport const [e] = z", ["a:1", "c:1", "d:1", "e:2"]],
    ["export const enum A {}\nexport declare abstract class B {}\nexport type C = 1", ["A:1", "B:2", "C:3"]],
    ["/** A. */\nfunction a() {}\nconst b = 1\nexport { a, b as c }", ["a:2 documented", "c:3"]],
    ["const a = 1\nexport {\n  /** A. */\n  a as let,\n  a as b\n}", ["let:1 documented", "b:1"]],
    ["/** A. */\nconst a = 1\nexport default a", ["default:2 documented"]],
    ["export default function f() {}", ["default:1"]],
    ["/** A. */\nexport function a(x: 1): void\nexport function a() {}", ["a:2 documented"]],
    ["/** A. */\n@decorated()\nexport class A {}\nexport class B {}", ["A:3 documented", "B:4"]],
    ["const s = `export const no = 1 ${`{`} `\nconst r = /[/`\"'({]/\nexport const a = 1", ["a:3"]],
    ["const x = <p>don't (</p>\nexport const a = 1", ["a:2"]],
    ["/* export const no = 1 */ '/**'\nexport const a = 1", ["a:2"]],
    ["a.export\nx = { export: 1 }\nexport =", []]
  ])("finds the declarations of a module and their comments (%#)", (text, expected) =>
    assert.deepStrictEqual(own(text), expected)
  )

  it("knows whose names are passed on", () => {
    const found = exportsOf(
      [
        'import d, { a as b, type T } from "./a.js"',
        'import * as ns from "./ns.js"',
        "export { b, ns, type T, d as e }",
        'export { x as y, default as z } from "./x.js"',
        'export type { U } from "./u.js"',
        'export * as all from "./all.js"',
        'export * from "./star.js"'
      ].join("\n")
    )
    assert.deepStrictEqual(found.own, [])
    assert.deepStrictEqual(found.stars, ["./star.js"])
    assert.sameDeepMembers(
      [...found.indirect],
      [
        { name: "b", imported: "a", target: "./a.js" },
        { name: "ns", imported: undefined, target: "./ns.js" },
        { name: "T", imported: "T", target: "./a.js" },
        { name: "e", imported: "default", target: "./a.js" },
        { name: "y", imported: "x", target: "./x.js" },
        { name: "z", imported: "default", target: "./x.js" },
        { name: "U", imported: "U", target: "./u.js" },
        { name: "all", imported: undefined, target: "./all.js" }
      ]
    )
  })

  // Each of these overflows the stack of a parser that recurses.
  it.each(
    [
      "(",
      "[",
      "{",
      "`${",
      "x=>",
      "a?b:",
      "a=",
      "if(a)",
      "if(a){}else ",
      "B<",
      "<a>",
      "new ",
      "a:",
      "/",
      "'",
      "/*",
      "export {"
    ].map((part) => [part])
  )("reads %s two hundred thousand times", (part) => {
    assert.isAtMost(exportsOf(`${part.repeat(200_000)}\nexport const a = 1`).own.length, 2)
  })
})
