/**
 * One call of the Messages API: a request is sent, its answer is read piece by piece, and a silence is an interruption
 * after which the answer is gone on with.
 *
 * **Invariants**
 *
 * - C1. One request at a time. When its reader ends, however that is, its connection is closed or given back.
 * - C2. A silence is taken up at most `resumes` times, and never when the provider carries out a tool itself.
 * - C3. What was given out is not given out again: a stream goes on in its text, or it fails.
 */
import { APIError } from "@anthropic-ai/sdk"
import { Stream as Events } from "@anthropic-ai/sdk/core/streaming"
import type { MessageCreateParamsStreaming } from "@anthropic-ai/sdk/resources/messages"
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import { isReadonlyArrayNonEmpty } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

import { Overrides } from "../ModelFailure.ts"
import { PartialUsage } from "../PartialUsage.ts"
import { type Around, reasonOf, requestIdOf, silence, Thrown } from "./anthropicFailure.ts"
import { type Request, withPrefix } from "./anthropicRequest.ts"
import { Reading, reasonOf as reasonOfWrong } from "./anthropicStream.ts"

type Part = Response.StreamPartEncoded

/** How requests get to the provider. */
export interface Wire {
  readonly url: string
  readonly send: (body: MessageCreateParamsStreaming, signal: AbortSignal) => Promise<globalThis.Response>
}

/** How a call waits. */
export interface Patience {
  readonly firstEvent: Duration.Duration
  readonly idle: Duration.Duration
  readonly resumes: number
}

/** Nothing came for too long, after the answer had begun. */
class Silent extends Data.TaggedError("Silent") {}

/** What a call is made of. */
export interface Call {
  readonly wire: Wire
  readonly request: Request
  readonly patience: Patience
  readonly method: "generateText" | "streamText"
  readonly deferred: boolean
}

const aiError = (method: string, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "AnthropicModel", method, reason })

/** Whether the response is the stream that was asked for. */
const isEvents = (response: globalThis.Response): boolean =>
  /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")

/** The parts of an answer, as they come. `forget` is called when those before are not part of the answer. */
export const answer = (call: Call, forget: () => void): Stream.Stream<Part, AiError.AiError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const overrides = yield* Overrides
      const report = yield* PartialUsage
      const reading = new Reading(
        call.request,
        { deferred: call.deferred, refusals: call.method === "generateText" ? "error" : "part" },
        report
      )
      return attempts(call, reading, overrides, forget)
    })
  )

const attempts = (
  call: Call,
  reading: Reading,
  overrides: Around["overrides"],
  forget: () => void
): Stream.Stream<Part, AiError.AiError> => {
  const { request, patience, method } = call
  let mayContinue = request.continuable
  let left = patience.resumes

  const next = (prefix: string): Stream.Stream<Part, AiError.AiError> =>
    attempt(call, reading, overrides, prefix).pipe(
      Stream.catchIf(
        (error) => error instanceof Silent,
        () => resume()
      ),
      Stream.catchIf(
        // A model that cannot be given the beginning of its answer says so with the status 400.
        (error) => prefix !== "" && !reading.started && error.reason._tag === "InvalidRequestError",
        () => {
          mayContinue = false
          return reading.begun && method === "streamText" ? Stream.fail(silent()) : again("anew")
        }
      )
    )

  const silent = () =>
    aiError(method, silence({ requestId: reading.requestId, serverTools: request.serverTools }, patience.idle))

  const again = (how: "continued" | "anew"): Stream.Stream<Part, AiError.AiError> => {
    const log = Effect.logWarning(`A silent answer is ${how === "anew" ? "asked for anew" : how}`).pipe(
      Effect.annotateLogs({ model: request.body.model, resume: reading.resumes + 1, requestId: reading.requestId })
    )
    return Stream.unwrap(
      Effect.map(log, () => {
        if (how === "continued") reading.continue()
        else {
          reading.anew()
          forget()
        }
        return next(how === "continued" ? reading.prefix : "")
      })
    )
  }

  const resume = (): Stream.Stream<Part, AiError.AiError> => {
    if (left === 0 || request.serverTools) return Stream.fail(silent()) // C2
    left -= 1
    if (!reading.begun || (mayContinue && !reading.other)) return again("continued")
    return method === "generateText" ? again("anew") : Stream.fail(silent()) // C3
  }

  return next("")
}

