/** Secrets that are handed to the tools of agents, and come back in every way that there is, get nowhere. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Schema } from "effect"
import { AiError, LanguageModel, Model, Tool } from "effect/ai"
import { Agent, CostModel, Meter, Models, RecordedModel, ScriptedModel, ToolScope } from "espalier/agent"
import { JournalSqlite } from "espalier/journal"
import { Audit, Dependency, Plan, Run, Secrets, type Worker } from "espalier/run"

import { freshPath } from "../journal/fixtures/folder.ts"
import { assertClean, canaries, ear, encodings } from "../run/canaries.ts"
import { history, memory } from "../run/desks.ts"
import { deskOf, of } from "../run/living.ts"
import { Answer } from "./agents.ts"

/** One more, of which even a part is known when it is seen. */
const secrets = { ...canaries, long: "QZXJ".repeat(40) }
const names = Object.keys(secrets)
const values = Object.values(secrets)

const clean = (text: string, where: string): void => {
  assertClean(text, where)
  assert.notInclude(text, "QZXJQ", where)
}

const some = ["as it is", "as JSON in JSON", "in a form", "in base64 after one byte", "in hexadecimal"]
const ways = encodings.filter(([name]) => some.includes(name))
const all = values.flatMap((each) => ways.map(([, encode]) => encode(each))).join("\n")

/** A text that is nothing but secrets, so that wherever it is cut, one is cut. */
const dense = (before: number) => "x".repeat(before) + secrets.long.repeat(30)

const handed = Effect.forEach(names, (name) => Effect.map(Secrets.get(name), Redacted.value))

const tool = (name: string, readonly = true) =>
  Tool.make(name, { parameters: Schema.Struct({ at: Schema.Json }), success: Schema.Json }).annotate(
    Tool.Readonly,
    readonly
  )

const tools = () =>
  ToolScope.make([
    ToolScope.tool(tool("look"), {
      handle: ({ at }) =>
        Effect.map(handed, (got) => {
          assert.deepStrictEqual(got, values)
          return { at, all, got, fields: Object.fromEntries(got.map((each) => [each, each])) }
        })
    }),
    ToolScope.tool(tool("much"), { handle: ({ at }) => Effect.as(handed, dense(Number(at))) }),
    ToolScope.tool(tool("fails"), {
      handle: ({ at }) => Effect.andThen(handed, Effect.fail(new Error(at === "all" ? all : dense(Number(at)))))
    }),
    ToolScope.tool(tool("dies"), {
      handle: () => Effect.andThen(handed, Effect.die(Object.assign(new Error(all), { values })))
    }),
    ToolScope.tool(tool("lies"), { handle: () => Effect.as(handed, new Map([[all, values]]) as never) }),
    ToolScope.tool(tool("send", false), {
      gate: "always",
      describe: ({ at }) => `sends ${JSON.stringify(at)}`,
      handle: () => Effect.succeed("sent")
    })
  ])

const call = (name: string, at: Schema.Json, id?: string): ScriptedModel.ToolCall => ({
  name,
  params: { at },
  ...(id === undefined ? {} : { id })
})

/** What the model says, as if somebody had told it everything. */
const script = (): ReadonlyArray<ScriptedModel.Step> => {
  const usage = { usage: { inputTokens: 10, outputTokens: 5 } }
  const turn = (text: string, ...calls: ReadonlyArray<ScriptedModel.ToolCall>) =>
    ScriptedModel.tools(calls, { ...usage, text })
  return [
    turn("first", call("look", "plain"), call("much", 0)),
    turn(all, call("fails", "all"), ...[260, 270, 1960, 1970].map((at) => call("fails", at))),
    turn(dense(40), call("dies", null), call("lies", null), call("look", { all, values })),
    turn(
      "draft-of-one",
      call(`${secrets.long}${all}`, null, secrets["api-token"]),
      call("look", { [secrets.long]: 1 })
    ),
    turn("", { name: "look", params: all }, { name: "look", params: { at: 1, [all]: dense(10) } }),
    turn("", { name: "memory_put", params: { key: "notes", value: { memory: "memory-of-one", all } } }),
    turn("", { name: "deliver", params: { output: { answer: [dense(20)] }, confidence: 1 } }),
    turn("", { name: "deliver", params: { output: { answer: all, [secrets.long]: dense(3) }, confidence: 1 } }),
    turn("", call("send", { all, values }))
  ]
}

/** A model whose provider tells everything in its error. */
const talkative = Model.make(
  "talkative",
  "t1",
  Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: () =>
        Effect.fail(
          AiError.make({
            module: all,
            method: all,
            reason: new AiError.InternalProviderError({
              description: all,
              http: { response: { status: 500, headers: { "x-key": secrets.long, "request-id": "r" } }, body: all }
            })
          })
        ),
      streamText: () => {
        throw new Error("nobody asks for a stream")
      }
    })
  )
)

