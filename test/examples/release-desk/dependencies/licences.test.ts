import { symlinkSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import * as Licences from "../../../../examples/release-desk/dependencies/licences.ts"
import * as Repository from "../../../../examples/release-desk/Repository.ts"
import { folder } from "../folder.ts"
import { audited, type Files, found, lines, written } from "./tree.ts"

const { audit } = Licences
const mit = "Permission is hereby granted, free of charge, to any person"
const own: Files = { LICENSE: mit }
const library = (more: object = {}) => ({ name: "l", version: "1.0.0", license: "MIT", ...more })
const installed = (name: string, licence: unknown, more: object = {}): Files => ({
  [`node_modules/${name}/package.json`]: {
    name,
    version: "1.0.0",
    ...(licence === undefined ? {} : { license: licence }),
    ...more
  }
})

describe("dependencies.licences", () => {
  describe("the project's own licence", () => {
    const manifest = { "package.json": library() }
    const table: ReadonlyArray<readonly [string, Files, ReadonlyArray<string>]> = [
      ["a licence file and a field that agree", { ...own, ...manifest }, []],
      ["an empty repository", {}, []],
      [
        "no file",
        manifest,
        ["medium no-licence-file :0 there is no LICENSE file: nobody else may use, change or pass on this project"]
      ],
      [
        "a private project without a file",
        { "package.json": { private: true } },
        ["info no-licence-file :0 there is no LICENSE file: nobody else may use, change or pass on this project"]
      ],
      [
        "no field",
        { ...own, "package.json": { name: "l", version: "1.0.0" } },
        [
          "low no-licence-field package.json:0 the manifest has no licence field: registries and tools will show this package as unlicensed"
        ]
      ],
      [
        "a field and a file that disagree",
        { ...own, "package.json": library({ license: "Apache-2.0" }) },
        ["medium licence-mismatch package.json:4 the manifest says Apache-2.0, LICENSE reads like MIT"]
      ],
      ["a choice of licences", { "LICENSE-MIT": mit, "LICENSE-APACHE": "Apache License Version 2.0", ...manifest }, []],
      ["the spelling LICENCE.md", { "LICENCE.md": mit, ...manifest }, []],
      ["Cargo's field", { ...own, "Cargo.toml": '[package]\nname = "a"\nlicense = "MIT"\n' }, []],
      ["Cargo's file", { ...own, "Cargo.toml": '[package]\nname = "a"\nlicense-file = "LICENSE"\n' }, []],
      ["Python's field", { ...own, "pyproject.toml": '[project]\nname = "p"\nlicense = { text = "MIT" }\n' }, []],
      [
        "Python's classifier",
        {
          ...own,
          "pyproject.toml": '[project]\nname = "p"\nclassifiers = ["License :: OSI Approved :: MIT License"]\n'
        },
        []
      ],
      [
        "Python without any",
        { ...own, "pyproject.toml": '[project]\nname = "p"\n' },
        [
          "low no-licence-field pyproject.toml:0 the manifest has no licence field: registries and tools will show this package as unlicensed"
        ]
      ],
      ["Go, which has no field", { ...own, "go.mod": "module m\n" }, []]
    ]
    it.effect.each(table)("is judged for %s", ([, files, expected]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* found(audit, files), expected)
      })
    )
  })

  describe("installed packages", () => {
    const judged = (more: object, packages: Files) =>
      audited(audit, { ...own, "package.json": library(more), ...packages })

    it.effect("are judged by what they ask of those who ship them", () =>
      Effect.gen(function* () {
        const names = ["agpl", "choice", "lgpl", "none", "odd", "old", "own", "ok"]
        const result = yield* judged(
          { dependencies: Object.fromEntries(names.map((name) => [name, "1.0.0"])) },
          {
            ...installed("agpl", "AGPL-3.0-only"),
            ...installed("choice", "(GPL-2.0 OR MIT)"),
            ...installed("lgpl", "LGPL-3.0"),
            ...installed("none", undefined),
            ...installed("odd", "Beerware-of-mine"),
            ...installed("old", undefined, { licenses: [{ type: "MIT" }, { type: "ISC" }] }),
            ...installed("own", undefined),
            "node_modules/own/LICENSE.txt": mit,
            ...installed("ok", "MIT")
          }
        )
        assert.deepStrictEqual(lines(result), [
          "medium licence-copyleft package.json:6 agpl@1.0.0 is under AGPL-3.0-only: what is shipped with it must be too",
          "info licence-weak-copyleft package.json:8 lgpl@1.0.0 is under LGPL-3.0: changes to it must be passed on",
          "medium licence-missing package.json:9 none@1.0.0 declares no licence and has no licence file",
          "low licence-unknown package.json:10 odd@1.0.0 is under Beerware-of-mine, which is no licence known here",
          "low licence-missing package.json:12 own@1.0.0 declares no licence; its licence file was not judged"
        ])
        assert.deepInclude(result.facts, { ownLicence: "MIT", packages: 8, production: 8, notRead: 0 })
      })
    )

    it.effect("may ask for more when only development uses them, or when the project asks the same", () =>
      Effect.gen(function* () {
        const gpl = installed("gpl", "GPL-3.0")
        assert.deepStrictEqual(lines(yield* judged({ devDependencies: { gpl: "1" } }, gpl)), [])
        const files = {
          LICENSE: "GNU GENERAL PUBLIC LICENSE",
          "package.json": library({ license: "GPL-3.0", dependencies: { gpl: "1" } })
        }
        assert.deepStrictEqual(yield* found(audit, { ...files, ...gpl }), [])
      })
    )

    it.effect("are followed through what they need, nested and hoisted, in circles too", () =>
      Effect.gen(function* () {
        const result = yield* judged(
          { dependencies: { a: "1" } },
          {
            ...installed("a", "MIT", { dependencies: { b: "1", hoisted: "1" } }),
            "node_modules/a/node_modules/b/package.json": {
              name: "b",
              version: "2.0.0",
              license: "GPL-3.0",
              dependencies: { a: "1" }
            },
            ...installed("hoisted", "SSPL-1.0")
          }
        )
        assert.deepStrictEqual(lines(result), [
          "medium licence-copyleft package.json:6 b@2.0.0 (needed by a) is under GPL-3.0: what is shipped with it must be too",
          "medium licence-copyleft package.json:6 hoisted@1.0.0 (needed by a) is under SSPL-1.0: what is shipped with it must be too"
        ])
      })
    )

    it.effect("are read through pnpm's links, and not through links out of the repository", () =>
      Effect.gen(function* () {
        const store = "node_modules/.pnpm/a@1.0.0/node_modules"
        const outside = yield* folder({ "package.json": '{ "name": "out", "license": "GPL-3.0" }' })
        const root = yield* folder(
          written({
            ...own,
            "package.json": library({ dependencies: { a: "1", out: "1" } }),
            [`${store}/a/package.json`]: { name: "a", version: "1.0.0", license: "MIT", dependencies: { b: "1" } },
            [`${store}/b/package.json`]: { name: "b", version: "1.0.0", license: "GPL-3.0" }
          })
        )
        yield* Effect.sync(() => {
          symlinkSync(join(root, store, "a"), join(root, "node_modules/a"))
          symlinkSync(outside, join(root, "node_modules/out"))
        })
        const result = yield* Effect.flatMap(Repository.open(root), (repository) => audit(repository))
        assert.deepStrictEqual(lines(result), [
          "medium licence-copyleft package.json:6 b@1.0.0 (needed by a) is under GPL-3.0: what is shipped with it must be too",
          "info licences-not-read package.json:0 not installed and without a licence in a lockfile, so not looked up: out"
        ])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )

    it.effect("never leave node_modules by their name, and may be broken", () =>
      Effect.gen(function* () {
        const dependencies = { "../../secret": "1", "..": "1", "/etc": "1", __proto__x: "1", broken: "1", binary: "1" }
        const result = yield* judged(
          { dependencies },
          { "node_modules/broken/package.json": "{", "node_modules/binary/package.json": new Uint8Array([0, 0]) }
        )
        assert.match(lines(result).join("\n"), /^info licences-not-read/)
      })
    )
  })

  describe("what is not installed", () => {
    it.effect("is read from the lockfile", () =>
      Effect.gen(function* () {
        const files = {
          ...own,
          "package.json": library({ dependencies: { a: "1.0.0" } }),
          "package-lock.json": {
            lockfileVersion: 3,
            packages: {
              "": { dependencies: { a: "1.0.0" } },
              "node_modules/a": { version: "1.0.0", license: "GPL-3.0" },
              "node_modules/b": { version: "1.0.0", license: "GPL-3.0", dev: true }
            }
          }
        }
        const result = yield* audited(audit, files)
        assert.deepStrictEqual(lines(result), [
          "medium licence-copyleft package-lock.json:9 a@1.0.0 is under GPL-3.0: what is shipped with it must be too"
        ])
        assert.deepInclude(result.facts, { packages: 2, production: 1 })
      })
    )

    it.effect("is said not to have been looked up, for npm, Cargo, Go and Python", () =>
      Effect.gen(function* () {
        const files = {
          ...own,
          "package.json": library({ dependencies: { a: "1", b: "1" } }),
          "Cargo.toml": '[package]\nname = "a"\nlicense = "MIT"\n[dependencies]\nserde = "1"\n',
          "go.mod": "module m\nrequire example.org/a v1.0.0\n",
          "requirements.txt": "requests==2.0\n"
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "info licences-not-read Cargo.toml:0 the licences of Cargo dependencies were not looked up: they are not in this repository",
          "info licences-not-read go.mod:0 the licences of Go dependencies were not looked up: they are not in this repository",
          "info licences-not-read requirements.txt:0 the licences of Python dependencies were not looked up: they are not in this repository",
          "info licences-not-read package.json:0 not installed and without a licence in a lockfile, so not looked up: a, b"
        ])
      })
    )
  })
})
