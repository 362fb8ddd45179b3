/**
 * A child that is a thread of its own: the one thing in a tree that can truly be killed. A Node module: uses
 * `node:worker_threads` and `node:url`.
 *
 * A fiber that never yields blocks its thread and cannot be interrupted; all that a supervisor can do is abandon it. A
 * thread is terminated from outside, even in the middle of a loop, and its memory is bounded and its own.
 *
 * `Thread` has the other side: what the code inside the thread calls.
 *
 * **When to use**
 *
 * Use it for work that computes for long, that may hang or eat memory, or that is not trusted to stop. Use `Child.process`
 * when it is not JavaScript, or when native code may take the whole process with it.
 *
 * **Example** (A thread that counts words)
 *
 * ```ts no-run
 * import { Effect, Queue, Schema, Stream } from "effect"
 * import { Supervisor } from "espalier"
 * import * as ThreadChild from "espalier/ThreadChild"
 *
 * const program = Effect.gen(function*() {
 *   const texts = yield* Queue.bounded<string>(100)
 *   const counter = ThreadChild.make("counter", new URL("./counter.js", import.meta.url), {
 *     resourceLimits: { maxOldGenerationSizeMb: 256 },
 *     send: ThreadChild.send(Schema.String, Stream.fromQueue(texts)),
 *     receive: ThreadChild.receive(Schema.Int, (words) => Effect.log(`${words} words`))
 *   })
 *   yield* Supervisor.start(Supervisor.make("root", { children: [counter] }))
 *   yield* Queue.offer(texts, "to be or not to be")
 * })
 * ```
 *
 * @since 0.1.0
 */

import { fileURLToPath } from "node:url"
import { type ResourceLimits, Worker } from "node:worker_threads"

import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

import * as Child from "./Child.ts"
import { show } from "./internal/options.ts"
import { outputOf } from "./internal/processOptions.ts"
import * as threads from "./internal/thread.ts"
import type {
  ThreadCrashed,
  ThreadExited,
  ThreadMessageInvalid,
  ThreadNotStarted,
  ThreadOutOfMemory
} from "./internal/threadErrors.ts"

export {
  ThreadCrashed,
  ThreadExited,
  ThreadMessageInvalid,
  ThreadNotStarted,
  ThreadOutOfMemory,
  ThreadTerminated
} from "./internal/threadErrors.ts"

/**
 * What ends the start or the run of a thread.
 *
 * @category models
 * @since 0.1.0
 */
export type ThreadFailure = ThreadNotStarted | ThreadExited | ThreadCrashed | ThreadOutOfMemory | ThreadMessageInvalid

/**
 * What is done with the messages of a thread; made by {@link receive}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Receive<out E, out R> {
  /** @internal */
  readonly receive: threads.Receive<E, R>
}

/**
 * The messages for a thread; made by {@link send}.
 *
 * @category models
 * @since 0.1.0
 */
export interface Send<out E, out R> {
  /** @internal */
  readonly send: threads.Send<E, R>
}

const capacityOf = (where: string, name: string, value: number): number => {
  if (!Number.isInteger(value) || value < 1) {
    throw new RangeError(`${where}: ${name} must be a whole number >= 1, got ${show(value)}`)
  }
  return value
}

/**
 * Handles what the thread sends, one message at a time, in order.
 *
 * **Details**
 *
 * - `schema`: decodes each message; one that it refuses fails the child with `ThreadMessageInvalid`.
 * - `handle`: when it fails, the child fails.
 * - `capacity`: messages that may wait, >= 1. Default 1,024. What does not fit is dropped with a `DeadLetter` event.
 *
 * What the thread sent before its end is handled before the end is reported, if that takes no more than 1 second.
 *
 * @category messages
 * @since 0.1.0
 */
