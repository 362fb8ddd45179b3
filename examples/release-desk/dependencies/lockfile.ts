/**
 * The audit *dependencies.lockfile*: do manifests and lockfiles exist, do they fit, and do they say exactly enough.
 *
 * | rule | finds |
 * |---|---|
 * | `broken-manifest`, `broken-lockfile`, `too-large` | a file that cannot be read or parsed |
 * | `no-lockfile` | a manifest with dependencies and nothing that fixes their versions |
 * | `several-lockfiles` | lockfiles of several tools side by side |
 * | `lockfile-out-of-step` | a direct dependency that the lockfile lacks, or locks at a version the manifest refuses |
 * | `unpinned-dependency` | a dependency that may be replaced under the same manifest |
 * | `duplicate-package` | one package locked at several versions |
 * | `no-manifest`, `not-audited`, `fixture-manifests`, `lockfile-not-read` | what this audit did not look at |
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { FileSystem, Path } from "effect"
import type { Failure } from "espalier"
import semver from "semver"

import { atMost, finding } from "../Finding.ts"
import type { Audit, Finding, Severity } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import * as Manifests from "./manifests.ts"
import { baseOf, folderOf, inside, upwards } from "./model.ts"
import type { Dependency, Ecosystem, Lock, Manifest } from "./model.ts"
import * as Versions from "./versions.ts"

/**
 * Bounds of the audit.
 *
 * **Details**
 *
 * - `limit`: findings per rule at most, default 20; one more says how many there are in all.
 *
 * @category models
 * @since 0.1.0
 */
export interface AuditOptions {
  readonly limit?: number | undefined
}

/**
 * Audits the manifests and lockfiles of a repository.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  options?: AuditOptions | undefined
): Effect.fn.Return<Audit, Failure.Failure, FileSystem.FileSystem | Path.Path> {
  const { fixtures, manifests, problems, workspaces } = yield* Manifests.load(repository)
  const { locks, problems: lockProblems, unread } = yield* Manifests.loadLocks(repository)
  const findings: Array<Finding> = [...problems, ...lockProblems]
  findings.push(...severalLockfiles([...locks, ...unread]))
  for (const manifest of manifests) {
    yield* Effect.yieldNow
    const found = covering(manifest, locks, workspaces)
    const hidden = covering(manifest, unread, workspaces)
    if (found.length === 0 && hidden.length === 0) findings.push(...withoutLockfile(manifest, manifests))
    const overridden = workspaces.get(manifest.folder)?.overridden ?? new Set()
    for (const lock of found) findings.push(...outOfStep(manifest, lock, overridden))
    findings.push(...unpinned(manifest, found.length > 0 || hidden.length > 0))
  }
  const duplicates: Array<Finding> = []
  for (const lock of locks) {
    yield* Effect.yieldNow
    duplicates.push(...duplicated(lock))
  }
  findings.push(...duplicates, ...notLookedAt(repository, manifests, fixtures))
  return {
    findings: atMost(findings, options?.limit ?? 20),
    facts: {
      manifests: manifests.length,
      lockfiles: locks.length + unread.length,
      ecosystems: [...new Set(manifests.map(({ ecosystem }) => ecosystem))].toSorted(),
      directDependencies: manifests.reduce((sum, { dependencies }) => sum + dependencies.length, 0),
      lockedPackages: locks.reduce((sum, { packages }) => sum + packages.length, 0),
      duplicatedPackages: duplicates.length,
      fixtureManifests: fixtures.length
    }
  }
})

/**
 * The lockfiles that a manifest's versions come from: those in its folder, else those of the workspace above it.
 *
 * @category rules
 * @since 0.1.0
 */
export const covering = (
  manifest: Manifest,
  locks: ReadonlyArray<Lock>,
  workspaces: ReadonlyMap<string, Manifest>
): ReadonlyArray<Lock> => {
  // A list of requirements and a setup.cfg are never locked by another file.
  if (manifest.ecosystem === "python" && baseOf(manifest.path) !== "pyproject.toml") return []
  for (const folder of upwards(manifest.folder)) {
    const here = locks.filter(
      (lock) =>
        lock.ecosystem === manifest.ecosystem &&
        lock.folder === folder &&
        (folder === manifest.folder ||
          (lock.knows(manifest) &&
            (lock.ecosystem !== "npm" || workspaces.get(manifest.folder)?.folder === lock.folder)))
    )
    if (here.length > 0) return here
  }
  return []
}

/**
 * Lockfiles of several tools in one folder.
 *
 * @category rules
 * @since 0.1.0
 */
