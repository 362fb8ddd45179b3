/**
 * The audited folder as the audits see it: which files belong to it, and their text.
 *
 * It owns the walk: what is skipped, what `.gitignore` says, symbolic links, folders that cannot be read, and the bounds
 * on depth and number. It never throws for what it meets on the way: a hostile tree becomes findings in `problems`.
 * Only a root that is no readable folder is an error.
 *
 * **Details**
 *
 * - Always skipped: version control, `node_modules`, `.espalier`, caches and virtual environments (`skippedAlways`).
 * - Skipped beside a manifest only (`package.json`, `Cargo.toml`, …), since elsewhere they are ordinary names: `build`,
 *   `dist`, `out`, `target`, `vendor` and the like. These are named in one `info` finding.
 * - A symbolic link is never followed: inside the root its target is audited where it really lies, outside it is not
 *   this repository's. So there is no loop to fall into; links that form one are reported.
 *
 * **Invariants**
 *
 * - W1. `files` is sorted by path, holds no path twice, and no path leaves the root.
 * - W2. The same tree gives the same `Repository`, whatever order the file system lists it in: folders are visited one
 *   after the other, only the files of one folder are looked at in parallel.
 *
 * **Gotchas**
 *
 * The listing is a snapshot. A file may be gone, or have become something else, when it is read; `read` says so.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Predicate, Result, Schema } from "effect"
import type { PlatformError } from "effect"

import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"
import * as Ignored from "./ignored.ts"

/**
 * One file of the repository.
 *
 * @category models
 * @since 0.1.0
 */
export interface RepositoryFile {
  /** POSIX, relative to the root. */
  readonly path: string
  readonly bytes: number
}

/**
 * The audited folder.
 *
 * **Details**
 *
 * - `root`: its absolute path.
 * - `files`: sorted by path.
 * - `problems`: what went wrong on the walk, as findings. `code.size` puts them into its audit, the others do not.
 *
 * @category models
 * @since 0.1.0
 */
export interface Repository {
  readonly root: string
  readonly files: ReadonlyArray<RepositoryFile>
  readonly problems: ReadonlyArray<Finding>
}

/**
 * The folder cannot be audited.
 *
 * @category errors
 * @since 0.1.0
 */
export class RepositoryError extends Schema.TaggedError<RepositoryError>()("RepositoryError", {
  path: Schema.String,
  reason: Schema.Literals(["not-found", "not-a-folder", "unreadable"])
}) {
  override get message(): string {
    switch (this.reason) {
      case "not-found":
        return `There is no folder ${this.path}.`
      case "not-a-folder":
        return `${this.path} is a file, not a folder; name the folder of a repository.`
      case "unreadable":
        return `The folder ${this.path} cannot be read; check its permissions.`
    }
  }
}

/**
 * Bounds of the walk.
 *
 * **Details**
 *
 * - `maxFiles`: files to list at most, default 100,000.
 * - `maxDepth`: folders inside folders at most, default 64.
 *
 * Past a bound the walk leaves out the rest and says so in `problems`.
 *
 * @category models
 * @since 0.1.0
 */
export interface OpenOptions {
  readonly maxFiles?: number | undefined
  readonly maxDepth?: number | undefined
}

/**
 * The largest file that is read as text: 2 MB.
 *
 * @category models
 * @since 0.1.0
 */
export const maxTextBytes = 2_000_000

/**
 * What reading a file gave: its text, or why there is none.
 *
 * @category models
 * @since 0.1.0
 */
export type Content =
  | { readonly text: string; readonly why?: undefined }
  | { readonly text: undefined; readonly why: "binary" | "too-large" | "unreadable"; readonly detail: string }

const words = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/))

const skippedAlways = words(`
  .git .hg .svn .jj node_modules bower_components jspm_packages .espalier .venv venv __pycache__
  __pypackages__ .tox .nox .eggs site-packages .mypy_cache .pytest_cache .ruff_cache .hypothesis
  .cache .parcel-cache .turbo .nx .next .nuxt .svelte-kit .astro .docusaurus .vite .yarn .pnpm-store
  .nyc_output .gradle .terraform .bundle .dart_tool .stack-work zig-cache .zig-cache DerivedData
`)

const skippedBesideManifest = words(`
  build dist out target coverage htmlcov _build deps obj vendor third_party third-party thirdparty
  Pods
`)

const manifests = words(`
  package.json Cargo.toml go.mod pyproject.toml setup.py setup.cfg composer.json Gemfile pom.xml
  build.gradle build.gradle.kts CMakeLists.txt Makefile mix.exs Podfile dune-project
`)

/**
 * Lists the files of a repository.
 *
 * **Details**
 *
 * Fails with {@link RepositoryError} when the root is missing, is not a folder or cannot be read; everything below it
 * becomes a finding instead. Nothing is read but `.gitignore` files.
 *
 * @category constructors
 * @since 0.1.0
 */
