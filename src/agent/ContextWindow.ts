/**
 * How full the window of a model is, and what is done before it is too full.
 *
 * Before each call {@link fit} measures what would be sent. Where that is too much for comfort, the turns in the middle of the
 * history are replaced by one summary: task, constraints, what was done, where the work stands, what remains, and which results
 * of tools are gone. Where a provider still says that a prompt is too long, {@link onOverflow} takes out more and tries once
 * more.
 *
 * **Details**
 *
 * | the prompt takes | {@link decide} | {@link fit} |
 * |---|---|---|
 * | less than `alert` of the window | `ok` | leaves it as it is |
 * | less than `compact` of it | `alert` | leaves it as it is, and says so once |
 * | more | `compact` | replaces turns by a summary; fails with a {@link WindowExceeded} where it is too large all the same |
 *
 * Tokens are estimated from the characters of all that is sent: system messages, texts, calls and results with their ids and
 * names, and the tools with their schemas. Three Latin characters count as a token, two of Cyrillic or Arabic, one of Chinese. A
 * picture counts as 1,600. It is an estimate, and off by a third at first, or more; {@link calibrate} corrects it by what the
 * provider reports of the same prompt. Give `count` where the provider counts itself.
 *
 * **Invariants**
 *
 * - W1. System messages, the task (the first message of the user) and the last turns stay as they were, word for word.
 * - W2. Only whole turns are replaced: no call loses its result. What {@link fit} answers with has passed `PromptCheck`.
 * - W3. There is one summary at most. To compact what was just compacted changes nothing.
 * - W4. Each result that is gone is listed in the summary, with a handle, as far as there is room; how many are not is said. The
 *   list is made from the history, never by a model.
 * - W5. `progress` of the state never goes down.
 *
 * **Gotchas**
 *
 * - What a summary is told by the history is untrusted: it is quoted in it, and said to be data.
 * - Where a model is asked for the summary, that is one more call, with its cost.
 *
 * **Example** (A long history becomes a short one)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { ContextWindow } from "espalier/agent"
 *
 * const step = (id: string): ReadonlyArray<Prompt.MessageEncoded> => [
 *   { role: "assistant", content: [{ type: "tool-call", id, name: "read", params: { page: id } }] },
 *   { role: "tool", content: [{ type: "tool-result", id, name: "read", isFailure: false, result: "word ".repeat(800) }] }
 * ]
 * const prompt = Prompt.make([
 *   { role: "user", content: "Find the name of the ship" },
 *   ...["p1", "p2", "p3", "p4", "p5"].flatMap(step)
 * ])
 * const window = ContextWindow.make({ size: 8_000, maxSummary: 3_000 })
 *
 * const fitted = await Effect.runPromise(
 *   ContextWindow.fit(window, ContextWindow.initial, { prompt, tools: [], summarise: ContextWindow.mechanical })
 * )
 * fitted.prompt.content.map(({ role }) => role) // => ["user", "user", "assistant", "tool", "assistant", "tool"]
 * fitted.events.map(({ what }) => what) // => ["compacted"]
 * fitted.dropped.map(({ handle }) => handle) // => ["p1", "p2", "p3"]
 * ```
 *
 * @since 0.1.0
 */
import type * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as Failure from "../Failure.ts"
import { Given } from "../run/internal/given.ts"
import { many } from "../run/internal/problems.ts"
import * as compaction from "./internal/compaction.ts"
import * as counting from "./internal/counting.ts"
import * as summarising from "./internal/summarising.ts"
import * as PromptCheck from "./PromptCheck.ts"

export { Summary } from "./internal/compaction.ts"

/**
 * How large a window is, and when what is done about it.
 *
 * **Details**
 *
 * - `size`: tokens that a prompt may have, a whole number >= 1: the window of the model without what its answer may take.
 * - `alert`: the share from which on it is said, between 0 and `compact`. Default 0.7, or `compact` where that is less.
 * - `compact`: the share from which on turns are replaced, between 0.6 and 0.8. Default 0.75.
 * - `keep`: the last turns that stay whole, a whole number >= 1. Default 2. Fewer stay where they do not fit.
 * - `maxSummary`: the most characters of a summary, a whole number >= 2,000. Default 8,000.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly size: number
  readonly alert?: number | undefined
  readonly compact?: number | undefined
  readonly keep?: number | undefined
  readonly maxSummary?: number | undefined
}

/**
 * A window, with all its {@link Options}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Window {
  readonly size: number
  readonly alert: number
  readonly compact: number
  readonly keep: number
  readonly maxSummary: number
}

/**
 * What is known of one conversation, apart from its history.
 *
 * **Details**
 *
 * - `factor`: what an estimate is multiplied with, 0.25 to 4.
 * - `progress`: steps that were made, as {@link advance} counts them. No compaction lowers it.
 * - `compactions`: how many there were. `alerted`: whether it was said that the window fills up.
 *
 * @category models
 * @since 0.1.0
 */
