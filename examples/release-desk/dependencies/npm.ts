/**
 * `package.json` as a {@link Manifest}.
 *
 * @since 0.1.0
 */
import { Result } from "effect"
import semver from "semver"

import { folderOf, maxDependencies, resolveFrom } from "./model.ts"
import type { Broken, DeclaredLicence, Dependency, Manifest } from "./model.ts"
import * as Text from "./text.ts"
import * as Versions from "./versions.ts"

const sections = [
  ["dependencies", "production"],
  ["optionalDependencies", "optional"],
  ["devDependencies", "development"],
  ["peerDependencies", "peer"]
] as const

/**
 * Reads the text of a `package.json`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const manifest = (path: string, text: string): Result.Result<Manifest, Broken> =>
  Result.flatMap(Text.json(text), (data) => {
    if (Text.entries(data).length === 0 && text.replace(/\s/g, "") !== "{}") {
      return Result.fail({ line: 1, message: "a manifest is a JSON object, this is something else" })
    }
    const lines = Text.lines(text)
    const folder = folderOf(path)
    const dependencies: Array<Dependency> = []
    const seen = new Set<string>()
    for (const [key, section] of sections) {
      const start = Math.max(0, text.search(new RegExp(`"${key}"\\s*:`)))
      for (const [alias, written] of Text.entries(Text.at(data, key))) {
        // npm lists an optional dependency under `dependencies` too; the first mention is the one that counts, except
        // that a package may well be both a peer and a development dependency.
        const id = `${section === "peer" ? "peer" : "own"} ${alias}`
        if (seen.has(id) || dependencies.length >= maxDependencies) continue
        seen.add(id)
        const line = lines.inOrder(`${JSON.stringify(alias)}:`, start) || lines.inOrder(JSON.stringify(alias), start)
        dependencies.push(dependency(folder, alias, written, section, line))
      }
    }
    const name = Text.string(Text.at(data, "name"))
    const isPrivate = Text.at(data, "private") === true
    const members = memberGlobs(data)
    return Result.succeed({
      ecosystem: "npm",
      path,
      folder,
      name,
      kind: isPrivate || name === undefined || Text.at(data, "version") === undefined ? "application" : "library",
      isPrivate,
      dependencies,
      licence: licence(data, lines),
      members,
      overridden: overridden(data),
      data
    } satisfies Manifest)
  })

/**
 * The globs of `workspaces`, or of `packages` in a `pnpm-workspace.yaml`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const memberGlobs = (data: unknown): ReadonlyArray<string> => {
  const workspaces = Text.at(data, "workspaces")
  return Text.strings(Array.isArray(workspaces) ? workspaces : Text.at(workspaces, "packages"))
}

const overridden = (data: unknown): ReadonlySet<string> => {
  const names = new Set<string>()
  for (const table of [["overrides"], ["resolutions"], ["pnpm", "overrides"]]) {
    for (const [key] of Text.entries(Text.at(data, ...table))) {
      const name = overriddenName(key)
      if (name !== undefined) names.add(name)
    }
  }
  return names
}

/**
 * The package that a key of `overrides` or `resolutions` forces: the last that is named in `a`, `a@1`, `parent>a`,
 * `**\/a`, `parent/a`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const overriddenName = (key: string): string | undefined =>
  /((?:@[^/@]+\/)?[^/@]+)(?:@[^/]*)?$/.exec((key.slice(-400).split(">").at(-1) ?? key).trim())?.[1]

const licence = (data: unknown, lines: Text.Lines): DeclaredLicence | undefined => {
  const expression = licenceOf(data)
  if (expression === undefined) return undefined
  const line = lines.after('"license"') || lines.after('"licenses"')
  const file = /^SEE LICEN[CS]E IN (.+)$/i.exec(expression)?.[1]
  return file === undefined ? { expression, line } : { file, line }
}

/**
 * The licence of a parsed `package.json`, the two old forms (an object, a list) included.
 *
 * @category parsing
 * @since 0.1.0
 */
export const licenceOf = (data: unknown): string | undefined => {
  const one = (value: unknown): string | undefined => Text.string(value) ?? Text.string(Text.at(value, "type"))
  const said = one(Text.at(data, "license")) ?? one(Text.at(data, "licence"))
  if (said !== undefined && said.trim() !== "") return said.trim().slice(0, 300)
  const old = Text.at(data, "licenses")
  const several = (Array.isArray(old) ? old : [old]).map(one).filter((value) => value !== undefined)
  return several.length === 0 ? undefined : several.length === 1 ? several[0] : `(${several.slice(0, 10).join(" OR ")})`
}

const dependency = (
  folder: string,
  alias: string,
  written: unknown,
  section: Dependency["section"],
  line: number
): Dependency => {
  const base = { name: alias, alias, section, line }
  if (typeof written !== "string") return { ...base, range: "", source: "unknown" }
  const range = written.trim()
  const renamed = /^npm:((?:@[^/@]+\/)?[^/@]+)(?:@(.*))?$/.exec(range)
  if (renamed !== null) {
    const [, name = alias, rest = "*"] = renamed
    return { ...base, name, range: rest, source: "registry", loose: looseRange(rest) }
  }
  if (/^(workspace|catalog):/.test(range)) return { ...base, range, source: "workspace" }
  if (/^(link|portal|file):/.test(range) || /^\.{0,2}\//.test(range)) {
    const target = range.replace(/^(link|portal|file):/, "")
    const outside = resolveFrom(folder, target) === undefined
    return { ...base, range, source: "path", loose: outside ? "a path outside this repository" : undefined }
  }
  if (/^(jsr|patch):/.test(range)) return { ...base, range: "", source: "unknown" }
  if (/^(git[+:]|git@|ssh:|github:|gitlab:|bitbucket:|gist:)|\.git(#|$)/.test(range) || isShorthand(range)) {
    return { ...base, range, source: "git", loose: looseGit(range) }
  }
  if (/^https?:/.test(range)) {
    return { ...base, range, source: "url", loose: "a URL whose content can change; the manifest has no hash" }
  }
  return { ...base, range, source: "registry", loose: looseRange(range) }
}

const isShorthand = (range: string): boolean => /^[\w.-]+\/[\w.-]+(#.*)?$/.test(range)

const looseGit = (range: string): string | undefined => {
  const reference = range.split("#")[1]
  if (reference === undefined) return "the default branch of a git repository, no commit"
  if (/^[0-9a-f]{7,40}$/i.test(reference) || reference.startsWith("semver:")) return undefined
  return `the git reference ${reference}, which can move; no commit`
}

const looseRange = (range: string): string | undefined => {
  if (range === "" || range === "*" || range === "x" || range === "any") return "any version"
  if (range.length > 256) return undefined
  if (semver.validRange(range) === null)
    return /^[a-z][\w.-]*$/i.test(range) ? `whatever is tagged ${range}` : undefined
  return Versions.isOpenEnded(range) ? "any later version, majors included" : undefined
}
