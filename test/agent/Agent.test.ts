import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { Agent, CostModel, Gateway, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { Run } from "espalier/run"

import { elapse, history } from "../run/desks.ts"
import { of, resume } from "../run/living.ts"
import { killed } from "../run/outside.ts"
import { Answer, calls, delivers, deskWith, Mail, notices, Search, search, services, spent, started } from "./agents.ts"

const make = ScriptedModel.make

const downFor2Minutes = () => ScriptedModel.fromFunction(ScriptedModel.down({ for: "2 minutes" }, delivers("Fram")))

const one = (outcome: { readonly results: Readonly<Record<string, unknown>> }) =>
  outcome.results["a"] as { readonly status: string; readonly output?: unknown; readonly reason?: string }

describe("An agent", () => {
  it.effect("R-401 R-402 calls its tools, is told the results, and delivers", () => {
    const queries: Array<string> = []
    const script = make([calls(["search", { query: "ship" }]), delivers("Fram")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search(queries)]) }))
      assert.deepStrictEqual([outcome.status, one(outcome).output], ["completed", { answer: "Fram" }])
      assert.deepStrictEqual(queries, ["ship"])
      const [, second] = yield* script.requests
      const roles = second?.prompt.content.map(({ role }) => role)
      assert.deepStrictEqual(roles, ["system", "user", "assistant", "tool"])
      assert.include(JSON.stringify(second?.prompt), "ship 1")
      yield* script.complete
    }).pipe(Effect.provide(services))
  })

  it.effect("R-406 has each of its calls paid for, with the model that was asked", () => {
    const script = make([calls(["search", { query: "ship" }]), delivers("Fram")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search()]) }))
      const paid = spent(yield* history("r1"))
      assert.deepStrictEqual(
        paid.map(({ facts, usage, what }) => [what, facts?.["model"] ?? facts?.["tool"], usage]),
        [
          ["model", "scripted-1", { tokens: 15, steps: 1 }],
          ["tool", "search", { toolCalls: 1 }],
          ["model", "scripted-1", { tokens: 15, steps: 1 }]
        ]
      )
      assert.deepStrictEqual(outcome.usage, { steps: 2, tokens: 30, toolCalls: 1 })
    }).pipe(Effect.provide(services))
  })

  it.effect("has its models made once, for however many turns", () => {
    const script = make([calls(["search", { query: "ship" }]), calls(["search", { query: "crew" }]), delivers("Fram")])
    let made = 0
    const counted = Layer.unwrap(
      Effect.sync(() => {
        made += 1
        return script.model
      })
    )
    return Effect.gen(function* () {
      const settings = { tools: ToolScope.make([search()]) }
      const outcome = yield* started(deskWith(Models.make([{ provide: counted }]), settings))
      assert.deepStrictEqual([outcome.status, made], ["completed", 1])
    }).pipe(Effect.provide(services))
  })

  it.effect("names what is missing, and is partial then", () => {
    const script = make([delivers("half", 0.8, [{ part: "the rest", reason: "no time" }])])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script))
      assert.deepStrictEqual([outcome.status, one(outcome).status], ["partial", "partial"])
    }).pipe(Effect.provide(services))
  })

  it.effect("D109 is told what does not fit, once, and its next delivery counts", () => {
    const script = make([delivers(7), delivers("seven")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script))
      assert.deepStrictEqual([outcome.status, one(outcome).output], ["completed", { answer: "seven" }])
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "output.answer must be")
      assert.deepStrictEqual(yield* notices, ["corrected-answer"])
      yield* script.complete
    }).pipe(Effect.provide(services))
  })

  it.effect("R-402 never succeeds with what does not fit", () => {
    const script = ScriptedModel.fromFunction(() => delivers(7))
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script))
      const ends = of(yield* history("r1"), "Reported")
      // It was corrected inside its order: no other order asks for that again.
      assert.deepStrictEqual(
        ends.map(({ result }) => [result.output, result.error?.kind, result.error?.corrected]),
        [[undefined, "malformed", true]]
      )
      assert.strictEqual((yield* script.requests).length, 2)
      assert.strictEqual(outcome.status, "failed")
    }).pipe(Effect.provide(services))
  })

  it.effect("D108 has little confidence in what fits only after several tries", () => {
    const script = make([delivers(1), delivers(2), delivers(3), delivers(4), delivers("n/a", 1)])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { corrections: 4 }))
      const [reported] = of(yield* history("r1"), "Reported")
      assert.strictEqual(reported?.result.confidence, 0.5)
      assert.isTrue(outcome.degraded)
    }).pipe(Effect.provide(services))
  })

  const nothings: ReadonlyArray<readonly [string, ScriptedModel.Step]> = [
    ["text alone", ScriptedModel.text("The answer is Fram")],
    ["nothing at all", ScriptedModel.text("")],
    ["a cut answer", ScriptedModel.tools([{ name: "deliver", params: {} }], { finish: "length" })]
  ]
  it.effect.each(nothings)("is told to call something after %s", ([, step]) => {
    const script = make([step, delivers("Fram")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script))
      assert.deepStrictEqual(one(outcome).output, { answer: "Fram" })
      yield* script.complete
    }).pipe(Effect.provide(services))
  })

  const finishes: ReadonlyArray<readonly [string, ScriptedModel.Step, string]> = [
    ["no finish part", ScriptedModel.text("hm", { finish: "none" }), "malformed"],
    ["an unknown finish", ScriptedModel.text("hm", { finish: "unknown" }), "malformed"],
    ["a content filter", ScriptedModel.text("hm", { finish: "content-filter" }), "capability"]
  ]
  it.effect.each(finishes)("D38 does not go on after %s", ([, step, kind]) => {
    const script = ScriptedModel.fromFunction(() => step)
    return Effect.gen(function* () {
      yield* started(deskWith(script))
      const [reported] = of(yield* history("r1"), "Reported")
      assert.strictEqual(reported?.result.error?.kind, kind)
    }).pipe(Effect.provide(services))
  })

  const reasons = [
    ["not-able", "capability"],
    ["not-allowed", "denied"],
    ["too-large", "oversized"],
    ["question", "capability"]
  ] as const
  it.effect.each(reasons)("says that it cannot go on: %s is %s", ([because, kind]) => {
    const script = ScriptedModel.fromFunction(() => calls(["give_up", { reason: "no way", because }]))
    return Effect.gen(function* () {
      yield* started(deskWith(script))
      const [reported] = of(yield* history("r1"), "Reported")
      assert.deepStrictEqual([reported?.result.error?.kind, reported?.result.error?.reason], [kind, "no way"])
      assert.strictEqual(reported?.result.ambiguity, because === "question" ? "no way" : undefined)
    }).pipe(Effect.provide(services))
  })

  it.effect("looks at the results of other calls before it ends", () => {
    const script = make([
      calls(["search", { query: "ship" }], ["deliver", { output: { answer: "guess" }, confidence: 1 }]),
      delivers("Fram")
    ])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search()]) }))
      assert.deepStrictEqual(one(outcome).output, { answer: "Fram" })
    }).pipe(Effect.provide(services))
  })
})

