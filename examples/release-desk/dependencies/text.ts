/**
 * Reading the text of manifests and lockfiles without trusting it: JSON, JSON with comments, TOML and YAML into plain
 * values, the place of an error, and the line where something stands.
 *
 * **Invariants**
 *
 * - T1. No parser here throws: what it cannot read is a {@link Broken} with a line and the parser's own words.
 * - T2. A parsed value is only looked into by {@link at} and {@link entries}, which see own properties and never build
 *   an object with a key from outside, so a key `__proto__` is a name like any other.
 * - T3. Nothing recurses over a parsed value.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, Path, Predicate, Result } from "effect"
import * as Toml from "smol-toml"
import * as Yaml from "yaml"

import type { Repository, RepositoryFile } from "../Repository.ts"
import * as Repo from "../Repository.ts"

/**
 * Why a text is not what its name says.
 *
 * @category models
 * @since 0.1.0
 */
export interface Broken {
  readonly line: number
  readonly message: string
}

/**
 * The largest lockfile that is read: 32 MB, of TOML 8 MB, since a parser reads that at a tenth of the speed.
 *
 * @category models
 * @since 0.1.0
 */
export const maxLockfileBytes = { plain: 32_000_000, toml: 8_000_000 }

/**
 * Reads a file that may be larger than source text, a lockfile. The listing's size is not trusted: the file is asked
 * again before it is read.
 *
 * @category reading
 * @since 0.1.0
 */
export const readLarge = Effect.fnUntraced(function* (
  repository: Repository,
  file: RepositoryFile,
  limit: number
): Effect.fn.Return<Repo.Content, never, FileSystem.FileSystem | Path.Path> {
  if (file.bytes <= Repo.maxTextBytes) return yield* Repo.read(repository, file.path)
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const onDisk = path.join(repository.root, file.path)
  const info = yield* Effect.result(fs.stat(onDisk))
  if (info._tag === "Failure" || info.success.type !== "File") {
    return { text: undefined, why: "unreadable", detail: "it is gone or no regular file" }
  }
  if (Number(info.success.size) > limit) {
    const detail = `it has ${megabytes(Number(info.success.size))} MB, more than ${limit / 1_000_000} MB`
    return { text: undefined, why: "too-large", detail }
  }
  const bytes = yield* Effect.result(fs.readFile(onDisk))
  if (bytes._tag === "Failure") return { text: undefined, why: "unreadable", detail: "the system refused to read it" }
  if (bytes.success.subarray(0, 8_000).includes(0)) {
    return { text: undefined, why: "binary", detail: "it is a binary file" }
  }
  return { text: new TextDecoder().decode(bytes.success) }
})

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1)

/**
 * @category parsing
 * @since 0.1.0
 */
export const json = (text: string): Result.Result<unknown, Broken> => {
  const body = withoutMark(text)
  try {
    const value: unknown = JSON.parse(body)
    return Result.succeed(value)
  } catch (error) {
    const said = messageOf(error)
    const place = /\(line (\d+) column \d+\)/.exec(said)?.[1]
    return Result.fail({ line: place === undefined ? countLines(body) : Number(place), message: said })
  }
}

/**
 * JSON with comments and trailing commas, as `tsconfig.json` and `bun.lock` are written.
 *
 * @category parsing
 * @since 0.1.0
 */
export const jsonc = (text: string): Result.Result<unknown, Broken> => json(plainJson(withoutMark(text)))

const plainJson = (text: string): string => {
  const out: Array<string> = []
  let from = 0
  let at = 0
  while (at < text.length) {
    const char = text[at]
    if (char === '"') {
      at++
      while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1
      at++
    } else if (char === "/" && (text[at + 1] === "/" || text[at + 1] === "*")) {
      out.push(text.slice(from, at))
      const end = text[at + 1] === "/" ? text.indexOf("\n", at) : text.indexOf("*/", at + 2)
      const stop = end < 0 ? text.length : text[at + 1] === "/" ? end : end + 2
      // The lines of a comment stay, so that an error is reported where it is.
      out.push(text.slice(at, stop).replace(/[^\n]+/g, " "))
      at = from = stop
    } else at++
  }
  out.push(text.slice(from))
  return withoutTrailingCommas(out.join(""))
}

const withoutTrailingCommas = (text: string): string => {
  const out: Array<string> = []
  let from = 0
  let comma = -1
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') {
      comma = -1
      at++
      while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1
    } else if (char === ",") comma = at
    else if ((char === "}" || char === "]") && comma >= 0) {
      out.push(text.slice(from, comma))
      from = comma + 1
      comma = -1
    } else if (char !== " " && char !== "\n" && char !== "\t" && char !== "\r") comma = -1
  }
  out.push(text.slice(from))
  return out.join("")
}

