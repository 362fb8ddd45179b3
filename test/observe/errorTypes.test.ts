/** That spans and metrics call a failure by one name. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, type Tracer } from "effect"
import { Tool } from "effect/ai"
import { Failure } from "espalier"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { EspalierTracer, Metrics, SemConv, Tracing } from "espalier/observe"
import { Dependency, type Desk, Effects, Office, Plan, Review, Router, Run, type Worker } from "espalier/run"
import { Fake } from "espalier/testing"

import { calls, delivers, deskWith } from "../agent/agents.ts"
import { elapse, task, worker } from "../run/desks.ts"
import { r1, say } from "../run/guards.ts"
import { begin, deskOf, pass, resume } from "../run/living.ts"
import { registry, series } from "./scrape.ts"
import { collecting } from "./spans.ts"

const { espalier } = SemConv
const { attributes: at } = SemConv.names()

/** The spans of an instrument, and the instrument. */
const families: ReadonlyArray<readonly [family: string, is: (span: Tracer.Span) => boolean, instrument: string]> = [
  ["chat", ({ name }) => name.startsWith("chat "), "gen_ai.client.inference.duration"],
  [
    "invoke_agent",
    ({ attributes, name }) => name.startsWith("invoke_agent ") && attributes.get(espalier.nodeRole) === "worker",
    "gen_ai.invoke_agent.duration"
  ],
  ["execute_tool", ({ name }) => name.startsWith("execute_tool "), "gen_ai.execute_tool.duration"],
  ["plan", ({ name }) => name.startsWith("plan "), "espalier.routing.duration"],
  ["delegate", ({ name }) => name.startsWith("espalier.delegate "), "espalier.delegation.duration"],
  ["workflow", ({ name }) => name === "invoke_workflow desk", "espalier.run.duration"]
]

type Errors = Readonly<Record<string, ReadonlyArray<string>>>

const sorted = (types: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  types
    .filter((type) => type !== undefined)
    .map(String)
    .toSorted()

const ofSpans = (spans: ReadonlyArray<Tracer.Span>): Errors =>
  Object.fromEntries(
    families.map(([family, is]) => [
      family,
      sorted(spans.filter(is).map(({ attributes }) => attributes.get(at.errorType)))
    ])
  )

const ofMetrics: Effect.Effect<Errors> = Effect.map(
  Effect.forEach(families, ([family, , instrument]) =>
    Effect.map(series(instrument), (found) => [
      family,
      sorted(found.flatMap(({ attributes, value }) => Array.from({ length: value }, () => attributes[at.errorType])))
    ])
  ),
  Object.fromEntries
)

type Services = Journal.Journal | Dependency.Dependency | CostModel.CostModel

/** What failed, by its spans and by its metrics. */
const failures = (program: Effect.Effect<unknown, unknown, Services>) => {
  const { layer, spans } = collecting()
  return program.pipe(
    Effect.andThen(Effect.map(ofMetrics, (metrics) => ({ metrics, spans: ofSpans(spans), all: spans }))),
    Effect.provide(Tracing.layer().pipe(Layer.provideMerge(Metrics.layer()))),
    Effect.provide(Layer.mergeAll(Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown)),
    Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer))),
    Effect.provide(registry()),
    Effect.scoped
  )
}

const none: Errors = Object.fromEntries(families.map(([family]) => [family, []]))

type Handle = Parameters<typeof worker>[1]

const deskOfOne = (
  handle: Handle,
  options: Parameters<typeof worker>[2] = {},
  settings: Parameters<typeof deskOf>[2] = {}
) => deskOf([worker("one", handle, options) as Worker.Worker<never>], Plan.make([task("a")]), settings)

const run = (desk: Desk.Desk<string, never>) => elapse(Run.start(desk, r1), "1 hour")

const one = (...given: Parameters<typeof deskOfOne>) => run(deskOfOne(...given))

const failing = (kind: Failure.Kind) => one(() => Effect.fail(new Failure.Failure({ kind, reason: "why" })))

const Act = Tool.make("act", { parameters: Schema.Struct({}), success: Schema.String, failure: Schema.Unknown })

/** A desk whose model calls one tool, and then delivers. */
const acting = (handle: () => Effect.Effect<string, unknown>, gate: "always" | "never" = "never") => {
  const act = ToolScope.tool(Act, { handle, gate, idempotent: true, timeout: "1 second" })
  const script = ScriptedModel.fromFunction(({ prompt }) =>
    prompt.content.some(({ role }) => role === "tool") ? delivers("done") : calls(["act", {}])
  )
  return deskWith(script, { tools: ToolScope.make([act]) as never })
}