export const receive = <A, I, RD, RE, E, R>(
  schema: Schema.Codec<A, I, RD, RE>,
  handle: (message: A) => Effect.Effect<unknown, E, R>,
  options?: { readonly capacity?: number | undefined } | undefined
): Receive<E, R | RD> => {
  if (!Schema.isSchema(schema)) {
    throw new RangeError(`ThreadChild.receive: schema must be a Schema, got ${show(schema)}`)
  }
  if (typeof handle !== "function") {
    throw new RangeError(`ThreadChild.receive: handle must be a function, got ${show(handle)}`)
  }
  const capacity = capacityOf("ThreadChild.receive", "capacity", options?.capacity ?? 1024)
  return { receive: { schema, handle, capacity } }
}

/**
 * Sends the messages of a stream to the thread.
 *
 * **Details**
 *
 * - Each incarnation runs the stream anew. From a queue, it goes on where the former incarnation was; what that one had
 *   taken and not done is lost.
 * - `schema`: encodes each message; one that cannot be encoded or cloned fails the child with `ThreadMessageInvalid`.
 * - `window`: messages that the thread has not done with, >= 1. Default 64. The stream waits while it is full.
 * - A stream that ends sends no more; one that fails fails the child.
 *
 * @category messages
 * @since 0.1.0
 */
export const send = <A, I, RD, RE, E, R>(
  schema: Schema.Codec<A, I, RD, RE>,
  messages: Stream.Stream<A, E, R>,
  options?: { readonly window?: number | undefined } | undefined
): Send<E, R | RE> => {
  if (!Schema.isSchema(schema)) {
    throw new RangeError(`ThreadChild.send: schema must be a Schema, got ${show(schema)}`)
  }
  if (!Stream.isStream(messages)) {
    throw new RangeError(`ThreadChild.send: messages must be a Stream, got ${show(messages)}`)
  }
  const window = capacityOf("ThreadChild.send", "window", options?.window ?? 64)
  // What encoding needs is the child's, like what the stream needs.
  return { send: { schema, messages, window } as threads.Send<E, R | RE> }
}

