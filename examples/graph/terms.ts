/**
 * What the librarians do: find passages, terms that stand near them, and words that are spelt alike. Pure functions.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

import { oneLine } from "../shared/files.ts"

/** A line in which a term stands; lines count from 1. */
export const Passage = Schema.Struct({ file: Schema.String, line: Schema.Int, text: Schema.String })

/**
 * What a search gives.
 *
 * **Details**
 *
 * - `tried`: every term so far. `total`: lines with one of them, of which `passages` are the first {@link most}.
 * - `verdict`: whether that is enough.
 */
export const Found = Schema.Struct({
  tried: Schema.Array(Schema.String),
  total: Schema.Int,
  passages: Schema.Array(Passage),
  verdict: Schema.Literals(["enough", "thin", "nothing"])
})

export type Passage = typeof Passage.Type
export type Found = typeof Found.Type

/** A file with its text. */
export interface Text {
  readonly file: string
  readonly text: string
}

const most = 200

/**
 * Lines in which one of the terms stands, whatever its case; those with the first term come first.
 *
 * @category search
 * @since 0.1.0
 */
export const search = (texts: ReadonlyArray<Text>, terms: ReadonlyArray<string>, enough: number): Found => {
  const wanted = terms.map((term) => term.toLowerCase())
  const byTerm = wanted.map((): Array<Passage> => [])
  for (const { file, text } of texts) {
    text.split("\n").forEach((line, at) => {
      const lower = line.toLowerCase()
      const first = wanted.findIndex((term) => lower.includes(term))
      byTerm[first]?.push({ file, line: at + 1, text: oneLine(line, 160) })
    })
  }
  const passages = byTerm.flat()
  const total = passages.length
  const verdict = total >= enough ? "enough" : total > 0 ? "thin" : "nothing"
  return { tried: terms, total, passages: passages.slice(0, most), verdict }
}

const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/\p{L}[\p{L}\p{N}]{4,}/gu) ?? []

/** Words that stand near everything. */
const common = new Set(
  `about after again because before being category const every example export false first import never other readonly
  return schema should since static still string struct their there these thing those under until value where which while
  without would`.split(/\s+/)
)

const ranked = (words: Iterable<string>, count: number, least: number): ReadonlyArray<string> =>
  [...Map.groupBy(words, (word) => word)]
    .filter(([, all]) => all.length >= least)
    .toSorted((a, b) => b[1].length - a[1].length || (a[0] < b[0] ? -1 : 1))
    .slice(0, count)
    .map(([word]) => word)

/**
 * The two words that stand in most of the passages, in two at least, and were not tried yet.
 *
 * @category search
 * @since 0.1.0
 */
export const related = ({ passages, tried }: Found): ReadonlyArray<string> => {
  const known = tried.map((term) => term.toLowerCase())
  const fresh = (word: string) => !common.has(word) && !known.some((term) => word.includes(term) || term.includes(word))
  return ranked(
    passages.flatMap(({ text }) => [...new Set(wordsOf(text).filter(fresh))]),
    2,
    2
  )
}

/**
 * The word of the texts that begins with the same four letters and is met most often, if there is one.
 *
 * @category search
 * @since 0.1.0
 */
export const spelt = (texts: ReadonlyArray<Text>, term: string): ReadonlyArray<string> => {
  const start = term.toLowerCase().slice(0, 4)
  const alike = texts.flatMap(({ text }) =>
    wordsOf(text).filter((word) => start.length === 4 && word.startsWith(start))
  )
  return ranked(alike, 1, 1)
}

/**
 * The article.
 *
 * @category writing
 * @since 0.1.0
 */
export const write = (term: string, { passages, total, tried }: Found): ReadonlyArray<string> => {
  if (total === 0) return [`Nothing is said about ${oneLine(term)}.`]
  return [
    `${total === 1 ? "1 line" : `${total} lines`} about ${oneLine(tried.join(", "))}. The first of them:`,
    ...passages.slice(0, 5).map(({ file, line, text }) => `${file}:${line}  ${text}`)
  ]
}
