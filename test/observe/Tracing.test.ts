import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { EspalierTracer, Tracing } from "espalier/observe"
import { Dependency, Plan, Result, Review, Router, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { calls, delivers, deskWith, search, started } from "../agent/agents.ts"
import { desk, elapse, history, task, worker } from "../run/desks.ts"
import { guarded, say } from "../run/guards.ts"
import { begin, deskOf, of, pass } from "../run/living.ts"
import { attributesOf, collecting, endOf, treeOf } from "./spans.ts"
import { agree, tracing } from "./traced.ts"

const one = (...answers: ReadonlyArray<Fake.Reply<string>>) => Fake.worker("one", { answers })
const r1 = { id: "r1", input: "go", log: false } as const

const traced = () => {
  const { layer, spans } = collecting()
  return { spans, layer: [Tracing.layer(), layer] as const }
}

const isOver = (spans: ReadonlyArray<Tracer.Span>) =>
  spans.forEach((span) => assert.strictEqual(span.status._tag, "Ended", span.name))

const linksOf = (span: Tracer.Span) =>
  span.links.map(({ attributes, span }) => `${String(attributes["espalier.link.type"])} ${span.spanId}`)

describe("Tracing", () => {
  it.effect("R-501 an unsuspended run is one trace, in the shape of its delegation", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      yield* Run.start(desk([one("a", "b")], [task("a"), task("b", { needs: ["a"] })]), r1)
      assert.deepStrictEqual(treeOf(spans), [
        "espalier.segment",
        "  invoke_workflow desk",
        "    invoke_agent desk",
        "      invoke_agent d",
        "        espalier.delegate d.one",
        "          invoke_agent d.one",
        "        espalier.delegate d.one",
        "          invoke_agent d.one"
      ])
      assert.strictEqual(new Set(spans.map(({ traceId }) => traceId)).size, 1)
      isOver(spans)
      assert.isTrue(spans.every((span) => endOf(span) === "ok"))
      assert.isTrue(spans.every((span) => attributesOf(span)["espalier.run.id"] === "r1"))
      const [started] = of(yield* history("r1"), "RunStarted")
      assert.strictEqual(started?.trace, `00-${spans[0]?.traceId}-${spans[0]?.spanId}-01`)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 each try is a span, a failed one an error by its type and without its words", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      const tried = one(Fake.fail("transient", { reason: "hunter2 is busy" }), "a")
      yield* elapse(Run.start(desk([tried], [task("a")]), r1), "10 seconds")
      const tries = spans.filter(({ name }) => name === "invoke_agent d.one")
      assert.deepStrictEqual(tries.map(endOf), ["transient: transient", "ok"])
      assert.deepStrictEqual(linksOf(tries[1]!), [`restart_of ${tries[0]?.spanId}`])
      assert.notInclude(JSON.stringify(spans.map((span) => [...span.attributes])), "hunter2")
      assert.strictEqual(endOf(spans.find(({ name }) => name === "espalier.delegate d.one")!), "ok")
      isOver(spans)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 D102 a run that is taken up has a trace of its own, which points to the one before", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      let calls = 0
      const twice = worker("one", () => (++calls === 1 ? Effect.never : Effect.succeed("a")))
      const run = yield* begin(Run.start(desk([twice], [task("a")]), r1))
      yield* run.interrupt
      isOver(spans)
      assert.strictEqual(attributesOf(spans[1]!)["espalier.outcome"], "suspended")
      assert.strictEqual(endOf(spans[1]!), "interrupted")
      const before = spans.length
      yield* Run.resume(desk([twice], [task("a")]), "r1", { log: false })
      const later = spans.slice(before)
      assert.deepStrictEqual(treeOf(later), [
        "espalier.segment",
        "  invoke_workflow desk",
        "    invoke_agent desk",
        "      invoke_agent d",
        "        espalier.delegate d.one",
        "          invoke_agent d.one"
      ])
      const [first] = spans
      assert.deepStrictEqual(linksOf(later[0]!), [`resumed_from ${first?.spanId}`, `run_origin ${first?.spanId}`])
      assert.notStrictEqual(later[0]?.traceId, first?.traceId)
      assert.strictEqual(attributesOf(later[0]!)["espalier.segment.index"], 1)
      isOver(spans)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 D103 a wait for people is no error and no open span, and the answer is pointed to", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      const asks = Fake.worker("one", { answers: [Result.needsReview("draft", [{ part: "end", reason: "none" }])] })
      const asked = guarded([asks], [task("a")])
      yield* Run.start(asked, r1)
      isOver(spans)
      yield* Effect.withSpan(say("approve"), "request")
      const request = spans.find(({ name }) => name === "request")
      const decide = spans.find(({ name }) => name === "espalier.review decide")
      assert.strictEqual(Option.getOrUndefined(decide!.parent)?.spanId, request?.spanId)
      assert.strictEqual(attributesOf(decide!)["espalier.review.wait_time"], 0)
      assert.strictEqual(attributesOf(decide!)["espalier.review.decision"], "approved")
      const before = spans.length
      yield* Run.resume(asked, "r1", { log: false })
      assert.include(linksOf(spans[before]!), `decided_by ${decide?.spanId}`)
      assert.strictEqual(attributesOf(spans[before]!)["espalier.segment.cause"], "decision")
      assert.isTrue(spans.every((span) => endOf(span) === "ok" || endOf(span) === "interrupted"))
      isOver(spans)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 D101 what a worker asks people in the midst of its work is below the try that asks", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      const asking = worker("one", () => Effect.as(Review.ask({ name: "side", question: "Which side?" }), "a"))
      yield* Run.start(desk([asking], [task("a")]), r1)
      assert.deepStrictEqual(treeOf(spans).slice(-3), [
        "        espalier.delegate d.one",
        "          invoke_agent d.one",
        "            espalier.review request"
      ])
      isOver(spans)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 a choice is a span of its supervisor, beside the work that follows from it", () => {
    const { layer, spans } = traced()
    return Effect.gen(function* () {
      let asked = 0
      const choose = () =>
        Effect.withSpan(
          Effect.sync(() => (asked++ === 0 ? "a" : "finish")),
          "thinking"
        )
      yield* Run.start(deskOf([one("done")], Router.make({ tasks: [task("a")], choose, fallback: "a" })), r1)
      assert.deepStrictEqual(treeOf(spans), [
        "espalier.segment",
        "  invoke_workflow desk",
        "    invoke_agent desk",
        "      plan desk",
        "        thinking",
        "      invoke_agent d",
        "        espalier.delegate d.one",
        "          invoke_agent d.one",
        "      plan desk",
        "        thinking"
      ])
      isOver(spans)
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect(
    "R-501 D101 tasks of tasks are below the workflow that they stand in for, whoever works at the same time",
    () => {
      const { layer, spans } = traced()
      return Effect.gen(function* () {
        const inner = Plan.make<unknown>(["x", "y", "z"].map((id) => ({ id, worker: "d.one", objective: `Do ${id}` })))
        const tasks = ["first", "second"].map((id) => ({ id, objective: `Do ${id}`, by: inner }))
        const slow = worker("one", () => Effect.as(Effect.sleep("1 second"), "done"), { size: 6 })
        yield* elapse(Run.start(deskOf([slow], Plan.make<string>(tasks as never)), r1), "10 seconds")
        const group = [
          "      invoke_workflow plan",
          "        invoke_agent d",
          ...Array.from({ length: 3 }, () => [
            "          espalier.delegate d.one",
            "            invoke_agent d.one"
          ]).flat()
        ]
        assert.deepStrictEqual(treeOf(spans), [
          "espalier.segment",
          "  invoke_workflow desk",
          "    invoke_agent desk",
          ...group,
          ...group
        ])
        for (const span of spans.filter(({ name }) => name === "invoke_agent d.one")) {
          const { "espalier.task.id": id } = attributesOf(span)
          const order = Option.getOrUndefined(span.parent) as Tracer.Span
          assert.strictEqual(attributesOf(order)["espalier.task.id"], id)
        }
        isOver(spans)
      }).pipe(Effect.provide([...layer, Journal.layerMemory]))
    }
  )

  it.effect(
    "R-501 D102 an order that is put down between two tries is under way again at once, and tried when it is time",
    () => {
      const { layer, seen } = tracing()
      return Effect.gen(function* () {
        const tried = one(Fake.fail("transient"), "a")
        const run = yield* begin(Run.start(desk([tried], [task("a")]), r1))
        yield* pass("300 millis")
        yield* run.interrupt
        yield* elapse(Run.resume(desk([tried], [task("a")]), "r1", { log: false }), "10 seconds")
        const events = yield* history("r1")
        agree("r1", seen(), events)
        const again = 300
        const due = of(events, "AttemptFailed").reduce((_, { at, waitMillis }) => at + waitMillis, 0)
        const later = seen().filter(({ startedAt }) => startedAt >= again)
        assert.deepStrictEqual(
          later.map(({ name, startedAt }) => `${name} ${startedAt}`),
          [
            `espalier.segment ${again}`,
            `invoke_workflow desk ${again}`,
            `invoke_agent desk ${again}`,
            `invoke_agent d ${again}`,
            `espalier.delegate d.one ${again}`,
            `invoke_agent d.one ${due}`
          ]
        )
      }).pipe(Effect.provide([layer, Journal.layerMemory]))
    }
  )

  it.effect(
    "R-501 D102 a task of tasks is a workflow from its beginning, and in each segment, also while all of it waits",
    () => {
      const { layer, seen } = tracing()
      return Effect.gen(function* () {
        const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x", after: "1 hour" }])
        const tasks = [{ id: "later", objective: "Do it later", by: inner }, task("now")]
        const built = () => deskOf([Fake.worker("one", { otherwise: "a" })], Plan.make<string>(tasks as never))
        yield* elapse(Run.start(built(), { ...r1, waitFor: "1 minute" }), "2 minutes")
        yield* TestClock.adjust("1 hour")
        yield* Run.resume(built(), "r1", { log: false })
        agree("r1", seen(), yield* history("r1"))
        assert.deepStrictEqual(
          seen().flatMap(({ attributes, name }) =>
            name === "invoke_workflow plan" ? [[attributes["espalier.outcome"], attributes["espalier.task.id"]]] : []
          ),
          [
            ["suspended", "later"],
            ["ok", "later"]
          ]
        )
      }).pipe(Effect.provide([layer, Journal.layerMemory]))
    }
  )

  it.effect("R-501 D103 what still waits for people is not under way where something else is taken up", () => {
    const { layer, seen } = tracing()
    return Effect.gen(function* () {
      const asking = worker("one", () => Effect.as(Review.ask({ name: "side", question: "Which side?" }), "a"), {
        size: 2
      })
      const built = desk([asking], [task("a"), task("b")])
      yield* Run.start(built, r1)
      for (const review of ["r1/review/1", "r1/review/2"]) {
        yield* Run.decide({ review, decision: "answer", answer: "left", by: "ann" })
        yield* Run.resume(built, "r1", { log: false })
      }
      agree("r1", seen(), yield* history("r1"))
      const orders = seen().filter(({ name }) => name === "espalier.delegate d.one")
      assert.deepStrictEqual(
        orders.map(
          ({ attributes }) => `${String(attributes["espalier.task.id"])} ${String(attributes["espalier.outcome"])}`
        ),
        ["a suspended", "b suspended", "a ok", "b ok"]
      )
    }).pipe(Effect.provide([layer, Journal.layerMemory]))
  })

  it.effect(
    "R-501 D102 a task of tasks that ends before any of them was begun is there in the segment that it ends in",
    () => {
      const { layer, seen } = tracing()
      return Effect.gen(function* () {
        const inner = Plan.make<unknown>([{ id: "x", worker: "d.one", objective: "Do x", after: "1 hour" }])
        const tasks = [{ id: "later", objective: "Do it later", by: inner }, task("now")]
        const built = () => deskOf([worker("one", () => Effect.never) as never], Plan.make<string>(tasks as never))
        const first = yield* begin(Run.start(built(), r1))
        yield* first.interrupt
        const second = yield* begin(Run.resume(built(), "r1", { log: false }))
        yield* Run.cancel("r1", { by: "ann", note: "enough" })
        yield* pass("1 minute")
        yield* second.join
        agree("r1", seen(), yield* history("r1"))
        const groups = seen().filter(({ name }) => name === "invoke_workflow plan")
        assert.strictEqual(new Set(groups.map(({ trace }) => trace)).size, 2)
      }).pipe(Effect.provide([layer, Journal.layerMemory]))
    }
  )

  it.effect("R-501 calls of tools are beside those of models, below the try that makes them", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const script = ScriptedModel.make([calls(["search", { query: "x" }]), delivers("found")], { model: "m" })
      yield* started(deskWith(script, { tools: ToolScope.make([search()]) as never })).pipe(
        Effect.provide([
          Tracing.layer(),
          Journal.layerMemory,
          Dependency.layer(),
          CostModel.layer({ currency: "USD", prices: {} })
        ]),
        Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
      )
      const tree = treeOf(spans)
      const at = tree.findIndex((line) => line.trim().startsWith("espalier.delegate"))
      assert.deepStrictEqual(
        tree.slice(at + 2).map((line) => line.trim()),
        ["chat m", "execute_tool search", "chat m"]
      )
      assert.strictEqual(new Set(tree.slice(at + 2).map((line) => line.search(/\S/))).size, 1)
      const agent = spans.find(({ name }) => name.startsWith("invoke_agent") && name !== "invoke_agent desk")
      const chat = spans.find(({ name }) => name === "chat m")
      assert.strictEqual(attributesOf(chat!)["espalier.run.id"], "r1")
      assert.isDefined(agent)
      isOver(spans)
    })
  })

  it.effect("R-501 what is done in work beyond the limit is below the nearest span that there is", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const within = worker("one", () => Effect.withSpan(Effect.succeed("a"), "inside"))
      yield* Run.start(desk([within], [task("a")]), r1)
      assert.deepStrictEqual(treeOf(spans), [
        "espalier.segment",
        "  invoke_workflow desk",
        "    invoke_agent desk",
        "      inside"
      ])
    }).pipe(Effect.provide([Tracing.layer({ maxSpans: 2 }), layer, Journal.layerMemory]))
  })

  it.effect("R-501 work knows for whom its models are asked, and what was known of that around its run", () => {
    const { layer } = traced()
    return Effect.gen(function* () {
      const asks = worker("one", () => Effect.map(EspalierTracer.GenAiScope, (scope) => JSON.stringify(scope)))
      const { results } = yield* Run.start(desk([asks], [task("a")]), r1).pipe(
        Effect.provideService(EspalierTracer.GenAiScope, { conversation: "c1", agent: "other" })
      )
      assert.deepStrictEqual(JSON.parse(String(results["a"]?.output)), {
        conversation: "c1",
        agent: "d.one",
        run: "r1"
      })
    }).pipe(Effect.provide([...layer, Journal.layerMemory]))
  })

  it.effect("R-501 spans beyond the limit are counted and not made, and the run is the same", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const { status } = yield* Run.start(desk([one("a")], [task("a")]), r1)
      assert.strictEqual(status, "completed")
      assert.deepStrictEqual(
        spans.map(({ name }) => name),
        ["espalier.segment", "invoke_workflow desk", "invoke_agent desk"]
      )
      assert.strictEqual(attributesOf(spans[1]!)["espalier.spans.dropped"], 3)
      isOver(spans)
    }).pipe(Effect.provide([Tracing.layer({ maxSpans: 2 }), layer, Journal.layerMemory]))
  })

  it.effect("R-501 D15 a tracer that throws changes nothing", () => {
    const tracer = Tracer.make({
      span: () => {
        throw new Error("no room")
      }
    })
    return Effect.gen(function* () {
      const { status } = yield* Run.start(desk([one("a")], [task("a")]), r1)
      assert.strictEqual(status, "completed")
    }).pipe(Effect.provide([Tracing.layer(), Journal.layerMemory]), Effect.provideService(Tracer.Tracer, tracer))
  })

  it("R-501 a wrong option is named", () => {
    assert.throws(() => Tracing.layer({ maxSpans: 0 }), /maxSpans/)
    assert.throws(() => Tracing.layer({ profile: "other" as never }), /profile/)
  })
})