export const open = Effect.fnUntraced(function* (root: string, options?: OpenOptions | undefined) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const given = path.resolve(root)
  const info = yield* Effect.mapError(fs.stat(given), (error) => rootError(given, error))
  if (info.type !== "Directory") return yield* new RepositoryError({ path: given, reason: "not-a-folder" })
  const absolute = yield* Effect.mapError(fs.realPath(given), (error) => rootError(given, error))

  const maxFiles = options?.maxFiles ?? 100_000
  const maxDepth = options?.maxDepth ?? 64
  const files: Array<RepositoryFile> = []
  const problems: Array<Finding> = []
  const skipped: Array<string> = []
  const onDisk = (relative: string) => (relative === "" ? absolute : path.join(absolute, relative))

  const ignoreFile = Effect.fnUntraced(function* (relative: string, folder: string) {
    const content = yield* readText(fs, onDisk(relative))
    if (content.text === undefined) {
      problems.push(finding("unreadable-gitignore", "low", { file: relative }, `not obeyed: ${content.detail}`))
      return undefined
    }
    const { rules, refused } = Ignored.parse(content.text, folder)
    if (refused > 0) {
      const message = `${refused} of its patterns have too many wildcards to be matched in bounded time; not obeyed`
      problems.push(finding("gitignore-pattern", "info", { file: relative }, message))
    }
    return rules
  })

  const look = Effect.fnUntraced(function* (relative: string) {
    const seen = yield* Effect.result(fs.lstat(onDisk(relative)))
    if (Result.isFailure(seen)) {
      const why = relative.includes("\uFFFD") ? "its name is not valid UTF-8" : reasonOf(seen.failure)
      problems.push(finding("unreadable-file", "low", { file: relative }, `not audited: ${why}`))
      return undefined
    }
    if (seen.success.type === "File") return { path: relative, bytes: Number(seen.success.size) }
    if (seen.success.type === "SymbolicLink") yield* link(relative)
    return undefined
  })

  const link = Effect.fnUntraced(function* (relative: string) {
    const target = yield* Effect.result(fs.realPath(onDisk(relative)))
    const place = { file: relative }
    if (Result.isFailure(target)) {
      problems.push(
        isLoop(target.failure)
          ? finding("link-loop", "low", place, "this symbolic link leads back to itself")
          : finding("broken-link", "low", place, "this symbolic link has no target that can be reached")
      )
      return
    }
    const inside = path.relative(absolute, target.success)
    if (inside === ".." || inside.startsWith(`..${path.sep}`) || path.isAbsolute(inside)) {
      problems.push(finding("link-out", "info", place, "this symbolic link leaves the repository; not followed"))
    } else if (inside === "" || onDisk(relative).startsWith(target.success + path.sep)) {
      problems.push(finding("link-loop", "low", place, "this symbolic link leads to a folder that contains it"))
    }
  })

  interface Folder {
    readonly relative: string
    readonly depth: number
    readonly rules: Ignored.Chain
  }
  const exclude = (yield* Effect.orElseSucceed(fs.exists(onDisk(".git/info/exclude")), () => false))
    ? yield* ignoreFile(".git/info/exclude", "")
    : undefined
  const open: Array<Folder> = [{ relative: "", depth: 0, rules: Ignored.extend(undefined, exclude) }]
  let full = false

  for (let folder = open.pop(); folder !== undefined && !full; folder = open.pop()) {
    const { depth, relative } = folder
    const listed = yield* Effect.result(fs.readDirectoryEntries(onDisk(relative)))
    if (Result.isFailure(listed)) {
      if (relative === "") return yield* rootError(given, listed.failure)
      const message = `this folder was not audited: ${reasonOf(listed.failure)}`
      problems.push(finding("unreadable-folder", "medium", { file: relative }, message))
      continue
    }
    const entries = listed.success.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    const prefix = relative === "" ? "" : `${relative}/`
    const own = entries.some((entry) => entry.name === ".gitignore" && entry.type === "File")
      ? yield* ignoreFile(`${prefix}.gitignore`, relative)
      : undefined
    const rules = Ignored.extend(folder.rules, own)
    const hasManifest = entries.some((entry) => manifests.has(entry.name))
    const folders: Array<Folder> = []
    const candidates: Array<string> = []

    for (const { name, type } of entries) {
      const at = prefix + name
      const isFolder = type === "Directory"
      if (skippedAlways.has(name) || Ignored.test(rules, at, isFolder)) continue
      if (!isFolder) candidates.push(at)
      else if (hasManifest && skippedBesideManifest.has(name)) skipped.push(at)
      else if (depth < maxDepth) folders.push({ relative: at, depth: depth + 1, rules })
      else {
        const message = `folders are nested more than ${maxDepth} deep here; what is inside was not audited`
        problems.push(finding("too-deep", "medium", { file: at }, message))
      }
    }
    for (const file of yield* Effect.forEach(candidates, look, { concurrency: 16 })) {
      if (file === undefined) continue
      if (files.length < maxFiles) files.push(file)
      else full = true
    }
    open.push(...folders.toReversed())
  }

  if (full || (open.length > 0 && files.length >= maxFiles)) {
    const message = `the repository has more than ${maxFiles} files; only the first ${maxFiles} were audited`
    problems.push(finding("too-many-files", "medium", { file: "" }, message))
  }
  if (skipped.length > 0) {
    const message = `not audited as build output or vendored code: ${named(skipped)}`
    problems.push(finding("skipped-folders", "info", { file: "" }, message))
  }
  const repository: Repository = {
    root: absolute,
    files: files.toSorted((a, b) => (a.path < b.path ? -1 : 1)),
    problems: problems.toSorted(byPlace)
  }
  return repository
})