const tool = (handle: () => Effect.Effect<string, unknown>) => run(acting(handle))

/** A run whose model fails at first. */
const model = (step: ScriptedModel.Step) => run(deskWith(ScriptedModel.make([step, delivers("done")], { model: "m" })))

const choice = (choose: () => Effect.Effect<unknown, unknown>) =>
  run(
    deskOf(
      [Fake.worker("one", { otherwise: "a" })],
      Router.make({
        tasks: [task("a")],
        choose: choose as () => Effect.Effect<unknown>,
        fallback: "a"
      })
    )
  )

const decided = (desk: Desk.Desk<string, never>, decide: Effect.Effect<unknown, unknown, Journal.Journal>) =>
  run(desk).pipe(Effect.andThen(decide), Effect.andThen(elapse(resume(desk), "1 hour")))

const rejected = say("reject")
const expired = pass("30 days")

/** Work that people have to let be done. */
const gated = () =>
  deskOfOne(() => Effects.perform({ name: "pay", args: {}, run: () => Effect.succeed("paid") }), {
    tools: [{ name: "pay", input: Schema.Unknown, gate: "always" }]
  })

const broken = Effect.forEach(
  Array.from({ length: 12 }, (_, n) => `${n}`),
  () => Effect.exit(Dependency.call("bank", Effect.fail(Failure.transient("busy"))))
)