describe("The limits of an agent", () => {
  const four = () => make([1, 2, 3, 4].map((each) => calls(["search", { query: `${each}` }])))

  it.effect("D02 end it with what was done, and one warning", () =>
    Effect.gen(function* () {
      const desk = deskWith(four(), {
        steps: 3,
        tools: ToolScope.make([search()]),
        partial: ({ calls }) => ({ output: { answer: `${calls.length} found` } })
      })
      const outcome = yield* started(desk)
      assert.deepStrictEqual([outcome.status, one(outcome).output], ["partial", { answer: "3 found" }])
      const [reported] = of(yield* history("r1"), "Reported")
      assert.include(reported?.result.missing[0]?.reason, "the limit of 3 steps is reached (3 steps, done: search ×3)")
      assert.deepStrictEqual(yield* notices, ["limit"])
    }).pipe(Effect.provide(services))
  )

  it.effect("are exhaustion where nothing can be made of what was done", () =>
    Effect.gen(function* () {
      yield* started(deskWith(four(), { steps: 2, tools: ToolScope.make([search()]) }))
      const [reported] = of(yield* history("r1"), "Reported")
      assert.deepStrictEqual(
        [reported?.result.error?.kind, reported?.result.error?.reason],
        ["exhausted", "the limit of 2 steps is reached (2 steps, done: search ×2)"]
      )
    }).pipe(Effect.provide(services))
  )

  it.effect("D32 D33 keep a call from being made that does not fit any more", () => {
    const script = make(
      [1, 2, 3, 4].map((each) =>
        ScriptedModel.tools([{ name: "search", params: { query: `${each}` } }], { usage: { inputTokens: 400 } })
      )
    )
    return Effect.gen(function* () {
      const desk = deskWith(script, {
        tools: ToolScope.make([search()]),
        maxOutput: 100,
        partial: () => ({ output: { answer: "some" } })
      })
      yield* elapse(Run.start(desk, { id: "r1", input: "go", log: false, limits: { tokens: 1600 } }), "5 minutes")
      assert.isBelow((yield* script.requests).length, 4)
      const { ledger } = yield* Run.state("r1")
      assert.isAtMost(ledger.accounts.get("run")?.settled.tokens ?? 0, 1600)
      assert.include(yield* notices, "limit")
    }).pipe(Effect.provide(services))
  })
})

