/**
 * Tables that fit into the place where they are printed.
 *
 * **Details**
 *
 * - In a pipe a row is a line, whole. In a terminal the columns that hold sentences are broken into lines where the table is too
 *   wide; where even that is not enough, each row is told as a list of its cells.
 * - Nothing in a cell is obeyed by a terminal, wherever it comes from.
 *
 * @since 0.1.0
 */
import { plain } from "../run/internal/text.ts"
import { harmless, type Look, painted, piped, type Style, styleOf } from "./look.ts"
import { longestWord, padded, widthOf, wrapped } from "./width.ts"

/** What stands in a cell. */
export type Cell = string | { readonly text: string; readonly style: Style | undefined }

/** A status as a cell, in its style. */
export const status = (text: string): Cell => ({ text, style: styleOf(text.split(" ")[0] ?? "") })

interface Shown {
  readonly text: string
  readonly style: Style | undefined
}

const shownOf = (cell: Cell = ""): Shown =>
  typeof cell === "string" ? { text: plain(cell), style: undefined } : { text: plain(cell.text), style: cell.style }

/** A column that is at most so wide is not broken. */
const unbroken = 24

/** A column that is broken has at least so many columns of the terminal. */
const narrowest = 16

const gap = "  "

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, each) => all + each, 0)

/** How wide each column is in a place of so many columns; nothing where they have no room beside each other. */
const widthsIn = (
  columns: number | undefined,
  all: ReadonlyArray<ReadonlyArray<Shown>>
): ReadonlyArray<number> | undefined => {
  const [heads = []] = all
  const most = (column: number, of: (text: string) => number): number =>
    all.reduce((most, row) => Math.max(most, of(row[column]?.text ?? "")), 0)
  const natural = heads.map((_, column) => most(column, widthOf))
  if (columns === undefined) return natural
  const room = columns - gap.length * (heads.length - 1)
  if (sum(natural) <= room) return natural
  const least = natural.map((width, column) =>
    width <= unbroken ? width : Math.min(width, Math.max(narrowest, most(column, longestWord)))
  )
  const spare = room - sum(least)
  if (spare < 0) return undefined
  const wanted = natural.map((width, column) => width - (least[column] ?? 0))
  const whole = sum(wanted)
  return least.map((width, column) => width + Math.floor((spare * (wanted[column] ?? 0)) / whole))
}

const asLines = (look: Look, row: ReadonlyArray<Shown>, widths: ReadonlyArray<number>): ReadonlyArray<string> => {
  const broken = row.map(({ text }, column) => wrapped(text, widths[column] ?? 0))
  const height = broken.reduce((most, lines) => Math.max(most, lines.length), 1)
  return Array.from({ length: height }, (_, at) => {
    const texts = broken.map((lines) => lines[at] ?? "")
    const last = texts.findLastIndex((text) => text !== "")
    return texts
      .slice(0, last + 1)
      .map((text, column) => {
        const blanks = column === last ? "" : padded("", (widths[column] ?? 0) - widthOf(text))
        return painted(look, row[column]?.style, text) + blanks
      })
      .join(gap)
  })
}

/** A row as a list of those of its cells that are not empty. */
const asList = (look: Look, heads: ReadonlyArray<Shown>, row: ReadonlyArray<Shown>): string => {
  const width = heads.reduce((most, { text }) => Math.max(most, widthOf(text)), 0)
  const room = Math.max(narrowest, (look.columns ?? Infinity) - width - gap.length)
  return row
    .flatMap(({ style, text }, column) => {
      if (text === "") return []
      const name = padded(heads[column]?.text ?? "", width)
      return wrapped(text, room).map(
        (line, at) => (at === 0 ? painted(look, "bold", name) : padded("", width)) + gap + painted(look, style, line)
      )
    })
    .join("\n")
}

/** Rows under their heads, which are bold where there are colours. */
export const tableIn = (look: Look, heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string => {
  const first = heads.map((text): Shown => ({ text, style: "bold" }))
  const shown = rows.map((row) => heads.map((_, column) => shownOf(row[column])))
  const widths = widthsIn(look.columns, [first, ...shown])
  if (widths === undefined) return shown.map((row) => asList(look, first, row)).join("\n\n")
  return [first, ...shown].flatMap((row) => asLines(look, row, widths)).join("\n")
}

/**
 * A text beside its label, which goes on below itself where it is too long for the terminal.
 *
 * **Details**
 *
 * - `room`: the columns of the label and what is before the text.
 * - `style`: of the first word of the text.
 */
export const labelled = (look: Look, label: Cell, room: number, text: string, style?: Style | undefined): string => {
  const name = typeof label === "string" ? { text: label, style: undefined } : label
  const said = harmless(piped, text).replaceAll("\n", " ")
  const [first = "", ...more] =
    look.columns === undefined ? [said] : wrapped(said, Math.max(narrowest, look.columns - room))
  const [, word = "", rest = ""] = /^([\w-]*)(.*)$/s.exec(first) ?? []
  const blanks = " ".repeat(Math.max(0, room - widthOf(name.text)))
  const head = `${painted(look, name.style, name.text)}${blanks}${painted(look, style, word)}${rest}`
  return [head.trimEnd(), ...more.map((line) => " ".repeat(room) + line)].join("\n")
}
