import { truncateSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Failure } from "espalier"

import * as Lockfile from "../../../../examples/release-desk/dependencies/lockfile.ts"
import { Audit } from "../../../../examples/release-desk/Finding.ts"
import * as Repository from "../../../../examples/release-desk/Repository.ts"
import { folder } from "../folder.ts"
import { audited, type Files, found, lines } from "./tree.ts"

const audit = Lockfile.audit
const app = (dependencies: object, more: object = {}) => ({ private: true, dependencies, ...more })

const npmLock = (root: object, packages: object = {}) => ({
  name: "app",
  lockfileVersion: 3,
  packages: { "": root, ...packages }
})

const locked = (version: string, more: object = {}) => ({ version, ...more })

const without = (rule: string, all: ReadonlyArray<string>) => all.filter((line) => !line.includes(` ${rule} `))

describe("dependencies.lockfile", () => {
  describe("npm", () => {
    it.effect("says nothing about a manifest and a lockfile that fit", () =>
      Effect.gen(function* () {
        const manifest = app({ a: "^1.0.0", "@s/b": "~2.1.0" }, { devDependencies: { c: "3.0.0" } })
        const files = {
          "package.json": manifest,
          "package-lock.json": npmLock(manifest, {
            "node_modules/a": locked("1.2.0"),
            "node_modules/@s/b": locked("2.1.9"),
            "node_modules/c": locked("3.0.0", { dev: true })
          })
        }
        const result = yield* audited(audit, files)
        assert.deepStrictEqual(lines(result), [])
        assert.deepInclude(result.facts, { manifests: 1, lockfiles: 1, directDependencies: 3, lockedPackages: 3 })
      })
    )

    it.effect("finds a dependency that the lockfile lacks, at its line in the manifest", () =>
      Effect.gen(function* () {
        const files = {
          "package.json": app({ a: "^1.0.0", b: "^1.0.0" }),
          "package-lock.json": npmLock(app({ a: "^1.0.0" }), { "node_modules/a": locked("1.0.0") })
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step package.json:5 b is not in package-lock.json"
        ])
      })
    )

    it.effect("finds a locked version that the manifest refuses, and a range the lockfile was not made for", () =>
      Effect.gen(function* () {
        const files = {
          "package.json": app({ a: "^2.0.0", b: "^1.1.0" }),
          "package-lock.json": npmLock(app({ a: "^1.0.0", b: "^1.0.0" }), {
            "node_modules/a": locked("1.0.0"),
            "node_modules/b": locked("1.5.0")
          })
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step package.json:4 a is locked at 1.0.0 in package-lock.json, which ^2.0.0 does not accept",
          "low lockfile-out-of-step package.json:5 package-lock.json was made for b ^1.0.0, the manifest says ^1.1.0"
        ])
      })
    )

    it.effect("reads lockfiles of version 1", () =>
      Effect.gen(function* () {
        const dependencies = {
          a: { version: "1.0.0", dependencies: { b: { version: "2.0.0" } } },
          b: { version: "1.0.0" }
        }
        const files = {
          "package.json": app({ a: "^2.0.0", b: "1.0.0" }),
          "package-lock.json": { lockfileVersion: 1, dependencies }
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step package.json:4 a is locked at 1.0.0 in package-lock.json, which ^2.0.0 does not accept",
          "info duplicate-package package-lock.json:0 b is locked at 2 versions: 1.0.0, 2.0.0"
        ])
      })
    )

    it.effect("leaves aliases, overrides, links, peers and tags alone", () =>
      Effect.gen(function* () {
        const manifest = app(
          { a: "npm:real@^1.0.0", forced: "^1.0.0", linked: "file:./linked", tagged: "next" },
          { overrides: { forced: "2.0.0" }, peerDependencies: { host: ">=1" } }
        )
        const files = {
          "package.json": manifest,
          "package-lock.json": npmLock(manifest, {
            "node_modules/a": locked("1.0.0", { name: "real" }),
            "node_modules/forced": locked("2.0.0"),
            "node_modules/linked": { link: true, resolved: "linked" },
            "node_modules/tagged": locked("5.0.0-beta.1")
          })
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "low unpinned-dependency package.json:7 tagged (next) accepts whatever is tagged next"
        ])
      })
    )

    it.effect("finds the packages of a workspace in the lockfile at its root", () =>
      Effect.gen(function* () {
        const member = { name: "m", version: "1.0.0", dependencies: { a: "^1.0.0", gone: "^1.0.0" } }
        const files = {
          "package.json": app({}, { workspaces: ["packages/*", "!packages/out"] }),
          "packages/m/package.json": member,
          "packages/out/package.json": { name: "out", private: true, dependencies: { a: "^1.0.0" } },
          "package-lock.json": npmLock(app({}), {
            "packages/m": member,
            "node_modules/m": { link: true },
            "node_modules/a": locked("1.0.0")
          })
        }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step packages/m/package.json:6 gone is not in package-lock.json",
          "low no-lockfile packages/out/package.json:0 one dependency and no lockfile (package-lock.json, yarn.lock or pnpm-lock.yaml): two installs can give different versions"
        ])
      })
    )

    it.effect("treats a missing lockfile of an application and of a library differently", () =>
      Effect.gen(function* () {
        const library = { name: "l", version: "1.0.0", dependencies: { a: "^1.0.0" } }
        assert.match((yield* found(audit, { "package.json": app({ a: "^1.0.0" }) })).join(), /^medium no-lockfile /)
        assert.match((yield* found(audit, { "package.json": library })).join(), /^info no-lockfile /)
        assert.deepStrictEqual(yield* found(audit, { "package.json": app({}) }), [])
      })
    )

    it.effect("finds what may change under the same manifest", () =>
      Effect.gen(function* () {
        const manifest = {
          name: "l",
          version: "1.0.0",
          dependencies: {
            any: "*",
            empty: "",
            tag: "latest",
            open: ">=1.0.0",
            git: "github:a/b",
            branch: "git+https://example.org/a.git#main",
            commit: "a/b#0123456789abcdef0123456789abcdef01234567",
            tarball: "https://example.org/a.tgz",
            out: "file:../../elsewhere",
            inside: "file:./vendor/a",
            good: "^1.0.0"
          },
          devDependencies: { dev: "*", devOpen: ">=1" },
          peerDependencies: { peer: "*" }
        }
        assert.deepStrictEqual(yield* found(audit, { "package.json": manifest }, "unpinned-dependency"), [
          "medium unpinned-dependency package.json:5 any (*) accepts any version",
          "medium unpinned-dependency package.json:6 empty accepts any version",
          "medium unpinned-dependency package.json:7 tag (latest) accepts whatever is tagged latest",
          "low unpinned-dependency package.json:8 open (>=1.0.0) accepts any later version, majors included",
          "medium unpinned-dependency package.json:9 git (github:a/b) accepts the default branch of a git repository, no commit",
          "medium unpinned-dependency package.json:10 branch (git+https://example.org/a.git#main) accepts the git reference main, which can move; no commit",
          "medium unpinned-dependency package.json:12 tarball (https://example.org/a.tgz) accepts a URL whose content can change; the manifest has no hash",
          "medium unpinned-dependency package.json:13 out (file:../../elsewhere) accepts a path outside this repository",
          "low unpinned-dependency package.json:18 dev (*) accepts any version"
        ])
      })
    )

    it.effect(
      "names packages at several versions, the builds of one for many platforms as one, and says how many",
      () =>
        Effect.gen(function* () {
          const packages = Object.fromEntries(
            Array.from({ length: 25 }, (_, at) => [
              [`node_modules/p${String(at).padStart(2, "0")}`, locked("1.0.0")],
              [`node_modules/x/node_modules/p${String(at).padStart(2, "0")}`, locked("2.0.0")]
            ]).flat()
          )
          const builds = Object.fromEntries(
            ["darwin", "linux", "win32"].flatMap((platform) => [
              [`node_modules/@b/${platform}`, locked("1.0.0")],
              [`node_modules/x/node_modules/@b/${platform}`, locked("1.1.0")]
            ])
          )
          const files = { "package.json": app({}), "package-lock.json": npmLock(app({}), { ...packages, ...builds }) }
          const all = yield* found(audit, files)
          assert.lengthOf(all, 21)
          assert.include(all[0], "@b/darwin and 2 more of @b is locked at 2 versions: 1.0.0, 1.1.0")
          assert.include(all.at(-1), "and 6 more of the rule duplicate-package, 26 in all")
        })
    )

    it.effect("reads Yarn's lockfiles, old and new", () =>
      Effect.gen(function* () {
        const manifest = app({ a: "^1.0.0", b: "^2.0.0", c: "^1.0.0" })
        const old = [
          "# yarn lockfile v1",
          "",
          '"a@^1.0.0", a@^1.1.0:',
          '  version "1.2.0"',
          "  dependencies:",
          '    version "9"',
          "b@^1.0.0:",
          '  version "1.0.0"',
          ""
        ].join("\n")
        const berry = [
          "__metadata:",
          "  version: 8",
          "",
          '"a@npm:^1.0.0":',
          "  version: 1.2.0",
          '"b@npm:^1.0.0":',
          "  version: 1.0.0",
          '"app@workspace:.":',
          "  version: 0.0.0-use.local",
          ""
        ].join("\n")
        for (const text of [old, berry, old.replaceAll("\n", "\r\n")]) {
          assert.deepStrictEqual(yield* found(audit, { "package.json": manifest, "yarn.lock": `${text}\n` }), [
            "medium lockfile-out-of-step package.json:5 b is locked at 1.0.0 in yarn.lock, which ^2.0.0 does not accept",
            "medium lockfile-out-of-step package.json:6 c is not in yarn.lock"
          ])
        }
      })
    )

    it.effect("reads pnpm's lockfiles of versions 5, 6 and 9", () =>
      Effect.gen(function* () {
        const manifest = app({ a: "^1.0.0", "@s/b": "^2.0.0", c: "^1.0.0" })
        const expected = [
          "medium lockfile-out-of-step package.json:5 pnpm-lock.yaml was made for @s/b ^1.0.0, the manifest says ^2.0.0",
          "medium lockfile-out-of-step package.json:6 c is not in pnpm-lock.yaml"
        ]
        const nine = `lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      a:
        specifier: ^1.0.0
        version: 1.2.0(peer@2.0.0)
      '@s/b':
        specifier: ^1.0.0
        version: 1.0.0

packages:

  a@1.2.0:
    resolution: {integrity: sha512-x}

  '@s/b@1.0.0':
    resolution: {integrity: sha512-x}
`
        const six = nine.replace("\nimporters:\n\n  .:\n", "").replace(/^ {4}dependencies:/m, "dependencies:")
        const flat = six.replace(/^ {6}(\S)/gm, "  $1").replace(/^ {8}(\S)/gm, "    $1")
        const five = `lockfileVersion: 5.4
specifiers:
  a: ^1.0.0
  '@s/b': ^1.0.0
dependencies:
  a: 1.2.0_peer@2.0.0
  '@s/b': 1.0.0
packages:
  /a/1.2.0:
    resolution: {integrity: sha512-x}
`
        for (const text of [nine, flat, five]) {
          const all = yield* found(audit, { "package.json": manifest, "pnpm-lock.yaml": text })
          assert.deepStrictEqual(
            all.map((line) => line.replace("locked at 1.0.0 in pnpm-lock.yaml, which ^2.0.0 does not accept", "X")),
            expected.map((line, at) => (at === 0 ? "medium lockfile-out-of-step package.json:5 @s/b is X" : line))
          )
        }
      })
    )

    it.effect("notes several lockfiles side by side, and those of Bun without reading them", () =>
      Effect.gen(function* () {
        const files = { "package.json": app({}), "package-lock.json": npmLock(app({})), "bun.lock": "{ nonsense" }
        assert.deepStrictEqual(yield* found(audit, files), [
          "info lockfile-not-read bun.lock:0 lockfiles of Bun are not read; only its presence was noted",
          "low several-lockfiles bun.lock:0 bun.lock and package-lock.json lie side by side: which versions are installed depends on the tool; keep one"
        ])
      })
    )
  })

  describe("Cargo", () => {
    const cargo = `[package]
name = "a"
version = "0.1.0"

[dependencies]
serde = "1.0"
old = { version = "0.2", optional = true }
any = "*"
tip = { git = "https://example.org/tip" }
shared = { workspace = true }

[target.'cfg(unix)'.dependencies.nix]
version = "0.30"

[dev-dependencies]
gone = "1"

[workspace]
members = []

[workspace.dependencies]
shared = { package = "real-shared", version = "3" }
`
    const lock = ["a 0.1.0", "serde 1.0.9", "old 0.3.0", "any 1.0.0", "tip 0.1.0", "real-shared 3.1.0", "nix 0.30.1"]
      .map((entry) => entry.split(" "))
      .map(([name, version]) => `[[package]]\nname = "${name}"\nversion = "${version}"\n`)
      .join("\n")

    it.effect("compares a manifest with its lockfile, in the workspace's and the targets' tables too", () =>
      Effect.gen(function* () {
        const files = { "Cargo.toml": cargo, "Cargo.lock": `version = 4\n\n${lock}`, "src/main.rs": "fn main() {}" }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step Cargo.toml:7 old is locked at 0.3.0 in Cargo.lock, which 0.2 does not accept",
          "medium lockfile-out-of-step Cargo.toml:16 gone is not in Cargo.lock",
          "low unpinned-dependency Cargo.toml:8 any (*) accepts any version",
          "low unpinned-dependency Cargo.toml:9 tip accepts the default branch of a git repository, no rev"
        ])
      })
    )

    it.effect("wants a lockfile for a binary, and tells a library only by the way", () =>
      Effect.gen(function* () {
        const manifest = '[package]\nname = "a"\nversion = "0.1.0"\n[dependencies]\nserde = "1"\n'
        assert.match((yield* found(audit, { "Cargo.toml": manifest, "src/lib.rs": "" })).join(), /^info no-lockfile/)
        assert.match((yield* found(audit, { "Cargo.toml": manifest, "src/main.rs": "" })).join(), /^medium no-lockfile/)
      })
    )
  })

  describe("Go", () => {
    it.effect("finds a required module that go.sum lacks, but for indirect and replaced ones", () =>
      Effect.gen(function* () {
        const mod = `module example.org/m // the module

go 1.22

require (
\texample.org/a v1.0.0
\texample.org/b/v2 v2.1.0
\texample.org/c v1.0.0 // indirect
\texample.org/d v1.0.0
\texample.org/e v1.0.0
)

replace example.org/d => ./d
replace (
\texample.org/e => ../../e
)
`
        const files = { "go.mod": mod, "go.sum": "example.org/a v1.0.0 h1:x=\nexample.org/a v1.0.0/go.mod h1:y=\n" }
        assert.deepStrictEqual(yield* found(audit, files), [
          "medium lockfile-out-of-step go.mod:7 example.org/b/v2 is not in go.sum",
          "medium unpinned-dependency go.mod:15 example.org/e (v1.0.0) accepts a path outside this repository"
        ])
      })
    )

    it.effect("wants a go.sum as soon as anything is required", () =>
      Effect.gen(function* () {
        const mod = "module m\nrequire example.org/a v1.0.0\n"
        assert.match((yield* found(audit, { "go.mod": mod })).join(), /^medium no-lockfile go\.mod:0 one dependency/)
        assert.deepStrictEqual(yield* found(audit, { "go.mod": "module m\n\ngo 1.22\n" }), [])
      })
    )
  })

  describe("Python", () => {
    const pyproject = `[project]
name = "p"
version = "1.0"
dependencies = [
    "requests>=2,<3",
    "Zope.Interface (>=5) ; python_version > '3.8'",
    "bare",
    "tip @ git+https://example.org/tip.git",
]

[project.optional-dependencies]
extra = ["gone==1.0"]

[build-system]
requires = ["setuptools"]
`
    it.effect("compares a pyproject.toml with uv's and Poetry's lockfiles", () =>
      Effect.gen(function* () {
        const entries = ["requests 3.1.0", "zope-interface 6.0", "bare 1.0", "tip 0.1"]
        const lock = entries
          .map((entry) => entry.split(" "))
          .map(([name, version]) => `[[package]]\nname = "${name}"\nversion = "${version}"\n`)
          .join("\n")
        for (const name of ["uv.lock", "poetry.lock"]) {
          assert.deepStrictEqual(yield* found(audit, { "pyproject.toml": pyproject, [name]: lock }), [
            `medium lockfile-out-of-step pyproject.toml:5 requests is locked at 3.1.0 in ${name}, which >=2,<3 does not accept`,
            `low lockfile-out-of-step pyproject.toml:12 gone is not in ${name}`,
            "low unpinned-dependency pyproject.toml:7 bare accepts any version",
            "medium unpinned-dependency pyproject.toml:8 tip accepts the default branch of a repository, no commit"
          ])
        }
      })
    )

    it.effect("reads Poetry's tables, groups and caret ranges", () =>
      Effect.gen(function* () {
        const text = `[tool.poetry]
name = "p"
package-mode = false
[tool.poetry.dependencies]
python = "^3.10"
requests = "^2.0"
any = "*"
[tool.poetry.group.dev.dependencies]
pytest = { version = "^7.0" }
`
        const lock = '[[package]]\nname = "requests"\nversion = "3.0.0"\n[[package]]\nname = "any"\nversion = "1.0"\n'
        assert.deepStrictEqual(yield* found(audit, { "pyproject.toml": text, "poetry.lock": lock }), [
          "medium lockfile-out-of-step pyproject.toml:6 requests is locked at 3.0.0 in poetry.lock, which ^2.0 does not accept",
          "medium lockfile-out-of-step pyproject.toml:9 pytest is not in poetry.lock",
          "info unpinned-dependency pyproject.toml:7 any (*) accepts any version"
        ])
      })
    )

    it.effect("reads requirements, with continuations, hashes, options and comments", () =>
      Effect.gen(function* () {
        const text = `# comment
-r other.txt
--index-url https://example.org/simple
requests==2.0 \\
    --hash=sha256:abc
bare  # nothing said
hashed --hash=sha256:abc
url @ https://example.org/a.whl
fixed @ https://example.org/a.whl#sha256=abc
-e git+https://example.org/x.git@main#egg=editable
./local
`
        assert.deepStrictEqual(yield* found(audit, { "requirements.txt": text }), [
          "low unpinned-dependency requirements.txt:6 bare accepts any version",
          "medium unpinned-dependency requirements.txt:8 url accepts a URL whose content can change; there is no hash",
          "medium unpinned-dependency requirements.txt:10 editable accepts the reference main, which can move; no commit"
        ])
      })
    )

    it.effect("says that a setup.py was not run", () =>
      Effect.gen(function* () {
        assert.match((yield* found(audit, { "setup.py": "boom()" })).join(), /^info not-audited setup\.py:0/)
        const cfg = "[options]\ninstall_requires =\n    requests>=2\n    bare\n"
        assert.deepStrictEqual(yield* found(audit, { "setup.py": "boom()", "setup.cfg": cfg }), [
          "low unpinned-dependency setup.cfg:4 bare accepts any version"
        ])
      })
    )
  })

  describe("what is broken", () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`
    const table: ReadonlyArray<readonly [string, Files, RegExp]> = [
      [
        "a manifest cut short",
        { "package.json": '{ "name": "a",\n "dependencies": {' },
        /^high broken-manifest package\.json:2 /
      ],
      ["a manifest that is a list", { "package.json": "[]" }, /^high broken-manifest package\.json:1 /],
      ["a manifest that is null", { "package.json": "null" }, /^high broken-manifest package\.json:1 /],
      ["an empty manifest", { "package.json": "" }, /^high broken-manifest package\.json:1 /],
      [
        "a binary manifest",
        { "package.json": new Uint8Array([0, 1, 2]) },
        /^high broken-manifest package\.json:0 .*binary/
      ],
      ["a manifest nested to the sky", { "package.json": `{ "name": ${deep} }` }, /^$|broken-manifest/],
      [
        "TOML that is none",
        { "Cargo.toml": '[package]\nname = "a"\n= oops\n' },
        /^high broken-manifest Cargo\.toml:3 /
      ],
      ["TOML nested to the sky", { "pyproject.toml": `a = ${deep}` }, /^high broken-manifest pyproject\.toml:/],
      ["a go.mod without a module", { "go.mod": "go 1.22\n" }, /^high broken-manifest go\.mod:1 /],
      [
        "a go.mod with an unknown word",
        { "go.mod": "module m\nreqire a v1\n" },
        /^high broken-manifest go\.mod:2 .*unknown directive reqire/
      ],
      [
        "a lockfile cut short",
        { "package-lock.json": '{\n"lockfileVersion": 3,\n' },
        /^high broken-lockfile package-lock\.json:3 /
      ],
      ["a lockfile of another kind", { "package-lock.json": "{}" }, /^high broken-lockfile package-lock\.json:1 /],
      [
        "packages that are no table",
        { "package-lock.json": { packages: [] } },
        /^high broken-lockfile package-lock\.json:2 /
      ],
      ["a binary lockfile", { "yarn.lock": new Uint8Array([0, 1, 2]) }, /^high broken-lockfile yarn\.lock:0 .*binary/],
      ["a yarn.lock that is prose", { "yarn.lock": "hello\n" }, /^high broken-lockfile yarn\.lock:1 /],
      ["a pnpm-lock.yaml that is prose", { "pnpm-lock.yaml": "hello\n" }, /^high broken-lockfile pnpm-lock\.yaml:1 /],
      ["a go.sum with a bare line", { "go.sum": "a v1 h1:x\nb\n" }, /^high broken-lockfile go\.sum:2 /],
      ["a Cargo.lock that is none", { "Cargo.lock": "[[package]\n" }, /^high broken-lockfile Cargo\.lock:1 /],
      [
        "a conflict in a lockfile",
        { "Cargo.lock": "a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> main\n" },
        /^high broken-lockfile Cargo\.lock:2 cannot be parsed: git left a merge conflict here$/
      ],
      [
        "a bomb of aliases",
        {
          "package.json": {},
          "pnpm-workspace.yaml": `a: &a [x,x,x,x,x,x,x,x]\n${"bcdefghij"
            .split("")
            .map((name, at) => `${name}: &${name} [${Array(8).fill(`*${"abcdefghi"[at]}`).join(",")}]`)
            .join("\n")}\npackages: *j\n`
        },
        /^high broken-manifest pnpm-workspace\.yaml:0 .*alias/
      ]
    ]
    it.effect.each(table)("%s is a finding with its place", ([, files, expected]) =>
      Effect.gen(function* () {
        const all = without("no-manifest", yield* found(audit, files))
        assert.match(all.join("\n"), expected)
      })
    )

    it.effect("does not read a lockfile of fifty megabytes, and says so", () =>
      Effect.gen(function* () {
        const root = yield* folder({
          "package.json": '{ "private": true, "dependencies": { "a": "1.0.0" } }',
          "yarn.lock": ""
        })
        yield* Effect.sync(() => truncateSync(join(root, "yarn.lock"), 50_000_000))
        const result = yield* Effect.flatMap(Repository.open(root), (repository) => audit(repository))
        assert.deepStrictEqual(lines(result), [
          "medium too-large yarn.lock:0 this lockfile was not read: it has 50.0 MB, more than 32 MB"
        ])
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
    )

    it.effect("takes keys like __proto__ for names", () =>
      Effect.gen(function* () {
        const text =
          '{ "private": true, "dependencies": {\n"__proto__": "*",\n"constructor": "^1.0.0", "toString": "*" } }'
        const lock =
          '{ "lockfileVersion": 3, "packages": { "": {}, "node_modules/__proto__": { "version": "1.0.0" }, "__proto__": {} } }'
        const result = yield* audited(audit, { "package.json": text, "package-lock.json": lock })
        assert.deepStrictEqual(lines(result), [
          "medium lockfile-out-of-step package.json:3 constructor is not in package-lock.json",
          "medium lockfile-out-of-step package.json:3 toString is not in package-lock.json",
          "low unpinned-dependency package.json:2 __proto__ (*) accepts any version",
          "low unpinned-dependency package.json:3 toString (*) accepts any version"
        ])
        assert.isUndefined(Object.getOwnPropertyDescriptor(Object.prototype, "version"))
        assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Audit)(JSON.parse(JSON.stringify(result))), result)
      })
    )

    it.effect("reads a manifest with a byte order mark, and one with bytes that are not UTF-8", () =>
      Effect.gen(function* () {
        const marked = `\uFEFF${JSON.stringify({ private: true, dependencies: { a: "*" } })}`
        assert.include((yield* found(audit, { "package.json": marked })).join(), "a (*) accepts any version")
        const bytes = new TextEncoder().encode('{ "private": true, "description": "?", "dependencies": { "a": "*" } }')
        bytes[bytes.indexOf(63)] = 0xff
        assert.include((yield* found(audit, { "package.json": bytes })).join(), "a (*) accepts any version")
      })
    )

    it.effect("takes wrong types for nothing said", () =>
      Effect.gen(function* () {
        const files = {
          "package.json": {
            name: 3,
            version: {},
            private: "yes",
            dependencies: { a: 1, b: null, c: ["x"] },
            workspaces: { packages: "x" }
          },
          "package-lock.json": {
            lockfileVersion: 3,
            packages: { "": null, "node_modules/a": null, "node_modules/b": [] }
          },
          "Cargo.toml": 'package = 3\ndependencies = "x"\ntarget = []\n',
          "pyproject.toml": 'project = ["x"]\ntool = 1\n'
        }
        assert.isArray(yield* found(audit, files))
      })
    )
  })

  describe("what is left out", () => {
    it.effect("counts manifests of fixtures, and audits them when a workspace names them", () =>
      Effect.gen(function* () {
        const files = { "package.json": app({}), "test/fixtures/a/package.json": "{ broken on purpose" }
        assert.deepStrictEqual(yield* found(audit, files), [
          "info fixture-manifests :0 1 manifest in folders of tests, fixtures or templates was not audited: test/fixtures/a/package.json"
        ])
        const member = { "package.json": app({}, { workspaces: ["test/*"] }), "test/a/package.json": app({ a: "*" }) }
        assert.include((yield* found(audit, member)).join("\n"), "test/a/package.json:4 a (*) accepts any version")
      })
    )

    it.effect("says when there is nothing to audit, and what it cannot read", () =>
      Effect.gen(function* () {
        assert.match((yield* found(audit, {})).join(), /^info no-manifest :0/)
        assert.deepStrictEqual(yield* found(audit, { Gemfile: "", "a/pom.xml": "" }), [
          "info not-audited Gemfile:0 dependencies of Ruby are not audited",
          "info not-audited a/pom.xml:0 dependencies of Maven are not audited"
        ])
      })
    )

    it.effect("fails, as a capability, only when the folder is gone", () =>
      Effect.gen(function* () {
        const gone = { root: "/does/not/exist", files: [], problems: [] }
        const failure = yield* Effect.flip(audit(gone))
        assert.strictEqual(Failure.kindOf(failure), "capability")
      }).pipe(Effect.provide(NodeServices.layer))
    )
  })
})
