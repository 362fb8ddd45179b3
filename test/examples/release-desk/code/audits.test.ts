/** Real time: the audits read files; nothing here waits for a clock. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import * as complexity from "../../../../examples/release-desk/code/complexity.ts"
import { functionsOf } from "../../../../examples/release-desk/code/functions.ts"
import { languageOf } from "../../../../examples/release-desk/code/languages.ts"
import { scan } from "../../../../examples/release-desk/code/lexer.ts"
import * as markers from "../../../../examples/release-desk/code/markers.ts"
import * as size from "../../../../examples/release-desk/code/size.ts"
import { withProcesses } from "../../../fixtures/real.ts"
import { auditOf, places } from "../folder.ts"

const syntax = (path: string) => languageOf(path)!.syntax
const repeat = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n")

describe("scan", () => {
  it("tells comments, strings and code apart, over lines", () => {
    const lines = scan(`a("// no") // yes\n/* one\ntwo */ b = \`x\n// y\` + 'it''s'\n`, syntax("a.ts"))
    assert.deepStrictEqual(
      lines.map(({ code, comment }) => [code, comment]),
      [
        ['a("") ', " yes"],
        ["", " one"],
        [' b = ""', "two "],
        [' + """"', ""],
        ["", ""]
      ]
    )
    assert.strictEqual(lines[0]!.kept, 'a("// no") ')
  })

  it("has a line for each line of the text, whatever is left open", () => {
    for (const text of ["'", '"""\n\n', "/*\n\n", "`\n", "\\\n\\", ""]) {
      for (const path of ["a.ts", "a.py", "a.rs", "a.html"]) {
        assert.strictEqual(scan(text, syntax(path)).length, text.split("\n").length, JSON.stringify([text, path]))
      }
    }
  })

  it("keeps the numbers of lines over escaped line ends", () => {
    assert.strictEqual(scan('a = "x\\\ny"\nb', syntax("a.ts")).length, 3)
  })
})

describe("code.size", () => {
  it.effect("counts lines by language and names files that are too long", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(size.audit, {
        "a.ts": repeat(1_001, (i) => `x${i}`),
        "b.py": "one\ntwo\n",
        "c.unknown": "?",
        "package-lock.json": "{}"
      })
      assert.deepStrictEqual(places(made), ["long-file a.ts:1"])
      assert.deepInclude(made.facts["languages"], { Python: { files: 1, lines: 2, bytes: 8 } })
      assert.strictEqual(made.facts["generated"], 1)
    })
  )

  it.effect("says that a folder is empty", () =>
    Effect.map(auditOf(size.audit, {}), (made) => assert.deepStrictEqual(places(made), ["empty-repository :0"]))
  )

  it.effect("says which files could not be measured", () =>
    Effect.map(auditOf(size.audit, { "a.ts": new Uint8Array([0, 1, 2, 0]) }), (made) =>
      assert.deepStrictEqual(places(made), ["unread-file a.ts:0"])
    )
  )
})

describe("code.markers", () => {
  it.effect("finds markers in comments, and not in strings or code", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(markers.audit, {
        "a.ts": `const TODO = "FIXME: no"\n// TODO: yes\nf() /* FIXME(me) too */\n// a TODOLIST is none\n`,
        "b.py": `x = "# TODO no"  # HACK: yes\n`
      })
      assert.deepStrictEqual(places(made), ["todo a.ts:2", "fixme a.ts:3", "hack b.py:1"])
    })
  )

  it.effect("finds skipped and focused tests, and not talk of them", () =>
    Effect.gen(function* () {
      // The words of the audited text, so that this file does not look as if it skipped anything itself.
      const [skip, only, todo] = ["skip", "only", "todo"]
      const made = yield* auditOf(markers.audit, {
        "a.test.ts": `it.${skip}("x", f)\ndescribe.${only}("y", g)\ntest.${todo}("z")\n// it.${only}(\nconst s = "it.${only}("\nit.effect.${skip}("w", f)\nunit.${skip}()\n`,
        "b_test.go": "func TestX(t *testing.T) {\n\tt.Skip()\n}\n",
        "c.rs": "#[ignore]\nfn x() {}\n",
        "test_d.py": "@pytest.mark.skip\ndef test_x(): pass\n"
      })
      assert.deepStrictEqual(places(made), [
        "skipped-test a.test.ts:1",
        "focused-test a.test.ts:2",
        "todo-test a.test.ts:3",
        "skipped-test a.test.ts:6",
        "skipped-test b_test.go:2",
        "skipped-test c.rs:1",
        "skipped-test test_d.py:1"
      ])
    })
  )

  it.effect("reads a line of two megabytes without stopping at it", () =>
    Effect.map(auditOf(markers.audit, { "a.js": `// ${"TODO ".repeat(390_000)}` }), (made) =>
      assert.deepStrictEqual(places(made), [])
    )
  )
})

const body = (count: number, indent = "  "): string => repeat(count, (i) => `${indent}call(${i})`)

