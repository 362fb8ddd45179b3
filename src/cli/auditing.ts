/**
 * Dispatches as rows of a table, and events as steps, where they are printed.
 *
 * @since 0.1.0
 */
import * as Audit from "../run/Audit.ts"
import { cells, columns } from "../run/internal/auditCells.ts"
import { plain } from "../run/internal/text.ts"
import { type Look, timeOf } from "./look.ts"
import { type Cell, labelled, status, tableIn } from "./table.ts"

const outcome = columns.indexOf("outcome")

/** Dispatches as a table; with the run after the time where they are of several. */
export const auditTable = (
  look: Look,
  rows: ReadonlyArray<Audit.Row & { readonly run: string }>,
  several: boolean
): string => {
  const after = <A>(given: ReadonlyArray<A>, run: A): ReadonlyArray<A> =>
    several ? [...given.slice(0, 1), run, ...given.slice(1)] : given
  return tableIn(
    look,
    after(columns, "run"),
    rows.map((row) => {
      const found = cells(row, (millis) => timeOf(look, millis)).map((text, column): Cell =>
        column === outcome ? status(text) : text
      )
      return after(found, row.run)
    })
  )
}

/** The columns before what is said of a step in a terminal: version, time, type. */
const before = 5 + 2 + 20 + 2 + 15 + 2

/** A step as a line. */
export const stepText = (look: Look, step: Audit.Step): string => {
  if (look.columns === undefined) return Audit.stepLine(step)
  const { at, note, subject, type, version, what } = step
  const head = `${String(version).padStart(5)}  ${timeOf(look, at)}  ${plain(type).padEnd(15)}`
  const said = [plain(subject), plain(what)].filter((text) => text !== "").join("  ")
  const why = plain(note)
  const text = `${said}${why === "" ? "" : `: ${why}`}`
  return look.columns < before + 30
    ? `${head}\n${labelled(look, "", 7, text)}`
    : labelled(look, { text: head, style: undefined }, before, text)
}
