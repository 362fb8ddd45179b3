/**
 * What becomes of the content of calls: it is handed to a hook, made tellable, and told, apart from the program.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"

import * as Redaction from "../../Redaction.ts"
import type { Names } from "../SemConv.ts"
import { dropped } from "./drops.ts"
import type { Capture } from "./genAiScope.ts"
import { toldMessages, type Messages, type Telling } from "./messages.ts"

/** Is shown the content of each call, and answers with what is to be told in its place. */
export type OnContent = (messages: Messages, span: Tracer.Span) => Effect.Effect<Messages, unknown>

/** The content of one call. `context`: the services of whoever made it. `told`: is called once, with attributes or with nothing. */
export interface Job {
  readonly messages: Messages
  readonly level: Capture
  readonly by: Redaction.Redaction
  readonly span: Tracer.Span
  readonly context: Context.Context<never>
  readonly told: ((attributes: Readonly<Record<string, unknown>>) => void) | undefined
}

/** What all jobs have in common. */
export interface Settings {
  readonly names: Names
  readonly limit: number
  readonly room: number
  readonly onContent: OnContent | undefined
  readonly onContentTimeout: Duration.Duration
}

/** How the content of a level is told; nothing of `none`. */
const tellingOf = ({ by, level }: Pick<Job, "by" | "level">, limit: number): Telling | undefined =>
  level === "none" ? undefined : { sizes: level === "metadata", by: level === "full" ? Redaction.none : by, limit }

/** The content as attributes of a span or an event, each a JSON text of the shape of the conventions. */
const attributesOf = ({ content }: Names, { input, output, system, tools }: Messages): Record<string, unknown> => ({
  ...(system.length === 0 ? {} : { [content.systemInstructions]: JSON.stringify(system) }),
  [content.inputMessages]: JSON.stringify(input),
  [content.outputMessages]: JSON.stringify(output),
  ...(tools.length === 0 ? {} : { [content.toolDefinitions]: JSON.stringify(tools) })
})

/** Whether a logger may see content: the console is read by whoever stands there, and the one of spans would put it on them. */
const isApart = (logger: Logger.Logger<unknown, unknown>): boolean =>
  logger !== Logger.defaultLogger && logger !== Logger.tracerLogger

const event = (job: Job, { events }: Names, attributes: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const loggers = yield* Logger.CurrentLoggers
    yield* Effect.logWithLevel("Debug")(events.inferenceDetails).pipe(
      Effect.annotateLogs({
        ...Object.fromEntries(job.span.attributes),
        ...attributes,
        "event.name": events.inferenceDetails
      }),
      Effect.provideService(Logger.CurrentLoggers, new Set([...loggers].filter(isApart))),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.provideService(Tracer.ParentSpan, job.span)
    )
  }).pipe(Effect.provideContext(job.context))

const hooked = (job: Job, { onContent, onContentTimeout }: Settings): Effect.Effect<Option.Option<Messages>> => {
  if (onContent === undefined) return Effect.succeedSome(job.messages)
  const failed = (reason: "timed_out" | "hook_failed") => {
    dropped("logs", reason, job.context)
    return Option.none()
  }
  return Effect.gen(function* () {
    // One that cannot be interrupted is left behind.
    const fiber = yield* Effect.forkDetach(Effect.suspend(() => onContent(job.messages, job.span)))
    const exit = yield* Fiber.await(fiber).pipe(
      Effect.timeoutOption(onContentTimeout),
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe()))
    )
    if (Option.isNone(exit)) return failed("timed_out")
    return Exit.isSuccess(exit.value) ? Option.some(exit.value.value) : failed("hook_failed")
  })
}

/** Nothing is told where the hook has not answered: what it would have taken out is not known. */
const carryOut = (job: Job, settings: Settings): Effect.Effect<void> =>
  Effect.gen(function* () {
    const answer = yield* hooked(job, settings)
    const telling = tellingOf(job, settings.limit)
    if (Option.isNone(answer) || telling === undefined) return job.told?.({})
    const attributes = attributesOf(settings.names, toldMessages(answer.value, telling))
    return job.told === undefined ? yield* event(job, settings.names, attributes) : job.told(attributes)
  }).pipe(
    Effect.onExit((exit) =>
      Effect.sync(() => {
        if (Exit.isSuccess(exit)) return
        dropped("logs", Cause.hasInterruptsOnly(exit.cause) ? "timed_out" : "unreadable", job.context)
        job.told?.({})
      })
    )
  )

/** Takes what is to be told; `false` when there is no room for it. */
export type Take = (job: Job) => boolean

/** A worker for the content of calls, with so much room. It ends with its scope, and tells before what it has taken. */
export const worker = (settings: Settings): Effect.Effect<Take, never, Scope.Scope> =>
  Effect.gen(function* () {
    const queue = yield* Queue.dropping<Job, Cause.Done>(settings.room)
    const fiber = yield* Queue.take(queue).pipe(
      Effect.flatMap((job) => Effect.exit(carryOut(job, settings))),
      Effect.forever,
      Effect.exit,
      Effect.forkScoped
    )
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        yield* Queue.end(queue)
        const finished = yield* Effect.timeoutOption(Fiber.await(fiber), settings.onContentTimeout)
        if (Option.isSome(finished)) return
        yield* Fiber.interrupt(fiber)
        for (;;) {
          const left = Queue.takeUnsafe(queue)
          if (left === undefined || Exit.isFailure(left)) return
          dropped("logs", "timed_out", left.value.context)
          left.value.told?.({})
        }
      })
    )
    return (job) => Queue.offerUnsafe(queue, job)
  })
