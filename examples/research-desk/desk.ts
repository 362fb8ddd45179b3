/**
 * The research desk: catalogue → research → write → check, with a stand-in for each kind of worker that works differently.
 *
 * What can be recovered from is declared with the tasks: how research is split or planned anew, how an article whose
 * sources do not hold is followed up, what may be dropped if a person says so. When it is done is decided by the library.
 *
 * @since 0.1.0
 */
import { Effect, Result as EffectResult, Schema } from "effect"
import { Failure } from "espalier"
import { type Allowance, Desk, Domain, Plan, Recovery, Result, Worker } from "espalier/run"
import type { Decider } from "espalier/run"

import * as Checking from "./checking.ts"
import { Library, type Note, type Notes } from "./Library.ts"
import { Catalogue, Check, Draft, Input, Report, Research } from "./model.ts"
import { assemble, threshold } from "./report.ts"
import * as Finding from "./research.ts"
import * as Text from "./text.ts"
import * as Writing from "./writing.ts"

/** One step of a worker: what it does is charged to the run before it begins. */
const step = <A>(allowance: Allowance.Allowance, work: () => A) => allowance.call({ steps: 1 }, Effect.sync(work))

const catalogue = Worker.make("catalogue", {
  description: "Lists the notes, and the files that are none",
  capabilities: ["list-notes"],
  input: Schema.Struct({}),
  output: Catalogue,
  estimate: { steps: 1 },
  handle: ({ allowance }) =>
    Effect.gen(function* () {
      const { notes, strike } = yield* Library
      const list = step(allowance, (): Result.Result<Catalogue> => {
        const listed = notes.notes.map(({ file, lines, title }) => ({ file, title, lines: lines.length }))
        const output = { notes: listed, unread: notes.unread }
        const missing = notes.unread.map(({ file, reason }) => ({ part: file, reason }))
        return missing.length === 0 ? Result.completed(output) : Result.partial(output, missing)
      })
      return yield* strike("library.catalogue", list, (_, answer) => answer)
    })
})

const ResearchInput = Schema.Struct({ topic: Schema.String, files: Schema.Array(Schema.String) })

/** `window`: how many characters of notes it can take in. */
const researcher = (
  domain: string,
  name: string,
  description: string,
  capability: string,
  window: number,
  find: (topic: string, notes: ReadonlyArray<Note>) => Research
) =>
  Worker.make(name, {
    description,
    capabilities: [capability],
    input: ResearchInput,
    output: Research,
    estimate: { steps: 2 },
    window,
    handle: ({ allowance, input: { files, topic } }) =>
      Effect.gen(function* () {
        const { notes, strike } = yield* Library
        const work = Effect.gen(function* () {
          const read = yield* step(allowance, () => notes.notes.filter(({ file }) => files.includes(file)))
          const size = read.reduce((sum, { lines }) => sum + lines.reduce((sum, line) => sum + line.length, 0), 0)
          if (size > window) {
            return yield* Failure.oversized(`the notes have ${size} characters, ${name} takes in ${window}`)
          }
          const found = yield* step(allowance, () => find(topic, read))
          if (found.passages.length === 0) {
            return yield* Failure.capability(`none of ${read.length} notes bears on “${Text.oneLine(topic, 80)}”`)
          }
          return Result.completed(found, { confidence: Finding.confidence(topic, found) })
        })
        return yield* strike(`${domain}.${name}`, work, (_, answer) => half(answer))
      })
  })

/** The first half of what was found, said to be no more. */
const half = (answer: Result.Result<Research>): Result.Result<Research> => {
  const { confidence, output } = answer
  if (output === undefined) return answer
  const kept = output.passages.slice(0, Math.ceil(output.passages.length / 2))
  const missing = [{ part: `${output.passages.length - kept.length} passages`, reason: "it stopped half way" }]
  return Result.partial({ ...output, passages: kept, contradictions: Finding.contradictions(kept) }, missing, {
    confidence
  })
}

const WriteInput = Schema.Struct({ topic: Schema.String, research: Research })

const writer = (name: string, description: string, write: (topic: string, research: Research) => Draft) =>
  Worker.make(name, {
    description,
    capabilities: ["write-article"],
    input: WriteInput,
    output: Draft,
    estimate: { steps: 2 },
    handle: ({ allowance, contract, input: { research, topic } }) =>
      Effect.gen(function* () {
        const { strike } = yield* Library
        const work = Effect.gen(function* () {
          const draft = yield* step(allowance, () => write(topic, research))
          const files = new Set(draft.paragraphs.flatMap(({ statements }) => statements.flatMap(filesOf)))
          const confidence = yield* step(allowance, () => Text.share(0.6 + 0.1 * files.size))
          return Result.completed(draft, { confidence })
        })
        const wanted = contract.definitionOfDone.some(({ id }) => id === figures)
        return yield* strike(`writing.${name}`, work, (kind, answer) => bent(kind, answer, wanted))
      })
  })

