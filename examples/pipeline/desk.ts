/**
 * A newsroom of three workers in a pipeline: research → analysis → article.
 *
 * @since 0.1.0
 */
import { Effect, Result as EffectResult, Schema } from "effect"
import { Desk, Domain, Pipeline, Result, Worker } from "espalier/run"

import { read } from "../shared/files.ts"
import { Analysis, analyse, check, Research, research, write } from "./changes.ts"

/**
 * What a run begins with: a file, and what is to go wrong.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({
  file: Schema.String,
  fault: Schema.Literals(["none", "research", "analysis", "sloppy"])
})

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

const Article = Schema.Array(Schema.String)

const unable = (who: string) => Result.failed("capability", `The ${who} is out today`)

const reader = Worker.make("reader", {
  description: "Reads a text and finds the changes that it lists",
  input: Input,
  output: Research,
  handle: ({ input: { fault, file } }) =>
    fault === "research"
      ? Effect.succeed(unable("reader"))
      : Effect.map(read(file), (text) => {
          const found = research(text)
          if (found.changes.length === 0)
            return Result.failed("capability", "The text lists no changes under a heading")
          const missing = { part: "stray bullets", reason: `${found.stray} stand under no heading and were left out` }
          return found.stray === 0 ? Result.completed(found) : Result.partial(found, [missing])
        })
})

const analyst = Worker.make("analyst", {
  description: "Counts changes and says what they are about",
  input: Schema.Struct({ research: Research, fault: Input.fields.fault }),
  output: Analysis,
  handle: ({ input: { fault, research } }) =>
    Effect.succeed(fault === "analysis" ? unable("analyst") : Result.completed(analyse(research)))
})

const writer = Worker.make("writer", {
  description: "Writes an article out of changes and their numbers",
  input: Schema.Struct({
    research: Schema.NullOr(Research),
    analysis: Schema.NullOr(Analysis),
    fault: Input.fields.fault
  }),
  output: Article,
  handle: ({ input: { analysis, fault, research }, missing, previous }) => {
    if (research === null) return Effect.succeed(Result.failed("capability", "There is nothing to write about"))
    // A sloppy writer counts from memory, until somebody says what is wrong.
    const sloppy = fault === "sloppy" && previous.length === 0 && analysis !== null
    const known = sloppy ? { ...analysis, total: analysis.total + 1 } : (analysis ?? undefined)
    const lacks = missing.map(({ part, reason, task }) => `Missing from ${task}: ${part}, ${reason}`)
    return Effect.succeed(Result.completed([...write(research, known), ...lacks]))
  }
})

const decodeWriting = Schema.decodeUnknownResult(Schema.Struct({ article: Article, analysis: Analysis }))

/**
 * The desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = Desk.make("newsroom", {
  version: "1",
  input: Input,
  domains: [Domain.make("press", { workers: [reader, analyst, writer] })],
  coordinator: Pipeline.make<Input>([
    { id: "research", worker: "press.reader", objective: "Find the changes", input: (_, input) => input },
    {
      id: "analysis",
      worker: "press.analyst",
      objective: "Count the changes",
      input: ({ research }, { fault }) => ({ research, fault })
    },
    {
      id: "article",
      worker: "press.writer",
      objective: "Write about the changes",
      needs: ["research"],
      // Numbers are good to have; an article without them is better than none.
      acceptMissing: true,
      input: ({ analysis = null, research = null }, { fault }) => ({ research, analysis, fault }),
      validate: (article, { inputs }) => {
        const known = decodeWriting({ article, analysis: inputs["analysis"] })
        return EffectResult.isSuccess(known) ? check(known.success.article, known.success.analysis) : []
      }
    }
  ])
})
