/**
 * Finds the functions of a source file: where each begins and ends, and how long it is itself.
 *
 * JavaScript and TypeScript are parsed. For other languages it is a scan of braces or indentation, and says so.
 *
 * **Gotchas**
 *
 * The bound on brackets keeps out the plain cases only. Other ways of nesting end the process that parses such a file;
 * `Parser` keeps that away from the desk.
 *
 * @since 0.1.0
 */
import { Hash, Predicate, Schema } from "effect"
import { parseSync } from "oxc-parser"

import type { Language } from "./languages.ts"
import type { Line } from "./lexer.ts"
import { scan } from "./lexer.ts"

/**
 * One function.
 *
 * **Details**
 *
 * - `line`, `end`: first and last line, from 1.
 * - `own`: lines without those of functions inside it.
 * - `bodyLines`: lines of its body, comments and blank lines left out.
 * - `body`: what tells such bodies apart; the text itself would hold the whole repository in memory.
 *
 * @category models
 * @since 0.1.0
 */
export const Function = Schema.Struct({
  name: Schema.String,
  line: Schema.Int,
  end: Schema.Int,
  own: Schema.Int,
  bodyLines: Schema.Int,
  body: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type Function = typeof Function.Type

/**
 * What a file gave.
 *
 * **Details**
 *
 * - `exact`: parsed, not guessed.
 * - `problem`: why it could not be read as its language; the line is 0 when it is not known. `refused` when that says
 *   nothing against the file.
 *
 * @category models
 * @since 0.1.0
 */
export const Functions = Schema.Struct({
  functions: Schema.Array(Function),
  exact: Schema.Boolean,
  problem: Schema.optionalKey(
    Schema.Struct({ line: Schema.Int, reason: Schema.String, refused: Schema.optionalKey(Schema.Boolean) })
  )
})

/**
 * @category models
 * @since 0.1.0
 */
export type Functions = typeof Functions.Type

const none: Functions = { functions: [], exact: true }

/** Brackets nested deeper than this are not parsed: a parser that recurses would overflow. */
const deepest = 300

const depthOf = (lines: ReadonlyArray<{ readonly code: string }>): number => {
  let depth = 0
  let most = 0
  for (const { code } of lines) {
    for (let at = 0; at < code.length; at++) {
      const char = code[at]
      if (char === "{" || char === "(" || char === "[") most = Math.max(most, ++depth)
      else if (char === "}" || char === ")" || char === "]") depth = Math.max(0, depth - 1)
    }
  }
  return most
}

interface Span {
  readonly name: string
  readonly line: number
  readonly end: number
}

/** Own lines and bodies, from spans in any order. */
const measure = (spans: ReadonlyArray<Span>, lines: ReadonlyArray<Line>): Array<Function> => {
  const ordered = spans.toSorted((a, b) => a.line - b.line || b.end - a.end)
  const inner = new Map<Span, number>()
  const open: Array<Span> = []
  for (const span of ordered) {
    while (open.length > 0 && open.at(-1)!.end < span.line) open.pop()
    const parent = open.at(-1)
    if (parent !== undefined) inner.set(parent, (inner.get(parent) ?? 0) + (span.end - span.line + 1))
    open.push(span)
  }
  return ordered.map((span) => {
    const said = lines
      .slice(span.line, span.end)
      .map(({ kept }) => kept.trim())
      .filter((line) => line !== "")
    return {
      ...span,
      own: Math.max(1, span.end - span.line + 1 - (inner.get(span) ?? 0)),
      bodyLines: said.length,
      body: fingerprint(said.join("\n"))
    }
  })
}

/** Three figures that tell texts apart well enough. */
const fingerprint = (text: string): string =>
  `${text.length}:${Hash.string(text)}:${Hash.string(text.slice(text.length >> 1))}`

const lineStarts = (text: string): ReadonlyArray<number> => {
  const starts = [0]
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1)
  return starts
}

const lineAt = (starts: ReadonlyArray<number>, offset: number): number => {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (starts[middle]! <= offset) low = middle
    else high = middle - 1
  }
  return low + 1
}

const nameIn = (value: unknown): string | undefined =>
  Predicate.hasProperty(value, "name") && Predicate.isString(value.name) ? value.name : undefined

/** Walks a syntax tree with a stack of its own. */
const spansIn = (program: unknown, starts: ReadonlyArray<number>): Array<Span> => {
  const spans: Array<Span> = []
  const waiting: Array<readonly [node: unknown, name: string]> = [[program, ""]]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [node, given] = next
    if (Array.isArray(node)) {
      for (const child of node) waiting.push([child, ""])
      continue
    }
    if (!Predicate.isObject(node)) continue
    const typed = node as Readonly<Record<string, unknown>>
    const { end, start, type } = typed
    const own = nameIn(typed["id"]) ?? nameIn(typed["key"]) ?? ""
    if (
      (type === "FunctionDeclaration" || type === "FunctionExpression" || type === "ArrowFunctionExpression") &&
      Predicate.isNumber(start) &&
      Predicate.isNumber(end)
    ) {
      const name = own || given || "a function"
      spans.push({ name, line: lineAt(starts, start), end: lineAt(starts, Math.max(start, end - 1)) })
    }
    for (const key in typed) {
      if (key === "type" || key === "start" || key === "end") continue
      const child = typed[key]
      if (Predicate.isObject(child) || Array.isArray(child)) waiting.push([child, own])
    }
  }
  return spans
}