/**
 * Reads one file, and says why when it gives no text.
 *
 * **Details**
 *
 * - `binary`: a NUL in the first 8,000 bytes, or more than one character in ten is not valid UTF-8.
 * - `too-large`: more than {@link maxTextBytes}.
 * - `unreadable`: gone, not a regular file any more, or refused by the system.
 *
 * UTF-16 with a byte order mark is text. Never fails.
 *
 * @category reading
 * @since 0.1.0
 */
export const read = Effect.fnUntraced(function* (
  repository: Repository,
  file: string
): Effect.fn.Return<Content, never, FileSystem.FileSystem | Path.Path> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* readText(fs, path.join(repository.root, file))
})

/**
 * The text of one file, or `undefined` when it is binary, too large or unreadable; {@link read} says which.
 *
 * @category reading
 * @since 0.1.0
 */
export const text = (
  repository: Repository,
  file: string
): Effect.Effect<string | undefined, never, FileSystem.FileSystem | Path.Path> =>
  Effect.map(read(repository, file), (content) => content.text)

const readText = Effect.fnUntraced(function* (fs: FileSystem.FileSystem, file: string): Effect.fn.Return<Content> {
  // Asked again, because the file may have become a pipe or grown since it was listed: a pipe would never end.
  const seen = yield* Effect.result(fs.lstat(file))
  if (Result.isFailure(seen)) return notText("unreadable", reasonOf(seen.failure))
  if (seen.success.type !== "File") return notText("unreadable", "it is not a regular file")
  if (Number(seen.success.size) > maxTextBytes) {
    return notText("too-large", `it is larger than ${maxTextBytes / 1_000_000} MB`)
  }
  const bytes = yield* Effect.result(fs.readFile(file))
  if (Result.isFailure(bytes)) return notText("unreadable", reasonOf(bytes.failure))
  return decode(bytes.success)
})

const notText = (why: "binary" | "too-large" | "unreadable", detail: string): Content => ({
  text: undefined,
  why,
  detail
})

const utf8 = new TextDecoder("utf-8")

const decode = (bytes: Uint8Array): Content => {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { text: new TextDecoder("utf-16le").decode(bytes) }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { text: new TextDecoder("utf-16be").decode(bytes) }
  const binary = notText("binary", "it is a binary file")
  if (bytes.subarray(0, 8_000).includes(0)) return binary
  const text = utf8.decode(bytes)
  let broken = 0
  for (let at = text.indexOf("\uFFFD"); at >= 0; at = text.indexOf("\uFFFD", at + 1)) broken++
  return broken > 8 && broken > text.length / 10 ? binary : { text }
}

const rootError = (path: string, error: PlatformError.PlatformError): RepositoryError =>
  new RepositoryError({
    path,
    reason: isNotFound(error) ? "not-found" : codeOf(error) === "ENOTDIR" ? "not-a-folder" : "unreadable"
  })

const isNotFound = (error: PlatformError.PlatformError): boolean => Predicate.isTagged(error.reason, "NotFound")

const codeOf = (error: PlatformError.PlatformError): unknown => {
  const cause: unknown = error.reason.cause
  return typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
}

const isLoop = (error: PlatformError.PlatformError): boolean => codeOf(error) === "ELOOP"

const reasonOf = (error: PlatformError.PlatformError): string => {
  if (isNotFound(error)) return "it is gone"
  if (Predicate.isTagged(error.reason, "PermissionDenied")) return "permission denied"
  const code = codeOf(error)
  return typeof code === "string" ? `the system said ${code}` : "the system refused to read it"
}

const named = (paths: ReadonlyArray<string>): string => {
  const shown = paths.slice(0, 8).join(", ")
  return paths.length > 8 ? `${shown} and ${paths.length - 8} more, ${paths.length} in all` : shown
}

const byPlace = (a: Finding, b: Finding): number =>
  a.file === b.file ? (a.rule < b.rule ? -1 : 1) : a.file < b.file ? -1 : 1
