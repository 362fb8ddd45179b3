/**
 * The research desk: catalogue → research → write → check, with a stand-in for each kind of worker that works differently.
 *
 * Who researches, writes and checks is a language model with tools for the notes. Listing the notes, and mending places that
 * were quoted wrongly, takes no language: code does that.
 *
 * What can be recovered from is declared with the tasks: how research is split or planned anew, how an article whose
 * sources do not hold is followed up, what may be dropped if a person says so. When it is done is decided by the library.
 *
 * @since 0.1.0
 */
import { Effect, Result as EffectResult, Schema } from "effect"
import { Failure } from "espalier"
import { Agent, type Models, ToolScope } from "espalier/agent"
import { Desk, Domain, Plan, Recovery, Result, Worker } from "espalier/run"
import type { Decider } from "espalier/run"

import * as Checking from "./checking.ts"
import { Library, type Note } from "./Library.ts"
import { Catalogue, Check, Draft, Input, Report, Research } from "./model.ts"
import { assemble, threshold } from "./report.ts"
import * as Finding from "./research.ts"
import * as Script from "./script.ts"
import * as Text from "./text.ts"
import * as Tools from "./tools.ts"
import * as Writing from "./writing.ts"

/**
 * The model of a worker, by `domain.worker`.
 *
 * @category models
 * @since 0.1.0
 */
export type ModelOf = (worker: string) => Models.Models

const catalogue = Worker.make("catalogue", {
  description: "Lists the notes, and the files that are none",
  capabilities: ["list-notes"],
  input: Schema.Struct({}),
  output: Catalogue,
  estimate: { steps: 1 },
  handle: ({ allowance }) =>
    Effect.gen(function* () {
      const { notes } = yield* Library
      yield* allowance.call({ steps: 1 }, Effect.void)
      const listed = notes.notes.map(({ file, lines, title }) => ({ file, title, lines: lines.length }))
      const output = { notes: listed, unread: notes.unread }
      const missing = notes.unread.map(({ file, reason }) => ({ part: file, reason }))
      return missing.length === 0 ? Result.completed(output) : Result.partial(output, missing)
    })
})

const ResearchInput = Schema.Struct({ topic: Schema.String, files: Schema.Array(Schema.String) })

/** `window`: how many characters of notes it can take in. */
const researcher = (
  models: ModelOf,
  domain: string,
  name: string,
  description: string,
  capability: string,
  window: number,
  by: { readonly tool: string; readonly find: (topic: string, notes: ReadonlyArray<Note>) => Research }
) =>
  Agent.make(name, {
    description,
    instructions: [
      "You find the passages of a folder of notes that bear on a topic.",
      `Call \`${by.tool}\` with the topic, and \`read_note\` where you have to see more of a note.`,
      "Deliver at most 12 passages, the most relevant first, each with its file, its line, and the whole line word for word.",
      "`absent`: words of the topic that stand in no note.",
      "`contradictions`: pairs of passages that say the same with another figure, and what is counted.",
      "Where nothing bears on the topic, give up as not able, and say how many notes you have searched."
    ].join("\n"),
    capabilities: [capability],
    input: ResearchInput,
    output: Research,
    estimate: { steps: 2 },
    models: models(`${domain}.${name}`),
    tools: ToolScope.make([Tools.search(by.tool, description, window, by.find), Tools.readNote]),
    steps: 6,
    maxOutput: 8_000
  })

const WriteInput = Schema.Struct({ topic: Schema.String, research: Research })

const writer = (models: ModelOf, name: string, description: string, manner: string) =>
  Agent.make(name, {
    description,
    instructions: [
      `You write a short article out of what research has found. ${manner}`,
      "State nothing that your sources do not say. Each statement is one sentence with the sources that carry it, copied as",
      "they are: file, line, and quotation. Call `read_note` where you have to see what is around a place.",
      "What the notes do not agree on has a paragraph of its own."
    ].join("\n"),
    capabilities: ["write-article"],
    input: WriteInput,
    output: Draft,
    estimate: { steps: 2 },
    models: models(`writing.${name}`),
    tools: ToolScope.make([Tools.readNote]),
    steps: 6,
    // An article that does not fit is sent back by the run, as an order of its own.
    corrections: 0,
    maxOutput: 8_000
  })