export interface State {
  readonly factor: number
  readonly progress: number
  readonly compactions: number
  readonly alerted: boolean
}

/**
 * What is sent.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
}

/**
 * What a summary is made of: the task as the user has put it, the earlier summary, which goes into the new one, and the turns that
 * are replaced.
 *
 * @category models
 * @since 0.1.0
 */
export interface Work {
  readonly task: string
  readonly earlier: Summary | undefined
  readonly turns: ReadonlyArray<PromptCheck.Turn>
}

type Summary = compaction.Summary

/**
 * A result that is no longer in the prompt. `handle`: the id of its call, with a number behind it where that was not unique.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dropped {
  readonly handle: string
  readonly tool: string
  readonly failed: boolean
  readonly result: unknown
}

/**
 * What is to be made fit.
 *
 * **Details**
 *
 * - `summarise`: makes the summary: {@link mechanical}, {@link byModel}, or another one.
 * - `count`: tokens of a request, as the provider counts them. Where it fails, the estimate stands. Default: the estimate.
 *
 * @category models
 * @since 0.1.0
 */
export interface Fitting<R = never, R2 = never> extends Request {
  readonly summarise: (work: Work) => Effect.Effect<Summary, never, R>
  readonly count?: ((request: Request) => Effect.Effect<number, AiError.AiError, R2>) | undefined
}

/**
 * What has happened to a window, and a sentence about it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Event {
  readonly what: "window-alert" | "compacted"
  readonly note: string
}

/**
 * A prompt that can be sent.
 *
 * **Details**
 *
 * - `estimated`: tokens as estimated, without correction: what {@link calibrate} takes. `tokens`: with it, or as counted.
 * - `counted`: whether the provider has counted them.
 * - `utilisation`: the share of the window that is used, 1 for a full one.
 * - `dropped`: the results that were taken out by this, to be read again (`DroppedResults`).
 *
 * @category models
 * @since 0.1.0
 */
export interface Fitted {
  readonly prompt: Prompt.Prompt
  readonly state: State
  readonly estimated: number
  readonly tokens: number
  readonly counted: boolean
  readonly utilisation: number
  readonly events: ReadonlyArray<Event>
  readonly dropped: ReadonlyArray<Dropped>
}

const reasons = {
  "nothing-to-drop": "there is nothing left that could be taken out",
  "too-large": "it is too large with everything taken out that could be",
  refused: "the provider refused it again after it was made smaller"
} as const

/**
 * A prompt is too large for the window, whatever is taken out of it. It counts as `oversized`.
 *
 * **Details**
 *
 * - `tokens`: of the prompt. `size`: of the window. `reason`: why nothing helps.
 *
 * @category errors
 * @since 0.1.0
 */
export class WindowExceeded extends Schema.TaggedError<WindowExceeded>("espalier/agent/ContextWindow/WindowExceeded")(
  "WindowExceeded",
  {
    tokens: Schema.Finite,
    size: Schema.Finite,
    reason: Schema.Literals(["nothing-to-drop", "too-large", "refused"])
  }
) {
  readonly [Failure.kind] = "oversized"

  override get message(): string {
    return `the prompt of about ${this.tokens} tokens does not fit the window of ${this.size}: ${reasons[this.reason]}`
  }
}

const fields = ["size", "alert", "compact", "keep", "maxSummary"]

/**
 * A window.
 *
 * **Details**
 *
 * Throws a `RangeError` that names the option, what is expected of it, and what was given.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (options: Options): Window => {
  const given = new Given("ContextWindow.make")
  given.record("options", options, fields)
  const { compact = 0.75, keep = 2, maxSummary = 8000, size } = options
  given.whole("size", size, 1)
  if (!(typeof compact === "number" && compact >= 0.6 && compact <= 0.8)) {
    given.refuse("compact", "a number between 0.6 and 0.8", compact)
  }
  const { alert = Math.min(0.7, compact) } = options
  if (!(typeof alert === "number" && alert >= 0 && alert <= compact)) {
    given.refuse("alert", `a number between 0 and ${compact}`, alert)
  }
  given.whole("keep", keep, 1)
  given.whole("maxSummary", maxSummary, 2000)
  return { size, alert, compact, keep, maxSummary }
}

/**
 * The state of a conversation that has not begun.
 *
 * @category constructors
 * @since 0.1.0
 */
