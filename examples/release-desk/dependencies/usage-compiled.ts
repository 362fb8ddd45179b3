/**
 * The use of Go modules and of Cargo crates. Both compilers refuse what is used and not declared (Go in its own module,
 * Cargo always), so the interesting half is the other one.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"
import type { FileSystem, Path } from "effect"

import { finding } from "../Finding.ts"
import type { Finding } from "../Finding.ts"
import * as Repo from "../Repository.ts"
import type { Repository } from "../Repository.ts"
import type { Manifests } from "./manifests.ts"
import { folderOf, upwards } from "./model.ts"
import type { Manifest } from "./model.ts"
import * as Text from "./text.ts"
import type { Usage } from "./usage-npm.ts"

/**
 * Audits the Go modules and Cargo crates of a repository.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (
  repository: Repository,
  { folders, manifests }: Manifests
): Effect.fn.Return<Usage, never, FileSystem.FileSystem | Path.Path> {
  const go = new Map<string, GoUse>()
  const rust = new Map<string, Set<string>>()
  const owner = (path: string, ecosystem: "go" | "cargo") =>
    upwards(folderOf(path)).find((folder) => folders.get(ecosystem)?.has(folder) === true)
  const crates = new Set(
    manifests
      .filter(({ ecosystem }) => ecosystem === "cargo")
      .flatMap(({ dependencies }) => dependencies.map(({ alias }) => identifier(alias)))
  )
  let files = 0
  for (const { path } of repository.files) {
    const isGo = path.endsWith(".go")
    if (!isGo && !path.endsWith(".rs")) continue
    const folder = owner(path, isGo ? "go" : "cargo")
    // Go leaves out these folders, whatever is in them.
    if (folder === undefined || (isGo && /(^|\/)(?:testdata|vendor|[_.][^/]*)\//.test(path))) continue
    const text = yield* Repo.text(repository, path)
    if (text === undefined) continue
    files++
    if (isGo) {
      let use = go.get(folder)
      if (use === undefined) go.set(folder, (use = new Map()))
      for (const found of goImports(text)) {
        if (!use.has(found.path)) use.set(found.path, { file: path, line: found.line })
      }
    } else {
      let words = rust.get(folder)
      if (words === undefined) rust.set(folder, (words = new Set()))
      for (const [word] of text.matchAll(/[A-Za-z_]\w{0,100}/g)) if (crates.has(word)) words.add(word)
    }
  }
  const workspace = repository.files.some(({ path }) => path === "go.work")
  const modules = new Set(manifests.flatMap(({ go }) => (go === undefined ? [] : [go.module])))
  const findings = manifests.flatMap((manifest) => {
    if (manifest.ecosystem === "go") return judgeGo(manifest, go.get(manifest.folder), workspace ? modules : new Set())
    return manifest.ecosystem === "cargo" ? judgeCargo(manifest, rust.get(manifest.folder)) : []
  })
  return { findings, files }
})

type GoUse = Map<string, { readonly file: string; readonly line: number }>

/**
 * The import paths of a Go file. Imports come before all other declarations, so reading stops at the first of those.
 *
 * @category scanning
 * @since 0.1.0
 */