/** One request and the reading of its answer. */
const attempt = (
  call: Call,
  reading: Reading,
  overrides: Around["overrides"],
  prefix: string
): Stream.Stream<Part, AiError.AiError | Silent> =>
  Stream.scoped(
    Stream.fromPull(
      Effect.gen(function* () {
        const { wire, request, patience, method } = call
        const controller = yield* Effect.acquireRelease(
          Effect.sync(() => new AbortController()),
          (controller) => Effect.sync(() => controller.abort()) // C1
        )
        const failed = (error: unknown, streaming: boolean) =>
          Effect.flatMap(Clock.currentTimeMillis, (at) =>
            Effect.fail(
              aiError(
                method,
                reasonOf(error, {
                  overrides,
                  at,
                  url: wire.url,
                  serverTools: request.serverTools,
                  streaming,
                  requestId: streaming ? reading.requestId : undefined
                })
              )
            )
          )
        const wrong = (what: Parameters<typeof reasonOfWrong>[0]) =>
          Effect.fail(
            aiError(
              method,
              reasonOfWrong(what, {
                ...(reading.requestId === undefined ? {} : { requestId: reading.requestId }),
                ...(request.serverTools ? { begun: true } : {})
              })
            )
          )

        const late = Effect.fail(
          aiError(method, silence({ requestId: undefined, serverTools: request.serverTools }, patience.firstEvent))
        )
        const response = yield* Effect.tryPromise({
          try: () => wire.send(withPrefix(request.body, prefix), controller.signal),
          catch: (error) => new Thrown({ error })
        }).pipe(
          Effect.catch((thrown) => failed(thrown.error, false)),
          Effect.timeoutOrElse({ duration: patience.firstEvent, orElse: () => late })
        )
        reading.requestId = requestIdOf(response.headers)
        if (!isEvents(response))
          return yield* wrong({ _tag: "Unreadable", what: "the response is no stream of events" })

        const events = Events.rawEvents(response)[Symbol.asyncIterator]()
        const event = Effect.suspend(() => {
          const limit = reading.started ? patience.idle : patience.firstEvent
          return Effect.tryPromise({ try: () => events.next(), catch: (error) => new Thrown({ error }) }).pipe(
            Effect.catch((thrown) => failed(thrown.error, true)),
            Effect.timeoutOrElse({
              duration: limit,
              orElse: (): Effect.Effect<never, AiError.AiError | Silent> =>
                reading.started ? Effect.fail(new Silent()) : late
            })
          )
        })

        let done = false
        const pull = Effect.gen(function* () {
          while (true) {
            if (done) {
              // The end of the body comes with the last event, or not at all; with it the connection can be used again.
              yield* Effect.ignore(Effect.timeoutOption(event, "1 second"))
              return yield* Cause.done()
            }
            const { value, done: ended } = yield* event
            if (ended === true) return yield* wrong({ _tag: "Unreadable", what: "the answer was cut" })
            if (value.event === "error") return yield* failed(errorOf(value.data, response.headers), true)
            if (value.event === "ping" || value.data === "") continue
            const step = reading.read(value.data)
            if (step.wrong !== undefined) return yield* wrong(step.wrong)
            done = step.done
            if (isReadonlyArrayNonEmpty(step.parts)) return step.parts
          }
        })
        return pull
      })
    )
  )

/** An error that comes within a stream. */
const errorOf = (data: string, headers: Headers): APIError => {
  let body: { readonly error?: { readonly type?: unknown } } | undefined
  try {
    body = JSON.parse(data) as typeof body
  } catch {
    body = undefined
  }
  const type = body?.error?.type
  return new APIError(undefined, body, undefined, headers, typeof type === "string" ? (type as APIError["type"]) : null)
}
