/**
 * `go.mod` as a {@link Manifest}.
 *
 * @since 0.1.0
 */
import { Result } from "effect"

import { folderOf, maxDependencies, resolveFrom } from "./model.ts"
import type { Broken, Dependency, GoMod, Manifest } from "./model.ts"

/**
 * Reads the text of a `go.mod`.
 *
 * @category parsing
 * @since 0.1.0
 */
export const manifest = (path: string, text: string): Result.Result<Manifest, Broken> => {
  const folder = folderOf(path)
  const dependencies: Array<Dependency> = []
  const indirect = new Set<string>()
  const replaced = new Map<string, { by: string; version: string | undefined; line: number }>()
  const tools: Array<string> = []
  let module: string | undefined
  let block: string | undefined
  let line = 0
  for (const raw of text.split("\n")) {
    line++
    const comment = raw.indexOf("//")
    const remark = comment < 0 ? "" : raw.slice(comment + 2).trim()
    const words = (comment < 0 ? raw : raw.slice(0, comment))
      .trim()
      .split(/\s+/)
      .filter((word) => word !== "")
      .map(unquoted)
    if (words.length === 0) continue
    if (block !== undefined && words[0] === ")") {
      block = undefined
      continue
    }
    const verb = block ?? words[0] ?? ""
    const rest = block === undefined ? words.slice(1) : words
    if (block === undefined && rest[0] === "(" && rest.length === 1) {
      block = verb
      continue
    }
    switch (verb) {
      case "module":
        module ??= rest[0]
        break
      case "require": {
        const [name, version] = rest
        if (name === undefined || version === undefined || !version.startsWith("v")) {
          return Result.fail({ line, message: "a require line is a module path and a version that starts with v" })
        }
        if (dependencies.length >= maxDependencies) break
        if (/^indirect\b/.test(remark)) indirect.add(name)
        dependencies.push({ name, alias: name, range: version, section: "production", source: "registry", line })
        break
      }
      case "replace": {
        const arrow = rest.indexOf("=>")
        const [name] = rest
        const by = rest[arrow + 1]
        if (arrow < 1 || name === undefined || by === undefined) {
          return Result.fail({ line, message: "a replace line is: module [version] => replacement [version]" })
        }
        replaced.set(name, { by, version: rest[arrow + 2], line })
        break
      }
      case "tool":
        if (rest[0] !== undefined) tools.push(rest[0])
        break
      case "go":
      case "toolchain":
      case "exclude":
      case "retract":
      case "godebug":
      case "ignore":
        break
      default:
        return Result.fail({ line, message: `unknown directive ${verb}` })
    }
  }
  if (block !== undefined) return Result.fail({ line, message: `the block of ${block} is never closed` })
  if (module === undefined) return Result.fail({ line: 1, message: "there is no module directive" })
  const go: GoMod = { module, indirect, replaced, tools }
  return Result.succeed({
    ecosystem: "go",
    path,
    folder,
    name: module,
    kind: "application",
    isPrivate: false,
    dependencies: dependencies.map((asked) => {
      const by = replaced.get(asked.name)
      if (by === undefined || by.version !== undefined) return asked
      const outside = resolveFrom(folder, by.by) === undefined
      const loose = outside ? "a path outside this repository" : undefined
      return { ...asked, source: "path" as const, loose, line: by.line }
    }),
    licence: undefined,
    members: [],
    overridden: new Set(replaced.keys()),
    data: undefined,
    go
  } satisfies Manifest)
}

const unquoted = (word: string): string => (/^(["`]).*\1$/.test(word) ? word.slice(1, -1) : word)
