import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, PlatformError } from "effect"

import type { Finding } from "../../../examples/release-desk/Finding.ts"
import { atMost, finding, oneLine } from "../../../examples/release-desk/Finding.ts"
import * as Repository from "../../../examples/release-desk/Repository.ts"
import { folder } from "./folder.ts"

// Real time, because the file system is the real one; nothing waits.

const opened = (
  files: Readonly<Record<string, string | Uint8Array>>,
  options?: {
    readonly more?: (root: string) => void
    readonly bounds?: Repository.OpenOptions
    readonly fs?: (fs: FileSystem.FileSystem) => Partial<FileSystem.FileSystem>
  }
) =>
  Effect.gen(function* () {
    const root = yield* folder(files)
    options?.more?.(root)
    return yield* Repository.open(root, options?.bounds)
  }).pipe(Effect.scoped, Effect.provide(altered(options?.fs ?? (() => ({})))))

/** The real file system with some operations replaced. */
const altered = (change: (fs: FileSystem.FileSystem) => Partial<FileSystem.FileSystem>) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs): FileSystem.FileSystem => ({ ...fs, ...change(fs) }))
  ).pipe(Layer.provideMerge(NodeServices.layer))

const denied = (method: string) =>
  Effect.fail(PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method }))

const paths = (repository: Repository.Repository) => repository.files.map(({ path }) => path)

const problems = (repository: Repository.Repository) =>
  repository.problems.map(({ file, rule, severity }) => `${rule} ${severity} ${file}`)

