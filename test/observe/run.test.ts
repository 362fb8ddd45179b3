/** What is told of the models of a run. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { CostModel, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { EspalierTracer, SemConv } from "espalier/observe"
import { Dependency } from "espalier/run"

import { calls, deskWith, delivers, search, spent, started } from "../agent/agents.ts"
import { history } from "../run/desks.ts"
import { attributesOf, collecting, everything } from "./spans.ts"

const { espalier, isUsage } = SemConv
const { attributes: at } = SemConv.names()

describe("EspalierTracer, in a run", () => {
  it.effect("D104 the usage and cost of all spans add up to the receipts of the run", () =>
    Effect.gen(function* () {
      const { layer, spans } = collecting()
      const script = ScriptedModel.make([calls(["search", { query: "4242 is the card" }]), delivers("found")], {
        provider: "a",
        model: "one"
      })
      const costs = CostModel.layer({ currency: "USD", prices: { "a/one": { input: 1, output: 10 } } })
      const events = yield* started(deskWith(script, { tools: ToolScope.make([search()]) as never })).pipe(
        Effect.andThen(history("r1")),
        Effect.provide(Layer.mergeAll(Journal.layerMemory, Dependency.layer(), costs)),
        Effect.provide(EspalierTracer.layer().pipe(Layer.provideMerge(layer)))
      )
      const receipts = spent(events).filter(({ what }) => what === "model")
      assert.strictEqual(receipts.length, 2)
      const sum = (all: ReadonlyArray<unknown>) => all.reduce<number>((total, each) => total + Number(each ?? 0), 0)
      const chats = spans.filter(({ name }) => name === "chat one").map(attributesOf)
      assert.deepStrictEqual(
        [
          sum(chats.flatMap((chat) => [chat[at.usageInput], chat[at.usageOutput]])),
          sum(chats.map((chat) => chat[espalier.costAmount]))
        ],
        [sum(receipts.map(({ usage }) => usage.tokens)), sum(receipts.map(({ usage }) => usage.cost))]
      )
      assert.deepStrictEqual(
        spans
          .filter((span) => span.name !== "chat one" && [...span.attributes.keys()].some(isUsage))
          .map(({ name }) => name),
        []
      )
      assert.notInclude(everything(spans), "4242")
    })
  )
})