export const initial: State = { factor: 1, progress: 0, compactions: 0, alerted: false }

/**
 * The tokens of a request as estimated, rounded up, without correction.
 *
 * @category counting
 * @since 0.1.0
 */
export const estimate = (request: {
  readonly prompt: Prompt.Prompt
  readonly tools?: ReadonlyArray<Tool.Any> | undefined
}): number => counting.estimate(request)

const bounds = { least: 0.25, most: 4 } as const

/**
 * Corrects the estimates to come by what the provider has reported of a prompt: the last one counts.
 *
 * **Details**
 *
 * - `estimated`: of the prompt that was sent, as {@link estimate} gives it. `reported`: its input tokens, all of them, also those
 *   that were cached.
 * - What is no number above 0 is passed over: it comes from outside.
 *
 * @category counting
 * @since 0.1.0
 */
export const calibrate = (
  state: State,
  { estimated, reported }: { readonly estimated: number; readonly reported: number }
): State => {
  const factor = reported / estimated
  if (!Number.isFinite(factor) || factor <= 0) return state
  return { ...state, factor: Math.min(bounds.most, Math.max(bounds.least, factor)) }
}

/**
 * An estimate as the state corrects it.
 *
 * @category counting
 * @since 0.1.0
 */
export const corrected = (state: State, estimated: number): number => Math.ceil(estimated * state.factor)

/**
 * One step more was made.
 *
 * @category states
 * @since 0.1.0
 */
export const advance = (state: State): State => ({ ...state, progress: state.progress + 1 })

/**
 * What is to be done about a window that is used up to a share. What is no number is too much.
 *
 * @category decisions
 * @since 0.1.0
 */
export const decide = (window: Window, utilisation: number): "ok" | "alert" | "compact" =>
  utilisation < window.alert ? "ok" : utilisation < window.compact ? "alert" : "compact"

/**
 * Which turns of a prompt would be replaced, and which stay, where the last `keep` do.
 *
 * @category decisions
 * @since 0.1.0
 */
export const plan = (
  prompt: Prompt.Prompt,
  window: Window,
  keep: number = window.keep
): { readonly dropped: ReadonlyArray<PromptCheck.Turn>; readonly kept: ReadonlyArray<PromptCheck.Turn> } => {
  const { dropped, kept } = compaction.plan(prompt, keep)
  return { dropped, kept }
}

/**
 * A prompt in which turns are replaced by a summary, as {@link plan} says; the same prompt where there are none.
 *
 * @category compacting
 * @since 0.1.0
 */
export const compact = (
  prompt: Prompt.Prompt,
  window: Window,
  summary: Summary,
  keep: number = window.keep
): Prompt.Prompt => compaction.carryOut(prompt, compaction.plan(prompt, keep), summary, window.maxSummary).prompt

/**
 * Makes a summary without a model: the calls with their results in short, what the user has said, the last words of the model, and
 * as what remains the calls that have failed.
 *
 * @category summaries
 * @since 0.1.0
 */
export const mechanical = (work: Work): Effect.Effect<Summary> => Effect.sync(() => compaction.mechanical(work))

/**
 * Has a model make the summary: what was done, where the work stands, and what remains. Constraints and results that are gone come
 * from the history all the same.
 *
 * **Details**
 *
 * - `maxInput`: characters of history that it is shown, the last ones, a whole number >= 1,000. Default 100,000.
 * - `maxTokens`: of its answer, a whole number >= 1. Default 2,000.
 * - Where it fails, or says nothing that can be used, the summary is the {@link mechanical} one, and says so.
 *
 * @category summaries
 * @since 0.1.0
 */
export const byModel = (
  options: { readonly maxInput?: number | undefined; readonly maxTokens?: number | undefined } = {}
): ((work: Work) => Effect.Effect<Summary, never, LanguageModel.LanguageModel>) => {
  const given = new Given("ContextWindow.byModel")
  given.record("options", options, ["maxInput", "maxTokens"])
  const { maxInput = 100_000, maxTokens = 2000 } = options
  given.whole("maxInput", maxInput, 1000)
  given.whole("maxTokens", maxTokens, 1)
  return (work) => summarising.byModel(work, { maxInput, maxTokens })
}

