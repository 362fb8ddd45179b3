/** Real time: the audits read files; nothing here waits for a clock. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import * as changelog from "../../../../examples/release-desk/docs/changelog.ts"
import * as exported from "../../../../examples/release-desk/docs/exports.ts"
import * as links from "../../../../examples/release-desk/docs/links.ts"
import { parse } from "../../../../examples/release-desk/docs/markdown.ts"
import * as readme from "../../../../examples/release-desk/docs/readme.ts"
import { auditOf, places } from "../folder.ts"

const messages = (audit: { readonly findings: ReadonlyArray<{ readonly message: string }> }) =>
  audit.findings.map(({ message }) => message)

describe("markdown", () => {
  it.each([
    ">".repeat(200_000),
    "[".repeat(200_000),
    "*".repeat(100_000),
    `${" ".repeat(50_000)}- x`,
    "`".repeat(50_000),
    "a\n=\n".repeat(30_000)
  ])("is parsed or refused, and never overflows (%#)", (text) => {
    const document = parse(text)
    assert.isTrue(typeof document === "string" || document.headings.length === 0)
  })
})

describe("docs.readme", () => {
  it.effect("finds what is missing in a README, and commands that name no script", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(readme.audit, {
        "README.md": "# x\n\n```\nplain\n```\n\n```sh\nnpm ci && npm run nothing\nnpm test\n$ npm run build\n```\n",
        "package.json": JSON.stringify({ scripts: { build: "x" } })
      })
      assert.deepStrictEqual(places(made).toSorted(), [
        "code-block-without-language README.md:3",
        "no-install-section README.md:0",
        "no-licence-section README.md:0",
        "no-usage-section README.md:0",
        "unknown-script README.md:8",
        "unknown-script README.md:9"
      ])
    })
  )

  it.effect.each([
    [{}, ["missing-readme :0"]],
    [{ "README.md": " \n" }, ["empty-readme README.md:0"]],
    [{ "README.md": new Uint8Array([0, 1, 2, 0]) }, ["unreadable-readme README.md:0"]],
    [{ "readme.txt": "hello" }, []]
  ] as ReadonlyArray<readonly [Record<string, string | Uint8Array>, ReadonlyArray<string>]>)(
    "has a word for a README that is no README (%#)",
    ([files, expected]) =>
      Effect.map(auditOf(readme.audit, files), (made) => assert.deepStrictEqual(places(made), expected))
  )
})

describe("docs.links", () => {
  it.effect("finds dead links, images and anchors, and leaves the living alone", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(links.audit, {
        "README.md": [
          "# Top",
          "## A *fine* title!",
          '<a id="own"></a>',
          "[a](#a-fine-title) [b](#own) [c](#nothing) [d](docs/guide.md#part-1) [e](docs/guide.md#part-2)",
          "[f](docs) [g](docs/missing.md) [h](Docs/Guide.md) [i](../outside.md) [j](https://example.org/x) [k](mailto:a@b.c)",
          "![l](pic.png) ![m](no.png) [n][ref] [o](docs/my%20file.md) [p](src/a.ts#L2) [q](src/a.ts#L9)",
          "",
          "[ref]: docs/none.md",
          "",
          '<a href="docs/void.md">r</a> <img src="pic.png">',
          "",
          "`[s](code.md)` {{ [t](template) }}",
          "",
          "```md",
          "[u](fenced.md)",
          "```"
        ].join("\n"),
        "docs/guide.md": "# Guide\n## Part\n## Part\n[up](../README.md) [root](/README.md)\n",
        "docs/my file.md": "x\n",
        "pic.png": new Uint8Array([1, 2, 3]),
        "src/a.ts": "1\n2\n"
      })
      assert.deepStrictEqual(
        messages(made).map((message) => message.split(" ", 1)[0]),
        [
          "#nothing",
          "docs/guide.md#part-2",
          "docs/missing.md",
          "Docs/Guide.md",
          "../outside.md",
          "no.png",
          "src/a.ts#L9",
          "docs/none.md",
          "docs/void.md",
          "template"
        ]
      )
      assert.include(messages(made)[3], "docs/guide.md")
    })
  )

  it.effect("follows a site's links as the site does, and is not sure of the rest", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(links.audit, {
        "docs/.vitepress/config.ts": "export default {}\n",
        "docs/index.md":
          "[a](/guide/) [b](/guide/start) [c](/guide/start.html#own) [d](/logo.svg) [e](/team) [f](./guide/start#no)\n",
        "docs/guide/index.md": "# Guide\n",
        "docs/guide/start.md": "# Start {#own}\n",
        "docs/public/logo.svg": "<svg/>"
      })
      assert.deepStrictEqual(
        made.findings.map(({ message, rule, severity }) => [rule, severity, message.split(" ", 1)[0]]),
        [
          ["unknown-page", "info", "/team"],
          ["dead-anchor", "medium", "./guide/start#no"]
        ]
      )
    })
  )

  it.effect("says which Markdown files it could not read", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(links.audit, {
        "binary.md": new Uint8Array([0, 255, 0, 1]),
        "deep.md": ">".repeat(10_000),
        "fine.md": "[x](binary.md)\n"
      })
      assert.deepStrictEqual(places(made), ["unreadable-markdown binary.md:0", "unparsed-markdown deep.md:0"])
    })
  )
})

describe("docs.changelog", () => {
  const tags = {
    ".git/HEAD": "ref: refs/heads/main\n",
    ".git/packed-refs": `# pack-refs\n${"a".repeat(40)} refs/tags/v1.0.0\n${"b".repeat(40)} refs/tags/v1.1.0\n${"c".repeat(40)} refs/tags/nightly\n`,
    ".git/refs/tags/v1.2.0": `${"d".repeat(40)}\n`
  }

  it.effect("names releases without an entry, and a version without one", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(changelog.audit, {
        ...tags,
        "CHANGELOG.md": "# Changelog\n\n## [1.1.0] - 2026-01-01\n\n## v1.0.0\n",
        "package.json": JSON.stringify({ version: "1.3.0" })
      })
      assert.deepStrictEqual(places(made), [
        "undocumented-release CHANGELOG.md:0",
        "version-without-entry CHANGELOG.md:0"
      ])
      assert.include(messages(made)[0], "v1.2.0")
      assert.strictEqual(made.facts["tags"], 3)
    })
  )

  it.effect("asks for no entry of what is not released", () =>
    Effect.map(
      auditOf(changelog.audit, {
        "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n",
        "package.json": JSON.stringify({ version: "0.1.0" })
      }),
      (made) => assert.deepStrictEqual(places(made), [])
    )
  )

  it.effect("minds a missing changelog more when there were releases", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* auditOf(changelog.audit, { ...tags, "a.ts": "" })).findings[0]?.severity, "low")
      assert.strictEqual((yield* auditOf(changelog.audit, { "a.ts": "" })).findings[0]?.severity, "info")
      assert.deepStrictEqual((yield* auditOf(changelog.audit, {})).findings, [])
    })
  )
})

describe("docs.exports", () => {
  it.effect("follows entry points and re-exports of a package, through dist to src", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(exported.audit, {
        "package.json": JSON.stringify({
          exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" } }
        }),
        "src/index.ts": 'export * as A from "./a.ts"\nexport { b as c } from "./sub/b.ts"\n',
        "src/a.ts":
          "/** Fine. */\nexport const one = 1\n\nexport const two = 2\n\n// not a doc comment\nexport function three() {}\n",
        "src/sub/b.ts":
          "/** Fine. */\nexport function b(x: string): void\nexport function b(x: number): void\nexport function b() {}\nexport const hidden = 1\n",
        "src/internal/x.ts": "export const secret = 1\n"
      })
      assert.deepStrictEqual(places(made), ["undocumented-export src/a.ts:4", "undocumented-export src/a.ts:7"])
      assert.deepInclude(made.facts, { exports: 4, documented: 2 })
    })
  )

  it.effect("reads Python, Go and Rust by line, and says so", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(exported.audit, {
        "pkg/a.py": 'def one(\n    x,\n):\n    """Fine."""\n\n\ndef two():\n    pass\n\n\ndef _three():\n    pass\n',
        "pkg/b.go": "package b\n\n// One is fine.\nfunc One() {}\n\nfunc Two() {}\n\nfunc three() {}\n",
        "src/lib.rs": "/// Fine.\n#[derive(Debug)]\npub struct One;\n\npub fn two() {}\n\nfn three() {}\n",
        "tests/test_c.py": "def test_x():\n    pass\n"
      })
      assert.deepStrictEqual(places(made), [
        "undocumented-export pkg/a.py:7",
        "undocumented-export pkg/b.go:6",
        "undocumented-export src/lib.rs:5"
      ])
      assert.isTrue(messages(made).every((message) => message.includes("not by a parser")))
    })
  )

  it.effect("asks nothing of programs, which show nothing to others", () =>
    Effect.gen(function* () {
      const made = yield* auditOf(exported.audit, {
        "Cargo.toml": '[package]\nname = "x"\n',
        "src/main.rs": "pub fn a() {}\n",
        "src/cli.rs": "pub fn b() {}\n",
        "main.go": "package main\n\nfunc C() {}\n"
      })
      assert.deepStrictEqual(places(made), [])
    })
  )

  it.effect("survives manifests and modules that are broken", () =>
    Effect.gen(function* () {
      for (const manifest of [
        "{",
        "[]",
        "null",
        '{"exports": 3}',
        '{"exports": {"__proto__": "./a.js"}}',
        '{"main": "./gone.js"}'
      ]) {
        yield* auditOf(exported.audit, { "package.json": manifest, "a.js": "export const (" })
      }
      const made = yield* auditOf(exported.audit, { "package.json": '{"main":"a.js"}', "a.js": new Uint8Array([0]) })
      assert.deepStrictEqual(places(made), ["unread-module a.js:0"])
    })
  )
})
