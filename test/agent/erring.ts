/** A desk of agents, as wide and as deep as one likes, whose models err by the numbers. */
import { Effect, Schema } from "effect"
import { Agent, Models, ScriptedModel, ToolScope } from "espalier/agent"
import { type Coordinator, Plan, type Worker } from "espalier/run"

import { deskOf } from "../run/living.ts"
import { Answer, Search } from "./agents.ts"

export const concurrency = 3
const names = ["one", "two", "three"]

/** Those at the same time end in another order than they began in. */
const searching = ToolScope.tool(Search, {
  handle: ({ query }) =>
    query === "slow" ? Effect.delay(Effect.succeed([query]), "2 seconds") : Effect.succeed([query])
})

/** Tasks of tasks, so wide and so deep. */
const nested = (wide: number, deep: number): ReadonlyArray<Coordinator.Task<string>> =>
  names.slice(0, wide).map((id) => {
    const shared = { id, objective: `Do ${id}` }
    if (deep === 0) return { ...shared, worker: `d.${id}` }
    return { ...shared, by: Plan.make(nested(wide, deep - 1), { concurrency: 2 }) as never, input: () => ({}) } as never
  })

/** Agents whose models err by the numbers; each call uses another number of tokens, so that it is known again. */
export const world = (picks: ReadonlyArray<number>, wide: number, deep: number) => {
  let begun = 0
  /** Tokens of the calls that were answered. */
  const receipts: Array<number> = []
  const answered = (step: (usage: ScriptedModel.Usage) => ScriptedModel.Step): ScriptedModel.Step => {
    const usage = { inputTokens: 1000 + begun, outputTokens: 10 }
    receipts.push(usage.inputTokens + usage.outputTokens)
    return step(usage)
  }
  const both = ["slow", "fast"].map((query) => ({ name: "search", params: { query } }))
  const delivery = { name: "deliver", params: { output: { answer: "yes" }, confidence: 0.9 } }
  const next = (): ScriptedModel.Step => {
    const pick = picks[begun++ % picks.length]!
    switch (pick % 8) {
      case 0:
        return ScriptedModel.fault("overloaded")
      case 1:
        return ScriptedModel.fault("rate-limit", { retryAfter: "1 second" })
      case 2:
        return ScriptedModel.hang
      case 3:
        return answered((usage) => ScriptedModel.text("hm", { usage }))
      case 4:
        return answered((usage) => ScriptedModel.tools([{ name: "search", params: { query: "x" } }], { usage }))
      case 5:
        return answered((usage) => ScriptedModel.tools(both, { usage }))
      default:
        return ScriptedModel.slow(
          "1 second",
          answered((usage) => ScriptedModel.tools([delivery], { usage }))
        )
    }
  }
  const models = () =>
    Models.make(
      ["m1", "m2"].map((model) => ({ provide: ScriptedModel.fromFunction(next, { model }).model })) as never,
      { timeout: "10 seconds" }
    )
  const desk = () =>
    deskOf(
      names.map(
        (name) =>
          Agent.make(name, {
            description: `Answers as ${name}`,
            instructions: "Answer.",
            input: Schema.Unknown,
            output: Answer,
            models: models(),
            size: concurrency,
            tools: ToolScope.make([searching])
          }) as unknown as Worker.Worker<never>
      ),
      Plan.make(nested(wide, deep), { concurrency })
    )
  return { desk, receipts, calls: () => begun }
}
