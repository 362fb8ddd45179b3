/**
 * The audit *dependencies.licences*: under which licences is what the project ships with, and its own.
 *
 * | rule | finds |
 * |---|---|
 * | `no-licence-file`, `no-licence-field`, `licence-mismatch` | what is wrong with the project's own licence |
 * | `licence-missing`, `licence-unknown` | a dependency that says nothing, or something unheard of |
 * | `licence-copyleft`, `licence-weak-copyleft`, `licence-proprietary` | a production dependency that asks for more |
 * | `licences-not-read` | what this audit did not look at |
 *
 * **Details**
 *
 * - Installed packages are read from `node_modules`: the direct ones, and what the production ones bring with them. What
 *   is not installed is read from the `license` fields of a `package-lock.json`.
 * - A project under a copyleft licence of its own may use such packages; then they are no finding.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Result } from "effect"
import type { Failure } from "espalier"

import { atMost, finding } from "../Finding.ts"
import type { Audit, Finding } from "../Finding.ts"
import * as Repo from "../Repository.ts"
import type { Repository } from "../Repository.ts"
import type { AuditOptions } from "./lockfile.ts"
import * as Manifests from "./manifests.ts"
import { baseOf } from "./model.ts"
import type { Dependency, Lock, Manifest } from "./model.ts"
import * as Npm from "./npm.ts"
import * as Spdx from "./spdx.ts"
import * as Text from "./text.ts"

/**
 * The licence of one package, and where the project asks for it.
 *
 * **Details**
 *
 * - `via`: the direct dependency that brings it, when it is not direct itself.
 *
 * @category models
 * @since 0.1.0
 */
export interface Licensed {
  readonly name: string
  readonly version: string
  readonly licence: string | undefined
  readonly hasFile: boolean
  readonly isProduction: boolean
  readonly via: string | undefined
  readonly file: string
  readonly line: number
}

/**
 * Packages that are read at most; past it the audit says how many it left out.
 *
 * @category bounds
 * @since 0.1.0
 */
export const maxPackages = 5_000

/**
 * Audits licences.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  options?: AuditOptions | undefined
): Effect.fn.Return<Audit, Failure.Failure, FileSystem.FileSystem | Path.Path> {
  const { manifests } = yield* Manifests.load(repository)
  const own = yield* ownLicence(repository, manifests)
  const findings: Array<Finding> = [...own.findings]
  const npm = manifests.filter(({ ecosystem }) => ecosystem === "npm")
  const packages = yield* installed(repository, npm)
  const known = new Set(packages.found.map(({ name }) => name))
  const locks = npm.length === 0 ? [] : (yield* Manifests.loadLocks(repository)).locks
  const fromLocks = lockedLicences(locks, packages.found.length === 0, packages.absent, known)
  const all = [...packages.found, ...fromLocks]
  findings.push(...judged(all, own.isCopyleft))
  const listed = new Set(all.map(({ name }) => name))
  const unseen = packages.absent.filter(({ asked }) => !listed.has(asked.name))
  findings.push(...notRead(manifests, unseen, packages.more))
  const counts = new Map<string, number>()
  for (const { licence } of all) counts.set(licence ?? "none", (counts.get(licence ?? "none") ?? 0) + 1)
  return {
    findings: atMost(findings, options?.limit ?? 20),
    facts: {
      ownLicence: own.licence ?? "none",
      packages: all.length,
      production: all.filter(({ isProduction }) => isProduction).length,
      notRead: unseen.length + packages.more,
      licences: [...counts]
        .toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
        .slice(0, 30)
        .map(([licence, packages]) => ({ licence: licence.slice(0, 80), packages })),
      otherLicences: Math.max(0, counts.size - 30)
    }
  }
})

interface Own {
  readonly findings: ReadonlyArray<Finding>
  readonly licence: string | undefined
  readonly isCopyleft: boolean
}

const licenceFile = /^(un)?licen[cs]es?([-_.].*)?$|^copying([-_.].*)?$/i

/** The project's own licence: a file at the root, a field in each manifest that is published. */
const ownLicence = Effect.fnUntraced(function* (
  repository: Repository,
  manifests: ReadonlyArray<Manifest>
): Effect.fn.Return<Own, never, FileSystem.FileSystem | Path.Path> {
  const findings: Array<Finding> = []
  const files = repository.files.filter(
    ({ path }) =>
      (licenceFile.test(path) || /^licen[cs]es\/[^/]+$/i.test(path)) && !/\.(?:[cm]?[jt]s|py|go|rs)$/.test(path)
  )
  const roots = manifests.filter(({ folder }) => folder === "")
  const isPrivate = roots.length > 0 && roots.every(({ isPrivate }) => isPrivate)
  if (files.length === 0 && repository.files.length > 0) {
    const message = "there is no LICENSE file: nobody else may use, change or pass on this project"
    findings.push(finding("no-licence-file", isPrivate ? "info" : "medium", { file: "" }, message))
  }
  let said: string | undefined
  for (const { path } of files.slice(0, 5)) {
    const text = yield* Repo.text(repository, path)
    said ??= text === undefined ? undefined : Spdx.textOf(text)
  }
  for (const manifest of manifests) {
    const name = baseOf(manifest.path)
    if (manifest.kind === "workspace" || name.startsWith("requirements") || name === "go.mod") continue
    if (name === "setup.cfg" && manifest.name === undefined) continue
    const { isPrivate, licence, path } = manifest
    if (licence === undefined) {
      if (isPrivate || (manifest.ecosystem === "npm" && manifest.kind === "application")) continue
      const message = "the manifest has no licence field: registries and tools will show this package as unlicensed"
      findings.push(finding("no-licence-field", "low", { file: path }, message))
      continue
    }
    const { expression } = licence
    const simple = expression !== undefined && !/\b(AND|OR|WITH)\b|\//i.test(expression)
    if (manifest.folder === "" && simple && said !== undefined && files.length === 1 && differs(expression, said)) {
      const message = `the manifest says ${expression}, ${files[0]?.path ?? "the licence file"} reads like ${said}`
      findings.push(finding("licence-mismatch", "medium", { file: path, line: licence.line }, message))
    }
  }
  const declared = roots.map(({ licence }) => licence?.expression).find((value) => value !== undefined)
  const licence = declared ?? said
  const family = licence === undefined ? undefined : Spdx.familyOf(licence)
  return { findings, licence, isCopyleft: family === "copyleft" }
})

