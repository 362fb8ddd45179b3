/**
 * Which manifests and lockfiles a repository has, read and parsed.
 *
 * **Details**
 *
 * - A manifest below a folder of tests, fixtures or templates is data of a test, often broken on purpose: it is counted
 *   and not audited, unless a workspace names its folder as a member.
 * - What cannot be read or parsed is a finding (`broken-manifest`, `broken-lockfile`, `too-large`), never an error.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Glob, Result } from "effect"
import type { Path } from "effect"
import { Failure } from "espalier"

import { finding } from "../Finding.ts"
import type { Finding } from "../Finding.ts"
import * as Repo from "../Repository.ts"
import type { Repository, RepositoryFile } from "../Repository.ts"
import * as Cargo from "./cargo.ts"
import * as Go from "./golang.ts"
import * as Locks from "./locks.ts"
import { baseOf, folderOf, inside, isInside, upwards } from "./model.ts"
import type { Broken, Ecosystem, Lock, Manifest } from "./model.ts"
import * as Npm from "./npm.ts"
import * as Python from "./python.ts"
import * as Text from "./text.ts"

/**
 * The manifests of a repository.
 *
 * **Details**
 *
 * - `manifests`: sorted by path.
 * - `folders`: for each ecosystem the folders that hold any manifest, fixtures included: where one package ends and the
 *   next begins.
 * - `workspaces`: for each folder the npm workspace it is a member of, by the path of that manifest.
 * - `fixtures`: the manifests that were left out as data of tests.
 * - `problems`: what could not be read, as findings.
 *
 * @category models
 * @since 0.1.0
 */
export interface Manifests {
  readonly manifests: ReadonlyArray<Manifest>
  readonly folders: ReadonlyMap<Ecosystem, ReadonlySet<string>>
  readonly workspaces: ReadonlyMap<string, Manifest>
  readonly fixtures: ReadonlyArray<string>
  readonly problems: ReadonlyArray<Finding>
}

const fixtureSegments = new Set(
  [
    "test tests __tests__ spec specs fixture fixtures __fixtures__ testdata test-data test_data test-fixtures",
    "__mocks__ mocks snapshots __snapshots__ e2e template templates boilerplate vendor third_party third-party"
  ]
    .join(" ")
    .split(" ")
)

/**
 * Whether a path lies where tests keep their data.
 *
 * @category paths
 * @since 0.1.0
 */
export const isFixture = (path: string): boolean =>
  folderOf(path)
    .split("/")
    .some((segment) => fixtureSegments.has(segment) || segment.startsWith("template-"))

const ecosystemOf = (path: string): Ecosystem | undefined => {
  const name = baseOf(path)
  switch (name) {
    case "package.json":
      return "npm"
    case "Cargo.toml":
      return "cargo"
    case "go.mod":
      return "go"
    case "pyproject.toml":
    case "setup.cfg":
      return "python"
    default:
      if (/^requirements([-_.].*)?\.txt$/.test(name)) return "python"
      return /(^|\/)requirements\/[^/]+\.txt$/.test(path) ? "python" : undefined
  }
}

/**
 * Reads every manifest of a repository.
 *
 * **Details**
 *
 * Fails only when the audited folder itself cannot be reached any more: `transient` when the system may yet give it
 * back, `denied` when it refuses, `capability` when it is gone.
 *
 * @category reading
 * @since 0.1.0
 */
