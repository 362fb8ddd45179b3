/**
 * A survey office: a language model plans who measures which kinds of files, workers measure, a synthesis sums up.
 *
 * The model is told how many files there are of each kind, and no more. Which folder that is, is not for it to say.
 *
 * The plan is one task of a pipeline, so that the synthesis comes at the end whatever the planner says.
 *
 * @since 0.1.0
 */
import { Context, Effect, type FileSystem, Path, Schema } from "effect"
import { type CostModel, ModelPlanner, type Models } from "espalier/agent"
import { type Coordinator, type Dependency, Desk, Domain, Pipeline, Plan, Planner, Result, Worker } from "espalier/run"

import { list, oneLine, read } from "../shared/files.ts"
import { byKind, type Kind, known, measure, Measured, measures, sumUp } from "./measures.ts"

/**
 * The folder that is surveyed.
 *
 * @category services
 * @since 0.1.0
 */
export class Folder extends Context.Service<Folder, string>()("planned/Folder") {}

type Services = FileSystem.FileSystem | Path.Path | Folder

/** Which files: those of some kinds. */
const Kinds = Schema.Struct({ kinds: Schema.Array(Schema.Literals(["prose", "code", "data", "plain"])) })

/** The files of the folder by their kinds. */
const sorted = Effect.gen(function* () {
  return byKind(yield* list(yield* Folder, known))
})

const descriptions: Readonly<Record<Kind, string>> = {
  prose: "Counts the words, headings and links of Markdown",
  code: "Counts the lines, comments and exports of code",
  data: "Counts the values of JSON",
  plain: "Counts the lines and words of any text"
}

const surveyor = (kind: Kind) =>
  Worker.make(kind, {
    description: descriptions[kind],
    input: Kinds,
    output: Measured,
    handle: Effect.fnUntraced(function* ({ input }) {
      const path = yield* Path.Path
      const folder = yield* Folder
      const all = yield* sorted
      const files = input.kinds.flatMap((kind) => all.get(kind) ?? [])
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

const names = Object.keys(measures).map((kind) => `survey.${kind}`)

/** The model is told what there is; what it answers is decoded, and checked as any plan is. */
const planBy = (models: Models.Models) => {
  const plan = ModelPlanner.plan<string, never>({
    models,
    inputs: Object.fromEntries(names.map((name) => [name, Kinds])),
    instructions:
      "Give each kind of file to the worker that is made for it, in a task of its own that is named after it."
  })
  return Effect.fnUntraced(function* (question: Coordinator.Question<unknown>) {
    const kinds = yield* sorted
    const input = `Measure ${[...kinds].map(([kind, files]) => `${kind} (${files.length})`).join(", ")}`
    return yield* plan({ ...question, input })
  })
}

const survey = (models: Models.Models) =>
  Planner.make({
    plan: planBy(models),
    workers: names,
    // Without a plan, everything is just text.
    fallback: Plan.make<unknown, Services>([
      {
        id: "everything",
        worker: "survey.plain",
        objective: "Count the lines and words of all files",
        input: () => ({ kinds: Object.keys(measures) })
      }
    ])
  })

/**
 * Makes the desk, for which these models plan.
 *
 * @category desks
 * @since 0.1.0
 */
export const make = (models: Models.Models) =>
  Desk.make("survey-office", {
    version: "2",
    input: Schema.Struct({}),
    domains: [
      Domain.make("survey", { workers: [surveyor("prose"), surveyor("code"), surveyor("data"), surveyor("plain")] }),
      Domain.make("desk", { workers: [editor] })
    ],
    coordinator: Pipeline.make<unknown, Services | Dependency.Dependency | CostModel.CostModel>([
      { id: "survey", by: survey(models), objective: "Measure the files", input: () => ({}) },
      {
        id: "synthesis",
        worker: "desk.editor",
        objective: "Sum up what was measured",
        // The outputs of the plan's tasks by their names, each checked against the schema of its worker.
        input: ({ survey }) => ({ survey })
      }
    ])
  })