const ofJavaScript = (path: string, text: string, language: Language): Functions => {
  const lines = scan(text, language.syntax)
  const depth = depthOf(lines)
  if (depth > deepest) {
    return {
      ...none,
      problem: { line: 0, reason: `not parsed: its brackets are nested ${depth} deep`, refused: true }
    }
  }
  const starts = lineStarts(text)
  try {
    const parsed = parseSync(path, text)
    const [error] = parsed.errors
    if (error !== undefined && parsed.program.body.length === 0) {
      const offset = error.labels[0]?.start ?? 0
      return { ...none, problem: { line: lineAt(starts, offset), reason: `not parsed: ${error.message}` } }
    }
    return { functions: measure(spansIn(parsed.program, starts), lines), exact: true }
  } catch (error) {
    return { ...none, problem: { line: 0, reason: `not parsed: ${String(error).slice(0, 200)}` } }
  }
}

const ofPython = (text: string, language: Language): Functions => {
  const lines = scan(text, language.syntax)
  const spans: Array<Span> = []
  const open: Array<{ readonly name: string; readonly line: number; readonly indent: number }> = []
  let last = 0
  for (let index = 0; index < lines.length; index++) {
    const { code } = lines[index]!
    if (code.trim() === "") continue
    const indent = code.length - code.trimStart().length
    while (open.length > 0 && indent <= open.at(-1)!.indent && !/^\s*[)\]}]/.test(code)) {
      const { line, name } = open.pop()!
      spans.push({ name, line, end: last })
    }
    const found = /^\s*(?:async\s+)?def\s+(\w{1,100})/.exec(code)
    if (found !== null) open.push({ name: found[1]!, line: index + 1, indent })
    last = index + 1
  }
  for (const { line, name } of open) spans.push({ name, line, end: last })
  return { functions: measure(spans, lines), exact: false }
}

const headers: Readonly<Record<string, RegExp>> = {
  Go: /^func\s+(?:\([^)]{0,200}\)\s*)?(\w{1,100})/,
  Rust: /^\s*(?:pub(?:\([^)]{0,40}\))?\s+)?(?:const\s+|async\s+|unsafe\s+)*fn\s+(\w{1,100})/,
  Java: /^\s+(?:(?:public|private|protected|static|final|synchronized|abstract)\s+)+[\w<>[\], ?]{1,100}\s+(\w{1,100})\s*\(/,
  "C#": /^\s+(?:(?:public|private|protected|internal|static|async|override|virtual)\s+)+[\w<>[\], ?]{1,100}\s+(\w{1,100})\s*\(/,
  C: /^[A-Za-z_][\w *]{0,100}\b(\w{1,100})\s*\([^;]{0,300}$/,
  "C++": /^[A-Za-z_][\w *:<>,&~]{0,100}\b(\w{1,100})\s*\([^;]{0,300}$/,
  Kotlin: /^\s*(?:(?:public|private|internal|override|suspend|inline)\s+)*fun\s+(\w{1,100})/,
  Swift: /^\s*(?:(?:public|private|internal|static|override)\s+)*func\s+(\w{1,100})/,
  PHP: /^\s*(?:(?:public|private|protected|static)\s+)*function\s+(\w{1,100})/
}

const ofBraces = (text: string, language: Language, header: RegExp): Functions => {
  const lines = scan(text, language.syntax)
  const spans: Array<Span> = []
  const open: Array<{ readonly name: string; readonly line: number; readonly depth: number }> = []
  let pending: { readonly name: string; readonly line: number } | undefined
  let depth = 0
  for (let index = 0; index < lines.length; index++) {
    const { code } = lines[index]!
    if (code.length > 2_000) continue
    const found = header.exec(code)
    if (found !== null) pending = { name: found[1]!, line: index + 1 }
    for (const char of code) {
      if (char === "{") {
        if (pending !== undefined) open.push({ ...pending, depth })
        pending = undefined
        depth += 1
      } else if (char === "}") {
        depth = Math.max(0, depth - 1)
        while (open.length > 0 && open.at(-1)!.depth >= depth) {
          const { line, name } = open.pop()!
          spans.push({ name, line, end: index + 1 })
        }
      } else if (char === ";" && depth === (open.at(-1)?.depth ?? -1) + 1) pending = undefined
    }
  }
  return { functions: measure(spans, lines), exact: false }
}

/**
 * The functions of a text in a language; none for a language that is not read.
 *
 * @category scanning
 * @since 0.1.0
 */
export const functionsOf = (path: string, text: string, language: Language): Functions => {
  if (language.name === "JavaScript" || language.name === "TypeScript") return ofJavaScript(path, text, language)
  if (language.name === "Python") return ofPython(text, language)
  const header = headers[language.name]
  return header === undefined ? none : ofBraces(text, language, header)
}