export const load = Effect.fnUntraced(function* (
  repository: Repository
): Effect.fn.Return<Manifests, Failure.Failure, FileSystem.FileSystem | Path.Path> {
  yield* reachable(repository)
  const present = new Set(repository.files.map(({ path }) => path))
  const parsed = new Map<string, Manifest>()
  const broken: Array<readonly [path: string, problem: Finding]> = []
  const folders = new Map<Ecosystem, Set<string>>()
  for (const { path } of repository.files) {
    const ecosystem = ecosystemOf(path)
    if (ecosystem === undefined) continue
    const known = folders.get(ecosystem)
    if (known === undefined) folders.set(ecosystem, new Set([folderOf(path)]))
    else known.add(folderOf(path))
    const content = yield* Repo.read(repository, path)
    if (content.text === undefined) {
      const rule = content.why === "too-large" ? "too-large" : "broken-manifest"
      broken.push([path, finding(rule, "high", { file: path }, `this manifest was not read: ${content.detail}`)])
      continue
    }
    const result = parse(path, ecosystem, content.text, present)
    if (Result.isSuccess(result)) parsed.set(path, result.success)
    else broken.push([path, notParsed("broken-manifest", path, result.failure)])
  }
  const workspaces = yield* membership(repository, parsed, broken)
  const isData = (path: string) => isFixture(path) && !workspaces.has(folderOf(path))
  const manifests: Array<Manifest> = []
  const fixtures: Array<string> = broken.map(([path]) => path).filter(isData)
  for (const manifest of parsed.values()) {
    if (isData(manifest.path)) fixtures.push(manifest.path)
    else if (!isEmptySetupCfg(manifest)) manifests.push(inherited(manifest, parsed))
  }
  return {
    manifests,
    folders,
    workspaces,
    fixtures: fixtures.toSorted(),
    problems: broken.filter(([path]) => !isData(path)).map(([, problem]) => problem)
  }
})

const reachable = Effect.fnUntraced(function* (
  repository: Repository
): Effect.fn.Return<void, Failure.Failure, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const seen = yield* Effect.result(fs.stat(repository.root))
  if (Result.isSuccess(seen)) return
  switch (seen.failure.reason._tag) {
    case "NotFound":
      return yield* Failure.capability("the audited folder is gone")
    case "PermissionDenied":
      return yield* Failure.denied("the audited folder may not be read any more")
    default:
      return yield* Failure.transient("the audited folder cannot be read at the moment")
  }
})

const parse = (
  path: string,
  ecosystem: Ecosystem,
  text: string,
  present: ReadonlySet<string>
): Result.Result<Manifest, Broken> => {
  const conflict = Text.conflictLine(text)
  if (conflict !== undefined) return Result.fail({ line: conflict, message: "git left a merge conflict here" })
  switch (ecosystem) {
    case "npm":
      return Npm.manifest(path, text)
    case "cargo":
      return Cargo.manifest(path, text, present.has(inside(folderOf(path), "src/main.rs")))
    case "go":
      return Go.manifest(path, text)
    case "python":
      return baseOf(path) === "pyproject.toml"
        ? Python.pyproject(path, text)
        : baseOf(path) === "setup.cfg"
          ? Python.setupCfg(path, text)
          : Python.requirements(path, text)
  }
}

const isEmptySetupCfg = (manifest: Manifest): boolean =>
  baseOf(manifest.path) === "setup.cfg" && manifest.name === undefined && manifest.dependencies.length === 0

const notParsed = (rule: string, path: string, { line, message }: Broken): Finding =>
  finding(rule, "high", { file: path, line }, `cannot be parsed: ${message}`)

const inherited = (manifest: Manifest, all: ReadonlyMap<string, Manifest>): Manifest => {
  if (manifest.ecosystem !== "cargo" || !manifest.dependencies.some(({ source }) => source === "workspace"))
    return manifest
  for (const folder of upwards(manifest.folder)) {
    const above = all.get(inside(folder, "Cargo.toml"))
    if (above !== undefined && Text.at(above.data, "workspace") !== undefined) return Cargo.inherit(manifest, above)
  }
  return manifest
}

