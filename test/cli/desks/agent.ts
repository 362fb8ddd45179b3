/** A desk with an agent, that brings what it needs. */
import { Effect, Layer, Schema } from "effect"
import { Agent, CostModel, Models, ScriptedModel } from "espalier/agent"
import { Dependency, Desk, Domain, Plan } from "espalier/run"

const script = ScriptedModel.fromFunction(() =>
  ScriptedModel.tools([{ name: "deliver", params: { output: "Fram", confidence: 0.9 } }], {
    usage: { inputTokens: 100, outputTokens: 10 }
  })
)

const desk = Desk.make("harbour", {
  version: "1",
  input: Schema.String,
  domains: [
    Domain.make("ships", {
      workers: [
        Agent.make("clerk", {
          description: "Finds out about ships",
          instructions: "Find what you are asked for.",
          input: Schema.Struct({ question: Schema.String }),
          output: Schema.String,
          models: Models.make([{ provide: script.model }])
        })
      ]
    })
  ],
  coordinator: Plan.make<string>([
    { id: "find", worker: "ships.clerk", objective: "Find it", input: (_, question) => ({ question }) }
  ])
})

const services = Layer.mergeAll(Dependency.layer(), CostModel.layerUnknown)

export default Effect.map(Layer.build(services), (made) => Desk.provide(desk, made))
