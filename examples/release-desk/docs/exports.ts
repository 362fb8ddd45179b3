/**
 * Public exports without documentation.
 *
 * For a JavaScript or TypeScript package they are what its entry points export, followed through re-exports. Python, Go
 * and Rust are read line by line, and the findings say so.
 *
 * @since 0.1.0
 */
import { Effect, Predicate } from "effect"

import { isGenerated, isTest, languageOf } from "../code/languages.ts"
import type { Audit, Finding } from "../Finding.ts"
import { atMost, finding, oneLine } from "../Finding.ts"
import type { Repository } from "../Repository.ts"
import { text } from "../Repository.ts"
import type { Export, Exports } from "./javascript.ts"
import { exportsOf } from "./javascript.ts"

type Json = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Json => Predicate.isObject(value) && !Array.isArray(value)

const stringsIn = (value: unknown): ReadonlyArray<string> => {
  const found: Array<string> = []
  const waiting: Array<unknown> = [value]
  for (let next = waiting.pop(); next !== undefined && found.length < 500; next = waiting.pop()) {
    if (Predicate.isString(next)) found.push(next)
    else if (Array.isArray(next)) waiting.push(...next)
    else if (isRecord(next))
      waiting.push(...Object.values(next).filter((child) => child !== null && child !== undefined))
  }
  return found
}

const buildFolder = /^(?:dist|lib|build|out|es|esm|cjs)\/(?:esm\/|cjs\/|src\/)?/
const sourceOf = /\.(?:d\.)?[cm]?[jt]sx?$/
// Declarations that are kept by hand are what others read, so they come before JavaScript.
const extensions = ["ts", "tsx", "mts", "cts", "d.ts", "d.mts", "d.cts", "js", "jsx", "mjs", "cjs"]

