/** The limit of an agent: a loop over the model, written by hand. Kept, it has one row and one commit for each turn. */
import { Effect, Schema } from "effect"
import { LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"

import { instructions, large, Lookup, lookups, make, text } from "../../agents/scripted.ts"
import { withPlace } from "../../durable/places.ts"
import { sqliteLog } from "../../durable/sqlite.ts"
import { at, type Contender, mustBe, now, timed } from "../../util.ts"

const Deliver = Tool.make("deliver", {
  description: "Delivers the result",
  parameters: Schema.Struct({ output: Schema.Struct({ pages: Schema.Int }), confidence: Schema.Finite }),
  success: Schema.Void
})
const toolkit = Toolkit.make(Lookup, Deliver)

type Keep = (run: string, turn: number, data: unknown) => Effect.Effect<unknown>

const agent = (run: string, keep: Keep) =>
  Effect.gen(function* () {
    let prompt = Prompt.make([
      { role: "system", content: instructions },
      { role: "user", content: "Count the pages" }
    ])
    for (let turn = 0; ; turn++) {
      const { content, toolCalls } = yield* LanguageModel.generateText({
        prompt,
        toolkit,
        disableToolCallResolution: true
      })
      const call = toolCalls[0]!
      yield* keep(run, turn, content)
      if (call.name === "deliver") return call.params.output.pages
      const result = Prompt.toolResultPart({
        id: call.id,
        name: call.name,
        isFailure: false,
        result: text,
        providerExecuted: false
      })
      prompt = Prompt.concat(
        Prompt.concat(prompt, Prompt.fromResponseParts(content)),
        Prompt.fromMessages([Prompt.toolMessage({ content: [result] })])
      )
    }
  })

/** Microseconds of a turn. */
const turns = (n: number, keep: Keep): Promise<number> =>
  Effect.gen(function* () {
    const t0 = now()
    for (let i = 0; i < n; i++) mustBe("the pages", yield* agent(`run-${i}`, keep), lookups)
    return ((now() - t0) * 1000) / (n * (lookups + 1))
  }).pipe(Effect.provideServiceEffect(LanguageModel.LanguageModel, make), Effect.runPromise)

export const contender: Contender = {
  W8: async (scale) => {
    const prompt = large()
    // What is counted has to be written once, whoever counts it.
    const written = await timed(at(2_000, scale, 5), 5, async () => JSON.stringify(prompt.content).length)
    const n = at(200, scale, 2)
    return {
      turn: await turns(n, () => Effect.void),
      "turn-normal": await withPlace("normal", async ({ store, where }) => {
        const log = sqliteLog(where, store, false)
        const micros = await turns(n, (run, turn, data) =>
          Effect.promise(() => log.append(run, turn, "turn", JSON.stringify(data)))
        )
        await log.close()
        return micros
      }),
      estimate: written,
      fit: written,
      check: written
    }
  }
}
