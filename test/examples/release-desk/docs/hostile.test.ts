/** Real time: the audits read files; nothing here waits for a clock. */
import { symlinkSync } from "node:fs"
import { join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import * as changelog from "../../../../examples/release-desk/docs/changelog.ts"
import * as exported from "../../../../examples/release-desk/docs/exports.ts"
import * as links from "../../../../examples/release-desk/docs/links.ts"
import * as readme from "../../../../examples/release-desk/docs/readme.ts"
import * as Repository from "../../../../examples/release-desk/Repository.ts"
import { auditOf, folder, places } from "../folder.ts"

const commands = (scripts: Readonly<Record<string, string>>, ...lines: ReadonlyArray<string>) =>
  auditOf(readme.audit, {
    "README.md": `# x\n\n## Install\n\n## Usage\n\n## License\n\n\`\`\`sh\n${lines.join("\n")}\n\`\`\`\n`,
    "package.json": JSON.stringify({ scripts })
  }).pipe(Effect.map(places))

describe("docs.readme", () => {
  it.effect.each([
    ["npm run --silent gone", []],
    ["npm run gone -w packages/a", []],
    ["pnpm --filter a build", []],
    ["npm run gone", ["unknown-script README.md:10"]],
    ["npm run have && yarn build", ["unknown-script README.md:10"]],
    ["yarn tsc", []],
    ["git clone https://example.org/x && cd x && npm run gone", ["unknown-script README.md:10"]],
    ["cd packages/a && npm run gone", []]
  ] as const)("%s is held against the scripts of the root's manifest", ([line, expected]) =>
    Effect.map(commands({ have: "x" }, line), (made) => assert.deepStrictEqual<ReadonlyArray<string>>(made, expected))
  )

  it.effect("counts code blocks whose language is a word of JavaScript's own", () =>
    Effect.map(
      auditOf(readme.audit, { "README.md": "```constructor\n```\n\n```__proto__\n```\n\n```ts\n```\n" }),
      ({ facts }) => assert.deepStrictEqual(facts["codeBlocks"], { constructor: 1, other: 1, ts: 1 })
    )
  )
})

describe("docs.links", () => {
  it.effect("takes no harm from what no path can be", () =>
    Effect.map(
      auditOf(links.audit, {
        "README.md": `[a](%00.md) [b](%ff.md) [c](${"x".repeat(5_000)}) [d](a.ts#L2) [e](a.ts#L3) [f](#:~:text=x)\n\n<!-- <a href="no.md"> -->\n`,
        "a.ts": "1\n2\n"
      }),
      (made) =>
        assert.deepStrictEqual(
          made.findings.map(({ rule }) => rule),
          ["dead-link", "dead-link", "dead-link", "dead-anchor"]
        )
    )
  )
})

describe("every audit of the documentation", () => {
  it.effect("finds its way through a folder whose links form a loop", () =>
    Effect.gen(function* () {
      const root = yield* folder({ "docs/a.md": "[b](loop/loop/a.md)\n" })
      symlinkSync(join(root, "docs"), join(root, "docs", "loop"))
      const repository = yield* Repository.open(root)
      for (const { audit } of [readme, links, changelog, exported]) assert.isArray((yield* audit(repository)).findings)
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("has little to say of an empty folder", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(places(yield* auditOf(readme.audit, {})), ["missing-readme :0"])
      for (const { audit } of [links, changelog, exported])
        assert.deepStrictEqual(places(yield* auditOf(audit, {})), [])
    })
  )
})

describe("docs.changelog", () => {
  const entries = "# Changelog\n\n## 1.0.0\n"

  it.effect("reads the tags of a worktree from the repository it belongs to", () =>
    Effect.map(
      auditOf(changelog.audit, {
        ".git": "gitdir: real/worktrees/a\n",
        "real/worktrees/a/commondir": "../..\n",
        "real/refs/tags/v2.0.0": `${"a".repeat(40)}\n`,
        "CHANGELOG.md": entries
      }),
      (made) => assert.deepStrictEqual(places(made), ["undocumented-release CHANGELOG.md:0"])
    )
  )

  it.effect.each(["gitdir: a\0b\n", "gitdir: nowhere\n", "", "x".repeat(100_000)])(
    "finds no tags behind a .git that points nowhere (%#)",
    (pointer) =>
      Effect.map(auditOf(changelog.audit, { ".git": pointer, "CHANGELOG.md": entries }), (made) => {
        assert.deepStrictEqual(places(made), [])
        assert.strictEqual(made.facts["tags"], 0)
      })
  )

  it.effect.each([
    ['[package]\nname = "x"\nversion = "2.0.0"\n', 1],
    ['[dependencies.x]\nversion = "2.0.0"\n', 0],
    ["\n".repeat(500_000), 0]
  ] as const)("asks for an entry of the package's own version (%#)", ([manifest, count]) =>
    Effect.map(auditOf(changelog.audit, { "CHANGELOG.md": entries, "Cargo.toml": manifest }), (made) =>
      assert.strictEqual(made.findings.length, count)
    )
  )

  it.effect("says once that no heading names a version, and does not take code for a changelog", () =>
    Effect.gen(function* () {
      const tag = { ".git/refs/tags/v1.0.0": `${"a".repeat(40)}\n`, ".git/refs/tags/v1.1.0": `${"b".repeat(40)}\n` }
      const rules = (files: Record<string, string>) =>
        Effect.map(auditOf(changelog.audit, { ...tag, ...files }), ({ findings }) => findings.map(({ rule }) => rule))
      assert.deepStrictEqual(yield* rules({ "CHANGELOG.md": "See the releases page.\n" }), [
        "changelog-without-versions"
      ])
      assert.deepStrictEqual(yield* rules({ "history.ts": "1.0.0 and 1.1.0\n" }), ["missing-changelog"])
    })
  )
})