interface Measured {
  readonly state: State
  readonly estimated: number
  readonly tokens: number
  readonly counted: boolean
}

/** Tokens of a prompt; what a provider counts corrects the estimate. */
const measure = <R, R2>(
  state: State,
  { count, prompt, tools }: Pick<Fitting<R, R2>, "count" | "prompt" | "tools">
): Effect.Effect<Measured, never, R2> =>
  Effect.suspend(() => {
    const estimated = estimate({ prompt, tools })
    const stands: Measured = { state, estimated, tokens: corrected(state, estimated), counted: false }
    if (count === undefined) return Effect.succeed(stands)
    return count({ prompt, tools }).pipe(
      Effect.map((tokens): Measured =>
        Number.isFinite(tokens) && tokens > 0
          ? { state: calibrate(state, { estimated, reported: tokens }), estimated, tokens, counted: true }
          : stands
      ),
      Effect.orElseSucceed(() => stands)
    )
  })

const percent = (share: number): string => `${Math.round(share * 100)} %`

/** How many turns can stay, at most `keep`, so that the prompt has no more than one of the limits: the first that is met. */
const keepable = (
  { prompt, tools }: Request,
  { maxSummary }: Window,
  state: State,
  keep: number,
  limits: ReadonlyArray<{ readonly tokens: number; readonly least: number }>
): number => {
  const summary = Math.ceil(maxSummary / 3)
  for (const { least, tokens } of limits) {
    for (let count = keep; count >= least; count--) {
      const left = compaction.remains(compaction.plan(prompt, count))
      if (corrected(state, estimate({ prompt: left, tools }) + summary) <= tokens) return count
    }
  }
  return 0
}

/** Replaces all but `keep` turns, and measures again. */
const replace = <R, R2>(
  window: Window,
  before: Measured,
  options: Fitting<R, R2>,
  keep: number
): Effect.Effect<Fitted, PromptCheck.PromptInvalid | WindowExceeded, R | R2> =>
  Effect.gen(function* () {
    const planned = compaction.plan(options.prompt, keep)
    const summary = yield* options.summarise(compaction.workOf(planned))
    const { prompt, results, turns } = compaction.carryOut(options.prompt, planned, summary, window.maxSummary)
    yield* PromptCheck.valid(prompt) // W2
    const measured = yield* measure(before.state, { ...options, prompt })
    const { size } = window
    if (measured.tokens > size) {
      return yield* new WindowExceeded({ tokens: measured.tokens, size, reason: "too-large" })
    }
    const utilisation = measured.tokens / size
    const how = summary.note === undefined ? "" : `. ${summary.note}`
    return {
      ...measured,
      prompt,
      state: {
        ...measured.state,
        compactions: before.state.compactions + 1,
        alerted: decide(window, utilisation) !== "ok"
      },
      utilisation,
      dropped: results,
      events: [
        {
          what: "compacted",
          note: `${many(turns, "turn")} with ${many(results.length, "result")} replaced by a summary: about ${before.tokens} tokens became ${measured.tokens}${how}`
        }
      ]
    }
  })

/**
 * Makes a prompt fit before it is sent: measures it, says so when it fills up, and replaces turns when it is too full.
 *
 * **Details**
 *
 * - Fails with a {@link WindowExceeded} for a prompt that is larger than the window in spite of all, and at once where there is
 *   nothing that could be taken out; with a `PromptInvalid` for one that a provider would refuse.
 * - The last turn is replaced only where the prompt would not fit with it at all.
 *
 * @category compacting
 * @since 0.1.0
 */
export const fit = <R, R2 = never>(
  window: Window,
  state: State,
  options: Fitting<R, R2>
): Effect.Effect<Fitted, PromptCheck.PromptInvalid | WindowExceeded, R | R2> =>
  Effect.gen(function* () {
    const { prompt } = options
    yield* PromptCheck.valid(prompt)
    const measured = yield* measure(state, options)
    const { compact, keep, size } = window
    const utilisation = measured.tokens / size
    const decision = decide(window, utilisation)
    if (decision === "compact") {
      const kept = keepable(options, window, measured.state, keep, [
        { tokens: compact * size, least: 1 },
        { tokens: size, least: 0 }
      ])
      if (plan(prompt, window, kept).dropped.length > 0) return yield* replace(window, measured, options, kept)
      if (measured.tokens > size) {
        return yield* new WindowExceeded({ tokens: measured.tokens, size, reason: "nothing-to-drop" })
      }
    }
    const alerted = decision !== "ok"
    const note = `the prompt takes about ${measured.tokens} of ${size} tokens (${percent(utilisation)})`
    const events: ReadonlyArray<Event> = alerted && !state.alerted ? [{ what: "window-alert", note }] : []
    return { ...measured, prompt, state: { ...measured.state, alerted }, utilisation, events, dropped: [] }
  })

