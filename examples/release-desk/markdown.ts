/**
 * Text from an audited repository as Markdown that shows it and does nothing else.
 *
 * A file name, a marker's text or a package's name may hold headings, HTML, links, table bars or terminal escapes. What
 * leaves here is one line without control characters in which none of that has a meaning.
 *
 * @since 0.1.0
 */
import type { Schema } from "effect"

import { oneLine } from "./Finding.ts"

/**
 * A text as itself: every character with a meaning in Markdown or HTML is escaped, addresses do not become links.
 *
 * **Example**
 *
 * ```ts
 * plain("# <b>[x](y)</b>") // => "\\# \\<b\\>\\[x\\](y)\\</b\\>"
 * ```
 *
 * @category escaping
 * @since 0.1.0
 */
export const plain = (text: string, limit = 400): string =>
  oneLine(text, limit)
    .split(address)
    .map((part, at) => (at % 2 === 1 ? `\`${part}\`` : escaped(part)))
    .join("")
    .replace(/^(\d+)([.)])/, "$1\\$2")
    .replace(/^[-+=]/, "\\$&")

// Some renderers turn an address into a link after they have undone the escapes, so only code keeps it from that. The
// parts before and after the `@` are bounded, or a long word without one would take quadratic time.
const address =
  /((?:[a-z][a-z0-9+.-]{0,15}:\/\/|www\.|[\w.+-]{1,64}@(?=[\w-]{1,64}\.[\w.-]{0,64}[a-z]))[^\s`|]{1,400})/i

// An underscore inside a word has no meaning, and file names are full of them.
const escaped = (text: string): string =>
  text.replace(/[\\`*[\]#|~<>&$]/g, "\\$&").replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, "\\_")

/**
 * A text as code, in as many backticks as it needs. A text with a bar is shown as {@link plain} text, since in code a bar
 * ends a table's cell or keeps its backslash.
 *
 * @category escaping
 * @since 0.1.0
 */
export const code = (text: string, limit = 200): string => {
  const flat = oneLine(text, limit)
  if (flat === "") return "` `"
  if (flat.includes("|")) return plain(flat, limit)
  const longest = (flat.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
  const fence = "`".repeat(longest + 1)
  return longest === 0 ? `${fence}${flat}${fence}` : `${fence} ${flat} ${fence}`
}

/**
 * A row of a table; the cells are Markdown already.
 *
 * @category tables
 * @since 0.1.0
 */
export const row = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/**
 * A table with a head.
 *
 * @category tables
 * @since 0.1.0
 */
export const table = (
  head: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>
): ReadonlyArray<string> => [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))]

/**
 * A fact as one line of text: scalars as they are, lists and records shortened with what is left out.
 *
 * @category facts
 * @since 0.1.0
 */
export const fact = (value: Schema.Json, most = 8): string => {
  const shown = (parts: ReadonlyArray<string>, separator: string): string => {
    const rest = parts.length - most
    return rest > 0 ? `${parts.slice(0, most).join(separator)} and ${rest} more` : parts.join(separator)
  }
  if (value === null) return "none"
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value !== "object") return String(value)
  if (isList(value)) return value.length === 0 ? "none" : shown(value.slice(0, most + 1_000).map(inner), ", ")
  const fields = Object.entries(value)
  return fields.length === 0
    ? "none"
    : shown(
        fields.map(([key, inside]) => `${key} ${inner(inside)}`),
        ", "
      )
}

const isList = (value: Schema.Json): value is ReadonlyArray<Schema.Json> => Array.isArray(value)

/** One level down a record is put in brackets; below that JSON says it as well as anything. */
const inner = (value: Schema.Json): string => {
  if (value === null || typeof value !== "object") return String(value)
  if (isList(value)) return `[${value.slice(0, 8).map(short).join(", ")}${value.length > 8 ? ", …" : ""}]`
  return `(${Object.entries(value)
    .slice(0, 8)
    .map(([key, inside]) => `${key} ${short(inside)}`)
    .join(", ")})`
}

const short = (value: Schema.Json): string =>
  oneLine(value === null || typeof value !== "object" ? String(value) : JSON.stringify(value), 80)