describe("Repository", () => {
  describe("open", () => {
    it.effect("lists the files by path, with their sizes", () =>
      Effect.map(opened({ "b/two.ts": "22", "a.md": "1", "b.ts": "333", "b/.hidden": "" }), (repository) => {
        assert.deepStrictEqual(repository.files, [
          { path: "a.md", bytes: 1 },
          { path: "b.ts", bytes: 3 },
          { path: "b/.hidden", bytes: 0 },
          { path: "b/two.ts", bytes: 2 }
        ])
        assert.deepStrictEqual(repository.problems, [])
      })
    )

    it.effect("skips version control, installed packages, caches and its own folder anywhere", () =>
      Effect.map(
        opened({
          ".git/config": "",
          "node_modules/a/index.js": "",
          "packages/x/node_modules/b.js": "",
          ".espalier/journal.db": "",
          "py/__pycache__/a.pyc": "",
          "kept.ts": ""
        }),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["kept.ts"])
          assert.deepStrictEqual(repository.problems, [])
        }
      )
    )

    it.effect("skips what looks like build output beside a manifest only, and says so", () =>
      Effect.map(
        opened({ "package.json": "{}", "dist/a.js": "", "vendor/b.js": "", "src/build/c.ts": "", "src/dist/d.ts": "" }),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["package.json", "src/build/c.ts", "src/dist/d.ts"])
          assert.deepStrictEqual(problems(repository), ["skipped-folders info "])
          assert.include(repository.problems[0]?.message, "dist, vendor")
        }
      )
    )

    it.effect("obeys the ignore files of the root, of git and of folders, the deepest first", () =>
      Effect.map(
        opened({
          ".gitignore": "*.log\n/secret/\n# a comment\n!kept.log\n",
          ".git/info/exclude": "mine.txt\n",
          "a.log": "",
          "kept.log": "",
          "mine.txt": "",
          "secret/.gitignore": "!*\n",
          "secret/key.txt": "",
          "b/.gitignore": "!b.log\n*.tmp\n",
          "b/b.log": "",
          "b/c.log": "",
          "b/d.tmp": "",
          "d.tmp": ""
        }),
        (repository) =>
          assert.deepStrictEqual(paths(repository), [".gitignore", "b/.gitignore", "b/b.log", "d.tmp", "kept.log"])
      )
    )

    it.effect("does not obey a pattern whose matching could take exponential time, and says so", () =>
      Effect.map(
        opened({ ".gitignore": `${"a*".repeat(30)}b\n*.log\n`, [`${"a".repeat(200)}.txt`]: "", "x.log": "" }),
        (repository) => {
          assert.deepStrictEqual(paths(repository), [".gitignore", `${"a".repeat(200)}.txt`])
          assert.deepStrictEqual(problems(repository), ["gitignore-pattern info .gitignore"])
        }
      )
    )

    it.effect("obeys no ignore file that is binary, and says so", () =>
      Effect.map(opened({ ".gitignore": Uint8Array.of(0, 1, 2), "a.txt": "" }), (repository) => {
        assert.deepStrictEqual(paths(repository), [".gitignore", "a.txt"])
        assert.deepStrictEqual(problems(repository), ["unreadable-gitignore low .gitignore"])
      })
    )

    it.effect("follows no symbolic link, and reports those that loop, break or leave the root", () =>
      Effect.map(
        opened(
          { "a/file.ts": "" },
          {
            more: (root) => {
              symlinkSync("file.ts", join(root, "a/inside.ts"))
              symlinkSync("..", join(root, "a/up"))
              symlinkSync("self", join(root, "self"))
              symlinkSync("nowhere", join(root, "broken"))
              symlinkSync("/", join(root, "out"))
            }
          }
        ),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["a/file.ts"])
          assert.deepStrictEqual(problems(repository), [
            "link-loop low a/up",
            "broken-link low broken",
            "link-out info out",
            "link-loop low self"
          ])
        }
      )
    )

    it.effect("reports a folder that cannot be read, and lists the others", () =>
      Effect.map(
        opened(
          { "locked/a.ts": "", "open/b.ts": "" },
          {
            fs: (fs) => ({
              readDirectoryEntries: (path) =>
                path.endsWith("locked") ? denied("readDirectoryEntries") : fs.readDirectoryEntries(path)
            })
          }
        ),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["open/b.ts"])
          assert.deepStrictEqual(problems(repository), ["unreadable-folder medium locked"])
          assert.include(repository.problems[0]?.message, "permission denied")
        }
      )
    )

    it.effect("reports a file that is gone before it was looked at, and one whose name is no UTF-8", () =>
      Effect.map(
        opened(
          { "a.ts": "" },
          {
            fs: (fs) => ({
              readDirectoryEntries: (path) =>
                Effect.map(fs.readDirectoryEntries(path), (entries) => [
                  ...entries,
                  { name: "gone.ts", type: "File" },
                  { name: "odd\uFFFD.ts", type: "File" }
                ])
            })
          }
        ),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["a.ts"])
          assert.deepStrictEqual(
            repository.problems.map(({ file, message }) => [file, message]),
            [
              ["gone.ts", "not audited: it is gone"],
              ["odd\uFFFD.ts", "not audited: its name is not valid UTF-8"]
            ]
          )
        }
      )
    )

    it.effect("takes names with line breaks, quotes and spaces as they are", () =>
      Effect.map(opened({ "a\nb.ts": "", ' "x" .ts': "", "-rf": "", "__proto__/constructor": "" }), (repository) =>
        assert.deepStrictEqual(paths(repository), [' "x" .ts', "-rf", "__proto__/constructor", "a\nb.ts"])
      )
    )

    it.effect("stops at the bound on files, which the first in order stay within, and says so", () =>
      Effect.map(
        opened({ "a.ts": "", "b.ts": "", "c/d.ts": "", "e.ts": "" }, { bounds: { maxFiles: 2 } }),
        (repository) => {
          assert.deepStrictEqual(paths(repository), ["a.ts", "b.ts"])
          assert.deepStrictEqual(problems(repository), ["too-many-files medium "])
        }
      )
    )

    it.effect("says nothing of a bound that is reached and not passed", () =>
      Effect.map(opened({ "a.ts": "", "b/c.ts": "" }, { bounds: { maxFiles: 2 } }), (repository) => {
        assert.deepStrictEqual(paths(repository), ["a.ts", "b/c.ts"])
        assert.deepStrictEqual(repository.problems, [])
      })
    )

    it.effect("stops at the bound on depth, and says where", () =>
      Effect.map(opened({ "a/b/c/d.ts": "", "a/e.ts": "" }, { bounds: { maxDepth: 2 } }), (repository) => {
        assert.deepStrictEqual(paths(repository), ["a/e.ts"])
        assert.deepStrictEqual(problems(repository), ["too-deep medium a/b/c"])
      })
    )

    it.effect("finds nothing in an empty folder, and nothing wrong with it", () =>
      Effect.map(opened({}), (repository) => {
        assert.deepStrictEqual(repository.files, [])
        assert.deepStrictEqual(repository.problems, [])
      })
    )

    it.effect("fails with one sentence when the root is missing, a file, below a file, or refused", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const root = yield* folder({ "a.txt": "" })
          const reason = (path: string) =>
            Effect.map(Effect.flip(Repository.open(path)), (error) => {
              assert.match(error.message, /^[^\n]+\.$/)
              assert.include(error.message, path)
              return error.reason
            })
          assert.strictEqual(yield* reason(join(root, "nowhere")), "not-found")
          assert.strictEqual(yield* reason(join(root, "a.txt")), "not-a-folder")
          assert.strictEqual(yield* reason(join(root, "a.txt", "b")), "not-a-folder")
          const refused = Effect.provide(
            reason(root),
            altered(() => ({ readDirectoryEntries: () => denied("readDirectoryEntries") }))
          )
          assert.strictEqual(yield* refused, "unreadable")
        })
      ).pipe(Effect.provide(NodeServices.layer))
    )

    it.effect("lists thousands of files", () =>
      Effect.map(
        opened(
          {},
          {
            more: (root) => {
              for (let folder = 0; folder < 50; folder++) {
                mkdirSync(join(root, `f${folder}`))
                for (let file = 0; file < 100; file++) writeFileSync(join(root, `f${folder}`, `${file}.ts`), "")
              }
            }
          }
        ),
        (repository) => assert.strictEqual(repository.files.length, 5_000)
      )
    )
  })

  describe("read", () => {
    const contents = (
      files: Readonly<Record<string, string | Uint8Array>>,
      file: string,
      more?: (root: string) => void
    ) =>
      Effect.gen(function* () {
        const root = yield* folder(files)
        const repository = yield* Repository.open(root)
        more?.(root)
        return [yield* Repository.read(repository, file), yield* Repository.text(repository, file)] as const
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))

    it.effect("gives the text, without a byte order mark, in UTF-8 or marked UTF-16", () =>
      Effect.gen(function* () {
        const marked = Uint8Array.of(0xef, 0xbb, 0xbf, 0x61)
        const little = Uint8Array.of(0xff, 0xfe, 0x61, 0)
        const big = Uint8Array.of(0xfe, 0xff, 0, 0x61)
        for (const text of ["a", marked, little, big]) {
          assert.deepStrictEqual(yield* contents({ "a.md": text }, "a.md"), [{ text: "a" }, "a"])
        }
      })
    )

    it.effect.each([
      ["binary", "a NUL", Uint8Array.of(0x61, 0, 0x62)],
      ["binary", "noise", new Uint8Array(500).fill(0xe9)],
      ["too-large", "more than 2 MB", "x".repeat(2_000_001)]
    ] as const)("says %s for %s", ([why, , content]) =>
      Effect.map(contents({ "a.md": content }, "a.md"), ([read, text]) => {
        assert.strictEqual(read.why, why)
        assert.strictEqual(text, undefined)
      })
    )

    it.effect("says unreadable for a file that is gone, or has become a link or a folder since", () =>
      Effect.gen(function* () {
        const [gone] = yield* contents({}, "a.md")
        assert.deepStrictEqual(gone, { text: undefined, why: "unreadable", detail: "it is gone" })
        const [link] = yield* contents({}, "a.md", (root) => symlinkSync("elsewhere", join(root, "a.md")))
        assert.strictEqual(link.why, "unreadable")
        const [made] = yield* contents({}, "a.md", (root) => mkdirSync(join(root, "a.md")))
        assert.strictEqual(made.why, "unreadable")
      })
    )

    it.effect("keeps a text with a few characters that are no UTF-8", () =>
      Effect.map(contents({ "a.txt": Uint8Array.of(0x63, 0x61, 0x66, 0xe9) }, "a.txt"), ([, text]) =>
        assert.strictEqual(text, "caf\uFFFD")
      )
    )
  })
})

