/** Audits over a few files in a temporary folder, with findings as lines that are easy to compare. */
import { Effect, type FileSystem, type Path } from "effect"
import type { Failure } from "espalier"

import type { Audit } from "../../../../examples/release-desk/Finding.ts"
import type { Repository } from "../../../../examples/release-desk/Repository.ts"
import { auditOf } from "../folder.ts"

export type Files = Readonly<Record<string, string | Uint8Array | object>>

export type AuditOf = (
  repository: Repository
) => Effect.Effect<Audit, Failure.Failure, FileSystem.FileSystem | Path.Path>

/** Writes an object as JSON. */
export const written = (files: Files): Readonly<Record<string, string | Uint8Array>> =>
  Object.fromEntries(
    Object.entries(files).map(([path, content]) => [
      path,
      typeof content === "string" || content instanceof Uint8Array ? content : JSON.stringify(content, undefined, 2)
    ])
  )

/** The findings as `severity rule file:line message`; with `rule` only those. */
export const lines = ({ findings }: Audit, rule?: string): ReadonlyArray<string> =>
  findings
    .filter((found) => rule === undefined || found.rule === rule)
    .map(({ file, line, message, rule, severity }) => `${severity} ${rule} ${file}:${line} ${message}`)

export const audited = (audit: AuditOf, files: Files) => auditOf(audit, written(files))

/** The lines of an audit. */
export const found = (audit: AuditOf, files: Files, rule?: string) =>
  Effect.map(audited(audit, files), (result) => lines(result, rule))
