/**
 * What the place is like where text is printed, and what never gets there.
 */
import { styleText } from "node:util"

/** What the place is like where something is printed. `columns`: nothing where it is no terminal. */
export interface Look {
  readonly colour: boolean
  readonly columns: number | undefined
}

/** A place without colours and without an edge: a pipe or a file. */
export const piped: Look = { colour: false, columns: undefined }

const isSet = (value: string | undefined): value is string => value !== undefined && value !== ""

/**
 * What a place is like, by the environment and by what the system says of it.
 *
 * **Details**
 *
 * Nothing is coloured where `TERM` is `dumb` or `NO_COLOR` is set, in this order; else `FORCE_COLOR` decides, no colours by `0`
 * and `false`; else whether it is a terminal. A terminal that does not tell its width has 80 columns.
 */
export const lookOf = (
  env: Readonly<Record<string, string | undefined>>,
  place: { readonly isTTY?: boolean | undefined; readonly columns?: number | undefined }
): Look => {
  const terminal = place.isTTY === true
  const { FORCE_COLOR: force, NO_COLOR: none, TERM: kind } = env
  const wanted = isSet(force) ? force !== "0" && force.toLowerCase() !== "false" : terminal
  const { columns = 0 } = place
  return {
    colour: kind !== "dumb" && !isSet(none) && wanted,
    columns: terminal ? (columns > 0 ? columns : 80) : undefined
  }
}

/** The styles there are, and the codes by which terminals know them. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39]
} as const

/** A style of text. */
export type Style = keyof typeof codes

/** A text in a style, where there are colours. */
export const painted = (look: Look, style: Style | undefined, text: string): string =>
  !look.colour || style === undefined || text === "" ? text : styleText(style, text, { validateStream: false })

const own = new Set(Object.values(codes).flatMap(([on, off]) => [`\u001B[${on}m`, `\u001B[${off}m`]))

// oxlint-disable-next-line no-control-regex -- what is found here is what terminals obey.
const obeyed = /\u001B\[\d+m|[^\n\P{Cc}]|[\p{Cf}\p{Zl}\p{Zp}]/gu

/** A text of one or more lines in which nothing is left that a terminal obeys, but for the styles of {@link painted}. */
export const harmless = (look: Look, text: string): string =>
  text.replace(obeyed, (found) => (look.colour && own.has(found) ? found : "")).toWellFormed()

/** Characters that JSON may hold as they are, and terminals obey. */
const unescaped = /[\u007F-\u009F\p{Cf}\p{Zl}\p{Zp}]/gu

/** A text of JSON that says the same, and holds nothing that a terminal obeys. */
export const harmlessJson = (text: string): string =>
  text.replace(unescaped, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")
  )
