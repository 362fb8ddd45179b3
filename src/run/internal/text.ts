/**
 * Text for people: one line, no control characters, columns.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"

/** What a terminal would obey, and what breaks a line. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu

/**
 * A text as one line that a terminal shows and does not obey.
 *
 * @since 0.1.0
 */
export const plain = (text: string): string => text.replace(obeyed, " ").trim().toWellFormed()

/**
 * A time in ISO 8601, or its number when no calendar has it.
 *
 * @since 0.1.0
 */
export const instantOf = (millis: number): string =>
  Option.match(DateTime.make(millis), { onNone: () => String(millis), onSome: DateTime.formatIso })

const rounded = (value: number): string => String(Math.round(value * 10) / 10)

/**
 * How long something took.
 *
 * @since 0.1.0
 */
export const lasted = (millis: number): string => {
  if (millis < 1000) return `${millis} ms`
  if (millis < 120_000) return `${rounded(millis / 1000)} s`
  return millis < 7_200_000 ? `${rounded(millis / 60_000)} min` : `${rounded(millis / 3_600_000)} h`
}

const widthOf = (text: string): number => Array.from(text).length

/**
 * Rows as lines with aligned columns, under their heads.
 *
 * @since 0.1.0
 */
export const tableOf = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const all = [heads, ...rows]
  const widths = heads.map((_, column) => all.reduce((most, row) => Math.max(most, widthOf(row[column] ?? "")), 0))
  return all
    .map((row) =>
      row
        .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
