/**
 * Finds the functions of a source file: where each begins and ends, and how long it is itself.
 *
 * It is a scan of braces or indentation, not a parse, and the findings say so.
 *
 * @since 0.1.0
 */
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
 * - `body`: its code, comments and blank lines left out, one trimmed line each.
 *
 * @category models
 * @since 0.1.0
 */
export interface Function {
  readonly name: string
  readonly line: number
  readonly end: number
  readonly own: number
  readonly body: ReadonlyArray<string>
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
  return ordered.map((span) => ({
    ...span,
    own: Math.max(1, span.end - span.line + 1 - (inner.get(span) ?? 0)),
    body: lines
      .slice(span.line, span.end)
      .map(({ kept }) => kept.trim())
      .filter((line) => line !== "")
  }))
}

const keywords = new Set([
  "if",
  "for",
  "while",
  "switch",
  "catch",
  "with",
  "return",
  "await",
  "new",
  "function",
  "else",
  "do"
])

/** So much of what stands before a brace is looked at. */
const lookBehind = 400

/** The function that a brace opens, by what stands before it; `undefined` when it opens something else. */
const opened = (before: string): string | undefined => {
  if (/=>\s*$/.test(before)) {
    const named = [
      ...before.matchAll(/(?:\b(?:const|let|var)\s+|[^\w$.]|^)([\w$]{1,100})\s*(?::[^=:]{0,150})?[:=](?![=>])/g)
    ].at(-1)
    return named?.[1] ?? "a function"
  }
  const declared = /\bfunction\b\s*\*?\s*([\w$]{0,100})\s*(?:<[^()]{0,200}>)?\s*\(.*\)\s*(?::[^{}]{0,200})?$/s.exec(
    before
  )
  if (declared !== null) return declared[1] === "" ? "a function" : declared[1]
  const method = /(?:^|[\s*])#?([\w$]{1,100})\s*(?:<[^<>]{0,100}>)?\([^()]{0,300}\)\s*(?::[^{}()]{0,150})?$/.exec(
    before
  )
  return method === null || keywords.has(method[1]!) ? undefined : method[1]
}

interface Frame {
  readonly name: string | undefined
  readonly line: number
  before: string
  parens: number
}

/**
 * Braces again, with what a brace opens read from what stands before it. A parser would know better, but the native ones
 * end the whole process on a file that nests too deep, and the repository is not ours.
 */
const ofJavaScript = (text: string, language: Language): ReadonlyArray<Function> => {
  const lines = scan(text, language.syntax)
  const spans: Array<Span> = []
  const frames: Array<Frame> = [{ name: undefined, line: 0, before: "", parens: 0 }]
  for (let index = 0; index < lines.length; index++) {
    const { code } = lines[index]!
    if (code.length > 2_000) continue // data, or written by a tool
    for (const char of code) {
      const top = frames.at(-1)!
      if (char === "{") {
        frames.push({ name: opened(top.before), line: index + 1, before: "", parens: 0 })
      } else if (char === "}") {
        if (frames.length === 1) continue
        const { line, name } = frames.pop()!
        if (name !== undefined) spans.push({ name, line, end: index + 1 })
        const outer = frames.at(-1)!
        outer.before = outer.parens > 0 ? `${outer.before}{}`.slice(-lookBehind) : ""
      } else if (char === ";" && top.parens === 0) top.before = ""
      else {
        if (char === "(") top.parens += 1
        else if (char === ")") top.parens = Math.max(0, top.parens - 1)
        top.before = top.before.length < lookBehind ? top.before + char : (top.before + char).slice(-lookBehind / 2)
      }
    }
    const top = frames.at(-1)!
    if (top.before !== "") top.before += " "
  }
  return measure(spans, lines)
}

const ofPython = (text: string, language: Language): ReadonlyArray<Function> => {
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
  return measure(spans, lines)
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

const ofBraces = (text: string, language: Language, header: RegExp): ReadonlyArray<Function> => {
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
  return measure(spans, lines)
}

/**
 * The functions of a text in a language; none for a language that is not read.
 *
 * @category scanning
 * @since 0.1.0
 */
export const functionsOf = (text: string, language: Language): ReadonlyArray<Function> => {
  if (language.name === "JavaScript" || language.name === "TypeScript") return ofJavaScript(text, language)
  if (language.name === "Python") return ofPython(text, language)
  const header = headers[language.name]
  return header === undefined ? [] : ofBraces(text, language, header)
}
