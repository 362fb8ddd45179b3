/**
 * The life of a thread: begun by the init, watched by the run effect, stopped by finalizers. It knows no Node: what a
 * thread is comes as a {@link Thread}.
 *
 * **Invariants**
 *
 * - T1. What the thread writes and sends is taken until it has ended, also while it stops.
 * - T2. The end is reported after the thread was seen to end.
 */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"

import { consumeBoth, type Output, place, Tail } from "./output.ts"
import { CurrentNode, type Runtime } from "./runtime.ts"
import {
  ThreadCrashed,
  ThreadExited,
  ThreadMessageInvalid,
  ThreadNotStarted,
  ThreadOutOfMemory,
  ThreadTerminated
} from "./threadErrors.ts"
import { trouble } from "./trouble.ts"

/** A thread that was begun, as the system gives it. */
export interface Thread {
  /** throws when the value cannot be cloned */
  readonly post: (message: unknown) => void
  readonly terminate: () => void
  readonly stdout: AsyncIterable<Uint8Array>
  readonly stderr: AsyncIterable<Uint8Array>
}

/** What the thread tells of itself. `exit` comes last, and once. */
export interface Listener {
  readonly online: () => void
  readonly message: (value: unknown) => void
  readonly garbled: (error: unknown) => void
  readonly error: (error: unknown) => void
  readonly exit: (code: number) => void
}

/** What is done with messages from the thread. */
export interface Receive<E, R> {
  readonly schema: Schema.Constraint
  readonly handle: (message: never) => Effect.Effect<unknown, E, R>
  readonly capacity: number
}

/** Messages to the thread. */
export interface Send<E, R> {
  readonly schema: Schema.Constraint
  readonly messages: Stream.Stream<unknown, E, R>
  readonly window: number
}

/** A thread to run, checked. */
export interface Spec<E, R> {
  readonly id: string
  readonly entry: string
  readonly ready: "online" | "message"
  readonly grace: Duration.Duration | "abandon"
  readonly output: Output<E, R>
  readonly receive: Receive<E, R> | undefined
  readonly send: Send<E, R> | undefined
  /** begins a thread; throws when it cannot */
  readonly open: (listener: Listener) => Thread
}

/** Beyond the grace time: to terminate, to see the end, and to take the last messages. */
export const killTime = Duration.seconds(5)

type Failure = ThreadNotStarted | ThreadExited | ThreadCrashed | ThreadOutOfMemory | ThreadMessageInvalid

interface Where {
  readonly path: ReadonlyArray<string>
  readonly entry: string
}