const differs = (expression: string, text: string): boolean => {
  const kind = (name: string) => /(agpl|lgpl|gpl|mpl|apache|unlicense|mit|isc|0bsd|bsd)/i.exec(name)?.[1]?.toLowerCase()
  const declared = kind(expression)
  return declared !== undefined && declared !== kind(text)
}

interface Wanted {
  readonly manifest: Manifest
  readonly asked: Dependency
}

interface Installed {
  readonly found: ReadonlyArray<Licensed>
  readonly absent: ReadonlyArray<Wanted>
  readonly more: number
}

/** What lies in `node_modules`: the direct dependencies, and what the production ones bring. */
const installed = Effect.fnUntraced(function* (
  repository: Repository,
  manifests: ReadonlyArray<Manifest>
): Effect.fn.Return<Installed, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const found: Array<Licensed> = []
  const absent: Array<Wanted> = []
  const seen = new Set<string>()
  let more = 0

  /** The real folder of a package as seen from a folder; a link that leaves the repository counts as not installed. */
  const locate = Effect.fnUntraced(function* (from: string, name: string) {
    for (let folder = from; ; folder = path.dirname(folder)) {
      const candidate = path.join(folder, "node_modules", name)
      if (path.basename(folder) !== "node_modules") {
        const real = yield* Effect.result(fs.realPath(candidate))
        if (Result.isSuccess(real)) {
          const relative = path.relative(repository.root, real.success)
          return relative.startsWith("..") || path.isAbsolute(relative) ? undefined : real.success
        }
      }
      if (folder === repository.root || path.dirname(folder) === folder) return undefined
    }
  })

  interface Step {
    readonly from: string
    readonly name: string
    readonly isProduction: boolean
    readonly via: string | undefined
    readonly wanted: Wanted
    readonly isOptional: boolean
  }
  const steps: Array<Step> = manifests.flatMap((manifest) =>
    manifest.dependencies
      .filter(({ section, source }) => section !== "peer" && source !== "path" && source !== "workspace")
      .map((asked) => ({
        from: path.join(repository.root, manifest.folder),
        name: asked.alias,
        isProduction: asked.section === "production" || asked.section === "optional",
        via: undefined,
        wanted: { manifest, asked },
        isOptional: asked.section === "optional"
      }))
  )
  // Production first, so that a package both kinds lead to counts as production.
  steps.sort((a, b) => Number(b.isProduction) - Number(a.isProduction))
  for (let at = 0; at < steps.length; at++) {
    const step = steps[at]
    if (step === undefined) break
    if (found.length >= maxPackages) {
      more = steps.length - at
      break
    }
    const folder = isPackageName(step.name) ? yield* locate(step.from, step.name) : undefined
    if (folder === undefined) {
      if (step.via === undefined && !step.isOptional) absent.push(step.wanted)
      continue
    }
    if (seen.has(folder)) continue
    seen.add(folder)
    const content = yield* Repo.read({ ...repository, root: folder }, "package.json")
    const data = content.text === undefined ? undefined : Result.getOrUndefined(Text.json(content.text))
    // Without its own manifest this is a folder that happens to have the name.
    if (data === undefined) continue
    const licence = Npm.licenceOf(data)
    const hasFile =
      licence === undefined
        ? (yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])).some((name) => licenceFile.test(name))
        : false
    found.push({
      name: Text.string(Text.at(data, "name")) ?? step.name,
      version: Text.string(Text.at(data, "version")) ?? "",
      licence,
      hasFile,
      isProduction: step.isProduction,
      via: step.via,
      file: step.wanted.manifest.path,
      line: step.wanted.asked.line
    })
    if (!step.isProduction) continue
    for (const [section, isOptional] of [
      ["dependencies", false],
      ["optionalDependencies", true]
    ] as const) {
      for (const [name] of Text.entries(Text.at(data, section))) {
        steps.push({ ...step, from: folder, name, via: step.via ?? step.name, isOptional })
      }
    }
  }
  return { found, absent, more }
})

