/**
 * One small piece of work of each kind that a language model does here: as an agent with a tool, as who chooses for a router, as
 * who plans, with an answer that has a form, with an answer that comes piece by piece. The estimates of prompts are held against
 * what the provider says.
 *
 * It is one run of a desk, so everything is paid for, limited and recorded as anywhere else.
 */
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Model, Prompt, Tool } from "effect/ai"
import {
  Agent,
  ContextWindow,
  CostModel,
  Meter,
  ModelCall,
  ModelPlanner,
  ModelRouter,
  Models,
  ToolScope
} from "espalier/agent"
import { Journal } from "espalier/journal"
import { Dependency, Desk, Domain, Plan, Planner, Result, Router, Run, type RunEvent, Worker } from "espalier/run"

/**
 * Who is asked.
 *
 * - `model`: the model, with its names.
 * - `count`: how many tokens a prompt has, as its provider counts. Default: it cannot be asked.
 */
export interface Options {
  readonly model: Layer.Layer<Models.Provided>
  readonly count?:
    | ((request: {
        readonly prompt: Prompt.Prompt
        readonly tools: ReadonlyArray<Tool.Any>
      }) => Effect.Effect<number, { readonly message: string }>)
    | undefined
}

/** What was shown, and what that took. `text`: all of it, for people. */
export interface Shown {
  readonly checks: ReadonlyArray<{ readonly name: string; readonly problem: string | undefined }>
  readonly used: Meter.Table
  readonly text: string
}

/** An answer is short, and so is the run. */
const most = { answer: 600, tokens: 60_000 } as const

const Search = Tool.make("search", {
  description: "Searches the log of the ship by a word",
  parameters: Schema.Struct({ word: Schema.String }),
  success: Schema.Array(Schema.String)
}).annotate(Tool.Readonly, true)

const log = ["The ship is called Fram.", "The ice let her go in August."]

const Judgement = Schema.Struct({ sentence: Schema.String, isQuestion: Schema.Boolean })

const judging = Prompt.make("Is this sentence a question? Answer about the sentence: Where is the ship?")
const telling = Prompt.make("Write the numbers from one to five as words, one per line, and nothing else.")

const reader = (models: Models.Models) =>
  Agent.make("reader", {
    description: "Looks something up in the log of a ship",
    instructions: "Answer the question with what the log of the ship says. Call `search` with the word `ship` first.",
    input: Schema.Struct({ question: Schema.String }),
    output: Schema.Struct({ ship: Schema.String }),
    models,
    tools: ToolScope.make([ToolScope.tool(Search, { handle: () => Effect.succeed(log) })]),
    maxOutput: most.answer
  })

const judge = (models: Models.Models) =>
  Worker.make("judge", {
    description: "Says whether a sentence is a question",
    input: Schema.Struct({}),
    output: Judgement,
    handle: ({ spend }) =>
      spend({ tokens: ContextWindow.estimate({ prompt: judging }) + most.answer }, (record) =>
        Effect.map(
          Models.callObject(
            models,
            { prompt: judging, schema: Judgement, objectName: "judgement", outputLimit: most.answer },
            { onCall: (call) => record(paid(call, ContextWindow.estimate({ prompt: judging }))) }
          ),
          ({ value }) => value
        )
      )
  })

/** Streams are asked for as Effect has them; what they take is in their last part. */
const teller = (model: Layer.Layer<Models.Provided>) =>
  Worker.make("teller", {
    description: "Tells numbers piece by piece",
    input: Schema.Struct({}),
    output: Schema.Struct({ pieces: Schema.Int, text: Schema.String }),
    handle: ({ spend }) =>
      spend({ tokens: ContextWindow.estimate({ prompt: telling }) + most.answer }, (record) =>
        Effect.gen(function* () {
          const { currency, price } = yield* CostModel.CostModel
          const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: telling }))
          const pieces = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []))
          const finish = parts.find((part) => part.type === "finish")
          const usage = finish === undefined ? undefined : ModelCall.tokensFrom(finish.usage)
          if (usage === undefined) return Result.failed("malformed", "the stream does not say what it took")
          const names = { provider: yield* Model.ProviderName, model: yield* Model.ModelName }
          const cost = price({ ...names, usage })
          yield* record(
            paid(
              {
                ...names,
                step: 0,
                attempt: 1,
                end: "answered",
                usage,
                durationMillis: 0,
                ...(cost === undefined || currency === undefined ? {} : { cost, currency })
              },
              ContextWindow.estimate({ prompt: telling })
            )
          )
          return Result.completed({ pieces: pieces.length, text: pieces.join("") })
        })
      ).pipe(Effect.provide(model))
  })

/** A call that a worker paid for itself, with the estimate of its prompt. */
const paid = (call: ModelCall.Call, estimatedTokens: number) => ({
  what: "model",
  usage: ModelCall.usageOf(call),
  facts: { ...call, estimatedTokens },
  note: `${call.provider}/${call.model}: ${call.end}`
})

const Words = Schema.Struct({ text: Schema.String })

/** No model: what is chosen and planned is for code to do. */
const counter = Worker.make("counter", {
  description: "Counts the words of a text",
  capabilities: ["count-words"],
  input: Words,
  output: Schema.Struct({ words: Schema.Int }),
  handle: ({ input }) => Effect.succeed({ words: input.text.split(/\s+/).length })
})