/**
 * What a thread is given, as in Node's `Worker`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Setup {
  readonly workerData?: unknown
  readonly resourceLimits?: ResourceLimits | undefined
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly argv?: ReadonlyArray<unknown> | undefined
  readonly execArgv?: ReadonlyArray<string> | undefined
}

/**
 * The options of {@link make}.
 *
 * **Details**
 *
 * - `ready`: `"online"` when the thread runs, though it may still fail to load its entry; `"message"` when it sends its
 *   first message (`Thread.ready()` is one). Default `"online"`.
 * - `receive`, `send`: messages. Default: none; a message that nobody receives is a `DeadLetter` event.
 * - `output`: where lines go that it writes to stdout and stderr, see `Child.Output`. Default `"log"`.
 * - `workerData`, `resourceLimits`, `env`, `argv`, `execArgv`: as in Node's `Worker`. Data is cloned for each
 *   incarnation.
 * - `shutdown`: how long the thread has to end after it was asked to, >= 0. Then it is terminated. `0` and `"abandon"`
 *   terminate at once; `"abandon"` does not wait for the end. Default 5 seconds.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options<
  To extends Child.Output<unknown, unknown>,
  In extends Receive<unknown, unknown>,
  Out extends Send<unknown, unknown>
>
  extends Setup, Child.Options<ThreadFailure | ErrorOf<NoInfer<To>, NoInfer<In>, NoInfer<Out>>> {
  readonly ready?: "online" | "message" | undefined
  readonly receive?: In | undefined
  readonly send?: Out | undefined
  readonly output?: To | undefined
}

type ErrorOf<To, In, Out> =
  | Child.Output.Error<To>
  | (In extends Receive<infer E, infer _R> ? E : never)
  | (Out extends Send<infer E, infer _R> ? E : never)

type ServicesOf<To, In, Out> =
  | Child.Output.Services<To>
  | (In extends Receive<infer _E, infer R> ? R : never)
  | (Out extends Send<infer _E, infer R> ? R : never)

/**
 * A child that is a worker thread.
 *
 * **Details**
 *
 * - `entry`: the module that the thread runs, a `file:` or `data:` URL, or an absolute path.
 * - The end of the thread with code 0 is a clean end. `ThreadExited`, `ThreadCrashed` and `ThreadOutOfMemory` are treated
 *   like a crash; a module that is missing, `ThreadNotStarted`, stops the child.
 * - A stop sends `{ type: "stop" }`, waits `shutdown`, terminates the thread, and is over when the thread was seen to end.
 *   One that had to be terminated leaves a `ThreadTerminated` in the cause of its ordered exit, and in the log.
 *
 * **Gotchas**
 *
 * - A thread that does not listen (`Thread.onStop`, `Thread.onMessage`) does not hear the stop and lives until it is
 *   terminated: `shutdown: 0` saves the wait.
 * - A native function that blocks cannot be terminated. The child is then abandoned and a `Leaked` event names it.
 * - Throws a `RangeError` that names the option when an option is out of range.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <
  To extends Child.Output<unknown, unknown> = Child.Output,
  In extends Receive<unknown, unknown> = Receive<never, never>,
  Out extends Send<unknown, unknown> = Send<never, never>
>(
  id: string,
  entry: URL | string,
  options?: Options<To, In, Out> | undefined
): Child.Child<never, ThreadFailure | ErrorOf<To, In, Out>, Exclude<ServicesOf<To, In, Out>, Scope.Scope>> => {
  const where = "ThreadChild.make"
  const policy = Child.policyOf(where, id, options as Child.Options<never> | undefined, Child.workerDefaults)
  const refuse = (name: string, must: string, got: unknown): never => {
    throw new RangeError(`${where}: ${name} of ${id} must be ${must}, got ${show(got)}`)
  }
  const isUrl = entry instanceof URL && (entry.protocol === "file:" || entry.protocol === "data:")
  if (!isUrl && (typeof entry !== "string" || entry === "")) refuse("entry", "a file: or data: URL or a path", entry)
  const ready = options?.ready ?? "online"
  if (ready !== "online" && ready !== "message") refuse("ready", `"online" or "message"`, ready)
  const into = options?.receive?.receive
  if (options?.receive !== undefined && into === undefined) {
    refuse("receive", "made by ThreadChild.receive", options.receive)
  }
  const from = options?.send?.send
  if (options?.send !== undefined && from === undefined) refuse("send", "made by ThreadChild.send", options.send)
  const spec: threads.Spec<ErrorOf<To, In, Out>, ServicesOf<To, In, Out>> = {
    id,
    entry: nameOf(entry),
    ready,
    grace: policy.shutdown,
    output: outputOf(where, id, options?.output) as Child.Output<ErrorOf<To, In, Out>, ServicesOf<To, In, Out>>,
    receive: into as threads.Receive<ErrorOf<To, In, Out>, ServicesOf<To, In, Out>> | undefined,
    send: from as threads.Send<ErrorOf<To, In, Out>, ServicesOf<To, In, Out>> | undefined,
    open: (listener) => open(entry, options, listener)
  }
  return Child.fromInit(policy, "thread", (runtime) => threads.init(runtime, spec), threads.killTime)
}

/** How errors name it. */
const nameOf = (entry: URL | string): string => {
  if (typeof entry === "string") return entry
  return entry.protocol === "file:" ? fileURLToPath(entry) : `${entry.href.slice(0, 40)}…`
}

const open = (entry: URL | string, options: Setup | undefined, listener: threads.Listener): threads.Thread => {
  const worker = new Worker(entry, {
    stdout: true,
    stderr: true,
    workerData: options?.workerData,
    ...(options?.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
    ...(options?.env === undefined ? {} : { env: { ...options.env } }),
    ...(options?.argv === undefined ? {} : { argv: [...options.argv] }),
    ...(options?.execArgv === undefined ? {} : { execArgv: [...options.execArgv] })
  })
  worker.on("online", listener.online)
  worker.on("message", listener.message)
  worker.on("messageerror", listener.garbled)
  worker.on("error", listener.error)
  worker.on("exit", listener.exit)
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    post: (message) => worker.postMessage(message),
    terminate: () => void worker.terminate(),
    stdout: worker.stdout,
    stderr: worker.stderr
  }
}
