/**
 * `Cargo.toml` as a {@link Manifest}.
 *
 * @since 0.1.0
 */
import { Result } from "effect"

import { folderOf, maxDependencies, resolveFrom } from "./model.ts"
import type { Broken, Dependency, Manifest } from "./model.ts"
import * as Text from "./text.ts"
import * as Versions from "./versions.ts"

const sections = [
  ["dependencies", "production"],
  ["dev-dependencies", "development"],
  ["dev_dependencies", "development"],
  ["build-dependencies", "build"],
  ["build_dependencies", "build"]
] as const

/**
 * Reads the text of a `Cargo.toml`.
 *
 * **Details**
 *
 * - `hasMain`: whether `src/main.rs` lies beside it, which makes it an application.
 *
 * @category parsing
 * @since 0.1.0
 */
export const manifest = (path: string, text: string, hasMain: boolean): Result.Result<Manifest, Broken> =>
  Result.map(Text.toml(text), (data) => {
    const folder = folderOf(path)
    const lines = keyLines(text)
    const dependencies: Array<Dependency> = []
    const collect = (table: unknown, within: string) => {
      for (const [key, section] of sections) {
        for (const [alias, value] of Text.entries(Text.at(table, key))) {
          if (dependencies.length >= maxDependencies) return
          dependencies.push(dependency(folder, alias, value, section, lines(`${within}${key}`, alias)))
        }
      }
    }
    collect(data, "")
    for (const [target, table] of Text.entries(Text.at(data, "target"))) collect(table, `target.${target}.`)
    const workspaceMembers = Text.strings(Text.at(data, "workspace", "members"))
    const isPackage = Text.at(data, "package") !== undefined
    const hasBinary = hasMain || Text.items(Text.at(data, "bin")).length > 0
    const file = Text.string(Text.at(data, "package", "license-file"))
    const expression = Text.string(Text.at(data, "package", "license"))
    const inherited = Text.at(data, "package", "license", "workspace") === true
    const publish = Text.at(data, "package", "publish")
    return {
      ecosystem: "cargo",
      path,
      folder,
      name: Text.string(Text.at(data, "package", "name")),
      kind: !isPackage ? "workspace" : hasBinary ? "application" : "library",
      isPrivate: publish === false || (Array.isArray(publish) && publish.length === 0),
      dependencies,
      licence:
        expression !== undefined || file !== undefined || inherited
          ? { expression, file: file ?? (inherited ? "the workspace" : undefined), line: lines("package", "license") }
          : undefined,
      members: workspaceMembers,
      overridden: new Set(
        Text.entries(Text.at(data, "patch")).flatMap(([, table]) => Text.entries(table).map(([name]) => name))
      ),
      data
    } satisfies Manifest
  })

const dependency = (
  folder: string,
  alias: string,
  value: unknown,
  section: Dependency["section"],
  line: number
): Dependency => {
  const name = Text.string(Text.at(value, "package")) ?? alias
  const base = { name, alias, line, section: Text.at(value, "optional") === true ? ("optional" as const) : section }
  if (Text.at(value, "workspace") === true) return { ...base, range: "", source: "workspace" }
  const range = Text.string(value) ?? Text.string(Text.at(value, "version")) ?? ""
  const git = Text.string(Text.at(value, "git"))
  if (git !== undefined) {
    const tag = Text.string(Text.at(value, "tag"))
    const branch = Text.string(Text.at(value, "branch"))
    const loose =
      Text.at(value, "rev") !== undefined
        ? undefined
        : tag !== undefined
          ? `the git tag ${tag}, which can move; no rev`
          : branch !== undefined
            ? `the git branch ${branch}, no rev`
            : "the default branch of a git repository, no rev"
    return { ...base, range, source: "git", loose }
  }
  const path = Text.string(Text.at(value, "path"))
  if (path !== undefined) {
    const outside = resolveFrom(folder, path) === undefined
    return { ...base, range, source: "path", loose: outside ? "a path outside this repository" : undefined }
  }
  const loose =
    range.trim() === "*" || range.trim() === ""
      ? "any version"
      : Versions.isOpenEnded(Versions.cargoRange(range))
        ? "any later version, majors included"
        : undefined
  return { ...base, range, source: "registry", loose }
}

/**
 * Replaces each dependency that says `workspace = true` by what the workspace's manifest says about it.
 *
 * @category workspaces
 * @since 0.1.0
 */
export const inherit = (manifest: Manifest, workspace: Manifest): Manifest => ({
  ...manifest,
  dependencies: manifest.dependencies.map((asked) => {
    if (asked.source !== "workspace") return asked
    const said = Text.at(workspace.data, "workspace", "dependencies", asked.alias)
    return said === undefined ? asked : dependency(workspace.folder, asked.alias, said, asked.section, asked.line)
  })
})

/**
 * Finds the line of a key in a TOML text: in its table when the header is found, else its own header
 * `[dependencies.name]`, else 0.
 *
 * @category looking
 * @since 0.1.0
 */
export const keyLines = (text: string): ((table: string, key: string) => number) => {
  const found = new Map<string, number>()
  let table = ""
  let number = 0
  for (const line of text.split("\n")) {
    number++
    const trimmed = line.trim()
    if (trimmed.startsWith("[")) {
      const close = trimmed.lastIndexOf("]")
      table = plain(trimmed.slice(trimmed.startsWith("[[") ? 2 : 1, close < 0 ? undefined : close).replace(/\]$/, ""))
      if (!found.has(table)) found.set(table, number)
    } else {
      const equals = trimmed.indexOf("=")
      if (equals <= 0) continue
      const key = plain(trimmed.slice(0, Math.min(equals, 300)))
      const full = table === "" ? key : `${table}.${key}`
      if (!found.has(full)) found.set(full, number)
      // `name.workspace = true` is a dotted key.
      const head = key.split(".")[0] ?? key
      if (head !== key && !found.has(`${table}.${head}`)) found.set(`${table}.${head}`, number)
    }
  }
  return (table, key) => found.get(plain(`${table}.${key}`)) ?? found.get(plain(table)) ?? 0
}

const plain = (key: string): string => key.replace(/["'\s]/g, "")