export const severalLockfiles = (locks: ReadonlyArray<Lock>): ReadonlyArray<Finding> => {
  const groups = Map.groupBy(locks, (lock) => `${lock.ecosystem} ${lock.folder}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (first === undefined || group.length < 2) return []
    const names = group.map(({ path }) => baseOf(path)).join(" and ")
    const message = `${names} lie side by side: which versions are installed depends on the tool; keep one`
    return [finding("several-lockfiles", "low", { file: first.path }, message)]
  })
}

const toolOf: Readonly<Record<Ecosystem, string>> = {
  npm: "package-lock.json, yarn.lock or pnpm-lock.yaml",
  cargo: "Cargo.lock",
  go: "go.sum",
  python: "poetry.lock, uv.lock or pinned requirements"
}

const withoutLockfile = (manifest: Manifest, all: ReadonlyArray<Manifest>): ReadonlyArray<Finding> => {
  const locked = manifest.dependencies.filter(({ section, source }) => section !== "peer" && source !== "path")
  if (locked.length === 0) return []
  if (manifest.ecosystem === "python") {
    if (baseOf(manifest.path) !== "pyproject.toml" || locked.every(({ section }) => section === "build")) return []
    const pinned = all.some(
      ({ dependencies, folder, path }) =>
        folder === manifest.folder &&
        baseOf(path).startsWith("requirements") &&
        dependencies.length > 0 &&
        dependencies.every(({ range }) => range.startsWith("=="))
    )
    if (pinned) return []
  }
  const place = { file: manifest.path }
  const count = locked.length === 1 ? "one dependency" : `${locked.length} dependencies`
  if (manifest.kind === "library" && manifest.ecosystem !== "go") {
    const message = `a library with ${count} and no lockfile (${toolOf[manifest.ecosystem]}): its own tests run on other versions every day`
    return [finding("no-lockfile", "info", place, message)]
  }
  const message = `${count} and no lockfile (${toolOf[manifest.ecosystem]}): two installs can give different versions`
  return [finding("no-lockfile", manifest.folder === "" ? "medium" : "low", place, message)]
}

/**
 * The direct dependencies about which manifest and lockfile disagree.
 *
 * @category rules
 * @since 0.1.0
 */
export const outOfStep = (manifest: Manifest, lock: Lock, overridden: ReadonlySet<string>): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const name = baseOf(lock.path)
  for (const asked of manifest.dependencies) {
    if (asked.section === "peer" || (manifest.ecosystem === "python" && asked.section === "build")) continue
    const place = { file: manifest.path, line: asked.line }
    const found = lock.resolve(manifest, asked)
    if (found._tag === "Unknown") continue
    if (found._tag === "Missing") {
      if (manifest.ecosystem === "go" && asked.source === "path") continue
      // A module that is only needed further down may be pruned from go.sum.
      if (manifest.go?.indirect.has(asked.name) === true) continue
      const severity = asked.section === "optional" ? "low" : "medium"
      findings.push(finding("lockfile-out-of-step", severity, place, `${asked.alias} is not in ${name}`))
      continue
    }
    if (overridden.has(asked.alias) || manifest.overridden.has(asked.alias)) continue
    const sameRange = found.range === undefined || asked.alias !== asked.name || same(found.range, asked.range)
    if (sameRange && found.range !== undefined) continue
    const fits = found.versions.map((version) => accepts(manifest.ecosystem, asked, version))
    const refused = fits.length > 0 && fits.every((fit) => fit === false)
    if (sameRange && !refused) continue
    const version = found.versions.length === 0 ? "" : ` at ${found.versions.slice(0, 5).join(", ")}`
    if (refused) {
      const message = `${asked.alias} is locked${version} in ${name}, which ${asked.range} does not accept`
      findings.push(finding("lockfile-out-of-step", "medium", place, message))
    } else {
      const message = `${name} was made for ${asked.alias} ${found.range}, the manifest says ${asked.range}`
      findings.push(finding("lockfile-out-of-step", lock.format === "pnpm" ? "medium" : "low", place, message))
    }
  }
  return findings
}

const same = (a: string, b: string): boolean => a.replace(/\s+/g, " ").trim() === b.replace(/\s+/g, " ").trim()

const accepts = (ecosystem: Ecosystem, asked: Dependency, version: string): boolean | undefined => {
  if (asked.source !== "registry" || asked.range === "") return undefined
  switch (ecosystem) {
    case "npm":
      return Versions.npm(asked.range, version)
    case "cargo":
      return Versions.cargo(asked.range, version)
    case "python":
      return Versions.python(asked.range, version)
    case "go":
      return undefined
  }
}

/**
 * The dependencies that may change under the same manifest.
 *
 * **Details**
 *
 * A lockfile softens it for an application; a library's users never see its lockfile. Python's habit of asking for a
 * name alone is `low`.
 *
 * @category rules
 * @since 0.1.0
 */
export const unpinned = (manifest: Manifest, isLocked: boolean): ReadonlyArray<Finding> =>
  manifest.dependencies.flatMap((asked) => {
    if (asked.loose === undefined || asked.section === "peer") return []
    if (asked.section === "build" && manifest.ecosystem === "python") return []
    const isOpen = asked.loose.startsWith("any later version")
    if (isOpen && asked.section !== "production") return []
    const isPython = manifest.ecosystem === "python" && asked.loose === "any version"
    const base: Severity = isOpen || isPython || asked.section === "development" ? "low" : "medium"
    const softened = isLocked && manifest.kind !== "library" && !asked.loose.startsWith("a path")
    const severity = !softened ? base : base === "medium" ? "low" : "info"
    const written = asked.range === "" || asked.range === asked.loose ? "" : ` (${asked.range})`
    const message = `${asked.alias}${written} accepts ${asked.loose}`
    return [finding("unpinned-dependency", severity, { file: manifest.path, line: asked.line }, message)]
  })

/**
 * The packages of a lockfile that are locked at several versions, those with most versions first.
 *
 * @category rules
 * @since 0.1.0
 */
export const duplicated = (lock: Lock): ReadonlyArray<Finding> => {
  if (lock.ecosystem !== "npm" && lock.ecosystem !== "cargo") return []
  const versions = new Map<string, Map<string, number>>()
  for (const { line, name, version } of lock.packages) {
    const known = versions.get(name)
    if (known === undefined) versions.set(name, new Map([[version, line]]))
    else if (!known.has(version)) known.set(version, line)
  }
  const found = [...versions]
    .filter(([, of]) => of.size > 1)
    .map(([name, of]) => ({ name, line: [...of.values()][1] ?? 0, versions: [...of.keys()].toSorted(byVersion) }))
  // The builds of one native package for many platforms are one matter, not twenty.
  const families = Map.groupBy(found, ({ name, versions }) =>
    name.startsWith("@") ? `${folderOf(name)} ${versions.join(" ")}` : name
  )
  return [...families.values()]
    .flatMap((family) => {
      const [first] = family
      if (first === undefined) return []
      if (family.length < 3) return family
      return [{ ...first, name: `${first.name} and ${family.length - 1} more of ${folderOf(first.name)}` }]
    })
    .toSorted((a, b) => b.versions.length - a.versions.length || (a.name < b.name ? -1 : 1))
    .map(({ line, name, versions: all }) => {
      const shown = all.length > 8 ? `${all.slice(0, 8).join(", ")} and ${all.length - 8} more` : all.join(", ")
      const message = `${name} is locked at ${all.length} versions: ${shown}`
      return finding("duplicate-package", "info", { file: lock.path, line }, message)
    })
}

const byVersion = (a: string, b: string): number =>
  semver.valid(a) !== null && semver.valid(b) !== null ? semver.compare(a, b) : a < b ? -1 : 1

const otherManifests: ReadonlyMap<string, string> = new Map([
  ["Gemfile", "Ruby"],
  ["composer.json", "PHP"],
  ["pom.xml", "Maven"],
  ["build.gradle", "Gradle"],
  ["build.gradle.kts", "Gradle"],
  ["mix.exs", "Elixir"],
  ["pubspec.yaml", "Dart"],
  ["Package.swift", "Swift"],
  ["stack.yaml", "Haskell"],
  ["deno.json", "Deno"],
  ["deno.jsonc", "Deno"],
  ["gleam.toml", "Gleam"],
  ["Pipfile", "Pipenv"],
  ["conanfile.txt", "Conan"],
  ["vcpkg.json", "vcpkg"]
])

const notLookedAt = (
  repository: Repository,
  manifests: ReadonlyArray<Manifest>,
  fixtures: ReadonlyArray<string>
): ReadonlyArray<Finding> => {
  const findings: Array<Finding> = []
  const others = new Map<string, string>()
  for (const { path } of repository.files) {
    const kind = otherManifests.get(baseOf(path))
    if (kind !== undefined && !others.has(kind) && !Manifests.isFixture(path)) others.set(kind, path)
    if (baseOf(path) === "setup.py" && !Manifests.isFixture(path)) {
      const folder = folderOf(path)
      const said = ["pyproject.toml", "setup.cfg"].some((name) =>
        manifests.some(
          ({ dependencies, path }) =>
            path === inside(folder, name) && dependencies.some(({ section }) => section === "production")
        )
      )
      if (said) continue
      const message = "a setup.py is a program and is not run: the dependencies it names were not read"
      findings.push(finding("not-audited", "info", { file: path }, message))
    }
  }
  for (const [kind, path] of others) {
    findings.push(finding("not-audited", "info", { file: path }, `dependencies of ${kind} are not audited`))
  }
  if (fixtures.length > 0) {
    const shown = fixtures.slice(0, 3).join(", ")
    const many = fixtures.length === 1 ? "1 manifest" : `${fixtures.length} manifests`
    const more = fixtures.length > 3 ? ", …" : ""
    const message = `${many} in folders of tests, fixtures or templates ${fixtures.length === 1 ? "was" : "were"} not audited: ${shown}${more}`
    findings.push(finding("fixture-manifests", "info", { file: "" }, message))
  }
  if (manifests.length === 0 && findings.length === 0) {
    const message = "no manifest of npm, Cargo, Go or Python was found: there are no dependencies to audit"
    findings.push(finding("no-manifest", "info", { file: "" }, message))
  }
  return findings
}