describe("A budget that a call has overrun", () => {
  it.effect("is what ends the order, and not a cost that nobody has limited", () => {
    const script = make([
      ScriptedModel.tools([{ name: "search", params: { query: "ship" } }], { usage: { inputTokens: 50_000 } }),
      delivers("Fram")
    ])
    return Effect.gen(function* () {
      const desk = deskWith(script, { tools: ToolScope.make([search()]), maxOutput: 100 })
      yield* elapse(Run.start(desk, { id: "r1", input: "go", log: false, limits: { tokens: 60_000 } }), "5 minutes")
      const [reported] = of(yield* history("r1"), "Reported")
      assert.strictEqual(reported?.outcome, "budget-exceeded")
      assert.include(reported?.result.error?.reason, "is closed since its tokens were overrun")
    }).pipe(Effect.provide(services))
  })
})

describe("A provider that is down for two minutes", () => {
  it.effect("D45 is sat out by a run whose policy waits for so long", () => {
    const script = downFor2Minutes()
    const policy = { attempts: 4, waitsMillis: [60_000], jitter: 0 }
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, {}, { policy }))
      assert.deepStrictEqual([outcome.status, one(outcome).output], ["completed", { answer: "Fram" }])
      const failed = (yield* history("r1")).flatMap((event) => (event._tag === "AttemptFailed" ? [event.note] : []))
      assert.deepStrictEqual(failed, [
        "Attempt 1 at d.one failed (transient): scripted/scripted-1: the provider failed (HTTP 529); again after 60000 ms",
        "Attempt 2 at d.one failed (transient): scripted/scripted-1: the provider failed (HTTP 529); again after 60000 ms"
      ])
    }).pipe(Effect.provide(services))
  })

  it.effect("D45 is the end of a task whose run waits as usual", () =>
    Effect.gen(function* () {
      const outcome = yield* started(deskWith(downFor2Minutes()))
      assert.deepStrictEqual([outcome.status, one(outcome).status], ["failed", "failed"])
      assert.notInclude(JSON.stringify(outcome), "transient: transient")
    }).pipe(Effect.provide(services))
  )
})

describe("A gateway around an agent", () => {
  it.effect("R-403 switches a tool off by its name, whatever host it has, and the model is told", () => {
    const queries: Array<string> = []
    const script = make([calls(["search", { query: "ship" }]), delivers("nothing")])
    return Effect.gen(function* () {
      yield* Gateway.switchOff({ tool: "search", by: "ann", why: "it is being mended" })
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search(queries)]) }))
      assert.deepStrictEqual([one(outcome).output, queries], [{ answer: "nothing" }, []])
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "it is being mended")
    }).pipe(Effect.provide([services, Gateway.layer()]))
  })

  it.effect("R-403 is never gone around by a tool with a host", () => {
    let called = 0
    const outside = ToolScope.tool(Search, { host: "example.com", handle: () => Effect.sync(() => [`${++called}`]) })
    const script = make([calls(["search", { query: "ship" }]), delivers("nothing")])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools: ToolScope.make([outside]) as never }))
      assert.strictEqual(called, 0)
    }).pipe(Effect.provide(services))
  })
})

describe("The budget of an agent", () => {
  it.effect("R-210 D33 lets its last answer be as long as what is left", () => {
    const script = make([
      ScriptedModel.tools([{ name: "search", params: { query: "1" } }], { usage: { inputTokens: 5000 } }),
      delivers("Fram")
    ])
    return Effect.gen(function* () {
      const desk = deskWith(script, { tools: ToolScope.make([search()]), maxOutput: 8000 })
      const limits = { tokens: 9000 }
      const outcome = yield* elapse(Run.start(desk, { id: "r1", input: "go", log: false, limits }), "5 minutes")
      assert.deepStrictEqual(one(outcome).output, { answer: "Fram" })
      const [first, second] = yield* script.requests
      assert.strictEqual(first?.outputLimit, 8000)
      assert.isBelow(second?.outputLimit ?? 0, 4000)
      assert.isAbove(second?.outputLimit ?? 0, 256)
    }).pipe(Effect.provide(services))
  })
})

