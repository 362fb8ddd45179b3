import { Effect, Layer, Result as EffectResult } from "effect"
import { Journal } from "espalier/journal"

import { fromRecord } from "../../src/run/internal/log.ts"

/**
 * A journal in memory that takes only what can be read back: each event that it is given has to decode. What does not is
 * listed, beside what the journal itself refused.
 */
export const strict = () => {
  const wrong: Array<string> = []
  const layer = Layer.effect(
    Journal.Journal,
    Effect.map(Journal.Journal, (journal) => ({
      ...journal,
      append: (append: Journal.Append) =>
        Effect.suspend(() => {
          for (const event of append.events) {
            let written: unknown
            try {
              written = JSON.parse(JSON.stringify(event.data))
            } catch (error) {
              wrong.push(`${event.type} cannot be written: ${String(error)}`)
              continue
            }
            const read = fromRecord({ ...event, data: written as typeof event.data })
            if (EffectResult.isFailure(read)) wrong.push(JSON.stringify(read.failure))
          }
          return Effect.tapError(journal.append(append), (error) =>
            Effect.sync(() => wrong.push(`${error._tag}: ${error.message}`))
          )
        })
    }))
  ).pipe(Layer.provide(Journal.layerMemory))
  return { layer, wrong }
}
