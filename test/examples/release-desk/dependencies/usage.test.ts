import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { goImports } from "../../../../examples/release-desk/dependencies/usage-compiled.ts"
import { packageOf } from "../../../../examples/release-desk/dependencies/usage-npm.ts"
import * as Python from "../../../../examples/release-desk/dependencies/usage-python.ts"
import * as Usage from "../../../../examples/release-desk/dependencies/usage.ts"
import { audited, type Files, found } from "./tree.ts"

const { audit } = Usage

describe("dependencies.usage", () => {
  describe("npm", () => {
    const library = (more: object) => ({ name: "own", version: "1.0.0", ...more })
    const table: ReadonlyArray<readonly [string, Files, ReadonlyArray<string>]> = [
      [
        "imports of declared packages, of built-in modules, of files and of itself are fine",
        {
          "package.json": library({ dependencies: { a: "1", "@s/b": "1" }, imports: { "#x": "./x.js" } }),
          "src/a.ts":
            'import "a/sub"\nimport "@s/b/sub"\nimport "node:fs"\nimport "fs/promises"\nimport "./b"\nimport "own/x"\nimport "#x"\nimport "virtual:x"\nimport "https://example.org/x.js"\n'
        },
        []
      ],
      [
        "an undeclared package of shipped code weighs more than one of tests, types and dynamic imports",
        {
          "package.json": library({}),
          "src/a.ts": 'import "x"\nimport type { Y } from "y"\nawait import("z")\n',
          "src/b.js": 'require("x")\n',
          "test/a.test.ts": 'import "t"\n'
        },
        [
          "medium undeclared-dependency src/a.ts:1 x is not declared in package.json; it is imported here (and in 1 more places)",
          "low undeclared-dependency src/a.ts:2 y is not declared in package.json; its types are imported here",
          "low undeclared-dependency src/a.ts:3 z is not declared in package.json; it is imported here",
          "low undeclared-dependency test/a.test.ts:1 t is not declared in package.json; it is imported here"
        ]
      ],
      [
        "what is in a try, in data of tests, or declared as a module is not missed",
        {
          "package.json": library({}),
          "a.js": 'try { require("x") } catch {}\n',
          "test/fixtures/b.js": 'import "y"\n',
          "c.d.ts": 'declare module "z" {}\n',
          "c.ts": 'import "z"\n'
        },
        []
      ],
      [
        "types come from @types packages",
        {
          "package.json": library({ devDependencies: { "@types/x": "1", "@types/s__y": "1", "@types/node": "1" } }),
          "a.ts": 'import type { A } from "x"\nimport type { B } from "@s/y"\n'
        },
        []
      ],
      [
        "aliases of tsconfig, of a base URL, of a bundler and of a source folder are no packages",
        {
          "package.json": library({ devDependencies: { vite: "1" } }),
          "tsconfig.json":
            '{ // comment\n "compilerOptions": { "baseUrl": "./app", "paths": { "lib/*": ["./l/*"], "exact": ["./e"], }, }, }',
          "vite.config.ts": 'import "vite"\nexport default { resolve: { alias: { bundled: "./b" } } }\n',
          "app/components/x.ts": "export {}\n",
          "src/shared/y.ts": "export {}\n",
          "a.ts":
            'import "lib/a"\nimport "exact"\nimport "components/x"\nimport "bundled/x"\nimport "shared/y"\nimport "@/x"\nimport "~/x"\n'
        },
        []
      ],
      [
        "a declared package that nothing uses is found at its line",
        {
          "package.json": library({ dependencies: { a: "1", b: "1" }, devDependencies: { c: "1" } }),
          "a.ts": 'import "a"\n'
        },
        [
          "low unused-dependency package.json:6 b is declared, and nothing imports or names it (heuristic; it is not installed here, so its commands are a guess)",
          "info unused-dependency package.json:9 c is declared, and nothing imports or names it (heuristic; it is not installed here, so its commands are a guess)"
        ]
      ],
      [
        "scripts, configuration, plugins by their short names, peers and peers of others count as uses",
        {
          "package.json": library({
            scripts: { build: "tsc && odd-command --x", lint: "eslint ." },
            prettier: "prettier-shared",
            devDependencies: Object.fromEntries(
              "typescript odd eslint eslint-plugin-vue @s/eslint-config prettier-shared quoted host config-only peered"
                .split(" ")
                .map((name) => [name, "1"])
            ),
            peerDependencies: { peered: "1" }
          }),
          ".eslintrc.json": { extends: ["@s"], plugins: ["vue"] },
          "ci.yml": "run: config-only --fix\n",
          "a.ts": 'load("quoted")\n',
          "node_modules/odd/package.json": {
            name: "odd",
            bin: { "odd-command": "x.js" },
            peerDependencies: { host: "1" }
          }
        },
        []
      ],
      [
        "a workspace's root lends its packages, and members use what the root declares",
        {
          "package.json": { private: true, workspaces: ["packages/*"], dependencies: { shared: "1" } },
          "packages/a/package.json": { name: "a", version: "1.0.0" },
          "packages/a/src/x.ts": 'import "shared"\nimport "b"\nimport "gone"\n',
          "packages/b/package.json": { name: "b", version: "1.0.0" }
        },
        [
          "low undeclared-dependency packages/a/src/x.ts:2 b is a package of this repository; it is imported here, but packages/a/package.json does not declare it",
          "medium undeclared-dependency packages/a/src/x.ts:3 gone is not declared in packages/a/package.json; it is imported here"
        ]
      ],
      [
        "published code that imports a development dependency is found, unless a bundler takes it along",
        {
          "package.json": library({ devDependencies: { a: "1" }, files: ["src"] }),
          "src/a.ts": 'import type { X } from "a"\nimport "a"\n',
          "scripts/b.ts": 'import "a"\n',
          "bundled/package.json": library({
            name: "bundled",
            devDependencies: { a: "1", tsup: "1" },
            scripts: { b: "tsup" }
          }),
          "bundled/src/a.ts": 'import "a"\n'
        },
        [
          "medium development-dependency-shipped src/a.ts:2 a is only a development dependency; code that is published imports it here (heuristic)"
        ]
      ],
      [
        "components and pages are read too",
        {
          "package.json": library({ dependencies: { a: "1" } }),
          "a.vue": '<template/>\n<script>\nimport "a"\nimport "b"\n</script>\n'
        },
        ["medium undeclared-dependency a.vue:4 b is not declared in package.json; it is imported here"]
      ],
      ["a project without code is not judged", { "package.json": library({ dependencies: { a: "1" } }) }, []],
      ["code without a manifest is not judged", { "a.ts": 'import "x"\n' }, []],
      ["a broken manifest is left to the other audit", { "package.json": "{", "a.ts": 'import "x"\n' }, []],
      [
        "names like __proto__ are names",
        {
          "package.json": '{ "dependencies": { "__proto__": "1" } }',
          "a.js": 'import "constructor"\nimport "__proto__"\n'
        },
        ["medium undeclared-dependency a.js:1 constructor is not declared in package.json; it is imported here"]
      ]
    ]
    it.effect.each(table)("%s", ([, files, expected]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* found(audit, files), expected)
      })
    )

    it.effect("shortens a long list and says how long it was", () =>
      Effect.gen(function* () {
        const text = Array.from({ length: 50 }, (_, at) => `import "x${at}"\n`).join("")
        const all = yield* found(audit, { "package.json": {}, "a.ts": text })
        assert.lengthOf(all, 21)
        assert.include(all.at(-1), "and 30 more of the rule undeclared-dependency, 50 in all")
      })
    )

    it.effect("comes through files that no parser would survive", () =>
      Effect.gen(function* () {
        const files = {
          "package.json": { dependencies: { a: "1" } },
          "tsconfig.json": "{".repeat(100_000),
          "a.ts": `import "a"\n${"(".repeat(500_000)}`,
          "b.ts": new Uint8Array([0, 1, 2]),
          "c.json": `${"[".repeat(200_000)}`,
          "d.js": `"${"a".repeat(1_000_000)}`,
          "e.vue": "<script".repeat(50_000)
        }
        assert.deepInclude((yield* audited(audit, files)).facts, { undeclared: 0, unused: 0 })
      })
    )
  })

  describe("packageOf", () => {
    it.each([
      ["a", "a"],
      ["a/b/c", "a"],
      ["@s/a/b", "@s/a"],
      ["a?raw", "a"],
      ["Upper.Case", "Upper.Case"],
      ["fs", undefined],
      ["fs/promises", undefined],
      ["node:fs", undefined],
      ["punycode/", "punycode"],
      ["process/browser", "process"],
      ["./a", undefined],
      ["../a", undefined],
      ["/a", undefined],
      ["#a", undefined],
      ["@/a", undefined],
      ["~/a", undefined],
      ["", undefined],
      ["a:b", undefined],
      ["a".repeat(300), undefined]
    ])("takes %j for %s", (specifier, name) => {
      assert.strictEqual(packageOf(specifier), name)
    })
  })

  describe("Python", () => {
    const project = (dependencies: ReadonlyArray<string>, more = "") =>
      `[project]\nname = "own"\nversion = "1"\ndependencies = ${JSON.stringify(dependencies)}\n${more}`

    const table: ReadonlyArray<readonly [string, Files, ReadonlyArray<string>]> = [
      [
        "packages are found under the names they are imported by",
        {
          "pyproject.toml": project([
            "PyYAML",
            "beautifulsoup4>=4",
            "google-cloud-storage",
            "python-dateutil",
            "zope.interface",
            "click"
          ]),
          "own/a.py":
            "import yaml, os\nfrom bs4 import x\nfrom google.cloud import storage\nimport dateutil.parser\nimport zope.interface\nfrom . import b\nimport own.c\nfrom click import (\n  a\n)\n",
          "own/c.py": ""
        },
        []
      ],
      [
        "what is not declared and what is not used is found, as a guess",
        {
          "pyproject.toml": project(["requests", "leftover"]),
          "own/a.py": '"""\nimport docstring\n"""\nimport requests\nimport numpy as np  # x\nimport numpy.linalg\n'
        },
        [
          "medium undeclared-dependency own/a.py:5 numpy is imported here, and no declared package seems to provide it (heuristic: names can differ)",
          "low unused-dependency pyproject.toml:4 leftover is declared, and nothing imports it (heuristic: it may be imported under another name)"
        ]
      ],
      [
        "what is in a try or an if, in scripts and in docs is not missed",
        {
          "pyproject.toml": project(["requests"]),
          "own/a.py":
            "import requests\ntry:\n    import ujson\nexcept ImportError:\n    import simplejson\nif TYPE_CHECKING:\n    import typeshed_only\n",
          "docs/conf.py": "import sphinx_theme\n",
          "setup.py": "import builder\n"
        },
        []
      ],
      [
        "tests may use the development dependencies, other code may not",
        {
          "pyproject.toml": project(["requests"], '[dependency-groups]\ndev = ["pytest", "respx"]\n'),
          "own/a.py": "import requests\nimport respx\n",
          "tests/test_a.py": "import pytest, respx\nimport hypothesis\n"
        },
        [
          "low development-dependency-shipped own/a.py:2 respx is only a development dependency; code outside the tests imports it here (heuristic)",
          "low undeclared-dependency tests/test_a.py:2 hypothesis is imported here, and no declared package seems to provide it (heuristic: names can differ)"
        ]
      ],
      [
        "nothing is called undeclared where dependencies are computed",
        { "pyproject.toml": '[project]\nname = "own"\ndynamic = ["dependencies"]\n', "own/a.py": "import numpy\n" },
        []
      ],
      [
        "requirements beside a manifest belong to it",
        {
          "pyproject.toml": project([]),
          "requirements/base.txt": "numpy>=1\n",
          "requirements-dev.txt": "pytest\n",
          "own/a.py": "import numpy\n",
          "tests/test_a.py": "import pytest\n"
        },
        []
      ],
      [
        "a package that is only named in a configuration is used",
        { "pyproject.toml": project(["djangorestframework"]), "own/a.py": 'APPS = ["rest_framework"]\nimport os\n' },
        []
      ]
    ]
    it.effect.each(table)("%s", ([, files, expected]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* found(audit, files), expected)
      })
    )

    it.each([
      ["import a", ["1 a"]],
      ["import a.b as c, d", ["1 a.b", "1 d"]],
      ["from a.b import c", ["1 a.b"]],
      ["from . import a\nfrom .b import c", []],
      ["x = 1; import a", ["1 a"]],
      ["'''\nimport a\n'''\nimport b", ["4 b"]],
      ["x = 'import a'  # import b", []],
      ["try:\n    import a\nfinally:\n    pass\nimport b", ["2 a optional", "5 b"]],
      ["def f():\n\timport a", ["2 a"]],
      ["'unclosed\nimport a", ["2 a"]],
      ['"""unclosed\nimport a', []]
    ])("scans %j for %j", (text, imports) => {
      assert.deepStrictEqual(
        Python.scan(text).map(({ line, module, optional }) => `${line} ${module}${optional ? " optional" : ""}`),
        imports
      )
    })

    it.each(["'", '"', "'''", "#", "\\", "import ", "try:\n ", "from a import ", ";", "(", "import a,"])(
      "scans a megabyte of %j",
      (piece) => {
        assert.isArray(Python.scan(piece.repeat(Math.ceil(1_000_000 / piece.length))))
      }
    )
  })

  describe("Go", () => {
    it.effect("compares what is required with what is imported", () =>
      Effect.gen(function* () {
        const files = {
          "go.mod": `module example.org/m

require (
\texample.org/used v1.0.0
\texample.org/used/v2 v2.0.0
\texample.org/unused v1.0.0
\texample.org/marked v1.0.0 // indirect
\texample.org/deep v1.0.0 // indirect
\texample.org/tool v1.0.0
)

tool example.org/tool/cmd/x
`,
          "a.go": `// Package a.
package a

import (
\t"fmt"
\t"example.org/m/inner"
\talias "example.org/used/sub"
\t_ "example.org/used/v2"
\t"example.org/marked"
\t"example.org/missing/sub" // why
)

var s = "import"
`,
          "b_windows.go": 'package a\n\nimport "example.org/missing/sub/more"\n',
          "testdata/c.go": 'package c\nimport "example.org/data"\n'
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "low unused-dependency go.mod:6 example.org/unused is required directly, and no file imports it: go mod tidy would drop or mark it",
          "info indirect-mark go.mod:7 example.org/marked is marked indirect, and is imported: go mod tidy would take the mark away",
          "medium undeclared-dependency a.go:10 example.org/missing/sub is imported here, and no required module provides it"
        ])
      })
    )

    it.each([
      ['import "a"\nimport b "c"', ["a", "c"]],
      ['import ("a")\nfunc f() {}', ["a"]],
      ['/* import "x"\n*/\nimport (\n\t// "y"\n\t"a"\n)', ["a"]],
      ["import `a`", ["a"]],
      ['func f() {}\nimport "late"', []],
      ["import (", []]
    ])("reads the imports of %j", (text, paths) => {
      assert.deepStrictEqual(
        goImports(text).map(({ path }) => path),
        paths
      )
    })
  })

  describe("Cargo", () => {
    it.effect("finds crates that no file names, under their renamed and hyphenated names", () =>
      Effect.gen(function* () {
        const files = {
          "Cargo.toml": `[package]
name = "a"
[features]
extra = ["dep:by-feature"]
[dependencies]
serde-json = "1"
renamed = { package = "real", version = "1" }
unused = "1"
by-feature = { version = "1", optional = true }
openssl-sys = "0.9"
[dev-dependencies]
dev-unused = "1"
`,
          "src/lib.rs": "use serde_json::Value;\nfn f() { renamed::g() }\n"
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "low unused-dependency Cargo.toml:8 unused is declared, and no Rust file of this crate names it (heuristic: macros may)",
          "info unused-dependency Cargo.toml:12 dev-unused is a development dependency, and no Rust file of this crate names it (heuristic: macros may)"
        ])
      })
    )
  })
})