/** The source file behind a name that may be one of a build: `dist/x.js` is looked for as `src/x.ts` too. */
const sourceFor = (target: string, files: ReadonlySet<string>): string | undefined => {
  const clean = target.replace(/^\.\//, "")
  const stem = clean.replace(sourceOf, "")
  if (/\.[cm]?tsx?$/.test(clean) && !/\.d\.[cm]?ts$/.test(clean) && files.has(clean)) return clean
  const stems = [stem, stem.replace(buildFolder, "src/"), `src/${stem}`]
  for (const each of stems) {
    for (const extension of extensions) {
      for (const path of [`${each}.${extension}`, `${each}/index.${extension}`]) if (files.has(path)) return path
    }
  }
  return undefined
}

/** Whether `null` closes a subpath that a pattern would open: the longer beginning wins, as in Node's own resolution. */
const isClosed = (name: string, pattern: string, closed: ReadonlyArray<string>): boolean =>
  closed.some((each) => {
    const [before = "", after] = each.split("*")
    if (after === undefined) return name === each
    return before.length >= pattern.indexOf("*") && name.startsWith(before) && name.endsWith(after)
  })

const entryPoints = (manifest: string | undefined, files: ReadonlySet<string>): ReadonlyArray<string> => {
  if (manifest === undefined) return []
  let parsed: unknown
  try {
    parsed = JSON.parse(manifest)
  } catch {
    return []
  }
  if (!isRecord(parsed)) return []
  const entries = new Set<string>()
  const { exports } = parsed
  const isMap = isRecord(exports) && Object.keys(exports).some((key) => key.startsWith("."))
  const named: Array<readonly [subpath: string, target: string]> = []
  const closed: Array<string> = []
  for (const [subpath, value] of isMap ? Object.entries(exports).slice(0, 500) : [[".", exports] as const]) {
    if (value === null) closed.push(subpath)
    for (const target of stringsIn(value)) named.push([subpath, target])
  }
  // What these name is hidden behind a map of exports, if there is one.
  if (exports === undefined) {
    const others = [parsed["types"], parsed["typings"], parsed["module"], parsed["main"]].flatMap(stringsIn)
    for (const target of others) named.push([".", target])
  }
  for (const [subpath, target] of named) {
    if (target.split("*").length !== 2) {
      const source = sourceFor(target, files)
      if (source !== undefined) entries.add(source)
      continue
    }
    const [before = "", after = ""] = target.replace(/^\.\//, "").split("*")
    const ending = after.replace(sourceOf, "")
    for (const folder of new Set([before, before.replace(buildFolder, "src/")])) {
      for (const file of files) {
        if (!file.startsWith(folder)) continue
        const stem = file.replace(sourceOf, "")
        if (stem === file || !stem.endsWith(ending)) continue
        if (stem.length < folder.length + ending.length) continue
        const name = subpath.replace("*", stem.slice(folder.length, stem.length - ending.length))
        if (isTest(file) || isClosed(name, subpath, closed)) continue
        if (languageOf(file)?.kind === "source") entries.add(sourceFor(file, files) ?? file)
      }
    }
  }
  if (entries.size === 0 && named.length === 0) {
    const index = sourceFor("index.js", files)
    if (index !== undefined) entries.add(index)
  }
  return [...entries]
}

const join = (from: string, target: string): string => {
  const parts = from.split("/").slice(0, -1)
  for (const part of target.split("/")) {
    if (part === "..") parts.pop()
    else if (part !== "." && part !== "") parts.push(part)
  }
  return parts.join("/")
}

const lineRules: Readonly<
  Record<string, (lines: ReadonlyArray<string>, at: number) => Omit<Export, "line"> | undefined>
> = {
  Python: (lines, at) => {
    const found = /^(?:async\s+)?(?:def|class)\s+([A-Za-z]\w{0,100})/.exec(lines[at]!)
    if (found === null) return undefined
    let next = at
    while (next < Math.min(at + 30, lines.length) && !/:\s*(#.*)?$/.test(lines[next]!)) next += 1
    next += 1
    while (next < lines.length && lines[next]!.trim() === "") next += 1
    return { name: found[1]!, documented: /^\s*[rRuUbB]?["']/.test(lines[next] ?? "") }
  },
  Go: (lines, at) => {
    const found =
      /^(?:func\s+(?:\((?:\w{1,100}\s+)?\*?[A-Z][^)]{0,200}\)\s*)?|type\s+|var\s+|const\s+)([A-Z]\w{0,100})/.exec(
        lines[at]!
      )
    if (found === null) return undefined
    return { name: found[1]!, documented: /^\/\/|\*\/\s*$/.test(lines[at - 1] ?? "") }
  },
  Rust: (lines, at) => {
    const found =
      /^pub\s+(?:async\s+|unsafe\s+|const\s+)*(?:fn|struct|enum|trait|type|static|const|mod)\s+(\w{1,100})/.exec(
        lines[at]!
      )
    if (found === null || /^pub\s+mod\s+\w+\s*;/.test(lines[at]!)) return undefined
    let before = at - 1
    while (before >= 0 && /^\s*#\[|\]\s*$/.test(lines[before]!)) {
      // An attribute over several lines ends in a bracket and begins within a few lines.
      for (let up = 0; up < 20 && before > 0 && !/^\s*#\[/.test(lines[before]!); up++) before -= 1
      before -= 1
    }
    return { name: found[1]!, documented: /^\s*\/\/[/!]|\*\/\s*$/.test(lines[before] ?? "") }
  }
}

/** Whether a file of these languages is part of what others import. */
const isPublic = (path: string, language: string): boolean => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  if (
    isTest(path) ||
    isGenerated(path) ||
    /(^|\/)(examples?|scripts?|docs?|benches|benchmarks?|cmd|internal)\//.test(path)
  )
    return false
  if (language === "Python") return !name.startsWith("_") && name !== "setup.py" && name !== "conftest.py"
  return language !== "Rust" || (name !== "main.rs" && name !== "build.rs")
}

/**
 * Reads what a package shows to others.
 *
 * @category audits
 * @since 0.1.0
 */
export const audit = Effect.fnUntraced(function* (repository: Repository) {
  const files = new Set(repository.files.map(({ path }) => path))
  const findings: Array<Finding> = []
  let total = 0
  let documented = 0
  const take = (file: string, { documented: has, line, name }: Export, how: string): void => {
    total += 1
    if (has) documented += 1
    else
      findings.push(finding("undocumented-export", "low", { file, line }, `${oneLine(name)} has no doc comment${how}`))
  }

  const entries = entryPoints(yield* text(repository, "package.json"), files)
  const modules = new Map<string, Exports>()
  const taken = new Set<string>()
  /** one name of a module, or all of them */
  const waiting: Array<readonly [file: string, name: string | undefined]> = entries.map((file) => [file, undefined])
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [file, name] = next
    const key = `${file} ${name ?? "*"}`
    if (taken.has(key)) continue
    taken.add(key)
    let module = modules.get(file)
    if (module === undefined) {
      const content = yield* text(repository, file)
      if (content === undefined) {
        findings.push(finding("unread-module", "info", { file }, "its exports were not read: it gives no text"))
      }
      module = exportsOf(content ?? "")
      modules.set(file, module)
      yield* Effect.yieldNow
    }
    const follow = (target: string, name: string | undefined): void => {
      const source = target.startsWith(".") ? sourceFor(join(file, target), files) : undefined
      if (source !== undefined) waiting.push([source, name])
    }
    let found = false
    for (const each of module.own) {
      if (name !== undefined && name !== each.name) continue
      found = true
      const once = `${file}#${each.name}`
      if (taken.has(once)) continue
      taken.add(once)
      take(file, each, "")
    }
    for (const each of module.indirect) {
      if (name !== undefined && name !== each.name) continue
      found = true
      follow(each.target, each.imported)
    }
    if (!found || name === undefined) for (const target of module.stars) follow(target, name)
  }

  const crates = repository.files
    .map(({ path }) => path)
    .filter((path) => /(^|\/)Cargo\.toml$/.test(path))
    .map((path) => path.slice(0, -"Cargo.toml".length))
    .toSorted((a, b) => b.length - a.length)
  /** A Rust crate without a library shows nothing to others. */
  const isLibrary = (path: string): boolean => {
    const crate = crates.find((folder) => path.startsWith(folder))
    return crate === undefined || files.has(`${crate}src/lib.rs`)
  }

  yield* Effect.forEach(
    repository.files,
    ({ path }) => {
      const language = languageOf(path)?.name ?? ""
      const rule = lineRules[language]
      if (rule === undefined || !isPublic(path, language)) return Effect.void
      if (language === "Rust" && !isLibrary(path)) return Effect.void
      return Effect.map(text(repository, path), (content) => {
        if (content === undefined || (language === "Go" && /^package main\b/m.test(content))) return
        const lines = content.split("\n").map((line) => line.slice(0, 1_000))
        for (let at = 0; at < lines.length; at++) {
          const found = rule(lines, at)
          if (found === undefined || found.name.startsWith("_")) continue
          take(path, { ...found, line: at + 1 }, "; found by its line, not by a parser")
        }
      })
    },
    { discard: true }
  )
  const sorted = findings.toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line))
  const result: Audit = {
    findings: atMost(sorted, 50),
    facts: { entryPoints: entries.length, exports: total, documented }
  }
  return result
})
