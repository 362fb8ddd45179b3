/**
 * Words, sentences, numbers and names of a text: what search, writing and checking have in common.
 *
 * Texts come from folders and command lines that nobody vouches for, so everything here is linear in the length of its
 * text, and {@link oneLine} is the only way to a terminal.
 *
 * @since 0.1.0
 */

export { oneLine } from "../shared/files.ts"

const common: ReadonlySet<string> = new Set(
  (
    "a about all an and are as at be been before but by can do does each for from had has have how if in into is it its " +
    "more most no not of on one only or other our so than that the their them then these they this to was were what " +
    "when where which while who why will with you your"
  ).split(" ")
)

/** The words of a text in lower case, numbers included. */
const allWords = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/**
 * The words that carry meaning, in lower case and in their order; numbers are none.
 *
 * @category words
 * @since 0.1.0
 */
export const words = (text: string): ReadonlyArray<string> =>
  allWords(text).filter((word) => word.length >= 2 && !common.has(word) && !/^\d+$/.test(word))

/**
 * A word without its ending, so that `grafting` and `grafted` are the same word.
 *
 * @category words
 * @since 0.1.0
 */
export const stem = (word: string): string => {
  const bare = word.length > 4 ? word.replace(/(ings?|ed|s)$/, "") : word
  return bare.length > 3 ? bare.replace(/e$/, "") : bare
}

/**
 * The stems of the words that carry meaning, each once.
 *
 * @category words
 * @since 0.1.0
 */
export const stems = (text: string): ReadonlySet<string> => new Set(words(text).map(stem))

/**
 * The sentences of a text without its Markdown marks.
 *
 * @category sentences
 * @since 0.1.0
 */
export const sentences = (text: string): ReadonlyArray<string> =>
  text
    .replace(/^\s*(?:[-*+>]|\d+[.)])\s+/, "")
    .replace(/[*_`]/g, "")
    .split(/(?<=[.!?])\s+(?=[\p{Lu}\p{N}])/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "")

/**
 * The numbers of a text as they are written, each once. A number that is part of a name (`M26`) is none.
 *
 * @category numbers
 * @since 0.1.0
 */
export const numbers = (text: string): ReadonlySet<string> =>
  new Set(text.match(/(?<![\p{L}\p{N}.])\d+(?:\.\d+)?(?![\p{L}\p{N}])/gu) ?? [])

/**
 * The names of a text: capitalised words that do not begin a sentence, and marks such as `MM106`.
 *
 * @category names
 * @since 0.1.0
 */
export const names = (text: string): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const [mark] of text.matchAll(/(?<![\p{L}\p{N}])\p{Lu}+\d+(?![\p{L}\p{N}])/gu)) found.add(mark)
  for (const [name] of text.matchAll(/(?<=[^\s.!?:] )\p{Lu}\p{Ll}{2,}/gu)) found.add(name)
  return found
}

/**
 * Whether a text has a name as a word of its own.
 *
 * @category names
 * @since 0.1.0
 */
export const hasName = (text: string, name: string): boolean =>
  (text.match(/[\p{L}\p{N}]+/gu) ?? []).some((word) => word === name)

/**
 * The numbers of a text with the word that follows each: what is counted.
 *
 * @category numbers
 * @since 0.1.0
 */
export const measures = (text: string): ReadonlyArray<{ readonly number: string; readonly unit: string }> =>
  [...text.matchAll(/(?<![\p{L}\p{N}.])(\d+(?:\.\d+)?) (\p{Ll}{2,})/gu)].map(([, number = "", unit = ""]) => ({
    number,
    unit
  }))

/**
 * A share as a number with two digits behind the point, so that it prints the same everywhere.
 *
 * @category numbers
 * @since 0.1.0
 */
export const share = (value: number): number => Math.round(Math.min(1, Math.max(0, value)) * 100) / 100
