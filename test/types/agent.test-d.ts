/**
 * What the compiler must say about agents. Nothing here runs: `tsc` is the test.
 */
import { Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import { Agent, type CostModel, type Gateway, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { type Dependency, Domain, Secrets } from "espalier/run"
import { test } from "vitest"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(..._proof: Equal<A, B> extends true ? [] : ["types differ", A, B]): void => {}

const common = {
  description: "Answers",
  instructions: "Answer.",
  input: Schema.Struct({}),
  output: Schema.String,
  models: Models.make([{ provide: ScriptedModel.make([]).model }])
}

const Look = Tool.make("look", { parameters: Schema.Struct({}), success: Schema.String })

type Always = Dependency.Dependency | CostModel.CostModel

test("R-113 an agent needs what models, tools and what is attached need, also where it is made in its place", () => {
  const bare = Domain.make("a", { workers: [Agent.make("one", common)] })
  same<Domain.Requires<typeof bare>, Always>()

  const tools = ToolScope.make([ToolScope.tool(Look, { handle: () => Effect.as(Secrets.get("key"), "seen") })])
  const seeing = Domain.make("a", { workers: [Agent.make("one", { ...common, tools })] })
  same<Domain.Requires<typeof seeing>, Always | Secrets.Secrets>()

  const inline = Domain.make("a", {
    workers: [
      Agent.make("one", {
        ...common,
        tools: ToolScope.make([ToolScope.tool(Look, { host: "example.com", handle: () => Effect.succeed("seen") })])
      })
    ]
  })
  same<Domain.Requires<typeof inline>, Always | Gateway.Gateway>()
})
