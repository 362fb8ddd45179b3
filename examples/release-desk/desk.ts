/**
 * The release desk: three domains, ten workers, one task for each.
 *
 * The audits are ordinary functions that know nothing of desks; here each becomes a worker with a name, a description,
 * and schemas for what it takes and gives.
 *
 * @since 0.1.0
 */
import { Context, Effect, type FileSystem, type Path, Schema } from "effect"
import type { ChildProcessSpawner } from "effect/process"
import type { Failure } from "espalier"
import { Desk, Domain, Plan, Recovery, Worker } from "espalier/run"

import * as complexity from "./code/complexity.ts"
import * as markers from "./code/markers.ts"
import * as size from "./code/size.ts"
import * as licences from "./dependencies/licences.ts"
import * as lockfile from "./dependencies/lockfile.ts"
import * as usage from "./dependencies/usage.ts"
import * as changelog from "./docs/changelog.ts"
import * as exported from "./docs/exports.ts"
import * as links from "./docs/links.ts"
import * as readme from "./docs/readme.ts"
import type { Strike } from "./faults.ts"
import { Audit } from "./Finding.ts"
import type { Repository } from "./Repository.ts"

/**
 * What the workers work on: the repository, listed once, and the faults that were ordered.
 *
 * @category services
 * @since 0.1.0
 */
export class Subject extends Context.Service<Subject, { readonly repository: Repository; readonly strike: Strike }>()(
  "release-desk/Subject"
) {}

/**
 * What a run of the desk begins with.
 *
 * **Details**
 *
 * - `root`: absolute path of the repository.
 * - `runChecks`: whether `code.complexity` runs the repository's own type-check and test commands.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({ root: Schema.String, runChecks: Schema.Boolean })

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

type Services = FileSystem.FileSystem | Path.Path | ChildProcessSpawner.ChildProcessSpawner

const auditor = (
  domain: string,
  name: string,
  description: string,
  audit: (repository: Repository, runChecks: boolean) => Effect.Effect<Audit, Failure.Failure, Services>,
  attemptTimeout: "60 seconds" | "10 minutes" = "60 seconds"
) =>
  Worker.make(name, {
    description,
    capabilities: [`${domain}.${name}`],
    input: Input,
    output: Audit,
    attemptTimeout,
    handle: ({ input }) =>
      Effect.flatMap(Subject, ({ repository, strike }) =>
        strike(`${domain}.${name}`, audit(repository, input.runChecks))
      )
  })

const code = Domain.make("code", {
  workers: [
    auditor("code", "size", "Measures the code by language and finds files that are too long", (repository) =>
      size.audit(repository)
    ),
    auditor("code", "markers", "Finds TODO, FIXME and skipped tests", (repository) => markers.audit(repository)),
    auditor(
      "code",
      "complexity",
      "Finds functions that are too long or duplicated, and how the project checks itself",
      (repository, runChecks) => complexity.audit(repository, { runChecks }),
      "10 minutes"
    )
  ]
})

const dependencies = Domain.make("dependencies", {
  workers: [
    auditor("dependencies", "lockfile", "Compares manifests with lockfiles, and finds loose versions", (repository) =>
      lockfile.audit(repository)
    ),
    auditor("dependencies", "licences", "Reads the licences of what the project ships with", (repository) =>
      licences.audit(repository)
    ),
    auditor("dependencies", "usage", "Compares what is declared with what is imported", (repository) =>
      usage.audit(repository)
    )
  ]
})

const docs = Domain.make("docs", {
  workers: [
    auditor("docs", "readme", "Reads the README as a newcomer would", (repository) => readme.audit(repository)),
    auditor("docs", "links", "Follows relative links and anchors in every Markdown file", (repository) =>
      links.audit(repository)
    ),
    auditor("docs", "changelog", "Compares the changelog with tags and manifests", (repository) =>
      changelog.audit(repository)
    ),
    auditor("docs", "exports", "Finds public exports without documentation", (repository) => exported.audit(repository))
  ]
})

const domains = [code, dependencies, docs] as const

/**
 * The desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = Desk.make("release-desk", {
  version: "1",
  input: Input,
  domains,
  // Nobody is there to be asked: what the audited folder refuses is named in the report.
  policy: { ladders: { ...Recovery.ladders, denied: ["incomplete"] } },
  coordinator: Plan.make<Input>(
    domains.flatMap(({ name: domain, workers }) =>
      workers.map(({ description, name }) => ({
        id: `${domain}.${name}`,
        worker: `${domain}.${name}`,
        objective: description,
        input: (_accepted: unknown, input: Input) => input
      }))
    )
  )
})
