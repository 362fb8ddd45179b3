/**
 * A library: a search that goes deeper as long as it finds too little, and an article about what it found.
 *
 * ```
 * search ── enough ──▶ finish        deepen ── found ──▶ search
 *        ── thin ────▶ deepen               ── dry ────▶ finish
 *        ── nothing ─▶ respell       respell ─ found ──▶ search
 *                                           ── dry ────▶ finish
 * ```
 *
 * @since 0.1.0
 */
import { Effect, type FileSystem, Path, Result as EffectResult, Schema } from "effect"
import { type Coordinator, Desk, Domain, Graph, Pipeline, Result, Worker } from "espalier/run"

import { list, oneLine, read } from "../shared/files.ts"
import { Found, related, search, spelt, write } from "./terms.ts"

/**
 * What a run begins with: what to look for in which folder, and how many lines are enough, from 1 on.
 *
 * @category models
 * @since 0.1.0
 */
export const Input = Schema.Struct({
  term: Schema.NonEmptyString,
  folder: Schema.String,
  enough: Schema.Int.check(Schema.isGreaterThan(0))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Input = typeof Input.Type

const Terms = Schema.Array(Schema.String)

/** The texts of a folder; what cannot be read is passed over. */
const texts = Effect.fnUntraced(function* (folder: string) {
  const path = yield* Path.Path
  const files = yield* list(folder, [".md", ".txt", ".ts"])
  const all = yield* Effect.forEach(files, (file) => Effect.result(read(path.join(folder, file))), { concurrency: 8 })
  return all.flatMap((text, at) =>
    EffectResult.isSuccess(text) ? [{ file: oneLine(files[at] ?? ""), text: text.success }] : []
  )
})

const searcher = Worker.make("searcher", {
  description: "Searches the texts of a folder for terms",
  input: Schema.Struct({ folder: Schema.String, enough: Schema.Int, terms: Terms }),
  output: Found,
  handle: ({ input: { enough, folder, terms } }) => Effect.map(texts(folder), (all) => search(all, terms, enough))
})

const relater = Worker.make("relater", {
  description: "Finds terms that stand near what was found",
  input: Schema.Struct({ found: Found }),
  output: Terms,
  handle: ({ input: { found } }) => Effect.succeed(related(found))
})

const speller = Worker.make("speller", {
  description: "Finds a word that is spelt like a term",
  input: Schema.Struct({ folder: Schema.String, term: Schema.String }),
  output: Terms,
  handle: ({ input: { folder, term } }) => Effect.map(texts(folder), (all) => spelt(all, term))
})

const writer = Worker.make("writer", {
  description: "Writes about passages that were found",
  input: Schema.Struct({ term: Schema.String, found: Schema.NullOr(Found) }),
  output: Schema.Array(Schema.String),
  handle: ({ input: { found, term }, missing }) => {
    if (found === null) return Effect.succeed(Result.failed("capability", "There is nothing to write about"))
    const lacks = missing.map(({ reason }) => `More could not be found: ${oneLine(reason)}.`)
    return Effect.succeed(Result.completed([...write(term, found), ...lacks]))
  }
})

const isFound = Schema.is(Found)

const isTerms = Schema.is(Terms)

const termsIn = (output: unknown): ReadonlyArray<string> => (isTerms(output) ? output : [])

/** What is searched for next: everything so far, and what the others came up with. */
const next = ({ deepen, respell, search }: Coordinator.Accepted, { term }: Input): ReadonlyArray<string> =>
  isFound(search) ? [...new Set([...search.tried, ...termsIn(respell), ...termsIn(deepen)])] : [term]

const foundOrDry = {
  outcomes: ["found", "dry"],
  outcome: (output: Schema.Json) => (termsIn(output).length === 0 ? "dry" : "found")
} as const

const research = Graph.make({
  start: "search",
  nodes: {
    search: {
      worker: "library.searcher",
      objective: "Search the texts",
      outcomes: ["enough", "thin", "nothing"],
      outcome: (output) => (isFound(output) ? output.verdict : "nothing"),
      input: (accepted, input: Input) => ({
        folder: input.folder,
        enough: input.enough,
        terms: next(accepted, input)
      })
    },
    deepen: {
      ...foundOrDry,
      worker: "library.relater",
      objective: "Find related terms",
      input: ({ search }) => ({ found: search })
    },
    respell: {
      ...foundOrDry,
      worker: "library.speller",
      objective: "Find another spelling",
      input: (_, { folder, term }: Input) => ({ folder, term })
    }
  },
  edges: {
    search: { enough: "finish", thin: "deepen", nothing: "respell" },
    deepen: { found: "search", dry: "finish" },
    respell: { found: "search", dry: "finish" }
  },
  cap: 4,
  result: "search"
})

/**
 * The desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const desk = Desk.make("library", {
  version: "1",
  input: Input,
  domains: [Domain.make("library", { workers: [searcher, relater, speller, writer] })],
  coordinator: Pipeline.make<Input, FileSystem.FileSystem | Path.Path>([
    { id: "research", by: research, objective: "Find enough about the term", input: (_, input) => input },
    {
      id: "article",
      worker: "library.writer",
      objective: "Write about what was found",
      input: ({ research = null }, { term }) => ({ term, found: research })
    }
  ])
})