describe("code.complexity", () => {
  it.effect("finds functions that are long by themselves", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(complexity.audit, {
        "a.ts": `export function long() {\n${body(130)}\n}\nexport const outer = () => {\n  const inner = () => {\n${body(100)}\n  }\n${body(30)}\n}\n`,
        "b.py": `def long():\n${body(130)}\n\nx = 1\n`,
        "c.go": `package c\nfunc Long() {\n${body(301)}\n}\n`
      })
      assert.deepStrictEqual(
        places(made).filter((place) => !place.startsWith("no-test")),
        ["long-function a.ts:1", "long-function b.py:1", "long-function c.go:2"]
      )
      assert.strictEqual(made.findings.find(({ file }) => file === "c.go")?.severity, "medium")
      assert.include(made.findings.find(({ file }) => file === "b.py")?.message, "scan")
    })
  )

  it.effect("finds a function that is written twice, comments and blanks apart, but not when its strings differ", () =>
    Effect.gen(function* () {
      const twice = (name: string, extra: string) => `export function ${name}() {\n${extra}${body(12)}\n}\n`
      const made = yield* auditOf(complexity.audit, {
        "a.ts": twice("one", ""),
        "b.ts": twice("two", "  // the same\n\n"),
        "c.ts": twice("three", '  say("x")\n') + twice("four", '  say("y")\n')
      })
      assert.deepStrictEqual(places(made), ["duplicate-function b.ts:1", "no-test-command :0"])
    })
  )

  it.effect("reads what no parser would survive", () =>
    Effect.gen(function* () {
      const deep = (part: string) => part.repeat(100_000)
      const made = yield* auditOf(complexity.audit, {
        "a.ts": "function (",
        "b.ts": deep("["),
        "c.ts": `x = ${deep("!")}1`,
        "d.ts": deep("{"),
        "e.ts": deep("if(x){}else "),
        "f.ts": deep("x?{}:\n"),
        "g.tsx": deep("<a>\n"),
        "h.ts": "export const fine = () => {\n  return 1\n}\n"
      })
      assert.deepStrictEqual(
        places(made).filter((place) => !place.startsWith("no-test")),
        []
      )
    })
  )

  it.effect("names a duplicate once, not again for every function inside it", () =>
    Effect.gen(function* () {
      const twice = (name: string) => `function ${name}() {\n${body(3)}\n  function inner() {\n${body(12)}\n  }\n}\n`
      const made = yield* auditOf(complexity.audit, { "a.ts": twice("one"), "b.ts": twice("two") })
      assert.deepStrictEqual(places(made), ["duplicate-function b.ts:1", "no-test-command :0"])
    })
  )

  withProcesses("ends a check that takes too long and does not mind being asked to end", () =>
    Effect.gen(function* () {
      const stubborn = "node -e \"process.on('SIGTERM',()=>{});setInterval(()=>{},1000)\""
      const made = yield* auditOf(
        (repository) => complexity.audit(repository, { runChecks: true, checkLimit: "1 second" }),
        { "package.json": JSON.stringify({ scripts: { test: stubborn } }) }
      )
      assert.deepStrictEqual(places(made), ["check-failed package.json:0"])
      assert.include(made.findings[0]?.message, "could not be run to its end")
    })
  )

  it.effect("names the project's own checks, and runs none unless asked", () =>
    Effect.gen(function* () {
      const files = {
        "package.json": JSON.stringify({ scripts: { test: "node -e 'process.exit(3)'", lint: "node -e 0" } }),
        "a.js": "function a() {}\n"
      }
      const listed = yield* auditOf(complexity.audit, files)
      assert.deepStrictEqual(places(listed), [])
      assert.deepStrictEqual(listed.facts["checks"], [
        { kind: "lint", command: "npm run lint", from: "package.json", ran: false },
        { kind: "tests", command: "npm run test", from: "package.json", ran: false }
      ])
      const ran = yield* auditOf((repository) => complexity.audit(repository, { runChecks: true }), files)
      assert.deepStrictEqual(places(ran), ["check-failed package.json:0"])
      assert.deepInclude(ran.facts["checks"], {
        kind: "tests",
        command: "npm run test",
        from: "package.json",
        ran: true,
        exitStatus: 3
      })
    })
  )

  it("measures nested functions apart, in every language that it reads", () => {
    const own = (path: string, text: string) => functionsOf(text, languageOf(path)!).map(({ name, own }) => [name, own])
    assert.deepStrictEqual(own("a.ts", "const a = () => {\n  function b() {\n    c()\n  }\n}\n"), [
      ["a", 2],
      ["b", 3]
    ])
    assert.deepStrictEqual(
      own("a.py", "class C:\n  def a(self):\n    def b():\n      pass\n    return b\n\n\nx = 1\n"),
      [
        ["a", 2],
        ["b", 2]
      ]
    )
    assert.deepStrictEqual(
      own(
        "b.ts",
        "class A<T> {\n  async m(x: { y: number }): Promise<void> {\n    if (x) {\n      f(() => {\n        g()\n      })\n    }\n  }\n}\nexport default function ({ a }) {\n}\nconst k = async ({ b }: P): Promise<Q> => {\n}\nconst o = { p: 1, q() {\n} }\n"
      ).map(([name]) => name),
      ["m", "a function", "a function", "k", "q"]
    )
    assert.deepStrictEqual(own("a.rs", "pub fn a() {\n  let x = '{';\n  b()\n}\n\nfn b() {}\n").slice(-1), [["b", 1]])
    assert.deepStrictEqual(own("A.java", "class A {\n  public int f(int x) {\n    return x;\n  }\n}\n"), [["f", 3]])
  })
})
