/**
 * The results that a compaction has taken out of a prompt, to be read again by their handles.
 *
 * The summary lists the handles (`ContextWindow`). The tool reads one in pieces, so that a result that was too large for the window
 * does not fill it again.
 *
 * **Details**
 *
 * - They are kept in memory, as long as there is room: of more than 8 million characters the oldest go, and reading one of them
 *   says that it is gone.
 * - They come out of the history, which an order that is given again builds anew: nothing of them is written anywhere.
 *
 * **Example** (A result is read again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { DroppedResults } from "espalier/agent"
 *
 * const kept = DroppedResults.keep(DroppedResults.empty, [
 *   { handle: "c1", tool: "search", failed: false, result: { ship: "Vasa" } }
 * ])
 * const { handle } = DroppedResults.tool(Effect.succeed(kept))
 * await Effect.runPromise(handle({ handle: "c1" })) // => { text: "{\"ship\":\"Vasa\"}", from: 0, total: 15 }
 * ```
 *
 * @since 0.1.0
 */
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import type * as Autonomy from "../run/Autonomy.ts"
import { shortened } from "../run/internal/problems.ts"
import type { Dropped } from "./ContextWindow.ts"
import { jsonOf } from "./internal/counting.ts"

/** Characters that are kept in all, and that are read at once. */
const limits = { kept: 8_000_000, read: 4000 } as const

/**
 * There is no result under a handle: it was never there, or is no longer kept. It counts as `malformed`.
 *
 * @category errors
 * @since 0.1.0
 */
export class ResultGone extends Schema.TaggedError<ResultGone>("espalier/agent/DroppedResults/ResultGone")(
  "ResultGone",
  {
    handle: Schema.String
  }
) {
  readonly [Failure.kind] = "malformed"

  override get message(): string {
    return `there is no result ${JSON.stringify(this.handle)} that could be read again: call its tool again if it is needed`
  }
}

/**
 * Results by their handles, the oldest first.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly texts: ReadonlyMap<string, string>
  readonly characters: number
}

/**
 * No results.
 *
 * @category states
 * @since 0.1.0
 */
export const empty: State = { texts: new Map(), characters: 0 }

/**
 * The state with what a compaction has taken out.
 *
 * @category states
 * @since 0.1.0
 */
export const keep = (state: State, dropped: ReadonlyArray<Dropped>): State => {
  if (dropped.length === 0) return state
  const texts = new Map(state.texts)
  let { characters } = state
  const forget = (handle: string): void => {
    characters -= texts.get(handle)?.length ?? 0
    texts.delete(handle)
  }
  for (const { handle, result } of dropped) {
    const text = jsonOf(result)
    forget(handle)
    texts.set(handle, text)
    characters += text.length
  }
  for (const handle of texts.keys()) {
    if (characters <= limits.kept) break
    forget(handle)
  }
  return { texts, characters }
}

const Read = Tool.make("result_read", {
  description: `Reads a result again that was taken out of this conversation, ${limits.read} characters at a time.`,
  parameters: Schema.Struct({
    handle: Schema.String.annotate({ description: "The handle, as the summary lists it" }),
    from: Schema.optionalKey(
      Schema.Int.annotate({ description: "The first character to read, a whole number >= 0. Default 0" })
    )
  }),
  success: Schema.Struct({ text: Schema.String, from: Schema.Finite, total: Schema.Finite }),
  failure: ResultGone,
  failureMode: "return"
}).annotate(Tool.Readonly, true)

/**
 * A tool for a model, with what it does.
 *
 * @category models
 * @since 0.1.0
 */
export interface Handled {
  readonly tool: typeof Read
  readonly handle: (params: {
    readonly handle: string
    readonly from?: number | undefined
  }) => Effect.Effect<{ readonly text: string; readonly from: number; readonly total: number }, ResultGone>
  readonly risk: Autonomy.Risk
  readonly idempotent: boolean
}

/**
 * The tool by which a model reads a result again: `result_read`. `state`: as it is when the tool is called.
 *
 * @category tools
 * @since 0.1.0
 */
export const tool = (state: Effect.Effect<State>): Handled => ({
  tool: Read,
  handle: ({ from = 0, handle }) =>
    Effect.flatMap(state, ({ texts }) => {
      const text = texts.get(handle)
      if (text === undefined) return Effect.fail(new ResultGone({ handle: shortened(handle, 200) }))
      const begin = Math.max(0, from)
      return Effect.succeed({ text: text.slice(begin, begin + limits.read), from: begin, total: text.length })
    }),
  risk: "low",
  idempotent: true
})
