/**
 * Finding the passages that bear on a topic, in three ways that fail differently.
 *
 * - {@link byWords} weighs each line by the rarity of the topic's words in it. Exact, and blind to a misspelt word.
 * - {@link bySections} compares letters in threes, section by section. Slower and vaguer, and forgives misspelling.
 * - {@link byOutline} looks at titles only, and takes what a note says first.
 *
 * @since 0.1.0
 */
import type { Note } from "./Library.ts"
import type { Passage, Research, Source } from "./model.ts"
import * as Text from "./text.ts"

/** More passages than this are no short article. */
const most = 12

const isBody = (line: string): boolean => line !== "" && !line.startsWith("#")

/** The words of a topic, by stem, as they were written. */
const termsOf = (topic: string): ReadonlyMap<string, string> =>
  new Map(Text.words(topic).map((word) => [Text.stem(word), word]))

const passage = (note: Note, index: number, relevance: number): Passage => ({
  file: note.file,
  line: index + 1,
  quotation: note.lines[index] ?? "",
  title: note.title,
  relevance: Text.share(relevance)
})

const byRelevance = (a: Passage, b: Passage): number =>
  b.relevance - a.relevance || (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1)

/** Found passages as the result of research. */
const research = (passages: ReadonlyArray<Passage>, absent: ReadonlyArray<string>): Research => {
  const kept = passages.toSorted(byRelevance).slice(0, most)
  return { passages: kept, absent, contradictions: contradictions(kept) }
}

/**
 * Weighs each line by the words of the topic that it, or its title, has; a rare word weighs more than a common one.
 *
 * @category research
 * @since 0.1.0
 */
export const byWords = (topic: string, notes: ReadonlyArray<Note>): Research => {
  const terms = termsOf(topic)
  const lines = notes.flatMap((note) => {
    const title = Text.stems(note.title)
    return note.lines.flatMap((line, index) => (isBody(line) ? [{ note, index, title, own: Text.stems(line) }] : []))
  })
  const counts = new Map([...terms.keys()].map((term) => [term, lines.filter(({ own }) => own.has(term)).length]))
  const weight = (term: string): number => Math.log(1 + lines.length / Math.max(1, counts.get(term) ?? 0))
  const all = [...terms.keys()].reduce((sum, term) => sum + weight(term), 0)
  const found = lines.flatMap(({ index, note, own, title }) => {
    let sum = 0
    let direct = 0
    for (const term of terms.keys()) {
      if (own.has(term)) {
        sum += weight(term)
        direct += 1
      } else if (title.has(term)) sum += weight(term) / 2
    }
    return direct === 0 || sum / all < 0.3 ? [] : [passage(note, index, sum / all)]
  })
  return research(
    found,
    [...terms].flatMap(([term, word]) => ((counts.get(term) ?? 0) === 0 ? [word] : []))
  )
}

const trigrams = (word: string): ReadonlySet<string> => {
  const padded = ` ${word} `
  const found = new Set<string>()
  for (let at = 0; at + 3 <= padded.length; at++) found.add(padded.slice(at, at + 3))
  return found
}

/** How alike two words are by their letters in threes, between 0 and 1. */
const alike = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  let both = 0
  for (const each of one) if (other.has(each)) both += 1
  return (2 * both) / (one.size + other.size)
}

/**
 * Compares the letters of the topic's words with those of each section, and takes the best lines of the sections that match.
 *
 * @category research
 * @since 0.1.0
 */
export const bySections = (topic: string, notes: ReadonlyArray<Note>): Research => {
  const terms = [...new Set(Text.words(topic))].map((word) => ({
    word,
    letters: trigrams(Text.stem(word)),
    found: false
  }))
  const found: Array<Passage> = []
  for (const note of notes) {
    const title = [...Text.stems(note.title)].map(trigrams)
    const scored = note.lines.flatMap((line, index) => {
      if (!isBody(line)) return []
      const own = [...Text.stems(line)].map(trigrams)
      const best = terms.map((term) => {
        const near = own.reduce((most, word) => Math.max(most, alike(term.letters, word)), 0)
        if (near >= 0.5) term.found = true
        const far = title.reduce((most, word) => Math.max(most, alike(term.letters, word) / 2), 0)
        return near >= 0.5 ? near : far >= 0.25 ? far : 0
      })
      const relevance = best.reduce((sum, each) => sum + each, 0) / Math.max(1, terms.length)
      return [{ index, relevance, direct: own.length > 0 && best.some((each) => each >= 0.5) }]
    })
    const good = scored.filter(({ direct, relevance }) => direct && relevance >= 0.35)
    for (const { index, relevance } of good) found.push(passage(note, index, relevance))
  }
  return research(
    found,
    terms.flatMap(({ found, word }) => (found ? [] : [word]))
  )
}

