import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, type Tracer } from "effect"
import { CostModel, Meter, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { EspalierTracer, Tracing } from "espalier/observe"
import { Dependency, Plan, Result, Run } from "espalier/run"
import { Fake } from "espalier/testing"

import { calls, delivers, deskWith, search, started } from "../agent/agents.ts"
import { desk, elapse, history, task } from "../run/desks.ts"
import { guarded, r1 } from "../run/guards.ts"
import { deskOf } from "../run/living.ts"
import { attributesOf, collecting } from "./spans.ts"

const named = (spans: ReadonlyArray<Tracer.Span>, name: string) => spans.filter((span) => span.name.startsWith(name))

const told = (span: Tracer.Span | undefined, prefix: string) =>
  Object.fromEntries(
    span === undefined ? [] : Object.entries(attributesOf(span)).filter(([key]) => key.startsWith(prefix))
  )

const prices = (priced: Record<string, { readonly input: number; readonly output: number }>) =>
  CostModel.layer({ currency: "EUR", prices: priced })

const asked = (cost: Layer.Layer<CostModel.CostModel>) => {
  const { layer, spans } = collecting()
  const script = ScriptedModel.make(
    [calls(["search", { query: "x" }]), calls(["search", { query: "y" }]), delivers("found")],
    { model: "m" }
  )
  const run = started(deskWith(script, { tools: ToolScope.make([search()]) as never })).pipe(
    Effect.andThen(history("r1")),
    Effect.provide([Tracing.layer(), Journal.layerMemory, Dependency.layer(), cost]),
    Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
  )
  return { run, spans }
}

describe("what was used", () => {
  it.effect("R-501 is on the span of each call, and its sum on every span around them", () => {
    const { run, spans } = asked(prices({ "scripted/m": { input: 1_000, output: 2_000 } }))
    return Effect.gen(function* () {
      const { run: sums } = Meter.fold(yield* run)
      const chats = named(spans, "chat m")
      assert.lengthOf(chats, 3)
      for (const chat of chats) {
        const {
          "espalier.context_window.limit": size,
          "espalier.context_window.utilization": share,
          ...rest
        } = attributesOf(chat)
        assert.isAbove(Number(size), 0)
        assert.strictEqual(share, Number(rest["gen_ai.usage.input_tokens"]) / Number(size))
      }
      const add = (key: string) => chats.reduce((sum, span) => sum + Number(attributesOf(span)[key]), 0)
      const all = {
        "espalier.usage.input_tokens": add("gen_ai.usage.input_tokens"),
        "espalier.usage.output_tokens": add("gen_ai.usage.output_tokens"),
        "espalier.usage.cost": sums.costs[0]?.cost
      }
      assert.deepStrictEqual(
        [all["espalier.usage.input_tokens"], all["espalier.usage.output_tokens"], add("espalier.cost.amount")],
        [sums.tokens.input, sums.tokens.output, sums.costs[0]?.cost]
      )
      const around = [
        "invoke_workflow desk",
        "invoke_agent desk",
        "invoke_agent d",
        "espalier.delegate",
        "invoke_agent d.one"
      ]
      for (const name of around) {
        const [span] = named(spans, name)
        assert.deepStrictEqual(told(span, "espalier.usage."), all, name)
        assert.strictEqual(attributesOf(span!)["espalier.cost.currency"], "EUR")
        assert.deepStrictEqual(told(span, "gen_ai.usage."), {}, name)
      }
      const tools = named(spans, "execute_tool")
      assert.lengthOf(tools, 2)
      for (const tool of tools) {
        assert.deepStrictEqual(told(tool, "espalier.usage."), {})
        assert.strictEqual(attributesOf(tool)["gen_ai.agent.name"], "d.one")
        assert.deepStrictEqual(told(tool, "espalier.task."), { "espalier.task.id": "a", "espalier.task.attempt": 1 })
      }
    })
  })

  it.effect("R-501 without a price is counted as such, and costs nothing that anybody made up", () => {
    const { run, spans } = asked(CostModel.layerUnknown)
    return Effect.gen(function* () {
      yield* run
      const [workflow] = named(spans, "invoke_workflow")
      assert.strictEqual(attributesOf(workflow!)["espalier.usage.unpriced_calls"], 3)
      assert.notProperty(attributesOf(workflow!), "espalier.usage.cost")
    })
  })

  it.effect("R-501 of no model is nothing, not zero", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      yield* Run.start(desk([Fake.worker("one", { otherwise: "a" })], [task("a")]), r1)
      for (const span of spans) assert.deepStrictEqual(told(span, "espalier.usage."), {})
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })
})

