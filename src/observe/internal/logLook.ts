/**
 * How a record of a log looks to people: one line, or a few that hang below it.
 *
 * **Invariants**
 *
 * - K1. Nothing is printed that a terminal obeys but our own colours, and no text of others begins a line.
 *
 * @since 0.1.0
 */
import type * as LogLevel from "effect/LogLevel"
import * as Predicate from "effect/Predicate"

import { harmless, harmlessJson, type Look, painted, piped, type Style } from "../../internal/look.ts"
import { instantOf } from "../../run/internal/text.ts"
import { errorType, eventName, type Fields, leading } from "./logNames.ts"

/** A record, apart from what made it. */
export interface Entry {
  readonly at: number
  readonly level: LogLevel.LogLevel
  readonly messages: ReadonlyArray<unknown>
  readonly fields: Fields
  readonly cause: string | undefined
}

const styles: { readonly [Level in LogLevel.LogLevel]: Style | undefined } = {
  All: undefined,
  None: undefined,
  Trace: "dim",
  Debug: "blue",
  Info: "green",
  Warn: "yellow",
  Error: "red",
  Fatal: "magenta"
}

/** What people need not read, as it stands elsewhere, or is for machines. */
const hidden: ReadonlySet<string> = new Set([eventName, errorType, "domain", "span_id"])

const columnWidth = 18
const hanging = "    "

const widthOf = (text: string): number => Array.from(text).length

/** A text of others on one line, and nothing that is obeyed. */
const flat = (text: string): string => harmless(piped, text.replaceAll(/\r\n|\r/g, "\n").replaceAll("\t", " "))

const lines = (text: string): ReadonlyArray<string> => flat(text).split("\n")

/** Any value as JSON that a terminal shows and does not obey. */
const jsonOf = (value: unknown): string => {
  try {
    return harmlessJson(JSON.stringify(value, plainly) ?? String(value))
  } catch {
    return "unreadable"
  }
}

const plainly = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}` : value)

const isPlain = /^[\w.:/@+#-]+$/

const valueOf = (value: unknown): string => (typeof value === "string" && isPlain.test(value) ? value : jsonOf(value))

/** Fields in the order in which they are read, `error` by its parts. */
export const ordered = (fields: Fields): ReadonlyArray<readonly [string, unknown]> => [
  ...leading.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name]] as const] : [])),
  ...Object.entries(fields).filter(([name]) => !leading.includes(name))
]

const shown = (fields: Fields, column: string): ReadonlyArray<string> =>
  ordered(fields).flatMap(([name, value]) => {
    if (hidden.has(name) || value === column) return []
    if (name !== "error" || !Predicate.isObject(value)) return [`${valueOf(name)}=${valueOf(value)}`]
    return Object.entries(value).map(([part, each]) => `error.${valueOf(part)}=${valueOf(each)}`)
  })

/** Who it is about: a worker, a domain, a node of a tree. */
const columnOf = ({ domain, node, worker }: Fields): string => {
  const found = [worker, domain, node].find(Predicate.isString)
  return found ?? "-"
}

/** A column of its width: what is longer is cut at its beginning, as names differ at their ends. */
const fitted = (text: string): string => {
  const [one = ""] = lines(text)
  const width = widthOf(one)
  if (width <= columnWidth) return one + " ".repeat(columnWidth - width)
  return `…${Array.from(one)
    .slice(1 - columnWidth)
    .join("")}`
}

/** Words as rows of at most so many characters, the first of which has less room. */
const wrapped = (words: ReadonlyArray<string>, room: number, first: number): ReadonlyArray<string> => {
  const rows: Array<string> = []
  let row = ""
  let left = first
  const next = () => {
    rows.push(row)
    row = ""
    left = room
  }
  for (const word of words) {
    let rest = Array.from(word)
    const gap = row === "" ? 0 : 1
    if (gap + rest.length > left && (row !== "" || left < room)) next()
    while (rest.length > left) {
      row = rest.slice(0, left).join("")
      rest = rest.slice(left)
      next()
    }
    row = row === "" ? rest.join("") : `${row} ${rest.join("")}`
    left -= rest.length + (row.length === rest.length ? 0 : 1)
  }
  return row === "" ? rows : [...rows, row]
}

const textOf = (message: unknown): string => (typeof message === "string" ? message : jsonOf(message))

/** A record as it is printed, without a line feed at its end. */
export const render = (look: Look, entry: Entry): string => {
  const { at, cause, fields, level, messages } = entry
  const instant = instantOf(at)
  const time = look.columns === undefined ? instant : instant.replace(/^.*T/, "")
  const column = columnOf(fields)
  const tag = level.toUpperCase().padEnd(5)
  const start = `${time} ${tag} ${fitted(column)} `
  const head = `${painted(look, "dim", time)} ${painted(look, styles[level], tag)} ${painted(look, "cyan", fitted(column))} `
  const [first = "", ...others] = lines(messages.map(textOf).join(" "))
  const said = shown(fields, column)
  const dim = (text: string) => painted(look, "dim", text)
  const hung = (rows: ReadonlyArray<string>) => rows.map((row) => hanging + row)
  const causes = cause === undefined ? [] : hung(lines(cause))
  if (look.columns === undefined) {
    // One line for programs that read lines.
    const message = [first, ...others].join("\\n")
    return [[head + message, ...said].join(" ").trimEnd(), ...causes].join("\n")
  }
  const room = Math.max(20, look.columns - hanging.length)
  const [opening = "", ...more] = wrapped(first.split(" "), room, Math.max(1, look.columns - widthOf(start)))
  const rest = [...more, ...others.flatMap((line) => wrapped(line.split(" "), room, room))]
  const together = said.join(" ")
  const fits = rest.length === 0 && widthOf(start) + widthOf(opening) + 2 + widthOf(together) <= look.columns
  if (fits) return [`${head}${opening}${said.length === 0 ? "" : `  ${dim(together)}`}`.trimEnd(), ...causes].join("\n")
  const below = hung(wrapped(said, room, room).map(dim))
  return [`${head}${opening}`.trimEnd(), ...hung(rest), ...below, ...causes].join("\n")
}

/** A record as one line of JSON. */
export const renderJson = ({ at, cause, fields, level, messages }: Entry): string => {
  const own = {
    timestamp: instantOf(at),
    level: level.toUpperCase(),
    message: messages.length === 1 ? messages[0] : messages
  }
  const others = ordered(fields).map(([name, value]) => [Object.hasOwn(own, name) ? `annotation.${name}` : name, value])
  const all = { ...own, ...Object.fromEntries(others), ...(cause === undefined ? {} : { cause }) }
  try {
    return harmlessJson(JSON.stringify(all, plainly))
  } catch {
    // What cannot be written as a whole is written field by field.
    const each = Object.entries(all).map(([name, value]) => [name, jsonOf(value)])
    return harmlessJson(JSON.stringify(Object.fromEntries(each)))
  }
}