describe("An answer that holds a secret", () => {
  it.effect("R-404 is used without it, and a notice says that something was taken out", () => {
    const sent: Array<string> = []
    const to = `sk-ant-api03-${"a1B2".repeat(15)}`
    const script = make([calls(["mail", { to }]), delivers("sent")])
    const tools = ToolScope.make([ToolScope.tool(Mail, { handle: ({ to }) => Effect.sync(() => `${sent.push(to)}`) })])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools }))
      assert.deepStrictEqual([sent.length, sent[0]?.includes(to)], [1, false])
      assert.deepStrictEqual(yield* notices, ["redacted-answer"])
    }).pipe(Effect.provide(services))
  })
})

describe("What an agent may cost", () => {
  const priced = CostModel.layer({ currency: "USD", prices: { "scripted/scripted-1": { input: 3, output: 15 } } })
  const limited = (limits: { readonly cost: number }, script: ScriptedModel.ScriptedModel, costs = priced) =>
    Effect.gen(function* () {
      const desk = deskWith(script, { partial: () => ({ output: { answer: "nothing" } }) })
      const outcome = yield* elapse(Run.start(desk, { id: "r1", input: "go", log: false, limits }), "5 minutes")
      const [reported] = of(yield* history("r1"), "Reported")
      return { outcome, result: reported?.result, asked: (yield* script.requests).length }
    }).pipe(Effect.provide(costs), Effect.provide(services))

  it.effect("D32 R-210 is looked at before the first call, which is not made when it may be more", () =>
    Effect.gen(function* () {
      const { asked, outcome, result } = yield* limited({ cost: 0.001 }, make([delivers("Fram")]))
      assert.deepStrictEqual([outcome.status, asked], ["partial", 0])
      assert.match(
        result?.missing[0]?.reason ?? "",
        /a call of scripted\/scripted-1 may cost 0\.\d+, and 0.001 is left/
      )
    })
  )

  it.effect("R-406 keeps a model from being asked whose price nobody knows, where cost is limited", () =>
    Effect.gen(function* () {
      const { asked, result } = yield* limited({ cost: 10 }, make([delivers("Fram")]), CostModel.layerUnknown)
      assert.deepStrictEqual([asked, result?.error?.kind], [0, "capability"])
      const { outcome } = yield* limited({ cost: 10 }, make([delivers("Fram")]))
      assert.strictEqual(outcome.status, "completed")
    })
  )
})

describe("A summary that a model is asked for", () => {
  it.effect("R-401 R-405 has each swap written down, and each call paid for", () => {
    const long = ToolScope.tool(Search, { handle: () => Effect.succeed(["word ".repeat(1500)]) })
    const first = ScriptedModel.fromFunction(
      ({ responseFormat }, turn) =>
        responseFormat.type === "json"
          ? ScriptedModel.fault("quota")
          : turn < 6
            ? ScriptedModel.tools([{ name: "search", params: { query: `${turn}` } }])
            : delivers("Fram"),
      { provider: "a", model: "one" }
    )
    const summary = { done: ["searched"], state: "nothing found yet", remaining: ["search on"] }
    const second = ScriptedModel.fromFunction(() => ScriptedModel.object(summary), { provider: "b", model: "two" })
    return Effect.gen(function* () {
      const models = Models.make([{ provide: first.model }, { provide: second.model }])
      const desk = deskWith(models, {
        tools: ToolScope.make([long]),
        steps: 8,
        summary: "model",
        context: { size: 8000, maxSummary: 2000 }
      })
      yield* started(desk)
      const asked = spent(yield* history("r1")).filter(({ facts }) => facts?.["summary"] === true)
      assert.isAtLeast(asked.length, 2)
      assert.deepStrictEqual(
        asked.slice(0, 2).map(({ facts }) => [facts?.["model"], facts?.["end"]]),
        [
          ["one", "capability"],
          ["two", "answered"]
        ]
      )
      const swaps = (yield* notices).filter((what) => what === "model-swap")
      assert.strictEqual(swaps.length, asked.length / 2)
    }).pipe(Effect.provide(services))
  })
})

