/**
 * How wide text is in a terminal, and how it is broken into lines.
 *
 * @since 0.1.0
 */
import { eastAsianWidth } from "get-east-asian-width"

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" })

const ascii = /^[ -~]*$/

// As a text: the flag is younger than the language that is compiled to. Made when first needed: that takes its time.
let made: RegExp | undefined
const picture = (): RegExp => (made ??= new RegExp("^\\p{RGI_Emoji}$", "v"))

const unseen = /^[\p{Default_Ignorable_Code_Point}\p{M}\p{Cc}\p{Cf}]+$/u

/** What a person takes for one character each. */
const characters = (text: string): ReadonlyArray<string> =>
  Array.from(segmenter.segment(text), ({ segment }) => segment)

const widthOfOne = (character: string): number =>
  unseen.test(character) ? 0 : picture().test(character) ? 2 : eastAsianWidth(character.codePointAt(0) ?? 32)

/** How many columns a text takes that has no escape sequences in it. */
export const widthOf = (text: string): number =>
  ascii.test(text) ? text.length : characters(text).reduce((sum, each) => sum + widthOfOne(each), 0)

/** A text, and blanks up to a width. */
export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

/** A word in pieces of at most so many columns. */
const pieces = (word: string, width: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  let piece = ""
  let taken = 0
  for (const each of characters(word)) {
    const wide = widthOfOne(each)
    if (taken + wide > width && piece !== "") {
      found.push(piece)
      piece = ""
      taken = 0
    }
    piece += each
    taken += wide
  }
  return [...found, piece]
}

/** As much of a text as goes into so many columns. */
export const cut = (text: string, width: number): string =>
  widthOf(text) <= width ? text : (pieces(text, width)[0] ?? "")

/** A text in lines of at most so many columns, broken between words, and inside of one only where it is too long for a line. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  if (widthOf(text) <= width) return [text]
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== "") lines.push(line)
    const parts = pieces(word, width)
    lines.push(...parts.slice(0, -1))
    line = parts.at(-1) ?? ""
  }
  return line === "" ? lines : [...lines, line]
}

/** The columns that the longest word takes. */
export const longestWord = (text: string): number =>
  text.split(" ").reduce((most, each) => Math.max(most, widthOf(each)), 0)
