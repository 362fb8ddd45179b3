/**
 * The audit *dependencies.usage*: what is declared and never used, and what is used and never declared.
 *
 * | rule | finds |
 * |---|---|
 * | `undeclared-dependency` | an import of a package that no manifest asks for |
 * | `unused-dependency` | a declared package that nothing imports or names |
 * | `development-dependency-shipped` | shipped code that imports a development dependency |
 * | `indirect-mark` | a Go module marked indirect that is imported |
 * | `usage-not-audited` | what this audit did not look at |
 *
 * **Details**
 *
 * It would rather miss something than be wrong: a name in a script or a configuration file counts as a use, an import
 * inside a `try` counts as optional. What rests on a guess says *heuristic*. Undeclared crates are left to the compiler.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { FileSystem, Path } from "effect"
import type { Failure } from "espalier"

import { atMost } from "../Finding.ts"
import type { Audit } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import type { AuditOptions } from "./lockfile.ts"
import * as Manifests from "./manifests.ts"
import * as Compiled from "./usage-compiled.ts"
import * as Npm from "./usage-npm.ts"
import * as Python from "./usage-python.ts"

/**
 * Audits the use of dependencies.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  options?: AuditOptions | undefined
): Effect.fn.Return<Audit, Failure.Failure, FileSystem.FileSystem | Path.Path> {
  const found = yield* Manifests.load(repository)
  const npm = yield* Npm.audit(repository, found)
  const python = yield* Python.audit(repository, found)
  const compiled = yield* Compiled.audit(repository, found)
  const findings = [...npm.findings, ...python.findings, ...compiled.findings]
  const count = (rule: string) => findings.filter((finding) => finding.rule === rule).length
  return {
    findings: atMost(findings, options?.limit ?? 20),
    facts: {
      filesRead: npm.files + python.files + compiled.files,
      undeclared: count("undeclared-dependency"),
      unused: count("unused-dependency"),
      shippedDevelopmentDependencies: count("development-dependency-shipped")
    }
  }
})