describe("The next order of an agent", () => {
  const built = (sent: Array<string>, seen: Array<string>, lost: boolean) =>
    deskWith(
      ScriptedModel.fromFunction((request) => {
        const text = JSON.stringify(request.prompt.content[1])
        seen.push(text)
        if (text.includes("done_before")) return delivers("it was sent before")
        return request.prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("hm", { finish: "unknown" })
          : calls(["mail", { to: "ann" }])
      }),
      {
        tools: ToolScope.make([
          ToolScope.tool(Mail, {
            handle: ({ to }) => (lost ? Effect.die(new Error("lost")) : Effect.sync(() => `mail ${sent.push(to)}`))
          })
        ])
      }
    )

  it.effect("R-303 D53 is told what was done for its task, so that it is not done again in another form", () => {
    const sent: Array<string> = []
    const seen: Array<string> = []
    return Effect.gen(function* () {
      const outcome = yield* started(built(sent, seen, false))
      assert.deepStrictEqual([one(outcome).output, sent], [{ answer: "it was sent before" }, ["ann"]])
      const last = seen.at(-1) ?? ""
      assert.include(last, "mail 1")
      assert.include(last, "ann")
    }).pipe(Effect.provide(services))
  })

  it.effect("R-303 D58 is told what a person has said of it", () => {
    const seen: Array<string> = []
    const desk = built([], seen, true)
    return Effect.gen(function* () {
      yield* started(desk)
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: "mail by hand", by: "ann" })
      const outcome = yield* elapse(resume(desk), "5 minutes")
      assert.deepStrictEqual(one(outcome).output, { answer: "it was sent before" })
      assert.include(seen.at(-1) ?? "", "mail by hand")
    }).pipe(Effect.provide(services))
  })

  it.effect("R-303 D58 asks once more about what a person has said that is no result of the tool", () => {
    const desk = deskWith(
      ScriptedModel.fromFunction((request) =>
        request.prompt.content.some(({ role }) => role === "tool") ? delivers("sent") : calls(["mail", { to: "ann" }])
      ),
      { tools: ToolScope.make([ToolScope.tool(Mail, { handle: () => Effect.die(new Error("lost")) })]) }
    )
    return Effect.gen(function* () {
      yield* started(desk)
      yield* Run.decide({ review: "r1/review/1", decision: "answer", answer: { not: "a text" }, by: "ann" })
      const again = yield* elapse(resume(desk), "5 minutes")
      assert.deepStrictEqual([again.status, again.reviews[0]?.allowed], ["waiting", ["answer", "reject"]])
      yield* Run.decide({ review: "r1/review/2", decision: "answer", answer: "mail by hand", by: "ann" })
      const outcome = yield* elapse(resume(desk), "5 minutes")
      assert.deepStrictEqual(one(outcome).output, { answer: "sent" })
    }).pipe(Effect.provide(services))
  })
})

describe("The scope of an agent", () => {
  const names = ["delete_all", "constructor", "__proto__", "toString", ""]
  it.effect.each(names)("R-403 D115 refuses %j, records it and counts it", (name) => {
    const script = make([calls([name, {}]), delivers("Fram")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([search()]) }))
      assert.deepStrictEqual(one(outcome).output, { answer: "Fram" })
      assert.deepStrictEqual(yield* notices, ["undeclared-tool"])
      yield* script.complete
    }).pipe(Effect.provide(services))
  })

  it.effect("R-403 D115 is empty when it is empty", () => {
    const queries: Array<string> = []
    const script = make([calls(["search", { query: "ship" }]), delivers("Fram")])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools: ToolScope.make([]) }))
      assert.deepStrictEqual([queries, yield* notices], [[], ["undeclared-tool"]])
    }).pipe(Effect.provide(services))
  })

  it.effect("R-403 ends the order as denied at the third refusal, and a person is asked", () => {
    const script = ScriptedModel.fromFunction(() => calls(["rm", {}]))
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script))
      assert.strictEqual(outcome.status, "waiting")
      assert.deepStrictEqual(yield* notices, ["undeclared-tool", "undeclared-tool", "undeclared-tool"])
      const [reported] = of(yield* history("r1"), "Reported")
      assert.strictEqual(reported?.outcome, "denied")
    }).pipe(Effect.provide(services))
  })

  it.effect("D37 counts refusals, calls that do not fit, and deliveries each by themselves", () => {
    const script = make([
      calls(["rm", {}]),
      calls(["rm", {}]),
      calls(["search", { query: 7 }]),
      calls(["search", {}]),
      delivers(1),
      delivers(2),
      delivers("Fram")
    ])
    return Effect.gen(function* () {
      const desk = deskWith(script, { tools: ToolScope.make([search()]), steps: 7, corrections: 2 })
      const outcome = yield* started(desk)
      assert.deepStrictEqual(one(outcome).output, { answer: "Fram" })
      yield* script.complete
    }).pipe(Effect.provide(services))
  })

  it.effect("D114 has an approval hold for one definition of a tool", () => {
    const described = (description: string) =>
      ToolScope.tool(
        Tool.make("mail", { description, parameters: Schema.Struct({ to: Schema.String }), success: Schema.String }),
        { gate: "always", handle: ({ to }) => Effect.sync(() => `sent to ${to}`) }
      )
    const script = () =>
      ScriptedModel.fromFunction((_, n) => (n === 1 ? calls(["mail", { to: "ann" }]) : delivers("ok")))
    const built = (description: string) => deskWith(script(), { tools: ToolScope.make([described(description)]) })
    return Effect.gen(function* () {
      yield* started(built("Sends a mail"))
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      const outcome = yield* elapse(resume(built("Sends a mail, and a copy to everybody")), "5 minutes")
      assert.deepStrictEqual(
        [outcome.status, outcome.reviews.map(({ review }) => review)],
        ["waiting", ["r1/review/2"]]
      )
      assert.include(yield* notices, "approval-mismatch")
    }).pipe(Effect.provide(services))
  })

  it.effect("D116 is what it was, whatever is done to what it was made of", () => {
    const entries = [search()]
    const scope = ToolScope.make(entries)
    entries.length = 0
    assert.deepStrictEqual(scope.names, ["search"])
    return Effect.void
  })
})

