/**
 * Composing a short article out of passages, in two ways, and mending one whose sources do not hold.
 *
 * Nothing is invented: a statement is a sentence of a note, and carries the place where it stands.
 *
 * @since 0.1.0
 */
import { lineOf, type Notes } from "./Library.ts"
import type { Draft, Passage, Research, Source, Statement } from "./model.ts"
import * as Text from "./text.ts"

const titleOf = (topic: string): string => {
  const flat = Text.oneLine(topic, 120)
  return flat.charAt(0).toUpperCase() + flat.slice(1)
}

const sourceOf = ({ file, line, quotation }: Source): Source => ({ file, line, quotation })

/** What the notes do not agree on, as a paragraph of its own. */
const disagreements = ({ contradictions }: Research): Draft["paragraphs"] => {
  if (contradictions.length === 0) return []
  const statements = contradictions.map(({ one, other, unit }): Statement => ({
    text: `${said(one, unit, other)} But: ${said(other, unit, one)}`,
    sources: [sourceOf(one), sourceOf(other)]
  }))
  return [{ heading: "Where the notes do not agree", statements }]
}

/** The sentence of a place that has the figure in question. */
const said = ({ quotation }: Source, unit: string, other: Source): string => {
  const theirs = Text.stems(other.quotation)
  const near = (sentence: string) => [...Text.stems(sentence)].filter((each) => theirs.has(each)).length
  const all = Text.sentences(quotation)
  const fit = all.filter((sentence) => Text.measures(sentence).some((each) => Text.stem(each.unit) === Text.stem(unit)))
  return fit.toSorted((a, b) => near(b) - near(a))[0] ?? all[0] ?? quotation
}

/** Places that the last paragraph is about are not told twice. */
const undisputed = ({ contradictions, passages }: Research): ReadonlyArray<Passage> =>
  passages.filter(({ file, line }) =>
    contradictions.every(({ one, other }) =>
      [one, other].every((source) => source.file !== file || source.line !== line)
    )
  )

/**
 * Tells it note by note: a paragraph for each note, the most relevant note first, its sentences in their own order.
 *
 * @category writing
 * @since 0.1.0
 */
export const byNotes = (topic: string, research: Research): Draft => {
  const terms = Text.stems(topic)
  const groups = Map.groupBy(undisputed(research), ({ file }) => file)
  const paragraphs = [...groups.values()].slice(0, 6).map((passages) => ({
    heading: passages[0]?.title ?? "",
    statements: passages
      .toSorted((a, b) => a.line - b.line)
      .slice(0, 3)
      .flatMap((passage) =>
        fitting(passage.quotation, terms, 2).map((text): Statement => ({ text, sources: [sourceOf(passage)] }))
      )
  }))
  return { title: titleOf(topic), paragraphs: [...paragraphs, ...disagreements(research)] }
}

/** The sentences of a line that bear most on the topic, in their order. */
const fitting = (line: string, terms: ReadonlySet<string>, most: number): ReadonlyArray<string> => {
  const all = Text.sentences(line)
  const score = (sentence: string) => [...Text.stems(sentence)].filter((each) => terms.has(each)).length
  const best = new Set(all.toSorted((a, b) => score(b) - score(a)).slice(0, most))
  return all.filter((sentence) => best.has(sentence))
}

/**
 * Tells it word by word: a paragraph for each word of the topic, with the sentences that have it, none told twice.
 *
 * @category writing
 * @since 0.1.0
 */
export const byTopic = (topic: string, research: Research): Draft => {
  const told = new Set<string>()
  const passages = undisputed(research)
  const paragraphs = [...new Set(Text.words(topic))].flatMap((word) => {
    const term = Text.stem(word)
    const statements: Array<Statement> = []
    for (const passage of passages) {
      for (const text of Text.sentences(passage.quotation)) {
        if (statements.length >= 4 || told.has(text) || !Text.stems(text).has(term)) continue
        told.add(text)
        statements.push({ text, sources: [sourceOf(passage)] })
      }
    }
    return statements.length === 0 ? [] : [{ heading: `What the notes say of ${word}`, statements }]
  })
  if (paragraphs.length > 0 || passages.length === 0) {
    return { title: titleOf(topic), paragraphs: [...paragraphs, ...disagreements(research)] }
  }
  return byNotes(topic, research)
}

/**
 * Whether a draft tells at least one figure.
 *
 * @category checks
 * @since 0.1.0
 */
export const hasFigures = ({ paragraphs }: Draft): boolean =>
  paragraphs.some(({ statements }) => statements.some(({ text }) => Text.numbers(text).size > 0))

/**
 * Whether a place really says what it is quoted for.
 *
 * @category checks
 * @since 0.1.0
 */
export const holds = (notes: Notes, { file, line, quotation }: Source): boolean =>
  quotation !== "" && lineOf(notes, file, line) === quotation

/**
 * Looks up every quotation that does not stand where it is said to stand, and corrects the place. A statement whose
 * quotation stands nowhere is dropped.
 *
 * @category writing
 * @since 0.1.0
 */
export const mend = (notes: Notes, draft: Draft): Draft => {
  const found = (source: Source): ReadonlyArray<Source> => {
    if (holds(notes, source)) return [source]
    const note = notes.notes.find(({ file }) => file === source.file)
    const index = note?.lines.indexOf(source.quotation) ?? -1
    return index < 0 || source.quotation === "" ? [] : [{ ...source, line: index + 1 }]
  }
  const paragraphs = draft.paragraphs.flatMap(({ heading, statements }) => {
    const kept = statements.flatMap(({ sources, text }) => {
      const mended = sources.flatMap(found)
      return mended.length < sources.length || mended.length === 0 ? [] : [{ text, sources: mended }]
    })
    return kept.length === 0 ? [] : [{ heading, statements: kept }]
  })
  return { ...draft, paragraphs }
}
