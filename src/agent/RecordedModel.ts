/**
 * Exchanges with a language model, recorded once and replayed without it.
 *
 * A recorder stands around the `LanguageModel` of the context and keeps what was asked and what came back, answers and errors
 * alike. A replay is a `LanguageModel` that answers from what was kept.
 *
 * **Details**
 *
 * - What is kept is plain JSON, {@link Recording}, without secrets: by the rules of `Redaction`. Of an error, the cause and
 *   what was sent over HTTP are left out, except the status and what the provider asks to wait.
 * - A request is known by its prompt, its tools, its tool choice, its format and its `OutputLimit`, all as they are kept. The
 *   same request gets its answers in the order in which they were recorded.
 * - Streams keep their parts, not their times. A call that was interrupted is not kept.
 * - Tools are no part of it: they are called as ever, when the exchange is recorded and when it is replayed.
 *
 * **Invariants**
 *
 * - While recording, the caller gets what the model said, whatever is taken out of what is kept.
 * - A request that is not in the recording dies with a {@link RecordingMismatch}, which shows the first difference.
 *
 * **Gotchas**
 *
 * - An exchange is marked `redacted` when something was taken out of the answer: its replay differs from what was.
 * - A replay needs the rules of redaction that its recording was made with.
 * - While recording, calls have two spans each, one of the recorder and one of the model.
 *
 * **Example** (Once with a model, once without)
 *
 * ```ts
 * import { Effect, Layer } from "effect"
 * import { LanguageModel } from "effect/ai"
 * import { RecordedModel, ScriptedModel } from "espalier/agent"
 *
 * const ask = Effect.map(LanguageModel.generateText({ prompt: "Hi" }), ({ text }) => text)
 *
 * const program = Effect.gen(function* () {
 *   const recorder = RecordedModel.recorder()
 *   const model = ScriptedModel.make([ScriptedModel.text("Hello")])
 *   yield* Effect.provide(ask, Layer.provide(recorder.layer, model.layer))
 *   const replay = RecordedModel.replay(yield* recorder.recording)
 *   return yield* Effect.provide(ask, replay.layer)
 * })
 * await Effect.runPromise(program) // => "Hello"
 * ```
 *
 * @since 0.1.0
 */

import type * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import type * as Response from "effect/ai/Response"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"

import { tellWarning } from "../internal/telling.ts"
import * as Redaction from "../Redaction.ts"
import { canonical, digest } from "../run/internal/canonical.ts"
import { Given } from "../run/internal/given.ts"
import { askInside, streamInside } from "./internal/modelInside.ts"
import { errorJson, errorOf, firstDifference, partJson, requestJson, wholeDeltas } from "./internal/recordedJson.ts"
import { OutputLimit } from "./OutputLimit.ts"

/** @since 0.1.0 */
export interface Exchange extends Schema.Schema.Type<typeof Exchange> {}

/**
 * One call of a model.
 *
 * **Details**
 *
 * - `request`: what it was asked, and how: `generateText` or `streamText`.
 * - `parts`: of the answer, encoded as a provider gives them; what had arrived, where an error came in the middle.
 * - `error`: what it failed with.
 * - `redacted`: whether something was taken out of the parts or the error.
 *
 * @category models
 * @since 0.1.0
 */
export const Exchange = Schema.Struct({
  request: Schema.Json,
  parts: Schema.Array(Schema.Json),
  error: Schema.optionalKey(Schema.Json),
  redacted: Schema.Boolean
})

/** @since 0.1.0 */
export interface Recording extends Schema.Schema.Type<typeof Recording> {}

/**
 * Exchanges in the order in which the calls began.
 *
 * **Details**
 *
 * - `provider`, `model`: of the model that was recorded, as Effect AI names it; `unknown` where it has no name.
 *
 * @category models
 * @since 0.1.0
 */
export const Recording = Schema.Struct({
  format: Schema.Literal(1),
  provider: Schema.String,
  model: Schema.String,
  exchanges: Schema.Array(Exchange)
})

/**
 * A recording and the calls of its replay do not fit.
 *
 * **Details**
 *
 * - `problem`: what does not fit, in one sentence.
 * - `difference`: where the request differs first from the one that was recorded next; empty when nothing is compared.
 *
 * @category errors
 * @since 0.1.0
 */
export class RecordingMismatch extends Schema.TaggedError<RecordingMismatch>(
  "espalier/agent/RecordedModel/RecordingMismatch"
)("RecordingMismatch", { problem: Schema.String, difference: Schema.String }) {
  override get message(): string {
    return this.difference === "" ? this.problem : `${this.problem}\n${this.difference}`
  }
}

