/**
 * What the peers do with a text: take it apart, leave things out, and see what is lost. Pure functions.
 *
 * @since 0.1.0
 */
import { oneLine } from "../shared/files.ts"

/**
 * The sentences of a text, each on one printable line.
 *
 * @category text
 * @since 0.1.0
 */
export const sentences = (text: string): ReadonlyArray<string> =>
  (oneLine(text, 20_000).match(/.+?(?:[.!?](?=\s|$)|$)/g) ?? [])
    .map((each) => each.trim())
    .filter((each) => each !== "")

/**
 * How many words a text has.
 *
 * @category text
 * @since 0.1.0
 */
export const words = (text: string): number => text.match(/\S+/g)?.length ?? 0

/**
 * The facts of a text: its numbers, its code in backticks, and names that do not only begin a sentence.
 *
 * @category text
 * @since 0.1.0
 */
export const facts = (text: string): ReadonlyArray<string> => {
  const found = sentences(text).flatMap((sentence) => [
    ...(sentence.match(/`[^`]+`|\d[\d.,:]*\d|\d/g) ?? []),
    ...(sentence.match(/(?<=[\p{L}\p{N},;] )\p{Lu}[\p{L}\p{N}-]+/gu) ?? [])
  ])
  return [...new Set(found)]
}

/**
 * Facts that a text does not have.
 *
 * @category text
 * @since 0.1.0
 */
export const lost = (text: string, wanted: ReadonlyArray<string>): ReadonlyArray<string> =>
  wanted.filter((fact) => !has(text, fact))

/** Whether a fact stands in a text, and not inside of a longer word or number. */
const has = (text: string, fact: string): boolean => {
  for (let at = text.indexOf(fact); at >= 0; at = text.indexOf(fact, at + 1)) {
    const around = [text.slice(0, at).at(-1) ?? " ", text.charAt(at + fact.length)]
    if (!around.some((each) => /[\p{L}\p{N}]/u.test(each))) return true
  }
  return false
}

/**
 * A text without words that say nothing, and without brackets that hold no facts.
 *
 * @category drafting
 * @since 0.1.0
 */
export const tighten = (text: string): string =>
  sentences(text)
    .map((sentence) =>
      sentence
        .replaceAll(/\s*\(([^()]*)\)/g, (all: string, inside: string) => (facts(`so ${inside}`).length > 0 ? all : ""))
        .replaceAll(/ (?:very|really|quite|simply|just|actually|basically|of course|as you know),?(?= )/gi, "")
    )
    .join(" ")

/**
 * The sentences with a fact that must be kept, and of the others as many from the start as fit.
 *
 * @category shortening
 * @since 0.1.0
 */
export const shorten = (text: string, limit: number, keep: ReadonlyArray<string>): string => {
  const all = sentences(text).map((sentence) => ({ sentence, must: keep.some((fact) => has(sentence, fact)) }))
  let left = limit - all.reduce((sum, { must, sentence }) => sum + (must ? words(sentence) : 0), 0)
  const kept = all.filter(({ must, sentence }) => {
    if (must) return true
    const fits = words(sentence) <= left
    if (fits) left -= words(sentence)
    return fits
  })
  return kept.map(({ sentence }) => sentence).join(" ")
}