const filesOf = ({ sources }: Draft["paragraphs"][number]["statements"][number]) => sources.map(({ file }) => file)

/** A draft with one thing wrong. */
const bent = (kind: string, answer: Result.Result<Draft>, wanted: boolean): Result.Result<Draft> => {
  const { output } = answer
  if (output === undefined) return answer
  let done = false
  const statementsOf = (
    change: (statement: Draft["paragraphs"][number]["statements"][number]) => typeof statement
  ) => ({
    ...output,
    paragraphs: output.paragraphs.map(({ heading, statements }) => ({
      heading,
      statements: statements.map((statement) => (done ? statement : change(statement)))
    }))
  })
  switch (kind) {
    case "misquote": {
      const draft = statementsOf((statement) => {
        done = true
        return { ...statement, sources: statement.sources.map((source) => ({ ...source, line: source.line + 1 })) }
      })
      return { ...answer, output: draft }
    }
    case "misstate": {
      const draft = statementsOf((statement) => {
        const [number] = Text.numbers(statement.text)
        if (number === undefined) return statement
        done = true
        return { ...statement, text: statement.text.replace(number, `${Number(number) * 10 + 7}`) }
      })
      return { ...answer, output: draft }
    }
    case "no-figures": {
      if (!wanted) return answer
      const paragraphs = output.paragraphs.map(({ heading, statements }) => ({
        heading,
        statements: statements.filter(({ text }) => Text.numbers(text).size === 0)
      }))
      return { ...answer, output: { ...output, paragraphs: paragraphs.filter((each) => each.statements.length > 0) } }
    }
    default:
      return answer
  }
}

const mender = Worker.make("mender", {
  description: "Corrects the places that an article quotes wrongly, and drops what stands nowhere",
  capabilities: ["mend-article"],
  input: Schema.Struct({ draft: Draft, places: Schema.Array(Schema.String) }),
  output: Draft,
  estimate: { steps: 1 },
  handle: ({ allowance, input: { draft } }) =>
    Effect.gen(function* () {
      const { notes, strike } = yield* Library
      const work = Effect.map(
        step(allowance, () => Writing.mend(notes, draft)),
        (draft) => Result.completed(draft)
      )
      return yield* strike("writing.mender", work, (_, answer) => answer)
    })
})

const checker = (name: string, description: string, check: (notes: Notes, draft: Draft) => Checking.Checked) =>
  Worker.make(name, {
    description,
    capabilities: ["check-statements"],
    input: Schema.Struct({ draft: Draft }),
    output: Check,
    estimate: { steps: 1 },
    handle: ({ accepted, allowance, input }) =>
      Effect.gen(function* () {
        const { notes, strike } = yield* Library
        // After a follow-up it is the mended article that is checked.
        const draft = accepted["mend"] === undefined ? input.draft : as(Draft, accepted["mend"])
        const work = Effect.map(
          step(allowance, () => check(notes, draft)),
          ({ check, unresolved }) =>
            Result.completed(check, {
              confidence: Text.share(1 - check.unsupported.length / Math.max(1, check.checked)),
              evidence: [
                {
                  requirement: resolved,
                  command: "compare each quotation with its line",
                  exitStatus: unresolved.length === 0 ? 0 : 1,
                  output: unresolved.join("\n")
                }
              ]
            })
        )
        return yield* strike(`checking.${name}`, work, (_, answer) => answer)
      })
  })

const domains = [
  Domain.make("library", {
    workers: [
      catalogue,
      researcher(
        "library",
        "keywords",
        "Finds the lines that have the words of the topic, rare words first",
        "find-passages",
        60_000,
        Finding.byWords
      ),
      researcher(
        "library",
        "outliner",
        "Takes what a note on the topic says first, by its title",
        "outline-notes",
        1_000_000,
        Finding.byOutline
      )
    ]
  }),
  Domain.make("reading", {
    workers: [
      researcher(
        "reading",
        "sections",
        "Reads section by section and forgives misspelling",
        "find-passages",
        400_000,
        Finding.bySections
      )
    ]
  }),
  Domain.make("writing", {
    workers: [
      writer("composer", "Tells what was found note by note", Writing.byNotes),
      writer("digest", "Tells what was found word by word of the topic", Writing.byTopic),
      mender
    ]
  }),
  Domain.make("checking", {
    workers: [
      checker("figures", "Looks for every number and name of a statement in its sources", Checking.byFigures),
      checker("wording", "Compares the words of every statement with its sources", Checking.byWording)
    ]
  })
] as const

const figures = "figures"
const resolved = "sources-resolve"

/** The plain JSON of an earlier task as what it is. It was checked when it was taken. */
const as = <A>(schema: Schema.Codec<A, unknown>, json: unknown): A => Schema.decodeUnknownSync(schema)(json)