describe("Finding", () => {
  it("prints on one line, without control characters, whatever the repository holds", () => {
    const hostile = "a\u001b[31m\r\nb\u202e\u0000c"
    assert.strictEqual(oneLine(hostile), "a [31m b c")
    assert.strictEqual(oneLine("x".repeat(5_000_000), 10), "xxxxxxxxx…")
    assert.isTrue(oneLine(`${"x".repeat(8)}😀${"x".repeat(10)}`, 10).isWellFormed())
    assert.strictEqual(finding("r", "low", { file: "a" }, "one\ntwo").message, "one two")
  })

  it("keeps the most severe of a rule, in their order, and says how many there are in all", () => {
    const one = (line: number, severity: Finding["severity"]) => finding("r", severity, { file: "a", line }, `${line}`)
    const other = finding("other", "info", { file: "b" }, "alone")
    const kept = atMost([one(1, "low"), one(2, "info"), other, one(3, "high"), one(4, "low")], 2)
    assert.deepStrictEqual(
      kept.map(({ line, rule, severity }) => [rule, line, severity]),
      [
        ["r", 1, "low"],
        ["other", 0, "info"],
        ["r", 3, "high"],
        ["r", 0, "low"]
      ]
    )
    assert.include(kept.at(-1)?.message, "2 more of the rule r, 4 in all")
    assert.deepStrictEqual(atMost([other], 1), [other])
  })
})