/**
 * @category parsing
 * @since 0.1.0
 */
export const toml = (text: string): Result.Result<unknown, Broken> => {
  try {
    return Result.succeed(Toml.parse(withoutMark(text), { maxDepth: 100, integersAsBigInt: "asNeeded" }))
  } catch (error) {
    const said = messageOf(error)
    return Result.fail({ line: error instanceof Toml.TomlError ? error.line : 0, message: said.split("\n")[0] ?? said })
  }
}

/**
 * YAML of at most 512 KB; a text that grows when its aliases are replaced is refused.
 *
 * @category parsing
 * @since 0.1.0
 */
export const yaml = (text: string): Result.Result<unknown, Broken> => {
  if (text.length > 512_000) return Result.fail({ line: 0, message: "more than 512 KB of YAML is not read" })
  try {
    const value: unknown = Yaml.parse(text, { maxAliasCount: 100, logLevel: "silent" })
    return Result.succeed(value)
  } catch (error) {
    const place = error instanceof Yaml.YAMLParseError ? error.linePos?.[0].line : undefined
    return Result.fail({ line: place ?? 0, message: messageOf(error).split("\n")[0] ?? "" })
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const withoutMark = (text: string): string => (text.startsWith("\uFEFF") ? text.slice(1) : text)

const countLines = (text: string): number => {
  let lines = 1
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines++
  return lines
}

/**
 * The line of the first conflict marker that git left in a text, if there is one.
 *
 * @category parsing
 * @since 0.1.0
 */
export const conflictLine = (text: string): number | undefined => {
  const start = text.startsWith("<<<<<<< ") ? 0 : text.indexOf("\n<<<<<<< ") + 1
  if (start === 0 && !text.startsWith("<<<<<<< ")) return undefined
  return text.includes("\n>>>>>>> ", start) ? countLines(text.slice(0, start)) : undefined
}

/**
 * The value at a path of own properties, or `undefined`.
 *
 * @category looking
 * @since 0.1.0
 */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown => {
  let here = value
  for (const key of path) {
    if (!Predicate.isObject(here) || !Object.hasOwn(here, key)) return undefined
    here = Reflect.get(here, key)
  }
  return here
}

/**
 * The own properties of an object; none for anything else, arrays included.
 *
 * @category looking
 * @since 0.1.0
 */
export const entries = (value: unknown): ReadonlyArray<[string, unknown]> =>
  Predicate.isObject(value) && !Array.isArray(value) ? Object.entries(value) : []

/**
 * The elements of an array; none for anything else.
 *
 * @category looking
 * @since 0.1.0
 */
export const items = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/**
 * A text, or `undefined`.
 *
 * @category looking
 * @since 0.1.0
 */
export const string = (value: unknown): string | undefined => (Predicate.isString(value) ? value : undefined)

/**
 * The texts of an array; none for anything else.
 *
 * @category looking
 * @since 0.1.0
 */
export const strings = (value: unknown): ReadonlyArray<string> => items(value).filter(Predicate.isString)

/**
 * Finds the line of an offset or of a text.
 *
 * **Details**
 *
 * - `of`: the line of an offset, 0 for a negative one.
 * - `after`: the line of the first `needle` at or after the offset `from`, 0 when there is none.
 * - `inOrder`: looks on from where the last call found its needle, and from `from` when that fails: cheap for many
 *   needles that stand in the order they are asked for.
 *
 * All searches together may pass over 200 million characters; after that every answer is 0. A hostile file could ask for
 * a search of the whole for each of its lines.
 *
 * @category looking
 * @since 0.1.0
 */
export interface Lines {
  readonly of: (offset: number) => number
  readonly after: (needle: string, from?: number) => number
  readonly inOrder: (needle: string, from: number) => number
}

/**
 * @category looking
 * @since 0.1.0
 */
export const lines = (text: string): Lines => {
  let starts: Array<number> | undefined
  let cursor = 0
  const of = (offset: number): number => {
    if (offset < 0) return 0
    if (starts === undefined) {
      starts = [0]
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
    }
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return low + 1
  }
  let budget = 200_000_000
  const search = (needle: string, from: number): number => {
    if (budget < 0) return -1
    const found = text.indexOf(needle, from)
    budget -= (found < 0 ? text.length : found) - from
    return found
  }
  const after = (needle: string, from = 0): number => of(search(needle, from))
  const inOrder = (needle: string, from: number): number => {
    const next = search(needle, Math.max(cursor, from))
    const found = next >= 0 ? next : search(needle, from)
    if (found >= 0) cursor = found + needle.length
    return of(found)
  }
  return { of, after, inOrder }
}