/**
 * Takes what a note says first, of the notes whose titles begin a word as the topic does.
 *
 * @category research
 * @since 0.1.0
 */
export const byOutline = (topic: string, notes: ReadonlyArray<Note>): Research => {
  const terms = Text.words(topic).filter((word) => word.length >= 4)
  const hits = new Set<string>()
  const found = notes.flatMap((note) => {
    const title = Text.words(note.title)
    const here = terms.filter((term) => title.some((word) => word.startsWith(term.slice(0, 4))))
    for (const term of here) hits.add(term)
    const first = note.lines.findIndex(isBody)
    return here.length === 0 || first < 0 ? [] : [passage(note, first, 0.3 + 0.1 * here.length)]
  })
  return research(
    found,
    terms.filter((term) => !hits.has(term))
  )
}

/**
 * How sure research can be: the share of the topic's words that the notes know, how relevant the best passages are, and
 * over how many notes they spread.
 *
 * @category research
 * @since 0.1.0
 */
export const confidence = (topic: string, { absent, passages }: Research): number => {
  if (passages.length === 0) return 0
  const terms = termsOf(topic).size
  const known = terms === 0 ? 0 : 1 - absent.length / Math.max(absent.length, terms)
  const best = passages.slice(0, 3)
  const relevance = best.reduce((sum, each) => sum + each.relevance, 0) / best.length
  const notes = new Set(passages.map(({ file }) => file)).size
  return Text.share(0.5 * known + 0.3 * relevance + 0.2 * Math.min(1, notes / 3))
}

/**
 * Pairs of sentences from different notes that say nearly the same, with another figure.
 *
 * @category research
 * @since 0.1.0
 */
export const contradictions = (passages: ReadonlyArray<Passage>): Research["contradictions"] => {
  const said = passages.flatMap(({ file, line, quotation }) =>
    Text.sentences(quotation).map((text) => ({
      source: { file, line, quotation },
      words: Text.stems(text),
      measures: Text.measures(text)
    }))
  )
  const found: Array<Research["contradictions"][number]> = []
  said.forEach((one, index) => {
    for (const other of said.slice(index + 1)) {
      if (one.source.file === other.source.file || overlap(one.words, other.words) < 0.5) continue
      const unit = one.measures.find(({ number, unit }) => {
        const there = other.measures.filter((each) => Text.stem(each.unit) === Text.stem(unit))
        return there.length > 0 && there.every((each) => each.number !== number)
      })?.unit
      if (unit !== undefined) found.push({ unit, ...inOrder(one.source, other.source) })
    }
  })
  return found
}

const inOrder = (a: Source, b: Source): { readonly one: Source; readonly other: Source } =>
  a.file < b.file ? { one: a, other: b } : { one: b, other: a }

const overlap = (one: ReadonlySet<string>, other: ReadonlySet<string>): number => {
  let both = 0
  for (const each of one) if (other.has(each)) both += 1
  return both / Math.max(1, Math.min(one.size, other.size))
}

/**
 * The research of several workers over parts of the notes as one.
 *
 * @category research
 * @since 0.1.0
 */
export const join = (parts: ReadonlyArray<Research>): Research => {
  const seen = new Set<string>()
  const passages = parts
    .flatMap((part) => part.passages)
    .filter(({ file, line }) => {
      const key = `${file}:${line}`
      return seen.has(key) ? false : seen.add(key) !== undefined
    })
  // A word is absent when no part has it.
  const [first, ...rest] = parts
  const absent = (first?.absent ?? []).filter((word) => rest.every((part) => part.absent.includes(word)))
  return research(passages, absent)
}