describe("budgets and breakers", () => {
  it.effect("R-501 limits where work begins, and what was used where it ends", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const worker = Fake.worker("one", {
        estimate: { tokens: 300 },
        otherwise: Result.completed("done", { usage: { tokens: 250, cost: 2 } })
      })
      yield* Run.start(guarded([worker], [task("a")]), { ...r1, limits: { tokens: 1_000, cost: 5 } })
      const [workflow] = named(spans, "invoke_workflow")
      const [order] = named(spans, "espalier.delegate")
      assert.deepStrictEqual(told(workflow, "espalier.budget."), {
        "espalier.budget.tokens.limit": 1_000,
        "espalier.budget.cost.limit": 5,
        "espalier.budget.tokens.used": 250,
        "espalier.budget.cost.used": 2
      })
      assert.deepStrictEqual(told(order, "espalier.budget."), {
        "espalier.budget.tokens.limit": 300,
        "espalier.budget.tokens.used": 250,
        "espalier.budget.cost.used": 2
      })
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })

  it.effect("R-501 what did not fit is told of the group whose task it was for", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const worker = Fake.worker("one", { estimate: { tokens: 400 }, otherwise: "done" })
      yield* Run.start(guarded([worker], [task("a")]), { ...r1, limits: { tokens: 100 } })
      const [group] = named(spans, "invoke_agent desk")
      assert.deepStrictEqual(told(group, "espalier.budget."), {
        "espalier.budget.scope": "run",
        "espalier.budget.kind": "tokens",
        "espalier.budget.action": "refused"
      })
      assert.lengthOf(named(spans, "espalier.delegate"), 0)
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })

  it.effect("R-501 an order given as the probe of a breaker says so", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const ids = Array.from({ length: 5 }, (_, index) => `t${index}`)
      const answers = Array.from({ length: 15 }, () => Fake.fail("transient"))
      const failing = Fake.worker("one", { answers, otherwise: "done" })
      const last = task("last", { needs: ids, after: "1 hour", acceptMissing: true })
      const plan = Plan.make<string>([...ids.map((id) => task(id)), last])
      yield* elapse(Run.start(deskOf([failing], plan), { ...r1, waitFor: "1 day" }), "1 day")
      const states = named(spans, "espalier.delegate").map((span) => told(span, "espalier.breaker."))
      const probe = { "espalier.breaker.name": "d.one", "espalier.breaker.state": "half_open" }
      assert.deepStrictEqual(states.at(-1), probe)
      assert.deepStrictEqual(states[0], {})
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })
})

describe("failures", () => {
  it.effect(
    "R-501 an order after another one says so and points to it, and each end says what kind of failure it was",
    () => {
      const { layer, spans } = collecting()
      return Effect.gen(function* () {
        const cannot = Fake.worker("one", { answers: [Fake.fail("capability")], capabilities: ["work"] })
        const can = Fake.worker("two", { otherwise: "done", capabilities: ["work"] })
        const open = { id: "a", objective: "Do a", capability: "work" }
        yield* elapse(Run.start(deskOf([cannot, can], Plan.make<string>([open])), r1), "1 minute")
        const [first, second, ...more] = named(spans, "espalier.delegate")
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(
          [first, second].map((span) => [
            attributesOf(span!)["espalier.routing.method"],
            attributesOf(span!)["espalier.outcome"],
            attributesOf(span!)["espalier.failure.kind"]
          ]),
          [
            ["rule", "refused", "capability"],
            ["fallback", "ok", undefined]
          ]
        )
        assert.deepStrictEqual(
          second?.links.map(({ attributes, span }) => [attributes["espalier.link.type"], span.spanId]),
          [["restart_of", first?.spanId]]
        )
        assert.strictEqual(attributesOf(named(spans, "invoke_agent d.one")[0]!)["espalier.failure.kind"], "capability")
      }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
    }
  )
})

describe("handoffs", () => {
  it.effect("R-501 an order points to those whose results it is given, and says who could have had it", () => {
    const { layer, spans } = collecting()
    return Effect.gen(function* () {
      const worker = Fake.worker("one", { otherwise: "done", capabilities: ["work"] })
      const other = Fake.worker("two", { otherwise: "done", capabilities: ["work"] })
      const open = { id: "c", objective: "Do c", needs: ["a", "b"], capability: "work" }
      yield* Run.start(deskOf([worker, other], Plan.make<string>([task("a"), task("b"), open])), r1)
      const orders = named(spans, "espalier.delegate")
      const of = (id: string) => orders.find((span) => attributesOf(span)["espalier.task.id"] === id)
      assert.deepStrictEqual(
        of("c")?.links.map(({ attributes, span }) => [attributes["espalier.link.type"], span.spanId]),
        [
          ["gathers", of("a")?.spanId],
          ["gathers", of("b")?.spanId]
        ]
      )
      assert.deepStrictEqual(told(of("c"), "espalier.routing."), {
        "espalier.routing.candidates": 2,
        "espalier.routing.method": "rule",
        "espalier.routing.selected": attributesOf(of("c")!)["espalier.delegation.to"]
      })
      assert.lengthOf(of("a")?.links ?? [], 0)
    }).pipe(Effect.provide([Tracing.layer(), layer, Journal.layerMemory]))
  })
})