/** Which npm folders are members of which workspace. */
const membership = Effect.fnUntraced(function* (
  repository: Repository,
  parsed: ReadonlyMap<string, Manifest>,
  broken: Array<readonly [string, Finding]>
) {
  const members = new Map<string, Manifest>()
  const npm = [...parsed.values()].filter(({ ecosystem }) => ecosystem === "npm")
  const byFolder = new Map(npm.map((manifest) => [manifest.folder, manifest]))
  const claim = (root: Manifest, globs: ReadonlyArray<string>) => {
    const clean = globs.slice(0, 200).map((glob) => glob.replace(/^(!?)(\.\/)?(.*?)\/?$/, "$1$3"))
    const wanted = clean.filter((glob) => glob !== "" && !glob.startsWith("!")).map((glob) => Glob.make(glob))
    const refused = clean.filter((glob) => glob.startsWith("!")).map((glob) => Glob.make(glob.slice(1)))
    if (wanted.length === 0) return
    for (const { folder } of npm) {
      if (folder === root.folder || !isInside(folder, root.folder)) continue
      const relative = root.folder === "" ? folder : folder.slice(root.folder.length + 1)
      const within = (glob: Glob.Glob) => Glob.match(glob, relative)
      if (wanted.some(within) && !refused.some(within)) members.set(folder, root)
    }
  }
  for (const { path } of repository.files) {
    if (baseOf(path) !== "pnpm-workspace.yaml") continue
    const root = byFolder.get(folderOf(path))
    const text = yield* Repo.text(repository, path)
    if (text === undefined) continue
    const read = Text.yaml(text)
    if (Result.isFailure(read)) broken.push([path, notParsed("broken-manifest", path, read.failure)])
    else if (root !== undefined) claim(root, Text.strings(Text.at(read.success, "packages")))
  }
  for (const manifest of npm) claim(manifest, manifest.members)
  return members
})

/**
 * The lockfiles of a repository that are not data of tests.
 *
 * **Details**
 *
 * - `unread`: those that exist and could not be read or parsed; a finding in `problems` says why.
 *
 * @category models
 * @since 0.1.0
 */
export interface LockFiles {
  readonly locks: ReadonlyArray<Lock>
  readonly unread: ReadonlyArray<Lock>
  readonly problems: ReadonlyArray<Finding>
}

/**
 * Reads every lockfile of a repository, one after the other.
 *
 * @category reading
 * @since 0.1.0
 */
export const loadLocks = Effect.fnUntraced(function* (
  repository: Repository
): Effect.fn.Return<LockFiles, never, FileSystem.FileSystem | Path.Path> {
  const locks: Array<Lock> = []
  const unread: Array<Lock> = []
  const problems: Array<Finding> = []
  const lockfiles = repository.files.flatMap((file: RepositoryFile) => {
    const kind = Locks.names.get(baseOf(file.path))
    return kind === undefined || isFixture(file.path) ? [] : [{ file, kind }]
  })
  for (const { file, kind } of lockfiles) {
    if (kind.format === "bun" || kind.format === "pipenv") {
      locks.push(Locks.present(file.path, kind.ecosystem, kind.format))
      const message = `lockfiles of ${kind.format === "bun" ? "Bun" : "Pipenv"} are not read; only its presence was noted`
      problems.push(finding("lockfile-not-read", "info", { file: file.path }, message))
      continue
    }
    const { plain, toml } = Text.maxLockfileBytes
    const content = yield* Text.readLarge(repository, file, Locks.isToml(kind.format) ? toml : plain)
    if (content.text === undefined) {
      unread.push(Locks.present(file.path, kind.ecosystem, kind.format))
      const rule = content.why === "too-large" ? "too-large" : "broken-lockfile"
      const severity = content.why === "too-large" ? "medium" : "high"
      const message = `this lockfile was not read: ${content.detail}`
      problems.push(finding(rule, severity, { file: file.path }, message))
      continue
    }
    const result = Locks.parse(file.path, kind.format, content.text)
    if (Result.isSuccess(result)) locks.push(result.success)
    else {
      unread.push(Locks.present(file.path, kind.ecosystem, kind.format))
      problems.push(notParsed("broken-lockfile", file.path, result.failure))
    }
    yield* Effect.yieldNow
  }
  return { locks, unread, problems }
})
