/** A desk with one agent, and what its tests look at. */
import { Effect, Layer, Schema } from "effect"
import { Tool } from "effect/ai"
import { Agent, CostModel, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { Journal } from "espalier/journal"
import { Dependency, type Desk, Effects, Plan, Run, type RunEvent, type Worker } from "espalier/run"

import { elapse, history } from "../run/desks.ts"
import { deskOf } from "../run/living.ts"

export const Answer = Schema.Struct({ answer: Schema.String })

export const Search = Tool.make("search", {
  description: "Searches the notes",
  parameters: Schema.Struct({ query: Schema.String }),
  success: Schema.Array(Schema.String)
}).annotate(Tool.Readonly, true)

export const Mail = Tool.make("mail", {
  description: "Sends a mail",
  parameters: Schema.Struct({ to: Schema.String }),
  success: Schema.String
})

/** Searches, and notes what was searched for. */
export const search = (queries: Array<string> = []) =>
  ToolScope.tool(Search, { handle: ({ query }) => Effect.sync(() => [`${query} ${queries.push(query)}`]) })

/** Turns of a script. */
export const calls = (...named: ReadonlyArray<readonly [name: string, params: unknown]>) =>
  ScriptedModel.tools(
    named.map(([name, params]) => ({ name, params })),
    { usage: { inputTokens: 10, outputTokens: 5 } }
  )

export const delivers = (answer: unknown, confidence = 0.9, missing?: ReadonlyArray<unknown>) =>
  calls(["deliver", { output: { answer }, confidence, ...(missing === undefined ? {} : { missing }) }])

type Settings = Partial<
  Omit<Agent.Options<{}, {}, typeof Answer.Type, typeof Answer.Encoded, never, never, never, never>, "models">
>

/** A desk whose task `a` is done by an agent with this script. */
export const deskWith = (
  script: ScriptedModel.ScriptedModel | Models.Models,
  settings: Settings = {},
  desk: Parameters<typeof deskOf>[2] = {}
): Desk.Desk<string, never> => {
  const agent = Agent.make("one", {
    description: "Answers",
    instructions: "Answer what you are asked.",
    input: Schema.Struct({}),
    output: Answer,
    models: Models.isModels(script) ? (script as Models.Models) : Models.make([{ provide: script.model }]),
    ...settings
  })
  return deskOf(
    [agent as unknown as Worker.Worker<never>],
    Plan.make<string>([{ id: "a", worker: "d.one", objective: "Answer" }]),
    desk
  )
}

export const services = Layer.mergeAll(Journal.layerMemory, Dependency.layer(), CostModel.layerUnknown)

export const options = { id: "r1", input: "go", log: false } as const

/** Starts the run and lets time pass. */
export const started = (desk: Desk.Desk<string, never>, time = "5 minutes") =>
  elapse(Run.start(desk, options), time as "5 minutes")

export const notices = Effect.map(history("r1"), (events) =>
  events.flatMap((event) => (event._tag === "Noticed" ? [event.what] : []))
)

/** What was paid for, by what it was. */
export const spent = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  events.flatMap((event) => (event._tag === "Spent" ? [event] : []))

export { Effects }
