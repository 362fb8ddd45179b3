import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { type Response, Tool } from "effect/ai"
import { Failure } from "espalier"
import { ModelAnswer, ModelPlanner, ScriptedModel } from "espalier/agent"
import { ContractPolicy, type Coordinator, Plan, Planner, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { candidate, question } from "../run/coordinators.ts"
import { history, memory } from "../run/desks.ts"
import { begin, ends, of, options, pass } from "../run/living.ts"
import { answering, deskOf, dying, scripted } from "./choosing.ts"

const { text, tools } = ScriptedModel

const task = (id: string, fields: object = {}) => ({
  id,
  objective: `Do ${id}`,
  needs: [],
  acceptMissing: false,
  inputs: [],
  constraints: [],
  done: [],
  permissions: [],
  ...fields
})

const calling = (...calls: ReadonlyArray<readonly [name: string, params: unknown]>) =>
  tools(
    calls.map(([name, params]) => ({ name, params })),
    { usage: { inputTokens: 20, outputTokens: 4 } }
  )

const Links = Schema.Struct({ folder: Schema.String, depth: Schema.NumberFromString })

const planner = (settings: ModelPlanner.Options = {}) =>
  Planner.make({
    plan: ModelPlanner.plan(settings),
    permissions: { files: ContractPolicy.names(["docs"]) },
    limits: { tokens: 5_000 },
    fallback: "review"
  })

const workers = [candidate("d.links"), candidate("d.summary")]

const decide = (fields: Partial<Coordinator.Question<never>> = {}, settings: ModelPlanner.Options = {}) =>
  Effect.suspend(() => planner(settings).decide(question({ purpose: "plan", workers, ...fields })))

describe("ModelPlanner", () => {
  describe("the answer", () => {
    it.effect("R-402 D21 several calls in one turn are a plan, with or without text", () =>
      Effect.gen(function* () {
        const script = scripted([
          tools(
            [
              {
                name: "d__links",
                params: task("find", {
                  inputs: [
                    { name: "folder", value: "docs" },
                    { name: "files", value: ["a.md", "b.md"] },
                    { name: "deep", value: true },
                    { name: "most", value: 3 },
                    { name: "since", value: null }
                  ],
                  permissions: [{ area: "files", scopes: ["docs"] }],
                  constraints: ["Do not write"],
                  done: [{ id: "all", statement: "Every file was read" }]
                })
              },
              { name: "d__links", params: task("again") },
              { name: " d.summary ", params: task("sum", { needs: ["find", "again"], acceptMissing: true }) }
            ],
            { text: "This is my plan.", usage: { inputTokens: 20, outputTokens: 4 } }
          )
        ])
        const { answer, note, usage } = yield* script.provide(decide())
        const limits = { tokens: 5_000 }
        assert.deepStrictEqual(answer, [
          {
            id: "find",
            worker: "d.links",
            objective: "Do find",
            needs: [],
            acceptMissing: false,
            inputs: { folder: "docs", files: ["a.md", "b.md"], deep: true, most: 3, since: null },
            constraints: ["Do not write"],
            definitionOfDone: [{ id: "all", statement: "Every file was read" }],
            permissions: { files: ["docs"] },
            limits
          },
          {
            id: "again",
            worker: "d.links",
            objective: "Do again",
            needs: [],
            acceptMissing: false,
            inputs: {},
            constraints: [],
            definitionOfDone: [],
            permissions: {},
            limits
          },
          {
            id: "sum",
            worker: "d.summary",
            objective: "Do sum",
            needs: ["find", "again"],
            acceptMissing: true,
            inputs: {},
            constraints: [],
            definitionOfDone: [],
            permissions: {},
            limits
          }
        ])
        assert.deepStrictEqual([note, usage], ["A plan of 3 tasks", { tokens: 24 }])
        yield* script.complete
      })
    )

    it.effect("R-402 D18 D115 somebody who does not exist is a problem of the plan, with everything else", () =>
      Effect.gen(function* () {
        const script = scripted([
          calling(
            ["links", task("one")],
            ["__proto__", { id: "two" }],
            ["constructor", null],
            ["d__links", task("sum", { needs: ["six"] })]
          )
        ])
        const error = yield* Effect.flip(script.provide(decide()))
        assert.instanceOf(error, Planner.PlanInvalid)
        const names = "must be one of: d.links, d.summary"
        assert.strictEqual(
          error.message,
          `PLAN_INVALID: ${[
            `tasks[0].worker ${names}, got "links"`,
            `tasks[1].worker ${names}, got "__proto__"`,
            `tasks[2].worker ${names}, got "constructor"`,
            'tasks[3].needs[0] must be a task of the plan, got "six"'
          ].join("; ")}`
        )
        assert.deepStrictEqual(error.usage, { tokens: 24 })
      })
    )

    const strange = JSON.parse(`{ "__proto__": {}, ${JSON.stringify(task("a")).slice(1)}`) as unknown
    const cases: ReadonlyArray<readonly [string, ScriptedModel.Step, ModelAnswer.Problem, ReadonlyArray<string>]> = [
      [
        "invented, missing and wrong fields",
        calling(
          ["d__links", task("a", { tokens: 5, status: "done" })],
          ["d__summary", { id: "b", objective: 7, acceptMissing: "no", inputs: [], constraints: [], done: [] }],
          ["d__summary", { ...task("c"), id: "no id" }]
        ),
        "unfit",
        [
          'in call 1, of "d__links", tokens is not a known field',
          'in call 1, of "d__links", status is not a known field',
          'in call 2, of "d__summary", objective must be a text, got 7',
          'in call 2, of "d__summary", needs is required',
          'in call 2, of "d__summary", acceptMissing must be true or false, got "no"',
          'in call 2, of "d__summary", permissions is required',
          `in call 3, of "d__summary", id must be an id of letters, digits, '.', '_' and '-' that begins with a letter, at most 64 characters, got "no id"`
        ]
      ],
      [
        "a field called __proto__",
        calling(["d__links", strange]),
        "unfit",
        ['in call 1, of "d__links", __proto__ is not a known field']
      ],
      [
        "an input and an area that are named twice",
        calling([
          "d__links",
          task("a", {
            inputs: [
              { name: "x", value: 1 },
              { name: "x", value: 2 }
            ],
            permissions: [
              { area: "files", scopes: ["docs"] },
              { area: "files", scopes: [] }
            ]
          })
        ]),
        "unfit",
        [
          'in call 1, of "d__links", the input "x" is named twice',
          'in call 1, of "d__links", the area "files" is named twice'
        ]
      ],
      [
        "params that are none",
        calling(["d__links", null]),
        "unfit",
        ['in call 1, of "d__links", what was given must be an object, got null']
      ],
      ["an empty answer", text(""), "no-choice", ["the answer is empty"]],
      ["text alone", text("First the links."), "no-choice", ["there is text, but no choice"]],
      ["a refusal", text("", { finish: "content-filter" }), "refused", ["the model or its provider refused to answer"]],
      [
        "an answer that is cut off",
        tools([{ name: "d__links", params: task("a") }], { finish: "length" }),
        "cut",
        ["the answer was cut off because it is too long; say less"]
      ],
      [
        "an answer without a part that says why it ended",
        tools([{ name: "d__links", params: task("a") }], { finish: "none" }),
        "unfinished",
        ["the answer does not say why it ended"]
      ]
    ]

    it.effect.each(cases)("R-402 D38 %s is no plan, and every problem is said", ([, step, problem, details]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(scripted([step]).provide(decide()))
        assert.instanceOf(error, ModelAnswer.AnswerInvalid)
        assert.deepStrictEqual([error.problem, error.details], [problem, details])
        assert.strictEqual(Failure.kindOf(error), problem === "refused" ? "capability" : "malformed")
      })
    )

    it.effect("R-402 a call that asks to be approved makes no plan", () =>
      Effect.gen(function* () {
        const parts: ReadonlyArray<Response.PartEncoded> = [
          { type: "tool-call", id: "c1", name: "d__links", params: task("a") },
          { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
          { type: "finish", reason: "tool-calls", usage: { inputTokens: {}, outputTokens: {} } as never }
        ]
        const error = yield* Effect.flip(Effect.provide(decide(), answering(parts)))
        assert.strictEqual(error instanceof ModelAnswer.AnswerInvalid ? error.problem : "", "not-asked-for")
      })
    )

    it.effect("R-402 P1 a plan that asks for what the planner does not grant is none", () =>
      Effect.gen(function* () {
        const script = scripted([
          calling(["d__links", task("a", { permissions: [{ area: "files", scopes: ["src"] }] })])
        ])
        const error = yield* Effect.flip(script.provide(decide()))
        assert.instanceOf(error, Planner.PlanInvalid)
        assert.include(error.message, "tasks[0].permissions.files[0]")
      })
    )

    it.effect("R-402 inputs are as the schema of the worker says, and stay as they were", () =>
      Effect.gen(function* () {
        const settings = { inputs: { "d.links": Links } }
        const script = scripted([
          calling(["d__links", task("a", { inputs: { folder: "docs", depth: "3" } })]),
          calling(["d__links", task("a", { inputs: { folder: 7, depth: "3", more: true } })])
        ])
        const { answer } = yield* script.provide(decide({}, settings))
        const [first] = answer as ReadonlyArray<{ readonly inputs: object }>
        assert.deepStrictEqual(first?.inputs, { folder: "docs", depth: "3" })
        const error = yield* Effect.flip(script.provide(decide({}, settings)))
        assert.deepStrictEqual(error instanceof ModelAnswer.AnswerInvalid ? error.details : [], [
          'in call 1, of "d__links", inputs.more is not a known field',
          'in call 1, of "d__links", inputs.folder must be a text, got 7'
        ])
      })
    )
  })

  describe("the request", () => {
    it.effect("R-402 D19 shows a tool for each worker and no other, with strict schemas", () =>
      Effect.gen(function* () {
        const script = scripted([calling(["d__links", task("a")]), calling(["d__summary", task("a")])])
        const inputs = { "d.summary": Schema.Struct({ of: Schema.Array(Schema.String), more: Schema.Json }) }
        yield* Effect.ignore(script.provide(decide({}, { inputs })))
        const [request] = yield* script.requests
        const [links, summary] = request?.tools ?? []
        assert.deepStrictEqual(
          request?.tools.map(({ description, name }) => [name, description]),
          [
            ["d__links", 'Worker: "d.links". What it does: "The worker d.links". Capabilities: "work".'],
            ["d__summary", 'Worker: "d.summary". What it does: "The worker d.summary". Capabilities: "work".']
          ]
        )
        assert.deepStrictEqual(request?.tools.map(Tool.getStrictMode), [true, false])
        const open: Array<string> = []
        const walk = (schema: unknown, path: string) => {
          if (typeof schema !== "object" || schema === null) return
          const own = schema as Readonly<Record<string, unknown>>
          if (own["type"] === "object" && own["additionalProperties"] !== false) open.push(path)
          for (const [key, each] of Object.entries(own)) walk(each, `${path}/${key}`)
        }
        const shown = links === undefined ? {} : Tool.getJsonSchema(links)
        walk(shown, "")
        assert.deepStrictEqual(open, [])
        assert.deepStrictEqual(shown["required"], Object.keys(shown["properties"] as object))
        assert.notInclude(JSON.stringify(shown), "pattern")
        const other = summary === undefined ? {} : Tool.getJsonSchema(summary)
        assert.deepStrictEqual((other["properties"] as Record<string, unknown>)["inputs"], {
          type: "object",
          properties: { of: { type: "array", items: { type: "string" } }, more: {} },
          required: ["of", "more"],
          additionalProperties: false
        })
        assert.deepStrictEqual([request?.toolChoice, request?.outputLimit], ["required", 8_000])
        assert.include(request?.last, "- d__links: available, not asked yet")
      })
    )
  })

  describe("plan", () => {
    it.each([
      [{ recent: 1.5 }, "ModelPlanner.plan: recent must be a whole number >= 0, got 1.5"],
      [{ inputs: { "d.links": {} } }, "ModelPlanner.plan: inputs.d.links must be a schema, got {0 fields}"],
      [{ inputs: [] }, "ModelPlanner.plan: inputs must be an object, got [0 items]"],
      [{ limits: {} }, "ModelPlanner.plan: each field of options must be one of"]
    ])("refuses %j", (settings, message) => {
      assert.throws(() => ModelPlanner.plan(settings as ModelPlanner.Options), RangeError, message)
    })
  })

  describe("in a run", () => {
    const slow = (name: string) => Fake.worker(name, { size: 4, latency: "10 seconds", otherwise: `${name} done` })
    const stand = (fallback: Plan.Plan<string> | "review" = "review") =>
      deskOf([slow("links"), slow("summary")], Planner.make({ plan: ModelPlanner.plan(), fallback }))

    it.effect("R-402 D21 what needs nothing from each other is done at the same time", () =>
      Effect.gen(function* () {
        const script = scripted([
          calling(["d__links", task("a")], ["d__links", task("b")], ["d__summary", task("sum", { needs: ["a", "b"] })])
        ])
        const run = yield* begin(script.provide(Run.start(stand(), options)))
        yield* pass("10 seconds")
        yield* pass("10 seconds")
        const outcome = yield* run.join
        assert.deepStrictEqual(
          [outcome.status, outcome.endedAt, ...ends(outcome)],
          ["completed", 20_000, "a accepted", "b accepted", "sum accepted"]
        )
        assert.strictEqual(outcome.usage.tokens, 24)
        yield* script.complete
      }).pipe(memory)
    )

    it.effect("R-402 a bad plan is handed back with its problems, and the second one is carried out", () =>
      Effect.gen(function* () {
        const script = scripted([calling(["d__poet", task("a", { needs: ["z"] })]), calling(["d__links", task("a")])])
        const run = yield* begin(script.provide(Run.start(stand(), options)))
        yield* pass("10 seconds")
        const outcome = yield* run.join
        assert.deepStrictEqual([outcome.status, ...ends(outcome)], ["completed", "a accepted"])
        const second = (yield* script.requests)[1]?.last
        assert.include(second, "Your last answer could not be used (malformed): ")
        assert.include(second, 'tasks[0].worker must be one of: d.links, d.summary, got \\"d__poet\\"')
        assert.include(second, 'tasks[0].needs[0] must be a task of the plan, got \\"z\\"')
        assert.strictEqual(outcome.usage.tokens, 48)
        yield* script.complete
      }).pipe(memory)
    )

    it.effect("R-402 after two bad plans the fallback stands in, and nobody was asked because of them", () =>
      Effect.gen(function* () {
        const script = scripted([text("First the links."), calling(["d__links", { id: "a" }])])
        const fallback = Plan.make<string>([{ id: "safe", worker: "d.links", objective: "Find dead links" }])
        const run = yield* begin(script.provide(Run.start(stand(fallback), options)))
        yield* pass("10 seconds")
        const outcome = yield* run.join
        assert.deepStrictEqual([outcome.status, ...ends(outcome)], ["completed", "safe accepted"])
        assert.strictEqual(of(yield* history("r1"), "DecisionFailed").length, 2)
        yield* script.complete
      }).pipe(memory)
    )

    it.effect("D36 a crash between the plan and its orders does not ask the model again", () =>
      Effect.gen(function* () {
        const script = scripted([calling(["d__links", task("a")])])
        assert.strictEqual((yield* Effect.exit(script.provide(Run.start(stand(), options))))._tag, "Failure")
        const run = yield* begin(script.provide(Run.resume(stand(), "r1", { log: false })))
        yield* pass("10 seconds")
        assert.deepStrictEqual(ends(yield* run.join), ["a accepted"])
        yield* script.complete
      }).pipe(Effect.provide(dying("Decided", "after")))
    )
  })
})