describe("error.type", () => {
  const attempts = (type: string, times: number): Partial<Errors> => ({
    invoke_agent: Array.from({ length: times }, () => type)
  })
  const failed = (type: string, attempts = 1, orders = 1): Partial<Errors> => ({
    invoke_agent: Array.from({ length: attempts }, () => type),
    delegate: Array.from({ length: orders }, () => type),
    workflow: ["_OTHER"]
  })
  const routed = (type: string): Partial<Errors> => ({ plan: Array.from({ length: 4 }, () => type) })

  const cases: ReadonlyArray<
    readonly [name: string, program: Effect.Effect<unknown, unknown, Services>, expected: Partial<Errors>]
  > = [
    ["success", one(() => Effect.succeed("a")), {}],
    ["a passing failure", failing("transient"), failed("transient", 3)],
    ["one who cannot do it", failing("capability"), { workflow: ["_OTHER"] }],
    ["what is too large", failing("oversized"), failed("oversized")],
    ["what does not fit", failing("malformed"), failed("contract_violation", 2, 2)],
    ["what may not be", failing("denied"), { invoke_agent: ["denied"], delegate: ["denied"] }],
    ["what is spent", failing("exhausted"), failed("budget_exceeded")],
    ["an output that does not fit", one(() => Effect.succeed(7)), failed("contract_violation", 2, 2)],
    ["a bug", one(() => Effect.die("x")), failed("crash", 2, 2)],
    ["silence", one(() => Effect.never, { attemptTimeout: "1 second" }), failed("timeout", 3)],
    [
      "the end of the time of a run",
      one(() => Effect.never, { attemptTimeout: "1 day" }, { limits: { deadlineMillis: 60_000 } }),
      { ...failed("timeout"), workflow: ["timeout"] }
    ],
    [
      "a budget that is too small",
      elapse(
        Run.start(
          deskOfOne(() => Effect.succeed("a"), { estimate: { tokens: 10 } }),
          { ...r1, limits: { tokens: 0 } }
        ),
        "1 hour"
      ),
      { workflow: ["budget_exceeded"] }
    ],
    [
      "a dependency that is not called any more",
      one(() => Effect.andThen(broken, Dependency.call("bank", Effect.succeed("a"))) as never),
      failed("transient", 3)
    ],
    [
      "a model of which there is too much asked",
      model(ScriptedModel.fault("rate-limit")),
      { chat: ["rate_limited"], ...attempts("transient", 1) }
    ],
    [
      "a model that fails",
      model(ScriptedModel.fault("overloaded")),
      { chat: ["provider_internal"], ...attempts("transient", 1) }
    ],
    [
      "a model that is not there",
      model(ScriptedModel.fault("network")),
      { chat: ["network"], ...attempts("transient", 1) }
    ],
    ["a model that refuses", model(ScriptedModel.fault("refusal")), { chat: ["content_policy"], workflow: ["_OTHER"] }],
    [
      "a model without a quota",
      model(ScriptedModel.fault("quota")),
      { chat: ["quota_exhausted"], workflow: ["_OTHER"] }
    ],
    [
      "a model that wants a key",
      model(ScriptedModel.fault("unauthorized")),
      { chat: ["auth"], invoke_agent: ["denied"], delegate: ["denied"] }
    ],
    [
      "a model that is not understood",
      model(ScriptedModel.fault("malformed")),
      { chat: ["invalid_output"], invoke_agent: ["contract_violation"], delegate: ["contract_violation"] }
    ],
    [
      "a prompt that is too long",
      model(ScriptedModel.fault("context-overflow")),
      { chat: ["oversized"], ...failed("oversized") }
    ],
    [
      "a prompt that is wrong",
      model(ScriptedModel.fault("bad-request")),
      { chat: ["invalid_request"], workflow: ["_OTHER"] }
    ],
    ["a model that says nothing", model(ScriptedModel.hang), { chat: ["timeout"], ...attempts("transient", 1) }],
    ["a tool that fails", tool(() => Effect.fail("x")), { execute_tool: ["tool_failed"] }],
    ["a tool that fails for now", tool(() => Effect.fail(Failure.transient("x"))), { execute_tool: ["tool_failed"] }],
    ["a tool that is too large", tool(() => Effect.fail(Failure.oversized("x"))), { execute_tool: ["oversized"] }],
    ["a tool that has a bug", tool(() => Effect.die("x")), { execute_tool: ["crash"] }],
    ["a tool that says nothing", tool(() => Effect.never), { execute_tool: ["timeout"] }],
    ["a tool with a wrong result", tool(() => Effect.succeed(7 as never)), { execute_tool: ["crash"] }],
    ["a choice of nobody", choice(() => Effect.succeed("nobody")), routed("contract_violation")],
    ["a choice that fails for now", choice(() => Effect.fail(Failure.transient("x"))), routed("transient")],
    ["a choice that nobody there can make", choice(() => Effect.fail(Failure.capability("x"))), routed("capability")],
    ["a choice that has a bug", choice(() => Effect.die("x")), routed("crash")],
    ["a choice that nobody makes", choice(() => Effect.never), routed("timeout")],
    ["an effect that people reject", decided(gated(), rejected), {}],
    ["an effect that nobody approves", decided(gated(), expired), {}],
    [
      "a call that people reject",
      decided(
        acting(() => Effect.succeed("x"), "always"),
        rejected
      ),
      {}
    ],
    [
      "a call that nobody approves",
      decided(
        acting(() => Effect.succeed("x"), "always"),
        expired
      ),
      {}
    ],
    [
      "a failed task that people reject",
      decided(
        deskOfOne(() => Effect.fail(Failure.denied("x"))),
        rejected
      ),
      { invoke_agent: ["denied"], delegate: ["denied"] }
    ],
    [
      "a question that nobody answers",
      decided(
        deskOfOne(() => Effect.as(Review.ask({ name: "which", question: "Which?" }), "a")),
        expired
      ),
      {}
    ],
    [
      "a run that is put down",
      Effect.flatMap(
        begin(
          Run.start(
            deskOfOne(() => Effect.never),
            r1
          )
        ),
        ({ interrupt }) => interrupt
      ),
      {}
    ],
    [
      "a run that somebody stops",
      Effect.gen(function* () {
        const office = yield* Office.open(
          deskOfOne(() => Effect.never),
          { log: false }
        )
        const going = yield* begin(Run.startIn(office, { id: "r1", input: "go" }))
        yield* Run.cancel("r1", { by: "ann", office })
        yield* going.join
      }).pipe(Effect.scoped),
      {}
    ]
  ]

  it.effect.each(cases)("R-501 R-502 of %s is the same on spans and metrics", ([, program, expected]) =>
    Effect.gen(function* () {
      const { metrics, spans } = yield* failures(program)
      assert.deepStrictEqual(spans, { ...none, ...expected })
      assert.deepStrictEqual(metrics, spans)
    })
  )

  it("R-501 R-502 has a case for each instrument, and most of the names", () => {
    const types = new Set(cases.flatMap(([, , expected]) => Object.values(expected).flat()))
    assert.isTrue(families.every(([family]) => cases.some(([, , expected]) => (expected[family] ?? []).length > 0)))
    // What only the tree says, and what nothing of espalier says by itself.
    const elsewhere = [
      "cancelled",
      "tool_not_found",
      "tool_parameters",
      "loop_detected",
      "breaker_open",
      "mailbox_full"
    ]
    const others = ["restart_intensity", "review_expired"]
    assert.deepStrictEqual(
      SemConv.errorTypes.filter((type) => !types.has(type)),
      [...elsewhere, ...others]
    )
  })
})