const Input = Schema.Struct({ text: Schema.String })

const deskOf = ({ model }: Options) => {
  const models = Models.make([{ provide: model }])
  const whole = { input: (_: unknown, given: typeof Input.Type) => given }
  const router = Router.make({
    tasks: [
      {
        id: "words",
        worker: "smoke.counter",
        objective: "Count the words of the text",
        ...whole
      }
    ],
    choose: ModelRouter.choose({
      models,
      instructions: "The words are to be counted once. Then the work is finished.",
      outputLimit: most.answer
    }),
    fallback: "words",
    steps: 3
  })
  const planner = Planner.make({
    plan: ModelPlanner.plan({
      models,
      inputs: { "smoke.counter": Words },
      instructions: "One task is enough: have the words of the text counted.",
      outputLimit: most.answer
    }),
    workers: ["smoke.counter"],
    // Nobody is there to be asked.
    fallback: Plan.make([{ id: "count", worker: "smoke.counter", objective: "Count the words", ...whole }])
  })
  const beside = { input: () => ({}) }
  const after = (id: string) => ({ needs: [id], acceptMissing: true })
  return Desk.make("smoke", {
    version: "1",
    input: Input,
    domains: [Domain.make("smoke", { workers: [reader(models), judge(models), teller(model), counter] })],
    // One after the other, so that who reads along sees which is which; what fails holds nothing up.
    coordinator: Plan.make([
      {
        id: "agent",
        worker: "smoke.reader",
        objective: "Find out what the ship is called",
        input: () => ({ question: "What is the ship called?" })
      },
      { id: "choice", by: router, objective: "Have the words counted", ...whole, ...after("agent") },
      { id: "plan", by: planner, objective: "Have the words counted", ...whole, ...after("choice") },
      { id: "object", worker: "smoke.judge", objective: "Judge a sentence", ...beside, ...after("plan") },
      { id: "stream", worker: "smoke.teller", objective: "Tell numbers", ...beside, ...after("object") }
    ])
  })
}

const names = {
  agent: "an agent with a tool",
  choice: "a choice for a router",
  plan: "a plan for a planner",
  object: "an answer with a form",
  stream: "an answer piece by piece"
} as const

/** What is wrong with a task, though it may have ended well: that a model needed a second try for a choice is to be seen. */
const problemOf = (
  id: string,
  ended: { readonly status: string; readonly note: string } | undefined,
  events: Events
) => {
  if (ended?.status !== "accepted") return ended?.note ?? "it did not come to that"
  const refused = events.find((event) => event._tag === "DecisionFailed" && event.subject === id)
  return refused?._tag === "DecisionFailed" ? refused.error.reason : undefined
}

type Events = ReadonlyArray<RunEvent.RunEvent>

/** The estimates of prompts beside what the provider says they took. */
const estimates = (events: Events) => {
  const counts = new Map<string, number>()
  return events.flatMap((event) => {
    if (event._tag !== "Spent" || event.what !== "model") return []
    const { estimatedTokens, usage } = (event.facts ?? {}) as Record<string, unknown>
    const tokens = Schema.is(ModelCall.Tokens)(usage) ? usage : undefined
    if (typeof estimatedTokens !== "number" || tokens === undefined) return []
    const number = (counts.get(event.task) ?? 0) + 1
    counts.set(event.task, number)
    const reported = tokens.input + (tokens.cacheRead ?? 0) + (tokens.cacheWrite ?? 0)
    return [{ call: `${event.task} ${number}, as used`, estimated: estimatedTokens, reported }]
  })
}

/**
 * Asks the model for all of it. Whatever goes wrong is told, and is no failure of this.
 */
export const smoke = (options: Options) =>
  Effect.gen(function* () {
    const outcome = yield* Run.start(deskOf(options), {
      id: "smoke",
      input: { text: "Fram is a ship of wood" },
      limits: { tokens: most.tokens },
      log: false
    })
    const events = yield* Stream.runCollect(Run.events("smoke"))
    const checks: Array<Shown["checks"][number]> = Object.entries(names).map(([id, name]) => ({
      name,
      problem: problemOf(id, outcome.results[id], events)
    }))
    const rows = [...estimates(events)]
    if (options.count !== undefined) {
      const estimated = ContextWindow.estimate({ prompt: telling })
      const counted = yield* Effect.result(options.count({ prompt: telling, tools: [] }))
      if (counted._tag === "Success") rows.push({ call: "stream, as counted", estimated, reported: counted.success })
      checks.push({
        name: "a count of tokens",
        problem: counted._tag === "Success" ? undefined : counted.failure.message
      })
    }
    const used = Meter.fold(events)
    const width = Math.max(...checks.map(({ name }) => name.length))
    const text = [
      ...checks.map(({ name, problem }) =>
        problem === undefined ? `ok    ${name}` : `fail  ${name.padEnd(width)}  ${problem}`
      ),
      "",
      ContextWindow.report(rows),
      "",
      Meter.render(used)
    ].join("\n")
    return { checks, used, text } satisfies Shown
  }).pipe(Effect.provide(Layer.merge(Journal.layerMemory, Dependency.layer())))