describe("The tools of an agent", () => {
  const failing = (onFailure: "return" | "fail") =>
    ToolScope.tool(
      Tool.make("look", { parameters: Schema.Struct({}), success: Schema.String }).annotate(Tool.Readonly, true),
      { onFailure, handle: () => Effect.fail(new Error("the shelf is locked")) }
    )

  it.effect("D17 tell the model when they fail, and are named in the record", () => {
    const script = make([calls(["look", {}]), delivers("locked")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([failing("return")]) }))
      assert.deepStrictEqual(one(outcome).output, { answer: "locked" })
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "the shelf is locked")
      const [noticed] = of(yield* history("r1"), "Noticed")
      assert.match(noticed?.note ?? "", /look \(call_\w+\) failed: the shelf is locked/)
    }).pipe(Effect.provide(services))
  })

  it.effect("D07 end the order where that is what they are for", () =>
    Effect.gen(function* () {
      const script = ScriptedModel.fromFunction(() => calls(["look", {}]))
      yield* started(deskWith(script, { tools: ToolScope.make([failing("fail")]) }))
      const [reported] = of(yield* history("r1"), "Reported")
      assert.deepStrictEqual(
        [reported?.result.error?.kind, reported?.result.error?.reason],
        ["capability", "the tool look failed: the shelf is locked"]
      )
    }).pipe(Effect.provide(services))
  )

  it.effect("D46 have a time each, and the task goes on without the one that hangs", () => {
    let stopped = 0
    const hangs = ToolScope.tool(
      Tool.make("look", { parameters: Schema.Struct({}), success: Schema.String }).annotate(Tool.Readonly, true),
      {
        timeout: "30 seconds",
        handle: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void (stopped += 1)))
      }
    )
    const script = make([calls(["look", {}]), delivers("nothing seen")])
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([hangs]) }))
      assert.deepStrictEqual([one(outcome).output, stopped], [{ answer: "nothing seen" }, 1])
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "the tool look did not answer within 30s")
    }).pipe(Effect.provide(services))
  })

  it.effect("D58 that may not be done again leave it to a person when nobody knows whether they were", () => {
    const hangs = ToolScope.tool(Mail, { timeout: "30 seconds", handle: () => Effect.never })
    const script = ScriptedModel.fromFunction(() => calls(["mail", { to: "ann" }]))
    return Effect.gen(function* () {
      const outcome = yield* started(deskWith(script, { tools: ToolScope.make([hangs]) }))
      assert.deepStrictEqual(
        [outcome.status, outcome.reviews.map(({ reason }) => reason)],
        ["waiting", ["unknown-effect"]]
      )
    }).pipe(Effect.provide(services))
  })

  it.effect("are called beside each other only where they say that it is safe", () => {
    const log: Array<string> = []
    const slow = (name: string, readonly: boolean) =>
      ToolScope.tool(
        Tool.make(name, { parameters: Schema.Struct({ n: Schema.Int }), success: Schema.String }).annotate(
          Tool.Readonly,
          readonly
        ),
        {
          handle: ({ n }) =>
            Effect.gen(function* () {
              log.push(`${name} ${n} begins`)
              yield* Effect.sleep("1 second")
              log.push(`${name} ${n} ends`)
              return "ok"
            })
        }
      )
    const script = make([
      calls(["read", { n: 1 }], ["read", { n: 2 }], ["write", { n: 3 }], ["write", { n: 4 }]),
      delivers("done")
    ])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools: ToolScope.make([slow("read", true), slow("write", false)]) }))
      assert.deepStrictEqual(log, [
        "read 1 begins",
        "read 2 begins",
        "read 1 ends",
        "read 2 ends",
        "write 3 begins",
        "write 3 ends",
        "write 4 begins",
        "write 4 ends"
      ])
    }).pipe(Effect.provide(services))
  })

  it.effect("R-402 D29 have their results held against what they promise", () => {
    const lies = ToolScope.tool(
      Tool.make("look", { parameters: Schema.Struct({}), success: Schema.Int }).annotate(Tool.Readonly, true),
      { handle: () => Effect.succeed("seven" as unknown as number) }
    )
    const script = make([calls(["look", {}]), delivers("hm")])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools: ToolScope.make([lies]) }))
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "the result of look does not fit")
    }).pipe(Effect.provide(services))
  })

  it.effect("are told in short when they have much to say, which is recorded", () => {
    const long = ToolScope.tool(
      Tool.make("look", { parameters: Schema.Struct({}), success: Schema.String }).annotate(Tool.Readonly, true),
      { handle: () => Effect.succeed("x".repeat(5000)) }
    )
    const script = make([calls(["look", {}]), delivers("hm")])
    return Effect.gen(function* () {
      yield* started(deskWith(script, { tools: ToolScope.make([long]), maxResult: 100 }))
      const [, second] = yield* script.requests
      assert.include(JSON.stringify(second?.prompt), "shortened: it has 5002 characters")
      assert.deepStrictEqual(yield* notices, ["long-result"])
    }).pipe(Effect.provide(services))
  })
})