/** A name that can only lead into `node_modules`. */
const isPackageName = (name: string): boolean => /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*$/.test(name) && name.length <= 214

/** What lockfiles say: everything when nothing is installed, else only the direct dependencies that are not. */
const lockedLicences = (
  locks: ReadonlyArray<Lock>,
  isNothingInstalled: boolean,
  absent: ReadonlyArray<Wanted>,
  known: ReadonlySet<string>
): ReadonlyArray<Licensed> => {
  const wanted = new Map(absent.map(({ asked, manifest }) => [asked.name, { asked, manifest }]))
  const found: Array<Licensed> = []
  const taken = new Set<string>()
  for (const lock of locks) {
    if (lock.ecosystem !== "npm" || !lock.packages.some(({ licence }) => licence !== undefined)) continue
    for (const locked of lock.packages) {
      const direct = wanted.get(locked.name)
      const id = `${locked.name}@${locked.version}`
      if (taken.has(id) || known.has(locked.name) || (!isNothingInstalled && direct === undefined)) continue
      taken.add(id)
      found.push({
        name: locked.name,
        version: locked.version,
        licence: locked.licence,
        // The lockfile leaves out the field for what it could not read as well.
        hasFile: true,
        isProduction: locked.isDevelopment !== true,
        via: undefined,
        file: lock.path,
        line: locked.line
      })
    }
  }
  return found
}

/**
 * The findings about licences of dependencies.
 *
 * @category rules
 * @since 0.1.0
 */
export const judged = (packages: ReadonlyArray<Licensed>, isCopyleft: boolean): ReadonlyArray<Finding> =>
  packages.flatMap((found) => {
    const { file, hasFile, isProduction, licence, line, name, version, via } = found
    const who = `${name}${version === "" ? "" : `@${version}`}${via === undefined ? "" : ` (needed by ${via})`}`
    const place = { file, line }
    if (licence === undefined) {
      const severity = !isProduction ? "info" : hasFile ? "low" : "medium"
      const message = hasFile
        ? `${who} declares no licence; its licence file was not judged`
        : `${who} declares no licence and has no licence file`
      return [finding("licence-missing", severity, place, message)]
    }
    if (/^SEE LICEN[CS]E IN/i.test(licence)) {
      const message = `${who} only points to a file: ${licence}`
      return [finding("licence-unknown", isProduction ? "low" : "info", place, message)]
    }
    if (!isProduction) return []
    switch (Spdx.familyOf(licence)) {
      case "copyleft":
        return isCopyleft
          ? []
          : [
              finding(
                "licence-copyleft",
                "medium",
                place,
                `${who} is under ${licence}: what is shipped with it must be too`
              )
            ]
      case "proprietary":
        return [finding("licence-proprietary", "medium", place, `${who} is ${licence}: it may not be passed on`)]
      case "weak-copyleft":
        return [
          finding("licence-weak-copyleft", "info", place, `${who} is under ${licence}: changes to it must be passed on`)
        ]
      case "unknown":
        return [finding("licence-unknown", "low", place, `${who} is under ${licence}, which is no licence known here`)]
      case "permissive":
        return []
    }
  })

const notRead = (
  manifests: ReadonlyArray<Manifest>,
  unseen: ReadonlyArray<Wanted>,
  more: number
): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const names = { cargo: "Cargo", go: "Go", python: "Python" } as const
  for (const ecosystem of ["cargo", "go", "python"] as const) {
    const some = manifests.filter((manifest) => manifest.ecosystem === ecosystem && manifest.dependencies.length > 0)
    const [first] = some
    if (first === undefined) continue
    const message = `the licences of ${names[ecosystem]} dependencies were not looked up: they are not in this repository`
    findings.push(finding("licences-not-read", "info", { file: first.path }, message))
  }
  const [first] = unseen
  if (first !== undefined) {
    const paths = new Set(unseen.map(({ manifest }) => manifest.path))
    const names = [...new Set(unseen.map(({ asked }) => asked.alias))]
    const rest = names.length > 5 ? ` and ${names.length - 5} more` : ""
    const message = `not installed and without a licence in a lockfile, so not looked up: ${names.slice(0, 5).join(", ")}${rest}`
    findings.push(finding("licences-not-read", "info", { file: paths.size === 1 ? first.manifest.path : "" }, message))
  }
  if (more > 0) {
    const message = `more than ${maxPackages} packages are installed; ${more} or more were not read`
    findings.push(finding("licences-not-read", "low", { file: "" }, message))
  }
  return findings
}
