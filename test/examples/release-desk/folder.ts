/** A folder for one test, with files in it, gone afterwards. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { NodeServices } from "@effect/platform-node"
import { Effect } from "effect"

import type { Audit } from "../../../examples/release-desk/Finding.ts"
import * as Repository from "../../../examples/release-desk/Repository.ts"

export const folder = (files: Readonly<Record<string, string | Uint8Array>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const root = mkdtempSync(join(tmpdir(), "release-desk-"))
      for (const [path, content] of Object.entries(files)) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), content)
      }
      return root
    }),
    (root) => Effect.sync(() => rmSync(root, { recursive: true, force: true }))
  )

/** What an audit finds in these files. */
export const auditOf = <E, R>(
  audit: (repository: Repository.Repository) => Effect.Effect<Audit, E, R>,
  files: Readonly<Record<string, string | Uint8Array>>
) =>
  folder(files).pipe(
    Effect.flatMap((root) => Repository.open(root)),
    Effect.flatMap(audit),
    Effect.scoped,
    Effect.provide(NodeServices.layer)
  )

/** Rules with their places, for comparing. */
export const places = ({ findings }: Audit): ReadonlyArray<string> =>
  findings.map(({ file, line, rule }) => `${rule} ${file}:${line}`)