const tasks = (unchecked: "partial" | "escalate"): ReadonlyArray<Plan.Task<Input>> => [
  { id: "catalogue", worker: "library.catalogue", objective: "List the notes" },
  {
    id: "research",
    worker: "library.keywords",
    objective: "Find the passages of the notes that bear on the topic",
    needs: ["catalogue"],
    input: ({ catalogue }, { topic }) => ({ topic, files: as(Catalogue, catalogue).notes.map(({ file }) => file) }),
    decompose: ({ contract }) => {
      const { files, topic } = as(ResearchInput, contract.inputs)
      const size = Math.ceil(files.length / 3)
      if (files.length < 2) return []
      return [0, 1, 2]
        .map((part) => files.slice(part * size, (part + 1) * size))
        .filter((some) => some.length > 0)
        .map((some, part) => ({
          id: `part-${part + 1}`,
          worker: "library.keywords",
          objective: `Find the passages of ${some.length} notes that bear on the topic`,
          inputs: { topic, files: some }
        }))
    },
    replan: ({ contract: { inputs } }) => [
      { id: "outline", worker: "library.outliner", objective: "Take what the notes on the topic say first", inputs }
    ],
    merge: (parts) => {
      const found = parts.flatMap(({ result }) => (result === undefined ? [] : [as(Research, result.output)]))
      return found.length === 0
        ? EffectResult.fail(parts.map(({ reason }) => reason).join("; "))
        : EffectResult.succeed(Finding.join(found))
    }
  },
  {
    id: "write",
    worker: "writing.composer",
    objective: "Write a short article whose every paragraph names its sources",
    needs: ["research"],
    input: ({ research }, { topic }) => ({ topic, research }),
    definitionOfDone: [
      { id: "sources", statement: "Every statement names its sources", evidence: false },
      { id: figures, statement: "The article tells figures, where its sources have some", mandatory: false }
    ],
    validate: (output, { definitionOfDone, inputs }) => {
      const draft = as(Draft, output)
      const { passages } = as(WriteInput, inputs).research
      const bare = draft.paragraphs.filter(({ statements }) => statements.some(({ sources }) => sources.length === 0))
      const against = bare.map(({ heading }) => `the paragraph “${heading}” has a statement without a source`)
      const wanted = definitionOfDone.some(({ id }) => id === figures)
      const known = passages.some(({ quotation }) => Text.numbers(quotation).size > 0)
      if (wanted && known && !Writing.hasFigures(draft))
        against.push("it tells no figure, though its sources have some")
      return against
    },
    reduceScope: true
  },
  {
    id: "check",
    worker: "checking.figures",
    objective: "Verify every statement of the article against its sources",
    needs: ["write"],
    input: ({ write }) => ({ draft: write }),
    definitionOfDone: [{ id: resolved, statement: "Every quotation stands where it is said to stand" }],
    validate: (output) => {
      const { unsupported, verdict } = as(Check, output)
      return (verdict === "APPROVED") === (unsupported.length === 0)
        ? []
        : [`the verdict ${verdict} contradicts ${unsupported.length} unsupported statements`]
    },
    followUp: ({ contract, failing }) => ({
      id: "mend",
      worker: "writing.mender",
      objective: "Correct the places that are quoted wrongly",
      inputs: {
        draft: contract.inputs["draft"] ?? null,
        places: failing.flatMap(({ output = "" }) => output.split("\n").filter((line) => line !== ""))
      }
    }),
    onIncomplete: unchecked
  }
]

/**
 * What may be set.
 *
 * **Details**
 *
 * - `waitsMillis`: before the second and the third attempt, in milliseconds. Default 1 s and 2 s.
 * - `jitter`: by how much a wait moves, as a share of it. Default 0.2.
 * - `lowConfidence`: what is done about an answer below 0.6. Default `"note"`.
 * - `unchecked`: whether an article that nobody could check is delivered as it is, or a person is asked first. Default
 *   `"partial"`: delivered.
 * - `failuresToDegrade`: failed dispatches after which a worker is routed around. Default 3.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly waitsMillis?: ReadonlyArray<number> | undefined
  readonly jitter?: number | undefined
  readonly lowConfidence?: Decider.Policy["lowConfidence"] | undefined
  readonly unchecked?: "partial" | "escalate" | undefined
  readonly failuresToDegrade?: number | undefined
}

/**
 * Makes the desk.
 *
 * @category desks
 * @since 0.1.0
 */
export const make = (options: Options = {}) =>
  Desk.make("research-desk", {
    version: "1",
    input: Input,
    output: Report,
    domains,
    policy: {
      waitsMillis: options.waitsMillis ?? Recovery.policy.waitsMillis,
      jitter: options.jitter ?? Recovery.policy.jitter,
      confidence: threshold,
      lowConfidence: options.lowConfidence ?? "note"
    },
    breaker: { failures: options.failuresToDegrade ?? 3 },
    coordinator: Plan.make<Input>(tasks(options.unchecked ?? "partial"), {
      merge: (parts) => EffectResult.succeed({ ...assemble(parts) })
    })
  })