export const goImports = (text: string): ReadonlyArray<{ readonly path: string; readonly line: number }> => {
  const found: Array<{ path: string; line: number }> = []
  let inBlock = false
  let inComment = false
  let line = 0
  for (const raw of text.split("\n")) {
    line++
    let code = raw.trim()
    if (inComment) {
      const end = code.indexOf("*/")
      if (end < 0) continue
      inComment = false
      code = code.slice(end + 2).trim()
    }
    if (code.startsWith("/*") && !code.includes("*/")) inComment = true
    if (code === "" || code.startsWith("//") || code.startsWith("/*")) continue
    if (inBlock) {
      if (code.startsWith(")")) inBlock = false
      const path = /^(?:[\w.]+\s+)?["`]([^"`]+)["`]/.exec(code)?.[1]
      if (path !== undefined) found.push({ path, line })
    } else if (/^import\s*\(/.test(code)) {
      inBlock = !code.endsWith(")")
      const path = /["`]([^"`]+)["`]/.exec(code)?.[1]
      if (path !== undefined) found.push({ path, line })
    } else if (code.startsWith("import")) {
      const path = /^import\s+(?:[\w.]+\s+)?["`]([^"`]+)["`]/.exec(code)?.[1]
      if (path !== undefined) found.push({ path, line })
    } else if (/^(?:func|var|const|type)\b/.test(code)) break
  }
  return found
}

const isUnder = (path: string, module: string): boolean => path === module || path.startsWith(`${module}/`)

const judgeGo = (manifest: Manifest, use: GoUse | undefined, siblings: ReadonlySet<string>): ReadonlyArray<Finding> => {
  const { go } = manifest
  if (go === undefined || use === undefined) return []
  const findings: Array<Finding> = []
  const required = new Set(manifest.dependencies.map(({ name }) => name))
  // The longest module that fits is the one that provides a package.
  const owners = new Set([...use.keys(), ...go.tools].map((path) => longestOf(path, required)))
  for (const { line, name } of manifest.dependencies) {
    const place = { file: manifest.path, line }
    if (!owners.has(name) && !go.indirect.has(name)) {
      const message = `${name} is required directly, and no file imports it: go mod tidy would drop or mark it`
      findings.push(finding("unused-dependency", "low", place, message))
    } else if (owners.has(name) && go.indirect.has(name)) {
      const message = `${name} is marked indirect, and is imported: go mod tidy would take the mark away`
      findings.push(finding("indirect-mark", "info", place, message))
    }
  }
  const seen = new Set<string>()
  for (const [path, place] of use) {
    const [host = ""] = path.split("/")
    if (!host.includes(".") || isUnder(path, go.module) || longestOf(path, required) !== undefined) continue
    if (longestOf(path, siblings) !== undefined || longestOf(path, go.replaced) !== undefined) continue
    const short = path.split("/").slice(0, 3).join("/")
    if (seen.has(short)) continue
    seen.add(short)
    const message = `${path} is imported here, and no required module provides it`
    findings.push(finding("undeclared-dependency", "medium", place, message))
  }
  return findings
}

/** The longest of these modules that a path lies in. */
const longestOf = (path: string, modules: { readonly has: (name: string) => boolean }): string | undefined => {
  for (let here = path; here !== ""; here = folderOf(here)) if (modules.has(here)) return here
  return undefined
}

const identifier = (name: string): string => name.replaceAll("-", "_")

const judgeCargo = (manifest: Manifest, words: ReadonlySet<string> | undefined): ReadonlyArray<Finding> => {
  if (words === undefined) return []
  // A feature that turns on a dependency or one of its features is a use of it.
  const features = new Set(
    Text.entries(Text.at(manifest.data, "features")).flatMap(([, values]) =>
      Text.strings(values).map((value) => value.replace(/^dep:/, "").replace(/[?/].*$/, ""))
    )
  )
  const isMachete = new Set(Text.strings(Text.at(manifest.data, "package", "metadata", "cargo-machete", "ignored")))
  return manifest.dependencies.flatMap(({ alias, line, section, source }) => {
    if (words.has(identifier(alias)) || features.has(alias) || isMachete.has(alias)) return []
    // Linked or only switched on by being there.
    if (section === "optional" || alias.endsWith("-sys") || (source === "path" && section === "development")) return []
    const where =
      section === "development" ? "a development dependency" : section === "build" ? "a build dependency" : "declared"
    const message = `${alias} is ${where}, and no Rust file of this crate names it (heuristic: macros may)`
    return [
      finding("unused-dependency", section === "production" ? "low" : "info", { file: manifest.path, line }, message)
    ]
  })
}
