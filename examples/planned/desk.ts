/**
 * A survey office: a planner looks at the files and makes a task for each kind, workers measure, a synthesis sums up.
 *
 * The plan is one task of a pipeline, so that the synthesis comes at the end whatever the planner says.
 *
 * @since 0.1.0
 */
import { Effect, type FileSystem, Path, Schema } from "effect"
import { type Coordinator, Desk, Domain, Pipeline, Plan, Planner, Result, Worker } from "espalier/run"

import { list, oneLine, read } from "../shared/files.ts"
import { byKind, type Kind, known, measure, Measured, measures, sumUp } from "./measures.ts"

/**
 * What a run begins with: a folder, and how often in a row the planner makes a bad plan.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({ folder: Schema.String, badPlans: Schema.Literals([0, 1, 2]) })

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

type Services = FileSystem.FileSystem | Path.Path

const descriptions: Readonly<Record<Kind, string>> = {
  prose: "Counts the words, headings and links of Markdown",
  code: "Counts the lines, comments and exports of code",
  data: "Counts the values of JSON",
  plain: "Counts the lines and words of any text"
}

const surveyor = (kind: Kind) =>
  Worker.make(kind, {
    description: descriptions[kind],
    input: Schema.Struct({ folder: Schema.String, files: Schema.optionalKey(Schema.Array(Schema.String)) }),
    output: Measured,
    handle: Effect.fnUntraced(function* ({ input }) {
      const path = yield* Path.Path
      const { folder } = input
      const files = input.files ?? (yield* list(folder, known))
      const [texts, unread] = yield* Effect.partition(
        files,
        (file) => Effect.map(read(path.join(folder, file)), (text) => ({ file: oneLine(file), text })),
        { concurrency: 8 }
      )
      const measured = measure(kind, texts)
      const missing = unread.map(({ message, path }) => ({ part: oneLine(path), reason: message }))
      if (texts.length === 0 && missing.length > 0) return Result.failed("capability", missing[0]?.reason ?? "")
      return missing.length === 0 ? Result.completed(measured) : Result.partial(measured, missing)
    })
  })

const editor = Worker.make("editor", {
  description: "Sums up what others have measured",
  input: Schema.Struct({ survey: Schema.Record(Schema.String, Measured) }),
  output: Schema.Array(Schema.String),
  handle: ({ input: { survey }, missing }) =>
    Effect.succeed([
      ...sumUp(survey),
      ...missing.map(({ part, reason }) => `Missing: ${oneLine(part)}: ${oneLine(reason)}`)
    ])
})

/** A task for each kind of file. */
const plan = Effect.fnUntraced(function* ({ input: { folder } }: Coordinator.Question<Input>) {
  const kinds = byKind(yield* list(folder, known))
  return [...kinds].map(([kind, files]) => ({
    id: kind,
    worker: `survey.${kind}`,
    objective: descriptions[kind],
    inputs: { folder, files }
  }))
})

/** What a model might come up with on a bad day: somebody who does not exist, a circle, a limit below nothing. */
const bad = [
  { id: "prose", worker: "survey.poetry", objective: "Count the verses", needs: ["code"] },
  { id: "code", worker: "survey.code", objective: "Count the lines", needs: ["prose"], limits: { tokens: -1 } }
]

const survey = Planner.make({
  plan: (question: Coordinator.Question<Input>) => {
    const number = question.refused === undefined ? 1 : 2
    return number <= question.input.badPlans ? Effect.succeed<ReadonlyArray<object>>(bad) : plan(question)
  },
  workers: Object.keys(measures).map((kind) => `survey.${kind}`),
  // Without a plan, everything is just text.
  fallback: Plan.make<Input, Services>([
    {
      id: "everything",
      worker: "survey.plain",
      objective: "Count the lines and words of all files",
      input: (_, { folder }) => ({ folder })
    }
  ])
})

/**
 * The desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = Desk.make("survey-office", {
  version: "1",
  input: Input,
  domains: [
    Domain.make("survey", { workers: [surveyor("prose"), surveyor("code"), surveyor("data"), surveyor("plain")] }),
    Domain.make("desk", { workers: [editor] })
  ],
  coordinator: Pipeline.make<Input, Services>([
    { id: "survey", by: survey, objective: "Measure the files", input: (_, input) => input },
    {
      id: "synthesis",
      worker: "desk.editor",
      objective: "Sum up what was measured",
      // The outputs of the plan's tasks by their names, each checked against the schema of its worker.
      input: ({ survey }) => ({ survey })
    }
  ])
})