/**
 * A file that is no recording.
 *
 * @category errors
 * @since 0.1.0
 */
export class RecordingUnreadable extends Schema.TaggedError<RecordingUnreadable>(
  "espalier/agent/RecordedModel/RecordingUnreadable"
)("RecordingUnreadable", { path: Schema.String, reason: Schema.String }) {
  override get message(): string {
    return `${this.path} is no recording of a model: ${this.reason}`
  }
}

/**
 * What keeps exchanges.
 *
 * **Details**
 *
 * - `layer`: the model of its context, recorded.
 * - `recording`: what was kept so far.
 *
 * @category models
 * @since 0.1.0
 */
export interface Recorder {
  readonly layer: Layer.Layer<LanguageModel.LanguageModel, never, LanguageModel.LanguageModel>
  readonly recording: Effect.Effect<Recording>
}

/**
 * How much a recorder keeps: the first `most` exchanges, a whole number >= 1. Default 1000. It is logged when one is not
 * kept.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  readonly most?: number | undefined
}

/**
 * Makes a recorder.
 *
 * @category constructors
 * @since 0.1.0
 */
export const recorder = (options: Options = {}): Recorder =>
  recording("RecordedModel.recorder", options, () => Effect.void)

/** One call under way, in its place among the others. */
interface Slot {
  exchange: Exchange | undefined
}

const recording = (where: string, options: Options, kept: (recording: Recording) => Effect.Effect<void>): Recorder => {
  const given = new Given(where)
  given.record("options", options, ["most"])
  const most = given.whole("options.most", options.most ?? 1_000, 1)
  const slots: Array<Slot> = []
  let names = { provider: "unknown", model: "unknown" }
  const now = (): Recording => ({
    format: 1,
    ...names,
    exchanges: slots.flatMap(({ exchange }) => (exchange === undefined ? [] : [exchange]))
  })

  const begin = Effect.fnUntraced(function* (
    method: "generateText" | "streamText",
    asked: LanguageModel.ProviderOptions
  ) {
    const by = yield* Redaction.Redaction
    const request = by.value(requestJson(method, asked, yield* OutputLimit))
    const slot: Slot = { exchange: undefined }
    if (slots.length < most) slots.push(slot)
    else yield* tellWarning(`A recorder keeps ${most} exchanges with a model; this one is not kept`)
    return (said: ReadonlyArray<Response.AnyPart>, failed?: AiError.AiError) =>
      Effect.suspend(() => {
        const parts = said.map(partJson)
        const answer = { parts, ...(failed === undefined ? {} : { error: errorJson(failed) }) }
        const clean = by.value({ ...answer, parts: wholeDeltas(parts, by) }) as typeof answer
        slot.exchange = { request, ...clean, redacted: canonical(clean) !== canonical(answer) }
        return slots.includes(slot) ? kept(now()) : Effect.void
      })
  })

  const make = Effect.gen(function* () {
    const inside = yield* LanguageModel.LanguageModel
    const provider = yield* Effect.serviceOption(Model.ProviderName)
    const model = yield* Effect.serviceOption(Model.ModelName)
    names = {
      provider: Option.getOrElse(provider, () => names.provider),
      model: Option.getOrElse(model, () => names.model)
    }
    return yield* LanguageModel.make({
      generateText: Effect.fnUntraced(function* (asked) {
        const keep = yield* begin("generateText", asked)
        const said = yield* Effect.tapError(askInside(inside, asked), (error) => keep([], error))
        yield* keep(said)
        return said.map(partJson) as unknown as Array<Response.PartEncoded>
      }),
      streamText: (asked) =>
        Stream.unwrap(
          Effect.map(begin("streamText", asked), (keep) => {
            const said: Array<Response.AnyPart> = []
            return streamInside(inside, asked).pipe(
              Stream.map((part) => {
                said.push(part)
                return partJson(part) as unknown as Response.StreamPartEncoded
              }),
              Stream.tapError((error) => keep(said, error)),
              Stream.concat(Stream.fromEffectDrain(Effect.suspend(() => keep(said))))
            )
          })
        ),
      supportsSystemMessagesInHistory: inside.supportsSystemMessagesInHistory
    })
  })
  return { layer: Layer.effect(LanguageModel.LanguageModel, make), recording: Effect.sync(now) }
}

/**
 * The model of the context, recorded into a file. The file is written after each call; what it held before is lost.
 *
 * **Gotchas**
 *
 * A file that cannot be written is a defect of the call.
 *
 * @category layers
 * @since 0.1.0
 */
