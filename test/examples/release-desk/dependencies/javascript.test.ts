import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { parseSync } from "oxc-parser"

import * as JavaScript from "../../../../examples/release-desk/dependencies/javascript.ts"

const shown = (text: string, path = "a.ts") =>
  JavaScript.scan(path, text).requested.map(
    ({ kind, line, optional, specifier }) => `${line} ${kind} ${specifier}${optional ? " optional" : ""}`
  )

describe("javascript", () => {
  describe("scan", () => {
    it.each([
      ['import a from "x"', ["1 import x"]],
      ['import "x"', ["1 import x"]],
      ["import {\n  a,\n  b as c\n} from 'x'", ["4 import x"]],
      ['import * as a from "x"; import b, { c } from "y"', ["1 import x", "1 import y"]],
      ['export { a } from "x"\nexport * from "y"\nexport * as z from "z"', ["1 import x", "2 import y", "3 import z"]],
      ['export { a as default, b } from "x"', ["1 import x"]],
      ['import type { A } from "x"', ["1 types x"]],
      ['import type A from "x"', ["1 types x"]],
      ['import type from "x"', ["1 import x"]],
      ['import type, { a } from "x"', ["1 import x"]],
      ['import from from "x"', ["1 import x"]],
      ['export type { A } from "x"', ["1 types x"]],
      ['import { type A, b } from "x"', ["1 import x"]],
      ['import { "a-b" as c } from "x"', ["1 import x"]],
      ['import j from "./x.json" with { type: "json" }', ["1 import ./x.json"]],
      ['const a = await import("x")', ["1 dynamic x"]],
      ['import(/* webpackChunkName: "c" */ `x`)', ["1 dynamic x"]],
      ["import(`./${name}.js`)", []],
      ['import("x/" + name)', []],
      ['const a = require("x"), b = require(\n"y")', ["1 require x", "2 require y"]],
      ['require.resolve("x"); import.meta.resolve("y")', ["1 require x", "1 require y"]],
      ['import a = require("x")', ["1 require x"]],
      ['object.require("x"); object.import("y")', []],
      ['try {\n  require("x")\n} catch {}\nrequire("y")', ["2 require x optional", "4 require y"]],
      ['// import "x"\n/* import "y" */\nimport "z"', ["3 import z"]],
      ['const s = "import \'x\'"; const t = `\nimport "y"\n`\nimport "z"', ["4 import z"]],
      ['const t = `a${`b${require("x")}`}c`; import "y"', ["1 require x", "1 import y"]],
      ['const r = /["\'`]/; import "x"', ["1 import x"]],
      ['const r = a / b; const q = c / d; import "x"', ["1 import x"]],
      ['export const from = "x"\nexport default from', []],
      ['const a = { import: 1, from: "x" }', []],
      ['"\\\n"; import "x"', ["2 import x"]],
      ['export default function () {}\nimport "x"', ["2 import x"]],
      ['import "\\x41"', []],
      ["#!/usr/bin/env node\r\nimport 'x'\r\n", ["2 import x"]],
      ["\uFEFFimport 'x'", ["1 import x"]],
      ["import", []],
      ["import {a", []],
      ["`", []],
      ["`${", []]
    ])("finds in %j: %j", (text, found) => {
      assert.deepStrictEqual(shown(text), found)
    })

    it("knows the modules that a file declares itself", () => {
      assert.deepStrictEqual(JavaScript.scan("a.d.ts", 'declare module "x" { export const a: 1 }').ambient, ["x"])
    })

    it("reads the scripts of single-file components and the head of Astro pages, at their lines", () => {
      const vue =
        '<template>\n<p>import "n"</p>\n</template>\n<script setup lang="ts">\nimport "x"\n</script>\n<script>\nimport "y"</script>'
      assert.deepStrictEqual(shown(vue, "A.vue"), ["5 import x", "8 import y"])
      assert.deepStrictEqual(shown('---\nimport "x"\n---\n<p>import "y"</p>', "a.astro"), ["2 import x"])
    })

    it.each([..."([{!<`'\"/", "a=>", "if(a)", "a?b:", "`${", "import(", "import{", "/*", "<a>", "try{", "/[", "\\"])(
      "comes through a megabyte of %j",
      (piece) => {
        const text = piece.repeat(Math.ceil(1_000_000 / piece.length))
        assert.isArray(JavaScript.scan("a.ts", text).requested)
      }
    )

    it.effect("finds what a parser finds in the sources of real packages", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        for (const folder of ["node_modules/effect/src", "node_modules/yaml/browser/dist", "node_modules/semver"]) {
          const names = yield* fs.readDirectory(folder)
          for (const name of names.filter((name) => /\.[cm]?[jt]s$/.test(name)).slice(0, 60)) {
            const text = yield* fs.readFileString(`${folder}/${name}`)
            const { module } = parseSync(name, text)
            const wanted = [
              ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
              ...module.staticExports.flatMap(({ entries }) => entries.map((entry) => entry.moduleRequest?.value))
            ]
            const found = JavaScript.scan(name, text).requested.filter(
              ({ kind }) => kind === "import" || kind === "types"
            )
            const specifiers = new Set(found.map(({ specifier }) => specifier))
            assert.deepStrictEqual(
              [...specifiers].toSorted(),
              [...new Set(wanted.filter((specifier) => specifier !== undefined))].toSorted(),
              `${folder}/${name}`
            )
          }
        }
      }).pipe(Effect.provide(NodeServices.layer))
    )
  })
})