const mender = Worker.make("mender", {
  description: "Corrects the places that an article quotes wrongly, and drops what stands nowhere",
  capabilities: ["mend-article"],
  input: Schema.Struct({ draft: Draft, places: Schema.Array(Schema.String) }),
  output: Draft,
  estimate: { steps: 1 },
  handle: ({ allowance, input: { draft } }) =>
    Effect.gen(function* () {
      const { notes } = yield* Library
      yield* allowance.call({ steps: 1 }, Effect.void)
      return Result.completed(Writing.mend(notes, draft))
    })
})

const same = Schema.toEquivalence(Draft)

const checker = (models: ModelOf, name: string, description: string, manner: string) =>
  Agent.make(name, {
    description,
    instructions: [
      "You verify every statement of an article against its sources. The article is the `draft` of your inputs; where",
      "`from_tasks_before` has `mend`, it is that one, which you deliver as `draft` word for word. Otherwise leave `draft` out.",
      `Look up all places with \`look_up\`, in one call. ${manner}`,
      "A statement without a source, or whose source stands elsewhere than it says, is not supported.",
      "`checked`: how many statements there are. The verdict is APPROVED if and only if none is unsupported.",
      "What an article says of itself is no verdict."
    ].join("\n"),
    capabilities: ["check-statements"],
    input: Schema.Struct({ draft: Draft }),
    output: Check,
    estimate: { steps: 2 },
    models: models(`checking.${name}`),
    tools: ToolScope.make([Tools.lookUp, Tools.readNote]),
    steps: 6,
    maxOutput: 8_000,
    // Whether quotations stand where they should is looked at here: what a model says of that is no evidence.
    attach: (output, _, { accepted, input }) =>
      Effect.gen(function* () {
        const { notes } = yield* Library
        const mended = accepted["mend"]
        const draft = mended === undefined ? input.draft : as(Draft, mended)
        if (!same(output.draft ?? input.draft, draft)) {
          return yield* Failure.malformed("the article that was checked is not the one that was to be checked")
        }
        const unresolved = Checking.unresolved(notes, draft)
        return {
          evidence: [
            {
              requirement: resolved,
              command: "compare each quotation with its line",
              exitStatus: unresolved.length === 0 ? 0 : 1,
              output: unresolved.join("\n")
            }
          ]
        }
      })
  })

const domains = (models: ModelOf) =>
  [
    Domain.make("library", {
      workers: [
        catalogue,
        researcher(
          models,
          "library",
          "keywords",
          "Finds the lines that have the words of the topic, rare words first",
          "find-passages",
          60_000,
          { tool: "search_words", find: Finding.byWords }
        ),
        researcher(
          models,
          "library",
          "outliner",
          "Takes what a note on the topic says first, by its title",
          "outline-notes",
          1_000_000,
          { tool: "search_titles", find: Finding.byOutline }
        )
      ]
    }),
    Domain.make("reading", {
      workers: [
        researcher(
          models,
          "reading",
          "sections",
          "Reads section by section and forgives misspelling",
          "find-passages",
          400_000,
          { tool: "search_letters", find: Finding.bySections }
        )
      ]
    }),
    Domain.make("writing", {
      workers: [
        writer(models, "composer", "Tells what was found note by note", "Give each note a paragraph of its own."),
        writer(
          models,
          "digest",
          "Tells what was found word by word of the topic",
          "Give each word of the topic a paragraph of its own."
        ),
        mender
      ]
    }),
    Domain.make("checking", {
      workers: [
        checker(
          models,
          "figures",
          "Looks for every number and name of a statement in its sources",
          "Look for each number and each name of a statement in what stands at its sources."
        ),
        checker(
          models,
          "wording",
          "Compares the words of every statement with its sources",
          "Compare the words of each statement, and its numbers, with what stands at its sources."
        )
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
 * - `models`: who is asked. Default: the scripted ones, without faults.
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
  readonly models?: ModelOf | undefined
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
    version: "2",
    input: Input,
    output: Report,
    domains: domains(options.models ?? Script.make([])),
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
