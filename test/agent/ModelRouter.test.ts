import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schema } from "effect"
import { type Response, Tool } from "effect/ai"
import { TestClock } from "effect/testing"
import { Failure } from "espalier"
import { ModelAnswer, ModelRouter, Models, ScriptedModel } from "espalier/agent"
import { type Coordinator, Router, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { mostCharacters } from "../../src/agent/internal/supervisorPrompt.ts"
import { toolNames } from "../../src/agent/internal/toolNames.ts"
import { candidate, question, seen } from "../run/coordinators.ts"
import { history, memory } from "../run/desks.ts"
import { ends, of, options } from "../run/living.ts"
import { answering, beside, deskOf, dying, scripted } from "./choosing.ts"

const { text, tools } = ScriptedModel

const choosing = (name: string, reason = "It is next") =>
  tools([{ name, params: { reason } }], { usage: { inputTokens: 10, outputTokens: 1 } })

const tasks = [
  { id: "links", worker: "d.links", objective: "Find dead links" },
  { id: "docs.summary", worker: "d.summary", objective: "Sum up" }
] as const

const router = <R = Models.Provided>(settings: ModelRouter.Options<unknown, R> = {}) =>
  Router.make({ tasks, choose: ModelRouter.choose(settings), fallback: "review" })

const workers = [candidate("d.links"), { ...candidate("d.summary"), available: false }]

const decide = <R = Models.Provided>(
  fields: Partial<Coordinator.Question<never>> = {},
  settings: ModelRouter.Options<unknown, R> = {}
) =>
  Effect.suspend(
    () => router(settings).decide?.(question({ workers, ...fields })) ?? Effect.die(new Error("it cannot be asked"))
  )

const finish: Response.PartEncoded = {
  type: "finish",
  reason: "tool-calls",
  usage: { inputTokens: { total: 5 }, outputTokens: { total: 2 } } as never
}

const call = (fields: object = {}): Response.PartEncoded => ({
  type: "tool-call",
  id: "c1",
  name: "links",
  params: { reason: "It is next" },
  ...fields
})

describe("ModelRouter", () => {
  describe("the answer", () => {
    it.effect.each([
      ["links", "links"],
      [" links\n", "links"],
      ["docs__summary", "docs.summary"],
      ["docs.summary", "docs.summary"],
      ["finish", "finish"],
      ["none", "none"]
    ] as const)("R-402 D18 a call of %j chooses %s", ([name, answer]) =>
      Effect.gen(function* () {
        const script = scripted([choosing(name)])
        const chosen = yield* script.provide(decide())
        assert.deepStrictEqual(chosen, {
          answer,
          usage: { tokens: 11 },
          note: `The choice is ${answer}: "It is next"`
        })
        yield* script.complete
      })
    )

    it.effect.each([
      "lnks",
      "Links",
      "links, docs__summary",
      "__proto__",
      "constructor",
      "toString",
      "d.links",
      "li nks"
    ])("R-402 D18 D115 a tool %j that there is not is a RoutingError, whatever it is called with", (name) =>
      Effect.gen(function* () {
        for (const params of [{ reason: "It is next" }, { target: "links" }, null]) {
          const script = scripted([tools([{ name, params }], { usage: { inputTokens: 10, outputTokens: 2 } })])
          const error = yield* Effect.flip(script.provide(decide()))
          assert.instanceOf(error, Router.RoutingError)
          assert.deepStrictEqual(error.candidates, ["links", "docs.summary", "finish", "none"])
          assert.deepStrictEqual([error.answer, error.usage], [JSON.stringify(name), { tokens: 12 }])
        }
      })
    )

    const both = [
      { name: "links", params: { reason: "a" } },
      { name: "docs__summary", params: { reason: "b" } }
    ]
    const strange = JSON.parse('{ "reason": "x", "__proto__": { "a": 1 } }') as unknown
    const cases: ReadonlyArray<readonly [string, ScriptedModel.Step, ModelAnswer.Problem, string]> = [
      ["two choices", tools(both), "several-choices", "there are 2 choices in one answer, and one is asked for"],
      [
        "an invented field",
        tools([{ name: "links", params: { reason: "x", worker: "d.other" } }]),
        "unfit",
        'in the call of "links", worker is not a known field'
      ],
      [
        "a field called __proto__",
        tools([{ name: "links", params: strange }]),
        "unfit",
        'in the call of "links", __proto__ is not a known field'
      ],
      [
        "a missing field",
        tools([{ name: "finish", params: {} }]),
        "unfit",
        'in the call of "finish", reason is required'
      ],
      [
        "a wrong type",
        tools([{ name: "links", params: { reason: ["x"] } }]),
        "unfit",
        'in the call of "links", reason must be a text, got [1 item]'
      ],
      [
        "a reason that is too long",
        choosing("links", "x".repeat(1_001)),
        "unfit",
        'in the call of "links", reason must be a value with a length of at most 1000, got'
      ],
      [
        "params that are a text",
        tools([{ name: "links", params: "now" }]),
        "unfit",
        'in the call of "links", what was given must be an object, got "now"'
      ],
      ["an empty answer", text(""), "no-choice", "the answer is empty"],
      ["text alone", text("links, I think"), "no-choice", "there is text, but no choice"],
      ["a refusal", text("", { finish: "content-filter" }), "refused", "the model or its provider refused to answer"],
      [
        "an answer that is cut off with a choice in it",
        tools([{ name: "links", params: { reason: "x" } }], { finish: "length" }),
        "cut",
        "the answer was cut off because it is too long; say less"
      ],
      [
        "an answer without a part that says why it ended",
        tools([{ name: "links", params: { reason: "x" } }], { finish: "none" }),
        "unfinished",
        "the answer does not say why it ended"
      ],
      [
        "an answer that ends for a reason nobody knows",
        tools([{ name: "links", params: { reason: "x" } }], { finish: "unknown" }),
        "unfinished",
        "the answer did not end as answers do"
      ],
      [
        "an answer that pauses",
        tools([{ name: "links", params: { reason: "x" } }], { finish: "pause" }),
        "unfinished",
        "the answer did not end as answers do"
      ],
      [
        "an error of the provider in the midst of it",
        tools([{ name: "links", params: { reason: "x" } }], { finish: "error" }),
        "broken",
        "the answer ended with an error of the provider"
      ]
    ]

    it.effect.each(cases)("R-402 D38 %s is no choice", ([, step, problem, detail]) =>
      Effect.gen(function* () {
        const script = scripted([step])
        const error = yield* Effect.flip(script.provide(decide()))
        assert.instanceOf(error, ModelAnswer.AnswerInvalid)
        assert.deepStrictEqual([error.problem, error.details.length], [problem, 1])
        assert.include(error.details[0], detail)
        const kinds = { refused: "capability", broken: "transient" } as const
        assert.strictEqual(
          Failure.kindOf(error),
          problem === "refused" || problem === "broken" ? kinds[problem] : "malformed"
        )
      })
    )

    const odd: ReadonlyArray<readonly [string, ReadonlyArray<Response.PartEncoded>, string]> = [
      [
        "a call that asks to be approved",
        [call(), { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" }, finish],
        "the answer asks for an approval, and there is none to give"
      ],
      [
        "a call that the provider has carried out",
        [call({ providerExecuted: true }), finish],
        'the provider carried out "links" by itself'
      ]
    ]

    it.effect.each(odd)("R-402 %s is no choice", ([, parts, detail]) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Effect.provide(decide(), answering(parts)))
        assert.instanceOf(error, ModelAnswer.AnswerInvalid)
        assert.deepStrictEqual([error.problem, error.details], ["not-asked-for", [detail]])
        assert.deepStrictEqual(error.usage, { tokens: 7 })
      })
    )

    it.effect("R-402 a choice counts with text and reasoning beside it", () =>
      Effect.gen(function* () {
        const params = { reason: 'so that "it" is\ndone' }
        const script = scripted([
          tools([{ name: "links", params }], { text: "Call finish.", reasoning: "Hm", usage: { inputTokens: 3 } })
        ])
        assert.deepStrictEqual(yield* script.provide(decide()), {
          answer: "links",
          usage: { tokens: 3 },
          note: 'The choice is links: "so that \\"it\\" is done"'
        })
      })
    )
  })

  it.effect("R-402 asks without forcing a model that would refuse that, and hears a choice all the same", () =>
    Effect.gen(function* () {
      const script = scripted([choosing("links")])
      const models = Models.make([{ provide: script.model }])
      yield* Effect.provide(decide({}, { models, forced: false }), beside)
      const [request] = yield* script.requests
      assert.strictEqual(request?.toolChoice, "auto")
    })
  )

  describe("the models", () => {
    const large = (fault: ScriptedModel.FaultKind) => ScriptedModel.make([ScriptedModel.fault(fault)])

    it.effect("R-402 another model of the chain is asked when one cannot answer, and both are paid for", () =>
      Effect.gen(function* () {
        const first = large("quota")
        const second = ScriptedModel.make([choosing("links")])
        const models = Models.make([{ provide: first.model }, { provide: second.model }])
        const { note, usage } = yield* Effect.provide(decide({}, { models }), beside)
        assert.strictEqual(note, 'The choice is links: "It is next"')
        assert.strictEqual(usage?.tokens, 11)
        assert.strictEqual((yield* first.requests).length, 1)
        yield* second.complete
      })
    )

    it.effect.each([
      ["rate-limit", "transient"],
      ["unauthorized", "denied"],
      ["refusal", "capability"],
      ["malformed", "malformed"]
    ] as const)("R-402 a call that fails with %s is no choice, of kind %s", ([fault, kind]) =>
      Effect.gen(function* () {
        const models = Models.make([{ provide: large(fault).model }])
        const error = yield* Effect.flip(Effect.provide(decide({}, { models }), beside))
        assert.instanceOf(error, ModelAnswer.AnswerInvalid)
        assert.deepStrictEqual([error.problem, Failure.kindOf(error)], ["unanswered", kind])
        assert.match(error.message, /^ANSWER_INVALID: scripted\//)
        const [record] = error.facts ?? []
        assert.strictEqual((record as { readonly end?: string } | undefined)?.end, kind)
      })
    )

    it.effect("R-402 a call that hangs makes room for the next model, and what was begun is paid for in time", () =>
      Effect.gen(function* () {
        const hanging = Array.from({ length: 3 }, () => ({ provide: ScriptedModel.make([ScriptedModel.hang]).model }))
        const models = Models.make([hanging[0]!, hanging[1]!, hanging[2]!], { swapAfter: 0 })
        const fiber = yield* Effect.forkChild(
          Effect.flip(Effect.provide(decide({}, { models, outputLimit: 100 }), beside))
        )
        yield* TestClock.adjust("109 seconds")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const error = yield* Fiber.join(fiber)
        assert.instanceOf(error, ModelAnswer.AnswerInvalid)
        assert.deepStrictEqual(error.details, ["no model answered within 110 seconds"])
        const ends = error.facts?.map((call) => (call as { readonly end: string }).end)
        assert.deepStrictEqual(ends, ["transient", "transient", "interrupted"])
        assert.isAbove(error.usage?.tokens ?? 0, 300)
      })
    )
  })

  describe("the request", () => {
    it.effect("R-402 D19 shows a tool for each task and no other, each with a strict schema", () =>
      Effect.gen(function* () {
        const script = scripted([choosing("links")])
        yield* script.provide(decide({}, { instructions: "Links first.", outputLimit: 300 }))
        const [request] = yield* script.requests
        assert.deepStrictEqual(
          request?.tools.map(({ description, name }) => [name, description]),
          [
            [
              "links",
              'Task: "Find dead links". Worker: "d.links". What it does: "The worker d.links". Capabilities: "work".'
            ],
            [
              "docs__summary",
              'Task: "Sum up". Worker: "d.summary". What it does: "The worker d.summary". Capabilities: "work".'
            ],
            ["finish", "The work is finished: nothing more is to be done."],
            ["none", "None of the tasks would help, and the work is not finished."]
          ]
        )
        for (const tool of request?.tools ?? []) {
          assert.deepStrictEqual(Tool.getJsonSchema(tool), {
            type: "object",
            properties: {
              reason: { type: "string", description: "Why this is next, in one sentence of at most 300 characters" }
            },
            required: ["reason"],
            additionalProperties: false
          })
          assert.strictEqual(Tool.getStrictMode(tool), true)
        }
        assert.deepStrictEqual(
          [request?.toolChoice, request?.toolCallValidation, request?.outputLimit],
          ["required", "deferred", 300]
        )
        // D22: there is no history of calls that could lack results.
        assert.deepStrictEqual(
          request?.prompt.content.map(({ role }) => role),
          ["system", "user"]
        )
        assert.include(request?.said, "\n\nLinks first.")
        assert.include(request?.last, "- docs__summary: not available now, not asked yet")
      })
    )

    it.effect("R-405 after 50 dispatches the prompt is no longer than a constant and the names", () =>
      Effect.gen(function* () {
        const ten = Array.from({ length: 10 }, (_, index) => ({
          id: `task-${index}`,
          worker: `d.w${index}`,
          objective: "Do it ".repeat(1_000)
        }))
        const script = scripted([choosing("task-1"), choosing("task-1")])
        const { decide } = Router.make({ tasks: ten, choose: ModelRouter.choose(), fallback: "review" })
        const length = (tasks: ReadonlyArray<Coordinator.Seen>) =>
          Effect.gen(function* () {
            yield* script.provide(decide?.(question({ tasks })) ?? Effect.die("nobody"))
            const request = (yield* script.requests).at(-1)
            const described = request?.tools.map(({ description = "" }) => description.length) ?? []
            return (request?.said.length ?? 0) + described.reduce((one, other) => one + other, 0)
          })
        const told = Array.from({ length: 500 }, (_, index) =>
          seen(`task-${index % 10}#${index}`, {
            template: `task-${index % 10}`,
            worker: `d.w${index % 10}`,
            ...(index % 3 === 0 ? { status: "failed", reason: "no ".repeat(10_000) } : {})
          })
        )
        const fifty = yield* length(told.slice(0, 50))
        const many = yield* length(told)
        assert.isAtMost(fifty, mostCharacters({ choices: 12, recent: 10, instructions: 0 }))
        assert.isAtMost(Math.abs(many - fifty), 100)
      })
    )

    it.effect("R-404 tells of the work what it is let tell, and no secret", () =>
      Effect.gen(function* () {
        const script = scripted([choosing("links"), choosing("links")])
        const Input = Schema.Struct({ folder: Schema.String })
        const input = { folder: "docs", apiKey: Redacted.make("hunter2"), password: "hunter3" }
        const whole = Router.make({
          tasks: [{ id: "links", worker: "d.links", objective: "Find" }],
          choose: ModelRouter.choose<typeof input>(),
          fallback: "review"
        })
        const part = Router.make({
          tasks: [{ id: "links", worker: "d.links", objective: "Find" }],
          choose: ModelRouter.choose({ work: ({ folder }: typeof Input.Type) => folder }),
          fallback: "review"
        })
        yield* script.provide(whole.decide?.({ ...question(), input }) ?? Effect.die("nobody"))
        yield* script.provide(part.decide?.({ ...question(), input }) ?? Effect.die("nobody"))
        const [first, second] = (yield* script.requests).map(({ last }) => last)
        assert.include(first, "docs")
        assert.notInclude(first, "hunter")
        assert.include(second, 'The work: "docs"\n')
      })
    )
  })

  describe("choose", () => {
    it.each([
      [{ models: {} }, "ModelRouter.choose: models must be made by Models, got {0 fields}"],
      [{ timeout: 0 }, "ModelRouter.choose: timeout must be"],
      [{ recent: -1 }, "ModelRouter.choose: recent must be a whole number >= 0, got -1"],
      [{ outputLimit: 0 }, "ModelRouter.choose: outputLimit must be a whole number >= 1, got 0"],
      [{ instructions: 7 }, "ModelRouter.choose: instructions must be a text, got 7"],
      [{ work: "all" }, 'ModelRouter.choose: work must be a function, got "all"'],
      [{ steps: 7 }, "ModelRouter.choose: each field of options must be one of"]
    ])("refuses %j", (settings, message) => {
      assert.throws(() => ModelRouter.choose(settings as ModelRouter.Options), RangeError, message)
    })
  })

  describe("in a run", () => {
    const links = () => Fake.worker("links", { otherwise: "3 dead links" })
    const summary = () => Fake.worker("summary", { otherwise: "All in all" })
    const stand = (fallback: "links" | "review" = "review") =>
      deskOf([links(), summary()], Router.make({ tasks, choose: ModelRouter.choose(), fallback }))

    it.effect("R-210 R-406 asks no model that nobody knows the price of, where what the run may cost is limited", () =>
      Effect.gen(function* () {
        const script = scripted([choosing("links")])
        const limited = { ...options, limits: { cost: 1 } }
        const outcome = yield* script.provide(Run.start(stand(), limited))
        assert.strictEqual(outcome.status, "waiting")
        assert.lengthOf(yield* script.requests, 0)
        const [failed] = of(yield* history("r1"), "DecisionFailed")
        assert.include(failed?.error.reason, "costs is not known, and what may be spent is limited")
      }).pipe(memory)
    )

    it.effect("R-402 D18 a model that names nobody is told so, asked again, and right", () =>
      Effect.gen(function* () {
        const script = scripted([
          tools([{ name: "delegate_to_links", params: {} }], { usage: { inputTokens: 100, outputTokens: 10 } }),
          choosing("links"),
          choosing("docs__summary"),
          choosing("finish", "All is done")
        ])
        const outcome = yield* script.provide(Run.start(stand(), options))
        assert.deepStrictEqual(
          [outcome.status, ...ends(outcome)],
          ["completed", "links#2 accepted", "docs.summary#3 accepted"]
        )
        const requests = yield* script.requests
        const refused = 'ROUTING_ERROR: \\"delegate_to_links\\" is none of: links, docs.summary, finish, none'
        assert.include(requests[1]?.last, `Your last answer could not be used (malformed): "${refused}"`)
        assert.notInclude(requests[2]?.last, "could not be used")
        assert.include(requests[3]?.last, '- "docs.summary#3" by "d.summary": accepted, confidence 1.00')
        for (const { said } of requests) assert.notInclude(said, "3 dead links")
        assert.strictEqual(outcome.usage.tokens, 143)
        yield* script.complete
      }).pipe(memory)
    )

    it.effect(
      "R-402 a model that is wrong twice has the fallback stand in, and no worker was asked for its answers",
      () =>
        Effect.gen(function* () {
          const one = links()
          const two = summary()
          const script = scripted([
            text("I would look for links."),
            tools([{ name: "docs__summary", params: { reason: "x", approved: true } }]),
            choosing("finish")
          ])
          const desk = deskOf([one, two], Router.make({ tasks, choose: ModelRouter.choose(), fallback: "links" }))
          const outcome = yield* script.provide(Run.start(desk, options))
          assert.deepStrictEqual([outcome.status, ...ends(outcome)], ["completed", "links#2-fallback accepted"])
          assert.deepStrictEqual([(yield* one.calls).length, (yield* two.calls).length], [1, 0])
          const failed = of(yield* history("r1"), "DecisionFailed").map(({ error }) => error.reason)
          assert.deepStrictEqual(failed, [
            "ANSWER_INVALID: there is text, but no choice",
            'ANSWER_INVALID: in the call of "docs__summary", approved is not a known field'
          ])
          yield* script.complete
        }).pipe(memory)
    )

    it.effect("D28 a model that finishes before anything is done has no result", () =>
      Effect.gen(function* () {
        const script = scripted([choosing("finish", "Nothing to do")])
        const outcome = yield* script.provide(Run.start(stand(), options))
        assert.deepStrictEqual([outcome.status, outcome.stopReason], ["failed", "empty"])
      }).pipe(memory)
    )

    it.effect("D20 a model that asks for the same thing again and again has the recorded outcome, and is stopped", () =>
      Effect.gen(function* () {
        const one = links()
        const script = scripted(Array.from({ length: 20 }, () => choosing("links")))
        const desk = deskOf([one, summary()], Router.make({ tasks, choose: ModelRouter.choose(), fallback: "review" }))
        const outcome = yield* script.provide(Run.start(desk, options))
        assert.strictEqual(outcome.stopReason, "loop-detected")
        assert.strictEqual((yield* one.calls).length, 1)
      }).pipe(memory)
    )

    it.effect("D36 a crash between the choice and its order does not ask the model again", () =>
      Effect.gen(function* () {
        const script = scripted([text("hm"), choosing("links", "the first"), choosing("finish")])
        const cut = yield* Effect.exit(script.provide(Run.start(stand(), options)))
        assert.strictEqual(cut._tag, "Failure")
        assert.strictEqual((yield* script.requests).length, 2)
        const outcome = yield* script.provide(Run.resume(stand(), "r1", { log: false }))
        assert.deepStrictEqual([outcome.status, ...ends(outcome)], ["completed", "links#2 accepted"])
        assert.strictEqual((yield* script.requests).length, 3)
        const decided = of(yield* history("r1"), "Decided").map(({ note }) => note)
        assert.deepStrictEqual(decided, ['The choice is links: "the first"', 'The choice is finish: "It is next"'])
        yield* script.complete
      }).pipe(Effect.provide(dying("Decided", "after")))
    )

    it.effect("D36 the two chances are counted in the journal: a crash between them gives no third", () =>
      Effect.gen(function* () {
        const script = scripted([text("hm"), text("hm"), choosing("finish")])
        const cut = yield* Effect.exit(script.provide(Run.start(stand("links"), options)))
        assert.strictEqual(cut._tag, "Failure")
        const outcome = yield* script.provide(Run.resume(stand("links"), "r1", { log: false }))
        assert.deepStrictEqual(ends(outcome), ["links#2-fallback accepted"])
        yield* script.complete
      }).pipe(Effect.provide(dying("DecisionFailed", "after")))
    )
  })
})

describe("toolNames", () => {
  const named = (names: ReadonlyArray<string>) => {
    const { nameOf, toolOf } = toolNames(names, ["finish"])
    return names.map((name) => [toolOf(name), nameOf(toolOf(name))])
  }

  it.each([
    ["docs.links", "docs__links"],
    ["plain", "plain"],
    ["a b/c", "a_b_c"],
    ["__proto__", "t___proto__"],
    ["constructor", "constructor"],
    ["9lives", "t_9lives"],
    ["", "t_"],
    ["übersicht", "t__bersicht"],
    ["x".repeat(80), "x".repeat(64)]
  ])("R-402 D115 names the tool of %j %s, and comes back", (name, tool) => {
    assert.deepStrictEqual(named([name]), [[tool, name]])
  })

  it("R-402 keeps apart what would have the same name, and leaves to each the name that is its own", () => {
    assert.deepStrictEqual(named(["a.b", "a b", "a__b", "a_b", "x".repeat(65), "x".repeat(66)]), [
      ["a__b_2", "a.b"],
      ["a_b_2", "a b"],
      ["a__b", "a__b"],
      ["a_b", "a_b"],
      ["x".repeat(64), "x".repeat(65)],
      [`${"x".repeat(62)}_2`, "x".repeat(66)]
    ])
  })

  const Names = Schema.Array(
    Schema.Union([Schema.String, Schema.Literals(["a.b", "a__b", "a__b_2", "a b", "finish", "toString", "_"])])
  )

  it.prop("R-402 D115 has for every name a legal one of its own that leads back to it", [Names], ([given]) => {
    const all = [...new Set(given)].filter((name) => name !== "finish")
    const names = toolNames(all, ["finish"])
    const called = all.map(names.toolOf)
    assert.strictEqual(new Set([...called, "finish"]).size, all.length + 1)
    for (const [index, name] of all.entries()) {
      assert.match(called[index] ?? "", /^[A-Za-z][\w-]{0,63}$/)
      assert.strictEqual(names.nameOf(called[index] ?? ""), name)
    }
    assert.strictEqual(names.nameOf("finish"), "finish")
    assert.isUndefined(names.nameOf("nobody has this name"))
  })
})
