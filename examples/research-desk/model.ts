/**
 * What the workers of the desk hand to each other, and the report in the end. All of it is plain JSON.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"

import { forces } from "./forced.ts"

/**
 * What a run of the desk begins with.
 *
 * **Details**
 *
 * - `folder`: the absolute path of the notes.
 * - `force`: the step of recovery that was asked for. A run is taken up with the policy that it began with.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({
  topic: Schema.String,
  folder: Schema.String,
  force: Schema.optionalKey(Schema.Literals(forces))
})

/** @since 0.1.0 */
export type Input = typeof Input.Type

/**
 * Which notes there are. `unread`: files of the folder that are none, and why.
 *
 * @category models
 * @since 0.1.0
 */
export const Catalogue = Schema.Struct({
  notes: Schema.Array(Schema.Struct({ file: Schema.String, title: Schema.String, lines: Schema.Int })),
  unread: Schema.Array(Schema.Struct({ file: Schema.String, reason: Schema.String }))
})

/** @since 0.1.0 */
export type Catalogue = typeof Catalogue.Type

/**
 * A place in the notes. `line`: from 1. `quotation`: what stands there.
 *
 * @category models
 * @since 0.1.0
 */
export const Source = Schema.Struct({ file: Schema.String, line: Schema.Int, quotation: Schema.String })

/** @since 0.1.0 */
export type Source = typeof Source.Type

/**
 * A place that bears on the topic. `relevance`: between 0 and 1. `title`: of its note.
 *
 * @category models
 * @since 0.1.0
 */
export const Passage = Schema.Struct({ ...Source.fields, title: Schema.String, relevance: Schema.Finite })

/** @since 0.1.0 */
export type Passage = typeof Passage.Type

/**
 * What research found.
 *
 * **Details**
 *
 * - `passages`: the most relevant first.
 * - `absent`: words of the topic that stand in no note: the gap.
 * - `contradictions`: pairs of sentences that say the same with different figures.
 *
 * @category models
 * @since 0.1.0
 */
export const Research = Schema.Struct({
  passages: Schema.Array(Passage),
  absent: Schema.Array(Schema.String),
  contradictions: Schema.Array(Schema.Struct({ unit: Schema.String, one: Source, other: Source }))
})

/** @since 0.1.0 */
export type Research = typeof Research.Type

/**
 * A sentence with the places that it rests on.
 *
 * @category models
 * @since 0.1.0
 */
export const Statement = Schema.Struct({ text: Schema.String, sources: Schema.Array(Source) })

/** @since 0.1.0 */
export type Statement = typeof Statement.Type

/**
 * An article, as it was written.
 *
 * @category models
 * @since 0.1.0
 */
export const Draft = Schema.Struct({
  title: Schema.String,
  paragraphs: Schema.Array(Schema.Struct({ heading: Schema.String, statements: Schema.Array(Statement) }))
})

/** @since 0.1.0 */
export type Draft = typeof Draft.Type

/**
 * What a checker says.
 *
 * **Details**
 *
 * - `verdict`: a field of its own; what a text says of itself is no verdict.
 * - `checked`: how many statements. `unsupported`: those that their sources do not carry, and why.
 * - `draft`: what was checked, where that is not the article of the writer but a mended one.
 *
 * @category models
 * @since 0.1.0
 */
export const Check = Schema.Struct({
  verdict: Schema.Literals(["APPROVED", "NEEDS_REVISION"]),
  checked: Schema.Int,
  unsupported: Schema.Array(Schema.Struct({ statement: Schema.String, reason: Schema.String })),
  draft: Schema.optionalKey(Draft)
})

/** @since 0.1.0 */
export type Check = typeof Check.Type

/**
 * The answer of the desk.
 *
 * **Details**
 *
 * - `kind`: an article, what research found where no article was written, or nothing.
 * - `verdict`: `UNKNOWN` where nobody has checked it.
 * - `notes`: what a reader has to know: what failed, what is missing, what the notes do not agree on, low confidence.
 * - `confidence`: of the least certain part, between 0 and 1; 0 for nothing.
 * - `steps`: what all workers used, in orders that failed too.
 *
 * @category models
 * @since 0.1.0
 */
export const Report = Schema.Struct({
  kind: Schema.Literals(["article", "raw-research", "nothing"]),
  verdict: Schema.Literals(["APPROVED", "NEEDS_REVISION", "UNKNOWN"]),
  title: Schema.String,
  text: Schema.String,
  sources: Schema.Array(Schema.String),
  notes: Schema.Array(Schema.String),
  confidence: Schema.Finite.check(
    Schema.isBetween({ minimum: 0, maximum: 1 }, { expected: "a number between 0 and 1" })
  ),
  steps: Schema.Int
})

/** @since 0.1.0 */
export type Report = typeof Report.Type

/**
 * A source as a reader is told of it: `02-scion-wood.md:6`.
 *
 * @category text
 * @since 0.1.0
 */
export const place = ({ file, line }: Pick<Source, "file" | "line">): string => `${file}:${line}`