export const record = (
  path: string,
  options: Options = {}
): Layer.Layer<LanguageModel.LanguageModel, never, LanguageModel.LanguageModel | FileSystem.FileSystem> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const context = yield* Effect.context<FileSystem.FileSystem>()
      const one = yield* Semaphore.make(1)
      const kept = (recording: Recording) =>
        save(path, recording).pipe(one.withPermit, Effect.provideContext(context), Effect.orDie)
      return recording("RecordedModel.record", options, kept).layer
    })
  )

/**
 * A model that answers from a recording.
 *
 * **Details**
 *
 * - `layer`, `model`: the model as a layer and as an Effect AI `Model`, by the names that were recorded.
 * - `complete`: fails when an exchange was not asked for, and when a request did not fit.
 *
 * @category models
 * @since 0.1.0
 */
export interface Replay {
  readonly layer: Layer.Layer<LanguageModel.LanguageModel | Model.ModelName | Model.ProviderName>
  readonly model: Model.Model<string, LanguageModel.LanguageModel, never>
  readonly complete: Effect.Effect<void, RecordingMismatch>
}

const keyOf = (request: Schema.Json): string => digest(canonical(request))

/**
 * Makes a model that answers from a recording. Its state is shared over every layer that is built from it.
 *
 * @category constructors
 * @since 0.1.0
 */
export const replay = (recording: Recording): Replay => {
  const left = recording.exchanges.map((exchange) => ({ key: keyOf(exchange.request), exchange }))
  let misfit: RecordingMismatch | undefined

  const refuse = (request: Schema.Json, key: string): Effect.Effect<never> => {
    const times = recording.exchanges.filter((each) => keyOf(each.request) === key).length
    const next = left[0]?.exchange.request
    const found = new RecordingMismatch({
      problem:
        times === 0
          ? "The request is not in the recording"
          : `The request was recorded ${times === 1 ? "once" : `${times} times`}, and is asked again`,
      difference: next === undefined ? "" : (firstDifference(next, request) ?? "")
    })
    misfit ??= found
    return Effect.die(found)
  }

  const take = Effect.fnUntraced(function* (
    method: "generateText" | "streamText",
    asked: LanguageModel.ProviderOptions
  ) {
    const by = yield* Redaction.Redaction
    const request = by.value(requestJson(method, asked, yield* OutputLimit))
    const key = keyOf(request)
    const index = left.findIndex((each) => each.key === key)
    const exchange = left[index]?.exchange
    if (exchange === undefined) return yield* refuse(request, key)
    left.splice(index, 1)
    const error = exchange.error === undefined ? undefined : yield* Effect.orDie(errorOf(exchange.error))
    return { parts: exchange.parts as unknown as ReadonlyArray<Response.StreamPartEncoded>, error }
  })

  const model = Model.make(
    recording.provider,
    recording.model,
    Layer.effect(
      LanguageModel.LanguageModel,
      LanguageModel.make({
        generateText: Effect.fnUntraced(function* (asked) {
          const { error, parts } = yield* take("generateText", asked)
          return error === undefined ? ([...parts] as unknown as Array<Response.PartEncoded>) : yield* error
        }),
        streamText: (asked) =>
          Stream.unwrap(
            Effect.map(take("streamText", asked), ({ error, parts }) => {
              const said = Stream.fromIterable(parts, { chunkSize: 1 })
              return error === undefined ? said : Stream.concat(said, Stream.fail(error))
            })
          ),
        supportsSystemMessagesInHistory: Effect.succeed(true)
      })
    )
  )
  return {
    layer: model,
    model,
    complete: Effect.suspend(() => {
      if (misfit !== undefined) return Effect.fail(misfit)
      if (left.length === 0) return Effect.void
      const problem = `${left.length} of ${recording.exchanges.length} recorded exchanges were not asked for`
      return Effect.fail(new RecordingMismatch({ problem, difference: "" }))
    })
  }
}

/**
 * Writes a recording into a file, as JSON that can be read and compared.
 *
 * @category files
 * @since 0.1.0
 */
export const save = (
  path: string,
  recording: Recording
): Effect.Effect<void, PlatformError.PlatformError, FileSystem.FileSystem> =>
  FileSystem.FileSystem.use((files) => files.writeFileString(path, `${JSON.stringify(recording, null, 2)}\n`))

const fromText = Schema.decodeUnknownEffect(Schema.fromJsonString(Recording))

/**
 * Reads a recording from a file.
 *
 * @category files
 * @since 0.1.0
 */
export const load = (
  path: string
): Effect.Effect<Recording, PlatformError.PlatformError | RecordingUnreadable, FileSystem.FileSystem> =>
  Effect.flatMap(
    FileSystem.FileSystem.use((files) => files.readFileString(path)),
    (text) => Effect.mapError(fromText(text), ({ message }) => new RecordingUnreadable({ path, reason: message }))
  )
