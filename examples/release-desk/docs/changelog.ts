/**
 * The changelog against the tags of git and the version of the manifest.
 *
 * No program is run: tags are read from git's own files.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Predicate } from "effect"
import semver from "semver"

import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { read, text } from "../Repository.ts"
import { isMarkdown, parse } from "./markdown.ts"

/** So many of the newest tags are compared. */
const newest = 10

const version = /\bv?(\d{1,9}\.\d{1,9}(?:\.\d{1,9})?(?:-[0-9A-Za-z.-]{1,50})?)\b/g

/** A file of git's, or nothing when it is none: a pipe in its place would never end. */
const small = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* Effect.option(fs.stat(file))
  if (info._tag === "None" || info.value.type !== "File" || Number(info.value.size) > 20_000_000) return ""
  return yield* Effect.orElseSucceed(fs.readFileString(file), () => "")
})

/** The folder in which git keeps its refs: `.git`, or where a file of that name points. */
const gitFolder = Effect.fnUntraced(function* (root: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const dot = path.join(root, ".git")
  const info = yield* Effect.option(fs.stat(dot))
  if (info._tag === "None") return undefined
  if (info.value.type === "Directory") return dot
  const pointer = yield* small(dot)
  const target = /^gitdir:[ \t]{0,9}([^\0\r\n]{1,1000})/m.exec(pointer)?.[1]?.trim()
  if (target === undefined) return undefined
  const folder = path.resolve(root, target)
  const common = (yield* small(path.join(folder, "commondir"))).split("\n", 1)[0]!.trim()
  // A path that holds a NUL is no path; the file system would throw.
  return [folder, common].some((part) => part.includes("\0")) ? undefined : path.resolve(folder, common)
})

/** The tags of a repository that are versions, newest first. */
const tagsOf = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const names = new Set(
    yield* Effect.orElseSucceed(
      fs.readDirectory(path.join(folder, "refs", "tags"), { recursive: true }),
      (): Array<string> => []
    )
  )
  const packed = yield* small(path.join(folder, "packed-refs"))
  for (const [, name] of packed.matchAll(/^[0-9a-f]{40,64} refs\/tags\/(.{1,200})$/gm)) names.add(name!)
  const versions: Array<{ readonly tag: string; readonly version: string }> = []
  for (const tag of names) {
    const clean = semver.clean(tag) ?? semver.valid(semver.coerce(/^v?\d+\.\d+$/.test(tag) ? tag : ""))
    if (clean !== null && semver.prerelease(clean) === null) versions.push({ tag, version: clean })
  }
  return versions.toSorted((a, b) => semver.rcompare(a.version, b.version))
})

const ownTables = new Set(["package", "workspace.package", "project", "tool.poetry"])

const manifestVersion = (file: string, content: string): string | undefined => {
  if (file === "package.json") {
    try {
      const parsed: unknown = JSON.parse(content)
      return Predicate.hasProperty(parsed, "version") && Predicate.isString(parsed.version) ? parsed.version : undefined
    } catch {
      return undefined
    }
  }
  // Only the version of the package itself: a dependency's own table may name one too.
  let own = false
  for (const row of content.split("\n")) {
    const line = row.slice(0, 200)
    const table = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim()
    if (line.trimStart().startsWith("[")) own = table !== undefined && ownTables.has(table)
    else if (own) {
      const found = /^\s*version\s*=\s*["']([^"']{1,100})["']/.exec(line)?.[1]
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** A version that says itself that it is none yet. */
const isUnreleased = (declared: string): boolean =>
  declared.startsWith("0.0.0") || /[-.]?(dev|alpha|beta|rc|pre|SNAPSHOT)/i.test(declared)

/**
 * Compares the changelog with what was released.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const file = repository.files
    .map(({ path }) => path)
    .find((path) =>
      /^(docs\/)?(changelog|changes|history|news|releases|release[-_]notes)(\.(md|markdown|mdown|rst|txt|adoc|org|html))?$/i.test(
        path
      )
    )
  const git = yield* gitFolder(repository.root)
  const tags = git === undefined ? [] : yield* tagsOf(git)
  const facts = { changelog: file ?? null, git: git !== undefined, tags: tags.length }
  if (file === undefined) {
    if (repository.files.length === 0) return { findings: [], facts } satisfies Audit
    const severity = tags.length > 0 ? "low" : "info"
    return {
      findings: [
        finding("missing-changelog", severity, { file: "" }, `no changelog, with ${tags.length} released versions`)
      ],
      facts
    } satisfies Audit
  }
  const content = yield* read(repository, file)
  if (content.text === undefined) {
    const findings = [finding("unreadable-changelog", "low", { file }, `not read: ${content.detail}`)]
    return { findings, facts } satisfies Audit
  }
  const document = isMarkdown(file) ? parse(content.text) : "not Markdown"
  const titles =
    typeof document === "string"
      ? content.text.split("\n", 20_000).map((line) => line.slice(0, 200))
      : document.headings.map((heading) => heading.text)
  const written = new Set<string>()
  for (const title of titles) {
    for (const [, found = ""] of title.slice(0, 500).matchAll(version)) {
      written.add(found)
      const full = semver.valid(semver.coerce(found, { includePrerelease: true }))
      if (full !== null) written.add(full)
    }
  }
  const unreleased = titles.some((title) => /unreleased|upcoming|\bnext\b/i.test(title))
  const findings: Array<Finding> = []
  if (written.size === 0) {
    // One word about all of it, not one for each release.
    if (!unreleased || tags.length > 0) {
      findings.push(finding("changelog-without-versions", "low", { file }, "no heading names a version"))
    }
    return { findings, facts: { ...facts, entries: 0, unreleased } } satisfies Audit
  }
  for (const { tag, version } of tags.slice(0, newest)) {
    if (written.has(version) || written.has(tag.replace(/^v/, ""))) continue
    findings.push(finding("undocumented-release", "medium", { file }, `${tag} was released and has no entry`))
  }
  for (const manifest of ["package.json", "Cargo.toml", "pyproject.toml"]) {
    if (!repository.files.some(({ path }) => path === manifest)) continue
    const declared = manifestVersion(manifest, (yield* text(repository, manifest)) ?? "")
    if (declared === undefined || written.has(declared) || unreleased || isUnreleased(declared)) continue
    const message = `${manifest} is at ${declared.slice(0, 60)}, which the changelog does not mention`
    findings.push(finding("version-without-entry", "low", { file }, message))
  }
  return { findings: atMost(findings, 30), facts: { ...facts, entries: written.size, unreleased } } satisfies Audit
})