describe("People and an agent", () => {
  const mails = (sent: Array<string>, gate: "always" | "never" = "always") =>
    ToolScope.tool(Mail, { gate, editable: ["/to"], handle: ({ to }) => Effect.sync(() => `mail ${sent.push(to)}`) })
  const built = (sent: Array<string>, turns: Array<number>, queries: Array<string> = []) =>
    deskWith(
      ScriptedModel.fromFunction((request) => {
        const results = request.prompt.content.filter(({ role }) => role === "tool").length
        turns.push(results)
        if (results === 0) {
          return calls(["search", { query: "x" }], ["mail", { to: "all" }], ["search", { query: "y" }])
        }
        return delivers("sent")
      }),
      { tools: ToolScope.make([mails(sent), search(queries)]) }
    )

  it.effect("R-403 D84 it waits for them, and asks its model only when every call has its result", () => {
    const sent: Array<string> = []
    const turns: Array<number> = []
    return Effect.gen(function* () {
      const waiting = yield* started(built(sent, turns))
      assert.deepStrictEqual([waiting.status, sent, turns], ["waiting", [], [0]])
      yield* Run.decide({ review: "r1/review/1", decision: "approve", by: "ann" })
      const outcome = yield* elapse(resume(built(sent, turns)), "5 minutes")
      assert.deepStrictEqual([outcome.status, sent, turns], ["completed", ["all"], [0, 1]])
    }).pipe(Effect.provide(services))
  })

  it.effect("D83 it does once what they have approved, as they have changed it", () => {
    const sent: Array<string> = []
    const turns: Array<number> = []
    return Effect.gen(function* () {
      yield* started(built(sent, turns))
      yield* Run.decide({ review: "r1/review/1", decision: "edit", by: "ann", edits: { "/to": "team" } } as never)
      yield* elapse(resume(built(sent, turns)), "5 minutes")
      assert.deepStrictEqual(sent, ["team"])
    }).pipe(Effect.provide(services))
  })

  it.effect("D86 it hears of a no in the words of ReviewText, and nothing is done", () => {
    const sent: Array<string> = []
    let heard = ""
    const desk = deskWith(
      ScriptedModel.fromFunction((request) => {
        if (!request.prompt.content.some(({ role }) => role === "tool")) return calls(["mail", { to: "all" }])
        heard = JSON.stringify(request.prompt)
        return delivers("not sent")
      }),
      { tools: ToolScope.make([mails(sent)]) }
    )
    return Effect.gen(function* () {
      yield* started(desk)
      yield* Run.decide({ review: "r1/review/1", decision: "reject", by: "ann", note: "too many" } as never)
      const outcome = yield* elapse(resume(desk), "5 minutes")
      assert.deepStrictEqual([one(outcome).output, sent], [{ answer: "not sent" }, []])
      assert.include(heard, "was not executed")
      assert.include(heard, "too many")
    }).pipe(Effect.provide(services))
  })
})