/**
 * Takes more out of a prompt that a provider has said to be too long: as many turns as bring it to half of what it was, at least
 * one.
 *
 * **Details**
 *
 * - The provider is believed: the estimates are corrected so that the prompt had at least the size of the window.
 * - Fails with a {@link WindowExceeded} at once where there is nothing that could be taken out.
 *
 * @category compacting
 * @since 0.1.0
 */
export const harder = <R, R2 = never>(
  window: Window,
  state: State,
  options: Fitting<R, R2>
): Effect.Effect<Fitted, PromptCheck.PromptInvalid | WindowExceeded, R | R2> =>
  Effect.gen(function* () {
    const { prompt } = options
    yield* PromptCheck.valid(prompt)
    const { keep, size } = window
    const estimated = estimate(options)
    const { factor } = calibrate(state, { estimated, reported: size })
    const believed = { ...state, factor: Math.max(state.factor, factor) }
    const tokens = corrected(believed, estimated)
    const turns = plan(prompt, window, 0).dropped.length
    if (turns === 0) return yield* new WindowExceeded({ tokens, size, reason: "nothing-to-drop" })
    const kept = keepable(options, window, believed, Math.min(keep, turns - 1), [{ tokens: tokens / 2, least: 0 }])
    return yield* replace(window, { state: believed, estimated, tokens, counted: false }, options, kept)
  })

/**
 * Makes a prompt fit and sends it; where the provider says that it is too long, takes out more and sends it once more.
 *
 * **Details**
 *
 * - `tooLong`: whether an error says that. Default: its kind is `oversized`.
 * - The second time it is a {@link WindowExceeded}.
 * - Answers with what `send` does, and with the prompt that was sent at last; its events and dropped results are those of both.
 *
 * @category compacting
 * @since 0.1.0
 */
export const onOverflow = <A, E, R, R2, R3 = never>(
  window: Window,
  state: State,
  options: Fitting<R2, R3> & {
    readonly send: (fitted: Fitted) => Effect.Effect<A, E, R>
    readonly tooLong?: ((error: E) => boolean) | undefined
  }
): Effect.Effect<
  { readonly value: A; readonly fitted: Fitted },
  E | PromptCheck.PromptInvalid | WindowExceeded,
  R | R2 | R3
> =>
  Effect.gen(function* () {
    const { send, tooLong = (error: E) => Failure.kindOf(error) === "oversized" } = options
    const first = yield* fit(window, state, options)
    const value = yield* Effect.catchIf(Effect.asSome(send(first)), tooLong, () => Effect.succeedNone)
    if (value._tag === "Some") return { value: value.value, fitted: first }
    const second = yield* harder(window, first.state, { ...options, prompt: first.prompt })
    const fitted: Fitted = {
      ...second,
      events: [...first.events, ...second.events],
      dropped: [...first.dropped, ...second.dropped]
    }
    const again = yield* Effect.catchIf(send(fitted), tooLong, () =>
      Effect.fail(new WindowExceeded({ tokens: fitted.tokens, size: window.size, reason: "refused" }))
    )
    return { value: again, fitted }
  })

/**
 * A table of estimates beside what the provider has reported, with the error of each, in percent of what was reported.
 *
 * @category counting
 * @since 0.1.0
 */
export const report = (
  rows: ReadonlyArray<{ readonly call: string; readonly estimated: number; readonly reported: number }>
): string => {
  const line = (call: string, estimated: number, reported: number): ReadonlyArray<string> => [
    call,
    String(estimated),
    String(reported),
    reported > 0 ? `${(((estimated - reported) / reported) * 100).toFixed(1)} %` : "-"
  ]
  const sum = (of: "estimated" | "reported") => rows.reduce((sum, row) => sum + row[of], 0)
  const lines = [
    ["call", "estimate", "usage", "error"],
    ...rows.map(({ call, estimated, reported }) => line(call, estimated, reported)),
    line("all", sum("estimated"), sum("reported"))
  ]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...lines.map((cells) => (cells[column] ?? "").length)))
  const pad = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)
  return lines.map((cells) => cells.map(pad).join("  ").trimEnd()).join("\n")
}