const program = (more: Partial<Agent.Options<unknown, unknown, typeof Answer.Type, typeof Answer.Encoded>>) =>
  Effect.gen(function* () {
    const { layer, print, printed, printSpans } = ear()
    const steps = script()
    let at = 0
    const model = ScriptedModel.fromFunction(({ responseFormat }) =>
      responseFormat.type === "json"
        ? ScriptedModel.object({ done: [all], state: dense(7), remaining: values })
        : (steps[at++] ??
          ScriptedModel.tools([{ name: "deliver", params: { output: { answer: all }, confidence: 1 } }]))
    )
    const recorder = RecordedModel.recorder()
    const recorded = Layer.provideMerge(recorder.layer, model.layer)
    const one = Agent.make("one", {
      description: "Answers first",
      instructions: () => `Answer with ${all} ${dense(2)}`,
      input: Schema.Unknown,
      output: Answer,
      models: Models.make([{ provide: talkative }, { provide: recorded }] as never),
      tools: tools(),
      secrets: names,
      memory: true,
      steps: 20,
      maxResult: 2000,
      corrections: 5,
      ...more
    })
    const second = ScriptedModel.make([
      ScriptedModel.tools([
        { name: "memory_list", params: {} },
        { name: "memory_get", params: { key: "notes" } }
      ]),
      ScriptedModel.tools([{ name: "deliver", params: { output: { answer: "read" }, confidence: 1 } }])
    ])
    const two = Agent.make("two", {
      description: "Answers then",
      instructions: "Answer.",
      input: Schema.Unknown,
      output: Answer,
      models: Models.make([{ provide: second.model }]),
      tools: ToolScope.make([
        ToolScope.tool(Tool.make("steal", { parameters: Schema.Struct({}), success: Schema.Json }), {
          handle: () => Effect.as(Secrets.get("long"), "stolen")
        })
      ]),
      memory: true
    })
    const plan = Plan.make<string>([
      { id: "a", worker: "d.one", objective: `Answer ${all}`, input: (_, given) => ({ given, all, values }) },
      { id: "b", worker: "d.two", objective: "Read", needs: ["a"], input: (before) => ({ before }) }
    ])
    const desk = deskOf([one, two] as ReadonlyArray<unknown> as ReadonlyArray<Worker.Worker<never>>, plan)
    yield* Effect.gen(function* () {
      const begun = yield* Effect.withSpan(Run.start(desk, { id: "r1", input: `go ${all}`, onEvent: print }), "around")
      print(begun)
      assert.strictEqual(begun.status, "waiting")
      print(yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" }))
      const ended = yield* Run.resume(desk, "r1", { onEvent: print })
      assert.strictEqual(ended.status, "completed", inspect(ended, { depth: 9 }))
      print(ended)
      const events = yield* history("r1")
      const meter = Meter.fold(events)
      print([events, Audit.rows(events), meter, Meter.render(meter)])
      assert.isAbove(meter.run.swaps, 5)
    }).pipe(Effect.provide([layer, Dependency.layer(), CostModel.layerUnknown]))
    assert.isTrue(printSpans().some((name) => name.startsWith("LanguageModel")))
    const prompts = [...(yield* model.requests), ...(yield* second.requests)].map(({ prompt }) => prompt)
    const recording = yield* recorder.recording
    assert.isAbove(recording.exchanges.length, 8)
    print(recording)
    for (const prompt of prompts) print(prompt)
    yield* second.complete
    return { printed, theirs: yield* second.requests, prompts }
  })

const check = ({ printed, theirs }: Effect.Success<ReturnType<typeof program>>) => {
  printed.forEach((text) => clean(text, text.slice(0, 300)))
  const whole = printed.join("\n")
  for (const name of names) assert.include(whole, `[redacted:${name}]`)
  for (const said of ["draft-of-one", "memory-of-one", "ReviewOpened", "undeclared-tool", "malformed-call"]) {
    assert.include(whole, said)
  }
  // Another agent sees what was delivered, and nothing of how it came about.
  const seen = JSON.stringify(theirs.map(({ prompt }) => prompt))
  assert.include(seen, "from_tasks_before")
  for (const own of ["draft-of-one", "memory-of-one"]) assert.notInclude(seen, own)
}

describe("What the tools of an agent are handed", () => {
  const window = { context: { size: 4500, maxSummary: 2000 } }
  const compacted = Effect.map(history("r1"), (events) =>
    of(events, "Noticed").some(({ what }) => what === "compacted")
  )

  it.effect("R-404 D25 D26 D106 gets into no prompt, no record and nobody's ears", () =>
    Effect.gen(function* () {
      check(yield* program({ ...window, summary: "model" }))
      assert.isTrue(yield* compacted)
    }).pipe(memory, Effect.provide(Secrets.layerMemory(secrets)))
  )

  it.effect("R-404 D106 is in no byte of a journal", () =>
    Effect.gen(function* () {
      const filename = yield* freshPath
      const bytes = () =>
        readdirSync(dirname(filename))
          .map((name) => readFileSync(join(dirname(filename), name), "latin1"))
          .join("\n")
      const open = yield* Effect.gen(function* () {
        check(yield* program(window))
        assert.isTrue(yield* compacted)
        return bytes()
      }).pipe(Effect.provide(JournalSqlite.layerSqlite({ filename })), Effect.provide(Secrets.layerMemory(secrets)))
      const written = open + bytes()
      clean(written, "the file")
      assert.include(written, "[redacted:long]")
    })
  )
})