/** What an error from another realm still says of itself. */
const said = (error: unknown, property: "code" | "name" | "message" | "stack"): string | undefined => {
  try {
    const value: unknown = typeof error === "object" && error !== null ? Reflect.get(error, property) : undefined
    return typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}

const text = (value: unknown): string => {
  try {
    return said(value, "message") ?? String(value)
  } catch {
    return "a value without a text"
  }
}

/** What the thread's last error means. */
export const failureOf = (where: Where, error: unknown): Failure => {
  const detail = text(error)
  const code = said(error, "code")
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return new ThreadOutOfMemory({ ...where, detail })
  // Only what the entry itself cannot find keeps the thread from starting.
  if ((code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND") && detail.includes(where.entry)) {
    return new ThreadNotStarted({ ...where, problem: "not-found", detail })
  }
  const stack = said(error, "stack")
  return new ThreadCrashed({
    ...where,
    name: said(error, "name") ?? typeof error,
    error: detail,
    ...(stack === undefined ? {} : { threadStack: stack })
  })
}

/** Why a thread could not be begun. */
const refusalOf = (where: Where, error: unknown): ThreadNotStarted => {
  const code = said(error, "code") ?? ""
  const argument = said(error, "name") === "DataCloneError" || /^ERR_(WORKER_(PATH|INVALID)|INVALID_)/.test(code)
  return new ThreadNotStarted({ ...where, problem: argument ? "bad-argument" : "other", detail: text(error) })
}

const typeOf = (message: unknown): unknown =>
  typeof message === "object" && message !== null && "type" in message ? message.type : undefined

/** Begins the thread and waits until it is ready; the value watches it. */
export const init = <E, R>(
  runtime: Runtime,
  spec: Spec<E, R>
): Effect.Effect<Effect.Effect<void, E | Failure>, E | Failure, R | Scope.Scope> =>
  Effect.gen(function* () {
    const node = yield* CurrentNode
    const path = [...(node?.path ?? [spec.id])]
    const where: Where = { path, entry: spec.entry }
    const grace = spec.grace === "abandon" ? Duration.zero : spec.grace
    const { receive, send } = spec
    const online = Deferred.makeUnsafe<void>()
    const ready = spec.ready === "online" ? online : Deferred.makeUnsafe<void>()
    const ended = Deferred.makeUnsafe<number>()
    const broken = Deferred.makeUnsafe<never, Failure>()
    const inbox = yield* Queue.dropping<unknown, Cause.Done>(receive?.capacity ?? 1)
    const window = Semaphore.makeUnsafe(send?.window ?? 1)
    /** messages to the thread that it has not done with */
    let open = 0
    let failure: Failure | ThreadTerminated | undefined
    const invalid = (direction: "from" | "to", detail: string) =>
      new ThreadMessageInvalid({ ...where, direction, detail })
    const lost = (message: string): void => {
      if (node !== undefined) runtime.emit(node, { _tag: "DeadLetter", message, reason: "dropped-new" })
    }

    const read = yield* place // T1
    const thread = yield* Effect.acquireRelease(
      Effect.try({
        try: () =>
          spec.open({
            online: () => Deferred.doneUnsafe(online, Effect.void),
            message: (value) => {
              switch (typeOf(value)) {
                case "ready":
                  break
                case "done":
                  if (open > 0) {
                    open -= 1
                    runtime.fork(window.release(1))
                  }
                  return
                case "message":
                  if (receive === undefined) lost("a message that nobody receives")
                  else if (!Queue.offerUnsafe(inbox, (value as { readonly value?: unknown }).value)) lost("a message")
                  break
                default:
                  Deferred.doneUnsafe(broken, Effect.fail(invalid("from", "it is not of the protocol")))
                  return
              }
              Deferred.doneUnsafe(ready, Effect.void)
            },
            garbled: (error) => void Deferred.doneUnsafe(broken, Effect.fail(invalid("from", text(error)))),
            error: (error) => {
              failure ??= failureOf(where, error)
            },
            exit: (code) => {
              Queue.endUnsafe(inbox)
              Deferred.doneUnsafe(ended, Effect.succeed(code))
            }
          }),
        catch: (error) => refusalOf(where, error)
      }),
      (thread, exit) =>
        Effect.gen(function* () {
          if (Deferred.isDoneUnsafe(ended)) return
          const end = Effect.interruptible(Deferred.await(ended))
          const asked = !Duration.isZero(grace)
          if (asked) {
            thread.post({ type: "stop" })
            yield* Effect.timeoutOption(end, grace)
          }
          const late = !Deferred.isDoneUnsafe(ended)
          if (late) thread.terminate()
          yield* end // T2
          if (late && asked) failure = new ThreadTerminated({ ...where, afterMillis: Duration.toMillis(grace) })
          if (failure !== undefined) yield* trouble(path, exit, failure)
        })
    )

    const tail = new Tail()
    const pipe = (from: AsyncIterable<Uint8Array>) => Stream.fromAsyncIterable(from, (error) => failureOf(where, error))
    const writing = consumeBoth(
      { stdout: pipe(thread.stdout), stderr: pipe(thread.stderr) },
      {
        path,
        output: spec.output,
        seen: (line, from) => {
          if (from === "stderr") tail.add(line)
        }
      }
    )
    const receiving = receive === undefined ? Effect.void : taking(inbox, receive, invalid)
    const readers = yield* read(path, Effect.all([writing, receiving], { concurrency: 2, discard: true }))

    const sending =
      send === undefined
        ? Effect.void
        : Effect.andThen(
            Deferred.await(online),
            Stream.runForEach(send.messages, (message) =>
              Effect.gen(function* () {
                const encode = Schema.encodeUnknownEffect(send.schema as Schema.Codec<unknown, unknown>)
                const value = yield* Effect.mapError(encode(message), (error) => invalid("to", error.message))
                yield* window.take(1)
                open += 1
                yield* Effect.try({
                  try: () => thread.post({ type: "message", value }),
                  catch: (error) => invalid("to", text(error))
                })
              })
            )
          )
    const sender = yield* Effect.forkScoped(sending)

    const over = (beforeReady: boolean): Effect.Effect<void, E | Failure> =>
      Effect.gen(function* () {
        const exitCode = yield* Deferred.await(ended)
        yield* readers.drained
        if (failure !== undefined) return yield* failure as Failure
        if (exitCode === 0 && !beforeReady) return
        return yield* new ThreadExited({ ...where, exitCode, beforeReady, stderrTail: tail.lines.slice() })
      })
    const watch = (beforeReady: boolean) =>
      Effect.raceAllFirst([
        readers.failing,
        Effect.andThen(Fiber.join(sender), Effect.never),
        Deferred.await(broken),
        over(beforeReady)
      ])

    yield* Effect.raceFirst(Deferred.await(ready), watch(true))
    return watch(false)
  })

/** Handles messages one at a time, until the thread has ended and nothing is left. */
const taking = <E, R>(
  inbox: Queue.Dequeue<unknown, Cause.Done>,
  receive: Receive<E, R>,
  invalid: (direction: "from", detail: string) => ThreadMessageInvalid
): Effect.Effect<void, E | ThreadMessageInvalid, R> => {
  const decode = Schema.decodeUnknownEffect(receive.schema as Schema.Codec<unknown, unknown>)
  // One by one: a stream would take all that is there, and the bound would count twice.
  return Effect.option(Queue.take(inbox)).pipe(
    Effect.flatMap((value) =>
      Option.isNone(value)
        ? Effect.succeed(true)
        : decode(value.value).pipe(
            Effect.mapError((error) => invalid("from", error.message)),
            Effect.flatMap((message) => receive.handle(message as never)),
            Effect.as(false)
          )
    ),
    Effect.repeat({ until: (over) => over }),
    Effect.asVoid
  )
}
