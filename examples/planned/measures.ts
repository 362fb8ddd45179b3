/**
 * What can be measured of a file, by its kind. Pure functions: the same text gives the same numbers.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

/** What was measured of the files of one kind: numbers by name, and files that are not what they should be. */
export const Measured = Schema.Struct({
  files: Schema.Int,
  numbers: Schema.Record(Schema.String, Schema.Int),
  broken: Schema.Array(Schema.String)
})

export type Measured = typeof Measured.Type

/** A file with its text. */
export interface Text {
  readonly file: string
  readonly text: string
}

/** The numbers of one text; none for a text that is broken. */
type Measure = (text: string) => Readonly<Record<string, number>> | undefined

const times = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const values = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, each) => sum + values(each), 0)
    : 1

/**
 * What is measured, by kind.
 *
 * @category measures
 * @since 0.1.0
 */
export const measures = {
  prose: (text) => ({
    words: times(text, /[\p{L}\p{N}]+/gu),
    headings: times(text, /^#{1,6}\s/gm),
    links: times(text, /\]\([^)\s]+\)/g)
  }),
  code: (text) => ({
    lines: times(text, /\n/g),
    comments: times(text, /^\s*(\/\/|\/\*|\*)/gm),
    exports: times(text, /^export\s/gm)
  }),
  data: (text) => {
    const value = parsed(text)
    return value === undefined ? undefined : { values: values(value) }
  },
  plain: (text) => ({ lines: times(text, /\n/g), words: times(text, /\S+/g) })
} satisfies Record<string, Measure>

/** Whom a file is for. */
export type Kind = keyof typeof measures

const endings: Readonly<Record<string, Kind>> = { md: "prose", ts: "code", js: "code", json: "data", txt: "plain" }

/** The endings of files that are looked at. */
export const known: ReadonlyArray<string> = Object.keys(endings).map((ending) => `.${ending}`)

/**
 * Files by their kinds, the kinds in the order of their first file.
 *
 * @category measures
 * @since 0.1.0
 */
export const byKind = (files: ReadonlyArray<string>): ReadonlyMap<Kind, ReadonlyArray<string>> =>
  Map.groupBy(files, (file) => endings[file.slice(file.lastIndexOf(".") + 1)] ?? "plain")

/**
 * The numbers of several texts, summed up.
 *
 * @category measures
 * @since 0.1.0
 */
export const measure = (kind: Kind, texts: ReadonlyArray<Text>): Measured => {
  const numbers: Record<string, number> = {}
  const broken: Array<string> = []
  for (const { file, text } of texts) {
    const measured: Readonly<Record<string, number>> | undefined = measures[kind](text)
    if (measured === undefined) broken.push(file)
    else for (const [name, value] of Object.entries(measured)) numbers[name] = (numbers[name] ?? 0) + value
  }
  return { files: texts.length, numbers, broken }
}

/**
 * The synthesis: a line for each kind, and what is broken.
 *
 * @category measures
 * @since 0.1.0
 */
export const sumUp = (parts: Readonly<Record<string, Measured>>): ReadonlyArray<string> => {
  const all = Object.entries(parts)
  const files = all.reduce((sum, [, part]) => sum + part.files, 0)
  return [
    `${files === 1 ? "1 file" : `${files} files`} of ${all.length === 1 ? "1 kind" : `${all.length} kinds`}.`,
    ...all.map(([kind, part]) => {
      const numbers = Object.entries(part.numbers).map(([name, value]) => `${value} ${name}`)
      return `${kind}: ${part.files === 1 ? "1 file" : `${part.files} files`}, ${numbers.join(", ") || "no numbers"}.`
    }),
    ...all.flatMap(([, { broken }]) => broken.map((file) => `${file} is broken.`))
  ]
}