describe("A process that dies in the middle of the loop of an agent", () => {
  const world = () => {
    const asked: Array<number> = []
    const sent = new Set<string>()
    const queries: Array<string> = []
    const desk = () =>
      deskWith(
        ScriptedModel.fromFunction((request) => {
          const results = request.prompt.content.filter(({ role }) => role === "tool").length
          asked.push(results)
          return results === 0
            ? calls(["search", { query: "x" }], ["rm", {}])
            : results === 1
              ? calls(["mail", { to: "ann" }], ["search", { query: 7 }])
              : results === 2
                ? calls(["search", { query: "x" }])
                : delivers("done")
        }),
        {
          tools: ToolScope.make([
            // Whoever gets it knows it by its key when it comes twice.
            ToolScope.tool(Mail, {
              idempotent: true,
              handle: ({ to }, { key }) => Effect.sync(() => `mail to ${to}, ${sent.add(key).size}`)
            }),
            search(queries)
          ])
        }
      )
    return { asked, sent, queries, desk }
  }

  it.effect("R-301 R-303 goes on without asking again for what was answered, wherever it was cut", () =>
    Effect.gen(function* () {
      const whole = world()
      const outcome = yield* Effect.provide(
        Effect.flatMap(started(whole.desk()), (outcome) =>
          Effect.map(history("r1"), (events) => ({ outcome, events }))
        ),
        services
      )
      const { events } = outcome
      assert.strictEqual(outcome.outcome.status, "completed")
      const from = events.findIndex(({ _tag }) => _tag === "Dispatched") + 1
      const to = events.findIndex(({ _tag }) => _tag === "Reported")
      for (let at = from; at <= to; at++) {
        for (const moment of ["before", "after"] as const) {
          const cut = world()
          let count = 0
          yield* Effect.gen(function* () {
            const dies = () => count++ === at
            yield* elapse(
              killed(Run.start(cut.desk(), { id: "r1", input: "go", log: false }), dies, moment),
              "5 minutes"
            )
            const asked = cut.asked.length
            const answered = of(yield* history("r1"), "EffectSettled").length
            const again = yield* elapse(resume(cut.desk()), "5 minutes")
            assert.deepStrictEqual([again.status, one(again).output], ["completed", { answer: "done" }])
            // One turn at most was under way, and is asked for once more.
            assert.isAtMost(cut.asked.length, 5, `cut at ${at}, ${moment}: ${asked} asked, ${answered} settled`)
            assert.strictEqual(cut.sent.size, 1)
            const refusals = (yield* notices).filter((what) => what === "undeclared-tool")
            assert.isAtMost(refusals.length, 2)
          }).pipe(Effect.provide(services))
        }
      }
    })
  )
})

describe("Agent.make", () => {
  const models = Models.make([{ provide: make([]).model }])
  const good = { description: "Answers", instructions: "Answer.", input: Schema.Struct({}), output: Answer, models }
  const bad: ReadonlyArray<readonly [string, object, RegExp]> = [
    ["no steps", { steps: 0 }, /steps must be a whole number >= 1, got 0/],
    ["too many corrections", { corrections: 11 }, /corrections must be a whole number from 0 to 10, got 11/],
    ["no models", { models: [] }, /models must be made by Models.make/],
    ["no scope", { tools: [] }, /tools must be a scope made by ToolScope.make/],
    ["no instructions", { instructions: 7 }, /instructions must be/],
    ["no output", { output: undefined }, /output must be/],
    [
      "an option that there is not",
      { stepz: 7 },
      /^Agent.make: each field of options must be one of steps.*got "stepz"/
    ],
    ["what it makes by itself", { handle: () => Effect.void }, /^Agent.make: .*got "handle"/]
  ]
  it.each(bad)("refuses %s", (_, fields, message) => {
    assert.throws(() => Agent.make("one", { ...good, ...fields } as never), message)
  })
})

describe("ToolScope.tool", () => {
  const bad: ReadonlyArray<readonly [string, () => unknown, RegExp]> = [
    ["a name of an ending", () => ToolScope.tool(Tool.make("deliver"), { handle: () => Effect.void }), /another name/],
    ["a name with dots", () => ToolScope.tool(Tool.make("a.b"), { handle: () => Effect.void }), /letters, digits/],
    [
      "an endless time",
      () => ToolScope.tool(Tool.make("a"), { timeout: "Infinity", handle: () => Effect.void }),
      /timeout must be finite/
    ],
    ["two of a name", () => ToolScope.make([search(), search()]), /search/],
    ["what is no tool", () => ToolScope.make([{ name: "x" } as never]), /made by ToolScope.tool/]
  ]
  it.each(bad)("refuses %s", (_, make, message) => {
    assert.throws(make, message)
  })
})
