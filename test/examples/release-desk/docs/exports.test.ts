/** Real time: the audit reads files; nothing here waits for a clock. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

import { audit } from "../../../../examples/release-desk/docs/exports.ts"
import { auditOf, places } from "../folder.ts"

const packaged = (manifest: unknown, files: Readonly<Record<string, string>>) =>
  Effect.map(auditOf(audit, { ...files, "package.json": JSON.stringify(manifest) }), (made) =>
    places(made).map((place) => place.replace("undocumented-export ", ""))
  )

describe("docs.exports", () => {
  it.effect("follows a subpath pattern from the build to its sources, but not where null closes it", () =>
    Effect.map(
      packaged(
        { exports: { "./*": "./dist/*.js", "./internal/*": null, "./index": null } },
        {
          "src/a.ts": "export const a = 1\n",
          "src/index.ts": "export const b = 1\n",
          "src/internal/c.ts": "export const c = 1\n",
          "src/a.test.ts": "export const d = 1\n"
        }
      ),
      (found) => assert.deepStrictEqual(found, ["src/a.ts:1"])
    )
  )

  it.effect("counts only the names that are passed on, however often they are renamed", () =>
    Effect.map(
      packaged(
        { main: "./index.js" },
        {
          "index.js": 'export { c } from "./mid.js"\n',
          "mid.js": 'export { b as c, other } from "./b.js"\n',
          "b.js": 'export const other = 1\nexport * from "./deep.js"\nexport const never = 1\n',
          "deep.js": 'export const b = 1\nexport * from "./b.js"\n'
        }
      ),
      (found) => assert.deepStrictEqual(found, ["deep.js:1"])
    )
  )

  it.effect("reads declarations kept by hand instead of the JavaScript beside them", () =>
    Effect.map(
      packaged(
        { main: "index.js", types: "index.d.ts" },
        { "index.js": "export function a() {}\n", "index.d.ts": "/** A. */\nexport function a(): void\n" }
      ),
      (found) => assert.deepStrictEqual(found, [])
    )
  )

  it.effect("survives a module that would overflow a parser", () =>
    Effect.map(
      packaged({ main: "a.js" }, { "a.js": `x = ${"a?b:".repeat(100_000)}c\nexport const y = 1\n` }),
      (found) => assert.deepStrictEqual(found, ["a.js:2"])
    )
  )

  it.effect("knows a method of a hidden type, an attribute over lines, and a docstring of one line", () =>
    Effect.map(
      auditOf(audit, {
        "pkg/a.py": 'def one():\n    "Fine."\n',
        "pkg/b.go": "package b\n\nfunc (x *hidden) One() {}\n\nfunc (x *Shown) Two() {}\n",
        "src/lib.rs": "/// Fine.\n#[derive(\n    Debug,\n    Clone\n)]\npub struct One;\n"
      }),
      (made) => assert.deepStrictEqual(places(made), ["undocumented-export pkg/b.go:5"])
    )
  )
})
