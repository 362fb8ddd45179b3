/**
 * Which language a file is in, and how that language writes comments and strings.
 *
 * @since 0.1.0
 */

/**
 * How a language is written, as far as telling comments and strings from code needs it.
 *
 * **Details**
 *
 * - `line`: what begins a comment that ends with the line. `block`: pairs of delimiters.
 * - `strings`: quotes of strings that end with the line. `long`: those that may go over many.
 *
 * @category models
 * @since 0.1.0
 */
export interface Syntax {
  readonly line: ReadonlyArray<string>
  readonly block: ReadonlyArray<readonly [open: string, close: string]>
  readonly strings: ReadonlyArray<string>
  readonly long: ReadonlyArray<string>
}

/**
 * A language by its extensions.
 *
 * @category models
 * @since 0.1.0
 */
export interface Language {
  readonly name: string
  readonly kind: "source" | "markup" | "data"
  readonly syntax: Syntax
}

const c: Syntax = { line: ["//"], block: [["/*", "*/"]], strings: ['"', "'"], long: [] }
const js: Syntax = { ...c, long: ["`"] }
const rust: Syntax = { ...c, strings: ['"'] } // a single quote begins a lifetime more often than a character
const go: Syntax = { ...c, long: ["`"] }
const hash: Syntax = { line: ["#"], block: [], strings: ['"', "'"], long: [] }
const python: Syntax = { ...hash, long: ['"""', "'''"] }
const sql: Syntax = { line: ["--"], block: [["/*", "*/"]], strings: ["'"], long: [] }
const html: Syntax = { line: [], block: [["<!--", "-->"]], strings: [], long: [] }
const css: Syntax = { line: [], block: [["/*", "*/"]], strings: ['"', "'"], long: [] }
const plain: Syntax = { line: [], block: [], strings: [], long: [] }

const table: ReadonlyArray<readonly [name: string, kind: Language["kind"], syntax: Syntax, extensions: string]> = [
  ["TypeScript", "source", js, "ts tsx mts cts"],
  ["JavaScript", "source", js, "js jsx mjs cjs"],
  ["Python", "source", python, "py pyi"],
  ["Go", "source", go, "go"],
  ["Rust", "source", rust, "rs"],
  ["Java", "source", c, "java"],
  ["Kotlin", "source", c, "kt kts"],
  ["C", "source", c, "c h"],
  ["C++", "source", c, "cc cpp cxx hpp hh"],
  ["C#", "source", c, "cs"],
  ["Swift", "source", c, "swift"],
  ["Scala", "source", c, "scala"],
  ["PHP", "source", { ...c, line: ["//", "#"] }, "php"],
  ["Ruby", "source", hash, "rb"],
  ["Shell", "source", hash, "sh bash zsh"],
  ["Elixir", "source", hash, "ex exs"],
  ["Erlang", "source", { ...hash, line: ["%"], strings: ['"'] }, "erl hrl"],
  ["SQL", "source", sql, "sql"],
  ["CSS", "markup", css, "css scss less"],
  ["HTML", "markup", html, "html htm vue svelte"],
  ["Markdown", "markup", html, "md mdx markdown"],
  ["JSON", "data", plain, "json jsonc"],
  ["YAML", "data", hash, "yml yaml"],
  ["TOML", "data", hash, "toml"]
]

const byExtension = new Map(
  table.flatMap(([name, kind, syntax, extensions]) =>
    extensions.split(" ").map((extension) => [extension, { name, kind, syntax }] as const)
  )
)

/**
 * The language of a file by its name, `undefined` for one that is not known.
 *
 * @category queries
 * @since 0.1.0
 */
export const languageOf = (path: string): Language | undefined => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const dot = name.lastIndexOf(".")
  return dot < 0 ? undefined : byExtension.get(name.slice(dot + 1).toLowerCase())
}

const generated =
  /(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|Cargo\.lock|go\.sum|poetry\.lock|uv\.lock)$|\.min\.(js|css)$|\.(gen|generated|pb)\.\w+$|_pb2\.py$/

/**
 * Whether a file is written by a tool, by its name.
 *
 * @category queries
 * @since 0.1.0
 */
export const isGenerated = (path: string): boolean => generated.test(path)

const tests =
  /(^|\/)(tests?|__tests__|spec|testing|testdata|fixtures?)\/|\.(test|spec)\.\w+$|_test\.(go|py)$|(^|\/)test_[^/]*\.py$/

/**
 * Whether a file holds tests, by its name.
 *
 * @category queries
 * @since 0.1.0
 */
export const isTest = (path: string): boolean => tests.test(path)
