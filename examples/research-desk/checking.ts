/**
 * Verifying every statement of an article against the places that it names, in two ways.
 *
 * - {@link byFigures} looks for each number and each name of a statement in its sources. Exact about figures, blind to a
 *   sentence that has none and says something else.
 * - {@link byWording} asks that most words of a statement, and all of its numbers, stand in its sources.
 *
 * @since 0.1.0
 */
import type { Notes } from "./Library.ts"
import { type Check, type Draft, place, type Source, type Statement } from "./model.ts"
import * as Text from "./text.ts"
import { holds } from "./writing.ts"

/**
 * What came of checking. `unresolved`: places that do not say what they are quoted for.
 *
 * @category models
 * @since 0.1.0
 */
export interface Checked {
  readonly check: Check
  readonly unresolved: ReadonlyArray<string>
}

/**
 * The places of an article that do not say what they are quoted for.
 *
 * @category checking
 * @since 0.1.0
 */
export const unresolved = (notes: Notes, { paragraphs }: Draft): ReadonlyArray<string> => {
  const sources = paragraphs.flatMap(({ statements }) => statements.flatMap((statement) => statement.sources))
  return [...new Set(sources.filter((source) => !holds(notes, source)).map(place))]
}

const quoted = (sources: ReadonlyArray<Source>): string => sources.map(({ quotation }) => quotation).join(" ")

const checkWith = (notes: Notes, draft: Draft, against: (statement: Statement) => string | undefined): Checked => {
  const unsupported: Array<Check["unsupported"][number]> = []
  let checked = 0
  for (const { statements } of draft.paragraphs) {
    for (const statement of statements) {
      checked += 1
      const reason = statement.sources.length === 0 ? "it names no source" : against(statement)
      if (reason !== undefined) unsupported.push({ statement: statement.text, reason })
    }
  }
  if (checked === 0) unsupported.push({ statement: draft.title, reason: "the article states nothing" })
  const verdict = unsupported.length === 0 ? "APPROVED" : "NEEDS_REVISION"
  return { check: { verdict, checked, unsupported, draft }, unresolved: unresolved(notes, draft) }
}

/**
 * Looks for each number and each name of a statement in its sources.
 *
 * @category checking
 * @since 0.1.0
 */
export const byFigures = (notes: Notes, draft: Draft): Checked =>
  checkWith(notes, draft, ({ sources, text }) => {
    const there = quoted(sources)
    const known = Text.numbers(there)
    const number = [...Text.numbers(text)].find((each) => !known.has(each))
    if (number !== undefined) return `its sources do not have the number ${number}`
    const name = [...Text.names(text)].find((each) => !Text.hasName(there, each))
    return name === undefined ? undefined : `its sources do not have the name ${name}`
  })

/**
 * Asks that most words of a statement, and all of its numbers, stand in its sources.
 *
 * @category checking
 * @since 0.1.0
 */
export const byWording = (notes: Notes, draft: Draft): Checked =>
  checkWith(notes, draft, ({ sources, text }) => {
    const there = quoted(sources)
    const words = Text.stems(text)
    const known = Text.stems(there)
    const missing = [...words].filter((word) => !known.has(word))
    if (missing.length * 4 > words.size) return `its sources do not have the words ${missing.slice(0, 5).join(", ")}`
    const numbers = Text.numbers(there)
    const number = [...Text.numbers(text)].find((each) => !numbers.has(each))
    return number === undefined ? undefined : `its sources do not have the number ${number}`
  })
