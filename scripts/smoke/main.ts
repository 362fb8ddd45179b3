/**
 * The smoke run as a whole: which model is asked, whether that is recorded, and how it ends.
 */
import { Effect, Layer, Option, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { type Models, RecordedModel } from "espalier/agent"

import * as Claude from "../../examples/shared/claude.ts"
import * as Prices from "../../examples/shared/prices.ts"
import { help, parse } from "./arguments.ts"
import { type Options, smoke } from "./job.ts"
import { scripted } from "./script.ts"

/** What is to be printed, and the exit code. */
export interface Ended {
  readonly text: string
  readonly code: 0 | 1
}

/** The arguments are none that can be obeyed. */
export class Misused extends Schema.TaggedError<Misused>()("Misused", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** The model with a recorder around it; its names stay. */
const recorded = (model: Layer.Layer<Models.Provided>, recorder: RecordedModel.Recorder) =>
  Layer.merge(model, Layer.provide(recorder.layer, model)) satisfies Layer.Layer<LanguageModel.LanguageModel>

/** Does what the arguments say. */
export const main = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const asked = yield* Effect.try({
      try: () => parse(args),
      catch: (error) => new Misused({ reason: error instanceof Error ? error.message : String(error) })
    })
    if (asked.help) return { text: help, code: 0 } satisfies Ended
    const key = yield* Claude.key
    if (!asked.scripted && Option.isNone(key)) {
      const text = "smoke: there is no ANTHROPIC_API_KEY, so no model was asked; --scripted shows the same without one"
      return { text, code: 0 } satisfies Ended
    }
    const who: Options =
      asked.scripted || Option.isNone(key)
        ? { model: scripted().model }
        : yield* Claude.one(key.value, asked.model, { baseURL: asked.baseURL })
    const recorder = RecordedModel.recorder()
    const { checks, text } = yield* smoke({ ...who, model: recorded(who.model, recorder) })
    const lines = [text]
    if (asked.record !== undefined) {
      yield* RecordedModel.save(asked.record, yield* recorder.recording)
      lines.push("", `recorded in ${asked.record}`)
    }
    const code = checks.every(({ problem }) => problem === undefined) ? 0 : 1
    return { text: lines.join("\n"), code } satisfies Ended
  }).pipe(Effect.provide(Prices.layer))
