/** What the workloads of agents share: a model that answers at once, its tools, and prompts of a size. */
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, Prompt, type Response, Tool } from "effect/ai"

import { makeTexts } from "../durable/engine.ts"

/** Turns with a call of a tool in one order; one more delivers. */
export const lookups = 20

/** What a turn is told when it looks something up: 1 KB. */
export const text = makeTexts(1_024)()

export const Lookup = Tool.make("lookup", {
  description: "Looks a page up",
  parameters: Schema.Struct({ page: Schema.Int }),
  success: Schema.String
}).annotate(Tool.Readonly, true)

const call = (id: number, name: string, params: unknown): Array<Response.PartEncoded> => [
  { type: "response-metadata", id: `response_${id}`, modelId: "scripted-1" },
  { type: "tool-call", id: `call_${id}`, name, params },
  {
    type: "finish",
    reason: "tool-calls",
    usage: { inputTokens: { total: 100 }, outputTokens: { total: 10 } }
  }
]

/** Looks pages up, one in a turn, and delivers. It remembers nothing: which turn it is stands in the prompt. */
export const make = LanguageModel.make({
  generateText: ({ prompt }) =>
    Effect.sync(() => {
      const turn = prompt.content.filter(({ role }) => role === "assistant").length
      return turn < lookups
        ? call(turn, "lookup", { page: turn })
        : call(turn, "deliver", { output: { pages: turn }, confidence: 0.9 })
    }),
  streamText: () => Stream.empty,
  supportsSystemMessagesInHistory: Effect.succeed(true)
})

export const instructions = "Look up the pages that you are asked for, one after the other, and count them."

/** A prompt of about 100 KB: turns with a call and a result each. */
export const large = (): Prompt.Prompt => {
  const texts = makeTexts(1_024)
  return Prompt.make([
    { role: "system", content: instructions },
    { role: "user", content: "Count the pages" },
    ...Array.from({ length: 100 }, (_, page) => page).flatMap((page): ReadonlyArray<Prompt.MessageEncoded> => {
      const id = `call_${page}`
      return [
        { role: "assistant", content: [{ type: "tool-call", id, name: "lookup", params: { page } }] },
        { role: "tool", content: [{ type: "tool-result", id, name: "lookup", isFailure: false, result: texts() }] }
      ]
    })
  ])
}
